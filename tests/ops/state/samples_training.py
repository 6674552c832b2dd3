"""Rows for the ops that apply gradients."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tests.ops.samples import Resource, Sample, Uninitialized, checked, normal, op, uniform

SAMPLES: list[Sample | list[Sample]] = []

_SHAPE = (3, 4)

# name, number of slots, other inputs, extra attrs to try
_RULES: list[tuple[str, int, str, list[dict[str, Any]]]] = [
    ("GradientDescent", 1, "alpha delta", []),
    ("ProximalGradientDescent", 1, "alpha l1 l2 delta", []),
    ("Adadelta", 3, "lr rho epsilon grad", []),
    ("Adagrad", 2, "lr grad", [{"update_slots": False}]),
    ("AdagradV2", 2, "lr epsilon grad", [{"update_slots": False}]),
    ("ProximalAdagrad", 2, "lr l1 l2 grad", []),
    ("AdagradDA", 3, "grad lr l1 l2 global_step", []),
    ("Ftrl", 3, "grad lr l1 l2 lr_power", [{"multiply_linear_by_lr": True}]),
    ("FtrlV2", 3, "grad lr l1 l2 l2_shrinkage lr_power", [{"multiply_linear_by_lr": True}]),
    ("Momentum", 2, "lr grad momentum", [{"use_nesterov": True}]),
    ("KerasMomentum", 2, "lr grad momentum", [{"use_nesterov": True}]),
    ("Adam", 3, "beta1_power beta2_power lr beta1 beta2 epsilon grad", [{"use_nesterov": True}]),
    ("AdamWithAmsgrad", 4, "beta1_power beta2_power lr beta1 beta2 epsilon grad", []),
    ("AdaMax", 3, "beta1_power lr beta1 beta2 epsilon grad", []),
    ("RMSProp", 3, "lr rho momentum epsilon grad", []),
    ("CenteredRMSProp", 4, "lr rho momentum epsilon grad", []),
    ("AddSign", 2, "lr alpha sign_decay beta grad", []),
    ("PowerSign", 2, "lr logbase sign_decay beta grad", []),
]

_NUMBERS = {
    "alpha": 0.3, "lr": 0.2, "l1": 0.05, "l2": 0.1, "l2_shrinkage": 0.02, "rho": 0.9,
    "epsilon": 0.01,
    "momentum": 0.8, "beta1_power": 0.81, "beta2_power": 0.9, "beta1": 0.9, "beta2": 0.95,
    "lr_power": -0.5, "sign_decay": 0.7, "beta": 0.6, "logbase": 1.2,
}  # fmt: skip

_NO_RESOURCE_PREFIX = {"KerasMomentum", "AdamWithAmsgrad"}
_HAS_SPARSE = {
    "ProximalGradientDescent", "Adadelta", "Adagrad", "AdagradV2", "ProximalAdagrad", "AdagradDA",
    "Ftrl", "FtrlV2", "Momentum", "KerasMomentum", "RMSProp", "CenteredRMSProp",
}  # fmt: skip


def _slots(count: int, dtype: Any) -> list[Any]:
    # mg of CenteredRMSProp must stay below the root of ms.
    small = [uniform(*_SHAPE, low=0.05, high=0.1, seed=i) for i in range(1)]
    large = [uniform(*_SHAPE, low=0.5, high=1.5, seed=i) for i in range(4)]
    slots = [normal(*_SHAPE)] + (small + large[:2] if count == 4 else large[: count - 1])
    return [slot.astype(dtype) for slot in slots]


def _others(words: str, dtype: Any, sparse: bool, **numbers: float) -> list[Any]:
    values: list[Any] = []
    for word in words.split():
        if word in ("grad", "delta"):
            rows = 4 if sparse else _SHAPE[0]
            values.append(normal(rows, *_SHAPE[1:], seed=3).astype(dtype))
            if sparse:
                values.append(np.array([2, 0, 2, 2], np.int32))
        elif word == "global_step":
            values.append(np.int64(7))
        else:
            values.append(np.asarray({**_NUMBERS, **numbers}[word], dtype))
    return values


def _make() -> None:
    for name, count, words, extras in _RULES:
        for sparse in (False, True):
            if sparse and name not in _HAS_SPARSE:
                continue
            prefix = "SparseApply" if sparse else "Apply"
            kinds = ["Resource"] if name in _NO_RESOURCE_PREFIX else ["", "Resource"]
            for kind in kinds:
                for dtype in (np.float32, np.float64, np.float16):
                    if dtype == np.float16 and (kind or sparse):
                        continue
                    for attrs in [{}, *extras] if dtype == np.float32 else [{}]:
                        for numbers in _variants(words, dtype):
                            slots = _slots(count, dtype)
                            if kind:
                                slots = [Resource(slot) for slot in slots]
                            row = op(
                                kind + prefix + name,
                                *slots,
                                *_others(words, dtype, sparse, **numbers),
                                **attrs,
                            )
                            rtol = {np.float32: 1e-5, np.float64: 1e-12, np.float16: 4e-3}[dtype]
                            SAMPLES.append(checked(row, rtol=rtol))


def _variants(words: str, dtype: Any) -> list[dict[str, float]]:
    variants: list[dict[str, float]] = [{}]
    if dtype == np.float32:
        if re.search(r"\bl1\b", words):
            variants.append({"l1": 0.0})
        if "lr_power" in words:
            variants.append({"lr_power": -0.3})
    return variants


def _errors() -> None:
    x = normal(3)
    rows = normal(3, 2)
    SAMPLES.extend(
        [
            op("ApplyGradientDescent", x, 0.1, normal(2), error="same shape|must be equal"),
            op("ApplyGradientDescent", x, [0.1], x, error="not a scalar|rank 0"),
            op("ApplyMomentum", x, normal(2), 0.1, x, 0.9, error="same shape|must be equal"),
            op(
                "ApplyGradientDescent",
                Uninitialized("float32", (3,)),
                0.1,
                x,
                error="uninitialized",
            ),
            op(
                "ResourceApplyGradientDescent",
                Resource(x),
                0.1,
                normal(2),
                error="same shape|must be equal",
            ),
            op(
                "SparseApplyMomentum",
                rows,
                rows,
                0.1,
                rows,
                [0, 1, 5],
                0.9,
                error="Index 5 at offset 2 in indices is out of range",
            ),
            op(
                "SparseApplyMomentum",
                rows,
                rows,
                0.1,
                rows,
                [0, 1],
                0.9,
                error="same size as indices|must be equal",
            ),
            op(
                "SparseApplyMomentum",
                rows,
                rows,
                0.1,
                rows,
                [[0], [1], [2]],
                0.9,
                error="one-dimensional|rank 1",
            ),
            op("SparseApplyMomentum", rows, rows, 0.1, rows[:0], np.zeros(0, np.int64), 0.9),
            op("ApplyGradientDescent", 1.5, 0.1, 2.0),
            op("ResourceApplyMomentum", Resource(2.0), Resource(0.5), 0.1, 1.0, 0.9),
            checked(
                op(
                    "ApplyAdam",
                    normal(300, 100),
                    uniform(300, 100),
                    uniform(300, 100),
                    0.9,
                    0.99,
                    0.01,
                    0.9,
                    0.99,
                    1e-8,
                    normal(300, 100, seed=1),
                ),
                rtol=1e-5,
            ),
        ]
    )


_make()
_errors()
