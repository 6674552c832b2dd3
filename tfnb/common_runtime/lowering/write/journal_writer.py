"""Writes the lines of an emitted function that keep its journal, and records their meaning.

See ``journal.py`` for the format of a journal; ``replay.py`` decodes one with the plans made here.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple

from tfnb.common_runtime.executor.immutable_executor_state import ARG, RETVAL
from tfnb.common_runtime.lowering.recognise.program import (
    Assign,
    Compute,
    Copy,
    Free,
    Program,
    Read,
    writes_of,
)
from tfnb.common_runtime.lowering.recognise.registers import SWITCHES
from tfnb.common_runtime.lowering.rewrite.ranks import instructions_in
from tfnb.common_runtime.lowering.support.journal import IGNORE, Number, ignore_outputs
from tfnb.common_runtime.lowering.write.block_plan import BlockPlan, LineMeaning, NodeLines
from tfnb.core.resource_mgr import RefCell

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from tfnb.common_runtime.executor.immutable_executor_state import (
        ImmutableExecutorState,
        NodeItem,
    )
    from tfnb.common_runtime.lowering.recognise.program import type_of_instruction
    from tfnb.common_runtime.lowering.support.counts import Counting, CountPlan
    from tfnb.common_runtime.lowering.support.journal import JournalKind
    from tfnb.common_runtime.lowering.write.node_writer import NodeWriter
    from tfnb.common_runtime.lowering.write.source import Source


class _Names(NamedTuple):
    """The names of the journal's variables in the emitted function."""

    journal: str
    log: str
    mark: str
    most: str


_WITH_TIMES = _Names("journal", "log", "mark", "most")
_OF_VALUES = _Names("kept_journal", "kept_log", "keep", "kept_most")


def _kept(value: Any) -> Any:
    """Return a variable's present value as a copy; the variable may be written later."""
    if isinstance(value, RefCell):
        return None if value.value is None else value.value.copy()
    return value


