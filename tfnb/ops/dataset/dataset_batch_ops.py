"""Datasets that join elements or split them: batch, padded_batch, window, unbatch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.resource_mgr import owned
from tfnb.ops.dataset.dataset_function_ops import MapIterator, window_of
from tfnb.ops.dataset.dataset_iterators import (
    INTERRUPTS,
    UNKNOWN,
    BoundFunction,
    CapturedFunction,
    DatasetBase,
    DatasetIterator,
    Element,
    as_dataset,
    batched,
    go_on_or_end,
    scalar_int,
    scalar_of,
    slice_of,
)
from tfnb.ops.dataset.dataset_sequence_ops import check_parallel_calls
from tfnb.ops.dataset.dataset_source_ops import (
    METADATA,
    OUTPUTS,
    RowsIterator,
    handle_of_scalars,
    scalar_handle,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from tfnb.core.attr_value import NameAttrList
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Variant, Xp
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.ops.dataset.dataset_iterators import type_of_next

# -------------------------------------------------------------------------------------------- batch


class BatchIterator(DatasetIterator):
    """The iterator that joins ``size`` consecutive elements with a function."""

    def __init__(
        self,
        inner: DatasetIterator,
        size: int,
        drop_remainder: bool,
        join: Callable[[Sequence[Element]], Element],
    ) -> None:
        self._inner: DatasetIterator | None = inner
        self._size, self._drops, self._join = size, drop_remainder, join
        # TensorFlow fuses map and batch: an element whose computation fails makes the whole batch
        # fail.
        self._is_of_map = join is batched and isinstance(inner, MapIterator)
        self._kept: list[Element | errors.OpError] = []  # elements of an interrupted batch

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Return the next batch; the last one may be smaller."""
        found, self._kept = self._kept, []
        try:
            while self._inner is not None and len(found) < self._size:
                element: Element | errors.OpError | None
                try:
                    element = yield from self._inner.get_next(ctx)
                except errors.OpError as error:
                    if not self._is_of_map:
                        raise
                    element = error
                if element is None:
                    self._inner = None
                else:
                    found.append(element)
                go_on_or_end(ctx)
        except INTERRUPTS:
            self._kept = found
            raise
        elements: list[Element] = []
        for one in found:
            if isinstance(one, errors.OpError):
                raise one
            elements.append(one)
        if not elements or (self._drops and len(elements) < self._size):
            return None
        return self._join(elements)


def _size_of(batch_size: Array) -> int:
    size = scalar_int(batch_size, "batch_size")
    if size <= 0:
        raise errors.invalid_argument("Batch size must be greater than zero.")
    return size


def _drops(drop_remainder: Array) -> bool:
    return bool(scalar_of(drop_remainder, "drop_remainder"))


def _num_batches(source: DatasetBase, size: int, drop_remainder: bool) -> int:
    count = source.cardinality
    if count < 0:
        return count
    return count // size if drop_remainder else -(-count // size)


def _batches(
    source: DatasetBase,
    size: int,
    drop_remainder: bool,
    types: list[DType],
    shapes: list[TensorShape],
    join: Callable[[Sequence[Element]], Element] = batched,
) -> DatasetBase:
    return DatasetBase(
        types,
        shapes,
        lambda scope: BatchIterator(source.make(scope), size, drop_remainder, join),
        _num_batches(source, size, drop_remainder),
    )


