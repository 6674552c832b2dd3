"""Shapes and constant values of a program's registers, before any node is converted.

Fed tensors have the shapes that they declare. A node whose inputs are constants is computed, unless
its result is large. The variables of a loop keep what is alike in all iterations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.executor.immutable_executor_state import PURE, PURE_ONE
from tfnb.common_runtime.lowering.recognise.program import (
    Assign,
    Block,
    Compute,
    Copy,
    If,
    Loop,
    Program,
    insides_of,
    writes_of,
)
from tfnb.core import op_registry
from tfnb.core.errors import OpError
from tfnb.core.shape_inference import (
    UNKNOWN_SHAPE,
    InferenceContext,
    run_shape_function,
    shape_of_rank,
    shape_of_vector,
)
from tfnb.core.tensor_shape import TensorShape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MOST_ROUNDS = 6
_LARGEST_FOLDED = 1 << 16
_NEVER_FOLDED = frozenset(["_Arg", "_Retval"])


def all_writes(block: Block) -> set[str]:
    """Return the registers that a block sets, with its inner blocks."""
    found: set[str] = set()
    for instruction in block:
        found.update(writes_of(instruction))
        for inside in insides_of(instruction):
            found |= all_writes(inside)
    return found


class StaticValues:
    """What is known about registers.

    Attributes:
      shapes: register -> shape.
      constants: register -> value.
    """

    def __init__(self, program: Program, fed: Sequence[TensorShape], producer: int) -> None:
        """Look at a program.

        Args:
          program: the program.
          fed: the shapes of its arguments.
          producer: the version of the oldest writer of the graph.
        """
        self.shapes: dict[str, TensorShape] = {}
        self.constants: dict[str, Any] = {}
        self._partial: dict[str, TensorShape] = {}
        self._fed, self._producer = fed, producer
        for register, value in program.constants.items():
            item, output = program.item_of[register]
            dtype = item.output_types[output]
            array = np.asarray(value)
            if array.dtype != object:
                array = array.astype(dtype.numpy_dtype, copy=False)
            self.constants[register] = array
            self.shapes[register] = TensorShape(array.shape)
        self._visit(program.root)

    def shape(self, register: str) -> TensorShape:
        """Return the shape of a register."""
        return self.shapes.get(register, UNKNOWN_SHAPE)

    def _visit(self, block: Block) -> None:
        for instruction in block:
            if isinstance(instruction, Compute):
                self._compute(instruction)
            elif isinstance(instruction, Copy):
                self._widen({instruction.target: self.shape(instruction.source)})
            elif isinstance(instruction, Assign):
                found = [self.shape(source) for source in instruction.sources]
                for target, shape in zip(instruction.targets, found):
                    if instruction.position == 0:
                        self.shapes[target] = shape
            elif isinstance(instruction, If):
                self._visit(instruction.then)
                self._visit(instruction.otherwise)
            elif isinstance(instruction, Loop):
                self._visit_loop(instruction)

    def _visit_loop(self, loop: Loop) -> None:
        last = loop.body[-1]
        assert isinstance(last, Assign)
        written = all_writes(loop.body)
        for number in range(_MOST_ROUNDS):
            for register in written - {*last.targets}:
                self._forget(register)
            self._visit(loop.body)
            before = {target: self.shape(target) for target in last.targets}
            following = dict(zip(last.targets, map(self.shape, last.sources)))
            if number == _MOST_ROUNDS - 2:
                following = dict.fromkeys(last.targets, UNKNOWN_SHAPE)
            self._widen(following)
            if all(_same(self.shape(target), shape) for target, shape in before.items()):
                break

    def _forget(self, register: str) -> None:
        self.shapes.pop(register, None)
        self.constants.pop(register, None)
        self._partial.pop(register, None)

    def _widen(self, found: Mapping[str, TensorShape]) -> None:
        for target, shape in found.items():
            known = self.shapes.get(target)
            self.shapes[target] = shape if known is None else _wider(known, shape)

    def _compute(self, instruction: Compute) -> None:
        item = instruction.item
        if item.op == "_Arg":
            self.shapes[instruction.results[0]] = self._fed[item.argument_index]
            return
        if not instruction.results:
            return
        shapes = self._shapes_of(instruction)
        for register, shape in zip(instruction.results, shapes):
            self.shapes[register] = shape
        self._fold(instruction)

    def _shapes_of(self, instruction: Compute) -> Sequence[TensorShape]:
        item, args = instruction.item, instruction.args
        unknown = [UNKNOWN_SHAPE] * item.num_outputs
        definition = op_registry.find(item.op)
        if definition is None or item.kernel is None or definition.shape_function is None:
            return unknown
        context = InferenceContext(
            definition.op_def,
            item.kernel.attrs,
            [self.shape(register) for register in args],
            item.input_types,
            node_name=item.name,
            constant_value=lambda index: self.constants.get(args[index]),
            constant_value_as_shape=lambda index: self._as_shape(args[index]),
            graph_def_version=self._producer,
        )
        try:
            found = list(run_shape_function(definition.shape_function, context))
        except (ValueError, TypeError, OpError):
            return unknown
        return found if len(found) == item.num_outputs else unknown

    def _as_shape(self, register: str) -> TensorShape:
        value = self.constants.get(register)
        if value is not None:
            return shape_of_vector(value) if value.ndim == 1 else UNKNOWN_SHAPE
        found = self._partial.get(register)
        if found is not None:
            return found
        dims = self.shape(register).dim_values
        if dims is not None and len(dims) == 1 and dims[0] is not None:
            return shape_of_rank(dims[0])
        return UNKNOWN_SHAPE

    def _fold(self, instruction: Compute) -> None:
        item, args, results = instruction.item, instruction.args, instruction.results
        if item.op in ("Shape", "Size", "Rank", "ShapeN"):
            self._fold_shape(instruction)
            return
        if item.op in _NEVER_FOLDED or item.action not in (PURE_ONE, PURE) or not args:
            return
        if item.op == "Pack" and len(results) == 1:
            self._note_pack(instruction)
        if any(arg not in self.constants for arg in args):
            return
        values = [self.constants[arg] for arg in args]
        if item.compute is None or sum(value.nbytes for value in values) > _LARGEST_FOLDED:
            return
        try:
            with np.errstate(all="ignore"):
                found = item.compute(*values)
        except Exception:
            return  # the error belongs to a run
        outputs = [found] if item.action == PURE_ONE else found
        if not isinstance(outputs, list | tuple) or len(outputs) != len(results):
            return
        if not all(isinstance(one, np.ndarray | np.generic) for one in outputs):
            return  # lists and other opaque values
        if any(one.nbytes > _LARGEST_FOLDED for one in outputs):
            return
        for register, one in zip(results, outputs):
            self._set(register, np.asarray(one))

    def _note_pack(self, instruction: Compute) -> None:
        """Note the known sizes in a vector that is packed of sizes."""
        parts = [self.constants.get(arg) for arg in instruction.args]
        if any(part is not None and part.ndim for part in parts):
            return
        sizes = [None if part is None else int(part) for part in parts]
        is_whole = instruction.item.input_types[0].is_integer
        if is_whole and all(size is None or size >= 0 for size in sizes):
            self._partial[instruction.results[0]] = TensorShape(sizes)

    def _fold_shape(self, instruction: Compute) -> None:
        item = instruction.item
        for register, arg, dtype in zip(instruction.results, instruction.args, item.output_types):
            dims = self.shape(arg).dim_values
            if dims is None:
                continue
            if item.op == "Rank":
                self._set(register, np.asarray(len(dims), dtype.numpy_dtype))
            elif None not in dims:
                sizes = np.asarray(dims, dtype.numpy_dtype)
                value = np.prod(sizes, dtype=sizes.dtype) if item.op == "Size" else sizes
                self._set(register, np.asarray(value))
            elif item.op != "Size":
                self._partial[register] = TensorShape(dims)

    def _set(self, register: str, value: np.ndarray[Any, Any]) -> None:
        self.constants[register] = value
        self.shapes[register] = TensorShape(value.shape)


def _wider(one: TensorShape, other: TensorShape) -> TensorShape:
    a, b = one.dim_values, other.dim_values
    if a is None or b is None or len(a) != len(b):
        return UNKNOWN_SHAPE
    return TensorShape([m if m == n else None for m, n in zip(a, b)])


def _same(one: TensorShape, other: TensorShape) -> bool:
    return one.dim_values == other.dim_values
