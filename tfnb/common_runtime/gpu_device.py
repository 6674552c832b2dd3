"""The GPU, through CuPy, which is imported only when a session looks for GPUs."""

from __future__ import annotations

from tfnb.common_runtime.device import Device
from tfnb.core import array_module


class GpuDevice(Device):
    """One CUDA device."""

    device_type = "GPU"
    priority = 210

    def __init__(self, name: str, index: int) -> None:
        cupy = array_module.cupy_module()
        with cupy.cuda.Device(index):
            _, total = cupy.cuda.runtime.memGetInfo()
        super().__init__(name, index, cupy, int(total))

    def synchronize(self) -> None:
        """Waits for the device's current stream."""
        with self.xp.cuda.Device(self.index):
            self.xp.cuda.get_current_stream().synchronize()

    def close(self) -> None:
        """Drops the resources and gives the memory pool's free blocks back."""
        super().close()
        self.xp.get_default_memory_pool().free_all_blocks()
