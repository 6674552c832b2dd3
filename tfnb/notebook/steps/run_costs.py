"""The cost of each node in a recorded step, and the step of a graph that was recorded last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.array_module import as_places
from tfnb.notebook.scenes.scene import RecordedCost
from tfnb.notebook.steps.step_tape import DONE, RECEIVED, SENT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.framework.graph import Graph
    from tfnb.notebook.scenes.scene import SceneNode
    from tfnb.notebook.steps.run_record import RunRecord

_LATEST = "latest record"  # the key of the record in a graph


def remember(graph: Graph, record: RunRecord) -> None:
    """Make a record the latest of its graph."""
    graph.kept[_LATEST] = record


def latest_record(graph: Graph | None) -> RunRecord | None:
    """Return the step of a graph that was recorded last."""
    return None if graph is None else graph.kept.get(_LATEST)


def node_costs(record: RunRecord) -> list[RecordedCost]:
    """Return the cost of each node of the record's scene."""
    count = len(record.scene.nodes)
    tensors = record.tensors
    peak_ns, _ = tensors.peak()
    held = np.zeros(count)
    live = tensors.live_at(peak_ns)
    np.add.at(held, tensors.node[live], tensors.num_bytes[live])
    made = np.bincount(as_places(tensors.node), tensors.num_bytes, minlength=count)
    is_later = np.zeros(count, bool)
    is_later[tensors.node[tensors.made_ns > peak_ns]] = True
    has_made = np.bincount(as_places(tensors.node), minlength=count) > 0
    moved, waited = np.zeros(count), np.zeros(count)
    transfers = (record.kind == SENT) | (record.kind == RECEIVED)
    np.add.at(moved, record.node[transfers], record.iteration[transfers])
    pooled = set(map(tuple, record.elsewhere[:, :3].tolist()))
    for _, node, frame, iteration, begin, end in record.executions(waits=True):
        if (node, frame, iteration) not in pooled:
            waited[node] += end - begin
    runs = np.bincount(as_places(record.node[record.kind == DONE]), minlength=count)
    times = record.node_times_ns()
    return [
        RecordedCost(
            int(runs[i]),
            float(times[i]),
            float(made[i]),
            float(held[i]),
            float(moved[i]),
            float(waited[i]),
            "" if not has_made[i] else "live" if held[i] else "later" if is_later[i] else "freed",
        )
        for i in range(count)
    ]


def costs_by_name(record: RunRecord) -> dict[str, RecordedCost]:
    """Return the costs by name; for a name on several devices, those of the node that ran most."""
    found: dict[str, RecordedCost] = {}
    for node, cost in zip(record.scene.nodes, node_costs(record)):
        before = found.get(node.name)
        if before is None or before.ns < cost.ns:
            found[node.name] = cost
    return found


def with_costs(nodes: Sequence[SceneNode], record: RunRecord | None) -> list[SceneNode]:
    """Return the nodes with their costs in a recorded step, for those that it has by name."""
    if record is None:
        return list(nodes)
    by_place = {
        (node.partition, node.name): cost
        for node, cost in zip(record.scene.nodes, node_costs(record))
    }
    costs: Mapping[str, RecordedCost] = costs_by_name(record)
    return [
        node._replace(cost=by_place.get((node.partition, node.name)) or costs.get(node.name))
        for node in nodes
    ]
