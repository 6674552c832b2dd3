"""Make the project's own cases: graphs built, run and answered by TensorFlow.

Run it in an environment with TensorFlow::

    python scripts/oracle/make_cases.py            # all, into tests/cases/own
    python scripts/oracle/make_cases.py while cond  # those whose name contains a word

Each builder gets TensorFlow's module and a fresh graph, and returns steps: ``run(fetches, feeds,
targets)``. TensorFlow runs them with graph optimization off; its answer, a value or an error class,
is stored. ``quantized_frozen`` was run with TF_ENABLE_ONEDNN_OPTS=0 in the environment, because
oneDNN rounds numbers at other places; ``quantized_fused`` needs oneDNN.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow.compat.v1 as tf

if TYPE_CHECKING:
    from collections.abc import Callable

OWN = Path(__file__).parents[2] / "tests" / "cases" / "own"
BUILDERS: dict[str, Callable[[], Any]] = {}


@dataclass
class Step:
    """One step to run: tensors or names."""

    fetches: list[Any] = field(default_factory=list)
    feeds: dict[Any, Any] = field(default_factory=dict)
    targets: list[Any] = field(default_factory=list)
    kind: str = "run"
    more: dict[str, Any] = field(default_factory=dict)


def run(fetches: Any = (), feeds: Any = None, targets: Any = (), **more: Any) -> Step:
    """Return a step that runs."""
    return Step(list(fetches), dict(feeds or {}), list(targets), more=more)


def case(builder: Callable[[], Any]) -> Callable[[], Any]:
    """Register a builder under its own name."""
    BUILDERS[builder.__name__] = builder
    return builder


# ------------------------------------------------------------------------------------- the graphs


@case
def arithmetic() -> Any:
    """Broadcast, divide integers and compute powers in several dtypes."""
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    n = tf.placeholder(tf.int32, [4], name="n")
    y = tf.identity((x * 2.0 - 1.0) / (x + 0.5) + [1.0, 2.0, 3.0], name="y")
    q = tf.stack([n // 3, n % 3, n * n, tf.minimum(n, 2)], name="q")
    z = tf.reduce_mean(tf.square(y) + tf.sqrt(tf.abs(y)), 1, name="z")
    feeds = {x: np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3), n: [-7, -1, 0, 8]}
    return [run([y, q, z], feeds)]


def _quantized_constant(values: Any, dtype: Any, name: str) -> Any:
    """Return a Const of a quantized dtype, which tf.constant does not make."""
    proto = tf.AttrValue()
    proto.tensor.dtype = dtype.as_datatype_enum
    proto.tensor.tensor_shape.CopyFrom(tf.TensorShape(values.shape).as_proto())
    proto.tensor.tensor_content = values.tobytes()
    attrs = {"value": proto, "dtype": tf.AttrValue(type=dtype.as_datatype_enum)}
    graph = tf.get_default_graph()
    return graph.create_op("Const", [], [dtype], name=name, attrs=attrs).outputs[0]


def _eight_bits(found: Any, name: str) -> Any:
    """Add the nodes that quantizing tools put behind every op with 32-bit numbers."""
    low, high = tf.raw_ops.RequantizationRange(
        input=found[0], input_min=found[1], input_max=found[2], name=name + "/requant_range"
    )
    return tf.raw_ops.Requantize(
        input=found[0],
        input_min=found[1],
        input_max=found[2],
        requested_output_min=low,
        requested_output_max=high,
        out_type=tf.quint8,
        name=name + "/requantize",
    )


@case
def pictures_as_files() -> Any:
    """Encode PNG files, which are compared byte for byte: filters, windows and blocks of libpng."""
    pixels = tf.placeholder(tf.uint8, [None, None, None], name="pixels")
    deep = tf.placeholder(tf.uint16, [None, None, None], name="deep")
    files = [
        tf.image.encode_png(pixels),
        tf.image.encode_png(pixels, compression=9),
        tf.summary.image("picture", pixels[None]),
        tf.summary.image("scaled", tf.cast(pixels[None], tf.float32) / 100.0 - 0.3),
    ]
    state = np.random.RandomState(5)
    steps = []
    for shape in ((1, 1, 1), (1, 40, 3), (40, 1, 4), (9, 13, 3), (30, 60, 4), (60, 90, 1)):
        y, x, channel = np.ogrid[: shape[0], : shape[1], : shape[2]]
        smooth = (x * y // 5 + 40 * channel) % 256
        steps.append(run(files, {pixels: smooth.astype(np.uint8)}))
    noise = state.randint(0, 256, (50, 60, 3))
    steps.append(run(files[:1], {pixels: noise.astype(np.uint8)}))
    steps.append(run([tf.image.encode_png(deep)], {deep: (noise * 251).astype(np.uint16)}))
    return steps


@case
def table_exports() -> Any:
    """Export the keys of a mutable table after it grew and shrank."""
    tables = tf.lookup.experimental
    steps = []
    state = np.random.RandomState(6)
    for dtype in (tf.int64, tf.string):
        table = tables.MutableHashTable(dtype, tf.int64, -1)
        keys = tf.placeholder(dtype, [None], name=f"keys_{dtype.name}")
        insert = table.insert(keys, tf.range(tf.size(keys, out_type=tf.int64)))
        remove, exported = table.remove(keys), table.export()
        drawn = state.randint(-10000, 10000, 150)
        drawn = [b"k%d" % n for n in drawn] if dtype is tf.string else drawn.tolist()
        for count in (5, 13, 14, 40, 150):
            steps.append(run([], {keys: drawn[:count]}, [insert]))
            steps.append(run(exported))
            steps.append(run([], {keys: drawn[:count:3]}, [remove]))
        steps.append(run([], {keys: drawn[:9]}, [insert]))
        steps.append(run([*exported, table.size()]))
    return steps


@case
def quantized_frozen() -> Any:
    """Build an image model with quantized weights and layers as TensorFlow 1's tools made them."""
    raw = tf.raw_ops
    state = np.random.RandomState(3)
    x = tf.placeholder(tf.float32, [None, 8, 8, 3], name="x")
    flat = tf.reshape(x, [-1], name="reshape")
    ends = [tf.reduce_min(flat, 0, name="min"), tf.reduce_max(flat, 0, name="max")]
    image = raw.QuantizeV2(
        input=x,
        min_range=ends[0],
        max_range=ends[1],
        T=tf.quint8,
        mode="MIN_FIRST",
        name="quantize",
    )
    branches = []
    for index, size in enumerate((3, 1)):
        name = f"conv{index}"
        weights = state.randint(0, 256, (size, size, 3, 4)).astype(np.uint8)
        found = raw.QuantizedConv2D(
            input=image[0],
            filter=_quantized_constant(weights, tf.quint8, name + "/weights"),
            min_input=image[1],
            max_input=image[2],
            min_filter=-0.8,
            max_filter=0.7,
            strides=[1, 1, 1, 1],
            padding="SAME",
            name=name + "/eightbit",
        )
        found = raw.QuantizeDownAndShrinkRange(
            input=found[0],
            input_min=found[1],
            input_max=found[2],
            out_type=tf.quint8,
            name=name + "/shrink",
        )
        found = raw.QuantizedBiasAdd(
            input=found[0],
            bias=_quantized_constant(
                np.array([0, 200, 128, 30], np.uint8), tf.quint8, name + "/bias"
            ),
            min_input=found[1],
            max_input=found[2],
            min_bias=-1.5,
            max_bias=2.0,
            out_type=tf.qint32,
            name=name + "/bias_add",
        )
        found = _eight_bits(found, name)
        branches.append(
            raw.QuantizedRelu(
                features=found[0],
                min_features=found[1],
                max_features=found[2],
                out_type=tf.quint8,
                name=name + "/relu",
            )
        )
    found = raw.QuantizedConcat(
        concat_dim=3,
        values=[b[0] for b in branches],
        input_mins=[b[1] for b in branches],
        input_maxes=[b[2] for b in branches],
        name="concat",
    )
    found = raw.QuantizedMaxPool(
        input=found[0],
        min_input=found[1],
        max_input=found[2],
        ksize=[1, 3, 3, 1],
        strides=[1, 4, 4, 1],
        padding="SAME",
    )
    found = raw.QuantizedReshape(
        tensor=found[0], shape=[-1, 32], input_min=found[1], input_max=found[2], name="flatten"
    )
    weights = state.randint(0, 256, (32, 5)).astype(np.uint8)
    found = raw.QuantizedMatMul(
        a=found[0],
        b=_quantized_constant(weights, tf.quint8, "dense/weights"),
        min_a=found[1],
        max_a=found[2],
        min_b=-0.4,
        max_b=0.5,
        name="dense/eightbit",
    )
    found = _eight_bits(found, "dense")
    logits = raw.Dequantize(
        input=found[0], min_range=found[1], max_range=found[2], mode="MIN_FIRST", name="logits"
    )
    answer = tf.nn.softmax(logits, name="softmax")
    feeds = {x: state.normal(size=(2, 8, 8, 3)).astype(np.float32)}
    return [run([answer, logits, "conv0/relu:1", "concat:2"], feeds)]


