"""The session's graph: created, extended, placed, and pruned to what a run needs.

The full graph only grows.  The *base graph* has its functional nodes lowered: it is the full graph
itself until there is a functional node, then a copy that grows with it.  Its nodes are placed when
first needed, all at once, so that a node that fits on no device is found even if this run does not
need it.  Only the nodes that a run needs are lowered and placed with ``place_pruned_graph``, and
where a node that fits on no device was added after the session has run.  A placement, once made, is
final.  Corresponds to TensorFlow's ``graph_execution_state.cc``.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from tfnb.common_runtime.executor.session_views import Placements
from tfnb.common_runtime.functions.lower_functional_ops import (
    FUNCTIONAL_OPS,
    PHASE,
    LowerFunctionalOps,
    check_new_nodes,
    lower_new_nodes,
)
from tfnb.common_runtime.optimizer.model_pruner import unneeded_report
from tfnb.common_runtime.optimizer.optimization_registry import (
    REGISTRY,
    Grouping,
    OptimizationPassOptions,
    PassReport,
)
from tfnb.common_runtime.placement.placer import PlacementReason, Placer
from tfnb.core import errors
from tfnb.core.process.records import field, record
from tfnb.core.versions import GRAPH_DEF_VERSION
from tfnb.graph import subgraph
from tfnb.graph.function_library import FunctionLibraryDefinition
from tfnb.graph.graph import SINK_ID
from tfnb.graph.graph_constructor import graph_from_graph_def

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.common_runtime.device.device_mgr import DeviceMgr
    from tfnb.common_runtime.optimizer.optimization_registry import type_of_on_pass
    from tfnb.core.dtypes import DType
    from tfnb.core.plain_graph_def import type_of_graph_def
    from tfnb.graph.graph import Graph
    from tfnb.proto import config_pb2


@record(slots=True)
class ClientGraph:
    """A signature's graph: pruned, rewritten for its feeds and fetches, placed.

    Attributes:
      graph: the graph, which passes and partitioning still change.
      feed_types: the dtype of each feed.
      fetch_types: the dtype of each fetch.
      placements: where the placer put each node, and why, before passes changed the graph.
      reports: the reports of the passes.
    """

    graph: Graph
    feed_types: list[DType]
    fetch_types: list[DType]
    placements: Placements = field(default_factory=Placements)
    reports: list[PassReport] = field(default_factory=list)


class GraphExecutionState:
    """The growing graph of one session; thread safe."""

    def __init__(self, device_mgr: DeviceMgr, config: config_pb2.ConfigProto) -> None:
        self._device_mgr = device_mgr
        self._config = config
        self._lock = threading.RLock()
        self._graph: Graph | None = None  # guarded by self._lock
        self._base: Graph | None = None  # guarded by self._lock
        self._num_in_base = 0  # node ids below this are in the base graph; guarded by self._lock
        self._base_reports: list[PassReport] = []  # guarded by self._lock
        # Nodes of the base graph with the name and outputs of a functional node that was lowered.
        self._stand_ins: frozenset[str] = frozenset()  # guarded by self._lock
        self._num_placed = 0  # base node ids below this have a device; guarded by self._lock
        self._placer: Placer | None = None  # for the base graph; guarded by self._lock
        self._stateful_placements: dict[str, str] = {}  # guarded by self._lock

    @property
    def graph(self) -> Graph | None:
        """The full graph, or None before the first node."""
        return self._graph

    @property
    def library(self) -> FunctionLibraryDefinition | None:
        """The functions of the session's graph, and those that passes added."""
        return None if self._graph is None else self._graph.library

    @property
    def graph_def_version(self) -> int:
        """The version of the writer of the session's graph."""
        graph = self._graph
        return GRAPH_DEF_VERSION if graph is None else graph.versions.producer

    def extend(self, graph_def: type_of_graph_def) -> None:
        """Add nodes; the state is unchanged if any of them is rejected.

        Raises:
          InvalidArgumentError: a node is malformed, already in the graph, or of another version, or
            calls an unknown function.
        """
        with self._lock:
            check = None if self._config.graph_options.place_pruned_graph else self._check
            self._graph = graph_from_graph_def(graph_def, base=self._graph, check=check)

    def _check(self, graph: Graph, first_id: int) -> None:
        check_new_nodes(graph, self._config, first_id)

    def keep_placement(self, former: GraphExecutionState) -> None:
        """Place stateful nodes on the devices where another state has placed them."""
        old = former._base or former._graph
        assert self._graph is not None
        for node in self._graph.op_nodes():
            before = None if old is None else old.find_node(node.name)
            if before is None or before.op != node.op or not node.is_stateful:
                continue
            if before.requested_device == node.requested_device:
                node.assigned_device = before.assigned_device
                device = former._stateful_placements.get(node.name)
                if device is not None:
                    self._stateful_placements[node.name] = device

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
        on_pass: type_of_on_pass | None = None,
    ) -> ClientGraph:
        """Return the graph that one signature runs; ``on_pass`` is called after every pass.

        Raises:
          InvalidArgumentError, NotFoundError: a feed, fetch or target does not fit the graph, or a
            node fits on no device.
        """
        with self._lock:
            if self._graph is None:
                raise errors.invalid_argument("Session was not created with a graph before Run()!")
            pruned = self._config.graph_options.place_pruned_graph
            base = self._graph
            if not pruned:
                try:
                    base = self._grown_base()
                    self._place_new_nodes(base)
                except errors.OpError:
                    # A new node fits on no device. As in TensorFlow this fails a session's first
                    # run; a session that has run places only the nodes that a run needs.
                    if not self._num_placed:
                        raise
                    base, pruned = self._graph, True
            rewritten = subgraph.rewrite_graph_for_execution(
                base,
                feeds,
                fetches,
                targets,
                self._device_mgr.host.name,
                use_function_convention,
                connections=connections,
                feed_devices=feed_devices,
                fetch_devices=fetch_devices,
                stand_ins=frozenset() if pruned else self._stand_ins,
            )
            graph = rewritten.graph
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
                on_pass=on_pass,
            )
            reports = [] if pruned else list(self._base_reports)
            unneeded = unneeded_report(base, graph, feeds)
            pruning = PassReport(Grouping.PRE_PLACEMENT, 0, "pruning", tuple(unneeded))
            if unneeded:
                reports.append(pruning)
            if on_pass is not None:
                on_pass(PassReport(Grouping.PRE_PLACEMENT, 0, "graph", ()), self._graph)
                for report in () if pruned else self._base_reports:
                    on_pass(report, base)
                on_pass(pruning, graph)
            reports += REGISTRY.run_grouping(Grouping.PRE_PLACEMENT, options)
            if pruned:
                self._keep_stateful(graph)
            reasons: Mapping[str, PlacementReason] = {}
            earlier = {} if pruned or self._placer is None else self._placer.reasons
            if any(not node.assigned_device for node in graph.op_nodes()):
                placer = self._new_placer(graph)
                placer.run()
                reasons = placer.reasons
            placements = Placements.of(graph.op_nodes(), earlier, reasons)
            reports += REGISTRY.run_grouping(Grouping.POST_PLACEMENT, options)
            reports += REGISTRY.run_grouping(Grouping.POST_REWRITE_FOR_EXEC, options)
            if self._graph.library is None:
                graph.library = self._graph.library = library if len(library) else None
            if pruned:
                self._remember_stateful(graph)
            return ClientGraph(
                graph, list(rewritten.feed_types), list(rewritten.fetch_types), placements, reports
            )

    def _grown_base(self) -> Graph:
        """Return the base graph, extended by the new nodes of the full graph."""
        full, base = self._graph, self._base
        assert full is not None
        first_new, num_nodes = self._num_in_base, full.num_node_ids
        if base is not None and first_new == num_nodes:
            return base
        if base is None or base is full:
            if not _is_functional(full, first_new):
                self._base, self._num_in_base = full, num_nodes
                return full
            # From here on base and full graph differ. Old nodes keep their devices.
            self._lower(full.copy(), first_new)
        else:
            first_id = base.num_node_ids
            base.library, base.versions = full.library, full.versions
            try:
                _copy_new_nodes(full, first_new, base)
            except errors.AlreadyExistsError:
                # A new node has the name of one that a pass made: lower everything again, with new
                # names.
                self._lower(_with_devices_of(base, full.copy()), 0)
            else:
                self._lower(base, first_id)
        assert self._base is not None
        self._num_in_base = num_nodes
        return self._base

    def _lower(self, base: Graph, first_id: int) -> None:
        """Lower functional nodes among the new ones; the result is the base graph."""
        full, old = self._graph, self._base
        assert full is not None
        self._base = None  # if this is interrupted, the next call starts again
        num_before, self._num_in_base = self._num_in_base, 0
        reports = []
        actions = lower_new_nodes(base, self._config, first_id)
        if actions:
            reports = [PassReport(Grouping.PRE_PLACEMENT, PHASE, LowerFunctionalOps.name, actions)]
        if base is not old:
            reasons = {} if self._placer is None else self._placer.reasons
            self._placer, self._num_placed = self._new_placer(base), min(num_before, first_id)
            self._placer.reasons.update(reasons)
            self._base_reports = []
        self._base_reports = self._base_reports + reports
        self._stand_ins = frozenset(
            node.name
            for node in full.op_nodes()
            if (found := base.find_node(node.name)) is not None and found.op != node.op
        )
        self._base = base

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

    def _keep_stateful(self, graph: Graph) -> None:
        """Place the stateful nodes of a pruned graph where their state is."""
        for node in graph.op_nodes():
            device = self._stateful_placements.get(node.name)
            if device is None and node.is_stateful and self._base is not None:
                placed = self._base.find_node(node.name)
                device = placed.assigned_device if placed is not None else None
            if device:
                node.assigned_device = device

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


