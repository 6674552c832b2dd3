"""If, Case, While and calls are lowered as in TensorFlow.

The graphs and the answers are in tests/golden/functional_graphs.json, which
scripts/oracle/graphs/functional_graphs.py writes.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import tfnb as tf
from tests.graph.partition_text import unnumbered, unnumbered_text
from tfnb.core.attr_value import NameAttrList
from tfnb.framework.functions.function import Defun
from tfnb.ops.control import functional_ops

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "golden/functional_graphs.json").read_text()
)


def imported(case: dict[str, Any]) -> tf.Graph:
    """The graph of a case."""
    with tf.Graph().as_default() as graph:
        message = zlib.decompress(base64.b85decode(case["graph"]))
        tf.import_graph_def(tf.GraphDef.FromString(message), name="")
    return graph


def plain_config(inline: bool) -> tf.ConfigProto:
    """Return a configuration with two CPU devices and without optimizers."""
    config = tf.ConfigProto(device_count={"CPU": 2})
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    config.graph_options.optimizer_options.do_function_inlining = inline
    return config


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_functional_nodes_are_taken_apart_as_in_tensorflow(case: dict[str, Any]) -> None:
    """Values, partitions and the number of runs of each node are compared."""
    graph = imported(case)
    options = tf.RunOptions(output_partition_graphs=True, trace_level=tf.RunOptions.FULL_TRACE)
    metadata = tf.RunMetadata()
    with tf.Session(graph=graph, config=plain_config(case["inline"])) as session:
        session.run(case["initializers"])
        values = session.run(case["fetches"], options=options, run_metadata=metadata)
    assert [float(value) for value in values] == case["values"]
    found = unnumbered_text(metadata.partition_graphs)
    more = " ^while/body/_/AssignAddVariableOp"
    if case["name"] == "loop_with_variable":
        # In tfnb the end of a call waits for the effects of a function without control results.
        found = [
            line.replace(more, "") if "output_control_node" in line else line for line in found
        ]
    assert found == case["partitions"]
    rows = [row.node_name for dev in metadata.step_stats.dev_stats for row in dev.node_stats]
    assert dict(sorted(Counter(map(unnumbered, rows)).items())) == case["nodes"]


@pytest.mark.parametrize(
    ("cond", "want"), [(2, 6.0), (0, 9.0), (0.5, 6.0), ("a", 6.0), ("", 9.0), ([0], 6.0)]
)
def test_a_condition_of_any_type_chooses_as_the_node_would(cond: Any, want: float) -> None:
    """Numbers are true unless 0, strings unless empty, tensors if they have elements."""
    with tf.Graph().as_default() as graph:
        for name, function in (("Twice", lambda x: x + x), ("Squared", lambda x: x * x)):
            Defun(tf.float32, func_name=name)(function).add_to_graph(graph)
        (y,) = functional_ops.if_(
            tf.constant(cond),
            [tf.constant(3.0)],
            Tout=[tf.float32],
            then_branch=NameAttrList("Twice", {}),
            else_branch=NameAttrList("Squared", {}),
        )
        y.op._set_attr("_lower_using_switch_merge", True)
        metadata = tf.RunMetadata()
        options = tf.RunOptions(output_partition_graphs=True)
        with tf.Session(config=plain_config(False)) as session:
            assert session.run(y, options=options, run_metadata=metadata) == want
    ops = {node.op for part in metadata.partition_graphs for node in part.node}
    assert {"ToBool", "Switch", "Merge"} <= ops
    assert "If" not in ops


def test_what_cannot_be_taken_apart_says_why_and_runs_as_one_node() -> None:
    """A branch of another type is an error only if it is taken."""
    with tf.Graph().as_default() as graph:
        Defun(tf.float32, func_name="Twice")(lambda x: x + x).add_to_graph(graph)
        Defun(tf.float32, func_name="Whole")(lambda x: tf.cast(x, tf.int32)).add_to_graph(graph)
        p = tf.placeholder(tf.bool, [], name="p")
        (y,) = functional_ops.if_(
            p,
            [tf.constant(3.0)],
            Tout=[tf.float32],
            then_branch=NameAttrList("Twice", {}),
            else_branch=NameAttrList("Whole", {}),
            name="choice",
        )
        y.op._set_attr("_lower_using_switch_merge", True)
        with tf.Session(config=plain_config(False)) as session:
            assert session.run(y, {p: True}) == 6.0
            reports = str(session.runtime.optimization_reports([y.name], [p.name]))
            assert "'choice' (If) stays: the types of function 'Whole' are others" in reports
            with pytest.raises(tf.errors.InternalError, match="does not match declared"):
                session.run(y, {p: False})


def test_bodies_of_branches_are_traced_and_those_of_loops_are_not() -> None:
    """As in TensorFlow with functional control flow that is not lowered."""

    @Defun(tf.float32)
    def half(x: Any) -> Any:
        return tf.multiply(x, 0.5, name="halved")

    @Defun(tf.float32)
    def goes_on(x: Any) -> Any:
        return tf.less(x, 2.0)

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(1.0)
        branch: dict[str, Any] = {"input": [x], "Tout": [tf.float32]}
        calls = {
            "If": tf.raw_ops.If(cond=x > 2.0, then_branch=half, else_branch=half, **branch),
            "Case": tf.raw_ops.Case(branch_index=0, branches=[half], **branch),
            "While": tf.raw_ops.While(input=[tf.constant(4.0)], cond=goes_on, body=half),
        }
        counts: dict[str, bool] = {}
        for name, outputs in calls.items():
            metadata = tf.RunMetadata()
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            session.run(outputs, options=options, run_metadata=metadata)
            rows = [row for dev in metadata.step_stats.dev_stats for row in dev.node_stats]
            counts[name] = sum(row.node_name.startswith("halved") for row in rows) > 0
    assert counts == {"If": True, "Case": True, "While": False}
