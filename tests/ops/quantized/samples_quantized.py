"""Rows for quantized numbers: to floats and back, and ops that compute with them."""

# ruff: noqa: PERF401 - every row is one append, loops or not

from __future__ import annotations

from typing import Any

import numpy as np

from tests.exact_numbers import RandomNumbers
from tests.ops.samples import NUMPY_TYPES, Many, Sample, normal, op, sweep

SAMPLES: list[Sample | list[Sample]] = []

_QUANTIZED = ("qint8", "quint8", "qint16", "quint16", "qint32")
_MODES = ("MIN_COMBINED", "MIN_FIRST", "SCALED")


def numbers(dtype: str, *shape: int, seed: int = 0, bits: int | None = None) -> Any:
    """Return quantized numbers, equal on every machine, over the whole type or within some bits."""
    target = NUMPY_TYPES[dtype]
    info = np.iinfo(target)
    low, high = int(info.min), int(info.max)
    if bits is not None:
        low, high = max(low, -(1 << bits)), min(high, 1 << bits)
    state = RandomNumbers(seed + sum(shape))
    return state.randint(low, high, size=shape, dtype=np.int64).astype(target)


def _quantize() -> None:
    x = np.concatenate([normal(40), np.array([-1, 1.5, 0, 1e-9, 2.5, -7], np.float32)])
    for dtype in _QUANTIZED:
        for mode in _MODES:
            attrs = {"T": dtype, "mode": mode}
            for low, high in ((-1.0, 1.5), (0.25, 3.0), (-2.0, -0.5), (0.5, 0.5)):
                SAMPLES.append(op("QuantizeV2", x, low, high, **attrs))
            rows = x[:12].reshape(2, 3, 2)
            lows, highs = [-1.0, 0.1, -2.0], [1.0, 0.7, -0.3]
            refusal = "not implemented" if mode == "MIN_FIRST" else None
            SAMPLES.append(op("QuantizeV2", rows, lows, highs, axis=1, error=refusal, **attrs))
    for dtype in ("qint8", "quint8"):
        for narrow in (False, True):
            attrs = {"T": dtype, "mode": "SCALED", "narrow_range": narrow}
            SAMPLES.append(op("QuantizeV2", x, -1.0, 1.5, round_mode="HALF_TO_EVEN", **attrs))
    narrow = {"T": "quint8", "mode": "SCALED", "narrow_range": True}
    SAMPLES.append(op("QuantizeV2", x, -3.0, -1.0, **narrow))
    row = op("QuantizeV2", x, 0.5, 0.5, T="quint8", ensure_minimum_range=0.5)
    SAMPLES.append(row)
    SAMPLES.append(op("QuantizeV2", normal(0, 3), -1.0, 1.0, T="quint8"))
    bad = {"T": "quint8"}
    SAMPLES.append(op("QuantizeV2", x, 1.0, -1.0, error="larger than", **bad))
    row = op("QuantizeV2", x, -1.0, 1.0, round_mode="HALF_TO_EVEN", error="only supported", **bad)
    SAMPLES.append(row)
    SAMPLES.append(op("QuantizeV2", x, [-1.0], [1.0], error="rank|scalar", **bad))
    SAMPLES.append(op("QuantizeV2", x, -1.0, 1.0, axis=-2, error="xis", **bad))
    SAMPLES.append(op("QuantizeV2", x, [-1.0], [1.0], axis=3, error="rank|xis", **bad))
    SAMPLES.append(op("QuantizeV2", x, [-1.0], [1.0], axis=0, error="equal|element", **bad))


