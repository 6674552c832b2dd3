"""Rows for Einstein summation and for fused products."""

from __future__ import annotations

import numpy as np

from tests.ops.samples import Many, Sample, checked, normal, op, sweep, uniform

SAMPLES: list[Sample | list[Sample]] = []

_SIZES = {"i": 2, "j": 3, "k": 4, "l": 5, "b": 2}


def _operand(labels: str, *dots: int, seed: int = 0) -> np.ndarray:
    before, has_dots, after = labels.partition("...")
    sizes = (
        [_SIZES[a] for a in before] + list(dots if has_dots else ()) + [_SIZES[a] for a in after]
    )
    return normal(*sizes, seed=seed)


def _einsum() -> None:
    one = [
        "ij->ji",
        "ij->",
        "ij->j",
        "ii->i",
        "ii->",
        "iij->j",
        "ijj->ji",
        "ijk->kij",
        "->",
        "i->ii",
        "ij->iij",
        "ij->ijj",
        "iij->ij",
    ]
    for equation in one:
        labels = equation.partition("->")[0]
        SAMPLES.append(
            checked(op("Einsum", Many([_operand(labels)]), equation=equation), rtol=1e-5)
        )
    for equation in (
        "...ij->...ji",
        "i...->...",
        "...->...",
        "i...j->j...i",
        "...ii->...i",
        "i...i->...",
        "...j->...",
    ):
        labels = equation.partition("->")[0]
        for dots in ((), (3,), (2, 3)):
            row = op("Einsum", Many([_operand(labels, *dots)]), equation=equation)
            SAMPLES.append(checked(row, rtol=1e-5))
    two = [
        "ij,jk->ik",
        "ij,kj->ik",
        "ij,ij->ij",
        "ij,ij->",
        "i,j->ij",
        "ij,k->ijk",
        "bij,bjk->bik",
        "ijk,jil->kl",
        "ij,j->i",
        ",ij->ij",
        "ijk,k->j",
        "iij,jk->k",
        "ij,jk->j",
        "ij,kl->",
        "ij,jkk->k",
        "ij,jk->iik",
        "ij,kj->kik",
    ]
    for equation in two:
        left, right = equation.partition("->")[0].split(",")
        row = op("Einsum", Many([_operand(left), _operand(right, seed=1)]), equation=equation)
        SAMPLES.append(checked(row, rtol=1e-5, atol=1e-5))
    dotted = [
        "...ij,...jk->...ik",
        "ij,...jk->...ik",
        "...ij,jk->...ik",
        "...,...->...",
        "i...,i...->...",
        "...ij,...kj->ik...",
        "...ij,...jk->...k",
    ]
    for equation in dotted:
        left, right = equation.partition("->")[0].split(",")
        for x_dots, y_dots in (
            ((), ()),
            ((3,), (3,)),
            ((3,), ()),
            ((2, 1), (1, 3)),
            ((1,), (2, 3)),
        ):
            operands = Many([_operand(left, *x_dots), _operand(right, *y_dots, seed=1)])
            row = op("Einsum", operands, equation=equation)
            SAMPLES.append(checked(row, rtol=1e-5, atol=1e-5))
    for dtype in ("half", "bfloat16", "double", "complex64", "complex128", "int32", "int64"):
        x = Many([normal(2, 3) * 4, normal(3, 4) * 4])
        SAMPLES.append(checked(sweep(dtype, "Einsum", x, equation="ij,jk->ik"), **_loose(dtype)))
    SAMPLES.append(
        op(
            "Einsum",
            Many([normal(2, 3), normal(2, 4)]),
            equation="ij,jk->ik",
            error="Dimension|dimension",
        )
    )
    SAMPLES.append(op("Einsum", Many([normal(2, 3)]), equation="ijk->i", error="rank"))
    SAMPLES.append(op("Einsum", Many([normal(2)]), equation="i...j->...", error="rank"))
    SAMPLES.append(op("Einsum", Many([normal(2, 3)]), equation="ij->k", error="label"))
    SAMPLES.append(op("Einsum", Many([normal(2, 3)]), equation="ij", error="->"))
    SAMPLES.append(
        op("Einsum", Many([normal(2, 3)]), equation="ij,jk->k", error="Expected|expected")
    )
    SAMPLES.append(
        op(
            "Einsum",
            Many([normal(2, 1), normal(3, 1)]),
            equation="ij,ij->i",
            error="Dimension|dimension",
        )
    )
    empty = Many([np.zeros((2, 0), np.float32), np.zeros((0, 3), np.float32)])
    SAMPLES.append(op("Einsum", empty, equation="ij,jk->ik"))


