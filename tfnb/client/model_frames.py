"""Columns of a DataFrame as inputs of a model.

A frame is used by its methods, so that pandas is imported by the caller only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.client.model_tensor import ArrayFunction, ModelTensor


def columns_of(
    model: ArrayFunction, existing: Sequence[Any], given: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the column, or the list of columns, of each input.

    Raises:
        TypeError: A column is missing.
    """
    if given is not None:
        chosen = dict(zip(model.inputs, model.bound((), given)))
    elif all(key in existing for key in model.inputs):
        chosen = {key: key for key in model.inputs}
    elif len(model.inputs) == 1:
        [(key, one)] = model.inputs.items()
        is_one = one.shape.rank == 1 and len(existing) == 1
        chosen = {key: existing[0] if is_one else list(existing)}
    else:
        raise TypeError(
            f"The inputs are {', '.join(model.inputs)}, the columns {', '.join(map(str, existing))}"
            ". Say which belong together: columns={'input': 'column' or ['column', ...]}"
        )
    for names in chosen.values():
        missing = [
            name for name in ([names] if isinstance(names, str) else names) if name not in existing
        ]
        if missing:
            raise TypeError(f"There is no column {', '.join(map(repr, missing))}.")
    return {key: names if isinstance(names, str) else list(names) for key, names in chosen.items()}


def check_types(model: ArrayFunction, types: Any, chosen: Mapping[str, Any]) -> None:
    """Check the types of the columns against those of the inputs.

    Raises:
        TypeError: A column has a type that does not fit.
    """
    for key, names in chosen.items():
        wanted = model.inputs[key].dtype
        for name in [names] if isinstance(names, str) else names:
            found = types[name]
            if wanted == dtypes.string:
                fits = _may_be_text(found)
            else:
                fits = isinstance(found, np.dtype) and np.can_cast(
                    found, wanted.as_numpy_dtype, "same_kind"
                )
            if not fits:
                raise TypeError(
                    f"Column {name!r} has type {found}; the input {key} is {wanted.name}. Convert "
                    f"it: frame.astype({{{name!r}: {wanted.name!r}}})"
                )


def _may_be_text(dtype: Any) -> bool:
    """Return whether a column of this type may hold strings: texts, categories, any objects."""
    if isinstance(dtype, np.dtype):
        return dtype.kind in "OSU"
    return dtype.name == "category" or issubclass(dtype.type, (str, bytes))


def values_of(frame: Any, columns: str | list[str], wanted: ModelTensor) -> Any:
    """Return the values of an input.

    Raises:
        InvalidArgumentError: A string is missing.
    """
    part = frame[columns]
    if wanted.dtype == dtypes.string and (missing := part.isna().to_numpy()).any():
        names = [columns] if isinstance(columns, str) else columns
        lacking = [name for name, one in zip(names, np.atleast_2d(missing.T)) if one.any()]
        raise errors.invalid_argument(
            f"Strings are missing in {', '.join(map(repr, lacking))}; the input {wanted.key} needs "
            f"all. Fill them: frame.fillna({dict.fromkeys(lacking, '')})"
        )
    return np.asarray(part.to_numpy(), wanted.dtype.as_numpy_dtype)
