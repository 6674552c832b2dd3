"""Variables behind resource handles: creation, reading, assignment, gathering, scattering.

VarHandleOp returns a handle; the first assignment creates the
:class:`~tfnb.core.resource_mgr.Var` behind it. The dtype and shape of the variable are known
statically through the handle data.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.node_text import type_word
from tfnb.core.op_registry import OpDefinition, register_op
from tfnb.core.process.later import later
from tfnb.core.resource_mgr import ResourceHandle, Var, wrong_type
from tfnb.core.shape_inference import (
    SCALAR_SHAPE,
    UNKNOWN_SHAPE,
    InferenceContext,
    merge_shapes,
    scalar_shape,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.ops.array.gather_ops import batch_take, gather_nd_value, take
from tfnb.ops.array.scatter_kernels import check_indices
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.state.state_ops import (
    count,
    scatter_into_rows,
    scatter_nd_into_cell,
    scatter_update_shape,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.kernel_types import Array, Handle, Outputs
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients
    from tfnb.ops.array import scatter_nd_ops
else:
    scatter_nd_ops = later("tfnb.ops.array.scatter_nd_ops")

VARIABLE = "Variable"
"""The type name of resource variables in the resource manager."""

# ------------------------------------------------------------------------------------------ handles


def _handle_shape(c: InferenceContext) -> TensorShape:
    c.set_output_handle_data(0, [(c.attr("dtype"), c.attr("shape"))])
    return SCALAR_SHAPE


@register_op(
    "VarHandleOp",
    "-> resource: resource",
    "container: string = ''",
    "shared_name: string = ''",
    "debug_name: string = ''",
    "dtype: type",
    "shape: shape",
    "allowed_devices: list(string) = []",
    shape=_handle_shape,
    stateful=True,
    host_memory=("resource",),
    traits="fixed variable",
)
def var_handle_op(
    made_for: OpKernelContext, *, container: str, shared_name: str, dtype: DType, shape: TensorShape
) -> Callable[[], ResourceHandle]:
    """Return a handle of a variable; only the name determines which one."""
    handle: ResourceHandle = made_for.resource_manager.make_handle(
        shared_name, VARIABLE, container=container, dtype=dtype, shape=shape
    )
    return lambda: handle


def _handles_shape(c: InferenceContext) -> list[TensorShape]:
    for name in ("dtypes", "shapes"):
        if len(c.attr(name)) != c.num_outputs:
            raise errors.invalid_argument(
                f"Mismatched number of {name} (n={c.num_outputs}, num {name}={len(c.attr(name))})"
            )
    pairs = zip(c.attr("dtypes"), c.attr("shapes"))
    for index, (dtype, shape) in enumerate(pairs):
        c.set_output_handle_data(index, [(dtype, shape)])
    return [SCALAR_SHAPE] * c.num_outputs


@register_op(
    "_VarHandlesOp",
    "-> resources: N * resource",
    "containers: list(string)",
    "shared_names: list(string)",
    "N: int >= 0",
    "dtypes: list(type)",
    "shapes: list(shape)",
    shape=_handles_shape,
    stateful=True,
    host_memory=("resources",),
)
def _var_handles_op(
    node: OpKernelContext,
    *,
    containers: list[str],
    shared_names: list[str],
    dtypes: list[DType],
    shapes: list[TensorShape],
) -> Outputs:
    """Return the handles of several variables."""
    return tuple(
        [
            node.resource_manager.make_handle(
                name, VARIABLE, container=container, dtype=dtype, shape=shape
            )
            for container, name, dtype, shape in zip(containers, shared_names, dtypes, shapes)
        ]
    )


@register_op(
    "DestroyResourceOp",
    "resource: resource ->",
    "ignore_lookup_error: bool = true",
    stateful=True,
    host_memory=("resource",),
    traits="needs_no_value",
)
def destroy_resource_op(
    node: OpKernelContext, resource: Handle, *, ignore_lookup_error: bool
) -> None:
    """Delete the resource of a handle."""
    try:
        node.resource_manager.delete(resource)
    except errors.NotFoundError:
        if not ignore_lookup_error:
            raise


@register_op("DisableCopyOnRead", "resource: resource ->", stateful=True, host_memory=("resource",))
def disable_copy_on_read(node: OpKernelContext, resource: Handle) -> None:
    """Do nothing: values are never copied on read, because they are never overwritten."""
    find_variable(node, resource)


def find_variable(node: Array, handle: ResourceHandle) -> Var:
    """Return the variable behind a handle, which must have a value.

    Raises:
      NotFoundError: the variable has no value.
    """
    found = node.resource_manager.lookup(handle, Var)
    if found.value is None:
        raise errors.not_found(_does_not_exist(handle))
    variable: Var = found
    return variable


def _does_not_exist(handle: ResourceHandle) -> str:
    return f"Resource {handle.container}/{handle.name}/{handle.type_name} does not exist."


# ------------------------------------------------------------------------------------------ reading


def handle_shape(c: InferenceContext, attr: str = "dtype", index: int = 0) -> TensorShape:
    """Return the static shape of the variable behind an input.

    Its dtype must be that of an attribute.

    Raises:
      ValueError: the variable has another dtype.
    """
    data = c.input_handle_data(index)
    if not data:
        return UNKNOWN_SHAPE
    dtype, shape = data[0]
    wanted = c.attr(attr)
    if dtype is not wanted:
        raise ValueError(
            "Trying to read variable with wrong dtype. "
            f"Expected {type_word(dtype)} got {type_word(wanted)}"
        )
    return shape


def _read(node: Array, handle: Handle, dtype: DType) -> Array:
    manager = node.resource_manager
    found = manager.find(handle.container, handle.type_name, handle.name)
    if found is not None and not isinstance(found, Var):
        raise wrong_type(handle, Var)
    if found is None or found.value is None:
        raise errors.failed_precondition(
            f"Could not find variable {handle.name}. This could mean that the variable has been "
            "deleted. In TF1, it can also mean the variable is uninitialized. Debug info: "
            f"container={handle.container}, status error message={_does_not_exist(handle)}",
            errors.Mistake.NOT_INITIALIZED,
        )
    if found.dtype is not dtype:
        raise errors.invalid_argument(
            "Trying to read variable with wrong dtype. "
            f"Expected {type_word(dtype)} got {type_word(found.dtype)}"
        )
    return found.value


@register_op(
    "ReadVariableOp",
    "resource: resource -> value: dtype",
    "dtype: type",
    shape=handle_shape,
    stateful=True,
    host_memory=("resource",),
    traits="lends unseen_state reads_variable",
)
def read_variable_op(node: OpKernelContext, resource: Handle, *, dtype: DType) -> Array:
    """Return the value of a variable."""
    return _read(node, resource, dtype)


@read_variable_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return grad


def _read_many_shape(c: InferenceContext) -> list[TensorShape]:
    shapes = []
    for index in range(c.attr("N")):
        data = c.input_handle_data(index)
        shapes.append(data[0][1] if data else UNKNOWN_SHAPE)
    return shapes


@register_op(
    "_ReadVariablesOp",
    "resources: N * resource -> values: dtypes",
    "N: int >= 0",
    "dtypes: list(type) >= 1",
    shape=_read_many_shape,
    stateful=True,
    host_memory=("resources",),
    traits="lends",
)
def _read_variables_op(node: OpKernelContext, resources: Handle, *, dtypes: list[DType]) -> Outputs:
    """Return the values of several variables."""
    return tuple([_read(node, handle, dtype) for handle, dtype in zip(resources, dtypes)])


@register_op(
    "VarIsInitializedOp",
    "resource: resource -> is_initialized: bool",
    shape=scalar_shape,
    stateful=True,
    host_memory=("resource", "is_initialized"),
    traits="needs_no_value",
)
def var_is_initialized_op(node: OpKernelContext, resource: Handle) -> Array:
    """Return whether a variable has a value."""
    found = node.resource_manager.find(resource.container, resource.type_name, resource.name)
    if found is not None and not isinstance(found, Var):
        raise wrong_type(resource, Var)
    return np.bool_(found is not None and found.value is not None)


def _variable_shape_shape(c: InferenceContext) -> TensorShape:
    data = c.input_handle_data(0)
    return TensorShape([data[0][1].ndims if data else None])


@register_op(
    "VariableShape",
    "input: resource -> output: out_type",
    "out_type: {int32, int64} = DT_INT32",
    shape=_variable_shape_shape,
    stateful=True,
    host_memory=("input", "output"),
)
def variable_shape_op(node: OpKernelContext, input: Handle, *, out_type: DType) -> Array:
    """Return the shape of a variable's value."""
    return np.array(find_variable(node, input).value.shape, out_type.numpy_dtype)


