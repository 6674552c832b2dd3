"""The GPU, through CuPy, which is imported only when a session looks for GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.common_runtime.device import Device
from tfnb.core import array_module, dtypes, errors

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType

# Types of which a callable's tensors may lie in GPU memory; int32 is not among them, as in
# TensorFlow, because it lives in host memory on every device.
_HELD = (
    *(dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bool),
    *(dtypes.complex64, dtypes.complex128),
    *(dtypes.int8, dtypes.int16, dtypes.int64, dtypes.uint8, dtypes.uint16),
)


class GpuDevice(Device):
    """One CUDA device."""

    device_type = "GPU"
    priority = 210
    is_asynchronous = True

    def __init__(self, name: str, index: int) -> None:
        cupy = array_module.cupy_module()
        with cupy.cuda.Device(index):
            _, total = cupy.cuda.runtime.memGetInfo()
        super().__init__(name, index, cupy, int(total))

    def check_can_hold(self, tensor: str, dtype: DType) -> None:
        """Raises UnimplementedError for types whose arguments and results stay in host memory."""
        if dtype not in _HELD:
            raise errors.unimplemented(
                f"Cannot feed or fetch tensor '{tensor}' from device {self.name} as "
                f"feeding/fetching from GPU devices is not yet supported for {dtype.name} tensors"
            )

    def synchronize(self) -> None:
        """Waits for the device's current stream."""
        with self.xp.cuda.Device(self.index):
            self.xp.cuda.get_current_stream().synchronize()

    def close(self) -> None:
        """Drops the resources and gives the memory pool's free blocks back."""
        super().close()
        self.xp.get_default_memory_pool().free_all_blocks()
