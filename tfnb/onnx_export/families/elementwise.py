"""Ops that work element by element, with broadcasting."""

from __future__ import annotations

import math

import numpy as np

from tfnb.core import dtypes
from tfnb.onnx_export.families.sequences import (
    is_sequence,
    kind_of,
    sum_of_gradients,
    zeros_like_each,
)
from tfnb.onnx_export.writing.converters import NodeToConvert, converts, onnx_type
from tfnb.onnx_export.writing.onnx_nodes import Kind
from tfnb.onnx_export.writing.problems import Refused

_UNARY = {
    "Abs": "Abs",
    "Neg": "Neg",
    "Exp": "Exp",
    "Log": "Log",
    "Sqrt": "Sqrt",
    "Reciprocal": "Reciprocal",
    "Inv": "Reciprocal",
    "Floor": "Floor",
    "Ceil": "Ceil",
    "Round": "Round",
    "Rint": "Round",
    "Sign": "Sign",
    "Sin": "Sin",
    "Cos": "Cos",
    "Tan": "Tan",
    "Asin": "Asin",
    "Acos": "Acos",
    "Atan": "Atan",
    "Sinh": "Sinh",
    "Cosh": "Cosh",
    "Asinh": "Asinh",
    "Acosh": "Acosh",
    "Atanh": "Atanh",
    "Tanh": "Tanh",
    "Sigmoid": "Sigmoid",
    "Erf": "Erf",
    "Relu": "Relu",
    "Elu": "Elu",
    "Softplus": "Softplus",
    "Softsign": "Softsign",
}


@converts(*_UNARY)
def unary(node: NodeToConvert) -> str:
    """Convert a function of one tensor that ONNX has, too."""
    dtype = node.dtype(0)
    if dtype.is_integer and node.op in ("Round", "Rint", "Floor", "Ceil"):
        return node.inputs[0]
    return node.numeric(_UNARY[node.op], node.inputs, dtype)


@converts("Selu")
def selu(node: NodeToConvert) -> str:
    """Convert Selu, with TensorFlow's constants."""
    return node.numeric(
        "Selu", node.inputs, node.dtype(0), alpha=1.6732632423543772, gamma=1.0507009873554805
    )


@converts("Identity", "StopGradient", "PreventGradient", "Snapshot", "EnsureShape", "Print")
@converts("PlaceholderWithDefault", "CheckNumerics", "GuaranteeConst")
@converts("CheckNumericsV2")
def identity(node: NodeToConvert) -> str:
    """Convert an op that returns its first input; what it checks or prints is left out."""
    return node.inputs[0]


@converts("IdentityN")
def identity_n(node: NodeToConvert) -> list[str]:
    """Convert IdentityN."""
    return node.inputs


@converts("Rsqrt")
def rsqrt(node: NodeToConvert) -> str:
    """Convert Rsqrt."""
    dtype = node.dtype(0)
    return node.numeric("Reciprocal", [node.numeric("Sqrt", node.inputs, dtype)], dtype)


@converts("Square")
def square(node: NodeToConvert) -> str:
    """Convert Square."""
    return node.numeric("Mul", [node.inputs[0]] * 2, node.dtype(0))


@converts("Expm1")
def expm1(node: NodeToConvert) -> str:
    """Convert Expm1; near zero it is less exact."""
    dtype = node.dtype(0)
    return node.numeric("Sub", [node.numeric("Exp", node.inputs, dtype), node.scalar(1)], dtype)


@converts("Log1p")
def log1p(node: NodeToConvert) -> str:
    """Convert Log1p; near zero it is less exact."""
    dtype = node.dtype(0)
    more = node.numeric("Add", [node.inputs[0], node.scalar(1)], dtype)
    return node.numeric("Log", [more], dtype)


@converts("Erfc")
def erfc(node: NodeToConvert) -> str:
    """Convert Erfc."""
    dtype = node.dtype(0)
    return node.numeric("Sub", [node.scalar(1), node.numeric("Erf", node.inputs, dtype)], dtype)


@converts("Relu6")
def relu6(node: NodeToConvert) -> str:
    """Convert Relu6."""
    dtype = node.dtype(0)
    low = node.numeric("Max", [node.inputs[0], node.scalar(0)], dtype)
    return node.numeric("Min", [low, node.scalar(6)], dtype)


@converts("LeakyRelu")
def leaky_relu(node: NodeToConvert) -> str:
    """Convert LeakyRelu."""
    alpha = float(node.attr("alpha", 0.2))
    return node.numeric("LeakyRelu", node.inputs, node.dtype(0), alpha=alpha)


