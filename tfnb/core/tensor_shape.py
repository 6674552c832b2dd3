"""Static shapes: ``TensorShape`` and, for users, ``Dimension``.

A shape is a tuple of sizes, each an int or None (unknown), or no tuple at all (unknown rank).
``dim_values`` is that tuple; the runtime and the shape functions work on it directly. A
``Dimension`` object is made only on request: ``shape[0]``, ``shape.dims``,
iteration. Shapes are immutable by convention and are shared freely.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex, TypeAlias, overload

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

DimValues: TypeAlias = tuple[int | None, ...]


class Dimension:
    """The size of one dimension; ``value`` is None if it is unknown.

    Arithmetic and comparisons with an unknown operand are unknown: ``Dimension(None)`` for
    arithmetic, None for a comparison.

    >>> Dimension(3) + 4, 2 * Dimension(None), Dimension(3) == Dimension(None)
    (Dimension(7), Dimension(None), None)
    """

    __slots__ = ("value",)
    __hash__: ClassVar[None]  # type: ignore[assignment]  # equality may be unknown

    value: int | None

    def __init__(self, value: DimensionLike) -> None:
        """Make a dimension from an int, something with ``__index__``, a Dimension or None."""
        self.value = _dim_value(value)

    def __repr__(self) -> str:
        """Return the constructor call."""
        return f"Dimension({self.value!r})"

    def __str__(self) -> str:
        """Return the number, or ``?``."""
        return "?" if self.value is None else str(self.value)

    def __eq__(self, other: object) -> bool | None:  # type: ignore[override]
        """Return whether the sizes are equal, None if one is unknown."""
        value = _other_value(other)
        if value is NotImplemented:
            return NotImplemented
        return None if self.value is None or value is None else self.value == value

    def __ne__(self, other: object) -> bool | None:  # type: ignore[override]
        """Return whether the sizes differ, None if one is unknown."""
        value = _other_value(other)
        if value is NotImplemented:
            return NotImplemented
        return None if self.value is None or value is None else self.value != value

    def __bool__(self) -> bool:
        """Return whether the size is known and not 0."""
        return bool(self.value)

    def __int__(self) -> int:
        """Return the size; TypeError if it is unknown."""
        return self.value  # type: ignore[return-value]

    def __index__(self) -> int:
        """Return the size, so that a Dimension can stand where an int can."""
        return self.value  # type: ignore[return-value]

    def is_compatible_with(self, other: DimensionLike) -> bool:
        """Return whether the sizes are equal or one is unknown."""
        value = _dim_value(other)
        return self.value is None or value is None or self.value == value

    def assert_is_compatible_with(self, other: DimensionLike) -> None:
        """Raise ValueError unless the sizes are equal or one is unknown."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: DimensionLike) -> Dimension:
        """Return the known one of two compatible dimensions.

        >>> Dimension(None).merge_with(4)
        Dimension(4)
        """
        other = as_dimension(other)
        self.assert_is_compatible_with(other)
        return Dimension(other.value if self.value is None else self.value)

    def __add__(self, other: DimensionLike) -> Dimension:
        """Return the sum."""
        value = _other_value(other)
        if value is NotImplemented:
            return NotImplemented
        return Dimension(None if self.value is None or value is None else self.value + value)

    __radd__ = __add__

    def __sub__(self, other: DimensionLike) -> Dimension:
        """Return the difference; ValueError if it is negative."""
        value = _other_value(other)
        if value is NotImplemented:
            return NotImplemented
        return Dimension(None if self.value is None or value is None else self.value - value)

    def __rsub__(self, other: DimensionLike) -> Dimension:
        """Return the difference; ValueError if it is negative."""
        value = _other_value(other)
        if value is NotImplemented:
            return NotImplemented
        return Dimension(None if self.value is None or value is None else value - self.value)

    def __mul__(self, other: DimensionLike) -> Dimension:
        """Return the product."""
        value = _other_value(other)
        if value is NotImplemented:
            return NotImplemented
        return Dimension(None if self.value is None or value is None else self.value * value)

    __rmul__ = __mul__

    def __floordiv__(self, other: DimensionLike) -> Dimension:
        """Return the quotient rounded down."""
        value = _other_value(other)
        if value is NotImplemented:
            return NotImplemented
        return Dimension(None if self.value is None or value is None else self.value // value)

    def __rfloordiv__(self, other: DimensionLike) -> Dimension:
        """Return the quotient rounded down."""
        value = _other_value(other)
        if value is NotImplemented:
            return NotImplemented
        return Dimension(None if self.value is None or value is None else value // self.value)

    def __mod__(self, other: DimensionLike) -> Dimension:
        """Return the remainder."""
        value = _other_value(other)
        if value is NotImplemented:
            return NotImplemented
        return Dimension(None if self.value is None or value is None else self.value % value)

    def __rmod__(self, other: DimensionLike) -> Dimension:
        """Return the remainder."""
        value = _other_value(other)
        if value is NotImplemented:
            return NotImplemented
        return Dimension(None if self.value is None or value is None else value % self.value)

    def __truediv__(self, other: object) -> Dimension:
        """Refuse: a size is an integer."""
        raise TypeError(
            f"unsupported operand type(s) for /: 'Dimension' and '{type(other).__name__}', "
            "please use // instead"
        )

    def __rtruediv__(self, other: object) -> Dimension:
        """Refuse: a size is an integer."""
        raise TypeError(
            f"unsupported operand type(s) for /: '{type(other).__name__}' and 'Dimension', "
            "please use // instead"
        )

    def __lt__(self, other: DimensionLike) -> bool | None:
        """Return whether this size is smaller, None if one is unknown."""
        value = _dim_value(other)
        return None if self.value is None or value is None else self.value < value

    def __le__(self, other: DimensionLike) -> bool | None:
        """Return whether this size is not larger, None if one is unknown."""
        value = _dim_value(other)
        return None if self.value is None or value is None else self.value <= value

    def __gt__(self, other: DimensionLike) -> bool | None:
        """Return whether this size is larger, None if one is unknown."""
        value = _dim_value(other)
        return None if self.value is None or value is None else self.value > value

    def __ge__(self, other: DimensionLike) -> bool | None:
        """Return whether this size is not smaller, None if one is unknown."""
        value = _dim_value(other)
        return None if self.value is None or value is None else self.value >= value

    def __reduce__(self) -> tuple[type[Dimension], tuple[int | None]]:
        """Pickle as the constructor call."""
        return Dimension, (self.value,)


DimensionLike: TypeAlias = Dimension | SupportsIndex | None


def _dim_value(value: Any) -> int | None:
    """Return the size as int or None; refuse any other value."""
    if value is None:
        return None
    if type(value) is Dimension:
        return value.value
    try:
        size = index(value)
    except TypeError:
        if _whole_floats and isinstance(value, float | np.floating):
            return _size_of_float(value)
        raise TypeError(
            "Dimension value must be integer or None or have an __index__ method, "
            f"got value '{value!r}' with type '{type(value)!r}'"
        ) from None
    if size < 0:
        raise ValueError(f"Dimension {size} must be >= 0")
    return size


# Whether sizes may be floating point numbers without a fraction, as in TensorFlow 1.
_whole_floats = False


def take_whole_floats(taken: bool) -> None:
    """Let sizes be floating point numbers without a fraction, or not.

    TensorFlow 1 took them, and programs of its time divide sizes by ``/``.

    Args:
      taken: whether they may be.
    """
    global _whole_floats
    _whole_floats = taken


def _size_of_float(value: Any) -> int:
    """Return a number without a fraction as a size."""
    if not np.isfinite(value) or int(value) != value:
        raise ValueError(f"Ambiguous dimension: {value}")
    return _dim_value(int(value)) or 0


def _other_value(other: object) -> Any:
    """Return the other operand's size, or NotImplemented if it is not a size."""
    try:
        return _dim_value(other)
    except (TypeError, ValueError):
        return NotImplemented


class TensorShape:
    """The static shape of a tensor: known, partly known, or of unknown rank.

    >>> TensorShape([2, None]).merge_with([None, 3])
    TensorShape([Dimension(2), Dimension(3)])
    >>> str(TensorShape([2, None])), str(TensorShape(None)), TensorShape([2, None]).dim_values
    ('(2, ?)', '<unknown>', (2, None))

    Attributes:
        dim_values: The sizes as a tuple of int or None, or None if the rank is unknown.
    """

    __slots__ = ("dim_values",)

    dim_values: DimValues | None

    def __init__(self, dims: ShapeLike) -> None:
        """Make a shape from a sequence of sizes, one size, another shape or None.

        Args:
            dims: A size is an int, a Dimension or None. A TensorShapeProto is accepted, too.
        """
        if dims is None:
            self.dim_values = None
        elif isinstance(dims, (tuple, list)):
            self.dim_values = tuple(
                [dim if type(dim) is int and dim >= 0 else _dim_value(dim) for dim in dims]
            )
        elif isinstance(dims, TensorShape):
            self.dim_values = dims.dim_values
        elif isinstance(dims, Dimension):
            self.dim_values = (dims.value,)
        elif hasattr(dims, "unknown_rank"):
            self.dim_values = _proto_dims(dims)
        else:
            self.dim_values = _iterable_dims(dims)

    @staticmethod
    def from_tuple(dim_values: DimValues | None) -> TensorShape:
        """Return the shape of a tuple that holds only sizes and None."""
        shape = _new(TensorShape)
        shape.dim_values = dim_values
        return shape

    def __repr__(self) -> str:
        """Return the form with Dimension objects in it, as TensorFlow 1 prints it."""
        return f"TensorShape({self.dims})"

    def __str__(self) -> str:
        """Return the form used in messages, as in ``(2, ?)``."""
        dims = self.dim_values
        if dims is None:
            return "<unknown>"
        text = ", ".join(["?" if dim is None else str(dim) for dim in dims])
        return f"({text},)" if len(dims) == 1 else f"({text})"

    @property
    def rank(self) -> int | None:
        """The number of dimensions, None if unknown."""
        return None if self.dim_values is None else len(self.dim_values)

    @property
    def ndims(self) -> int | None:
        """The same as ``rank``."""
        return None if self.dim_values is None else len(self.dim_values)

    @property
    def dims(self) -> list[Dimension] | None:
        """A fresh list of Dimension objects, None if the rank is unknown."""
        if self.dim_values is None:
            return None
        return [Dimension(dim) for dim in self.dim_values]

    def as_list(self) -> list[int | None]:
        """Return the sizes as a list of int or None; ValueError if the rank is unknown."""
        if self.dim_values is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self.dim_values)

    def as_proto(self) -> Any:
        """Return the TensorShapeProto of this shape; an unknown size is written as -1."""
        from tfnb.proto import tensor_pb2

        proto = tensor_pb2.TensorShapeProto()
        if self.dim_values is None:
            proto.unknown_rank = True
            return proto
        for size in self.dim_values:
            proto.dim.add(size=-1 if size is None else size)
        return proto

    experimental_as_proto = as_proto

    @classmethod
    def experimental_from_proto(cls, proto: Any) -> TensorShape:
        """Return the shape in a TensorShapeProto."""
        return cls(proto)

    @classmethod
    def experimental_type_proto(cls) -> Any:
        """Return the class of the message."""
        from tfnb.proto.tensor_pb2 import TensorShapeProto

        return TensorShapeProto

    # ----------------------------------------------------------- TraceType protocol of TensorFlow

    def flatten(self) -> list[Any]:
        """Return no types: a shape is not made of tensors."""
        return []

    def to_tensors(self, value: object) -> list[Any]:
        """Return no tensors."""
        return []

    def from_tensors(self, tensors: object) -> None:
        """Return None: there is no value without tensors."""

    def placeholder_value(self, placeholder_context: object) -> None:
        """Return None: no tensor stands for a shape."""

    def cast(self, value: object, cast_context: object) -> None:
        """Return None, the only value there is; AssertionError for any other."""
        if value is not None:
            raise AssertionError(f"Can not cast {value!r} to type {self!r}")

    def num_elements(self) -> int | None:
        """Return the number of elements, None unless every size is known."""
        dims = self.dim_values
        if dims is None or None in dims:
            return None
        return math.prod(dims)  # type: ignore[arg-type]

    def __len__(self) -> int:
        """Return the rank; ValueError if unknown."""
        if self.dim_values is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self.dim_values)

    def __bool__(self) -> bool:
        """Return whether the rank is known (a scalar's shape is true)."""
        return self.dim_values is not None

    def __iter__(self) -> Iterator[Dimension]:
        """Iterate over Dimension objects; ValueError if the rank is unknown."""
        if self.dim_values is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return map(Dimension, self.dim_values)

    @overload
    def __getitem__(self, key: slice) -> TensorShape: ...
    @overload
    def __getitem__(self, key: SupportsIndex) -> Dimension: ...
    def __getitem__(self, key: slice | SupportsIndex) -> TensorShape | Dimension:
        """Return one Dimension, or for a slice the shape of those dimensions.

        >>> TensorShape(None)[3], TensorShape(None)[1:3]
        (Dimension(None), TensorShape([Dimension(None), Dimension(None)]))
        """
        dims = self.dim_values
        if isinstance(key, slice):
            if dims is not None:
                return TensorShape.from_tuple(dims[key])
            return _slice_of_unknown(key)
        return Dimension(None if dims is None else dims[key])

    def merge_with(self, other: ShapeLike) -> TensorShape:
        """Return the shape with the known sizes of both; ValueError if they contradict."""
        other = as_shape(other)
        mine, theirs = self.dim_values, other.dim_values
        if mine is None:
            return other
        if theirs is None or mine == theirs:
            return self
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        return TensorShape.from_tuple(
            tuple([b if a is None else a for a, b in zip(mine, theirs, strict=True)])
        )

    def concatenate(self, other: ShapeLike) -> TensorShape:
        """Return the dimensions of this shape followed by those of another.

        >>> TensorShape([1]).concatenate([2, None]).dim_values
        (1, 2, None)
        """
        other = as_shape(other)
        if self.dim_values is None or other.dim_values is None:
            return UNKNOWN
        return TensorShape.from_tuple(self.dim_values + other.dim_values)

    def __add__(self, other: ShapeLike) -> TensorShape:
        """Return the concatenation."""
        return self.concatenate(other)

    def __radd__(self, other: ShapeLike) -> TensorShape:
        """Return the concatenation."""
        return as_shape(other).concatenate(self)

    def assert_same_rank(self, other: ShapeLike) -> None:
        """Raise ValueError if both ranks are known and differ."""
        other = as_shape(other)
        mine, theirs = self.dim_values, other.dim_values
        if mine is not None and theirs is not None and len(mine) != len(theirs):
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def assert_has_rank(self, rank: DimensionLike) -> None:
        """Raise ValueError if the rank is known and different."""
        if self.rank not in (None, _dim_value(rank)):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def with_rank(self, rank: DimensionLike) -> TensorShape:
        """Return this shape, now known to have this rank; ValueError if its rank differs."""
        self.assert_has_rank(rank)
        return unknown_shape(rank) if self.dim_values is None else self

    def with_rank_at_least(self, rank: DimensionLike) -> TensorShape:
        """Return this shape; ValueError if its rank is known and smaller."""
        if self.dim_values is not None and len(self.dim_values) < (_dim_value(rank) or 0):
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: DimensionLike) -> TensorShape:
        """Return this shape; ValueError if its rank is known and larger."""
        most = _dim_value(rank)
        if self.dim_values is not None and most is not None and len(self.dim_values) > most:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """Return whether there is a shape that fits both.

        >>> TensorShape([2, None]).is_compatible_with([2, 3])
        True
        """
        mine, theirs = self.dim_values, as_shape(other).dim_values
        if mine is None or theirs is None or mine == theirs:
            return True
        if len(mine) != len(theirs):
            return False
        for a, b in zip(mine, theirs, strict=True):
            if a != b and a is not None and b is not None:
                return False
        return True

    def is_subtype_of(self, other: object) -> bool:
        """Return whether every shape that fits this one fits the other.

        >>> TensorShape([2, 3]).is_subtype_of(TensorShape([2, None]))
        True
        """
        if not isinstance(other, TensorShape):
            return False
        mine, theirs = self.dim_values, other.dim_values
        if theirs is None or mine == theirs:
            return True
        if mine is None or len(mine) != len(theirs):
            return False
        return all(b is None or a == b for a, b in zip(mine, theirs, strict=True))

    def most_specific_common_supertype(self, others: Sequence[object]) -> TensorShape | None:
        """Return the most specific shape that contains this one and all others.

        >>> TensorShape([2, 3]).most_specific_common_supertype([TensorShape([2, 4])])
        TensorShape([Dimension(2), Dimension(None)])
        """
        found = self.dim_values
        for other in others:
            if not isinstance(other, TensorShape):
                return None
            theirs = other.dim_values
            if found is None or theirs is None or len(found) != len(theirs):
                found = None
            else:
                found = tuple(a if a == b else None for a, b in zip(found, theirs, strict=True))
        return TensorShape(found)

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        """Raise ValueError if no shape fits both."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def most_specific_compatible_shape(self, other: ShapeLike) -> TensorShape:
        """Return the shape with the sizes that both have in common.

        >>> TensorShape([1, 2]).most_specific_compatible_shape([1, 3]).dim_values
        (1, None)
        """
        mine, theirs = self.dim_values, as_shape(other).dim_values
        if mine is None or theirs is None or len(mine) != len(theirs):
            return UNKNOWN
        return TensorShape.from_tuple(
            tuple([a if a == b else None for a, b in zip(mine, theirs, strict=True)])
        )

    def is_fully_defined(self) -> bool:
        """Return whether every size is known."""
        return self.dim_values is not None and None not in self.dim_values

    def assert_is_fully_defined(self) -> None:
        """Raise ValueError unless every size is known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def __eq__(self, other: object) -> bool:
        """Return whether ``other`` is, or can be read as, exactly this shape."""
        if type(other) is TensorShape:
            return self.dim_values == other.dim_values
        try:
            return self.dim_values == TensorShape(other).dim_values  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        """Return the hash of the sizes."""
        return hash(self.dim_values)

    def __reduce__(self) -> tuple[Callable[..., TensorShape], tuple[DimValues | None]]:
        """Pickle as the sizes."""
        return TensorShape, (self.dim_values,)


