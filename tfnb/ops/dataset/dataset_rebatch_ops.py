"""Datasets that rebatch, batch into sparse tensors, slide windows, or reduce by key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import OpDefinition, register_op
from tfnb.core.resource_mgr import owned
from tfnb.ops.dataset.dataset_batch_ops import BatchIterator, sizes_of
from tfnb.ops.dataset.dataset_iterators import (
    UNKNOWN,
    CapturedFunction,
    DatasetBase,
    DatasetIterator,
    Element,
    IteratorScope,
    as_dataset,
    batched,
    bracketed,
    check_element,
    go_on_or_end,
    scalar_int,
    scalar_of,
)
from tfnb.ops.dataset.dataset_source_ops import (
    METADATA,
    OUTPUTS,
    RandomWords,
    RowsIterator,
    components_of_dataset,
    handle_of_scalars,
    scalar_handle,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.attr_value import NameAttrList
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Outputs, Variant, Xp
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.ops.dataset.dataset_iterators import type_of_next

_IN = "input_dataset: variant"


def _both(name: str, signature: str, *attrs: str, **options: Any) -> Callable[[Any], OpDefinition]:
    """Register an op under its name and its older name, which begins with Experimental."""

    def register(kernel: Any) -> OpDefinition:
        options.setdefault("shape", scalar_handle)
        options["devices"] = ("CPU",)
        register_op(f"Experimental{name}", signature, *attrs, **options)(kernel)
        definition: OpDefinition = register_op(name, signature, *attrs, **options)(kernel)
        return definition

    return register


# ------------------------------------------------------------------------------------------ rebatch


class _RebatchIterator(DatasetIterator):
    """The iterator that joins batches and cuts them into pieces whose sizes alternate."""

    def __init__(self, inner: DatasetIterator, sizes: Sequence[int], drops: bool) -> None:
        self._inner: DatasetIterator | None = inner
        self._sizes, self._drops, self._turn = sizes, drops, 0
        self._buffer: Element = ()
        self._count = 0

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        size = self._sizes[self._turn % len(self._sizes)]
        while self._inner is not None and self._count < size:
            element = yield from self._inner.get_next(ctx)
            if element is None:
                self._inner = None
                break
            self._add(element)
            go_on_or_end(ctx)
        if self._inner is None and (not self._count or (self._drops and self._count < size)):
            return None
        self._turn += 1
        found = tuple([value[:size] for value in self._buffer])
        self._buffer = tuple([value[size:] for value in self._buffer])
        self._count = max(0, self._count - size)
        return found

    def _add(self, element: Element) -> None:
        if any(value.ndim == 0 for value in element):
            raise errors.invalid_argument(
                "Input element must have a non-scalar value in each component."
            )
        counts: set[int] = {value.shape[0] for value in element}
        if len(counts) != 1:
            raise errors.invalid_argument(
                "Cannot rebatch dataset: all components must have the same first dimension, got "
                f"{sorted(counts)}"
            )
        if self._count:
            element = tuple(
                [np.concatenate(pair) for pair in zip(self._buffer, element, strict=True)]
            )
        self._buffer, self._count = element, self._count + counts.pop()


@register_op(
    "RebatchDatasetV2",
    f"{_IN}, batch_sizes: int64, drop_remainder: bool -> handle: variant",
    *OUTPUTS,
    shape=scalar_handle,
    devices=("CPU",),
)
def rebatch_dataset_v2(
    xp: Xp,
    input_dataset: Variant,
    batch_sizes: Array,
    drop_remainder: Array,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return batches joined and cut again into the given sizes, in turn.

    Raises:
      InvalidArgumentError: there are no sizes, or one is negative.
    """
    source = as_dataset(input_dataset)
    if np.ndim(batch_sizes) > 1:
        raise errors.invalid_argument("`batch_sizes` must be a scalar or a vector.")
    sizes = np.asarray(batch_sizes).reshape(-1).tolist()
    if not sizes or min(sizes) < 0 or not any(sizes):
        raise errors.invalid_argument(f"batch_sizes must be positive, got {sizes}")
    drops = bool(scalar_of(drop_remainder, "drop_remainder"))
    return DatasetBase(
        output_types,
        output_shapes,
        lambda scope: _RebatchIterator(source.make(scope), sizes, drops),
    )


