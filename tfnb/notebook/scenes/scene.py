"""A scene: the data for a picture of a dataflow graph, independent of the graph itself.

A :class:`SceneNode` is a plain description of one node, so a scene can be made from the graph that
a user builds, from a file, or from the runtime's report of a signature. :func:`build_scene` puts
the nodes under their name scopes, splits crowded scopes (``scene_grouping.py``) and orders the
nodes so that **every scope is one contiguous range**: states of a scope are then sums over a range,
here and in the browser.

A scene is immutable once built.  It is sent as columns with a table of strings, deflated, because
a graph of 10,000 nodes repeats a few hundred texts; ``labextension/src/render/scene.ts`` reads
it.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tfnb.notebook.scenes.op_kinds import op_kind
from tfnb.notebook.scenes.scene_grouping import (
    FEW_CHILDREN,
    MAX_CHILDREN,
    Group,
    Item,
    collapse_series,
    split_crowded,
)
from tfnb.notebook.scenes.scene_roles import ROLES, may_have_roles, roles_of
from tfnb.notebook.scenes.scene_structure import MIN_SERIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

CONTROL = -1
MAX_DEPTH = 48  # a hostile name may hold a million slashes
PAYLOAD_VERSION = 1
MAX_TRANSFERS_IN_SIGHT = 32
TRANSFERS = frozenset(("_Send", "_Recv", "_HostSend", "_HostRecv"))
# The runtime derives the names of these nodes from tensors ("_retval_loss/sum_0_0"); the names
# contain no scopes.
ENDPOINTS = frozenset(("_Arg", "_Retval"))
ENDPOINT_NAMES = ("_arg_", "_retval_")


@dataclass(frozen=True, slots=True)
class Site:
    """The place in the user's code where a node was made."""

    cell: int | None
    file: str
    line: int
    function: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class RecordedCost:
    """The cost of a node in one recorded step.

    Attributes:
      runs: number of executions.
      ns: total time of its executions.
      num_bytes: total size of its outputs.
      peak_bytes: size of the outputs held when the step held most.
      moved_bytes: number of bytes that it sent or received.
      waited_ns: how long it waited while others ran.
      live: the state of its outputs at that moment: "live", "freed" or "later"; "" without outputs.
    """

    runs: int = 0
    ns: float = 0.0
    num_bytes: float = 0.0
    peak_bytes: float = 0.0
    moved_bytes: float = 0.0
    waited_ns: float = 0.0
    live: str = ""


class SceneNode(NamedTuple):
    """The description of one node for a picture and an info card; every text is unescaped.

    ``inputs`` are (index of the source node, its output slot); control inputs have slot
    :data:`CONTROL`.
    """

    name: str
    op: str
    inputs: tuple[tuple[int, int], ...] = ()
    requested_device: str = ""
    assigned_device: str = ""
    partition: int = -1
    attrs: tuple[tuple[str, str], ...] = ()
    outputs: tuple[tuple[str, str], ...] = ()  # (dtype, shape)
    site: Site | None = None
    reason: str = ""
    allowed: tuple[str, ...] = ()  # the devices among which the placer chose
    kernel: str = ""  # its kernel
    colocated: str = ""  # the first node of its colocation group
    touched: tuple[str, ...] = ()  # the passes' reports about it, one line each
    change: str = ""  # the change by a pass
    cost: RecordedCost | None = None


@dataclass(slots=True)
class Scope:
    """A box that can be opened: a name scope, or a group made because a scope was crowded.

    It holds the nodes ``first <= i < end`` of the scene, in its own or in its inner scopes.
    """

    label: str
    path: str  # the name scope this is, or lies in
    parent: int
    # "scope", or "names" (a common prefix), "series" (alike, side by side), "repeat" (a repeated
    # block), "region" (with one way out), "chunk" (a stretch of the data flow), "lane", "role"
    # (nodes beside the model: scene_roles.py)
    kind: str = "scope"
    first: int = 0
    end: int = 0
    scopes: list[int] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)  # direct children
    is_aside: bool = False

    @property
    def size(self) -> int:
        """The number of nodes inside, at any depth."""
        return self.end - self.first