@case
def quantized_fused() -> Any:
    """Build fused convolutions, as tools quantize models for CPUs with oneDNN."""
    raw = tf.raw_ops
    state = np.random.RandomState(5)

    def numbers(dtype: Any, *shape: int) -> Any:
        info = np.iinfo(dtype)
        return state.randint(info.min, info.max + 1, shape).astype(dtype)

    images = {
        tf.quint8: _quantized_constant(numbers(np.uint8, 2, 4, 5, 3), tf.quint8, "unsigned"),
        tf.qint8: _quantized_constant(numbers(np.int8, 2, 4, 5, 3), tf.qint8, "signed"),
    }
    weights = _quantized_constant(numbers(np.int8, 3, 2, 3, 4), tf.qint8, "weights")
    apart = _quantized_constant(numbers(np.int8, 3, 2, 3, 1), tf.qint8, "apart")
    bias, few = tf.constant([0.52, -1.31, 0.0, 1.97]), tf.constant([0.52, -1.31, 0.0])
    whole = _quantized_constant(np.array([1000, -20000, 0, 7], np.int32), tf.qint32, "whole")
    one = {"min_filter": -0.7, "max_filter": 0.9}
    many = {"min_filter": [-0.7, -0.2, -1.0, 0.1], "max_filter": [0.9, 0.1, 0.3, 0.4]}
    three = {"min_filter": [-0.7, -0.2, -1.0], "max_filter": [0.9, 0.1, 0.3]}
    frozen = {"min_freezed_output": -3.0, "max_freezed_output": 2.5}
    steps = []
    for stride, padding in ((1, "SAME"), (2, "VALID")):
        base = {"min_input": -0.5, "max_input": 1.5, "padding": padding}
        base["strides"] = [1, stride, stride, 1]
        for ends in (one, many):
            found = []
            for image in images.values():
                args = {"input": image, "filter": weights, **base, **ends}
                if ends is one:  # with many ranges, such sums are rounded in oneDNN's own way
                    found.append(raw.QuantizedConv2DWithBias(bias=bias, **args))
                    found.append(raw.QuantizedConv2DWithBiasAndRelu(bias=bias, **args))
                for added in (bias, whole):
                    more = {"bias": added, **args, **frozen}
                    conv = raw.QuantizedConv2DWithBiasAndReluAndRequantize
                    found.append(conv(out_type=tf.quint8, **more))
                    conv = raw.QuantizedConv2DWithBiasAndRequantize
                    found.append(conv(out_type=tf.qint8, **more))
            args = {"input": images[tf.quint8], "filter": weights, **base, **ends}
            found.append(raw.QuantizedConv2DPerChannel(**args))
            found.append(raw.QuantizedConv2DAndRelu(**args))
            conv = raw.QuantizedConv2DAndReluAndRequantize
            found.append(conv(out_type=tf.quint8, **args, **frozen))
            if ends is one:
                found.append(raw.QuantizedConv2D(**args))
                conv = raw.QuantizedConv2DAndRequantize
                found.append(conv(out_type=tf.qint8, **args, **frozen))
            steps.append(run([part for parts in found for part in parts]))
        for ends in (one, three):
            args = {"input": images[tf.quint8], "filter": apart, **base, **ends}
            conv = raw.QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize
            found = [
                raw.QuantizedDepthwiseConv2D(**args),
                conv(bias=few, out_type=tf.quint8, **args, **frozen),
            ]
            if ends is one:
                found.append(raw.QuantizedDepthwiseConv2DWithBias(bias=few, **args))
                found.append(raw.QuantizedDepthwiseConv2DWithBiasAndRelu(bias=few, **args))
            steps.append(run([part for parts in found for part in parts]))
    joined = []
    for kind, dtype in ((tf.quint8, np.uint8), (tf.qint8, np.int8)):
        for lows, highs in (([0.0, 0.0], [2.0, 2.0]), ([-1.0, -3.0], [2.0, 1.0])):
            parts = [
                _quantized_constant(numbers(dtype, 2, 3), kind, f"part{len(joined)}_{i}")
                for i in range(2)
            ]
            attrs = {
                "N": tf.AttrValue(i=2),
                "T": tf.AttrValue(type=kind.as_datatype_enum),
                "Tidx": tf.AttrValue(type=tf.int32.as_datatype_enum),
            }
            ends = [tf.constant(end) for end in (*lows, *highs)]
            joined.append(
                tf.get_default_graph().create_op(
                    "QuantizedConcatV2",
                    [*parts, tf.constant(1), *ends],
                    dtypes=[kind, tf.float32, tf.float32],
                    attrs=attrs,
                )
            )
    steps.append(run([tensor for op in joined for tensor in op.outputs]))
    return steps


