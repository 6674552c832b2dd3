"""Resource variables: handles, reads and assignments.

A handle names a variable; the variable is made by its first assignment.  A read gives the value of
that moment, which later assignments leave alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.resource_mgr import ResourceHandle, Variable
from tfnb.core.shape_inference import (
    SCALAR_SHAPE,
    UNKNOWN_SHAPE,
    InferenceContext,
    merge_shapes,
    no_outputs,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.gather_ops import check_indices, take
from tfnb.ops.state_ops import count_up_to_value, scatter_into

if TYPE_CHECKING:
    from tfnb.core.op_kernel import OpKernelContext

_TYPE = "Variable"
_DTYPE = "dtype: type"


def find_variable(ctx: OpKernelContext, handle: ResourceHandle) -> Variable:
    """The variable behind a handle.

    Raises:
      FailedPreconditionError: nothing was assigned to it yet.
    """
    cell = ctx.resource_manager.find(handle.container, _TYPE, handle.name)
    if cell is None:
        # Reading an empty one raises TensorFlow's sentence.
        Variable(handle.name, handle.dtype).read()  # type: ignore[arg-type]
    return cast("Variable", cell)


def _make_variable(ctx: OpKernelContext, handle: ResourceHandle, dtype: Any) -> Variable:
    found: Variable = ctx.resource_manager.lookup_or_create(
        handle.container,
        _TYPE,
        handle.name,
        lambda: Variable(handle.name, dtype, handle.value_shape),
    )
    return found


def _handle_shape(c: InferenceContext) -> TensorShape:
    c.set_output_handle_data(0, [(c.attrs["dtype"], c.attrs["shape"])])
    return SCALAR_SHAPE


def _value_shape(c: InferenceContext) -> TensorShape:
    data = c.input_handle_data(0)
    return data[0][1] if data else UNKNOWN_SHAPE


def _assigned_shape(c: InferenceContext) -> list[TensorShape]:
    data = c.input_handle_data(0)
    if data:
        if data[0][0].base_dtype is not c.attrs["dtype"].base_dtype:
            raise ValueError(
                f"Trying to assign variable with wrong dtype. Expected {data[0][0].name} got "
                f"{c.attrs['dtype'].name}"
            )
        merge_shapes(data[0][1], c.inputs[1])
    return []


@register_op(
    "VarHandleOp",
    "-> resource: resource",
    "container: string = ''",
    "shared_name: string = ''",
    "debug_name: string = ''",
    "dtype: type",
    "shape: shape",
    "allowed_devices: list(string) = []",
    stateful=True,
    shape=_handle_shape,
    host_memory=("resource",),
)
def var_handle_op(
    ctx: OpKernelContext, *, container: str, shared_name: str, dtype: Any, shape: Any
) -> Any:
    """The handle of the variable with this name."""
    handle = ctx.kernel_state.get("handle")
    if handle is None:
        name = ctx.node_name if shared_name in ("", ANONYMOUS_NAME) else shared_name
        handle = ctx.kernel_state["handle"] = ctx.resource_manager.make_handle(
            name, _TYPE, container=container, dtype=dtype, shape=shape
        )
    return handle


ANONYMOUS_NAME = "cd2c89b7-88b7-44c8-ad83-06c2a9158347"


@register_op(
    "_VarHandlesOp",
    "-> *resources: N * resource",
    "containers: list(string)",
    "shared_names: list(string)",
    "N: int >= 0",
    "dtypes: list(type)",
    "shapes: list(shape)",
    stateful=True,
    shape=lambda c: [SCALAR_SHAPE] * c.attr("N"),
    host_memory=("resources",),
)
def _var_handles_op(
    ctx: OpKernelContext,
    *,
    containers: list[str],
    shared_names: list[str],
    dtypes: list[Any],
    shapes: list[Any],
) -> tuple[Any, ...]:
    """Several handles at once."""
    return tuple(
        ctx.resource_manager.make_handle(name, _TYPE, container=container, dtype=dtype, shape=shape)
        for container, name, dtype, shape in zip(containers, shared_names, dtypes, shapes)
    )


@register_op(
    "ReadVariableOp",
    "resource: resource -> value: dtype",
    _DTYPE,
    stateful=True,
    shape=_value_shape,
    host_memory=("resource",),
)
def read_variable_op(ctx: OpKernelContext, resource: Any, *, dtype: Any) -> Any:
    """The variable's value."""
    variable = find_variable(ctx, resource)
    _check_dtype(variable, dtype)
    return variable.read()


def _check_dtype(variable: Variable, dtype: Any) -> None:
    if variable.dtype.base_dtype is not dtype.base_dtype:
        raise errors.invalid_argument(
            f"Trying to read variable {variable.name} with wrong dtype. Expected {dtype.name} got "
            f"{variable.dtype.name}"
        )