var_is_initialized_op.not_differentiable()
variable_shape_op.not_differentiable()


def variable_shape(handle: Tensor, out_type: DTypeLike = dtypes.int32) -> Tensor:
    """Return the shape of the variable of a handle; a constant if it is known while building."""
    from tfnb.ops.array.constant_ops import constant

    data = handle._handle_data
    found: Tensor
    if data and data[0][1].is_fully_defined():
        return constant(data[0][1].as_list(), dtype=out_type)
    found = variable_shape_op(handle, out_type=out_type)
    return found


# --------------------------------------------------------------------------------------- assignment


def _assign_shape(c: InferenceContext) -> list[TensorShape]:
    shape = handle_shape(c)
    merge_shapes(shape, c.inputs[1])
    return []


@register_op(
    "AssignVariableOp",
    "resource: resource, value: dtype ->",
    "dtype: type",
    "validate_shape: bool = false",
    shape=_assign_shape,
    stateful=True,
    host_memory=("resource",),
    traits="writes_variable needs_no_value",
)
def assign_variable_op(
    node: OpKernelContext, resource: Handle, value: Array, *, dtype: DType, validate_shape: bool
) -> None:
    """Give a variable a value."""
    manager = node.resource_manager
    cell = manager.find(resource.container, resource.type_name, resource.name)
    if cell is not None and not isinstance(cell, Var):
        raise wrong_type(resource, Var)
    if cell is None:
        cell = manager.lookup_or_create(
            resource.container,
            resource.type_name,
            resource.name,
            lambda: Var(resource.name, dtype, resource.value_shape),
        )
        assert cell is not None
    if cell.dtype is not dtype:
        raise errors.invalid_argument(
            "Trying to assign variable with wrong dtype. "
            f"Expected {type_word(cell.dtype)} got {type_word(dtype)}"
        )
    if validate_shape and cell.value is not None and cell.value.shape != value.shape:
        raise errors.invalid_argument(
            f"Trying to assign to variable with tensor with wrong shape. Expected "
            f"{shape_text(cell.value.shape)} got {shape_text(value.shape)}"
        )
    cell.assign(value)


