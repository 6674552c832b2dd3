"""``tf.config``: what sessions are like that are opened without a ``tf.ConfigProto``.

Settings are those of the process.  A session has them as they are when it is opened, so they may be
changed at any time; TensorFlow refuses that once its eager runtime has begun, which is not here.

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
    """One of the devices that a processor is used as.

    Attributes:
        memory_limit: The MiB that it may use, of a GPU; None for a CPU.
        experimental_priority: Of the streams of a GPU.
        experimental_device_ordinal: The place of a GPU among the others.
    """

    memory_limit: float | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


VirtualDeviceConfiguration = LogicalDeviceConfiguration


class _Devices:
    """What was said about devices."""

    def __init__(self) -> None:
        self.is_said = False
        self.visible: dict[str, list[PhysicalDevice]] = {}  # by type, where it was said
        self.logical: dict[PhysicalDevice, list[LogicalDeviceConfiguration]] = {}
        self.growth: dict[PhysicalDevice, bool] = {}

    def seen(self) -> list[PhysicalDevice]:
        """Return the visible ones."""
        physical = list_physical_devices()
        every = {d.device_type: [e for e in physical if e[1] == d[1]] for d in physical}
        return [device for devices in (every | self.visible).values() for device in devices]

    def count(self, devices: Sequence[PhysicalDevice]) -> int:
        """As how many devices these are used."""
        return sum(len(self.logical[d]) if d in self.logical else 1 for d in devices)

    def write(self, config: ConfigProto) -> None:
        """Says the same in a configuration."""
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


_config = ConfigProto()  # what was said of all else
_devices = _Devices()
_lock = threading.Lock()  # guards changes of both


def process_config() -> ConfigProto:
    """Return the configuration of a session that is given none: a copy of the caller's own.

    Raises:
        ValueError: Some GPUs' memory is to grow, and some's is not.
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
        device_type: ``"CPU"`` or ``"GPU"``; without it, all.
    """
    from tfnb.core import array_module

    kinds = ["CPU"] + ["GPU"] * array_module.gpu_count()
    found = [
        PhysicalDevice(f"/physical_device:{t}:{max(0, i - 1)}", t) for i, t in enumerate(kinds)
    ]
    return [device for device in found if device_type in (None, device.device_type)]


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Return the devices that a session has which is given no configuration.

    Args:
        device_type: ``"CPU"`` or ``"GPU"``; without it, all.
    """
    found = []
    for kind in ("CPU", "GPU"):
        count = _devices.count(get_visible_devices(kind))
        found += [LogicalDevice(f"/device:{kind}:{i}", kind) for i in range(count)]
    return [device for device in found if device_type in (None, device.device_type)]


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the processors that sessions use.

    Args:
        device_type: ``"CPU"`` or ``"GPU"``; without it, all.
    """
    return [d for d in _devices.seen() if device_type in (None, d.device_type)]


def set_visible_devices(
    devices: PhysicalDevice | list[PhysicalDevice], device_type: str | None = None
) -> None:
    """Say which processors sessions use, and in which order.

    Args:
        devices: One, or several.
        device_type: Of which type alone this is said; without it, of all.

    Raises:
        ValueError: There is no such device, or it has another type.
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
    """Return the devices that a processor is used as; None where that was not said."""
    return _devices.logical.get(_known(device))


def set_logical_device_configuration(
    device: PhysicalDevice, logical_devices: Sequence[LogicalDeviceConfiguration]
) -> None:
    """Use one processor as several devices.

    Args:
        device: One of ``list_physical_devices()``.
        logical_devices: One for each; those of a GPU say how much of its memory they have.

    Raises:
        ValueError: There is no such device, a CPU's is limited, or a GPU's is not.
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
    """Return what ``set_memory_growth`` said of a GPU; None where nothing was said."""
    return _devices.growth.get(_known(device))


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Return whether a GPU's memory is taken as it is needed, which it is in any case.

    Raises:
        ValueError: There is no such GPU, or it is used as several devices.
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
    """Return whether an op without a kernel for the device that was asked for runs elsewhere."""
    return _config.allow_soft_placement


def set_soft_device_placement(enabled: bool) -> None:
    """Return whether an op without a kernel for the device that was asked for runs elsewhere."""
    _config.allow_soft_placement = enabled


def get_log_device_placement() -> bool:
    """Return what :func:`set_log_device_placement` said; False at first."""
    return _config.log_device_placement


def set_log_device_placement(enabled: bool) -> None:
    """Return whether sessions tell on stderr where they place each node."""
    _config.log_device_placement = enabled


def get_inter_op_parallelism_threads() -> int:
    """How many threads run nodes of sessions; 0 where that is left to them."""
    return _config.inter_op_parallelism_threads


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Say how many threads run nodes of sessions; 0 leaves that to them."""
    _config.inter_op_parallelism_threads = num_threads


def get_intra_op_parallelism_threads() -> int:
    """How many threads a kernel has; 0 where that is left to it."""
    return _config.intra_op_parallelism_threads


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Say how many threads a kernel has; 0 leaves that to it."""
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
    """``"autoclustering"`` where ``set_jit`` asked for XLA, else ``""``."""
    level = _config.graph_options.optimizer_options.global_jit_level
    return "autoclustering" if level > 0 else ""


def set_jit(enabled: bool | str) -> None:
    """Ask for XLA, which changes nothing here.

    Args:
        enabled: True or ``"autoclustering"`` asks for it.
    """
    level = OptimizerOptions.ON_1 if enabled in (True, "autoclustering") else OptimizerOptions.OFF
    _config.graph_options.optimizer_options.global_jit_level = level


def get_experimental_options() -> dict[str, Any]:
    """Return what ``set_experimental_options`` said, and the switches that are off at first."""
    options = _config.graph_options.rewrite_options
    found: dict[str, Any] = {name: getattr(options, name) for name in _FLAGS}
    for name in _TOGGLES:
        if getattr(options, name):
            found[name] = getattr(options, name) == options.ON
    if options.min_graph_nodes:
        found["min_graph_nodes"] = options.min_graph_nodes
    return found


def set_experimental_options(options: Mapping[str, Any]) -> None:
    """Turn optimizers of graphs on and off.

    Args:
        options: Booleans by name, as in ``tf.ConfigProto().graph_options.rewrite_options``;
            ``min_graph_nodes`` is a number. Other names are passed over.
    """
    kept = _config.graph_options.rewrite_options
    wanted = type(kept)()
    known = [name for name in options if name in (*_TOGGLES, *_FLAGS, "min_graph_nodes")]
    for name in known:
        value = options[name]
        setattr(wanted, name, (kept.ON if value else kept.OFF) if name in _TOGGLES else value)
    for name in known:  # all of them, or none
        setattr(kept, name, getattr(wanted, name))