@converts("IsNan")
def is_nan(node: NodeToConvert) -> str:
    """Convert IsNan."""
    return node.add("IsNaN", node.inputs[0])


@converts("IsInf")
def is_inf(node: NodeToConvert) -> str:
    """Convert IsInf."""
    return node.add("IsInf", _of_exact_type(node))


def _of_exact_type(node: NodeToConvert) -> str:
    """Return the first input in a type whose infinities runtimes find."""
    dtype = node.dtype(0)
    return node.as_type(0, dtypes.float32 if dtype.size == 2 else dtype)


@converts("IsFinite")
def is_finite(node: NodeToConvert) -> str:
    """Convert IsFinite."""
    value = _of_exact_type(node)
    either = node.add("Or", node.add("IsNaN", value), node.add("IsInf", value))
    return node.add("Not", either)


_BINARY = {
    "Add": "Add",
    "AddV2": "Add",
    "Sub": "Sub",
    "Mul": "Mul",
    "Maximum": "Max",
    "Minimum": "Min",
}


@converts(*_BINARY)
def binary(node: NodeToConvert) -> str:
    """Convert an operation on two tensors that ONNX has, too."""
    if is_sequence(node, 0) or is_sequence(node, 1):
        return _sum_of_sequences(node)
    dtype = node.dtype(0)
    if dtype == dtypes.string:
        node.needs_opset(20)
        return node.add("StringConcat", *node.inputs)
    return node.numeric(_BINARY[node.op], node.inputs, dtype)


def _sum_of_sequences(node: NodeToConvert) -> str:
    if node.op not in ("Add", "AddV2", "AddN"):
        raise Refused("it works on a tensor array")
    return sum_of_gradients(node)


@converts("Pow")
def power(node: NodeToConvert) -> str:
    """Convert Pow."""
    return node.numeric("Pow", node.inputs, node.dtype(0))


@converts("RealDiv", "Div", "TruncateDiv")
def divide(node: NodeToConvert) -> str:
    """Convert a division; of integers, that toward zero."""
    return node.numeric("Div", node.inputs, node.dtype(0))


@converts("FloorDiv")
def floor_divide(node: NodeToConvert) -> str:
    """Convert FloorDiv."""
    dtype = node.dtype(0)
    if not dtype.is_integer:
        return node.numeric("Floor", [node.numeric("Div", node.inputs, dtype)], dtype)
    remainder = node.numeric("Mod", node.inputs, dtype)
    whole = node.numeric("Sub", [node.inputs[0], remainder], dtype)
    return node.numeric("Div", [whole, node.inputs[1]], dtype)


@converts("FloorMod")
def floor_mod(node: NodeToConvert) -> str:
    """Convert FloorMod, whose result has the sign of the divisor."""
    dtype = node.dtype(0)
    if dtype.is_integer:
        return node.numeric("Mod", node.inputs, dtype)
    rest = node.numeric("Mod", node.inputs, dtype, fmod=1)
    moved = node.numeric("Add", [rest, node.inputs[1]], dtype)
    return node.numeric("Mod", [moved, node.inputs[1]], dtype, fmod=1)


@converts("Mod", "TruncateMod")
def truncate_mod(node: NodeToConvert) -> str:
    """Convert Mod, whose result has the sign of the dividend."""
    return node.numeric("Mod", node.inputs, node.dtype(0), fmod=1)


@converts("SquaredDifference")
def squared_difference(node: NodeToConvert) -> str:
    """Convert SquaredDifference."""
    dtype = node.dtype(0)
    found = node.numeric("Sub", node.inputs, dtype)
    return node.numeric("Mul", [found, found], dtype)


@converts("DivNoNan", "MulNoNan", "Xdivy", "Xlogy", "Xlog1py")
def with_zeros(node: NodeToConvert) -> str:
    """Convert an operation that is 0 where one input is 0."""
    dtype = node.dtype(0)
    one, other = node.inputs
    if node.op in ("DivNoNan", "Xdivy"):
        found = node.numeric("Div", [one, other], dtype)
    else:
        if node.op == "Xlogy":
            other = node.numeric("Log", [other], dtype)
        elif node.op == "Xlog1py":
            other = node.numeric(
                "Log", [node.numeric("Add", [other, node.scalar(1)], dtype)], dtype
            )
        found = node.numeric("Mul", [one, other], dtype)
    tested = node.inputs[1] if node.op in ("DivNoNan", "MulNoNan") else one
    is_zero = node.compare("Equal", tested, node.scalar(0), dtype)
    return node.numeric("Where", [is_zero, node.scalar(0), found], dtype)


