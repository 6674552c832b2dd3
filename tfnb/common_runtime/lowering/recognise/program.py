"""The intermediate representation of a partition: blocks of instructions over registers.

A register is the name of a local variable; a name that begins with ``c`` is a constant of the
emitted function.  A block is a list of instructions that run in order.  Blocks nest as frames and
the branches of conds do::

    Program.root      v0 = args[0]
                      Assign          v3 = v0
                      Loop
                          v5 = v3 < c1
                          ExitLoop    unless v5
                          v7 = v3 + c2
                          Assign      v3 = v7
                      retvals[0] = v3

``recognise.py`` makes a program, ``ranks.py`` finds the registers that hold scalars, ``frees.py``
finds where the lifetime of a register ends, ``step_writer.py`` writes the source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from tfnb.common_runtime.executor.immutable_executor_state import CONTEXT
from tfnb.common_runtime.lowering.recognise.conditions import ALWAYS, type_of_condition
from tfnb.core.process.records import field, record

if TYPE_CHECKING:
    from tfnb.common_runtime.executor.immutable_executor_state import (
        ImmutableExecutorState,
        NodeItem,
    )
    from tfnb.core.op_expression import HeldUse


@record(slots=True, eq=False)
class Compute:
    """Runs a node: results = kernel(args).

    With ``held``, a register holds the resource that the node's handle refers to.
    """

    item: NodeItem
    args: list[str]
    results: list[str]
    held: HeldUse | None = None

    @property
    def takes_context(self) -> bool:
        """Whether it calls a kernel that takes the ``OpKernelContext``."""
        return self.item.action == CONTEXT and not (self.held and self.held.text)


@record(slots=True, eq=False)
class Read:
    """Dereferences an input of a node that may be a variable's cell.

    ``number`` is the index of the entry in ``item.dereference``.
    """

    item: NodeItem
    number: int
    source: str
    target: str


@record(slots=True, eq=False)
class Copy:
    """Sets a Merge's value in a branch of a cond, and its ``value_index`` if that is used."""

    item: NodeItem
    source: str
    target: str
    position: int
    index_target: str


@record(slots=True, eq=False)
class Clear:
    """Marks a Merge that may get no value as empty."""

    item: NodeItem
    target: str


@record(slots=True, eq=False)
class CheckPredicate:
    """Checks that the predicate of a Switch is a scalar."""

    item: NodeItem
    predicate: str


@record(slots=True, eq=False)
class Choose:
    """Sets a flag for each output of a _SwitchN except the last: whether it is the chosen one."""

    item: NodeItem
    data: str
    index: str
    targets: list[str]


@record(slots=True, eq=False)
class If:
    """Runs ``then`` if a predicate is true, ``otherwise`` if it is false.

    With ``is_presence``, the test is whether the register holds a value.
    """

    predicate: str
    is_presence: bool
    then: Block = field(default_factory=list)
    otherwise: Block = field(default_factory=list)


@record(slots=True, eq=False)
class Assign:
    """Assigns all variables of a loop at once: first values, or those of the next iteration.

    ``position`` is the ``value_index`` of the Merges: 0 for the first values, 1 for the others.
    """

    items: list[NodeItem]
    targets: list[str]
    sources: list[str]
    position: int
    index_targets: list[str]


@record(slots=True, eq=False)
class Loop:
    """A frame; the :class:`Assign` of the first values precedes it.

    The body has one :class:`ExitLoop` at its top level, not in a nested block, and ends with the
    Assign of the next values.
    """

    frame_name: str
    number: int  # unique in the program
    body: Block = field(default_factory=list)


@record(slots=True, eq=False)
class Cluster:
    """Elementwise nodes that run tile by tile if their inputs are large, else as ``plain``.

    On a GPU they run as one kernel if the shapes allow it.  A compiled cluster becomes one of a CPU
    (``compiled_clusters.py``), and may have several results.
    """

    number: int  # unique in the program, among compiled clusters or the others
    args: list[str]
    result: str
    plain: Block
    is_on_gpu: bool = False
    other_results: list[str] = field(default_factory=list)
    compiled: list[Compute] = field(default_factory=list)  # its nodes, if it is a compiled cluster


@record(slots=True, eq=False)
class Segment:
    """Instructions that launch kernels of one GPU, as a CUDA graph if possible, else ``plain``."""

    number: int  # unique in the program
    args: list[str]
    results: list[str]
    plain: Block


@record(slots=True, eq=False)
class PartialSum:
    """A part of a sum of many tensors: its first two, or the sum so far and the next one.

    ``number`` is the node's input index of the last one.
    """

    item: NodeItem
    args: list[str]
    target: str
    number: int
    is_last: bool = False


@record(slots=True, eq=False)
class Deferred:
    """A part of a sum of products that are made together (``product_sums.py``).

    Attributes:
      part: the function that runs it.
      order: of a product its place among the inputs of the sum.
      numbers: of a sum the places of the other inputs.
    """

    item: NodeItem
    part: str
    args: list[str]
    target: str
    order: int = 0
    numbers: list[int] = field(default_factory=list)


@record(slots=True, eq=False)
class ExitLoop:
    """Ends the loop here, after ``exits``, unless the predicate equals ``goes_on``."""

    predicate: str
    goes_on: bool
    exits: Block = field(default_factory=list)


@record(slots=True, eq=False)
class Free:
    """Frees registers after their last use."""

    registers: list[str]


@record(slots=True, eq=False)
class Sent:
    """Counts the bytes of a tensor received from another device."""

    source: str


@record(slots=True, eq=False)
class Mark:
    """Does nothing; it makes a block exist although none of its nodes emits code."""


