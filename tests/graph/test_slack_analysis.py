"""Earliest and latest start times of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.graph.small_graphs import LOOP, node, small_graph, vocabulary_of_tests
from tfnb.graph.cost_model import CostModel
from tfnb.graph.slack_analysis import COPY_TIME_US, SlackAnalysis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.graph.graph import Graph, Node


@pytest.fixture(autouse=True)
def _test_ops() -> Iterator[None]:
    with vocabulary_of_tests():
        yield


def graph_of(text: str) -> Graph:
    """A graph on the devices after ``@``."""
    graph = small_graph(text)
    for each in graph.op_nodes():
        each.assigned_device = each.requested_device or "A"
    graph.fixup_source_and_sink_edges()
    return graph


def costs(graph: Graph, **microseconds: int) -> CostModel:
    """Return the costs of nodes; the default is 1 us."""
    model = CostModel(graph)
    for name, time_us in microseconds.items():
        model.record_execution(node(graph, name), time_us)
    return model


def named(times: dict[Node, int]) -> dict[str, int]:
    """Return times by name, without source and sink."""
    return {each.name: time for each, time in times.items() if each.is_op}


# a (5) --> b (20) ----------> d
#   \\----> c (2) | other device |
DIAMOND = """
a = TestSource
b = TestRelu(a)
c = TestRelu(a) @B
d = TestAdd(b, c)
"""


def test_a_node_starts_when_its_last_input_is_there() -> None:
    """A copy between devices adds its time."""
    graph = graph_of(DIAMOND)
    analysis = SlackAnalysis(graph, costs(graph, a=5, b=20, c=2, d=1))
    assert named(analysis.asap()) == {"a": 0, "b": 5, "c": 5 + COPY_TIME_US, "d": 27}


def test_a_node_may_start_late_where_others_take_longer() -> None:
    """The longest path goes over the other device."""
    graph = graph_of(DIAMOND)
    analysis = SlackAnalysis(graph, costs(graph, a=5, b=20, c=2, d=1))
    assert named(analysis.alap()) == {"a": -28, "b": -21, "c": -13, "d": -1}
    assert named(analysis.slack()) == {"a": 0, "b": 2, "c": 0, "d": 0}


def test_without_a_cost_model_each_node_takes_a_microsecond() -> None:
    """Control edges count, and copies of data only."""
    graph = graph_of("a = TestSource\nb = TestSource(^a) @B\nc = TestSource(^b)")
    assert named(SlackAnalysis(graph).asap()) == {"a": 0, "b": 1, "c": 2}


def test_a_loop_counts_once() -> None:
    """The edge from NextIteration is ignored."""
    times = SlackAnalysis(graph_of(LOOP)).asap()
    for each, time in times.items():
        for edge in each.in_edges:
            assert edge.src.is_next_iteration or times[edge.src] <= time
    assert min(SlackAnalysis(graph_of(LOOP)).slack().values()) == 0
