"""Where a server would place and cut the graph of a signature, computed by the client.

A server reports its partitions only with a step that ran.  Views before that, and views of a step
that still runs, show what tfnb's own master does with the devices of the server: the same code.
The first traced step replaces the plan by the server's own graphs.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tfnb.common_runtime.executor.session_views import placed_view
from tfnb.common_runtime.optimizer.optimization_registry import OptimizationReports
from tfnb.common_runtime.session.graph_execution_state import GraphExecutionState
from tfnb.core.step_events import PlacedGraph, PlacementView
from tfnb.distributed_runtime.graph_mgr import turn_into_arguments
from tfnb.distributed_runtime.master_plans import MasterDeviceMgr, cut_by_device, device_of
from tfnb.distributed_runtime.partition_views import partitioned_step
from tfnb.distributed_runtime.rendezvous_mgr import task_of
from tfnb.graph.graph_constructor import graph_to_graph_def

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.plain_graph_def import type_of_graph_def
    from tfnb.distributed_runtime.partition_views import PartitionedStep
    from tfnb.proto import config_pb2, device_attributes_pb2

type_of_names = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


class StepPlanner:
    """Places and cuts the signatures of one session.

    Args:
      config: the session's.
      devices: those that the session sees, the master's first.
    """

    def __init__(
        self,
        config: config_pb2.ConfigProto,
        devices: Sequence[device_attributes_pb2.DeviceAttributes],
    ) -> None:
        self._device_mgr = MasterDeviceMgr(
            [device_of(one) for one in devices], task_of(devices[0].name)
        )
        self._incarnations = {device.name: device.incarnation for device in devices}
        self._state = GraphExecutionState(self._device_mgr, config)
        self._edge_names = itertools.count()

    def extend(self, graph_def: type_of_graph_def) -> None:
        """Take nodes that were sent to the server."""
        self._state.extend(graph_def)

    def plan(
        self,
        signature_id: int,
        names: type_of_names,
        connections: Sequence[tuple[str, str]] = (),
    ) -> tuple[PlacedGraph, PartitionedStep]:
        """Return the placement of a signature and its graphs by device.

        Args:
          signature_id: its number for observers.
          names: feeds, fetches and targets.
          connections: tensors that take the place of others; see :func:`cut_by_device`.

        Raises:
          OpError: a name or a device does not fit the graph.
        """
        client_graph, parts = cut_by_device(
            self._state, self._device_mgr, self._incarnations, self._edge_names, names, connections
        )
        placed = placed_view(signature_id, client_graph, OptimizationReports(client_graph.reports))
        for graph in parts.values():
            turn_into_arguments(graph)
        graph_defs = [graph_to_graph_def(graph) for graph in parts.values()]
        return placed, partitioned_step(signature_id, graph_defs, names)


def placed_by_server(planned: PlacedGraph | None, step: PartitionedStep) -> PlacedGraph:
    """Return the placement that a server's graphs show, with the reasons of the plan where it fits.

    Args:
      planned: the plan; None: there is none.
      step: the server's graphs.
    """
    reasons = {} if planned is None else {view.node: view for view in planned.placements}
    found: list[PlacementView] = []
    for view in step.views.partitions:
        for name, op in zip(view.node_names, view.node_ops):
            known = reasons.get(name)
            if known is not None and known.chosen == view.device:
                found.append(known)
            else:
                requested = "" if known is None else known.requested
                why = "was placed by the server"
                found.append(PlacementView(name, op, requested, (), view.device, why))
    return PlacedGraph(step.views.signature_id, tuple(found))
