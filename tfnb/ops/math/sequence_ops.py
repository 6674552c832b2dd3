"""Ops on sequences: Range, LinSpace, Cumsum, Cumprod, Cross."""

from __future__ import annotations

import builtins
import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.host_memory import check_fits
from tfnb.core.node_text import values_text
from tfnb.core.op_registry import register_op
from tfnb.core.process.later import later
from tfnb.core.shape_inference import InferenceContext, merge_shapes, unchanged_shape
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor, register_tensor_conversion_function
from tfnb.framework.scopes import name_scope
from tfnb.framework.tensor import Tensor
from tfnb.ops.array import array_ops
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DTypeLike
    from tfnb.core.kernel_types import Array, Attr, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult
    from tfnb.ops.array import cast_ops
    from tfnb.ops.math import comparison_ops, cwise_binary_ops, cwise_unary_ops
else:
    cast_ops = later("tfnb.ops.array.cast_ops")
    comparison_ops = later("tfnb.ops.math.comparison_ops")
    cwise_binary_ops = later("tfnb.ops.math.cwise_binary_ops")
    cwise_unary_ops = later("tfnb.ops.math.cwise_unary_ops")

EXPORTS = {
    "tf": ["range:range_", "lin_space:linspace", "linspace", "cumsum", "cumprod", "cross"],
    "math": ["cumsum", "cumprod", "cumulative_logsumexp"],
    "linalg": ["cross"],
}

# -------------------------------------------------------------------------------------------- range


def _range_shape(c: InferenceContext) -> TensorShape:
    for index in builtins.range(3):
        c.with_rank(index, 0)
    start, limit, delta = (c.constant_value(index) for index in builtins.range(3))
    if start is None or limit is None or delta is None:
        return TensorShape([None])
    if c.attr("Tidx") is dtypes.float16:
        # TensorFlow has the kernel, but its graph construction refuses float16 ranges.
        raise ValueError("Unsupported dtype half")
    if delta == 0:
        raise ValueError("Requires delta != 0")
    if delta > 0 and start > limit:
        raise ValueError(f"Requires start <= limit when delta > 0: {_ends(start, limit)}")
    if delta < 0 and start < limit:
        raise ValueError(f"Requires start >= limit when delta < 0: {_ends(start, limit)}")
    return TensorShape([_range_size(start, limit, delta)])


def _ends(start: Any, limit: Any) -> str:
    return f"{values_text(start)}/{values_text(limit)}"


def _range_size(start: Any, limit: Any, delta: Any) -> int:
    if getattr(start, "dtype", np.asarray(start).dtype).kind in "iu":
        distance, step = abs(int(limit) - int(start)), abs(int(delta))
        return (distance + step - 1) // step
    size = abs((float(limit) - float(start)) / float(delta))
    if size == math.inf:
        raise ValueError(f"Requires ((limit - start) / delta) <= {2**63 - 1}")
    return math.ceil(size)


# Fewer numbers fit in memory in any case.
_FEW = 1 << 16


@register_op(
    "Range",
    "start: Tidx, limit: Tidx, delta: Tidx -> output: Tidx",
    "Tidx: {bfloat16, half, float, double, int8, int16, int32, int64, uint16, uint32, uint64} "
    "= DT_INT32",
    shape=_range_shape,
    host_memory=("start", "limit", "delta", "output"),
    traits="c_order rearranges",
)
def range_op(xp: Xp, start: Array, limit: Array, delta: Array) -> Array:
    """Return start, start + delta, ... up to but not including limit."""
    if start.__class__ is limit.__class__ is delta.__class__ is np.int32:
        first, end, step = int(start), int(limit), int(delta)
        if step > 0 and 0 <= end - first <= _FEW:
            return np.arange(first, end, step, dtype=np.int32)
    start, limit, delta = _scalars(start=start, limit=limit, delta=delta)
    if delta == 0:
        raise errors.invalid_argument(f"Requires delta != 0: {delta}")
    if delta > 0 and start > limit:
        raise errors.invalid_argument(
            f"Requires start <= limit when delta > 0: {_ends(start, limit)}"
        )
    if delta < 0 and start < limit:
        raise errors.invalid_argument(
            f"Requires start >= limit when delta < 0: {_ends(start, limit)}"
        )
    size = _range_size(start, limit, delta)
    check_fits(np, (size,), start.dtype)
    kind = start.dtype.kind
    if kind == "i":
        return np.arange(int(start), int(limit), int(delta), dtype=start.dtype)
    steps = np.arange(size)
    if kind == "u":
        return (steps * int(delta) + int(start)).astype(start.dtype)
    return (start + steps.astype(start.dtype) * delta).astype(start.dtype)


range_op.not_differentiable()


