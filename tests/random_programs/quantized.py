"""Random programs of convolutions of quantized numbers, whose filters must be constant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import tfnb as tf
from tests.random_programs.programs import Program, programs

if TYPE_CHECKING:
    from tests.random_calls.draws import Draw

_NAMES = """QuantizedConv2DPerChannel QuantizedConv2DAndRelu QuantizedConv2DWithBias
QuantizedConv2DWithBiasAndRelu QuantizedConv2DAndRequantize QuantizedConv2DAndReluAndRequantize
QuantizedConv2DWithBiasAndRequantize QuantizedConv2DWithBiasAndReluAndRequantize
QuantizedDepthwiseConv2D QuantizedDepthwiseConv2DWithBias QuantizedDepthwiseConv2DWithBiasAndRelu
QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize"""


def _limits(d: Draw) -> tuple[Any, Any]:
    low, high = sorted(np.round(d.random.uniform(-4, 4, 2), 2))
    return np.float32(low), np.float32(high + 0.05)


def _numbers(d: Draw, word: str, shape: tuple[int, ...]) -> Any:
    """Return arbitrary numbers; sometimes all are the lowest or the highest."""
    ends = np.iinfo(np.uint8 if word == "quint8" else np.int8)
    low, high = d.one([(ends.min, ends.max)] * 4 + [(ends.min, ends.min), (ends.max, ends.max)])
    found = d.random.randint(low, high + 1, shape)
    return tf.constant(found.astype(ends.dtype), tf.as_dtype(word))


@programs
def quantized(d: Draw, p: Program) -> None:
    """A convolution, the fused ops behind it, and the range of its numbers."""
    p.steps = 1  # a number between two steps may go to either
    for name in dict.fromkeys(d.one(_NAMES) for _ in range(3)):
        _convolution(d, p, name)


def _convolution(d: Draw, p: Program, name: str) -> None:
    # Only for these TensorFlow has kernels for images of signed numbers. For empty images they
    # return the image's shape with any filter.
    signed = "WithBias" in name and "Depthwise" not in name
    word = d.one("quint8 qint8") if signed else "quint8"
    batch = d.number(1, 2)
    depth, count = d.number(1, 3), d.number(1, 3)
    channels = count * depth if "Depthwise" in name else count
    frozen = name.endswith("Requantize")
    out = ("quint8" if "Relu" in name else "qint8") if frozen else "qint32"
    ranges = [*_limits(d), *_limits(d)]
    if name.endswith("PerChannel"):
        pairs = [_limits(d) for _ in range(channels)]
        ranges[2:] = [np.array([pair[i] for pair in pairs], np.float32) for i in (0, 1)]
    stride = d.number(1, 2)
    attrs: dict[str, Any] = {
        "padding": d.one("SAME VALID"), "strides": [1, stride, stride, 1],
        "out_type": tf.as_dtype(out),
    }  # fmt: skip
    attrs |= dict(zip(("min_input", "max_input", "min_filter", "max_filter"), ranges, strict=True))
    if frozen:
        attrs["min_freezed_output"], attrs["max_freezed_output"] = _limits(d)
    with p.graph.as_default():
        attrs["input"] = _numbers(d, word, (batch, d.number(2, 5), d.number(2, 5), depth))
        attrs["filter"] = _numbers(d, "qint8", (d.number(1, 2), d.number(1, 2), depth, count))
        if "WithBias" in name:
            attrs["bias"] = tf.constant(d.values("float32", (channels,), 0))
    p.run(p.raw(name, **attrs))
