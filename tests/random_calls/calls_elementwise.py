"""Random calls of elementwise ops, reductions and scans."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.ops.samples import NUMBERS, NUMPY_TYPES, Many, Sample, op
from tests.random_calls.draws import Draw, calls

_UNARY = """Abs Acos Acosh Asin Asinh Atan Atanh Ceil Conj Cos Cosh Digamma Elu Erf Erfc Erfinv Exp
Expm1 Floor Imag Inv Invert IsFinite IsInf IsNan LeakyRelu Lgamma Log Log1p LogicalNot Ndtri Neg
OnesLike PopulationCount Real Reciprocal Relu Relu6 Rint Round Rsqrt Selu Sigmoid Sign Sin Sinh
Softplus Softsign Sqrt Square Tan Tanh ZerosLike ComplexAbs Angle L2Loss"""


@calls(_UNARY)
def _unary(d: Draw, name: str) -> Sample:
    attrs = (
        {"alpha": float(np.float32(d.one([0.2, 0.0, -1.0, 1.5])))} if name == "LeakyRelu" else {}
    )
    if name == "LogicalNot":
        return op(name, d.values("bool", d.shape()))
    word = d.types(name)
    if word == "string":
        word = "float32"
    # Far from zero, trigonometric functions depend on the stored digits of pi.
    scale = 1.0 if name in ("Digamma", "Lgamma") else 2.0
    if name == "Round" and "int" in word:
        # TensorFlow 2.21 makes zeros of integers, although its documentation says that they stay.
        word = "float32"
    if name in ("ComplexAbs", "Angle", "Real", "Imag"):
        attrs["Tout"] = "float64" if word == "complex128" else "float32"
    x = d.values(word, d.shape(), scale=scale)
    if name == "Erf" and word == "float64":
        # TensorFlow 2.21 gives NaN for large numbers in the vectorized part of an array.
        x = np.clip(x, -5, 5)
    row = op(name, x, **attrs)
    return replace(row, rtol=1e-12) if name == "Digamma" and word == "float64" else row


_BINARY = """Add AddV2 Sub Mul Div RealDiv FloorDiv FloorMod Mod TruncateDiv TruncateMod Maximum
Minimum Pow SquaredDifference Atan2 Equal NotEqual Less LessEqual Greater GreaterEqual DivNoNan
MulNoNan Xdivy Xlogy Xlog1py LogicalAnd LogicalOr BitwiseAnd BitwiseOr BitwiseXor LeftShift
RightShift Complex NextAfter ApproximateEqual"""


@calls(_BINARY)
def _binary(d: Draw, name: str) -> Sample:
    word = "bool" if name.startswith("Logical") else d.types(name)
    shape = d.shape()
    other = shape if name == "ApproximateEqual" else d.broadcastable(shape)
    x, y = d.values(word, shape), d.values(word, other)
    if name in ("Div", "RealDiv", "FloorDiv", "FloorMod", "Mod", "TruncateDiv", "TruncateMod"):
        # The smallest integer by -1 ends TensorFlow's process.
        if x.dtype.kind == "i":
            x = np.where(x == np.iinfo(x.dtype).min, 3, x).astype(x.dtype)
        if y.dtype.kind in "iu" and d.chance(0.8):
            y = np.where(y == 0, 2, y).astype(y.dtype)
    if name == "Pow" and y.dtype.kind == "i" and d.chance(0.8):
        y = np.abs(y % 7).astype(y.dtype)
    if name.endswith("Shift"):
        # Shifts beyond the width are undefined in C++; TensorFlow clamps them.
        y = np.abs(y.astype(np.int64) % 9).astype(y.dtype)
    if d.chance(0.5) and name not in ("ApproximateEqual",):
        x, y = y, x
        if name.endswith("Shift"):
            y = np.abs(y.astype(np.int64) % 9).astype(y.dtype)
        if name in ("Div", "RealDiv", "FloorDiv", "FloorMod", "Mod", "TruncateDiv", "TruncateMod"):
            if x.dtype.kind == "i":
                x = np.where(x == np.iinfo(x.dtype).min, 3, x).astype(x.dtype)
            if y.dtype.kind in "iu" and d.chance(0.8):
                y = np.where(y == 0, 2, y).astype(y.dtype)
        if name == "Pow" and y.dtype.kind == "i" and d.chance(0.8):
            y = np.abs(y % 7).astype(y.dtype)
    attrs = {}
    if name in ("Equal", "NotEqual") and d.chance(0.3):
        attrs["incompatible_shape_error"] = False
    return op(name, x, y, **attrs)


@calls("""EluGrad Relu6Grad ReluGrad LeakyReluGrad SeluGrad SigmoidGrad TanhGrad SqrtGrad RsqrtGrad
ReciprocalGrad InvGrad SoftplusGrad SoftsignGrad""")
def _unary_gradient(d: Draw, name: str) -> Sample:
    word, shape = d.types(name), d.shape()
    row = op(name, d.values(word, shape), d.values(word, shape))
    return replace(row, rtol={"float16": 4e-3, "bfloat16": 3e-2}.get(word))


@calls("Igamma Igammac Zeta Polygamma IgammaGradA Betainc RandomGammaGrad")
def _special(d: Draw, name: str) -> Sample:
    word, shape = d.types(name), d.shape()
    x = [d.positive(word, shape) for _ in range(3)]
    if name == "Zeta":
        x[0] = (x[0] + 1).astype(x[0].dtype)
    if name == "Polygamma":
        x[0] = np.floor(x[0]).astype(x[0].dtype)
    if name == "Betainc":
        x[2] = (x[2] / (x[2] + 1)).astype(x[2].dtype)
        return op(name, *x)
    # These are sums of series; only their limits are compared.
    loose = {"float64": 1e-11, "float32": 2e-5}.get(word)
    return replace(op(name, x[0], d.positive(word, d.broadcastable(shape))), rtol=loose)


@calls("AddN AccumulateNV2")
def _add_n(d: Draw, name: str) -> Sample:
    word, shape = d.types(name), d.shape()
    attrs = {"shape": list(shape)} if name == "AccumulateNV2" else {}
    terms = [d.values(word, shape) for _ in range(d.number(1, 4))]
    row = op(name, Many(terms), **attrs)
    return replace(row, rtol={"float16": 4e-3, "bfloat16": 3e-2}.get(word))


@calls("ClipByValue")
def _clip(d: Draw, name: str) -> Sample:
    word, shape = d.types(name, without="complex64 complex128"), d.shape()
    bounds = [() if d.chance(0.5) else shape for _ in range(2)]
    # The payload of a NaN depends on the order of the arguments in vectorized code.
    return op(name, *(d.values(word, s, 0) for s in (shape, *bounds)))


@calls("Select SelectV2")
def _select(d: Draw, name: str) -> Sample:
    word, shape = d.types(name), d.shape()
    if name == "Select":
        condition = d.one([shape, shape, (), shape[:1]])
        other = shape if d.chance(0.95) else d.broadcastable(shape)
        return op(name, d.values("bool", condition), d.values(word, shape), d.values(word, other))
    shapes = [d.broadcastable(shape), shape, d.broadcastable(shape)]
    return op(
        name, d.values("bool", shapes[0]), d.values(word, shapes[1]), d.values(word, shapes[2])
    )


@calls("Sum Mean Prod Max Min EuclideanNorm All Any")
def _reduce(d: Draw, name: str) -> Sample:
    word, shape = ("bool" if name in ("All", "Any") else d.types(name)), d.shape()
    axes = d.axes(len(shape)) if d.chance(0.8) else np.array(d.axis(len(shape)), np.int32)
    row = op(name, d.values(word, shape, scale=1.0), axes, keep_dims=d.chance(0.5))
    return replace(row, rtol={"float16": 5e-3, "bfloat16": 3e-2}.get(word))


@calls("Cumsum Cumprod CumulativeLogsumexp")
def _scan(d: Draw, name: str) -> Sample:
    word, shape = d.types(name), d.shape(1)
    axis = np.array(d.axis(len(shape)), d.one([np.int32, np.int64]))
    return op(
        name, d.values(word, shape, 0.1), axis, exclusive=d.chance(0.5), reverse=d.chance(0.5)
    )


@calls("ArgMax ArgMin")
def _arg(d: Draw, name: str) -> Sample:
    word, shape = d.types(name), d.shape(1)
    axis = np.array(d.axis(len(shape)), d.one([np.int32, np.int64]))
    return op(name, d.values(word, shape), axis, output_type=d.one("int32 int64"))


@calls("Cast")
def _cast(d: Draw, name: str) -> Sample:
    words = f"bool {NUMBERS}".replace("half", "float16")
    source, target = d.one(words), d.one(words)
    x = d.values(source, d.shape(), 0.2)
    if x.dtype.kind not in "biu" and np.dtype(NUMPY_TYPES[target]).kind in "iu":
        # Numbers outside the range of the integers are undefined in C++.
        wide = np.nan_to_num(np.real(x).astype(np.float64), posinf=7, neginf=3)
        low = 0 if np.dtype(NUMPY_TYPES[target]).kind == "u" else -100
        x = np.clip(wide, low, 100).astype(x.dtype)
    return op(name, x, DstT=target, Truncate=d.chance(0.3))


@calls("Range LinSpace")
def _range(d: Draw, name: str) -> Sample:
    if name == "LinSpace":
        word = d.types(name)
        count = np.array(d.number(-1, 9), d.one([np.int32, np.int64]))
        return op(name, d.values(word, (), 0), d.values(word, (), 0), count)
    word = d.types(name, "Tidx", "uint16 uint32")
    x = [d.values(word, (), 0.0, 4.0) for _ in range(3)]
    return op(name, *x)


@calls("Bucketize")
def _bucketize(d: Draw, name: str) -> Sample:
    bounds = sorted(float(np.float32(v)) for v in d.random.normal(size=d.number(0, 5)))
    return op(name, d.values(d.types(name), d.shape()), boundaries=bounds)


@calls("Bincount DenseBincount")
def _bincount(d: Draw, name: str) -> Sample:
    word = d.types(name)
    size = d.number(0, 6)
    if name == "Bincount":
        shape = d.shape()
        x = d.indices(shape, 8, "int32")
        weights = d.values(word, shape if d.chance(0.6) else (0,))
        return op(name, x, np.array(size, np.int32), weights)
    index = d.types(name, "Tidx")
    shape = d.shape(1, 2)
    weights = d.values(word, shape if d.chance(0.6) else (0,))
    x = d.indices(shape, 8, index)
    return op(name, x, np.array(size, x.dtype), weights, binary_output=d.chance(0.5))


@calls("Cross")
def _cross(d: Draw, name: str) -> Sample:
    word, shape = d.types(name), (*d.shape(0, 3), 3)
    return op(name, d.values(word, shape), d.values(word, shape))


@calls("HistogramFixedWidth")
def _histogram(d: Draw, name: str) -> Sample:
    word = d.types(name)
    bounds = np.array(d.one([[-2, 2], [0, 5], [1, 1]]), NUMPY_TYPES[word])
    return op(name, d.values(word, d.shape(), 0), bounds, np.array(d.number(1, 6), np.int32),
              dtype=d.one("int32 int64"))  # fmt: skip


@calls("Softmax LogSoftmax")
def _softmax(d: Draw, name: str) -> Sample:
    x = d.values(d.types(name), d.shape(0 if d.chance(0.1) else 1))
    # A result that is a rounding error of ones has no exact digits.
    return replace(op(name, x), atol={"float32": 1e-6, "float64": 1e-15}.get(x.dtype.name, 2e-3))


@calls("CheckNumerics")
def _check_numerics(d: Draw, name: str) -> Sample:
    return op(name, d.values(d.types(name), d.shape()), message="here")
