"""Cost models of a session: one per partition graph, fed by step stats."""

from __future__ import annotations

import numpy as np

from tests.common_runtime.graph_defs import binary, const, placeholder, session
from tfnb.common_runtime.looking.cost_model_manager import CostModelManager
from tfnb.graph.graph import Graph
from tfnb.proto import config_pb2, step_stats_pb2

GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


def stats_of(**devices):
    """Return StepStats of device=[(node, microseconds), ...]; device names are keywords."""
    stats = step_stats_pb2.StepStats()
    for name, nodes in devices.items():
        device = stats.dev_stats.add(device=name)
        for node, time_us in nodes:
            device.node_stats.add(node_name=node, op_end_rel_micros=time_us)
    return stats


def graph_of(*names):
    """A graph of NoOps."""
    graph = Graph()
    for name in names:
        graph.add_node(name, "NoOp", {})
    return graph


def times(manager, graph):
    """Node -> microseconds in the graph's model."""
    model = manager.find_or_create(graph)
    return {node.name: model.max_execution_time(node) for node in graph.op_nodes()}


def test_each_partition_graph_has_a_model_of_its_own():
    """Two devices have two models with the nodes of their own graphs."""
    config = config_pb2.ConfigProto(device_count={"CPU": 2})
    config.graph_options.build_cost_model = 1
    native = session(
        placeholder("p"),
        const("one", 1.0),
        binary("a", "Add", "p", "one", device="/cpu:0"),
        binary("b", "Mul", "a", "a", device="/cpu:1"),
        config=config,
    )
    for _ in range(3):
        native.run({"p:0": np.ones((2, 3), np.float32)}, ["b:0"], [])
    models = native.export_cost_models()
    assert len(models) == 2
    assert [model.update_times for model in models.values()] == [3, 3]
    for name in ("a", "b"):
        ((node, model),) = [
            (graph.find_node(name), model)
            for graph, model in models.items()
            if graph.find_node(name) is not None
        ]
        assert model.max_memory_size(node, 0) == 24
        assert model.max_memory_shape(node, 0).as_list() == [2, 3]


def test_hardware_times_replace_those_of_the_host():
    """The trace of all streams of GPU 0 is used; kernels of one node are added."""
    graph, manager = graph_of("conv", "relu"), CostModelManager()
    stats = stats_of(
        **{
            GPU: [("conv", 5), ("relu", 6)],
            "/device:GPU:0/stream:all": [("conv:Conv2D", 100), ("conv:Conv2D", 20)],
            "/device:GPU:1/stream:all": [("relu:Relu", 999)],
        }
    )
    manager.build(stats, {GPU: graph})
    assert times(manager, graph) == {"conv": 120, "relu": 6}


def test_hardware_traces_are_found_by_old_names():
    """`gpu:0/stream:all` without the word device is accepted; other streams are ignored."""
    graph, manager = graph_of("conv"), CostModelManager()
    stats = stats_of(
        **{
            "/job:localhost/replica:0/task:0/gpu:0/stream:all": [("conv", 7)],
            "/job:localhost/replica:0/task:0/gpu:0/stream:13": [("conv", 700)],
            GPU: [("conv", 1)],
        }
    )
    manager.build(stats, {GPU: graph})
    assert times(manager, graph) == {"conv": 7}


def test_devices_without_stats_keep_their_models():
    """Nodes of no graph are ignored."""
    graph, idle, manager = graph_of("a"), graph_of("b"), CostModelManager()
    manager.build(stats_of(A=[("a", 3), ("unheard_of", 4)]), {"A": graph, "B": idle})
    assert manager.find_or_create(graph).update_times == 1
    assert manager.find_or_create(idle).update_times == 0
    assert times(manager, graph) == {"a": 3}


def test_memory_that_nodes_keep_and_borrow_is_in_the_cost_graph():
    """The figures are those of the last run."""
    graph, manager = graph_of("a"), CostModelManager()
    stats = stats_of(A=[("a", 3)])
    memory = stats.dev_stats[0].node_stats[0].memory_stats
    memory.temp_memory_size, memory.persistent_memory_size = 40, 50
    manager.build(stats, {"A": graph})
    cost_graph = step_stats_pb2.CostGraphDef()
    manager.add_to_cost_graph_def(graph, cost_graph)
    (row,) = [row for row in cost_graph.node if row.name == "a"]
    assert (row.temporary_memory_size, row.persistent_memory_size) == (40, 50)
    assert [row.id for row in cost_graph.node] == [0, 1, 2]
