"""A double of CuPy: arrays in host memory that act like arrays on a GPU.

A GPU may run work of several streams in any order, and only events order it. Therefore each access
to memory gets a time in its stream, and events carry the times of everything before them. Two
accesses, at least one a write, without an order between them are a *race*, noted in ``races``.
Freed memory counts as reused by the next array of its pool and stream.

A stream that captures runs nothing: it records kernels with the memory they read and write, and a
graph runs them when it is launched. Operations that CUDA refuses during a capture raise.

The double is as lazy as a GPU: copies and events are queued in their stream and happen when
something waits for them, or when a kernel runs in that stream. A missing wait for a copy therefore
leaves invalid values in the result, and so does pinned memory that is reused too early. The double
is as strict as CuPy: a function with an array of NumPy raises TypeError. ``history`` has the queued
work of each stream.

Its contents are what CuPy documents: ``cuda.Device``, ``Stream``, ``Event``, ``MemoryPool``, pinned
memory, ``MemoryPointer``'s copies. Everything else is NumPy's function of the same name.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
import types
import weakref
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.special

from tests.common_runtime.device.cuda_interpreter import interpret
from tfnb.core import array_module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

RUBBISH = 0xCD


class CUDARuntimeError(RuntimeError):
    """CuPy's exception for errors of the CUDA runtime."""


class OutOfMemoryError(MemoryError):
    """CuPy's exception when a pool's limit or the GPU's memory is exhausted."""


def forget() -> None:
    """Forget what tfnb has cached about CuPy."""
    for name in ("cupy_module", "gpu_count", "missing_gpu", "can_hold"):
        getattr(array_module, name).cache_clear()


def merge(clock: dict[int, int], other: dict[int, int]) -> None:
    """Order everything before one access before the other, too."""
    for number, time in other.items():
        clock[number] = max(clock.get(number, 0), time)


def fill_with_rubbish(host: np.ndarray[Any, Any]) -> None:
    """Fill memory with arbitrary values."""
    if host.flags.c_contiguous:
        host.reshape(-1).view(np.uint8)[...] = RUBBISH


class Memory:
    """The times at which a piece of memory was last written and read, by stream."""

    def __init__(self, before: dict[int, int]) -> None:
        self.written: dict[int, int] = {}
        self.read: dict[int, int] = dict(before)

    def check(
        self, what: str, clock: dict[int, int], accesses: dict[int, int], races: list[str]
    ) -> None:
        """Note a race if an earlier access is not ordered before this one."""
        late = {n: time for n, time in accesses.items() if clock.get(n, 0) < time}
        if late:
            races.append(f"{what} does not wait for {late}; it waits for {clock}")


# Operations that CuPy refuses in a capturing stream: cuBLAS, cuSOLVER, cuRAND, reading values.
_REFUSED = frozenset(
    [
        "matmul",
        "dot",
        "tensordot",
        "einsum",
        "vdot",
        "inner",
        "outer",
        "nonzero",
        "unique",
        "flatnonzero",
        "argwhere",
    ]
)