@read_variable_op.gradient
def _(op: Any, grad: Any) -> Any:
    return grad


@register_op(
    "AssignVariableOp",
    "resource: resource, value: dtype ->",
    _DTYPE,
    "validate_shape: bool = false",
    stateful=True,
    shape=_assigned_shape,
    host_memory=("resource",),
)
def assign_variable_op(
    ctx: OpKernelContext, resource: Any, value: Any, *, dtype: Any, validate_shape: bool
) -> None:
    """Gives the variable a value; makes the variable where there is none."""
    variable = _make_variable(ctx, resource, dtype)
    if variable.dtype.base_dtype is not dtype.base_dtype:
        raise errors.invalid_argument(
            f"Trying to assign variable with wrong dtype. Expected {variable.dtype.name} got "
            f"{dtype.name}"
        )
    shape = resource.value_shape
    if (
        validate_shape
        and shape is not None
        and not shape.is_compatible_with(TensorShape(list(np.shape(value))))
    ):
        raise errors.invalid_argument(
            "Shape mismatch: Trying to assign a tensor with an incompatible shape. Expected "
            f"{shape}, got {list(np.shape(value))}"
        )
    variable.assign(value)


def _add_to(ctx: OpKernelContext, resource: Any, value: Any, sign: str) -> None:
    variable = find_variable(ctx, resource)
    with variable.lock:
        before = variable.read()
        if np.shape(before) != np.shape(value):
            raise errors.invalid_argument(
                f"Cannot update variable with shape {list(np.shape(before))} using a Tensor with "
                f"shape {list(np.shape(value))}, shapes must be equal."
            )
        variable.assign(before + value if sign == "+" else before - value)


@register_op(
    "AssignAddVariableOp",
    "resource: resource, value: dtype ->",
    _DTYPE,
    stateful=True,
    shape=_assigned_shape,
    host_memory=("resource",),
)
def assign_add_variable_op(ctx: OpKernelContext, resource: Any, value: Any) -> None:
    """variable += value."""
    _add_to(ctx, resource, value, "+")


@register_op(
    "AssignSubVariableOp",
    "resource: resource, value: dtype ->",
    _DTYPE,
    stateful=True,
    shape=_assigned_shape,
    host_memory=("resource",),
)
def assign_sub_variable_op(ctx: OpKernelContext, resource: Any, value: Any) -> None:
    """variable -= value."""
    _add_to(ctx, resource, value, "-")


@register_op(
    "VarIsInitializedOp",
    "resource: resource -> is_initialized: bool",
    stateful=True,
    shape=lambda c: SCALAR_SHAPE,
    host_memory=("resource", "is_initialized"),
)
def var_is_initialized_op(ctx: OpKernelContext, resource: Any) -> Any:
    """Whether a value was assigned."""
    cell = ctx.resource_manager.find(resource.container, resource.type_name, resource.name)
    return np.bool_(cell is not None and getattr(cell, "is_initialized", True))


def _variable_shape_shape(c: InferenceContext) -> TensorShape:
    data = c.input_handle_data(0)
    dims = data[0][1].dim_values if data else None
    return TensorShape([None if dims is None else len(dims)])


@register_op(
    "VariableShape",
    "input: resource -> output: out_type",
    "out_type: {int32, int64} = DT_INT32",
    stateful=True,
    shape=_variable_shape_shape,
    host_memory=("input", "output"),
)
def variable_shape(ctx: OpKernelContext, input: Any, *, out_type: Any) -> Any:
    """The shape of the variable's value."""
    return np.array(np.shape(find_variable(ctx, input).read()), out_type.numpy_dtype)


@register_op(
    "DestroyResourceOp",
    "resource: resource ->",
    "ignore_lookup_error: bool = true",
    stateful=True,
    shape=no_outputs,
    host_memory=("resource",),
)
def destroy_resource_op(ctx: OpKernelContext, resource: Any, *, ignore_lookup_error: bool) -> None:
    """Forgets a resource."""
    try:
        ctx.resource_manager.delete(resource)
    except errors.NotFoundError:
        if not ignore_lookup_error:
            raise


@register_op(
    "DisableCopyOnRead",
    "resource: resource ->",
    stateful=True,
    shape=no_outputs,
    host_memory=("resource",),
)
def disable_copy_on_read(ctx: OpKernelContext, resource: Any) -> None:
    """Nothing to do: a read never copies here, and never changes."""


# -- rows


