"""Datasets in a random order, which equals TensorFlow's for equal seeds.

A buffer of elements is kept full. Each next element is taken from a random place in the part that
belongs to the oldest epoch; the first element of that part moves to its place.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.process.records import record
from tfnb.ops.dataset.dataset_iterators import (
    INFINITE,
    UNKNOWN,
    DatasetBase,
    DatasetIterator,
    Element,
    IteratorScope,
    as_dataset,
    go_on_or_end,
    scalar_int,
    scalar_of,
)
from tfnb.ops.dataset.dataset_sequence_ops import Deleter
from tfnb.ops.dataset.dataset_source_ops import (
    METADATA,
    OUTPUTS,
    RandomWords,
    handle_of_scalars,
    scalar_handle,
)

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Handle, Outputs, Variant, Xp
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.ops.dataset.dataset_iterators import type_of_next

_numbers = itertools.count()
_MOST_EPOCHS = 3
_GENERATOR = "SeedGenerator"


class SeedGenerator:
    """A generator that gives every iterator of a shuffled dataset its two seeds.

    Args:
      seed: the first seed; if both are 0, the order is random.
      seed2: the second seed.
      reshuffles: whether each iterator gets new seeds.
    """

    def __init__(self, seed: int, seed2: int, reshuffles: bool) -> None:
        if (seed, seed2) == (0, 0):
            words = RandomWords(0, 0)
            seed, seed2 = words.take(), words.take()
        self._seeds = seed, seed2
        self._words = RandomWords(seed, seed2) if reshuffles else None

    def seeds(self) -> tuple[int, int]:
        """Return the seeds of the next iterator."""
        if self._words is None:
            return self._seeds
        return self._words.take(), self._words.take()


@record(slots=True)
class _Slice:
    """The elements of one epoch in the buffer: places from ``start`` to before ``end``."""

    start: int
    end: int


class _ShuffleIterator(DatasetIterator):
    def __init__(
        self,
        scope: IteratorScope,
        source: DatasetBase,
        size: int,
        generator: SeedGenerator,
        count: int,
    ) -> None:
        self._scope, self._source, self._size, self._count = scope, source, size, count
        self._inner: DatasetIterator | None = None
        self._generator = generator
        self._words = RandomWords(*generator.seeds())
        self._buffer: list[Element | None] = []
        self._slices = [_Slice(0, 0)]
        self._num_elements = self._epoch = 0
        self._has_any = False

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Yield a random element of the buffer."""
        yield from self._fill(ctx)
        if not self._num_elements:
            return None
        slices, buffer = self._slices, self._buffer
        while slices[0].start == slices[0].end:
            # Every epoch has seeds of its own.
            slices.pop(0)
            self._words = RandomWords(*self._generator.seeds())
        oldest, length = slices[0], len(buffer)
        offset = self._words.take() % (oldest.end - oldest.start)
        place, first = (oldest.start + offset) % length, oldest.start % length
        element = buffer[place]
        buffer[place], buffer[first] = buffer[first], None
        oldest.start += 1
        self._num_elements -= 1
        return element

    def _fill(self, ctx: OpKernelContext) -> Array:
        """Take elements of the source until the buffer is full or the source ends."""
        while self._wants_more():
            if self._inner is None:
                self._inner = self._source.make(self._scope)
                self._epoch += 1
                if self._epoch > 1:
                    end = self._slices[-1].end
                    self._slices.append(_Slice(end, end))
                self._has_any = False
            element = yield from self._inner.get_next(ctx)
            if element is None:
                self._inner = None
                if not self._has_any and self._count < 0:
                    self._count = self._epoch  # an endless repetition of an empty dataset ends
            else:
                self._put(element)
            go_on_or_end(ctx)

    def _wants_more(self) -> bool:
        if self._inner is None and 0 <= self._count <= self._epoch:
            return False
        if len(self._slices) > _MOST_EPOCHS and self._num_elements:
            return False
        return self._num_elements < self._size

    def _put(self, element: Element) -> None:
        newest = self._slices[-1]
        place = newest.end
        if len(self._buffer) < self._size and place >= len(self._buffer):
            self._buffer.append(element)
        else:
            self._buffer[place % len(self._buffer)] = element
        newest.end += 1
        self._num_elements += 1
        self._has_any = True


