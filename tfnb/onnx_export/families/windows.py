"""Sliding windows: convolution, pooling, patches.

ONNX has channels first: each is written between transposes, which ``layout.py`` removes in pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.core import dtypes
from tfnb.onnx_export.writing.converters import NodeToConvert, converts
from tfnb.onnx_export.writing.problems import Refused


class Layout:
    """The axes of a node's input.

    Attributes:
      spatial: the number of axes that windows slide over.
      is_last: whether the channels come last.
    """

    def __init__(self, node: NodeToConvert, spatial: int = 2) -> None:
        text = node.attr("data_format") or ("NHWC" if spatial == 2 else "NDHWC")
        if len(text) != spatial + 2 or text[0] != "N" or "C" not in (text[1], text[-1]):
            raise Refused(f"the layout {text}")
        self.spatial = spatial
        self.is_last = text[-1] == "C"
        self.places = list(range(1, spatial + 1) if self.is_last else range(2, spatial + 2))

    def first(self, node: NodeToConvert, value: str) -> str:
        """Return a value with its channels first."""
        if not self.is_last:
            return value
        return node.transposed(value, [0, self.spatial + 1, *range(1, self.spatial + 1)])

    def back(self, node: NodeToConvert, value: str) -> str:
        """Return a value with channels first in the layout of the node."""
        if not self.is_last:
            return value
        return node.transposed(value, [0, *range(2, self.spatial + 2), 1])

    def chosen(self, sizes: Any) -> list[int]:
        """Return the entries of a list of four or five numbers for the axes of the windows."""
        return [int(sizes[place]) for place in self.places]


def pads_of(
    node: NodeToConvert,
    layout: Layout,
    kernel: list[int],
    strides: list[int],
    dilations: list[int],
    lengths: list[int] | None = None,
) -> list[int]:
    """Return the padding in numbers: before each axis, then behind each.

    Args:
      node: the node, whose first input has the windows.
      layout: its axes.
      kernel: the sizes of the windows.
      strides: their strides.
      dilations: their dilations.
      lengths: the sizes of the axes; None: those of the first input.
    """
    padding = node.attr("padding")
    if padding == "VALID":
        return [0] * (2 * len(kernel))
    if padding == "EXPLICIT":
        pads: list[int] = _padding(node, layout)["pads"]
        return pads
    return _same_pads(node, layout, kernel, strides, dilations, lengths)["pads"]


def _padding(node: NodeToConvert, layout: Layout) -> dict[str, Any]:
    padding = node.attr("padding")
    if padding == "EXPLICIT":
        pairs = np.reshape(node.attr("explicit_paddings"), (-1, 2))[layout.places]
        return {"pads": [int(size) for size in np.transpose(pairs).reshape(-1)]}
    return {"auto_pad": "SAME_UPPER" if padding == "SAME" else "VALID"}


def _same_pads(
    node: NodeToConvert,
    layout: Layout,
    kernel: list[int],
    strides: list[int],
    dilations: list[int],
    lengths: list[int] | None = None,
) -> dict[str, list[int]]:
    """Return the padding of SAME in numbers, which runtimes need where windows are dilated."""
    pads: list[list[int]] = [[], []]
    for axis, place in enumerate(layout.places):
        size, stride, dilation = kernel[axis], strides[axis], dilations[axis]
        whole = (size - 1) * dilation + 1
        if stride == 1:
            total = whole - 1
        else:
            length = node.size(0, place) if lengths is None else lengths[axis]
            total = max((-(-length // stride) - 1) * stride + whole - length, 0)
        pads[0].append(total // 2)
        pads[1].append(total - total // 2)
    return {"pads": [*pads[0], *pads[1]]}


def _kernel(node: NodeToConvert, value: str, index: int, order: list[int]) -> str:
    """Return a filter in ONNX's order; a constant is transposed here."""
    known = node.constant(index)
    if known is not None:
        return node.value(np.ascontiguousarray(np.transpose(known, order)))
    return node.transposed(value, order)


@converts("Conv2D", "Conv3D")
def convolution(node: NodeToConvert) -> str:
    """Convert a convolution."""
    return convolved(node, int(node.op[4]))