# These take a tenth of the time of NumPy's functions.
_OF_NUMBERS = {"add": operator.add, "subtract": operator.sub}


def _update(node: Array, handle: Handle, value: Array, dtype: DType, name: str) -> None:
    cell = find_variable(node, handle)
    if cell.dtype is not dtype:
        raise errors.invalid_argument(
            "Trying to assign variable with wrong dtype. "
            f"Expected {type_word(cell.dtype)} got {type_word(dtype)}"
        )
    with cell.lock:
        if cell.value.__class__ is value.__class__ and isinstance(value, np.generic):
            cell.value = _OF_NUMBERS[name](cell.value, value)
            return
        combine = getattr(node.xp, name)
        if cell.value.shape != value.shape:
            raise errors.invalid_argument(
                f"Cannot update variable with shape {shape_text(cell.value.shape)} using a Tensor "
                f"with shape {shape_text(value.shape)}, shapes must be equal."
            )
        if value.shape == ():
            cell.value = combine(cell.value, value)
        else:
            target = cell.writable()
            combine(target, value, target)


@register_op(
    "AssignAddVariableOp",
    "resource: resource, value: dtype ->",
    "dtype: type",
    shape=_assign_shape,
    stateful=True,
    host_memory=("resource",),
    traits="writes_variable",
)
def assign_add_variable_op(
    node: OpKernelContext, resource: Handle, value: Array, *, dtype: DType
) -> None:
    """Add to a variable."""
    _update(node, resource, value, dtype, "add")


