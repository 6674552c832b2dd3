"""Writes a partition as one Python function, one node a line.

Values are local variables, deleted after their last use.  The source holds nothing of the graph
but numbers; kernels reach it as globals, and node names stand in comments, escaped.  It is
registered in ``linecache``, so that a traceback shows it and the line of an error tells the node::

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

Below it stand the functions of clusters, which write a tile of their result each.
"""

from __future__ import annotations

import importlib
import itertools
import linecache
import weakref
from collections import Counter
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.executor import as_outputs, dereference_by
from tfnb.common_runtime.immutable_executor_state import (
    ARG,
    ASYNC,
    CONTEXT,
    PURE_ONE,
    READ_CELL,
    READ_IF_CELL,
    READ_VALUE,
    RETVAL,
    NodeItem,
)
from tfnb.common_runtime.kernel_errors import check_outputs
from tfnb.common_runtime.lowering import LARGE_BYTES
from tfnb.common_runtime.lowering.clusters import (
    TiledCluster,
    TilePlan,
    find_clusters,
    only_gpu,
    plan_tile,
    vector_args,
)
from tfnb.common_runtime.lowering.conditions import PRESENCE
from tfnb.common_runtime.lowering.counts import (
    Counting,
    CountPlan,
    Kind,
    StepCounts,
    plan_of_schedule,
)
from tfnb.common_runtime.lowering.frees import place_frees
from tfnb.common_runtime.lowering.held import find_held, makes_handle
from tfnb.common_runtime.lowering.program import (
    Assign,
    Block,
    CheckPredicate,
    Choose,
    Clear,
    Cluster,
    Compute,
    Copy,
    Free,
    If,
    Leave,
    Loop,
    Mark,
    PartialSum,
    Program,
    Read,
    Segment,
    Sent,
    insides_of,
    reads_of,
)
from tfnb.common_runtime.lowering.ranks import instructions_in, scalar_registers
from tfnb.common_runtime.lowering.sums import first_sum, last_sum, next_sum, spread_sums
from tfnb.common_runtime.lowering.waits import waiter
from tfnb.common_runtime.running_nodes import register_emitted
from tfnb.core import errors
from tfnb.core.op_expression import Expression, Held, expressions_of, fill, tile_of
from tfnb.core.op_kernel import HoldingContext, OpKernelContext, kernel_attr
from tfnb.core.resource_mgr import RefCell

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from types import TracebackType

    from tfnb.common_runtime.immutable_executor_state import ImmutableExecutorState
    from tfnb.common_runtime.lowering.conditions import type_of_literal
    from tfnb.common_runtime.lowering.program import type_of_instruction

# Other threads ask a step to end through a flag; it is looked at after so many calls of kernels.
_CALLS_PER_CHECK = 8
_COST_OF_EXPRESSION = 0.25  # in calls
# What stands in the source as itself.
_LITERALS = frozenset((bool, int, type(None)))
_CHECK = "if run_state.stop is not None: run_state.heed_stop()"

_numbers = itertools.count(1)


