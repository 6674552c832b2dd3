"""Snapshots of the graph before and after each pass, to show the effect of the pass.

Passes report in words what they did (``optimization_registry.py``); here the graph itself is
recorded after each pass that changed it.  For that, a signature runs through all passes once more:
nothing is prepared, kept or run.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.optimizer.optimization_registry import (
    REGISTRY,
    Grouping,
    OptimizationPassOptions,
    PassReport,
)
from tfnb.core.process.records import record
from tfnb.graph.graph_partition import partition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.common_runtime.device.device_mgr import DeviceMgr
    from tfnb.common_runtime.functions.function_library_runtime import FunctionLibraryRuntime
    from tfnb.common_runtime.session.graph_execution_state import GraphExecutionState
    from tfnb.graph.graph import Graph, Node
    from tfnb.proto import config_pb2


@record(slots=True, frozen=True)
class NodeSnapshot:
    """A node as it was at one moment.

    ``inputs`` are (name of the source, its output); control inputs come last, with output -1.
    """

    name: str
    op: str
    device: str
    inputs: tuple[tuple[str, int], ...]
    attrs: Mapping[str, Any]
    output_types: tuple[str, ...]
    original_names: tuple[str, ...] = ()


@record(slots=True, frozen=True)
class PassStage:
    """The effect of one pass on one graph.

    Attributes:
      report: the report of the pass.
      device: the device of the partition; "" before partitioning.
      before: the nodes before the pass; ``after``: the nodes after it.
      function: the function whose body the graph is; "" for the graph of the session.
    """

    report: PassReport
    device: str
    before: tuple[NodeSnapshot, ...]
    after: tuple[NodeSnapshot, ...]
    function: str = ""


class PassTrace:
    """Records the passes of one graph; passes that changed nothing leave no stage.

    Attributes:
      stages: the stages, in order.
    """

    def __init__(self) -> None:
        self.stages: list[PassStage] = []
        self._device = self._function = ""
        self._before: tuple[NodeSnapshot, ...] | None = None

    def begin(self, graph: Graph | None, device: str = "", function: str = "") -> None:
        """Start the trace of a graph; None: the first graph that a pass reports."""
        self._device, self._function = device, function
        self._before = None if graph is None else snapshot(graph)

    def __call__(self, report: PassReport, graph: Graph) -> None:
        """Record a pass that has run."""
        after = snapshot(graph)
        before, self._before = self._before, after
        if before is not None and before != after:
            self.stages.append(PassStage(report, self._device, before, after, self._function))


def snapshot(graph: Graph) -> tuple[NodeSnapshot, ...]:
    """Return all nodes of a graph in their current state."""
    return tuple(_snapshot_of(node) for node in graph.op_nodes())


def _snapshot_of(node: Node) -> NodeSnapshot:
    data = sorted(
        (edge.dst_input, edge.src.name, edge.src_output)
        for edge in node.in_edges
        if not edge.is_control
    )
    controls = sorted(edge.src.name for edge in node.in_edges if edge.is_control and edge.src.is_op)
    return NodeSnapshot(
        node.name,
        node.op,
        node.assigned_device or node.requested_device,
        (*((name, output) for _, name, output in data), *((name, -1) for name in controls)),
        dict(node.attrs),
        tuple(dtype.name for dtype in node.output_types),
        node.original_names,
    )


def trace_passes(
    state: GraphExecutionState,
    device_mgr: DeviceMgr,
    config: config_pb2.ConfigProto,
    signature: tuple[Sequence[str], Sequence[str], Sequence[str]],
    functions: FunctionLibraryRuntime,
) -> list[PassStage]:
    """Run a signature (feeds, fetch, targets) through all passes and record each.

    The bodies of functions that are still called afterwards follow, one by one.

    Raises:
      InvalidArgumentError, NotFoundError: the graph cannot be pruned, placed or partitioned.
    """
    feeds, fetches, targets = signature
    trace = PassTrace()
    found = state.build_graph(feeds, fetches, targets, on_pass=trace)
    parts = partition(found.graph, device_mgr.devices, itertools.count())
    for device_name, graph in parts.items():
        trace.begin(graph, device_name)
        options = OptimizationPassOptions(
            graph,
            config,
            device_mgr.devices,
            device_mgr.lookup(device_name),
            library=state.library,
            targets=frozenset(targets),
            on_pass=trace,
        )
        REGISTRY.run_grouping(Grouping.POST_PARTITIONING, options)
    functions.trace_calls(
        [(node, device_mgr.lookup(name)) for name, one in parts.items() for node in one.op_nodes()],
        trace,
    )
    return trace.stages