def _shuffled(
    source: DatasetBase,
    buffer_size: Array,
    generator: SeedGenerator,
    types: list[DType],
    shapes: list[TensorShape],
    count: int = 1,
) -> DatasetBase:
    size = scalar_int(buffer_size, "buffer_size")
    if size == UNKNOWN:  # large enough for all elements
        size = source.cardinality if source.cardinality > 0 else 1 << 62
    if size <= 0:
        raise errors.invalid_argument(
            "buffer_size must be greater than zero or UNKNOWN_CARDINALITY"
        )
    total = source.cardinality
    if count < 0:
        total = 0 if total == 0 else INFINITE
    elif total > 0 or count == 0:
        total = max(total, 0) * count
    return DatasetBase(
        types,
        shapes,
        lambda scope: _ShuffleIterator(scope, source, size, generator, count),
        total,
    )


def _seeds_of(seed: Array, seed2: Array) -> tuple[int, int]:
    return scalar_int(seed, "seed"), scalar_int(seed2, "seed2")


def _times_of(count: Array) -> int:
    times = scalar_int(count, "count")
    if times < 1 and times != -1:
        raise errors.invalid_argument("count must be greater than zero or equal to -1.")
    return times


_IN = "input_dataset: variant, buffer_size: int64"
_RESHUFFLE = "reshuffle_each_iteration: bool = true"


