"""Elementwise nodes of a CPU as one compiled kernel, whose source is traced from their own kernels.

See ``traced.py``.  The kernel is a nest of loops over the dimensions of its results; neighbouring
dimensions that all arrays share are one loop.  The innermost loop is a straight line, of which LLVM
makes vector instructions::

    Relu, Mul by 2            %in0 = load float, ptr %at0
                              %v1 = fcmp ogt float %in0, 0.0
                              ...
                              store float %v4, ptr %to0

Names are numbered, and numbers are written as bits, so no text of a graph enters the source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.lowering.support.traced import (
    MOST_STATEMENTS,
    NotElementwise,
    TracedArray,
    is_own_kernel,
    trace,
    type_of_form,
    type_of_member,
)
from tfnb.core.compiled import array_calls, team
from tfnb.core.compiled.llvm_functions import FUNCTIONS, definition, literal
from tfnb.core.process.records import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.op_kernel import OpKernel

TYPES = {"bool": "i1", "int32": "i32", "int64": "i64", "float32": "float", "float64": "double"}
"""LLVM's types by NumPy's names."""
PARTS = ("",)
"""The ends of the names of a kernel's functions."""
_MOST_DIMENSIONS = 4

_FLOAT = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
_INTEGER = {"add": "add", "subtract": "sub", "multiply": "mul"}
_BOOL = {
    "logical_and": "and", "bitwise_and": "and", "logical_or": "or", "bitwise_or": "or",
    "bitwise_xor": "xor", "logical_xor": "xor", "not_equal": "xor",
}  # fmt: skip
_COMPARE = {
    "less": ("olt", "slt"), "less_equal": ("ole", "sle"), "greater": ("ogt", "sgt"),
    "greater_equal": ("oge", "sge"), "equal": ("oeq", "eq"), "not_equal": ("une", "ne"),
}  # fmt: skip
_INTRINSICS = {
    "absolute": "fabs", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
    "rint": "rint",
}  # fmt: skip
_COMPOSED = frozenset(
    {"negative", "square", "reciprocal", "sign", "isnan", "isfinite", "maximum", "minimum", "power"}
)
# Exponents that are products; other powers are not compiled.
_POWERS = (2.0, 3.0)