def _scalars(**values: Any) -> list[Array]:
    """Return the values as scalars; vectors of one element are accepted for compatibility."""
    for name, value in values.items():
        if value.ndim > 1 or value.size != 1:
            raise errors.invalid_argument(
                f"{name} must be a scalar, not shape {shape_text(value.shape)}"
            )
    return [value.reshape(())[()] if value.ndim else value for value in values.values()]


def range_(
    start: TensorLike,
    limit: TensorLike | None = None,
    delta: TensorLike = 1,
    dtype: DTypeLike | None = None,
    name: str | None = "range",
) -> TensorResult:
    """Return the numbers start, start + delta, ... below limit; `range_(n)` starts at 0."""
    if limit is None:
        start, limit = 0, start
    with name_scope(name, "Range", [start, limit, delta]) as scope:
        if not isinstance(start, Tensor):
            start = convert_to_tensor(start, dtype=dtype, name="start")
        if not isinstance(limit, Tensor):
            limit = convert_to_tensor(limit, dtype=dtype, name="limit")
        if not isinstance(delta, Tensor):
            delta = convert_to_tensor(delta, dtype=dtype, name="delta")
        if dtype is None:
            # The result has the last of their types in this order.
            order = [
                dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint16,
                dtypes.uint32, dtypes.uint64, dtypes.float16, dtypes.bfloat16, dtypes.float32,
                dtypes.float64,
            ]  # fmt: skip
            given = [value.dtype.base_dtype for value in (start, limit, delta)]
            dtype = max(given, key=order.index)
        start = cast_ops.cast(start, dtype)
        limit = cast_ops.cast(limit, dtype)
        delta = cast_ops.cast(delta, dtype)
        return range_op(start, limit, delta, name=scope)


def _tensor_of_range(
    value: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, as_ref: bool = False
) -> TensorResult:
    return range_(value.start, value.stop, value.step, dtype=dtype, name=name)


register_tensor_conversion_function(builtins.range, _tensor_of_range)

# ----------------------------------------------------------------------------------------- linspace


def _lin_space_shape(c: InferenceContext) -> TensorShape:
    for index in builtins.range(3):
        c.with_rank(index, 0)
    count = c.constant_value(2)
    if count is None:
        return TensorShape([None])
    if count <= 0:
        raise ValueError(f"Requires num > 0: {count}")
    return TensorShape([int(count)])


@register_op(
    "LinSpace",
    "start: T, stop: T, num: Tidx -> output: T",
    "T: {bfloat16, half, float, double}",
    "Tidx: {int32, int64} = DT_INT32",
    shape=_lin_space_shape,
    host_memory=("start", "stop", "num", "output"),
    traits="c_order rearranges",
)
def lin_space(xp: Xp, start: Array, stop: Array, num: Array) -> Array:
    """Return num evenly spaced numbers from start to stop, both included."""
    for name, value in (("start", start), ("stop", stop), ("num", num)):
        if value.ndim:
            raise errors.invalid_argument(
                f"{name} must be a scalar, not shape {shape_text(value.shape)}"
            )
    count = int(num)
    if count <= 0:
        raise errors.invalid_argument(f"Requires num > 0: {count}")
    if count == 1:
        return np.asarray(start).reshape(1)
    dtype = start.dtype
    check_fits(np, (count,), dtype)
    step = (stop - start) / dtype.type(count - 1)
    out = (start + step * np.arange(count).astype(dtype)).astype(dtype)
    # Set the ends exactly: start + 0 * step is NaN if the step is infinite.
    out[0], out[-1] = start, stop
    return out


lin_space.not_differentiable()


def linspace(
    start: TensorLike, stop: TensorLike, num: TensorLike, name: str | None = None, axis: int = 0
) -> TensorResult:
    """Return num evenly spaced numbers from start to stop; tensors get a new axis."""
    with name_scope(name, "linspace", [start, stop]):
        start = convert_to_tensor(start, name="start")
        stop = convert_to_tensor(stop, name="stop", dtype=start.dtype)
        count = _int_tensor(num, "num")
        # This node is not used, but TensorFlow's graphs have it.
        cast_ops.cast(count, dtype=start.dtype)
        shape = array_ops.broadcast_dynamic_shape(array_ops.shape(start), array_ops.shape(stop))
        start = array_ops.broadcast_to(start, shape)
        stop = array_ops.broadcast_to(stop, shape)
        first = array_ops.expand_dims(start, axis=axis)
        last = array_ops.expand_dims(stop, axis=axis)
        full_shape = array_ops.shape(first)
        rank = array_ops.shape(full_shape)[0]
        position = array_ops.where_v2(axis >= 0, axis, rank + axis)
        between = cwise_binary_ops.maximum(count - 2, 0)
        steps = cwise_binary_ops.maximum(count - 1, 1)
        delta = (last - first) / cast_ops.cast(steps, last.dtype)
        first = cast_ops.cast(first, delta.dtype)
        last = cast_ops.cast(last, delta.dtype)
        # An end of -1 makes the range fail if num is negative.
        end = array_ops.where_v2(count >= 0, steps, -1)
        counted = cast_ops.cast(range_(1, end, dtype=dtypes.int64), delta.dtype)
        here = comparison_ops.equal(position, range_(rank))
        counted = array_ops.reshape(counted, array_ops.where_v2(here, between, 1))
        inner = first + delta * counted
        joined = array_ops.concat((first, inner, last), axis=position)
        begin = array_ops.zeros_like(full_shape)
        size = array_ops.concat(
            (
                full_shape[0:position],
                array_ops.reshape(count, [1]),
                full_shape[position + 1 :],
            ),
            axis=0,
        )
        return array_ops.slice(joined, begin, size)


