"""``tensorflow.python.framework.op_def_registry``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core import op_registry
from tfnb.core.op_def_proto import op_def_to_proto

if TYPE_CHECKING:
    from tfnb.proto import op_def_pb2


def get(name: str) -> op_def_pb2.OpDef | None:
    """Return the message that defines an op; None if there is no op of that name."""
    found = op_registry.find(name)
    return None if found is None else op_def_to_proto(found.op_def)


def get_registered_ops() -> dict[str, op_def_pb2.OpDef]:
    """Return the messages that define all ops."""
    return {name: op_def_to_proto(one.op_def) for name, one in op_registry.all_ops().items()}


def sync() -> None:
    """Do nothing: there is one registry."""
