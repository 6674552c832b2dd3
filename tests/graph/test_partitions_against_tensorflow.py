"""Placement and partitions equal TensorFlow's, node for node.

The graphs and the answers are in tests/golden/partitions.json; scripts/oracle/graphs/partitions.py
writes it.
"""

from __future__ import annotations

import base64
import itertools
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.graph.partition_text import partition_text
from tfnb.common_runtime.placement.placer import Placer
from tfnb.core import errors
from tfnb.graph.control_flow import build_control_flow_info
from tfnb.graph.graph_constructor import graph_from_graph_def, graph_to_graph_def
from tfnb.graph.graph_partition import partition
from tfnb.graph.subgraph import rewrite_graph_for_execution
from tfnb.proto import graph_pb2

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "golden/partitions.json").read_text()
)


@dataclass
class FakeDevice:
    """A CPU device that only has a name."""

    name: str
    device_type: str = "CPU"
    priority: int = 70


DEVICES = [FakeDevice(f"/job:localhost/replica:0/task:0/device:CPU:{i}") for i in range(3)]


def partitions_of(case: dict[str, Any]) -> list[str]:
    """Do what a session does before it makes executors."""
    message = zlib.decompress(base64.b85decode(case["graph"]))
    graph = graph_from_graph_def(graph_pb2.GraphDef.FromString(message))
    Placer(graph, DEVICES, allow_soft_placement=case["soft"]).run()
    asked = case["feeds"], case["fetches"], case["targets"]
    signature = rewrite_graph_for_execution(graph, *asked, DEVICES[0].name).graph
    Placer(signature, DEVICES, allow_soft_placement=case["soft"]).run()
    parts = partition(signature, DEVICES, itertools.count())
    for part in parts.values():
        build_control_flow_info(part)
    return partition_text(graph_to_graph_def(part) for part in parts.values())


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_partitions_are_tensorflows(case: dict[str, Any]) -> None:
    """Partitions are equal, or the error has the same message."""
    if "error" in case:
        with pytest.raises(errors.InvalidArgumentError) as caught:
            partitions_of(case)
        assert case["error"] in caught.value.message
    else:
        assert partitions_of(case) == case["partitions"]