class _SplitIterator(DatasetIterator):
    """The iterator that splits batches into equal ``parts``; the last may be smaller or empty."""

    def __init__(self, inner: DatasetIterator, parts: int) -> None:
        self._inner, self._parts = inner, parts
        self._left: list[Element] = []

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        if not self._left:
            element = yield from self._inner.get_next(ctx)
            if element is None:
                return None
            if any(value.ndim == 0 for value in element):
                raise errors.invalid_argument(
                    "Cannot rebatch dataset: all components must have rank at least 1."
                )
            size = -(-element[0].shape[0] // self._parts)
            self._left = [
                tuple([value[part * size : (part + 1) * size] for value in element])
                for part in range(self._parts - 1, -1, -1)
            ]
        return self._left.pop()


@_both(
    "RebatchDataset",
    f"{_IN}, num_replicas: int64 -> handle: variant",
    *OUTPUTS,
    "use_fallback: bool = true",
)
def rebatch_dataset(
    xp: Xp,
    input_dataset: Variant,
    num_replicas: Array,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return each batch split into as many parts as there are replicas."""
    source, parts = as_dataset(input_dataset), scalar_int(num_replicas, "num_replicas")
    if parts <= 0:
        raise errors.invalid_argument("num_replicas must be greater than zero.")
    count = source.cardinality * parts if source.cardinality > 0 else source.cardinality
    return DatasetBase(
        output_types,
        output_shapes,
        lambda scope: _SplitIterator(source.make(scope), parts),
        count,
    )


# ------------------------------------------------------------------------------------- sparse batch


def _as_sparse(elements: Sequence[Element], row_shape: Sequence[int]) -> Element:
    values = [np.asarray(element[0]) for element in elements]
    rank = len(row_shape)
    shape = bracketed([None if size < 0 else size for size in row_shape])
    found = [max((value.shape[axis] for value in values if value.ndim == rank), default=0)
             for axis in range(rank)]  # fmt: skip
    for value in values:
        if value.ndim != rank:
            raise errors.invalid_argument(
                f"Input element had shape ({bracketed(value.shape)}) that is incompatible with the "
                f"row shape ({shape})."
            )
        for size, wanted in zip(value.shape, row_shape, strict=True):
            if 0 <= wanted < size:
                raise errors.data_loss(
                    f"Input element had shape ({bracketed(value.shape)}) that is larger than the "
                    f"row shape ({shape})."
                )
    indices = [
        np.column_stack([np.full(value.size, row), np.argwhere(np.ones(value.shape, bool))])
        for row, value in enumerate(values)
    ]
    dense = [len(values), *(w if w >= 0 else f for w, f in zip(row_shape, found, strict=True))]
    parts = np.empty(3, object)
    parts[0] = np.concatenate(indices).astype(np.int64).reshape(-1, rank + 1)
    parts[1] = np.concatenate([value.reshape(-1) for value in values])
    parts[2] = np.array(dense, np.int64)
    return (parts,)


@_both(
    "DenseToSparseBatchDataset",
    f"{_IN}, batch_size: int64, row_shape: int64 -> handle: variant",
    *OUTPUTS,
    shape=handle_of_scalars,
)
def dense_to_sparse_batch_dataset(
    xp: Xp,
    input_dataset: Variant,
    batch_size: Array,
    row_shape: Array,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return sparse tensors of ``batch_size`` tensors each; -1 in the shape is the largest size."""
    source, size = as_dataset(input_dataset), scalar_int(batch_size, "batch_size")
    if size <= 0:
        raise errors.invalid_argument("Batch size must be greater than zero.")
    if len(source.types) != 1:
        raise errors.invalid_argument(
            "DenseToSparseBatchDataset only supports inputs with a single component."
        )
    if np.ndim(row_shape) != 1:
        raise errors.invalid_argument("row_shape must be a vector")
    wanted = sizes_of(row_shape)
    count = source.cardinality
    return DatasetBase(
        [dtypes.variant],  # regardless of the node's attributes
        output_shapes,
        lambda scope: BatchIterator(
            source.make(scope), size, False, lambda elements: _as_sparse(elements, wanted)
        ),
        -(-count // size) if count >= 0 else count,
    )


# ---------------------------------------------------------------------------------- sliding windows


class _SlidingIterator(DatasetIterator):
    def __init__(self, inner: DatasetIterator, sizes: tuple[int, int, int], drops: bool) -> None:
        self._inner: DatasetIterator | None = inner
        (self._size, self._shift, self._stride), self._drops = sizes, drops
        self._span = (self._size - 1) * self._stride + 1
        self._buffer: list[Element] = []

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        if self._inner is None and (self._drops or not self._buffer):
            return None
        while self._inner is not None and len(self._buffer) < self._span:
            element = yield from self._inner.get_next(ctx)
            if element is None:
                self._inner = None
            else:
                self._buffer.append(element)
            go_on_or_end(ctx)
        buffer = self._buffer
        if not buffer or (self._drops and len(buffer) < self._span):
            return None
        self._buffer = buffer[self._shift :]
        to_skip = self._shift - len(buffer)
        while self._inner is not None and to_skip > 0:
            if (yield from self._inner.get_next(ctx)) is None:
                self._inner = None
            to_skip -= 1
            go_on_or_end(ctx)
        return batched(buffer[:: self._stride])


@register_op(
    "SlidingWindowDataset",
    f"{_IN}, window_size: int64, window_shift: int64, window_stride: int64 -> handle: variant",
    "drop_remainder: bool = true",
    *OUTPUTS,
    shape=handle_of_scalars,
    devices=("CPU",),
)
def sliding_window_dataset(
    xp: Xp,
    input_dataset: Variant,
    window_size: Array,
    window_shift: Array,
    window_stride: Array,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
    drop_remainder: bool = True,
) -> Variant:
    """Return windows, one per ``window_shift`` elements, of every ``window_stride``-th element."""
    source = as_dataset(input_dataset)
    size = scalar_int(window_size, "window_size")
    shift = scalar_int(window_shift, "window_shift")
    stride = scalar_int(window_stride, "window_stride")
    words = {"Window size": size, "Window shift": shift, "window_stride": stride}
    for word, number in words.items():
        if number <= 0:
            raise errors.invalid_argument(f"{word} must be greater than zero.")
    count = source.cardinality
    if count > 0:
        count = count // shift if drop_remainder else -(-count // shift)
    return DatasetBase(
        output_types,
        output_shapes,
        lambda scope: _SlidingIterator(source.make(scope), (size, shift, stride), drop_remainder),
        count,
    )


# ----------------------------------------------------------------------------------- reduced by key


class _ReducingIterator(DatasetIterator):
    """The iterator that reads all input, then returns each key's final state, by rising keys."""

    def __init__(
        self, scope: IteratorScope, source: DatasetBase, functions: Sequence[CapturedFunction]
    ) -> None:
        self._inner: DatasetIterator | None = source.make(scope)
        self._key, self._init, self._reduce, self._finalize = (f.bound(scope) for f in functions)
        self._states: dict[int, Sequence[Array]] = {}

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        while self._inner is not None:
            element = yield from self._inner.get_next(ctx)
            if element is None:
                self._inner = None
                break
            keys = yield self._key.call(element)
            if len(keys) != 1 or np.shape(keys[0]) or keys[0].dtype != np.int64:
                raise errors.invalid_argument("`key_func` must return a scalar int64.")
            key = int(keys[0])
            if key not in self._states:
                self._states[key] = yield self._init.call([np.int64(key)])
            self._states[key] = yield self._reduce.call([*self._states[key], *element])
            go_on_or_end(ctx)
        if not self._states:
            return None
        state = self._states.pop(min(self._states))
        return tuple((yield self._finalize.call(state)))


_FOUR = ("key_func", "init_func", "reduce_func", "finalize_func")


@_both(
    "GroupByReducerDataset",
    f"{_IN}, {', '.join(f'{f}_other_arguments: T{f}_other_arguments' for f in _FOUR)} -> "
    "handle: variant",
    *(f"{f}: func" for f in _FOUR),
    *(f"T{f}_other_arguments: list(type) >= 0" for f in _FOUR),
    *OUTPUTS,
    stateful=True,
)
def group_by_reducer_dataset(
    xp: Xp,
    input_dataset: Variant,
    *arguments: list[Array],
    key_func: NameAttrList,
    init_func: NameAttrList,
    reduce_func: NameAttrList,
    finalize_func: NameAttrList,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return the final state of each key."""
    source = as_dataset(input_dataset)
    functions = [
        CapturedFunction(function, given)
        for function, given in zip(
            (key_func, init_func, reduce_func, finalize_func), arguments, strict=True
        )
    ]
    return DatasetBase(
        output_types, output_shapes, lambda scope: _ReducingIterator(scope, source, functions)
    )


# -------------------------------------------------------------------------------- chosen and listed


class _SamplingIterator(DatasetIterator):
    def __init__(self, inner: DatasetIterator, rate: np.float32, seeds: tuple[int, int]) -> None:
        self._inner, self._rate, self._words = inner, rate, RandomWords(*seeds)

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        while (element := (yield from self._inner.get_next(ctx))) is not None:
            bits = np.array((self._words.take() & 0x7FFFFF) | 0x3F800000, np.uint32)
            if bits.view(np.float32) - np.float32(1) < self._rate:
                return element
            go_on_or_end(ctx)
        return None


@register_op(
    "SamplingDataset",
    f"{_IN}, rate: float, seed: int64, seed2: int64 -> handle: variant",
    *OUTPUTS,
    shape=handle_of_scalars,
    devices=("CPU",),
)
def sampling_dataset(
    xp: Xp,
    input_dataset: Variant,
    rate: Array,
    seed: Array,
    seed2: Array,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return a random sample of the elements."""
    source, share = as_dataset(input_dataset), np.float32(scalar_of(rate, "rate"))
    seeds = scalar_int(seed, "seed"), scalar_int(seed2, "seed2")
    if seeds == (0, 0):
        words = RandomWords(0, 0)
        seeds = words.take(), words.take()
    return DatasetBase(
        output_types,
        output_shapes,
        lambda scope: _SamplingIterator(source.make(scope), share, seeds),
        0 if source.cardinality == 0 else UNKNOWN,
    )


@register_op(
    "ListDataset",
    "tensors: Tinput_types -> handle: variant",
    "Tinput_types: list(type) >= 1",
    *OUTPUTS,
    METADATA,
    stateful=True,
    shape=scalar_handle,
    devices=("CPU",),
)
def list_dataset(
    xp: Xp, tensors: list[Array], *, output_types: list[DType], output_shapes: list[TensorShape]
) -> Variant:
    """Return the given elements, component by component."""
    width = len(output_types)
    if len(tensors) % width:
        raise errors.invalid_argument(
            f"{len(tensors)} tensors do not form whole elements of {width} components"
        )
    kept = [owned(value) for value in tensors]
    rows = [tuple(kept[start : start + width]) for start in range(0, len(kept), width)]
    return DatasetBase(
        output_types,
        output_shapes,
        lambda scope: RowsIterator(len(rows), rows.__getitem__),
        len(rows),
    )


@register_op(
    "GetElementAtIndex",
    "dataset: variant, index: int64 -> components: output_types",
    *OUTPUTS,
    shape=components_of_dataset,
    devices=("CPU",),
)
def get_element_at_index(
    ctx: OpKernelContext,
    dataset: Variant,
    index: Array,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Outputs:
    """Return the element at ``index``.

    Raises:
      OutOfRangeError: the dataset has fewer elements.
    """
    source, wanted = as_dataset(dataset), scalar_int(index, "index")
    iterator = source.make(IteratorScope(is_lasting=False))
    element = None
    for _ in range(wanted + 1):
        element = yield from iterator.get_next(ctx)
        if element is None:
            break
        go_on_or_end(ctx)
    if element is not None:
        check_element(element, output_types, output_shapes)
    if element is None:
        raise errors.out_of_range(f"Index out of range [0, {source.cardinality}):{wanted}")
    return element