@case
def tensor_maps() -> Any:
    """Use maps in variants: add, replace, look up, erase, and gradients through them."""
    from tensorflow.python.ops import map_ops  # noqa: F401  # has the gradients

    raw = tf.raw_ops
    x = tf.placeholder(tf.float32, [2], name="x")
    feeds = {x: np.array([1.5, -2.0], np.float32)}
    empty = raw.EmptyTensorMap()
    one = raw.TensorMapInsert(input_handle=empty, key=tf.constant(3), value=x)
    two = raw.TensorMapInsert(input_handle=one, key=tf.constant(5), value=x * 2.0)
    new = raw.TensorMapInsert(input_handle=two, key=tf.constant(3), value=x * x)
    words = raw.TensorMapInsert(input_handle=empty, key="a", value=tf.constant(7))
    rows = raw.TensorMapInsert(input_handle=empty, key=[1.0, 2.0], value=tf.constant("text"))
    less = raw.TensorMapErase(input_handle=new, key=tf.constant(5), value_dtype=tf.float32)

    def ask(handle: Any, key: Any, dtype: Any = tf.float32) -> Any:
        return raw.TensorMapLookup(input_handle=handle, key=key, value_dtype=dtype)

    sizes = [raw.TensorMapSize(input_handle=h) for h in (empty, one, two, new, less)]
    has = [raw.TensorMapHasKey(input_handle=less, key=tf.constant(k)) for k in (3, 5)]
    keys = raw.TensorMapStackKeys(input_handle=two, key_dtype=tf.int32)
    total = ask(new, 3) * ask(two, 3) + ask(new, 5)
    return [
        run([ask(one, 3), ask(two, 5), ask(new, 3), ask(less, 3)], feeds),
        run([ask(words, "a", tf.int32), ask(rows, [1.0, 2.0], tf.string)]),
        run([*sizes, *has, tf.sort(keys)], feeds),
        run([total, *tf.gradients(total, [x])], feeds),
        run([ask(less, 5)], feeds),
        run([raw.TensorMapErase(input_handle=one, key=9, value_dtype=tf.float32).op], feeds),
        run([ask(one, tf.constant(3, tf.int64))], feeds),
    ]


@case
def batched_requests() -> Any:
    """Batch requests as in serving: a function of a padded batch, which is divided again."""
    from tensorflow.python.ops import batch_ops

    raw = tf.raw_ops
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.placeholder(tf.float32, [None], name="y")
    shift = tf.constant(10.0)

    def feeds(rows: int, others: int | None = None) -> Any:
        numbers = np.arange(2 * rows, dtype=np.float32).reshape(rows, 2)
        count = rows if others is None else others
        return {x: numbers, y: np.arange(1, 1 + count, dtype=np.float32)}

    steps = []
    for most, allowed, splits in ((8, None, False), (8, [2, 4, 8], False), (8, [2, 4], True)):

        @batch_ops.batch_function(
            num_batch_threads=1,
            max_batch_size=most,
            batch_timeout_micros=1000,
            allowed_batch_sizes=allowed,
            enable_large_batch_splitting=splits,
        )
        def compute(a: Any, b: Any) -> Any:
            return a * shift + tf.reduce_sum(b), tf.shape(a)[0] * tf.ones_like(b, tf.int32)

        found = compute(x, y)
        steps += [run(found, feeds(rows)) for rows in (1, 3, 5, 9)]
        steps.append(run(found, feeds(3, 2)))
    joined = raw.Batch(
        in_tensors=[x, y],
        num_batch_threads=1,
        max_batch_size=4,
        batch_timeout_micros=1000,
        allowed_batch_sizes=[2, 4],
        grad_timeout_micros=1000,
    )
    place = {"batch_index": joined.batch_index, "id": joined.id}
    own = raw.Unbatch(batched_tensor=joined.batched_tensors[0] * 2.0, timeout_micros=1000, **place)
    slope = raw.UnbatchGrad(original_input=joined.batched_tensors[0], grad=own, **place)
    steps += [
        run([*joined.batched_tensors, own, slope, joined.batch_index[:, 1:]], feeds(3)),
        run([own], feeds(4)),
        run([own], feeds(6)),
        run([own], feeds(3, 2)),
    ]
    return steps


