"""A partition as emitted functions.

This module is imported, with the code that writes functions, when the first one is written: most
signatures run once, by their schedule.
"""

from __future__ import annotations

from functools import partial
from threading import Lock
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.executor import waiting
from tfnb.common_runtime.executor.executor import drive
from tfnb.common_runtime.executor.immutable_executor_state import ARG, ASYNC
from tfnb.common_runtime.executor.kernel_errors import annotate
from tfnb.common_runtime.executor.run_state import Leave, has_absent
from tfnb.common_runtime.executor.running_nodes import runs_nodes
from tfnb.common_runtime.executor.waiting import explained
from tfnb.common_runtime.lowering.recognise.program import Compute
from tfnb.common_runtime.lowering.recognise.recognise import recognise
from tfnb.common_runtime.lowering.rewrite.ranks import instructions_in
from tfnb.common_runtime.lowering.run.absence import absent_value
from tfnb.common_runtime.lowering.run.leave import fresh_executors, go_on
from tfnb.common_runtime.lowering.support.counts import StepCounts
from tfnb.common_runtime.lowering.support.journal import Journal
from tfnb.common_runtime.lowering.write.emit import EmittedFunction
from tfnb.common_runtime.lowering.write.node_writer import rank_matters
from tfnb.core import dtypes
from tfnb.core.process.signal_handlers import raised_by_handler

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from tfnb.common_runtime.executor.immutable_executor_state import (
        ImmutableExecutorState,
        NodeItem,
    )
    from tfnb.common_runtime.executor.run_state import RunState
    from tfnb.common_runtime.executor.warm_up import type_of_absence
    from tfnb.common_runtime.lowering.recognise.program import Program
    from tfnb.common_runtime.lowering.support.journal import JournalKind
    from tfnb.core.errors import OpError
    from tfnb.core.op_kernel import StepContext

# Limit of function variants, one for each set of arguments that are scalars.
_MOST_VARIANTS = 4


