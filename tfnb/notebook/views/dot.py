"""A graph drawn by Graphviz: for papers and documentation, or for the layout of `dot`."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tfnb.notebook.kernel.shell import current_shell, is_notebook
from tfnb.notebook.scenes.attr_text import cut_middle, one_line
from tfnb.notebook.scenes.dot_clusters import (
    Cluster,
    by_device,
    by_frame,
    by_scope,
    edges_between,
)
from tfnb.notebook.scenes.op_kinds import KINDS, op_kind
from tfnb.notebook.scenes.scene_svg import (
    BORDER,
    COLOURS,
    LANE,
    LINE,
    MUTED,
    PAPER,
    TEXT,
    scene_svg,
)
from tfnb.notebook.views.partitions import partitions_scene
from tfnb.notebook.views.placement import placement_scene
from tfnb.notebook.views.targets import TargetError, find_signature, find_target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.notebook.pictures.dot_picture import DotPicture
    from tfnb.notebook.scenes.scene import Scene

# `dot` takes seconds for this number of nodes, and minutes for ten times as many.
MAX_NODES = 1000
MOST_BOXES = 60
VIEWS = ("graph", "placement", "partitions")
GROUPS = ("scope", "device", "frame")
_MAX_LABEL = 60
_FONT = {"fontname": "Helvetica,Arial,sans-serif", "fontsize": "11"}
# A page of A4 or Letter in landscape, in inches, with margins.
_PAGE = "10,7"
# The outlines of the views, in Graphviz's words: shape and style.
_SHAPES = {
    "input": ("parallelogram", "filled"),
    "constant": ("ellipse", "filled"),
    "state": ("cylinder", "filled"),
    "math": ("box", "rounded,filled"),
    "array": ("box", "filled"),
    "control": ("hexagon", "filled"),
    "transfer": ("cds", "filled"),
    "other": ("box", "rounded,filled"),
}
_CLUSTERS = {
    "scope": {"style": "rounded", "color": LINE},
    "frame": {"style": "rounded,dashed", "color": COLOURS["control"][1]},
    "lane": {"style": "rounded,filled", "color": BORDER, "fillcolor": LANE},
    "device": {"style": "rounded,filled", "color": BORDER, "fillcolor": LANE},
}


def dot(
    target: Any = None,
    *,
    view: str = "graph",
    by: str | None = None,
    depth: int | None = None,
    legend: bool = True,
    most: int = MOST_BOXES,
    namespace: Mapping[str, Any] | None = None,
) -> DotPicture:
    """Draw a graph with Graphviz, on one page.

    Args:
      target: as for :func:`tfnb.notebook.graph`; for the name of a scope, only that scope.  For
        placement and partitions as for these views: a fetch; by default the last run.
      view: ``"graph"``, ``"placement"``, or ``"partitions"`` with the edges between devices.
      by: the boxes around nodes: ``"scope"``, ``"device"`` (where nodes were placed), or
        ``"frame"`` (of loops); by default devices for the placement, else scopes.
      depth: number of levels of scopes to open; by default small ones, up to ``most`` boxes.
      legend: whether the picture explains its colours and shapes.
      most: the maximum number of boxes, as far as scopes can be closed.
      namespace: variables by name, which a text may also refer to.

    Returns:
      A `graphviz.Digraph`, whose attribute `source` is its text and whose `render` writes files.
        A notebook shows it by the program `dot`; without that program, the view's own picture.
        Elsewhere it shows itself as its text.

    Raises:
      TargetError: there is nothing to show, or it has too many nodes.
    """
    if view not in VIEWS:
        raise TargetError(f"There is no view '{view}' for dot; there are {', '.join(VIEWS)}.")
    if view == "graph":
        scene = find_target(target, namespace).scene()
        wanted = _wanted(scene, target, namespace or {})
    else:
        views = find_signature(target, namespace)
        scene = placement_scene(views) if view == "placement" else partitions_scene(views)
        wanted = set(range(len(scene.nodes)))
    by = by or ("device" if view == "placement" else "scope")
    picture = digraph(scene, wanted, by=by, depth=depth, legend=legend, most=most)
    picture.is_text = not is_notebook(current_shell())
    return picture


def _wanted(scene: Scene, target: Any, namespace: Mapping[str, Any]) -> set[int]:
    """Return all nodes, or those of the scope that a text names."""
    everything = set(range(len(scene.nodes)))
    if not isinstance(target, str) or target in namespace:
        return everything
    name = target.rstrip("/")
    if any(node.name == name for node in scene.nodes):
        return everything
    return {i for i in everything if scene.nodes[i].name.startswith(f"{name}/")} or everything


def digraph(
    scene: Scene,
    wanted: set[int] | None = None,
    *,
    by: str = "scope",
    depth: int | None = None,
    legend: bool = True,
    most: int = MOST_BOXES,
) -> DotPicture:
    """Return some nodes of a scene as a `graphviz.Digraph`; all of them if None.

    Raises:
      TargetError: they are too many, or there is no such grouping.
    """
    from tfnb.notebook.pictures.dot_picture import DotPicture, lines

    if wanted is None:
        wanted = set(range(len(scene.nodes)))
    top = _clusters(scene, wanted, by, depth, most)
    shown = _nodes_in(top)
    num_boxes = len(shown) + _num_closed(top)
    if num_boxes > MAX_NODES:
        raise TargetError(
            f"dot lays out at most {MAX_NODES:,} boxes here, and these are {num_boxes:,}: name a "
            "scope, open fewer levels with depth, or group by scope."
        )
    picture = DotPicture("graph", lambda: scene_svg(scene))
    title = lines(_cut(scene.title), f"{len(wanted):,} nodes")
    picture.attr("graph", rankdir="TB", label=title, labelloc="t", size=_PAGE, **_FONT)
    picture.attr("graph", compound="true", newrank="true", fontcolor=TEXT, bgcolor=PAPER)
    picture.attr("node", shape="box", height="0.3", margin="0.08,0.04", fontcolor=TEXT, **_FONT)
    picture.attr("edge", color=LINE, arrowsize="0.6", fontcolor=MUTED, **_FONT)
    _fill(picture, scene, top, [0])
    for edge in edges_between(scene, top):
        attributes = {"style": "dashed" if edge.is_control else "solid"}
        if edge.count > 1:
            attributes["label"] = f"×{edge.count:,}"
        if edge.is_back:
            attributes |= {"constraint": "false", "color": COLOURS["control"][1]}
        if edge.is_sent:
            attributes |= {"color": COLOURS["transfer"][1], "penwidth": "1.6"}
        picture.edge(_id(edge.source), _id(edge.destination), **attributes)
    if legend:
        _add_legend(picture, scene, shown, has_closed=num_boxes > len(shown))
    return picture


def _clusters(scene: Scene, wanted: set[int], by: str, depth: int | None, most: int) -> Cluster:
    if by not in GROUPS:
        raise TargetError(f"Nodes are not grouped by '{by}'; there are {', '.join(GROUPS)}.")
    if by == "scope":
        return by_scope(scene, wanted, depth, most)
    return by_device(scene, wanted) if by == "device" else by_frame(scene, wanted)


def _nodes_in(cluster: Cluster) -> list[int]:
    return [*cluster.nodes, *(node for inner in cluster.clusters for node in _nodes_in(inner))]


def _num_closed(cluster: Cluster) -> int:
    return len(cluster.closed) + sum(map(_num_closed, cluster.clusters))


def _fill(parent: Any, scene: Scene, cluster: Cluster, number: list[int]) -> None:
    import graphviz

    from tfnb.notebook.pictures.dot_picture import lines

    for node in cluster.nodes:
        about = scene.nodes[node]
        label = scene.label(node)
        says_op = label.rstrip("_0123456789").lower() == about.op.lower()
        told = lines(_cut(label)) if says_op else lines(_cut(label), _cut(about.op))
        parent.node(_id(node), told, tooltip=lines(_cut(about.name)), **_look(about.op))
    for closed in cluster.closed:
        scope = scene.scopes[closed]
        label = lines(_cut(scope.label), f"{scope.size:,} nodes")
        tooltip = lines(_cut(scope.path or scope.label))
        parent.node(_id(~closed), label, tooltip=tooltip, **_CLOSED)
    for inner in cluster.clusters:
        number[0] += 1
        box = graphviz.Digraph(name=f"cluster_{number[0]}")
        # On the left, edges that come from above seldom cross the label.
        look = _CLUSTERS.get(inner.kind, _CLUSTERS["scope"])
        box.attr(label=lines(_cut(inner.label)), labeljust="l", **look)
        _fill(box, scene, inner, number)
        parent.subgraph(box)


_CLOSED = {"style": "rounded,filled", "peripheries": "2", "fillcolor": PAPER, "color": MUTED}


def _look(op: str) -> dict[str, str]:
    return _look_of_kind(op_kind(op))


def _look_of_kind(kind: str) -> dict[str, str]:
    shape, style = _SHAPES[kind]
    fill, line = COLOURS[kind]
    found = {"shape": shape, "style": style, "fillcolor": fill, "color": line}
    # The arrow's outline leaves less room than that of a box.
    return {**found, "height": "0.55"} if kind == "transfer" else found


def _add_legend(picture: Any, scene: Scene, shown: list[int], *, has_closed: bool) -> None:
    import graphviz

    kinds = Counter(op_kind(scene.nodes[node].op) for node in shown)
    box = graphviz.Digraph(name="cluster_legend")
    box.attr(label="legend", style="rounded", color=BORDER, fontcolor=MUTED)
    entries = []
    for kind in KINDS:
        if kinds[kind]:
            entries.append(f"legend_{kind}")
            box.node(entries[-1], f"{kind} ({kinds[kind]:,})", **_look_of_kind(kind))
    if has_closed:
        entries.append("legend_closed")
        box.node(entries[-1], "closed scope", **_CLOSED)
    # One below the other: a wide legend would make everything else small.
    for above, below in pairwise(entries):
        box.edge(above, below, style="invis")
    picture.subgraph(box)


def _id(box: int) -> str:
    """Return the name of a box in the text: no name of the graph, in which a colon is a port."""
    return f"n{box}" if box >= 0 else f"s{~box}"


def _cut(label: str) -> str:
    return cut_middle(one_line(label), _MAX_LABEL).encode("utf-8", "replace").decode()