@case
def composite_variants() -> Any:
    """Pack components of composite tensors into variants and unpack them."""
    raw = tf.raw_ops
    x = tf.placeholder(tf.float32, [None], name="x")
    feeds = {x: np.array([1.0, 2.5, 4.0], np.float32)}
    parts = [x, tf.constant([0, 2, 3], tf.int64), tf.constant("name")]
    packed = raw.CompositeTensorVariantFromComponents(components=parts, metadata="")

    def unpack(*types: Any) -> Any:
        return raw.CompositeTensorVariantToComponents(
            encoded=packed, metadata="", Tcomponents=types
        )

    nothing = raw.CompositeTensorVariantFromComponents(components=[], metadata="")
    return [
        run(unpack(tf.float32, tf.int64, tf.string), feeds),
        run(unpack(tf.float32, tf.int64), feeds),
        run(unpack(tf.float32, tf.int32, tf.string), feeds),
        run(targets=[nothing.op]),
    ]


@case
def lookup_tables_old() -> Any:
    """Use tables with references to strings as handles, as in graphs before TensorFlow 1.4."""
    raw = tf.raw_ops
    words = raw.HashTable(key_dtype=tf.string, value_dtype=tf.int64, shared_name="words")
    fill = raw.InitializeTable(
        table_handle=words, keys=["a", "b", "c"], values=tf.constant([5, 6, 7], tf.int64)
    )
    asked = tf.placeholder(tf.string, [None], name="asked")
    minus = tf.constant(-1, tf.int64)
    found = raw.LookupTableFind(table_handle=words, keys=asked, default_value=minus, name="found")
    size = raw.LookupTableSize(table_handle=words, name="size")
    again = raw.HashTable(key_dtype=tf.string, value_dtype=tf.int64, shared_name="words")
    shared = raw.LookupTableFind(table_handle=again, keys=asked, default_value=minus, name="shared")
    other = raw.HashTable(key_dtype=tf.string, value_dtype=tf.string, shared_name="words")
    mutable = raw.MutableHashTable(key_dtype=tf.int64, value_dtype=tf.float32)
    keys = tf.constant([3, 4], tf.int64)
    insert = raw.LookupTableInsert(table_handle=mutable, keys=keys, values=[0.5, 1.5])
    replace = raw.LookupTableImport(table_handle=mutable, keys=keys[:1], values=[2.5])
    export = raw.LookupTableExport(
        table_handle=mutable, Tkeys=tf.int64, Tvalues=tf.float32, name="export"
    )
    export = [tf.sort(part) for part in export]
    vectors = raw.MutableHashTableOfTensors(
        key_dtype=tf.string, value_dtype=tf.float32, value_shape=[2]
    )
    put = raw.LookupTableInsert(table_handle=vectors, keys=["x"], values=[[1.0, 2.0]])
    get = raw.LookupTableFind(
        table_handle=vectors, keys=["x", "y"], default_value=[8.0, 9.0], name="get"
    )
    wrong = raw.LookupTableFind(table_handle=mutable, keys=asked, default_value="no", name="wrong")
    feeds = {asked: np.array(["b", "z", "a"], object)}
    return [
        run([found], feeds),
        run(targets=[fill]),
        run([found, size, shared], feeds),
        run(targets=[fill]),
        run(targets=[other.op]),
        run(targets=[insert]),
        run(export),
        run(targets=[replace]),
        run(export),
        run(targets=[put]),
        run([get]),
        run([wrong], feeds),
    ]


@case
def ragged_variants() -> Any:
    """Pack ragged tensors into variants, as a whole and by rows, and unpack them."""
    raw = tf.raw_ops
    outer, inner = (tf.constant(v, tf.int64) for v in ([0, 2, 2, 3], [0, 1, 3, 6]))
    values = tf.placeholder(tf.float32, [None], name="values")
    feeds = {values: np.arange(6, dtype=np.float32)}
    whole = raw.RaggedTensorToVariant(
        rt_nested_splits=[outer, inner], rt_dense_values=values, batched_input=False
    )
    rows = raw.RaggedTensorToVariant(
        rt_nested_splits=[outer, inner], rt_dense_values=values, batched_input=True
    )
    flat = raw.RaggedTensorToVariant(
        rt_nested_splits=[], rt_dense_values=tf.reshape(values, [3, 2]), batched_input=True
    )

    def unpack(encoded: Any, into: int, rank: int) -> list[Any]:
        found = raw.RaggedTensorFromVariant(
            encoded_ragged=encoded,
            input_ragged_rank=into,
            output_ragged_rank=rank,
            Tvalues=tf.float32,
            Tsplits=tf.int64,
        )
        return [*found.output_nested_splits, found.output_dense_values]

    back = unpack(whole, 2, 2)
    slope = tf.gradients(tf.square(unpack(rows, 1, 2)[-1]), values)
    return [
        run(back, feeds),
        run(unpack(rows, 1, 2), feeds),
        run(unpack(rows, -1, 2), feeds),
        run(unpack(rows[2], 1, 1), feeds),
        run(unpack(rows[1], 1, 1), feeds),
        run(unpack(flat, 0, 1), feeds),
        run(unpack(tf.stack([rows, rows]), 1, 3), feeds),
        run(slope, feeds),
        run(unpack(rows[0], 0, 0), feeds),
    ]


