"""The difference between two graphs, or between two runs of a cell, node by node and by name."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfnb.core.tensor_util import make_ndarray
from tfnb.notebook.scenes.attr_text import MAX_DECODED_BYTES, array_text, cut_middle, one_line
from tfnb.notebook.scenes.graph_def_scene import attr_value_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfnb.proto.attr_value_pb2 import AttrValue
    from tfnb.proto.graph_pb2 import NodeDef

_MAX_LISTED = 12
_MAX_NAME = 60
_NUMBER = re.compile(r"_\d+(?=/|$|:)")


@dataclass(frozen=True, slots=True)
class GraphDifference:
    """The difference between two collections of nodes.

    Attributes:
      only_in_first: (name, op) of nodes that only the first has.
      only_in_second: (name, op) of nodes that only the second has.
      changed: (name, op, differences) of nodes that both have.
      num_same: number of nodes that are equal in both.
    """

    only_in_first: tuple[tuple[str, str], ...]
    only_in_second: tuple[tuple[str, str], ...]
    changed: tuple[tuple[str, str, tuple[str, ...]], ...]
    num_same: int

    def __bool__(self) -> bool:
        """Return whether anything differs."""
        return bool(self.only_in_first or self.only_in_second or self.changed)

    def __str__(self) -> str:
        lines = [
            f"{len(self.changed):,} changed, {len(self.only_in_second):,} new, "
            f"{len(self.only_in_first):,} gone, {self.num_same:,} the same"
        ]
        rows = [
            f"  * {_name(name)}  {one_line(op)}  {one_line('; '.join(what))}"
            for name, op, what in self.changed
        ]
        lines += _first(rows)
        lines += _first([f"  + {_name(name)}  {one_line(op)}" for name, op in self.only_in_second])
        lines += _first([f"  - {_name(name)}  {one_line(op)}" for name, op in self.only_in_first])
        return "\n".join(lines)


def compare_nodes(
    first: Iterable[NodeDef], second: Iterable[NodeDef], *, is_rerun: bool = False
) -> GraphDifference:
    """Return the difference between two graphs.

    Args:
      first: the nodes of the first graph.
      second: the nodes of the second graph.
      is_rerun: whether the second nodes are those of a cell that ran again in the same graph,
        where names that were taken got numbers: these numbers are ignored, and nodes whose names
        are equal without them are matched in their order.
    """
    ours, theirs = _named(first, is_rerun), _named(second, is_rerun)
    changed = []
    num_same = 0
    for key, node in theirs.items():
        before = ours.get(key)
        if before is not None:
            what = tuple(_changes(before, node, is_rerun))
            if what:
                changed.append((node.name, node.op, what))
            else:
                num_same += 1
    return GraphDifference(
        tuple((node.name, node.op) for key, node in ours.items() if key not in theirs),
        tuple((node.name, node.op) for key, node in theirs.items() if key not in ours),
        tuple(changed),
        num_same,
    )


def _named(nodes: Iterable[NodeDef], is_rerun: bool) -> dict[tuple[str, int], NodeDef]:
    counts: dict[str, int] = defaultdict(int)
    found = {}
    for node in nodes:
        name = _NUMBER.sub("", node.name) if is_rerun else node.name
        found[name, counts[name]] = node
        counts[name] += 1
    return found


def _changes(before: NodeDef, now: NodeDef, is_rerun: bool) -> Iterable[str]:
    if before.op != now.op:
        yield f"op: {before.op} → {now.op}"
    if before.device != now.device:
        yield f"device: {before.device or 'any'} → {now.device or 'any'}"
    ours, theirs = list(before.input), list(now.input)
    if is_rerun:
        ours, theirs = ([_NUMBER.sub("", text) for text in texts] for texts in (ours, theirs))
    if ours != theirs:
        shown = [", ".join(texts) or "none" for texts in (ours, theirs)]
        yield f"inputs: {cut_middle(shown[0], 80)} → {cut_middle(shown[1], 80)}"
    for name in sorted({*before.attr, *now.attr}):
        if name == "_class" and is_rerun:
            continue
        if name not in now.attr:
            yield f"{name}: {_value(before.attr[name])} → none"
        elif name not in before.attr:
            yield f"{name}: none → {_value(now.attr[name])}"
        elif before.attr[name] != now.attr[name]:
            values = _value(before.attr[name]), _value(now.attr[name])
            same = values[0] == values[1]
            yield f"{name}: other numbers" if same else f"{name}: {values[0]} → {values[1]}"


def _value(value: AttrValue) -> str:
    if value.WhichOneof("value") == "tensor" and value.tensor.ByteSize() <= MAX_DECODED_BYTES:
        try:
            return array_text(make_ndarray(value.tensor))
        except (TypeError, ValueError):
            pass  # a malformed message
    return attr_value_text(value)


def _name(name: str) -> str:
    return one_line(cut_middle(name, _MAX_NAME))


def _first(rows: list[str]) -> list[str]:
    more = len(rows) - _MAX_LISTED
    return rows[:_MAX_LISTED] + ([f"    … {more:,} more"] if more > 0 else [])
