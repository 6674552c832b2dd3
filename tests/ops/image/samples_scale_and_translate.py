"""Rows for scaling and translating images."""

from __future__ import annotations

import numpy as np

from tests.ops.samples import Sample, checked, normal, op, sweep

SAMPLES: list[Sample | list[Sample]] = []

_KERNELS = "lanczos1 lanczos3 lanczos5 gaussian box triangle keyscubic mitchellcubic"
_LOOSE = {"rtol": 2e-5, "atol": 2e-5}


def _rows() -> None:
    name, x = "ScaleAndTranslate", normal(2, 7, 9, 3)
    for kernel in _KERNELS.split():
        for size, scale, translation in (
            ([10, 5], [1.4, 0.55], [0.0, 0.0]),
            ([4, 12], [0.5, 1.3], [0.7, -1.2]),
        ):
            for antialias in (False, True):
                row = op(name, x, size, scale, translation, kernel_type=kernel, antialias=antialias)
                SAMPLES.append(checked(row, **_LOOSE))
    values = np.arange(24).reshape(1, 4, 3, 2)
    rest = ([6, 5], [1.5, 1.5], [0.0, 0.0])
    types = "int8 uint8 int16 uint16 int32 int64 half bfloat16 float double"
    rows = sweep(types, name, values, *rest, fixed=(1, 2, 3))
    SAMPLES.append(checked(rows, gradient=False, **_LOOSE))
    SAMPLES.append(op(name, x[0], *rest, error="rank|4-dim"))
    SAMPLES.append(op(name, x, [6, 5, 3], *rest[1:], error="2|two"))
    SAMPLES.append(op(name, x, [0, 5], *rest[1:], error="positive"))
    SAMPLES.append(op(name, x, [6, 5], [0.0, 1.0], [0.0, 0.0], error="greater than zero"))
    SAMPLES.append(op(name, x, [6, 5], [1.0], [0.0, 0.0], error="2|two"))
    SAMPLES.append(op(name, x, *rest, kernel_type="other", error="kernel type"))
    SAMPLES.append(op(name, x[:, :0], *rest, error="non-zero"))
    grads = normal(2, 6, 5, 3)
    row = op("ScaleAndTranslateGrad", grads, x, [0.8, 1.2], [0.5, 0.0])
    SAMPLES.append(checked(row, gradient=False, **_LOOSE))


_rows()
