"""A model over a Dask DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.client.model_batches import fixed_batch, run_rows
from tfnb.client.model_frames import check_types, columns_of, values_of
from tfnb.dask_runtime.cancelled_tasks import raise_if_cancelled
from tfnb.dask_runtime.dask_import import import_dask
from tfnb.dask_runtime.map_arrays import numpy_dtype, row_shapes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.client.model import Model
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
    chosen = columns_of(model, list(frame.columns), columns)
    check_types(model, frame.dtypes, chosen)
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
    inputs = [values_of(frame, chosen[key], one) for key, one in model.inputs.items()]
    results = run_rows(model, inputs, batch_size, raise_if_cancelled)
    found: dict[str, Any] = {}
    for values, columns in zip(results, names.values()):
        parts = [values] if values.ndim == 1 else list(np.moveaxis(values, 1, 0))
        if len(parts) != len(columns):  # no rows
            parts = [np.empty(0, values.dtype) for _ in columns]
        found |= dict(zip(columns, parts))
    return pandas.DataFrame(found, index=frame.index)