def convolved(node: NodeToConvert, spatial: int) -> str:
    """Return the convolution of the first two inputs."""
    layout = Layout(node, spatial)
    strides = layout.chosen(node.attr("strides"))
    dilations = layout.chosen(node.attr("dilations") or [1] * (spatial + 2))
    attrs = _padding(node, layout)
    kernel = node.dims(1)[:spatial]
    if "auto_pad" in attrs and attrs["auto_pad"] != "VALID" and max(dilations) > 1:
        if None in kernel:
            raise Refused("the size of a dilated filter is not known")
        sizes = [int(size) for size in kernel if size is not None]
        attrs = _same_pads(node, layout, sizes, strides, dilations)
    groups = 1
    channels = node.shapes[0].dim_values
    depth = node.dims(1)[spatial]
    if channels is not None and depth:
        total = channels[-1 if layout.is_last else 1]
        groups = 1 if total is None else total // depth
    weights = _kernel(node, node.inputs[1], 1, [spatial + 1, spatial, *range(spatial)])
    dtype = node.dtype(0)
    found = node.numeric(
        "Conv",
        [layout.first(node, node.inputs[0]), weights],
        dtype,
        strides=strides,
        dilations=dilations,
        group=groups,
        **attrs,
    )
    return layout.back(node, found)


@converts("DepthwiseConv2dNative")
def depthwise(node: NodeToConvert) -> str:
    """Convert a depthwise convolution: one group for each channel."""
    layout = Layout(node)
    height, width, channels, multiplier = (node.size(1, axis) for axis in range(4))
    weights = channels_first_filter(node, 1, (channels * multiplier, 1, height, width))
    strides = layout.chosen(node.attr("strides"))
    dilations = layout.chosen(node.attr("dilations") or [1] * 4)
    attrs = _padding(node, layout)
    if attrs.get("auto_pad") == "SAME_UPPER" and max(dilations) > 1:
        attrs = _same_pads(node, layout, [height, width], strides, dilations)
    found = node.numeric(
        "Conv",
        [layout.first(node, node.inputs[0]), weights],
        node.dtype(0),
        strides=strides,
        dilations=dilations,
        group=channels,
        **attrs,
    )
    return layout.back(node, found)


def channels_first_filter(node: NodeToConvert, index: int, shape: tuple[int, ...]) -> str:
    """Return a depthwise filter with its channels first, in another shape."""
    known = node.constant(index)
    if known is not None:
        turned = np.transpose(known, (2, 3, 0, 1)).reshape(shape)
        return node.value(np.ascontiguousarray(turned))
    turned_value = node.transposed(node.inputs[index], [2, 3, 0, 1])
    return node.add("Reshape", turned_value, node.ints(*shape))


@converts("Conv2DBackpropInput", "Conv3DBackpropInputV2")
def convolution_transposed(node: NodeToConvert) -> str:
    """Convert a transposed convolution, whose output size is an input in TensorFlow."""
    spatial = 2 if node.op.startswith("Conv2D") else 3
    layout = Layout(node, spatial)
    kernel = [node.size(1, axis) for axis in range(spatial)]
    weights = _kernel(node, node.inputs[1], 1, [spatial + 1, spatial, *range(spatial)])
    depth, sizes = node.dims(1)[spatial], node.output_shapes[0].dim_values
    total = None if sizes is None else sizes[-1 if layout.is_last else 1]
    if depth is not None and total not in (None, depth):
        raise Refused("a transposed convolution in groups")
    return transposed_convolution(node, layout, weights, kernel, 1)


def transposed_convolution(
    node: NodeToConvert, layout: Layout, weights: str, kernel: list[int], groups: int
) -> str:
    """Return the transposed convolution of input 2, whose wanted shape is input 0.

    Args:
      node: the node.
      layout: its axes.
      weights: the filter in ONNX's order.
      kernel: its sizes.
      groups: the number of groups.
    """
    spatial = layout.spatial
    strides = layout.chosen(node.attr("strides"))
    dilations = layout.chosen(node.attr("dilations") or [1] * (spatial + 2))
    gradient = layout.first(node, node.inputs[2])
    padding = node.attr("padding")
    whole = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations)]
    sizes = node.output_shapes[0].dim_values
    wanted = [None if sizes is None else sizes[place] for place in layout.places]
    if None not in wanted:
        sizes_wanted = [size for size in wanted if size is not None]
        attrs = _known_transposed_attrs(node, layout, strides, whole, sizes_wanted)
        found = node.numeric(
            "ConvTranspose",
            [gradient, weights],
            node.dtype(2),
            strides=strides,
            dilations=dilations,
            group=groups,
            **attrs,
        )
        return layout.back(node, found)
    # Unknown sizes: everything is computed, and the wanted part is cut out.
    found = node.numeric(
        "ConvTranspose",
        [gradient, weights],
        node.dtype(2),
        strides=strides,
        dilations=dilations,
        group=groups,
        output_padding=[stride - 1 for stride in strides],
    )
    if padding == "EXPLICIT":
        raise Refused("explicit padding of an output whose size is not known")
    places = node.ints(*layout.places)
    whole_shape = node.int64(0)
    if node.shapes[0].dim_values == (spatial,):  # old graphs give the sizes of the windows' axes
        whole_shape = node.add("Concat", node.ints(1), whole_shape, node.ints(1), axis=0)
        places = node.ints(*range(1, spatial + 1))
    lengths = node.add("Gather", whole_shape, places)
    if padding == "SAME":
        counts = node.add("Slice", node.add("Shape", gradient), node.ints(2), node.ints(9))
        steps = node.add("Sub", counts, node.ints(1))
        full = node.add("Add", node.add("Mul", steps, node.ints(*strides)), node.ints(*whole))
        total = node.add("Max", node.add("Sub", full, lengths), node.ints(0))
        begin = node.add("Div", total, node.ints(2))
    else:
        begin = node.ints(*[0] * spatial)
    end = node.add("Add", begin, lengths)
    axes = node.ints(*range(2, spatial + 2))
    return layout.back(node, node.add("Slice", found, begin, end, axes))