def _dequantize() -> None:
    for dtype in _QUANTIZED:
        x = numbers(dtype, 3, 4)
        for mode in _MODES:
            attrs = {"T": dtype, "mode": mode}
            for low, high in ((-1.0, 1.5), (0.25, 3.0), (-2.0, -0.5), (0.5, 0.5)):
                SAMPLES.append(op("Dequantize", x, low, high, **attrs))
            refusal = None if mode == "MIN_COMBINED" else "output type is bfloat16"
            row = op("Dequantize", x, -1.0, 2.0, dtype="bfloat16", error=refusal, **attrs)
            SAMPLES.append(row)
        SAMPLES.append(op("Dequantize", x, -1.0, 0.5, T=dtype, mode="SCALED", narrow_range=True))
    x = numbers("quint8", 3, 4)
    SAMPLES.append(op("Dequantize", x, [-1.0], [1.0], T="quint8", error="rank|scalar"))
    SAMPLES.append(op("Dequantize", x, [-1.0], [1.0], T="quint8", axis=0, error="equal|Axis"))
    SAMPLES.append(op("Dequantize", x, [-1.0], [1.0], T="quint8", axis=2, error="rank|Axis"))
    SAMPLES.append(op("Dequantize", x, 1.0, -1.0, T="quint8"))
    ends = np.array([2**31 - 1, 2**31 - 64, 2**31 - 65, -(2**31)], np.int64).astype(np.int32)
    for mode in _MODES:
        SAMPLES.append(op("Dequantize", ends, -2.0, 1.0, T="qint32", mode=mode))


def _and_dequantize() -> None:
    x = normal(3, 4) * 2
    for attrs in (
        {},
        {"signed_input": False},
        {"num_bits": 4},
        {"range_given": True},
        {"range_given": True, "signed_input": False, "num_bits": 3},
    ):
        for more in ({}, {"round_mode": "HALF_UP"}, {"narrow_range": True}):
            name = "QuantizeAndDequantizeV2"
            SAMPLES.append(sweep("float double", name, x, -1.0, 1.5, **attrs, **more))
            SAMPLES.append(op("QuantizeAndDequantizeV4", x, -1.0, 1.5, **attrs, **more))
        lows, highs = [-1.0, 0.1, -2.0, -0.5], [1.0, 0.7, -0.3, 3.0]
        # With a given range, TensorFlow's kernel takes a scalar only, with any axis.
        for name in ("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"):
            if "range_given" not in attrs:
                SAMPLES.append(op(name, x, lows, highs, axis=1, **attrs))
        bits = attrs.get("num_bits", 8)
        rest = {key: value for key, value in attrs.items() if key != "num_bits"}
        for narrow in (False, True):
            name = "QuantizeAndDequantizeV3"
            SAMPLES.append(op(name, x, -1.0, 1.5, bits, narrow_range=narrow, **rest))
    grads = normal(3, 4, seed=5)
    SAMPLES.append(sweep("float double", "QuantizeAndDequantizeV4Grad", grads, x, -1.0, 1.5))
    lows, highs = [-1.0, 0.1, -2.0, -0.5], [1.0, 0.7, -0.3, 3.0]
    SAMPLES.append(op("QuantizeAndDequantizeV4Grad", grads, x, lows, highs, axis=1))
    zeros = np.zeros((2, 2), np.float32)
    SAMPLES.append(op("QuantizeAndDequantizeV2", zeros, 0.0, 0.0))
    SAMPLES.append(op("QuantizeAndDequantizeV2", zeros, 0.0, 0.0, range_given=True))
    name = "QuantizeAndDequantizeV2"
    SAMPLES.append(op(name, x, 1.0, -1.0, range_given=True, error="Invalid range"))
    SAMPLES.append(op(name, x, -1.0, 1.0, num_bits=0, error="out of range"))
    SAMPLES.append(op(name, x, -1.0, 1.0, num_bits=62, error="out of range"))
    SAMPLES.append(op(name, x, [-1.0], 1.0, range_given=True, error="rank|scalar"))
    SAMPLES.append(op(name, x, [-1.0], [1.0], axis=1, range_given=True, error="equal|scalar"))
    SAMPLES.append(op(name, x, [-1.0], [1.0], axis=4, error="rank"))
    SAMPLES.append(op(name, x, -1.0, 1.0, axis=-3, error="xis"))
    SAMPLES.append(op("QuantizeAndDequantizeV3", x, -1.0, 1.0, 70, error="out of range"))
    # A reversed range is refused only if it is a scalar.
    SAMPLES.append(op("QuantizeAndDequantizeV3", x, highs, lows, 8, axis=1))
    SAMPLES.append(op("QuantizeAndDequantizeV3", x, 1.0, -1.0, 8, error="Invalid range"))


