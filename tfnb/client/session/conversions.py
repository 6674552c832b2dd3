"""Types besides tensors that a session accepts as fetches and as keys of ``feed_dict``.

A type is added once, with :func:`register_session_run_conversion_functions`; the newest
registration that fits an object is used. This module registers SparseTensor and IndexedSlices.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from tfnb.core.process.records import record
from tfnb.framework.dispatch import CompositeTensor

if TYPE_CHECKING:
    from tfnb.framework.indexed_slices import IndexedSlices, IndexedSlicesValue

FetchFunction: TypeAlias = Callable[[Any], tuple[Sequence[Any], Callable[[list[Any]], Any]]]
FeedFunction: TypeAlias = Callable[[Any, Any], Sequence[tuple[Any, Any]]]
PartialRunFeedFunction: TypeAlias = Callable[[Any], Sequence[Any]]


@record(frozen=True, slots=True)
class Conversion:
    """The functions for fetching and feeding objects of one type.

    Attributes:
        type: The class; objects of subclasses are included.
        fetch: Returns the graph elements to fetch, and the function that takes their values.
        feed: Returns (graph element, value) pairs for a key of ``feed_dict`` and its value.
        feed_for_partial_run: Returns the graph elements that ``feed`` will feed.
        is_stable: Whether the same object always expands to the same elements.
    """

    type: type
    fetch: FetchFunction
    feed: FeedFunction | None = None
    feed_for_partial_run: PartialRunFeedFunction | None = None
    is_stable: bool = False


_CONVERSIONS: list[Conversion] = []


def register_session_run_conversion_functions(
    tensor_type: type,
    fetch_function: FetchFunction,
    feed_function: FeedFunction | None = None,
    feed_function_for_partial_run: PartialRunFeedFunction | None = None,
) -> None:
    """Register a type that ``Session.run`` accepts.

    For example, a pair that is fetched as the sum of its parts and fed through its first part::

        register_session_run_conversion_functions(
            Pair,
            fetch_function=lambda pair: ([pair.a, pair.b], lambda values: values[0] + values[1]),
            feed_function=lambda pair, value: [(pair.a, value)],
            feed_function_for_partial_run=lambda pair: [pair.a])

    Raises:
        ValueError: The type, or a subclass of it, has been registered before.
    """
    _add_loaded()
    for conversion in _CONVERSIONS:
        if issubclass(conversion.type, tensor_type):
            raise ValueError(f"{tensor_type} has already been registered and was not changed.")
    _CONVERSIONS.insert(
        0, Conversion(tensor_type, fetch_function, feed_function, feed_function_for_partial_run)
    )


def find(value: Any) -> Conversion | None:
    """Return the conversion for an object, or None if it needs none."""
    _add_loaded()
    for conversion in _CONVERSIONS:
        if isinstance(value, conversion.type):
            return conversion
    return None


def _slices_parts(slices: IndexedSlices) -> list[Any]:
    if slices.dense_shape is None:
        return [slices.values, slices.indices]
    return [slices.values, slices.indices, slices.dense_shape]


def _slices_value(values: list[Any]) -> IndexedSlicesValue:
    from tfnb.framework.indexed_slices import IndexedSlicesValue

    return IndexedSlicesValue(values[0], values[1], values[2] if len(values) == 3 else None)


def _of_sparse_tensors() -> Conversion:
    from tfnb.framework.sparse_tensor import SparseTensor, SparseTensorValue

    return Conversion(
        SparseTensor,
        lambda sparse: (
            [sparse.indices, sparse.values, sparse.dense_shape],
            lambda values: SparseTensorValue(*values),
        ),
        lambda sparse, value: list(
            zip([sparse.indices, sparse.values, sparse.dense_shape], value, strict=False)
        ),
        lambda sparse: [sparse.indices, sparse.values, sparse.dense_shape],
        is_stable=True,
    )


def _of_slices() -> Conversion:
    from tfnb.framework.indexed_slices import IndexedSlices

    return Conversion(
        IndexedSlices,
        lambda slices: (_slices_parts(slices), _slices_value),
        lambda slices, value: list(zip(_slices_parts(slices), value, strict=False)),
        _slices_parts,
        is_stable=True,
    )


_CONVERSIONS.append(
    Conversion(
        CompositeTensor,
        lambda value: (value.parts(), value.fetched),
        lambda value, fed: value.fed(fed),
        lambda value: value.parts(),
        is_stable=True,
    )
)
# Module -> its conversion. A process has no objects of these types before it imports the modules.
_NOT_LOADED = {
    "tfnb.framework.sparse_tensor": _of_sparse_tensors,
    "tfnb.framework.indexed_slices": _of_slices,
}


def _add_loaded() -> None:
    for module, make in list(_NOT_LOADED.items()):
        if module in sys.modules:
            # In this order no thread misses it, and an interrupt does not lose it. Two threads may
            # both add it, which changes nothing.
            _CONVERSIONS.append(make())
            _NOT_LOADED.pop(module, None)
