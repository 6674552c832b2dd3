"""Rows for activations, softmax and cross entropies, biases, convolutions, pooling.

Normalization, top k.
"""

# ruff: noqa: PERF401 - every row is one append, loops or not

from __future__ import annotations

import numpy as np

from tests.ops.samples import (
    FLOATS,
    REAL,
    Sample,
    checked,
    integers,
    normal,
    op,
    sweep,
    uniform,
)

NAN, INF = float("nan"), float("inf")
EXTREME = [NAN, INF, -INF, 0.0, -0.0, 100.0, -100.0, 1e-20, 6.0, 3.5, -0.25]

SAMPLES: list[Sample | list[Sample]] = []


# Results of tanh between -8 and 8.
_SQUASHED = np.array([
    [-0.9999997749296758, -0.9999973615414057, -0.999969070228575, -0.9996374755774785,
     -0.995758430910334, -0.951382398771772, -0.5479063585733729],
    [0.5479063585733741, 0.951382398771772, 0.995758430910334, 0.9996374755774785,
     0.999969070228575, 0.9999973615414057, 0.9999997749296758],
])  # fmt: skip


def _activations() -> None:
    """Rows for functions of one element."""
    x = np.linspace(-8, 8, 14).reshape(2, 7)
    for name in ("Relu", "Relu6"):
        SAMPLES.append(checked(sweep(REAL, name, np.abs(x) - 3), exact=True))
        SAMPLES.append(checked(op(name, EXTREME[1:]), gradient=False))
        SAMPLES.append(checked(op(name, [NAN] * 16), gradient=False))
        SAMPLES.append(sweep(REAL, f"{name}Grad", np.arange(14).reshape(2, 7), x))
        SAMPLES.append(
            checked(op(f"{name}Grad", [NAN, INF, NAN, 1.0], [1.0, -1.0, -1.0, NAN]), gradient=False)
        )
        SAMPLES.append(
            op(f"{name}Grad", normal(2, 3), normal(2, 2), error="same size|must be equal")
        )
    for name in ("Elu", "Selu", "Softplus", "Softsign", "LeakyRelu"):
        SAMPLES.append(sweep(FLOATS, name, x))
        SAMPLES.append(checked(op(name, EXTREME), gradient=False))
        SAMPLES.append(
            checked(sweep(FLOATS, f"{name}Grad", normal(2, 7), _SQUASHED), gradient=False)
        )
        SAMPLES.append(op(f"{name}Grad", normal(2, 7), _SQUASHED.astype(np.float32)))
    SAMPLES.append(op("LeakyRelu", normal(5), alpha=0.5))
    SAMPLES.append(
        checked(
            sweep("float double", "Softplus", [20.0, -20.0, 13.9, 14.0, 40.0, -40.0, 0.0]),
            rtol=1e-6,
        )
    )
    SAMPLES.append(op("Relu", 1.5))


