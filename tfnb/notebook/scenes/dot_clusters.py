"""What a picture for Graphviz shows of a scene: boxes, nested clusters, and edges between boxes."""

from __future__ import annotations

import heapq
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tfnb.notebook.scenes.attr_text import device_label
from tfnb.notebook.scenes.scene import CONTROL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tfnb.notebook.scenes.scene import Scene, SceneNode

_ENTERS = frozenset(("Enter", "RefEnter"))
_EXITS = frozenset(("Exit", "RefExit"))
_BACK = frozenset(("NextIteration", "RefNextIteration"))
_QUOTES = re.compile(r"^[ub]?(['\"])(.*)\1$", re.DOTALL)


@dataclass(slots=True)
class Cluster:
    """A box around boxes.

    Attributes:
        label: Its heading.
        kind: ``scope``, ``lane``, ``device`` or ``frame``.
        nodes: Nodes in it.
        closed: Scopes in it that are shown as one box.
        clusters: Clusters in it.
    """

    label: str
    kind: str = "scope"
    nodes: list[int] = field(default_factory=list)
    closed: list[int] = field(default_factory=list)
    clusters: list[Cluster] = field(default_factory=list)


@dataclass(slots=True)
class Edge:
    """An edge between two boxes: a node has its index, a closed scope ``~index``.

    Attributes:
        source: Where it begins.
        destination: Where it ends.
        count: The number of edges of the graph that it stands for.
        is_control: Whether all of these are control edges.
        is_back: Whether it leads from an iteration of a loop to the next one.
        is_sent: Whether it leads from one lane to another.
    """

    source: int
    destination: int
    count: int = 0
    is_control: bool = True
    is_back: bool = False
    is_sent: bool = False


def by_scope(scene: Scene, wanted: set[int], depth: int | None, most: int) -> Cluster:
    """Return the scopes of some nodes, the deep ones closed.

    Args:
        scene: The scene.
        wanted: The nodes to show.
        depth: The number of levels of scopes to open; None: small scopes are opened first, up to
            ``most`` boxes.
        most: The maximum number of boxes, unless the outermost scopes have more.
    """
    is_open = _opened(scene, wanted, most) if depth is None else _of_depth(scene, depth)

    def fill(index: int, label: str, kind: str) -> Cluster:
        scope = scene.scopes[index]
        found = Cluster(label, kind, [node for node in scope.nodes if node in wanted])
        for child in scope.scopes:
            inner = scene.scopes[child]
            if wanted.isdisjoint(range(inner.first, inner.end)):
                continue
            if child in is_open:
                shown = device_label(inner.label) if inner.kind == "lane" else inner.label
                found.clusters.append(fill(child, shown, inner.kind))
            else:
                found.closed.append(child)
        return found

    return fill(0, scene.title, "scope")


def _of_depth(scene: Scene, depth: int) -> set[int]:
    levels = [0] * len(scene.scopes)
    for index, scope in enumerate(scene.scopes):
        for child in scope.scopes:
            # A lane is the whole graph of a device: its scopes count from there.
            levels[child] = levels[index] + (scene.scopes[child].kind != "lane")
    return {index for index, level in enumerate(levels) if level <= depth}


def _opened(scene: Scene, wanted: set[int], most: int) -> set[int]:
    is_open = {0}
    num_boxes = 0
    waiting: list[tuple[bool, int, int]] = []  # a lane first, then small ones

    def open_scope(index: int) -> None:
        nonlocal num_boxes
        is_open.add(index)
        scope = scene.scopes[index]
        num_boxes += sum(node in wanted for node in scope.nodes)
        for child in scope.scopes:
            inner = scene.scopes[child]
            size = sum(node in wanted for node in range(inner.first, inner.end))
            if size:
                num_boxes += 1
                heapq.heappush(waiting, (inner.kind != "lane" and size < len(wanted), size, child))

    open_scope(0)
    while waiting:
        is_usual, _, index = heapq.heappop(waiting)
        scope = scene.scopes[index]
        num_inner = sum(node in wanted for node in scope.nodes) + len(scope.scopes)
        # A scope around everything is opened: closed, it would say nothing.
        if is_usual and num_boxes - 1 + num_inner > most:
            continue
        num_boxes -= 1
        open_scope(index)
    return is_open