@dataclass(frozen=True, slots=True)
class Scene:
    """Nodes in drawing order, their scopes (0 is the whole graph) and flat edges.

    ``order[i]`` is the index that node ``i`` had in the description it was built from.
    """

    title: str
    nodes: tuple[SceneNode, ...]
    order: tuple[int, ...]
    scopes: tuple[Scope, ...]
    scope_of: tuple[int, ...]
    edges: tuple[tuple[int, int, int, int], ...]  # source, output slot, destination, input slot
    partitions: tuple[str, ...] = ()
    is_lanes: bool = False
    aside: tuple[int, ...] = ()  # nodes beside the data flow; scopes have a kind
    note: str = ""  # a note about the whole graph

    def position(self) -> dict[int, int]:
        """Map a description's index to the node's place in this scene."""
        return {old: new for new, old in enumerate(self.order)}

    def label(self, node: int) -> str:
        """Return the part of a node's name that is not in the name of its scope."""
        name = self.nodes[node].name
        path = self.scopes[self.scope_of[node]].path
        if not path:
            return name
        if name == path:
            return f"({name.rpartition('/')[2]})"
        return name[len(path) + 1 :]

    def encode(self) -> bytes:
        """Return the scene for the browser: deflated JSON."""
        text = json.dumps(self.payload(), ensure_ascii=False, separators=(",", ":"))
        return zlib.compress(text.encode("utf-8", "surrogatepass"), 6)

    def payload(self) -> dict[str, Any]:
        """Return the scene as columns of small integers and one table of strings."""
        strings = _Interned()
        text = strings.index
        attr_sets, output_sets, sites = _Interned(), _Interned(), _Interned()
        nodes = self.nodes
        kinds = {text(op): op_kind(op) for op in dict.fromkeys(node.op for node in nodes)}
        columns: dict[str, list[Any]] = {
            "name": [node.name for node in nodes],
            "op": [text(node.op) for node in nodes],
            "scope": list(self.scope_of),
            "requested": [text(node.requested_device) for node in nodes],
            "assigned": [text(node.assigned_device) for node in nodes],
            "partition": [node.partition for node in nodes],
            "attrs": _pair_sets([node.attrs for node in nodes], attr_sets, text),
            "outputs": _pair_sets([node.outputs for node in nodes], output_sets, text),
            "site": [-1 if node.site is None else sites.index(node.site) for node in nodes],
            "reason": [text(node.reason) for node in nodes],
        }
        # Columns that few scenes need are sent only with these.
        for name, found in (
            ("allowed", [", ".join(node.allowed) for node in nodes]),
            ("kernel", [node.kernel for node in nodes]),
            ("colocated", [node.colocated for node in nodes]),
            ("touched", ["\n".join(node.touched) for node in nodes]),
            ("change", [node.change for node in nodes]),
        ):
            if any(found):
                columns[name] = [text(value) for value in found]
        aside = [
            *self.aside,
            *(len(nodes) + place for place, scope in enumerate(self.scopes) if scope.is_aside),
        ]
        if any(node.cost is not None for node in nodes):
            columns["cost"] = [_cost_row(node.cost) for node in nodes]
        return {
            "version": PAYLOAD_VERSION,
            "title": self.title,
            "layout": "lanes" if self.is_lanes else "nested",
            **({"aside": aside} if aside else {}),
            **({"note": self.note} if self.note else {}),
            "nodes": columns,
            "scopes": {
                "label": [scope.label for scope in self.scopes],
                "path": [scope.path for scope in self.scopes],
                "parent": [scope.parent for scope in self.scopes],
                "kind": [scope.kind for scope in self.scopes],
                "first": [scope.first for scope in self.scopes],
                "end": [scope.end for scope in self.scopes],
            },
            "edges": [number for edge in self.edges for number in edge],
            "partitions": list(self.partitions),
            "opKinds": kinds,
            "attrSets": attr_sets.values,
            "outputSets": output_sets.values,
            "sites": [[s.cell, s.file, s.line, s.function, s.text] for s in sites.values],
            "strings": strings.values,
        }


