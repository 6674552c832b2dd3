"""Gradients of windows, pictures, normalization and slices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.core import dtypes
from tfnb.onnx_export.families.slices import cut
from tfnb.onnx_export.families.windows import (
    Layout,
    channels_first_filter,
    pads_of,
    pooled_with_places,
    transposed_convolution,
)
from tfnb.onnx_export.writing.converters import NodeToConvert, converts
from tfnb.onnx_export.writing.problems import Refused


@converts("Conv2DBackpropFilter", "Conv3DBackpropFilterV2")
def convolution_filter(node: NodeToConvert) -> str:
    """Convert the gradient of a filter: a convolution whose batch and channels are exchanged."""
    spatial = int(node.op[4])
    layout, sizes, attrs = _filter_windows(node, spatial)
    last = spatial + 1
    swap = [last, 0, *range(1, last)] if layout.is_last else [1, 0, *range(2, spatial + 2)]
    depth, channels = node.dims(0)[-1 if layout.is_last else 1], node.output_shapes[0].dim_values
    if depth is not None and channels is not None and channels[spatial] not in (None, depth):
        raise Refused("the filter of a convolution in groups")
    given = [node.transposed(node.inputs[index], swap) for index in (0, 2)]
    found = node.numeric("Conv", given, node.dtype(0), **attrs)
    found = _cropped(node, found, sizes)
    return node.transposed(found, [*range(2, spatial + 2), 0, 1])


def _filter_windows(node: NodeToConvert, spatial: int) -> tuple[Layout, list[int], dict[str, Any]]:
    """Return layout, sizes of the filter, and the attributes of the convolution that gives it.

    Strides of the forward convolution are dilations of this one, and the reverse.
    """
    layout = Layout(node, spatial)
    strides = layout.chosen(node.attr("strides"))
    dilations = layout.chosen(node.attr("dilations") or [1] * (spatial + 2))
    dims = node.output_shapes[0].dim_values
    if dims is None or None in dims[:spatial]:
        raise Refused("the size of its filter is not known")
    sizes = [int(size) for size in dims[:spatial] if size is not None]
    pads = pads_of(node, layout, sizes, strides, dilations)
    return layout, sizes, {"pads": pads, "dilations": strides, "strides": dilations}


def _cropped(node: NodeToConvert, value: str, sizes: list[int]) -> str:
    """Return the first places of the axes behind the second one."""
    axes = range(2, 2 + len(sizes))
    return node.add(
        "Slice", value, node.ints(*[0] * len(sizes)), node.ints(*sizes), node.ints(*axes)
    )


@converts("DepthwiseConv2dNativeBackpropInput")
def depthwise_input(node: NodeToConvert) -> str:
    """Convert the gradient of the input: a transposed convolution of one group a channel."""
    layout = Layout(node)
    height, width, channels, multiplier = (node.size(1, axis) for axis in range(4))
    weights = channels_first_filter(node, 1, (channels * multiplier, 1, height, width))
    return transposed_convolution(node, layout, weights, [height, width], channels)


@converts("DepthwiseConv2dNativeBackpropFilter")
def depthwise_filter(node: NodeToConvert) -> str:
    """Convert the gradient of the filter: a convolution of one group a channel."""
    layout, sizes, attrs = _filter_windows(node, 2)
    swap = [3, 0, 1, 2] if layout.is_last else [1, 0, 2, 3]
    dims = node.output_shapes[0].dim_values
    channels, multiplier = (None, None) if dims is None else dims[2:4]
    if channels is None or multiplier is None:
        raise Refused("the size of its filter is not known")
    value, gradient = (node.transposed(node.inputs[index], swap) for index in (0, 2))
    rest = node.add("Slice", node.add("Shape", value), node.ints(2), node.ints(4))
    joined = node.add("Reshape", value, node.add("Concat", node.ints(1, -1), rest, axis=0))
    found = node.numeric("Conv", [joined, gradient], node.dtype(0), group=channels, **attrs)
    found = _cropped(node, found, sizes)
    found = node.add("Reshape", found, node.ints(channels, multiplier, *sizes))
    return node.transposed(found, [2, 3, 0, 1])


@converts("AvgPoolGrad")
def average_pool(node: NodeToConvert) -> str:
    """Convert the gradient of an average: each window spreads its share over its places."""
    layout = Layout(node)
    shape = node.constant(0)
    if shape is None:
        raise Refused("the shape of the pooled tensor (input 0) is not constant")
    kernel, strides = (layout.chosen(node.attr(name)) for name in ("ksize", "strides"))
    if 0 in kernel:
        raise Refused("its window has size 0")
    lengths = [int(shape[place]) for place in layout.places]
    counts = []
    pads = pads_of(node, layout, kernel, strides, [1, 1], lengths)
    for axis, length in enumerate(lengths):
        before, after = pads[axis], pads[axis + 2]
        begins = np.arange((length + before + after - kernel[axis]) // strides[axis] + 1)
        begins = begins * strides[axis] - before
        counts.append(np.minimum(begins + kernel[axis], length) - np.maximum(begins, 0))
    dtype = node.dtype(1)
    # A window that lies on added places alone has none to share with.
    shares = np.reshape(
        1.0 / np.maximum(np.outer(*counts), 1), (1, 1, len(counts[0]), len(counts[1]))
    )
    gradient = node.numeric(
        "Mul", [layout.first(node, node.inputs[1]), node.value(shares, dtype.numpy_dtype)], dtype
    )
    flat = node.add("Reshape", gradient, node.ints(-1, 1, *shares.shape[2:]))
    whole = [(n - 1) * s + k for n, s, k in zip(shares.shape[2:], strides, kernel)]
    spread = node.numeric(
        "ConvTranspose",
        [flat, node.value(np.ones((1, 1, *kernel)), dtype.numpy_dtype)],
        dtype,
        strides=strides,
        output_padding=[max(n + pads[a] - w, 0) for a, (n, w) in enumerate(zip(lengths, whole))],
    )
    found = node.add(
        "Slice",
        spread,
        node.ints(*pads[:2]),
        node.ints(*(pad + length for pad, length in zip(pads, lengths))),
        node.ints(2, 3),
    )
    channels = int(shape[-1 if layout.is_last else 1])
    return layout.back(node, node.add("Reshape", found, node.ints(-1, channels, *lengths)))


@converts("MaxPoolGrad", "MaxPoolGradV2")
def max_pool(node: NodeToConvert) -> str:
    """Convert the gradient of a maximum, which goes to the first largest place of a window."""
    layout = Layout(node)
    dtype = node.dtype(0)
    value, _, places = pooled_with_places(node, layout)
    flat_shape = node.ints(-1)
    gradient = node.add("Reshape", layout.first(node, node.inputs[2]), flat_shape)
    zeros = node.numeric("Mul", [value, node.scalar(0)], dtype)
    zeros = node.add("Reshape", zeros, flat_shape)
    indices = node.add("Reshape", places, flat_shape)
    found = node.scattered("ScatterElements", zeros, indices, gradient, dtype, "add")
    return layout.back(node, node.add("Reshape", found, node.add("Shape", value)))


@converts("MaxPoolWithArgmax")
def max_pool_with_places(node: NodeToConvert) -> list[str]:
    """Convert a maximum with the places of the largest values, counted in NHWC."""
    layout = Layout(node)
    value, best, places = pooled_with_places(node, layout)
    shape = node.add("Shape", value)

    def size(axis: int) -> str:
        return node.add("Gather", shape, node.value(axis, np.int64))

    channels, height, width = size(1), size(2), size(3)
    area = node.add("Mul", height, width)
    pixel = node.add("Mod", places, area)
    image = node.add("Div", places, area)
    channel = node.add("Mod", image, channels)
    if node.attr("include_batch_in_index", False):
        batch = node.add("Mul", node.add("Div", image, channels), area)
        pixel = node.add("Add", pixel, batch)
    found = node.add("Add", node.add("Mul", pixel, channels), channel)
    return [layout.back(node, best), node.as_output(layout.back(node, found), 1)]


@converts("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3")
def batch_norm(node: NodeToConvert) -> list[str]:
    """Convert the gradients of a batch normalization: of input, scale and offset."""
    layout = Layout(node)
    kind = node.dtype(3)
    axes = [0, *layout.places]
    shape = node.ints(*[-1 if axis not in axes else 1 for axis in range(4)])
    gradient, value = (node.as_type(index, kind) for index in (0, 1))
    scale, mean, variance = (node.add("Reshape", node.inputs[n], shape) for n in (2, 3, 4))
    if node.dtype(2) != kind:
        scale = node.cast(scale, kind)

    def times(*factors: str) -> str:
        found = factors[0]
        for one in factors[1:]:
            found = node.numeric("Mul", [found, one], kind)
        return found

    epsilon = node.value(float(node.attr("epsilon", 1e-4)), kind.numpy_dtype)
    root = node.numeric("Sqrt", [node.numeric("Add", [variance, epsilon], kind)], kind)
    inverse = node.numeric("Reciprocal", [root], kind)
    apart = node.numeric("Sub", [value, mean], kind)
    offset = node.reduce("ReduceSum", gradient, axes, kind, True)
    product = node.reduce("ReduceSum", times(gradient, apart), axes, kind, True)
    found = gradient
    if node.attr("is_training", True):
        count = node.cast(node.add("Div", node.add("Size", value), node.add("Size", mean)), kind)
        center = node.numeric("Div", [offset, count], kind)
        slope = times(node.numeric("Div", [product, count], kind), inverse, inverse)
        found = node.numeric("Sub", [gradient, center], kind)
        found = node.numeric("Sub", [found, times(apart, slope)], kind)
    found = times(found, scale, inverse)
    flat = node.ints(-1)
    results = [found if node.dtype(0) == kind else node.cast(found, node.dtype(0))]
    results += [node.add("Reshape", one, flat) for one in (times(product, inverse), offset)]
    nothing = node.value(np.zeros((0,)), kind.numpy_dtype)
    return [*results, nothing, nothing][: len(node.item.output_types)]


@converts("LRNGrad")
def local_response(node: NodeToConvert) -> str:
    """Convert the gradient of LRN; a matrix of ones near its diagonal sums over a window."""
    dtype = node.dtype(0)
    channels, radius = node.size(1, 3), int(node.attr("depth_radius", 5))
    places = np.arange(channels)
    near = np.abs(places[:, None] - places) <= radius
    window = node.value(near, dtype.numpy_dtype)
    gradient, value, result = node.inputs
    alpha, beta = float(node.attr("alpha", 1.0)), float(node.attr("beta", 0.5))

    def binary(op: str, one: str, other: str) -> str:
        return node.numeric(op, [one, other], dtype)

    total = binary("MatMul", binary("Mul", value, value), window)
    norm = binary("Mul", total, node.scalar(alpha))
    norm = binary("Add", norm, node.scalar(float(node.attr("bias", 1.0))))
    direct = binary("Mul", gradient, binary("Pow", norm, node.scalar(-beta)))
    share = binary("Div", binary("Mul", gradient, result), norm)
    around = binary("Mul", binary("MatMul", share, window), value)
    return binary("Add", direct, binary("Mul", around, node.scalar(-2 * alpha * beta)))


@converts("ResizeBilinearGrad", "ResizeNearestNeighborGrad", "ResizeBicubicGrad")
def resize(node: NodeToConvert) -> str:
    """Convert the gradient of a resize, as products with the weights of rows and columns."""
    if node.op == "ResizeNearestNeighborGrad":
        sizes = [int(size) for size in node.needed(1, "its size")]
    else:
        sizes = [node.size(1, axis) for axis in (1, 2)]
    target = node.output_dtype()
    value = node.as_type(0, dtypes.float32)
    compute = node.item.compute
    assert compute is not None
    for axis, (size, equation) in enumerate(zip(sizes, ("nowc,ho->nhwc", "nhoc,wo->nhwc"))):
        # The op itself, of a picture whose rows are marks, gives the weights of each row.
        length = node.size(0, axis + 1)
        marks = np.eye(length, dtype=node.dtype(0).numpy_dtype).reshape(1, length, length, 1)
        if node.op == "ResizeNearestNeighborGrad":
            original = np.asarray([size, length], np.int32)
        else:
            original = np.zeros((1, size, length, 1), target.numpy_dtype)
        matrix = np.asarray(compute(marks, original))[0, :, :, 0].astype(np.float32)
        value = node.add("Einsum", value, node.value(matrix), equation=equation)
    return value if target == dtypes.float32 else node.cast(value, target)


@converts("StridedSliceGrad")
def strided_slice(node: NodeToConvert) -> str:
    """Convert the gradient of a slice: zeros, and the gradient at the places of the slice."""
    dtype = node.dtype(4)
    shape = node.int64(0)
    count = node.add("ReduceProd", shape, keepdims=0)
    steps = node.add("Range", node.value(0, np.int64), count, node.value(1, np.int64))
    rank = node.size(0, 0)
    chosen = cut(node, node.add("Reshape", steps, shape), rank)
    zeros = node.add(
        "ConstantOfShape",
        node.add("Reshape", count, node.ints(1)),
        value=np.zeros(1, dtype.numpy_dtype),
    )
    flat = node.ints(-1)
    found = node.add(
        "ScatterElements",
        zeros,
        node.add("Reshape", chosen, flat),
        node.add("Reshape", node.inputs[4], flat),
    )
    return node.add("Reshape", found, shape, allowzero=1)