class LoweredStep:
    """One partition as a function, or as several: one for each set of arguments that are scalars.

    Attributes:
      has_conditional_fetch: whether a fetch may be dead.
      has_loops: whether it has frames.
      waits: whether a kernel in it may block.
      only: its function, if one function serves all arguments.
    """

    def __init__(
        self,
        immutable: ImmutableExecutorState,
        *,
        counts: bool = False,
        journal: JournalKind | None = None,
    ) -> None:
        """Lower a partition.

        Args:
          immutable: the partition.
          counts: whether its functions count the runs of nodes.
          journal: the journal that its functions write; None for none.

        Raises:
          Unrecognised: the partition cannot be written as a function.
        """
        self._immutable = immutable
        self._counts = counts
        self._journal = journal
        self._whole: StepCounts | None = None
        self._wanted = () if journal is None or journal.leaves is None else journal.leaves.after
        program = self._recognise()
        self.has_conditional_fetch = program.has_conditional_fetch
        self.has_loops = program.num_loops > 0
        self.waits = any(item.action == ASYNC for item in immutable.items)
        self._predicates = program.predicates
        self._switches = program.switches
        self._arguments = _scalar_candidates(program)
        self._variants: dict[tuple[int, ...], EmittedFunction] = {}
        self.only: EmittedFunction | None = None
        self._program: Program | None = None  # until a function is made of it
        self._lock = Lock()
        if self._arguments:
            self._program = program
        else:
            self.only = self._emit(program, ())

    @property
    def source(self) -> str:
        """The source of the function; of the one written last, if there are several."""
        emitted = self._any()
        return "\n".join([emitted.source, *emitted.reports()])

    @property
    def items(self) -> list[NodeItem | None]:
        """The node of each line, by line number; None for lines without a node."""
        return self._any().items

    def functions(self) -> list[EmittedFunction]:
        """Return the functions written so far."""
        return [*self._variants.values(), *([] if self.only is None else [self.only])]

    def _any(self) -> EmittedFunction:
        if self.only is not None:
            return self.only
        return list(self._variants.values())[-1] if self._variants else self._variant(())

    def variant_for(self, args: Sequence[Any]) -> EmittedFunction:
        """Return the function for these arguments, if there is more than one."""
        return self._variant(tuple([i for i in self._arguments if isinstance(args[i], np.generic)]))

    def _variant(self, scalar_args: tuple[int, ...]) -> EmittedFunction:
        found = self._variants.get(scalar_args)
        if found is not None:
            return found
        if len(self._variants) >= _MOST_VARIANTS and scalar_args:
            return self._variant(())
        with self._lock:
            # Writing a program changes it, so each function needs its own program.
            program, self._program = self._program, None
            if program is None:
                program = self._recognise()
            found = self._emit(program, scalar_args)
            return self._variants.setdefault(scalar_args, found)

    def _recognise(self) -> Program:
        return recognise(self._immutable, counts=self._counts, wanted=self._wanted)

    def _emit(self, program: Program, scalar_args: tuple[int, ...]) -> EmittedFunction:
        """Write the function of a program for the given arguments that are scalars."""
        immutable, counts, journal = self._immutable, self._counts, self._journal
        draft = None
        if journal is not None and journal.leaves is not None and journal.leaves.before:
            # The positions of nodes without a line follow from the lines of the others.
            kind = journal._replace(leaves=journal.leaves._replace(before=()))
            draft = EmittedFunction(
                immutable,
                self._recognise(),
                scalar_args,
                counts=counts,
                journal=kind,
            )
        return EmittedFunction(
            immutable, program, scalar_args, counts=counts, journal=journal, draft=draft
        )

    @runs_nodes(run_state="run_state")
    def run(self, run_state: RunState, step: StepContext) -> type_of_absence | None:
        """Run one step, which puts its results into the call frame.

        Returns:
          A function that explains a result without a value; None if all have one.

        Raises:
          OpError: a kernel failed, or the step was cancelled.
        """
        frame = run_state.call_frame
        args, retvals = (frame.args, frame.retvals) if frame is not None else ((), [])
        emitted = self.only
        if emitted is None:
            emitted = self.variant_for(args)
        immutable = self._immutable
        if not immutable.warm_up.is_checked:
            emitted.check_first_outputs()
        if self._journal is not None:
            run = self._run_recorded if self._journal.leaves is None else self._run_until_near
            return run(emitted, run_state, step, args, retvals)
        try:
            predicates: Sequence[Any] = emitted.call(args, retvals, step, run_state) or ()
            immutable.warm_up.is_checked = True
            return self._absence(retvals, predicates) if self.has_conditional_fetch else None
        except BaseException as error:
            if run_state.hooks.step_counted is not None:
                place = emitted.place_of(error.__traceback__)
                if place is not None:
                    values = place.tb_frame.f_locals
                    run_state.counts = emitted.counts_at(place.tb_lineno, values)
            found = self.failure(emitted, run_state, error)
            if found is error:
                raise
            raise found from found.__cause__

    @runs_nodes(run_state="run_state")
    def _run_recorded(
        self,
        emitted: EmittedFunction,
        run_state: RunState,
        step: StepContext,
        args: Sequence[Any],
        retvals: list[Any],
    ) -> type_of_absence | None:
        """Run a step like :meth:`run`, with a journal; pass it to listeners before and after."""
        hooks, kind = run_state.hooks, self._journal
        assert kind is not None
        debugger = hooks.debugger if kind.keeps else None
        journals: list[Journal] = []
        if kind.times:
            run_state.journal = Journal(emitted)
            journals.append(run_state.journal)
            if hooks.journal_began is not None:
                hooks.journal_began(run_state.step_id, run_state.journal)
        if kind.keeps:
            run_state.kept_journal = Journal(emitted, is_of_values=True)
            journals.append(run_state.kept_journal)
            if debugger is not None:
                run_state.kept_journal.most = debugger.most_kept * emitted.journal_sites
        try:
            predicates: Sequence[Any] = emitted.call(args, retvals, step, run_state) or ()
            self._immutable.warm_up.is_checked = True
            return self._absence(retvals, predicates)
        except BaseException as error:
            ended_ns = perf_counter_ns()
            place = emitted.place_of(error.__traceback__)
            for journal in journals:
                journal.ended_ns = ended_ns
                if place is not None:
                    values = place.tb_frame.f_locals
                    journal.stopped(emitted.line_of(place), values)
                    run_state.counts = emitted.counts_at(journal.line, values)
            found = self.failure(emitted, run_state, error)
            if found is error:
                raise
            raise found from found.__cause__
        finally:
            run_state.journal = run_state.kept_journal = None
            for journal in journals:
                has_ended = journal.line == 0
                journal.counts = self.counts_of(run_state) if has_ended else run_state.counts
                journal.length = len(journal.entries)
                if journal.is_of_values:
                    if debugger is not None:
                        debugger.kept(run_state, journal)
                elif hooks.journal_ended is not None:
                    hooks.journal_ended(run_state.step_id, journal)

    @runs_nodes(run_state="run_state")
    def _run_until_near(
        self,
        emitted: EmittedFunction,
        run_state: RunState,
        step: StepContext,
        args: Sequence[Any],
        retvals: list[Any],
    ) -> type_of_absence | None:
        """Run a step like :meth:`run`, until a debugger stops the function."""
        debugger = run_state.hooks.debugger
        run_state.may_be_left, run_state.emitted = True, emitted
        try:
            if debugger is not None and debugger.stops_soon:
                run_state.leave_function()
            predicates: Sequence[Any] = emitted.call(args, retvals, step, run_state) or ()
            self._immutable.warm_up.is_checked = True
            return self._absence(retvals, predicates)
        except Leave as leave:
            place = emitted.place_of(leave.__traceback__)
            assert place is not None
            values = {**emitted.constants, **place.tb_frame.f_locals}
            line = emitted.line_of(place)
            place = leave.__traceback__ = None
        except BaseException as error:
            found = self.failure(emitted, run_state, error)
            if found is error:
                raise
            raise found from found.__cause__
        finally:
            run_state.was_left()
        # The function was left: the reference executor runs the other nodes.
        assert debugger is not None
        debugger.wants(run_state)
        executors = fresh_executors(emitted, run_state, step, debugger)
        run_state.left = run_state.executors = executors
        go_on(executors, emitted, line, values)
        values.clear()
        drive(run_state, executors)
        return partial(waiting.absent_value, run_state.left) if has_absent(retvals) else None

    def counts_of(self, run_state: RunState) -> StepCounts | None:
        """Return the counts of a step that has ended; None if nothing of it ran."""
        found: StepCounts | None = run_state.counts
        if self._journal is not None and self._journal.leaves is not None:
            return None
        if found is None and not self._counts:
            if self._whole is None:
                self._whole = StepCounts(self._any())
            return self._whole
        return found

    def failure(
        self, emitted: EmittedFunction, run_state: RunState, error: BaseException
    ) -> BaseException:
        """Return the error that ends a step: the given one, or one that names the node."""
        if isinstance(error, Exception):
            return self._explained(emitted, run_state, error)
        if isinstance(error, KeyboardInterrupt):
            explained(run_state, error)
        return error

    def _absence(self, retvals: Sequence[Any], predicates: Sequence[Any]) -> type_of_absence | None:
        return partial(self.absent_value, predicates) if has_absent(retvals) else None

    def absent_value(self, predicates: Sequence[Any], position: int, name: str) -> OpError:
        """Return the error of a step that ended without a value for a fetch."""
        values = dict(zip(self._predicates, predicates, strict=True))
        sides = {switch: values.get(name) for switch, name in self._switches.items()}
        return absent_value(self._immutable, sides, position, name)

    def _explained(
        self, emitted: EmittedFunction, run_state: RunState, error: Exception
    ) -> BaseException:
        place = emitted.place_of(error.__traceback__)
        if error is run_state.stop:
            return explained(run_state, error)
        item = None if place is None else emitted.items[emitted.line_of(place)]
        if place is None or item is None:
            return error
        inputs = emitted.inputs_at(place)
        line = emitted.line_of(place)
        if line in emitted.expressions and not raised_by_handler(error):
            # Run the kernel: only it raises TensorFlow's message, the inlined expression does not.
            assert item.compute is not None
            try:
                item.compute(*inputs)
            except Exception as again:
                error = again.with_traceback(error.__traceback__)
        device = self._immutable.device if item.kernel is None else item.kernel.device
        return annotate(error, item.name, item.op, device.name, inputs)

    def node_of(self, traceback: TracebackType | None) -> NodeItem | None:
        """Return the node of the line in a traceback."""
        for emitted in self.functions():
            place = emitted.place_of(traceback)
            if place is not None:
                return emitted.items[emitted.line_of(place)]
        return None


def _scalar_candidates(program: Program) -> tuple[int, ...]:
    """Return the arguments for which it matters whether they are scalars."""
    if not rank_matters(program):
        return ()
    found = []
    for instruction in instructions_in(program.root):
        if isinstance(instruction, Compute) and instruction.item.action == ARG:
            dtype = instruction.item.output_types[0]
            if dtype not in (dtypes.string, dtypes.resource, dtypes.variant):
                found.append(instruction.item.argument_index)
    return tuple(found)
