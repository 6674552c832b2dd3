"""The graphs into which a signature was cut, one lane per device, with the transfers between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core.process.collector_pause import without_collector
from tfnb.notebook.kernel.shell import TextPicture, current_shell, is_notebook
from tfnb.notebook.pictures.summary_svg import duration_text
from tfnb.notebook.scenes.attr_text import device_label, one_line
from tfnb.notebook.scenes.graph_scene import describe_partitions
from tfnb.notebook.scenes.node_notes import folded_note
from tfnb.notebook.scenes.scene import build_scene
from tfnb.notebook.scenes.scene_svg import scene_svg
from tfnb.notebook.steps.run_costs import costs_by_name, latest_record, with_costs
from tfnb.notebook.steps.view_group import view_group
from tfnb.notebook.views.graph import HEIGHT
from tfnb.notebook.views.targets import find_signature

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.client.session.session import BaseSession
    from tfnb.core.step_events import PartitionedGraph
    from tfnb.notebook.scenes.scene import Scene
    from tfnb.notebook.steps.run_record import RunRecord
    from tfnb.notebook.views.targets import SignatureViews
    from tfnb.notebook.views.widget import SceneWidget

_MAX_TRANSFERS = 40


def partitions(
    fetch: Any = None,
    *,
    session: BaseSession | None = None,
    height: int = HEIGHT,
    namespace: Mapping[str, Any] | None = None,
) -> SceneWidget | TextPicture:
    """Show the last run's partitions, or those of a fetch, as lanes.

    Args:
      fetch: a Tensor, an Operation, a list of these or a name; by default the last run.
      session: the session of the partitions; by default the default session.
      height: height of the drawing, in CSS pixels.
      namespace: variables by name, which a text may also refer to.

    Raises:
      TargetError: nothing ran yet, or there is no such fetch.
    """
    views = find_signature(fetch, namespace, session)
    if not is_notebook(current_shell()):
        text = partitions_text(views.partitioned, latest_record(views.session.graph))
        note = folded_note(views.placed, views.partitioned)
        return TextPicture(f"{text}\n{note}" if note else text)
    return partitions_widget(views, height)


def partitions_widget(views: SignatureViews, height: int) -> SceneWidget:
    """Return the widget of a signature's partitions."""
    from tfnb.notebook.views.widget import SceneWidget

    scene = partitions_scene(views)
    return SceneWidget(
        scene,
        view="partitions",
        colour_by="device",
        height=height,
        group=view_group(views.session.graph),
        picture=lambda: scene_svg(scene),
    )


def partitions_scene(views: SignatureViews) -> Scene:
    """Return a signature's partitions as lanes, with the costs of the last recorded step."""
    with without_collector(sum(len(one.node_names) for one in views.partitioned.partitions)):
        described = describe_partitions(views.partitioned, views.placed, views.session.graph)
        nodes = with_costs(described.nodes, latest_record(views.session.graph))
        return build_scene(
            nodes,
            title="partitions",
            partitions=described.devices,
            in_lanes=True,
            note=folded_note(views.placed, views.partitioned),
        )


def partitions_text(partitioned: PartitionedGraph, record: RunRecord | None = None) -> str:
    """Return the partitions and the tensors that pass between them, as text.

    Args:
      partitioned: the partitions.
      record: a recorded step of it, for the bytes that were sent and the time they took.
    """
    lines = []
    costs = {} if record is None else costs_by_name(record)
    senders: dict[str, tuple[str, str]] = {}
    receivers: list[tuple[str, str, str]] = []
    for view in partitioned.partitions:
        lines.append(f"{device_label(view.device)}: {len(view.node_names):,} nodes")
        for node_id, edge in view.send_recv:
            name = view.node_names[node_id]
            if view.node_ops[node_id].endswith("Send"):
                senders[edge] = (device_label(view.device), name)
            else:
                receivers.append((edge, device_label(view.device), name))
    for edge, device, receiver in receivers[:_MAX_TRANSFERS]:
        source = senders.get(edge, ("?", ""))[0]
        cost = costs.get(receiver)
        said = ""
        if cost is not None and cost.runs:
            said = f"  {cost.moved_bytes:,.0f} bytes, waited {duration_text(cost.waited_ns)}"
        lines.append(f"  {source} → {device}  {one_line(edge)}{said}")
    if len(receivers) > _MAX_TRANSFERS:
        lines.append(f"  … {len(receivers) - _MAX_TRANSFERS:,} more transfers")
    return "\n".join(lines)
