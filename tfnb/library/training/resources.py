"""Resources that a graph registers for initialization, other than variables and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.collections import GraphKeys
from tfnb.framework.scopes import device, get_collection, name_scope
from tfnb.library.control_flow.control_flow import group
from tfnb.ops.array.concat_ops import stack
from tfnb.ops.array.constant_ops import constant
from tfnb.ops.array.where_ops import boolean_mask
from tfnb.ops.control.control_flow_ops import no_op
from tfnb.ops.math.cwise_unary_ops import logical_not

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.framework.tensor_types import TensorResult


def shared_resources() -> list[Any]:
    """Return resources that sessions share; each has ``create`` and ``is_initialized``."""
    return get_collection(GraphKeys.RESOURCES)


def local_resources() -> list[Any]:
    """Return the resources that each session has for itself."""
    return get_collection(GraphKeys.LOCAL_RESOURCES)


def initialize_resources(resources: Sequence[Any], name: str = "init") -> TensorResult:
    """Return an operation that makes resources."""
    if not resources:
        return no_op(name=name)
    return group(*(resource.create for resource in resources), name=name)


def report_uninitialized_resources(
    resources: Sequence[Any] | None = None, name: str = "report_uninitialized_resources"
) -> TensorResult:
    """Return the names of the resources that do not exist yet, a vector."""
    if resources is None:
        resources = [*shared_resources(), *local_resources()]
    with name_scope(name), device("/cpu:0"):
        if not resources:
            return constant([], dtype=dtypes.string)
        is_missing = logical_not(stack([resource.is_initialized for resource in resources]))
        names = constant([resource.handle.name for resource in resources])
        return boolean_mask(names, is_missing)