class JournalWriter:
    """Writes the lines of a function that keep its journal, and records their meaning.

    Attributes:
      steps: the meaning of the lines of each block, by the block's number.
      prologue: the nodes whose values are recorded before the first line, and their registers.
      has_times: whether times are recorded.
      moves: whether copies between registers are recorded.
      contents: the initial contents of registers, as entries of a journal.
      predicates: the register that holds a Switch's predicate, by the Switch's id.
      sites: the number of lines that append entries.
    """

    def __init__(
        self,
        kind: JournalKind,
        source: Source,
        nodes: NodeWriter,
        program: Program,
        counting: Counting | None,
    ) -> None:
        """Initialize the writer.

        Args:
          kind: the kind of journal to keep.
          source: receives the lines.
          nodes: writes the lines of nodes.
          program: the partition.
          counting: numbers the blocks; None: there is only one.
        """
        self._kind = kind
        self._names = _WITH_TIMES if kind.times else _OF_VALUES
        self._source = source
        self._nodes = nodes
        self._program = program
        self._counting = counting
        self.steps: dict[int, list[LineMeaning]] = {}
        self.prologue: list[tuple[int, list[str]]] = []
        self.contents: dict[str, Any] = {}
        self.sites = 2
        self._works: list[tuple[int, int]] = []  # (item id, line) of nodes that take time
        self.ends: dict[int, int] = {}  # last journal line of an instruction, by its last line
        self.own: set[int] = set()  # nodes that have a line of their own
        self._has_worked = False  # scalars were computed since the last time stamp
        self._is_aside = False  # work since then that belongs to no node
        self._behind_loop: list[tuple[bool, bool]] = []
        self.moves = bool(kind.keeps) or kind.each
        self.has_times = kind.times
        self._kept = self._registers_to_keep()
        self.predicates: dict[int, str] = {}
        self._asked = self._predicates_to_keep()

    def _registers_to_keep(self) -> set[str]:
        """Return the registers of watched tensors, and the registers copied into them."""
        registers = self._program.registers
        if registers is None or not self._kind.keeps:
            return set()
        return self._with_sources(
            registers.register(item, output)
            for item, output in kept_outputs(registers.immutable, self._kind.keeps)
        )

    def _predicates_to_keep(self) -> set[str]:
        """Return the registers of Switch predicates to keep, which show which output is dead."""
        registers = self._program.registers
        if registers is None or not self.moves:
            return set()
        kept = {item.id for item, _ in kept_outputs(registers.immutable, self._kind.keeps)}
        for item in registers.immutable.items:
            if item.op in SWITCHES and (self._kind.each or item.id in kept):
                self.predicates[item.id] = registers.predicate(item)
        return self._with_sources(self.predicates.values())

    def _with_sources(self, registers: Iterable[str]) -> set[str]:
        """Return these registers, and the registers copied into them."""
        found = set(registers)
        moves: list[tuple[str, str]] = []
        for one in instructions_in(self._program.root):
            if isinstance(one, Copy | Assign):
                moves += _moves(one)
        size = -1
        while size < len(found):
            size = len(found)
            found |= {source for target, source in moves if target in found}
        return found

    @property
    def _block(self) -> int:
        return 0 if self._counting is None else self._counting.innermost

    def _note(self, kind: str, what: Any = None) -> None:
        self.steps.setdefault(self._block, []).append(LineMeaning(self._source.last, 1, kind, what))

    def begin(self) -> None:
        """Write the beginning of the function."""
        source, kind = self._source, self._kind
        source.names |= {"now": perf_counter_ns, "kept": _kept}
        journal, log, mark, most = self._names
        source.line(f"{journal} = run_state.{journal}")
        source.line(f"{log} = {journal}.entries; {mark} = {log}.append; {most} = {journal}.most")
        if kind.tells:
            source.line("told = run_state.record_outputs; gave = journal.teller(told)")
            source.names["ignore"] = ignore_outputs
            if kind.each:
                source.line("before = journal.before_kernel or ignore_node")
                source.names["ignore_node"] = IGNORE
        if kind.times:
            source.line("mark(now())")
        for name, value in self._program.constants.items():
            item, output = self._program.item_of[name]
            if name in self._asked:
                self.contents[f"?{name}"] = [value]
            if name in self._kept:
                self.contents[name] = [value]
            elif kind.each and _is_number(value):
                self.contents[name] = Number(item.id)
            if kind.tells and not _is_number(value) and not output:
                source.line(self._tell(item, [name]))
                self.prologue.append((item.id, [name]))
                self._source.line("mark(now())")

    def end(self) -> None:
        """Write the end of the function."""
        if self._kind.times:
            self.moment()

    def moment(self) -> None:
        """Write a time stamp."""
        if not self._kind.times:
            return
        self._source.line("mark(now())")
        self._note("moment")
        self._has_worked = self._is_aside = False

    def before(self, instruction: type_of_instruction) -> None:
        """Write the lines before an instruction."""
        if not self._kind.times or not _takes_time(instruction):
            return
        is_number = self._is_number(instruction)
        if self._is_aside or (self._has_worked and (self._kind.each or not is_number)):
            self.moment()
        if self._kind.each and self._kind.tells and not is_number:
            assert isinstance(instruction, Compute | Read)
            self._source.line(f"before({instruction.item.id}); mark(now())")
            self._note("moment")

    def after(self, instruction: type_of_instruction, line: int) -> None:
        """Write the lines after an instruction, whose last line is ``line``."""
        source, kind = self._source, self._kind
        if isinstance(instruction, Free):
            self._is_aside |= not self._nodes.are_scalars(instruction.registers)
            return
        if isinstance(instruction, Compute | Read):
            self.own.add(instruction.item.id)
        if self.moves:
            self._follow(instruction)
        if kind.times and isinstance(instruction, Compute | Read):
            self._time(instruction, line)
        self.ends[line] = source.last

    def _time(self, instruction: Compute | Read, line: int) -> None:
        """Write a node's end time and its outputs."""
        source, kind = self._source, self._kind
        item = instruction.item
        is_number = self._is_number(instruction)
        told = self._told(instruction) if kind.tells else []
        if isinstance(instruction, Read) and instruction.target[0] != "v":
            return  # a read inside the node that uses the value
        if not _takes_time(instruction):
            if kind.each and item.action == ARG and not told:
                self._note("number", (item.id, writes_of(instruction)[0]))
            if told:  # an argument
                source.line(f"{self._tell(item, told)}; mark(now())")
                self._note("told", (item.id, told))
                self._has_worked = False
            return
        self._works.append((item.id, line))
        if is_number and not kind.each:
            self._has_worked = True
        elif told:
            source.line(f"mark(now()); {self._tell(item, told)}")
            self._note("moment and told", (item.id, told))
            self._has_worked, self._is_aside = False, True
        else:
            self.moment()
            if is_number:
                self._note("number", (item.id, writes_of(instruction)[0]))

    def _follow(self, instruction: type_of_instruction) -> None:
        """Record copies between registers, and keep the values of watched ones."""
        if isinstance(instruction, Copy | Assign):
            pairs = _moves(instruction)
            asked = [pair for pair in pairs if pair[0] in self._asked]
            self._note("move", [*pairs, *((f"?{one}", f"?{other}") for one, other in asked)])
        elif self._kept or self._asked:
            for register in writes_of(instruction):
                if register in self._asked:
                    self._source.line(f"{self._names.mark}([{register}])")
                    self._note("keep", f"?{register}")
                    self.sites += 1
                if register in self._kept:
                    # An op that forwards a variable's value may forward the variable's cell.
                    is_number = self._nodes.are_scalars((register,))
                    value = register if is_number else f"kept({register})"
                    self._source.line(f"{self._names.mark}([{value}])")
                    self._note("keep", register)
                    self.sites += 1

    def side(self, number: int) -> str:
        """Return the line for the beginning of a side of a cond."""
        self.sites += 1
        return f"{self._names.mark}({number})"

    def leave(self, number: int) -> None:
        """Write the exit of a loop."""
        self.sites += 1
        now = "; mark(now())" if self._kind.times else ""
        self._source.line(f"{self._names.mark}({number}){now}")
        if self._kind.times:
            self._note("moment")
        self._has_worked = self._is_aside = False

    def behind_leave(self, was: tuple[bool, bool]) -> None:
        """Continue after an ExitLoop whose loop goes on."""
        self._behind_loop.append(self.fork())
        self.back(was)

    def behind_loop(self) -> None:
        """Continue behind a loop, with the state behind its exits."""
        self.back(self._behind_loop.pop())

    def before_loop(self, number: int) -> None:
        """Write the lines before a loop."""
        if not self._kind.times:
            self._source.line(f"start{number} = len({self._names.log})")

    def iteration(self, number: int) -> None:
        """Write the beginning of an iteration."""
        source = self._source
        if not self._kind.times:
            journal, log, mark, most = self._names
            rolled = f"{journal}.roll({number}, start{number}, turn{number})"
            source.line(f"if len({log}) > {most}: {most} = {rolled}")
            # Separates iterations: a side taken by the next one must not count for this one.
            source.line(f"{mark}({self._block})")
            self._note("iteration")
            self.sites += 1
            return
        told = "told, gave" if self._kind.tells else "_, _"
        source.line(f"if len(log) > most: mark, {told}, most = journal.fill()")
        self._source.line("mark(now())")
        self._note("moment")
        self._has_worked = self._is_aside = False
        self.sites += 1

    def fork(self) -> tuple[bool, bool]:
        """Return the state at a branch, for :meth:`back` and :meth:`meet`."""
        return self._has_worked, self._is_aside

    def back(self, was: tuple[bool, bool]) -> None:
        """Restore the state at the branch, for its other side."""
        self._has_worked, self._is_aside = was

    def meet(self, other: tuple[bool, bool]) -> None:
        """Join the states at the end of both sides."""
        self._has_worked |= other[0]
        self._is_aside |= other[1]

    def _is_number(self, instruction: type_of_instruction) -> bool:
        return isinstance(instruction, Compute) and self._nodes.is_number(instruction)

    def _told(self, instruction: Compute | Read) -> list[str]:
        """Return the registers of a node's outputs that observers must receive."""
        if isinstance(instruction, Read):
            is_output = instruction.target[0] == "v" and self._kind.each
            return [instruction.target] if is_output else []
        if self._is_number(instruction) or not instruction.results:
            return []
        if instruction.item.action in (ARG, RETVAL) and self._nodes.are_scalars(
            instruction.results
        ):
            return []
        return instruction.results

    def _tell(self, item: NodeItem, told: list[str]) -> str:
        """Return the line that reports a node's outputs."""
        if len(told) == 1 and not self._kind.each:
            return f"gave({item.id}, {told[0]})"
        return f"told(0, {self._item(item)}, ({', '.join(told)},))"

    def _item(self, item: NodeItem) -> str:
        name = f"i{item.id}"
        self._source.names[name] = item
        return name

    def plan(self, places: CountPlan) -> JournalPlan:
        """Return the meaning of the journal, once the function is written."""
        return JournalPlan(self, places, self._works, self._program)


