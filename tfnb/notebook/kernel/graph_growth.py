"""Reports after a cell how much the graph has grown, and warns if the cell grew it before.

A graph only grows: a cell that is run again adds its operations again, under other names.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.exporter import node_def_of
from tfnb.notebook.kernel.shell import is_notebook, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation
    from tfnb.proto.graph_pb2 import NodeDef

# The repeated run of a cell that adds fewer operations causes no warning.
_FEWEST_REPEATED = 2


@dataclass(slots=True)
class _Before:
    """The state of the default graph when a cell began."""

    graph: Graph
    count: int
    revision: int
    source: str
    key: str


@dataclass(frozen=True, slots=True)
class CellNodes:
    """The nodes that one run of a cell made.

    Attributes:
      number: the number of the run, as in ``In [n]``.
      is_replaced: whether they replaced the nodes of the previous run, under their names.
    """

    number: int
    nodes: list[NodeDef]
    is_replaced: bool = False


class GraphGrowth:
    """Watches the default graph of one shell from cell to cell.

    Attributes:
      text: the report about the last cell, "" for none.
      again: the last two runs of the latest cell that made operations again, the latest run last.
    """

    def __init__(self, shell: Any, is_on: Callable[[], bool]) -> None:
        self._shell = shell
        self._is_on = is_on
        self._before: _Before | None = None
        # (graph, source) -> the types of ops that the cell last made, and how often it made them.
        self._made: dict[tuple[int, str], tuple[tuple[str, ...], int]] = {}
        self._runs: dict[tuple[int, str], deque[CellNodes]] = {}
        self.again: tuple[CellNodes, ...] = ()
        self._is_noted = False
        self.text = ""

    def install(self) -> None:
        """Start watching, with the next cell."""
        self._shell.events.register("pre_run_cell", self.begin)
        self._shell.events.register("post_run_cell", self.end)

    def remove(self) -> None:
        """Stop watching."""
        self._shell.events.unregister("pre_run_cell", self.begin)
        self._shell.events.unregister("post_run_cell", self.end)

    def begin(self, info: Any) -> None:
        """Store the state of the graph when a cell begins."""
        self.text = ""
        self._is_noted = False
        if info.raw_cell and not info.silent:
            graph = get_default_graph()
            source = info.raw_cell.strip()
            key = getattr(info, "cell_id", None) or source
            self._before = _Before(graph, graph.version, graph.revision, source, key)

    def end(self, result: Any) -> None:
        """Report the operations that a cell has added, if any, when it has ended."""
        before, self._before = self._before, None
        if before is None or not self._is_on() or get_default_graph() is not before.graph:
            return
        if before.graph.revision != before.revision:
            return  # the cell replaced and reported operations
        operations = before.graph.get_operations()
        added = tuple(op.type for op in operations[before.count :])
        if not added:
            return
        if not self._is_noted:
            number = result.execution_count or 0
            self.note_run(before.graph, before.key, operations[before.count :], number)
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

    def note_run(
        self,
        graph: Graph,
        key: str,
        operations: Iterable[Operation],
        number: int,
        *,
        is_replaced: bool = False,
    ) -> None:
        """Keep the nodes that a run of a cell made, beside those of its previous run."""
        runs = self._runs.setdefault((id(graph), key), deque(maxlen=2))
        self._is_noted = True
        runs.append(CellNodes(number, [node_def_of(op) for op in operations], is_replaced))
        if len(runs) == 2:
            self.again = tuple(runs)
