"""Partitioned variables: all parts as one value, and functions that choose the partition."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import register_tensor_conversion_function
from tfnb.framework.scopes import control_dependencies, name_scope
from tfnb.ops.array.concat_ops import concat
from tfnb.ops.array.identity_ops import identity_op

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.tensor_shape import ShapeLike
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import (
        TensorLike,
        TensorResult,
        VariableLike,
    )

EXPORTS = {
    "tf": [
        "fixed_size_partitioner",
        "variable_axis_size_partitioner",
        "min_max_variable_partitioner",
    ],
}


class PartitionedVariable:
    """The parts of one variable; converts to the whole as a tensor."""

    is_tensor_like = True

    def __init__(
        self,
        name: str,
        shape: TensorShape,
        dtype: DType,
        variable_list: Sequence[Any],
        partitions: Sequence[int],
    ) -> None:
        if not isinstance(variable_list, (list, tuple)):
            raise TypeError(f"variable_list is not a list or tuple: {variable_list}")
        if not isinstance(partitions, (list, tuple)):
            raise TypeError(f"partitions is not a list or tuple: {partitions}")
        if any(count < 1 for count in partitions):
            raise ValueError(f"partition values must be positive: {partitions}")
        if not variable_list:
            raise ValueError("variable_list may not be empty")
        for variable in variable_list:
            info = variable._save_slice_info
            if info is None or info.full_name != name:
                raise ValueError(
                    f"The parts of {name!r} need a _save_slice_info with this name: {variable} "
                    "has none."
                )
        self._name = name
        self._shape = shape if isinstance(shape, TensorShape) else TensorShape(shape)
        self._dtype = dtype
        self._partitions = partitions
        self._variable_list = sorted(variable_list, key=lambda v: v._save_slice_info.var_offset)
        self._as_tensor: Tensor | None = None

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the parts in order."""
        return iter(self._variable_list)

    def __len__(self) -> int:
        return len(self._partition_axes()) and len(self._variable_list)

    def _partition_axes(self) -> list[int]:
        if all(count == 1 for count in self._partitions):
            return [0]
        return [axis for axis, count in enumerate(self._partitions) if count > 1]

    def _concat(self) -> Tensor:
        if len(self._variable_list) == 1:
            with name_scope(None):
                found: Tensor = identity_op(self._variable_list[0], name=self._name)
                return found
        axes = self._partition_axes()
        if len(axes) > 1:
            raise NotImplementedError(
                f"Cannot concatenate along more than one dimension: {axes}.  Multi-axis partition "
                "concat is not supported"
            )
        with name_scope(f"{self._name}/ConcatPartitions/"):
            joined = concat(self._variable_list, axes[0])
        with name_scope(None):
            whole: Tensor = identity_op(joined, name=self._name)
        return whole

    def as_tensor(self) -> Tensor:
        """Return the whole variable, as a new concatenation."""
        # Concatenate outside of conds and loops, so that all of their reads share the result.
        with control_dependencies(None), name_scope(None):
            return self._concat()

    @property
    def name(self) -> str:
        """The name of the whole variable."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The type."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole variable."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """Return the shape of the whole variable."""
        return self._shape

    def _get_variable_list(self) -> list[VariableLike]:
        return self._variable_list

    def _get_partitions(self) -> Sequence[int]:
        return self._partitions

    def _apply(
        self, method: str, value: TensorLike, use_locking: bool, name: str | None, read_value: bool
    ) -> list[TensorResult]:
        """Call a method of each part with its slice of a value."""
        from tfnb.ops.array.slice_ops import slice_op

        if isinstance(value, (list, tuple, PartitionedVariable)):
            values = list(value)
            if len(values) != len(self._variable_list):
                raise ValueError(
                    f"Got {len(values)} values for the {len(self._variable_list)} parts of "
                    f"{self._name!r}; pass one value per part."
                )
        else:
            values = []
            for variable in self._variable_list:
                info = variable._save_slice_info
                values.append(slice_op(value, info.var_offset, info.var_shape))
        found = [
            getattr(one, method)(part, use_locking=use_locking, name=name)
            for one, part in zip(self._variable_list, values)
        ]
        return found if read_value else [one.op for one in found]

    def assign(
        self,
        value: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> TensorResult:
        """Assign the parts their slices of a value."""
        return self._apply("assign", value, use_locking, name, read_value)

    def assign_add(
        self,
        value: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> TensorResult:
        """Add slices of a value to the parts."""
        return self._apply("assign_add", value, use_locking, name, read_value)

    def assign_sub(
        self,
        value: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> TensorResult:
        """Subtract slices of a value from the parts."""
        return self._apply("assign_sub", value, use_locking, name, read_value)


def _to_tensor(
    variable: PartitionedVariable, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> TensorResult:
    if dtype is not None and not dtype.is_compatible_with(variable.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
            f"'{variable.dtype.name}'"
        )
    if as_ref:
        raise NotImplementedError("PartitionedVariable doesn't support being used as a reference.")
    return variable.as_tensor()


register_tensor_conversion_function(PartitionedVariable, _to_tensor)

# ------------------------------------------------------------------------------ number of parts


def call_partitioner(partitioner: Any, shape: TensorShape, dtype: DType) -> Sequence[int]:
    """Return the number of parts along each dimension.

    Raises:
      ValueError: the shape is unknown, or the partitioner's result does not fit it.
    """
    if not shape.is_fully_defined():
        raise ValueError(
            f"Shape of a new partitioned variable must be fully defined, but instead was {shape}."
        )
    if len(shape) < 1:
        raise ValueError(f"A partitioned Variable must have rank at least 1, shape: {shape}")
    slicing: Sequence[int] = partitioner(shape=shape, dtype=dtype)
    if not isinstance(slicing, Sequence):
        raise ValueError(f"Partitioner must return a sequence, but saw: {slicing}")
    if len(slicing) != len(shape):
        raise ValueError(
            f"Partitioner returned a partition list that does not match the Variable's rank: "
            f"{slicing} vs. {shape}"
        )
    if any(count < 1 for count in slicing):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {slicing}")
    if sum(count > 1 for count in slicing) > 1:
        raise ValueError(
            f"Can only slice a variable along one dimension: shape: {shape}, partitioning: "
            f"{slicing}"
        )
    return slicing


def slices_of(shape: list[int], partitions: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Return (offset, shape) of every part; the first parts get the remainder of the division.

    Raises:
      ValueError: there are more parts than elements along the dimension.
    """
    axis = next((i for i, count in enumerate(partitions) if count > 1), 0)
    count = partitions[axis]
    if not 1 <= count <= max(shape[axis], 1) or (count > shape[axis]):
        raise ValueError(
            f"Cannot partition dimension {axis} of size {shape[axis]} into {count} parts"
        )
    least, extra = divmod(shape[axis], count)
    found, offset = [], [0] * len(shape)
    for index in range(count):
        part = list(shape)
        part[axis] = least + (1 if index < extra else 0)
        found.append((list(offset), part))
        offset[axis] += part[axis]
    return found


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Callable[..., list[int]]:
    """Return a partitioner with the same number of parts for every variable, along an axis."""

    def partitioner(shape: TensorLike, **_: Any) -> list[int]:
        partitions = [1] * len(shape)
        partitions[axis] = min(num_shards, shape.dims[axis].value)
        return partitions

    return partitioner


