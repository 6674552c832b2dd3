"""A double of CuPy: arrays in host memory that pretend to be on a GPU.

It is as lazy as a GPU: copies and events are queued in their stream and happen when something waits
for them, or when a kernel runs in that stream. So a copy that nobody waited for leaves rubbish in
the result, and pinned memory that was used again too early does, too. It is as strict as CuPy: a
function that is given an array of NumPy raises TypeError. ``history`` says what was queued where.

What is here is what CuPy documents: ``cuda.Device``, ``Stream``, ``Event``, ``MemoryPool``, pinned
memory, ``MemoryPointer``'s copies.  Everything else is NumPy's function of the same name.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
import types
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.special

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RUBBISH = 0xCD


class CUDARuntimeError(RuntimeError):
    """What CuPy raises when the CUDA runtime answers with an error."""


class OutOfMemoryError(MemoryError):
    """What CuPy raises when a pool's limit or the GPU's memory is used up."""


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

        self.ndarray = ndarray
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
        """Makes something current."""
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
        """An array of NumPy as one of the current GPU: newly allocated, or a view of a source."""
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
        """An array of rubbish."""
        host = np.empty(shape, dtype)
        host.reshape(-1).view(np.uint8)[...] = RUBBISH
        return self.ndarray(host)

    def asarray(self, value: Any, dtype: Any = None) -> Array:
        """A host value on the current GPU."""
        if isinstance(value, Array):
            return value if dtype is None else self.ndarray(value.host.astype(dtype))
        return self.ndarray(np.array(value, dtype))

    array = asarray

    def __getattr__(self, name: str) -> Any:
        return _member(self, np, name)

    def modules(self) -> dict[str, types.ModuleType]:
        """What stands in ``sys.modules`` where CuPy is imported."""
        special = self.submodule("cupyx.scipy.special", scipy.special)
        names = ("cupyx", "cupyx.scipy")
        return {"cupy": self, **{name: types.ModuleType(name) for name in names},
                "cupyx.scipy.special": special}  # fmt: skip

    def submodule(self, name: str, module: Any) -> types.ModuleType:
        """The functions of another module, on GPU arrays."""
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


class _Function:
    """A function of NumPy's as CuPy's of the same name."""

    def __init__(self, cupy: RecordingCupy, name: str, function: Any) -> None:
        self._cupy, self._name, self._function = cupy, name, function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        cupy = self._cupy
        with cupy.lock:
            if cupy.stream is not None:
                cupy.stream.drain()
            stream = getattr(cupy.stream, "name", None)
            cupy.history.append(("kernel", self._name, cupy.device, stream))
            found = self._function(
                *[_unwrapped(arg) for arg in args],
                **{key: _unwrapped(value) for key, value in kwargs.items()},
            )
            out = kwargs.get("out")
            if out is not None:
                return out[0] if isinstance(out, tuple) else out
            return cupy.wrap(found, *_arrays(args), *_arrays(kwargs.values()))

    @property
    def at(self) -> _Function:
        """A ufunc's form for repeated indices."""
        return _Function(self._cupy, f"{self._name}.at", self._function.at)

    @property
    def reduce(self) -> _Function:
        """A ufunc's form along an axis."""
        return _Function(self._cupy, f"{self._name}.reduce", self._function.reduce)


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
            return
        free, stream = self.cupy.malloc(host.nbytes), self.stream

        def freed() -> None:
            free()
            if stream is not None:
                stream.pending.append(lambda: host.reshape(-1).view(np.uint8).fill(RUBBISH))

        # What is freed may be used again by later work of the stream it was allocated in.
        weakref.finalize(self, freed).atexit = False

    @property
    def data(self) -> MemoryPointer:
        """Where it lies."""
        return MemoryPointer(self)

    @property
    def flags(self) -> Any:
        """Its layout."""
        return types.SimpleNamespace(c_contiguous=self.host.flags.c_contiguous)

    def get(self) -> np.ndarray[Any, Any]:
        """A copy in host memory; waits for everything."""
        if self.stream is not None:
            self.stream.drain()
        return self.host.copy()

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.cupy, ufunc.__name__)(*args, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        self._drain()
        return self.cupy.wrap(self.host[_unwrapped(key)], self)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._drain()
        self.host[_unwrapped(key)] = _unwrapped(value)

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
        self._drain()
        found = getattr(self.host, name)
        if not callable(found):
            return self.cupy.wrap(found, self)

        def method(*args: Any, **kwargs: Any) -> Any:
            values = {key: _unwrapped(value) for key, value in kwargs.items()}
            answer = found(*[_unwrapped(arg) for arg in args], **values)
            return answer if name in ("tolist", "item") else self.cupy.wrap(answer, self)

        return method


class MemoryPointer:
    """Where an array lies, with the copies CuPy's has."""

    def __init__(self, array: Array) -> None:
        # A copy that is queued keeps no array alive; memory may be written after it was freed.
        self._array, self._memory = weakref.ref(array), array.host
        self.ptr = array.host.ctypes.data

    def _address(self) -> int:
        assert self._array() is not None, "the array's memory was freed before the copy"
        return self.ptr

    def _queue(self, what: str, target: Any, source: Any, size: int, stream: Any) -> None:
        stream.queue((what, size, stream.name), lambda: ctypes.memmove(target(), source(), size))

    def _queue(
        self, what: str, target: int, source: int, size: int, stream: Any, *memory: Any
    ) -> None:
        def copy() -> None:
            ctypes.memmove(target, source, size)
            del memory_in_use[:]

        memory_in_use = [self._memory, *memory]
        stream.queue((what, size, stream.name), copy)

    def copy_from_host_async(self, mem: int, size: int, stream: Any) -> None:
        """Queues a copy from host memory."""
        self._queue("from host", self.ptr, mem, size, stream)

    def copy_to_host_async(self, mem: int, size: int, stream: Any) -> None:
        """Queues a copy to host memory."""
        self._queue("to host", mem, self.ptr, size, stream)

    def copy_from_device_async(self, source: MemoryPointer, size: int, stream: Any) -> None:
        """Queues a copy from a GPU's memory."""
        self._queue("from device", self.ptr, source.ptr, size, stream, source._memory)


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
        """Does what is queued in all streams of the device."""
        for stream in list(self.cupy.streams):
            if stream.device == self.id:
                stream.drain()

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
        self.cupy.streams.add(self)

    def __enter__(self) -> None:
        assert self.cupy.device == self.device, "a stream is used on its own device"
        entered = self._entered.__dict__.setdefault("contexts", [])
        entered.append(self.cupy.pushed("streams", None, self))
        entered[-1].__enter__()

    def __exit__(self, *error: object) -> None:
        self._entered.contexts.pop().__exit__(None, None, None)

    def queue(self, entry: tuple[Any, ...], action: Callable[[], object]) -> None:
        """Notes work and leaves it for later."""
        with self.cupy.lock:
            self.cupy.history.append(entry)
            self.pending.append(action)

    def wait_event(self, event: Any) -> None:
        """Later work of this stream comes behind the event."""
        self.queue(("wait", event.number, self.name), event.happen)

    def drain(self) -> None:
        """Does what is queued."""
        with self.cupy.lock:
            while self.pending:
                self.pending.popleft()()


class _DefaultStream:
    """Where users compute: what is queued here happens at once."""

    cupy: RecordingCupy
    name = "the user's"

    @property
    def device(self) -> int:
        """It is used on any device."""
        return self.cupy.device

    def queue(self, entry: tuple[Any, ...], action: Callable[[], object]) -> None:
        """Does the work."""
        self.cupy.history.append(entry)
        action()

    def wait_event(self, event: Any) -> None:
        """Waits for the event."""
        self.queue(("wait", event.number, self.name), event.happen)


class _Event:
    cupy: RecordingCupy
    _count = 0

    def __init__(self, block: bool = False, disable_timing: bool = False) -> None:
        type(self)._count += 1
        self.number = type(self)._count
        self.done = False
        self.stream: Any = None

    def record(self, stream: Any) -> None:
        """Happens behind what is queued in the stream now."""
        assert self.cupy.device == stream.device, "an event is recorded on its stream's device"
        self.stream = stream
        stream.queue(("record", self.number, stream.name), self._happened)

    def _happened(self) -> None:
        self.done = True

    def happen(self) -> None:
        """Does what the event is behind of."""
        with self.cupy.lock:
            while not self.done:
                self.stream.pending.popleft()()

    def synchronize(self) -> None:
        """Waits for the event."""
        if self.cupy.failure is not None:
            failure, self.cupy.failure = self.cupy.failure, None
            raise failure
        self.happen()


class _MemoryPool:
    cupy: RecordingCupy

    def __init__(self, allocator: Any = None) -> None:
        self.allocator = allocator
        self.used, self.limit, self.num_trimmed = 0, 0, 0

    def set_limit(self, size: int) -> None:
        """Allocates at most so many bytes."""
        self.limit = size

    def malloc(self, size: int) -> Callable[[], None]:
        """Counts bytes; gives what counts them back."""
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
        """Gives what is held back to the GPU."""
        self.num_trimmed += 1