def by_device(scene: Scene, wanted: set[int]) -> Cluster:
    """Return the nodes by the devices that they were placed on, or that were requested."""
    found = Cluster(scene.title)
    devices: dict[str, Cluster] = {}
    for node in sorted(wanted):
        about = scene.nodes[node]
        device = about.assigned_device or about.requested_device
        if device not in devices:
            devices[device] = Cluster(device_label(device) or "no device", "device")
            found.clusters.append(devices[device])
        devices[device].nodes.append(node)
    return found


def by_frame(scene: Scene, wanted: set[int]) -> Cluster:
    """Return the nodes by the frames of loops in which they run."""
    found = Cluster(scene.title)
    clusters: dict[tuple[str, ...], Cluster] = {(): found}

    def at(path: tuple[str, ...]) -> Cluster:
        if path not in clusters:
            clusters[path] = Cluster(path[-1], "frame")
            at(path[:-1]).clusters.append(clusters[path])
        return clusters[path]

    for node, path in enumerate(frames_of(scene.nodes, scene.edges)):
        if node in wanted:
            at(path).nodes.append(node)
    return found


def frames_of(
    nodes: Sequence[SceneNode], edges: Iterable[tuple[int, int, int, int]]
) -> list[tuple[str, ...]]:
    """Return the names of the frames around each node, the outermost first.

    An Enter is shown in the frame around its loop, an Exit in the frame that it leaves.
    """
    consumers: list[list[int]] = [[] for _ in nodes]
    num_sources = [0] * len(nodes)
    for source, _, destination, _ in edges:
        if nodes[source].op not in _BACK:
            consumers[source].append(destination)
            num_sources[destination] += 1
    found: list[tuple[str, ...]] = [()] * len(nodes)
    ready = [node for node, count in enumerate(num_sources) if not count]
    while ready:
        node = ready.pop()
        path = found[node]
        op = nodes[node].op
        if op in _ENTERS:
            path = (*path, _frame_name(nodes[node]))
        elif op in _EXITS:
            path = path[:-1]
        for consumer in consumers[node]:
            # A constant outside of a loop may feed a node inside: the deepest frame counts.
            if len(path) > len(found[consumer]):
                found[consumer] = path
            num_sources[consumer] -= 1
            if not num_sources[consumer]:
                ready.append(consumer)
    return found


def _frame_name(node: SceneNode) -> str:
    told = dict(node.attrs).get("frame_name", "")
    quoted = _QUOTES.match(told)
    return (quoted[2] if quoted else told) or node.name


def edges_between(scene: Scene, top: Cluster) -> list[Edge]:
    """Return the edges between the boxes of a picture, joined."""
    box_of: dict[int, int] = {}
    lane_of: dict[int, int] = {}
    lanes: list[tuple[Cluster, int]] = [(top, -1)]
    while lanes:
        cluster, lane = lanes.pop()
        boxes = {node: node for node in cluster.nodes}
        for scope in cluster.closed:
            inner = scene.scopes[scope]
            boxes.update(dict.fromkeys(range(inner.first, inner.end), ~scope))
        box_of.update(boxes)
        lane_of.update(dict.fromkeys(boxes, lane))
        lanes += [(one, id(one) if one.kind == "lane" else lane) for one in cluster.clusters]
    found: dict[tuple[int, int], Edge] = {}
    for source, _, destination, slot in scene.edges:
        if source not in box_of or destination not in box_of:
            continue
        ends = box_of[source], box_of[destination]
        if ends[0] == ends[1]:
            continue
        edge = found.setdefault(ends, Edge(*ends))
        edge.count += 1
        edge.is_control &= slot == CONTROL
        edge.is_back |= scene.nodes[source].op in _BACK
        edge.is_sent |= lane_of[source] != lane_of[destination]
    return list(found.values())