@case
def matmul_softmax() -> Any:
    """Run a linear classifier's forward pass."""
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    w = tf.constant(np.arange(12, dtype=np.float32).reshape(4, 3) / 10)
    logits = tf.nn.bias_add(tf.matmul(x, w), [0.1, -0.2, 0.3])
    answer = tf.argmax(tf.nn.softmax(logits, name="p"), 1, name="best")
    feeds = {x: np.random.RandomState(0).randn(5, 4).astype(np.float32)}
    return [run(["p:0", answer], feeds)]


@case
def convolutional_network() -> Any:
    """Run Conv2D, BiasAdd, Relu, MaxPool and a dense layer with two batch sizes."""
    random = np.random.RandomState(1)
    x = tf.placeholder(tf.float32, [None, 8, 8, 1], name="x")
    k = tf.constant(random.randn(3, 3, 1, 4).astype(np.float32))
    h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, k, [1, 1, 1, 1], "SAME"), [0.0, 0.1, 0.2, -0.1]))
    h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    flat = tf.reshape(h, [-1, 64])
    out = tf.matmul(flat, random.randn(64, 5).astype(np.float32), name="out")
    return [
        run([out], {x: random.randn(2, 8, 8, 1).astype(np.float32)}),
        run([out], {x: random.randn(7, 8, 8, 1).astype(np.float32)}),
    ]


@case
def shapes_and_slices() -> Any:
    """Compute shapes, slice, gather, transpose, concat, split and pack."""
    x = tf.placeholder(tf.float32, [None, 4, 3], name="x")
    a = tf.transpose(x[:, 1:-1, ::-1], [2, 0, 1], name="a")
    b = tf.reshape(x, tf.stack([tf.shape(x)[0], -1]), name="b")
    c = tf.concat([tf.expand_dims(x[:, 0], 1), x], 1, name="c")
    d, e = tf.split(x, 2, axis=1)
    f = tf.gather(x, [2, 0, 0], axis=2, name="f")
    feeds = {x: np.arange(24, dtype=np.float32).reshape(2, 4, 3)}
    return [run([a, b, c, tf.identity(d, name="d"), tf.identity(e, name="e"), f], feeds)]


@case
def text() -> Any:
    """Join string constants and format a shard's file name."""
    s = tf.placeholder(tf.string, [None], name="s")
    j = tf.string_join([s, tf.constant("-"), s], name="j")
    return [run([j, tf.shape(j, name="n")], {s: np.array([b"a", b"\x00\xff", b""], object)})]


@case
def cond_both_sides() -> Any:
    """Run tf.cond with captured tensors in both directions."""
    p = tf.placeholder(tf.bool, [], name="p")
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.cond(p, lambda: x * 2.0, lambda: x + 10.0, name="y")
    return [run([y], {p: flag, x: [1.0, 2.0]}) for flag in (True, False)]


@case
def cond_dead_fetch() -> Any:
    """Fetch the dead side of a Switch, which is an error, and run it as a target, which is not."""
    p = tf.placeholder(tf.bool, [], name="p")
    from tensorflow.python.ops import control_flow_ops

    _, live = control_flow_ops.switch(tf.constant(3.0), p)
    more = tf.identity(live, name="more")
    return [
        run([more], {p: True}),
        run([more], {p: False}),
        run([], {p: False}, [more.op]),
    ]


@case
def merge_index() -> Any:
    """Return which input of a Merge was alive."""
    from tensorflow.python.ops import control_flow_ops

    p = tf.placeholder(tf.bool, [], name="p")
    no, yes = control_flow_ops.switch(tf.constant([1, 2]), p)
    value, index = control_flow_ops.merge([no + 1, yes * 5])
    fetches = [tf.identity(value, name="value"), tf.identity(index, name="index")]
    return [run(fetches, {p: flag}) for flag in (True, False)]


@case
def while_counter() -> Any:
    """Count to a fed limit, also with no iteration."""
    n = tf.placeholder(tf.int32, [], name="n")
    i, s = tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i * i), [0, 0])
    return [run([i, s], {n: limit}) for limit in (0, 1, 50)]


@case
def while_serial_matrix() -> Any:
    """Loop with parallel_iterations=1, a matrix as loop variable and a captured one."""
    a = tf.constant(np.array([[0.5, 0.25], [0.1, 0.6]], np.float32))
    i, m = tf.while_loop(
        lambda i, m: i < 12,
        lambda i, m: (i + 1, tf.matmul(m, a) + a),
        [0, tf.eye(2)],
        parallel_iterations=1,
    )
    return [run([i, m])]


@case
def while_nested() -> Any:
    """Nest loops; the inner limit depends on the outer variable."""
    n = tf.placeholder(tf.int32, [], name="n")

    def outer(i: Any, total: Any) -> Any:
        _, inner = tf.while_loop(
            lambda j, t: j < i, lambda j, t: (j + 1, t + i * j), [tf.constant(0), total]
        )
        return i + 1, inner

    _, total = tf.while_loop(lambda i, t: i < n, outer, [tf.constant(0), tf.constant(0)])
    return [run([total], {n: limit}) for limit in (0, 3, 9)]


