"""Random calls of ops that write variables: assignments and optimizers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tests.ops.samples import NUMPY_TYPES, Resource, Sample, op
from tests.random_calls.draws import Draw, calls
from tfnb.core import op_registry

_KINDS = """AdaMax Adadelta Adagrad AdagradDA AdagradV2 Adam AddSign CenteredRMSProp Ftrl FtrlV2
GradientDescent Momentum PowerSign ProximalAdagrad ProximalGradientDescent RMSProp
AdamWithAmsgrad KerasMomentum"""
_NAMES = " ".join(
    f"{head}{kind}"
    for kind in _KINDS.split()
    for head in ("Apply", "ResourceApply", "SparseApply", "ResourceSparseApply")
)
# Numbers whose roots are taken, or that are divisors.
_POSITIVE = (
    "accum",
    "linear",
    "v",
    "ms",
    "accum_update",
    "gradient_squared_accumulator",
    "vhat",
    "mg",
)


def _known(names: str) -> str:
    import importlib

    importlib.import_module("tfnb.ops.all_ops")
    return " ".join(n for n in names.split() if op_registry.find(n))


@calls(_known(_NAMES))
def _apply(d: Draw, name: str) -> Sample:
    definition = op_registry.get(name).op_def
    word = d.one("float32 float32 float64 float16 bfloat16")
    sparse = "Sparse" in name
    shape = (d.number(1, 4), *d.shape(0, 2, 3)) if sparse else d.shape(0, 3)
    rows = d.number(0, 4)
    edges = 0.1 if not sparse and not name.endswith(("Amsgrad", "AdaMax")) else 0.0
    inputs: list[Any] = []
    for arg in definition.inputs:
        is_resource = arg.type is not None and getattr(arg.type, "name", "") == "resource"
        if arg.is_ref or is_resource:
            positive = arg.name in _POSITIVE
            value = d.positive(word, shape) if positive else d.values(word, shape, 0)
            if arg.name == "mg":
                # The mean of squares is at least the square of the mean.
                value = (value * 0).astype(value.dtype)
            inputs.append(Resource(value, word) if is_resource else value)
        elif arg.name in ("grad", "delta"):
            inputs.append(d.values(word, (rows, *shape[1:]) if sparse else shape, edges))
        elif arg.name == "indices":
            inputs.append(d.indices((rows,), shape[0]))
        elif arg.name == "global_step":
            inputs.append(np.array(d.number(1, 9), np.int64))
        else:
            # Rates, decays and regularizations.
            number = {"lr_power": -0.5, "beta1_power": 0.9, "beta2_power": 0.99}.get(
                arg.name, d.one([0.1, 0.5, 0.01, 0.9])
            )
            inputs.append(np.array(number, NUMPY_TYPES[word]))
    attrs = {
        attr.name: d.chance(0.5)
        for attr in definition.attrs
        if attr.type == "bool" and attr.name != "use_locking"
    }
    row = op(name, *inputs, **attrs)
    loose = {"float32": 2e-5, "float64": 1e-11, "float16": 5e-2, "bfloat16": 0.25}[word]
    return replace(row, rtol=loose, atol=loose)


@calls("Assign AssignAdd AssignSub AssignVariableOp AssignAddVariableOp AssignSubVariableOp")
def _assign(d: Draw, name: str) -> Sample:
    is_resource = name.endswith("VariableOp")
    word = d.types(name, "dtype" if is_resource else "T")
    shape = d.shape()
    if is_resource and name != "AssignVariableOp" and word in ("bool", "string"):
        word = "int32"
    x: Any = d.values(word, shape)
    other = shape if d.chance(0.95) else d.shape()
    if is_resource:
        return op(name, Resource(x, word), d.values(word, other))
    return op(name, x, d.values(word, other))


@calls("CountUpTo")
def _count(d: Draw, name: str) -> Sample:
    word = d.types(name)
    return op(name, d.indices((), 5, word), limit=d.number(1, 6))


@calls("ReadVariableOp VariableShape")
def _read(d: Draw, name: str) -> Sample:
    word = d.one("float32 int32 bool string complex64")
    x = Resource(d.values(word, d.shape()), word)
    return (
        op(name, x, dtype=word)
        if name == "ReadVariableOp"
        else op(name, x, out_type=d.one("int32 int64"))
    )
