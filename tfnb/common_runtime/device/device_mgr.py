"""The devices of one session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.common_runtime.device.cpu_device import CpuDevice
from tfnb.core import array_module, errors
from tfnb.core.process.made_once import made_once

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tfnb.common_runtime.device.device import Device, DeviceAttributes
    from tfnb.proto import config_pb2

LOCAL_TASK = "/job:localhost/replica:0/task:0"


class DeviceMgr:
    """Finds devices by name; fixed for the session's life."""

    def __init__(self, devices: Iterable[Device]) -> None:
        self.devices = tuple(devices)

    @made_once
    def _by_name(self) -> dict[str, Device]:
        found = {device.name: device for device in self.devices}
        for device in self.devices:
            kind = device.name.rpartition("/device:")[2]
            for name in (f"/device:{kind}", f"/{kind}", f"/{kind.lower()}"):
                found.setdefault(name, device)
        return found

    def lookup(self, name: str) -> Device:
        """Return the device with this full or local name.

        Raises:
          InvalidArgumentError: there is no device of that name; the message lists the devices.
        """
        found = self._by_name.get(name)
        if found is None:
            known = ", ".join(device.name for device in self.devices)
            raise errors.invalid_argument(f"{name} unknown device. Devices are: {known}")
        return found

    @property
    def host(self) -> Device:
        """The CPU device that feeds and fetches belong to."""
        for device in self.devices:
            if device.device_type == "CPU":
                return device
        raise errors.failed_precondition("No CPU device is registered.")

    def list_attributes(self) -> list[DeviceAttributes]:
        """Return the attributes of each device, as users see them."""
        return [device.attributes for device in self.devices]

    def clear_containers(self, containers: Iterable[str]) -> None:
        """Empty containers on every device; without names, the default container."""
        names = list(containers)
        for device in self.devices:
            resources = device.resource_manager
            for name in names or [resources.default_container]:
                if name:
                    resources.cleanup(name)

    def close(self) -> None:
        """Drop the resources of the devices."""
        for device in self.devices:
            device.close()


def make_local_devices(
    device_count: Mapping[str, int],
    config: config_pb2.ConfigProto | None = None,
    task: str = LOCAL_TASK,
) -> list[Device]:
    """Return the devices of a local session: available GPUs, then CPUs.

    Args:
      device_count: how many devices of each type at most (GPU) or exactly (CPU).
      config: its ``gpu_options`` select the GPUs and limit their memory.
      task: the task that their names begin with.

    Raises:
      InvalidArgumentError: the options contradict each other, or name a GPU that does not exist.
    """
    devices: list[Device] = []
    wanted = device_count.get("GPU")
    if wanted != 0 and array_module.gpu_count():
        from tfnb.common_runtime.device.gpu_device import GpuDevice
        from tfnb.common_runtime.device.gpu_options import gpu_specs
        from tfnb.proto import config_pb2

        specs = gpu_specs(
            config_pb2.GPUOptions() if config is None else config.gpu_options,
            array_module.gpu_count(),
            array_module.gpu_memory,
            wanted,
        )
        devices += [
            GpuDevice(f"{task}/device:GPU:{position}", spec) for position, spec in enumerate(specs)
        ]
    devices += [
        CpuDevice(f"{task}/device:CPU:{index}", index)
        for index in range(max(1, device_count.get("CPU", 1)))
    ]
    return devices
