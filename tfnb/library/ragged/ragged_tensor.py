"""``tf.RaggedTensor``: concatenated rows of different lengths, and the position of each."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor, register_tensor_conversion_function
from tfnb.framework.dispatch import CompositeTensor, Dispatching
from tfnb.framework.scopes import control_dependencies, name_scope
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.library.control_flow.check_ops import assert_equal, assert_less_equal, assert_non_negative
from tfnb.library.control_flow.with_dependencies import with_dependencies
from tfnb.ops.array import array_ops
from tfnb.ops.array.array_extras import sequence_mask
from tfnb.ops.array.repeat_ops import repeat
from tfnb.ops.array.where_ops import boolean_mask
from tfnb.ops.math import math_ops
from tfnb.ops.math.histogram_ops import bincount
from tfnb.ops.sparse.ragged_ops import ragged_tensor_to_sparse, ragged_tensor_to_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.tensor_shape import ShapeLike
    from tfnb.framework.default_session import SessionLike
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Nested, PaddingLike, TensorLike, TensorResult

EXPORTS = {"tf": ["RaggedTensor"], "ragged": ["RaggedTensorValue", "row_splits_to_segment_ids"]}


class RaggedTensorValue(Dispatching):
    """The fetched value of a :class:`RaggedTensor`, which may also be fed for one.

    Functions that take ragged tensors take it, too, and return tensors.

    Args:
      values: the concatenated values of all rows; an array, or a ragged value.
      row_splits: where each row begins, and where the last one ends; [rows + 1].
    """

    def __init__(self, values: TensorLike, row_splits: TensorLike) -> None:
        self.values = values
        self.row_splits = row_splits

    def as_tensor(self) -> RaggedTensor:
        """Return the ragged tensor with this value, made of constants."""
        inner = self.values
        if isinstance(inner, RaggedTensorValue):
            inner = inner.as_tensor()
        return RaggedTensor.from_row_splits(inner, self.row_splits, validate=False)

    def dispatch(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """See :class:`~tfnb.framework.dispatch.Dispatching`."""
        from tfnb.library.ragged import dispatch

        as_tensors = dispatch.with_tensors_for_values
        return dispatch.call(function, as_tensors(args), as_tensors(kwargs))

    @property
    def flat_values(self) -> TensorResult:
        """The innermost values."""
        inner = self.values
        return inner.flat_values if isinstance(inner, RaggedTensorValue) else inner

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The splits of all ragged dimensions, the outermost first."""
        inner = self.values
        rest = inner.nested_row_splits if isinstance(inner, RaggedTensorValue) else ()
        return (self.row_splits, *rest)

    @property
    def ragged_rank(self) -> int:
        """The number of ragged dimensions."""
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> Any:
        """NumPy's type of the values."""
        return self.flat_values.dtype

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The sizes of dimensions; None for ragged ones."""
        inner = self.values.shape
        return (len(self.row_splits) - 1, None, *inner[1:])

    def __str__(self) -> str:
        return f"<tf.RaggedTensorValue {self.to_list()}>"

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self.values!r}, row_splits={self.row_splits!r})"

    def to_list(self) -> list[Nested]:
        """Return the rows as nested lists."""
        inner = self.values
        rows = inner.to_list() if isinstance(inner, RaggedTensorValue) else inner.tolist()
        splits = np.asarray(self.row_splits).tolist()
        return [rows[start:end] for start, end in itertools.pairwise(splits)]


class RaggedTensor(CompositeTensor):
    """A tensor some of whose dimensions have rows of different lengths.

    Made by ``from_row_splits`` and similar methods, or by ``tf.ragged.constant``.

    Args:
      values: the concatenated values of all rows; a tensor, or a ragged one.
      row_partition: the row splits: where each row begins, and where the last one ends.
      internal: must be True; programs use ``from_row_splits`` and similar methods.

    Raises:
      ValueError: ``internal`` is not True.
    """

    __array_priority__ = 100

    def __init__(self, values: TensorLike, row_partition: Any, internal: bool = False) -> None:
        if not internal:
            raise ValueError(
                "RaggedTensor constructor is private; please use one of the factory methods "
                "instead (e.g., RaggedTensor.from_row_lengths())"
            )
        self._values = values
        self._row_splits: Any = row_partition
        self.known_row_length: Any = None

    # -- construction ------------------------------------------------------------------------------

    @classmethod
    def of_splits(cls, values: Any, splits: Any) -> RaggedTensor:
        """Return the ragged tensor of values and matching row splits; internal to tfnb."""
        splits.shape.assert_has_rank(1)
        return cls(values, splits, internal=True)

    @classmethod
    def from_row_splits(
        cls,
        values: TensorLike,
        row_splits: TensorLike,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Return the tensor whose row i is ``values[row_splits[i]:row_splits[i + 1]]``."""
        if isinstance(row_splits, (list, tuple)) and not row_splits:
            raise ValueError("row_splits tensor may not be empty.")
        with name_scope(name, "RaggedFromRowSplits", [values, row_splits]):
            values, splits = _values_and(values, row_splits, "row_splits")
            if validate:
                message = "Arguments to from_row_splits do not form a valid RaggedTensor"
                with name_scope("validate"):
                    checks = [
                        assert_equal(splits[0], _zero(splits), message=f"{message}:zero"),
                        assert_less_equal(splits[:-1], splits[1:], message=f"{message}:monotonic"),
                        assert_equal(_rows(values, splits.dtype), splits[-1], message=message),
                    ]
                splits = with_dependencies(checks, splits)
            return cls.of_splits(values, splits)

    @classmethod
    def from_row_lengths(
        cls,
        values: TensorLike,
        row_lengths: TensorLike,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Return the tensor whose row i has ``row_lengths[i]`` values."""
        with name_scope(name, "RaggedFromRowLengths", [values, row_lengths]):
            values, lengths = _values_and(values, row_lengths, "row_lengths")
            if validate:
                message = "Arguments to from_row_lengths do not form a valid RaggedTensor"
                total = math_ops.reduce_sum(lengths)
                checks = [
                    assert_non_negative(lengths, message=message),
                    assert_equal(total, _rows(values, lengths.dtype), message=message),
                ]
                lengths = with_dependencies(checks, lengths)
            return cls.of_splits(values, splits_of_lengths(lengths))

    @classmethod
    def from_value_rowids(
        cls,
        values: TensorLike,
        value_rowids: TensorLike,
        nrows: TensorLike | None = None,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Return the tensor with value i in row ``value_rowids[i]``; these must ascend.

        The number of rows is ``nrows``, by default the last row number plus one.
        """
        with name_scope(name, "RaggedFromValueRowIds", [values, value_rowids, nrows]):
            values, ids = _values_and(values, value_rowids, "value_rowids")
            if nrows is None:
                known = constant_value(ids)
                if known is not None:
                    nrows = int(known[-1]) + 1 if len(known) else 0
                else:
                    nrows = (
                        math_ops.reduce_max(array_ops.concat([_zero(ids)[None] - 1, ids], 0)) + 1
                    )
            elif isinstance(nrows, int) and nrows < 0:
                raise ValueError(f"Expected nrows >= 0; got {nrows}")
            count = convert_to_tensor(nrows, ids.dtype, name="nrows")
            if validate:
                message = "Arguments to from_value_rowids do not form a valid RaggedTensor"
                checks = [
                    assert_equal(_rows(ids, ids.dtype), _rows(values, ids.dtype), message=message),
                    assert_non_negative(ids[:1], message=message),
                    assert_less_equal(ids[:-1], ids[1:], message=message),
                    assert_less_equal(ids[-1:], count - 1, message=message),
                ]
                ids = with_dependencies(checks, ids)
            as_int32 = math_ops.cast(ids, dtypes.int32)
            size = math_ops.cast(count, dtypes.int32)
            lengths = bincount(as_int32, minlength=size, maxlength=size, dtype=ids.dtype)
            static = constant_value(count)
            if static is not None:
                lengths.set_shape([int(static)])
            return cls.of_splits(values, splits_of_lengths(lengths))

    @classmethod
    def from_row_starts(
        cls,
        values: TensorLike,
        row_starts: TensorLike,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Return the tensor whose row i begins with the value ``row_starts[i]``."""
        with name_scope(name, "RaggedFromRowStarts", [values, row_starts]):
            values, starts = _values_and(values, row_starts, "row_starts")
            splits = array_ops.concat([starts, _rows(values, starts.dtype)[None]], 0)
            return cls.from_row_splits(values, splits, validate=validate)

    @classmethod
    def from_row_limits(
        cls,
        values: TensorLike,
        row_limits: TensorLike,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Return the tensor whose row i ends before the value ``row_limits[i]``."""
        with name_scope(name, "RaggedFromRowLimits", [values, row_limits]):
            values, limits = _values_and(values, row_limits, "row_limits")
            splits = array_ops.concat([_zero(limits)[None], limits], 0)
            return cls.from_row_splits(values, splits, validate=validate)

    @classmethod
    def from_uniform_row_length(
        cls,
        values: TensorLike,
        uniform_row_length: TensorLike,
        nrows: TensorLike | None = None,
        validate: bool = True,
        name: str | None = None,
    ) -> RaggedTensor:
        """Return the tensor of rows with ``uniform_row_length`` values; 0 values need ``nrows``."""
        with name_scope(name, "RaggedFromUniformRowLength", [values, uniform_row_length, nrows]):
            values, length = _values_and(values, uniform_row_length, "uniform_row_length")
            length.shape.assert_has_rank(0)
            if nrows is None:
                known = constant_value(length)
                count = _rows(values, length.dtype)
                if known is not None and int(known) == 0:
                    raise ValueError("nrows must be specified if uniform_row_length is 0")
                nrows = count // length
            rows = convert_to_tensor(nrows, length.dtype, name="nrows")
            splits = math_ops.range_(rows + 1, dtype=length.dtype) * length
            found = cls.from_row_splits(values, splits, validate=validate)
            found.known_row_length = length
            return found

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: TensorLike,
        nested_row_splits: Any,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Return a tensor with several ragged dimensions, the outermost first."""
        return cls._nested(cls.from_row_splits, flat_values, nested_row_splits, name, validate)

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: TensorLike,
        nested_row_lengths: Any,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Return a tensor with several ragged dimensions, the outermost first."""
        return cls._nested(cls.from_row_lengths, flat_values, nested_row_lengths, name, validate)

    @classmethod
    def _nested(
        cls,
        make: Callable[..., Nested],
        flat: TensorLike,
        parts: TensorLike,
        name: str | None,
        validate: bool,
    ) -> RaggedTensor:
        if hasattr(parts, "op"):
            raise TypeError(f"Argument must be a list of Tensors. Received {parts}.")
        with name_scope(name, "RaggedFromNested", [flat, *parts]):
            found = flat
            for part in reversed(list(parts)):
                found = make(found, part, validate=validate)
            return found  # type: ignore[no-any-return]

    @classmethod
    def from_nested_value_rowids(
        cls,
        flat_values: TensorLike,
        nested_value_rowids: Any,
        nested_nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Return a tensor with several ragged dimensions, the outermost first."""
        ids = list(nested_value_rowids)
        counts = [None] * len(ids) if nested_nrows is None else list(nested_nrows)
        if len(counts) != len(ids):
            raise ValueError(
                "Argument `nested_nrows` must have the same length as argument "
                f"`nested_value_rowids`. len(nested_nrows)={len(counts)} vs. "
                f"len(nested_values_rowids)={len(ids)}."
            )
        with name_scope(name, "RaggedFromNestedValueRowIds", [flat_values, *ids]):
            found = flat_values
            for one, count in zip(reversed(ids), reversed(counts)):
                found = cls.from_value_rowids(found, one, count, validate=validate)
            return found  # type: ignore[no-any-return]

    @classmethod
    def from_tensor(
        cls,
        tensor: TensorLike,
        lengths: TensorLike | None = None,
        padding: PaddingLike | None = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: DTypeLike = dtypes.int64,
    ) -> RaggedTensor:
        """Return a dense tensor as a ragged one.

        Args:
          tensor: the tensor.
          lengths: the number of values of each row to keep; or a list of these, one per ragged
            dimension.
          padding: a value that is removed from the ends of rows.
          ragged_rank: the number of dimensions that become ragged.
          name: of the scope.
          row_splits_dtype: of the splits.

        Raises:
          ValueError: both lengths and padding are given, or the rank does not fit.
        """
        if lengths is not None and padding is not None:
            raise ValueError("Specify argument `lengths` or `padding`, but not both.")
        if not isinstance(ragged_rank, int):
            raise TypeError(f"Argument `ragged_rank` must be an int. Received {ragged_rank}.")
        if ragged_rank <= 0:
            raise ValueError(
                f"Argument `ragged_rank` must be greater than 0. Received {ragged_rank}."
            )
        dtype = dtypes.as_dtype(row_splits_dtype)
        with name_scope(name, "RaggedFromTensor", [tensor, lengths, padding]):
            tensor = convert_to_tensor(tensor, name="tensor")
            tensor.shape.with_rank_at_least(ragged_rank + 1)
            if isinstance(lengths, (list, tuple)) and lengths and hasattr(lengths[0], "__len__"):
                ragged = cls.from_tensor(tensor, lengths[0], row_splits_dtype=dtype)
                if len(lengths) == 1:
                    return ragged
                inner = cls.from_tensor(ragged.values, list(lengths[1:]), row_splits_dtype=dtype)
                return ragged.with_values(inner)
            if ragged_rank > 1:
                outer = cls.from_tensor(tensor, row_splits_dtype=dtype)
                inner = cls.from_tensor(
                    *(outer.values, lengths, padding, ragged_rank - 1), row_splits_dtype=dtype
                )
                return outer.with_values(inner)
            return cls._from_rows(tensor, lengths, padding, dtype)

    @classmethod
    def _from_rows(
        cls, tensor: TensorLike, lengths: TensorLike, padding: PaddingLike, dtype: DTypeLike
    ) -> RaggedTensor:
        sizes = array_ops.shape(tensor, out_type=dtype)
        columns = sizes[1]
        if padding is not None:
            padding = convert_to_tensor(padding, tensor.dtype, name="padding")
            is_padding = math_ops.equal(tensor, padding)
            for _ in range(2, tensor.shape.ndims):
                is_padding = math_ops.reduce_all(is_padding, axis=-1)
            places = math_ops.range_(columns, dtype=dtype) + 1
            kept = array_ops.where_v2(is_padding, array_ops.zeros_like(places), places)
            zeros = array_ops.zeros([sizes[0], 1], dtype)
            lengths = math_ops.reduce_max(array_ops.concat([zeros, kept], 1), axis=1)
        if lengths is None:
            splits = math_ops.range_(sizes[0] + 1, dtype=dtype) * columns
            flat = array_ops.reshape(tensor, array_ops.concat([[-1], sizes[2:]], 0))
            flat.set_shape(TensorShape([None]).concatenate(tensor.shape[2:]))
            rows = tensor.shape.dim_values[0]
            if rows is not None:
                splits.set_shape([rows + 1])
            found = cls.of_splits(flat, splits)
            static = tensor.shape.dim_values[1]
            found.known_row_length = (
                columns if static is None else array_ops.constant(static, dtype)
            )
            return found
        lengths = convert_to_tensor(lengths, preferred_dtype=dtype, name="lengths")
        if not lengths.dtype.is_integer:
            raise TypeError(f"lengths must be an integer tensor; dtype={lengths.dtype}")
        lengths = math_ops.cast(lengths, dtype)
        lengths = math_ops.minimum(math_ops.maximum(lengths, _zero(lengths)), columns)
        kept = boolean_mask(tensor, sequence_mask(lengths, columns))
        return cls.of_splits(kept, splits_of_lengths(lengths))

    @classmethod
    def from_sparse(
        cls,
        st_input: TensorLike,
        name: str | None = None,
        row_splits_dtype: DTypeLike = dtypes.int64,
    ) -> RaggedTensor:
        """Return a sparse matrix whose rows have no gaps as a ragged tensor.

        Raises:
          TypeError: the argument is not sparse.
          ValueError: it is not a matrix.
        """
        if not isinstance(st_input, SparseTensor):
            raise TypeError(f"Argument `st_input` must be of type SparseTensor, but is {st_input}")
        with name_scope(name, "RaggedFromSparse", [st_input]):
            if st_input.shape.ndims not in (None, 2):
                raise ValueError(
                    f"rank(st_input) must be 2. Received st_input with shape {st_input.shape}"
                )
            dtype = dtypes.as_dtype(row_splits_dtype)
            rows = math_ops.cast(st_input.indices[:, 0], dtype)
            columns = math_ops.cast(st_input.indices[:, 1], dtype)
            found = cls.from_value_rowids(
                st_input.values, rows, math_ops.cast(st_input.dense_shape[0], dtype), validate=False
            )
            expected = math_ops.range_(_rows(rows, dtype)) - array_ops.gather(
                found.row_starts(), rows
            )
            message = "SparseTensor is not right-ragged"
            check = assert_equal(columns, expected, message=message)
            return found.with_values(with_dependencies([check], st_input.values))

    # -- properties --------------------------------------------------------------------------------

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self._values.dtype  # type: ignore[no-any-return]

    @property
    def shape(self) -> TensorShape:
        """The static shape; None for ragged dimensions."""
        splits = self._row_splits.shape.dim_values
        count = None if not splits or splits[0] is None else splits[0] - 1
        width = None
        if self.known_row_length is not None:
            known = constant_value(self.known_row_length)
            width = None if known is None else int(known)
        inner = self._values.shape
        if inner.ndims is None:
            return TensorShape(None)
        return TensorShape([count, width]).concatenate(inner[1:])

    def get_shape(self) -> TensorShape:
        """See ``shape``."""
        return self.shape

    @property
    def ragged_rank(self) -> int:
        """The number of ragged dimensions."""
        inner = self._values
        return 1 + (inner.ragged_rank if isinstance(inner, RaggedTensor) else 0)

    @property
    def values(self) -> TensorResult:
        """The concatenated values of all rows."""
        return self._values

    @property
    def row_splits(self) -> TensorResult:
        """Where each row begins, and where the last one ends."""
        return self._row_splits

    @property
    def uniform_row_length(self) -> TensorResult:
        """The length of all rows if it is uniform, else None."""
        return self.known_row_length

    @property
    def flat_values(self) -> TensorResult:
        """The innermost values."""
        inner = self._values
        return inner.flat_values if isinstance(inner, RaggedTensor) else inner

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The splits of all ragged dimensions, the outermost first."""
        inner = self._values
        rest = inner.nested_row_splits if isinstance(inner, RaggedTensor) else ()
        return (self._row_splits, *rest)

    def value_rowids(self, name: str | None = None) -> TensorResult:
        """Return the row of each value."""
        with name_scope(name, "RaggedValueRowIds", [self]):
            return row_splits_to_segment_ids(self._row_splits)

    def nested_value_rowids(self, name: str | None = None) -> tuple[TensorResult, ...]:
        """Return the rows of all ragged dimensions, the outermost first."""
        with name_scope(name, "RaggedNestedValueRowIds", [self]):
            return tuple(row_splits_to_segment_ids(splits) for splits in self.nested_row_splits)

    def nrows(self, out_type: DTypeLike | None = None, name: str | None = None) -> TensorResult:
        """Return the number of rows."""
        with name_scope(name, "RaggedNRows", [self]):
            dtype = self._row_splits.dtype if out_type is None else dtypes.as_dtype(out_type)
            return array_ops.shape(self._row_splits, out_type=dtype)[0] - 1

    def row_starts(self, name: str | None = None) -> TensorResult:
        """Return the index of each row's first value."""
        with name_scope(name, "RaggedRowStarts", [self]):
            return self._row_splits[:-1]

    def row_limits(self, name: str | None = None) -> TensorResult:
        """Return the index after each row's last value."""
        with name_scope(name, "RaggedRowLimits", [self]):
            return self._row_splits[1:]

    def row_lengths(self, axis: int = 1, name: str | None = None) -> TensorResult:
        """Return the number of values in each row; for an inner dimension, a ragged tensor.

        Raises:
          ValueError: the axis is less than 1.
        """
        with name_scope(name, "RaggedRowLengths", [self]):
            if axis < 0:
                axis += len(self.shape.as_list())
            if axis == 0:
                return self.nrows()
            if axis == 1:
                return self._row_splits[1:] - self._row_splits[:-1]
            if isinstance(self._values, RaggedTensor):
                return self.with_values(self._values.row_lengths(axis - 1))
            sizes = array_ops.shape(self._values, out_type=self._row_splits.dtype)
            width = array_ops.ones(sizes[: axis - 1], self._row_splits.dtype) * sizes[axis - 1]
            return self.with_values(width)

    def nested_row_lengths(self, name: str | None = None) -> tuple[TensorResult, ...]:
        """Return the lengths of rows of all ragged dimensions, the outermost first."""
        with name_scope(name, "RaggedNestedRowLengths", [self]):
            return tuple(splits[1:] - splits[:-1] for splits in self.nested_row_splits)

    def bounding_shape(
        self, axis: int | None = None, name: str | None = None, out_type: DTypeLike | None = None
    ) -> Any:
        """Return the shape, or one size, of the smallest dense tensor that can hold the values."""
        dtype = self._row_splits.dtype if out_type is None else dtypes.as_dtype(out_type)
        with name_scope(name, "RaggedBoundingBox", [self, axis]):
            sizes = [self.nrows()]
            for splits in self.nested_row_splits:
                lengths = splits[1:] - splits[:-1]
                longest = math_ops.reduce_max(array_ops.concat([_zero(lengths)[None], lengths], 0))
                sizes.append(longest)
            inner = array_ops.shape(self.flat_values, out_type=self._row_splits.dtype)[1:]
            whole = math_ops.cast(array_ops.concat([array_ops.stack(sizes), inner], 0), dtype)
            return whole if axis is None else whole[axis]

    def consumers(self) -> list[Operation]:
        """Return the operations that take one of its tensors."""
        return list(dict.fromkeys(op for part in self.parts() for op in part.consumers()))

    @property
    def graph(self) -> Any:
        """The graph of its tensors."""
        return self._row_splits.graph

    @property
    def op(self) -> Operation:
        """The operation that gives the innermost values."""
        return self.flat_values.op

    @property
    def name(self) -> str:
        """The name of the innermost values."""
        return self.flat_values.name

    def __repr__(self) -> str:
        return f"tf.RaggedTensor(values={self._values}, row_splits={self._row_splits})"

    # -- other forms -------------------------------------------------------------------------------

    def with_values(self, new_values: TensorLike) -> RaggedTensor:
        """Return the same rows of other values."""
        new_values = _as_values(new_values)
        found = RaggedTensor(new_values, self._row_splits, internal=True)
        found.known_row_length = self.known_row_length
        return found

    def with_flat_values(self, new_values: TensorLike) -> RaggedTensor:
        """Return the same rows of other innermost values."""
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.with_flat_values(new_values))
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype: DTypeLike) -> RaggedTensor:
        """Return the same tensor with splits of another type."""
        inner = self._values
        if isinstance(inner, RaggedTensor):
            inner = inner.with_row_splits_dtype(dtype)
        return RaggedTensor(inner, math_ops.cast(self._row_splits, dtype), internal=True)

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """Merge neighbouring dimensions into one.

        Raises:
          ValueError: ``outer_axis`` is greater than ``inner_axis``.
        """
        rank = self.shape.ndims
        outer = outer_axis + (rank or 0) if outer_axis < 0 else outer_axis
        inner = inner_axis + (rank or 0) if inner_axis < 0 else inner_axis
        if outer > inner:
            raise ValueError(f"Expected outer_axis ({outer}) to be <= inner_axis ({inner})")
        if outer == inner:
            return self
        found: Any = self
        for _ in range(inner - outer):
            found = _merged_with_next(found, outer)
        return found

    def to_tensor(
        self,
        default_value: TensorLike | None = None,
        name: str | None = None,
        shape: ShapeLike | None = None,
    ) -> TensorResult:
        """Return a dense tensor; positions without a value get the default, 0 or the empty text.

        Args:
          default_value: the value for these positions.
          name: of the scope.
          shape: the shape of the result; None, or None in it, for the smallest possible size.
        """
        with name_scope(name, "RaggedToTensor", [self, default_value, shape]):
            flat = self.flat_values
            if default_value is None:
                default_value = array_ops.zeros((), self.dtype)
            default_value = convert_to_tensor(default_value, self.dtype, name="default_value")
            wanted: Any = -1
            static = TensorShape(None)
            if shape is not None and not hasattr(shape, "op"):
                static = TensorShape(shape)
                if static.ndims is not None:
                    wanted = [-1 if size is None else size for size in static.as_list()]
            elif shape is not None:
                wanted = shape
            splits = self.nested_row_splits
            found = ragged_tensor_to_tensor(
                convert_to_tensor(wanted, self._row_splits.dtype if shape is None else None),
                flat,
                default_value,
                list(splits),
                row_partition_types=["ROW_SPLITS"] * len(splits),
            )
            whole = self.shape
            if whole.ndims is not None and static.ndims is not None:
                sizes = [a or b for a, b in zip(static.as_list(), whole.as_list())]
                found.set_shape(sizes)
            elif whole.ndims is not None:
                found.set_shape(whole)
            return found

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """Return a sparse tensor with an element for each value."""
        with name_scope(name, "RaggedToSparse", [self]):
            splits = [math_ops.cast(one, dtypes.int64) for one in self.nested_row_splits]
            found = ragged_tensor_to_sparse(splits, self.flat_values)
            return SparseTensor(*found)

    def to_list(self) -> list[TensorResult]:
        """Raise: in a graph, run the tensor in a session and call ``to_list()`` of the result."""
        raise ValueError(
            "RaggedTensor.to_list() is only supported in eager mode; in graph mode, evaluate the "
            "RaggedTensor first and then use RaggedTensorValue.to_list()."
        )

    def numpy(self) -> TensorResult:
        """Raise: in a graph, run the tensor in a session."""
        raise ValueError(
            "RaggedTensor.numpy() is only supported in eager mode; run it in a session."
        )

    def eval(self, feed_dict: Any = None, session: SessionLike | None = None) -> RaggedTensorValue:
        """Return its value in a session, by default in the default session."""
        from tfnb.framework.default_session import session_for_eval

        found: RaggedTensorValue = session_for_eval(self.graph, session).run(self, feed_dict)
        return found

    # -- for loops, branches and sessions ----------------------------------------------------------

    def parts(self) -> list[Tensor]:
        """See :class:`~tfnb.framework.dispatch.CompositeTensor`."""
        return [self.flat_values, *self.nested_row_splits]

    def with_parts(self, parts: Sequence[Any]) -> RaggedTensor:
        """See :class:`~tfnb.framework.dispatch.CompositeTensor`."""
        found: Any = parts[0]
        for splits in reversed(parts[1:]):
            found = RaggedTensor(found, splits, internal=True)
        return found  # type: ignore[no-any-return]

    def part_shapes(self) -> list[TensorShape]:
        """See :class:`~tfnb.framework.dispatch.CompositeTensor`."""
        flat = self.flat_values.shape
        inner = TensorShape(None) if flat.ndims is None else flat[1:]
        splits = [one.shape for one in self.nested_row_splits]
        return [TensorShape([None]).concatenate(inner), splits[0]] + [
            TensorShape([None]) for _ in splits[1:]
        ]

    def fetched(self, values: Sequence[Any]) -> RaggedTensorValue:
        """See :class:`~tfnb.framework.dispatch.CompositeTensor`."""
        found: Any = values[0]
        for splits in reversed(values[1:]):
            found = RaggedTensorValue(found, splits)
        return found  # type: ignore[no-any-return]

    def fed(self, value: Any) -> list[tuple[Tensor, Any]]:
        """See :class:`~tfnb.framework.dispatch.CompositeTensor`."""
        if isinstance(value, RaggedTensorValue):
            given = [value.flat_values, *value.nested_row_splits]
        else:
            given = list(value)
        parts = self.parts()
        if len(given) != len(parts):
            raise ValueError(
                f"A RaggedTensor with {len(parts) - 1} ragged dimensions cannot be fed from "
                f"{len(given) - 1}"
            )
        return list(zip(parts, given))

    def dispatch(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """See :class:`~tfnb.framework.dispatch.CompositeTensor`."""
        from tfnb.library.ragged import dispatch

        as_tensors = dispatch.with_tensors_for_values
        return dispatch.call(function, as_tensors(args), as_tensors(kwargs))

    def __getitem__(self, key: TensorLike) -> TensorResult:
        from tfnb.library.ragged.getitem import ragged_getitem

        return ragged_getitem(self, key)

    def __bool__(self) -> bool:
        raise TypeError("RaggedTensor may not be used as a boolean.")

    def __len__(self) -> int:
        raise TypeError("object of type 'RaggedTensor' has no len() in a graph; use nrows().")


def _operator(name: str, swapped: bool = False) -> Callable[..., Any]:
    function = getattr(operator, f"__{name}__")

    def operate(first: RaggedTensor, *second: Any) -> TensorResult:
        """Apply the operator to each pair of values."""
        from tfnb.library.ragged.dispatch import map_flat_values

        operands = [
            convert_to_tensor(one, preferred_dtype=first.dtype)
            if isinstance(one, (list, np.ndarray))
            else one
            for one in second
        ]
        operands.insert(swapped, first)
        return map_flat_values(function, *operands)

    return operate


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"):
    setattr(RaggedTensor, f"__{_name}__", _operator(_name))
    setattr(RaggedTensor, f"__r{_name}__", _operator(_name, swapped=True))
for _name in ("lt", "le", "gt", "ge", "neg", "abs", "invert"):
    setattr(RaggedTensor, f"__{_name}__", _operator(_name))


def _zero(like: TensorLike) -> TensorResult:
    return array_ops.constant(0, like.dtype)


def _rows(values: TensorLike, dtype: DTypeLike) -> TensorResult:
    if isinstance(values, RaggedTensor):
        return values.nrows(out_type=dtype)
    return array_ops.shape(values, out_type=dtype)[0]


def _as_values(values: TensorLike) -> TensorResult:
    if isinstance(values, RaggedTensor):
        return values
    if isinstance(values, RaggedTensorValue):
        return RaggedTensor.from_row_splits(values.values, values.row_splits, validate=False)
    return convert_to_tensor(values, name="values")


def _values_and(values: TensorLike, partition: TensorLike, name: str) -> tuple[Nested, Nested]:
    """Return values and partitions as tensors whose integer types agree."""
    values = _as_values(values)
    wanted = None
    if isinstance(values, RaggedTensor):
        wanted = values.row_splits.dtype
    elif not hasattr(partition, "dtype"):
        wanted = dtypes.int64
    tensor = convert_to_tensor(partition, preferred_dtype=wanted, name=name)
    if tensor.dtype not in (dtypes.int32, dtypes.int64):
        raise ValueError(f"Row partition {name} must have dtype int32 or int64. Received {tensor}")
    if wanted is not None and tensor.dtype is not wanted:
        tensor, wanted = math_ops.cast(tensor, dtypes.int64), dtypes.int64
        if isinstance(values, RaggedTensor):
            values = values.with_row_splits_dtype(dtypes.int64)
    return values, tensor


def _merged_with_next(value: TensorLike, axis: int) -> Any:
    """Merge a dimension with the one after it."""
    if not isinstance(value, RaggedTensor):
        sizes = array_ops.shape(value)
        shape = array_ops.concat([sizes[:axis], [-1], sizes[axis + 2 :]], 0)
        return array_ops.reshape(value, shape)
    if axis == 0:
        return value.values
    if axis > 1:
        return value.with_values(_merged_with_next(value.values, axis - 1))
    inner = value.values
    if isinstance(inner, RaggedTensor):
        splits = array_ops.gather(inner.row_splits, value.row_splits)
        return RaggedTensor(inner.values, splits, internal=True)
    width = array_ops.shape(inner, out_type=value.row_splits.dtype)[1]
    return RaggedTensor(_merged_with_next(inner, 0), value.row_splits * width, internal=True)


def splits_of_lengths(lengths: TensorLike) -> TensorResult:
    """Return the splits of rows that have these lengths."""
    return array_ops.concat([_zero(lengths)[None], math_ops.cumsum(lengths)], axis=0)


def row_splits_to_segment_ids(
    splits: TensorLike, name: str | None = None, out_type: DTypeLike | None = None
) -> TensorResult:
    """Return the row of each value, given the row splits."""
    with name_scope(name, "RaggedSplitsToSegmentIds"):
        splits = convert_to_tensor(splits, preferred_dtype=dtypes.int64, name="splits")
        if splits.dtype not in (dtypes.int32, dtypes.int64):
            raise ValueError(f"Invalid splits dtype: {splits.dtype}")
        splits.shape.assert_has_rank(1)
        dtype = splits.dtype if out_type is None else dtypes.as_dtype(out_type)
        lengths = splits[1:] - splits[:-1]
        count = array_ops.shape(splits, out_type=dtype)[0] - 1
        return repeat(math_ops.range_(count), lengths, axis=0)


def same_rows(first: RaggedTensor, second: RaggedTensor) -> RaggedTensor:
    """Return the first tensor, after checks that both have rows of the same lengths.

    Raises:
      ValueError: they have different numbers of ragged dimensions.
    """
    if first.ragged_rank != second.ragged_rank:
        raise ValueError(
            f"Inputs must have identical ragged splits. Got ragged_rank {first.ragged_rank} and "
            f"{second.ragged_rank}"
        )
    checks = [
        assert_equal(
            a, math_ops.cast(b, a.dtype), message="Inputs must have identical ragged splits"
        )
        for a, b in zip(first.nested_row_splits, second.nested_row_splits)
        if a is not b
    ]
    if not checks:
        return first
    with control_dependencies(checks):
        return first.with_flat_values(array_ops.identity(first.flat_values))


def _refuse(
    value: RaggedTensor | RaggedTensorValue,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    as_ref: bool = False,
) -> TensorResult:
    raise TypeError(
        f"A {type(value).__name__} cannot be converted to a Tensor: use its values, to_tensor(), "
        "or tf.ragged.map_flat_values"
    )


register_tensor_conversion_function((RaggedTensor, RaggedTensorValue), _refuse, priority=10)