def _softmaxes() -> None:
    """Softmax, cross entropies, L2 loss."""
    x = normal(3, 5) * 3
    for name in ("Softmax", "LogSoftmax"):
        SAMPLES.append(sweep("float double", name, x))
        SAMPLES.append(checked(sweep("half bfloat16", name, x), rtol=0.02))
        SAMPLES.append(op(name, normal(2, 3, 4)))
        SAMPLES.append(op(name, normal(4)))
        SAMPLES.append(op(name, 1.0, error=">= 1 dimension|at least rank 1"))
        SAMPLES.append(op(name, [[1000.0, 0.0, -1000.0]]))
        SAMPLES.append(
            checked(op(name, [[INF, 0.0], [NAN, 1.0], [-INF, 0.0], [-INF, -INF]]), gradient=False)
        )
        SAMPLES.append(op(name, np.zeros((0, 3), np.float32)))
        SAMPLES.append(op(name, np.zeros((3, 0), np.float32)))
    labels = uniform(3, 5)
    labels /= labels.sum(axis=1, keepdims=True)
    name = "SoftmaxCrossEntropyWithLogits"
    SAMPLES.append(sweep("float double", name, x, labels))
    SAMPLES.append(checked(sweep("half bfloat16", name, x, labels), rtol=0.02))
    SAMPLES.append(op(name, x, labels[:1]))
    SAMPLES.append(op(name, x[:1], labels))
    SAMPLES.append(op(name, x, labels[:2], error="must be broadcastable|must be equal"))
    SAMPLES.append(op(name, x[0], labels[0], error="2-dimensional|rank 2"))
    SAMPLES.append(checked(op(name, [[1.0, -INF, 2.0]], [[0.5, 0.0, 0.5]]), gradient=False))
    SAMPLES.append(op(name, np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32)))
    name = "SparseSoftmaxCrossEntropyWithLogits"
    SAMPLES.append(sweep("float double", name, x, [1, 0, 4], fixed=(1,)))
    SAMPLES.append(
        checked(sweep("half bfloat16", name, x, [1, 0, 4], fixed=(1,)), rtol=0.02, atol=0.01)
    )
    SAMPLES.append(op(name, x, np.array([1, 0, 4])))
    SAMPLES.append(op(name, x, [1, 5, 4], error="outside the valid range"))
    SAMPLES.append(op(name, x, [1, -1, 4], error="outside the valid range"))
    SAMPLES.append(op(name, x, [1, 2], error="same first dimension|must be equal"))
    SAMPLES.append(op(name, x, [[1], [2], [3]], error="must be 1-D|rank 1"))
    SAMPLES.append(op(name, x[0], [1], error="must be 2-D|rank 2"))
    SAMPLES.append(op(name, np.zeros((0, 3), np.float32), np.zeros(0, np.int32)))
    SAMPLES.append(sweep(FLOATS, "L2Loss", x))
    SAMPLES.append(op("L2Loss", np.zeros((0, 3), np.float32)))


def _biases() -> None:
    """BiasAdd and its gradient."""
    types = "half bfloat16 float double int32 int64 uint8 int16 int8 complex64"
    SAMPLES.extend(
        [
            sweep(types, "BiasAdd", normal(2, 3, 4) * 5, [1, 2, 3, 4]),
            sweep(types, "BiasAddGrad", normal(2, 3, 4) * 5),
            op("BiasAdd", normal(2, 3, 2, 2), [1.0, 2.0, 3.0], data_format="NCHW"),
            op("BiasAdd", normal(2, 3), [1.0, 2.0, 3.0]),
            op("BiasAddV1", normal(2, 3), [1.0, 2.0, 3.0]),
            op("BiasAdd", normal(2, 3, 2, 2, 4), normal(4)),
            op("BiasAdd", normal(2, 3, 4), [1.0, 2.0, 3.0], data_format="NCHW"),
            op("BiasAdd", normal(3), normal(3), error="at least 2D|at least rank 2"),
            op("BiasAdd", normal(2, 3), normal(1, 3), error="must be 1D|rank 1"),
            op("BiasAdd", normal(2, 3), normal(2), error="as many biases|must be equal"),
            op("BiasAddGrad", normal(2, 3, 2, 2), data_format="NCHW"),
            op("BiasAddGrad", normal(5, 3)),
            op("BiasAddGrad", normal(3), error="at least 2D|at least rank 2"),
            op("BiasAddGrad", np.zeros((0, 3), np.float32)),
        ]
    )


