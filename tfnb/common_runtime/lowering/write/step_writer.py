"""Writes a partition as one Python function, with one line for each node.

Values are local variables, deleted after their last use.  Numbers are the only part of the graph in
the code of the source; kernels are its globals, and node names appear only in comments, escaped::

    def step(args, retvals, step, run_state):
        v0 = args[0]                            # 'x' (_Arg)
        v3 = v0                                 # 'while/Merge' (Merge)
        for turn1 in count():                   # frame 'while/while_context'
            if run_state.stop is not None: run_state.heed_stop()
            v5 = v3 < c4                        # 'while/Less' (Less)
            if not v5:
                break
            v6 = v3 + c7                        # 'while/add' (AddV2)
            v3 = v6                             # 'while/Merge' (Merge)
        retvals[0] = v3                         # '_retval_while_0_0' (_Retval)

Below it are the functions of clusters, each of which writes a tile of its result.

This module writes blocks, conds, loops and their counters; ``node_writer.py`` and
``cluster_writer.py`` write nodes and clusters.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.lowering.recognise.conditions import PRESENCE
from tfnb.common_runtime.lowering.recognise.program import (
    Assign,
    Block,
    CheckPredicate,
    Choose,
    Clear,
    Cluster,
    Compute,
    Copy,
    Deferred,
    ExitLoop,
    Free,
    If,
    Loop,
    Mark,
    PartialSum,
    Program,
    Read,
    Segment,
    Sent,
    insides_of,
)
from tfnb.common_runtime.lowering.rewrite.biased_kernels import find_biased, may_be_biased
from tfnb.common_runtime.lowering.rewrite.clusters import count_uses, find_clusters
from tfnb.common_runtime.lowering.rewrite.frees import place_frees
from tfnb.common_runtime.lowering.rewrite.held import find_held
from tfnb.common_runtime.lowering.rewrite.product_sums import defer_products
from tfnb.common_runtime.lowering.rewrite.ranks import instructions_in, scalar_registers
from tfnb.common_runtime.lowering.rewrite.sums import spread_sums
from tfnb.common_runtime.lowering.support.counts import Counting, CountPlan, Kind
from tfnb.common_runtime.lowering.write.cluster_writer import ClusterWriter
from tfnb.common_runtime.lowering.write.journal_writer import JournalWriter, JournalWriters
from tfnb.common_runtime.lowering.write.leave_writer import LeaveWriter, registers_to_keep
from tfnb.common_runtime.lowering.write.node_writer import NodeWriter
from tfnb.common_runtime.lowering.write.source import CALLS_PER_CHECK, Source
from tfnb.core.compiled.helper import is_available, is_deterministic
from tfnb.core.process.later import later

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from tfnb.common_runtime.executor.immutable_executor_state import ImmutableExecutorState
    from tfnb.common_runtime.lowering.recognise.conditions import type_of_literal
    from tfnb.common_runtime.lowering.recognise.program import type_of_instruction
    from tfnb.common_runtime.lowering.rewrite import compiled_clusters, segments
    from tfnb.common_runtime.lowering.support.journal import JournalKind
    from tfnb.common_runtime.lowering.write.leave_writer import WrittenFunction
else:
    # Used where kernels are compiled, and where there is a GPU; a step may be the first to do so.
    compiled_clusters = later(
        "tfnb.common_runtime.lowering.rewrite.compiled_clusters", in_step=True
    )
    segments = later("tfnb.common_runtime.lowering.rewrite.segments", in_step=True)


class StepWriter:
    """Builds the source and the names it refers to.

    Attributes:
      source: receives the lines.
      nodes, clusters: the writers of these.
      segments: the module ``segments.py``, if there is a GPU.
      loops: name, first and last line of each loop.
      last: the last line of the step; other functions follow.
      count_plan: the meaning of its counters, if its nodes are counted.
      journal: the writer of its journal, if it has one.
      leaves: the writer of the points where it may be left, if there are any.
    """

    def __init__(
        self,
        immutable: ImmutableExecutorState,
        program: Program,
        scalar_args: Collection[int],
        *,
        counts: bool,
        journal: JournalKind | None = None,
        draft: WrittenFunction | None = None,
    ) -> None:
        """Initialize the writer; for the arguments see ``EmittedFunction``."""
        self._immutable = immutable
        self._program = program
        points = None if journal is None else journal.leaves
        if journal is None or not (journal.each or points is not None):
            find_held(program)
        may_round = not is_deterministic()
        if journal is None:
            if may_round:
                defer_products(program)
            spread_sums(program)
        scalars = scalar_registers(program, scalar_args)
        self._compiled: Any = None
        if journal is None or (points is not None and not points.after):
            # Without clusters in a recorded function, each node has a time of its own.
            if journal is None and is_available():
                if compiled_clusters.find_compiled(program, scalars):
                    self._compiled = compiled_clusters
            elif journal is None and may_round and any(map(may_be_biased, immutable.items)):
                uses: dict[str, int] = dict.fromkeys(program.predicates, 1)
                count_uses(program.root, uses)
                find_biased(program, uses, is_plain=True)
            find_clusters(program)
        self.segments: Any = None
        if immutable.device.xp is not np:
            self.segments = segments
            self.segments.find_segments(program)
        place_frees(program, scalars if points is None else scalars | registers_to_keep(program))
        self.source = Source()
        self.nodes = NodeWriter(self.source, immutable, program, scalars)
        self.clusters = ClusterWriter(
            self.source, self.nodes, self._block, program, scalars, self.segments, self._compiled
        )
        self.loops: dict[int, tuple[str, int, int]] = {}
        self.last = 0
        self.count_plan: CountPlan | None = None
        # Kept until the step is written.
        self._counting = Counting(is_silent=points is not None) if counts else None
        self.journal: JournalWriters | None = None
        self.leaves: LeaveWriter | None = None
        if points is not None:
            self.leaves = LeaveWriter(points, self.source, immutable, program, draft)
        elif journal is not None:
            self.journal = JournalWriters(
                [
                    JournalWriter(one, self.source, self.nodes, program, self._counting)
                    for one in journal.parts()
                ]
            )

    def write(self) -> None:
        """Write the program."""
        source = self.source
        source.names["count"] = itertools.count
        source.line("def step(args, retvals, step, run_state):")
        with source.indented():
            self._step()
        self.last = source.last
        if self._counting is not None:
            self.count_plan = self._counting.plan(self._immutable, self._program)
            self._counting = None
        self.clusters.functions()

    def _step(self) -> None:
        source = self.source
        predicates = [name for name in self._program.predicates if name[0] != "c"]
        if predicates:
            source.line(f"{' = '.join(predicates)} = None")
        if any(isinstance(one, Loop) for one in instructions_in(self._program.root)):
            source.line("new_frame = count(1).__next__")
        if self._compiled is not None:
            source.line("warm_up()")
        place = len(source.lines)
        if self._counting is not None and not self._counting.is_silent:
            source.line("pass")
        if self.journal is not None:
            self.journal.begin()
        if self.leaves is not None:
            self.leaves.begin()
        self._block(self._program.root)
        if self.journal is not None:
            self.journal.end()
        if self._counting is not None and not self._counting.is_silent:
            names = self._counting.variables()
            if names:
                source.lines[place] = f"    {' = '.join(names)} = 0"
            source.line(f"run_state.counts = counted({', '.join(names)})")
        for device in self._immutable.devices_to_sync:
            source.line(f"{source.name(device, 'd')}.synchronize()")
        if self._program.predicates:
            source.line(f"return {', '.join(self._program.predicates)},")

    def _block(self, block: Block) -> None:
        journal, leaves = self.journal, self.leaves
        for instruction, following in itertools.zip_longest(block, block[1:]):
            if journal is not None:
                journal.before(instruction)
            if leaves is not None:
                leaves.before(block)
            if isinstance(instruction, Cluster):
                self.clusters.cluster(instruction, following)
            elif isinstance(instruction, Segment):
                self.clusters.segment(instruction)
            else:
                self._instruction(instruction)
            if self._counting is not None:
                self._counting.note(instruction, self.source.last)
            if journal is not None:
                journal.after(instruction, self.source.last)
            if leaves is not None:
                leaves.after(instruction, block)

    def _instruction(self, instruction: type_of_instruction) -> None:
        source = self.source
        match instruction:
            case Compute():
                self.nodes.compute(instruction)
            case Free():
                source.line(f"del {', '.join(instruction.registers)}")
            case If():
                self._if(instruction)
            case Loop():
                self._loop(instruction)
            case ExitLoop():
                self._leave(instruction)
            case Assign():
                self._assign(instruction)
            case Mark():
                pass
            case Sent():
                if self._counting is not None and not self._counting.is_silent:
                    source.line(f"sent += getattr({instruction.source}, 'nbytes', 0)")
            case Copy():
                text = f"{instruction.target} = {instruction.source}"
                if instruction.index_target:
                    text += f"; {instruction.index_target} = {self._position(instruction.position)}"
                source.line(text, instruction.item)
            case Clear():
                source.line(f"{instruction.target} = None", instruction.item)
            case Read():
                self.nodes.read(instruction)
            case PartialSum():
                self.nodes.partial_sum(instruction)
            case Deferred():
                self.nodes.deferred(instruction)
            case Choose():
                self.nodes.choose(instruction)
            case CheckPredicate():
                self.nodes.check_predicate(instruction)

    def _if(self, instruction: If) -> None:
        source = self.source
        yes, no = instruction.predicate, f"not {instruction.predicate}"
        if instruction.is_presence:
            yes, no = f"{yes} is not None", f"{yes} is None"
        name = f"{PRESENCE if instruction.is_presence else ''}{instruction.predicate}"
        line = len(source.items)
        counted = 0
        journal, leaves = self.journal, self.leaves
        if leaves is not None and (leaves.dead_in(instruction.then + instruction.otherwise)):
            self._if_with_dead(instruction, line, name, yes)
            return
        was = None if journal is None else journal.fork()
        if instruction.then:
            source.line(f"if {yes}:")
            counted = self._side(instruction.then, line, (name, True))
            if instruction.otherwise:
                source.line("else:")
        elif instruction.otherwise:
            source.line(f"if {no}:")
        behind = None if journal is None else journal.fork()
        if journal is not None and was is not None:
            journal.back(was)
        if instruction.otherwise:
            self._side(instruction.otherwise, line, (name, False), counted)
        if journal is not None and behind is not None:
            journal.meet(behind)

    def _if_with_dead(self, instruction: If, line: int, name: str, yes: str) -> None:
        """Write a cond whose sides also check nodes of the side that is not taken."""
        self.source.line(f"if {yes}:")
        then, otherwise = instruction.then, instruction.otherwise
        counted = self._side(then, line, (name, True), dead=otherwise)
        self.source.line("else:")
        self._side(otherwise, line, (name, False), counted, dead=then)

    def _side(
        self,
        block: Block,
        line: int,
        literal: type_of_literal,
        counted: int = 0,
        dead: Block | None = None,
    ) -> int:
        """Write a side of a cond; return the number of its block if it is counted.

        Args:
          block: the side.
          line: the line of the test.
          literal: the literal that holds on this side.
          counted: the number of the other side, if that is counted.
          dead: the other side, if its nodes are checked here.
        """
        counting, number = self._counting, 0
        if counting is not None:
            kind, value = Kind.REST if counted else Kind.COUNTED, counted or len(counting.counters)
            number = counting.open(kind, line, len(self.source.items), literal, value)
            if not counted and not counting.is_silent:
                also = "" if self.journal is None else f"; {self.journal.side(number)}"
                self.source.line(f"    {counting.counter()} += 1{also}")
        with self.source.indented():
            if dead and self.leaves is not None:
                self.leaves.not_entered(self.leaves.dead_in(dead))
            self._block(block)
        if counting is not None:
            counting.close(self.source.last)
        return number

    def _leave(self, leave: ExitLoop) -> None:
        source, counting = self.source, self._counting
        line = len(source.items)
        source.line(f"if {'not ' if leave.goes_on else ''}{leave.predicate}:")
        body = leaving = 0
        if counting is not None:
            body, literal = counting.body(), (leave.predicate, not leave.goes_on)
            leaving = counting.open(Kind.LEAVING, line, line + 1, literal, body)
        journal = self.journal
        was = None if journal is None else journal.fork()
        with source.indented():
            if journal is not None:
                journal.leave(leaving)
            if self.leaves is not None:
                self.leaves.not_entered(self.leaves.rest(leave))
            self._block(leave.exits)
            source.line("break")
        if journal is not None and was is not None:
            journal.behind_leave(was)
        if counting is not None:
            counting.close(source.last)
            literal = leave.predicate, leave.goes_on
            counting.open(Kind.GOING_ON, line, len(source.items), literal, body)
        if self.leaves is not None:
            self.leaves.not_entered(self.leaves.dead_in(leave.exits))

    def _loop(self, loop: Loop) -> None:
        source, nodes, counting = self.source, self.nodes, self._counting
        inside = [
            one
            for one in _instructions_of_frame(loop.body)
            if isinstance(one, Compute) and one.takes_context
        ]
        if inside:
            source.line(f"frame{loop.number} = new_frame()")
        for one in inside:
            source.line(f"x{one.item.id} = {nodes.context(one, f', frame{loop.number}')}")
        if self.journal is not None:
            self.journal.before_loop(loop.number)
        if counting is not None and not counting.is_silent and nodes.loop:
            number = loop.number
            source.line(
                f"turns{number} += turn{number}; last{number} = turn{number} or last{number}; "
                f"turn{number} = 0"
            )
        if self.leaves is not None:
            self.leaves.loop(loop.body)
        first = len(source.items)
        if counting is not None:
            counting.open_loop(loop.number, loop.frame_name, first)
        turns = "count()" if self.leaves is None else self.leaves.turns(loop.frame_name)
        source.line(f"for turn{loop.number} in {turns}:")
        source.lines[-1] = f"{source.lines[-1]:<44}  # frame {loop.frame_name!a}"
        around, nodes.loop = nodes.loop, loop.number
        with source.indented():
            source.check()
            if self.journal is not None:
                self.journal.iteration(loop.number)
            if self.leaves is not None:
                self.leaves.iteration(loop.body)
            self._block(loop.body)
        nodes.loop = around
        source.unchecked = CALLS_PER_CHECK
        if self.journal is not None:
            self.journal.behind_loop()
        if counting is not None:
            counting.close_loop(source.last)
        self.loops[loop.number] = (loop.frame_name, first, source.last)

    def _assign(self, instruction: Assign) -> None:
        pairs = [
            (target, source)
            for target, source in zip(instruction.targets, instruction.sources, strict=True)
            if target != source
        ]
        targets = [target for target, _ in pairs] + instruction.index_targets
        position = self._position(instruction.position)
        sources = [source for _, source in pairs] + [position] * len(instruction.index_targets)
        if targets:
            text = f"{', '.join(targets)} = {', '.join(sources)}"
            self.source.line(text, instruction.items[0])

    def _position(self, position: int) -> str:
        name = f"p{position}"
        self.source.names[name] = np.int32(position)
        return name


def _instructions_of_frame(block: Block) -> Iterator[type_of_instruction]:
    """Yield the instructions of a loop's body that are not those of a loop inside it."""
    for instruction in block:
        yield instruction
        if not isinstance(instruction, Loop):
            for inside in insides_of(instruction):
                yield from _instructions_of_frame(inside)
