"""The operations and devices with which ``tf.colocate_with`` colocates new operations."""

from __future__ import annotations

from typing import Any

from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.tensor import Tensor


class _DeviceOnly:
    """A resource variable on the colocation stack; its device may differ from its handle's."""

    __slots__ = ("device", "name")

    def __init__(self, device: str, name: str) -> None:
        self.device = device
        self.name = name


def colocation_targets(value: Any) -> tuple[Any, ...]:
    """Return the stack entry of ``colocate_with(value)``: an op, maybe a variable's own device."""
    if isinstance(value, Tensor):
        return (value.op,)
    handle = getattr(value, "handle", None)
    if isinstance(handle, Tensor):
        return handle.op, _DeviceOnly(value.device, value.name)
    if hasattr(value, "colocation_groups"):
        return (value,)
    op = getattr(value, "op", None)
    if op is not None:
        return (op,)
    return (convert_to_tensor(value, as_ref=True).op,)