class JournalWriters:
    """Several writers, each with a journal of its own, called in turn."""

    def __init__(self, writers: Sequence[JournalWriter]) -> None:
        self.writers = writers

    def begin(self) -> None:
        """Write the beginning of the function."""
        for one in self.writers:
            one.begin()

    def end(self) -> None:
        """Write the end of the function."""
        for one in self.writers:
            one.end()

    def before(self, instruction: type_of_instruction) -> None:
        """Write the lines before an instruction."""
        for one in self.writers:
            one.before(instruction)

    def after(self, instruction: type_of_instruction, line: int) -> None:
        """Write the lines after an instruction, whose last line is ``line``."""
        for one in self.writers:
            one.after(instruction, line)

    def side(self, number: int) -> str:
        """Return the line for the beginning of a side of a cond."""
        return "; ".join(one.side(number) for one in self.writers)

    def leave(self, number: int) -> None:
        """Write the exit of a loop."""
        for one in self.writers:
            one.leave(number)

    def behind_leave(self, was: type_of_open) -> None:
        """Continue after an ExitLoop whose loop goes on."""
        for one, before in zip(self.writers, was, strict=True):
            one.behind_leave(before)

    def before_loop(self, number: int) -> None:
        """Write the lines before a loop."""
        for one in self.writers:
            one.before_loop(number)

    def behind_loop(self) -> None:
        """Continue behind a loop, with the state behind its exits."""
        for one in self.writers:
            one.behind_loop()

    def iteration(self, number: int) -> None:
        """Write the beginning of an iteration."""
        for one in self.writers:
            one.iteration(number)

    def fork(self) -> type_of_open:
        """Return the state at a branch, for :meth:`back` and :meth:`meet`."""
        return [one.fork() for one in self.writers]

    def back(self, was: type_of_open) -> None:
        """Restore the state at the branch, for its other side."""
        for one, before in zip(self.writers, was, strict=True):
            one.back(before)

    def meet(self, other: type_of_open) -> None:
        """Join the states at the end of both sides."""
        for one, before in zip(self.writers, other, strict=True):
            one.meet(before)