def variable_axis_size_partitioner(
    max_shard_bytes: int,
    axis: int = 0,
    bytes_per_string_element: int = 16,
    max_shards: int | None = None,
) -> Callable[..., list[int]]:
    """Return a partitioner that limits the bytes of each part.

    Args:
      max_shard_bytes: the maximum of bytes of a part.
      axis: the axis to partition.
      bytes_per_string_element: the assumed size of a string.
      max_shards: the maximum number of parts.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError(
            "Both max_shard_bytes and bytes_per_string_element must be positive. Currently: "
            f"max_shard_bytes={max_shard_bytes} and bytes_per_string_element="
            f"{bytes_per_string_element}"
        )
    if max_shards and max_shards < 1:
        raise ValueError(f"max_shards must be positive but got {max_shards}")

    def partitioner(shape: ShapeLike, dtype: DTypeLike | None) -> list[int]:
        whole = shape if isinstance(shape, TensorShape) else TensorShape(shape)
        if not whole.is_fully_defined():
            raise ValueError(f"shape is not a fully defined TensorShape: {whole}")
        kind = dtypes.as_dtype(dtype)
        element = bytes_per_string_element if kind.base_dtype is dtypes.string else kind.size
        partitions = [1] * len(whole)
        size = whole.as_list()[axis] or 0
        total = element * (whole.num_elements() or 0)
        slice_bytes = total / size
        per_shard = max(1, math.floor(max_shard_bytes / slice_bytes))
        count = math.ceil(size / per_shard)
        partitions[axis] = min(max_shards, count) if max_shards else count
        return partitions

    return partitioner


def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Callable[..., list[int]]:
    """Return a partitioner with as many parts as ``min_slice_size`` allows.

    Args:
      max_partitions: the maximum number of parts.
      axis: the axis to partition.
      min_slice_size: the desired minimum of bytes of a part.
      bytes_per_string_element: the assumed size of a string.
    """

    def partitioner(shape: TensorLike, dtype: DTypeLike | None) -> list[int]:
        if axis >= len(shape):
            raise ValueError(
                f"Cannot partition variable along axis {axis} when shape is only {shape}"
            )
        kind = dtypes.as_dtype(dtype)
        element = bytes_per_string_element if kind.base_dtype is dtypes.string else kind.size
        total = element * shape.num_elements()
        partitions = [1] * len(shape)
        least = max(1, math.ceil(total / min_slice_size))
        partitions[axis] = max(1, min(shape.dims[axis].value, max_partitions, least))
        return partitions

    return partitioner
