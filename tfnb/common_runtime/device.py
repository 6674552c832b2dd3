"""Devices: where kernels run and what each keeps."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tfnb.core.resource_mgr import ResourceMgr

if TYPE_CHECKING:
    from types import ModuleType

    from tfnb.core.dtypes import DType


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
        self.incarnation = secrets.randbits(63) | 1
        self.resource_manager = ResourceMgr(name)

    @property
    def attributes(self) -> DeviceAttributes:
        """What users may know of the device."""
        return DeviceAttributes(self.name, self.device_type, self.memory_limit, self.incarnation)

    def check_can_hold(self, tensor: str, dtype: DType) -> None:
        """Raises UnimplementedError where a callable cannot leave such a tensor on the device."""

    def synchronize(self) -> None:
        """Waits until everything given to the device has been computed."""

    def close(self) -> None:
        """Drops the device's resources."""
        self.resource_manager.clear()

    def __repr__(self) -> str:
        return f"<Device {self.name}>"
