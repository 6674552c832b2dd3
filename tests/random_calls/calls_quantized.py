"""Random calls of ops that quantize numbers and compute with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tests.ops.samples import NUMPY_TYPES, Many, Sample, op
from tests.random_calls.draws import Draw, calls

_WORDS = "qint8 quint8 qint16 quint16 qint32"


def _limits(d: Draw) -> tuple[np.float32, np.float32]:
    low, high = sorted(np.round(d.random.uniform(-4, 4, 2), 2))
    return np.float32(low), np.float32(high + 0.05)


def _numbers(d: Draw, word: str, shape: tuple[int, ...], bits: int = 31) -> Any:
    info = np.iinfo(NUMPY_TYPES[word])
    low, high = max(info.min, -(1 << bits)), min(info.max, 1 << bits)
    return d.random.randint(low, high, shape, np.int64).astype(NUMPY_TYPES[word])


def _fake_limits(d: Draw) -> dict[str, Any]:
    attrs: dict[str, Any] = {}
    if d.chance(0.5):
        attrs["num_bits"] = d.number(2, 8)
    if d.chance(0.5):
        attrs["narrow_range"] = d.chance(0.5)
    return attrs


@calls("""FakeQuantWithMinMaxArgs FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVars
FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannel
FakeQuantWithMinMaxVarsPerChannelGradient""")
def _fake(d: Draw, name: str) -> Sample:
    shape = d.shape(1, 3, 4)
    arrays = [d.values("float32", shape, 0.1)]
    arrays[0] = np.nan_to_num(arrays[0], posinf=9, neginf=-9).astype(np.float32)
    if name.endswith("Gradient"):
        arrays.insert(0, d.values("float32", shape, 0.1))
    attrs, (low, high) = _fake_limits(d), _limits(d)
    if "Args" in name:
        row = op(name, *arrays, min=float(low), max=float(high), **attrs)
    elif "PerChannel" in name:
        pairs = [_limits(d) for _ in range(shape[-1])]
        lows = np.array([p[0] for p in pairs], np.float32)
        row = op(name, *arrays, lows, np.array([p[1] for p in pairs], np.float32), **attrs)
    else:
        row = op(name, *arrays, low, high, **attrs)
    return replace(row, rtol=1e-5, atol=1e-5)


@calls("QuantizeV2")
def _quantize(d: Draw, name: str) -> Sample:
    word, mode = d.one(_WORDS), d.one("MIN_COMBINED MIN_FIRST SCALED")
    attrs: dict[str, Any] = {"T": word, "mode": mode}
    if mode == "SCALED":
        attrs["narrow_range"] = d.chance(0.3)
        attrs["round_mode"] = d.one("HALF_AWAY_FROM_ZERO HALF_TO_EVEN")
    shape = d.shape(0, 3, 4)
    x = d.values("float32", shape, 0)
    if shape and mode != "MIN_FIRST" and d.chance(0.3):
        axis = d.number(0, len(shape) - 1)
        pairs = [_limits(d) for _ in range(shape[axis])]
        lows = np.array([p[0] for p in pairs], np.float32)
        return op(name, x, lows, np.array([p[1] for p in pairs], np.float32), axis=axis, **attrs)
    return op(name, x, *_limits(d), **attrs)


@calls("Dequantize")
def _dequantize(d: Draw, name: str) -> Sample:
    word, mode = d.one(_WORDS), d.one("MIN_COMBINED MIN_FIRST SCALED")
    row = op(name, _numbers(d, word, d.shape(0, 3, 4)), *_limits(d), T=word, mode=mode)
    return replace(row, rtol=1e-5, atol=1e-5)


@calls("QuantizeAndDequantizeV2 QuantizeAndDequantizeV3 QuantizeAndDequantizeV4")
def _and_back(d: Draw, name: str) -> Sample:
    word = d.one("float32 float32 float64")
    x = d.values(word, d.shape(0, 3, 4), 0)
    low, high = (value.astype(NUMPY_TYPES[word]) for value in _limits(d))
    attrs = {"signed_input": d.chance(0.6), "range_given": d.chance(0.6)}
    attrs["narrow_range"] = d.chance(0.3)
    bits = d.number(2, 12)
    if not attrs["signed_input"]:
        low, high, x = np.abs(low), np.abs(low) + np.abs(high), np.abs(x)
    if name.endswith("V3"):
        return replace(op(name, x, low, high, np.array(bits, np.int32), **attrs), rtol=1e-5)
    more = {"num_bits": bits, "round_mode": d.one("HALF_TO_EVEN HALF_UP")}
    return replace(op(name, x, low, high, **more, **attrs), rtol=1e-5)


@calls("QuantizeAndDequantizeV4Grad")
def _and_back_gradient(d: Draw, name: str) -> Sample:
    shape = d.shape(0, 3, 4)
    return op(name, d.values("float32", shape, 0), d.values("float32", shape, 0), *_limits(d))


@calls("Requantize RequantizationRange QuantizeDownAndShrinkRange")
def _requantize(d: Draw, name: str) -> Sample:
    word = "qint32"
    x, limits = _numbers(d, word, d.shape(1, 3, 4), d.one([31, 20])), _limits(d)
    if name == "RequantizationRange":
        return replace(op(name, x, *limits, Tinput=word), rtol=1e-4)
    if name == "QuantizeDownAndShrinkRange":
        return replace(op(name, x, *limits, Tinput=word, out_type="quint8"), rtol=1e-4)
    attrs = {"Tinput": word, "out_type": d.one("quint8 qint8")}
    return replace(op(name, x, *limits, *_limits(d), **attrs), rtol=1e-4)


@calls("QuantizedRelu QuantizedRelu6 QuantizedReshape")
def _quantized(d: Draw, name: str) -> Sample:
    word = d.one("quint8 qint8" if name != "QuantizedReshape" else _WORDS)
    x = _numbers(d, word, (2, d.number(1, 3)))
    if name == "QuantizedReshape":
        return op(name, x, np.array([-1], np.int32), *_limits(d), T=word)
    return op(name, x, *_limits(d), Tinput=word, out_type=word)


@calls("QuantizedMatMul")
def _product(d: Draw, name: str) -> Sample:
    rows, inner, columns = (d.number(1, 4) for _ in range(3))
    attrs = {"transpose_a": d.chance(0.3), "transpose_b": d.chance(0.3)}
    a = (inner, rows) if attrs["transpose_a"] else (rows, inner)
    b = (columns, inner) if attrs["transpose_b"] else (inner, columns)
    row = op(
        name, _numbers(d, "quint8", a), _numbers(d, "quint8", b), *_limits(d), *_limits(d),
        T1="quint8", T2="quint8", Toutput="qint32", **attrs,
    )  # fmt: skip
    return replace(row, rtol=1e-5)


@calls("QuantizedBiasAdd")
def _bias(d: Draw, name: str) -> Sample:
    channels = d.number(1, 4)
    x, bias = (
        _numbers(d, "quint8", (*d.shape(1, 2, 3), channels)),
        _numbers(d, "quint8", (channels,)),
    )
    limits = [*_limits(d), *_limits(d)]
    row = op(name, x, bias, *limits, T1="quint8", T2="quint8", out_type="qint32")
    return replace(row, rtol=1e-5)


def _image(d: Draw, word: str, least: int = 1) -> Any:
    shape = (d.number(1, 2), d.number(least, 5), d.number(least, 5), d.number(1, 3))
    return _numbers(d, word, shape)


@calls("QuantizedMaxPool QuantizedAvgPool")
def _pool(d: Draw, name: str) -> Sample:
    word, size, stride = d.one("quint8 qint8"), d.number(1, 3), d.number(1, 2)
    x = _image(d, word, size)
    return op(
        name, x, *_limits(d), T=word, padding=d.one("SAME VALID"), ksize=[1, size, size, 1],
        strides=[1, stride, stride, 1],
    )  # fmt: skip


@calls("QuantizedConv2D")
def _convolution(d: Draw, name: str) -> Sample:
    x = _image(d, "quint8", 2)
    weights = _numbers(d, "quint8", (d.number(1, 2), d.number(1, 2), x.shape[3], d.number(1, 3)))
    stride = d.number(1, 2)
    row = op(
        name, x, weights, *_limits(d), *_limits(d), Tinput="quint8", Tfilter="quint8",
        padding=d.one("SAME VALID"), strides=[1, stride, stride, 1],
    )  # fmt: skip
    return replace(row, rtol=1e-5)


@calls("QuantizedConcat QuantizedConcatV2")
def _concat(d: Draw, name: str) -> Sample:
    word, count = d.one("quint8 qint32"), d.number(2, 3)
    shape = list(d.shape(1, 3, 3))
    axis = d.number(0, len(shape) - 1)
    parts = []
    for _ in range(count):
        shape[axis] = d.number(0, 3)
        parts.append(_numbers(d, word, tuple(shape)))
    pairs = [_limits(d)] * count if d.chance(0.5) else [_limits(d) for _ in range(count)]
    lows, highs = (Many([pair[i] for pair in pairs]) for i in (0, 1))
    place = np.array(axis, np.int32)
    if name.endswith("V2"):
        return op(name, Many(parts), place, lows, highs, T=word)
    return op(name, place, Many(parts), lows, highs, T=word)


@calls("QuantizedAdd QuantizedMul")
def _arithmetic(d: Draw, name: str) -> Sample:
    shape = d.shape(0, 3, 4)
    other = shape if d.chance(0.5) else d.one([(), shape[-1:], shape[1:]])
    if d.chance(0.5):
        shape, other = other, shape
    row = op(
        name, _numbers(d, "quint8", shape), _numbers(d, "quint8", other), *_limits(d), *_limits(d),
        T1="quint8", T2="quint8",
    )  # fmt: skip
    return replace(row, rtol=1e-5)


@calls("QuantizedInstanceNorm")
def _instance_norm(d: Draw, name: str) -> Sample:
    attrs: dict[str, Any] = {"T": "quint8"}
    if d.chance(0.5):
        low, high = _limits(d)
        attrs |= {"output_range_given": True, "given_y_min": float(low), "given_y_max": float(high)}
    # A number between two levels may be rounded to either.
    return replace(op(name, _image(d, "quint8"), *_limits(d), **attrs), atol=1, rtol=1e-3)


@calls("QuantizedResizeBilinear")
def _resize(d: Draw, name: str) -> Sample:
    word = d.one("quint8 qint32 float32")
    x = _image(d, word) if word != "float32" else d.values(word, (1, 3, 4, 2), 0)
    size = np.array([d.number(1, 7), d.number(1, 7)], np.int32)
    flag = d.one([{}, {"align_corners": True}, {"half_pixel_centers": True}])
    return replace(op(name, x, size, *_limits(d), T=word, **flag), rtol=1e-5, atol=1)


@calls("RequantizePerChannel RequantizationRangePerChannel")
def _per_channel(d: Draw, name: str) -> Sample:
    x = _numbers(d, "qint32", (1, d.number(1, 2), d.number(1, 2), d.number(1, 4)))
    pairs = [_limits(d) for _ in range(x.shape[3])]
    lows, highs = (np.array([pair[i] for pair in pairs], np.float32) for i in (0, 1))
    if name.endswith("RangePerChannel"):
        clip = float(np.float32(d.one([0.1, 2.0, 50.0])))
        return replace(op(name, x, lows, highs, T="qint32", clip_value_max=clip), rtol=1e-5)
    low, high = _limits(d)
    return op(name, x, lows, highs, min(low, np.float32(0)), high, T="qint32",
              out_type=d.one("quint8 qint8"))  # fmt: skip


@calls("QuantizedBatchNormWithGlobalNormalization")
def _batch_norm(d: Draw, name: str) -> Sample:
    x = _image(d, "quint8")
    inputs: list[Any] = [x, *_limits(d)]
    for _ in range(4):
        inputs += [_numbers(d, "quint8", (x.shape[3],)), *_limits(d)]
    inputs[7], inputs[8] = np.float32(0.1), np.float32(d.one([1.0, 4.0]))
    row = op(name, *inputs, Tinput="quint8", out_type="qint32", variance_epsilon=0.001,
             scale_after_normalization=d.chance(0.5))  # fmt: skip
    return replace(row, rtol=1e-5)