@register_op(
    "BatchDataset", "input_dataset: variant, batch_size: int64 -> handle: variant", *OUTPUTS,
    METADATA, shape=handle_of_scalars, devices=("CPU",),
)  # fmt: skip
def batch_dataset(
    xp: Xp,
    input_dataset: Variant,
    batch_size: Array,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return batches of ``batch_size`` elements; the last one may be smaller."""
    source = as_dataset(input_dataset)
    return _batches(source, _size_of(batch_size), False, output_types, output_shapes)


@register_op(
    "BatchDatasetV2",
    "input_dataset: variant, batch_size: int64, drop_remainder: bool -> handle: variant",
    "parallel_copy: bool = false", *OUTPUTS, METADATA, shape=handle_of_scalars, devices=("CPU",),
)  # fmt: skip
def batch_dataset_v2(
    xp: Xp,
    input_dataset: Variant,
    batch_size: Array,
    drop_remainder: Array,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return batches of ``batch_size`` elements; a smaller last one may be dropped."""
    source, size = as_dataset(input_dataset), _size_of(batch_size)
    return _batches(source, size, _drops(drop_remainder), output_types, output_shapes)


@register_op(
    "ParallelBatchDataset",
    "input_dataset: variant, batch_size: int64, num_parallel_calls: int64, drop_remainder: bool "
    "-> handle: variant",
    "parallel_copy: bool = false", *OUTPUTS, "deterministic: string = 'default'", METADATA,
    shape=handle_of_scalars, devices=("CPU",),
)  # fmt: skip
def parallel_batch_dataset(
    xp: Xp,
    input_dataset: Variant,
    batch_size: Array,
    num_parallel_calls: Array,
    drop_remainder: Array,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return batches as BatchDatasetV2 does; they are computed in order."""
    scalar_of(num_parallel_calls, "num_parallel_calls")
    source, size = as_dataset(input_dataset), _size_of(batch_size)
    return _batches(source, size, _drops(drop_remainder), output_types, output_shapes)


# ------------------------------------------------------------------------------------- padded_batch


def _padded(
    elements: Sequence[Element], shapes: Sequence[tuple[int, ...]], values: Sequence[Array]
) -> Element:
    """Join elements, each padded to a shape; -1 stands for the largest size among them."""
    components = []
    for number, parts in enumerate(zip(*elements)):
        wanted = shapes[number]
        sizes = [np.shape(part) for part in parts]
        for size in sizes:
            if len(size) != len(wanted):
                raise errors.invalid_argument(
                    "All elements in a batch must have the same rank as the padded shape for "
                    f"component{number}: expected rank {len(wanted)} but got element with rank "
                    f"{len(size)}"
                )
        target = []
        for axis, length in enumerate(wanted):
            largest = max(size[axis] for size in sizes)
            if 0 <= length < largest:
                raise errors.data_loss("Attempted to pad to a smaller size than the input element.")
            target.append(largest if length < 0 else length)
        out = np.empty((len(parts), *target), parts[0].dtype)
        out[...] = values[number][()]
        for row, (part, size) in enumerate(zip(parts, sizes)):
            place: Array = (row, *(slice(length) for length in size))
            out[place] = part
        components.append(out)
    return tuple(components)


def sizes_of(vector: Array) -> tuple[int, ...]:
    """Return the sizes of a shape, -1 where unknown."""
    sizes = tuple(vector.tolist())
    for size in sizes:
        if size < -1:
            raise errors.invalid_argument(f"Dimension {size} must be >= -1")
    return sizes


def _padded_batches(
    source: DatasetBase,
    size: int,
    padded_shapes: list[Array],
    padding_values: list[Array],
    drop_remainder: bool,
    types: list[DType],
    output_shapes: list[TensorShape],
) -> DatasetBase:
    if any(np.ndim(shape) != 1 for shape in padded_shapes):
        raise errors.invalid_argument("All padded shapes must be vectors")
    for index, (value, dtype) in enumerate(zip(padding_values, source.types)):
        if np.ndim(value):
            raise errors.invalid_argument("All padding values must be scalars")
        if value.dtype != dtype.as_numpy_dtype and dtype.name != "string":
            raise errors.invalid_argument(
                f"Mismatched type between padding value {index} and input dataset's component "
                f"{index}: {value.dtype} vs. {dtype.name}"
            )
    shapes = [sizes_of(shape) for shape in padded_shapes]
    values = [np.asarray(owned(value)) for value in padding_values]
    return _batches(
        source,
        size,
        drop_remainder,
        types,
        output_shapes,
        lambda elements: _padded(elements, shapes, values),
    )


_PADDED = ("Toutput_types: list(type) >= 1", "output_shapes: list(shape) >= 1", "N: int >= 1")


@register_op(
    "PaddedBatchDataset",
    "input_dataset: variant, batch_size: int64, padded_shapes: N * int64, "
    "padding_values: Toutput_types -> handle: variant",
    *_PADDED, METADATA, shape=handle_of_scalars, devices=("CPU",),
)  # fmt: skip
def padded_batch_dataset(
    xp: Xp,
    input_dataset: Variant,
    batch_size: Array,
    padded_shapes: list[Array],
    padding_values: list[Array],
    *,
    Toutput_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return batches of ``batch_size`` elements, padded to a common shape."""
    return _padded_batches(
        as_dataset(input_dataset), _size_of(batch_size), padded_shapes, padding_values, False,
        Toutput_types, output_shapes,
    )  # fmt: skip


@register_op(
    "PaddedBatchDatasetV2",
    "input_dataset: variant, batch_size: int64, padded_shapes: N * int64, "
    "padding_values: Toutput_types, drop_remainder: bool -> handle: variant",
    "parallel_copy: bool = false", *_PADDED, METADATA, shape=handle_of_scalars, devices=("CPU",),
)  # fmt: skip
def padded_batch_dataset_v2(
    xp: Xp,
    input_dataset: Variant,
    batch_size: Array,
    padded_shapes: list[Array],
    padding_values: list[Array],
    drop_remainder: Array,
    *,
    Toutput_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return batches as PaddedBatchDataset does; a smaller last batch may be dropped."""
    return _padded_batches(
        as_dataset(input_dataset), _size_of(batch_size), padded_shapes, padding_values,
        _drops(drop_remainder), Toutput_types, output_shapes,
    )  # fmt: skip


# ------------------------------------------------------------------------------------ map_and_batch


class _MapAndBatchIterator(DatasetIterator):
    def __init__(
        self, inner: DatasetIterator, function: BoundFunction, size: int, drop_remainder: bool
    ) -> None:
        self._inner: DatasetIterator | None = inner
        self._function, self._size, self._drops = function, size, drop_remainder

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Return the next batch of f(element); an error fails this batch only."""
        elements: list[Element] = []
        count, failure = 0, None
        while self._inner is not None and count < self._size:
            element = yield from self._inner.get_next(ctx)
            if element is None:
                self._inner = None
                break
            count += 1
            try:
                elements.append(tuple((yield self._function.call(element))))
            except errors.OutOfRangeError:
                self._inner = None
            except errors.OpError as error:
                failure = failure or error
            go_on_or_end(ctx)
        if failure is not None:
            raise failure
        if not elements or (self._drops and len(elements) < self._size):
            return None
        return batched(elements)


def _map_and_batch(
    xp: Xp,
    input_dataset: Variant,
    other_arguments: list[Array],
    batch_size: Array,
    num_parallel_calls: Array,
    drop_remainder: Array,
    *,
    f: NameAttrList,
    output_types: list[DType],
    output_shapes: list[TensorShape],
    preserve_cardinality: bool = False,
) -> Variant:
    """Return batches of f(element)."""
    source, function = as_dataset(input_dataset), CapturedFunction(f, other_arguments)
    size, drops = scalar_int(batch_size, "batch_size"), _drops(drop_remainder)
    if size <= 0:
        raise errors.invalid_argument("batch_size must be greater than zero.")
    check_parallel_calls(num_parallel_calls)
    return DatasetBase(
        output_types,
        output_shapes,
        lambda scope: _MapAndBatchIterator(source.make(scope), function.bound(scope), size, drops),
        _num_batches(source, size, drops) if preserve_cardinality else UNKNOWN,
    )


_MAP_AND_BATCH = (
    "input_dataset: variant, other_arguments: Targuments, batch_size: int64, "
    "num_parallel_calls: int64, drop_remainder: bool -> handle: variant",
    "f: func", "Targuments: list(type) >= 0", *OUTPUTS, "preserve_cardinality: bool = false",
)  # fmt: skip
map_and_batch_dataset = register_op(
    "MapAndBatchDataset", *_MAP_AND_BATCH, METADATA, shape=handle_of_scalars, devices=("CPU",)
)(_map_and_batch)
experimental_map_and_batch_dataset = register_op(
    "ExperimentalMapAndBatchDataset", *_MAP_AND_BATCH, shape=handle_of_scalars, devices=("CPU",)
)(_map_and_batch)


# ------------------------------------------------------------------------------------------- window


class _WindowIterator(DatasetIterator):
    def __init__(
        self,
        inner: DatasetIterator,
        size: int,
        shift: int,
        stride: int,
        drops: bool,
        like: DatasetBase,
    ) -> None:
        self._inner: DatasetIterator | None = inner
        self._stride, self._shift, self._drops, self._like = stride, shift, drops, like
        self._span = (size - 1) * stride + 1
        self._buffer: list[Element | errors.OpError] = []

    def _element(
        self, ctx: OpKernelContext
    ) -> Generator[Array, Array, Element | errors.OpError | None]:
        """Return the next element, or its error, which makes the windows that contain it fail."""
        assert self._inner is not None
        found: Element | errors.OpError | None
        try:
            found = yield from self._inner.get_next(ctx)
        except (errors.CancelledError, errors.DeadlineExceededError):
            raise
        except errors.OpError as error:
            found = error
        if found is None:
            self._inner = None
        go_on_or_end(ctx)
        return found

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Yield the next window: a dataset for each component."""
        buffer = self._buffer
        while self._inner is not None and len(buffer) < self._span:
            element = yield from self._element(ctx)
            if element is not None:
                buffer.append(element)
        if not buffer or (self._drops and len(buffer) < self._span):
            return None
        elements: list[Element] = []
        failed = None
        for found in buffer[:: self._stride]:
            if isinstance(found, errors.OpError):
                failed = failed or found
            else:
                elements.append(found)
        to_skip = self._shift - len(buffer)
        self._buffer = buffer[self._shift :]
        while self._inner is not None and to_skip > 0:
            yield from self._element(ctx)
            to_skip -= 1
            go_on_or_end(ctx)
        if failed is not None:
            raise failed
        return tuple(
            [
                window_of(
                    [(element[number],) for element in elements],
                    DatasetBase([dtype], [shape], self._like.make),
                )
                for number, (dtype, shape) in enumerate(zip(self._like.types, self._like.shapes))
            ]
        )


@register_op(
    "WindowDataset",
    "input_dataset: variant, size: int64, shift: int64, stride: int64, drop_remainder: bool "
    "-> handle: variant",
    *OUTPUTS, METADATA, shape=handle_of_scalars, devices=("CPU",),
)  # fmt: skip
def window_dataset(
    xp: Xp,
    input_dataset: Variant,
    size: Array,
    shift: Array,
    stride: Array,
    drop_remainder: Array,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return windows of elements; each window has a dataset for every component.

    Raises:
      InvalidArgumentError: size, shift or stride is not positive.
    """
    source, drops = as_dataset(input_dataset), _drops(drop_remainder)
    length, step, gap = (
        scalar_int(value, name)
        for name, value in (("size", size), ("shift", shift), ("stride", stride))
    )
    for name, number in (("size", length), ("shift", step), ("stride", gap)):
        if number <= 0:
            raise errors.invalid_argument(f"Window {name} must be greater than zero.")
    count = source.cardinality
    if count >= 0:
        count = max(0, -(-(count - (length - 1) * gap if drops else count) // step))
    return DatasetBase(
        output_types,
        output_shapes,
        lambda scope: _WindowIterator(source.make(scope), length, step, gap, drops, source),
        count,
    )


@register_op(
    "WindowOp", "inputs: Tinputs -> handle: variant", *OUTPUTS, "Tinputs: list(type) >= 1",
    shape=scalar_handle, devices=("CPU",),
)  # fmt: skip
def window_op(
    xp: Xp, inputs: list[Array], *, output_types: list[DType], output_shapes: list[TensorShape]
) -> Variant:
    """Return a dataset of the given elements, component by component."""
    width = len(output_types)
    rows = [tuple(inputs[start : start + width]) for start in range(0, len(inputs), width)]
    return DatasetBase(
        output_types,
        output_shapes,
        lambda scope: RowsIterator(len(rows), rows.__getitem__),
        len(rows),
    )


# ------------------------------------------------------------------------------------------ unbatch


class _UnbatchIterator(DatasetIterator):
    def __init__(self, inner: DatasetIterator) -> None:
        self._inner = inner
        self._element: Element = ()
        self._next = self._count = 0

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Return the next row of the element, or the first row of the next nonempty element."""
        while self._next >= self._count:
            element = yield from self._inner.get_next(ctx)
            if element is None:
                return None
            if any(np.ndim(value) == 0 for value in element):
                raise errors.invalid_argument(
                    "Input element must have a non-scalar value in each component."
                )
            count = element[0].shape[0]
            for value in element:
                if value.shape[0] != count:
                    raise errors.invalid_argument(
                        "Input element must have the same batch size in each component. Component "
                        f"0 had size {count} but component "
                        f"{[one is value for one in element].index(True)} had size, "
                        f"{value.shape[0]}."
                    )
            self._element, self._next, self._count = element, 0, count
            go_on_or_end(ctx)
        index = self._next
        self._next += 1
        return tuple([slice_of(value, index) for value in self._element])


def _unbatch(
    xp: Xp, input_dataset: Variant, *, output_types: list[DType], output_shapes: list[TensorShape]
) -> Variant:
    """Return the rows of every element."""
    source = as_dataset(input_dataset)
    count = source.cardinality
    if count > 0:
        sizes = {shape.dim_values[0] for shape in source.shapes if shape.dim_values}
        sizes.discard(None)
        count = count * sizes.pop() if len(sizes) == 1 else UNKNOWN  # type: ignore[operator]
    return DatasetBase(
        output_types,
        output_shapes,
        lambda scope: _UnbatchIterator(source.make(scope)),
        count,
    )


unbatch_dataset = register_op(
    "UnbatchDataset", "input_dataset: variant -> handle: variant", *OUTPUTS, METADATA,
    shape=scalar_handle, devices=("CPU",),
)(_unbatch)  # fmt: skip
experimental_unbatch_dataset = register_op(
    "ExperimentalUnbatchDataset", "input_dataset: variant -> handle: variant", *OUTPUTS,
    shape=scalar_handle, devices=("CPU",),
)(_unbatch)  # fmt: skip
