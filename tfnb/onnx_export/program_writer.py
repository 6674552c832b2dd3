"""Writes a program as nodes of ONNX: its blocks become the bodies of If and Loop.

Registers are local variables; here each has a value, and a body that sets registers returns those
that are read behind it. A loop tests its predicate in the middle, ONNX's at the end: the part
before the test is written twice, before the Loop and at the end of its body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.common_runtime.lowering.recognise.conditions import PRESENCE
from tfnb.common_runtime.lowering.recognise.program import (
    Assign,
    Block,
    CheckPredicate,
    Choose,
    Clear,
    Compute,
    Copy,
    ExitLoop,
    If,
    Loop,
    Mark,
    Program,
    insides_of,
    reads_of,
    type_of_instruction,
)
from tfnb.core import dtypes
from tfnb.onnx_export.static_values import StaticValues, all_writes
from tfnb.onnx_export.writing.converters import (
    CONVERTERS,
    NodeToConvert,
    converter_of,
    has_onnx_type,
)
from tfnb.onnx_export.writing.onnx_nodes import Body, Kind, Writer, close_body, loop_body
from tfnb.onnx_export.writing.problems import ConversionError, Problem, Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tfnb.common_runtime.executor.immutable_executor_state import NodeItem
    from tfnb.core.dtypes import DType

# Nodes that only check, print or order: a file has no place for them.
LEFT_OUT = frozenset(["Assert", "NoOp", "PrintV2", "ControlTrigger"])
# Outputs that stand for a tensor array or a list, whose value is a sequence.
_HANDLES = (dtypes.resource, dtypes.variant)


# Ops of the gradients of tensor lists.
_OF_LISTS = frozenset(["AddN", "ZerosLike"])
_STACK_CHANGES = frozenset(["StackPushV2", "StackPush", "StackPopV2", "StackPop"])


def _changed_stacks(block: Block) -> set[str]:
    """Return the registers of the stacks that a block changes."""
    return {
        one.args[0]
        for one in _all(block)
        if isinstance(one, Compute) and one.item.op in _STACK_CHANGES
    }


def _reads(block: Block) -> set[str]:
    found: set[str] = set()
    for instruction in block:
        if isinstance(instruction, If) and instruction.is_presence:
            found.add(PRESENCE + instruction.predicate)
        else:
            found.update(reads_of(instruction))
        for inside in insides_of(instruction):
            found |= _reads(inside)
    return found


def _writes(block: Block) -> set[str]:
    """Return the registers that a block sets, and those for the presence of a value."""
    found = all_writes(block)
    return found | {PRESENCE + register for register in found} | _changed_stacks(block)


class ProgramWriter:
    """The writing of one program."""

    def __init__(
        self, program: Program, values: StaticValues, writer: Writer, inputs: Sequence[str]
    ) -> None:
        """Prepare it.

        Args:
          program: the program.
          values: what is known about its registers.
          writer: adds nodes to the graph.
          inputs: the names of the arguments.
        """
        self._program, self._values, self._writer, self._inputs = program, values, writer, inputs
        self._presences = {
            PRESENCE + one.predicate
            for one in _all(program.root)
            if isinstance(one, If) and one.is_presence
        }
        self.results: dict[int, str] = {}
        self.problems: dict[str, Problem] = {}
        self._depth = 0

    def write(self) -> dict[int, str]:
        """Write everything; return the values of the results by number.

        Raises:
          ConversionError: some nodes have no form in ONNX.
        """
        self._block(self._program.root, {}, set())
        if self.problems:
            raise ConversionError(list(self.problems.values()))
        return self.results

    # -- registers

    def _value(self, register: str, values: dict[str, str]) -> str:
        found = values.get(register)
        if found is not None:
            return found
        known = self._values.constants.get(register)
        if known is not None:
            if known.dtype.kind == "c":  # an axis for the parts, as families/spectra.py has it
                known = np.stack([known.real, known.imag], axis=-1)
            name = self._writer.constant(known)
            self._writer.graph.kinds.setdefault(name, Kind(self._dtype(register)))
            return name
        return values[register]

    def _dtype(self, register: str) -> DType:
        if register.startswith(PRESENCE):
            return dtypes.bool
        found = self._program.item_of.get(register)
        if found is None:
            return dtypes.bool  # a flag of Choose
        item, output = found
        return _written_type(item.output_types[output].base_dtype)

    def _kind(self, value: str, register: str) -> Kind:
        return self._writer.graph.kinds.get(value) or Kind(self._dtype(register))

    # -- instructions

    def _block(self, block: Block, values: dict[str, str], later: set[str]) -> None:
        """Write a block.

        Args:
          block: the block.
          values: register -> value, which is changed.
          later: the registers that are read behind the block.
        """
        needed = later | set()
        behind: list[set[str]] = []
        for instruction in reversed(block):
            behind.append(needed)
            needed = needed | _reads([instruction])
        behind.reverse()
        for instruction, after in zip(block, behind):
            self._write(instruction, values, after)

    def _write(
        self, instruction: type_of_instruction, values: dict[str, str], later: set[str]
    ) -> None:
        if isinstance(instruction, Compute):
            self._compute(instruction, values)
        elif isinstance(instruction, Copy):
            self._copy(instruction, values)
        elif isinstance(instruction, Clear):
            values[PRESENCE + instruction.target] = self._writer.constant(np.asarray(False))
            values[instruction.target] = self._nothing(Kind(self._dtype(instruction.target)))
        elif isinstance(instruction, Assign):
            self._assign(instruction, values)
        elif isinstance(instruction, If):
            self._if(instruction, values, later)
        elif isinstance(instruction, Loop):
            self._loop(instruction, values, later)
        elif isinstance(instruction, Choose):
            index = self._value(instruction.index, values)
            for number, target in enumerate(instruction.targets):
                wanted = self._writer.constant(np.asarray(number, np.int32))
                values[target] = self._writer.add("Equal", [index, wanted])[0]
        elif not isinstance(instruction, CheckPredicate | Mark):
            item = getattr(instruction, "item", None)
            self._refuse(item, "it works on a variable or on several devices")

    def _refuse(self, item: NodeItem | None, reason: str) -> None:
        name, op = ("", "graph") if item is None else (item.name, item.op)
        self.problems.setdefault(name, Problem(name, op, reason))

    def _compute(self, instruction: Compute, values: dict[str, str]) -> None:
        item, args, results = instruction.item, instruction.args, instruction.results
        if item.op == "_Arg":
            values[results[0]] = self._inputs[item.argument_index]
            return
        if item.op == "_Retval":
            if self._depth:
                self._refuse(item, "this output has a value in one branch of a condition only")
                return
            self.results[item.argument_index] = self._value(args[0], values)
            return
        if item.op in LEFT_OUT or (
            results and all(result in self._values.constants for result in results)
        ):
            return
        try:
            self._convert(instruction, values)
        except Refused as error:
            self._refuse(item, str(error))
            for number, result in enumerate(results):
                values[result] = f"refused {item.name}:{number}"

    def _convert(self, instruction: Compute, values: dict[str, str]) -> None:
        item, args, results = instruction.item, instruction.args, instruction.results
        reason = why_not(item)
        if reason:
            raise Refused(reason)
        known = self._values
        inputs = [self._value(arg, values) for arg in args]
        if any(value.startswith("refused ") for value in inputs):
            return self._pass_on(item, results, values)
        writer = self._writer
        writer.origin = item.name
        node = NodeToConvert(
            item,
            inputs,
            [known.shape(arg) for arg in args],
            [known.constants.get(arg) for arg in args],
            [known.shape(result) for result in results],
            writer,
        )
        node.registers = args
        converter = converter_of(item)
        assert converter is not None  # else there is a reason
        made = converter(node)
        outputs = [made] if isinstance(made, str) else list(made)
        if item.op in _STACK_CHANGES:
            # The state behind the handle is a register of its own: that of the handle.
            writer.graph.kinds.setdefault(outputs[1], node.kinds[1])
            values[args[0]] = outputs.pop()
        for number, (result, value) in enumerate(zip(results, outputs)):
            kind = node.kinds.get(number)
            if kind is None and value in inputs:
                kind = writer.graph.kinds.get(value)
            writer.graph.kinds.setdefault(
                value, kind or Kind(_written_type(item.output_types[number]))
            )
            values[result] = value
        return None

    @staticmethod
    def _pass_on(item: NodeItem, results: list[str], values: dict[str, str]) -> None:
        """Mark the results of a node behind one that has no form."""
        for number, result in enumerate(results):
            values[result] = f"refused {item.name}:{number}"

    def _copy(self, instruction: Copy, values: dict[str, str]) -> None:
        values[instruction.target] = self._value(instruction.source, values)
        values[PRESENCE + instruction.target] = self._writer.constant(np.asarray(True))
        if instruction.index_target:
            number = np.asarray(instruction.position, np.int32)
            values[instruction.index_target] = self._writer.constant(number)

    def _assign(self, instruction: Assign, values: dict[str, str]) -> None:
        found = [self._value(source, values) for source in instruction.sources]
        values.update(zip(instruction.targets, found))
        number = np.asarray(instruction.position, np.int32)
        for target in instruction.index_targets:
            values[target] = self._writer.constant(number)

    def _nothing(self, kind: Kind) -> str:
        """Return a value for a register that nothing reads on this way."""
        if kind.is_sequence:
            found = self._writer.add("SequenceEmpty", [], {"dtype": _enum(kind)})[0]
        elif kind.dtype == dtypes.string:
            found = self._writer.constant(np.zeros((0,), object))
        elif not has_onnx_type(kind.dtype):
            raise ConversionError([Problem("", "Merge", "a handle is chosen by a condition")])
        else:
            found = self._writer.constant(np.zeros((0,), kind.dtype.numpy_dtype))
        self._writer.graph.kinds.setdefault(found, kind)
        return found

    def _if(self, instruction: If, values: dict[str, str], later: set[str]) -> None:
        writer = self._writer
        name = PRESENCE * instruction.is_presence + instruction.predicate
        predicate = self._value(name, values)
        written = (_writes(instruction.then) | _writes(instruction.otherwise)) & (
            later | (self._presences & {PRESENCE + one for one in later} | self._presences)
        )
        sides = []
        for block in (instruction.then, instruction.otherwise):
            inner, body = dict(values), Body()
            self._depth += 1
            with writer.inside(body):
                self._block(block, inner, later | self._presences)
            self._depth -= 1
            sides.append((inner, body))
        changed = sorted(
            register
            for register in written
            if any(
                register in inner and inner[register] != values.get(register) for inner, _ in sides
            )
        )
        if not changed:
            return
        kinds: list[Kind | None] = []
        for register in changed:
            given = [inner[register] for inner, _ in sides if register in inner]
            if any(value.startswith("refused ") for value in given):
                values[register] = f"refused {register}"
                kinds.append(None)
                continue
            kinds.append(self._kind(given[0], register))
        for inner, body in sides:
            outputs = []
            with writer.inside(body):
                for register, kind in zip(changed, kinds):
                    if kind is not None:
                        value = inner.get(register) or self._nothing(kind)
                        writer.graph.kinds.setdefault(value, kind)
                        outputs.append(value)
            close_body(writer, body, outputs)
        made = [(register, kind) for register, kind in zip(changed, kinds) if kind is not None]
        if not made:
            return
        found = writer.add(
            "If",
            [predicate],
            {"then_branch": sides[0][1], "else_branch": sides[1][1]},
            len(made),
        )
        for (register, kind), value in zip(made, found):
            writer.graph.kinds[value] = kind
            values[register] = value

    def _loop(self, instruction: Loop, values: dict[str, str], later: set[str]) -> None:
        writer = self._writer
        position = next(
            number for number, one in enumerate(instruction.body) if isinstance(one, ExitLoop)
        )
        test, leave = instruction.body[:position], instruction.body[position]
        rest, last = instruction.body[position + 1 :], instruction.body[-1]
        assert isinstance(leave, ExitLoop)
        assert isinstance(last, Assign)
        after = later | _reads(leave.exits) | _reads(rest)
        carried = sorted(
            {*last.targets, *last.index_targets}
            | (_writes(test) & (after | _reads(test)))
            | _changed_stacks(instruction.body)
        )
        self._block(test, values, after | {leave.predicate})
        carried = [one for one in carried if one in values]
        first = [values[register] for register in carried]
        kinds = [self._kind(value, register) for value, register in zip(first, carried)]
        for register, kind in zip(list(carried), list(kinds)):
            if has_onnx_type(kind.dtype) and not values[register].startswith("refused "):
                continue
            place = carried.index(register)
            del carried[place], first[place], kinds[place]
            if register in last.targets and not values[register].startswith("refused "):
                item = self._program.item_of[register][0]
                self._refuse(item, f"a loop variable of type {kind.dtype.name}")
        goes_on = self._goes_on(leave, values)
        needed = (after | _reads(test) | {leave.predicate}, after | {leave.predicate})

        def written() -> tuple[Body, dict[str, str], str]:
            body, _, _ = loop_body(writer.graph, writer.names)
            inner = dict(values)
            for register, kind in zip(carried, kinds):
                name = writer.names.new(register)
                writer.graph.kinds[name] = kind
                body.inputs.append((name, kind))
                inner[register] = name
            self._depth += 1
            with writer.inside(body):
                self._block(rest, inner, needed[0])
                self._block(test, inner, needed[1])
                again = self._goes_on(leave, inner)
            self._depth -= 1
            return body, inner, again

        body, inner, again = written()
        # The gradient of a tensor array begins as the number 0: it becomes an empty sequence, and
        # the body is written again for it.
        grown = [
            place
            for place, register in enumerate(carried)
            if not kinds[place].is_sequence and self._kind(inner[register], register).is_sequence
        ]
        for place in grown:
            kinds[place] = self._kind(inner[carried[place]], carried[place])
            first[place] = self._nothing(kinds[place])
        if grown:
            body, inner, again = written()
        for register, kind in zip(carried, kinds):
            writer.graph.kinds.setdefault(inner[register], kind)
        writer.graph.kinds.setdefault(again, Kind(dtypes.bool))
        close_body(writer, body, [again, *(inner[register] for register in carried)])
        found = writer.add("Loop", ["", goes_on, *first], {"body": body}, len(carried))
        for register, kind, value in zip(carried, kinds, found):
            writer.graph.kinds[value] = kind
            values[register] = value
        self._block(leave.exits, values, later)

    def _goes_on(self, leave: ExitLoop, values: dict[str, str]) -> str:
        predicate = self._value(leave.predicate, values)
        return predicate if leave.goes_on else self._writer.add("Not", [predicate])[0]


def _written_type(dtype: DType) -> DType:
    """Return the type of a value's elements; of complex numbers, that of their parts."""
    dtype = dtype.base_dtype
    return dtype.real_dtype if dtype.is_complex else dtype


