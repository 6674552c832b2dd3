"""Elementwise nodes with means or sums of rows as one compiled kernel.

A row is what the last dimension holds.  A kernel goes through the rows one by one, several times:
a reduction needs its row whole before anything that depends on it begins.  What a pass needs is
computed anew in it, from the inputs::

    Mean, SquaredDifference, Mean,     pass 0: the sum of in0
    Add, Rsqrt, Sub, Mul               pass 1: the sum of (in0 - mean)^2
                                       pass 2: (in0 - mean) * rsqrt(variance + epsilon)

The sum of a row has several parts, whose number depends on the processor alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.lowering.support.machine_code import (
    KernelSource,
    KernelWriter,
    LlvmStatements,
    form_of,
    form_of_node,
)
from tfnb.common_runtime.lowering.support.traced import (
    MOST_STATEMENTS,
    NotElementwise,
    TracedArray,
    trace,
)
from tfnb.core.compiled.loops import Loops

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tfnb.common_runtime.lowering.support.traced import type_of_form, type_of_member
    from tfnb.core.compiled.loops import Variable
    from tfnb.core.op_kernel import OpKernel

_REDUCTIONS = ("Mean", "Sum")


def is_row_reduction(kernel: OpKernel) -> bool:
    """Return whether a kernel reduces and keeps the dimensions, so that its result broadcasts."""
    return kernel.definition.name in _REDUCTIONS and bool(kernel.attrs.get("keep_dims"))


class _RowStatements(LlvmStatements):
    """Statements that become lines of loops."""

    def __init__(self, loops: Loops) -> None:
        super().__init__([])
        self._loops = loops
        self._count = 0

    def line(self, text: str) -> str:
        """Write an instruction; return its result."""
        self._count += 1
        if self._count > MOST_STATEMENTS:
            raise NotElementwise("too long")
        return self._loops.do(text)


class _Plan:
    """What is computed in which pass.

    Attributes:
      shape: the shape of the rows together.
      forms: dtype and shape of each member.
      passes: the pass at whose beginning, or in which, each member is computed.
      number: the number of the last pass.
    """

    def __init__(self, members: Sequence[type_of_member], inputs: Sequence[type_of_form]) -> None:
        """Initialize the plan.

        Raises:
          NotElementwise: a node is not supported for these inputs.
        """
        self._inputs = inputs
        self._shapes: set[tuple[int, ...]] = set()
        self.forms: list[type_of_form] = []
        self.passes: list[int] = []
        for kernel, args in members:
            before = [self.passes[arg[0]] for arg in args if isinstance(arg, tuple)]
            if is_row_reduction(kernel):
                self.forms.append(self._reduced(*args))
                self.passes.append(max(before, default=0) + 1)
            elif any(isinstance(arg, np.ndarray) for arg in args):
                raise NotElementwise("an axis is also a number")
            else:
                given = [
                    form_of(arg) if isinstance(arg, np.generic) else self.form(arg) for arg in args
                ]
                self.forms.append(form_of_node(kernel, given))
                self.passes.append(max(before, default=0))
        if len(self._shapes) != 1:
            raise NotElementwise("rows of several shapes")
        (self.shape,) = self._shapes
        if not self.shape or not all(self.shape) or self.shape[-1] == 1:
            raise NotElementwise("rows of one element, or empty")
        for dtype, _ in (*inputs, *self.forms):
            if dtype.kind != "f" and dtype.kind != "b":
                raise NotElementwise(f"rows of {dtype.name}")
        for dtype, shape in inputs:
            if dtype.kind != "f":
                raise NotElementwise(f"rows of {dtype.name}")
            self.varies(shape)
        for _, shape in self.forms:
            self.varies(shape)
        self.number = max(self.passes)

    def form(self, arg: Any) -> type_of_form:
        """Return dtype and shape of an argument that is an input or a member."""
        return self.forms[arg[0]] if isinstance(arg, tuple) else self._inputs[arg]

    def _reduced(self, x: Any, axis: Any) -> type_of_form:
        dtype, shape = self.form(x)
        if np.size(axis) != 1 or int(np.reshape(axis, ())) not in (-1, len(shape) - 1):
            raise NotElementwise("another axis")
        if dtype.kind != "f":
            raise NotElementwise(f"a sum of {dtype.name}")
        self._shapes.add(shape)
        return dtype, (*shape[:-1], 1)

    def _aligned(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (1,) * (len(self.shape) - len(shape)) + shape

    def varies(self, shape: tuple[int, ...]) -> bool:
        """Return whether an array of a shape varies in a row.

        Raises:
          NotElementwise: it varies with some of the dimensions before, and not with others.
        """
        aligned = self._aligned(shape)
        if len(aligned) > len(self.shape) or aligned[-1] not in (1, self.shape[-1]):
            raise NotElementwise("shapes")
        if aligned[:-1] != self.shape[:-1] and any(one != 1 for one in aligned[:-1]):
            raise NotElementwise("shapes")
        return aligned[-1] != 1

    def has_rows(self, shape: tuple[int, ...]) -> bool:
        """Return whether an array of a shape varies with the rows."""
        return self._aligned(shape)[:-1] == self.shape[:-1] and math.prod(self.shape[:-1]) > 1


class _Writer:
    """Writes the loops of one kernel."""

    def __init__(
        self,
        members: Sequence[type_of_member],
        inputs: Sequence[type_of_form],
        outputs: Sequence[int],
        plan: _Plan,
    ) -> None:
        self._members, self._inputs, self._outputs = members, inputs, outputs
        self._plan = plan
        self._loops = Loops(0)
        self.statements = _RowStatements(self._loops)
        # Values that do not vary in a row, by input or (member,).
        self._fixed: dict[Any, TracedArray] = {}
        self._row = self._start = ""

    def write(self) -> tuple[list[str], list[str]]:
        """Return what the loops declare, and their lines."""
        loops, plan = self._loops, self._plan
        with loops.loop("%begin", "%end") as self._row:
            self._start = loops.do("mul nuw nsw i64", self._row, "%n1")
            for number, (_, shape) in enumerate(self._inputs):
                if not plan.varies(shape):
                    index = self._row if plan.has_rows(shape) else "0"
                    self._fixed[number] = self._loaded(number, index)
            for number in range(plan.number + 1):
                self._write_fixed(number)
                self._write_pass(number)
        return loops.declarations(), loops.lines()

    def _of_pass(self, number: int, *, varies: bool) -> Iterator[int]:
        """Return the elementwise members of a pass that vary in a row, or that do not."""
        for member, (kernel, _) in enumerate(self._members):
            is_then = self._plan.passes[member] == number and not is_row_reduction(kernel)
            if is_then and self._plan.varies(self._plan.forms[member][1]) == varies:
                yield member

    def _write_fixed(self, number: int) -> None:
        """Write what is computed once for each row, at the beginning of a pass."""
        for member in self._of_pass(number, varies=False):
            self._fixed[member,] = self._traced(member, self._fixed)
        for place, member in enumerate(self._outputs):
            if self._plan.passes[member] == number and (member,) in self._fixed:
                self._store(place, self._fixed[member,], self._row)

    def _write_pass(self, number: int) -> None:
        """Write the loop over a row."""
        loops, plan = self._loops, self._plan
        sums = [
            member
            for member, (kernel, _) in enumerate(self._members)
            if is_row_reduction(kernel) and plan.passes[member] == number + 1
        ]
        stored = [
            (place, member)
            for place, member in enumerate(self._outputs)
            if plan.passes[member] == number and plan.varies(plan.forms[member][1])
        ]
        wanted = [self._members[member][1][0] for member in sums]
        wanted += [(member,) for _, member in stored]
        if not wanted:
            return
        totals: list[Variable] = [
            loops.variable(self._kind(plan.forms[member][0]), "0.0") for member in sums
        ]
        with loops.loop("0", "%n1") as j:
            values = dict(self._fixed)
            self._write_row(wanted, values, j)
            for member, total in zip(sums, totals, strict=True):
                kind = self._kind(plan.forms[member][0])
                found = values[self._members[member][1][0]].text
                total.set(loops.do(f"fadd reassoc {kind}", total.get(), found))
            for place, member in stored:
                self._store(place, values[member,], loops.do("add nuw nsw i64", self._start, j))
        for member, total in zip(sums, totals, strict=True):
            dtype, shape = plan.forms[member]
            found = total.get()
            if self._members[member][0].definition.name == "Mean":
                count = loops.convert("uitofp i64", "%n1", self._kind(dtype))
                found = loops.do(f"fdiv {self._kind(dtype)}", found, count)
            self._fixed[member,] = TracedArray(self.statements, found, dtype, shape)

    def _write_row(self, wanted: Sequence[Any], values: dict[Any, TracedArray], j: str) -> None:
        """Write what is wanted of an element of a row, and all that it depends on."""
        for arg in wanted:
            if arg in values:
                continue
            if isinstance(arg, tuple):
                args = self._members[arg[0]][1]
                self._write_row([one for one in args if not isinstance(one, np.generic)], values, j)
                values[arg] = self._traced(arg[0], values)
            else:
                has_rows = self._plan.has_rows(self._inputs[arg][1])
                index = self._loops.do("add nuw nsw i64", self._start, j) if has_rows else j
                values[arg] = self._loaded(arg, index)

    def _traced(self, member: int, values: dict[Any, TracedArray]) -> TracedArray:
        kernel, args = self._members[member]
        given = [one for one in args if not isinstance(one, np.generic)]
        places = iter(range(len(given)))
        mapped = [one if isinstance(one, np.generic) else next(places) for one in args]
        (found,) = trace([(kernel, mapped)], self.statements, [values[one] for one in given])
        if not isinstance(found, TracedArray):
            raise NotElementwise("a constant")
        return found

    def _kind(self, dtype: np.dtype[Any]) -> str:
        return self.statements.type(dtype)

    def _loaded(self, number: int, index: str) -> TracedArray:
        dtype, shape = self._inputs[number]
        kind = self._kind(dtype)
        place = self._loops.place(kind, f"%p{number}", index)
        return TracedArray(
            self.statements, self._loops.do(f"load {kind},", f"ptr {place}"), dtype, shape
        )

    def _store(self, place: int, value: TracedArray, index: str) -> None:
        kind = self._kind(value.dtype)
        at = self._loops.place(kind, f"%o{place}", index)
        self._loops.write(f"store {kind} {value.text}, ptr {at}")


class _RowKernelWriter(KernelWriter):
    """Writes the functions of a kernel whose loops are given."""

    def __init__(
        self,
        source: LlvmStatements,
        inputs: Sequence[type_of_form],
        kinds: str,
        results: Sequence[TracedArray],
        loops: tuple[list[str], list[str]],
    ) -> None:
        super().__init__(source, inputs, kinds, {}, (0, 0), [], [], results)
        self._loops = loops

    def body(self) -> str:
        """Return the function with the loops."""
        declared, lines = self._loops
        return "\n".join([*declared, self.head(), "entry:", *lines, "  ret void", "}"])


def write_row_kernel(
    members: Sequence[type_of_member],
    inputs: Sequence[type_of_form],
    outputs: Sequence[int],
    kinds: str,
) -> KernelSource:
    """Return the source of some nodes, see ``write_kernel``.

    A member that reduces has a second argument, the array of its axes.  Results are rows, or
    have one element for each row.

    Raises:
      NotElementwise: the nodes, or their inputs, are not supported.
    """
    if "s" in kinds:
        raise NotElementwise("strides")
    plan = _Plan(members, inputs)
    shapes = [plan.forms[number][1] for number in outputs]
    wanted = plan.shape, (*plan.shape[:-1], 1)
    if any(plan.forms[number][0].kind != "f" or plan.forms[number][1] not in wanted
           for number in outputs):  # fmt: skip
        raise NotElementwise("other results than rows")
    writer = _Writer(members, inputs, outputs, plan)
    loops = writer.write()
    results = [TracedArray(writer.statements, "", *plan.forms[number]) for number in outputs]
    text = _RowKernelWriter(writer.statements, inputs, kinds, results, loops).write()
    rows, width = math.prod(plan.shape[:-1]), plan.shape[-1]
    dtypes = tuple(one.dtype for one in results)
    size = (plan.number + 1) * len(members)
    return KernelSource(text, plan.shape, dtypes, (rows, width), size, tuple(shapes))
