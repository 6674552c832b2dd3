"""Devices, on which kernels run, and the resources that each one keeps."""

from __future__ import annotations

import copy
import os
from typing import TYPE_CHECKING, Any, Self

from tfnb.core.array_module import LentArray
from tfnb.core.process.made_once import made_once
from tfnb.core.process.records import record
from tfnb.core.resource_mgr import ResourceMgr

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from tfnb.common_runtime.device.gpu_trace import KernelTime
    from tfnb.core.dtypes import DType
    from tfnb.core.op_kernel import OpKernelContext, type_of_done


@record(slots=True, frozen=True)
class DeviceAttributes:
    """The attributes that ``list_devices`` returns; ``memory_limit`` in bytes."""

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
      index: position among the CPU devices, or number of the CUDA device.
      xp: the array module its kernels compute with.
      is_remote: whether its kernels run only in another process.
      is_asynchronous: whether kernels return before their results are computed.
      priority: nodes without a requested device go to the device type with the highest priority
        that can run them.
      resource_manager: variables, queues and tables that live here.
    """

    device_type = "CPU"
    priority = 70
    is_asynchronous = False
    is_remote = False

    def __init__(self, name: str, index: int, xp: ModuleType | Any, memory_limit: int) -> None:
        self.name = name
        self.index = index
        self.xp = xp
        self.memory_limit = memory_limit
        self.resource_manager = ResourceMgr(name)

    @made_once
    def incarnation(self) -> int:
        """Return a number that differs for every device."""
        return int.from_bytes(os.urandom(8), "little") >> 1 | 1

    @property
    def attributes(self) -> DeviceAttributes:
        """The device's attributes, as users see them."""
        return DeviceAttributes(self.name, self.device_type, self.memory_limit, self.incarnation)

    def renamed(self, name: str, *, is_isolated: bool) -> Self:
        """Return this device under another name.

        Args:
          name: the other name.
          is_isolated: whether the result has variables, queues and tables of its own; otherwise it
            shares those of this device.
        """
        incarnation = self.incarnation  # made before the copy, so that both have the same one
        found = copy.copy(self)
        found.name, found.incarnation = name, incarnation
        if is_isolated:
            found.resource_manager = ResourceMgr(name)
        return found

    def check_can_hold(self, tensor: str, dtype: DType) -> None:
        """Raise UnimplementedError if a callable cannot leave a tensor of this type here."""

    def wrap_kernel(
        self, compute: Callable[..., Any], node_name: str, op: str
    ) -> Callable[..., Any]:
        """Wrap a kernel so that it runs on this device."""
        return compute

    # Protocol of a transfer between devices: the sender lends a tensor, the receiver copies it into
    # device or host memory and calls ``done((value,))`` or ``done(exception)``.

    def lend(self, value: Any) -> Any:
        """Prepare a value for transfer to another device."""
        return value

    def receive(self, value: Any, done: type_of_done) -> None:
        """Copy a value that another device lent into this device's memory."""
        self.receive_on_host(value, done)

    def receive_on_host(self, value: Any, done: type_of_done) -> None:
        """Copy a value that another device lent into host memory."""
        if isinstance(value, LentArray):
            value.device.copy_to_host(value, done)
        else:
            done((value,))

    # The same transfer inside one emitted function of several partitions, without ``done``.

    def take(self, value: Any) -> Any:
        """Return a value from another device, in this device's memory."""
        return value

    def begin_copy_to_host(self, value: Any) -> Any:
        """Begin a copy of this device's value to host memory; :meth:`end_copy_to_host` ends it."""
        return value

    def end_copy_to_host(self, ctx: OpKernelContext, copy: Any) -> Any:
        """Return the value in host memory; wait until it is copied, or the step is to end."""
        return copy

    def adopt(self, value: Any) -> Any:
        """Prepare a value that the caller of a callable fed on this device, for kernels to read."""
        return value

    def hand_over(self) -> None:
        """Order the caller's later work on this device behind the work of the kernels."""

    def start_trace(self) -> None:
        """Start measuring the times of kernels on the device itself."""

    def stop_trace(self) -> list[KernelTime]:
        """Return the kernel times measured on the device itself."""
        return []

    def synchronize(self) -> None:
        """Wait until all work queued on the device is computed."""

    def close(self) -> None:
        """Drop the device's resources."""
        self.resource_manager.clear()

    def __repr__(self) -> str:
        return f"<Device {self.name}>"
