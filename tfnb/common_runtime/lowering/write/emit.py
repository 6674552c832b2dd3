"""The emitted Python function of a partition, with the node and inputs of each of its lines.

Its source is registered in ``linecache``, so that a traceback shows it and the line of an error
identifies the node.
"""

from __future__ import annotations

import itertools
import linecache
import weakref
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.executor.executor import as_outputs
from tfnb.common_runtime.executor.kernel_errors import check_outputs
from tfnb.common_runtime.executor.running_nodes import register_emitted
from tfnb.common_runtime.lowering.rewrite.clusters import only_gpu
from tfnb.common_runtime.lowering.support.counts import CountPlan, StepCounts, plan_of_schedule
from tfnb.common_runtime.lowering.write.step_writer import StepWriter
from tfnb.core.process.package_directory import EMITTED

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from types import CodeType, TracebackType

    from tfnb.common_runtime.executor.immutable_executor_state import (
        ImmutableExecutorState,
        NodeItem,
    )
    from tfnb.common_runtime.lowering.recognise.program import Program
    from tfnb.common_runtime.lowering.support.journal import JournalKind
    from tfnb.common_runtime.lowering.write.journal_writer import JournalPlan
    from tfnb.common_runtime.lowering.write.leave_writer import LeavePlan

_numbers = itertools.count(1)


