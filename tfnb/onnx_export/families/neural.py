"""Products, biases, normalization, softmax, losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.core import dtypes
from tfnb.onnx_export.families.windows import Layout, convolved
from tfnb.onnx_export.writing.converters import NodeToConvert, converts
from tfnb.onnx_export.writing.problems import Refused


def _last_two(node: NodeToConvert, index: int) -> list[int]:
    rank = node.rank(index)
    return [*range(rank - 2), rank - 1, rank - 2]


@converts("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "SparseMatMul")
def matmul(node: NodeToConvert) -> str:
    """Convert a product of matrices."""
    return _product(node)


def _product(node: NodeToConvert) -> str:
    found = []
    for index, names in enumerate((("transpose_a", "adj_x"), ("transpose_b", "adj_y"))):
        value = node.inputs[index]
        if any(node.attr(name, False) for name in names):
            known = node.constant(index)
            is_plain = node.op in ("MatMul", "SparseMatMul")
            order = [1, 0] if is_plain else _last_two(node, index)
            if known is not None:
                value = node.value(np.ascontiguousarray(np.transpose(known, order)))
            else:
                value = node.transposed(value, order)
        found.append(value)
    dtype, wanted = node.dtype(0), node.output_dtype()
    if wanted != dtype or node.dtype(1) != dtype:  # BatchMatMulV3 widens small integers
        return node.numeric("MatMul", [node.cast(one, wanted) for one in found], wanted)
    return node.numeric("MatMul", found, dtype)


@converts("BiasAdd", "BiasAddV1")
def bias_add(node: NodeToConvert) -> str:
    """Convert BiasAdd."""
    bias = node.inputs[1]
    if str(node.attr("data_format", "NHWC")).startswith("NC") and node.rank(0) > 2:
        shape = node.ints(-1, *[1] * (node.rank(0) - 2))
        known = node.constant(1)
        if known is not None:
            bias = node.value(known.reshape(-1, *[1] * (node.rank(0) - 2)))
        else:
            bias = node.add("Reshape", bias, shape)
    return node.numeric("Add", [node.inputs[0], bias], node.dtype(0))


@converts("BiasAddGrad")
def bias_add_grad(node: NodeToConvert) -> str:
    """Convert BiasAddGrad: a sum over all axes but that of the channels."""
    is_last = not str(node.attr("data_format", "NHWC")).startswith("NC")
    if is_last and node.shapes[0].dim_values is None:
        shape = node.add("Shape", node.inputs[0])
        channels = node.add("Slice", shape, node.ints(-1), node.ints(np.iinfo(np.int64).max))
        rows = node.add("Concat", node.ints(-1), channels, axis=0)
        flat = node.add("Reshape", node.inputs[0], rows)
        return node.reduce("ReduceSum", flat, [0], node.dtype(0), False)
    rank = node.rank(0)
    place = 1 if str(node.attr("data_format", "NHWC")).startswith("NC") else rank - 1
    axes = [axis for axis in range(rank) if axis != place]
    return node.reduce("ReduceSum", node.inputs[0], axes, node.dtype(0), False)


@converts("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def batch_norm(node: NodeToConvert) -> list[str]:
    """Convert a batch normalization, with given statistics or those of the batch."""
    layout = Layout(node)
    value, scale, offset, mean, variance = node.inputs[:5]
    dtype = node.dtype(0)
    epsilon = float(node.attr("epsilon", 1e-4))
    if not node.attr("is_training", True):
        first = layout.first(node, value)
        found = (
            node.numeric(
                "BatchNormalization", [first, scale, offset, mean, variance], dtype, epsilon=epsilon
            )
            if dtype == node.dtype(1)
            else node.cast(
                node.add(
                    "BatchNormalization",
                    node.cast(first, node.dtype(1)),
                    scale,
                    offset,
                    mean,
                    variance,
                    epsilon=epsilon,
                ),
                dtype,
            )
        )
        more = [mean, variance, mean, variance, node.value(0.0, np.float32)]
        return [layout.back(node, found), *more][: len(node.item.output_types)]
    axes = [0, *layout.places]
    kind = node.dtype(1)
    wide = value if dtype == kind else node.cast(value, kind)
    center = node.reduce("ReduceMean", wide, axes, kind, True)
    apart = node.numeric("Sub", [wide, center], kind)
    spread = node.reduce("ReduceMean", node.numeric("Mul", [apart, apart], kind), axes, kind, True)
    shape = node.ints(*[-1 if axis not in axes else 1 for axis in range(len(axes) + 1)])
    shaped = [node.add("Reshape", one, shape) for one in (scale, offset)]
    epsilon_value = node.value(epsilon, kind.numpy_dtype)
    root = node.numeric("Sqrt", [node.numeric("Add", [spread, epsilon_value], kind)], kind)
    normal = node.numeric("Div", [apart, root], kind)
    found = node.numeric("Add", [node.numeric("Mul", [normal, shaped[0]], kind), shaped[1]], kind)
    flat = [node.add("Reshape", one, node.ints(-1)) for one in (center, spread)]
    count = node.add("Size", wide)
    number = node.cast(node.add("Div", count, node.add("Size", flat[0])), kind)
    fewer = node.numeric(
        "Max",
        [
            node.numeric("Sub", [number, node.value(1, kind.numpy_dtype)], kind),
            node.value(1, kind.numpy_dtype),
        ],
        kind,
    )
    unbiased = node.numeric("Mul", [flat[1], node.numeric("Div", [number, fewer], kind)], kind)
    result = found if dtype == kind else node.cast(found, dtype)
    running = [flat[0], unbiased]
    factor = float(node.attr("exponential_avg_factor", 1.0))
    if factor != 1:
        old, new = (node.value(share, kind.numpy_dtype) for share in (1 - factor, factor))
        for place, before in enumerate((mean, variance)):
            kept = node.numeric("Mul", [before, old], kind)
            running[place] = node.numeric(
                "Add", [kept, node.numeric("Mul", [running[place], new], kind)], kind
            )
    more = [*running, *flat, node.value(0.0, np.float32)]
    return [result, *more][: len(node.item.output_types)]


@converts("BatchNormWithGlobalNormalization")
def old_batch_norm(node: NodeToConvert) -> str:
    """Convert the batch normalization of old graphs."""
    value, mean, variance, offset, scale = node.inputs
    dtype = node.dtype(0)
    epsilon = node.scalar(float(node.attr("variance_epsilon")))
    root = node.numeric("Sqrt", [node.numeric("Add", [variance, epsilon], dtype)], dtype)
    factor = node.numeric("Reciprocal", [root], dtype)
    if node.attr("scale_after_normalization"):
        factor = node.numeric("Mul", [factor, scale], dtype)
    apart = node.numeric("Sub", [value, mean], dtype)
    return node.numeric("Add", [node.numeric("Mul", [apart, factor], dtype), offset], dtype)


@converts("LRN")
def local_response(node: NodeToConvert) -> str:
    """Convert LRN; TensorFlow's alpha is for one channel, ONNX's for the whole window."""
    radius = int(node.attr("depth_radius", 5))
    size = 2 * radius + 1
    value = node.transposed(node.inputs[0], [0, 3, 1, 2])
    found = node.numeric(
        "LRN",
        [value],
        node.dtype(0),
        alpha=float(node.attr("alpha", 1.0)) * size,
        beta=float(node.attr("beta", 0.5)),
        bias=float(node.attr("bias", 1.0)),
        size=size,
    )
    return node.transposed(found, [0, 2, 3, 1])


@converts("Softmax", "LogSoftmax")
def softmax(node: NodeToConvert) -> str:
    """Convert a softmax over the last axis."""
    return node.numeric(node.op, node.inputs, node.dtype(0), axis=-1)


@converts("SoftmaxCrossEntropyWithLogits")
def cross_entropy(node: NodeToConvert) -> list[str]:
    """Convert the cross entropy of distributions, and its gradient."""
    dtype = node.dtype(0)
    logits, labels = node.inputs
    logs = node.numeric("LogSoftmax", [logits], dtype, axis=-1)
    product = node.numeric("Mul", [labels, logs], dtype)
    total = node.reduce("ReduceSum", product, [-1], dtype, False)
    gradient = node.numeric("Sub", [node.numeric("Exp", [logs], dtype), labels], dtype)
    return [node.numeric("Neg", [total], dtype), gradient]


@converts("SparseSoftmaxCrossEntropyWithLogits")
def sparse_cross_entropy(node: NodeToConvert) -> list[str]:
    """Convert the cross entropy of labels, and its gradient."""
    dtype = node.dtype(0)
    logs = node.numeric("LogSoftmax", [node.inputs[0]], dtype, axis=-1)
    column = node.add("Unsqueeze", node.int64(1), node.ints(-1))
    chosen = node.add("GatherElements", logs, column, axis=-1)
    loss = node.numeric("Neg", [node.add("Squeeze", chosen, node.ints(-1))], dtype)
    depth = node.add("Gather", node.add("Shape", logs), node.value(-1, np.int64))
    steps = node.add("Range", node.value(0, np.int64), depth, node.value(1, np.int64))
    marks = node.cast(node.add("Equal", column, steps), dtype)
    gradient = node.numeric("Sub", [node.numeric("Exp", [logs], dtype), marks], dtype)
    return [loss, gradient]


@converts("TopK", "TopKV2")
def top_k(node: NodeToConvert) -> list[str]:
    """Convert TopK."""
    number = node.vector(1) if node.op == "TopKV2" else node.ints(int(node.attr("k")))
    dtype = node.dtype(0)
    value = node.inputs[0]
    wide = dtype if dtype.is_floating or dtype in (dtypes.int32, dtypes.int64) else dtypes.int64
    if wide != dtype:
        value = node.cast(value, wide)
    found = node.add_many("TopK", 2, value, number, sorted=1)
    best = found[0] if wide == dtype else node.cast(found[0], dtype)
    return [best, node.cast(found[1], node.output_dtype(1))]


@converts("InTopK", "InTopKV2")
def in_top_k(node: NodeToConvert) -> str:
    """Convert InTopK: fewer than k scores are larger than that of the label."""
    scores = node.inputs[0]
    classes = node.add("Gather", node.add("Shape", scores), node.value(1, np.int64))
    labels = node.int64(1)
    last = node.add("Sub", classes, node.value(1, np.int64))
    within = node.add("Max", node.add("Min", labels, last), node.value(0, np.int64))
    column = node.add("Unsqueeze", within, node.ints(-1))
    own = node.add("GatherElements", scores, column, axis=-1)
    larger = node.cast(node.add("Greater", scores, own), dtypes.int64)
    count = node.reduce("ReduceSum", larger, [-1], dtypes.int64, False)
    known = node.int64(2) if node.op == "InTopKV2" else node.value(int(node.attr("k")), np.int64)
    is_number = node.add("Equal", node.add("Sub", scores, scores), node.value(0, np.float32))
    finite = node.reduce("ReduceMin", node.cast(is_number, dtypes.int32), [-1], dtypes.int32, False)
    valid = node.add("And", node.cast(finite, dtypes.bool), node.add("Equal", within, labels))
    return node.add("And", node.add("Less", count, known), valid)


@converts("Einsum")
def einsum(node: NodeToConvert) -> str:
    """Convert Einsum."""
    equation = str(node.attr("equation"))
    return node.numeric("Einsum", node.inputs, node.dtype(0), equation=equation)


@converts("MatrixDeterminant")
def determinant(node: NodeToConvert) -> str:
    """Convert MatrixDeterminant."""
    return node.numeric("Det", node.inputs, node.dtype(0))


@converts("Cross")
def cross(node: NodeToConvert) -> str:
    """Convert Cross: the product of vectors in space."""
    dtype = node.dtype(0)

    def turned(value: str, order: list[int]) -> str:
        return node.add("Gather", value, node.value(order, np.int64), axis=-1)

    one, other = node.inputs
    first = node.numeric("Mul", [turned(one, [1, 2, 0]), turned(other, [2, 0, 1])], dtype)
    second = node.numeric("Mul", [turned(one, [2, 0, 1]), turned(other, [1, 2, 0])], dtype)
    return node.numeric("Sub", [first, second], dtype)


@converts("_FusedMatMul", "_FusedConv2D")
def fused(node: NodeToConvert) -> str:
    """Convert a product or a convolution that an optimizer joined with what follows it."""
    steps = [one.decode() if isinstance(one, bytes) else one for one in node.attr("fused_ops", [])]
    all_inputs = node.inputs
    dtype = node.dtype(0)
    found = _product(node) if node.op == "_FusedMatMul" else convolved(node, 2)
    place = 2
    for step in steps:
        if step == "BiasAdd":
            found = node.numeric("Add", [found, all_inputs[place]], dtype)
            place += 1
        elif step in ("Relu", "Elu", "Sigmoid", "Tanh"):
            found = node.numeric(step, [found], dtype)
        elif step == "Relu6":
            low = node.numeric("Max", [found, node.scalar(0)], dtype)
            found = node.numeric("Min", [low, node.scalar(6)], dtype)
        elif step == "LeakyRelu":
            alpha = float(node.attr("leakyrelu_alpha", 0.2))
            found = node.numeric("LeakyRelu", [found], dtype, alpha=alpha)
        elif step == "Add":
            found = node.numeric("Add", [found, all_inputs[place]], dtype)
            place += 1
        else:
            raise Refused(f"it is fused with {step}")
    return found


@converts("FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def fake_quant(node: NodeToConvert) -> str:
    """Convert the rounding to the steps of a quantized range, which is constant."""
    if node.op == "FakeQuantWithMinMaxArgs":
        low: Any = np.float32(node.attr("min", -6.0))
        high: Any = np.float32(node.attr("max", 6.0))
    else:
        low = np.asarray(node.needed(1, "its range"), np.float32)
        high = np.asarray(node.needed(2, "its range"), np.float32)
    first = np.float32(1 if node.attr("narrow_range", False) else 0)
    last = np.float32(2 ** int(node.attr("num_bits", 8)) - 1)
    step = ((high - low) / (last - first)).astype(np.float32)
    with np.errstate(all="ignore"):
        zero = first - low / step
        nudged = np.clip(np.where(zero < first, first, np.floor(zero + 0.5)), first, last)
    lowest = ((first - nudged) * step).astype(np.float32)
    highest = ((last - nudged) * step).astype(np.float32)
    clipped = node.add(
        "Min", node.add("Max", node.inputs[0], node.value(lowest)), node.value(highest)
    )
    with np.errstate(all="ignore"):
        inverse = (np.float32(1) / step).astype(np.float32)
    moved = node.add("Mul", node.add("Sub", clipped, node.value(lowest)), node.value(inverse))
    whole = node.add("Floor", node.add("Add", moved, node.value(np.float32(0.5))))
    return node.add("Add", node.add("Mul", whole, node.value(step)), node.value(lowest))