@case
def while_with_cond() -> Any:
    """Compute Collatz sequences: a cond inside a loop, and the loop inside a cond."""
    n = tf.placeholder(tf.int32, [], name="n")

    def body(x: Any, steps: Any) -> Any:
        even = tf.equal(x % 2, 0)
        return tf.cond(even, lambda: x // 2, lambda: 3 * x + 1), steps + 1

    def loop() -> Any:
        return tf.while_loop(lambda x, s: x > 1, body, [n, tf.constant(0)])[1]

    steps = tf.cond(n > 0, loop, lambda: tf.constant(-1), name="steps")
    return [run([steps], {n: start}) for start in (27, 1, -5)]


@case
def while_growing() -> Any:
    """Loop over a variable whose shape grows."""
    _, x = tf.while_loop(
        lambda i, x: i < 5,
        lambda i, x: (i + 1, tf.concat([x, [tf.cast(i, tf.float32)]], 0)),
        [tf.constant(0), tf.constant([0.5])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )
    return [run([x])]


@case
def while_error_inside() -> Any:
    """Divide by zero in a later iteration, which fails the step; the next step works."""
    d = tf.placeholder(tf.int32, [], name="d")
    _, x = tf.while_loop(
        lambda i, x: i < 6, lambda i, x: (i + 1, x + 10 // (i - d)), [tf.constant(0), 0]
    )
    return [run([x], {d: 3}), run([x], {d: -1})]


@case
def tensor_array() -> Any:
    """Run map_fn: TensorArrays written and read in a loop."""
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.map_fn(lambda v: v * v + 1.0, x)
    return [run([y], {x: np.arange(count, dtype=np.float32)}) for count in (4, 1)]


@case
def ref_variables() -> Any:
    """Use reference variables: uninitialized, assigned, added to, read."""
    v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0]), use_resource=False)
    add = tf.assign_add(v, [0.5, 0.25], name="add")
    double = tf.identity(v * 2.0, name="double")
    init = tf.global_variables_initializer()
    return [
        run([double]),
        run([], {}, [init]),
        run([double]),
        run([add]),
        run([], {}, [add.op]),
        run(["v:0", double]),
    ]


@case
def resource_variables() -> Any:
    """Use resource variables: uninitialized, assigned, added to, read."""
    v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0]), use_resource=True)
    add = v.assign_add([0.5, 0.25], read_value=False)
    double = tf.identity(v * 2.0, name="double")
    init = tf.global_variables_initializer()
    return [
        run([double]),
        run([], {}, [init]),
        run([double]),
        run([], {}, [add]),
        run([double, tf.is_variable_initialized(v)]),
    ]


@case
def gradient_descent() -> Any:
    """Train a small net for a few steps, with gradients in the graph."""
    random = np.random.RandomState(3)
    x = tf.constant(random.randn(6, 4).astype(np.float32))
    y = tf.constant(random.randn(6, 2).astype(np.float32))
    w = tf.get_variable("w", initializer=tf.constant(random.randn(4, 2).astype(np.float32)))
    b = tf.get_variable("b", initializer=tf.zeros([2]))
    loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w) + b) - y), name="loss")
    dw, db = tf.gradients(loss, [w, b])
    train = tf.group(tf.assign(w, w - 0.1 * dw), tf.assign(b, b - 0.1 * db))
    init = tf.global_variables_initializer()
    return [run([], {}, [init]), run([loss, dw, db]), *[run([], {}, [train])] * 3, run([loss])]


@case
def read_behind_assignment() -> Any:
    """Read reference variables before an assignment and use the values behind it."""
    v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0]), use_resource=False)
    w = tf.get_variable("w", initializer=tf.zeros([2]), use_resource=False)
    p = tf.placeholder(tf.bool, [], name="p")
    n = tf.placeholder(tf.int32, [], name="n")
    with tf.control_dependencies([tf.assign(v, [5.0, 6.0])]):
        a = [tf.identity(v), v * 2.0, tf.reduce_sum(v)]
    with tf.control_dependencies([tf.assign_add(v, [1.0, 1.0])]):
        copied = tf.assign(w, v)
    with tf.control_dependencies([copied]):
        b = w + v
    averages = tf.train.ExponentialMovingAverage(0.5)
    step = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(v * v))
    with tf.control_dependencies([step]):
        both = averages.apply([v, w])

    def body(i: Any, total: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(v, [1.0, 0.0])]):
            return i + 1, total + v

    _, total = tf.while_loop(lambda i, _: i < n, body, [0, tf.zeros([2])], parallel_iterations=1)

    def scattered() -> Any:
        with tf.control_dependencies([tf.scatter_add(v, [0], [10.0])]):
            return tf.identity(v)

    side = tf.cond(p, scattered, lambda: v * 1.0)
    with tf.control_dependencies([tf.scatter_update(v, [0], [-1.0])]):
        rows = [tf.gather(v, [0, 1]), v[0]]
    return [
        run([], {}, [tf.global_variables_initializer()]),
        run(a),
        run([b]),
        run([], {}, [both]),
        run(["v:0", averages.average(v).value(), averages.average(w).value()]),
        run([total], {n: 3}),
        run([side], {p: True}),
        run([side], {p: False}),
        run(rows),
        run(["v:0", "w:0"]),
    ]


