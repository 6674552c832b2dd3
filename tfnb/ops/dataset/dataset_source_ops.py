"""Datasets that begin a pipeline: tensors, their slices, ranges, random numbers, generators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.node_text import type_word
from tfnb.core.op_registry import register_op
from tfnb.core.resource_mgr import owned
from tfnb.core.shape_inference import SCALAR_SHAPE
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.dataset.dataset_iterators import (
    INFINITE,
    UNKNOWN,
    CapturedFunction,
    DatasetBase,
    DatasetIterator,
    ImmediateIterator,
    IteratorScope,
    bracketed,
    scalar_int,
    slice_of,
)
from tfnb.ops.random.philox import GuardedPhilox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.attr_value import NameAttrList
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Variant, Xp
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.ops.dataset.dataset_iterators import Element, type_of_next

OUTPUTS = ("output_types: list(type) >= 1", "output_shapes: list(shape) >= 1")
METADATA = "metadata: string = ''"


def scalar_handle(c: InferenceContext) -> TensorShape:
    """Return the shape of a dataset's handle, a scalar."""
    return SCALAR_SHAPE


def components_of_dataset(c: InferenceContext) -> list[TensorShape]:
    """Return the elements' shapes from the node's attributes; the first input is a scalar."""
    c.with_rank(0, 0)
    return list(c.attr("output_shapes"))


# The least and largest rank of inputs that need not be scalars.
_RANKS = {
    **dict.fromkeys(("filenames", "patterns", "byte_offsets", "record_defaults"), (0, 1)),
    **dict.fromkeys(("row_shape", "select_cols", "exclude_cols", "transformations"), (1, 1)),
}


def handle_of_scalars(c: InferenceContext) -> TensorShape:
    """Return the shape of a dataset whose inputs are scalars.

    Names of files and numbers of columns may be vectors.
    """
    positions = c.op_def.input_ranges(c.attrs)
    for arg in c.op_def.inputs:
        is_free = arg.type is dtypes.variant or arg.is_list
        if (is_free and arg.name not in _RANKS) or (arg.name, c.op_def.name) == _UNCHECKED:
            continue
        least, most = _RANKS.get(arg.name, (0, 0))
        for index in positions[arg.name]:
            if least == most:
                c.with_rank(index, most)
            else:
                c.with_rank_at_most(index, most)
    return SCALAR_SHAPE


_UNCHECKED = ("compression_type", "FixedLengthRecordDatasetV2")


class RowsIterator(ImmediateIterator):
    """The iterator of elements that are computed from their number."""

    def __init__(self, count: int, row: Array) -> None:
        """Start at number 0.

        Args:
          count: the number of elements.
          row: returns the element with a given number.
        """
        self._count = count
        self._row = row
        self._next = 0

    def take(self, ctx: OpKernelContext) -> Element | None:
        """Return the next row."""
        index = self._next
        if index >= self._count:
            return None
        self._next = index + 1
        element: Element = self._row(index)
        return element


@register_op(
    "TensorDataset", "components: Toutput_types -> handle: variant",
    "Toutput_types: list(type) >= 1", "output_shapes: list(shape) >= 1", METADATA,
    stateful=True, shape=scalar_handle, devices=("CPU",),
)  # fmt: skip
def tensor_dataset(
    xp: Xp, components: list[Array], *, Toutput_types: list[DType], output_shapes: list[TensorShape]
) -> Variant:
    """Return a dataset of one element."""
    element = tuple([owned(value) for value in components])
    return DatasetBase(
        Toutput_types, output_shapes, lambda scope: RowsIterator(1, lambda _: element), 1
    )


@register_op(
    "TensorSliceDataset", "components: Toutput_types -> handle: variant",
    "Toutput_types: list(type) >= 1", "output_shapes: list(shape) >= 1", "is_files: bool = false",
    METADATA, "replicate_on_split: bool = false",
    stateful=True, shape=scalar_handle, devices=("CPU",),
)  # fmt: skip
def tensor_slice_dataset(
    xp: Xp, components: list[Array], *, Toutput_types: list[DType], output_shapes: list[TensorShape]
) -> Variant:
    """Return the slices of tensors along their first dimension.

    Raises:
      InvalidArgumentError: a tensor is a scalar, or the first dimensions differ.
    """
    arrays = [owned(value) for value in components]
    if any(np.ndim(array) == 0 for array in arrays):
        raise errors.invalid_argument("All components must be at least 1-dimensional")
    count = arrays[0].shape[0]
    if any(array.shape[0] != count for array in arrays):
        raise errors.invalid_argument("All components must have the same size in the 0th dimension")

    def row(index: int) -> Element:
        return tuple([slice_of(array, index) for array in arrays])

    return DatasetBase(Toutput_types, output_shapes, lambda scope: RowsIterator(count, row), count)


