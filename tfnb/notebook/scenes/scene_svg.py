"""The static picture of a scene, as SVG: the scopes of the whole graph, closed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from tfnb.notebook.scenes.attr_text import cut_middle, device_label
from tfnb.notebook.scenes.cut_names import cut_apart
from tfnb.notebook.scenes.layered_layout import Layout, layered_layout
from tfnb.notebook.scenes.op_kinds import op_kind
from tfnb.notebook.scenes.svg_writer import SvgWriter, polyline

if TYPE_CHECKING:
    from tfnb.notebook.scenes.scene import Scene, Scope

# Fill and line per kind; a static picture has its own background, so it needs only one theme.
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
LANE = "#eceef0"
_MAX_LABEL = 26
_MAX_BOXES = 90
_MARGIN = 16.0
_LANE_HEAD, _LANE_GAP = 32.0, 44.0
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
    """Draw the outermost scope that has more than one child, its inner scopes closed.

    A scene in lanes has the outermost scopes of each device side by side.
    """
    out = SvgWriter()
    width, height = draw_scene(scene, out)
    return out.document(width, height, title or scene.title or "dataflow graph")


class PictureWriter(Protocol):
    """The operations with which a scene is drawn."""

    def rect(self, x: float, y: float, width: float, height: float, **attributes: object) -> None:
        """Add a rectangle."""

    def path(self, d: str, **attributes: object) -> None:
        """Add a path of the commands M and C."""

    def text(
        self, x: float, y: float, text: str, *, tooltip: str = "", **attributes: object
    ) -> None:
        """Add a text on its baseline."""

    def raw_definition(self, markup: str) -> None:
        """Add a constant piece of markup, such as an arrow head."""


def draw_scene(scene: Scene, out: PictureWriter) -> tuple[float, float]:
    """Draw the picture of :func:`scene_svg`; return its width and height."""
    if scene.is_lanes:
        return _draw_lanes(scene, out)
    boxes, edges, hidden = _visible(scene)
    layout = layered_layout([box.size for box in boxes], edges)
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
    return width, height


def _draw_lanes(scene: Scene, out: PictureWriter) -> tuple[float, float]:
    lanes = scene.scopes[0].scopes
    place: dict[int, tuple[int, int]] = {}  # of a node: its lane, and the box there
    layouts, drawn, hidden = [], [], 0
    for number, lane in enumerate(lanes):
        boxes, child_of, more = _boxes_of(scene, scene.scopes[lane])
        hidden += more
        place.update((node, (number, box)) for node, box in child_of.items())
        layouts.append(layered_layout([box.size for box in boxes], _edges_between(scene, child_of)))
        drawn.append(boxes)
    heads = [_device_text(scene.scopes[lane].label) for lane in lanes]
    widths = [
        max(layout.width, len(head) * _CHARACTER) + 2 * _MARGIN
        for layout, head in zip(layouts, heads, strict=True)
    ]
    foot = _footer(scene, hidden)
    inner = sum(widths) + _LANE_GAP * max(0, len(lanes) - 1)
    width = max(inner + 2 * _MARGIN, len(foot) * _CHARACTER + 2 * _MARGIN, 240.0)
    lane_height = max((layout.height for layout in layouts), default=0.0) + _LANE_HEAD + _MARGIN
    height = lane_height + 2 * _MARGIN + 22
    out.raw_definition(_ARROW)
    out.rect(0.5, 0.5, width - 1, height - 1, rx=8, fill=PAPER, stroke=BORDER)
    left = (width - inner) / 2
    centres: list[list[tuple[float, float]]] = []
    for layout, head, lane_width in zip(layouts, heads, widths, strict=True):
        out.rect(left, _MARGIN, lane_width, lane_height, rx=8, fill=LANE, stroke=BORDER)
        middle = left + lane_width / 2
        out.text(middle, _MARGIN + 18, head, fill=TEXT, font_weight="600", text_anchor="middle")
        shift, top = middle - layout.width / 2, _LANE_HEAD
        _draw_edges(out, layout, shift, top)
        centres.append([(x + shift, y + top + _MARGIN) for x, y in layout.centres])
        left += lane_width + _LANE_GAP
    sent = dict.fromkeys(
        (place[source], place[destination])
        for source, _, destination, _ in scene.edges
        if source in place and destination in place and place[source][0] != place[destination][0]
    )
    for (lane, box), (other, to) in sent:
        (x, y), (to_x, to_y) = centres[lane][box], centres[other][to]
        half, to_half = drawn[lane][box].size[0] / 2, drawn[other][to].size[0] / 2
        sign = 1 if to_x > x else -1
        start, end = x + sign * half, to_x - sign * to_half
        middle = (start + end) / 2
        bend = f"C{middle:.1f} {y:.1f} {middle:.1f} {to_y:.1f} {end:.1f} {to_y:.1f}"
        line = COLOURS["transfer"][1]
        out.path(
            f"M{start:.1f} {y:.1f}{bend}", fill="none", stroke=line, marker_end="url(#tfnb-arrow)"
        )
    for boxes, found in zip(drawn, centres, strict=True):
        for one, (x, y) in zip(boxes, found, strict=True):
            _draw_box(out, one, x, y)
    out.text(_MARGIN, height - 12, foot, fill=MUTED)
    return width, height


def _device_text(device: str) -> str:
    return cut_middle(device_label(device), _MAX_LABEL)


def _visible(scene: Scene) -> tuple[list[_Box], list[tuple[int, int]], int]:
    home = scene.scopes[0]
    consumed_once = _sole_constants(scene, home.nodes)
    while len(consumed_once) == len(home.nodes) and len(home.scopes) == 1:
        home = scene.scopes[home.scopes[0]]
        consumed_once = _sole_constants(scene, home.nodes)
    boxes, child_of, hidden = _boxes_of(scene, home)
    beside = set(scene.aside)
    for scope in scene.scopes:
        if scope.is_aside:
            beside.update(range(scope.first, scope.end))
    flow = {node: box for node, box in child_of.items() if node not in beside}
    return boxes, _edges_between(scene, flow), hidden


def _boxes_of(scene: Scene, home: Scope) -> tuple[list[_Box], dict[int, int], int]:
    """Return the boxes of a scope's children, the box of each node, and the number left out."""
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
    labels = cut_apart([box.label for box in boxes], _MAX_LABEL)
    boxes = [replace(box, label=label) for box, label in zip(boxes, labels, strict=True)]
    hidden = max(0, len(boxes) - _MAX_BOXES)
    if hidden:
        child_of = {node: box for node, box in child_of.items() if box < _MAX_BOXES}
    return boxes[:_MAX_BOXES], child_of, hidden


