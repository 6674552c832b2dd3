"""Slots: variables that belong to another variable, with its name and on its device."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from tfnb.framework.scopes import colocate_with, device
from tfnb.library.control_flow.cond import cond
from tfnb.library.variables.init_ops import zeros_initializer
from tfnb.library.variables.resource_variable import is_resource_variable
from tfnb.library.variables.variable_scope import get_variable, get_variable_scope, variable_scope
from tfnb.library.variables.variables import SaveSliceInfo, Variable, variable_creator_scope
from tfnb.ops.array import array_ops
from tfnb.ops.state.state_ops import is_variable_initialized

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor_types import (
        Initializer,
        Nested,
        TensorLike,
        TensorResult,
        VariableLike,
    )


@contextlib.contextmanager
def colocated_variables(primary: VariableLike) -> Iterator[None]:
    """Open a block whose variables live on the device of another variable."""

    def create(next_creator: Callable[..., Nested], **kwargs: Any) -> Any:
        with device(None), colocate_with(primary):
            return next_creator(**kwargs)

    with variable_creator_scope(create):
        yield


def _create(
    primary: VariableLike,
    value: TensorLike,
    validate_shape: bool,
    shape: TensorLike,
    dtype: DTypeLike | None,
) -> VariableLike:
    """Return the slot in the current variable scope."""
    scope = get_variable_scope()
    partitioner = scope.partitioner
    # A slot has the partition of its variable, and is not partitioned again.
    scope.set_partitioner(None)
    use_resource = None
    if is_resource_variable(primary):
        use_resource = True
    elif isinstance(primary, Variable):
        use_resource = False
    slot = get_variable(
        "",
        initializer=value,
        trainable=False,
        use_resource=use_resource,
        shape=shape if callable(value) else None,
        dtype=dtype,
        validate_shape=validate_shape,
    )
    scope.set_partitioner(partitioner)
    info = getattr(primary, "_save_slice_info", None)
    if info is not None:
        own_name = slot.name[len(primary.op.name + "/") : -2]
        rank = slot.shape.ndims
        if rank is None or rank > 0:
            slot._set_save_slice_info(
                SaveSliceInfo(
                    f"{info.full_name}/{own_name}",
                    info.full_shape[:rank],
                    info.var_offset[:rank],
                    info.var_shape[:rank],
                )
            )
    return slot


def _create_in_scope(
    primary: VariableLike,
    value: TensorLike,
    name: str,
    *,
    colocate: bool,
    validate_shape: bool,
    shape: TensorLike | None = None,
    dtype: DTypeLike | None = None,
) -> VariableLike:
    prefix = getattr(primary, "_shared_name", primary.op.name)
    with variable_scope(None, f"{prefix}/{name}"):
        with colocated_variables(primary) if colocate else contextlib.nullcontext():
            return _create(primary, value, validate_shape, shape, dtype)


def create_slot(
    primary: VariableLike, val: TensorLike, name: str, colocate_with_primary: bool = True
) -> VariableLike:
    """Return a slot with an initial value."""
    return _create_in_scope(
        primary,
        val,
        name,
        colocate=colocate_with_primary,
        validate_shape=val.get_shape().is_fully_defined(),
    )


def create_slot_with_initializer(
    primary: VariableLike,
    initializer: Initializer,
    shape: TensorLike,
    dtype: DTypeLike | None,
    name: str,
    colocate_with_primary: bool = True,
) -> VariableLike:
    """Return a slot whose initial value an initializer makes."""
    return _create_in_scope(
        primary,
        initializer,
        name,
        colocate=colocate_with_primary,
        validate_shape=shape.is_fully_defined(),
        shape=shape,
        dtype=dtype,
    )


def create_zeros_slot(
    primary: VariableLike,
    name: str,
    dtype: DTypeLike | None = None,
    colocate_with_primary: bool = True,
) -> VariableLike:
    """Return a slot with initial zeros."""
    dtype = primary.dtype if dtype is None else dtype
    shape = primary.get_shape()
    if shape.is_fully_defined():
        return create_slot_with_initializer(
            primary, zeros_initializer(), shape, dtype, name, colocate_with_primary
        )
    size = array_ops.shape(initialized_value(primary) if isinstance(primary, Variable) else primary)
    value = array_ops.zeros(size, dtype=dtype)
    return create_slot(primary, value, name, colocate_with_primary)


def initialized_value(variable: VariableLike) -> TensorResult:
    """Return a variable's value, or its initial value if it is not initialized."""
    return cond(
        is_variable_initialized(variable), variable.read_value, lambda: variable.initial_value
    )