@converts("Atan2")
def atan2(node: NodeToConvert) -> str:
    """Convert Atan2 with the arc tangent and the signs."""
    return angle_of(node, *node.inputs)


def angle_of(node: NodeToConvert, y: str, x: str) -> str:
    """Return the angle of points; both numbers have the type of input 0."""
    dtype = node.dtype(0)
    zero = node.scalar(0)
    angle = node.numeric("Atan", [node.numeric("Div", [y, x], dtype)], dtype)
    turn = node.add(
        "Where", node.compare("Less", y, zero, dtype), node.scalar(-math.pi), node.scalar(math.pi)
    )
    left = node.numeric("Add", [angle, turn], dtype)
    found = node.add("Where", node.compare("Less", x, zero, dtype), left, angle)
    both = node.add(
        "And", node.compare("Equal", x, zero, dtype), node.compare("Equal", y, zero, dtype)
    )
    return node.add("Where", both, node.scalar(0), found)


@converts("AddN", "AccumulateNV2")
def add_n(node: NodeToConvert) -> str:
    """Convert AddN."""
    if any(is_sequence(node, number) for number in range(len(node.inputs))):
        return _sum_of_sequences(node)
    found = node.inputs[0]
    for one in node.inputs[1:]:
        found = node.numeric("Add", [found, one], node.dtype(0))
    return found


_COMPARISONS = {
    "Equal": "Equal",
    "Less": "Less",
    "LessEqual": "LessOrEqual",
    "Greater": "Greater",
    "GreaterEqual": "GreaterOrEqual",
}


@converts(*_COMPARISONS, "NotEqual")
def comparison(node: NodeToConvert) -> str:
    """Convert a comparison."""
    dtype = node.dtype(0)
    if dtype == dtypes.string:
        node.needs_opset(19)
    one, other = node.inputs
    if not node.attr("incompatible_shape_error", True):
        if any(None in node.dims(number) for number in (0, 1)):
            raise Refused("its shapes may not fit each other, which then is its answer")
        sizes = [[size or 0 for size in node.dims(number)] for number in (0, 1)]
        try:
            np.broadcast_shapes(*map(tuple, sizes))
        except ValueError:
            return node.add("Identity", node.value(node.op == "NotEqual"))
    found = node.compare(_COMPARISONS.get(node.op, "Equal"), one, other, dtype)
    return node.add("Not", found) if node.op == "NotEqual" else found


@converts("ApproximateEqual")
def approximate_equal(node: NodeToConvert) -> str:
    """Convert ApproximateEqual."""
    dtype = node.dtype(0)
    apart = node.numeric("Abs", [node.numeric("Sub", node.inputs, dtype)], dtype)
    return node.compare("Less", apart, node.scalar(node.attr("tolerance", 1e-5)), dtype)


@converts("LogicalAnd", "LogicalOr", "LogicalNot")
def logical(node: NodeToConvert) -> str:
    """Convert an operation on truth values."""
    return node.add(node.op.removeprefix("Logical"), *node.inputs)


_BITS = {"BitwiseAnd": "BitwiseAnd", "BitwiseOr": "BitwiseOr", "BitwiseXor": "BitwiseXor"}


@converts(*_BITS, "Invert")
def bits(node: NodeToConvert) -> str:
    """Convert an operation on bits."""
    node.needs_opset(18)
    return node.add(_BITS.get(node.op, "BitwiseNot"), *node.inputs)


@converts("Cast")
def cast(node: NodeToConvert) -> str:
    """Convert Cast; a float becomes an unsigned integer by way of int32, as in TensorFlow."""
    source, target = node.dtype(0), node.output_dtype()
    if source == target:
        return node.inputs[0]
    if dtypes.string in (source, target):
        raise Refused("it converts text")
    value = node.inputs[0]
    small = (dtypes.uint8, dtypes.int8, dtypes.uint16, dtypes.int16)
    if source.is_floating and target in small:
        value = node.cast(value, dtypes.int32)
    return node.cast(value, target)


@converts("Select")
def select(node: NodeToConvert) -> str:
    """Convert Select, whose vector of conditions chooses rows."""
    condition = node.inputs[0]
    one = node.shapes[0].dim_values
    other = node.shapes[1].dim_values
    if one is not None and len(one) == 1:
        rank = node.rank(1)
        if rank > 1:
            shape = node.ints(-1, *[1] * (rank - 1))
            condition = node.add("Reshape", condition, shape)
    elif one is None and (other is None or len(other) > 1):
        # The sizes of the condition, and ones up to the rank of the rows.
        rows = node.add("Shape", node.inputs[1])
        ones = node.add("ConstantOfShape", node.add("Shape", rows), value=np.ones(1, np.int64))
        sizes = node.add("Concat", node.add("Shape", condition), ones, axis=0)
        rank_of_rows = node.add("Shape", rows)
        shape = node.add("Slice", sizes, node.ints(0), rank_of_rows)
        condition = node.add("Reshape", condition, shape, allowzero=1)
    return node.numeric_where(condition, node.inputs[1], node.inputs[2], node.dtype(1))


