"""Graphs to profile, built in the same way with TensorFlow and tfnb (``tf``), and the options."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from google.protobuf.json_format import MessageToDict

if TYPE_CHECKING:
    from collections.abc import Iterator


def convolutional(tf: Any) -> Any:
    """Two layers, a loss, and its minimization."""
    images = tf.placeholder(tf.float32, [4, 12, 12, 3], name="images")
    with tf.variable_scope("conv"):
        kernel = tf.get_variable("kernel", [3, 3, 3, 8], use_resource=False)
        bias = tf.get_variable("bias", [8], use_resource=False)
        hidden = tf.nn.conv2d(images, kernel, [1, 2, 2, 1], "SAME")
        hidden = tf.nn.relu(tf.nn.bias_add(hidden, bias))
        hidden = tf.nn.max_pool(hidden, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    with tf.variable_scope("dense"):
        weights = tf.get_variable("weights", [72, 10], use_resource=True)
        logits = tf.matmul(tf.reshape(hidden, [4, 72]), weights)
    step = tf.get_variable("step", [], tf.int64, tf.zeros_initializer(), trainable=False)
    loss = tf.reduce_mean(tf.square(logits)) + 0.01 * tf.nn.l2_loss(kernel)
    return tf.train.GradientDescentOptimizer(0.1).minimize(loss, step, name="train")


def loop(tf: Any) -> Any:
    """Five products, one a round."""
    matrix = tf.placeholder(tf.float32, [6, 6], name="matrix")

    def body(index: Any, product: Any) -> Any:
        return index + 1, tf.matmul(product, matrix, name="product")

    rounds = tf.constant(0, name="rounds")
    return tf.while_loop(lambda index, _: index < 5, body, [rounds, matrix], name="while")[1]


def open_batch(tf: Any) -> Any:
    """Images in a batch of unknown size: only a run determines the figures."""
    images = tf.placeholder(tf.float32, [None, 5], name="images")
    with tf.name_scope("scaled"):
        scaled = tf.multiply(images, 2.0, name="product")
        first, second = tf.split(scaled, [2, 3], 1, name="parts")
    with tf.control_dependencies([first]):
        sums = tf.reduce_sum(second, 1, name="sums")
    total = tf.add_n([sums, sums, tf.reduce_max(first, 1, name="most")], name="total")
    return tf.add(total, 1.0, name="result")


def every_figure(tf: Any) -> Any:
    """Build each op that has float operations, and some whose number is unknown."""
    raw = tf.raw_ops
    x = tf.placeholder(tf.float32, [3, 4], name="x")
    y = tf.placeholder(tf.float32, [5, 3, 4], name="y")
    unary = ("Reciprocal", "Square", "Rsqrt", "Log", "Neg")
    found = [getattr(raw, op)(x=x, name=op) for op in unary]
    binary = (
        "Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "Pow", "GreaterEqual",
        "Greater", "LessEqual", "Less", "Equal", "NotEqual", "SquaredDifference",
    )  # fmt: skip
    found += [getattr(raw, op)(x=x, y=y, name=op) for op in binary]
    found.append(raw.RsqrtGrad(y=x, dy=x, name="RsqrtGrad"))
    found.append(raw.L2Loss(t=y, name="L2Loss"))
    found.append(raw.Softmax(logits=x, name="Softmax"))
    for op in ("Mean", "Sum"):
        found.append(getattr(raw, op)(input=y, axis=[0, 2], name=op))
        found.append(getattr(raw, op)(input=y, axis=[1], keep_dims=True, name=f"{op}Kept"))
    found += [getattr(raw, op)(input=y, dimension=1, name=op) for op in ("ArgMax", "ArgMin")]
    found.append(raw.BiasAdd(value=x, bias=tf.ones([4]), name="BiasAdd"))
    found.append(raw.BiasAddGrad(out_backprop=x, name="BiasAddGrad"))
    with tf.control_dependencies([x]):
        found.append(raw.AddN(inputs=[x, x, x], name="AddNAfter"))
    found.append(raw.AddN(inputs=[y], name="AddN"))
    for turned in (False, True):
        a = tf.placeholder(tf.float32, [7, 3] if turned else [3, 7])
        found.append(raw.MatMul(a=a, b=tf.ones([7, 2]), transpose_a=turned))
        b = tf.placeholder(tf.float32, [5, 4, 7] if turned else [5, 7, 4])
        z = tf.placeholder(tf.float32, [5, 4, 3] if turned else [5, 3, 4])
        for op in ("BatchMatMul", "BatchMatMulV2"):
            product = getattr(raw, op)(
                x=z, y=b, adj_x=turned, adj_y=not turned, name=f"{op}{turned}"
            )
            found.append(product)
        found.append(raw.BatchMatMulV3(x=z, y=b, Tout=tf.float32, adj_x=turned, adj_y=not turned))
    return [*found, *_windows(tf, raw)]


def _windows(tf: Any, raw: Any) -> list[Any]:
    image = tf.placeholder(tf.float32, [2, 9, 8, 3], name="image")
    kernel = tf.placeholder(tf.float32, [3, 2, 3, 5], name="kernel")
    turned = tf.placeholder(tf.float32, [2, 3, 9, 8], name="turned")
    volume = tf.placeholder(tf.float32, [1, 4, 5, 6, 2], name="volume")
    unknown = tf.placeholder(tf.float32, [None, 9, 8, 3], name="unknown")
    steps, whole = [1, 2, 3, 1], [1, 1, 1, 1]
    pool = {"ksize": [1, 3, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
    pooled = raw.MaxPool(input=image, name="MaxPool", **pool)
    found = [
        pooled,
        raw.AvgPool(value=image, name="AvgPool", **pool),
        raw.AvgPool(value=unknown, name="AvgPoolOfMany", **pool),
        raw.MaxPool(
            input=turned, ksize=whole, strides=whole, padding="SAME", data_format="NCHW",
            name="MaxPoolTurned",
        ),
        raw.MaxPoolGrad(orig_input=image, orig_output=pooled, grad=pooled, name="MPG", **pool),
        raw.AvgPoolGrad(orig_input_shape=[2, 9, 8, 3], grad=pooled, name="APG", **pool),
    ]  # fmt: skip
    for rest in ({}, {"data_format": "NCHW"}):
        value = turned if rest else image
        strides = [1, 1, 2, 3] if rest else steps
        name = f"Conv2D{len(rest)}"
        conv = raw.Conv2D(
            input=value, filter=kernel, strides=strides, padding="SAME", name=name, **rest
        )
        same = {"strides": strides, "padding": "SAME", **rest}
        sizes = value.shape.as_list()
        back = raw.Conv2DBackpropInput
        found.append(back(input_sizes=sizes, filter=kernel, out_backprop=conv, **same))
        back = raw.Conv2DBackpropFilter
        found.append(back(input=value, filter_sizes=[3, 2, 3, 5], out_backprop=conv, **same))
    found.append(raw.Conv2D(input=unknown, filter=kernel, strides=whole, padding="SAME"))
    found.append(
        raw.DepthwiseConv2dNative(input=image, filter=kernel, strides=whole, padding="VALID")
    )
    found.append(
        raw.Conv3D(input=volume, filter=tf.ones([2, 3, 1, 2, 4]), strides=[1] * 5, padding="VALID")
    )
    found.append(
        raw.Dilation2D(
            input=image, filter=tf.ones([3, 2, 3]), strides=whole, rates=whole, padding="SAME"
        )
    )
    old = tf.get_variable("old", [4, 2], use_resource=False)
    changes = ("AssignAdd", "AssignSub")
    ones = tf.ones([4, 2])
    return found + [getattr(raw, op)(ref=old._ref(), value=ones, name=op) for op in changes]


MODELS = {
    model.__name__: (model, feeds)
    for model, feeds in (
        (convolutional, {"images:0": [4, 12, 12, 3]}),
        (loop, {"matrix:0": [6, 6]}),
        (open_batch, {"images:0": [3, 5]}),
        (every_figure, {}),
    )
}


def build(tf: Any, name: str) -> Any:
    """A graph with what initializes its variables; returns the value to be fetched."""
    fetch = MODELS[name][0](tf)
    tf.global_variables_initializer()
    return fetch


def told_by_gpu(tf: Any) -> Any:
    """Metadata as a run on a GPU may give for ``open_batch``.

    Kernel times, memory of both sides.
    """
    metadata = tf.RunMetadata()
    gpu, cpu = "/job:localhost/replica:0/task:0/device:GPU:0", "/device:CPU:0"
    for device, start, nodes in (
        (gpu, 1000, ["scaled/product", "total", "sums", "scaled/parts", "_SOURCE", "late"]),
        (f"{gpu}/stream:all", 2000, ["scaled/product:Mul", "total:AddN", "sums:Sum", "total:AddN"]),
        (f"{gpu}/stream:7", 2000, ["scaled/product:Mul", "MEMCPYHtoD"]),
        (cpu, 500, ["images", "result", "RecvTensor", "total"]),
    ):
        stats = metadata.step_stats.dev_stats.add(device=device)
        for index, name in enumerate(nodes):
            node = stats.node_stats.add(node_name=name, op_end_rel_micros=index * 700)
            if name != "late":
                node.all_start_micros = start + 10 * index
            used = node.memory.add(
                allocator_name="GPU_0_bfc", total_bytes=100 * index, peak_bytes=90, live_bytes=7
            )
            used.allocator_bytes_in_use = 5000 + index
            used.allocation_records.add(alloc_micros=1001, alloc_bytes=100)
            node.memory_stats.temp_memory_size = 3 * index
            node.memory_stats.persistent_memory_size = 1_500_000 * (name == "total")
            if ":" in name:
                continue  # a kernel's time only
            given = node.output.add().tensor_description.allocation_description
            given.requested_bytes, given.allocated_bytes, given.ptr = 60, 64 * index, 12345
    return metadata


def log_of(tf: Any) -> Any:
    """An op log that a user may write for ``open_batch``."""
    log = tf.profiler.OpLogProto()
    log.log_entries.add(name="total", types=["mine", "its"], float_ops=5_000_000_000)
    log.log_entries.add(name="result", types=["mine"])
    log.log_entries.add(name="absent", types=["mine"], float_ops=3)
    return log


EVERYTHING = [
    "bytes", "peak_bytes", "residual_bytes", "output_bytes", "micros", "params", "float_ops",
    "device", "op_types", "occurrence", "input_shapes",
]  # fmt: skip


def wishes(tf: Any) -> dict[str, dict[str, Any]]:
    """Options by topic."""
    builder = tf.profiler.ProfileOptionBuilder
    every = builder(builder.time_and_memory(0, 0)).select(EVERYTHING).build()

    def but(**others: Any) -> dict[str, Any]:
        return {**every, **others}

    orders = "bytes peak_bytes residual_bytes output_bytes micros accelerator_micros cpu_micros"
    others = "name params float_ops occurrence nothing"
    return {
        "parameters": builder.trainable_variables_parameter(),
        "float ops": builder.float_operation(),
        "time and memory": builder.time_and_memory(),
        "plain": builder().build(),
        "everything": every,
        **{f"ordered by {order}": but(order_by=order) for order in f"{orders} {others}".split()},
        "unordered": but(order_by=""),
        "all counted": but(account_displayed_op_only=False, min_float_ops=1),
        "two types": but(account_type_regexes=["MatMul", "Conv.*|Mul", "M.*"]),
        "two types, all counted": but(
            account_type_regexes=["MatMul", "Mul|Identity|VariableV2"],
            account_displayed_op_only=False,
        ),
        "no types": but(account_type_regexes=[]),
        "own types": but(account_type_regexes=["mine"]),
        "a device": but(account_type_regexes=[".*cpu:0"]),
        "starts": but(start_name_regexes=["conv", "dense/.*", "total", "Mul", "while.*"]),
        "trimmed": but(trim_name_regexes=["conv", "scaled", "Mul.*", "total"]),
        "shown": but(show_name_regexes=["conv.*", ".*product", "Mat.*", "total"]),
        "hidden": but(hide_name_regexes=["conv", "Const", ".*read", "sums", "scaled/product"]),
        "hidden, all counted": but(
            hide_name_regexes=["conv", "Const", "sums"], account_displayed_op_only=False
        ),
        "not deep": but(max_depth=2),
        "nothing deep": but(max_depth=0),
        "often": but(min_occurrence=2),
        "parameters of some": but(min_params=10, select=["params", "accelerator_micros"]),
        "much memory": but(min_peak_bytes=100, min_output_bytes=50, select=["peak_bytes"]),
        "much kept": but(min_residual_bytes=100, select=["cpu_micros", "device"]),
        "much time": but(min_accelerator_micros=1, min_cpu_micros=1, select=["micros"]),
        "a step": but(step=0),
        "odd pattern": but(hide_name_regexes=["("]),
        "odd selection": but(select=["nothing", "tensor_value"]),
    }  # fmt: skip


def text_of(message: Any) -> str:
    """Return a message as text, equal for equal messages."""
    return json.dumps(MessageToDict(message, preserving_proto_field_name=True), sort_keys=True)


def lines_of_models(message: Any) -> Any:
    """Return the sums of a code view at lines of this file; TensorFlow has its own lines below."""
    found = MessageToDict(message, preserving_proto_field_name=True)

    def sums(node: dict[str, Any]) -> dict[str, Any]:
        kept = {name: value for name, value in node.items() if name.startswith("total_")}
        children = [sums(child) for child in node.get("children", ())]
        return {"name": node["name"], **kept, "children": children}

    return sums(found)


def without_own(text: str) -> str:
    """Return the printed code view without figures of single lines."""
    return re.sub(r"(--|[\d.]+[A-Za-z]*)/", "", text)


class Question(NamedTuple):
    """One request about a graph: the run it is based on, the view, the options."""

    model: str
    run: str
    command: str
    wish: str
    options: dict[str, Any]
    has_log: bool

    @property
    def name(self) -> str:
        """All parts in one name."""
        return f"{self.model}, {self.run or 'not run'}, {self.command}, {self.wish}"


def questions(tf: Any, model: str) -> Iterator[Question]:
    """Return all requests about a graph.

    Those without a run come first, because a run completes shapes.
    """
    for run in ("", "run", "gpu"):
        if (run and not MODELS[model][1]) or (run == "gpu" and model != "open_batch"):
            continue
        for command in ("scope", "graph", "op"):
            for wish, options in wishes(tf).items():
                yield Question(model, run, command, wish, options, wish == "own types")
    if model == "convolutional":
        for wish, options in wishes(tf).items():
            if wish.startswith(
                ("everything", "float", "param", "ordered by bytes", "often", "a dev")
            ):
                # These fields belong to the innermost lines.
                options["select"] = [
                    s for s in options["select"] if s not in ("device", "op_types")
                ]
                options["show_name_regexes"] = [r"models\.py.*"]
                yield Question(model, "run", "code", wish, options, False)


BAD = [
    {"output": "filex:a"},
    {"output": "nowhere"},
    {"output": "file"},
    {"output": "file:outfile"},
    {"output": "file:name=a"},
    {"output": "file:outfile=/nowhere/at/all"},
    {"output": "timeline"},
    {"output": "pprof:outfile="},
    {"step": 5},
    {"max_depth": "deep"},
    {"min_bytes": 1.5},
    {"min_bytes": 2**63},
    {"order_by": 7},
    {"select": [3]},
    {"select": 3},
    {"select": "ab"},
    {"account_displayed_op_only": "yes"},
    {"show_name_regexes": None},
    {"dump_to_file": 1},
]


def refusal(tf: Any, wrong: dict[str, Any], command: str) -> Any:
    """Return the error or message that wrong options cause."""
    options = {**wishes(tf)["plain"], "output": "none", **wrong}
    try:
        return text_of(tf.profiler.profile(cmd=command, options=options))
    except Exception as error:
        return [type(error).__name__, str(error)]


def said(error: str) -> list[str]:
    """Return the text on standard error, without TensorFlow's logs."""
    logs = re.compile(r"WARNING|[IWE]\d{4} |external/|\d{4}-|Instructions|non-resource")
    return [line for line in error.split("\n") if line and not logs.match(line)]


def ask(tf: Any, question: Question, run: Any) -> Any:
    """Return the profiler's result; it prints, too."""
    log = log_of(tf) if question.has_log else None
    return tf.profiler.profile(None, run, log, question.command, question.options)


def without_about(out: str) -> str:
    """Return the printed text without the explanation of the view, which is in our own words."""
    return re.sub(r"(?s)(Report=+\n).*?(?=Profile:\n)", r"\1", out)


def answer(question: Question, message: Any, out: str, error: str) -> list[Any]:
    """Return the compared parts of an answer."""
    out = without_about(out)
    notes = [
        line for line in error.split("\n") if re.match(r"Options|Available|\d+ ops|Note", line)
    ]
    if question.command == "code":
        return [lines_of_models(message), without_own(out), notes]
    return [text_of(message), out, notes]


def known(profile: Any) -> str:
    """Return a ProfileProto as text, without the places where nodes were made."""
    profile.ClearField("id_to_string")
    for node in profile.nodes.values():
        node.ClearField("trace")
        node.attrs.pop("_has_manual_control_dependencies", None)  # TensorFlow's own
    return text_of(profile)