type_of_instruction = (
    Compute
    | Read
    | Copy
    | Clear
    | CheckPredicate
    | Choose
    | If
    | Assign
    | Loop
    | Cluster
    | Segment
    | PartialSum
    | Deferred
    | ExitLoop
    | Free
    | Mark
    | Sent
)
Block = list[type_of_instruction]


class Unrecognised(Exception):
    """The reason why a partition stays with the reference executor."""


@record(slots=True, eq=False)
class Unit:
    """A node, an inner frame, or a step of a Merge.

    Attributes:
      item: the node, if the unit is one.
      frame: the frame's name, if the unit is one.
      condition: the condition under which it is alive; None: never.
      before: the units that it waits for.
      after: the units that wait for it.
      number: its place in a topological order.
      instructions: its instructions; empty if it only orders other units.
      is_part: whether it does not run if the frame as a whole is dead.
      waits_for_others: whether it runs when nothing else is ready, because it writes to a variable
        that others read.
      waits: whether it runs even later, because it may wait for something outside the function.
    """

    item: NodeItem | None = None
    frame: str = ""
    condition: type_of_condition | None = ALWAYS
    before: list[Unit] = field(default_factory=list)
    after: list[Unit] = field(default_factory=list)
    number: int = 0
    instructions: list[type_of_instruction] = field(default_factory=list)
    is_part: bool = False
    waits_for_others: bool = False
    waits: bool = False
    num_waits: int = 0

    def wait_for(self, before: Unit) -> None:
        """Make it run after another unit."""
        self.before.append(before)
        before.after.append(self)

    def all_before(self) -> list[Unit]:
        """Return all units that it waits for, directly or indirectly."""
        found, seen = list(self.before), {id(unit) for unit in self.before}
        for unit in found:
            more = [one for one in unit.before if id(one) not in seen]
            seen.update(id(one) for one in more)
            found += dict.fromkeys(more)
        return found


class RegistersOfNodes(Protocol):
    """Maps the outputs and predicates of nodes to registers."""

    @property
    def immutable(self) -> ImmutableExecutorState:
        """The partition."""

    def register(self, item: NodeItem, output: int) -> str:
        """Return the register of an output."""

    def predicate(self, item: NodeItem) -> str:
        """Return the register of the predicate of a Switch."""

    def args(self, item: NodeItem) -> list[str]:
        """Return the registers of the inputs of a node."""

    def hands_on(self, item: NodeItem) -> tuple[NodeItem, int] | None:
        """Return the tensor that a node's output only forwards, or None."""


@record(slots=True, eq=False)
class Program:
    """A partition.

    Attributes:
      root: the block that a step runs.
      constants: the values of constant registers.
      item_of: register -> the (node, output) whose value it holds.
      has_conditional_fetch: whether a fetch may be dead.
      switches: the register of the predicate, or index, of each Switch in the root frame, by the
        Switch's id; empty where no fetch can be dead.
      predicates: the registers in ``switches``, each once.
      num_loops: number of frames.
      frames: if the function counts: each loop's number and its units, inner loops first.
      triggered: if the function counts: the nodes that are never dead.
      alive_alone: if the function counts: the nodes that are alive even if their loop is not
        entered, and the Enters that make them alive.
      registers: the mapping of tensors to registers.
    """

    root: Block = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)
    item_of: dict[str, tuple[NodeItem, int]] = field(default_factory=dict)
    has_conditional_fetch: bool = False
    switches: dict[int, str] = field(default_factory=dict)
    predicates: list[str] = field(default_factory=list)
    num_loops: int = 0
    frames: list[tuple[int, list[Unit]]] = field(default_factory=list)
    triggered: set[int] = field(default_factory=set)
    alive_alone: dict[int, set[int]] = field(default_factory=dict)
    registers: RegistersOfNodes | None = None


def reads_of(instruction: type_of_instruction) -> list[str]:
    """Return the registers that an instruction itself reads, without its inner blocks."""
    if isinstance(instruction, Compute | Segment):
        return instruction.args
    if isinstance(instruction, Read | Copy | Sent):
        return [instruction.source]
    if isinstance(instruction, If | ExitLoop | CheckPredicate):
        return [instruction.predicate]
    if isinstance(instruction, Choose):
        return [instruction.data, instruction.index]
    if isinstance(instruction, Assign):
        return instruction.sources
    if isinstance(instruction, Cluster | PartialSum | Deferred):
        return instruction.args
    return []


def writes_of(instruction: type_of_instruction) -> list[str]:
    """Return the registers that an instruction itself sets, without its inner blocks."""
    if isinstance(instruction, Compute | Segment):
        return instruction.results
    if isinstance(instruction, Read | Clear | PartialSum | Deferred):
        return [instruction.target]
    if isinstance(instruction, Copy):
        found = [instruction.target]
        return [*found, instruction.index_target] if instruction.index_target else found
    if isinstance(instruction, Choose):
        return instruction.targets
    if isinstance(instruction, Assign):
        return [*instruction.targets, *instruction.index_targets]
    if isinstance(instruction, Cluster):
        return [instruction.result, *instruction.other_results]
    return []


def insides_of(instruction: type_of_instruction) -> list[Block]:
    """Return the inner blocks of an instruction."""
    if isinstance(instruction, If):
        return [instruction.then, instruction.otherwise]
    if isinstance(instruction, Loop):
        return [instruction.body]
    if isinstance(instruction, ExitLoop):
        return [instruction.exits]
    if isinstance(instruction, Cluster | Segment):
        return [instruction.plain]
    return []
