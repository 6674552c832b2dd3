"""``tf.config``: the configuration of sessions that are opened without a ``tf.ConfigProto``.

Settings belong to the process.  A session takes the settings of the moment when it is opened, so
they may be changed at any time; TensorFlow refuses changes after its eager runtime, which tfnb does
not have, has started.

Corresponds to the graph half of TensorFlow's ``framework/config.py`` and ``eager/context.py``.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from tfnb.proto.config_pb2 import ConfigProto, OptimizerOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_DEVICES = "get_visible_devices list_logical_devices list_physical_devices set_visible_devices"
EXPORTS = {
    "config": f"LogicalDevice LogicalDeviceConfiguration PhysicalDevice {_DEVICES} "
    "get_logical_device_configuration get_soft_device_placement "
    "set_logical_device_configuration set_soft_device_placement",
    "config.experimental": f"VirtualDeviceConfiguration {_DEVICES} get_memory_growth "
    "get_virtual_device_configuration set_memory_growth set_virtual_device_configuration",
    "config.optimizer": "get_experimental_options get_jit set_experimental_options set_jit",
    "debugging": "get_log_device_placement set_log_device_placement",
    "config.threading": "get_inter_op_parallelism_threads get_intra_op_parallelism_threads "
    "set_inter_op_parallelism_threads set_intra_op_parallelism_threads",
}


class PhysicalDevice(NamedTuple):
    """A processor of this machine, ``/physical_device:CPU:0``."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device that a session has, ``/device:CPU:0``."""

    name: str
    device_type: str


class LogicalDeviceConfiguration(NamedTuple):
    """One of the logical devices of a processor.

    Attributes:
        memory_limit: The MiB of a GPU that it may use; None for a CPU.
        experimental_priority: The priority of the streams of a GPU.
        experimental_device_ordinal: The position of a GPU among the others.
    """

    memory_limit: float | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


VirtualDeviceConfiguration = LogicalDeviceConfiguration


class _Devices:
    """The settings of devices."""

    def __init__(self) -> None:
        self.is_said = False
        self.visible: dict[str, list[PhysicalDevice]] = {}  # by type, where it is set
        self.logical: dict[PhysicalDevice, list[LogicalDeviceConfiguration]] = {}
        self.growth: dict[PhysicalDevice, bool] = {}

    def seen(self) -> list[PhysicalDevice]:
        """Return the visible devices."""
        physical = list_physical_devices()
        every = {d.device_type: [e for e in physical if e[1] == d[1]] for d in physical}
        return [device for devices in (every | self.visible).values() for device in devices]

    def count(self, devices: Sequence[PhysicalDevice]) -> int:
        """Return the number of logical devices of these processors."""
        return sum(len(self.logical[d]) if d in self.logical else 1 for d in devices)

    def write(self, config: ConfigProto) -> None:
        """Write the settings into a configuration."""
        seen = self.seen()
        cpus = [d for d in seen if d.device_type == "CPU"]
        config.device_count["CPU"] = self.count(cpus)
        gpus = [d for d in seen if d.device_type == "GPU"]
        config.device_count["GPU"] = len(gpus)
        options = config.gpu_options
        options.visible_device_list = ",".join(d.name.rpartition(":")[2] for d in gpus)
        options.ClearField("experimental")
        if any(d in self.logical for d in gpus):
            for device in gpus:
                limits = [one.memory_limit for one in self.logical.get(device, [])]
                options.experimental.virtual_devices.add(memory_limit_mb=limits)
        growths = {self.growth.get(d, False) for d in gpus if d not in self.logical}
        if len(growths) > 1:
            raise ValueError("Memory growth cannot differ between GPU devices")
        options.allow_growth = True in growths


_config = ConfigProto()  # all other settings
_devices = _Devices()
_lock = threading.Lock()  # guards changes of both