class LlvmStatements:
    """Statements of a kernel's source under construction.

    Attributes:
      statements: the lines.
      functions: the functions that they call, with their types.
      declarations: the declarations of LLVM's own functions.
      views: (number, shape) of each input that is read, by the name of its value.
    """

    def __init__(self, inputs: Sequence[type_of_form]) -> None:
        self.statements: list[str] = []
        self.functions: set[tuple[str, str]] = set()
        self.declarations: set[str] = set()
        self.views = {f"%in{i}": (i, shape) for i, (_, shape) in enumerate(inputs)}

    def type(self, dtype: np.dtype[Any]) -> str:
        """Return a type in LLVM's language."""
        found = TYPES.get(dtype.name)
        if found is None:
            raise NotElementwise(f"of {dtype.name}")
        return found

    def function(self, name: str, dtype: np.dtype[Any]) -> str | None:
        """Return the name of NumPy's function if there are instructions for it."""
        if dtype.kind == "f":
            known = name in _FLOAT or name in _COMPOSED or name in _INTRINSICS or name in FUNCTIONS
        elif dtype.kind == "b":
            known = name in _BOOL or name in ("logical_not", "invert", "equal")
        else:
            known = name in _INTEGER or name in ("negative", "maximum", "minimum")
        return name if known or (name in _COMPARE and dtype.kind != "b") else None

    def literal(self, value: np.generic) -> str:
        """Return a number."""
        if value.dtype.kind == "f":
            return literal(float(value), self.type(value.dtype))
        if value.dtype.kind == "b":
            return "true" if value else "false"
        return str(int(value))

    def line(self, text: str) -> str:
        """Write an instruction; return its result."""
        if len(self.statements) >= MOST_STATEMENTS:
            raise NotElementwise("too long")
        name = f"%v{len(self.statements) + 1}"
        self.statements.append(f"{name} = {text}")
        return name

    def add(
        self, function: str, args: Sequence[str], dtype: np.dtype[Any], of: np.dtype[Any]
    ) -> str:
        """Write a function; return its result."""
        kind, name = self.type(of), of.kind
        if function == "where":
            return self.line(f"select i1 {args[0]}, {kind} {args[1]}, {kind} {args[2]}")
        if name == "b":
            if function in ("logical_not", "invert"):
                return self.line(f"xor i1 {args[0]}, true")
            if function == "equal":
                return self.line(f"icmp eq i1 {args[0]}, {args[1]}")
            return self.line(f"{_BOOL[function]} i1 {args[0]}, {args[1]}")
        if function in _COMPARE:
            compare, place = ("fcmp", 0) if name == "f" else ("icmp", 1)
            operands = f"{kind} {args[0]}, {args[1]}"
            return self.line(f"{compare} {_COMPARE[function][place]} {operands}")
        if name != "f":
            return self._integer(function, args, kind)
        if function in _FLOAT:
            return self.line(f"{_FLOAT[function]} {kind} {args[0]}, {args[1]}")
        if function in FUNCTIONS:
            self.functions.add((function, kind))
            return self.line(f"call {kind} @{function}.{kind}({kind} {args[0]})")
        if function in _INTRINSICS:
            called = f"@llvm.{_INTRINSICS[function]}.f{of.itemsize * 8}"
            self.declarations.add(f"declare {kind} {called}({kind})")
            return self.line(f"call {kind} {called}({kind} {args[0]})")
        return self._composed(function, args, kind)

    def _integer(self, function: str, args: Sequence[str], kind: str) -> str:
        if function == "negative":
            return self.line(f"sub {kind} 0, {args[0]}")
        if function in _INTEGER:
            return self.line(f"{_INTEGER[function]} {kind} {args[0]}, {args[1]}")
        test = self.line(
            f"icmp {'sge' if function == 'maximum' else 'sle'} {kind} {args[0]}, {args[1]}"
        )
        return self.line(f"select i1 {test}, {kind} {args[0]}, {kind} {args[1]}")

    def _composed(self, function: str, args: Sequence[str], kind: str) -> str:
        x = args[0]
        zero, one = literal(0, kind), literal(1, kind)
        if function == "negative":
            return self.line(f"fneg {kind} {x}")
        if function == "square":
            return self.line(f"fmul {kind} {x}, {x}")
        if function == "reciprocal":
            return self.line(f"fdiv {kind} {one}, {x}")
        if function == "isnan":
            return self.line(f"fcmp uno {kind} {x}, {x}")
        if function == "isfinite":
            less = self.line(f"fsub {kind} {x}, {x}")
            return self.line(f"fcmp oeq {kind} {less}, {zero}")
        if function in ("maximum", "minimum"):
            # NaN of either operand passes through.
            test = self.line(
                f"fcmp {'oge' if function == 'maximum' else 'ole'} {kind} {x}, {args[1]}"
            )
            is_nan = self.line(f"fcmp uno {kind} {x}, {x}")
            first = self.line(f"or i1 {test}, {is_nan}")
            return self.line(f"select i1 {first}, {kind} {x}, {kind} {args[1]}")
        if function == "power":
            if args[1] not in [literal(one, kind) for one in _POWERS]:
                raise NotElementwise("a power")
            square = self.line(f"fmul {kind} {x}, {x}")
            if args[1] == literal(2, kind):
                return square
            return self.line(f"fmul {kind} {square}, {x}")
        assert function == "sign"
        above = self.line(f"fcmp ogt {kind} {x}, {zero}")
        below = self.line(f"fcmp olt {kind} {x}, {zero}")
        minus = self.line(f"select i1 {below}, {kind} {literal(-1, kind)}, {kind} {x}")
        return self.line(f"select i1 {above}, {kind} {one}, {kind} {minus}")

    def cast(self, text: str, dtype: np.dtype[Any], target: np.dtype[Any]) -> str:
        """Write a conversion to another type; return its result."""
        was, kind = self.type(dtype), self.type(target)
        if target.kind == "b":
            if dtype.kind == "f":
                return self.line(f"fcmp une {was} {text}, {literal(0, was)}")
            return self.line(f"icmp ne {was} {text}, 0")
        if target.kind == "f":
            if dtype.kind == "f":
                name = "fpext" if target.itemsize > dtype.itemsize else "fptrunc"
            else:
                name = "uitofp" if dtype.kind == "b" else "sitofp"
        elif dtype.kind == "f":
            # A number out of range has no defined result in LLVM.
            raise NotElementwise(f"{dtype.name} as {target.name}")
        elif dtype.kind == "b":
            name = "zext"
        else:
            name = "sext" if target.itemsize > dtype.itemsize else "trunc"
        return self.line(f"{name} {was} {text} to {kind}")

    def reshaped(self, text: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> str:
        """Return the name of an input with other dimensions of size 1."""
        if text not in self.views or [n for n in shape if n != 1] != [n for n in wanted if n != 1]:
            raise NotElementwise("reshape")
        name = f"{text}.{len(self.views)}"
        self.views[name] = self.views[text][0], wanted
        return name


@record(slots=True)
class KernelSource:
    """The source of a kernel, and what its caller has to know.

    Attributes:
      text: the source, see ``Engine.addresses``.
      shape: the shape of all results, or of the largest one.
      dtypes: the dtypes of the results.
      sizes: the sizes of the loops, the outermost first.
      num_functions: the number of its instructions.
      shapes: the shapes of the results.
    """

    text: str
    shape: tuple[int, ...]
    dtypes: tuple[np.dtype[Any], ...]
    sizes: tuple[int, ...]
    num_functions: int
    shapes: tuple[tuple[int, ...], ...]


def write_kernel(
    members: Sequence[type_of_member],
    inputs: Sequence[type_of_form],
    outputs: Sequence[int],
    kinds: str = "",
) -> KernelSource:
    """Return the source of some nodes.

    Args:
      members: kernels with their arguments, see :func:`trace`.
      inputs: dtype and shape of each input.
      outputs: the numbers of the members whose results are results of the kernel.
      kinds: a letter for each input: "a" for an array in C order, the default, "n" for a NumPy
        scalar, "s" for an array with other strides, of which that of the innermost loop is one
        element.

    Raises:
      NotElementwise: the nodes, or their inputs, are not supported.
    """
    source = LlvmStatements(inputs)
    values = [TracedArray(source, f"%in{i}", *form) for i, form in enumerate(inputs)]
    made = trace(members, source, values)
    results = []
    for number in outputs:
        if not isinstance(made[number], TracedArray):
            raise NotElementwise("a constant")
        results.append(made[number])
    shape = results[0].shape
    if any(one.shape != shape for one in results):
        raise NotElementwise("results of several shapes")
    if not shape or not all(shape):
        raise NotElementwise("a number, or empty")
    code = "\n".join([*source.statements, *(one.text for one in results)])
    reads = {name: view for name, view in source.views.items() if _is_named(name, code)}
    kinds = kinds or "a" * len(inputs)
    dims, axes, masks = _collapsed(shape, [view[1] for view in reads.values()], "s" in kinds)
    writer = KernelWriter(source, inputs, kinds, reads, dims, axes, masks, results)
    text = writer.write()
    dtypes = tuple(one.dtype for one in results)
    shapes = (shape,) * len(results)
    return KernelSource(text, shape, dtypes, dims, len(source.statements), shapes)


def _is_named(name: str, code: str) -> bool:
    return any(f"{name}{end}" in code for end in (",", ")", "\n", " ")) or code.endswith(name)


def _collapsed(
    shape: tuple[int, ...], views: Sequence[tuple[int, ...]], keeps_axes: bool
) -> tuple[tuple[int, ...], list[int], list[tuple[bool, ...]]]:
    """Return the loops of a kernel.

    Args:
      shape: the shape of the results.
      views: the shapes of what is read.
      keeps_axes: whether each axis is a loop of its own, because some arrays have strides.

    Returns:
      The sizes of the loops, the axis of each, and for each view with which loops it varies.
    """
    sizes: list[int] = []
    axes: list[int] = []
    masks: list[tuple[bool, ...]] = []  # by loop: for each view whether it varies
    aligned = [(1,) * (len(shape) - len(view)) + view for view in views]
    for axis, size in enumerate(shape):
        if any(view[axis] not in (1, size) for view in aligned):
            raise NotElementwise("shapes")
        if size == 1:
            continue
        mask = tuple(view[axis] != 1 for view in aligned)
        if masks and masks[-1] == mask and not keeps_axes:
            sizes[-1] *= size
        else:
            sizes.append(size)
            axes.append(axis)
            masks.append(mask)
    if not sizes:
        sizes, axes, masks = [1], [len(shape) - 1], [(False,) * len(views)]
    if len(sizes) > _MOST_DIMENSIONS:
        raise NotElementwise("too many dimensions")
    return tuple(sizes), axes, [tuple(mask[i] for mask in masks) for i in range(len(views))]


class KernelWriter:
    """Writes the functions of a kernel."""

    def __init__(
        self,
        source: LlvmStatements,
        inputs: Sequence[type_of_form],
        kinds: str,
        reads: dict[str, tuple[int, tuple[int, ...]]],
        dims: tuple[int, ...],
        axes: list[int],
        masks: list[tuple[bool, ...]],
        results: Sequence[TracedArray],
    ) -> None:
        self._source = source
        self._inputs = inputs
        self._kinds = kinds
        self._reads = reads
        self._axes = axes
        self._num_dims = len(dims)
        self._masks = dict(zip(reads, masks, strict=True))
        self._results = results
        self._rank = results[0].ndim
        # The strides that the loops need, by their names: the number of the input and its axis.
        self._strides: dict[str, tuple[int, int]] = {}
        # The axis of the innermost loop in each input with strides: a last axis of 1 has no loop.
        self._inner_axes: dict[int, int] = {}
        for name, (number, shape) in reads.items():
            if kinds[number] != "s":
                continue
            if shape != inputs[number][1] or not self._masks[name][-1]:
                raise NotElementwise("strides")
            self._inner_axes[number] = axes[-1] - self._rank + len(shape)
            for d, varies in enumerate(self._masks[name][:-1]):
                if varies:
                    axis = axes[d] - self._rank + len(shape)
                    self._strides[f"%s{number}.{d}"] = number, axis

    def write(self) -> str:
        """Return the text."""
        parts = sorted(self._source.declarations)
        parts += [definition(*one) for one in sorted(self._source.functions)]
        parts += [self.body(), self._piece(), self._call()]
        return "\n".join(parts)

    def _memory(self, dtype: np.dtype[Any]) -> str:
        return "i8" if dtype.kind == "b" else self._source.type(dtype)

    def _pointers(self) -> list[str]:
        outs = [f"%o{i}" for i in range(len(self._results))]
        return [*outs, *(f"%p{i}" for i in range(len(self._inputs)))]

    def _sizes(self) -> list[str]:
        return [*(f"%n{d}" for d in range(self._num_dims)), *self._strides]

    def head(self) -> str:
        """Return the first line of the function with the loops."""
        given = [f"ptr noalias nocapture {one}" for one in self._pointers()]
        given += [f"i64 {one}" for one in self._sizes()]
        return f"define internal void @KERNEL_body({', '.join(given)}, i64 %begin, i64 %end) {{"

    def body(self) -> str:
        """Return the function with the loops."""
        last = self._num_dims - 1
        lines = [self.head(), "entry:"]
        # The offsets of arrays of one form are the same.
        forms = dict.fromkeys([(True,) * self._num_dims, *self._masks.values()])
        names = {form: f"f{number}" for number, form in enumerate(forms)}
        for form, name in names.items():
            stride = "1"
            for d in range(last, -1, -1):
                lines.append(f"  %stride.{name}.{d} = add i64 0, {stride}")
                if form[d] and d:
                    lines.append(f"  %size.{name}.{d} = mul nuw nsw i64 {stride}, %n{d}")
                    stride = f"%size.{name}.{d}"
        lines.append("  br label %loop0")
        before = "entry"
        at = dict.fromkeys(names.values(), "0")
        bytes_at = {number: "0" for number, kind in enumerate(self._kinds) if kind == "s"}
        for d in range(self._num_dims):
            begin = "%begin" if d == 0 else "0"
            lines.append(f"loop{d}:")
            lines.append(f"  %i{d} = phi i64 [ {begin}, %{before} ], [ %next{d}, %end{d} ]")
            for form, name in names.items():
                if form[d]:
                    step = f"%step.{name}.{d}"
                    stride = "1" if d == last else f"%stride.{name}.{d}"
                    lines.append(f"  {step} = mul nuw nsw i64 %i{d}, {stride}")
                    lines.append(f"  %at.{name}.{d} = add nuw nsw i64 {at[name]}, {step}")
                    at[name] = f"%at.{name}.{d}"
            for name, (number, _) in self._strides.items():
                if name == f"%s{number}.{d}":
                    lines.append(f"  %far{number}.{d} = mul i64 %i{d}, {name}")
                    lines.append(
                        f"  %row{number}.{d} = add i64 {bytes_at[number]}, %far{number}.{d}"
                    )
                    bytes_at[number] = f"%row{number}.{d}"
            before = f"loop{d}"
            if d < last:
                lines.append(f"  br label %loop{d + 1}")
        for name, (number, _) in self._reads.items():
            dtype = self._inputs[number][0]
            kind, pointer = self._memory(dtype), f"%p{number}"
            offset = at[names[self._masks[name]]]
            if self._kinds[number] == "s":
                row = f"getelementptr inbounds i8, ptr {pointer}, i64 {bytes_at[number]}"
                lines.append(f"  {name}.row = {row}")
                pointer, offset = f"{name}.row", f"%i{last}"
            lines.append(
                f"  {name}.at = getelementptr inbounds {kind}, ptr {pointer}, i64 {offset}"
            )
            if dtype.kind == "b":
                lines.append(f"  {name}.byte = load i8, ptr {name}.at")
                lines.append(f"  {name} = icmp ne i8 {name}.byte, 0")
            else:
                lines.append(f"  {name} = load {kind}, ptr {name}.at")
        lines += [f"  {one}" for one in self._source.statements]
        offset = at[names[(True,) * self._num_dims]]
        for i, result in enumerate(self._results):
            kind, text = self._memory(result.dtype), result.text
            if kind == "i8":
                lines.append(f"  %byte{i} = zext i1 {text} to i8")
                text = f"%byte{i}"
            lines.append(f"  %to{i} = getelementptr inbounds {kind}, ptr %o{i}, i64 {offset}")
            lines.append(f"  store {kind} {text}, ptr %to{i}")
        for d in range(last, -1, -1):
            lines.append(f"  br label %end{d}")
            lines.append(f"end{d}:")
            lines.append(f"  %next{d} = add nuw nsw i64 %i{d}, 1")
            end = "%end" if d == 0 else f"%n{d}"
            lines.append(f"  %more{d} = icmp ult i64 %next{d}, {end}")
            lines.append(f"  br i1 %more{d}, label %loop{d}, label %after{d}")
            lines.append(f"after{d}:")
        return "\n".join([*lines, "  ret void", "}"])

    def _given(self) -> str:
        given = [f"ptr {one}" for one in self._pointers()]
        return ", ".join([*given, *(f"i64 {one}" for one in self._sizes())])

    def _piece(self) -> str:
        """Return the function that computes a piece of a call that the team shares."""
        lines = ["define internal void @KERNEL_piece(ptr %job, i64 %first, i64 %last) {", "entry:"]
        names = [*self._pointers(), *self._sizes()]
        for number, name in enumerate(names):
            kind = "ptr" if number < len(self._pointers()) else "i64"
            lines.append(f"  {name}.j = getelementptr i64, ptr %job, i64 {number}")
            lines.append(f"  {name} = load {kind}, ptr {name}.j")
        lines.append(f"  call void @KERNEL_body({self._given()}, i64 %first, i64 %last)")
        return "\n".join([*lines, "  ret void", "}"])

    def _call(self) -> str:
        """Return the function that Python calls: None if an argument is not what it expects.

        Its arguments are the inputs, arrays for the results, and an array with the first and the
        last index of the outermost loop; with it, the function lets other threads run meanwhile.
        The third number of that array is 0, or the team shares the call in pieces of that size.
        Its data, see :func:`data_of`: the sizes of the loops, the type of arrays, functions of
        Python, None, True, the team's words, and for each input its dtype and shape, or its type.
        """
        lines = ["define ptr @KERNEL(ptr %self, ptr %args, i64 %count) {", "entry:"]
        names = [*self._pointers(), *self._sizes()]
        lines.append(f"  %job = alloca [{len(names)} x i64], align 8")
        lines.append(f"  %selfp = getelementptr i8, ptr %self, i64 {array_calls.DATA}")
        lines.append("  %data = load ptr, ptr %selfp")
        number = 0

        def word(name: str, kind: str = "i64") -> str:
            nonlocal number
            lines.append(f"  {name}.w = getelementptr i64, ptr %data, i64 {number}")
            lines.append(f"  {name} = load {kind}, ptr {name}.w")
            number += 1
            return name

        for d in range(self._num_dims):
            word(f"%n{d}")
        word("%array_type")
        word("%incref", "ptr")
        word("%none", "ptr")
        word("%true", "ptr")
        word("%leave", "ptr")
        word("%enter", "ptr")
        word("%team", "ptr")
        checks = 0

        def require(test: str) -> None:
            nonlocal checks
            checks += 1
            lines.append(f"  br i1 {test}, label %good{checks}, label %bad")
            lines.append(f"good{checks}:")

        def field(name: str, of: str, offset: int, kind: str) -> str:
            lines.append(f"  {name}.f = getelementptr i8, ptr {of}, i64 {offset}")
            lines.append(f"  {name} = load {kind}, ptr {name}.f")
            return name

        for i, (dtype, shape) in enumerate(self._inputs):
            ob = f"%ob{i}"
            lines.append(f"  {ob}.a = getelementptr ptr, ptr %args, i64 {i}")
            lines.append(f"  {ob} = load ptr, ptr {ob}.a")
            field(f"%type{i}", ob, 8, "i64")
            if self._kinds[i] == "n":
                word(f"%wanted{i}")
                lines.append(f"  %same{i} = icmp eq i64 %type{i}, %wanted{i}")
                require(f"%same{i}")
                lines.append(f"  %p{i} = getelementptr i8, ptr {ob}, i64 {array_calls.HEAD}")
                continue
            lines.append(f"  %same{i} = icmp eq i64 %type{i}, %array_type")
            require(f"%same{i}")
            field(f"%rank{i}", ob, array_calls.RANK, "i32")
            lines.append(f"  %ranked{i} = icmp eq i32 %rank{i}, {len(shape)}")
            require(f"%ranked{i}")
            word(f"%wanted{i}")
            field(f"%descr{i}", ob, array_calls.DESCR, "i64")
            lines.append(f"  %ok{i}.0 = icmp eq i64 %descr{i}, %wanted{i}")
            field(f"%flags{i}", ob, array_calls.FLAGS, "i32")
            mask = array_calls.ALIGNED
            if self._kinds[i] == "a":
                mask |= array_calls.CONTIGUOUS
            lines.append(f"  %lies{i} = and i32 %flags{i}, {mask}")
            lines.append(f"  %lie{i} = icmp eq i32 %lies{i}, {mask}")
            lines.append(f"  %ok{i}.1 = and i1 %ok{i}.0, %lie{i}")
            field(f"%shape{i}", ob, array_calls.DIMENSIONS, "ptr")
            for d in range(len(shape)):
                word(f"%size{i}.{d}")
                lines.append(f"  %dim{i}.{d}.a = getelementptr i64, ptr %shape{i}, i64 {d}")
                lines.append(f"  %dim{i}.{d} = load i64, ptr %dim{i}.{d}.a")
                lines.append(f"  %fits{i}.{d} = icmp eq i64 %dim{i}.{d}, %size{i}.{d}")
                lines.append(f"  %ok{i}.{d + 2} = and i1 %ok{i}.{d + 1}, %fits{i}.{d}")
            require(f"%ok{i}.{len(shape) + 1}")
            if i in self._inner_axes:
                field(f"%strides{i}", ob, array_calls.STRIDES, "ptr")
                field(f"%inner{i}", f"%strides{i}", 8 * self._inner_axes[i], "i64")
                lines.append(f"  %close{i} = icmp eq i64 %inner{i}, {dtype.itemsize}")
                require(f"%close{i}")
                for name, (of, axis) in self._strides.items():
                    if of == i:
                        field(name, f"%strides{i}", 8 * axis, "i64")
            field(f"%p{i}", ob, array_calls.DATA, "ptr")
        for i in range(len(self._results)):
            lines.append(f"  %out{i}.a = getelementptr ptr, ptr %args, i64 {len(self._inputs) + i}")
            lines.append(f"  %out{i} = load ptr, ptr %out{i}.a")
            field(f"%o{i}", f"%out{i}", array_calls.DATA, "ptr")
        count = len(self._inputs) + len(self._results)
        lines.append(f"  %whole = icmp eq i64 %count, {count}")
        lines.append("  br i1 %whole, label %all, label %part")
        lines.append("part:")
        lines.append(f"  %range.a = getelementptr ptr, ptr %args, i64 {count}")
        lines.append("  %range = load ptr, ptr %range.a")
        field("%bounds", "%range", array_calls.DATA, "ptr")
        field("%begin", "%bounds", 0, "i64")
        field("%end", "%bounds", 8, "i64")
        field("%unit", "%bounds", 16, "i64")
        lines.append("  %thread = call ptr %leave()")
        lines.append("  %is.shared = icmp sgt i64 %unit, 0")
        lines += ["  br i1 %is.shared, label %shared, label %alone", "shared:"]
        for number, name in enumerate(names):
            kind = "ptr" if number < len(self._pointers()) else "i64"
            lines.append(f"  {name}.j = getelementptr i64, ptr %job, i64 {number}")
            lines.append(f"  store {kind} {name}, ptr {name}.j")
        lines.append("  %share = load ptr, ptr %team")
        job = "ptr %team, ptr @KERNEL_piece, ptr %job, i64 %end, i64 %unit"
        lines += [f"  call void %share({job})", "  br label %back", "alone:"]
        lines.append(f"  call void @KERNEL_body({self._given()}, i64 %begin, i64 %end)")
        lines += ["  br label %back", "back:"]
        lines += ["  call void %enter(ptr %thread)", "  br label %done", "all:"]
        lines.append(f"  call void @KERNEL_body({self._given()}, i64 0, i64 %n0)")
        result = "%out0" if len(self._results) == 1 else "%true"
        lines += ["  br label %done", "done:"]
        lines += [f"  call void %incref(ptr {result})", f"  ret ptr {result}", "bad:"]
        lines += ["  call void %incref(ptr %none)", "  ret ptr %none", "}"]
        return "\n".join(lines)


def data_of(
    source: KernelSource, inputs: Sequence[type_of_form], kinds: str
) -> np.ndarray[Any, Any]:
    """Return the data that the function of a kernel reads: what is known in this process only."""
    words = [*source.sizes, id(np.ndarray), array_calls.address_of("Py_IncRef"), id(None), id(True)]
    words += [array_calls.address_of(f"PyEval_{name}Thread") for name in ("Save", "Restore")]
    words.append(team.address())
    for (dtype, shape), kind in zip(inputs, kinds, strict=True):
        words += [id(dtype.type)] if kind == "n" else [id(np.dtype(dtype.type)), *shape]
    return np.array(words, np.int64)


def form_of(value: np.generic) -> type_of_form:
    """Return dtype and shape of a number."""
    return value.dtype, ()


def form_of_node(kernel: OpKernel, inputs: Sequence[type_of_form]) -> type_of_form:
    """Return dtype and shape of the result of a node.

    Raises:
      NotElementwise: the node, or its inputs, are not supported.
    """
    source = LlvmStatements(inputs)
    values = [TracedArray(source, f"%in{i}", *form) for i, form in enumerate(inputs)]
    (found,) = trace([(kernel, list(range(len(inputs))))], source, values)
    return found.dtype, found.shape


_known: dict[Any, int] = {}


def num_instructions(kernel: OpKernel, dtypes: Sequence[np.dtype[Any]]) -> int:
    """Return the number of instructions of a node; 0 if it cannot be part of a compiled kernel.

    The node is traced with arrays of one shape, then with vectors in place of some.
    """
    if not dtypes or kernel.num_outputs != 1 or not is_own_kernel(kernel):
        return 0
    names = [dtype.name for dtype in dtypes]
    if any(name not in TYPES for name in names):
        return 0
    key = (kernel.definition.name, *names, *map(repr, sorted(kernel.attrs.items(), key=str)))
    found = _known.get(key)
    if found is None:
        if len(_known) > 4096:
            _known.clear()
        found = _known[key] = _traced_length(kernel, dtypes)
    return found


def _traced_length(kernel: OpKernel, dtypes: Sequence[np.dtype[Any]]) -> int:
    full, row, column = (2, 3), (3,), (2,)
    for first, others in ((full, full), (full, row), (column, full), (full, ())):
        forms = [(dtypes[0], first), *((one, others) for one in dtypes[1:])]
        source = LlvmStatements(forms)
        values = [TracedArray(source, f"%in{i}", *form) for i, form in enumerate(forms)]
        try:
            (found,) = trace([(kernel, list(range(len(forms))))], source, values)
        except NotElementwise:
            continue
        if found.shape == full:
            return len(source.statements)
    return 0