@register_op(
    "AssignSubVariableOp",
    "resource: resource, value: dtype ->",
    "dtype: type",
    shape=_assign_shape,
    stateful=True,
    host_memory=("resource",),
    traits="writes_variable",
)
def assign_sub_variable_op(
    node: OpKernelContext, resource: Handle, value: Array, *, dtype: DType
) -> None:
    """Subtract from a variable."""
    _update(node, resource, value, dtype, "subtract")


def _count_shape(c: InferenceContext) -> TensorShape:
    data = c.input_handle_data(0)
    if data:
        dtype, shape = data[0]
        if dtype is not c.attr("T"):
            raise ValueError(
                f"Data types do not match: {type_word(c.attr('T'))} and {type_word(dtype)}"
            )
        if shape.ndims not in (None, 0):
            raise ValueError(f"Shape must be rank 0 but is rank {shape.ndims}")
    return SCALAR_SHAPE


@register_op(
    "ResourceCountUpTo",
    "resource: resource -> output: T",
    "limit: int",
    "T: {int32, int64}",
    shape=_count_shape,
    stateful=True,
    devices=("CPU",),
    traits="writes_variable",
)
def resource_count_up_to(node: OpKernelContext, resource: Handle, *, limit: int) -> Array:
    """Return the value of a counter before it is increased; at the limit, raise an error."""
    return count(find_variable(node, resource), limit)


# ---------------------------------------------------------------------------- gathering, scattering


def _gather_shape(c: InferenceContext) -> TensorShape:
    dims, indices = handle_shape(c).dim_values, c.inputs[1].dim_values
    batch = c.attr("batch_dims")
    if batch < 0:
        raise ValueError(f"batch_dims is negative ({batch})")
    if dims == ():
        raise ValueError("Shape must be at least rank 1 but is rank 0")
    if dims is None or indices is None:
        return UNKNOWN_SHAPE
    if batch > len(indices) or batch >= len(dims):
        raise ValueError(f"batch_dims {batch} is out of range")
    return TensorShape([*dims[:batch], *indices[batch:], *dims[batch + 1 :]])


@register_op(
    "ResourceGather",
    "resource: resource, indices: Tindices -> output: dtype",
    "batch_dims: int = 0",
    "validate_indices: bool = true",
    "dtype: type",
    "Tindices: {int32, int64}",
    shape=_gather_shape,
    stateful=True,
    host_memory=("resource",),
    traits="reads_variable",
)
def resource_gather(
    node: OpKernelContext, resource: Handle, indices: Array, *, batch_dims: int, dtype: DType
) -> Array:
    """Return rows of a variable by number, without reading the rest."""
    params = find_variable(node, resource).value
    if params.ndim < 1:
        raise errors.invalid_argument("params must be at least 1 dimensional")
    batch = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    if batch == 0:
        if not params.size:
            check_indices(indices, params.shape[0])
        return take(node.xp, params, indices)
    if params.shape[:batch] != indices.shape[:batch]:
        raise errors.invalid_argument(
            f"params.shape[:{batch}]: {shape_text(params.shape[:batch])} should be equal to "
            f"indices.shape[:{batch}]: {shape_text(indices.shape[:batch])}"
        )
    return batch_take(node.xp, params, indices, batch, batch)


@resource_gather.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    from tfnb.ops.array import concat_ops, shape_ops

    handle, indices = op.inputs
    params_shape = variable_shape(handle)
    count_ = shape_ops.expand_dims(shape_ops.size(indices), 0)
    values_shape = concat_ops.concat([count_, params_shape[1:]], 0)
    values = shape_ops.reshape(grad, values_shape)
    return IndexedSlices(values, shape_ops.reshape(indices, count_), params_shape), None


def _gather_nd_shape(c: InferenceContext) -> TensorShape:
    from tfnb.ops.array.gather_ops import gather_nd_shape_of

    return gather_nd_shape_of(c, handle_shape(c))


