"""Shrinks a case as long as it shows the same failure."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from tests.random_graphs.case import Case, Node, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def shrink(case: Case, still_shows: Callable[[Case], bool]) -> Case:
    """Remove steps, feeds, fetches, targets, control edges, devices and nodes if possible."""
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(case):
            if still_shows(smaller):
                case, changed = smaller, True
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    for i in range(len(case.steps)):
        if len(case.steps) > 1:
            yield _with_steps(case, case.steps[:i] + case.steps[i + 1 :])
    needed = _needed(case)
    if len(needed) < len(case.nodes):
        yield _with_nodes(case, needed)
    for i, step in enumerate(case.steps):
        for smaller in _smaller_steps(step):
            yield _with_steps(case, [*case.steps[:i], smaller, *case.steps[i + 1 :]])
    if any(node.device for node in case.nodes):
        yield _with_nodes(case, [Node(n.name, n.op, n.inputs, n.attrs) for n in case.nodes])
    for i, node in enumerate(case.nodes):
        for position, name in enumerate(node.inputs):
            if name[0] == "^":
                less = copy.deepcopy(case)
                del less.nodes[i].inputs[position]
                yield less
    sources = {node.name: node for node in case.nodes}
    for i, node in enumerate(case.nodes):
        # A simpler tensor of the same type with fewer inputs.
        data = [name for name in node.inputs if name[0] != "^"]
        if node.op in ("Const", "Switch", "Merge", "Enter", "NextIteration") or not data:
            continue
        for name in data:
            source = sources.get(name.partition(":")[0])
            if source is not None and source.attrs.get("T") == node.attrs.get("T"):
                less = copy.deepcopy(case)
                for other in less.nodes:
                    other.inputs[:] = [name if x == node.name else x for x in other.inputs]
                del less.nodes[i]
                yield less


def _smaller_steps(step: Step) -> Iterator[Step]:
    if step.pieces is not None:
        yield Step(step.feeds, step.fetches, step.targets)
        return
    for i in range(len(step.fetches)):
        yield Step(step.feeds, step.fetches[:i] + step.fetches[i + 1 :], step.targets)
    for i in range(len(step.targets)):
        yield Step(step.feeds, step.fetches, step.targets[:i] + step.targets[i + 1 :])
    for name in step.feeds:
        rest = {key: value for key, value in step.feeds.items() if key != name}
        yield Step(rest, step.fetches, step.targets)


def _with_steps(case: Case, steps: list[Step]) -> Case:
    return Case(case.nodes, steps, case.has_state, case.is_odd, case.notes)


def _with_nodes(case: Case, nodes: list[Node]) -> Case:
    return Case(nodes, case.steps, case.has_state, case.is_odd, case.notes)


def _needed(case: Case) -> list[Node]:
    by_name = {node.name: node for node in case.nodes}
    stack = [
        name.partition(":")[0]
        for step in case.steps
        for name in (*step.feeds, *step.fetches, *step.targets)
    ]
    seen: set[str] = set()
    while stack:
        name = stack.pop()
        if name not in seen and name in by_name:
            seen.add(name)
            stack += [x.lstrip("^").partition(":")[0] for x in by_name[name].inputs]
    return [node for node in case.nodes if node.name in seen]