type_of_open = list[tuple[bool, bool]]


def _moves(instruction: Copy | Assign) -> list[tuple[str, str]]:
    """Return the (target, source) pairs of copies between registers."""
    if isinstance(instruction, Copy):
        return [(instruction.target, instruction.source)]
    return list(zip(instruction.targets, instruction.sources, strict=True))


def _takes_time(instruction: type_of_instruction) -> bool:
    if isinstance(instruction, Read):
        return True
    return isinstance(instruction, Compute) and instruction.item.action not in (ARG, RETVAL)


def _is_number(value: Any) -> bool:
    return getattr(value, "shape", None) == () and hasattr(value, "nbytes")


def kept_outputs(
    immutable: ImmutableExecutorState, names: Collection[str]
) -> list[tuple[NodeItem, int]]:
    """Return the outputs with these names that a partition has."""
    found = []
    for name in names:
        node, _, output = name.rpartition(":")
        number = immutable.find_id(node)
        if number >= 0:
            found.append((immutable.items[number], int(output)))
    return found


def can_keep(immutable: ImmutableExecutorState, names: Collection[str]) -> bool:
    """Return whether an emitted function can keep these tensors.

    It cannot keep a Merge's ``value_index``, nor tensors of several loop frames, because the latest
    values of each are needed.
    """
    outputs = kept_outputs(immutable, names)
    frames = {item.frame.name for item, _ in outputs}
    return len(frames) <= 1 and all(
        not (item.is_merge and output) and output < item.num_outputs for item, output in outputs
    )


class JournalPlan(BlockPlan):
    """The meaning of the entries of a function's journal.

    Attributes:
      prologue: the nodes that are reported first, and the registers of their outputs.
      has_times: whether times are recorded.
      contents: the initial contents of registers.
      sites: the number of lines that append entries.
    """

    def __init__(
        self,
        writer: JournalWriter,
        counted: CountPlan,
        works: Sequence[tuple[int, int]],
        program: Program,
    ) -> None:
        """Sort the entries' meanings by blocks and lines."""
        lines = NodeLines(writer.steps, {number for number, _ in works}, writer.own, writer.ends)
        super().__init__(counted, program, lines, writer.predicates, has_registers=writer.moves)
        self.prologue = writer.prologue
        self.has_times = writer.has_times
        self.contents = writer.contents
        self.sites = writer.sites