def process_config() -> ConfigProto:
    """Return the configuration of a session without one of its own: a new copy.

    Raises:
        ValueError: Memory growth is set for some GPUs and not for others.
    """
    config = ConfigProto()
    config.CopyFrom(_config)
    if _devices.is_said:
        _devices.write(config)
    return config


# -- devices ---------------------------------------------------------------------------------------


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the CPU, which is one device, and the CUDA devices.

    Args:
        device_type: ``"CPU"`` or ``"GPU"``; all if None.
    """
    from tfnb.core import array_module

    kinds = ["CPU"] + ["GPU"] * array_module.gpu_count()
    found = [
        PhysicalDevice(f"/physical_device:{t}:{max(0, i - 1)}", t) for i, t in enumerate(kinds)
    ]
    return [device for device in found if device_type in (None, device.device_type)]


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Return the devices of a session without a configuration.

    Args:
        device_type: ``"CPU"`` or ``"GPU"``; all if None.
    """
    found = []
    for kind in ("CPU", "GPU"):
        count = _devices.count(get_visible_devices(kind))
        found += [LogicalDevice(f"/device:{kind}:{i}", kind) for i in range(count)]
    return [device for device in found if device_type in (None, device.device_type)]


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the processors that sessions use.

    Args:
        device_type: ``"CPU"`` or ``"GPU"``; all if None.
    """
    return [d for d in _devices.seen() if device_type in (None, d.device_type)]


def set_visible_devices(
    devices: PhysicalDevice | list[PhysicalDevice], device_type: str | None = None
) -> None:
    """Set which processors sessions use, and in which order.

    Args:
        devices: One device, or several.
        device_type: The type of device that is set; all types if None.

    Raises:
        ValueError: The device does not exist, or it has another type.
    """
    chosen = devices if isinstance(devices, list) else [devices]
    for device in chosen:
        if _known(device).device_type != (device_type or device.device_type):
            raise ValueError(f"Unrecognized device: {device!r}")
    with _lock:
        for kind in [device_type] if device_type else ["CPU", "GPU"]:
            _devices.visible[kind] = [d for d in chosen if d.device_type == kind]
        _devices.is_said = True


def get_logical_device_configuration(
    device: PhysicalDevice,
) -> list[LogicalDeviceConfiguration] | None:
    """Return the logical devices of a processor; None if they are not set."""
    return _devices.logical.get(_known(device))


def set_logical_device_configuration(
    device: PhysicalDevice, logical_devices: Sequence[LogicalDeviceConfiguration]
) -> None:
    """Use one processor as several devices.

    Args:
        device: One of ``list_physical_devices()``.
        logical_devices: One configuration for each; those of a GPU have a memory limit.

    Raises:
        ValueError: The device does not exist, or a CPU has a memory limit, or a GPU has none.
    """
    is_gpu = _known(device).device_type == "GPU"
    for one in logical_devices:
        if is_gpu and one.memory_limit is None:
            raise ValueError("Setting memory limit is required for GPU virtual devices")
        for name, value in {} if is_gpu else zip(_CPU_LIMITS, one):
            if value is not None:
                raise ValueError(
                    f"Setting {name} on CPU virtual devices is currently not supported"
                )
    with _lock:
        _devices.logical[device] = list(logical_devices)
        _devices.is_said = True


_CPU_LIMITS = "memory limit", "experimental_priority", "experimental_device_ordinal"
get_virtual_device_configuration = get_logical_device_configuration
set_virtual_device_configuration = set_logical_device_configuration


def get_memory_growth(device: PhysicalDevice) -> bool | None:
    """Return the setting of ``set_memory_growth`` for a GPU; None if it is not set."""
    return _devices.growth.get(_known(device))


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Set whether a GPU's memory is allocated as needed; tfnb always does this.

    Raises:
        ValueError: The GPU does not exist, or it is used as several devices.
    """
    if _known(device) in _devices.logical:
        raise ValueError("Cannot set memory growth on device when virtual devices configured")
    if device.device_type != "GPU":
        raise ValueError("Cannot set memory growth on non-GPU and non-Pluggable devices")
    with _lock:
        _devices.growth[device] = enable
        _devices.is_said = True


