"""The single access point to NumPy and CuPy.

A kernel is written against ``xp``, which is one of the two modules. CuPy is optional and slow to
import, so it is imported when GPUs are requested, never by ``import tfnb``.

A GPU holds numeric arrays only. Strings, resource handles, variants and the few element types that
CuPy does not support stay on the host wherever they are used; ``to_device`` returns them unchanged.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfnb.core.kernel_types import Array, Xp


HAS_NARROW_INDICES: Final = np.dtype(np.intp).itemsize < 8
"""Whether NumPy's functions refuse indices of 64 bits, as they do in a browser."""


def as_places(indices: Array) -> Array:
    """Return indices in the type that ``take``, ``repeat`` and ``bincount`` accept.

    An index beyond the type becomes its largest or smallest value, which no array has.
    """
    if not HAS_NARROW_INDICES or indices.dtype.itemsize < 8:
        return indices
    bounds = np.iinfo(np.intp)
    return np.clip(indices, bounds.min, bounds.max).astype(np.intp)


class IndexedDevice(Protocol):
    """A device with an index among the CUDA devices."""

    @property
    def index(self) -> int:
        """The CUDA device's number."""


class LentArray:
    """A GPU array on its way to another device.

    Attributes:
        array: The array, in the memory of ``device``.
        device: The device that lent it, which knows how to copy it.
        event: The event on that device after which the array is complete.
    """

    __slots__ = ("array", "device", "event")

    def __init__(self, array: Array, device: Any, event: Any) -> None:
        self.array = array
        self.device = device
        self.event = event


@functools.cache
def cupy_module() -> Any:  # a module, or None; CuPy has no types
    """Return CuPy, the ``xp`` of a GPU, or None where it is not installed or does not load."""
    try:
        import cupy
    except Exception:  # CuPy raises more than ImportError where its CUDA libraries are broken
        return None
    return cupy


@functools.cache
def gpu_count() -> int:
    """Return how many CUDA devices can be used; 0 without CuPy or driver."""
    return _find_gpus()[0]


@functools.cache
def missing_gpu() -> str:
    """Return the reason why no CUDA device can be used, or ""."""
    return _find_gpus()[1]


def _find_gpus() -> tuple[int, str]:
    try:
        import cupy
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "cupy":
            return 0, "CuPy is not installed: pip install 'tfnb[gpu]'"
        return 0, f"CuPy does not load: {error}"
    except Exception as error:
        return 0, f"CuPy does not load: {type(error).__name__}: {error}"
    try:
        count = int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return 0, f"the CUDA driver answers: {error}"
    return count, "" if count else "the CUDA driver knows no device"


def gpu_memory(index: int) -> int:
    """Return how many bytes of memory a CUDA device has."""
    cupy = cupy_module()
    with cupy.cuda.Device(index):
        _, total = cupy.cuda.runtime.memGetInfo()
    return int(total)


def is_device_array(value: object) -> bool:
    """Return whether a value is an array in the memory of a GPU.

    >>> is_device_array(np.zeros(3)), is_device_array(3)
    (False, False)
    """
    if type(value) is np.ndarray or isinstance(value, np.generic):
        return False
    array_type = getattr(sys.modules.get("cupy"), "ndarray", None)
    return array_type is not None and isinstance(value, array_type)


def module_of(value: object) -> Xp:
    """Return the module whose functions work on a value.

    >>> module_of(np.zeros(3)).__name__
    'numpy'
    """
    return cupy_module() if is_device_array(value) else np


def to_host(value: Array) -> Array:
    """Return a value with its array, if it is one, in host memory; waits for the whole GPU."""
    if not is_device_array(value):
        return value
    # Synchronize the device, because any stream may compute the array.
    value.device.synchronize()
    return value.get()


def to_device(value: Array, device: int | IndexedDevice) -> Array:
    """Return a value with its array, if a GPU can hold it, in the memory of that GPU.

    Args:
        value: Any value of a tensor; an array on that GPU is returned unchanged.
        device: The CUDA device, by number or by an object with an ``index``.
    """
    index = device if isinstance(device, int) else device.index
    if is_device_array(value):
        if value.device.id == index:
            return value
    elif not isinstance(value, (np.ndarray, np.generic)) or not can_hold(value.dtype):
        return value
    cupy = cupy_module()
    with cupy.cuda.Device(index):
        return cupy.asarray(value)


@functools.cache
def can_hold(dtype: np.dtype[Any]) -> bool:
    """Return whether a GPU array can have this element type.

    >>> can_hold(np.dtype(object))
    False
    """
    cupy = cupy_module()
    if cupy is None or dtype.hasobject:
        return False
    try:
        cupy.empty(0, dtype)
    except (TypeError, ValueError):
        return False
    return True


def as_host_array(value: Array) -> NDArray[Any]:
    """Return a tensor's value as an ndarray in host memory, a scalar as one of rank 0.

    >>> as_host_array(np.float32(3)).shape
    ()
    """
    return np.asarray(to_host(value))