ShapeLike: TypeAlias = TensorShape | Iterable[DimensionLike] | DimensionLike

_new = object.__new__


def _iterable_dims(dims: Any) -> DimValues:
    """Return the sizes of any other iterable, or of one size."""
    try:
        iterator = iter(dims)
    except TypeError:
        return (_dim_value(dims),)
    sizes = []
    for dim in iterator:
        try:
            sizes.append(_dim_value(dim))
        except TypeError:
            raise TypeError(
                f"Failed to convert '{dims!r}' to a shape: '{dim!r}' could not be converted to a "
                "dimension. A shape should either be single dimension (e.g. 10), or an iterable "
                "of dimensions (e.g. [1, 10, None])."
            ) from None
    return tuple(sizes)


def _proto_dims(proto: Any) -> DimValues | None:
    """Return the sizes in a TensorShapeProto; -1 there means unknown."""
    if proto.unknown_rank:
        return None
    return tuple([None if dim.size == -1 else _dim_value(dim.size) for dim in proto.dim])


def _slice_of_unknown(key: slice) -> TensorShape:
    """Return the shape of a slice of a shape of unknown rank: its rank may follow from the key."""
    if key.step is not None:
        raise ValueError("Steps are not yet handled")
    start = 0 if key.start is None else index(key.start)
    stop = None if key.stop is None else index(key.stop)
    if stop is None or start < 0 or stop < 0:
        return UNKNOWN
    return unknown_shape(max(stop - start, 0))