def _loose(dtype: str) -> dict[str, float]:
    if dtype == "half":
        return {"rtol": 2e-3, "atol": 2e-2}
    return {"rtol": 2e-2, "atol": 0.1} if dtype == "bfloat16" else {"rtol": 1e-5, "atol": 1e-5}


def _fused() -> None:
    a, b, bias = normal(3, 4), normal(4, 5), normal(5)
    for ops in (
        ["BiasAdd"],
        ["BiasAdd", "Relu"],
        ["BiasAdd", "Relu6"],
        ["BiasAdd", "Elu"],
        ["BiasAdd", "LeakyRelu"],
        ["BiasAdd", "Tanh"],
        ["BiasAdd", "Sigmoid"],
    ):
        row = op("_FusedMatMul", a, b, Many([bias]), fused_ops=ops)
        SAMPLES.append(checked(row, rtol=2e-5, atol=1e-5, gradient=False))
    SAMPLES.append(
        checked(
            op(
                "_FusedMatMul",
                a.T,
                b.T,
                Many([bias]),
                fused_ops=["BiasAdd", "LeakyRelu"],
                leakyrelu_alpha=0.5,
                transpose_a=True,
                transpose_b=True,
            ),
            rtol=2e-5,
            atol=1e-5,
            gradient=False,
        )
    )
    SAMPLES.append(
        op(
            "_FusedMatMul",
            a,
            normal(3, 5),
            Many([bias]),
            fused_ops=["BiasAdd"],
            error="size-incompatible|must be equal",
        )
    )
    SAMPLES.append(
        op(
            "_FusedMatMul",
            a,
            b,
            Many([bias]),
            fused_ops=["BiasAdd", "GeluExact"],
            error="[Ff]usion",
        )
    )
    SAMPLES.append(op("_FusedMatMul", a, b, Many([bias]), fused_ops=["Relu"], error="[Ff]usion"))
    SAMPLES.append(op("_FusedMatMul", a, b, Many([bias]), error="fused"))


def _fused_convolutions() -> None:
    x, weights, vector = normal(2, 5, 6, 3), normal(3, 3, 3, 4), np.abs(normal(4)) + 0.5
    common = {"strides": [1, 2, 1, 1], "padding": "SAME"}
    for ops in (
        ["BiasAdd"],
        ["BiasAdd", "Relu"],
        ["BiasAdd", "Relu6"],
        ["BiasAdd", "Elu"],
        ["BiasAdd", "LeakyRelu"],
    ):
        row = op(
            "_FusedConv2D",
            x,
            weights,
            Many([vector]),
            Many([]),
            fused_ops=ops,
            num_args=1,
            **common,
        )
        SAMPLES.append(checked(row, rtol=2e-5, atol=1e-5, gradient=False))
    four = Many([vector, vector + 1, vector * 0.5, vector])
    for ops in (["FusedBatchNorm"], ["FusedBatchNorm", "Relu"]):
        row = op(
            "_FusedConv2D",
            x,
            weights,
            four,
            Many([]),
            fused_ops=ops,
            num_args=4,
            epsilon=0.01,
            **common,
        )
        SAMPLES.append(checked(row, rtol=2e-5, atol=1e-5, gradient=False))
    SAMPLES.append(
        op(
            "_FusedConv2D",
            x,
            weights,
            Many([vector]),
            Many([]),
            fused_ops=["Relu"],
            num_args=1,
            error="[Ff]usion",
            **common,
        )
    )


def _compositions() -> None:
    names = (
        "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Elu Exp Expm1 Floor Inv Log Log1p Neg "
        "Reciprocal Relu Relu6 Rint Round Rsqrt Selu Sigmoid Sin Sinh Sqrt Square Tan Tanh"
    )
    x = uniform(3, 4, seed=5)
    rows = [op("_UnaryOpsComposition", x, op_names=[name]) for name in names.split()]
    rows += [
        op("_UnaryOpsComposition", x.astype(dtype), op_names=["Square", "Neg", "Exp", "Sqrt"])
        for dtype in (np.float16, np.float32, np.float64)
    ]
    rows += [
        op("_UnaryOpsComposition", x, op_names=[], error="at least one op"),
        op("_UnaryOpsComposition", x, op_names=["Neg", "Foo"], error="registered for op: Foo"),
    ]
    SAMPLES.extend(checked(row, gradient=False) for row in rows)


_einsum()
_fused()
_fused_convolutions()
_compositions()

# Two equations may need the same row.
SAMPLES = list(
    {
        row.key(): row
        for entry in SAMPLES
        for row in (entry if isinstance(entry, list) else [entry])
    }.values()
)
