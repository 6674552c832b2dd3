"""Datasets that select elements of others: repeat, take, skip, shard, zip and others."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, effects, errors
from tfnb.core.op_registry import register_op
from tfnb.ops.dataset.dataset_iterators import (
    INFINITE,
    UNKNOWN,
    DatasetBase,
    DatasetIterator,
    Element,
    ImmediateIterator,
    IteratorScope,
    as_dataset,
    go_on_or_end,
    scalar_int,
    scalar_of,
)
from tfnb.ops.dataset.dataset_source_ops import METADATA, OUTPUTS, handle_of_scalars, scalar_handle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Handle, Outputs, Variant, Xp
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.ops.dataset.dataset_iterators import type_of_next

_IN = "input_dataset: variant"
_numbers = itertools.count()


def check_parallel_calls(value: Array) -> None:
    """Refuse a number of parallel calls below 1, except -1, which lets the runtime choose.

    Raises:
      InvalidArgumentError: it is 0 or below -1, or not a scalar.
    """
    calls = scalar_int(value, "num_parallel_calls")
    if calls < 1 and calls != -1:
        raise errors.invalid_argument("num_parallel_calls must be greater than zero.")


# ------------------------------------------------------------------------------- repeat, take, skip


class _RepeatIterator(DatasetIterator):
    def __init__(self, scope: IteratorScope, source: DatasetBase, count: int) -> None:
        self._scope, self._source, self._left = scope, source, count
        self._inner: DatasetIterator | None = None
        self._has_any = True

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Return the next element; an endless repetition of an empty dataset ends."""
        while self._left and self._has_any:
            if self._inner is None:
                self._inner, is_first = self._source.make(self._scope), True
            else:
                is_first = False
            element = yield from self._inner.get_next(ctx)
            if element is not None:
                return element
            self._inner = None
            if self._left > 0:
                self._left -= 1
            elif is_first:
                self._has_any = False
            go_on_or_end(ctx)
        return None


