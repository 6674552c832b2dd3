"""A model over Dask Arrays."""

from __future__ import annotations

import operator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.dask_runtime.blocks import fixed_batch, run_block
from tfnb.dask_runtime.dask_import import import_dask

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.client.model import Model, ModelTensor
    from tfnb.core.dtypes import DType
    from tfnb.dask_runtime.model_of_tasks import SentModel

# Indices of the axes that belong to one input or one output, for dask.array.blockwise.
_ROWS, _AXES_OF_ONE = 0, 64


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
    pairs: list[Any] = []
    for number, one in enumerate(inputs):
        first = (number + 1) * _AXES_OF_ONE
        pairs += [one, (_ROWS, *range(first, first + one.ndim - 1))]
    run = partial(run_block, sent, batch_size)
    outputs = list(model.outputs.values())
    if len(outputs) == 1:
        return _outcome(array, run, pairs, outputs[0], shapes[outputs[0].key])
    both = array.blockwise(
        run, (_ROWS,), *pairs, dtype=object, meta=np.empty(0, object), token="tfnb-model"
    )
    return {
        one.key: _outcome(
            array, operator.itemgetter(number), [both, (_ROWS,)], one, shapes[one.key]
        )
        for number, one in enumerate(outputs)
    }


def _outcome(
    array: Any, function: Any, pairs: list[Any], output: ModelTensor, shape: Sequence[int | None]
) -> Any:
    """Return the Array of one output."""
    axes = range(-len(shape), 0)
    dtype = numpy_dtype(output.dtype)
    meta = np.empty((0,) * (len(shape) + 1), dtype)
    made = array.blockwise(
        function,
        (_ROWS, *axes),
        *pairs,
        new_axes=dict.fromkeys(axes, 1),
        dtype=dtype,
        meta=meta,
        token="tfnb-model",
    )
    sizes = [(np.nan if size is None else size,) for size in shape]
    return array.Array(made.dask, made.name, (made.chunks[0], *sizes), meta=meta)


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
