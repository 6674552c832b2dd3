"""The meaning of the lines of an emitted function, block by block, for code that follows a step.

The reader of a journal follows these scripts (``replay.py``), and so does the search for the path
of a function that was left (``leave.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from tfnb.common_runtime.lowering.recognise.program import Program
    from tfnb.common_runtime.lowering.support.counts import CountPlan


class LineMeaning(NamedTuple):
    """The meaning of a line of a block; ``order`` is its position within the line."""

    line: int
    order: int
    kind: str
    what: Any = None


class NodeLines(NamedTuple):
    """The facts that a writer records about the lines that it wrote.

    Attributes:
      steps: further meanings of lines, by the number of their block.
      works: the nodes that take time.
      own: the nodes that have a line of their own.
      ends: by the last line of an instruction, the last line that belongs to it.
    """

    steps: Mapping[int, Sequence[LineMeaning]]
    works: Collection[int]
    own: Collection[int]
    ends: Mapping[int, int]


class BlockPlan:
    """The meaning of the lines of a function.

    Attributes:
      scripts: for each block the meaning of its lines, in their order.
      registers: the registers of each node's outputs, if they are followed.
      switches: the key of each Switch's predicate among the contents of registers.
      blocks, loops: those of its ``CountPlan``.
      never: the blocks of loops that are never entered, by the block around them.
      enters: the Enters of each frame's variables, by the frame's name.
      triggered: the nodes that are never dead.
      alone: the nodes that are alive although their loop is not entered, with the Enters that make
        them alive.
    """

    def __init__(
        self,
        counted: CountPlan,
        program: Program,
        lines: NodeLines,
        predicates: Mapping[int, str],
        *,
        has_registers: bool,
    ) -> None:
        """Sort the meanings of lines by blocks and lines.

        Args:
          counted: the line and block of each node.
          program: the partition.
          lines: the writer's records about the lines.
          predicates: the register of the predicate of each Switch, by the Switch's id.
          has_registers: whether registers are followed.
        """
        registers = program.registers
        assert registers is not None
        self.blocks, self.loops = counted.blocks_and_loops
        self.triggered = frozenset(program.triggered)
        self.alone = {number: frozenset(enters) for number, enters in program.alive_alone.items()}
        self.never: dict[int, list[int]] = {}
        scripts = {number: list(steps) for number, steps in lines.steps.items()}
        for number, (line, block) in counted.places.items():
            # A node without a line of its own forwards an output of the line.
            row = LineMeaning(line, 0, "node", (number, int(number in lines.works)))
            if number not in lines.own:
                row = row._replace(line=lines.ends.get(line, line), order=3)
            scripts.setdefault(block, []).append(row)
        self._add_questions(scripts)
        self.scripts = [
            sorted(scripts.get(number, ()), key=lambda step: (step.line, step.order))
            for number in range(len(self.blocks))
        ]
        self.switches = {item: f"?{name}" for item, name in predicates.items()}
        self.loop_of = {loop.block: loop for loop in self.loops}
        self.enters: dict[str, set[int]] = {loop.frame_name: set() for loop in self.loops}
        self.registers: dict[int, list[str]] = {}
        for item in registers.immutable.items:
            if item.is_enter and not item.is_constant_enter:
                self.enters[item.frame_name].add(item.id)
            if has_registers:
                self.registers[item.id] = [
                    registers.register(item, output) for output in range(item.num_outputs)
                ]

    def _add_questions(self, scripts: dict[int, list[LineMeaning]]) -> None:
        """Add conds and loops to the script of the block around them."""
        questions: dict[tuple[int, int], list[int | None]] = {}
        for number, one in enumerate(self.blocks):
            kind = one.kind.name
            if kind in ("COUNTED", "REST", "LEAVING", "GOING_ON"):
                sides = questions.setdefault((one.parent, one.statement), [None, None])
                sides[kind in ("REST", "GOING_ON")] = number
            elif kind == "BODY":
                row = LineMeaning(one.statement, 2, "loop", number)
                scripts.setdefault(one.parent, []).append(row)
            elif kind == "NEVER":
                self.never.setdefault(one.parent, []).append(number)
        for (parent, line), (first, other) in questions.items():
            is_leave = first is not None and self.blocks[first].kind.name == "LEAVING"
            row = LineMeaning(line, 2, "leave" if is_leave else "question", (first, other))
            scripts.setdefault(parent, []).append(row)
