"""Random calls of gradients of normalizations and maxima, and of recurrent cells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tests.ops.samples import Sample, op
from tests.random_calls.draws import Draw, calls

_LOOSE = {"rtol": 1e-3, "atol": 1e-4}


def _floats(d: Draw, *shape: int) -> Any:
    return d.values("float32", shape, 0, 1.0)


@calls("FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3")
def _norm_gradient(d: Draw, name: str) -> Sample:
    channels, form = d.number(1, 3), d.one("NHWC NCHW")
    sides = (d.number(1, 3), d.number(1, 3))
    batch = d.number(1, 3)
    shape = (batch, *sides, channels) if form == "NHWC" else (batch, channels, *sides)
    x, dy, scale = _floats(d, *shape), _floats(d, *shape), _floats(d, channels)
    # Otherwise TensorFlow accepts channels first on a GPU only.
    is_training = form == "NCHW" or d.chance(0.5)
    axes = (0, 1, 2) if form == "NHWC" else (0, 2, 3)
    mean, variance = x.mean(axes), x.var(axes)
    epsilon = 0.01
    reserved = [mean, variance]
    if name.endswith("V3"):
        reserved.append(np.zeros(0, np.float32) if d.chance(0.5) else mean)
    row = op(
        name, dy, x, scale, *reserved, epsilon=epsilon, data_format=form, is_training=is_training
    )
    return replace(row, **_LOOSE)


@calls("LRNGrad")
def _lrn(d: Draw, name: str) -> Sample:
    shape = tuple(d.number(1, 4) for _ in range(4))
    attrs = {"depth_radius": d.number(0, 3), "bias": d.one([1.0, 2.0]), "alpha": d.one([0.5, 1.0])}
    arrays = [_floats(d, *shape) for _ in range(3)]
    return replace(op(name, *arrays, beta=d.one([0.5, 0.75]), **attrs), **_LOOSE)


def _windows(d: Draw) -> dict[str, Any]:
    window = d.number(1, 3)
    return {
        "ksize": [1, window, window, 1],
        "strides": [1, d.number(1, 2), d.number(1, 2), 1],
        "padding": d.one("SAME VALID"),
    }


def _pooled(x: Any, attrs: dict[str, Any]) -> tuple[Any, Any]:
    """Return the maxima and their places, in the order of one batch."""
    batch, height, width, channels = x.shape
    size = attrs["ksize"][1]
    found, places = [], []
    (_, down, right, _), is_same = attrs["strides"], attrs["padding"] == "SAME"
    sides = [
        -(-n // s) if is_same else (n - size) // s + 1
        for n, s in zip((height, width), (down, right), strict=True)
    ]
    before = [
        max((out - 1) * s + size - n, 0) // 2 if is_same else 0
        for out, s, n in zip(sides, (down, right), (height, width), strict=True)
    ]
    for b in range(batch):
        for i in range(sides[0]):
            for j in range(sides[1]):
                top, left = i * down - before[0], j * right - before[1]
                rows = range(max(top, 0), min(top + size, height))
                columns = range(max(left, 0), min(left + size, width))
                for c in range(channels):
                    best = max((x[b, r, k, c], -r, -k) for r in rows for k in columns)
                    found.append(best[0])
                    places.append((-best[1] * width - best[2]) * channels + c)
    shape = (batch, *sides, channels)
    return np.array(found, x.dtype).reshape(shape), np.array(places, np.int64).reshape(shape)


@calls("MaxPoolGradV2 MaxPoolGradGradV2 MaxPoolGradWithArgmax MaxPoolGradGradWithArgmax")
def _maxima(d: Draw, name: str) -> Sample:
    shape = (d.number(1, 2), d.number(3, 5), d.number(3, 5), d.number(1, 2))
    x = (d.random.permutation(int(np.prod(shape))).reshape(shape) / 8).astype(np.float32)
    attrs = _windows(d)
    found, places = _pooled(x, attrs)
    twice = "GradGrad" in name
    grads = _floats(d, *(shape if twice else found.shape))
    if name.endswith("Argmax"):
        return op(name, x, grads, places, **attrs)
    sizes = [np.array(attrs.pop(key), np.int32) for key in ("ksize", "strides")]
    return replace(op(name, x, found, grads, *sizes, **attrs), atol=1e-6)


def _cell(d: Draw) -> tuple[int, int, int, list[Any]]:
    batch, inputs, units = d.number(1, 3), d.number(1, 3), d.number(1, 3)
    states = [_floats(d, batch, units), _floats(d, batch, units)]
    weights = [_floats(d, inputs + units, 4 * units)]
    weights += [_floats(d, units) for _ in range(3)] + [_floats(d, 4 * units)]
    return batch, inputs, units, [*states, *weights]


def _flags(d: Draw) -> dict[str, Any]:
    clip = d.one([-1.0, 0.5, 3.0])
    return {"cell_clip": clip, "use_peephole": d.chance(0.5)}


@calls("LSTMBlockCell")
def _lstm(d: Draw, name: str) -> Sample:
    batch, inputs, _, rest = _cell(d)
    row = op(name, _floats(d, batch, inputs), *rest, forget_bias=d.one([0.0, 1.0]), **_flags(d))
    return replace(row, gradient=False, **_LOOSE)


@calls("BlockLSTM BlockLSTMV2")
def _block(d: Draw, name: str) -> Sample:
    batch, inputs, _, rest = _cell(d)
    steps = d.number(1, 4)
    x = _floats(d, steps, batch, inputs)
    length = steps if d.chance(0.7) else d.number(1, steps)
    # TensorFlow leaves steps beyond the given length uninitialized, except for h and cs.
    undefined = () if length == steps else (0, 1, 2, 3, 4, 5, 6)
    attrs = _flags(d)
    row = op(name, np.int64(length), x, *rest, **attrs)
    return replace(row, gradient=length == steps, undefined=undefined, **_LOOSE)


@calls("GRUBlockCell")
def _gru(d: Draw, name: str) -> Sample:
    batch, inputs, units = d.number(1, 3), d.number(1, 3), d.number(1, 3)
    arrays = [_floats(d, batch, inputs), _floats(d, batch, units)]
    arrays += [_floats(d, inputs + units, 2 * units), _floats(d, inputs + units, units)]
    row = op(name, *arrays, _floats(d, 2 * units), _floats(d, units))
    return replace(row, gradient=False, **_LOOSE)


@calls("CTCLoss")
def _ctc(d: Draw, name: str) -> Sample:
    steps, batch, classes = d.number(2, 6), d.number(1, 3), d.number(2, 4)
    places, labels = [], []
    for b in range(batch):
        for t in range(d.number(1, 3)):
            places.append([b, t])
            labels.append(d.number(0, classes - 2))
    attrs = {"preprocess_collapse_repeated": d.chance(0.3), "ctc_merge_repeated": d.chance(0.7)}
    attrs["ignore_longer_outputs_than_inputs"] = d.chance(0.5)
    row = op(
        name, _floats(d, steps, batch, classes), np.array(places, np.int64),
        np.array(labels, np.int32), np.array([d.number(1, steps) for _ in range(batch)], np.int32),
        **attrs,
    )  # fmt: skip
    return replace(row, **_LOOSE)


@calls("CTCGreedyDecoder")
def _greedy(d: Draw, name: str) -> Sample:
    steps, batch, classes = d.number(1, 6), d.number(1, 3), d.number(2, 4)
    lengths = np.array([d.number(0, steps) for _ in range(batch)], np.int32)
    attrs = {"merge_repeated": d.chance(0.5), "blank_index": d.one([-1, 0])}
    return replace(op(name, _floats(d, steps, batch, classes), lengths, **attrs), rtol=1e-4)


@calls("CTCBeamSearchDecoder")
def _beam(d: Draw, name: str) -> Sample:
    steps, batch, classes = d.number(1, 5), d.number(1, 2), d.number(3, 4)
    lengths = np.array([steps] * batch, np.int32)
    attrs = {"beam_width": d.number(2, 6), "top_paths": d.number(1, 2)}
    # Rounding decides the order of equally likely sequences, so there are none.
    logits = d.random.normal(size=(steps, batch, classes)).astype(np.float32)
    row = op(name, logits, lengths, merge_repeated=d.chance(0.5), **attrs)
    return replace(row, rtol=1e-4)


@calls("LSTMBlockCellGrad")
def _lstm_gradient(d: Draw, name: str) -> Sample:
    batch, inputs, units, rest = _cell(d)
    states = [d.random.uniform(0.05, 0.95, (batch, units)).astype(np.float32) for _ in range(6)]
    grads = [_floats(d, batch, units) for _ in range(2)]
    row = op(name, _floats(d, batch, inputs), *rest, *states, *grads, use_peephole=d.chance(0.5))
    return replace(row, gradient=False, **_LOOSE)


@calls("BlockLSTMGrad BlockLSTMGradV2")
def _block_gradient(d: Draw, name: str) -> Sample:
    batch, inputs, units, rest = _cell(d)
    steps = d.number(1, 4)
    shape = (steps, batch, units)
    states = [d.random.uniform(0.05, 0.95, shape).astype(np.float32) for _ in range(6)]
    more = [_floats(d, *shape) for _ in range(3)]
    row = op(
        name, np.int64(steps), _floats(d, steps, batch, inputs), *rest, *states, *more,
        use_peephole=d.chance(0.5),
    )  # fmt: skip
    return replace(row, gradient=False, **_LOOSE)


@calls("GRUBlockCellGrad")
def _gru_gradient(d: Draw, name: str) -> Sample:
    batch, inputs, units = d.number(1, 3), d.number(1, 3), d.number(1, 3)
    arrays = [_floats(d, batch, inputs), _floats(d, batch, units)]
    arrays += [_floats(d, inputs + units, 2 * units), _floats(d, inputs + units, units)]
    arrays += [_floats(d, 2 * units), _floats(d, units)]
    arrays += [d.random.uniform(0.05, 0.95, (batch, units)).astype(np.float32) for _ in range(3)]
    return replace(op(name, *arrays, _floats(d, batch, units)), gradient=False, **_LOOSE)


@calls("MaxPool3DGradGrad")
def _pool_gradient(d: Draw, name: str) -> Sample:
    size, stride = d.number(1, 2), d.number(1, 2)
    x = d.values("float32", (1, *(d.number(2, 4) for _ in range(3)), d.number(1, 2)), 0)
    sides = [(n - size) // stride + 1 for n in x.shape[1:4]]
    out = np.zeros((1, *sides, x.shape[4]), np.float32)
    for place in np.ndindex(*sides):
        window = tuple(slice(p * stride, p * stride + size) for p in place)
        out[(0, *place)] = x[(0, *window)].max((0, 1, 2))
    attrs = {"ksize": [1, size, size, size, 1], "strides": [1, stride, stride, stride, 1]}
    return op(name, x, out, d.values("float32", x.shape, 0), padding="VALID", **attrs)
