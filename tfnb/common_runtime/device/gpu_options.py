"""The GPUs of a session from GPUOptions: CUDA devices, virtual devices, memory limits.

``visible_device_list`` selects and orders the CUDA devices; ``experimental.virtual_devices`` splits
one into several devices; a memory limit comes from ``per_process_gpu_memory_fraction`` or from a
virtual device. ``allow_growth`` and ``force_gpu_compatible`` are accepted: memory is taken as it is
needed, never all at once, and every copy goes through pinned memory.

Corresponds to the part of TensorFlow's ``gpu_device.cc`` that reads the options.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfnb.core import errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.proto import config_pb2

# Valid names of an allocator; all stand for the only allocator.
_ALLOCATORS = ("", "BFC")


@dataclass(slots=True, frozen=True)
class GpuSpec:
    """One GPU device of a session.

    Attributes:
      cuda_index: the number of the CUDA device.
      ordinal: its number among the devices that share the CUDA device.
      memory_limit: bytes that it may use, 0 for all of the CUDA device.
      uses_unified_memory: whether its memory moves between host and device on demand.
      allocates_in_stream_order: whether the driver's own pool is used.
    """

    cuda_index: int
    ordinal: int = 0
    memory_limit: int = 0
    uses_unified_memory: bool = False
    allocates_in_stream_order: bool = False


def gpu_specs(
    options: config_pb2.GPUOptions,
    num_gpus: int,
    total_memory: Callable[[int], int],
    at_most: int | None = None,
) -> list[GpuSpec]:
    """Return the GPU devices that a configuration requests, in order.

    Args:
      options: the options of the session.
      num_gpus: the number of CUDA devices; without any, the options are not read.
      total_memory: returns the bytes of a CUDA device.
      at_most: ``device_count["GPU"]``, the largest number of CUDA devices.

    Raises:
      InvalidArgumentError: the options contradict each other or the CUDA devices.
    """
    if num_gpus == 0 or at_most == 0:
        return []
    visible = visible_gpus(options.visible_device_list, num_gpus)[:at_most]
    fraction = options.per_process_gpu_memory_fraction
    if fraction < 0:
        raise errors.invalid_argument(
            f"per_process_gpu_memory_fraction is {fraction}; it must not be negative."
        )
    if options.allocator_type not in _ALLOCATORS:
        raise errors.invalid_argument(
            f"Invalid allocator type '{options.allocator_type}': it is BFC or empty."
        )
    experimental = options.experimental
    # Only unified memory can provide more than the GPU has.
    unified = experimental.use_unified_memory or fraction > 1
    in_order = experimental.use_cuda_malloc_async and not unified
    virtual = experimental.virtual_devices
    if virtual and fraction > 0:
        raise errors.invalid_argument(
            "It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set."
        )
    if len(virtual) > len(visible):
        raise errors.invalid_argument(
            f"virtual_devices has {len(virtual)} entries, one for each visible GPU, but there are "
            f"{len(visible)} visible GPUs."
        )
    specs = []
    for position, cuda_index in enumerate(visible):
        limits = list(virtual[position].memory_limit_mb) if position < len(virtual) else []
        total = total_memory(cuda_index) if limits or fraction > 0 else 0
        sizes = [int(limit * (1 << 20)) for limit in limits] or [int(total * fraction)]
        if limits and not unified and (sum(sizes) > total or min(sizes) <= 0):
            raise errors.invalid_argument(
                f"virtual_devices of GPU {cuda_index} have memory_limit_mb {limits}; each must be "
                f"positive, and together at most {total >> 20} MB, which the GPU has."
            )
        specs += [
            GpuSpec(cuda_index, ordinal, size, unified, in_order)
            for ordinal, size in enumerate(sizes)
        ]
    return specs


def visible_gpus(listed: str, num_gpus: int) -> list[int]:
    """Return the CUDA devices that ``visible_device_list`` names, in its order; "" for all.

    >>> visible_gpus("1,0", 2), visible_gpus("", 2)
    ([1, 0], [0, 1])

    Raises:
      InvalidArgumentError: an entry is not a number, names no device, or occurs twice.
    """
    if not listed:
        return list(range(num_gpus))
    found: list[int] = []
    for entry in listed.split(","):
        try:
            index = int(entry)
        except ValueError:
            raise errors.invalid_argument(
                f"Could not parse entry in 'visible_device_list': '{entry}'. "
                f"visible_device_list = {listed}"
            ) from None
        if not 0 <= index < num_gpus:
            raise errors.invalid_argument(
                f"'visible_device_list' listed an invalid Device id '{index}' but visible device "
                f"count is {num_gpus}"
            )
        if index in found:
            raise errors.invalid_argument(
                f"visible_device_list contained a duplicate entry: {listed}"
            )
        found.append(index)
    return found