@converts("SelectV2")
def select_v2(node: NodeToConvert) -> str:
    """Convert SelectV2."""
    condition, one, other = node.inputs
    return node.numeric_where(condition, one, other, node.dtype(1))


@converts("ClipByValue")
def clip_by_value(node: NodeToConvert) -> str:
    """Convert ClipByValue."""
    dtype = node.dtype(0)
    low = node.numeric("Max", [node.inputs[0], node.inputs[1]], dtype)
    return node.numeric("Min", [low, node.inputs[2]], dtype)


@converts("ReluGrad", "Relu6Grad", "LeakyReluGrad", "EluGrad", "SeluGrad")
def gradient_of_activation(node: NodeToConvert) -> str:
    """Convert the gradient of an activation; its second input decides."""
    dtype = node.dtype(0)
    gradient, value = node.inputs
    above = node.compare("Greater", value, node.scalar(0), dtype)
    if node.op in ("ReluGrad", "Relu6Grad"):
        below = node.scalar(0)
        if node.op == "Relu6Grad":
            above = node.add("And", above, node.compare("Less", value, node.scalar(6), dtype))
        return node.add("Where", above, gradient, below)
    if node.op == "LeakyReluGrad":
        factor = node.scalar(float(node.attr("alpha", 0.2)))
        return node.add("Where", above, gradient, node.numeric("Mul", [gradient, factor], dtype))
    if node.op == "EluGrad":
        slope = node.numeric("Add", [value, node.scalar(1)], dtype)
        return node.add("Where", above, gradient, node.numeric("Mul", [gradient, slope], dtype))
    slope = node.numeric("Add", [value, node.scalar(1.7580993408473768)], dtype)
    low = node.numeric("Mul", [gradient, slope], dtype)
    high = node.numeric("Mul", [gradient, node.scalar(1.0507009873554805)], dtype)
    return node.add("Where", above, high, low)


@converts("SigmoidGrad", "TanhGrad", "RsqrtGrad", "SqrtGrad", "ReciprocalGrad", "InvGrad")
@converts("SoftplusGrad", "SoftsignGrad")
def gradient_of_function(node: NodeToConvert) -> str:
    """Convert the gradient of a function of one tensor."""
    dtype = node.dtype(0)
    y, gradient = node.inputs

    def times(*factors: str) -> str:
        found = factors[0]
        for one in factors[1:]:
            found = node.numeric("Mul", [found, one], dtype)
        return found

    one = node.scalar(1)
    if node.op == "SigmoidGrad":
        return times(gradient, y, node.numeric("Sub", [one, y], dtype))
    if node.op == "TanhGrad":
        return times(gradient, node.numeric("Sub", [one, times(y, y)], dtype))
    if node.op == "RsqrtGrad":
        return times(gradient, node.scalar(-0.5), times(y, y, y))
    if node.op == "SqrtGrad":
        return node.numeric("Div", [times(gradient, node.scalar(0.5)), y], dtype)
    if node.op in ("ReciprocalGrad", "InvGrad"):
        return times(node.numeric("Neg", [gradient], dtype), times(y, y))
    if node.op == "SoftplusGrad":
        return times(y, node.numeric("Sigmoid", [gradient], dtype))
    size = node.numeric("Add", [one, node.numeric("Abs", [gradient], dtype)], dtype)
    return node.numeric("Div", [y, times(size, size)], dtype)


@converts("Bitcast")
def bitcast(node: NodeToConvert) -> str:
    """Convert Bitcast between equal types only."""
    if node.dtype(0) == node.output_dtype():
        return node.inputs[0]
    raise Refused("ONNX cannot reinterpret bits")


@converts("ZerosLike", "OnesLike")
def filled_like(node: NodeToConvert) -> str:
    """Convert ZerosLike and OnesLike."""
    kind = kind_of(node, 0)
    if kind is not None and kind.is_sequence:
        node.kinds[0] = Kind(kind.dtype, True, True)
        return zeros_like_each(node, node.inputs[0], kind.dtype)
    dtype = node.output_dtype()
    number = np.asarray([int(node.op == "OnesLike")], dtype.numpy_dtype)
    onnx_type(dtype)
    return node.add("ConstantOfShape", node.shape_of(0), value=number)
