"""Rows through a model, batch by batch; runs in workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.dask_runtime.cancelled_tasks import raise_if_cancelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tfnb.client.model import Model
    from tfnb.dask_runtime.model_of_tasks import SentModel

ITEMS_OF_A_BATCH = 128


def run_block(sent: SentModel, batch_size: int | None, *blocks: Any) -> Any:
    """Return the output for a block of each input; a tuple if there are several outputs."""
    results = run_rows(sent.opened(), [_unwrapped(one) for one in blocks], batch_size)
    return results[0] if len(results) == 1 else tuple(results)


def output_of_block(number: int, results: Any) -> Any:
    """Return one output of those that :func:`run_block` returned for a block."""
    return _unwrapped(results)[number]


def _unwrapped(block: Any) -> Any:
    """Return the only block in the lists that Dask makes along axes that the result lacks."""
    while isinstance(block, list):
        [block] = block
    return block


def run_rows(model: Model, inputs: Sequence[Any], batch_size: int | None = None) -> list[Any]:
    """Run a model over rows, and return those of each output.

    Args:
      model: the model.
      inputs: arrays with the same number of rows, in the order of the model's inputs.
      batch_size: rows of a step; None: all. A graph for batches of one size sets it; then the last
        batch is filled up with copies of its last row.

    Raises:
      InvalidArgumentError: the inputs differ in rows, or an output has other rows than they.
    """
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
        if begin:
            raise_if_cancelled()
        part = [one[begin : begin + size] for one in inputs]
        count = len(part[0])
        if fixed and count < size:
            part = [np.concatenate([one, np.repeat(one[-1:], size - count, 0)]) for one in part]
        found.append([one[:count] for one in _batch(model, part, len(part[0]))])
    return found[0] if len(found) == 1 else [np.concatenate(parts) for parts in zip(*found)]


def fixed_batch(model: Model) -> int | None:
    """Return the number of rows that the graph requires; None if it takes any.

    Raises:
      InvalidArgumentError: two inputs require different numbers, or one has no rows.
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


def _batch(model: Model, inputs: Sequence[Any], rows: int) -> list[Any]:
    results = model.run(inputs)
    for one, value in zip(model.outputs.values(), results):
        shape = np.shape(value)
        if not shape or shape[0] != rows:
            raise errors.invalid_argument(
                f"The output {one.key} has shape {shape} for {rows} rows: a model that is mapped "
                "returns one row for each. Choose the outputs: Model(path, outputs=[...])"
            )
    return results


def _no_rows(model: Model) -> list[Any]:
    shapes = [one.shape.dims or [] for one in model.outputs.values()]
    return [
        np.empty((0, *(dim.value or 0 for dim in dims[1:])), one.dtype.as_numpy_dtype)
        for one, dims in zip(model.outputs.values(), shapes)
    ]


def run_partition(sent: SentModel, batch_size: int | None, items: Iterable[Any]) -> list[Any]:
    """Return a result for each item of a partition: an array, or a dict of several outputs."""
    model = sent.opened()
    size = fixed_batch(model) or batch_size or ITEMS_OF_A_BATCH
    found: list[Any] = []
    for batch in _batches(model, items, size):
        rows = run_rows(model, [np.stack(column) for column in zip(*batch)], size)
        if len(rows) == 1:
            found.extend(rows[0])
        else:
            found.extend(dict(zip(model.outputs, values)) for values in zip(*rows))
    return found


def _batches(model: Model, items: Iterable[Any], size: int) -> Iterator[list[list[Any]]]:
    """Yield lists of at most ``size`` successive items whose values have the same shapes."""
    batch: list[list[Any]] = []
    shapes: list[Any] = []
    for item in items:
        values = _values_of(model, item)
        own = [one.shape for one in values]
        if batch and (len(batch) == size or own != shapes):
            yield batch
            batch = []
        shapes = own
        batch.append(values)
    if batch:
        yield batch


def _values_of(model: Model, item: Any) -> list[Any]:
    """Return the values of an item in the order of the inputs."""
    if isinstance(item, dict):
        item = model.bound((), item)
    elif len(model.inputs) == 1:
        item = [item]
    elif not isinstance(item, (tuple, list)) or len(item) != len(model.inputs):
        raise errors.invalid_argument(
            f"An item must be a dict or a tuple with {', '.join(model.inputs)}; it is a "
            f"{type(item).__name__}."
        )
    return [
        np.asarray(value, one.dtype.as_numpy_dtype)
        for one, value in zip(model.inputs.values(), item)
    ]