@register_op(
    "SparseTensorSliceDataset",
    "indices: int64, values: Tvalues, dense_shape: int64 -> handle: variant", "Tvalues: type",
    stateful=True, shape=scalar_handle, devices=("CPU",),
)  # fmt: skip
def sparse_tensor_slice_dataset(
    xp: Xp, indices: Array, values: Array, dense_shape: Array, *, Tvalues: DType
) -> Variant:
    """Return the slices of a sparse tensor: indices, values and shape of each.

    Raises:
      InvalidArgumentError: the three do not fit together, or indices are not in order.
    """
    for name, value, rank in (
        ("indices", indices, 2), ("values", values, 1), ("shape", dense_shape, 1),
    ):  # fmt: skip
        if np.ndim(value) != rank:
            kind = "matrix" if rank == 2 else "vector"
            raise errors.invalid_argument(
                f"Input {name} must be a {kind}. Got: {bracketed(np.shape(value))}"
            )
    if len(values) != len(indices):
        raise errors.invalid_argument(
            f"Number of values must match first dimension of indices. Got {len(values)} values, "
            f"indices shape: {bracketed(indices.shape)}"
        )
    if indices.shape[1] != len(dense_shape):
        raise errors.invalid_argument(
            "Number of dimensions must match second dimension of indices. Got "
            f"{len(dense_shape)} dimensions, indices shape: {bracketed(indices.shape)}"
        )
    for size in dense_shape.tolist():
        if size < 0:
            raise errors.invalid_argument(
                f"Expected shape dimensions to be non-negative, got {size}"
            )
    if not len(dense_shape):
        raise errors.invalid_argument("The shape argument requires at least one element.")
    if (np.diff(indices[:, 0]) < 0).any():
        raise errors.unimplemented(
            "The SparseTensor must be ordered in the batch dimension; handling arbitrarily ordered "
            "input is not currently supported."
        )
    count = int(dense_shape[0])
    indices, values, inner = owned(indices), owned(values), dense_shape[1:].copy()
    starts = np.searchsorted(indices[:, 0], np.arange(count + 1))

    def row(index: int) -> Element:
        part = slice(starts[index], starts[index + 1])
        return indices[part, 1:], values[part], inner

    rank = len(inner)
    return DatasetBase(
        (dtypes.int64, Tvalues, dtypes.int64),
        (TensorShape([None, rank]), TensorShape([None]), TensorShape([rank])),
        lambda scope: RowsIterator(count, row),
        count,
    )