def _known_transposed_attrs(
    node: NodeToConvert, layout: Layout, strides: list[int], whole: list[int], wanted: list[int]
) -> dict[str, Any]:
    """Return the padding of a transposed convolution whose output size is known."""
    padding = node.attr("padding")
    given = node.shapes[2].dim_values
    before: list[int] = []
    after: list[int] = []
    extra: list[int] = []
    for number, place in enumerate(layout.places):
        length, stride = wanted[number], strides[number]
        if padding == "SAME":
            total = max((-(-length // stride) - 1) * stride + whole[number] - length, 0)
            before.append(total // 2)
        elif padding == "VALID":
            total = 0
            before.append(0)
        else:
            pairs = np.reshape(node.attr("explicit_paddings"), (-1, 2))
            total = int(pairs[place].sum())
            before.append(int(pairs[place][0]))
        count = None if given is None else given[place]
        if count is None:
            count = (length + total - whole[number]) // stride + 1
        rest = (count - 1) * stride + whole[number] - before[-1] - length
        after.append(max(rest, 0))
        extra.append(max(-rest, 0))
    attrs: dict[str, Any] = {"pads": [*before, *after]}
    if any(extra):
        attrs["output_padding"] = extra
    return attrs


@converts("MaxPool", "MaxPoolV2", "AvgPool", "MaxPool3D", "AvgPool3D")
def pooling(node: NodeToConvert) -> str:
    """Convert a pooling."""
    layout = Layout(node, 3 if node.op.endswith("3D") else 2)
    op = "MaxPool" if node.op.startswith("Max") else "AveragePool"
    value = layout.first(node, node.inputs[0])
    attrs = _pooling_attrs(node, layout, 1)
    return layout.back(node, node.numeric(op, [value], node.dtype(0), **attrs))


def _pooling_attrs(node: NodeToConvert, layout: Layout, first: int) -> dict[str, Any]:
    """Return the attributes of a pooling.

    Args:
      node: the node.
      layout: its axes.
      first: the input that has the sizes of the windows, if the op has inputs for them.
    """
    if node.op in ("MaxPoolV2", "MaxPoolGradV2"):
        sizes = node.needed(first, "its window")
        steps = node.needed(first + 1, "its strides")
    else:
        sizes, steps = node.attr("ksize"), node.attr("strides")
    channel = -1 if layout.is_last else 1
    if sizes[0] != 1 or sizes[channel] != 1:
        raise Refused("windows over the batch or the channels")
    kernel, strides = layout.chosen(sizes), layout.chosen(steps)
    attrs = _padding(node, layout)
    if attrs.get("auto_pad") == "SAME_UPPER" and any(
        step > size for step, size in zip(strides, kernel)
    ):
        # Runtimes compute a negative padding.
        attrs = dict(_same_pads(node, layout, kernel, strides, [1] * len(kernel)))
    return {"kernel_shape": kernel, "strides": strides, **attrs}


def pooled_with_places(node: NodeToConvert, layout: Layout) -> tuple[str, str, str]:
    """Return input 0 with channels first, its maxima, and their places in the flat input."""
    value = layout.first(node, node.inputs[0])
    dtype = node.dtype(0)
    wide = dtype if dtype in (dtypes.float32, dtypes.float64) else dtypes.float32
    if wide != dtype:
        value = node.cast(value, wide)
    best, places = node.add_many("MaxPool", 2, value, **_pooling_attrs(node, layout, 3))
    if wide != dtype:
        value, best = node.cast(value, dtype), node.cast(best, dtype)
    return value, best, places


@converts("SpaceToBatchND", "BatchToSpaceND", "SpaceToBatch", "BatchToSpace")
def space_and_batch(node: NodeToConvert) -> str:
    """Convert the moves between space and batch, which dilated convolutions are made of."""
    value = node.inputs[0]
    if node.op in ("SpaceToBatchND", "BatchToSpaceND"):
        block = [int(size) for size in node.needed(1, "its block")]
        edges = node.constant(2)
        edges_value = node.int64(2)
    else:
        block = [int(node.attr("block_size"))] * 2
        edges = node.constant(1)
        edges_value = node.int64(1)
    number = len(block)
    rank = node.rank(0)
    rest = rank - 1 - number
    all_of_block = int(np.prod(block))
    if node.op.startswith("Space"):
        zeros = np.zeros((1, 2), np.int64)
        if edges is not None:
            pairs = np.concatenate([zeros, edges, np.zeros((rest, 2), np.int64)])
            pads = node.value(np.transpose(pairs).reshape(-1), np.int64)
        else:
            whole = node.add(
                "Concat",
                node.value(zeros),
                edges_value,
                *([node.value(np.zeros((rest, 2), np.int64))] if rest else []),
                axis=0,
            )
            pads = node.add("Reshape", node.transposed(whole, [1, 0]), node.ints(-1))
        padded = node.add("Pad", value, pads, node.scalar(0), mode="constant")
        shape = node.add("Shape", padded)
        parts = [_size(node, shape, 0)]
        for axis, size in enumerate(block):
            parts += [
                node.add("Div", _size(node, shape, axis + 1), node.ints(size)),
                node.ints(size),
            ]
        tail = [_size(node, shape, axis) for axis in range(number + 1, rank)]
        split = node.add("Reshape", padded, node.add("Concat", *parts, *tail, axis=0))
        order = [2 * axis + 2 for axis in range(number)]
        order += [0] + [2 * axis + 1 for axis in range(number)]
        order += list(range(2 * number + 1, 2 * number + 1 + rest))
        turned = node.transposed(split, order)
        batch = node.add("Mul", parts[0], node.ints(all_of_block))
        joined = node.add("Concat", batch, *parts[1::2], *tail, axis=0)
        return node.add("Reshape", turned, joined)
    shape = node.add("Shape", value)
    batch = node.add("Div", _size(node, shape, 0), node.ints(all_of_block))
    tail = [_size(node, shape, axis) for axis in range(number + 1, rank)]
    inner = [_size(node, shape, axis + 1) for axis in range(number)]
    blocks = [node.ints(size) for size in block]
    split = node.add("Reshape", value, node.add("Concat", *blocks, batch, *inner, *tail, axis=0))
    order = [number]
    for axis in range(number):
        order += [number + 1 + axis, axis]
    order += list(range(2 * number + 1, 2 * number + 1 + rest))
    turned = node.transposed(split, order)
    spread = [node.add("Mul", one, size) for one, size in zip(inner, blocks)]
    whole_space = node.add("Reshape", turned, node.add("Concat", batch, *spread, *tail, axis=0))
    axes = node.ints(*range(1, number + 1))
    if edges is not None:
        first = node.ints(*(int(pair[0]) for pair in edges))
        crops = node.ints(*(int(pair[1]) for pair in edges))
    else:
        first = node.add(
            "Squeeze", node.add("Gather", edges_value, node.ints(0), axis=1), node.ints(1)
        )
        crops = node.add(
            "Squeeze", node.add("Gather", edges_value, node.ints(1), axis=1), node.ints(1)
        )
    lengths = node.add("Concat", *spread, axis=0)
    return node.add("Slice", whole_space, first, node.add("Sub", lengths, crops), axes)


def _size(node: NodeToConvert, shape: str, axis: int) -> str:
    return node.add("Slice", shape, node.ints(axis), node.ints(axis + 1))


@converts("ExtractImagePatches")
def patches(node: NodeToConvert) -> str:
    """Convert ExtractImagePatches: a convolution with a filter that picks each place."""
    height, width = (int(size) for size in node.attr("ksizes")[1:3])
    channels = node.size(0, 3)
    number = height * width
    eye = np.eye(number * channels, dtype=np.float32)
    weights = eye.reshape(number * channels, height, width, channels).transpose(0, 3, 1, 2)
    strides = [int(size) for size in node.attr("strides")[1:3]]
    dilations = [int(size) for size in node.attr("rates")[1:3]]
    layout = Layout(node)
    attrs = _padding(node, layout)
    if attrs.get("auto_pad") == "SAME_UPPER" and max(dilations) > 1:
        attrs = _same_pads(node, layout, [height, width], strides, dilations)
    dtype = node.dtype(0)
    kernel = node.value(np.ascontiguousarray(weights))
    if dtype != dtypes.float32:
        kernel = node.cast(kernel, dtype)
    found = node.numeric(
        "Conv",
        [layout.first(node, node.inputs[0]), kernel],
        dtype,
        strides=strides,
        dilations=dilations,
        **attrs,
    )
    return layout.back(node, found)