def _requantize() -> None:
    x = numbers("qint32", 3, 4)
    small = numbers("qint32", 3, 4, bits=18)
    for values in (x, small):
        for low, high in ((-10.0, 12.0), (-700.0, 700.0), (-3e5, 1e6)):
            SAMPLES.append(op("RequantizationRange", values, low, high, Tinput="qint32"))
            shrink = {"Tinput": "qint32", "out_type": "quint8"}
            SAMPLES.append(op("QuantizeDownAndShrinkRange", values, low, high, **shrink))
            for new_low, new_high in ((-1.0, 2.0), (0.0, 3.0), (-5.0, -1.0), (0.0, 0.0)):
                for out in ("quint8", "qint8"):
                    attrs = {"Tinput": "qint32", "out_type": out}
                    row = op("Requantize", values, low, high, new_low, new_high, **attrs)
                    SAMPLES.append(row)
    attrs = {"Tinput": "qint32", "out_type": "quint8"}
    SAMPLES.append(op("Requantize", x, -1.0, 1.0, 0.5, 1.0, error="<= 0", **attrs))
    SAMPLES.append(op("Requantize", x, -1.0, 1.0, -0.5, -1.0, error=">=", **attrs))
    SAMPLES.append(op("Requantize", x, [-1.0], 1.0, -0.5, 1.0, error="rank|scalar", **attrs))
    row = op("QuantizeDownAndShrinkRange", x, [-1.0], 1.0, error="rank|scalar", **attrs)
    SAMPLES.append(row)
    empty = np.zeros((0, 2), np.int32)
    SAMPLES.append(op("RequantizationRange", empty, -1.0, 1.0, Tinput="qint32"))
    SAMPLES.append(op("QuantizeDownAndShrinkRange", empty, -1.0, 1.0, **attrs))
    zeros = np.zeros((2, 2), np.int32)
    SAMPLES.append(op("QuantizeDownAndShrinkRange", zeros, -1.0, 1.0, **attrs))
    image = numbers("qint32", 1, 2, 3, 3)
    lows, highs = [-1.0, -3.0, -0.2], [1.0, 2.0, 0.3]
    for out in ("quint8", "qint8"):
        attrs = {"T": "qint32", "out_type": out}
        SAMPLES.append(op("RequantizePerChannel", image, lows, highs, -0.4, 0.5, **attrs))
    row = op("RequantizePerChannel", image, lows[:2], highs, -0.4, 0.5, error="size|equal", **attrs)
    SAMPLES.append(row)
    row = op("RequantizePerChannel", x, lows, highs, -0.4, 0.5, error="4D", **attrs)
    SAMPLES.append(row)
    name = "RequantizationRangePerChannel"
    for clip in (0.1, 5.0):
        SAMPLES.append(op(name, image, lows, highs, T="qint32", clip_value_max=clip))
        up = np.abs(image // 2)
        SAMPLES.append(op(name, up, lows, highs, T="qint32", clip_value_max=clip))
    row = op(name, x, lows, highs, T="qint32", clip_value_max=1.0, error="NHWC")
    SAMPLES.append(row)


_quantize()
_dequantize()
_and_dequantize()
_requantize()


def _arithmetic() -> None:
    x, y = numbers("quint8", 3, 4), numbers("quint8", 3, 4, seed=1)
    types = {"T1": "quint8", "T2": "quint8"}
    for name in ("QuantizedAdd", "QuantizedMul"):
        for ends in ((0.0, 10.0, 0.0, 5.0), (-3.0, 7.0, -100.0, 20.0), (1.0, 3.0, -7.0, -2.0)):
            SAMPLES.append(op(name, x, y, *ends, **types))
        ends = (-3.0, 7.0, -10.0, 20.0)
        SAMPLES.append(op(name, x, y[0], *ends, **types))
        SAMPLES.append(op(name, y[0], x, *ends, **types))
        SAMPLES.append(op(name, x, y[0, 0], *ends, **types))
        SAMPLES.append(op(name, y[0, 0], x, *ends, **types))
        cube = numbers("quint8", 2, 3, 4)
        SAMPLES.append(op(name, cube, y[0], *ends, **types))
        SAMPLES.append(op(name, cube, y, *ends, **types))
        far = numbers("quint8", 2, 1, 4)
        SAMPLES.append(op(name, cube, far, *ends, error="not supported", **types))
        SAMPLES.append(op(name, x, y[:2], *ends, error="[Ii]ncompatible|equal", **types))
        SAMPLES.append(op(name, x, y, 1.0, 1.0, -1.0, 1.0, error="larger", **types))
        SAMPLES.append(op(name, x, y, [0.0], 1.0, -1.0, 1.0, error="rank|scalar", **types))
    a, b = numbers("quint8", 3, 40), numbers("quint8", 40, 5)
    for ends in ((0.0, 1.0, 0.0, 5.0), (-3.0, 7.0, -100.0, 20.0), (1.0, 3.0, -7.0, -2.0)):
        SAMPLES.append(op("QuantizedMatMul", a, b, *ends, **types))
    ends = (-3.0, 7.0, -100.0, 20.0)
    SAMPLES.append(op("QuantizedMatMul", a.T.copy(), b, *ends, transpose_a=True, **types))
    SAMPLES.append(op("QuantizedMatMul", a, b.T.copy(), *ends, transpose_b=True, **types))
    SAMPLES.append(op("QuantizedMatMul", a, a, *ends, error="ompatible|equal", **types))
    SAMPLES.append(op("QuantizedMatMul", a[0], b, *ends, error="rank|matrix", **types))
    SAMPLES.append(op("QuantizedMatMul", a, b, 1.0, 1.0, -1.0, 1.0, error="larger", **types))


def _shapes() -> None:
    parts = Many([numbers("quint8", 2, 3), numbers("quint8", 2, 1), numbers("quint8", 2, 2)])
    lows, highs = Many([-1.0, 0.5, 0.0]), Many([1.0, 3.0, 2.0])
    same_lows, same_highs = Many([-1.0, -1.0, -1.0]), Many([2.0, 2.0, 2.0])
    SAMPLES.append(op("QuantizedConcat", 1, parts, lows, highs, T="quint8"))
    SAMPLES.append(op("QuantizedConcat", -1, parts, lows, highs, T="quint8", error="range"))
    SAMPLES.append(op("QuantizedConcat", 1, parts, same_lows, same_highs, T="quint8"))
    wide = Many([numbers("qint32", 2, 3), numbers("qint32", 4, 3)])
    SAMPLES.append(op("QuantizedConcat", 0, wide, Many([-1.0, 0.5]), Many([1.0, 3.0]), T="qint32"))
    bad = {"T": "quint8", "error": "equal|match"}
    SAMPLES.append(op("QuantizedConcat", 0, parts, lows, highs, **bad))
    bad["error"] = "rank|range"
    SAMPLES.append(op("QuantizedConcat", 2, parts, lows, highs, **bad))
    bad["error"] = "rank|scalar"
    SAMPLES.append(op("QuantizedConcat", 1, parts, Many([[1.0], 2.0, 3.0]), highs, **bad))
    x = numbers("quint8", 2, 6)
    for shape in ([3, 4], [-1], [2, -1, 3]):
        SAMPLES.append(op("QuantizedReshape", x, shape, -1.0, 2.0, T="quint8"))
    SAMPLES.append(op("QuantizedReshape", numbers("qint32", 4), [2, 2], -1.0, 2.0, T="qint32"))
    SAMPLES.append(op("QuantizedReshape", x, [5], -1.0, 2.0, T="quint8", error="reshape"))
    row = op("QuantizedReshape", x, [12], [-1.0], 2.0, T="quint8", error="rank|scalar")
    SAMPLES.append(row)


_arithmetic()
_shapes()


def _layers() -> None:
    image, weights = numbers("quint8", 2, 5, 6, 3), numbers("quint8", 3, 2, 3, 4)
    types = {"Tinput": "quint8", "Tfilter": "quint8"}
    ends = (0.0, 10.0, -1.0, 2.0)
    for padding in ("SAME", "VALID"):
        for stride in (1, 2):
            attrs = {"strides": [1, stride, stride, 1], "padding": padding, **types}
            SAMPLES.append(op("QuantizedConv2D", image, weights, *ends, **attrs))
    attrs = {"strides": [1, 1, 1, 1], "padding": "SAME", **types}
    SAMPLES.append(op("QuantizedConv2D", image, weights, 1.0, 3.0, -4.0, -1.0, **attrs))
    point = numbers("quint8", 1, 1, 3, 4)
    SAMPLES.append(op("QuantizedConv2D", image, point, *ends, **attrs))
    narrow = image[..., :2].copy()
    row = op("QuantizedConv2D", narrow, weights, *ends, error="depth|equal", **attrs)
    SAMPLES.append(row)
    row = op("QuantizedConv2D", image[0], weights, *ends, error="rank 4", **attrs)
    SAMPLES.append(row)
    row = op("QuantizedConv2D", image, weights, [0.0], 1.0, 0.0, 1.0, error="rank|scalar", **attrs)
    SAMPLES.append(row)
    attrs["strides"] = [1, 1, 2, 1]
    SAMPLES.append(op("QuantizedConv2D", image, weights, *ends, error="equal", **attrs))
    attrs["strides"] = [2, 1, 1, 1]
    SAMPLES.append(op("QuantizedConv2D", image, weights, *ends, error="batch", **attrs))
    attrs = {"strides": [1, 1, 1, 1], "padding": "SAME", "dilations": [1, 2, 2, 1], **types}
    SAMPLES.append(op("QuantizedConv2D", image, weights, *ends, error="dilated", **attrs))
    for dtype in ("quint8", "qint8"):
        x, bias = numbers(dtype, 3, 4), numbers(dtype, 4)
        attrs = {"T1": dtype, "T2": dtype, "out_type": "qint32"}
        for ends in ((0.0, 10.0, -1.0, 2.0), (-3.0, 0.5, -1.0, 7.0)):
            SAMPLES.append(op("QuantizedBiasAdd", x, bias, *ends, **attrs))
        row = op("QuantizedBiasAdd", x, bias[:3], *ends, error="biases|equal", **attrs)
        SAMPLES.append(row)
        row = op("QuantizedBiasAdd", x, x, *ends, error="1D|rank", **attrs)
        SAMPLES.append(row)
    for dtype in ("quint8", "qint32"):
        x = numbers(dtype, 3, 4)
        attrs = {"Tinput": dtype, "out_type": dtype}
        for low, high in ((-10.0, 12.0), (0.0, 3.0), (-5.0, 6.0), (1.0, 2.0), (-3.0, -1.0)):
            SAMPLES.append(op("QuantizedRelu", x, low, high, **attrs))
            SAMPLES.append(op("QuantizedRelu6", x, low, high, **attrs))
        SAMPLES.append(op("QuantizedRelu", x, [-1.0], 1.0, error="rank|scalar", **attrs))
    row = op("QuantizedReluX", x, 3.0, -1.0, 1.0, Tinput="qint32", out_type="qint32")
    SAMPLES.append(row)


def _pools() -> None:
    for dtype in ("quint8", "qint8"):
        image = numbers(dtype, 2, 5, 6, 3)
        for name in ("QuantizedMaxPool", "QuantizedAvgPool"):
            for padding in ("SAME", "VALID"):
                for size, stride in ((2, 1), (2, 2), (3, 2)):
                    attrs = {"ksize": [1, size, size, 1], "strides": [1, stride, stride, 1]}
                    row = op(name, image, -1.0, 2.0, T=dtype, padding=padding, **attrs)
                    SAMPLES.append(row)
            attrs = {"ksize": [1, 2, 2, 3], "strides": [1, 1, 1, 3], "padding": "SAME"}
            row = op(name, image, -1.0, 2.0, T=dtype, error="exactly one of pooling", **attrs)
            SAMPLES.append(row)
            attrs = {"ksize": [1, 2, 2, 1], "strides": [1, 1, 1, 1], "padding": "SAME"}
            row = op(name, image[0], -1.0, 2.0, T=dtype, error="rank|dimensional", **attrs)
            SAMPLES.append(row)


def _norms() -> None:
    image = numbers("quint8", 2, 3, 4, 3)
    vectors = [numbers("quint8", 3, seed=i) for i in range(4)]
    mean, variance, beta, gamma = vectors
    inputs = (image, -3.0, 2.0, mean, -1.0, 1.0, variance, 0.1, 4.0, beta, -2.0, 2.0)
    inputs = (*inputs, gamma, 0.5, 1.5)
    attrs = {"Tinput": "quint8", "out_type": "qint32", "variance_epsilon": 0.001}
    for after in (False, True):
        name = "QuantizedBatchNormWithGlobalNormalization"
        SAMPLES.append(op(name, *inputs, scale_after_normalization=after, **attrs))
    name = "QuantizedInstanceNorm"
    SAMPLES.append(op(name, image, -3.0, 2.0, T="quint8"))
    given = {"output_range_given": True, "given_y_min": -2.0, "given_y_max": 2.5}
    SAMPLES.append(op(name, image, -3.0, 2.0, T="quint8", **given))
    SAMPLES.append(op(name, np.full((1, 2, 2, 2), 7, np.uint8), -3.0, 2.0, T="quint8"))
    SAMPLES.append(op(name, image, 3.0, 2.0, T="quint8", error="less than"))


def _resize() -> None:
    name = "QuantizedResizeBilinear"
    flags = ({}, {"align_corners": True}, {"half_pixel_centers": True})
    for flag in flags:
        for size in ([3, 4], [7, 9], [4, 5]):
            x = numbers("quint8", 2, 4, 5, 3)
            SAMPLES.append(op(name, x, size, -1.0, 2.0, T="quint8", **flag))
            SAMPLES.append(op(name, x, size, 0.0, 255.0, T="quint8", **flag))
            wide = numbers("qint32", 2, 4, 5, 3)
            SAMPLES.append(op(name, wide, size, -1.0, 2.0, T="qint32", **flag))
            SAMPLES.append(op(name, normal(2, 4, 5, 3), size, -1.0, 2.0, **flag))
    x = numbers("quint8", 2, 4, 5, 3)
    row = op(name, x[0], [3, 4], -1.0, 2.0, T="quint8", error="rank|dimensional")
    SAMPLES.append(row)
    both = {"align_corners": True, "half_pixel_centers": True}
    SAMPLES.append(op(name, x, [3, 4], -1.0, 2.0, T="quint8", **both))


_layers()
_pools()
_norms()
_resize()


def _ranges_at_the_edge() -> None:
    # Numbers halfway between two levels of a range that does not begin at a level.
    x = np.array([2**31 - 1, 0, -(2**31), 2**30, 1], np.int64).astype(np.int32)
    shrunk = {"Tinput": "qint32", "out_type": "quint8"}
    for low, high in ((-0.0013322817, -0.00034594478), (-18.30111, 44.933254), (-40.8, 46.1)):
        SAMPLES.append(op("QuantizeDownAndShrinkRange", x, low, high, **shrunk))
    nan, inf = np.float32(np.nan), np.float32(np.inf)
    SAMPLES.append(op("Requantize", x, -1.0, 1.0, nan, 1.0, error="<= 0", **shrunk))
    SAMPLES.append(op("Requantize", x, -1.0, 1.0, -1.0, nan, error=">=", **shrunk))
    bytes_, more = numbers("quint8", 2, 3), numbers("quint8", 3, 2, seed=1)
    image, weights = numbers("quint8", 1, 3, 3, 2), numbers("quint8", 2, 2, 2, 1)
    one = {"Tinput": "qint32", "out_type": "qint32"}
    conv = {"Tinput": "quint8", "Tfilter": "quint8", "out_type": "qint32", "strides": [1, 1, 1, 1]}
    types = {"T1": "quint8", "T2": "quint8", "Toutput": "qint32"}
    bias = {"T1": "quint8", "T2": "quint8", "out_type": "qint32"}
    join = Many([bytes_, bytes_ // 2])
    for low, high in ((nan, 1.0), (-1.0, nan), (-inf, 1.0), (-1.0, inf)):
        SAMPLES.append(op("Requantize", x, low, high, -1.0, 1.0, **shrunk))
        SAMPLES.append(op("QuantizeDownAndShrinkRange", x, low, high, **shrunk))
        SAMPLES.append(op("QuantizedRelu", x, low, high, **one))
        SAMPLES.append(op("QuantizedRelu6", x, low, high, **one))
        SAMPLES.append(op("QuantizeV2", np.full(9, nan), low, high, T="qint32"))
        SAMPLES.append(op("QuantizedBiasAdd", bytes_, bytes_[0], low, high, -1.0, 2.0, **bias))
        for lows, highs in (
            (Many([low, -2.0]), Many([high, 2.0])),
            (Many([low] * 2), Many([high] * 2)),
        ):
            SAMPLES.append(op("QuantizedConcat", 0, join, lows, highs, T="quint8"))
        ends = (low, high, -1.0, 2.0)
        SAMPLES.append(op("QuantizedConv2D", image, weights, *ends, padding="SAME", **conv))
        if not (np.isnan(low) or np.isnan(high)):
            SAMPLES.append(op("QuantizedAdd", bytes_, bytes_, *ends, **types))
            SAMPLES.append(op("QuantizedMul", bytes_, bytes_, *ends, **types))
            SAMPLES.append(op("QuantizedMatMul", bytes_, more, *ends, **types))
    # In these narrow ranges the level for zero is far outside of a byte.
    ends = (1.0, 1.0000001, -3.0, -2.9999998)
    SAMPLES.append(op("QuantizedMatMul", bytes_, more, *ends, **types))
    SAMPLES.append(op("QuantizedConv2D", image, weights, *ends, padding="VALID", **conv))
    image = numbers("qint32", 1, 2, 3, 3)
    attrs = {"T": "qint32", "out_type": "qint8"}
    ends = [[5, 2**31 - 1, 7], [-(2**31), -(2**30), -9], [2**30, 0, 8]]
    wide = np.array(ends, np.int64).astype(np.int32).reshape(1, 3, 1, 3)
    lows, highs = [-1.0, -1.0, -2e9], [1.0, 2.0, 1.0]
    row = op("RequantizationRangePerChannel", wide, lows, highs, T="qint32", clip_value_max=50.0)
    SAMPLES.append(row)
    row = op("RequantizePerChannel", image, [-1.0, nan, -0.2], [1.0, 2.0, nan], -0.4, 0.5, **attrs)
    SAMPLES.append(row)


_ranges_at_the_edge()