@register_op(
    "RepeatDataset", f"{_IN}, count: int64 -> handle: variant", *OUTPUTS, METADATA,
    shape=handle_of_scalars, devices=("CPU",),
)  # fmt: skip
def repeat_dataset(
    xp: Xp,
    input_dataset: Variant,
    count: Array,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return the elements repeated ``count`` times, endlessly if the count is negative."""
    source, times = as_dataset(input_dataset), scalar_int(count, "count")
    size = source.cardinality
    if times < 0:
        total = 0 if size == 0 else INFINITE
    elif times == 0:
        total = 0
    else:
        total = size * times if size >= 0 else size
    return DatasetBase(
        output_types, output_shapes, lambda scope: _RepeatIterator(scope, source, times), total
    )


class _TakeIterator(DatasetIterator):
    def __init__(self, inner: DatasetIterator, count: int) -> None:
        self._inner, self._left = inner, count

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Return the next element; after the last one, the source no longer advances."""
        if not self._left:
            return None
        element = yield from self._inner.get_next(ctx)
        if element is None:
            self._left = 0
        elif self._left > 0:
            self._left -= 1
        return element


@register_op(
    "TakeDataset", f"{_IN}, count: int64 -> handle: variant", *OUTPUTS, METADATA,
    shape=handle_of_scalars, devices=("CPU",),
)  # fmt: skip
def take_dataset(
    xp: Xp,
    input_dataset: Variant,
    count: Array,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return at most the first ``count`` elements; all if the count is negative."""
    source, most = as_dataset(input_dataset), scalar_int(count, "count")
    size = source.cardinality
    if most == INFINITE or size == UNKNOWN:
        total = size
    else:  # only the cardinality reads a count below -1 as a number
        total = most if size == INFINITE else min(size, most)
    return DatasetBase(
        output_types, output_shapes, lambda scope: _TakeIterator(source.make(scope), most), total
    )


class _SkipIterator(DatasetIterator):
    def __init__(self, inner: DatasetIterator, count: int) -> None:
        self._inner, self._to_skip = inner, count

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Return the next element; the first call skips the first elements."""
        while self._to_skip:
            if (yield from self._inner.get_next(ctx)) is None:
                self._to_skip = 0
                return None
            self._to_skip -= 1
            go_on_or_end(ctx)
        return (yield from self._inner.get_next(ctx))


class _EmptyIterator(ImmediateIterator):
    def take(self, ctx: OpKernelContext) -> Element | None:
        """Return None: there are no elements."""
        return None


@register_op(
    "SkipDataset", f"{_IN}, count: int64 -> handle: variant", *OUTPUTS, METADATA,
    shape=handle_of_scalars, devices=("CPU",),
)  # fmt: skip
def skip_dataset(
    xp: Xp,
    input_dataset: Variant,
    count: Array,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return all except the first ``count`` elements; none if the count is negative."""
    source, first = as_dataset(input_dataset), scalar_int(count, "count")
    if first < 0:
        return DatasetBase(output_types, output_shapes, lambda scope: _EmptyIterator(), 0)
    size = source.cardinality
    total = max(0, size - first) if size >= 0 else size
    return DatasetBase(
        output_types, output_shapes, lambda scope: _SkipIterator(source.make(scope), first), total
    )


class _ShardIterator(DatasetIterator):
    def __init__(
        self, inner: DatasetIterator, num_shards: int, index: int, require_non_empty: bool
    ) -> None:
        self._inner, self._num_shards, self._index = inner, num_shards, index
        self._require = require_non_empty
        self._next = 0

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Return the next element that belongs to the shard."""
        while True:
            element = yield from self._inner.get_next(ctx)
            if element is None:
                if self._require and self._next < self._num_shards:
                    raise errors.invalid_argument(
                        "Could not apply FILE based sharding: the dataset only has "
                        f"{self._next} file(s), which is not enough for the required "
                        f"{self._num_shards} shards/workers."
                    )
                return None
            number, self._next = self._next, self._next + 1
            if number % self._num_shards == self._index:
                return element
            go_on_or_end(ctx)


@register_op(
    "ShardDataset", f"{_IN}, num_shards: int64, index: int64 -> handle: variant",
    "require_non_empty: bool = false", *OUTPUTS, METADATA, shape=handle_of_scalars,
    devices=("CPU",),
)  # fmt: skip
def shard_dataset(
    xp: Xp,
    input_dataset: Variant,
    num_shards: Array,
    index: Array,
    *,
    require_non_empty: bool,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return every ``num_shards``-th element, starting with element ``index``.

    Raises:
      InvalidArgumentError: the index is not that of a shard.
    """
    source = as_dataset(input_dataset)
    shards, own = scalar_int(num_shards, "num_shards"), scalar_int(index, "index")
    if shards == -1:
        raise errors.failed_precondition(
            "`tf.data.Dataset.shard(SHARD_HINT, ...)` is for datasets that a strategy distributes "
            "with `AutoShardPolicy.HINT`."
        )
    if shards <= 0:
        raise errors.invalid_argument(
            f"Number of shards must be greater than zero (currently num_shards = {shards})."
        )
    if own < 0 or own >= shards:
        raise errors.invalid_argument(
            f"Index must be between 0 and {shards - 1} (currently index = {own})."
        )
    size = source.cardinality
    total = size // shards + (own < size % shards) if size >= 0 else size
    return DatasetBase(
        output_types,
        output_shapes,
        lambda scope: _ShardIterator(source.make(scope), shards, own, require_non_empty),
        total,
    )


# --------------------------------------------------------------------------------- several datasets


class _ZipIterator(DatasetIterator):
    def __init__(self, inners: Sequence[DatasetIterator]) -> None:
        self._inners = inners
        self._parts: list[Element | errors.OpError] = []  # elements of an interrupted call

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Return the next elements of all datasets, joined; end with the shortest dataset.

        If one fails, the others still advance, so that they stay aligned.
        """
        parts = self._parts
        while len(parts) < len(self._inners):
            part: Element | errors.OpError | None
            try:
                part = yield from self._inners[len(parts)].get_next(ctx)
            except errors.OpError as error:
                part = error
            if part is None:
                self._inners = ()
                break
            parts.append(part)
        self._parts = []
        joined: list[Array] = []
        for found in parts:
            if isinstance(found, errors.OpError):
                raise found
            joined += found
        return tuple(joined) if self._inners else None


@register_op(
    "ZipDataset", "input_datasets: N * variant -> handle: variant", *OUTPUTS, "N: int >= 1",
    METADATA, shape=scalar_handle, devices=("CPU",),
)  # fmt: skip
def zip_dataset(
    xp: Xp,
    input_datasets: list[Variant],
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return tuples of the elements of several datasets."""
    sources = [as_dataset(value) for value in input_datasets]
    sizes = [source.cardinality for source in sources]
    if UNKNOWN in sizes:
        total = UNKNOWN
    else:
        total = min([size for size in sizes if size != INFINITE], default=INFINITE)
    return DatasetBase(
        output_types,
        output_shapes,
        lambda scope: _ZipIterator([source.make(scope) for source in sources]),
        total,
    )


class _ConcatenateIterator(DatasetIterator):
    def __init__(self, scope: IteratorScope, sources: Sequence[DatasetBase]) -> None:
        self._scope, self._rest = scope, list(sources)
        self._inner: DatasetIterator | None = None

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Return the next element of the first dataset, then those of the second."""
        while True:
            if self._inner is None:
                if not self._rest:
                    return None
                self._inner = self._rest.pop(0).make(self._scope)
            element = yield from self._inner.get_next(ctx)
            if element is not None:
                return element
            self._inner = None


@register_op(
    "ConcatenateDataset", f"{_IN}, another_dataset: variant -> handle: variant", *OUTPUTS,
    METADATA, shape=scalar_handle, devices=("CPU",),
)  # fmt: skip
def concatenate_dataset(
    xp: Xp,
    input_dataset: Variant,
    another_dataset: Variant,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return the elements of one dataset, then those of another.

    Raises:
      InvalidArgumentError: the types of elements differ.
    """
    one, other = as_dataset(input_dataset), as_dataset(another_dataset)
    if list(one.types) != list(other.types):
        raise errors.invalid_argument(
            "input dataset and another dataset have different output_types"
        )
    sizes = one.cardinality, other.cardinality
    total = UNKNOWN if UNKNOWN in sizes else sum(sizes)
    if INFINITE in sizes:
        total = INFINITE
    return DatasetBase(
        output_types, output_shapes, lambda scope: _ConcatenateIterator(scope, (one, other)), total
    )


class _DirectedIterator(DatasetIterator):
    def __init__(
        self, selector: DatasetIterator, inners: Sequence[DatasetIterator], stops: bool
    ) -> None:
        self._selector = selector
        self._inners: list[DatasetIterator | None] = list(inners)
        self._stops = stops
        self._is_over = False

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Return an element of the selected dataset; if that has ended, make the next choice."""
        while not self._is_over:
            choice = yield from self._selector.get_next(ctx)
            if choice is None:
                break
            number = int(choice[0])
            if not 0 <= number < len(self._inners):
                raise errors.invalid_argument(
                    f"Selector index out of range: {number} >= {len(self._inners)}"
                )
            inner = self._inners[number]
            if inner is not None:
                element = yield from inner.get_next(ctx)
                if element is not None:
                    return element
                if self._stops:
                    break
                self._inners[number] = None
                if not any(self._inners):
                    break
            go_on_or_end(ctx)
        self._is_over = True
        return None


def _directed(
    xp: Xp,
    selector_input_dataset: Variant,
    data_input_datasets: list[Variant],
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
    stop_on_empty_dataset: bool = False,
) -> Variant:
    """Return elements of several datasets, in the order given by another dataset."""
    selector = as_dataset(selector_input_dataset)
    sources = [as_dataset(value) for value in data_input_datasets]
    if list(selector.types) != [dtypes.int64] or selector.shapes[0].rank not in (0, None):
        raise errors.invalid_argument(
            "The selector input must be a dataset of scalar int64 elements."
        )
    first = [dtype.name for dtype in sources[0].types]
    for index, source in enumerate(sources):
        found = [dtype.name for dtype in source.types]
        if found != first:
            raise errors.invalid_argument(
                "All inputs must have the same output_dtypes. First input has types "
                f"{', '.join(first)}, and input {index} has types {', '.join(found)}"
            )
    return DatasetBase(
        output_types,
        output_shapes,
        lambda scope: _DirectedIterator(
            selector.make(scope), [one.make(scope) for one in sources], stop_on_empty_dataset
        ),
    )


_DIRECTED = (
    "selector_input_dataset: variant, data_input_datasets: N * variant -> handle: variant",
    *OUTPUTS, "N: int >= 1",
)  # fmt: skip
directed_interleave_dataset = register_op(
    "DirectedInterleaveDataset", *_DIRECTED, "stop_on_empty_dataset: bool = false",
    shape=scalar_handle, devices=("CPU",),
)(_directed)  # fmt: skip
experimental_directed_interleave_dataset = register_op(
    "ExperimentalDirectedInterleaveDataset", *_DIRECTED, shape=scalar_handle, devices=("CPU",)
)(_directed)


# -------------------------------------------------------------------------------------------- cache


class MemoryCache:
    """The elements of a dataset; complete once an iterator has reached the end."""

    def __init__(self) -> None:
        self.elements: list[Element] | None = None


class _CachingIterator(DatasetIterator):
    """The iterator that keeps the elements of the source; its end completes the cache."""

    def __init__(self, inner: DatasetIterator, cache: MemoryCache) -> None:
        self._inner, self._cache = inner, cache
        self._kept: list[Element] = []

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        element = yield from self._inner.get_next(ctx)
        if element is not None:
            self._kept.append(element)
        elif self._cache.elements is None:
            self._cache.elements = self._kept
        return element


class _CachedIterator(ImmediateIterator):
    def __init__(self, elements: list[Element]) -> None:
        self._elements, self._next = elements, 0

    def take(self, ctx: OpKernelContext) -> Element | None:
        index = self._next
        if index >= len(self._elements):
            return None
        self._next = index + 1
        return self._elements[index]


def _cached(
    source: DatasetBase, filename: Array, find: Callable[[IteratorScope], MemoryCache]
) -> Callable[[IteratorScope], DatasetIterator]:
    name = np.asarray(scalar_of(filename, "filename")).item().decode("utf-8", "surrogateescape")
    if name:
        from tfnb.ops.dataset.dataset_file_cache import cached_in_file

        guard = effects.current_guard()
        return lambda scope: cached_in_file(source, name, scope, guard)

    def make(scope: IteratorScope) -> DatasetIterator:
        cache = find(scope)
        if cache.elements is not None:
            return _CachedIterator(cache.elements)
        return _CachingIterator(source.make(scope), cache)

    return make


@register_op(
    "CacheDataset", f"{_IN}, filename: string -> handle: variant", *OUTPUTS, METADATA,
    shape=handle_of_scalars, devices=("CPU",), effects="read filename, write filename",
    traits="path_optional",
)  # fmt: skip
def cache_dataset(
    xp: Xp,
    input_dataset: Variant,
    filename: Array,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return the elements of a dataset, which is read only once."""
    source, cache = as_dataset(input_dataset), MemoryCache()
    make = _cached(source, filename, lambda scope: cache)
    return DatasetBase(output_types, output_shapes, make, source.cardinality)


@register_op(
    "CacheDatasetV2", f"{_IN}, filename: string, cache: resource -> handle: variant", *OUTPUTS,
    METADATA, stateful=True, shape=handle_of_scalars, devices=("CPU",),
    effects="read filename, write filename",
    traits="path_optional",
)  # fmt: skip
def cache_dataset_v2(
    ctx: OpKernelContext,
    input_dataset: Variant,
    filename: Array,
    cache: Handle,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return the elements of a dataset, kept in a cache that several datasets may share."""
    source, kept = as_dataset(input_dataset), ctx.resource_manager.lookup(cache, MemoryCache)
    make = _cached(source, filename, lambda scope: kept)
    return DatasetBase(output_types, output_shapes, make, source.cardinality)


class Deleter:
    """A variant that permits the deletion of a resource."""

    shape = ()


@register_op(
    "AnonymousMemoryCache", "-> handle: resource, deleter: variant", stateful=True,
    shape=lambda c: [scalar_handle(c)] * 2, devices=("CPU",),
)  # fmt: skip
def anonymous_memory_cache(ctx: OpKernelContext) -> Outputs:
    """Return a new empty cache with a unique name."""
    name = f"AnonymousMemoryCache{next(_numbers)}"
    ctx.resource_manager.create("", "MemoryCache", name, MemoryCache())
    return ctx.resource_manager.make_handle(name, "MemoryCache"), Deleter()


@register_op(
    "DummyMemoryCache", "-> handle: resource", stateful=True, shape=scalar_handle,
    devices=("CPU",),
)  # fmt: skip
def dummy_memory_cache(ctx: OpKernelContext) -> Handle:
    """Return the cache of the node, for graphs without a cache resource."""
    name = f"{ctx.node_name}_cache"
    ctx.resource_manager.lookup_or_create("", "MemoryCache", name, MemoryCache)
    return ctx.resource_manager.make_handle(name, "MemoryCache")


@register_op(
    "DeleteMemoryCache", "handle: resource, deleter: variant ->", stateful=True,
    shape=lambda c: [], devices=("CPU",),
)  # fmt: skip
def delete_memory_cache(ctx: OpKernelContext, handle: Handle, deleter: Variant) -> None:
    """Delete a cache."""
    ctx.resource_manager.delete(handle)


# ------------------------------------------------------------------------------- the same elements


class _IgnoreErrorsIterator(DatasetIterator):
    def __init__(self, inner: DatasetIterator) -> None:
        self._inner = inner

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Return the next element whose computation succeeds."""
        while True:
            try:
                return (yield from self._inner.get_next(ctx))
            except errors.OpError:
                go_on_or_end(ctx)  # an error that ends the step is not ignored


def _ignore_errors(
    xp: Xp,
    input_dataset: Variant,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return the elements without those whose computation fails."""
    source = as_dataset(input_dataset)
    size = INFINITE if source.cardinality == INFINITE else UNKNOWN
    return DatasetBase(
        output_types, output_shapes, lambda scope: _IgnoreErrorsIterator(source.make(scope)), size
    )


ignore_errors_dataset = register_op(
    "IgnoreErrorsDataset", f"{_IN} -> handle: variant", *OUTPUTS, "log_warning: bool = false",
    shape=scalar_handle, devices=("CPU",),
)(_ignore_errors)  # fmt: skip
experimental_ignore_errors_dataset = register_op(
    "ExperimentalIgnoreErrorsDataset", f"{_IN} -> handle: variant", *OUTPUTS,
    "log_warning: bool = false", shape=scalar_handle, devices=("CPU",),
)(_ignore_errors)  # fmt: skip


class _UniqueIterator(DatasetIterator):
    def __init__(self, inner: DatasetIterator) -> None:
        self._inner = inner
        self._seen: set[Array] = set()

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Return the next element that has not occurred before."""
        while True:
            element = yield from self._inner.get_next(ctx)
            if element is None:
                return None
            key = _key_of(np.asarray(element[0]))
            if key not in self._seen:
                self._seen.add(key)
                return element
            go_on_or_end(ctx)


def _key_of(value: Array) -> Outputs:
    return value.shape, tuple(value.ravel()) if value.dtype == object else value.tobytes()


def _unique(
    xp: Xp,
    input_dataset: Variant,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return the first occurrence of each distinct element."""
    source = as_dataset(input_dataset)
    text = "UniqueDataset only supports inputs with a single"
    if len(source.types) != 1:
        raise errors.invalid_argument(f"{text} component.")
    if source.types[0] not in (dtypes.int32, dtypes.int64, dtypes.string):
        raise errors.invalid_argument(f"{text} `tf.int32`, `tf.int64`, or `tf.string` component.")
    size = 0 if source.cardinality == 0 else UNKNOWN
    return DatasetBase(
        output_types, output_shapes, lambda scope: _UniqueIterator(source.make(scope)), size
    )


unique_dataset = register_op(
    "UniqueDataset", f"{_IN} -> handle: variant", *OUTPUTS, METADATA,
    shape=scalar_handle, devices=("CPU",),
)(_unique)  # fmt: skip
experimental_unique_dataset = register_op(
    "ExperimentalUniqueDataset", f"{_IN} -> handle: variant", *OUTPUTS,
    shape=scalar_handle, devices=("CPU",),
)(_unique)  # fmt: skip


class _CountedIterator(DatasetIterator):
    def __init__(self, inner: DatasetIterator, count: int) -> None:
        self._inner, self._count, self._seen = inner, count, 0

    def _error(self, word: str) -> errors.OpError:
        wanted = "an infinite number of elements"
        if self._count != INFINITE:
            wanted = f"{self._count} element{'' if self._count == 1 else 's'}"
        return errors.failed_precondition(
            f"Input dataset was expected to contain {wanted} but contained {word} {self._seen} "
            f"element{'' if self._seen == 1 else 's'}."
        )

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Return the next element; check the number of elements."""
        element = yield from self._inner.get_next(ctx)
        self._seen += element is not None
        if element is None and self._count != self._seen:
            raise self._error("only")
        if element is not None and self._count != INFINITE and self._count < self._seen:
            raise self._error("at least")
        return element


@register_op(
    "AssertCardinalityDataset", f"{_IN}, cardinality: int64 -> handle: variant", *OUTPUTS,
    shape=handle_of_scalars, devices=("CPU",),
)  # fmt: skip
def assert_cardinality_dataset(
    xp: Xp,
    input_dataset: Variant,
    cardinality: Array,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return the same elements; raise an error if their number is not ``cardinality``."""
    source, count = as_dataset(input_dataset), scalar_int(cardinality, "cardinality")
    return DatasetBase(
        output_types,
        output_shapes,
        lambda scope: _CountedIterator(source.make(scope), count),
        count,
    )


def _same(
    xp: Xp,
    input_dataset: Variant,
    *settings: Array,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return the elements of the input: nothing is computed ahead or in parallel."""
    source = as_dataset(input_dataset)
    return DatasetBase(source.types, source.shapes, source.make, source.cardinality)


@register_op(
    "PrefetchDataset", f"{_IN}, buffer_size: int64 -> handle: variant", *OUTPUTS,
    "slack_period: int = 0", "legacy_autotune: bool = true", "buffer_size_min: int = 0", METADATA,
    shape=handle_of_scalars, devices=("CPU",),
)  # fmt: skip
def prefetch_dataset(
    xp: Xp,
    input_dataset: Variant,
    buffer_size: Array,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return the elements of the input; they are computed on request.

    Raises:
      InvalidArgumentError: the buffer size is negative, and not -1.
    """
    if scalar_int(buffer_size, "buffer_size") < -1:
        raise errors.invalid_argument(
            "buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning"
        )
    return _same(xp, input_dataset, output_types=output_types, output_shapes=output_shapes)


_CONFIGS = "optimization_configs: list(string) = []"

optimize_dataset = register_op(
    "OptimizeDataset", f"{_IN}, optimizations: string -> handle: variant", *OUTPUTS, _CONFIGS,
    shape=scalar_handle, devices=("CPU",),
)(_same)  # fmt: skip
optimize_dataset_v2 = register_op(
    "OptimizeDatasetV2",
    f"{_IN}, optimizations_enabled: string, optimizations_disabled: string, "
    "optimizations_default: string -> handle: variant",
    *OUTPUTS, _CONFIGS, shape=scalar_handle, devices=("CPU",),
)(_same)  # fmt: skip
model_dataset = register_op(
    "ModelDataset", f"{_IN} -> handle: variant", "algorithm: int = 0", "cpu_budget: int = 0",
    "ram_budget: int = 0", *OUTPUTS, shape=scalar_handle, devices=("CPU",),
)(_same)  # fmt: skip
options_dataset = register_op(
    "OptionsDataset", f"{_IN} -> handle: variant", "serialized_options: string", *OUTPUTS,
    METADATA, shape=scalar_handle, devices=("CPU",),
)(_same)  # fmt: skip
finalize_dataset = register_op(
    "FinalizeDataset", f"{_IN} -> handle: variant", "has_captured_ref: bool = false", *OUTPUTS,
    shape=scalar_handle, devices=("CPU",),
)(_same)  # fmt: skip
assert_next_dataset = register_op(
    "AssertNextDataset", f"{_IN}, transformations: string -> handle: variant", *OUTPUTS,
    shape=handle_of_scalars, devices=("CPU",),
)(_same)  # fmt: skip
rewrite_dataset = register_op(
    "RewriteDataset", f"{_IN}, rewrite_name: string -> handle: variant", *OUTPUTS,
    shape=scalar_handle, devices=("CPU",),
)(_same)  # fmt: skip


def _setting(name: str) -> Any:
    def kernel(
        xp: Xp,
        input_dataset: Variant,
        *values: Array,
        output_types: list[DType],
        output_shapes: list[TensorShape],
    ) -> Variant:
        """Return the elements of the input; the setting has no effect here."""
        for value in values:
            if scalar_of(value, name).dtype == np.int64 and value < 0:
                raise errors.invalid_argument(f"`{name}` must be >= 0")
        return _same(xp, input_dataset, output_types=output_types, output_shapes=output_shapes)

    return kernel


# Performance settings, and statistics that are not collected here. Each op has an older name.
for _name, _input, _type in (
    ("MaxIntraOpParallelismDataset", "max_intra_op_parallelism", "int64"),
    ("PrivateThreadPoolDataset", "num_threads", "int64"),
    ("NonSerializableDataset", "", ""),
    ("LatencyStatsDataset", "tag", "string"),
    ("BytesProducedStatsDataset", "tag", "string"),
):
    for _full_name in (_name, f"Experimental{_name}"):
        register_op(
            _full_name, f"{_IN}{_input and f', {_input}: {_type}'} -> handle: variant", *OUTPUTS,
            shape=handle_of_scalars if _input == "tag" else scalar_handle, devices=("CPU",),
        )(_setting(_input))  # fmt: skip