def build_scene(
    description: Sequence[SceneNode],
    title: str = "",
    partitions: Sequence[str] = (),
    in_lanes: bool = False,
    note: str = "",
) -> Scene:
    """Put described nodes under their scopes; O(nodes + edges) except for sorting crowded scopes.

    With ``in_lanes`` every partition has a scope of its own around all others. Nodes that send or
    receive, unless they are many, are directly in it, so that transfers between devices are visible
    even if all other scopes are closed.
    """
    tree = _ScopeTree(description, partitions if in_lanes else ())
    if not in_lanes:
        tree.set_roles_aside()
    tree.split_crowded_scopes()
    order, scopes, scope_of = tree.in_contiguous_ranges()
    place = {old: new for new, old in enumerate(order)}
    edges = tuple(
        (place[source], slot, place[old], CONTROL if slot == CONTROL else number)
        for old in order
        for number, (source, slot) in enumerate(description[old].inputs)
        if source in place
    )
    return Scene(
        title=title,
        nodes=tuple(description[old] for old in order),
        order=tuple(order),
        scopes=tuple(scopes),
        scope_of=tuple(scope_of),
        edges=edges,
        partitions=tuple(partitions),
        is_lanes=in_lanes,
        aside=tuple(sorted(place[old] for old in tree.aside_nodes)),
        note=note,
    )


