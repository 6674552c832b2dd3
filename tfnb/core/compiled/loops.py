"""Loops over arrays in LLVM's language, as the source of a routine.

:class:`Loops` writes one function.  Its arguments are arrays, whose elements are loaded and stored
by their number, and an array of 64-bit integers with sizes::

    def write(loops):
        with loops.loop(loops.size(0), loops.size(1)) as i:
            loops.store("float", loops.do("fmul float", loops.load("float", 1, i), two), 0, i)

A variable that a loop changes is a place on the stack, which LLVM keeps in a register.
"""

from __future__ import annotations

import platform
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tfnb.core.compiled import array_calls
from tfnb.core.compiled.llvm_functions import definition

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Loops:
    """A function under construction.

    Args:
      arrays: the number of arrays that it gets before the array of sizes.
    """

    def __init__(self, arrays: int) -> None:
        self._arrays = arrays
        self._lines: list[str] = []
        self._places: list[str] = []
        self._declared: set[str] = set()
        self._count = 0
        self._num_sizes = 2
        self._flushes = False

    def _new(self) -> str:
        self._count += 1
        return f"%t{self._count}"

    def flush_denormals(self) -> None:
        """Let the function take numbers below 1.2e-38 as zero, as TensorFlow's threads do.

        Some processors take a hundred times as long to multiply them, and training leaves them in
        weights that decay.  It is for sums of products: numbers that are compared, or divide
        others, would change more than by rounding.
        """
        self._flushes = True

    def do(self, operation: str, *operands: str) -> str:
        """Add an instruction such as ``fadd float``; return its result."""
        name = self._new()
        self._lines.append(f"  {name} = {operation} {', '.join(operands)}")
        return name

    def convert(self, operation: str, value: str, to: str) -> str:
        """Add a conversion such as ``zext i32``; return its result."""
        return self.do(f"{operation} {value} to {to}")

    def choose(self, kind: str, test: str, then: str, other: str) -> str:
        """Return one of two values."""
        return self.do("select", f"i1 {test}", f"{kind} {then}", f"{kind} {other}")

    def call(self, name: str, kind: str, *operands: str) -> str:
        """Call a function of LLVM, such as ``llvm.sqrt``, or one of ``llvm_functions``."""
        given = ", ".join(f"{kind} {one}" for one in operands)
        if name.startswith("llvm."):
            full = f"@{name}.{'f32' if kind == 'float' else 'f64'}"
            kinds = ", ".join([kind] * len(operands))
            self._declared.add(f"declare {kind} {full}({kinds})")
        else:
            full = f"@{name}.{kind}"
            self._declared.add(definition(name, kind))
        return self.do(f"call {kind} {full}({given})")

    def size(self, number: int) -> str:
        """Return a number of the array of sizes."""
        self._num_sizes = max(self._num_sizes, number + 1)
        place = self.do("getelementptr i64,", "ptr %sizes", f"i64 {number + 1}")
        return self.do("load i64,", f"ptr {place}")

    def load(self, kind: str, array: int, index: str) -> str:
        """Return an element of an array."""
        place = self.place(kind, f"%a{array}", index)
        return self.do(f"load {kind},", f"ptr {place}")

    def store(self, kind: str, value: str, array: int, index: str) -> None:
        """Store an element of an array."""
        place = self.place(kind, f"%a{array}", index)
        self._lines.append(f"  store {kind} {value}, ptr {place}")

    def place(self, kind: str, pointer: str, index: str) -> str:
        """Return the address of an element."""
        return self.do(f"getelementptr inbounds {kind},", f"ptr {pointer}", f"i64 {index}")

    def prefetch(self, kind: str, pointer: str, index: str) -> None:
        """Request an element from memory, if it is anywhere; it may lie outside of the array."""
        place = self.do(f"getelementptr {kind},", f"ptr {pointer}", f"i64 {index}")
        self._declared.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.write(f"call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 3, i32 1)")

    def splat(self, kind: str, value: str, lanes: int) -> str:
        """Return a vector of equal numbers."""
        vector = f"<{lanes} x {kind}>"
        one = self.do(f"insertelement {vector}", "poison", f"{kind} {value}", "i32 0")
        zeros = f"<{lanes} x i32> zeroinitializer"
        return self.do("shufflevector", f"{vector} {one}", f"{vector} poison", zeros)

    def shuffle(self, one: str, other: str, lanes: int, order: Sequence[int]) -> str:
        """Return a vector of lanes of two vectors of floats; those of the second follow."""
        kind = f"<{lanes} x float>"
        mask = ", ".join(f"i32 {lane}" for lane in order)
        return self.do(
            "shufflevector", f"{kind} {one}", f"{kind} {other}", f"<{lanes} x i32> <{mask}>"
        )

    def first_lanes(self, count: str, lanes: int) -> str:
        """Return a mask that holds for the first lanes of a vector."""
        vector = f"<{lanes} x i32>"
        limit = self.splat("i32", self.convert("trunc i64", count, "i32"), lanes)
        numbers = ", ".join(f"i32 {i}" for i in range(lanes))
        return self.do(f"icmp slt {vector}", f"<{numbers}>", limit)

    def vector_load(self, place: str, lanes: int, mask: str = "") -> str:
        """Load a vector of floats; numbers for which a mask does not hold are 0."""
        kind = f"<{lanes} x float>"
        if not mask:
            return self.do(f"load {kind},", f"ptr {place}", "align 4")
        name = f"@llvm.masked.load.v{lanes}f32.p0"
        self._declared.add(f"declare {kind} {name}(ptr, i32, <{lanes} x i1>, {kind})")
        bits = f"<{lanes} x i1> {mask}"
        return self.do(f"call {kind} {name}(ptr {place}, i32 4, {bits}, {kind} zeroinitializer)")

    def vector_store(self, value: str, place: str, lanes: int, mask: str = "") -> None:
        """Store a vector of floats, those for which a mask holds if there is one."""
        kind = f"<{lanes} x float>"
        if not mask:
            self.write(f"store {kind} {value}, ptr {place}, align 4")
            return
        name = f"@llvm.masked.store.v{lanes}f32.p0"
        self._declared.add(f"declare void {name}({kind}, ptr, i32, <{lanes} x i1>)")
        self.write(f"call void {name}({kind} {value}, ptr {place}, i32 4, <{lanes} x i1> {mask})")

    def any_of(self, mask: str, lanes: int) -> str:
        """Return whether a mask holds for one of its lanes."""
        bits = self.convert(f"bitcast <{lanes} x i1>", mask, f"i{lanes}")
        return self.do(f"icmp ne i{lanes}", bits, "0")

    def largest_of(self, vector: str, lanes: int) -> str:
        """Return the largest number of a vector without NaN."""
        name = f"@llvm.vector.reduce.fmax.v{lanes}f32"
        self._declared.add(f"declare float {name}(<{lanes} x float>)")
        return self.do(f"call nnan float {name}(<{lanes} x float> {vector})")

    def variable(self, kind: str, value: str) -> Variable:
        """Return a variable with a first value."""
        name = self._new()
        self._places.append(f"  {name} = alloca {kind}")
        made = Variable(self, kind, name)
        made.set(value)
        return made

    def room(self, kind: str, count: int) -> str:
        """Return the address of memory on the stack, without first values."""
        name = self._new()
        self._places.append(f"  {name} = alloca [{count} x {kind}], align 64")
        return name

    def write(self, line: str) -> None:
        """Add a line without a result."""
        self._lines.append(f"  {line}")

    @contextmanager
    def loop(self, begin: str, end: str, unless: Variable | None = None) -> Iterator[str]:
        """Add a loop from ``begin`` up to, not including, ``end``; give its index.

        With ``unless``, a variable of type ``i1``, it ends before a pass for which that is set.
        """
        index = self.variable("i64", begin)
        self._count += 1
        number = self._count
        self._lines += [f"  br label %test{number}", f"test{number}:"]
        now = index.get()
        more = self.do("icmp slt i64", now, end)
        if unless is not None:
            more = self.choose("i1", unless.get(), "false", more)
        self._lines.append(f"  br i1 {more}, label %body{number}, label %after{number}")
        self._lines.append(f"body{number}:")
        yield now
        index.set(self.do("add nuw nsw i64", now, "1"))
        self._lines += [f"  br label %test{number}", f"after{number}:"]

    def declarations(self) -> list[str]:
        """Return what a source with these lines has to declare."""
        return sorted(self._declared)

    def lines(self) -> list[str]:
        """Return the lines of the function after its label ``entry``, but its end."""
        return [*self._places, *self._lines]

    def text(self) -> str:
        """Return the source: the function, and the one that Python calls.

        The latter is a ``METH_FASTCALL`` function of the arrays; it returns None.  If the first of
        the sizes is not 0, other threads may run meanwhile; if it is n + 1 with n > 0, the team
        (``team.py``) shares the call in pieces of n rows.
        """
        names = [*(f"%a{i}" for i in range(self._arrays)), "%sizes"]
        given = ", ".join(f"ptr noalias nocapture {name}" for name in names)
        lines = self.declarations()
        lines.append("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        flushed, flush, restore = _without_denormals() if self._flushes else ([], [], [])
        lines += flushed
        lines.append(f"define internal void @KERNEL_body({given}) {{\nentry:")
        lines += [*flush, *self.lines(), *restore, "  ret void\n}"]
        call = f"  call void @KERNEL_body({', '.join(f'ptr {name}' for name in names)})"
        lines += [*self._piece(names), "define ptr @KERNEL(ptr %self, ptr %args, i64 %count) {"]
        lines += ["entry:", f"  %job = alloca [{len(names)} x ptr], align 8"]
        lines.append(f"  %selfp = getelementptr i8, ptr %self, i64 {array_calls.DATA}")
        lines.append("  %data = load ptr, ptr %selfp")
        for number, name in enumerate(("incref", "none", "leave", "enter", "team")):
            lines.append(f"  %{name}.w = getelementptr i64, ptr %data, i64 {number}")
            lines.append(f"  %{name} = load ptr, ptr %{name}.w")
        for number, name in enumerate(names):
            lines.append(f"  {name}.o = getelementptr ptr, ptr %args, i64 {number}")
            lines.append(f"  {name}.ob = load ptr, ptr {name}.o")
            lines.append(f"  {name}.f = getelementptr i8, ptr {name}.ob, i64 {array_calls.DATA}")
            lines.append(f"  {name} = load ptr, ptr {name}.f")
        lines += [
            "  %free = load i64, ptr %sizes",
            "  %together = icmp eq i64 %free, 0",
            "  br i1 %together, label %all, label %part",
            "part:",
            "  %thread = call ptr %leave()",
            "  %unit = sub i64 %free, 1",
            "  %is.shared = icmp sgt i64 %unit, 0",
            "  br i1 %is.shared, label %shared, label %alone",
            "shared:",
        ]
        for number, name in enumerate(names):
            lines.append(f"  {name}.j = getelementptr ptr, ptr %job, i64 {number}")
            lines.append(f"  store ptr {name}, ptr {name}.j")
        lines += [
            "  %rows.w = getelementptr i64, ptr %sizes, i64 2",
            "  %rows = load i64, ptr %rows.w",
            "  %share = load ptr, ptr %team",
            "  call void %share(ptr %team, ptr @KERNEL_piece, ptr %job, i64 %rows, i64 %unit)",
            "  br label %back",
            "alone:",
            call,
            "  br label %back",
            "back:",
            "  call void %enter(ptr %thread)",
            "  br label %done",
            "all:",
            call,
            "  br label %done",
            "done:",
            "  call void %incref(ptr %none)",
            "  ret ptr %none",
            "}",
        ]
        return "\n".join(lines)

    def _piece(self, names: list[str]) -> list[str]:
        """Return the function that computes a piece of a call: its own sizes have other rows."""
        count = self._num_sizes + 1
        lines = ["define internal void @KERNEL_piece(ptr %job, i64 %first, i64 %last) {", "entry:"]
        for number, name in enumerate(names):
            lines.append(f"  {name}.j = getelementptr ptr, ptr %job, i64 {number}")
            lines.append(f"  {name} = load ptr, ptr {name}.j")
        call = ", ".join(f"ptr {name}" for name in [*names[:-1], "%own"])
        return [
            *lines,
            f"  %own = alloca [{count} x i64], align 64",
            f"  call void @llvm.memcpy.p0.p0.i64(ptr %own, ptr %sizes, i64 {8 * count}, i1 false)",
            "  %first.w = getelementptr i64, ptr %own, i64 1",
            "  store i64 %first, ptr %first.w",
            "  %last.w = getelementptr i64, ptr %own, i64 2",
            "  store i64 %last, ptr %last.w",
            f"  call void @KERNEL_body({call})",
            "  ret void\n}",
        ]


def _without_denormals() -> tuple[list[str], list[str], list[str]]:
    """Return declarations, and the lines before and after what computes without denormal numbers.

    None where the processor is of another kind.
    """
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return [], [], []
    declared = [f"declare void @llvm.x86.sse.{name}(ptr)" for name in ("stmxcsr", "ldmxcsr")]
    flush = [
        "  %state.before = alloca i32",
        "  %state.within = alloca i32",
        "  call void @llvm.x86.sse.stmxcsr(ptr %state.before)",
        "  %state = load i32, ptr %state.before",
        f"  %state.flushed = or i32 %state, {_FLUSHES}",
        "  store i32 %state.flushed, ptr %state.within",
        "  call void @llvm.x86.sse.ldmxcsr(ptr %state.within)",
    ]
    return declared, flush, ["  call void @llvm.x86.sse.ldmxcsr(ptr %state.before)"]


# The bits of a processor's state for which denormal results, and denormal operands, are zero.
_FLUSHES = 0x8040


class Variable:
    """A value that loops change."""

    __slots__ = ("_kind", "_loops", "_name")

    def __init__(self, loops: Loops, kind: str, name: str) -> None:
        self._loops, self._kind, self._name = loops, kind, name

    def get(self) -> str:
        """Return the present value."""
        return self._loops.do(f"load {self._kind},", f"ptr {self._name}")

    def set(self, value: str) -> None:
        """Store another value."""
        self._loops.write(f"store {self._kind} {value}, ptr {self._name}")
