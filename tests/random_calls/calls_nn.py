"""Random calls of convolutions, pooling, normalization, losses and matrix products."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tests.ops.samples import Sample, op
from tests.random_calls.draws import Draw, calls

_REAL = "float16 bfloat16 float32 float32 float32 float64"


def _out(
    size: int, window: int, stride: int, rate: int, padding: str, pads: tuple[int, int]
) -> int:
    whole = (window - 1) * rate + 1
    if padding == "SAME":
        return -(-size // stride)
    return max(0, (size + sum(pads) - whole) // stride + 1)


# Sums of two-byte floats are rounded in TensorFlow's order; 0.1 is one step at 16.
_LOOSE = {"float16": 0.03, "bfloat16": 0.25}


def _loose(row: Sample, word: str, terms: int = 32) -> Sample:
    if word in _LOOSE:
        # The rounding errors add up like a random walk.
        atol = _LOOSE[word] * max(1.0, (terms / 32) ** 0.5)
        return replace(row, rtol=_LOOSE[word] / 4, atol=atol)
    return replace(row, rtol=1e-5, atol=1e-4) if word == "float32" else row


class _Windows:
    """Sizes of a random convolution or pooling that fit together.

    The windows have at least one position: without one, TensorFlow's gradients crash or return
    uninitialized memory.
    """

    def __init__(
        self, d: Draw, space: int, explicit: bool = True, dilated: bool = True, empty: bool = False
    ) -> None:
        self.batch = d.number(1, 3) if not empty or d.chance(0.9) else 0
        self.sizes = [d.number(3, 8) for _ in range(space)]
        self.window = [d.number(1, 3) for _ in range(space)]
        self.strides = [d.number(1, 3)] * space
        self.rates = [1] * space
        if dilated and d.chance(0.3):
            self.rates = [d.number(1, 2) for _ in range(space)]
            self.sizes = [s + 2 for s in self.sizes]
            self.strides = [1] * space
        words = ["SAME", "VALID", "EXPLICIT"] if explicit else ["SAME", "VALID"]
        self.padding = d.one(words)
        self.pads = [(0, 0)] * space
        if self.padding == "EXPLICIT":
            self.pads = [(d.number(0, w - 1), d.number(0, w - 1)) for w in self.window]
        self.out = [
            _out(*parts)
            for parts in zip(self.sizes, self.window, self.strides, self.rates,
                             [self.padding] * space, self.pads, strict=True)
        ]  # fmt: skip

    def attrs(self, dilations: bool = True) -> dict[str, Any]:
        """The attributes for a batch and channels around the windows."""
        found: dict[str, Any] = {"strides": [1, *self.strides, 1], "padding": self.padding}
        if dilations:
            found["dilations"] = [1, *self.rates, 1]
        if self.padding == "EXPLICIT":
            found["explicit_paddings"] = [0, 0, *(n for p in self.pads for n in p), 0, 0]
        return found


@calls("Conv2D Conv2DBackpropInput Conv2DBackpropFilter")
def _conv(d: Draw, name: str) -> Sample:
    # TensorFlow's gradients have no dilations on a CPU, tfnb's do.
    w = _Windows(d, 2, dilated=name == "Conv2D")
    word = d.one(_REAL)
    channels, outputs = d.number(1, 3), d.number(1, 3)
    groups = d.number(1, 2) if name == "Conv2D" and d.chance(0.2) else 1
    x = (w.batch, *w.sizes, channels * groups)
    kernel = (*w.window, channels, outputs * groups)
    out = (w.batch, *w.out, outputs * groups)
    if name == "Conv2D":
        return _loose(op(name, d.values(word, x, 0), d.values(word, kernel, 0), **w.attrs()), word)
    if name == "Conv2DBackpropInput":
        return _loose(
            op(
                name,
                np.array(x, np.int32),
                d.values(word, kernel, 0),
                d.values(word, out, 0),
                **w.attrs(),
            ),
            word,
        )
    return _loose(
        op(
            name,
            d.values(word, x, 0),
            np.array(kernel, np.int32),
            d.values(word, out, 0),
            **w.attrs(),
        ),
        word,
    )


@calls("""DepthwiseConv2dNative DepthwiseConv2dNativeBackpropInput
DepthwiseConv2dNativeBackpropFilter""")
def _depthwise(d: Draw, name: str) -> Sample:
    w = _Windows(d, 2, dilated=False)
    word = d.one(_REAL)
    channels, times = d.number(1, 3), d.number(1, 2)
    x, kernel = (w.batch, *w.sizes, channels), (*w.window, channels, times)
    out = (w.batch, *w.out, channels * times)
    places = int(np.prod(out[:-1]))  # so many gradients of one cell of a filter are added up
    if name == "DepthwiseConv2dNative":
        return _loose(op(name, d.values(word, x, 0), d.values(word, kernel, 0), **w.attrs()), word)
    if name.endswith("Input"):
        return _loose(
            op(
                name,
                np.array(x, np.int32),
                d.values(word, kernel, 0),
                d.values(word, out, 0),
                **w.attrs(),
            ),
            word,
            places,
        )
    return _loose(
        op(
            name,
            d.values(word, x, 0),
            np.array(kernel, np.int32),
            d.values(word, out, 0),
            **w.attrs(),
        ),
        word,
        places,
    )


@calls("Conv3D Conv3DBackpropInputV2 Conv3DBackpropFilterV2")
def _conv3d(d: Draw, name: str) -> Sample:
    w = _Windows(d, 3, explicit=False, dilated=False)
    word = d.one("float32 float32 float64")
    channels, outputs = d.number(1, 2), d.number(1, 2)
    x, kernel = (w.batch, *w.sizes, channels), (*w.window, channels, outputs)
    out = (w.batch, *w.out, outputs)
    if name == "Conv3D":
        return _loose(op(name, d.values(word, x, 0), d.values(word, kernel, 0), **w.attrs()), word)
    if name == "Conv3DBackpropInputV2":
        return _loose(
            op(
                name,
                np.array(x, np.int32),
                d.values(word, kernel, 0),
                d.values(word, out, 0),
                **w.attrs(),
            ),
            word,
        )
    return _loose(
        op(
            name,
            d.values(word, x, 0),
            np.array(kernel, np.int32),
            d.values(word, out, 0),
            **w.attrs(),
        ),
        word,
    )


@calls("MaxPool AvgPool MaxPoolV2 MaxPoolWithArgmax MaxPool3D AvgPool3D")
def _pool(d: Draw, name: str) -> Sample:
    w = _Windows(d, 3 if "3D" in name else 2, name == "MaxPool", dilated=False, empty=True)
    # Equal numbers, which are common in two bytes, are chosen in another order in volumes.
    word = d.types(name, without="bfloat16 float16" if "3D" in name else "")
    shape = (w.batch, *w.sizes, d.number(1, 3))
    # The larger of two zeros is undefined, so that all zeros are positive.
    x = d.values(word, shape, 0)
    x = np.where(x == 0, 0, x).astype(x.dtype)
    attrs = w.attrs(dilations=False)
    if name == "MaxPoolV2":
        strides = np.array(attrs.pop("strides"), np.int32)
        return op(name, x, np.array([1, *w.window, 1], np.int32), strides, **attrs)
    if name == "MaxPoolWithArgmax":
        attrs["include_batch_in_index"] = d.chance(0.5)
        attrs["Targmax"] = d.one("int32 int64")
    row = op(name, x, ksize=[1, *w.window, 1], **attrs)
    return _loose(row, word) if name.startswith("Avg") else row


@calls("MaxPoolGrad AvgPoolGrad MaxPoolGradGrad MaxPool3DGrad AvgPool3DGrad")
def _pool_gradient(d: Draw, name: str) -> Sample:
    w = _Windows(d, 3 if "3D" in name else 2, explicit=False, dilated=False)
    word = d.one("float32 float64") if "3D" not in name else "float32"
    channels = d.number(1, 3)
    shape, out = (w.batch, *w.sizes, channels), (w.batch, *w.out, channels)
    attrs = {**w.attrs(dilations=False), "ksize": [1, *w.window, 1]}
    grad = d.values(word, shape if name == "MaxPoolGradGrad" else out, 0)
    if name.startswith("Avg"):
        return _loose(op(name, np.array(shape, np.int32), grad, **attrs), word)
    x = np.asarray(d.values(word, shape, 0))
    pooled = _pooled(x, w)
    return _loose(op(name, x, pooled, grad, **attrs), word)


def _pooled(x: Any, w: _Windows) -> Any:
    """Return the largest element of each window, for gradients."""
    out = np.empty((x.shape[0], *w.out, x.shape[-1]), x.dtype)
    before = [0] * len(w.sizes)
    if w.padding == "SAME":
        need = [
            max(0, (o - 1) * t + k - s)
            for o, t, k, s in zip(w.out, w.strides, w.window, w.sizes, strict=True)
        ]
        before = [n // 2 for n in need]
    for place in np.ndindex(*w.out):
        parts = []
        for p, b, t, k, s in zip(place, before, w.strides, w.window, w.sizes, strict=True):
            start = p * t - b
            parts.append(slice(max(start, 0), min(start + k, s)))
        axes = tuple(range(1, 1 + len(parts)))
        out[(slice(None), *place)] = x[(slice(None), *parts)].max(axis=axes)
    return out


@calls("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3")
def _batch_norm(d: Draw, name: str) -> Sample:
    channels = d.number(1, 3)
    rows = d.number(1, 3) if d.chance(0.93) else 0
    shape = (rows, d.number(1, 4), d.number(1, 4), channels)
    word = "float32" if name == "FusedBatchNorm" or d.chance(0.7) else d.one("float16 bfloat16")
    order = d.one("NHWC NHWC NCHW")
    if order == "NCHW":
        shape = (shape[0], channels, *shape[1:3])
    training = d.chance(0.6)
    average = float(np.float32(d.one([1.0, 1.0, 0.9])))
    size = channels if not training or average != 1.0 else 0
    attrs: Any = {
        "is_training": training,
        "data_format": order,
        "epsilon": float(np.float32(d.one([1e-4, 1e-2]))),
    }
    if training:
        attrs["exponential_avg_factor"] = average
    parts = [d.values("float32", (n,), 0) for n in (channels, channels, size)]
    row = op(name, d.values(word, shape, 0), *parts, d.positive("float32", (size,)), **attrs)
    return replace(
        row,
        undefined=(3, 4, 5),
        gradient=False,
        rtol=2e-5 if word == "float32" else None,
        atol=1e-5 if word == "float32" else None,
    )


@calls("LRN")
def _lrn(d: Draw, name: str) -> Sample:
    shape = tuple(d.number(1, 4) for _ in range(4))
    attrs = {
        "depth_radius": d.number(0, 3),
        "bias": 1.0,
        "alpha": float(np.float32(0.3)),
        "beta": d.one([0.5, 0.75, 1.0]),
    }
    row = op(name, d.values(d.one("float32 float32 float16"), shape, 0), **attrs)
    return replace(row, rtol=2e-5 if row.inputs[0].dtype == np.float32 else 2e-3)


@calls("BiasAdd BiasAddGrad BiasAddV1")
def _bias(d: Draw, name: str) -> Sample:
    shape = d.shape(2 if d.chance(0.95) else 1, 4)
    word = d.types(name)
    order = d.one("NHWC NCHW") if name != "BiasAddV1" else "NHWC"
    if len(shape) < 3 and order == "NCHW" and d.chance(0.9):
        order = "NHWC"
    attrs = {} if name == "BiasAddV1" else {"data_format": order}
    if name == "BiasAddGrad":
        return _loose(op(name, d.values(word, shape, 0), **attrs), word)
    size = shape[-1] if order == "NHWC" or len(shape) < 2 else shape[1]
    return op(name, d.values(word, shape), d.values(word, (size + d.chance(0.03),)), **attrs)


@calls("SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits")
def _cross_entropy(d: Draw, name: str) -> Sample:
    rows, classes = d.number(0, 5), d.number(1, 6)
    word = d.types(name)
    logits = d.values(word, (rows, classes), 0.05)
    if name.startswith("Sparse"):
        row = op(name, logits, d.indices((rows,), classes))
    else:
        shape = (1, classes) if d.chance(0.1) else (rows, classes)
        row = op(name, logits, d.positive(word, shape))
    loose = {"float16": 1e-2, "bfloat16": 6e-2}.get(word)
    return replace(row, rtol=loose, atol=loose)


@calls("InTopK InTopKV2")
def _in_top_k(d: Draw, name: str) -> Sample:
    rows, classes = d.number(0, 5), d.number(1, 6)
    k = d.number(0, classes)
    x = d.values("float32", (rows, classes), 0.1)
    if name == "InTopK":
        return op(name, x, d.indices((rows,), classes), k=k)
    targets = d.indices((rows,), classes)
    return op(name, x, targets, np.array(k, targets.dtype))


@calls("MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3")
def _mat_mul(d: Draw, name: str) -> Sample:
    rows, inner, columns = (d.number(1, 6) if d.chance(0.95) else 0 for _ in range(3))
    head = () if name == "MatMul" else d.shape(0, 2, 3)
    other = d.broadcastable(head) if name != "BatchMatMul" else head
    left, right = d.chance(0.3), d.chance(0.3)
    a = (*head, inner, rows) if left else (*head, rows, inner)
    b = (*other, columns, inner + d.chance(0.02)) if right else (*other, inner, columns)
    if name == "BatchMatMulV3":
        word = d.types(name, "Tout")
        attrs: Any = {"Tout": word, "adj_x": left, "adj_y": right}
    else:
        word = d.types(name)
        attrs = (
            {"transpose_a": left, "transpose_b": right}
            if name == "MatMul"
            else {"adj_x": left, "adj_y": right}
        )
    # Sums of products near zero have errors relative to their largest terms.
    row = op(name, d.values(word, a, 0), d.values(word, b, 0), **attrs)
    return replace(
        row,
        atol={
            "float32": 1e-5,
            "complex64": 2e-5,
            "float16": 2e-2,
            "bfloat16": 0.2,
            "float64": 1e-13,
            "complex128": 1e-13,
        }.get(word),
    )


@calls("SparseMatMul")
def _sparse_mat_mul(d: Draw, name: str) -> Sample:
    rows, inner, columns = (d.number(1, 5) for _ in range(3))
    return replace(
        op(name, d.values("float32", (rows, inner), 0), d.values("float32", (inner, columns), 0)),
        atol=1e-5,
    )


@calls("""Cholesky MatrixDeterminant LogMatrixDeterminant MatrixInverse MatrixSolve
MatrixTriangularSolve SelfAdjointEigV2 MatrixSolveLs""")
def _linear(d: Draw, name: str) -> Sample:
    size = d.number(1, 4) if d.chance(0.92) else 0
    head = d.shape(0, 2, 2)
    word = d.one("float32 float64 float64 complex64 complex128")
    x = d.values(word, (*head, size, size), 0)
    x = (x + 3 * np.eye(size)).astype(x.dtype)
    if name in ("Cholesky", "SelfAdjointEigV2"):
        x = np.matmul(x, np.conj(np.swapaxes(x, -1, -2))).astype(x.dtype)
    if name == "MatrixInverse" and d.chance(0.05):
        x = np.zeros_like(x)
    loose = {"float32": 2e-3, "complex64": 2e-3}.get(word, 1e-9)
    rest = []
    attrs: Any = {}
    if name in ("MatrixSolve", "MatrixTriangularSolve", "MatrixSolveLs"):
        rest = [d.values(word, (*head, size, d.number(0 if d.chance(0.1) else 1, 3)), 0)]
    if name in ("MatrixInverse", "MatrixSolve", "MatrixTriangularSolve"):
        attrs["adjoint"] = d.chance(0.5)
    if name == "MatrixTriangularSolve":
        attrs["lower"] = d.chance(0.5)
    if name == "SelfAdjointEigV2":
        attrs["compute_v"] = False
    if name == "MatrixSolveLs":
        rest.append(np.array(0.1))
        attrs["fast"] = d.chance(0.7)
    undefined = (1,) if name == "SelfAdjointEigV2" else ()
    return replace(op(name, x, *rest, **attrs), rtol=loose, atol=loose, undefined=undefined)