def _int_tensor(value: TensorLike, name: str) -> TensorResult:
    tensor = convert_to_tensor(value, name=name, preferred_dtype=dtypes.int32)
    if not tensor.dtype.is_integer:
        raise TypeError(
            f"Argument `tensor` (name: {name}) must be of type integer. Received `tensor` = "
            f"{tensor} of dtype: {tensor.dtype}"
        )
    return cast_ops.cast_op(tensor, DstT=dtypes.int32)


# --------------------------------------------------------------------------------- cumulative ops

# Up to this number of steps a Python loop rounds each step as TensorFlow does.
_MANY_STEPS = 1 << 12
_CUMULATIVE = ("exclusive: bool = false", "reverse: bool = false")


def _cumulative_axis(x: Array, axis: Attr) -> int:
    if axis.ndim:
        raise errors.invalid_argument(
            "ScanOp: axis must be a scalar, not " + shape_text(axis.shape)
        )
    number, rank = int(axis), int(x.ndim)
    if not -rank <= number < rank:
        raise errors.invalid_argument(
            f"ScanOp: Expected scan axis in the range [{-rank}, {rank}), but got {number}"
        )
    return number % rank


def _scan(
    xp: Xp,
    step: Callable[..., Array],
    x: Array,
    axis: Attr,
    exclusive: bool,
    reverse: bool,
    start: Array,
) -> Array:
    number = _cumulative_axis(x, axis)
    values = xp.flip(x, number) if reverse else x
    if xp is not np and values.dtype.itemsize == 2 and values.dtype.kind not in "iu":
        result = step(values.astype(np.float32), number).astype(x.dtype)
    else:  # On a CPU, two-byte floats are rounded at every step, as in TensorFlow.
        result = step(values, number)
    if exclusive and x.shape[number]:
        shifted = xp.empty_like(result)
        to = [slice(None)] * x.ndim
        source = list(to)
        to[number], source[number] = slice(1, None), slice(None, -1)
        shifted[tuple(to)] = result[tuple(source)]
        to[number] = slice(0, 1)
        shifted[tuple(to)] = start
        result = shifted
    return xp.flip(result, number) if reverse else result


@register_op(
    "Cumsum",
    "x: T, axis: Tidx -> out: T",
    *_CUMULATIVE,
    "T: numbertype",
    "Tidx: {int32, int64} = DT_INT32",
    shape=unchanged_shape,
    host_memory=("axis",),
)
def cumsum_op(xp: Xp, x: Array, axis: Array, *, exclusive: bool, reverse: bool) -> Array:
    """Return sums of all elements up to each one along an axis."""
    return _scan(
        xp, lambda v, a: xp.cumsum(v, axis=a, dtype=v.dtype), x, axis, exclusive, reverse, 0
    )


@cumsum_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    exclusive, reverse = op.get_attr("exclusive"), op.get_attr("reverse")
    return cumsum(grad, op.inputs[1], exclusive=exclusive, reverse=not reverse), None


@register_op(
    "Cumprod",
    "x: T, axis: Tidx -> out: T",
    *_CUMULATIVE,
    "T: numbertype",
    "Tidx: {int32, int64} = DT_INT32",
    shape=unchanged_shape,
    host_memory=("axis",),
)
def cumprod_op(xp: Xp, x: Array, axis: Array, *, exclusive: bool, reverse: bool) -> Array:
    """Return products of all elements up to each one along an axis."""
    return _scan(
        xp, lambda v, a: xp.cumprod(v, axis=a, dtype=v.dtype), x, axis, exclusive, reverse, 1
    )


@cumprod_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, axis = op.inputs
    exclusive, reverse = op.get_attr("exclusive"), op.get_attr("reverse")
    product = cumprod(x, axis, exclusive=exclusive, reverse=reverse)
    total = cumsum(product * grad, axis, exclusive=exclusive, reverse=not reverse)
    return cwise_binary_ops.div_no_nan_op(total, x, name="div_no_nan"), None


