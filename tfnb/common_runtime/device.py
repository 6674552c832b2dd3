"""Devices: where kernels run and what each keeps."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tfnb.core.array_module import LentArray
from tfnb.core.made_once import made_once
from tfnb.core.resource_mgr import ResourceMgr

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from tfnb.common_runtime.gpu_trace import KernelTime
    from tfnb.core.dtypes import DType
    from tfnb.core.op_kernel import OpKernelContext, type_of_done


@dataclass(slots=True, frozen=True)
class DeviceAttributes:
    """What ``list_devices`` tells of a device; ``memory_limit`` in bytes."""

    name: str
    device_type: str
    memory_limit: int
    incarnation: int
    physical_device_desc: str = ""


class Device:
    """One device of one session.

    Attributes:
      name: full name, ``/job:localhost/replica:0/task:0/device:CPU:0``.
      device_type: ``CPU`` or ``GPU``.
      index: which processor it is: position among the CPU devices, number of the CUDA device.
      xp: the array module its kernels compute with.
      is_asynchronous: whether kernels return before their results are there.
      priority: nodes without a wish go to the device type with the highest priority that can run
        them.
      resource_manager: variables, queues and tables that live here.
    """

    device_type = "CPU"
    priority = 70
    is_asynchronous = False

    def __init__(self, name: str, index: int, xp: ModuleType | Any, memory_limit: int) -> None:
        self.name = name
        self.index = index
        self.xp = xp
        self.memory_limit = memory_limit
        self.resource_manager = ResourceMgr(name)

    @made_once
    def incarnation(self) -> int:
        """A number that no other device has."""
        return int.from_bytes(os.urandom(8), "little") >> 1 | 1

    @property
    def attributes(self) -> DeviceAttributes:
        """What users may know of the device."""
        return DeviceAttributes(self.name, self.device_type, self.memory_limit, self.incarnation)

    def check_can_hold(self, tensor: str, dtype: DType) -> None:
        """Raises UnimplementedError where a callable cannot leave such a tensor on the device."""

    def wrap_kernel(
        self, compute: Callable[..., Any], node_name: str, op: str
    ) -> Callable[..., Any]:
        """A kernel as it must be called to run on this device."""
        return compute

    # How a tensor goes from one device to another: the sender lends, the receiver takes it into its
    # memory, or into the host's. The receiver answers ``done((value,))`` or ``done(exception)``.

    def lend(self, value: Any) -> Any:
        """A value on its way to another device."""
        return value

    def receive(self, value: Any, done: type_of_done) -> None:
        """Takes what another device lent into this device's memory."""
        self.receive_on_host(value, done)

    def receive_on_host(self, value: Any, done: type_of_done) -> None:
        """Takes what another device lent into host memory."""
        if isinstance(value, LentArray):
            value.device.copy_to_host(value, done)
        else:
            done((value,))

    # The same in a function that several partitions make, where nobody answers.

    def take(self, value: Any) -> Any:
        """What another device sent, in this device's memory."""
        return value

    def begin_copy_to_host(self, value: Any) -> Any:
        """Begins a copy of a value of this device, for :meth:`end_copy_to_host`."""
        return value

    def end_copy_to_host(self, ctx: OpKernelContext, copy: Any) -> Any:
        """The value in host memory; waits until it is there, or the step is to end."""
        return copy

    def adopt(self, value: Any) -> Any:
        """A value that the caller of a callable fed on this device, for kernels to read."""
        return value

    def hand_over(self) -> None:
        """What the caller does on this device from now on comes behind what kernels do."""

    def start_trace(self) -> None:
        """Measures from now on how long kernels take on the device itself."""

    def stop_trace(self) -> list[KernelTime]:
        """What was measured on the device itself."""
        return []

    def synchronize(self) -> None:
        """Waits until everything given to the device has been computed."""

    def close(self) -> None:
        """Drops the device's resources."""
        self.resource_manager.clear()

    def __repr__(self) -> str:
        return f"<Device {self.name}>"
