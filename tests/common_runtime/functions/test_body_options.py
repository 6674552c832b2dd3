"""A call's ``config_proto`` decides how its body is optimized; see tests/golden/traces.json."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format

import tfnb as tf

_ROWS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "golden/traces.json").read_text()
)["bodies"]


def _imported(row: dict[str, Any]) -> Any:
    return tf.GraphDef.FromString(base64.b85decode(row["graph"]))


def _session(graph_def: Any) -> tf.Session:
    """A session in which calls of the graph itself stay calls."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    return tf.Session(graph=graph, config=config)


@pytest.mark.parametrize("row", _ROWS, ids=[row["switches"] for row in _ROWS])
def test_the_nodes_of_a_body_are_those_that_tensorflow_runs(row):
    """Nested calls and no-op nodes stay or are removed as in TensorFlow."""
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with _session(_imported(row)) as session:
        value = session.run("call:0", {"x:0": [1.0, 2.0]}, options, metadata)
    assert value.tolist() == [4.0, 6.0]
    names = [node.node_name for dev in metadata.step_stats.dev_stats for node in dev.node_stats]
    assert sorted(names) == row["nodes"]


def test_a_config_proto_that_is_none_is_an_error():
    """An invalid config_proto is an error of the call when it runs."""
    graph_def = _imported(_ROWS[0])
    for node in graph_def.node:
        if node.name == "call":
            node.attr["config_proto"].s = b"\xff not a message"
    with _session(graph_def) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Unable to parse config_proto"):
            session.run("call:0", {"x:0": [1.0, 2.0]})
        assert session.run("x:0", {"x:0": [1.0, 2.0]}).tolist() == [1.0, 2.0]


_TWO_IDENTITIES = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "call" op: "StatefulPartitionedCall" input: "x"
  attr { key: "Tin" value { list { type: DT_FLOAT } } }
  attr { key: "Tout" value { list { type: DT_FLOAT } } }
  attr { key: "f" value { func { name: "f" } } } }
library { function {
  signature { name: "f" is_stateful: true control_output: "work"
    input_arg { name: "a" type: DT_FLOAT } output_arg { name: "r" type: DT_FLOAT } }
  node_def { name: "work" op: "Print" input: "a" input: "a"
    attr { key: "T" value { type: DT_FLOAT } }
    attr { key: "U" value { list { type: DT_FLOAT } } } }
  node_def { name: "first" op: "Identity" input: "a" input: "^work"
    attr { key: "T" value { type: DT_FLOAT } } }
  node_def { name: "second" op: "Identity" input: "first:output:0" input: "^WAIT"
    attr { key: "T" value { type: DT_FLOAT } } }
  node_def { name: "all" op: "NoOp" input: "^work" }
  ret { key: "r" value: "second:output:0" } control_ret { key: "work" value: "work" } } }
versions { producer: 1000 }
"""


@pytest.mark.parametrize(("wait", "kept"), [("work", "first"), ("all", "second")])
def test_of_two_identities_the_one_that_must_wait_stays(wait: str, kept: str) -> None:
    """A result that waits for a NoOp replaces the one before it, as in restore functions."""
    graph_def = text_format.Parse(_TWO_IDENTITIES.replace("WAIT", wait), tf.GraphDef())
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with _session(graph_def) as session:
        session.run("call:0", {"x:0": 1.0}, options, metadata)
    names = {node.node_name for dev in metadata.step_stats.dev_stats for node in dev.node_stats}
    assert names & {"first", "second", "all"} == {kept}