@register_op(
    "ShuffleDataset", f"{_IN}, seed: int64, seed2: int64 -> handle: variant", _RESHUFFLE, *OUTPUTS,
    METADATA, shape=handle_of_scalars, devices=("CPU",),
)  # fmt: skip
def shuffle_dataset(
    xp: Xp,
    input_dataset: Variant,
    buffer_size: Array,
    seed: Array,
    seed2: Array,
    *,
    reshuffle_each_iteration: bool = True,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return the elements of a dataset in a random order."""
    generator = SeedGenerator(*_seeds_of(seed, seed2), reshuffle_each_iteration)
    source = as_dataset(input_dataset)
    return _shuffled(source, buffer_size, generator, output_types, output_shapes)


@register_op(
    "ShuffleDatasetV2", f"{_IN}, seed_generator: resource -> handle: variant", *OUTPUTS, METADATA,
    stateful=True, shape=handle_of_scalars, devices=("CPU",),
)  # fmt: skip
def shuffle_dataset_v2(
    ctx: OpKernelContext,
    input_dataset: Variant,
    buffer_size: Array,
    seed_generator: Handle,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return a dataset's elements in a random order, by seeds of a generator that can be shared."""
    generator = ctx.resource_manager.lookup(seed_generator, SeedGenerator)
    source = as_dataset(input_dataset)
    return _shuffled(source, buffer_size, generator, output_types, output_shapes)


def _generator(
    ctx: OpKernelContext, handle: Handle, seeds: tuple[int, int], reshuffles: bool
) -> SeedGenerator:
    """Return the generator of a handle; a new one if the handle has none."""
    found = ctx.resource_manager.find(handle.container, _GENERATOR, handle.name)
    return found if isinstance(found, SeedGenerator) else SeedGenerator(*seeds, reshuffles)


@register_op(
    "ShuffleDatasetV3",
    f"{_IN}, seed: int64, seed2: int64, seed_generator: resource -> handle: variant",
    _RESHUFFLE, *OUTPUTS, METADATA, stateful=True, shape=handle_of_scalars, devices=("CPU",),
)  # fmt: skip
def shuffle_dataset_v3(
    ctx: OpKernelContext,
    input_dataset: Variant,
    buffer_size: Array,
    seed: Array,
    seed2: Array,
    seed_generator: Handle,
    *,
    reshuffle_each_iteration: bool = True,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return a dataset's elements in a random order; a resource keeps the generator."""
    seeds = _seeds_of(seed, seed2)
    generator = _generator(ctx, seed_generator, seeds, reshuffle_each_iteration)
    source = as_dataset(input_dataset)
    return _shuffled(source, buffer_size, generator, output_types, output_shapes)


@register_op(
    "ShuffleAndRepeatDataset",
    f"{_IN}, seed: int64, seed2: int64, count: int64 -> handle: variant", *OUTPUTS, _RESHUFFLE,
    METADATA, shape=handle_of_scalars, devices=("CPU",),
)  # fmt: skip
def shuffle_and_repeat_dataset(
    xp: Xp,
    input_dataset: Variant,
    buffer_size: Array,
    seed: Array,
    seed2: Array,
    count: Array,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
    reshuffle_each_iteration: bool = True,
) -> Variant:
    """Return the elements of a dataset several times, in a random order each time."""
    generator = SeedGenerator(*_seeds_of(seed, seed2), reshuffle_each_iteration)
    times = _times_of(count)
    source = as_dataset(input_dataset)
    return _shuffled(source, buffer_size, generator, output_types, output_shapes, times)


@register_op(
    "ShuffleAndRepeatDatasetV2",
    f"{_IN}, seed: int64, seed2: int64, count: int64, seed_generator: resource -> handle: variant",
    _RESHUFFLE, *OUTPUTS, METADATA, stateful=True, shape=handle_of_scalars, devices=("CPU",),
)  # fmt: skip
def shuffle_and_repeat_dataset_v2(
    ctx: OpKernelContext,
    input_dataset: Variant,
    buffer_size: Array,
    seed: Array,
    seed2: Array,
    count: Array,
    seed_generator: Handle,
    *,
    reshuffle_each_iteration: bool = True,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return the elements of ShuffleAndRepeatDataset; a resource keeps the generator."""
    seeds, times = _seeds_of(seed, seed2), _times_of(count)
    generator = _generator(ctx, seed_generator, seeds, reshuffle_each_iteration)
    source = as_dataset(input_dataset)
    return _shuffled(source, buffer_size, generator, output_types, output_shapes, times)


# --------------------------------------------------------------------------------- seed generators


def _make_generator(ctx: OpKernelContext, generator: SeedGenerator) -> Outputs:
    name = f"AnonymousSeedGenerator{next(_numbers)}"
    ctx.resource_manager.create("", _GENERATOR, name, generator)
    return ctx.resource_manager.make_handle(name, _GENERATOR), Deleter()


@register_op(
    "AnonymousSeedGenerator",
    "seed: int64, seed2: int64, reshuffle: bool -> handle: resource, deleter: variant",
    stateful=True, shape=lambda c: [scalar_handle(c)] * 2, devices=("CPU",),
)  # fmt: skip
def anonymous_seed_generator(
    ctx: OpKernelContext, seed: Array, seed2: Array, reshuffle: Array
) -> Outputs:
    """Return a new generator with a unique name."""
    reshuffles = bool(scalar_of(reshuffle, "reshuffle"))
    return _make_generator(ctx, SeedGenerator(*_seeds_of(seed, seed2), reshuffles))


@register_op(
    "AnonymousRandomSeedGenerator",
    "seed: int64, seed2: int64 -> handle: resource, deleter: variant",
    stateful=True, shape=lambda c: [scalar_handle(c)] * 2, devices=("CPU",),
)  # fmt: skip
def anonymous_random_seed_generator(ctx: OpKernelContext, seed: Array, seed2: Array) -> Outputs:
    """Return a new generator with a unique name, which gives every iterator new seeds."""
    return _make_generator(ctx, SeedGenerator(*_seeds_of(seed, seed2), True))


@register_op(
    "DummySeedGenerator", "-> handle: resource", stateful=True, shape=scalar_handle,
    devices=("CPU",),
)  # fmt: skip
def dummy_seed_generator(ctx: OpKernelContext) -> Handle:
    """Return a handle without a generator: each dataset makes its own."""
    return ctx.resource_manager.make_handle(ctx.node_name, _GENERATOR)


def _delete(ctx: OpKernelContext, handle: Handle, deleter: Variant) -> None:
    """Delete a generator."""
    ctx.resource_manager.delete(handle)


delete_seed_generator = register_op(
    "DeleteSeedGenerator", "handle: resource, deleter: variant ->", stateful=True,
    shape=lambda c: [], devices=("CPU",),
)(_delete)  # fmt: skip
delete_random_seed_generator = register_op(
    "DeleteRandomSeedGenerator", "handle: resource, deleter: variant ->", stateful=True,
    shape=lambda c: [], devices=("CPU",),
)(_delete)  # fmt: skip
