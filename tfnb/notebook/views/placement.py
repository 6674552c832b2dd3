"""The device of each node of a signature, with the reason."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tfnb.core.process.collector_pause import without_collector
from tfnb.notebook.kernel.shell import TextPicture, current_shell, is_notebook
from tfnb.notebook.pictures.table_svg import placement_svg
from tfnb.notebook.scenes.attr_text import cut_middle, device_label, one_line
from tfnb.notebook.scenes.graph_scene import describe_placement, fed_placements
from tfnb.notebook.scenes.node_notes import folded_note
from tfnb.notebook.scenes.scene import ENDPOINTS, build_scene
from tfnb.notebook.steps.run_costs import latest_record, with_costs
from tfnb.notebook.steps.view_group import view_group
from tfnb.notebook.views.graph import HEIGHT
from tfnb.notebook.views.targets import find_signature

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.client.session.session import BaseSession
    from tfnb.notebook.scenes.scene import Scene
    from tfnb.notebook.views.targets import SignatureViews
    from tfnb.notebook.views.widget import SceneWidget

_MAX_ROWS = 60
_MAX_CELL = 44


def placement(
    fetch: Any = None,
    *,
    session: BaseSession | None = None,
    height: int = HEIGHT,
    namespace: Mapping[str, Any] | None = None,
) -> SceneWidget | TextPicture:
    """Show the devices of the last run's nodes, or of a fetch's, with the placer's reasons.

    Args:
      fetch: a Tensor, an Operation, a list of these or a name; by default the last run.
      session: the session of the placement; by default the default session.
      height: height of the drawing, in CSS pixels.
      namespace: variables by name, which a text may also refer to.

    Raises:
      TargetError: nothing ran yet, or there is no such fetch.
    """
    views = find_signature(fetch, namespace, session)
    if not is_notebook(current_shell()):
        assert views.placed is not None
        return TextPicture(placement_text(views))
    return placement_widget(views, height)


def placement_widget(views: SignatureViews, height: int) -> SceneWidget:
    """Return the widget of a signature's placement."""
    from tfnb.notebook.views.widget import SceneWidget

    scene = placement_scene(views)
    return SceneWidget(
        scene,
        view="placement",
        colour_by="device",
        height=height,
        group=view_group(views.session.graph),
        picture=lambda: placement_svg(scene),
    )


def placement_scene(views: SignatureViews) -> Scene:
    """Return a signature's nodes with their devices, and the costs of the last recorded step."""
    placed = views.placed
    assert placed is not None
    graph = views.session.graph
    with without_collector(len(placed.placements)):
        described = describe_placement(placed, graph, views.partitioned.feeds)
        nodes = with_costs(described, latest_record(graph))
        return build_scene(nodes, title="placement", note=folded_note(placed, views.partitioned))


def placement_text(views: SignatureViews) -> str:
    """Return the placement as a table, followed by the passes.

    Its columns are node, chosen device, op, requested device, and the reason.
    """
    placed = views.placed
    assert placed is not None
    fed = fed_placements(placed, views.session.graph, views.partitioned.feeds)
    rows: list[tuple[str, ...]] = [
        (view.node, device_label(view.chosen) or "none", view.op, view.requested or "any", view.why)
        for view in (*fed, *placed.placements)
        if view.op not in ENDPOINTS
    ]
    counts = Counter(row[1] for row in rows)
    head = ", ".join(f"{device}: {count}" for device, count in sorted(counts.items()))
    lines = [head, *_table(("node", "device", "op", "requested", "why"), rows)]
    note = folded_note(placed, views.partitioned)
    if note:
        lines += ["", note]
    if placed.passes:
        lines += ["", "changed since by passes:", *map(one_line, placed.passes[:_MAX_ROWS])]
        if len(placed.passes) > _MAX_ROWS:
            lines.append(f"... and {len(placed.passes) - _MAX_ROWS} lines more")
    return "\n".join(lines)


def _table(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    shown = [
        (*(cut_middle(one_line(text), _MAX_CELL) for text in row[:-1]), one_line(row[-1]))
        for row in rows[:_MAX_ROWS]
    ]
    widths = [max(len(row[i]) for row in [titles, *shown]) for i in range(len(titles))]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip()
        for row in [titles, *shown]
    ]
    if len(rows) > _MAX_ROWS:
        lines.append(f"… {len(rows) - _MAX_ROWS:,} more nodes")
    return lines
