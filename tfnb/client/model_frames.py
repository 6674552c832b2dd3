"""Columns of a DataFrame as inputs of a model.

A frame is used by its methods, so that pandas is imported by the caller only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors

_WITHOUT_NAN = "biu"  # Kinds of NumPy's types without a value that stands for a missing one.

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
        lacking = [key for key in model.inputs if key not in existing]
        raise TypeError(
            f"There is no column {', '.join(map(repr, lacking))}. The inputs are "
            f"{', '.join(model.inputs)}, the columns {', '.join(map(str, existing))}. Say which "
            "belong together: columns={'input': 'column' or ['column', ...]}"
        )
    chosen = {key: _one_or_several(names) for key, names in chosen.items()}
    for names in chosen.values():
        for name in names if isinstance(names, list) else [names]:
            count = sum(1 for one in existing if one == name)
            if count == 0:
                raise TypeError(
                    f"There is no column {name!r}; there are: {', '.join(map(repr, existing))}."
                )
            if count > 1:
                raise TypeError(f"{count} columns have the name {name!r}; rename all but one.")
    return chosen


def _one_or_several(names: Any) -> Any:
    """Return the name of a column, or a list of names; a tuple is one name of several levels."""
    is_several = isinstance(names, Iterable) and not isinstance(names, str | bytes | tuple)
    return list(names) if is_several else names


def check_types(model: ArrayFunction, types: Any, chosen: Mapping[str, Any]) -> None:
    """Check the types of the columns against those of the inputs.

    Raises:
        TypeError: A column has a type that does not fit.
    """
    for key, names in chosen.items():
        wanted = model.inputs[key].dtype
        for name in names if isinstance(names, list) else [names]:
            found = types[name]
            if wanted == dtypes.string:
                fits = _may_be_text(found)
            else:
                array_type = _array_type(found)
                fits = array_type is not None and np.can_cast(
                    array_type, wanted.as_numpy_dtype, "same_kind"
                )
            if not fits:
                advice = f"frame.astype({{{name!r}: {wanted.name!r}}})"
                if wanted == dtypes.bool and _may_be_text(found):
                    advice = f"frame[{name!r}].astype(str) == 'True'"  # else each text is True
                raise TypeError(
                    f"Column {name!r} has type {found}; the input {key} is {wanted.name}. Convert "
                    f"it: {advice}"
                )


def _array_type(dtype: Any) -> np.dtype[Any] | None:
    """Return NumPy's type of a column's values; None for dates, texts and mixed objects.

    Types of pandas for numbers with missing values, Arrow's and sparse ones name it.
    """
    named = getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", dtype))
    return named if isinstance(named, np.dtype) and named.kind in "biufc" else None


def _may_be_text(dtype: Any) -> bool:
    """Return whether a column of this type may hold strings: texts, categories, any objects."""
    if isinstance(dtype, np.dtype):
        return dtype.kind in "OSU"
    return dtype.name == "category" or issubclass(dtype.type, (str, bytes))


def values_of(frame: Any, columns: Any, wanted: ModelTensor) -> Any:
    """Return the values of an input.

    Raises:
        InvalidArgumentError: A value is missing, and the input has no NaN.
    """
    part = frame[columns]
    to_type = wanted.dtype.as_numpy_dtype
    names = columns if isinstance(columns, list) else [columns]
    is_text = wanted.dtype == dtypes.string
    if is_text or np.dtype(to_type).kind in _WITHOUT_NAN:
        if (missing := part.isna().to_numpy()).any():
            lacking = [name for name, one in zip(names, np.atleast_2d(missing.T)) if one.any()]
            raise errors.invalid_argument(
                f"{'Strings' if is_text else 'Values'} are missing in "
                f"{', '.join(map(repr, lacking))}; the input {wanted.key} needs all. Fill them: "
                f"frame.fillna({dict.fromkeys(lacking, '' if is_text else 0)})"
            )
    elif not all(isinstance(frame.dtypes[name], np.dtype) for name in names):
        return np.asarray(part.to_numpy(dtype=np.float64, na_value=np.nan), to_type)
    return np.asarray(part.to_numpy(), to_type)
