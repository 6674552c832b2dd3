"""Rows through a model, batch by batch; runs in workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.client.model_batches import fixed_batch, run_rows
from tfnb.core import errors
from tfnb.dask_runtime.cancelled_tasks import raise_if_cancelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tfnb.client.model import Model
    from tfnb.dask_runtime.model_of_tasks import SentModel

ITEMS_OF_A_BATCH = 128


def run_block(sent: SentModel, batch_size: int | None, *blocks: Any) -> Any:
    """Return the output for a block of each input; a tuple if there are several outputs."""
    arrays = [_unwrapped(one) for one in blocks]
    for array in arrays:
        if not getattr(array, "shape", ()):
            raise TypeError(
                f"A block of the collection is no array with rows, but a {type(array).__name__}: "
                "the function that makes the blocks must return arrays."
            )
    results = run_rows(sent.opened(), arrays, batch_size, raise_if_cancelled)
    return results[0] if len(results) == 1 else tuple(results)


def output_of_block(number: int, results: Any) -> Any:
    """Return one output of those that :func:`run_block` returned for a block."""
    return _unwrapped(results)[number]


def _unwrapped(block: Any) -> Any:
    """Return the only block in the lists that Dask makes along axes that the result lacks."""
    while isinstance(block, list) and len(block) == 1:
        [block] = block
    return block


def run_partition(sent: SentModel, batch_size: int | None, items: Iterable[Any]) -> list[Any]:
    """Return a result for each item of a partition: an array, or a dict of several outputs."""
    model = sent.opened()
    size = fixed_batch(model) or batch_size or ITEMS_OF_A_BATCH
    found: list[Any] = []
    for batch in _batches(model, items, size):
        rows = run_rows(
            model, [np.stack(column) for column in zip(*batch)], size, raise_if_cancelled
        )
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