class _ScopeTree:
    """Scopes under construction; node indices are those of the description."""

    def __init__(self, description: Sequence[SceneNode], lanes: Sequence[str]) -> None:
        self._description = description
        self.scopes = [Scope(label="", path="", parent=-1)]
        # A scope's key is its lane (-1 without lanes) and its path.
        self._by_key = {(-1, ""): 0}
        self.aside_nodes: set[int] = set()
        for lane, device in enumerate(lanes):
            self._by_key[lane, ""] = self._add(Scope(device, "", parent=0, kind="lane"))
        transfers = sum(node.op in TRANSFERS for node in description)
        self._in_lanes = bool(lanes)
        self._keep_transfers_in_sight = self._in_lanes and transfers <= MAX_TRANSFERS_IN_SIGHT
        scope_paths = self._paths_that_are_scopes()
        self._home = [self._home_of(node, scope_paths) for node in description]
        self._is_hub = _hubs(description)
        for index, home in enumerate(self._home):
            self.scopes[home].nodes.append(index)

    def _paths_that_are_scopes(self) -> set[str]:
        paths: set[str] = set()
        for node in self._description:
            if self._stands_outside_scopes(node):
                continue
            path = _parent_path(node.name)
            while path and path not in paths:
                paths.add(path)
                path = path.rpartition("/")[0]
        return paths

    def _stands_outside_scopes(self, node: SceneNode) -> bool:
        is_endpoint = node.op in ENDPOINTS and node.name.startswith(ENDPOINT_NAMES)
        return is_endpoint or (self._keep_transfers_in_sight and node.op in TRANSFERS)

    def _home_of(self, node: SceneNode, scope_paths: set[str]) -> int:
        lane = node.partition if self._in_lanes else -1
        if self._stands_outside_scopes(node):
            return self._scope_at(lane, "")
        # A node with the name of a scope ("loss" beside "loss/sum") is shown inside it.
        path = node.name if node.name in scope_paths else _parent_path(node.name)
        return self._scope_at(lane, path)

    def _scope_at(self, lane: int, path: str) -> int:
        missing = []
        while (lane, path) not in self._by_key:
            missing.append(path)
            path = path.rpartition("/")[0]
        parent = self._by_key[lane, path]
        for path in reversed(missing):
            parent = self._add(Scope(label=path.rpartition("/")[2], path=path, parent=parent))
            self._by_key[lane, path] = parent
        return parent

    def _add(self, scope: Scope) -> int:
        self.scopes.append(scope)
        index = len(self.scopes) - 1
        self.scopes[scope.parent].scopes.append(index)
        return index

    def set_roles_aside(self) -> None:
        """Put summaries, savers and initializers of the whole graph into a group each."""
        if not may_have_roles(self._description):
            return
        root = self.scopes[0]
        items = self._items(root, 0)
        inside = [list(self._nodes_within(i.ref)) if i.is_scope else [i.ref] for i in items]
        labels = [item.label for item in items]
        roles = roles_of(labels, inside, self._description, self._edges_between(root))
        if not roles:
            return
        groups = [
            Group(item.label, "scope", (item,))
            for place, item in enumerate(items)
            if place not in roles
        ]
        for role in ROLES:
            members = tuple(items[place] for place, its in roles.items() if its == role)
            if members:
                groups.append(Group(role, "role", members))
        self._regroup(0, groups)
        for group in groups:
            if group.kind == "role" and len(group.items) == 1:
                (item,) = group.items
                if item.is_scope:
                    self.scopes[item.ref].is_aside = True
                else:
                    self.aside_nodes.add(item.ref)

    def split_crowded_scopes(self) -> None:
        """Put a level of groups into every scope with too many children."""
        for index in range(len(self.scopes)):
            self._split(index)

    def _split(self, index: int) -> None:
        scope = self.scopes[index]
        num_children = len(scope.nodes) + len(scope.scopes)
        if num_children <= FEW_CHILDREN:
            return
        has_series = bool(scope.scopes) or any(self._is_hub[node] for node in scope.nodes)
        if not has_series and num_children <= MAX_CHILDREN:
            return
        strip = len(scope.path) + 1 if scope.path else 0
        items = self._items(scope, strip)
        edges = cache(lambda: self._edges_between(scope))
        collapsed = collapse_series(items, edges) if has_series else None
        if collapsed is not None:
            self._regroup(index, collapsed)
            items = self._items(scope, strip)
            edges = cache(lambda: self._edges_between(scope))
        groups = split_crowded(items, edges)
        if groups is not None:
            self._regroup(index, groups)

    def _items(self, scope: Scope, strip: int) -> list[Item]:
        described = self._description
        nodes = [
            Item(
                label=described[n].name[strip:] or scope.label,
                weight=1,
                is_scope=False,
                ref=n,
                op=described[n].op,
            )
            for n in scope.nodes
        ]
        inner = [
            Item(label=self.scopes[s].label, weight=1, is_scope=True, ref=s) for s in scope.scopes
        ]
        return nodes + inner

    def _regroup(self, index: int, groups: Sequence[Group]) -> None:
        """Put a scope's children into groups; a child that is alone stays without a group."""
        scope = self.scopes[index]
        scope.nodes, scope.scopes = [], []
        for group in groups:
            if len(group.items) == 1:
                self._adopt(index, group.items[0])
                continue
            inner = self._add(
                Scope(
                    label=group.label,
                    path=scope.path,
                    parent=index,
                    kind=group.kind,
                    is_aside=group.kind == "role",
                )
            )
            for item in group.items:
                self._adopt(inner, item)
            self._split(inner)

    def _adopt(self, parent: int, item: Item) -> None:
        if item.is_scope:
            self.scopes[item.ref].parent = parent
            self.scopes[parent].scopes.append(item.ref)
        else:
            self._home[item.ref] = parent
            self.scopes[parent].nodes.append(item.ref)

    def _edges_between(self, scope: Scope) -> list[tuple[int, int]]:
        """Return the edges among a scope's children, by their index in the list of its items."""
        child_of = {node: place for place, node in enumerate(scope.nodes)}
        for place, inner in enumerate(scope.scopes, start=len(scope.nodes)):
            for node in self._nodes_within(inner):
                child_of[node] = place
        pairs = {
            (child_of[source], to): None  # in order, so that little is left to sort
            for node, to in child_of.items()
            for source, _ in self._description[node].inputs
            if child_of.get(source, to) != to and not self._closes_a_loop(source)
        }
        return sorted(pairs)

    def _closes_a_loop(self, source: int) -> bool:
        return self._description[source].op in ("NextIteration", "RefNextIteration")

    def _nodes_within(self, scope: int) -> Iterable[int]:
        stack = [scope]
        while stack:
            inner = self.scopes[stack.pop()]
            yield from inner.nodes
            stack.extend(inner.scopes)

    def in_contiguous_ranges(self) -> tuple[list[int], list[Scope], list[int]]:
        """Assign numbers depth first; return the nodes' order, the scopes, each node's scope."""
        order: list[int] = []
        scopes: list[Scope] = []
        scope_of: list[int] = []
        renumbered: dict[int, int] = {}
        # (scope, True): everything inside has been numbered, and its range ends here.
        stack: list[tuple[int, bool]] = [(0, False)]
        while stack:
            old, done = stack.pop()
            if done:
                scopes[renumbered[old]].end = len(order)
                continue
            source = self.scopes[old]
            new = renumbered[old] = len(scopes)
            parent = renumbered.get(source.parent, -1)
            scope = Scope(source.label, source.path, parent, source.kind, first=len(order))
            scope.is_aside = source.is_aside
            scopes.append(scope)
            if parent >= 0:
                scopes[parent].scopes.append(new)
            for node in source.nodes:
                scope.nodes.append(len(order))
                order.append(node)
                scope_of.append(new)
            stack.append((old, True))
            stack.extend((inner, False) for inner in reversed(source.scopes))
        return order, scopes, scope_of