@register_op(
    "ResourceGatherNd",
    "resource: resource, indices: Tindices -> output: dtype",
    "dtype: type",
    "Tindices: {int32, int64}",
    shape=_gather_nd_shape,
    stateful=True,
    host_memory=("resource",),
    traits="reads_variable",
)
def resource_gather_nd(node: OpKernelContext, resource: Handle, indices: Array) -> Array:
    """Return parts of a variable at coordinates."""
    params = find_variable(node, resource).value
    return gather_nd_value(node.xp, params, indices, "", node.node_name)


@resource_gather_nd.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    from tfnb.ops.array import scatter_nd_ops, shape_ops

    handle, indices = op.inputs
    params_shape = variable_shape(handle, indices.dtype)
    if indices.shape.ndims == 2 and indices.shape[-1].value == 1:
        return IndexedSlices(grad, shape_ops.squeeze(indices, axis=-1), params_shape), None
    return scatter_nd_ops.scatter_nd(indices, grad, params_shape), None


def _scatter_shape(c: InferenceContext) -> list[TensorShape]:
    scatter_update_shape(c, handle_shape(c))
    return []


def _scatter_op(name: str, operation: str, types: str) -> OpDefinition:
    @register_op(
        name,
        "resource: resource, indices: Tindices, updates: dtype ->",
        f"dtype: {types}",
        "Tindices: {int32, int64}",
        shape=_scatter_shape,
        stateful=True,
        host_memory=("resource",),
        traits="writes_variable",
    )
    def scatter(node: OpKernelContext, resource: Handle, indices: Array, updates: Array) -> None:
        cell = find_variable(node, resource)
        if operation == "div" and updates.dtype.kind != "c" and (updates == 0).any():
            raise errors.invalid_argument("updates must not contain 0")
        scatter_into_rows(node.xp, cell, indices, updates, operation, is_resource=True)

    scatter.__doc__ = f"Combines rows into those of a variable: {operation}."
    return scatter


resource_scatter_update = _scatter_op("ResourceScatterUpdate", "assign", "type")
resource_scatter_add = _scatter_op("ResourceScatterAdd", "add", "numbertype")
resource_scatter_sub = _scatter_op("ResourceScatterSub", "sub", "numbertype")
resource_scatter_mul = _scatter_op("ResourceScatterMul", "mul", "numbertype")
resource_scatter_div = _scatter_op("ResourceScatterDiv", "div", "numbertype")
resource_scatter_min = _scatter_op("ResourceScatterMin", "min", "numbertype")
resource_scatter_max = _scatter_op("ResourceScatterMax", "max", "numbertype")


def _scatter_nd_shape(c: InferenceContext) -> list[TensorShape]:
    data = c.input_handle_data(0)
    c.with_rank_at_least(2, 1)
    if data:
        scatter_nd_ops.scatter_nd_shape_of(c, data[0][1], 1, 2)
    return []


def _scatter_nd_op(name: str, operation: str) -> OpDefinition:
    @register_op(
        name,
        "ref: resource, indices: Tindices, updates: T ->",
        "T: type",
        "Tindices: {int32, int64}",
        "use_locking: bool = true",
        "bad_indices_policy: string = ''",
        shape=_scatter_nd_shape,
        stateful=True,
        host_memory=("ref",),
        traits="writes_variable",
    )
    def scatter(
        node: OpKernelContext,
        ref: Handle,
        indices: Array,
        updates: Array,
        *,
        bad_indices_policy: str,
    ) -> None:
        cell = find_variable(node, ref)
        scatter_nd_into_cell(node.xp, cell, indices, updates, operation, bad_indices_policy)

    scatter.__doc__ = f"Combines slices into those of a variable: {operation}."
    return scatter


resource_scatter_nd_update = _scatter_nd_op("ResourceScatterNdUpdate", "assign")
resource_scatter_nd_add = _scatter_nd_op("ResourceScatterNdAdd", "add")
resource_scatter_nd_sub = _scatter_nd_op("ResourceScatterNdSub", "sub")
resource_scatter_nd_min = _scatter_nd_op("ResourceScatterNdMin", "min")
resource_scatter_nd_max = _scatter_nd_op("ResourceScatterNdMax", "max")