def why_not(item: NodeItem) -> str:
    """Return why a node cannot be converted, as far as its op and types tell, or ""."""
    if item.op not in CONVERTERS and converter_of(item) is None:
        return reason_of(item.op)
    if item.op.startswith(("TensorArray", "TensorList", "EmptyTensorList", "Stack")):
        return ""
    if item.op in _OF_LISTS and item.input_types[0] == dtypes.variant:
        return ""
    if converter_of(item) is None:
        return "there is no converter for this op of complex numbers"
    for dtype in (*item.input_types, *item.output_types):
        if dtype.is_complex:
            continue
        if dtype.is_ref_dtype or dtype in _HANDLES:
            return "it works on a variable or another resource"
        if not has_onnx_type(dtype):
            return f"ONNX runtimes have no type {dtype.name}"
    return ""


_REASONS = {
    ("PyFunc", "PyFuncStateless", "EagerPyFunc"): "it calls a Python function of this process",
    ("Placeholder", "PlaceholderV2"): "it is fed, but is not among the inputs",
    (
        *("HashTable", "HashTableV2", "LookupTableFind", "LookupTableFindV2", "LookupTableSizeV2"),
        *("MutableHashTable", "MutableHashTableV2", "LookupTableSize", "LookupTableInsertV2"),
    ): "ONNX has no tables that hold state",
}
_REASON_OF = {op: reason for ops, reason in _REASONS.items() for op in ops}


def reason_of(op: str) -> str:
    """Return why an op has no converter."""
    from tfnb.core import op_registry

    found = _REASON_OF.get(op)
    if found is not None:
        return found
    definition = op_registry.find(op)
    if definition is None:
        return "the op is unknown, and ONNX has no form for it"
    if op.startswith("Stateless"):
        return "its numbers follow from its seed, and runtimes draw other ones"
    if definition.is_stateful:
        return "it holds or changes state, which a file cannot do"
    return "there is no converter for this op"


def _all(block: Block) -> Iterable[type_of_instruction]:
    for instruction in block:
        yield instruction
        for inside in insides_of(instruction):
            yield from _all(inside)


def _enum(kind: Kind) -> int:
    from tfnb.onnx_export.writing.converters import onnx_type

    return onnx_type(kind.dtype)
