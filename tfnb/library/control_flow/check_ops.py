"""Checks of values, ranks, types and shapes: ``tf.assert_equal`` and related functions.

A check is decided while the graph is built if all values that it needs are known then. Otherwise,
an operation makes the check when the graph runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import ml_dtypes
import numpy as np

from tfnb.core import dtypes, errors
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import control_dependencies, name_scope
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.framework.tensor import Tensor
from tfnb.library.control_flow.cond import cond
from tfnb.library.control_flow.control_flow import group
from tfnb.library.control_flow.control_flow_assert import assert_
from tfnb.library.control_flow.with_dependencies import with_dependencies
from tfnb.ops.array import array_ops
from tfnb.ops.control import control_flow_ops
from tfnb.ops.math import math_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tfnb.core.dtypes import DType
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

_BOTH = [
    "assert_equal", "assert_greater", "assert_greater_equal", "assert_integer", "assert_less",
    "assert_less_equal", "assert_near", "assert_negative", "assert_non_negative",
    "assert_non_positive", "assert_none_equal", "assert_positive", "assert_proper_iterable",
    "assert_rank", "assert_rank_at_least", "assert_rank_in", "assert_same_float_dtype",
    "assert_scalar", "assert_type", "is_non_decreasing", "is_numeric_tensor",
    "is_strictly_increasing",
]  # fmt: skip

EXPORTS = {
    "tf": _BOTH,
    "debugging": [*_BOTH, "assert_shapes"],
    "math": ["is_non_decreasing", "is_strictly_increasing"],
}

_NUMERIC = frozenset(
    [
        *(dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bfloat16),
        *(dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
        *(dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64),
        *(dtypes.qint8, dtypes.qint16, dtypes.qint32, dtypes.quint8, dtypes.quint16),
        *(dtypes.complex64, dtypes.complex128),
    ]
)
_ANY_SIZE = (None, ".")
_ANY_DIMENSIONS = (Ellipsis, "*")


def _prefix(message: str | None) -> str:
    return f"{message}.  " if message else ""


def _dense(x: TensorLike) -> TensorResult:
    return x if isinstance(x, SparseTensor) else convert_to_tensor(x, name="x")


def _name_of(x: TensorLike) -> str:
    return "" if isinstance(x, SparseTensor) else x.name


# ---------------------------------------------------------------------------------- pairs of values


def _require(condition: TensorLike, data: Sequence[TensorLike]) -> None:
    """Raise InvalidArgumentError, with the known values of the data, unless the condition holds."""
    if condition:
        return
    lines = []
    for value in data:
        known = constant_value(value) if isinstance(value, Tensor) else value
        lines.append(value if known is None else str(known))
    raise errors.InvalidArgumentError(None, None, "\n".join(lines))


class _Comparison(NamedTuple):
    sign: str
    opname: str
    build: Callable[[Any, Any], Any]
    static: Callable[[Any, Any], Any]


_EQUAL = _Comparison("==", "assert_equal", math_ops.equal, np.equal)
_NONE_EQUAL = _Comparison("!=", "assert_none_equal", math_ops.not_equal, np.not_equal)
_LESS = _Comparison("<", "assert_less", math_ops.less, np.less)
_LESS_EQUAL = _Comparison("<=", "assert_less_equal", math_ops.less_equal, np.less_equal)
_GREATER = _Comparison(">", "assert_greater", math_ops.greater, np.greater)
_GREATER_EQUAL = _Comparison(">=", "assert_greater_equal", math_ops.greater_equal, np.greater_equal)


def _assert_pair(
    comparison: _Comparison,
    x: TensorLike,
    y: TensorLike,
    data: TensorLike,
    summarize: int | None,
    message: str | None,
    name: str | None,
) -> TensorResult:
    with name_scope(name, comparison.opname, [x, y, data]):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y")
        if data is None:
            headline = f"Condition x {comparison.sign} y did not hold element-wise:"
            data = [headline, f"x ({x.name}) = ", x, f"y ({y.name}) = ", y]
        if message is not None:
            data = [message, *data]
        condition = math_ops.reduce_all(comparison.build(x, y))
        x_known, y_known = constant_value(x), constant_value(y)
        if x_known is not None and y_known is not None:
            _require(np.all(comparison.static(x_known, y_known)), data)
        return assert_(condition, data, summarize=summarize)


def assert_equal(
    x: TensorLike,
    y: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return an operation that fails with InvalidArgumentError unless x == y in every element.

    Args:
      x: a tensor.
      y: a tensor of the same dtype, broadcastable to x.
      data: what to show; the two tensors if not given.
      summarize: how many elements of each tensor to show.
      message: text to show first.
      name: the name of the scope.

    Raises:
      InvalidArgumentError: the values are known, and differ.
    """
    with name_scope(name, "assert_equal", [x, y, data]):
        if x is y:
            return control_flow_ops.no_op()
    return _assert_pair(_EQUAL, x, y, data, summarize, message, name)


