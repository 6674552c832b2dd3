"""Mutations to graphs that no front end builds.

``parallel_iterations`` below 1 is left out, because it ends TensorFlow's process, and so is a
NextIteration outside of a loop, which TensorFlow runs by accident and tfnb refuses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from tests.random_graphs.case import Node


def mutate(nodes: list[Node], rng: random.Random) -> list[str]:
    """Change a graph in one or no place; return the kind of change."""
    changes: list[Callable[[list[Node], random.Random], bool]] = [
        _leave_without_exit,
        _rename_frame,
        _exit_alone,
        _forget_back_edge,
        _skip_loop_cond,
        _untie_constant,
        _disagree_on_parallel_iterations,
        _merge_of_one,
    ]
    change = rng.choice(changes)
    if rng.random() < 0.75 and change(nodes, rng):
        return [change.__name__.removeprefix("_").replace("_", " ")]
    return []


def _of(nodes: list[Node], *ops: str) -> list[Node]:
    return [node for node in nodes if node.op in ops]


def _leave_without_exit(nodes: list[Node], rng: random.Random) -> bool:
    """Give a node outside of a loop an input from inside."""
    inside = _of(nodes, "NextIteration")
    outside = [n for n in _of(nodes, "Exit") if n.attrs == {"T": ["type", "int32"]}]
    fitting = [n for n in inside if n.attrs["T"] == ["type", "int32"]]
    if not fitting or not outside:
        return False
    source, leaving = rng.choice(fitting), rng.choice(outside)
    changed = False
    for node in nodes:
        if leaving.name in node.inputs:
            node.inputs[node.inputs.index(leaving.name)] = source.inputs[0]
            changed = True
    return changed


def _rename_frame(nodes: list[Node], rng: random.Random) -> bool:
    """Give one Enter another frame name."""
    enters = _of(nodes, "Enter")
    if not enters:
        return False
    rng.choice(enters).attrs["frame_name"] = ["text", "another"]
    return True


def _exit_alone(nodes: list[Node], rng: random.Random) -> bool:
    """Put an Exit outside of every loop."""
    passing = [n for n in _of(nodes, "Identity", "Neg", "Abs") if "T" in n.attrs]
    if not passing:
        return False
    rng.choice(passing).op = "Exit"
    return True


def _forget_back_edge(nodes: list[Node], rng: random.Random) -> bool:
    """Remove the back edge of a loop variable: its Merge has the Enter twice."""
    names = {node.name for node in _of(nodes, "NextIteration")}
    merges = [n for n in _of(nodes, "Merge") if len(n.inputs) == 2 and n.inputs[1] in names]
    if not merges:
        return False
    node = rng.choice(merges)
    node.inputs[:] = node.inputs[:1]
    node.attrs["N"] = ["int", 1]
    return True


def _skip_loop_cond(nodes: list[Node], rng: random.Random) -> bool:
    """Give the Switches the input of the LoopCond as predicate."""
    conds = _of(nodes, "LoopCond")
    if not conds:
        return False
    cond = rng.choice(conds)
    for node in nodes:
        node.inputs[:] = [cond.inputs[0] if name == cond.name else name for name in node.inputs]
    return True


def _untie_constant(nodes: list[Node], rng: random.Random) -> bool:
    """Move a constant of a loop or branch to the root."""
    tied = [node for node in _of(nodes, "Const") if node.inputs]
    if not tied:
        return False
    rng.choice(tied).inputs.clear()
    return True


def _disagree_on_parallel_iterations(nodes: list[Node], rng: random.Random) -> bool:
    """Give the Enters of a frame different numbers of parallel iterations: the first one counts."""
    enters = _of(nodes, "Enter")
    for node in enters:
        node.attrs["parallel_iterations"] = ["int", rng.randint(1, 32)]
    return bool(enters)


def _merge_of_one(nodes: list[Node], rng: random.Random) -> bool:
    """Replace an Identity by a Merge with one input."""
    passing = _of(nodes, "Identity")
    if not passing:
        return False
    node = rng.choice(passing)
    node.op = "Merge"
    node.attrs["N"] = ["int", 1]
    return True