@case
def training_with_fetches() -> Any:
    """Fetch the loss with a penalty of the weights, step and rate beside the training step."""
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    first = tf.get_variable("first", [3, 2], initializer=tf.constant_initializer(0.3))
    second = tf.get_variable("second", [2, 3], initializer=tf.constant_initializer(-0.2))
    y = tf.matmul(tf.nn.relu(tf.matmul(x, first)), second)
    penalty = 0.1 * (tf.nn.l2_loss(first) + tf.nn.l2_loss(second))
    loss = tf.reduce_mean(tf.square(y - x)) + penalty
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.1, step, 1, 0.9)
    train = tf.train.AdamOptimizer(rate).minimize(loss, step)
    feeds = [{x: np.random.RandomState(seed).randn(4, 3).astype(np.float32)} for seed in range(3)]
    return [
        run([], {}, [tf.global_variables_initializer()]),
        *[run([loss, penalty, step], feed, [train]) for feed in feeds],
        run(["first:0", "second:0", step, rate]),
    ]


@case
def functional_control_flow_twice_differentiated() -> Any:
    """Differentiate twice through a While whose body has an If whose branch has a While."""
    tf.enable_control_flow_v2()
    x = tf.placeholder(tf.float32, [3], name="x")
    n = tf.placeholder(tf.int32, [], name="n")
    v = tf.get_variable("v", [3], initializer=tf.ones_initializer(), use_resource=True)

    def inner(i: Any, a: Any) -> Any:
        return tf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, tf.sin(b) + v), [0, a])[1]

    def body(i: Any, a: Any) -> Any:
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: a * x + v, lambda: inner(i, a))

    _, y = tf.while_loop(lambda i, a: i < n, body, [0, x])
    gradients = tf.gradients(y, [x, v])
    train = tf.train.AdamOptimizer(0.01).minimize(tf.reduce_sum(tf.square(y)))
    tf.disable_control_flow_v2()
    feed = {x: np.array([0.1, 0.2, -0.3], np.float32)}
    return [
        run([], {}, [tf.global_variables_initializer()]),
        *[run([y, *gradients], {**feed, n: count}) for count in (0, 1, 4)],
        run([y], {**feed, n: 3}, [train]),
        run([v.value()]),
    ]


@case
def mapped_function_and_centers() -> Any:
    """Map a function over rows, find the distinct elements of a dataset, and nearest centers."""
    from tensorflow import raw_ops
    from tensorflow.python.framework import function

    @function.Defun(tf.float32, tf.float32)
    def pair(a: Any, b: Any) -> Any:
        return a * 2.0 + b, tf.stack([a, a])

    x = tf.placeholder(tf.float32, [None], name="x")
    mapped = raw_ops.MapDefun(
        arguments=[x],
        captured_inputs=[tf.constant(10.0)],
        output_types=[tf.float32, tf.float32],
        output_shapes=[[], [2]],
        f=pair,
    )
    words = tf.data.Dataset.from_tensor_slices(["a", "b", "a", "c", "b"])
    element = words.apply(tf.data.experimental.unique()).make_one_shot_iterator().get_next()
    points = tf.constant(np.random.RandomState(5).randn(9, 2).astype(np.float32))
    start = raw_ops.KmeansPlusPlusInitialization(
        points=points, num_to_sample=3, seed=4, num_retries_per_sample=2
    )
    nearest = raw_ops.NearestNeighbors(points=points, centers=start, k=2)
    return [
        *[run(list(mapped), {x: np.arange(count, dtype=np.float32)}) for count in (3, 0)],
        *[run([element])] * 4,
        run([start, *nearest]),
    ]


@case
def two_devices() -> Any:
    """Send values and control edges between two CPU devices."""
    with tf.device("/cpu:0"):
        a = tf.placeholder(tf.float32, [2], name="a")
        b = a + 1.0
    with tf.device("/cpu:1"):
        c = b * 2.0
        d = a - 3.0
    with tf.device("/cpu:0"), tf.control_dependencies([d]):
        e = tf.add(c, b, name="e")
    return {"device_count": {"CPU": 2}}, [run([e, tf.identity(d, name="dd")], {a: [1.0, 2.0]})]


@case
def loop_over_two_devices() -> Any:
    """Loop with the body on another device than the condition."""

    def body(i: Any, x: Any) -> Any:
        with tf.device("/cpu:1"):
            x = x * 1.5 + 1.0
        return i + 1, x

    with tf.device("/cpu:0"):
        n = tf.placeholder(tf.int32, [], name="n")
        _, x = tf.while_loop(lambda i, x: i < n, body, [tf.constant(0), tf.constant(1.0)])
    return {"device_count": {"CPU": 2}}, [run([x], {n: limit}) for limit in (0, 1, 7)]


@case
def missing_device() -> Any:
    """Request a missing device, which is refused at the first run."""
    with tf.device("/cpu:5"):
        x = tf.constant(1.0, name="x")
    return [run([x])]


@case
def partial_runs() -> Any:
    """Feed and fetch a step in two parts, and use it too often."""
    a = tf.placeholder(tf.float32, [], name="a")
    b = tf.placeholder(tf.float32, [], name="b")
    x = tf.add(a, 1.0, name="x")
    y = tf.multiply(x, b, name="y")
    setup = Step([x, y], kind="prun_setup", more={"handle": "h", "feeds": ["a:0", "b:0"]})
    return [
        setup,
        Step([x], {a: 2.0}, kind="prun", more={"handle": "h"}),
        Step([y], {}, kind="prun", more={"handle": "h"}),
        Step([y], {b: 5.0}, kind="prun", more={"handle": "h"}),
        Step([y], {b: 5.0}, kind="prun", more={"handle": "h"}),
    ]


@case
def feeding() -> Any:
    """Omit feeds, feed inside of the graph, and feed wrong shapes."""
    p = tf.placeholder(tf.float32, [2], name="p")
    q = tf.placeholder_with_default(tf.constant([5.0, 6.0]), [2], name="q")
    inner = tf.multiply(p, 3.0, name="inner")
    out = tf.add(inner, q, name="out")
    return [
        run([out], {p: [1.0, 2.0]}),
        run([out]),
        run([out], {inner: [7.0, 8.0]}),
        run([out], {p: [1.0, 2.0], q: [0.0, 0.0]}),
        run([out], {p: [1.0, 2.0, 3.0]}),
    ]