class EmittedFunction:
    """The function of one partition.

    Attributes:
      source: its text.
      items: the node of each line, by line number; None for lines that are no node.
      args: the variables with the inputs of the node of a line, by line number.
      loops: name, first and last line of each loop; loop 1 counts in the variable ``turn1``.
      expressions: the lines in which a node is written as an expression.
      computes: whether a kernel is called, or anything calculated.
      owns_fetches: every fetch is a number, or an array that is made for it and nobody else has.
      call: ``call(args, retvals, step, run_state)``; gives the values of ``program.predicates``.
    """

    def __init__(
        self,
        immutable: ImmutableExecutorState,
        program: Program,
        scalar_args: Collection[int],
        *,
        counts: bool = False,
    ) -> None:
        """Writes it.

        Args:
          immutable: the partition.
          program: what it became; is changed.
          scalar_args: the arguments that are scalars.
          counts: whether it counts what runs, and leaves that in ``run_state.counts``.
        """
        writer = _Writer(immutable, program, scalar_args, counts)
        writer.write()
        counting = writer.counting
        self._plan = None if counting is None else counting.plan(immutable, program)
        self._schedule = immutable.schedule
        self.source = "\n".join(writer.lines) + "\n"
        self.items = writer.items
        self.args = writer.args
        self.loops = writer.loops
        self.expressions = writer.expressions
        self.computes = writer.computes
        self.owns_fetches = writer.owns_fetches
        self.filename = f"<tfnb step {next(_numbers)}>"
        self._names: dict[str, Any] = dict(writer.names)
        if counts:
            this = weakref.ref(self)
            self._names["counted"] = lambda *values: StepCounts(this(), values)
        self._kernels = writer.kernels
        exec(compile(self.source, self.filename, "exec"), self._names)
        for name, make in writer.makers.items():
            self._names[name] = make(self._names)
        self.call: Callable[..., Any] = self._names["step"]
        gpu = None if writer.on_gpu is None else only_gpu(immutable.items)
        if gpu is not None:
            self.call = partial(gpu.enter, self.call)
        self._on_gpu = writer.on_gpu
        lines = [f"{line}\n" for line in writer.lines]
        linecache.cache[self.filename] = (len(self.source), None, lines, self.filename)
        register_emitted(self)
        weakref.finalize(self, linecache.cache.pop, self.filename, None)

    def reports(self) -> list[str]:
        """What became of clusters and graphs on a GPU, a comment each."""
        return [] if self._on_gpu is None else self._on_gpu.reports_of(self._names)

    def check_first_outputs(self) -> None:
        """Compares the next answer of each kernel with what its op declares."""
        for name, (item, compute) in self._kernels.items():
            self._names[name] = partial(self._checked, name, item, compute)

    def _checked(
        self, name: str, item: NodeItem, compute: Callable[..., Any], *args: Any, **keywords: Any
    ) -> Any:
        found = compute(*args, **keywords)
        check_outputs(0, item, as_outputs(item, found))
        self._names[name] = compute
        return found

    def place_of(self, traceback: TracebackType | None) -> TracebackType | None:
        """The part of a traceback that is in this function."""
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename == self.filename:
                return traceback
            traceback = traceback.tb_next
        return None

    @property
    def count_plan(self) -> CountPlan:
        """How often each of its nodes ran, by its counters."""
        if self._plan is None:
            items = self.items
            if "\ndef " in self.source:
                # Below it stand functions of clusters.
                items = items[: self.source[: self.source.index("\ndef ")].count("\n") + 1]
            self._plan = plan_of_schedule(self._schedule or (), items)
        return self._plan

    def counts_at(self, line: int, values: Mapping[str, Any]) -> StepCounts:
        """How often each of its nodes ran.

        Args:
          line: where it is.
          values: its variables.
        """
        item = self.items[line] if line < len(self.items) else None
        found = [values.get(name, 0) for name in self.count_plan.variables]
        return StepCounts(self, found, line, -1 if item is None else item.id)

    def inputs_at(self, place: TracebackType) -> list[Any]:
        """The inputs of the node whose line a traceback is at."""
        values = {**self._names, **place.tb_frame.f_locals}
        return [values[name] for name in self.args.get(place.tb_lineno, ())]

    def node_at(self, line: int) -> NodeItem | None:
        """The node of a line; of a line between two nodes the one above."""
        for number in range(min(line, len(self.items) - 1), 0, -1):
            item = self.items[number]
            if item is not None:
                return item
        return None

    def has_loop_at(self, line: int) -> bool:
        """Whether there is a loop around a line."""
        return any(first <= line <= last for _, first, last in self.loops.values())

    def loops_around(self, line: int, values: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
        """The loops around a line and their iterations, the outermost first."""
        return tuple(
            (name, values[f"turn{number}"])
            for number, (name, first, last) in sorted(
                self.loops.items(), key=lambda entry: entry[1][1]
            )
            if first <= line <= last and f"turn{number}" in values
        )


class _Writer:
    """Builds the source and the names it refers to."""

    def __init__(
        self,
        immutable: ImmutableExecutorState,
        program: Program,
        scalar_args: Collection[int],
        counts: bool,
    ) -> None:
        self._program = program
        self.counting = Counting() if counts else None
        self._is_counting = counts  # until the step is written
        self._immutable = immutable
        self._devices_to_sync = immutable.devices_to_sync
        find_held(program)
        spread_sums(program)
        self._scalars = scalar_registers(program, scalar_args)
        find_clusters(program)
        self.on_gpu: Any = None
        if immutable.device.xp is not np:
            # Read where there is a GPU only.
            self.on_gpu = importlib.import_module("tfnb.common_runtime.lowering.segments")
            self.on_gpu.find_segments(program)
        place_frees(program, self._scalars)
        self.lines = ["def step(args, retvals, step, run_state):"]
        self.items: list[NodeItem | None] = [None, None]
        self.args: dict[int, list[str]] = {}
        self.loops: dict[int, tuple[str, int, int]] = {}
        self.expressions: set[int] = set()
        self.computes = False
        self.owns_fetches = True
        self._made: set[str] = set()  # the results of expressions
        self._num_reads = Counter(
            itertools.chain.from_iterable(map(reads_of, instructions_in(program.root)))
        )
        self.names: dict[str, Any] = {
            "array": np.ndarray,
            "context": OpKernelContext,
            "count": itertools.count,
            "first_sum": first_sum,
            "holding": HoldingContext,
            "last_sum": last_sum,
            "lists": (tuple, list),
            "next_sum": next_sum,
            "outputs": as_outputs,
            "ref": RefCell,
            "scalar": _refuse_other_than_scalar,
            "truth": np.bool,
            **program.constants,
        }
        self.kernels: dict[str, tuple[NodeItem, Any]] = {}
        self.makers: dict[str, Callable[[dict[str, Any]], Any]] = {}
        self._tiles: list[tuple[str, Cluster, TilePlan]] = []
        self._segments: list[tuple[str, Segment]] = []
        self._level = 1
        self._inside: list[int] = []  # the numbers of the loops around
        self._cost = float(_CALLS_PER_CHECK)
        self._name_of: dict[int, str] = {}  # by the id of what many nodes use

    def write(self) -> None:
        """Writes the program."""
        predicates = [name for name in self._program.predicates if name[0] != "c"]
        if predicates:
            self._line(f"{' = '.join(predicates)} = None")
        if any(isinstance(one, Loop) for one in instructions_in(self._program.root)):
            self._line("new_frame = count(1).__next__")
        place = len(self.lines)
        if self.counting is not None:
            self._line("pass")
        self._block(self._program.root)
        if self.counting is not None:
            self._is_counting = False
            names = self.counting.variables()
            if names:
                self.lines[place] = f"    {' = '.join(names)} = 0"
            self._line(f"run_state.counts = counted({', '.join(names)})")
        for device in self._devices_to_sync:
            self._line(f"{self._name(device, 'd')}.synchronize()")
        if self._program.predicates:
            self._line(f"return {', '.join(self._program.predicates)},")
        if len(self.lines) == 1:
            self._line("pass")
        self._tile_functions()
        self._bodies()

    def _line(self, text: str, item: NodeItem | None = None, args: list[str] | None = None) -> None:
        text = f"{'    ' * self._level}{text}"
        if item is not None:
            # ascii() leaves no character that could end the comment.
            text = f"{text:<44}  # {item.name!a} ({ascii(item.op)[1:-1]})"
        if args:
            self.args[len(self.items)] = args
        self.lines.append(text)
        self.items.append(item)

    def _check(self, cost: float) -> None:
        """A look at the flag by which a step is ended, every few nodes."""
        self._cost += cost
        if self._cost >= _CALLS_PER_CHECK:
            self._line(_CHECK)
            self._cost = 0.0

    def _block(self, block: Block) -> None:
        for instruction, following in itertools.zip_longest(block, block[1:]):
            if isinstance(instruction, Cluster):
                self._cluster(instruction, following)
            elif isinstance(instruction, Segment):
                self._segment(instruction)
            else:
                self._instruction(instruction)
            if self._is_counting:
                assert self.counting is not None
                self.counting.note(instruction, len(self.items) - 1)

    def _indented(self, block: Block) -> None:
        num_lines = len(self.lines)
        self._level += 1
        self._block(block)
        if len(self.lines) == num_lines:
            self._line("pass")
        self._level -= 1

    def _instruction(self, instruction: type_of_instruction) -> None:
        match instruction:
            case Compute():
                self._compute(instruction)
            case Free():
                self._line(f"del {', '.join(instruction.registers)}")
            case If():
                self._if(instruction)
            case Loop():
                self._loop(instruction)
            case Leave():
                self._leave(instruction)
            case Assign():
                self._assign(instruction)
            case Mark():
                pass
            case Sent():
                self._line(f"sent += getattr({instruction.source}, 'nbytes', 0)")
            case Copy():
                text = f"{instruction.target} = {instruction.source}"
                if instruction.index_target:
                    text += f"; {instruction.index_target} = {self._position(instruction.position)}"
                self._line(text, instruction.item)
            case Clear():
                self._line(f"{instruction.target} = None", instruction.item)
            case Read():
                item = instruction.item
                name = f"read{item.id}_{instruction.number}"
                self.names[name] = _reader(item, instruction.number)
                source = instruction.source
                text = f"{instruction.target} = {name}({source})"
                if item.dereference[instruction.number][2] == READ_CELL:
                    is_good = f"{source}.__class__ is ref and {source}.value is not None"
                    text = text.replace("=", f"= {source} if {is_good} else", 1)
                self._line(text, item, [source])
            case PartialSum():
                self.computes = True
                self._check(_COST_OF_EXPRESSION)
                args = instruction.args
                if instruction.number == 1:
                    call = f"first_sum({', '.join(args)})"
                else:
                    call = f"next_sum({', '.join(args)}, {instruction.number})"
                    if instruction.is_last:
                        call = f"last_{call[5:-1]}, {instruction.item.op!r})"
                self._line(f"{instruction.target} = {call}", instruction.item, args)
            case Choose():
                self.names["chosen"] = _chosen
                targets, count = instruction.targets, len(instruction.targets)
                text = f"{', '.join(targets)}, = chosen({instruction.index}, {count})"
                self._line(text, instruction.item, [instruction.data, instruction.index])
            case CheckPredicate():
                if instruction.predicate not in self._scalars:
                    one = instruction.predicate
                    text = f"if {one}.__class__ is not truth: scalar({one})"
                    self._line(text, instruction.item)

    def _if(self, instruction: If) -> None:
        yes, no = instruction.predicate, f"not {instruction.predicate}"
        if instruction.is_presence:
            yes, no = f"{yes} is not None", f"{yes} is None"
        name = f"{PRESENCE if instruction.is_presence else ''}{instruction.predicate}"
        line = len(self.items)
        counted = 0
        if instruction.then:
            self._line(f"if {yes}:")
            counted = self._side(instruction.then, line, (name, True))
            if instruction.otherwise:
                self._line("else:")
        elif instruction.otherwise:
            self._line(f"if {no}:")
        if instruction.otherwise:
            self._side(instruction.otherwise, line, (name, False), counted)

    def _side(self, block: Block, line: int, literal: type_of_literal, counted: int = 0) -> int:
        """A side of a cond; gives the number of its block where it is counted.

        Args:
          block: the side.
          line: of the question.
          literal: the answer.
          counted: the number of the other side, if that is counted.
        """
        counting = self.counting if self._is_counting else None
        if counting is None:
            self._indented(block)
            return 0
        kind, value = Kind.REST if counted else Kind.COUNTED, counted or len(counting.counters)
        number = counting.open(kind, line, len(self.items), literal, value)
        if not counted:
            self._level += 1
            self._line(f"{counting.counter()} += 1")
            self._level -= 1
        self._indented(block)
        counting.close(len(self.items) - 1)
        return number

    def _leave(self, leave: Leave) -> None:
        counting = self.counting if self._is_counting else None
        line = len(self.items)
        self._line(f"if {'not ' if leave.goes_on else ''}{leave.predicate}:")
        body = 0
        if counting is not None:
            body, literal = counting.body(), (leave.predicate, not leave.goes_on)
            counting.open(Kind.LEAVING, line, line + 1, literal, body)
        self._level += 1
        self._block(leave.exits)
        self._line("break")
        self._level -= 1
        if counting is not None:
            counting.close(len(self.items) - 1)
            literal = leave.predicate, leave.goes_on
            counting.open(Kind.GOING_ON, line, len(self.items), literal, body)

    def _loop(self, loop: Loop) -> None:
        inside = [
            one
            for one in _instructions_of_frame(loop.body)
            if isinstance(one, Compute) and one.takes_context
        ]
        if inside:
            self._line(f"frame{loop.number} = new_frame()")
        for one in inside:
            self._line(f"x{one.item.id} = {self._context(one, f', frame{loop.number}')}")
        counting = self.counting
        if counting is not None and self._inside:
            number = loop.number
            self._line(
                f"turns{number} += turn{number}; last{number} = turn{number} or last{number}; "
                f"turn{number} = 0"
            )
        first = len(self.items)
        if counting is not None:
            counting.open_loop(loop.number, loop.frame_name, first)
        self._line(f"for turn{loop.number} in count():")
        self.lines[-1] = f"{self.lines[-1]:<44}  # frame {loop.frame_name!a}"
        self._inside.append(loop.number)
        self._level += 1
        self._line(_CHECK)
        self._cost = 0.0
        self._block(loop.body)
        self._level -= 1
        self._inside.pop()
        self._cost = float(_CALLS_PER_CHECK)
        if counting is not None:
            counting.close_loop(len(self.items) - 1)
        self.loops[loop.number] = (loop.frame_name, first, len(self.items) - 1)

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
            self._line(text, instruction.items[0])

    def _position(self, position: int) -> str:
        name = f"p{position}"
        self.names[name] = np.int32(position)
        return name

    def _name(self, value: Any, prefix: str) -> str:
        """The name of something that many nodes use."""
        name = self._name_of.get(id(value))
        if name is None:
            name = self._name_of[id(value)] = f"{prefix}{len(self._name_of)}"
            self.names[name] = value
        return name

    def _item(self, item: NodeItem) -> str:
        name = f"i{item.id}"
        self.names[name] = item
        return name

    # -- clusters

    def _cluster(self, cluster: Cluster, following: type_of_instruction | None) -> None:
        self.computes = True
        if cluster.result in self._scalars:
            self._block(cluster.plain)
            return
        if cluster.is_on_gpu:
            self._fused(cluster)
            return
        ending = set(following.registers) if isinstance(following, Free) else set()
        members = [one for one in cluster.plain if isinstance(one, Compute)]
        name = f"tiles{cluster.number}"
        self._check(1)
        least = LARGE_BYTES // members[-1].item.output_types[0].numpy_dtype.itemsize
        small = " and ".join(f"{arg}.size < {least}" for arg in cluster.args)
        call = f"{name}({', '.join(cluster.args)})"
        self._line(f"if {small} or ({cluster.result} := {call}) is None:")
        self._cost = 0.0
        self._indented(cluster.plain)
        over = {
            arg: f"{name}_{arg}" for arg in cluster.args if arg in ending and self._is_made(arg)
        }
        plans = {arg: plan_tile(cluster, arg) for arg in over}
        plan = plan_tile(cluster)
        self._tiles.append((name, cluster, plan))
        self._tiles += [(over[arg], cluster, plans[arg]) for arg in over]
        numbers = {arg: number for number, arg in enumerate(cluster.args)}
        sources = [
            [numbers.get(arg, arg) for arg in one.args if arg in numbers or arg[0] != "c"]
            for one in members
        ]
        vectors = {numbers[arg] for one in members for arg in vector_args(one) if arg in numbers}

        def make(names: dict[str, Any]) -> TiledCluster:
            return TiledCluster(
                members[-1].item.output_types[0].numpy_dtype,
                sources,
                (names[f"{name}_tile"], plan.num_spares),
                {numbers[arg]: (names[f"{over[arg]}_tile"], plans[arg].num_spares) for arg in over},
                vectors,
            )

        self.makers[name] = make

    def _fused(self, cluster: Cluster) -> None:
        """A cluster on a GPU."""
        name = f"fused{cluster.number}"
        if name not in self.names:
            self.names[name] = self.on_gpu.fused_of(cluster, self._program.item_of)
        self._check(1)
        call = f"{name}({', '.join(cluster.args)})"
        *_, item = (one.item for one in cluster.plain if isinstance(one, Compute))
        self._line(f"if ({cluster.result} := {call}) is None:", item, cluster.args)
        self._indented(cluster.plain)

    def _segment(self, segment: Segment) -> None:
        """Kernels of a GPU that may become a graph."""
        self.computes = True
        first, name = segment.plain[0], f"segment{segment.number}"
        member = first.plain[0] if isinstance(first, Cluster) else first
        assert isinstance(member, Compute)
        assert member.item.kernel is not None
        device: Any = member.item.kernel.device
        self._check(1)
        call = f"{name}({', '.join(segment.args)})"
        self._line(f"if (out := {call}) is None:", member.item, segment.args)
        self._cost = 0.0
        self._indented(segment.plain)
        self._line("else:")
        self._line(f"    {', '.join(segment.results)}, = out")
        self._line("    del out")
        self._segments.append((name, segment))
        self.makers[name] = lambda names: self.on_gpu.GraphSegment(
            device, names[f"{name}_body"], len(segment.plain)
        )

    def _bodies(self) -> None:
        """Below the step: segments by themselves, to be captured."""
        self._level = 0
        for name, segment in self._segments:
            self._line("")
            self._line(f"def {name}_body({', '.join(segment.args)}):")
            self._level = 1
            self._cost = -float("inf")  # nobody ends half a capture
            self._block(segment.plain)
            self._line(f"return {', '.join(segment.results)},")
            self._level = 0

    def _is_made(self, register: str) -> bool:
        """Whether a node of the step made the value; others hold what was fed or read."""
        found = self._program.item_of.get(register)
        return found is not None and found[0].action != ARG

    def _tile_functions(self) -> None:
        """Below the step: what a cluster does with one tile."""
        self._level = 0
        for name, cluster, plan in self._tiles:
            spares = [f"spare{number + 1}" for number in range(plan.num_spares)]
            self._line("")
            self._line(f"def {name}_tile({', '.join([*cluster.args, 'out', *spares])}):")
            self._level = 1
            members = [one for one in cluster.plain if isinstance(one, Compute)]
            for member, target, places in zip(members, plan.targets, plan.places, strict=True):
                kernel = member.item.kernel
                expression = None if kernel is None else tile_of(kernel)
                assert expression is not None
                args = [places.get(arg, arg) for arg in member.args]
                self._line(self._write(expression, member.item, args, target), member.item)
            self._level = 0

    # -- nodes

    def _compute(self, instruction: Compute) -> None:
        item, args = instruction.item, instruction.args
        if item.action == ARG:
            self._line(f"{instruction.results[0]} = args[{item.argument_index}]", item)
        elif item.action == RETVAL:
            if self._inside:
                self.names["set_twice"] = _refuse_second_value
                number = item.argument_index
                self._line(f"if retvals[{number}] is not None: set_twice({number})", item, args)
            self._line(f"retvals[{item.argument_index}] = {args[0]}", item, args)
            self.owns_fetches &= self._is_own(args[0])
        else:
            self.computes = True
            expression = self._expression(instruction)
            if expression is not None:
                self._check(_COST_OF_EXPRESSION)
                written = self._write(expression, item, self._with_arrays(args))
                text = f"{instruction.results[0]} = {written}"
                self.expressions.add(len(self.items))
                self._made.add(instruction.results[0])
            elif instruction.held and instruction.held.text:
                self._check(_COST_OF_EXPRESSION)
                self._line(self._use(instruction, instruction.held), item, args)
                return
            else:
                self._check(1)
                text = self._call(instruction)
            self._line(text, item, args)
            if expression is None and item.action not in (PURE_ONE, ASYNC) and _gives_one(item):
                # A kernel may give its one output in a tuple.
                result = instruction.results[0]
                unpacked = f"{result}, = outputs({self._item(item)}, {result})"
                self._line(f"if {result}.__class__ in lists: {unpacked}", item)

    def _is_own(self, register: str) -> bool:
        """Whether a fetch is a number, or an array made by an expression for it alone."""
        if register in self._made:
            return self._num_reads[register] == 1
        return isinstance(self._program.constants.get(register), np.number | np.bool)

    def _with_arrays(self, args: list[str]) -> list[str]:
        """The arguments of an expression, a number that meets an array being an array, too.

        NumPy takes longer for an array and one of its numbers than for an array and an array.
        """
        others = [arg for arg in args if arg not in self._scalars]
        if len(others) != 1:
            return args
        found = []
        for arg in args:
            value = self._program.constants.get(arg)
            if isinstance(value, np.number | np.bool):
                self.names[f"{arg}a"] = np.array(value)
                found.append(f"({arg}a if {others[0]}.__class__ is array else {arg})")
            else:
                found.append(arg)
        return found

    def _call(self, instruction: Compute) -> str:
        item, args, results = instruction.item, instruction.args, instruction.results
        if item.action == ASYNC:
            self.names[f"w{item.id}"] = waiter(self._immutable, item)
            call = f"w{item.id}({', '.join(['step', 'run_state', *args])})"
            return f"{', '.join(results)}, = {call}" if results else call
        if item.action == PURE_ONE:
            return f"{results[0]} = {self._kernel(item, args)}"
        if item.action == CONTEXT:
            if self._inside:
                # One context serves all iterations.
                self._line(f"x{item.id}.iteration = turn{self._inside[-1]}")
                args = [f"x{item.id}", *args]
            else:
                args = [self._context(instruction), *args]
        call = self._kernel(item, args)
        if item.num_outputs == 0:
            return call
        if _gives_one(item):
            return f"{results[0]} = {call}"
        comma = "," if item.num_outputs == 1 else ""
        return f"{', '.join(results)}{comma} = outputs({self._item(item)}, {call})"

    def _context(self, instruction: Compute, place: str = "") -> str:
        item = instruction.item
        assert item.kernel is not None
        self.names[f"n{item.id}"] = item.kernel
        device = self._name(item.kernel.device, "d")
        kind = "holding" if instruction.held and makes_handle(instruction) else "context"
        return f"{kind}(step, {device}, n{item.id}{place})"

    def _use(self, instruction: Compute, held: Held) -> str:
        """What uses a resource that a register holds."""
        item, results = instruction.item, instruction.results
        assert item.kernel is not None
        op_def, attrs = item.kernel.definition.op_def, item.kernel.attrs
        names = {one.name: arg for one, arg in zip(op_def.inputs, instruction.args, strict=True)}
        given = f"; {results[-1]} = {names[held.gives]}" if held.gives else ""
        for name, value in {**attrs, **held.names}.items():
            if f"{{{name}}}" in held.text:
                names[name] = self._name(kernel_attr(value), "f")
        made = results[:-1] if given else results
        return f"{''.join(f'{one} = ' for one in made)}{fill(held.text, names)}{given}"

    def _kernel(self, item: NodeItem, args: list[str]) -> str:
        """The call of a kernel: what it was bound to is written out, which is faster."""
        name, keywords = f"k{item.id}", dict[str, Any]()
        compute: Any = item.compute
        while True:
            if compute.__class__ is partial:
                args = [*(self._name(value, "a") for value in compute.args), *args]
                keywords, compute = compute.keywords | keywords, compute.func
            elif compute.__class__ is FunctionType and "gathers" in compute.__dict__:
                compute, slices = compute.__dict__["gathers"]
                inputs = args[1:]
                args = [args[0], *(_gathered(inputs, one) for one in slices)]
            else:
                break
        for key, value in keywords.items():
            if value.__class__ in _LITERALS:
                args.append(f"{key}={value!r}")
            else:
                args.append(f"{key}={self._name(value, 'a')}")
        self.names[name] = compute
        if item.kernel is not None:  # else it moves a tensor from device to device
            self.kernels[name] = item, compute
        return f"{name}({', '.join(args)})"

    def _expression(self, instruction: Compute) -> Expression | None:
        item = instruction.item
        if (
            item.action != PURE_ONE
            or item.kernel is None
            or item.compute is not item.kernel.compute
        ):
            return None
        are_scalars = all(arg in self._scalars for arg in instruction.args)
        for one in expressions_of(item.kernel):
            if are_scalars or not one.scalars_only:
                return one
        return None

    def _write(
        self, expression: Expression, item: NodeItem, args: list[str], target: str = ""
    ) -> str:
        assert item.kernel is not None
        op_def = item.kernel.definition.op_def
        by_name = {one.name: arg for one, arg in zip(op_def.inputs, args)} | {"out": target}
        names = {}
        for key, value in expression.names.items():
            names[key] = self._name(value, "f")
        call = self._kernel(item, args) if "{kernel}" in expression.text else ""
        return expression.write(by_name, call, names)


def _gathered(args: list[str], place: slice | int) -> str:
    return f"[{', '.join(args[place])}]" if isinstance(place, slice) else args[place]


def _instructions_of_frame(block: Block) -> Iterator[type_of_instruction]:
    """The instructions of a loop's body that are not those of a loop inside it."""
    for instruction in block:
        yield instruction
        if not isinstance(instruction, Loop):
            for inside in insides_of(instruction):
                yield from _instructions_of_frame(inside)


def _gives_one(item: NodeItem) -> bool:
    kernel = item.kernel
    if kernel is None or item.num_outputs != 1:
        return False
    return not kernel.definition.op_def.has_output_lists


def rank_matters(program: Program) -> bool:
    """Whether something is written differently where it works on scalars."""
    for instruction in instructions_in(program.root):
        if isinstance(instruction, CheckPredicate):
            return True
        kernel = instruction.item.kernel if isinstance(instruction, Compute) else None
        if kernel is not None and any(one.scalars_only for one in expressions_of(kernel)):
            return True
    return False


def _reader(item: NodeItem, number: int) -> Callable[[Any], Any]:
    """Reads one input of a node as ``dereference`` does."""
    position, _, how, dtype = item.dereference[number]
    entries = (item.dereference[number],)
    gives_value = how in (READ_VALUE, READ_IF_CELL)

    def check(cell: Any) -> Any:
        dereference_by(entries, [None] * position + [cell])
        return cell

    def read(cell: Any) -> Any:
        if isinstance(cell, RefCell) and gives_value:
            value = cell.value
            if value is not None and cell.dtype is dtype:
                return value
        args = [None] * position + [cell]
        dereference_by(entries, args)
        return args[position]

    return check if how == READ_CELL else read


def _chosen(index: Any, count: int) -> list[bool]:
    """Which of the first outputs of a _SwitchN is chosen; none of them where it is the last."""
    number = int(index)
    return [number == output for output in range(count)]


def _refuse_second_value(number: int) -> None:
    raise errors.internal(f"Retval[{number}] has already been set.")


def _refuse_other_than_scalar(predicate: Any) -> None:
    if getattr(predicate, "ndim", 0) != 0:
        raise errors.invalid_argument(
            f"The second input must be a scalar, but it has shape {list(predicate.shape)}"
        )
