"""The changes of each pass to a graph, for a picture: removed, folded, merged, inlined nodes."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfnb.core.op_registry import find
from tfnb.notebook.scenes.attr_text import cut_middle, one_line
from tfnb.notebook.scenes.graph_scene import plain_attr_text, shape_of_output
from tfnb.notebook.scenes.node_notes import passes_by_node
from tfnb.notebook.scenes.scene import CONTROL, Scene, SceneNode, build_scene

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.common_runtime.session.pass_trace import NodeSnapshot, PassStage
    from tfnb.framework.graph import Graph

# In the order in which they are listed.
CHANGES = ("removed", "folded", "merged", "inlined", "added", "changed", "rewired")
_MARKS = {"removed": "-", "merged": "-", "inlined": "*", "added": "+"}
_FIRST_NAME = re.compile(r"'([^']+?)(?::\d+)?'")
_WORDS = (
    ("is the same as", "merged"),
    ("became a constant", "folded"),
    ("is always", "folded"),
    ("was inlined", "inlined"),
)
_MOST_LINES = 24
_MOST_LABEL = 60


@dataclass(frozen=True, slots=True)
class PassPicture:
    """One pass that changed the graph.

    Attributes:
      name: the name of the pass.
      where: when it ran, and on which device's graph.
      actions: its report.
      before: the change of each node before the pass, by name; "" for none.
      after: the change of each node after the pass, by name; "" for none.
    """

    name: str
    where: str
    actions: tuple[str, ...]
    stage: PassStage
    before: Mapping[str, str]
    after: Mapping[str, str]

    @property
    def summary(self) -> str:
        """The number of nodes for each kind of change, as text."""
        counts = Counter(change for change in self.before.values() if change)
        new = {name: change for name, change in self.after.items() if name not in self.before}
        added = Counter(change for change in new.values() if change == "added")
        told = [(counts + added)[kind] for kind in CHANGES]
        parts = [f"{count:,} {kind}" for kind, count in zip(CHANGES, told) if count]
        return ", ".join(parts) or "order only"

    def scene(self, graph: Graph | None, *, is_after: bool) -> Scene:
        """Return the graph before or after the pass, with marked nodes."""
        graph = None if self.stage.function else graph
        snapshots = self.stage.after if is_after else self.stage.before
        changes = self.after if is_after else self.before
        touched = passes_by_node([self.name, *(f"  {action}" for action in self.actions)])
        index = {node.name: place for place, node in enumerate(snapshots)}
        nodes = [
            SceneNode(
                node.name,
                node.op,
                tuple(
                    (index[source], CONTROL if slot < 0 else slot)
                    for source, slot in node.inputs
                    if source in index
                ),
                assigned_device=node.device,
                attrs=_attrs(node),
                outputs=tuple(
                    (dtype, shape_of_output(graph, node.name, node.op, slot))
                    for slot, dtype in enumerate(node.output_types)
                ),
                touched=touched.get(node.name, ()),
                change=changes.get(node.name, "") or "same",
            )
            for node in snapshots
        ]
        return build_scene(nodes, title=f"{self.name} {'after' if is_after else 'before'}")


def pass_pictures(stages: Sequence[PassStage]) -> list[PassPicture]:
    """Return the picture of each stage."""
    return [_picture(stage) for stage in stages]


def _picture(stage: PassStage) -> PassPicture:
    report = stage.report
    device = stage.device.rpartition("device:")[2]
    where = report.grouping.name.lower().replace("_", " ") + (f", {device}" if device else "")
    where += f", in function '{stage.function}'" if stage.function else ""
    before, after = _changes(stage)
    return PassPicture(report.name, where, report.actions, stage, before, after)


def _changes(stage: PassStage) -> tuple[dict[str, str], dict[str, str]]:
    said: dict[str, str] = {}
    for action in stage.report.actions:
        first = _FIRST_NAME.search(action)
        kind = next((kind for words, kind in _WORDS if words in action), "")
        if first is not None and kind:
            said[first[1]] = kind
    before = {node.name: node for node in stage.before}
    after = {node.name: node for node in stage.after}
    calls = {name for name, node in before.items() if _calls_functions(node)}
    constants = {
        name for node in stage.after if node.name not in before for name in node.original_names
    }
    was: dict[str, str] = {}
    for name, node in before.items():
        now = after.get(name)
        if now is not None:
            was[name] = _change_of(node, now, name in calls)
        elif name in constants and "folding" in stage.report.name:
            was[name] = "folded"
        else:
            was[name] = said.get(name) or ("inlined" if name in calls else "removed")
    has_inlined = "inlined" in was.values()
    becomes: dict[str, str] = {}
    for name, node in after.items():
        if name in before:
            becomes[name] = was[name]
        elif node.op == "Const" and node.original_names and not has_inlined:
            becomes[name] = "folded"
        else:
            is_body = has_inlined and (node.original_names or "/" in name)
            becomes[name] = "inlined" if is_body else "added"
    return was, becomes


def _change_of(before: NodeSnapshot, after: NodeSnapshot, is_call: bool) -> str:
    if before.op != after.op:
        if after.op == "Const":
            return "folded"
        return "inlined" if is_call else "changed"
    if before.inputs != after.inputs:
        return "rewired"
    return "" if before.attrs == after.attrs else "changed"


def _calls_functions(node: NodeSnapshot) -> bool:
    """Return whether a node calls a function, or takes functions to call."""
    definition = find(node.op)
    if definition is None:
        return True
    return any(attr.type in ("func", "list(func)") for attr in definition.op_def.attrs)


def _attrs(node: NodeSnapshot) -> tuple[tuple[str, str], ...]:
    return tuple((name, plain_attr_text(node.attrs[name])) for name in sorted(node.attrs))


def passes_text(pictures: Sequence[PassPicture]) -> str:
    """Return all passes as text: ``-`` removed, ``~`` changed, ``+`` added, ``*`` inlined."""
    if not pictures:
        return "No pass changed anything."
    lines = []
    for number, one in enumerate(pictures, 1):
        sizes = f"{len(one.before):,} → {len(one.after):,} nodes"
        lines.append(f"{number}. {one.name} ({one_line(one.where)}): {sizes}; {one.summary}")
        shown = [(name, change) for name, change in one.before.items() if change]
        shown += [(name, change) for name, change in one.after.items() if name not in one.before]
        ops = {node.name: node.op for node in (*one.stage.after, *one.stage.before)}
        shown.sort(key=lambda pair: CHANGES.index(pair[1]))
        for name, change in shown[:_MOST_LINES]:
            label = cut_middle(one_line(name), _MOST_LABEL)
            lines.append(f"  {_MARKS.get(change, '~')} {label} ({one_line(ops[name])}) {change}")
        if len(shown) > _MOST_LINES:
            lines.append(f"  … {len(shown) - _MOST_LINES:,} more")
    return "\n".join(lines)
