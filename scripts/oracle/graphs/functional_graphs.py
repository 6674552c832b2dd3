"""Store how TensorFlow lowers functional nodes: tests/golden/functional_graphs.json.

    python scripts/oracle/graphs/functional_graphs.py        needs TensorFlow

A case is a GraphDef with functions, its fetches and targets, the values, and TensorFlow's partition
graphs at level L0 (tests/graph/partition_text.py, unnumbered). ``inline`` says whether
``do_function_inlining`` was on; ``nodes`` holds the names of the executed nodes and their counts.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import tensorflow.compat.v1 as tf
from tensorflow.python.framework import function

from tests.graph.partition_text import unnumbered, unnumbered_text

tf.disable_v2_behavior()
tf.enable_control_flow_v2()

OUT = Path(__file__).resolve().parents[3] / "tests/golden/functional_graphs.json"


def config(inline: bool) -> Any:
    """Return a configuration with two CPU devices and only the requested optimizers."""
    found = tf.ConfigProto(device_count={"CPU": 2})
    found.operation_timeout_in_ms = 20_000
    found.graph_options.rewrite_options.disable_meta_optimizer = True
    found.graph_options.optimizer_options.opt_level = -1
    found.graph_options.optimizer_options.do_function_inlining = inline
    return found


def x() -> Any:
    """Return a fed number."""
    return tf.placeholder_with_default(2.0, [], name="x")


def branch() -> list[Any]:
    """Build an If with two results, both used."""
    value = x()
    with tf.control_dependencies([tf.no_op("before")]):
        first, second = tf.cond(
            value > 1.0,
            lambda: (tf.add(value, 1.0), tf.negative(value)),
            lambda: (tf.multiply(value, 3.0), value),
            name="cond",
        )
    return [first, tf.identity(second, name="out")]


def branch_without_results() -> list[Any]:
    """Build an If of which one branch changes a variable."""
    value = x()
    variable = tf.get_variable("v", initializer=1.0, use_resource=True)
    done = tf.cond(value > 1.0, lambda: variable.assign_add(value).op, tf.no_op, name="cond")
    with tf.control_dependencies([done]):
        return [tf.identity(variable.read_value(), name="read")]


def nested_branches() -> list[Any]:
    """Build a cond within a cond."""
    value = x()
    return [
        tf.cond(
            value > 1.0,
            lambda: tf.cond(value > 5.0, lambda: value * 7.0, lambda: value + 9.0),
            lambda: value - 1.0,
            name="cond",
        )
    ]


def cases() -> list[Any]:
    """Build a Case of three branches."""
    index = tf.placeholder_with_default(1, [], name="x")
    return [
        tf.switch_case(
            index, [lambda: index + 1, lambda: index * 20, lambda: -index], name="choice"
        )
    ]


def loop() -> list[Any]:
    """Build a While with a limit from outside."""
    limit = tf.placeholder_with_default(3, [], name="x")
    _, result = tf.while_loop(
        lambda i, y: i < limit,
        lambda i, y: (i + 1, y * 2.0),
        [0, 1.0],
        parallel_iterations=4,
        name="while",
    )
    return [result]


def loop_with_variable() -> list[Any]:
    """Build a loop with a resource."""
    variable = tf.get_variable("v", initializer=1.0, use_resource=True)

    def body(i: Any) -> Any:
        with tf.control_dependencies([variable.assign_add(2.0).op]):
            return i + 1

    done = tf.while_loop(lambda i: i < 3, body, [0], name="while")
    with tf.control_dependencies([done]):
        return [tf.identity(variable.read_value(), name="read")]


def nested_loops() -> list[Any]:
    """Build a While and a cond within a While."""

    def body(i: Any, y: Any) -> Any:
        _, inner = tf.while_loop(
            lambda j, z: j < i, lambda j, z: (j + 1, z + 1.0), [0, y], name="inner"
        )
        return i + 1, tf.cond(inner > 2.0, lambda: inner * 2.0, lambda: inner + 0.5, name="choose")

    _, result = tf.while_loop(lambda i, y: i < 4, body, [0, 1.0], name="outer")
    return [result]


def direct_call() -> list[Any]:
    """Build a call of a function by its name, between control edges."""

    @function.Defun(tf.float32, func_name="Foo")
    def foo(v: Any) -> Any:
        return tf.add(v, 1.0, name="plus")

    with tf.control_dependencies([tf.no_op("before")]):
        y = foo(tf.constant(2.0, name="c"), name="call")
    with tf.control_dependencies([y.op]):
        return [y, tf.constant(3.0, name="after")]


def nested_direct_calls() -> list[Any]:
    """Build functions that call functions."""

    @function.Defun(tf.float32, func_name="Inner")
    def inner(v: Any) -> Any:
        return tf.multiply(v, 3.0)

    @function.Defun(tf.float32, tf.float32, func_name="Outer")
    def outer(a: Any, b: Any) -> Any:
        return inner(a) + inner(b), a

    first, second = outer(x(), tf.constant(4.0), name="call")
    return [first, second]


def no_inline() -> list[Any]:
    """Build a call of a function marked _noinline."""

    @function.Defun(tf.float32, func_name="Foo", noinline=True)
    def foo(v: Any) -> Any:
        return tf.add(v, 1.0, name="plus")

    return [foo(tf.constant(2.0), name="call")]


def partitioned_call() -> list[Any]:
    """Build a call with an effect on a variable."""
    variable = tf.get_variable("v", initializer=1.0, use_resource=True)

    @tf.function
    def foo(v: Any) -> Any:
        variable.assign_add(v)
        return tf.add(v, 1.0, name="plus")

    with tf.control_dependencies([tf.no_op("before")]):
        y = foo(tf.constant(2.0, name="c"))
    with tf.control_dependencies([y.op]):
        return [y, tf.identity(variable.read_value(), name="read")]


def call_over_devices() -> list[Any]:
    """Build a function with a body on two devices."""

    @tf.function
    def foo(v: Any) -> Any:
        with tf.device("/cpu:1"):
            a = tf.add(v, 1.0, name="one")
        with tf.device("/cpu:0"):
            return tf.multiply(a, 2.0, name="two")

    return [foo(tf.constant(2.0, name="c"))]


def branch_in_call() -> list[Any]:
    """Build a cond within a function."""

    @tf.function
    def foo(v: Any) -> Any:
        return tf.cond(v > 1.0, lambda: tf.add(v, 1.0), lambda: tf.multiply(v, 2.0))

    return [foo(x())]


def calls_in_call() -> list[Any]:
    """Build a function in which calls with effects stay calls, and other calls are inlined."""
    variable = tf.get_variable("v", initializer=1.0, use_resource=True)

    @tf.function
    def pure(v: Any) -> Any:
        return tf.add(v, variable.read_value(), name="inner")

    @tf.function
    def effect(v: Any) -> Any:
        variable.assign_add(v)
        return tf.negative(v)

    @tf.function
    def foo(v: Any) -> Any:
        return pure(v) * effect(v)

    return [foo(tf.constant(2.0, name="c"))]


CASES = [
    (branch, False),
    (branch_without_results, False),
    (nested_branches, False),
    (cases, False),
    (loop, False),
    (loop_with_variable, False),
    (nested_loops, False),
    (direct_call, False),
    (direct_call, True),
    (nested_direct_calls, False),
    (nested_direct_calls, True),
    (no_inline, True),
    (partitioned_call, True),
    (call_over_devices, True),
    (nested_loops, True),
    (partitioned_call, False),
    (call_over_devices, False),
    (branch_in_call, False),
    (calls_in_call, False),
]


def answer(build: Any, inline: bool) -> dict[str, Any]:
    """Run one case."""
    tf.reset_default_graph()
    fetches = build()
    graph_def = tf.get_default_graph().as_graph_def()
    initializers = [variable.initializer.name for variable in tf.global_variables()]
    options = tf.RunOptions(output_partition_graphs=True, trace_level=tf.RunOptions.FULL_TRACE)
    metadata = tf.RunMetadata()
    with tf.Session(config=config(inline)) as session:
        session.run(initializers)
        values = session.run(fetches, options=options, run_metadata=metadata)
    rows = [row.node_name for dev in metadata.step_stats.dev_stats for row in dev.node_stats]
    return {
        "name": f"{build.__name__}{'_inlined' if inline else ''}",
        "graph": base64.b85encode(zlib.compress(graph_def.SerializeToString(), 9)).decode(),
        "initializers": initializers,
        "fetches": [tensor.name for tensor in fetches],
        "inline": inline,
        "values": [float(value) for value in values],
        "partitions": unnumbered_text(metadata.partition_graphs),
        "nodes": dict(sorted(Counter(unnumbered(row) for row in rows).items())),
    }


if __name__ == "__main__":
    found = [answer(build, inline) for build, inline in CASES]
    OUT.write_text(json.dumps(found, indent=1) + "\n")
    print(f"{len(found)} cases")