def assert_none_equal(
    x: TensorLike,
    y: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return an operation that fails unless x != y in every element; see assert_equal."""
    return _assert_pair(_NONE_EQUAL, x, y, data, summarize, message, name)


def assert_less(
    x: TensorLike,
    y: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return an operation that fails unless x < y in every element; see assert_equal."""
    return _assert_pair(_LESS, x, y, data, summarize, message, name)


def assert_less_equal(
    x: TensorLike,
    y: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return an operation that fails unless x <= y in every element; see assert_equal."""
    return _assert_pair(_LESS_EQUAL, x, y, data, summarize, message, name)


def assert_greater(
    x: TensorLike,
    y: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return an operation that fails unless x > y in every element; see assert_equal."""
    return _assert_pair(_GREATER, x, y, data, summarize, message, name)


def assert_greater_equal(
    x: TensorLike,
    y: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return an operation that fails unless x >= y in every element; see assert_equal."""
    return _assert_pair(_GREATER_EQUAL, x, y, data, summarize, message, name)


def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol: Any = None,
    atol: Any = None,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return an operation that fails unless |x - y| < atol + rtol * |y| in every element.

    Args:
      x: a floating-point or complex tensor.
      y: a tensor of the same dtype.
      rtol: the relative tolerance; 10 times the dtype's precision if not given.
      atol: the absolute tolerance; 10 times the dtype's precision if not given.
      data: what to show; the two tensors if not given.
      summarize: how many elements of each tensor to show.
      message: text to show first.
      name: the name of the scope.
    """
    message = _prefix(message)
    with name_scope(name, "assert_near", [x, y, rtol, atol, data]):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y", dtype=x.dtype)
        dtype = x.dtype.real_dtype if x.dtype.is_complex else x.dtype
        precision: Any = ml_dtypes.finfo(dtype.as_numpy_dtype).eps  # type: ignore[no-untyped-call]
        rtol = convert_to_tensor(10 * precision if rtol is None else rtol, dtype, name="rtol")
        atol = convert_to_tensor(10 * precision if atol is None else atol, dtype, name="atol")
        if data is None:
            headline = f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}"
            data = [message, headline, f"x ({x.name}) = ", x, f"y ({y.name}) = ", y]
        tolerance = atol + rtol * math_ops.abs(y)
        difference = math_ops.abs(x - y)
        condition = math_ops.reduce_all(math_ops.less(difference, tolerance))
        return assert_(condition, data, summarize=summarize)


# ---------------------------------------------------------------------------------- signs of values


def assert_negative(
    x: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return an operation that fails unless x < 0 in every element; see assert_equal."""
    message = _prefix(message)
    with name_scope(name, "assert_negative", [x, data]):
        x = convert_to_tensor(x, name="x")
        if data is None:
            headline = "Condition x < 0 did not hold element-wise:"
            data = [message, headline, f"x ({x.name}) = ", x]
        zero = convert_to_tensor(0, dtype=x.dtype)
        return assert_less(x, zero, data=data, summarize=summarize)


def assert_positive(
    x: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return an operation that fails unless x > 0 in every element; see assert_equal."""
    message = _prefix(message)
    with name_scope(name, "assert_positive", [x, data]):
        x = convert_to_tensor(x, name="x")
        if data is None:
            headline = "Condition x > 0 did not hold element-wise:"
            data = [message, headline, f"x ({x.name}) = ", x]
        zero = convert_to_tensor(0, dtype=x.dtype)
        return assert_less(zero, x, data=data, summarize=summarize)


def assert_non_negative(
    x: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return an operation that fails unless x >= 0 in every element; see assert_equal."""
    message = _prefix(message)
    with name_scope(name, "assert_non_negative", [x, data]):
        x = convert_to_tensor(x, name="x")
        if data is None:
            headline = "Condition x >= 0 did not hold element-wise:"
            data = [message, headline, f"x ({x.name}) = ", x]
        zero = convert_to_tensor(0, dtype=x.dtype)
        return assert_less_equal(zero, x, data=data, summarize=summarize)


def assert_non_positive(
    x: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return an operation that fails unless x <= 0 in every element; see assert_equal."""
    message = _prefix(message)
    with name_scope(name, "assert_non_positive", [x, data]):
        x = convert_to_tensor(x, name="x")
        if data is None:
            # TensorFlow's text joins "element-wise:" and "x" without a space.
            headline = f"Condition x <= 0 did not hold element-wise:x ({x.name}) = "
            data = [message, headline, x]
        zero = convert_to_tensor(0, dtype=x.dtype)
        return assert_less_equal(x, zero, data=data, summarize=summarize)


# -------------------------------------------------------------------------------------------- ranks


class _StaticRankError(ValueError):
    """The rank is known while the graph is built, and is not one of the required ranks."""


def _assert_ranks(
    x: TensorLike,
    ranks: tuple[TensorLike, ...],
    static: Callable[[int, tuple[Any, ...]], bool],
    dynamic: Callable[[Any, tuple[Any, ...]], Any],
    data: TensorLike,
    summarize: int | None,
) -> TensorResult:
    for rank in ranks:
        assert_type(rank, dtypes.int32)
    known = tuple(constant_value(rank) for rank in ranks)
    if all(rank is not None for rank in known):
        if any(rank.ndim != 0 for rank in known):
            raise ValueError("Rank must be a scalar.")
        if x.get_shape().rank is not None:
            if not static(x.get_shape().rank, known):
                raise _StaticRankError
            return control_flow_ops.no_op(name="static_checks_determined_all_ok")
    condition = dynamic(array_ops.rank(x), ranks)
    for rank, value in zip(ranks, known, strict=True):
        if value is None:
            said = ["Rank must be a scalar. Received rank: ", rank]
            scalar = assert_rank(rank, 0, data=said)
            condition = with_dependencies([scalar], condition)
    return assert_(condition, data, summarize=summarize)


def _refused(message: str, x: TensorLike, wanted: str) -> ValueError:
    shape = x.get_shape()
    return ValueError(
        f"{message}Tensor {_name_of(x)} must have rank {wanted}.  "
        f"Received rank {shape.rank}, shape {shape}"
    )


def assert_rank(
    x: TensorLike,
    rank: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return an operation that fails unless x has the given number of dimensions.

    Raises:
      ValueError: the rank of x is known and differs.
    """
    with name_scope(name, "assert_rank", (x, rank, *(data or []))):
        x = _dense(x)
        rank = convert_to_tensor(rank, name="rank")
        message = _prefix(message)
        if data is None:
            headline = f"Tensor {_name_of(x)} must have rank"
            data = [message, headline, rank, "Received shape: ", array_ops.shape(x)]
        try:
            return _assert_ranks(
                x,
                (rank,),
                lambda actual, given: actual == given[0],
                lambda actual, given: math_ops.equal(actual, given[0]),
                data,
                summarize,
            )
        except _StaticRankError:
            raise _refused(message, x, f"{int(constant_value(rank))}") from None


def assert_rank_at_least(
    x: TensorLike,
    rank: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return an operation that fails unless x has at least the given number of dimensions.

    Raises:
      ValueError: the rank of x is known and lower.
    """
    with name_scope(name, "assert_rank_at_least", (x, rank, *(data or []))):
        x = convert_to_tensor(x, name="x")
        rank = convert_to_tensor(rank, name="rank")
        message = _prefix(message)
        if data is None:
            headline = f"Tensor {x.name} must have rank at least"
            data = [message, headline, rank, "Received shape: ", array_ops.shape(x)]
        try:
            return _assert_ranks(
                x,
                (rank,),
                lambda actual, given: actual >= given[0],
                lambda actual, given: math_ops.greater_equal(actual, given[0]),
                data,
                summarize,
            )
        except _StaticRankError:
            raise _refused(message, x, f"at least {int(constant_value(rank))}") from None


def _rank_is_in(actual: TensorLike, given: tuple[Any, ...]) -> TensorResult:
    if not given:
        return convert_to_tensor(False)
    result = math_ops.equal(given[0], actual)
    for rank in given[1:]:
        result = math_ops.logical_or(result, math_ops.equal(rank, actual))
    return result


def assert_rank_in(
    x: TensorLike,
    ranks: Iterable[TensorLike],
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return an operation that fails unless x has one of the given numbers of dimensions.

    Raises:
      ValueError: the rank of x is known and is not in ``ranks``.
    """
    with name_scope(name, "assert_rank_in", (x, *ranks, *(data or []))):
        x = _dense(x)
        ranks = tuple(convert_to_tensor(rank, name="rank") for rank in ranks)
        message = _prefix(message)
        if data is None:
            headline = f"Tensor {_name_of(x)} must have rank in"
            data = [message, headline, *ranks, "Received shape: ", array_ops.shape(x)]
        try:
            return _assert_ranks(
                x, ranks, lambda actual, given: actual in given, _rank_is_in, data, summarize
            )
        except _StaticRankError:
            wanted = tuple(constant_value(rank).item() for rank in ranks)
            raise _refused(message, x, f"in {wanted}") from None


def assert_scalar(
    tensor: TensorLike, name: str | None = None, message: str | None = None
) -> TensorResult:
    """Return the value as a tensor, which must be a scalar or have an unknown shape.

    Raises:
      ValueError: it is known not to be a scalar.
    """
    with name_scope(name, "assert_scalar", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name=scope)
        shape = tensor.get_shape()
        if shape.rank != 0:
            raise ValueError(
                f"{_prefix(message)}Expected scalar shape for {tensor.name}, saw shape: {shape}."
            )
        return tensor


# -------------------------------------------------------------------------------------------- types


def assert_integer(
    x: TensorLike, message: str | None = None, name: str | None = None
) -> TensorResult:
    """Return an operation that does nothing, if x is of an integer type.

    Raises:
      TypeError: x is of another type.
    """
    with name_scope(name, "assert_integer", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            raise TypeError(
                f'{_prefix(message)}Expected "x" to be integer type.  '
                f"Found: {x.name} of dtype {x.dtype}"
            )
        return control_flow_ops.no_op(name="statically_determined_was_integer")


def assert_type(
    tensor: TensorLike, tf_type: Any, message: str | None = None, name: str | None = None
) -> TensorResult:
    """Return an operation that does nothing, if the tensor is of type ``tf_type``.

    Raises:
      TypeError: the tensor is of another type.
    """
    wanted = dtypes.as_dtype(tf_type)
    with name_scope(name, "assert_type", [tensor]):
        if not isinstance(tensor, SparseTensor):
            tensor = convert_to_tensor(tensor, name="tensor")
        if tensor.dtype != wanted:
            raise TypeError(
                f"{_prefix(message)}{getattr(tensor, 'name', 'tensor')} "
                f"must be of type {wanted!r}; got {tensor.dtype!r}"
            )
        return control_flow_ops.no_op(name="statically_determined_correct_type")


def _common_type(items: Sequence[Any], expected: DType | None) -> DType | None:
    """Return the one type of the items.

    Raises:
      ValueError: the items have several types.
    """
    found, first = expected, None
    for item in items:
        if item is None:
            continue
        kind = item.dtype.base_dtype
        called = getattr(item, "name", str(item))
        if not found:
            found, first = kind, called
        elif kind != found:
            like = f" as {first}" if first else ""
            raise ValueError(f"{called}, type={kind}, must be of the same type ({found}){like}.")
    return found


def assert_same_float_dtype(tensors: TensorLike | None = None, dtype: Any = None) -> DType:
    """Return the floating-point type that all the tensors are of, float32 if there are none.

    Raises:
      ValueError: the tensors have several types, or a type that is not floating-point.
    """
    if tensors:
        dtype = _common_type(tensors, dtype)
    if not dtype:
        return dtypes.float32
    if not dtype.is_floating:
        raise ValueError(f"Expected floating point type, got {dtype}.")
    found: DType = dtype
    return found


def assert_proper_iterable(values: TensorLike) -> None:
    """Accept lists and other iterables that are no tensors.

    Raises:
      TypeError: ``values`` is not iterable, or is a tensor, an array or a string.
    """
    if isinstance(values, Tensor | SparseTensor | np.ndarray | bytes | str):
        raise TypeError(
            f'Expected argument "values" to be a "proper" iterable.  Found: {type(values)}'
        )
    if not hasattr(values, "__iter__"):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')


def is_numeric_tensor(tensor: TensorLike) -> bool:
    """Return whether it is a tensor of numbers."""
    return isinstance(tensor, Tensor) and tensor.dtype in _NUMERIC


# ------------------------------------------------------------------------------------------- shapes


class _Sizes(NamedTuple):
    tensor: TensorLike
    innermost: bool  # whether the sizes are those of the last dimensions
    actual: Any
    wanted: tuple[Any, ...]


def _sizes_of(x: TensorLike) -> Nested:
    """Return the sizes of x's dimensions: numbers where known, (1,) for a scalar."""
    dynamic = array_ops.shape(x)
    rank = x.get_shape().rank
    if rank == 0:
        return (1,)
    if rank is not None:
        static = x.get_shape().as_list()
        return [dynamic[i] if size is None else int(size) for i, size in enumerate(static)]
    is_scalar = math_ops.equal(array_ops.rank(x), 0)
    return cond(is_scalar, lambda: array_ops.constant([1]), lambda: dynamic)


def _is_known(size: TensorLike) -> bool:
    try:
        int(size)
    except (TypeError, ValueError):
        return False
    return True


def _read_sizes(x: TensorLike, wanted: Any, message: str) -> _Sizes:
    called = _called(x)
    if not (hasattr(wanted, "__iter__") or hasattr(wanted, "__getitem__")):
        raise ValueError(
            f"{message}Tensor {called}.  Specified shape must be an iterable.  An iterable has the "
            f"attribute `__iter__` or `__getitem__`.  Received specified shape: {wanted}"
        )
    symbols = tuple(wanted)
    for i, symbol in enumerate(symbols):
        if i and symbol in _ANY_DIMENSIONS:
            raise ValueError(
                f"{message}Tensor {called} specified shape index {i}.  Symbol `...` or `*` for a "
                "variable number of unspecified dimensions is only allowed as the first entry"
            )
    innermost = bool(symbols) and symbols[0] in _ANY_DIMENSIONS
    return _Sizes(x, innermost, _sizes_of(x), symbols[innermost:] or (1,))


def _called(x: TensorLike) -> str:
    if isinstance(x, SparseTensor):
        return f"shape={x.shape} dtype={x.dtype.name}"
    name: str = x.name
    return name


def assert_shapes(
    shapes: Nested,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return an operation that fails unless the shapes of tensors match their descriptions.

    Args:
      shapes: pairs of a tensor and the sizes of its dimensions, or a dict of these. A size is a
        number, a name that stands for one size wherever it is used, or None or "." for any; a
        leading "..." or "*" stands for any number of dimensions.
      data: what to show; the tensor's shape if not given.
      summarize: how many elements of each tensor to show.
      message: text to show first.
      name: the name of the scope.

    Raises:
      ValueError: a size is known, and differs.
    """
    if isinstance(shapes, dict):
        shapes = shapes.items()
    prefix = _prefix(message)
    with name_scope(name, "assert_shapes", [shapes, data]):
        pairs = [
            (x if isinstance(x, SparseTensor) else convert_to_tensor(x), sizes)
            for x, sizes in shapes
            if sizes is not None
        ]
        constraints = [_read_sizes(x, sizes, prefix) for x, sizes in pairs]
        said: dict[str, Any] = {
            "data": data, "summarize": summarize, "message": message, "name": name
        }  # fmt: skip
        ranks = [check for c in constraints if (check := _rank_check(c, said)) is not None]
        checks = _size_checks(constraints, ranks, prefix, data, summarize)
    with control_dependencies(ranks):
        return group(checks)


def _rank_check(c: _Sizes, said: dict[str, Any]) -> Any:
    rank = len(c.wanted)
    if c.innermost:
        return None if rank in (0, 1) else assert_rank_at_least(c.tensor, rank, **said)
    if rank in (0, 1):
        return assert_rank_in(c.tensor, [0, 1], **said)
    return assert_rank(c.tensor, rank, **said)


def _size_checks(
    constraints: list[_Sizes],
    ranks: list[TensorLike],
    prefix: str,
    data: TensorLike,
    summarize: int | None,
) -> list[Operation]:
    checks = []
    specified: dict[Any, tuple[Any, Any, int]] = {}
    for c in constraints:
        for i, symbol in enumerate(c.wanted):
            if symbol in _ANY_SIZE:
                continue
            dimension = i - len(c.wanted) if c.innermost else i
            with control_dependencies(ranks):
                actual = c.actual[dimension]
            if _is_known(symbol):
                size, origin = int(symbol), "Specified explicitly"
            elif symbol in specified:
                size, by, at = specified[symbol]
                origin = f"Specified by tensor {_called(by)} dimension {at}"
            else:
                specified[symbol] = (actual, c.tensor, dimension)
                continue
            if _is_known(actual) and _is_known(size):
                if int(actual) != int(size):
                    raise ValueError(
                        f"{prefix}{origin}.  Tensor {_called(c.tensor)} dimension {dimension} must "
                        f"have size {size}.  Received size {actual}, shape {c.tensor.get_shape()}"
                    )
                continue
            condition = math_ops.equal(convert_to_tensor(actual), convert_to_tensor(size))
            shown = data
            if data is None:
                headline = f"Tensor {_called(c.tensor)} dimension"
                shape = array_ops.shape(c.tensor)
                shown = [prefix, origin, headline, dimension, "must have size", size]
                shown += ["Received shape: ", shape]
            checks.append(assert_(condition, shown, summarize=summarize))
    return checks


# ------------------------------------------------------------------------------------------- orders


def _in_order(x: TensorLike, compare: Callable[[Any, Any], Any]) -> Any:
    """Return ``compare`` of each element and the one before it; empty for fewer than two."""
    x = array_ops.reshape(x, [-1])
    if not is_numeric_tensor(x):
        raise TypeError(f"Expected x to be numeric, instead found: {x}")
    is_short = math_ops.less(array_ops.size(x), 2)
    length = array_ops.shape(x) - 1
    one: TensorLike = [1]
    return cond(
        is_short,
        lambda: convert_to_tensor([], dtype=dtypes.bool),
        lambda: compare(
            array_ops.strided_slice(x, [1], one + length),
            array_ops.strided_slice(x, [0], length),
        ),
    )


def is_non_decreasing(x: TensorLike, name: str | None = None) -> Any:
    """Return whether no element is smaller than the one before it."""
    with name_scope(name, "is_non_decreasing", [x]):
        return math_ops.reduce_all(_in_order(x, math_ops.greater_equal))


def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Any:
    """Return whether each element is larger than the one before it."""
    with name_scope(name, "is_strictly_increasing", [x]):
        return math_ops.reduce_all(_in_order(x, math_ops.greater))