UNKNOWN = TensorShape.from_tuple(None)
SCALAR = TensorShape.from_tuple(())


def as_shape(shape: ShapeLike) -> TensorShape:
    """Return the argument as a TensorShape.

    >>> as_shape([2, None]).rank, as_shape(None).rank
    (2, None)
    """
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)


def as_dimension(value: DimensionLike) -> Dimension:
    """Return the argument as a Dimension."""
    return value if isinstance(value, Dimension) else Dimension(value)


def unknown_shape(rank: DimensionLike = None, *, ndims: DimensionLike = None) -> TensorShape:
    """Return a shape with unknown sizes, and of unknown rank if none is given.

    >>> str(unknown_shape(2)), str(unknown_shape())
    ('(?, ?)', '<unknown>')
    """
    size = _dim_value(ndims if rank is None else rank)
    return UNKNOWN if size is None else TensorShape.from_tuple((None,) * size)


def dimension_value(dimension: Dimension | int | None) -> int | None:
    """Return the int or None of an element of a shape.

    >>> dimension_value(Dimension(3)), dimension_value(3)
    (3, 3)
    """
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape: TensorShape, index: int) -> Dimension:
    """Return one dimension of a shape, unknown if the rank is unknown.

    >>> dimension_at_index(TensorShape([1, None]), -1)
    Dimension(None)
    """
    return shape[index]
