"""Says after a cell how much it has let the graph grow, and warns where it did so before.

A graph only grows: a cell that is run again adds its operations again, under other names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tfnb.framework.default_graph import get_default_graph
from tfnb.notebook.shell import is_notebook, show

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.graph import Graph

# A cell that adds fewer says little by being run again.
_FEWEST_REPEATED = 2


@dataclass(slots=True)
class _Before:
    """The default graph when a cell began."""

    graph: Graph
    count: int
    source: str


class GraphGrowth:
    """Watches the default graph of one shell from cell to cell.

    Attributes:
      text: what was said of the last cell, "" for nothing.
    """

    def __init__(self, shell: Any, is_on: Callable[[], bool]) -> None:
        self._shell = shell
        self._is_on = is_on
        self._before: _Before | None = None
        # (graph, source) -> the types that the cell made last, and how often it made them.
        self._made: dict[tuple[int, str], tuple[tuple[str, ...], int]] = {}
        self.text = ""

    def install(self) -> None:
        """Begins, with the next cell."""
        self._shell.events.register("pre_run_cell", self.begin)
        self._shell.events.register("post_run_cell", self.end)

    def remove(self) -> None:
        """Ends."""
        self._shell.events.unregister("pre_run_cell", self.begin)
        self._shell.events.unregister("post_run_cell", self.end)

    def begin(self, info: Any) -> None:
        """A cell begins."""
        self.text = ""
        if info.raw_cell and not info.silent:
            graph = get_default_graph()
            self._before = _Before(graph, len(graph.get_operations()), info.raw_cell.strip())

    def end(self, result: Any) -> None:
        """A cell has ended: what it added is said, if anything."""
        before, self._before = self._before, None
        if before is None or not self._is_on() or get_default_graph() is not before.graph:
            return
        operations = before.graph.get_operations()
        added = tuple(op.type for op in operations[before.count :])
        if not added:
            return
        key = id(before.graph), before.source
        last, times = self._made.get(key, ((), 0))
        times = times + 1 if added == last else 1
        self._made[key] = added, times
        ops = "op" if len(added) == 1 else "ops"
        self.text = f"+{len(added):,} {ops}, {len(operations):,} in the graph"
        if times > 1 and len(added) >= _FEWEST_REPEATED:
            self.text += (
                f"; this cell has added the same {times} times: the graph grows with every run "
                "(tf.reset_default_graph() begins anew)"
            )
        if is_notebook(self._shell):
            show({"text/plain": self.text}, raw=True)
