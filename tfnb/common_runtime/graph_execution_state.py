"""The session's graph: what was created and extended, placed, and cut down to what a run needs.

The full graph only grows.  Its nodes are placed when first needed, all of them, so that a node that
fits nowhere is found even if this run does not need it; with ``place_pruned_graph`` only what the
run needs is placed. A placement, once made, stays.  Corresponds to TensorFlow's
``graph_execution_state.cc``.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tfnb.common_runtime.model_pruner import unneeded_report
from tfnb.common_runtime.optimization_registry import (
    REGISTRY,
    Grouping,
    OptimizationPassOptions,
    PassReport,
)
from tfnb.common_runtime.placer import PlacementReason, Placer
from tfnb.core import errors
from tfnb.core.step_events import PlacementView
from tfnb.graph import subgraph
from tfnb.graph.function_library import FunctionLibraryDefinition
from tfnb.graph.graph_constructor import graph_from_graph_def

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.common_runtime.device_mgr import DeviceMgr
    from tfnb.core.dtypes import DType
    from tfnb.graph.graph import Graph, Node
    from tfnb.proto import config_pb2, graph_pb2


@dataclass(slots=True)
class ClientGraph:
    """A signature's graph: pruned, rewritten for its feeds and fetches, placed.

    Attributes:
      graph: what passes and partitioning still change.
      feed_types: the dtype of each feed.
      fetch_types: the dtype of each fetch.
      placements: where the placer put each node, and why, before anybody changed the graph.
      reports: what passes did.
    """

    graph: Graph
    feed_types: list[DType]
    fetch_types: list[DType]
    placements: dict[str, PlacementView]
    reports: list[PassReport] = field(default_factory=list)


class GraphExecutionState:
    """The growing graph of one session; thread safe."""

    def __init__(self, device_mgr: DeviceMgr, config: config_pb2.ConfigProto) -> None:
        self._device_mgr = device_mgr
        self._config = config
        self._lock = threading.RLock()
        self._graph: Graph | None = None  # guarded by self._lock
        self._num_placed = 0  # node ids below this have a device; guarded by self._lock
        self._placer: Placer | None = None  # of the full graph; guarded by self._lock
        self._stateful_placements: dict[str, str] = {}  # guarded by self._lock

    @property
    def graph(self) -> Graph | None:
        """Everything the session was given, or None before the first node."""
        return self._graph

    @property
    def library(self) -> FunctionLibraryDefinition | None:
        """The functions of the session's graph, and those that passes added."""
        return None if self._graph is None else self._graph.library

    def extend(self, graph_def: graph_pb2.GraphDef) -> None:
        """Adds nodes; the state is unchanged if any of them is refused.

        Raises:
          InvalidArgumentError: a node is malformed, known already, or of another version.
        """
        with self._lock:
            self._graph = graph_from_graph_def(graph_def, base=self._graph)

    def build_graph(
        self,
        feeds: Sequence[str],
        fetches: Sequence[str],
        targets: Sequence[str],
        *,
        use_function_convention: bool = True,
        connections: Sequence[tuple[str, str]] = (),
        feed_devices: Sequence[str] = (),
        fetch_devices: Sequence[str] = (),
    ) -> ClientGraph:
        """The graph that one signature runs.

        Raises:
          InvalidArgumentError, NotFoundError: a feed, fetch or target does not fit, or a node has
          no place.
        """
        with self._lock:
            if self._graph is None:
                raise errors.invalid_argument("Session was not created with a graph before Run()!")
            pruned = self._config.graph_options.place_pruned_graph
            if not pruned:
                self._place_new_nodes(self._graph)
            rewritten = subgraph.rewrite_graph_for_execution(
                self._graph,
                feeds,
                fetches,
                targets,
                self._device_mgr.host.name,
                use_function_convention,
                connections=connections,
                feed_devices=feed_devices,
                fetch_devices=fetch_devices,
            )
            graph = rewritten.graph
            if pruned:
                for node in graph.op_nodes():
                    device = self._stateful_placements.get(node.name)
                    if device is not None:
                        node.assigned_device = device
            library = graph.library
            if library is None:
                library = graph.library = FunctionLibraryDefinition()
            options = OptimizationPassOptions(
                graph,
                self._config,
                self._device_mgr.devices,
                library=library,
                targets=frozenset(targets),
                is_partial_run=not use_function_convention,
            )
            unneeded = unneeded_report(self._graph, graph, feeds)
            reports = [PassReport(Grouping.PRE_PLACEMENT, 0, "pruning", tuple(unneeded))]
            reports = reports if unneeded else []
            reports += REGISTRY.run_grouping(Grouping.PRE_PLACEMENT, options)
            reasons: dict[str, PlacementReason] = {}
            if any(not node.assigned_device for node in graph.op_nodes()):
                placer = self._new_placer(graph)
                placer.run()
                reasons = placer.reasons
            if not pruned and self._placer is not None:
                reasons = {**reasons, **_of(graph, self._placer.reasons)}
            placements = {
                node.name: _view(node, reasons.get(node.name)) for node in graph.op_nodes()
            }
            reports += REGISTRY.run_grouping(Grouping.POST_PLACEMENT, options)
            reports += REGISTRY.run_grouping(Grouping.POST_REWRITE_FOR_EXEC, options)
            if self._graph.library is None:
                graph.library = self._graph.library = library if len(library) else None
            if pruned:
                self._remember_stateful(graph)
            return ClientGraph(
                graph, list(rewritten.feed_types), list(rewritten.fetch_types), placements, reports
            )

    def _place_new_nodes(self, graph: Graph) -> None:
        if self._placer is None:
            self._placer = self._new_placer(graph)
        if self._num_placed < graph.num_node_ids:
            self._placer.run(self._num_placed)
            self._num_placed = graph.num_node_ids

    def _new_placer(self, graph: Graph) -> Placer:
        return Placer(
            graph,
            self._device_mgr.devices,
            allow_soft_placement=self._config.allow_soft_placement,
            log_device_placement=self._config.log_device_placement,
        )

    def _remember_stateful(self, graph: Graph) -> None:
        for node in graph.op_nodes():
            if not node.is_stateful:
                continue
            before = self._stateful_placements.setdefault(node.name, node.assigned_device)
            if before != node.assigned_device:
                raise errors.internal(
                    f"Stateful placement mismatch. Current assignment of {node.name} to "
                    f"{node.assigned_device} does not match {before}"
                )


def _view(node: Node, reason: PlacementReason | None) -> PlacementView:
    allowed: tuple[str, ...] = ()
    why = ""
    if reason is not None:
        allowed, why = reason.allowed, reason.why
    if node.kind.is_arg or node.kind.is_retval or node.is_send or node.is_recv:
        why = (
            "brings a fed value in" if node.is_arg or node.is_recv else "takes a fetched value out"
        )
    return PlacementView(
        node.name, node.op, node.requested_device, allowed, node.assigned_device, why
    )


def _of(graph: Graph, reasons: Mapping[str, PlacementReason]) -> dict[str, PlacementReason]:
    return {node.name: reasons[node.name] for node in graph.op_nodes() if node.name in reasons}