def _convolutions() -> None:
    """Convolutions and their gradients."""
    x, k = normal(2, 5, 6, 3), normal(3, 2, 3, 4)
    for padding in ("SAME", "VALID"):
        for strides in ([1, 1, 1, 1], [1, 2, 2, 1], [1, 2, 3, 1]):
            for dilations in ([1, 1, 1, 1], [1, 2, 1, 1]):
                attrs = {"strides": strides, "padding": padding, "dilations": dilations}
                if dilations[1] == 2 and strides[1] != 1:
                    continue
                SAMPLES.append(checked(op("Conv2D", x, k, **attrs), rtol=2e-5))
    same = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    big = {"strides": [1, 2, 2, 1], "padding": "SAME"}
    SAMPLES.append(checked(sweep("half bfloat16 float double", "Conv2D", x, k, **same), atol=6e-2))
    SAMPLES.append(
        op(
            "Conv2D",
            x,
            k,
            padding="EXPLICIT",
            explicit_paddings=[0, 0, 1, 2, 3, 0, 0, 0],
            strides=[1, 1, 2, 1],
        )
    )
    SAMPLES.append(op("Conv2D", x, normal(1, 1, 3, 4), **same))
    SAMPLES.append(op("Conv2D", x, normal(1, 1, 3, 4), **big))
    SAMPLES.append(op("Conv2D", x, normal(5, 6, 3, 2), strides=[1, 1, 1, 1], padding="VALID"))
    SAMPLES.append(
        checked(op("Conv2D", normal(2, 9, 9, 8), normal(3, 3, 8, 16), **same), rtol=2e-5)
    )
    SAMPLES.append(
        checked(op("Conv2D", normal(2, 12, 12, 1), normal(5, 5, 1, 8), **same), rtol=2e-5)
    )
    SAMPLES.append(
        checked(op("Conv2D", normal(1, 6, 6, 4), normal(3, 3, 2, 6), **same), gradient=False)
    )
    SAMPLES.append(op("Conv2D", np.zeros((0, 5, 6, 3), np.float32), k, **same))
    SAMPLES.append(op("Conv2D", x, k[:, :, :2], error="evenly divisible|not a multiple", **same))
    SAMPLES.append(op("Conv2D", x[0], k, error="4-dimensional|rank 4", **same))
    SAMPLES.append(op("Conv2D", x, k[0], error="4-dimensional|rank 4", **same))
    SAMPLES.append(
        op(
            "Conv2D",
            normal(1, 2, 2, 3),
            k,
            error="negative|Negative",
            strides=[1, 1, 1, 1],
            padding="VALID",
        )
    )
    SAMPLES.append(
        op(
            "Conv2D",
            x,
            k,
            error="strides in the batch and depth",
            strides=[2, 1, 1, 1],
            padding="VALID",
        )
    )
    for padding in ("SAME", "VALID"):
        for stride in (1, 2):
            attrs = {"strides": [1, stride, stride, 1], "padding": padding}
            out = (
                (-(-5 // stride), -(-6 // stride))
                if padding == "SAME"
                else ((3 - 1) // stride + 1, (5 - 1) // stride + 1)
            )
            g = normal(2, *out, 4)
            SAMPLES.append(
                checked(op("Conv2DBackpropInput", [2, 5, 6, 3], k, g, **attrs), rtol=2e-5)
            )
            SAMPLES.append(
                checked(op("Conv2DBackpropFilter", x, [3, 2, 3, 4], g, **attrs), rtol=2e-5)
            )
    g = normal(2, 5, 6, 4)
    SAMPLES.append(op("Conv2DBackpropInput", [5, 6], k, g, **same))
    SAMPLES.append(
        checked(
            sweep(
                "half bfloat16 double",
                "Conv2DBackpropInput",
                [2, 5, 6, 3],
                k,
                g,
                fixed=(0,),
                **same,
            ),
            atol=5e-2,
        )
    )
    SAMPLES.append(
        checked(
            sweep(
                "half bfloat16 double",
                "Conv2DBackpropFilter",
                x,
                [3, 2, 3, 4],
                g,
                fixed=(1,),
                **same,
            ),
            atol=3e-1,
        )
    )
    SAMPLES.append(
        op(
            "Conv2DBackpropInput",
            [2, 5, 6, 3],
            k,
            g[:, :4],
            error="doesn't match computed|out_backprop|Size",
            **same,
        )
    )
    SAMPLES.append(
        op(
            "Conv2DBackpropFilter",
            x,
            [3, 2, 3, 4],
            g[:, :4],
            error="doesn't match computed|out_backprop|Size",
            **same,
        )
    )
    SAMPLES.append(
        op(
            "Conv2DBackpropInput",
            [2, 5, 6],
            k,
            g,
            error="elements|must|4 values or 2 values",
            **same,
        )
    )
    d = normal(3, 2, 3, 2)
    for padding in ("SAME", "VALID"):
        for stride in (1, 2):
            attrs = {"strides": [1, stride, stride, 1], "padding": padding}
            SAMPLES.append(checked(op("DepthwiseConv2dNative", x, d, **attrs), rtol=2e-5))
    SAMPLES.append(op("DepthwiseConv2dNative", x, normal(3, 3, 3, 1), **same))
    SAMPLES.append(
        op("DepthwiseConv2dNative", x, normal(3, 3, 2, 1), error="same depth|must be equal", **same)
    )
    SAMPLES.append(
        checked(sweep("half bfloat16 double", "DepthwiseConv2dNative", x, d, **same), atol=5e-2)
    )
    g = normal(2, 5, 6, 6)
    SAMPLES.append(
        checked(op("DepthwiseConv2dNativeBackpropInput", [2, 5, 6, 3], d, g, **same), rtol=2e-5)
    )
    SAMPLES.append(
        checked(op("DepthwiseConv2dNativeBackpropFilter", x, [3, 2, 3, 2], g, **same), rtol=2e-5)
    )
    v, f = normal(2, 4, 5, 3, 2), normal(2, 3, 2, 2, 3)
    for padding in ("SAME", "VALID"):
        for strides in ([1, 1, 1, 1, 1], [1, 2, 2, 1, 1]):
            SAMPLES.append(checked(op("Conv3D", v, f, strides=strides, padding=padding), rtol=2e-5))
    same3 = {"strides": [1, 1, 1, 1, 1], "padding": "SAME"}
    g = normal(2, 4, 5, 3, 3)
    SAMPLES.append(checked(op("Conv3DBackpropInputV2", [2, 4, 5, 3, 2], f, g, **same3), rtol=2e-5))
    SAMPLES.append(checked(op("Conv3DBackpropFilterV2", v, [2, 3, 2, 2, 3], g, **same3), rtol=2e-5))


def _pools() -> None:
    """Max and average pooling."""
    x = normal(2, 5, 6, 3)
    types = "half bfloat16 float double int32 int64 uint8 int16 int8 uint16"
    for padding in ("SAME", "VALID"):
        for k, s in ((2, 2), (3, 2), (3, 1), (2, 3)):
            attrs = {"ksize": [1, k, k, 1], "strides": [1, s, s, 1], "padding": padding}
            SAMPLES.append(op("MaxPool", x, **attrs))
            SAMPLES.append(op("AvgPool", x, **attrs))
            SAMPLES.append(op("MaxPoolWithArgmax", x, **attrs))
            SAMPLES.append(op("MaxPoolV2", x, [1, k, k, 1], [1, s, s, 1], padding=padding))
    attrs = {"ksize": [1, 2, 3, 1], "strides": [1, 1, 2, 1], "padding": "VALID"}
    SAMPLES.append(sweep(types, "MaxPool", x * 9, **attrs))
    SAMPLES.append(checked(sweep(FLOATS, "AvgPool", x, **attrs), atol=2e-2))
    SAMPLES.append(
        op(
            "MaxPool",
            x,
            padding="EXPLICIT",
            explicit_paddings=[0, 0, 1, 1, 0, 1, 0, 0],
            ksize=[1, 2, 2, 1],
            strides=[1, 2, 2, 1],
        )
    )
    SAMPLES.append(
        op("MaxPool", normal(2, 2, 2, 6), ksize=[1, 1, 1, 2], strides=[1, 1, 1, 2], padding="VALID")
    )
    SAMPLES.append(
        op(
            "MaxPool",
            normal(2, 2, 2, 6),
            ksize=[1, 1, 1, 3],
            strides=[1, 1, 1, 2],
            padding="VALID",
            error="depth window to equal",
        )
    )
    SAMPLES.append(op("MaxPool", x[0], error="4-dimensional|rank 4", **attrs))
    SAMPLES.append(op("MaxPool", normal(1, 1, 1, 1), error="negative|Negative", **attrs))
    SAMPLES.append(op("AvgPool", normal(1, 1, 1, 1), error="negative|Negative", **attrs))
    SAMPLES.append(op("MaxPool", np.zeros((0, 5, 6, 3), np.float32), **attrs))
    # The maximum of images begins with the lowest finite number; volumes are padded with it.
    low = np.where(normal(1, 4, 4, 2) > 1, normal(1, 4, 4, 2), np.float32(-np.inf))
    same = {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
    SAMPLES.append(op("MaxPool", low, **same))
    SAMPLES.append(op("MaxPoolWithArgmax", low, **same))
    volume = {"ksize": [1, 1, 3, 3, 1], "strides": [1, 1, 1, 1, 1], "padding": "SAME"}
    SAMPLES.append(op("MaxPool3D", low[:, None], **volume))
    padded = dict(same, padding="EXPLICIT", explicit_paddings=[0, 0, 1, 2, 2, 1, 0, 0])
    SAMPLES.append(op("MaxPool", low, **padded))
    SAMPLES.append(op("MaxPool", np.zeros((1, 0, 4, 1), np.float32), **padded))
    padded["explicit_paddings"] = [0, 0, 3, 0, 0, 0, 0, 0]
    SAMPLES.append(op("MaxPool", low, error="smaller than the window", **padded))
    SAMPLES.append(op("AvgPool", np.zeros((0, 5, 6, 3), np.float32), **attrs))
    ties = np.zeros((1, 4, 4, 1), np.float32)
    for k, s, padding in ((2, 2, "VALID"), (3, 1, "SAME"), (3, 2, "SAME")):
        attrs = {"ksize": [1, k, k, 1], "strides": [1, s, s, 1], "padding": padding}
        for value in (ties, normal(1, 4, 4, 1)):
            size = -(-4 // s) if padding == "SAME" else (4 - k) // s + 1
            out = value[:, :size, :size]
            SAMPLES.append(
                checked(
                    op("MaxPoolGrad", value, out, normal(1, size, size, 1), **attrs), gradient=False
                )
            )
            SAMPLES.append(op("MaxPoolWithArgmax", value, include_batch_in_index=True, **attrs))
        SAMPLES.append(op("AvgPoolGrad", [1, 4, 4, 1], normal(1, size, size, 1), **attrs))
    attrs = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
    y = x[:, :4].reshape(2, 2, 2, 3, 2, 3).max(axis=(2, 4))
    SAMPLES.append(op("MaxPoolGrad", x[:, :4], y, normal(2, 2, 3, 3), **attrs))
    SAMPLES.append(
        checked(
            sweep(
                "half bfloat16 double int32",
                "MaxPoolGrad",
                integers(1, 4, 4, 2),
                np.zeros((1, 2, 2, 2)),
                integers(1, 2, 2, 2),
                **attrs,
            ),
            gradient=False,
        )
    )
    SAMPLES.append(
        op("MaxPoolGrad", x[:, :4], y[:, :1], normal(2, 2, 3, 3), error="shape", **attrs)
    )
    SAMPLES.append(op("MaxPoolGradGrad", x[:, :4], y, normal(2, 4, 6, 3), **attrs))
    SAMPLES.append(
        op(
            "MaxPoolGradV2",
            x[:, :4],
            y,
            normal(2, 2, 3, 3),
            [1, 2, 2, 1],
            [1, 2, 2, 1],
            padding="VALID",
        )
    )
    SAMPLES.append(
        op(
            "MaxPoolGradGradV2",
            x[:, :4],
            y,
            normal(2, 4, 6, 3),
            [1, 2, 2, 1],
            [1, 2, 2, 1],
            padding="VALID",
        )
    )
    places = np.array([[[[0, 1], [4, 5]], [[16, 17], [30, 31]]]])
    SAMPLES.append(
        op("MaxPoolGradWithArgmax", normal(1, 4, 4, 2), normal(1, 2, 2, 2), places, **attrs)
    )
    SAMPLES.append(
        op("MaxPoolGradGradWithArgmax", normal(1, 4, 4, 2), normal(1, 4, 4, 2), places, **attrs)
    )
    # Windows without cells.
    w = normal(1, 3, 3, 2)
    attrs = {"ksize": [1, 0, 1, 1], "strides": [1, 1, 1, 1], "padding": "SAME"}
    SAMPLES.append(op("AvgPoolGrad", w.shape, w, **attrs))
    SAMPLES.append(op("AvgPoolGrad", w.shape, w, **dict(attrs, ksize=[0, 1, 1, 1]), error="batch"))
    SAMPLES.append(op("AvgPool", w, **dict(attrs, ksize=[1, -1, 1, 1]), error="positive"))
    attrs = {"ksize": [1, 0, 1, 1, 1], "strides": [1, 1, 1, 1, 1], "padding": "SAME"}
    SAMPLES.append(op("MaxPool3DGrad", w[None], w[None], w[None], **attrs))
    attrs["ksize"] = [1, 1, 1, 1, 1]
    sizes = np.array([0, 2**31 - 1, 2**31 - 1, 4, 1], np.int32)  # more than NumPy has
    SAMPLES.append(op("AvgPool3DGrad", sizes, w[None, ..., :1], error="match", **attrs))
    attrs = {"ksize": [1, -1, 1, 1], "strides": [1, 1, 1, 1], "padding": "VALID"}
    row = op("MaxPoolGradGrad", w, normal(1, 5, 3, 2), w, **attrs)
    SAMPLES.append(checked(row, gradient=False, undefined=(0,)))
    v = normal(1, 4, 5, 3, 2)
    for padding in ("SAME", "VALID"):
        attrs = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 1, 2, 1], "padding": padding}
        SAMPLES.append(op("MaxPool3D", v, **attrs))
        SAMPLES.append(op("AvgPool3D", v, **attrs))


def _norms() -> None:
    """Batch norm, LRN."""
    x = normal(3, 4, 2, 5) * 2 + 1
    scale, offset, mean, variance = (
        uniform(5, low=0.5),
        normal(5),
        normal(5, seed=2),
        uniform(5, low=0.5, seed=3),
    )
    nothing = np.zeros(0, np.float32)
    for name in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"):
        SAMPLES.append(
            checked(op(name, x, scale, offset, nothing, nothing), rtol=2e-5, gradient=False)
        )
        SAMPLES.append(
            checked(op(name, x, scale, offset, nothing, nothing, epsilon=0.01), rtol=2e-5)
        )
        SAMPLES.append(
            checked(
                op(name, x, scale, offset, mean, variance, is_training=False),
                rtol=1e-5,
                undefined=(3, 4),
            )
        )
        SAMPLES.append(
            checked(
                op(name, x, scale, offset, mean, variance, exponential_avg_factor=0.3), rtol=1e-5
            )
        )
        SAMPLES.append(
            checked(
                op(name, x[:1, :1, :1], scale, offset, nothing, nothing), gradient=False, atol=1e-5
            )
        )
        SAMPLES.append(
            checked(
                op(name, np.moveaxis(x, 3, 1), scale, offset, nothing, nothing, data_format="NCHW"),
                rtol=2e-5,
            )
        )
        SAMPLES.append(
            checked(
                op(
                    name,
                    np.moveaxis(x, 3, 1),
                    scale,
                    offset,
                    mean,
                    variance,
                    data_format="NCHW",
                    is_training=False,
                ),
                rtol=2e-5,
                undefined=(3, 4),
            )
        )
        SAMPLES.append(
            op(name, x, scale[:2], offset, mean, variance, error="must be equal|number of elements")
        )
        SAMPLES.append(op(name, x[0], scale, offset, mean, variance, error="4|rank"))
    for name in ("FusedBatchNormV2", "FusedBatchNormV3"):
        for half in (np.float16,):
            SAMPLES.append(
                checked(
                    op(name, x.astype(half), scale, offset, nothing, nothing),
                    atol=5e-3,
                    gradient=False,
                )
            )
            SAMPLES.append(
                checked(
                    op(name, x.astype(half), scale, offset, mean, variance, is_training=False),
                    atol=5e-3,
                    gradient=False,
                    undefined=(3, 4),
                )
            )
    SAMPLES.append(
        checked(
            op(
                "FusedBatchNormV3",
                x.reshape(3, 2, 2, 2, 5),
                scale,
                offset,
                nothing,
                nothing,
                data_format="NDHWC",
            ),
            rtol=2e-5,
        )
    )
    SAMPLES.append(
        checked(
            op(
                "FusedBatchNormV3",
                np.zeros((0, 2, 2, 5), np.float32),
                scale,
                offset,
                nothing,
                nothing,
            ),
            gradient=False,
            undefined=(3, 4),
        )
    )
    g = normal(3, 4, 2, 5, seed=9)
    for training in (True, False):
        attrs = {"is_training": training}
        row = op("FusedBatchNormGrad", g, x, scale, mean, variance, **attrs)
        SAMPLES.append(checked(row, rtol=2e-5))
        rest = (scale, mean, variance, nothing)
        SAMPLES.append(checked(op("FusedBatchNormGradV3", g, x, *rest, **attrs), rtol=2e-5))
    first = [value.transpose(0, 3, 1, 2) for value in (g, x)]
    row = op("FusedBatchNormGradV3", *first, *rest, data_format="NCHW")
    SAMPLES.append(checked(row, rtol=2e-5))
    lrn = {"depth_radius": 2, "bias": 1.0, "alpha": 0.2, "beta": 0.75}
    SAMPLES.append(checked(op("LRN", x, **lrn), rtol=1e-5))
    SAMPLES.append(checked(op("LRN", x), rtol=1e-5))
    SAMPLES.append(checked(sweep("half bfloat16", "LRN", x, **lrn), atol=2e-2, gradient=False))
    SAMPLES.append(checked(op("LRNGrad", g, x, x * 0.5, **lrn), rtol=1e-5, gradient=False))
    idle = np.where(x > 0, g, 0)
    SAMPLES.append(checked(op("LRNGrad", idle, x * np.inf, x, **lrn), gradient=False))
    SAMPLES.append(op("LRN", x[0], error="4-dimensional|rank 4"))


def _tops() -> None:
    """TopK, InTopK, NthElement."""
    x = normal(3, 6)
    for k in (0, 1, 2, 6):
        SAMPLES.append(op("TopKV2", x, k))
    SAMPLES.append(sweep(REAL, "TopKV2", [[1, 5, 3, 5, 0, 3]], 4, fixed=(1,)))
    SAMPLES.append(op("TopKV2", normal(2, 2, 100), 5))
    SAMPLES.append(op("TopKV2", integers(2, 100, high=3), 5))
    SAMPLES.append(op("TopKV2", normal(7), 3, index_type="int64"))
    SAMPLES.append(op("TopKV2", x, 7, error="at least k columns|last dimension >= k"))
    SAMPLES.append(op("TopKV2", x, -1, error="Need k >= 0"))
    SAMPLES.append(op("TopKV2", 1.0, 1, error=">= 1-D|at least rank 1"))
    SAMPLES.append(op("TopKV2", x, [1], error="must be scalar"))
    predictions = [[0.1, 0.3, 0.2, 0.4], [0.1, 0.4, 0.3, 0.2], [0.5, 0.5, 0.5, 0.1]]
    SAMPLES.append(op("InTopK", predictions, [3, 0, 2], k=2))
    SAMPLES.append(op("InTopKV2", predictions, [3, 0, 2], 1))
    SAMPLES.append(op("InTopKV2", predictions, [3, 7, -1], 2))
    SAMPLES.append(op("InTopKV2", [[0.1, INF], [NAN, 0.5], [0.2, 0.1]], [1, 1, 0], 1))
    SAMPLES.append(op("InTopKV2", predictions, np.array([3, 0, 2]), np.int64(3)))
    SAMPLES.append(op("InTopKV2", predictions, [3, 0], 1, error="must match length|must be equal"))
    SAMPLES.append(sweep(REAL, "NthElement", [[5, 1, 3], [2, 2, 9]], 1, fixed=(1,)))
    SAMPLES.append(op("NthElement", x, 2, reverse=True))
    SAMPLES.append(op("NthElement", x, 6, error="last dimension > n"))


for _make in (_activations, _softmaxes, _biases, _convolutions, _pools, _norms, _tops):
    _make()