class RecordingCupy(types.ModuleType):
    """A module like ``cupy``, with a number of GPUs."""

    def __init__(self, num_gpus: int = 1, memory: int = 1 << 30) -> None:
        super().__init__("cupy")
        self.num_gpus, self.memory = num_gpus, memory
        self.history: list[tuple[Any, ...]] = []
        self.lock = threading.RLock()
        self.local = threading.local()
        self.failure: Exception | None = None  # what the next wait for an event raises
        self.num_pinned = 0
        self.streams: weakref.WeakSet[Any] = weakref.WeakSet()
        self.races: list[str] = []
        self.host_clock: dict[int, int] = {}  # what the host knows to have happened
        self.user_clock: dict[int, int] = {}
        # Accesses to freed memory, by pool and stream.
        self.freed: dict[tuple[int, int], dict[int, int]] = {}
        module = self

        class ndarray(Array):
            cupy = module

        class Device(_Device):
            cupy = module

        class Stream(_Stream):
            cupy = module

        class Event(_Event):
            cupy = module

        class MemoryPool(_MemoryPool):
            cupy = module

        class DefaultStream(_DefaultStream):
            cupy = module

        class ElementwiseKernel(_ElementwiseKernel):
            cupy = module

        self.ndarray = ndarray
        self.ElementwiseKernel = ElementwiseKernel
        self.default_pool = MemoryPool()
        self.cuda = types.SimpleNamespace(
            Device=Device,
            Stream=Stream,
            Event=Event,
            MemoryPool=MemoryPool,
            MemoryAsyncPool=lambda: MemoryPool("in stream order"),
            malloc_managed="unified",
            alloc_pinned_memory=self._alloc_pinned,
            using_allocator=self._using_allocator,
            get_current_stream=lambda: self.stream or DefaultStream(),
            get_elapsed_time=lambda first, second: float(second.number - first.number),
            memory=types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
            runtime=types.SimpleNamespace(
                CUDARuntimeError=CUDARuntimeError,
                getDeviceCount=lambda: self.num_gpus,
                memGetInfo=lambda: (self.memory, self.memory),
                getDeviceProperties=lambda index: {"name": b"Double"},
            ),
        )

    # -- the state of a thread

    @property
    def device(self) -> int:
        """The current device's number."""
        return getattr(self.local, "devices", [0])[-1]

    @property
    def stream(self) -> Any:
        """The current stream, or None for the default one."""
        return getattr(self.local, "streams", [None])[-1]

    @property
    def malloc(self) -> Callable[[int], Any]:
        """The current allocator."""
        found: Callable[[int], Any] = getattr(self.local, "allocators", [self.default_pool.malloc])[
            -1
        ]
        return found

    @contextlib.contextmanager
    def pushed(self, name: str, default: Any, value: Any) -> Iterator[None]:
        """Make a value current for a block."""
        stack = self.local.__dict__.setdefault(name, [default])
        stack.append(value)
        try:
            yield
        finally:
            stack.pop()

    def _using_allocator(self, malloc: Any) -> Any:
        return self.pushed("allocators", self.default_pool.malloc, malloc)

    def _alloc_pinned(self, size: int) -> PinnedMemory:
        self.num_pinned += 1
        return PinnedMemory([RUBBISH] * size)

    # -- arrays

    def wrap(self, value: Any, *sources: Array) -> Any:
        """Make an array of the current GPU from one of NumPy.

        Newly allocated, or a view of a source.
        """
        if isinstance(value, tuple | list):
            items = [self.wrap(one, *sources) for one in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        if isinstance(value, np.ndarray | np.generic):
            for source in sources:
                if isinstance(value, np.ndarray) and np.may_share_memory(value, source.host):
                    return self.ndarray(value, source if source.base is None else source.base)
            return self.ndarray(np.array(value))
        return value

    def empty(self, shape: Any, dtype: Any = np.float32) -> Array:
        """Return an uninitialized array."""
        host = np.empty(shape, dtype)
        fill_with_rubbish(host)
        return self.ndarray(host)

    def asarray(self, value: Any, dtype: Any = None) -> Array:
        """A host value on the current GPU."""
        if isinstance(value, Array):
            return value if dtype is None else value.astype(dtype)
        self.refuse_while_capturing("a copy from pageable memory")
        found = self.ndarray(np.array(value, dtype))
        self.note("asarray", self.stream, [], [found.memory])
        return found

    array = asarray

    def launch(
        self, name: str, compute: Callable[[], object], reads: list[Array], writes: list[Array]
    ) -> None:
        """Run a kernel in the current stream."""
        with self.lock:
            stream = self.stream
            memories = [one.memory for one in reads], [one.memory for one in writes]
            if stream is not None and stream.captured is not None:
                stream.captured.append((name, compute, *memories))
                for one in writes:
                    fill_with_rubbish(one.host)
                return
            if stream is not None:
                stream.drain()
            self.history.append(("kernel", name, self.device, getattr(stream, "name", None)))
            self.note(name, stream, *memories)
            compute()

    def note(
        self, what: str, stream: Any, reads: list[Memory], writes: list[Memory]
    ) -> dict[int, int]:
        """Note work in a stream that reads and writes memory; return the stream's clock."""
        with self.lock:
            number, clock = (
                (0, self.user_clock) if stream is None else (stream.number, stream.clock)
            )
            merge(clock, self.host_clock)
            clock[number] = now = clock.get(number, 0) + 1
            for memory in reads:
                memory.check(what, clock, memory.written, self.races)
                memory.read[number] = now
            for memory in writes:
                memory.check(what, clock, memory.written, self.races)
                memory.check(what, clock, memory.read, self.races)
                memory.written, memory.read = {number: now}, {}
            return clock

    def refuse_while_capturing(self, what: str) -> None:
        """Raise for operations that CUDA refuses in a capturing stream."""
        if self.stream is not None and self.stream.captured is not None:
            raise CUDARuntimeError(f"cudaErrorStreamCaptureUnsupported: {what}")

    def __getattr__(self, name: str) -> Any:
        return _member(self, np, name)

    def modules(self) -> dict[str, types.ModuleType]:
        """Return the modules that ``sys.modules`` has when CuPy is imported."""
        special = self.submodule("cupyx.scipy.special", scipy.special)
        names = ("cupyx", "cupyx.scipy")
        return {"cupy": self, **{name: types.ModuleType(name) for name in names},
                "cupyx.scipy.special": special}  # fmt: skip

    def submodule(self, name: str, module: Any) -> types.ModuleType:
        """Return the functions of another module, on GPU arrays."""
        found = types.ModuleType(name)
        found.__getattr__ = lambda member: _member(self, module, member)  # type: ignore[method-assign]
        return found


def _member(cupy: RecordingCupy, module: Any, name: str) -> Any:
    found = getattr(module, name)
    if isinstance(found, types.ModuleType):
        return cupy.submodule(name, found)
    if isinstance(found, type) or not callable(found):
        return found
    return _Function(cupy, name, found)


def _get_item(host: Any, key: Any) -> Any:
    return host[key]


class _Function:
    """A function of NumPy with the behaviour of CuPy's function of the same name."""

    def __init__(self, cupy: RecordingCupy, name: str, function: Any) -> None:
        self._cupy, self._name, self._function = cupy, name, function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        cupy = self._cupy
        if self._name in _REFUSED or (self._name == "where" and len(args) == 1):
            cupy.refuse_while_capturing(self._name)
        with cupy.lock:
            if cupy.stream is not None:
                cupy.stream.drain()

            def compute() -> Any:
                return self._function(
                    *[_unwrapped(arg) for arg in args],
                    **{key: _unwrapped(value) for key, value in kwargs.items()},
                )

            out = kwargs.get("out")
            reads = [*_arrays(args), *_arrays(kwargs.values())]
            if out is not None:
                out = out[0] if isinstance(out, tuple) else out
                cupy.launch(self._name, compute, reads, [out])
                return out
            is_captured = cupy.stream is not None and cupy.stream.captured is not None
            inputs = getattr(self._function, "nargs", None)
            changed: list[Array] = []
            if self._name.endswith(".at") or (inputs is not None and len(args) >= inputs):
                cupy.refuse_while_capturing(self._name)
                changed = _arrays([args[0] if self._name.endswith(".at") else args[-1]])
            # The form of the result is determined here; in a capture, the launch computes the
            # values.
            found = cupy.wrap(compute(), *reads)
            made = [one for one in _arrays([found]) if one.base is None]

            if isinstance(found, Array) and not made and not changed:
                return found  # a view: nothing runs on the GPU

            def again() -> None:
                for one, value in zip(_arrays([found]), _flat(compute()), strict=True):
                    if one.base is None:
                        one.host[...] = value

            cupy.launch(self._name, again if is_captured else _nothing, reads, [*made, *changed])
            return found

    @property
    def at(self) -> _Function:
        """Run a ufunc's method for repeated indices."""
        return _Function(self._cupy, f"{self._name}.at", self._function.at)

    @property
    def reduce(self) -> _Function:
        """Run a ufunc's method along an axis."""
        return _Function(self._cupy, f"{self._name}.reduce", self._function.reduce)


class _ElementwiseKernel:
    """A kernel with user-defined source: the interpreter runs it with NumPy."""

    cupy: RecordingCupy

    def __init__(
        self,
        in_params: str,
        out_params: str,
        operation: str,
        name: str = "kernel",
        *,
        preamble: str = "",
        options: tuple[str, ...] = (),
    ) -> None:
        *self.inputs, self.output = (
            one.split() for one in f"{in_params}, {out_params}".split(", ")
        )
        self.operation, self.name = operation, name
        assert preamble.startswith(("namespace tfnb {", "#if __has_include(<cupy/"))
        assert options == ("--fmad=false",)

    def __call__(self, *args: Any) -> Any:
        *inputs, out = args
        for (dtype, _), array in zip([*self.inputs, self.output], args, strict=True):
            assert isinstance(array, Array), "a host value is no argument here"
            assert array.dtype == dtype, f"{array.dtype} where {dtype} is declared"
        assert np.broadcast_shapes(*[one.shape for one in inputs]) == out.shape

        def compute() -> None:
            names = [name for _, name in self.inputs]
            with np.errstate(all="ignore"):
                values = dict(zip(names, [one.host for one in inputs], strict=True))
                out.host[...] = interpret(self.operation, values)

        self.cupy.launch(self.name, compute, inputs, [out])
        return out


def _nothing() -> None:
    """Do nothing: the work is done."""


def _flat(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else [values]


def _arrays(values: Any) -> list[Array]:
    found = []
    for value in values:
        if isinstance(value, Array):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += _arrays(value)
    return found


def _unwrapped(value: Any) -> Any:
    if isinstance(value, Array):
        return value.host
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    if isinstance(value, list | tuple):
        return type(value)(_unwrapped(one) for one in value)
    return value


class PinnedMemory(bytearray):
    """Pinned host memory."""

    @property
    def ptr(self) -> int:
        """Its address."""
        return ctypes.addressof(ctypes.c_char.from_buffer(self))


class Array(np.lib.mixins.NDArrayOperatorsMixin):
    """An array on a GPU."""

    cupy: RecordingCupy

    def __init__(self, host: np.ndarray[Any, Any], base: Array | None = None) -> None:
        self.host = host
        self.base = base  # the array whose memory this one shows
        self.device = self.cupy.cuda.Device(self.cupy.device)
        self.stream = self.cupy.stream
        if base is not None:
            self.memory: Memory = base.memory
            return
        cupy, malloc = self.cupy, self.cupy.malloc
        free, stream = malloc(host.nbytes), self.stream
        arena = id(malloc.__self__), 0 if stream is None else stream.number  # type: ignore[attr-defined]
        memory = self.memory = Memory(cupy.freed.get(arena, {}))

        def freed() -> None:
            free()
            for accesses in (memory.read, memory.written):
                # The double does not check the user's own stream.
                merge(cupy.freed.setdefault(arena, {}), {n: accesses[n] for n in accesses if n})
            if stream is not None:
                stream.pending.append(lambda: host.reshape(-1).view(np.uint8).fill(RUBBISH))

        # Later work of the stream it was allocated in may reuse freed memory.
        weakref.finalize(self, freed).atexit = False

    @property
    def data(self) -> MemoryPointer:
        """The memory of the array."""
        return MemoryPointer(self)

    @property
    def flags(self) -> Any:
        """Its layout."""
        return types.SimpleNamespace(c_contiguous=self.host.flags.c_contiguous)

    def get(self) -> np.ndarray[Any, Any]:
        """Return a copy in host memory; wait for everything."""
        self.cupy.refuse_while_capturing("a copy to the host")
        if self.stream is not None:
            self.stream.drain()
        clock = self.cupy.note("get", self.cupy.stream, [self.memory], [])
        merge(self.cupy.host_clock, clock)
        return self.host.copy()

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.cupy, ufunc.__name__)(*args, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        return _Function(self.cupy, "getitem", _get_item)(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        def compute() -> None:
            self.host[_unwrapped(key)] = _unwrapped(value)

        self.cupy.launch("setitem", compute, _arrays([key, value]), [self])

    @property
    def real(self) -> Any:
        """The real part."""
        return self.cupy.wrap(self.host.real, self)

    @real.setter
    def real(self, value: Any) -> None:
        self._drain()
        self.host.real = _unwrapped(value)

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return self.cupy.wrap(self.host.imag, self)

    @imag.setter
    def imag(self, value: Any) -> None:
        self._drain()
        self.host.imag = _unwrapped(value)

    def __len__(self) -> int:
        return len(self.host)

    def __iter__(self) -> Any:
        return (self[index] for index in range(len(self.host)))

    def __bool__(self) -> bool:
        return bool(self.get())

    def __int__(self) -> int:
        return int(self.get())

    def __index__(self) -> int:
        return self.get().__index__()

    def __float__(self) -> float:
        return float(self.get())

    def _drain(self) -> None:
        if self.cupy.stream is not None:
            self.cupy.stream.drain()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.host, name)
        if not callable(found):
            self._drain()
            return self.cupy.wrap(found, self)
        if name in ("tolist", "item"):
            return lambda *args: getattr(self.get(), name)(*args)
        return partial(_Function(self.cupy, name, getattr(np.ndarray, name)), self)


class MemoryPointer:
    """The memory of an array, with CuPy's methods to copy."""

    def __init__(self, array: Array) -> None:
        # A queued copy keeps no array alive; memory may be written after it was freed.
        self._array, self._memory = weakref.ref(array), array.host
        self.ptr = array.host.ctypes.data
        self.mem = array.memory

    def _queue(
        self,
        what: str,
        target: int,
        source: int,
        size: int,
        stream: Any,
        memory: Sequence[Any] = (),
        others: Sequence[Memory] = (),
    ) -> None:
        def copy() -> None:
            ctypes.memmove(target, source, size)
            del memory_in_use[:]

        memory_in_use = [self._memory, *memory]
        array = self._array()
        assert array is not None
        reads, writes = ([array.memory], []) if what == "to host" else ([], [array.memory])
        array.cupy.note(what, stream, [*reads, *(one for one in others)], writes)
        stream.queue((what, size, stream.name), copy)

    def copy_from_host_async(self, mem: int, size: int, stream: Any) -> None:
        """Queues a copy from host memory."""
        self._queue("from host", self.ptr, mem, size, stream)

    def copy_to_host_async(self, mem: int, size: int, stream: Any) -> None:
        """Queues a copy to host memory."""
        self._queue("to host", mem, self.ptr, size, stream)

    def copy_from_device_async(self, source: MemoryPointer, size: int, stream: Any) -> None:
        """Queues a copy from a GPU's memory."""
        other = source._array()
        assert other is not None
        memory = [source._memory]
        self._queue("from device", self.ptr, source.ptr, size, stream, memory, [other.memory])


class _Device:
    cupy: RecordingCupy
    pci_bus_id = "0000:01:00.0"
    compute_capability = "90"

    def __init__(self, index: int) -> None:
        self.id = index
        self._left: list[Any] = []

    def __enter__(self) -> None:
        self._check()
        self._left.append(self.cupy.pushed("devices", 0, self.id))
        self._left[-1].__enter__()

    def synchronize(self) -> None:
        """Run the queued work of all streams of the device."""
        for stream in list(self.cupy.streams):
            if stream.device == self.id:
                stream.drain()
                merge(self.cupy.host_clock, stream.clock)

    def _check(self) -> None:
        if not 0 <= self.id < self.cupy.num_gpus:
            raise CUDARuntimeError("cudaErrorInvalidDevice: invalid device ordinal")

    def __exit__(self, *error: object) -> None:
        self._left.pop().__exit__(None, None, None)


class _Stream:
    cupy: RecordingCupy
    _count = 0

    def __init__(self, non_blocking: bool = False) -> None:
        assert non_blocking
        type(self)._count += 1
        self.number = type(self)._count
        self.device = self.cupy.device
        self.pending: deque[Callable[[], object]] = deque()
        self.name = f"stream {self.number} of {self.device}"
        self._entered = threading.local()
        self.clock: dict[int, int] = {}
        self.captured: list[Any] | None = None  # what it takes down
        self.cupy.streams.add(self)

    def __enter__(self) -> None:
        assert self.cupy.device == self.device, "a stream is used on its own device"
        entered = self._entered.__dict__.setdefault("contexts", [])
        entered.append(self.cupy.pushed("streams", None, self))
        entered[-1].__enter__()

    def __exit__(self, *error: object) -> None:
        self._entered.contexts.pop().__exit__(None, None, None)

    def queue(self, entry: tuple[Any, ...], action: Callable[[], object]) -> None:
        """Queue work for later."""
        if self.captured is not None:
            raise CUDARuntimeError(f"cudaErrorStreamCaptureUnsupported: {entry[0]}")
        with self.cupy.lock:
            self.cupy.history.append(entry)
            self.pending.append(action)

    def wait_event(self, event: Any) -> None:
        """Order later work of this stream behind the event."""
        self.queue(("wait", event.number, self.name), event.happen)
        merge(self.clock, event.clock)

    def begin_capture(self, mode: Any = None) -> None:
        """Record the work that is queued from now on."""
        assert self.captured is None
        self.drain()
        self.captured = []

    def end_capture(self) -> Graph:
        """Return the recorded work."""
        captured, self.captured = self.captured, None
        assert captured is not None
        self.cupy.history.append(("capture", len(captured), self.name))
        return Graph(self.cupy, captured)

    def drain(self) -> None:
        """Run the queued work."""
        with self.cupy.lock:
            while self.pending:
                self.pending.popleft()()


class Graph:
    """A CUDA graph: kernels with the memory they were captured with."""

    def __init__(self, cupy: RecordingCupy, kernels: list[Any]) -> None:
        self._cupy, self._kernels = cupy, kernels

    def launch(self, stream: Any) -> None:
        """Run the graph in a stream."""
        cupy = self._cupy
        with cupy.lock:
            stream.drain()
            cupy.history.append(("launch", len(self._kernels), stream.name))
            for name, compute, reads, writes in self._kernels:
                cupy.note(name, stream, reads, writes)
                compute()


class _DefaultStream:
    """The stream in which users compute: its work runs at once."""

    cupy: RecordingCupy
    name = "the user's"

    @property
    def device(self) -> int:
        """The current device; the stream works on any."""
        return self.cupy.device

    @property
    def clock(self) -> dict[int, int]:
        """The times of everything before its next work."""
        return self.cupy.user_clock

    def queue(self, entry: tuple[Any, ...], action: Callable[[], object]) -> None:
        """Does the work."""
        self.cupy.history.append(entry)
        action()

    def wait_event(self, event: Any) -> None:
        """Waits for the event."""
        self.queue(("wait", event.number, self.name), event.happen)
        merge(self.clock, event.clock)


class _Event:
    cupy: RecordingCupy
    _count = 0

    def __init__(self, block: bool = False, disable_timing: bool = False) -> None:
        type(self)._count += 1
        self.number = type(self)._count
        self.done = False
        self.stream: Any = None
        self.clock: dict[int, int] = {}

    def record(self, stream: Any) -> None:
        """Record the event behind the stream's queued work."""
        assert self.cupy.device == stream.device, "an event is recorded on its stream's device"
        self.stream = stream
        self.clock = dict(stream.clock)
        stream.queue(("record", self.number, stream.name), self._happened)

    def _happened(self) -> None:
        self.done = True

    def happen(self) -> None:
        """Run the work before the event."""
        with self.cupy.lock:
            while not self.done:
                self.stream.pending.popleft()()

    def synchronize(self) -> None:
        """Waits for the event."""
        if self.cupy.failure is not None:
            failure, self.cupy.failure = self.cupy.failure, None
            raise failure
        self.happen()
        merge(self.cupy.host_clock, self.clock)


class _MemoryPool:
    cupy: RecordingCupy

    def __init__(self, allocator: Any = None) -> None:
        self.allocator = allocator
        self.used, self.limit, self.num_trimmed = 0, 0, 0

    def set_limit(self, size: int) -> None:
        """Limit the allocated bytes."""
        self.limit = size

    def malloc(self, size: int) -> Callable[[], None]:
        """Count bytes; return the object that subtracts them."""
        if callable(self.allocator):
            return self.allocator(size)  # type: ignore[no-any-return]
        if self.limit and self.used + size > self.limit:
            raise OutOfMemoryError(
                f"Out of memory allocating {size:,} bytes (allocated so far: {self.used:,} bytes, "
                f"limit set to: {self.limit:,} bytes)."
            )
        self.used += size

        def free() -> None:
            self.used -= size

        return free

    def used_bytes(self) -> int:
        """Bytes in use."""
        return self.used

    def free_bytes(self) -> int:
        """Bytes held for later."""
        return 0

    def free_all_blocks(self) -> None:
        """Return unused memory to the GPU."""
        self.num_trimmed += 1
