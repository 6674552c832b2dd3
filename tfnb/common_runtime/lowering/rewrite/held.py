"""Resources of the step that a register holds in place of their handles.

If the handle of a TensorArray or a stack goes only to the ops that use the resource, nothing else
can look it up.  Then the register of the handle holds the resource itself, so that no op looks it
up, and the resource ends with the register.  Handles that meet, at a Merge or as an array and the
array of its gradients, are held together or not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.common_runtime.lowering.recognise.program import (
    Assign,
    Clear,
    Compute,
    Copy,
    Free,
    If,
    Program,
    reads_of,
    writes_of,
)
from tfnb.common_runtime.lowering.rewrite.ranks import instructions_in
from tfnb.core import dtypes
from tfnb.core.kernel_expressions import held_of

if TYPE_CHECKING:
    from typing import Any

    from tfnb.common_runtime.executor.immutable_executor_state import NodeItem
    from tfnb.core.op_expression import HeldUse

_DTYPE_ATTRS = ("dtype", "elem_type", "T")


def find_held(program: Program) -> None:
    """Mark the nodes whose resource a register may hold."""
    found = [
        (instruction, held)
        for instruction in instructions_in(program.root)
        if isinstance(instruction, Compute) and (held := _held_of(instruction.item))
    ]
    if not found:
        return
    groups = _Groups()
    lost = {*program.constants}
    kinds: dict[str, set[Any]] = {}
    uses = {}
    for instruction, held in found:
        args, results = instruction.args, instruction.results
        handles = results[:1] if makes_handle(instruction) else []
        if not handles or instruction.item.input_types[0] is dtypes.resource:
            handles, args = [args[0], *handles], args[1:]
        uses[id(instruction)] = handles[0]
        groups.join(handles[0], handles[-1])
        lost.update(args, (one for one in results if one not in handles))
        kinds.setdefault(handles[0], set()).update(_kinds(instruction.item, held))
    for other in instructions_in(program.root):
        if isinstance(other, Assign):
            for target, source in zip(other.targets, other.sources, strict=True):
                groups.join(target, source)
        elif isinstance(other, Copy):
            groups.join(other.target, other.source)
        elif id(other) not in uses and not (
            isinstance(other, Clear | Free) or (isinstance(other, If) and other.is_presence)
        ):
            lost.update(reads_of(other), writes_of(other))
    lost = {groups.of(register) for register in lost}
    all_kinds: dict[str, set[Any]] = {}
    for register, some in kinds.items():
        all_kinds.setdefault(groups.of(register), set()).update(some)
    for instruction, held in found:
        group = groups.of(uses[id(instruction)])
        # With more kinds or types, an op expects another resource than it gets: its kernel needs
        # the handle to report that.
        if group not in lost and len(all_kinds[group]) == 2:
            instruction.held = held


def makes_handle(instruction: Compute) -> bool:
    """Return whether the first output of a node is the handle."""
    kernel = instruction.item.kernel
    outputs = () if kernel is None else kernel.definition.op_def.outputs
    return bool(outputs) and outputs[0].type is dtypes.resource


def _held_of(item: NodeItem) -> HeldUse | None:
    kernel = item.kernel
    if kernel is None or item.compute is not kernel.compute:
        return None
    return held_of(kernel)


def _kinds(item: NodeItem, held: HeldUse) -> list[Any]:
    """Return the kind of resource, and its dtype if the node has one."""
    assert item.kernel is not None
    attrs = item.kernel.attrs
    return [held.kind, *[attrs[name] for name in _DTYPE_ATTRS if name in attrs]]


class _Groups:
    """A union-find of registers that may hold the same handle, or handles held together."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def of(self, register: str) -> str:
        """Return the register that represents the group."""
        while (above := self._above.get(register, register)) != register:
            self._above[register] = self._above.get(above, above)
            register = above
        return register

    def join(self, one: str, other: str) -> None:
        """Merge two groups."""
        self._above[self.of(one)] = self.of(other)
