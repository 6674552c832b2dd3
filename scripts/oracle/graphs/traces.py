"""Store how often nodes of cases ran, with function bodies: tests/golden/traces.json.

    python scripts/oracle/graphs/traces.py [CASES]     needs TensorFlow; CASES is ../shared/cases

A ``trace.json`` beside a case was made with Grappler off in the session. That switch does not reach
functions: every ``PartitionedCall`` optimizes its body by its own ``config_proto``, and the default
is to fuse, fold and inline. Here Grappler is turned off in all calls, so that all nodes of bodies
are counted. All cases with these calls are stored, and a small function under several switches of
``config_proto``.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import tensorflow.compat.v1 as tf
from google.protobuf import text_format
from tensorflow.python.framework import function

tf.disable_v2_behavior()
tf.disable_resource_variables()

_ROOT = Path(__file__).resolve().parents[3]
OUT = _ROOT / "tests" / "golden" / "traces.json"
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")


def runner_of(folder: Path) -> Any:
    """Return the module that replays the cases of a folder."""
    spec = importlib.util.spec_from_file_location("run_cases", folder / "run_cases.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def leave_bodies_alone(graph_def: Any) -> int:
    """Turn Grappler off in all calls of a graph and its functions; return their number."""
    inner = [node for function in graph_def.library.function for node in function.node_def]
    calls = [node for node in [*graph_def.node, *inner] if node.op in _CALLS]
    for node in calls:
        config = tf.ConfigProto.FromString(node.attr["config_proto"].s)
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        node.attr["config_proto"].s = config.SerializeToString()
    return len(calls)


def trace(runner: Any, folder: Path) -> list[dict[str, Any]] | None:
    """Return the executed nodes of each step; None for a case without these calls."""
    case = json.loads((folder / "case.json").read_text())
    if case.get("expect_import_error"):
        return None
    replay = runner.Replay(tf, case, str(folder))
    load, counted = replay.load, []

    def load_plainly() -> Any:
        graph_def = load()
        counted.append(leave_bodies_alone(graph_def))
        return graph_def

    replay.load = load_plainly
    replay.import_graph()
    if not sum(counted):
        return None
    rows = []
    for number, step in enumerate(case["steps"]):
        if step.get("kind", "run") != "run" or step.get("error"):
            try:
                replay.step(step)
            except tf.errors.OpError as error:
                print(f"{folder.name}, step {number}: {type(error).__name__}")
            continue
        metadata = tf.RunMetadata()
        wanted = replay.resolve([*step.get("fetches", []), *step.get("targets", [])])
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        replay.get_session().run(wanted, replay.feeds(step), options, metadata)
        counts = Counter(
            row.node_name for device in metadata.step_stats.dev_stats for row in device.node_stats
        )
        rows.append({"step": number, "exec_counts": dict(sorted(counts.items()))})
    replay.get_session().close()
    return rows


SWITCHES = (
    "",
    "graph_options { rewrite_options { disable_meta_optimizer: true } }",
    "graph_options { rewrite_options { function_optimization: OFF } }",
    "graph_options { rewrite_options { dependency_optimization: OFF } }",
    "graph_options { rewrite_options { min_graph_nodes: 8 } }",
    "graph_options { rewrite_options { min_graph_nodes: 9 } }",
    "graph_options { rewrite_options { min_graph_nodes: -1 } }",
    "graph_options { optimizer_options { opt_level: L0 } }",
    "graph_options { rewrite_options { disable_meta_optimizer: true } "
    "optimizer_options { do_function_inlining: true } }",
)


def nested_calls() -> Any:
    """Build a function that calls another, with no-op nodes in between."""
    with tf.Graph().as_default() as graph:

        @function.Defun(tf.float32, func_name="inner")
        def inner(x: Any) -> Any:
            return tf.identity(tf.identity(x, name="before") + 1.0, name="after")

        @function.Defun(tf.float32, func_name="outer")
        def outer(x: Any) -> Any:
            (y,) = tf.raw_ops.PartitionedCall(args=[tf.identity(x)], Tout=[tf.float32], f=inner)
            with tf.control_dependencies([tf.no_op(name="nothing")]):
                return tf.identity(tf.multiply(y, 2.0, name="product"), name="result")

        x = tf.placeholder(tf.float32, [2], name="x")
        tf.raw_ops.PartitionedCall(args=[x], Tout=[tf.float32], f=outer, name="call")
    return graph.as_graph_def()


def bodies() -> list[dict[str, Any]]:
    """Return the executed nodes of two small functions, under several switches."""
    rows = []
    session_config = tf.ConfigProto()
    session_config.graph_options.optimizer_options.opt_level = -1
    session_config.graph_options.rewrite_options.disable_meta_optimizer = True
    for text in SWITCHES:
        config, graph_def = text_format.Parse(text, tf.ConfigProto()), nested_calls()
        inner = [node for body in graph_def.library.function for node in body.node_def]
        for node in [*graph_def.node, *inner]:
            if node.op in _CALLS:
                node.attr["config_proto"].s = config.SerializeToString()
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(graph_def, name="")
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        with tf.Session(graph=graph, config=session_config) as session:
            session.run("call:0", {"x:0": [1.0, 2.0]}, options, metadata)
        names = [row.node_name for dev in metadata.step_stats.dev_stats for row in dev.node_stats]
        message = base64.b85encode(graph_def.SerializeToString()).decode()
        rows.append({"switches": text, "graph": message, "nodes": sorted(names)})
    return rows


def main() -> None:
    """Trace every case that calls functions, and the effects of switches."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else _ROOT.parent / "shared" / "cases"
    runner, found = runner_of(folder), {}
    for path in sorted(folder.glob("**/case.json"), key=lambda path: path.parent.name):
        rows = trace(runner, path.parent)
        if rows is not None:
            found[path.parent.name] = rows
            print(path.parent.name, [len(row["exec_counts"]) for row in rows])
    OUT.write_text(json.dumps({"bodies": bodies(), "cases": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
