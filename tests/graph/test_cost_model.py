"""Costs of nodes: counts, times, sizes, and estimates."""

from __future__ import annotations

import tfnb.ops.control.control_flow_ops  # noqa: F401 - registers NoOp
from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.graph.cost_model import (
    CostModel,
    computation_time_estimate,
    copy_time_estimate,
)
from tfnb.graph.graph import Graph


def model_with_counts(*counts):
    """A model whose nodes ran this often, 10 microseconds each time."""
    graph = Graph()
    model = CostModel(graph)
    nodes = [graph.add_node(f"n{i}", "NoOp", {}) for i in range(len(counts))]
    for node, count in zip(nodes, counts):
        for _ in range(count):
            model.record_execution(node, 10)
            model.record_output(node, 0, 100, TensorShape([25]), dtypes.float32, 7)
    return model, nodes


def test_the_largest_output_is_remembered():
    """Shape, dtype and buffer are stored; without a record the value is -1."""
    model, (node,) = model_with_counts(1)
    model.record_output(node, 0, 400, TensorShape([100]), dtypes.float32, 8)
    model.record_output(node, 0, 200, TensorShape([50]), dtypes.float32, 9)
    assert (model.max_memory_size(node, 0), model.allocation_id(node, 0)) == (400, 8)
    assert model.max_memory_shape(node, 0).as_list() == [100]
    assert model.max_memory_type(node, 0) is dtypes.float32
    assert (model.max_memory_size(node, 1), model.allocation_id(node, 1)) == (-1, -1)


def test_estimates_are_totals_by_count():
    """Bytes and microseconds per run."""
    model, (node,) = model_with_counts(4)
    assert (model.size_estimate(node, 0), model.time_estimate(node)) == (100, 10)
    assert (model.total_count(node), model.max_execution_time(node)) == (4, 10)


def test_a_time_estimate_is_at_least_one_microsecond():
    """Also of a node that never ran."""
    graph = Graph()
    node = graph.add_node("n", "NoOp", {})
    assert CostModel(graph).time_estimate(node) == 1


def test_nodes_rarer_than_half_the_median_are_left_out():
    """Counts 10, 10, 2: the last one is suppressed."""
    model, nodes = model_with_counts(10, 10, 2)
    model.suppress_infrequent()
    assert [model.size_estimate(node, 0) for node in nodes] == [100, 100, 0]
    assert [model.time_estimate(node) for node in nodes] == [10, 10, 1]


def test_a_copy_takes_its_bytes_by_the_rate_and_the_latency():
    """32 MB at 8 Gbit/s with 10 ms latency take 42 ms; other rates are checked, too."""
    assert copy_time_estimate(32_000_000, 10.0, 8.0) == 42_000
    assert copy_time_estimate(32_000_000, 10.0, 80.0) == 13_200
    assert copy_time_estimate(32_000_000, 10.0, 800.0) == 10_320
    assert copy_time_estimate(0, 2.5, 8.0) == 2_500


def test_a_microsecond_holds_a_thousand_operations():
    """Fewer than a thousand operations take no whole microsecond."""
    assert computation_time_estimate(32_000_000) == 32_000
    assert computation_time_estimate(999) == 0