def _edges_between(scene: Scene, child_of: dict[int, int]) -> list[tuple[int, int]]:
    edges = dict.fromkeys(
        (child_of[source], child_of[destination])
        for source, _, destination, _ in scene.edges
        if source in child_of
        and destination in child_of
        and child_of[source] != child_of[destination]
    )
    return list(edges)


def _sole_constants(scene: Scene, nodes: list[int]) -> set[int]:
    """Return constants with one consumer, which would only make the picture wider."""
    consumers: Counter[int] = Counter(source for source, _, _, _ in scene.edges)
    return {n for n in nodes if scene.nodes[n].op == "Const" and consumers[n] == 1}


def _node_box(scene: Scene, node: int) -> _Box:
    about = scene.nodes[node]
    label = scene.label(node)
    says_op = label.rstrip("_0123456789").lower() == about.op.lower()
    return _Box(
        label=label,
        below="" if says_op else cut_middle(about.op, _MAX_LABEL),
        kind=op_kind(about.op),
        full_name=f"{about.name} ({about.op})",
    )


def _scope_box(scene: Scene, inner: int) -> _Box:
    scope = scene.scopes[inner]
    kinds: Counter[str] = Counter()
    ops = Counter([node.op for node in scene.nodes[scope.first : scope.end]])
    for op, count in ops.items():
        kinds[op_kind(op)] += count
    return _Box(
        label=scope.label,
        below="",
        kind="scope",
        full_name=f"{scope.path or scope.label}: {scope.size:,} nodes",
        share=tuple(sorted(kinds.items())),
    )


def _draw_edges(out: PictureWriter, layout: Layout, left: float, top: float = 0.0) -> None:
    for points in layout.edges:
        moved = [(x + left, y + top + _MARGIN) for x, y in points]
        out.path(polyline(moved), fill="none", stroke=LINE, marker_end="url(#tfnb-arrow)")


def _draw_box(out: PictureWriter, box: _Box, x: float, y: float) -> None:
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
