"""A model over Dask Arrays."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.client.model_batches import fixed_batch
from tfnb.core import dtypes
from tfnb.dask_runtime.blocks import output_of_block, run_block
from tfnb.dask_runtime.dask_import import import_dask

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.client.model import Model
    from tfnb.client.model_tensor import ModelTensor
    from tfnb.core.dtypes import DType
    from tfnb.dask_runtime.model_of_tasks import SentModel

_ROWS = 0


def map_arrays(
    model: Model,
    sent: SentModel,
    arrays: Mapping[str, Any],
    batch_size: int | None,
    chunk_rows: int | None,
    output_shapes: Mapping[str, Sequence[int | None]],
) -> Any:
    """Return an Array for the only output, or a dict of Arrays.

    Raises:
      TypeError: an input is missing, or has another type.
      ValueError: shapes do not fit, or the graph does not tell that of an output.
    """
    array = import_dask("dask.array")
    inputs = [
        _prepared(one, wanted, chunk_rows)
        for one, wanted in zip(model.bound((), arrays), model.inputs.values())
    ]
    rows = fixed_batch(model)
    shapes = row_shapes(
        model, {key: one.shape[1:] for key, one in zip(model.inputs, inputs)}, rows, output_shapes
    )
    inputs = _with_equal_rows(array, model, inputs)
    run = partial(run_block, sent, batch_size)
    outputs = list(model.outputs.values())
    if len(outputs) == 1:
        return _outcome(array, run, inputs, outputs[0], shapes[outputs[0].key])
    rank = max(one.ndim for one in inputs)
    both = _mapped(array, run, inputs, rank, np.dtype(object))
    return {
        one.key: _outcome(array, partial(output_of_block, number), [both], one, shapes[one.key])
        for number, one in enumerate(outputs)
    }


def _outcome(
    array: Any, function: Any, inputs: list[Any], output: ModelTensor, shape: Sequence[int | None]
) -> Any:
    """Return the Array of one output."""
    made = _mapped(array, function, inputs, len(shape) + 1, numpy_dtype(output.dtype))
    sizes = [(np.nan if size is None else size,) for size in shape]
    return array.Array(made.dask, made.name, (made.chunks[_ROWS], *sizes), meta=made._meta)


def _mapped(array: Any, function: Any, inputs: list[Any], rank: int, dtype: Any) -> Any:
    """Return an Array whose blocks are results of a function; sizes except rows are not set.

    Each axis of a row is one block, thus inputs and result share the indices of their axes: Dask
    merges layers only where the result has the axes of the inputs, and needs a further task for
    each block elsewhere.
    """
    pairs = [part for one in inputs for part in (one, tuple(range(one.ndim)))]
    axes = tuple(range(rank))
    new = axes[max(one.ndim for one in inputs) :]
    return array.blockwise(
        function,
        axes,
        *pairs,
        new_axes=dict.fromkeys(new, 1),
        align_arrays=False,
        dtype=dtype,
        meta=np.empty((0,) * rank, dtype),
        token="tfnb-model",
    )


def _with_equal_rows(array: Any, model: Model, inputs: list[Any]) -> list[Any]:
    """Return Arrays whose blocks have the same rows.

    Raises:
      ValueError: they differ in their numbers of rows.
    """
    if len(inputs) == 1:
        return inputs
    counts = {key: one.shape[_ROWS] for key, one in zip(model.inputs, inputs)}
    if len({count for count in counts.values() if count == count}) > 1:
        raise ValueError(f"The arrays differ in their numbers of rows: {counts}.")
    pairs: list[Any] = []
    for number, one in enumerate(inputs):
        pairs += [one, (_ROWS, *((number, axis) for axis in range(1, one.ndim)))]
    _, found = array.core.unify_chunks(*pairs)
    return list(found)


def numpy_dtype(dtype: DType) -> Any:
    """Return the type of an output's arrays; strings are objects."""
    return np.dtype(object) if dtype == dtypes.string else np.dtype(dtype.as_numpy_dtype)


def _prepared(given: Any, wanted: ModelTensor, chunk_rows: int | None) -> Any:
    """Return an Array that is divided along its rows only.

    Raises:
      TypeError: its type does not fit.
      ValueError: it has no rows.
    """
    if given.ndim == 0:
        raise ValueError(f"The array for {wanted.key} is a scalar; it has no rows.")
    target = numpy_dtype(wanted.dtype)
    if target.kind != "O" and not np.can_cast(given.dtype, target, "same_kind"):
        raise TypeError(
            f"The array for {wanted.key} has type {given.dtype}; the input is {wanted.dtype.name}. "
            f"Convert it: x.astype({wanted.dtype.name!r})"
        )
    chunks: dict[int, int] = dict.fromkeys(range(1, given.ndim), -1)
    if chunk_rows is not None:
        chunks[0] = chunk_rows
    return given.rechunk(chunks) if chunks else given


def row_shapes(
    model: Model,
    inputs: Mapping[str, Sequence[Any]],
    rows: int | None,
    given: Mapping[str, Sequence[int | None]],
) -> dict[str, tuple[int | None, ...]]:
    """Return the shape of a row of each output, with None for an axis that is not known.

    Args:
      model: the model.
      inputs: the shape of a row of each input; NaN or None for an axis that is not known.
      rows: rows of a step, if the graph requires a number.
      given: shapes that the user gave, which count more.

    Raises:
      ValueError: the inputs do not fit; an output has no rows, or its rank is not known.
    """
    unknown = set(given) - set(model.outputs)
    if unknown:
        raise ValueError(f"`output_shapes` names {unknown}; the outputs are {set(model.outputs)}.")
    known = {key: [rows, *map(_size, shape)] for key, shape in inputs.items()}
    found: dict[str, tuple[int | None, ...]] = {}
    for key, shape in model.shapes_for(known).items():
        if key in given:
            found[key] = tuple(given[key])
            continue
        if shape.rank is None:
            raise ValueError(
                f"The graph does not tell the shape of {key}. Give the shape of a row: "
                f"output_shapes={{{key!r}: (10,)}}"
            )
        sizes = shape.as_list()
        if not sizes or (sizes[0] is not None and sizes[0] != rows):
            raise ValueError(
                f"The output {key} has shape {shape}: it has no row for each row of the input. "
                "Choose the outputs: Model(path, outputs=[...])"
            )
        found[key] = tuple(sizes[1:])
    return found


def _size(size: Any) -> int | None:
    return None if size is None or size != size else int(size)