def _gather_shape(c: InferenceContext) -> TensorShape:
    data = c.input_handle_data(0)
    params = data[0][1].dim_values if data else None
    indices, batch = c.inputs[1].dim_values, c.attr("batch_dims")
    if params is None or indices is None:
        return UNKNOWN_SHAPE
    if len(params) < batch + 1:
        raise ValueError(f"Shape must be at least rank {batch + 1} but is rank {len(params)}")
    return TensorShape([*params[:batch], *indices[batch:], *params[batch + 1 :]])


@register_op(
    "ResourceGather",
    "resource: resource, indices: Tindices -> output: dtype",
    "batch_dims: int = 0",
    "validate_indices: bool = true",
    _DTYPE,
    "Tindices: {int32, int64}",
    stateful=True,
    shape=_gather_shape,
    host_memory=("resource",),
)
def resource_gather(ctx: OpKernelContext, resource: Any, indices: Any, *, batch_dims: int) -> Any:
    """Rows of the variable's value."""
    value = find_variable(ctx, resource).read()
    if not np.ndim(value):
        raise errors.invalid_argument("params must be at least 1 dimensional")
    xp = ctx.xp
    indices = xp.asarray(indices)
    if xp is np:
        check_indices(indices, value.shape[batch_dims])
    if not batch_dims:
        return take(xp, value, indices)
    lead = value.shape[:batch_dims]
    flat_values = value.reshape((-1, *value.shape[batch_dims:]))
    flat_indices = indices.reshape((len(flat_values), *indices.shape[batch_dims:]))
    picked = xp.stack([take(xp, v, i) for v, i in zip(flat_values, flat_indices)])
    return picked.reshape((*lead, *picked.shape[1:]))


@resource_gather.gradient
def _(op: Any, grad: Any) -> list[Any]:
    from tfnb.framework.indexed_slices import IndexedSlices
    from tfnb.ops import array_ops

    handle, indices = op.inputs
    shape = variable_shape(handle)
    size = array_ops.expand_dims(array_ops.size(indices), 0)
    values_shape = array_ops.concat([size, shape[1:]], 0)
    values = array_ops.reshape(grad, values_shape)
    return [IndexedSlices(values, array_ops.reshape(indices, size), shape), None]


def _scatter_shape(c: InferenceContext) -> list[TensorShape]:
    data = c.input_handle_data(0)
    dims, indices, updates = (
        data[0][1].dim_values if data else None,
        c.inputs[1].dim_values,
        c.inputs[2],
    )
    if dims and indices is not None and updates.dim_values != ():
        merge_shapes(updates, TensorShape([*indices, *dims[1:]]))
    return []


def _scatter(name: str, operation: str, types: str, doc: str) -> Any:
    @register_op(
        name,
        "resource: resource, indices: Tindices, updates: dtype ->",
        types,
        "Tindices: {int32, int64}",
        stateful=True,
        shape=_scatter_shape,
        host_memory=("resource",),
    )
    def scatter(ctx: OpKernelContext, resource: Any, indices: Any, updates: Any) -> None:
        scatter_into(ctx.xp, find_variable(ctx, resource), indices, updates, operation)

    scatter.__doc__ = doc
    scatter.not_differentiable()
    return scatter


_NUMBERS = "dtype: numbertype"
resource_scatter_update = _scatter("ResourceScatterUpdate", "assign", _DTYPE, "v[i] = u.")
resource_scatter_add = _scatter("ResourceScatterAdd", "add", _NUMBERS, "v[i] += u.")
resource_scatter_sub = _scatter("ResourceScatterSub", "sub", _NUMBERS, "v[i] -= u.")
resource_scatter_mul = _scatter("ResourceScatterMul", "mul", _NUMBERS, "v[i] *= u.")
resource_scatter_div = _scatter("ResourceScatterDiv", "div", _NUMBERS, "v[i] /= u.")
resource_scatter_min = _scatter("ResourceScatterMin", "min", _NUMBERS, "v[i] = min(v[i], u).")
resource_scatter_max = _scatter("ResourceScatterMax", "max", _NUMBERS, "v[i] = max(v[i], u).")


@register_op(
    "ResourceCountUpTo",
    "resource: resource -> output: T",
    "limit: int",
    "T: {int32, int64}",
    stateful=True,
    shape=lambda c: SCALAR_SHAPE,
    devices=("CPU",),
)
def resource_count_up_to(ctx: OpKernelContext, resource: Any, *, limit: int, T: Any) -> Any:
    """The variable's value, which then grows by one, until it has reached ``limit``."""
    return count_up_to_value(find_variable(ctx, resource), limit, T)


for _op in (
    var_handle_op,
    assign_variable_op,
    assign_add_variable_op,
    assign_sub_variable_op,
    var_is_initialized_op,
    variable_shape,
    destroy_resource_op,
    resource_count_up_to,
):
    _op.not_differentiable()
