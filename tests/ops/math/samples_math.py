"""Rows for arithmetic, comparison, reductions, products of matrices, sequences and casts."""

# ruff: noqa: PERF401 - every row is one append, loops or not

from __future__ import annotations

import numpy as np

from tests.ops.samples import (
    COMPLEX,
    FLOATS,
    INTEGERS,
    NUMBERS,
    REAL,
    SIGNED,
    Many,
    Sample,
    checked,
    integers,
    normal,
    op,
    sweep,
    uniform,
)

NAN, INF = float("nan"), float("inf")
SPECIAL = [NAN, INF, -INF, 0.0, -0.0, 1.0, -2.5, 0.5, 1.5, 2.5, -0.5, 1e30, -1e-30]
MAIN = "float double half bfloat16"
EMPTY = np.zeros((0, 3), np.float32)

SAMPLES: list[Sample | list[Sample]] = []


def _unary() -> None:
    """Rows for ops of one tensor."""
    x = np.linspace(-2.3, 2.9, 14).reshape(2, 7)
    inside = np.linspace(-0.95, 0.9, 8)
    above = np.linspace(0.2, 3.1, 9)
    c = (normal(5) + 1j * normal(5, seed=1)).astype(np.complex64)
    for name in (
        "Exp",
        "Expm1",
        "Sigmoid",
        "Sin",
        "Cos",
        "Tan",
        "Atan",
        "Sinh",
        "Cosh",
        "Tanh",
        "Asinh",
    ):
        SAMPLES.append(sweep(MAIN, name, x))
        SAMPLES.append(sweep(COMPLEX, name, c))
    for name in ("Sqrt", "Rsqrt", "Log", "Log1p"):
        SAMPLES.append(sweep(MAIN, name, above))
        SAMPLES.append(sweep(COMPLEX, name, c))
    for name in ("Asin", "Acos", "Atanh"):
        SAMPLES.append(sweep(MAIN, name, inside))
        SAMPLES.append(sweep(COMPLEX, name, c))
    SAMPLES.append(sweep(MAIN, "Acosh", above + 1))
    SAMPLES.append(sweep(COMPLEX, "Acosh", c))
    for name in ("Inv", "Reciprocal"):
        SAMPLES.append(sweep(f"{MAIN} {COMPLEX}", name, above))
    for name in ("Abs", "Neg", "Square", "Sign"):
        types = f"{MAIN} {SIGNED}" if name == "Abs" else f"{MAIN} {SIGNED} {COMPLEX}"
        SAMPLES.append(checked(sweep(types, name, [-3, 0, 5, -7]), exact=True))
        SAMPLES.append(checked(sweep(MAIN, name, SPECIAL), exact=True, gradient=False))
    SAMPLES.append(sweep("uint8 uint16 uint32 uint64", "Square", [3, 0, 255]))
    SAMPLES.append(
        checked(sweep(MAIN, "Round", [-2.5, -1.5, -0.5, 0.5, 1.5, 2.4, 2.6]), exact=True)
    )
    for name in ("Rint", "Floor", "Ceil"):
        SAMPLES.append(checked(sweep(MAIN, name, SPECIAL), exact=True))
    for name in ("IsNan", "IsInf", "IsFinite"):
        SAMPLES.append(sweep(MAIN, name, SPECIAL))
    for name in (
        "Exp",
        "Log",
        "Sqrt",
        "Rsqrt",
        "Tanh",
        "Sigmoid",
        "Log1p",
        "Expm1",
        "Atan",
        "Reciprocal",
    ):
        SAMPLES.append(checked(op(name, SPECIAL), gradient=False))
        SAMPLES.append(op(name, EMPTY))
        SAMPLES.append(op(name, 0.7))
    y, dy = uniform(6, low=0.1, high=0.9), normal(6, seed=3)
    for name in ("TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "InvGrad", "ReciprocalGrad"):
        SAMPLES.append(sweep(f"{MAIN} {COMPLEX}", name, y, dy))
        SAMPLES.append(
            op(name, (normal(3) + 1j).astype(np.complex64), (normal(3) - 2j).astype(np.complex64))
        )
    SAMPLES.extend(
        [
            op("Conj", c),
            op("Real", c),
            op("Imag", c),
            op("Angle", c),
            op("ComplexAbs", c),
            op("Conj", c.astype(np.complex128)),
            op("Real", c.astype(np.complex128), Tout="double"),
            op("Imag", c.astype(np.complex128), Tout="double"),
            op("Angle", c.astype(np.complex128), Tout="double"),
            op("ComplexAbs", c.astype(np.complex128), Tout="double"),
            op("ComplexAbs", np.zeros(2, np.complex64)),
            op("Complex", normal(2, 3), normal(3)),
            op(
                "Complex",
                normal(2).astype(np.float64),
                normal(2).astype(np.float64),
                Tout="complex128",
            ),
            op("Complex", normal(2), normal(3), error="Incompatible shapes|must be equal"),
            op("LogicalNot", [True, False]),
            op("LogicalNot", True),
            sweep(INTEGERS, "Invert", [0, 1, 5, 127]),
            sweep(INTEGERS, "PopulationCount", [0, 1, 5, 127]),
            sweep(SIGNED, "PopulationCount", [-1, -3]),
        ]
    )


def _binary() -> None:
    """Rows for ops of two tensors, with broadcasting."""
    x, y = normal(2, 3), normal(2, 3, seed=5) + 3
    a, b = [7, -7, 9, 4, 0, 100], [2, 3, -4, 5, 7, -3]
    unsigned = "uint8 uint16 uint32 uint64"
    c = (normal(4) + 1j * normal(4, seed=1)).astype(np.complex64)
    d = (normal(4, seed=7) - 2j).astype(np.complex64)
    for name in ("AddV2", "Sub", "Mul"):
        SAMPLES.append(checked(sweep(f"{MAIN} {SIGNED}", name, a, b), exact=True))
        SAMPLES.append(sweep(unsigned, name, [200, 100, 3], [100, 200, 5]))
        SAMPLES.append(sweep(COMPLEX, name, c, d))
        SAMPLES.append(op(name, x, y[0]))
        SAMPLES.append(op(name, x[:, :1], y))
        SAMPLES.append(op(name, x, 2.0))
        SAMPLES.append(op(name, 2.0, 3.0))
        SAMPLES.append(op(name, normal(4, 1, 3), normal(2, 1)))
        SAMPLES.append(op(name, EMPTY, normal(3)))
        SAMPLES.append(op(name, EMPTY, normal(1, 3)))
        SAMPLES.append(
            op(name, normal(2, 3), normal(4), error=r"Incompatible shapes|Dimensions must be equal")
        )
        SAMPLES.append(op(name, [2147483647, -2147483648], [1, 2]))
    SAMPLES.extend(
        [
            sweep(
                f"{MAIN} int8 int16 int32 int64 uint8 {COMPLEX}", "Add", [1, 2, 100], [3, 4, 100]
            ),
            op("Add", ["ab", "c"], ["x", ""]),
            op("Add", "left", ["x", "yz"]),
            op("Add", normal(2, 3), normal(2, 1)),
        ]
    )
    divisors = [[7, -7, 9, 4, 0, 100, -100], [2, 3, -4, 5, 7, -3, -7]]
    for name in ("Div", "FloorDiv", "RealDiv", "TruncateDiv"):
        if name != "TruncateDiv":
            SAMPLES.append(checked(sweep(MAIN, name, *divisors), exact=True))
        if name != "RealDiv":
            SAMPLES.append(sweep(SIGNED, name, *divisors))
            SAMPLES.append(sweep(unsigned, name, [200, 100, 3], [7, 100, 5]))
        if name == "TruncateDiv":
            SAMPLES.append(op(name, [1, 2], [1, 0], error="Unexpected error in binary operator"))
        if name in ("Div", "FloorDiv"):
            SAMPLES.append(op(name, [1, 2], [1, 0], error="Integer division by zero"))
            SAMPLES.append(op(name, 1, 0, error="Integer division by zero"))
            SAMPLES.append(op(name, np.zeros(0, np.int32), 0))
            SAMPLES.append(op(name, 7, -2))
        if name in ("Div", "RealDiv"):
            SAMPLES.append(sweep(COMPLEX, name, c, d))
            SAMPLES.append(op(name, x, y[0]))
    SAMPLES.append(
        checked(
            op("RealDiv", [1.0, -1.0, 0.0, INF], [0.0, 0.0, 0.0, INF]), gradient=False, exact=True
        )
    )
    SAMPLES.append(
        checked(
            op("FloorDiv", [1.0, -1.0, 0.0, INF, 5.5, -5.5], [0.0, 0.0, 0.0, INF, 0.1, 0.1]),
            exact=True,
        )
    )
    for name in ("FloorMod", "TruncateMod", "Mod"):
        ints = SIGNED if name == "FloorMod" else "int32 int64"
        SAMPLES.append(sweep(ints, name, *divisors))
        SAMPLES.append(
            sweep(MAIN, name, [7.5, -7.5, 9.0, 4.0, 0.0, -0.0], [2.0, 2.0, -4.0, 5.0, 7.0, -3.0])
        )
        if name == "TruncateMod":
            SAMPLES.append(op(name, [1, 2], [1, 0], error="Unexpected error in binary operator"))
        else:
            SAMPLES.append(op(name, [1, 2], [1, 0], error="Integer division by zero"))
        SAMPLES.append(
            checked(
                op(name, [1.0, -1.0, INF, NAN, 3.0], [0.0, 0.0, 2.0, 1.0, INF]),
                gradient=False,
                exact=True,
            )
        )
    SAMPLES.append(sweep(unsigned, "FloorMod", [200, 100, 3], [7, 100, 5]))
    types = f"{MAIN} {COMPLEX}"
    for name in ("DivNoNan", "MulNoNan", "Xdivy", "Xlogy", "Xlog1py"):
        SAMPLES.append(sweep(types, name, [1.5, 0.0, 2.0, 0.0], [0.5, 2.0, 0.25, 1.0]))
        SAMPLES.append(
            checked(op(name, [1.5, 0.0, NAN, 0.0, INF], [0.0, 0.0, 0.0, NAN, 1.0]), gradient=False)
        )
        SAMPLES.append(op(name, uniform(2, 3), uniform(3)))
    SAMPLES.append(sweep(f"{MAIN} int32 int64 {COMPLEX}", "SquaredDifference", a, b))
    SAMPLES.append(op("SquaredDifference", c, d))
    SAMPLES.append(sweep(MAIN, "Pow", [2.0, 3.0, 0.5, 0.0, 1.5], [3.0, -1.0, 2.0, 2.0, 0.5]))
    SAMPLES.append(
        checked(
            op("Pow", [-2.0, -2.0, 0.0, 0.0, INF, 1.0], [2.0, 0.5, 0.0, -1.0, 0.0, NAN]),
            gradient=False,
        )
    )
    SAMPLES.append(sweep(SIGNED, "Pow", [2, -3, 0, 5], [3, 2, 0, 1]))
    SAMPLES.append(sweep(COMPLEX, "Pow", c, d))
    SAMPLES.append(
        op("Pow", [2, 3], [1, -1], error="Integers to negative integer powers are not allowed")
    )
    SAMPLES.append(op("Pow", 2, -1, error="Integers to negative integer powers are not allowed"))
    SAMPLES.append(op("Pow", [3, 7], [40, 30]))
    SAMPLES.append(op("Pow", uniform(2, 3), normal(3)))
    SAMPLES.append(sweep(MAIN, "Atan2", [1.0, -1.0, 0.0, 2.0], [1.0, -2.0, -1.0, 0.5]))
    SAMPLES.append(
        checked(
            sweep("float double", "NextAfter", [1.0, 0.0, -1.0, INF], [2.0, 1.0, -5.0, 0.0]),
            gradient=False,
        )
    )
    for name in ("Maximum", "Minimum"):
        SAMPLES.append(
            checked(sweep(f"{MAIN} {INTEGERS}", name, [1, 5, 3, 3], [4, 2, 3, 0]), exact=True)
        )
        SAMPLES.append(
            checked(
                op(name, [NAN, 1.0, INF, -INF, NAN], [1.0, NAN, 1.0, 1.0, NAN]),
                gradient=False,
                exact=True,
            )
        )
        SAMPLES.append(op(name, normal(2, 3), normal(3)))
        SAMPLES.append(op(name, normal(2, 3), 0.0))
        SAMPLES.append(op(name, 1.0, 2.0))
    for name in ("Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual"):
        SAMPLES.append(sweep(REAL, name, [1, 5, 3, 3], [4, 2, 3, 0]))
        SAMPLES.append(op(name, SPECIAL, SPECIAL[::-1]))
        SAMPLES.append(op(name, normal(2, 3), normal(3)))
        SAMPLES.append(
            op(name, normal(2), normal(3), error="Incompatible shapes|Dimensions must be equal")
        )
        SAMPLES.append(op(name, 3, 4))
    for name in ("Equal", "NotEqual"):
        SAMPLES.append(op(name, ["a", "b"], ["a", "c"]))
        SAMPLES.append(op(name, "a", "a"))
        SAMPLES.append(op(name, [True, False], [True, True]))
        SAMPLES.append(sweep(COMPLEX, name, c, c))
        SAMPLES.append(op(name, normal(2), normal(3), incompatible_shape_error=False))
        SAMPLES.append(op(name, normal(2), normal(2), incompatible_shape_error=False))
        SAMPLES.append(op(name, normal(2), normal(1), incompatible_shape_error=False))
    SAMPLES.append(
        sweep(
            f"{FLOATS} int32 complex64",
            "ApproximateEqual",
            [1.0, 2.0],
            [1.001, 2.0],
            tolerance=0.01,
        )
    )
    SAMPLES.append(op("ApproximateEqual", [1.0], [1.0, 2.0], error="same shape|equal"))
    for name in ("LogicalAnd", "LogicalOr"):
        SAMPLES.append(op(name, [True, True, False, False], [True, False, True, False]))
        SAMPLES.append(op(name, True, [True, False]))
        SAMPLES.append(op(name, True, False))
    for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        SAMPLES.append(sweep(INTEGERS, name, [0, 5, 3, 14], [5, 0, 7, 11]))
    for name in ("LeftShift", "RightShift"):
        SAMPLES.append(sweep(INTEGERS, name, [1, 5, 3, 14], [1, 0, 2, 3]))
    SAMPLES.append(sweep(SIGNED, "RightShift", [-1, -5, -3, -14], [1, 0, 2, 3]))
    SAMPLES.append(sweep(SIGNED, "LeftShift", [-1, -5, -3, -14], [1, 0, 2, 3]))
    SAMPLES.append(op("LeftShift", [1, 1, 1], [40, -1, 31]))
    SAMPLES.append(op("RightShift", [100, -100, 1], [40, 40, -1]))


def _choice_and_sums() -> None:
    """Select, AddN."""
    x, y = normal(2, 3), normal(2, 3, seed=4)
    mask = np.array([[True, False, True], [False, False, True]])
    for name in ("Select", "SelectV2"):
        SAMPLES.append(sweep(f"{NUMBERS} bool", name, mask, x * 10, y * 10, fixed=(0,)))
        SAMPLES.append(op(name, True, x, y))
        SAMPLES.append(op(name, False, x, y))
        SAMPLES.append(op(name, [True, False], ["a", "b"], ["c", "d"]))
        SAMPLES.append(op(name, True, 1.0, 2.0))
    SAMPLES.extend(
        [
            op("Select", [True, False], x, y),
            op(
                "Select", [True, False, True], x, y, error="must match size of 'cond'|must be equal"
            ),
            op("Select", mask, x, y[:, :2], error="same size|must be equal"),
            op("Select", mask[:, :2], x, y, error="must be a vector|must be equal"),
            op("SelectV2", [True, False, True], x, y),
            op("SelectV2", mask[:, :1], x, y[:1]),
            op("SelectV2", mask, 1.0, y),
            op("SelectV2", [True, False], x, y, error="must be broadcastable|must be equal"),
            sweep(NUMBERS, "AddN", Many([x * 9, y * 9, x])),
            op("AddN", Many([x])),
            op("AddN", Many([1.0, 2.0, 3.0, 4.0])),
            op("AddN", Many([x] * 11)),
            op("AddN", Many([x, y[0]]), error="must have the same size and shape|must be equal"),
            op("AccumulateNV2", Many([x, y, x]), shape=[2, 3]),
        ]
    )


def _reductions() -> None:
    """Sums, means, extremes."""
    x = normal(3, 4, 2)
    for name in ("Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm"):
        real_only = name in ("Max", "Min")
        types = f"{REAL}" if real_only else NUMBERS
        if name == "EuclideanNorm":
            types = f"float double {COMPLEX}"
        SAMPLES.append(sweep(types, name, uniform(2, 3, low=1, high=9), [1], fixed=(1,)))
        for axes in ([0], [1, 2], [0, 1, 2], [-1], [2, 0], 1, []):
            SAMPLES.append(op(name, x, np.asarray(axes, np.int32)))
        SAMPLES.append(op(name, x, [0, 2], keep_dims=True))
        SAMPLES.append(op(name, x, np.array([1], np.int64)))
        SAMPLES.append(op(name, x, [3], error="Invalid reduction dimension"))
        SAMPLES.append(op(name, x, [0, 0], error="duplicate"))
        SAMPLES.append(op(name, 2.5, np.zeros(0, np.int32)))
        SAMPLES.append(checked(op(name, EMPTY, [0]), gradient=False))
        SAMPLES.append(checked(op(name, EMPTY, [1]), gradient=False))
        SAMPLES.append(checked(op(name, EMPTY, [0, 1]), gradient=False))
        SAMPLES.append(op(name, normal(4, 300), [1]))
        SAMPLES.append(checked(op(name, [[NAN, 1.0], [2.0, INF]], [1]), gradient=False))
        SAMPLES.append(checked(op(name, [[1.0, NAN], [NAN, NAN]], [0]), gradient=False))
    SAMPLES.append(sweep("int8 uint8 int32", "Sum", [[100, 100, 100]], [1], fixed=(1,)))
    SAMPLES.append(sweep("int8 uint8 int32", "Prod", [[100, 100, 100]], [1], fixed=(1,)))
    SAMPLES.append(
        sweep("int8 int32 int64", "Mean", [[-100, -100, -101], [5, 5, 6]], [1], fixed=(1,))
    )
    SAMPLES.append(
        sweep("int32 uint32 int64", "Mean", [[2**31 - 1, 2**31 - 1, 2**31 - 3]], [1], fixed=(1,))
    )
    SAMPLES.append(op("Mean", np.array([2**63 - 1, 2**63 - 1, 5]), [0]))
    SAMPLES.append(
        sweep("half bfloat16", "Sum", np.linspace(0, 3, 1000).reshape(2, 500), [1], fixed=(1,))
    )
    SAMPLES.append(
        sweep("half bfloat16", "Sum", np.linspace(0, 3, 1000).reshape(500, 2), [0], fixed=(1,))
    )
    SAMPLES.append(
        sweep("half bfloat16", "Mean", np.linspace(0, 3, 1000).reshape(2, 500), [1], fixed=(1,))
    )
    SAMPLES.append(sweep("half", "Prod", np.linspace(0.9, 1.1, 60).reshape(2, 30), [1], fixed=(1,)))
    for name in ("Max", "Min"):
        SAMPLES.append(sweep(REAL, name, np.zeros((0, 2)), [0], fixed=(1,)))
        SAMPLES.append(op(name, [[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]], [1]))
        SAMPLES.append(op(name, [[-INF, -INF], [INF, 0.0]], [1]))
    SAMPLES.append(op("Prod", [[1.0, 0.0, 3.0], [0.0, 0.0, 2.0]], [1]))
    for name in ("All", "Any"):
        mask = np.array([[True, False, True], [True, True, True], [False, False, False]])
        SAMPLES.append(op(name, mask, [1]))
        SAMPLES.append(op(name, mask, [0, 1]))
        SAMPLES.append(op(name, mask, [0], keep_dims=True))
        SAMPLES.append(op(name, np.zeros((0, 2), bool), [0]))
        SAMPLES.append(op(name, True, np.zeros(0, np.int32)))
    for name in ("ArgMax", "ArgMin"):
        SAMPLES.append(sweep(REAL, name, [[1, 3, 3], [2, 0, 0]], 1, fixed=(1,)))
        SAMPLES.append(op(name, [[True, False], [False, True]], 1))
        SAMPLES.append(op(name, x, 0))
        SAMPLES.append(op(name, x, -1, output_type="int32"))
        SAMPLES.append(op(name, [NAN, 1.0, 2.0], 0))
        SAMPLES.append(op(name, [1.0, NAN, -2.0, 2.0], 0))
        SAMPLES.append(op(name, [NAN, NAN], 0))
        SAMPLES.append(op(name, [-INF, -INF, INF, INF], 0))
        SAMPLES.append(op(name, [NAN, -INF, INF], 0))
        SAMPLES.append(op(name, x, 3, error="Expected dimension in the range|must be in the range"))
        SAMPLES.append(op(name, EMPTY, 0, error="is empty in shape"))
        SAMPLES.append(op(name, EMPTY, 1))
        SAMPLES.append(op(name, x, [0], error="must be a scalar|rank 0"))
        SAMPLES.append(op(name, x, np.int64(1)))
    SAMPLES.append(op("ArgMax", x, 1, output_type="uint16"))


def _products() -> None:
    """Products of matrices."""
    a, b = normal(2, 3), normal(3, 4)
    types = "bfloat16 half float double int32 int64 complex64 complex128"
    SAMPLES.extend(
        [
            sweep(types, "MatMul", a * 5, b * 5),
            op("MatMul", a.T, b, transpose_a=True),
            op("MatMul", a, b.T, transpose_b=True),
            op("MatMul", a.T, b.T, transpose_a=True, transpose_b=True),
            op("MatMul", a, a, error="Matrix size-incompatible|must be equal"),
            op("MatMul", a, b[0], error="is not a matrix|rank 2"),
            op("MatMul", np.zeros((0, 3), np.float32), b),
            op("MatMul", np.zeros((2, 0), np.float32), np.zeros((0, 4), np.float32)),
            op("MatMul", (a + 1j * a).astype(np.complex64), (b - 2j * b).astype(np.complex64)),
            op("MatMul", integers(5, 9), integers(9, 3)),
            op("MatMul", np.full((2, 6), 2**30, np.int32), np.full((6, 2), 3, np.int32)),
            op("MatMul", normal(40, 70), normal(70, 30)),
            sweep("half bfloat16", "MatMul", normal(4, 200), normal(200, 3)),
            sweep(types, "BatchMatMul", normal(2, 2, 3), normal(2, 3, 2)),
            op("BatchMatMul", normal(2, 3, 2), normal(2, 3, 2), adj_x=True),
            op("BatchMatMul", normal(2, 3, 2), normal(2, 3, 2), adj_y=True),
            op("BatchMatMul", normal(2, 3, 2), normal(2, 4, 3), adj_x=True, adj_y=True),
            op(
                "BatchMatMul",
                normal(2, 3, 2),
                normal(1, 2, 3),
                error="must be the same|must be equal",
            ),
            op("BatchMatMul", a, b),
            sweep(types, "BatchMatMulV2", normal(2, 2, 3), normal(2, 3, 2)),
            op("BatchMatMulV2", normal(5, 1, 2, 3), normal(4, 3, 2)),
            op("BatchMatMulV2", normal(2, 3), normal(4, 3, 2)),
            op("BatchMatMulV2", normal(4, 3, 2), normal(3, 2), adj_x=True),
            op("BatchMatMulV2", normal(4, 2, 3), normal(1, 2, 3), adj_y=True),
            op(
                "BatchMatMulV2",
                (normal(2, 3, 2) + 1j).astype(np.complex64),
                (normal(2, 3, 2) - 1j).astype(np.complex64),
                adj_x=True,
            ),
            op(
                "BatchMatMulV2",
                (normal(2, 2, 3) + 1j).astype(np.complex64),
                (normal(2, 2, 3) - 1j).astype(np.complex64),
                adj_y=True,
            ),
            op(
                "BatchMatMulV2",
                normal(2, 2, 3),
                normal(3, 3, 2),
                error="compatible batch dimensions|must be equal",
            ),
            op(
                "BatchMatMulV2",
                normal(2, 2, 3),
                normal(2, 2, 3),
                error="Matrix size-incompatible|must be equal",
            ),
            op(
                "BatchMatMulV2", normal(3), normal(3, 3), error="ndims must be >= 2|at least rank 2"
            ),
            op("BatchMatMulV2", np.zeros((2, 0, 3), np.float32), normal(2, 3, 2)),
            op(
                "BatchMatMulV3",
                integers(2, 2, 3).astype(np.int8),
                integers(2, 3, 2).astype(np.int8),
                Tout="int32",
            ),
            op("SparseMatMul", a, b),
            op("SparseMatMul", a.T, b, transpose_a=True, a_is_sparse=True),
            op("SparseMatMul", a, b.T, transpose_b=True, b_is_sparse=True),
            op("SparseMatMul", a.T, b.T, transpose_a=True, transpose_b=True),
        ]
    )


def _sequences() -> None:
    """Range, cumulative sums, cross products."""
    SAMPLES.extend(
        [
            sweep("bfloat16 float double int32 int64", "Range", 2, 11, 3),
            checked(sweep("half", "Range", 2, 11, 3), shapes=False),
            op("Range", 0.0, 1.0, 0.1),
            op("Range", 10, 0, -3),
            op("Range", 0, 0, 1),
            op("Range", 3.0, 0.0, -0.5),
            op("Range", 0, 5, 0, error="delta != 0"),
            op("Range", 5, 0, 1, error="start <= limit"),
            op("Range", 0, 5, -1, error="start >= limit"),
            op("Range", [1, 1], 5, 1, error="must be a scalar|rank 0"),
            op("Range", [1], 5, 1, error="rank 0"),
            checked(op("Range", 0.0, 100.0, 0.3), exact=True),
            checked(sweep("double", "Range", 0.0, 30.0, 0.1), exact=True),
            sweep("bfloat16 half float double", "LinSpace", 1.0, 5.0, 9, fixed=(2,)),
            op("LinSpace", 1.0, 2.0, 1),
            op("LinSpace", 5.0, -3.0, 7),
            op("LinSpace", 1.0, 2.0, 0, error="num > 0"),
            op("LinSpace", [1.0], 2.0, 3, error="must be a scalar|rank 0"),
            sweep(
                "float double int32 uint8 half",
                "Cross",
                [[1, 2, 3], [3, 2, 1]],
                [[4, 5, 6], [1, 1, 2]],
            ),
            op("Cross", normal(2, 2), normal(2, 2), error="3-element|must be 3"),
            op("Cross", 1.0, 2.0, error="at least 1|at least rank 1"),
            op("Cross", normal(2, 3), normal(3), error="same shape|equal rank"),
        ]
    )
    x = uniform(3, 4, low=0.5, high=1.5)
    for name in ("Cumsum", "Cumprod", "CumulativeLogsumexp"):
        types = NUMBERS if name != "CumulativeLogsumexp" else "half float double"
        SAMPLES.append(sweep(types, name, [[1, 2, 3], [3, 2, 1]], 1, fixed=(1,)))
        for exclusive in (False, True):
            for reverse in (False, True):
                SAMPLES.append(op(name, x, 0, exclusive=exclusive, reverse=reverse))
                SAMPLES.append(op(name, x, -1, exclusive=exclusive, reverse=reverse))
        # Two-byte floats are rounded at every step, not only at the end.
        long = uniform(2, 40, low=-1.5, high=1.5)
        rows = sweep("half bfloat16", name, long, 1, fixed=(1,), reverse=True)
        SAMPLES.append(checked(rows, exact=True, gradient=False))
        SAMPLES.append(op(name, x, 2, error="scan axis in the range"))
        SAMPLES.append(checked(op(name, EMPTY, 0, exclusive=True), gradient=False))
    SAMPLES.append(op("Cumprod", [1.0, 0.0, 3.0, 2.0], 0))


def _casts() -> None:
    """Rows for every pair of types, and for numbers that do not fit."""
    kinds = f"{NUMBERS} bool"
    for target in kinds.split():
        SAMPLES.append(sweep(kinds, "Cast", [0, 1, 2, 100], DstT=target))
        SAMPLES.append(
            sweep(f"{FLOATS} {SIGNED} {COMPLEX}", "Cast", [-1.7, 2.5, -100.0], DstT=target)
        )
    for target in INTEGERS.split():
        # In TensorFlow the result for a number that does not fit may depend on its place in the
        # array; the results for these do not.
        unfit = [300.5, -300.5, 70000.0, 3e9, -3e9, 1e19, -1e19, 1e30, NAN, INF, -INF]
        if target == "uint32":
            unfit = [300.5, -300.5, 70000.0, 3e9]
        types = (
            "float double half bfloat16"
            if target in ("int32", "int64", "uint64")
            else "float double half"
        )
        SAMPLES.append(checked(sweep(types, "Cast", unfit, DstT=target), gradient=False))
        SAMPLES.append(
            sweep("int32 int64 uint64", "Cast", [300, 70000, 2147483647, 127], DstT=target)
        )
    SAMPLES.extend(
        [
            op(
                "Cast",
                [1.0000001, 3.14159, -2.71828, 1e-40, NAN, INF],
                DstT="bfloat16",
                Truncate=True,
            ),
            op("Cast", [1.0009, 3.14159, -2.71828, 70000.0], DstT="half", Truncate=True),
            op("Cast", 3.7, DstT="int32"),
            op("Cast", EMPTY, DstT="double"),
            op("Cast", np.array([1e300, -1e300, 1e-300]), DstT="float"),
        ]
    )


def _clips() -> None:
    """ClipByValue."""
    x = normal(2, 3)
    SAMPLES.extend(
        [
            sweep(REAL, "ClipByValue", [1, 5, 9, 3], 2, 6),
            op("ClipByValue", x, -0.5, 0.5),
            op("ClipByValue", x, x - 0.1, x * 0.5),
            op("ClipByValue", x, x[0], 1.0, error="same shape as input"),
        ]
    )


for _make in (
    _unary,
    _binary,
    _choice_and_sums,
    _reductions,
    _products,
    _sequences,
    _casts,
    _clips,
):
    _make()