@register_op(
    "RangeDataset", "start: int64, stop: int64, step: int64 -> handle: variant", *OUTPUTS,
    METADATA, "replicate_on_split: bool = false",
    stateful=True, shape=handle_of_scalars, devices=("CPU",),
)  # fmt: skip
def range_dataset(
    xp: Xp, start: Array, stop: Array, step: Array, *,
    output_types: list[DType], output_shapes: list[TensorShape],
) -> Variant:  # fmt: skip
    """Return the numbers from start to stop, without stop, in steps.

    Raises:
      InvalidArgumentError: the step is 0.
    """
    first, last = scalar_int(start, "start"), scalar_int(stop, "stop")
    stride = scalar_int(step, "step")
    if stride == 0:
        raise errors.invalid_argument("step must be a non-zero integer.")
    dtype = output_types[0]
    kind = dtype.as_numpy_dtype
    is_number = dtype.is_integer or dtype.is_floating or dtype.is_complex
    count = max(0, -((first - last) // stride))

    def row(index: int) -> Element:
        if not is_number:
            raise errors.invalid_argument(f"Unsupported data type: {type_word(dtype)}")
        number = np.int64(first + index * stride)
        return (number if kind is np.int64 else number.astype(kind),)

    # The largest number means infinite; a count that does not fit is reported as 0.
    size = INFINITE if last == _LARGEST else count if count <= _LARGEST else 0
    return DatasetBase(output_types, output_shapes, lambda scope: RowsIterator(count, row), size)


_LARGEST = (1 << 63) - 1


# ----------------------------------------------------------------------------------- random numbers


class RandomWords:
    """Random words of 32 bits, one after the other."""

    def __init__(self, seed: int, seed2: int) -> None:
        self._generator = GuardedPhilox(seed, seed2)
        self._left: list[int] = []
        self._num_blocks = 1

    def take(self) -> int:
        """Return the next word."""
        if not self._left:
            # The first batch is small, because many generators are read at most twice.
            count, self._num_blocks = self._num_blocks, 64
            blocks = self._generator.reserve_blocks(count).blocks(np, count)
            self._left = blocks.ravel()[::-1].tolist()
        return self._left.pop()


class _RandomIterator(ImmediateIterator):
    def __init__(self, seed: int, seed2: int) -> None:
        self._words = RandomWords(seed, seed2)

    def take(self, ctx: OpKernelContext) -> Element | None:
        return (np.int64(self._words.take()),)


def _random_dataset(
    xp: Xp,
    seed: Array,
    seed2: Array,
    *,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return random numbers of 32 bits, endlessly."""
    seeds = scalar_int(seed, "seed"), scalar_int(seed2, "seed2")
    if seeds == (0, 0):
        words = RandomWords(0, 0)
        seeds = words.take(), words.take()
    return DatasetBase(output_types, output_shapes, lambda scope: _RandomIterator(*seeds), INFINITE)


random_dataset = register_op(
    "RandomDataset", "seed: int64, seed2: int64 -> handle: variant", *OUTPUTS, METADATA,
    stateful=True, shape=handle_of_scalars, devices=("CPU",),
    traits="unseen_state",
)(_random_dataset)  # fmt: skip
experimental_random_dataset = register_op(
    "ExperimentalRandomDataset", "seed: int64, seed2: int64 -> handle: variant", *OUTPUTS,
    stateful=True, shape=handle_of_scalars, devices=("CPU",),
)(_random_dataset)  # fmt: skip


# --------------------------------------------------------------------------------------- generators


class _GeneratorIterator(DatasetIterator):
    """The iterator over the results of a generator's three functions: init, next, finalize."""

    def __init__(self, scope: IteratorScope, functions: Sequence[CapturedFunction]) -> None:
        self._begin, self._go_on, self._end = (one.bound(scope) for one in functions)
        self._state: list[Array] | None = None
        self._is_over = False

    def get_next(self, ctx: OpKernelContext) -> type_of_next:
        """Yield the next element; the end is an OutOfRangeError of the function."""
        if self._is_over:
            return None
        if self._state is None:
            self._state = yield self._begin.call(())
        try:
            results = yield self._go_on.call(self._state)
        except errors.OutOfRangeError:
            self._is_over = True
            yield self._end.call(self._state)
            return None
        return tuple(results)


@register_op(
    "GeneratorDataset",
    "init_func_other_args: Tinit_func_args, next_func_other_args: Tnext_func_args, "
    "finalize_func_other_args: Tfinalize_func_args -> handle: variant",
    "init_func: func", "next_func: func", "finalize_func: func",
    "Tinit_func_args: list(type) >= 0", "Tnext_func_args: list(type) >= 0",
    "Tfinalize_func_args: list(type) >= 0", *OUTPUTS, METADATA,
    stateful=True, shape=scalar_handle, devices=("CPU",),
)  # fmt: skip
def generator_dataset(
    xp: Xp,
    init_func_other_args: list[Array],
    next_func_other_args: list[Array],
    finalize_func_other_args: list[Array],
    *,
    init_func: NameAttrList,
    next_func: NameAttrList,
    finalize_func: NameAttrList,
    output_types: list[DType],
    output_shapes: list[TensorShape],
) -> Variant:
    """Return the results of next_func until it raises OutOfRange."""
    functions = (
        CapturedFunction(init_func, init_func_other_args),
        CapturedFunction(next_func, next_func_other_args),
        CapturedFunction(finalize_func, finalize_func_other_args),
    )
    return DatasetBase(
        output_types, output_shapes, lambda scope: _GeneratorIterator(scope, functions), UNKNOWN
    )
