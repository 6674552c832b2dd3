"""The GPU, through CuPy, which is imported only when a session looks for GPUs.

A device has four streams: one for kernels (``compute``), and one each for copies from the host, to
the host and from other GPUs. Nothing waits on the host except where the host needs a value:

* A Send lends its array together with an event, recorded behind the kernels that compute it.
* Into the GPU: the copying stream waits for what the compute stream did so far (it may still use
  the memory that the new array got), the compute stream waits for the copy. The Recv answers at
  once, since every use of the array is queued behind the copy.
* Out of the GPU: the copying stream waits for the lent event. A thread of the device waits for the
  copy and then answers through the step's inbox; it holds the array until then.

Arrays are allocated with the compute stream current. CuPy's pool gives freed memory back to the
stream it was allocated in, so it is used again only behind the kernels that still read it.

Corresponds to TensorFlow's ``gpu_device.cc``, ``gpu_util.cc`` and ``gpu_event_mgr.cc``.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.device.device import Device
from tfnb.common_runtime.device.gpu_options import GpuSpec
from tfnb.common_runtime.device.gpu_staging import StagingBuffer, StagingPool
from tfnb.common_runtime.device.gpu_trace import KernelTrace
from tfnb.common_runtime.device.thread_pool import ThreadPool
from tfnb.core import array_module, dtypes, errors
from tfnb.core.array_module import LentArray
from tfnb.core.process.notification import Notification

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tfnb.common_runtime.device.device import DeviceAttributes
    from tfnb.common_runtime.device.gpu_trace import KernelTime
    from tfnb.core.dtypes import DType
    from tfnb.core.op_kernel import OpKernelContext, type_of_done

# Types whose tensors a callable may keep in GPU memory; int32 is not among them: as in TensorFlow,
# it lives in host memory on every device.
_HELD = (
    *(dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bool),
    *(dtypes.complex64, dtypes.complex128),
    *(dtypes.int8, dtypes.int16, dtypes.int64, dtypes.uint8, dtypes.uint16),
)
# Polls of an event, a few dozen microseconds, before a thread of the device waits for it.
_SPINS = 64
# Longest sleep of a waiting thread between two checks for an interrupt, in seconds.
_NAP_S = 0.05

_pools_lock = threading.Lock()
# (CuPy, CUDA device, ordinal) -> memory pool; process-wide, guarded by _pools_lock
_pools: dict[tuple[Any, int, int], Any] = {}


class _Entered(threading.local):
    is_here = False  # whether this thread has made the device and one of its streams current


class GpuDevice(Device):
    """One CUDA device, or a part of its memory.

    Attributes:
      compute_stream: the stream of the kernels.
      pool: the memory pool; sessions share it, and the first one limits it.
      staging: pinned host memory that copies go through.
    """

    device_type = "GPU"
    priority = 210
    is_asynchronous = True

    def __init__(self, name: str, spec: GpuSpec | int) -> None:
        if isinstance(spec, int):
            spec = GpuSpec(spec)
        self._cupy = cupy = array_module.cupy_module()
        self._spec = spec
        with cupy.cuda.Device(spec.cuda_index):
            _, total = cupy.cuda.runtime.memGetInfo()
            self.pool = _memory_pool(cupy, spec)
            self.compute_stream = cupy.cuda.Stream(non_blocking=True)
            self._from_host = cupy.cuda.Stream(non_blocking=True)
            self._to_host = cupy.cuda.Stream(non_blocking=True)
            self._from_devices = cupy.cuda.Stream(non_blocking=True)
        super().__init__(name, spec.cuda_index, cupy, spec.memory_limit or int(total))
        self.staging = StagingPool(cupy)
        self._waiter = ThreadPool(f"gpu_{spec.cuda_index}_events", 1)
        self._trace: KernelTrace | None = None
        self._capture_stream: Any = None  # guarded by _capture_lock
        self._capture_lock = threading.Lock()
        self._entered = _Entered()
        self._out_of_memory = cupy.cuda.memory.OutOfMemoryError
        self._cuda_error = cupy.cuda.runtime.CUDARuntimeError

    @property
    def attributes(self) -> DeviceAttributes:
        """The device's attributes, as users see them."""
        found = super().attributes
        device = self._cupy.cuda.Device(self.index)
        name = self._cupy.cuda.runtime.getDeviceProperties(self.index)["name"]
        major, minor = device.compute_capability[:-1], device.compute_capability[-1]
        described = (
            f"device: {self.index}, "
            f"name: {name.decode() if isinstance(name, bytes) else name}, "
            f"pci bus id: {device.pci_bus_id}, compute capability: {major}.{minor}"
        )
        return type(found)(
            found.name, found.device_type, found.memory_limit, found.incarnation, described
        )

    # -- kernels

    def wrap_kernel(
        self, compute: Callable[..., Any], node_name: str, op: str
    ) -> Callable[..., Any]:
        """Wrap a kernel so that it runs in this device's compute stream, from any thread."""
        cuda, stream, malloc, index, entered = (
            self._cupy.cuda,
            self.compute_stream,
            self.pool.malloc,
            self.index,
            self._entered,
        )

        def run(args: Sequence[Any]) -> Any:
            trace = self._trace
            return compute(*args) if trace is None else trace.timed(node_name, op, compute, args)

        def launch(*args: Any) -> Any:
            try:
                if entered.is_here:
                    return run(args)
                with cuda.Device(index), stream, cuda.using_allocator(malloc):
                    return run(args)
            except Exception as error:
                raise self._explained(error) from error

        return launch

    def in_compute_stream(self, function: Callable[[], Any]) -> Any:
        """Call a function that queues work, in this device's compute stream."""
        cuda = self._cupy.cuda
        try:
            with (
                cuda.Device(self.index),
                self.compute_stream,
                cuda.using_allocator(self.pool.malloc),
            ):
                return function()
        except Exception as error:
            raise self._explained(error) from error

    def enter(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function of many kernels; make the device current once, instead of per kernel."""
        cuda = self._cupy.cuda
        with (
            cuda.Device(self.index),
            self.compute_stream,
            cuda.using_allocator(self.pool.malloc),
            self._inside(),
        ):
            return function(*args)

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """Let kernels that this thread calls use the current device and stream."""
        before, self._entered.is_here = self._entered.is_here, True
        try:
            yield
        finally:
            self._entered.is_here = before

    def capture(self, rehearse: Callable[[], Any], capture: Callable[[], Any]) -> Any:
        """Return the result of ``capture``, which captures a CUDA graph in the current stream.

        ``rehearse`` does the same work first, ordered with the compute stream. Returns None while
        another thread captures.
        """
        # A `with` statement takes the lock: an interrupt after a call of acquire() would keep it.
        if self._capture_lock.locked():
            return None
        with self._capture_lock, self._cupy.cuda.Device(self.index):
            stream = self._capture_stream
            if stream is None:
                stream = self._capture_stream = self._cupy.cuda.Stream(non_blocking=True)
            stream.wait_event(self._record(self.compute_stream))
            with stream, self._inside():
                try:
                    rehearse()
                finally:
                    self.compute_stream.wait_event(self._record(stream))
                return capture()

    def forget_capture_stream(self) -> None:
        """Drop the stream that a failed capture made unusable; the next capture makes a new one."""
        self._capture_stream = None

    @property
    def is_traced(self) -> bool:
        """Whether kernels are measured one by one."""
        return self._trace is not None

    def _explained(self, error: BaseException) -> BaseException:
        """Translate CuPy's errors into TensorFlow's; return others unchanged."""
        if isinstance(error, self._out_of_memory):
            with self._cupy.cuda.Device(self.index):
                used, free = self.pool.used_bytes(), self.pool.free_bytes()
            return errors.out_of_memory(
                f"OOM when allocating tensor on {self.name} by allocator GPU_{self.index}_bfc: "
                f"{error} The pool uses {used} bytes and holds {free} more."
            )
        if isinstance(error, self._cuda_error):
            return errors.internal(f"CUDA failed on {self.name}: {error}")
        return error

    def start_trace(self) -> None:
        """Start measuring the times of kernels on the device."""
        with self._cupy.cuda.Device(self.index):
            self._trace = KernelTrace(self._cupy, self.compute_stream)

    def stop_trace(self) -> list[KernelTime]:
        """Return the measured kernel times, after waiting for the kernels to end."""
        trace, self._trace = self._trace, None
        if trace is None:
            return []
        try:
            with self._cupy.cuda.Device(self.index):
                return trace.times()
        except self._cuda_error:
            return []  # the step raises the error

    # -- transfers

    def lend(self, value: Any) -> Any:
        """Prepare a value for transfer, with the event after which it is computed."""
        if not array_module.is_device_array(value):
            return value
        with self._cupy.cuda.Device(self.index):
            return LentArray(value, self, self._record(self.compute_stream))

    def receive(self, value: Any, done: type_of_done) -> None:
        """Copy a value from another device into this device's memory, if its type may be there."""
        try:
            value = self.take(value)
        except Exception as error:
            done(error)
        else:
            done((value,))

    def take(self, value: Any) -> Any:
        """Return a value from another device, copied here before any later kernel reads it."""
        try:
            if isinstance(value, LentArray):
                return value.array if value.device is self else self._copy_from_device(value)
            if isinstance(value, np.ndarray | np.generic) and array_module.can_hold(value.dtype):
                return self.copy_from_host(value)
        except Exception as error:
            raise self._explained(error) from error
        return value

    def copy_from_host(self, value: Any) -> Any:
        """Return an array that will hold ``value`` before any later kernel reads it."""
        host = np.asarray(value, order="C")
        cuda = self._cupy.cuda
        with cuda.Device(self.index), self.compute_stream, cuda.using_allocator(self.pool.malloc):
            array = self._cupy.empty(host.shape, host.dtype)
            if not host.nbytes:
                return array
            staged = self.staging.take(host.nbytes)
            staged.view(host.shape, host.dtype)[...] = host
            self._from_host.wait_event(self._record(self.compute_stream))
            array.data.copy_from_host_async(staged.pointer, host.nbytes, self._from_host)
            copied = self._record(self._from_host)
            self.compute_stream.wait_event(copied)
            self.staging.give_back(staged, copied)
            return array

    def adopt(self, value: Any) -> Any:
        """Return a fed value for kernels, ordered behind the caller's stream that computed it."""
        if not array_module.is_device_array(value):
            can_hold = isinstance(value, np.ndarray | np.generic) and array_module.can_hold(
                value.dtype
            )
            return self.copy_from_host(value) if can_hold else value
        value = array_module.to_device(value, self.index)
        with self._cupy.cuda.Device(self.index):
            event = self._record(self._cupy.cuda.get_current_stream())
            self.compute_stream.wait_event(event)
        return value

    def hand_over(self) -> None:
        """Make the caller's stream wait for what kernels read and write.

        The caller may then use fetched arrays, and free fed ones, without waiting on the host.
        """
        with self._cupy.cuda.Device(self.index):
            event = self._record(self.compute_stream)
            self._cupy.cuda.get_current_stream().wait_event(event)

    def _copy_from_device(self, lent: LentArray) -> Any:
        """Return an array of this device that will hold the array another GPU lent."""
        cuda = self._cupy.cuda
        source = lent.device.contiguous(lent)
        with cuda.Device(self.index), self.compute_stream, cuda.using_allocator(self.pool.malloc):
            array = self._cupy.empty(source.array.shape, source.array.dtype)
            if not array.nbytes:
                return array
            stream = self._from_devices
            stream.wait_event(self._record(self.compute_stream))
            stream.wait_event(source.event)
            array.data.copy_from_device_async(source.array.data, array.nbytes, stream)
            copied = self._record(stream)
            self.compute_stream.wait_event(copied)
        # The source's memory may be reused only after the copy has read it.
        lent.device.compute_waits_for(copied)
        return array

    def copy_to_host(self, lent: LentArray, done: type_of_done) -> None:
        """Call ``done`` with a host copy of the lent array, once the copy is complete."""
        try:
            copy = HostCopy(self, lent)
        except Exception as error:
            done(self._explained(error))
            return

        def finish() -> None:
            try:
                value = copy.value()
            except Exception as error:
                done(self._explained(error))
            else:
                done((value,))

        if copy.event is None:
            finish()
            return
        try:
            self._waiter.schedule(finish)
        except errors.CancelledError as error:  # the session is being closed
            done(error)

    def begin_copy_to_host(self, value: Any) -> Any:
        """Queue a copy to host memory; :meth:`end_copy_to_host` waits for it."""
        if not array_module.is_device_array(value):
            return value
        try:
            return HostCopy(self, self.lend(value))
        except Exception as error:
            raise self._explained(error) from error

    def end_copy_to_host(self, ctx: OpKernelContext, copy: Any) -> Any:
        """Return the host array of a copy; can be interrupted, and ends if the step is to end.

        Raises:
          InternalError: the copy, or work queued before it, failed.
        """
        if not isinstance(copy, HostCopy):
            return copy
        if copy.event is not None:
            self._wait(copy.event, ctx.step.run_state)
        try:
            return copy.value()
        except Exception as error:
            raise self._explained(error) from error

    def begin_copy(self, lent: LentArray, staged: StagingBuffer) -> Any:
        """Queue a copy behind the array's kernels; return the event that follows the copy."""
        with self._cupy.cuda.Device(self.index):
            self._to_host.wait_event(lent.event)
            array = lent.array
            array.data.copy_to_host_async(staged.pointer, array.nbytes, self._to_host)
            return self._record(self._to_host)

    def _wait(self, event: Any, run_state: Any = None) -> None:
        """Sleep until an event has happened or the step is to end."""
        failure: list[BaseException] = []
        try:
            for _ in range(_SPINS):
                if event.done:
                    return
        except self._cuda_error as error:
            raise self._explained(error) from error
        finished = Notification()

        def wait() -> None:
            try:
                with self._cupy.cuda.Device(self.index):
                    event.synchronize()
            except Exception as error:
                failure.append(self._explained(error))
            finished.notify()

        self._waiter.schedule(wait)
        while not finished.wait(_NAP_S):
            if run_state is not None:
                run_state.heed_stop()
        if failure:
            raise failure[0]

    def contiguous(self, lent: LentArray) -> LentArray:
        """Return the lent array in contiguous memory."""
        if lent.array.flags.c_contiguous:
            return lent
        cuda = self._cupy.cuda
        with cuda.Device(self.index), self.compute_stream, cuda.using_allocator(self.pool.malloc):
            array = self._cupy.ascontiguousarray(lent.array)
            return LentArray(array, self, self._record(self.compute_stream))

    def compute_waits_for(self, event: Any) -> None:
        """Order all later kernels of this device behind ``event``."""
        with self._cupy.cuda.Device(self.index):
            self.compute_stream.wait_event(event)

    def _record(self, stream: Any) -> Any:
        event = self._cupy.cuda.Event(block=True, disable_timing=True)
        event.record(stream)
        return event

    # -- the end

    def check_can_hold(self, tensor: str, dtype: DType) -> None:
        """Raise UnimplementedError for types whose arguments and results stay in host memory."""
        if dtype not in _HELD:
            raise errors.unimplemented(
                f"Cannot feed or fetch tensor '{tensor}' from device {self.name} as "
                f"feeding/fetching from GPU devices is not yet supported for {dtype.name} tensors"
            )

    def synchronize(self) -> None:
        """Wait until all work queued on the device is computed; can be interrupted.

        Raises:
          InternalError: a part of the work failed.
        """
        with self._cupy.cuda.Device(self.index):
            event = self._record(self.compute_stream)
        self._wait(event)

    def close(self) -> None:
        """Drop the resources and return the memory pool's free blocks."""
        super().close()
        self._waiter.close()
        self.staging.clear()
        with self._cupy.cuda.Device(self.index):
            self.pool.free_all_blocks()


class HostCopy:
    """A copy from a GPU to host memory that is under way.

    It holds the array that is read and the pinned memory that is written.

    Attributes:
      event: the event that follows the copy; None if there is nothing to copy.
    """

    __slots__ = ("_array", "_device", "_staged", "event")

    def __init__(self, device: GpuDevice, lent: LentArray) -> None:
        """Queue the copy of a lent array."""
        self._device = device
        self._staged: StagingBuffer | None = None
        self.event: Any = None
        lent = device.contiguous(lent)
        self._array = array = lent.array
        if array.nbytes:
            staged = device.staging.take(array.nbytes)
            self.event = device.begin_copy(lent, staged)
            self._staged = staged

    def value(self) -> Any:
        """Return the array in host memory, after waiting for the copy without a time limit."""
        array, staged = self._array, self._staged
        if staged is None:
            return np.empty(array.shape, array.dtype)
        with self._device.xp.cuda.Device(self._device.index):
            self.event.synchronize()
        value = staged.view(array.shape, array.dtype).copy()
        self._staged = None
        self._device.staging.give_back(staged)
        return value

    def __del__(self) -> None:
        staged = self._staged
        if staged is not None:
            # The copy may still run: later uses of both memories are ordered behind it.
            self._device.staging.give_back(staged, self.event)
            self._device.compute_waits_for(self.event)


def _memory_pool(cupy: Any, spec: GpuSpec) -> Any:
    """Return the process's memory pool for a device; the first call sets its limit."""
    key = (cupy, spec.cuda_index, spec.ordinal)
    with _pools_lock:
        found = _pools.get(key)
        if found is None:
            if spec.allocates_in_stream_order:
                found = cupy.cuda.MemoryAsyncPool()
            elif spec.uses_unified_memory:
                found = cupy.cuda.MemoryPool(cupy.cuda.malloc_managed)
            else:
                found = cupy.cuda.MemoryPool()
            if spec.memory_limit:
                found.set_limit(size=spec.memory_limit)
            _pools[key] = found
        return found