class EmittedFunction:
    """The function of one partition.

    Attributes:
      source: its text.
      items: the node of each line, by line number; None for lines without a node.
      args: the variables with the inputs of a line's node, by line number.
      loops: name, first and last line of each loop; loop 1 counts in the variable ``turn1``.
      expressions: the lines in which a node is written as an expression.
      computes: whether it calls a kernel or evaluates an expression.
      owns_fetches: every fetch is a number, or a new array without other references.
      immutable: the partition.
      nodes: every node of the partition, by its id.
      constants: the values of constant registers.
      call: ``call(args, retvals, step, run_state)``; returns the values of ``program.predicates``.
    """

    def __init__(
        self,
        immutable: ImmutableExecutorState,
        program: Program,
        scalar_args: Collection[int],
        *,
        counts: bool = False,
        journal: JournalKind | None = None,
        draft: EmittedFunction | None = None,
    ) -> None:
        """Write and compile the function.

        Args:
          immutable: the partition.
          program: the partition's program; is changed.
          scalar_args: the arguments that are scalars.
          counts: whether it counts executions and stores them in ``run_state.counts``.
          journal: what it writes to ``run_state.journal``, if anything, or where it may be left.
          draft: the same function without points before nodes at which it may be left.
        """
        writer = StepWriter(
            immutable, program, scalar_args, counts=counts, journal=journal, draft=draft
        )
        writer.write()
        source, nodes = writer.source, writer.nodes
        self._plan = writer.count_plan
        self.immutable = immutable
        self._schedule = immutable.schedule
        self._last = writer.last
        self._journal = writer.journal
        self._leaves = writer.leaves
        self._frames = immutable.frames
        self.nodes = immutable.items
        self.source = "\n".join(source.lines) + "\n"
        self.items = source.items
        self.args = source.args
        self.loops = writer.loops
        self.expressions = nodes.expressions
        self.computes = nodes.computes
        self.owns_fetches = nodes.owns_fetches
        self.filename = f"{EMITTED}step {next(_numbers)}>"
        self._names: dict[str, Any] = dict(source.names)
        if counts and writer.leaves is None:
            this = weakref.ref(self)
            self._names["counted"] = lambda *values: StepCounts(this(), values)
        self.constants = program.constants
        self._kernels = nodes.kernels
        self._table: CodeType | None = None
        exec(compile(self.source, self.filename, "exec"), self._names)
        if journal is not None and journal.each:
            self._forget_lines()
        for name, make in writer.clusters.makers.items():
            self._names[name] = make(self._names)
        self.call: Callable[..., Any] = self._names["step"]
        gpu = None if writer.segments is None else only_gpu(immutable.items)
        if gpu is not None:
            self.call = partial(gpu.enter, self.call)
        self._on_gpu = writer.segments
        lines = [f"{line}\n" for line in source.lines]
        linecache.cache[self.filename] = (len(self.source), None, lines, self.filename)
        register_emitted(self)

    def reports(self) -> list[str]:
        """Return how clusters and GPU graphs ran, as one comment each."""
        return [] if self._on_gpu is None else self._on_gpu.reports_of(self._names)

    def check_first_outputs(self) -> None:
        """Compare the next outputs of each kernel with its op's declaration."""
        for name, (item, compute) in self._kernels.items():
            self._names[name] = partial(self._checked, name, item, compute)

    def _checked(
        self, name: str, item: NodeItem, compute: Callable[..., Any], *args: Any, **keywords: Any
    ) -> Any:
        found = compute(*args, **keywords)
        check_outputs(0, item, as_outputs(item, found))
        self._names[name] = compute
        return found

    def _forget_lines(self) -> None:
        """Keep the line table outside the function's code.

        A memory trace asks for the line of each allocation, and Python searches from the function's
        start: a hundred microseconds in a function of some hundred nodes.
        """
        step = self._names["step"]
        self._table = step.__code__
        step.__code__ = self._table.replace(co_linetable=b"")

    def line_of(self, place: TracebackType) -> int:
        """Return the line of this function that a traceback is at."""
        if self._table is None:
            return place.tb_lineno
        lines = self._table.co_lines()
        found = (line for begin, end, line in lines if begin <= place.tb_lasti < end)
        return next(found, 0) or 0

    def place_of(self, traceback: TracebackType | None) -> TracebackType | None:
        """Return the part of a traceback that is in this function."""
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename == self.filename:
                return traceback
            traceback = traceback.tb_next
        return None

    @property
    def count_plan(self) -> CountPlan:
        """The plan that computes the executions of each node from the counters."""
        if self._plan is None:
            self._plan = plan_of_schedule(self._schedule or (), self.items[: self._last + 1])
        return self._plan

    def frame_index(self, name: str) -> int:
        """Return the number of a frame among the partition's frames."""
        return self._frames[name].index

    @property
    def frame_names(self) -> list[str]:
        """The names of the partition's frames, by their numbers."""
        return sorted(self._frames, key=self.frame_index)

    @cached_property
    def journal_plans(self) -> dict[bool, JournalPlan]:
        """The layouts of its journals, by whether they hold values."""
        writers = [] if self._journal is None else self._journal.writers
        return {not one.has_times: one.plan(self.count_plan) for one in writers}

    @cached_property
    def leave_plan(self) -> LeavePlan:
        """The meaning of its lines, if the function may be left."""
        assert self._leaves is not None
        return self._leaves.plan(self.count_plan)

    @property
    def root_lines(self) -> list[int]:
        """The lines at which it may be left: the last line of each outermost instruction."""
        return [] if self._leaves is None else self._leaves.root_lines

    @property
    def journal_sites(self) -> int:
        """The number of its lines that append to its journal of values."""
        writers = [] if self._journal is None else self._journal.writers
        return sum(one.sites for one in writers if not one.has_times)

    def counts_at(self, line: int, values: Mapping[str, Any]) -> StepCounts:
        """Return how often each node ran.

        Args:
          line: the current line.
          values: the function's variables.
        """
        item = self.items[line] if line < len(self.items) else None
        found = [values.get(name, 0) for name in self.count_plan.variables]
        return StepCounts(self, found, line, -1 if item is None else item.id)

    def inputs_at(self, place: TracebackType) -> list[Any]:
        """Return the inputs of the node whose line a traceback is at."""
        values = {**self._names, **place.tb_frame.f_locals}
        return [values[name] for name in self.args.get(self.line_of(place), ())]

    def node_at(self, line: int) -> NodeItem | None:
        """Return the node of a line; for a line between two nodes, the one above."""
        for number in range(min(line, len(self.items) - 1), 0, -1):
            item = self.items[number]
            if item is not None:
                return item
        return None

    def has_loop_at(self, line: int) -> bool:
        """Return whether a line is inside a loop."""
        return any(first <= line <= last for _, first, last in self.loops.values())

    def frames_around(self, item: NodeItem) -> list[str]:
        """Return the names of the frames around a node, the outermost first."""
        parents = {loop.frame_name: loop.parent for loop in self.count_plan.blocks_and_loops[1]}
        found, name = list[str](), item.frame.name
        while name:
            found.insert(0, name)
            name = parents[name]
        return found

    def loops_around(self, line: int, values: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
        """Return the loops around a line and their iterations, the outermost first."""
        return tuple(
            (name, values[f"turn{number}"])
            for number, (name, first, last) in sorted(
                self.loops.items(), key=lambda entry: entry[1][1]
            )
            if first <= line <= last and f"turn{number}" in values
        )
