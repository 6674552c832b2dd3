"""The CPU: NumPy."""

from __future__ import annotations

import numpy as np

from tfnb.common_runtime.device.device import Device

# TensorFlow's figure for a CPU device, which has no limit of its own.
_MEMORY_LIMIT = 256 << 20


class CpuDevice(Device):
    """A CPU device; several of them share the same processor."""

    device_type = "CPU"
    priority = 70

    def __init__(self, name: str, index: int) -> None:
        super().__init__(name, index, np, _MEMORY_LIMIT)
