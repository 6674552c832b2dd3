"""A model over a Dask DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.dask_runtime.blocks import fixed_batch, run_rows
from tfnb.dask_runtime.dask_import import import_dask
from tfnb.dask_runtime.map_arrays import numpy_dtype, row_shapes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.client.model import Model, ModelTensor
    from tfnb.dask_runtime.model_of_tasks import SentModel


def map_frame(
    model: Model,
    sent: SentModel,
    frame: Any,
    columns: Mapping[str, Any] | None,
    batch_size: int | None,
    output_shapes: Mapping[str, Sequence[int | None]],
) -> Any:
    """Return a DataFrame with the index of ``frame`` and columns for each output.

    Raises:
      TypeError: a column is missing, or has a type that does not fit.
      ValueError: an output has no columns.
    """
    pandas = import_dask("pandas")
    chosen = _columns_of(model, list(frame.columns), columns)
    _check_types(model, frame.dtypes, chosen)
    widths = {key: [] if isinstance(names, str) else [len(names)] for key, names in chosen.items()}
    shapes = row_shapes(model, widths, fixed_batch(model), output_shapes)
    names = {key: _names_of(key, shape) for key, shape in shapes.items()}
    empty = {
        name: pandas.Series([], dtype=numpy_dtype(one.dtype))
        for key, one in model.outputs.items()
        for name in names[key]
    }
    index = frame._meta.index[:0]
    meta = pandas.DataFrame({name: one.set_axis(index) for name, one in empty.items()}, index=index)
    return frame.map_partitions(_run_frame, sent, batch_size, chosen, names, meta=meta)


def _columns_of(
    model: Model, existing: Sequence[Any], given: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the column, or the list of columns, of each input.

    Raises:
      TypeError: a column is missing.
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


def _check_types(model: Model, types: Any, chosen: Mapping[str, Any]) -> None:
    for key, names in chosen.items():
        wanted = model.inputs[key].dtype
        for name in [names] if isinstance(names, str) else names:
            found = types[name]
            if wanted == dtypes.string:
                fits = _may_be_text(found)
            else:
                fits = isinstance(found, np.dtype) and np.can_cast(
                    found, numpy_dtype(wanted), "same_kind"
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


def _names_of(key: str, shape: Sequence[int | None]) -> list[str]:
    if not shape:
        return [key]
    if len(shape) == 1 and shape[0] is not None:
        return [f"{key}_{number}" for number in range(shape[0])]
    raise ValueError(
        f"A row of the output {key} has shape {tuple(shape)}; columns need a number or a vector of "
        "known length. Map an Array: frame.to_dask_array(lengths=True)"
    )


def _run_frame(
    frame: Any,
    sent: SentModel,
    batch_size: int | None,
    chosen: Mapping[str, Any],
    names: Mapping[str, list[str]],
) -> Any:
    """Return the outputs for one partition; runs in a worker."""
    pandas = import_dask("pandas")
    model = sent.opened()
    inputs = [_values_of(frame, chosen[key], one) for key, one in model.inputs.items()]
    results = run_rows(model, inputs, batch_size)
    found: dict[str, Any] = {}
    for values, columns in zip(results, names.values()):
        parts = [values] if values.ndim == 1 else list(np.moveaxis(values, 1, 0))
        if len(parts) != len(columns):  # no rows
            parts = [np.empty(0, values.dtype) for _ in columns]
        found |= dict(zip(columns, parts))
    return pandas.DataFrame(found, index=frame.index)


def _values_of(frame: Any, columns: str | list[str], wanted: ModelTensor) -> Any:
    """Return the values of an input.

    Raises:
      InvalidArgumentError: a string is missing.
    """
    part = frame[columns]
    if wanted.dtype == dtypes.string and (missing := part.isna().to_numpy()).any():
        names = [columns] if isinstance(columns, str) else columns
        lacking = [name for name, one in zip(names, np.atleast_2d(missing.T)) if one.any()]
        raise errors.invalid_argument(
            f"Strings are missing in {', '.join(map(repr, lacking))}; the input {wanted.key} needs "
            f"all. Fill them: frame.fillna({dict.fromkeys(lacking, '')})"
        )
    return np.asarray(part.to_numpy(), numpy_dtype(wanted.dtype))