def _log_sum(xp: Xp, x: Array, y: Array) -> Array:
    """Return log(exp(x) + exp(y)), rounded to the type at each step."""
    largest = xp.maximum(x, y)
    found = xp.log1p(xp.exp(xp.minimum(x, y) - largest)) + largest
    return xp.where(largest == -np.inf, largest, found)


@register_op(
    "CumulativeLogsumexp",
    "x: T, axis: Tidx -> out: T",
    *_CUMULATIVE,
    "T: {bfloat16, half, float, double}",
    "Tidx: {int32, int64} = DT_INT32",
    shape=unchanged_shape,
    host_memory=("axis",),
)
def cumulative_logsumexp_op(
    xp: Xp, x: Array, axis: Array, *, exclusive: bool, reverse: bool
) -> Array:
    """Return log(sum(exp)) of all elements up to each one along an axis."""

    def step(values: Array, number: int) -> Array:
        is_narrow = values.dtype.itemsize == 2
        if xp is np and (not is_narrow or values.shape[number] > _MANY_STEPS):
            wide = np.float32 if is_narrow else values.dtype
            found = np.logaddexp.accumulate(values, axis=number, dtype=wide)
            return found.astype(values.dtype, copy=False)
        # CuPy's ufuncs have no accumulate; _log_sum rounds two-byte floats after each operation.
        add = partial(_log_sum, xp) if is_narrow else xp.logaddexp
        sums = xp.empty_like(values)
        along, out = xp.moveaxis(values, number, 0), xp.moveaxis(sums, number, 0)
        for place in range(len(out)):
            out[place] = add(out[place - 1], along[place]) if place else along[0]
        return sums

    return _scan(xp, step, x, axis, exclusive, reverse, -np.inf)


@cumulative_logsumexp_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, axis = op.inputs
    sums = op.outputs[0]
    exclusive, reverse = op.get_attr("exclusive"), op.get_attr("reverse")
    lowest = grad.dtype.min
    log_positive = array_ops.where_v2(grad > 0, cwise_unary_ops.log(grad), lowest)
    log_negative = array_ops.where_v2(grad < 0, cwise_unary_ops.log(-grad), lowest)

    def side(logarithm: Any) -> TensorResult:
        total = cumulative_logsumexp(
            logarithm - sums, axis=axis, reverse=not reverse, exclusive=exclusive
        )
        return cwise_unary_ops.exp_op(total + x)

    return side(log_positive) - side(log_negative), None


def cumsum(
    x: TensorLike,
    axis: TensorLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> TensorResult:
    """Return sums of all elements up to each one along an axis."""
    with name_scope(name, "Cumsum", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return cumsum_op(x, axis, exclusive=exclusive, reverse=reverse, name=scope)


def cumprod(
    x: TensorLike,
    axis: TensorLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> TensorResult:
    """Return products of all elements up to each one along an axis."""
    with name_scope(name, "Cumprod", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return cumprod_op(x, axis, exclusive=exclusive, reverse=reverse, name=scope)


def cumulative_logsumexp(
    x: TensorLike,
    axis: TensorLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> TensorResult:
    """Return log(sum(exp)) of all elements up to each one along an axis."""
    with name_scope(name, "CumulativeLogsumexp", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return cumulative_logsumexp_op(x, axis, exclusive=exclusive, reverse=reverse, name=scope)


# ------------------------------------------------------------------------------------ cross product


def _cross_shape(c: InferenceContext) -> TensorShape:
    a = c.with_rank_at_least(0, 1)
    merged = merge_shapes(a, c.with_rank_at_least(1, 1))
    dims = a.dim_values
    if dims is not None and dims[-1] is not None and dims[-1] != 3:
        raise ValueError(f"Dimension must be 3 but is {dims[-1]}")
    return merged


@register_op("Cross", "a: T, b: T -> product: T", "T: realnumbertype", shape=_cross_shape)
def cross(xp: Xp, a: Array, b: Array) -> Array:
    """Return the cross product of 3-vectors along the last axis."""
    if a.shape != b.shape:
        raise errors.invalid_argument(
            f"Both inputs must be of same shape: {shape_text(a.shape)} vs. {shape_text(b.shape)}"
        )
    if a.ndim < 1:
        raise errors.invalid_argument(f"Input must be at least 1D{shape_text(a.shape)}")
    if a.shape[-1] != 3:
        raise errors.failed_precondition("Cross-products are only defined for 3-element vectors.")
    a0, a1, a2 = a[..., 0], a[..., 1], a[..., 2]
    b0, b1, b2 = b[..., 0], b[..., 1], b[..., 2]
    parts = (a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0)
    return xp.stack(parts, axis=-1)


@cross.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    u, v = op.inputs
    return cross(v, grad), cross(grad, u)