@case
def kernel_errors() -> Any:
    """Cause errors of kernels: shapes, an index out of range, a zero divisor."""
    x = tf.placeholder(tf.float32, None, name="x")
    i = tf.placeholder(tf.int32, None, name="i")
    product = tf.matmul(x, tf.constant([[1.0], [2.0]]), name="product")
    picked = tf.gather(tf.constant([1.0, 2.0, 3.0]), i, name="picked")
    whole = tf.floordiv(tf.constant(7), i, name="whole")
    return [
        run([product], {x: np.ones([2, 3], np.float32)}),
        run([product], {x: np.ones([2, 2], np.float32)}),
        run([picked], {i: 7}),
        run([picked], {i: [2, 0]}),
        run([whole], {i: 0}),
        run([whole], {i: -2}),
    ]


# ------------------------------------------------------------------------------------ storing them


def main(words: list[str]) -> None:
    """Make the chosen cases."""
    tf.disable_v2_behavior()
    tf.disable_resource_variables()
    for name, builder in BUILDERS.items():
        if not words or any(word in name for word in words):
            make(name, builder)
            print(name)


def make(name: str, builder: Callable[[], Any]) -> None:
    """Build, run and store one case."""
    folder = OWN / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(0)
        made = builder()
    config, steps = made if isinstance(made, tuple) else ({}, made)
    (folder / "graph.pb").write_bytes(graph.as_graph_def().SerializeToString(deterministic=True))
    inputs: dict[str, Any] = {}
    expected: dict[str, Any] = {}
    session = tf.Session(graph=graph, config=session_config(config))
    handles: dict[str, Any] = {}
    described = [
        describe(number, step, graph, session, handles, inputs, expected)
        for number, step in enumerate(steps)
    ]
    session.close()
    document = {
        "id": name,
        "doc": (builder.__doc__ or "").strip(),
        "graph": {"file": "graph.pb", "format": "graphdef-binary"},
        "config": config,
        "steps": described,
        "tolerance": {"rtol": 1e-5, "atol": 1e-6},
    }
    (folder / "case.json").write_text(json.dumps(document, indent=1) + "\n")
    for file, arrays in (("inputs.npz", inputs), ("expected.npz", expected)):
        if arrays:
            np.savez_compressed(folder / file, **flat(arrays))


def session_config(config: dict[str, Any]) -> Any:
    """Turn graph optimization off, so that every node runs."""
    proto = tf.ConfigProto()
    for kind, count in config.get("device_count", {}).items():
        proto.device_count[kind] = count
    proto.graph_options.optimizer_options.opt_level = -1
    proto.graph_options.rewrite_options.disable_meta_optimizer = True
    return proto


def describe(
    number: int,
    step: Step,
    graph: Any,
    session: Any,
    handles: dict[str, Any],
    inputs: dict[str, Any],
    expected: dict[str, Any],
) -> dict[str, Any]:
    """Run one step and return its description and results."""
    fetches = [graph.as_graph_element(f) for f in step.fetches]
    targets = [graph.as_graph_element(t) for t in step.targets]
    feeds: dict[Any, Any] = {}
    row: dict[str, Any] = {"kind": step.kind, **step.more}
    if step.feeds:
        row["feeds"] = {}
    for position, (key, value) in enumerate(step.feeds.items()):
        tensor = graph.as_graph_element(key)
        array = np.asarray(value, tensor.dtype.as_numpy_dtype)
        feeds[tensor] = array
        inputs[f"s{number}i{position}"] = array
        row["feeds"][tensor.name] = f"s{number}i{position}"
    row["fetches"] = [f.name for f in fetches]
    if targets:
        row["targets"] = [t.name for t in targets]
    try:
        values = perform(step, row, fetches, targets, feeds, session, handles)
    except Exception as error:
        row["error"] = {"class": type(error).__name__}
        return row
    row["expect"] = {}
    for position, (fetch, value) in enumerate(zip(fetches, values)):
        expected[f"s{number}o{position}"] = np.asarray(value)
        row["expect"][fetch.name] = f"s{number}o{position}"
    return row


def perform(
    step: Step,
    row: dict[str, Any],
    fetches: list[Any],
    targets: list[Any],
    feeds: dict[Any, Any],
    session: Any,
    handles: dict[str, Any],
) -> list[Any]:
    """Run one step with TensorFlow."""
    if step.kind == "prun_setup":
        feeds_declared = [session.graph.as_graph_element(name) for name in row["feeds"]]
        handles[row["handle"]] = session.partial_run_setup(fetches + targets, feeds_declared)
        return []
    if step.kind == "prun":
        found: list[Any] = session.partial_run(handles[row["handle"]], fetches, feed_dict=feeds)
        return found
    values: list[Any] = session.run(fetches + targets, feeds)
    return values[: len(fetches)]


def flat(arrays: dict[str, Any]) -> dict[str, Any]:
    """Return arrays that npz holds without pickling: strings as bytes, offsets and shape."""
    stored: dict[str, Any] = {}
    for key, array in arrays.items():
        if array.dtype.kind not in "OSU":
            stored[key] = array
            continue
        texts = [t.encode() if isinstance(t, str) else t for t in array.ravel().tolist()]
        stored[f"{key}|str"] = np.frombuffer(b"".join(texts), np.uint8)
        stored[f"{key}|off"] = np.cumsum([0, *map(len, texts)])
        stored[f"{key}|shape"] = np.array(array.shape, np.int64)
    return stored


if __name__ == "__main__":
    main(sys.argv[1:])
