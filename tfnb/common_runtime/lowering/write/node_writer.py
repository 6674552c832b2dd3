"""Writes a node as the line that runs it.

A node becomes a call of its kernel with the registers of its inputs, or an expression if its op
defines one; a resource that a register holds is used without a lookup.
"""

from __future__ import annotations

import itertools
from collections import Counter
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.executor.executor import as_outputs, dereference_by
from tfnb.common_runtime.executor.immutable_executor_state import (
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
from tfnb.common_runtime.lowering.recognise.program import (
    CheckPredicate,
    Choose,
    Compute,
    Deferred,
    PartialSum,
    Program,
    Read,
    reads_of,
)
from tfnb.common_runtime.lowering.rewrite.held import makes_handle
from tfnb.common_runtime.lowering.rewrite.product_sums import RUN
from tfnb.common_runtime.lowering.rewrite.ranks import instructions_in
from tfnb.common_runtime.lowering.rewrite.sums import first_sum, last_sum, next_sum
from tfnb.common_runtime.lowering.support.waits import waiter
from tfnb.core import errors
from tfnb.core.kernel_expressions import expressions_of, kernel_with_constants
from tfnb.core.op_expression import Expression, HeldUse, fill
from tfnb.core.op_kernel import HoldingContext, OpKernelContext, kernel_attr
from tfnb.core.resource_mgr import RefCell

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from tfnb.common_runtime.executor.immutable_executor_state import ImmutableExecutorState
    from tfnb.common_runtime.lowering.write.source import Source

_COST_OF_EXPRESSION = 0.25  # measured in calls
# Types of values that are written into the source as literals.
_LITERALS = frozenset((bool, int, type(None)))


class NodeWriter:
    """Writes the nodes of one partition.

    Attributes:
      kernels: the kernels that are called, by their names in the source.
      expressions: the lines in which a node is written as an expression.
      computes: whether a kernel is called or an expression is evaluated.
      owns_fetches: every fetch is a number, or a new array without other references.
      loop: the number of the innermost loop around the current line; 0 outside of loops.
    """

    def __init__(
        self,
        source: Source,
        immutable: ImmutableExecutorState,
        program: Program,
        scalars: Collection[str],
    ) -> None:
        """Initialize the writer.

        Args:
          source: receives the lines.
          immutable: the partition.
          program: the partition's program.
          scalars: the registers that hold scalars.
        """
        self._source = source
        self._immutable = immutable
        self._program = program
        self._scalars = scalars
        self.kernels: dict[str, tuple[NodeItem, Any]] = {}
        self.expressions: set[int] = set()
        self.computes = False
        self.owns_fetches = True
        self.loop = 0
        self._made: set[str] = set()  # the results of expressions
        self._num_reads = Counter(
            itertools.chain.from_iterable(map(reads_of, instructions_in(program.root)))
        )
        source.names |= {
            "array": np.ndarray,
            "context": OpKernelContext,
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

    def compute(self, instruction: Compute) -> None:
        """Write the run of a node."""
        source, item, args = self._source, instruction.item, instruction.args
        if item.action == ARG:
            source.line(f"{instruction.results[0]} = args[{item.argument_index}]", item)
        elif item.action == RETVAL:
            if self.loop:
                source.names["set_twice"] = _refuse_second_value
                number = item.argument_index
                source.line(f"if retvals[{number}] is not None: set_twice({number})", item, args)
            source.line(f"retvals[{item.argument_index}] = {args[0]}", item, args)
            self.owns_fetches &= self._is_own(args[0])
        else:
            self.computes = True
            expression = self._expression(instruction)
            if expression is not None:
                source.check(_COST_OF_EXPRESSION)
                written = self.write(expression, item, self._with_arrays(args))
                text = f"{instruction.results[0]} = {written}"
                self.expressions.add(len(source.items))
                if expression.is_new:
                    self._made.add(instruction.results[0])
            elif instruction.held and instruction.held.text:
                source.check(_COST_OF_EXPRESSION)
                source.line(self._use(instruction, instruction.held), item, args)
                return
            else:
                source.check(1)
                text = self._call(instruction)
            source.line(text, item, args)
            if expression is None and item.action not in (PURE_ONE, ASYNC) and _gives_one(item):
                # A kernel may return its only output in a tuple.
                result = instruction.results[0]
                unpacked = f"{result}, = outputs({self._item(item)}, {result})"
                source.line(f"if {result}.__class__ in lists: {unpacked}", item)

    def is_number(self, instruction: Compute) -> bool:
        """Return whether a node is an expression with only scalar inputs and outputs."""
        if not self.are_scalars([*instruction.args, *instruction.results]):
            return False
        return self._expression(instruction) is not None

    def are_scalars(self, registers: Collection[str]) -> bool:
        """Return whether all these registers hold scalars for all feeds."""
        return all(one in self._scalars for one in registers)

    def read(self, instruction: Read) -> None:
        """Write the read of a reference."""
        item, given = instruction.item, instruction.source
        name = f"read{item.id}_{instruction.number}"
        self._source.names[name] = _reader(item, instruction.number)
        value = f"{name}({given})"
        if item.dereference[instruction.number][2] == READ_CELL:
            is_good = f"{given}.__class__ is ref and {given}.value is not None"
            value = f"{given} if {is_good} else {value}"
        self._source.line(f"{instruction.target} = {value}", item, [given])

    def partial_sum(self, instruction: PartialSum) -> None:
        """Write a part of an AddN."""
        self.computes = True
        self._source.check(_COST_OF_EXPRESSION)
        args, given = instruction.args, list(instruction.args)
        if instruction.number == 1:
            function = "first_sum"
        else:
            given.append(str(instruction.number))
            function = "next_sum"
            if instruction.is_last:
                given.append(repr(instruction.item.op))
                function = "last_sum"
        call = f"{function}({', '.join(given)})"
        self._source.line(f"{instruction.target} = {call}", instruction.item, args)

    def deferred(self, instruction: Deferred) -> None:
        """Write a part of a sum of products that are made together."""
        self.computes = True
        source, item, part = self._source, instruction.item, instruction.part
        source.check(1 if part == "product" else _COST_OF_EXPRESSION)
        source.names[f"{part}_of"] = RUN[part]
        first: list[str] = []
        if part in ("product", "further"):
            source.names[f"m{item.id}"] = item.compute
            first = [f"m{item.id}"]
        if part == "product":
            first.append(str(instruction.order))
        elif part == "sum":
            first = [repr(item.op), repr(instruction.numbers)]
        call = f"{part}_of({', '.join([*first, *instruction.args])})"
        source.line(f"{instruction.target} = {call}", item, instruction.args)

    def choose(self, instruction: Choose) -> None:
        """Write the choice of a _SwitchN's output."""
        self._source.names["chosen"] = _chosen
        targets, count = instruction.targets, len(instruction.targets)
        text = f"{', '.join(targets)}, = chosen({instruction.index}, {count})"
        self._source.line(text, instruction.item, [instruction.data, instruction.index])

    def check_predicate(self, instruction: CheckPredicate) -> None:
        """Write the check that a predicate is a scalar, unless that is known."""
        if instruction.predicate not in self._scalars:
            one = instruction.predicate
            text = f"if {one}.__class__ is not truth: scalar({one})"
            self._source.line(text, instruction.item)

    def context(self, instruction: Compute, place: str = "") -> str:
        """Return the expression for the context that a kernel is called with.

        Args:
          instruction: the call.
          place: further arguments, which identify the frame.
        """
        item = instruction.item
        assert item.kernel is not None
        self._source.names[f"n{item.id}"] = item.kernel
        device = self._source.name(item.kernel.device, "d")
        kind = "holding" if instruction.held and makes_handle(instruction) else "context"
        return f"{kind}(step, {device}, n{item.id}{place})"

    def write(
        self, expression: Expression, item: NodeItem, args: list[str], target: str = ""
    ) -> str:
        """Return a node written as an expression.

        Args:
          expression: the expression that its op defines.
          item: the node.
          args: its inputs.
          target: the array to write into; "" to make a new value.
        """
        assert item.kernel is not None
        op_def = item.kernel.definition.op_def
        by_name = {one.name: arg for one, arg in zip(op_def.inputs, args)} | {"out": target}
        names = {}
        for key, value in expression.names.items():
            names[key] = self._source.name(value, "f")
        call = self._kernel(item, args) if expression.calls_kernel else ""
        return expression.write(by_name, call, names)

    def _is_own(self, register: str) -> bool:
        """Return whether a fetch is a number, or an array made by an expression for it alone."""
        if register in self._made:
            return self._num_reads[register] == 1
        return isinstance(self._program.constants.get(register), np.number | np.bool)

    def _with_arrays(self, args: list[str]) -> list[str]:
        """Return an expression's arguments, with constants as arrays if only one is an array.

        NumPy takes longer for an array and a NumPy scalar than for two arrays.
        """
        others = [arg for arg in args if arg not in self._scalars]
        if len(others) != 1:
            return args
        found = []
        for arg in args:
            value = self._program.constants.get(arg)
            if isinstance(value, np.number | np.bool):
                self._source.names[f"{arg}a"] = np.array(value)
                found.append(f"({arg}a if {others[0]}.__class__ is array else {arg})")
            else:
                found.append(arg)
        return found

    def _call(self, instruction: Compute) -> str:
        item, args, results = instruction.item, instruction.args, instruction.results
        if item.action == ASYNC:
            self._source.names[f"w{item.id}"] = waiter(self._immutable, item)
            call = f"w{item.id}({', '.join(['step', 'run_state', *args])})"
            return f"{', '.join(results)}, = {call}" if results else call
        if item.action == PURE_ONE:
            return f"{results[0]} = {self._kernel(item, args)}"
        if item.action == CONTEXT:
            if self.loop:
                # One context serves all iterations.
                self._source.line(f"x{item.id}.iteration = turn{self.loop}")
                args = [f"x{item.id}", *args]
            else:
                args = [self.context(instruction), *args]
        call = self._kernel(item, args)
        if item.num_outputs == 0:
            return call
        if _gives_one(item):
            return f"{results[0]} = {call}"
        comma = "," if item.num_outputs == 1 else ""
        return f"{', '.join(results)}{comma} = outputs({self._item(item)}, {call})"

    def _use(self, instruction: Compute, held: HeldUse) -> str:
        """Return the statement that uses a resource held in a register."""
        item, results = instruction.item, instruction.results
        assert item.kernel is not None
        op_def, attrs = item.kernel.definition.op_def, item.kernel.attrs
        names = {one.name: arg for one, arg in zip(op_def.inputs, instruction.args, strict=True)}
        given = f"; {results[-1]} = {names[held.gives]}" if held.gives else ""
        for name, value in {**attrs, **held.names}.items():
            if name in held.fields:
                names[name] = self._source.name(kernel_attr(value), "f")
        made = results[:-1] if given else results
        return f"{''.join(f'{one} = ' for one in made)}{fill(held.text, names)}{given}"

    def _kernel(self, item: NodeItem, args: list[str]) -> str:
        """Return a kernel's call; the bound arguments are written out, which is faster."""
        name, keywords = f"k{item.id}", dict[str, Any]()
        compute: Any = item.compute
        while True:
            if compute.__class__ is partial:
                args = [*(self._source.name(value, "a") for value in compute.args), *args]
                keywords, compute = compute.keywords | keywords, compute.func
            elif compute.__class__ is FunctionType and "gathers" in compute.__dict__:
                compute, slices = compute.__dict__["gathers"]
                inputs = args[1:]
                args = [args[0], *(_gathered(inputs, one) for one in slices)]
            else:
                break
        made = self._with_constants(item, compute, args, keywords)
        if made is not None:
            compute, args = made
            keywords = {}
        for key, value in keywords.items():
            if value.__class__ in _LITERALS:
                args.append(f"{key}={value!r}")
            else:
                args.append(f"{key}={self._source.name(value, 'a')}")
        self._source.names[name] = compute
        if item.kernel is not None:  # None: the node moves a tensor between devices
            self.kernels[name] = item, compute
        return f"{name}({', '.join(args)})"

    def _with_constants(
        self,
        item: NodeItem,
        compute: Callable[..., Any],
        args: list[str],
        attrs: dict[str, Any],
    ) -> tuple[Callable[..., Any], list[str]] | None:
        """Return the kernel that the op makes for the node's constant inputs, and its arguments.

        None if the op makes none.
        """
        kernel = item.kernel
        if kernel is None or kernel.definition.constant_kernel is None:
            return None
        if self._source.names.get(args[0]) is not np:
            return None
        names = [one.name for one in kernel.definition.op_def.inputs]
        given = dict(zip(names, args[1:], strict=True))
        constants = {
            name: self._program.constants[text]
            for name, text in given.items()
            if text in self._program.constants
        }
        made = kernel_with_constants(kernel, compute, constants, attrs)
        if made is None:
            return None
        read = kernel.definition.constant_kernel.inputs
        return made, [text for name, text in given.items() if name not in read]

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
            if one.calls_kernel and self._has_constants(instruction):
                continue  # the kernel made for the constants is faster
            if are_scalars or not one.scalars_only:
                return one
        return None

    def _has_constants(self, instruction: Compute) -> bool:
        """Return whether the inputs that the op can make a kernel for are constants."""
        kernel = instruction.item.kernel
        made = None if kernel is None else kernel.definition.constant_kernel
        if kernel is None or made is None:
            return False
        given = zip(kernel.definition.op_def.inputs, instruction.args, strict=True)
        return all(arg in self._program.constants for one, arg in given if one.name in made.inputs)

    def _item(self, item: NodeItem) -> str:
        name = f"i{item.id}"
        self._source.names[name] = item
        return name


def rank_matters(program: Program) -> bool:
    """Return whether some instruction is written differently for scalars."""
    for instruction in instructions_in(program.root):
        if isinstance(instruction, CheckPredicate):
            return True
        kernel = instruction.item.kernel if isinstance(instruction, Compute) else None
        if kernel is not None and any(one.scalars_only for one in expressions_of(kernel)):
            return True
    return False


def _gathered(args: list[str], place: slice | int) -> str:
    return f"[{', '.join(args[place])}]" if isinstance(place, slice) else args[place]


def _gives_one(item: NodeItem) -> bool:
    kernel = item.kernel
    if kernel is None or item.num_outputs != 1:
        return False
    return not kernel.definition.op_def.has_output_lists


def _reader(item: NodeItem, number: int) -> Callable[[Any], Any]:
    """Return a function that reads one input of a node as ``dereference`` does."""
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
    """Return a flag for each output of a _SwitchN except the last, for which all are False."""
    number = int(index)
    return [number == output for output in range(count)]


def _refuse_second_value(number: int) -> None:
    raise errors.internal(f"Retval[{number}] has already been set.")


def _refuse_other_than_scalar(predicate: Any) -> None:
    if getattr(predicate, "ndim", 0) != 0:
        raise errors.invalid_argument(
            f"The second input must be a scalar, but it has shape "
            f"[{','.join(map(str, predicate.shape))}]"
        )
