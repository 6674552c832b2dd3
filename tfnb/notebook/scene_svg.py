"""The static picture of a scene, as SVG: the scopes of the whole graph, closed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfnb.notebook.attr_text import cut_middle
from tfnb.notebook.layered_layout import Layout, layered_layout
from tfnb.notebook.op_kinds import op_kind
from tfnb.notebook.svg_writer import SvgWriter, polyline

if TYPE_CHECKING:
    from tfnb.notebook.scene import Scene

# Fill and line per kind; a static picture has its own background, so it needs one theme only.
COLOURS = {
    "input": ("#ddf0f1", "#00838f"),
    "constant": ("#eeebe9", "#8d6e63"),
    "state": ("#f6efdb", "#b8860b"),
    "math": ("#e0eaf7", "#2f6fc4"),
    "array": ("#e0f0e7", "#2e8b57"),
    "control": ("#f0e6f8", "#8e4ec6"),
    "transfer": ("#f8e2ec", "#c2387a"),
    "other": ("#eceef0", "#7a8594"),
}
TEXT, MUTED, LINE, PAPER, BORDER = "#1f2430", "#667085", "#9aa1ac", "#ffffff", "#dfe1e6"
_MAX_LABEL = 26
_MAX_BOXES = 90
_MARGIN = 16.0
_CHARACTER = 6.3  # the mean width of an 11 px character
_ARROW = (
    '<defs><marker id="tfnb-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" '
    'markerHeight="6" orient="auto"><path d="M0.5 1L7.5 4L0.5 7Z" fill="#9aa1ac"/></marker></defs>'
)


@dataclass(frozen=True, slots=True)
class _Box:
    label: str
    below: str
    kind: str
    full_name: str
    share: tuple[tuple[str, int], ...] = ()  # of a scope: how many nodes of each kind

    @property
    def size(self) -> tuple[float, float]:
        longest = max(len(self.label) + (3 if self.share else 0), len(self.below))
        return max(46.0, longest * _CHARACTER + 22), 34.0 if self.below or self.share else 24.0


def scene_svg(scene: Scene, title: str = "") -> str:
    """Draws the outermost scope that has more than one child, its inner scopes closed."""
    title = title or scene.title or "dataflow graph"
    boxes, edges, hidden = _visible(scene)
    layout = layered_layout([box.size for box in boxes], edges)
    out = SvgWriter()
    foot = _footer(scene, hidden)
    width = max(layout.width + 2 * _MARGIN, len(foot) * _CHARACTER + 2 * _MARGIN, 240.0)
    height = layout.height + 2 * _MARGIN + 22
    out.raw_definition(_ARROW)
    out.rect(0.5, 0.5, width - 1, height - 1, rx=8, fill=PAPER, stroke=BORDER)
    left = (width - layout.width) / 2
    _draw_edges(out, layout, left)
    for box, (x, y) in zip(boxes, layout.centres, strict=True):
        _draw_box(out, box, x + left, y + _MARGIN)
    out.text(_MARGIN, height - 12, foot, fill=MUTED)
    return out.document(width, height, title)


def _visible(scene: Scene) -> tuple[list[_Box], list[tuple[int, int]], int]:
    home = scene.scopes[0]
    consumed_once = _sole_constants(scene, home.nodes)
    while len(consumed_once) == len(home.nodes) and len(home.scopes) == 1:
        home = scene.scopes[home.scopes[0]]
        consumed_once = _sole_constants(scene, home.nodes)
    child_of: dict[int, int] = {}
    boxes: list[_Box] = []
    for node in home.nodes:
        if node in consumed_once:
            continue
        child_of[node] = len(boxes)
        boxes.append(_node_box(scene, node))
    for inner in home.scopes:
        for node in range(scene.scopes[inner].first, scene.scopes[inner].end):
            child_of[node] = len(boxes)
        boxes.append(_scope_box(scene, inner))
    hidden = max(0, len(boxes) - _MAX_BOXES)
    boxes = boxes[:_MAX_BOXES]
    edges = dict.fromkeys(
        (child_of[source], child_of[destination])
        for source, _, destination, _ in scene.edges
        if source in child_of
        and destination in child_of
        and child_of[source] != child_of[destination]
        and max(child_of[source], child_of[destination]) < len(boxes)
    )
    return boxes, list(edges), hidden


def _sole_constants(scene: Scene, nodes: list[int]) -> set[int]:
    """Constants with one consumer, which would only make the picture wider."""
    consumers: Counter[int] = Counter(source for source, _, _, _ in scene.edges)
    return {n for n in nodes if scene.nodes[n].op == "Const" and consumers[n] == 1}


def _node_box(scene: Scene, node: int) -> _Box:
    about = scene.nodes[node]
    label = scene.label(node)
    says_op = label.rstrip("_0123456789").lower() == about.op.lower()
    return _Box(
        label=cut_middle(label, _MAX_LABEL),
        below="" if says_op else cut_middle(about.op, _MAX_LABEL),
        kind=op_kind(about.op),
        full_name=f"{about.name} ({about.op})",
    )


def _scope_box(scene: Scene, inner: int) -> _Box:
    scope = scene.scopes[inner]
    kinds = Counter(op_kind(scene.nodes[n].op) for n in range(scope.first, scope.end))
    return _Box(
        label=cut_middle(scope.label, _MAX_LABEL),
        below="",
        kind="scope",
        full_name=f"{scope.path or scope.label}: {scope.size:,} nodes",
        share=tuple(sorted(kinds.items())),
    )


def _draw_edges(out: SvgWriter, layout: Layout, left: float) -> None:
    for points in layout.edges:
        moved = [(x + left, y + _MARGIN) for x, y in points]
        out.path(polyline(moved), fill="none", stroke=LINE, marker_end="url(#tfnb-arrow)")


def _draw_box(out: SvgWriter, box: _Box, x: float, y: float) -> None:
    width, height = box.size
    left, top = x - width / 2, y - height / 2
    centred = {"text_anchor": "middle", "tooltip": box.full_name}
    if not box.share:
        fill, line = COLOURS[box.kind]
        radius = 12 if box.kind == "math" else 3 if box.kind == "array" else 6
        out.rect(left, top, width, height, rx=radius, fill=fill, stroke=line)
        out.text(x, y - 2 if box.below else y + 4, box.label, fill=TEXT, **centred)
        if box.below:
            out.text(x, y + 11, box.below, fill=MUTED, font_size="9.5", text_anchor="middle")
        return
    out.rect(left, top, width, height, rx=6, fill=PAPER, stroke=MUTED)
    out.text(x, y + 1, box.label, fill=TEXT, font_weight="600", **centred)
    total = sum(count for _, count in box.share)
    position = left + 8
    for kind, count in box.share:
        length = (width - 16) * count / total
        out.rect(position, y + 9, max(length - 0.8, 0.4), 3, fill=COLOURS[kind][1])
        position += length


def _footer(scene: Scene, hidden: int) -> str:
    parts = [f"{len(scene.nodes):,} nodes", f"{len(scene.edges):,} edges"]
    if hidden:
        parts.append(f"{hidden:,} boxes not drawn")
    return " · ".join(parts)
