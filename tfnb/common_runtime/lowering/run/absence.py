"""Explains why a fetch has no value after a step that ran as an emitted function.

The function keeps no counts.  It returns the predicates of the root frame, which determine the live
nodes there.  The search from a dead fetch back to the Switch that sent its value to the other
output works as in ``step_progress.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.executor.immutable_executor_state import INTO_PARENT, RETVAL
from tfnb.common_runtime.executor.waiting import dead_value
from tfnb.common_runtime.lowering.recognise.registers import SWITCHES
from tfnb.core.process.standstill import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.common_runtime.executor.immutable_executor_state import (
        ImmutableExecutorState,
        NodeItem,
    )
    from tfnb.core import errors


def absent_value(
    immutable: ImmutableExecutorState,
    sides: dict[int, Any],
    position: int,
    name: str,
) -> errors.OpError:
    """Return the error of a step that ended without a value for one of its results.

    Args:
      immutable: the partition.
      sides: the predicate of each Switch in the root frame, by the Switch's id; None where it was
        not evaluated.
      position: the index of the result in the call frame.
      name: the name of the result.
    """
    origin = _Liveness(immutable, sides).origin(position)
    finding = None
    if origin is not None:
        did = "sent its value the other way" if origin.op in SWITCHES else "gave no value"
        finding = Finding(f"'{origin.name}' ({origin.op}) {did}", origin.name)
    return dead_value(position, name, finding)


class _Liveness:
    """Liveness of the nodes in the root frame."""

    def __init__(self, immutable: ImmutableExecutorState, sides: dict[int, Any]) -> None:
        self._items = immutable.items
        self._sides = sides
        self._before: dict[int, list[tuple[NodeItem, int]]] = {}
        self._enters: dict[str, list[NodeItem]] = {}
        for item in immutable.items:
            if item.is_enter:
                self._enters.setdefault(item.frame_name, []).append(item)
            for output, dst, _ in item.data_edges:
                self._before.setdefault(dst.id, []).append((item, output))
            for dst in item.control_edges:
                self._before.setdefault(dst.id, []).append((item, -1))
        self._alive: dict[int, bool] = {}
        self._find()

    def _find(self) -> None:
        """Find whether each node of the root frame was alive; inputs first."""
        stack = [item for item in self._items if not item.frame.name]
        while stack:
            item = stack[-1]
            if item.id in self._alive:
                stack.pop()
                continue
            missing = [
                src
                for before, _ in self._before.get(item.id, ())
                for src in self._in_root(before)
                if src.id not in self._alive
            ]
            if missing:
                stack += missing
                continue
            stack.pop()
            edges = self._before.get(item.id, ())
            if item.is_merge:
                self._alive[item.id] = any(
                    self._carries(src, output) for src, output in edges if output >= 0
                )
            else:
                self._alive[item.id] = item.is_control_trigger or all(
                    self._carries(src, output) for src, output in edges
                )

    def _in_root(self, src: NodeItem) -> Sequence[NodeItem]:
        """Return the node itself; for an Exit, the Enters of its loop."""
        return self._enters.get(src.frame.name, ()) if src.frame.name else (src,)

    def _carries(self, src: NodeItem, output: int) -> bool:
        if not all(self._alive[one.id] for one in self._in_root(src)):
            return False
        if output >= 0 and src.op in SWITCHES:
            return _takes(src, self._sides.get(src.id), output)
        return True

    def origin(self, position: int) -> NodeItem | None:
        """Return the node where the deadness of a result began, in most cases a Switch."""
        here = next(
            item
            for item in self._items
            if item.action == RETVAL and item.argument_index == position
        )
        if here.frame.name:
            return None  # the predicates of a loop are not kept after its end
        seen = {here.id}
        while True:
            following: NodeItem | None = None
            origin: NodeItem | None = None
            for before, output in self._before.get(here.id, ()):
                for src in self._in_root(before):
                    if not self._alive[src.id] and src.id not in seen:
                        following = following or src
                if following is not None:
                    break
                if before.op in SWITCHES and output >= 0:
                    origin = before
                elif before.destination == INTO_PARENT:
                    origin = origin or before
            if following is None:
                return origin
            seen.add(following.id)
            here = following


def _takes(item: NodeItem, decided: Any, output: int) -> bool:
    """Return whether a Switch with the predicate ``decided`` sent its value to an output."""
    if item.op != "_SwitchN":
        return bool(decided) == (output == 1)
    if decided is None:
        return False
    last = item.num_outputs - 1
    return output == (int(decided) if 0 <= int(decided) < last else last)
