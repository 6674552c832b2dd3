"""Slots: variables that accompany another variable, such as its momentum."""

from __future__ import annotations

from typing import Any

from tfnb.framework.scopes import colocate_with
from tfnb.ops import array_ops
from tfnb.ops.resource_variable import is_resource_variable
from tfnb.ops.variable_scope import get_variable, get_variable_scope, variable_scope


def create_slot(primary: Any, value: Any, name: str, colocate_with_primary: bool = True) -> Any:
    """A variable beside ``primary`` that starts with ``value``, named ``<primary>/<name>``.

    Args:
      primary: the variable that the slot belongs to.
      value: a tensor, or an initializer together with the primary's shape.
      name: of the slot; a second one gets the suffix ``_1``.
      colocate_with_primary: whether the slot lives on the primary's device.
    """
    with variable_scope(None, f"{primary.op.name}/{name}"):
        if colocate_with_primary:
            with colocate_with(primary.op):
                return _slot_variable(primary, value)
        return _slot_variable(primary, value)


def _slot_variable(primary: Any, value: Any) -> Any:
    scope = get_variable_scope()
    partitioner = scope.partitioner
    scope.set_partitioner(None)
    is_initializer = callable(value)
    try:
        return get_variable(
            "",
            shape=primary.shape if is_initializer else None,
            dtype=primary.dtype.base_dtype if is_initializer else None,
            initializer=value,
            trainable=False,
            use_resource=is_resource_variable(primary),
        )
    finally:
        scope.set_partitioner(partitioner)


def create_zeros_slot(primary: Any, name: str, dtype: Any = None) -> Any:
    """A slot of ``primary``'s shape that starts with zeros."""
    dtype = dtype or primary.dtype.base_dtype
    if primary.shape.is_fully_defined():
        value = array_ops.zeros(primary.shape.as_list(), dtype)
    else:
        value = array_ops.zeros(array_ops.shape(primary.initialized_value()), dtype)
    return create_slot(primary, value, name)
