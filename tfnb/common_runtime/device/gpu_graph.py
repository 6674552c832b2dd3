"""Launches a sequence of kernels as one CUDA graph.

A *segment* (``lowering/segments.py``) runs kernel by kernel the first time that it gets arguments
of some form.  The second time it is captured: run once in a stream of its own, so that every kernel
is compiled and all memory is allocated, then again while the stream records the launches.  From
then on the graph is launched in the compute stream.  One graph is kept per form: dtypes, shapes and
strides of arrays, and the values in host memory, which a graph does not read again.

*Memory.*  Kernels write to a pool owned by the graph, which lives as long as the graph and takes
its memory from the device's pool, within its limit.  Results are arrays of the device's pool,
which the graph writes last and which are returned without a copy.  The next launch overwrites them,
so it runs only when their reference counts show no other holder; if there is one (a variable, a
caller), the graph is captured again and returns copies from then on.  Arguments are read in place,
and a graph keeps their addresses: an argument whose address changed (a variable whose buffer moved)
gets a buffer in the pool, to which it is copied before each launch, and the graph is captured
again.  If the copies would cost more than the launches, the segment is not captured.

*Order.*  Everything runs in the compute stream except the capture; its stream waits for the compute
stream, which then waits for it.  One thread at a time uses a graph; other threads meanwhile run
kernel by kernel.

After an error in a capture the segment keeps running kernel by kernel for that form; ``report``
gives the reason.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.common_runtime.device.gpu_device import GpuDevice

# Bytes copied in the time of one kernel launch; an estimate, not measured.
_BYTES_PER_LAUNCH = 4 << 20
# Cache limit per segment: shapes that change every step would otherwise fill the memory.
_MOST_GRAPHS = 8
# Larger values in host memory are not compared in every step.
_MOST_HOST_BYTES = 256


class _NotWorthIt(Exception):
    """Capturing is possible, but its copies would cost more than the launches."""


class _Captured:
    """One graph, with the memory it reads and writes."""

    __slots__ = ("alone", "graph", "inputs", "outputs", "pointers", "pool")

    def __init__(self) -> None:
        self.graph: Any = None
        self.inputs: dict[int, Any] = {}  # arrays of the pool, by the number of the argument
        self.pointers: dict[int, int] = {}  # of arguments that are read in place
        self.outputs: tuple[Any, ...] = ()
        self.pool: Any = None
        self.alone: list[tuple[int, int]] = []  # `holders()` when only the graph holds the outputs

    def holders(self) -> list[tuple[int, int]]:
        """Return the reference counts of each output and of its memory (which views share)."""
        return [(getrefcount(one), getrefcount(one.data.mem)) for one in self.outputs]

    def given(self, args: Sequence[Any]) -> list[Any]:
        """Return the arguments in the memory from which the graph reads them."""
        return [self.inputs.get(number, arg) for number, arg in enumerate(args)]


class GraphSegment:
    """Called by the emitted function; returns the results, or None to run kernel by kernel.

    Attributes:
      refusals: why the segment is not captured, by the form of the arguments.
    """

    def __init__(
        self, device: GpuDevice, body: Callable[..., tuple[Any, ...]], num_launches: int
    ) -> None:
        """Initialize the segment.

        Args:
          device: the device of all its kernels.
          body: runs it kernel by kernel, in the current stream.
          num_launches: lower bound of the number of its kernels.
        """
        self._device = device
        self._cupy: Any = device.xp
        self._body = body
        self._most_bytes = num_launches * _BYTES_PER_LAUNCH
        self._lock = threading.Lock()
        # By form; None for a form that was seen once. Guarded by self._lock, like all below.
        self._graphs: dict[tuple[Any, ...], _Captured | None] = {}
        self._kept: set[tuple[Any, ...]] = set()  # forms whose results are held elsewhere
        self._num_launched = 0
        self._num_captured = 0
        self.refusals: dict[tuple[Any, ...], str] = {}

    def __call__(self, *args: Any) -> tuple[Any, ...] | None:
        """Return the results, or None."""
        # A `with` statement takes the lock: an interrupt after a call of acquire() would keep it.
        if self._device.is_traced or self._lock.locked():
            return None
        with self._lock:
            form = self._form(args)
            if form is None or form in self.refusals:
                return None
            if form not in self._graphs:
                if len(self._graphs) >= _MOST_GRAPHS:
                    del self._graphs[next(iter(self._graphs))]
                self._graphs[form] = None
                return None
            return self._run(form, args)

    def report(self) -> list[str]:
        """Return how the segment ran, one line for each fact."""
        lines = []
        if self._num_captured:
            graphs = sum(one is not None for one in self._graphs.values())
            lines.append(
                f"captured {self._num_captured} times, {graphs} graphs kept, "
                f"launched {self._num_launched} times"
            )
        lines += [f"kernel by kernel: {text}" for text in dict.fromkeys(self.refusals.values())]
        return lines or ["kernel by kernel: no form of its arguments came twice"]

    def _form(self, args: Sequence[Any]) -> tuple[Any, ...] | None:
        form: list[Any] = []
        array_type = self._cupy.ndarray
        for arg in args:
            if isinstance(arg, array_type):
                form.append((arg.dtype, arg.shape, arg.strides))
            elif (
                isinstance(arg, np.ndarray | np.generic)
                and arg.nbytes <= _MOST_HOST_BYTES
                and arg.dtype != object
            ):
                form.append((arg.dtype, arg.shape, arg.tobytes()))
            else:
                return None
        return tuple(form)

    def _run(self, form: tuple[Any, ...], args: Sequence[Any]) -> tuple[Any, ...] | None:
        found = self._graphs[form]
        copied = set() if found is None else set(found.inputs)
        if found is not None:
            copied |= {i for i, where in found.pointers.items() if args[i].data.ptr != where}
        if found is None or len(copied) > len(found.inputs):
            # The old graph's memory is free before the new one takes its own.
            self._graphs[form] = found = None
            made = _Captured()
            try:
                found = self._device.capture(
                    lambda: self._rehearse(made, args, copied), lambda: self._capture(made, args)
                )
            except Exception as error:
                text = str(error) if isinstance(error, _NotWorthIt) else _told(error)
                while len(self.refusals) >= _MOST_GRAPHS:
                    del self.refusals[next(iter(self.refusals))]
                self.refusals[form] = text
                return None
            if found is None:
                return None  # another thread captures
            found.alone = found.holders()
            self._num_captured += 1
            self._graphs[form] = found
        elif found.holders() != found.alone:
            if len(self._kept) >= _MOST_GRAPHS:
                self._kept.clear()
            self._kept.add(form)
            self._graphs[form] = None
            return None
        return self._launch(found, args, copies=form in self._kept)

    def _rehearse(self, made: _Captured, args: Sequence[Any], copied: set[int]) -> None:
        """Compile every kernel and allocate all memory, in the current stream."""
        cupy = self._cupy
        made.pool = cupy.cuda.MemoryPool(self._device.pool.malloc)
        with cupy.cuda.using_allocator(made.pool.malloc):
            for number, arg in enumerate(args):
                if number in copied:
                    made.inputs[number] = cupy.empty(arg.shape, arg.dtype)
                    made.inputs[number][...] = arg
                elif isinstance(arg, cupy.ndarray):
                    made.pointers[number] = arg.data.ptr
            num_bytes = sum(one.nbytes for one in made.inputs.values())
            self._check_size(num_bytes)
            results = self._body(*made.given(args))
            self._check_size(num_bytes + sum(one.nbytes for one in results))
            with cupy.cuda.using_allocator(self._device.pool.malloc):
                made.outputs = tuple([cupy.empty(one.shape, one.dtype) for one in results])
            _fill(made.outputs, results)

    def _capture(self, made: _Captured, args: Sequence[Any]) -> _Captured:
        """Record the launches of the segment."""
        cuda = self._cupy.cuda
        stream = cuda.get_current_stream()
        with cuda.using_allocator(made.pool.malloc):
            try:
                stream.begin_capture()
                _fill(made.outputs, self._body(*made.given(args)))
                made.graph = stream.end_capture()
            except BaseException:
                # The stream may be unusable after the error; a second error adds no information.
                self._device.forget_capture_stream()
                with suppress(Exception):
                    stream.end_capture()
                raise
        return made

    def _check_size(self, num_bytes: int) -> None:
        if num_bytes > self._most_bytes:
            raise _NotWorthIt(
                f"{num_bytes} bytes would be copied in each step, more than {self._most_bytes}"
            )

    def _launch(self, found: _Captured, args: Sequence[Any], *, copies: bool) -> tuple[Any, ...]:
        def launch() -> tuple[Any, ...]:
            for number, place in found.inputs.items():
                place[...] = args[number]
            found.graph.launch(self._device.compute_stream)
            return tuple([one.copy() for one in found.outputs]) if copies else found.outputs

        self._num_launched += 1
        return self._device.in_compute_stream(launch)  # type: ignore[no-any-return]


def _fill(outputs: Sequence[Any], results: Sequence[Any]) -> None:
    for output, result in zip(outputs, results, strict=True):
        output[...] = result


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
