"""Rows through a model, batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.client.model_tensor import ArrayFunction


def run_rows(
    model: ArrayFunction,
    inputs: Sequence[Any],
    batch_size: int | None = None,
    between: Callable[[], None] | None = None,
) -> list[Any]:
    """Run a model over rows, and return those of each output.

    Args:
        model: The model.
        inputs: Arrays with the same number of rows, in the order of the model's inputs.
        batch_size: Rows of a step; all if None. A graph for batches of one size sets it; then the
            last batch is filled up with copies of its last row.
        between: Called between two batches; it may raise to end the work.

    Raises:
        InvalidArgumentError: There are no inputs, or they differ in rows, or an output has other
            rows than they.
    """
    if not inputs:
        raise errors.invalid_argument("The model has no inputs, thus no rows; call it: model().")
    counts = {len(one) for one in inputs}
    if len(counts) != 1:
        raise errors.invalid_argument(f"The inputs differ in their numbers of rows: {counts}.")
    [rows] = counts
    if rows == 0:
        return _no_rows(model)
    fixed = fixed_batch(model)
    size = fixed or batch_size or rows
    if size >= rows and not fixed:
        return _batch(model, inputs, rows)
    found = []
    for begin in range(0, rows, size):
        if begin and between is not None:
            between()
        part = [one[begin : begin + size] for one in inputs]
        count = len(part[0])
        if fixed and count < size:
            part = [np.concatenate([one, np.repeat(one[-1:], size - count, 0)]) for one in part]
        found.append([one[:count] for one in _batch(model, part, len(part[0]))])
    return found[0] if len(found) == 1 else [np.concatenate(parts) for parts in zip(*found)]


def fixed_batch(model: ArrayFunction) -> int | None:
    """Return the number of rows that the graph requires; None if it takes any.

    Raises:
        InvalidArgumentError: Two inputs require different numbers, or one has no rows.
    """
    found = set()
    for one in model.inputs.values():
        if one.shape.rank == 0:
            raise errors.invalid_argument(
                f"The input {one.key} is a scalar; a collection gives it rows. Choose the inputs: "
                "Model(path, inputs=[...])"
            )
        if one.shape.dims:
            found.add(one.shape.dims[0].value)
    found.discard(None)
    if len(found) > 1:
        raise errors.invalid_argument(f"The inputs require different numbers of rows: {found}.")
    return found.pop() if found else None


def _batch(model: ArrayFunction, inputs: Sequence[Any], rows: int) -> list[Any]:
    results = model.run(inputs)
    for one, value in zip(model.outputs.values(), results):
        shape = np.shape(value)
        if not shape or shape[0] != rows:
            raise errors.invalid_argument(
                f"The output {one.key} has shape {shape} for {rows} rows: a model that runs over "
                "rows returns one row for each. Choose the outputs: Model(path, outputs=[...])"
            )
    return results


def _no_rows(model: ArrayFunction) -> list[Any]:
    shapes = [one.shape.dims or [] for one in model.outputs.values()]
    return [
        np.empty((0, *(dim.value or 0 for dim in dims[1:])), one.dtype.as_numpy_dtype)
        for one, dims in zip(model.outputs.values(), shapes)
    ]