def _hubs(description: Sequence[SceneNode]) -> list[bool]:
    """Return for each node whether it has edges enough to feed a series, or to be fed by one."""
    num_consumers = [0] * len(description)
    for node in description:
        for source, _ in node.inputs:
            num_consumers[source] += 1
    return [
        consumers >= MIN_SERIES or len(node.inputs) >= MIN_SERIES
        for consumers, node in zip(num_consumers, description)
    ]


def _parent_path(name: str) -> str:
    """Return the scope of a name; parts deeper than MAX_DEPTH stay in the last one."""
    path = name.rpartition("/")[0]
    if path.count("/") < MAX_DEPTH:
        return path
    return "/".join(name.split("/", MAX_DEPTH)[:MAX_DEPTH])


def _cost_row(cost: RecordedCost | None) -> list[Any]:
    """Return the fields of a cost as a list of numbers, with its liveness last."""
    if cost is None:
        return []
    return [
        cost.runs,
        round(cost.ns),
        round(cost.num_bytes),
        round(cost.peak_bytes),
        round(cost.moved_bytes),
        round(cost.waited_ns),
        cost.live,
    ]


def _pair_sets(
    pairs: list[tuple[tuple[str, str], ...]], sets: _Interned, text: Callable[[str], int]
) -> list[int]:
    """Return the index of each node's pairs of texts among the sets.

    Nodes that were built alike share their pairs.
    """
    known: dict[int, int] = {}
    places = []
    for one in pairs:
        place = known.get(id(one))
        if place is None:
            numbers = tuple([text(word) for pair in one for word in pair])
            place = known[id(one)] = sets.index(numbers)
        places.append(place)
    return places


class _Interned:
    """Each different value once, in order of appearance."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._index: dict[Any, int] = {}

    def index(self, value: Any) -> int:
        """Return the index of ``value``, which is appended if it is new."""
        place = self._index.get(value)
        if place is None:
            place = self._index[value] = len(self.values)
            self.values.append(value)
        return place
