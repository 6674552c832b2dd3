"""Reference variables: the ops that create them, assign to them and scatter into them.

A variable is a :class:`~tfnb.core.resource_mgr.RefCell` of its device's resource manager.  An op
with a reference input receives the cell; one with a reference output returns it. Arrays in a cell
are overwritten only if no other reference to them exists.
"""

from __future__ import annotations

import operator
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors, float_ops, op_registry
from tfnb.core.op_registry import OpDefinition, register_op
from tfnb.core.process.later import later
from tfnb.core.resource_mgr import RefCell
from tfnb.core.shape_inference import (
    UNKNOWN_SHAPE,
    InferenceContext,
    merge_both_inputs,
    merge_shapes,
    scalar_shape,
    unchanged_shape,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Handle, Xp
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.framework.tensor_types import TensorLike, TensorResult, VariableLike
    from tfnb.ops.array import scatter_kernels, scatter_nd_ops
else:
    scatter_nd_ops = later("tfnb.ops.array.scatter_nd_ops", in_step=True)
    scatter_kernels = later("tfnb.ops.array.scatter_kernels", in_step=True)

EXPORTS = {
    "tf": [
        "assign",
        "assign_add",
        "assign_sub",
        "count_up_to",
        "scatter_update",
        "scatter_add",
        "scatter_sub",
        "scatter_mul",
        "scatter_div",
        "scatter_min",
        "scatter_max",
        "scatter_nd_update",
        "scatter_nd_add",
        "scatter_nd_sub",
        "batch_scatter_update",
        "is_variable_initialized",
    ],
}

LEGACY_VARIABLE = "LegacyVar"
"""The type name of reference variables in the resource manager."""

# --------------------------------------------------------------------------------------- variables


def _shape_of_buffer(shape: TensorShape) -> TensorShape:
    """Return the shape of a variable's tensor before it has a value.

    If the shape is unknown, it is that of a scalar.
    """
    if None in (shape.dim_values or ()):
        from tfnb.core.node_text import shape_text as static_shape_text

        raise errors.invalid_argument(f"Shape {static_shape_text(shape)} is not fully defined")
    return TensorShape(shape.dim_values or ())


def _new_cell(name: str, dtype: DType, shape: TensorShape) -> RefCell:
    cell = RefCell(name, dtype, shape)
    if 0 in shape.as_list():
        # An empty tensor needs no initialization.
        cell.assign(np.empty(shape.as_list(), dtype.numpy_dtype))
    return cell


def _variable(
    node: Array, dtype: DType, shape: TensorShape, container: str, shared_name: str
) -> Callable[[], RefCell]:
    manager, name = node.resource_manager, shared_name or node.node_name
    shape = _shape_of_buffer(shape)
    found: tuple[Array, int] = None, -1

    def look_up() -> RefCell:
        nonlocal found
        num_losses = manager.num_losses
        cell: RefCell = manager.lookup_or_create(
            container, LEGACY_VARIABLE, name, lambda: _new_cell(name, dtype, shape)
        )
        found = cell, num_losses
        return cell

    def variable() -> RefCell:
        # Every step runs this: a cell is cached until the manager loses a resource.
        cell, num_losses = found
        return cell if num_losses == manager.num_losses else look_up()

    return variable


def _old_variable_shape(c: InferenceContext) -> TensorShape:
    # In the older op, the shape of a scalar stands for an unknown shape.
    shape: TensorShape = c.attr("shape")
    return shape if shape.dim_values else UNKNOWN_SHAPE


_VARIABLE = (
    "-> ref: Ref(dtype)",
    "shape: shape",
    "dtype: type",
    "container: string = ''",
    "shared_name: string = ''",
)


@register_op(
    "VariableV2",
    *_VARIABLE,
    shape=lambda c: c.attr("shape"),
    stateful=True,
    traits="from_before unchecked_shape variable",
)
def variable_v2(
    made_for: OpKernelContext, *, dtype: DType, shape: TensorShape, container: str, shared_name: str
) -> Callable[[], RefCell]:
    """Return a reference to a buffer that lives as long as the session."""
    return _variable(made_for, dtype, shape, container, shared_name)


@register_op(
    "Variable",
    *_VARIABLE,
    shape=_old_variable_shape,
    stateful=True,
    traits="from_before unchecked_shape variable",
)
def variable_op(
    made_for: OpKernelContext, *, dtype: DType, shape: TensorShape, container: str, shared_name: str
) -> Callable[[], RefCell]:
    """Return a reference to a buffer that lives as long as the session; an older form."""
    return _variable(made_for, dtype, shape, container, shared_name)


@register_op(
    "IsVariableInitialized",
    "ref: Ref(dtype) -> is_initialized: bool",
    "dtype: type",
    shape=scalar_shape,
    allows_uninitialized_input=True,
    host_memory=("is_initialized",),
    traits="keeps_reference",
)
def is_variable_initialized_op(xp: Xp, ref: Handle) -> Array:
    """Return whether a variable has a value."""
    return np.bool_(ref.is_initialized)


_TEMPORARY = "TemporaryVariable"


def _temporary_name(ctx: OpKernelContext, var_name: str) -> str:
    return f"{var_name}/frame:{ctx.frame_id}/iter:{ctx.iteration}"


@register_op(
    "TemporaryVariable",
    "-> ref: Ref(dtype)",
    "shape: shape",
    "dtype: type",
    "var_name: string = ''",
    shape=lambda c: c.attr("shape"),
    stateful=True,
    traits="uses_frame",
)
def temporary_variable(
    ctx: OpKernelContext, *, dtype: DType, shape: TensorShape, var_name: str
) -> RefCell:
    """Return a reference to a buffer that DestroyTemporaryVariable, or the step's end, deletes."""
    name = _temporary_name(ctx, var_name or ctx.node_name)
    shape = _shape_of_buffer(shape)
    cell = RefCell(ctx.node_name, dtype, shape)
    # Its initial contents are undefined in TensorFlow; here they are zeros.
    cell.assign(ctx.xp.zeros(shape.as_list(), dtype.numpy_dtype))
    ctx.step_container.create("", _TEMPORARY, name, cell)
    return cell


@register_op(
    "DestroyTemporaryVariable",
    "ref: Ref(T) -> value: T",
    "T: type",
    "var_name: string",
    shape=unchanged_shape,
    traits="uses_frame writes_variable",
)
def destroy_temporary_variable(ctx: OpKernelContext, ref: Handle, *, var_name: str) -> Array:
    """Return the last value of a temporary variable, and delete it."""
    value = ref.read()
    container = ctx.step_container
    container.delete(container.make_handle(_temporary_name(ctx, var_name), _TEMPORARY))
    return value


# -------------------------------------------------------------------------------------- assignment


def _assign_shape(c: InferenceContext) -> TensorShape:
    if c.attr("validate_shape"):
        return merge_both_inputs(c)
    return c.inputs[1]


@register_op(
    "Assign",
    "ref: Ref(T), value: T -> output_ref: Ref(T)",
    "T: type",
    "validate_shape: bool = true",
    "use_locking: bool = true",
    shape=_assign_shape,
    allows_uninitialized_input=True,
    traits="writes_variable",
)
def assign_op(xp: Xp, ref: Handle, value: Array, *, validate_shape: bool) -> Array:
    """Give a variable a value.

    Raises:
      InternalError: the value is a variable that has none; TensorFlow's class.
    """
    if value is None:
        raise errors.internal("Right hand side of AssignOp is not initialized")
    if validate_shape:
        left = ref.shape.dim_values if ref.value is None else ref.value.shape
        if left != value.shape:
            raise errors.invalid_argument(
                "Assign requires shapes of both tensors to match. "
                f"lhs shape= {shape_text(left)} rhs shape= {shape_text(value.shape)}"
            )
    ref.assign(value)
    return ref


_NUMBER: Any = np.generic


def _update(
    ref: Handle, value: Array, combine: Callable[..., Array], change: Callable[..., Array]
) -> None:
    shape = value.shape
    if ref.read().shape != shape:
        raise errors.invalid_argument("Parameters and update must be the same size")
    if shape:
        change(ref.writable(), value)
    else:
        ref.value = combine(ref.value, value)


# With the GIL, a statement without calls is atomic.
_HAS_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()


@register_op(
    "AssignAdd",
    "ref: Ref(T), value: T -> output_ref: Ref(T)",
    "T: numbertype",
    "use_locking: bool = false",
    shape=merge_both_inputs,
    traits="writes_variable",
)
def assign_add_op(
    made_for: OpKernelContext, *, use_locking: bool
) -> Callable[[RefCell, Array], RefCell]:
    """Add to a variable; concurrent additions are not lost, with or without ``use_locking``."""

    def locked(ref: RefCell, value: Array) -> RefCell:
        with ref.lock:
            _update(ref, value, operator.add, operator.iadd)
        return ref

    def added(ref: RefCell, value: Array) -> RefCell:
        if ref.value.__class__ is not value.__class__ or not isinstance(value, _NUMBER):
            return locked(ref, value)
        ref.value = ref.value + value  # ten times as fast as acquiring a lock
        return ref

    return added if _HAS_GIL and not use_locking else locked


assign_add_op.float_ops(float_ops.per_input())


@register_op(
    "AssignSub",
    "ref: Ref(T), value: T -> output_ref: Ref(T)",
    "T: numbertype",
    "use_locking: bool = false",
    shape=merge_both_inputs,
    traits="writes_variable",
)
def assign_sub_op(
    made_for: OpKernelContext, *, use_locking: bool
) -> Callable[[RefCell, Array], RefCell]:
    """Subtract from a variable, as :func:`assign_add_op` adds."""

    def locked(ref: RefCell, value: Array) -> RefCell:
        with ref.lock:
            _update(ref, value, operator.sub, operator.isub)
        return ref

    def subtracted(ref: RefCell, value: Array) -> RefCell:
        if ref.value.__class__ is not value.__class__ or not isinstance(value, _NUMBER):
            return locked(ref, value)
        ref.value = ref.value - value
        return ref

    return subtracted if _HAS_GIL and not use_locking else locked


assign_sub_op.float_ops(float_ops.per_input())


@register_op(
    "CountUpTo",
    "ref: Ref(T) -> output: T",
    "limit: int",
    "T: {int32, int64}",
    shape=lambda c: c.with_rank(0, 0),
    devices=("CPU",),
    traits="writes_variable",
)
def count_up_to_op(xp: Xp, ref: Handle, *, limit: int) -> Array:
    """Return the value of a counter before it is increased; at the limit, raise an error."""
    return count(ref, limit)


def count(cell: RefCell, limit: int) -> Array:
    """Return the value of a counter, and increase it.

    Raises:
      OutOfRangeError: the limit was reached.
    """
    with cell.lock:
        value = cell.read()
        if value.shape:
            raise errors.invalid_argument(f"input is not a scalar: {shape_text(value.shape)}")
        if value >= limit:
            raise errors.out_of_range(f"Reached limit of {limit}")
        cell.value = value + value.dtype.type(1)
        return value


for _op in (assign_op, assign_add_op, assign_sub_op):
    _op.not_differentiable()

# -------------------------------------------------------------------------------------- scattering


def scatter_update_shape(c: InferenceContext, variable: TensorShape) -> TensorShape:
    """Check indices and updates (inputs 1 and 2) against a variable's shape, and return it."""
    dims, indices, updates = (
        variable.dim_values,
        c.inputs[1].dim_values,
        c.inputs[2].dim_values,
    )
    if dims is None or indices is None or not updates:
        return variable
    merge_shapes(TensorShape(updates), TensorShape([*indices, *dims[1:]]))
    return variable


def scatter_into_rows(
    xp: Xp,
    cell: RefCell,
    indices: Array,
    updates: Array,
    operation: str,
    *,
    is_resource: bool = False,
) -> None:
    """Combine rows of ``updates`` into the rows of a variable that ``indices`` select.

    A resource may be a scalar, which counts as its only row. Without indices, or for an empty
    variable, only ranks are checked.
    """
    with cell.lock:
        shape = cell.read().shape
        if not shape and not is_resource:
            raise errors.invalid_argument(
                f"params must be at least 1-D, got shape {shape_text(shape)}"
            )
        if updates.shape and (not shape or updates.shape != indices.shape + shape[1:]):
            if is_resource and updates.ndim == indices.ndim + len(shape) - 1:
                if not indices.size:
                    return
                if 0 in shape and updates.shape[: indices.ndim] == indices.shape:
                    scatter_kernels.check_indices(indices, shape[0])
                    return
            raise errors.invalid_argument(
                "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], "
                f"got updates.shape {shape_text(updates.shape)}, indices.shape "
                f"{shape_text(indices.shape)}, params.shape {shape_text(shape)}"
            )
        if updates.shape:
            updates = updates.reshape(indices.size, *shape[1:])
        target, places = cell.writable(), indices.reshape(-1)
        if not shape:
            target = target.reshape(1)
        try:
            scatter_kernels.check_indices(indices, len(target))
        except errors.InvalidArgumentError:
            # As in TensorFlow, rows before the invalid one are written.
            right = places[: int(xp.argmax((places < 0) | (places >= len(target))))]
            rows = updates[: len(right)] if updates.shape else updates
            scatter_kernels.scatter_rows(xp, target, right, rows, operation)
            raise
        scatter_kernels.scatter_rows(xp, target, places, updates, operation)


def _scatter_op(name: str, operation: str, types: str, locking: str) -> OpDefinition:
    @register_op(
        name,
        "ref: Ref(T), indices: Tindices, updates: T -> output_ref: Ref(T)",
        f"T: {types}",
        "Tindices: {int32, int64}",
        f"use_locking: bool = {locking}",
        shape=lambda c: scatter_update_shape(c, c.inputs[0]),
        traits="writes_variable",
    )
    def scatter(xp: Xp, ref: Handle, indices: Array, updates: Array) -> Array:
        scatter_into_rows(xp, ref, indices, updates, operation)
        return ref

    scatter.__doc__ = f"Combines rows into those of a variable: {operation}."
    return scatter


_ORDERED = "{half, bfloat16, float, double, int32, int64}"

scatter_update_op = _scatter_op("ScatterUpdate", "assign", "type", "true")
scatter_add_op = _scatter_op("ScatterAdd", "add", "numbertype", "false")
scatter_sub_op = _scatter_op("ScatterSub", "sub", "numbertype", "false")
scatter_mul_op = _scatter_op("ScatterMul", "mul", "numbertype", "false")
scatter_div_op = _scatter_op("ScatterDiv", "div", "numbertype", "false")
scatter_min_op = _scatter_op("ScatterMin", "min", _ORDERED, "false")
scatter_max_op = _scatter_op("ScatterMax", "max", _ORDERED, "false")

for _op in (scatter_add_op, scatter_sub_op, scatter_mul_op, scatter_div_op):
    _op.not_differentiable()


def scatter_nd_into_cell(
    xp: Xp, cell: RefCell, indices: Array, updates: Array, operation: str, policy: str
) -> None:
    """Combine updates into a variable at coordinates."""
    with cell.lock:
        shape = cell.read().shape
        if not shape:
            raise errors.invalid_argument(
                f"Output must be at least 1-D, got shape: {shape_text(shape)}"
            )
        scatter_nd_ops.check_nd(shape, indices, updates)
        if updates.size:
            target = cell.writable()
            try:
                scatter_nd_ops.scatter_nd_into(xp, target, indices, updates, operation, policy)
            except errors.InvalidArgumentError:
                # As in TensorFlow, updates with valid coordinates are written.
                scatter_nd_ops.scatter_nd_into(xp, target, indices, updates, operation, "IGNORE")
                raise


def _scatter_nd_shape(c: InferenceContext) -> TensorShape:
    c.with_rank_at_least(2, 1)
    return scatter_nd_ops.scatter_nd_shape_of(c, c.inputs[0], 1, 2)


def _scatter_nd_op(name: str, operation: str, types: str, locking: str) -> OpDefinition:
    @register_op(
        name,
        "ref: Ref(T), indices: Tindices, updates: T -> output_ref: Ref(T)",
        f"T: {types}",
        "Tindices: {int32, int64}",
        f"use_locking: bool = {locking}",
        "bad_indices_policy: string = ''",
        shape=_scatter_nd_shape,
        traits="writes_variable",
    )
    def scatter(
        xp: Xp, ref: Handle, indices: Array, updates: Array, *, bad_indices_policy: str
    ) -> Array:
        scatter_nd_into_cell(xp, ref, indices, updates, operation, bad_indices_policy)
        return ref

    scatter.__doc__ = f"Combines slices into those of a variable: {operation}."
    return scatter


scatter_nd_update_op = _scatter_nd_op("ScatterNdUpdate", "assign", "type", "true")
scatter_nd_add_op = _scatter_nd_op("ScatterNdAdd", "add", "numbertype", "false")
scatter_nd_sub_op = _scatter_nd_op("ScatterNdSub", "sub", "numbertype", "false")
scatter_nd_min_op = _scatter_nd_op("ScatterNdMin", "min", "numbertype", "false")
scatter_nd_max_op = _scatter_nd_op("ScatterNdMax", "max", "numbertype", "false")

for _op in (scatter_nd_update_op, scatter_nd_add_op, scatter_nd_sub_op):
    _op.not_differentiable()

# ----------------------------------------------------------------------------------- tf.assign etc.


def _is_ref(ref: Handle) -> bool:
    dtype = getattr(ref, "dtype", None)
    return bool(getattr(dtype, "is_ref_dtype", False))


def assign(
    ref: Handle,
    value: TensorLike,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Give a variable a value.

    Args:
      ref: a variable.
      value: the value.
      validate_shape: whether the value must have the variable's shape.
      use_locking: whether the variable is locked during the assignment.
      name: the name of the op.

    Returns:
      The variable after the assignment.
    """
    if _is_ref(ref):
        return assign_op(
            ref,
            value,
            validate_shape=True if validate_shape is None else validate_shape,
            use_locking=True if use_locking is None else use_locking,
            name=name,
        )
    return ref.assign(value, name=name)


def assign_add(
    ref: Handle, value: TensorLike, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Add to a variable and return its new value."""
    if _is_ref(ref):
        return assign_add_op(ref, value, use_locking=bool(use_locking), name=name)
    return ref.assign_add(value)


def assign_sub(
    ref: Handle, value: TensorLike, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Subtract from a variable and return its new value."""
    if _is_ref(ref):
        return assign_sub_op(ref, value, use_locking=bool(use_locking), name=name)
    return ref.assign_sub(value)


def count_up_to(ref: Handle, limit: int, name: str | None = None) -> TensorResult:
    """Return the value of a counter, and increase it; at the limit, raise an error."""
    if _is_ref(ref):
        return count_up_to_op(ref, limit=limit, name=name)
    resource_count_up_to = op_registry.get("ResourceCountUpTo")
    return resource_count_up_to(ref.handle, limit, T=ref.dtype, name=name)


def is_variable_initialized(variable: VariableLike) -> Any:
    """Return whether a variable has a value."""
    if _is_ref(variable):
        return is_variable_initialized_op(ref=variable)
    return variable.is_initialized()


def _scatter(
    kind: str,
    ref: Handle,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool,
    name: str | None,
) -> Any:
    if _is_ref(ref):
        op = globals()[f"scatter_{kind}_op"]
        return op(ref, indices, updates, use_locking=use_locking, name=name)
    op = op_registry.get(f"ResourceScatter{kind.title().replace('_', '')}")
    handle = ref.handle
    done = op(
        handle,
        indices,
        convert_to_tensor(updates, dtype=ref.dtype),
        name=name,
    )
    return ref._lazy_read(done)


def scatter_update(
    ref: Handle,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = True,
    name: str | None = None,
) -> Any:
    """Assign ``updates[i]`` to row ``indices[i]`` of a variable."""
    return _scatter("update", ref, indices, updates, use_locking, name)


def scatter_add(
    ref: Handle,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Add ``updates[i]`` to row ``indices[i]`` of a variable."""
    return _scatter("add", ref, indices, updates, use_locking, name)


def scatter_sub(
    ref: Handle,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Subtract ``updates[i]`` from row ``indices[i]`` of a variable."""
    return _scatter("sub", ref, indices, updates, use_locking, name)


def scatter_mul(
    ref: Handle,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Multiply row ``indices[i]`` of a variable by ``updates[i]``."""
    return _scatter("mul", ref, indices, updates, use_locking, name)


def scatter_div(
    ref: Handle,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Divide row ``indices[i]`` of a variable by ``updates[i]``."""
    return _scatter("div", ref, indices, updates, use_locking, name)


def scatter_min(
    ref: Handle,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Assign the smaller of row ``indices[i]`` and ``updates[i]`` to the row of a variable."""
    return _scatter("min", ref, indices, updates, use_locking, name)


def scatter_max(
    ref: Handle,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Assign the greater of row ``indices[i]`` and ``updates[i]`` to the row of a variable."""
    return _scatter("max", ref, indices, updates, use_locking, name)


def scatter_nd_update(
    ref: Handle,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = True,
    name: str | None = None,
) -> Any:
    """Assign updates to a variable at coordinates."""
    return _scatter("nd_update", ref, indices, updates, use_locking, name)


def scatter_nd_add(
    ref: Handle,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Add updates to a variable at coordinates."""
    return _scatter("nd_add", ref, indices, updates, use_locking, name)


def scatter_nd_sub(
    ref: Handle,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Subtract updates from a variable at coordinates."""
    return _scatter("nd_sub", ref, indices, updates, use_locking, name)


def batch_scatter_update(
    ref: Handle,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = True,
    name: str | None = None,
) -> Any:
    """Assign updates to rows of a variable, separately for every leading batch.

    Args:
      ref: a variable whose first dimensions are the batch.
      indices: rows; all its dimensions but the last are the batch.
      updates: one row for every index.
      use_locking: whether the variable is locked during the update.
      name: the name of the ops.

    Raises:
      ValueError: the rank of the indices is unknown.
    """
    from tfnb.framework.scopes import name_scope
    from tfnb.ops.array import concat_ops, constant_ops, shape_ops
    from tfnb.ops.array.cast_ops import cast
    from tfnb.ops.math import sequence_ops

    with name_scope(name):
        indices = convert_to_tensor(indices, name="indices")
        sizes = shape_ops.shape(indices)
        rank = indices.shape.ndims
        if rank is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        rows = shape_ops.expand_dims(indices, axis=-1)
        parts = []
        for axis in range(rank - 1):  # The number within each batch dimension.
            size = sizes[axis]
            form = [1] * axis + [size] + [1] * (rank - axis)
            numbers = shape_ops.reshape(sequence_ops.range_op(0, size, 1), form)
            parts.append(cast(numbers, rows.dtype) * constant_ops.ones_like(rows))
        places = concat_ops.concat([*parts, rows], axis=-1)
        return scatter_nd_update(ref, places, updates, use_locking=use_locking)