def _is_functional(graph: Graph, first_id: int) -> bool:
    """Return whether a node with an id from ``first_id`` on calls a function."""
    library = graph.library
    if library is None or not len(library):
        return False
    return any(
        node is not None and (node.op in FUNCTIONAL_OPS or node.op in library)
        for node in graph.nodes[max(first_id, SINK_ID + 1) :]
    )


def _copy_new_nodes(full: Graph, first_new: int, base: Graph) -> None:
    """Add the nodes of ``full`` from ``first_new`` on to ``base``; all or none.

    Raises:
      AlreadyExistsError: ``base`` has another node of that name.
    """
    first_node, first_edge = base.num_node_ids, base.num_edge_ids
    try:
        new = [node for node in full.nodes[first_new:] if node is not None]
        for node in new:
            base.copy_node(node)
        for node in new:
            copy = base.find_node(node.name)
            assert copy is not None
            for edge in node.in_edges:
                src = base.find_node(edge.src.name)
                assert src is not None
                base.add_edge(src, edge.src_output, copy, edge.dst_input)
        base.fixup_source_and_sink_edges(first_node)
    except BaseException:  # an interrupt too
        base.truncate(first_node, first_edge)
        raise


def _with_devices_of(old: Graph, graph: Graph) -> Graph:
    """Return the graph with its stateful nodes placed as in an older one, where their state is."""
    for node in graph.op_nodes():
        before = old.find_node(node.name)
        if before is not None and before.op == node.op and node.is_stateful:
            node.assigned_device = before.assigned_device
    return graph