def _known(device: PhysicalDevice) -> PhysicalDevice:
    if device not in list_physical_devices():
        raise ValueError(f"Unrecognized device: {device!r}")
    return device


# -- placement and threads -------------------------------------------------------------------------


def get_soft_device_placement() -> bool:
    """Return whether an op without a kernel for the requested device runs elsewhere."""
    return _config.allow_soft_placement


def set_soft_device_placement(enabled: bool) -> None:
    """Set whether an op without a kernel for the requested device runs elsewhere."""
    _config.allow_soft_placement = enabled


def get_log_device_placement() -> bool:
    """Return the setting of :func:`set_log_device_placement`; False by default."""
    return _config.log_device_placement


def set_log_device_placement(enabled: bool) -> None:
    """Set whether sessions print on stderr where they place each node."""
    _config.log_device_placement = enabled


def get_inter_op_parallelism_threads() -> int:
    """Return how many threads run nodes of sessions; 0 if the sessions decide."""
    return _config.inter_op_parallelism_threads


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Set how many threads run nodes of sessions; 0 lets the sessions decide."""
    _config.inter_op_parallelism_threads = num_threads


def get_intra_op_parallelism_threads() -> int:
    """Return how many threads a kernel has; 0 if the kernel decides."""
    return _config.intra_op_parallelism_threads


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Set how many threads a kernel has; 0 lets the kernel decide."""
    _config.intra_op_parallelism_threads = num_threads


# -- optimizers of graphs --------------------------------------------------------------------------

_FLAGS = ("disable_model_pruning", "disable_meta_optimizer")
_TOGGLES = (
    "layout_optimizer", "constant_folding", "shape_optimization", "remapping",
    "arithmetic_optimization", "dependency_optimization", "loop_optimization",
    "function_optimization", "debug_stripper", "scoped_allocator_optimization",
    "pin_to_host_optimization", "implementation_selector", "auto_mixed_precision",
    "use_plugin_optimizers", "auto_mixed_precision_onednn_bfloat16", "auto_mixed_precision_mkl",
)  # fmt: skip


def get_jit() -> str:
    """Return ``"autoclustering"`` if ``set_jit`` requested XLA, else ``""``."""
    level = _config.graph_options.optimizer_options.global_jit_level
    return "autoclustering" if level > 0 else ""


def set_jit(enabled: bool | str) -> None:
    """Request XLA, which has no effect here.

    Args:
        enabled: True or ``"autoclustering"`` requests it.
    """
    level = OptimizerOptions.ON_1 if enabled in (True, "autoclustering") else OptimizerOptions.OFF
    _config.graph_options.optimizer_options.global_jit_level = level


def get_experimental_options() -> dict[str, Any]:
    """Return the options set by ``set_experimental_options``, and the switches that are off."""
    options = _config.graph_options.rewrite_options
    found: dict[str, Any] = {name: getattr(options, name) for name in _FLAGS}
    for name in _TOGGLES:
        if getattr(options, name):
            found[name] = getattr(options, name) == options.ON
    if options.min_graph_nodes:
        found["min_graph_nodes"] = options.min_graph_nodes
    return found


def set_experimental_options(options: Mapping[str, Any]) -> None:
    """Turn graph optimizers on and off.

    Args:
        options: Booleans by name, as in ``tf.ConfigProto().graph_options.rewrite_options``;
            ``min_graph_nodes`` is a number. Other names are ignored.
    """
    kept = _config.graph_options.rewrite_options
    wanted = type(kept)()
    known = [name for name in options if name in (*_TOGGLES, *_FLAGS, "min_graph_nodes")]
    for name in known:
        value = options[name]
        setattr(wanted, name, (kept.ON if value else kept.OFF) if name in _TOGGLES else value)
    for name in known:  # all of them, or none
        setattr(kept, name, getattr(wanted, name))
