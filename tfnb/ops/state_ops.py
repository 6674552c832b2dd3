"""Reference variables: made, assigned, counted, scattered into.

A reference edge carries a ``RefCell``; the variable's kernel hands out the one cell that its
container holds, so that two ops with one ``shared_name`` are one variable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.resource_mgr import RefCell
from tfnb.core.shape_inference import (
    SCALAR_SHAPE,
    InferenceContext,
    merge_shapes,
    unchanged_shape,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.gather_ops import check_indices
from tfnb.ops.scatter_kernels import scatter_rows

if TYPE_CHECKING:
    from tfnb.core.op_kernel import OpKernelContext

_TYPE = "LegacyVariable"
_NUMBERS = "T: numbertype"


def _declared_shape(c: InferenceContext) -> TensorShape:
    shape: TensorShape = c.attrs["shape"]
    return shape


def _variable_v1_shape(c: InferenceContext) -> TensorShape:
    # The first version could not tell a scalar from an unknown shape.
    shape: TensorShape = c.attrs["shape"]
    return shape if shape.dim_values else TensorShape(None)


def _variable(
    ctx: OpKernelContext, shape: Any, dtype: Any, container: str, shared_name: str
) -> RefCell:
    cell = ctx.kernel_state.get("cell")
    if (
        cell is None
        or ctx.resource_manager.find(container, _TYPE, shared_name or ctx.node_name) is not cell
    ):
        name = shared_name or ctx.node_name
        cell = ctx.resource_manager.lookup_or_create(
            container, _TYPE, name, lambda: RefCell(name, dtype, shape)
        )
        if cell.dtype is not dtype:
            raise errors.invalid_argument(
                f"Variable '{name}' holds {cell.dtype.name}, but node '{ctx.node_name}' takes it "
                f"for {dtype.name}."
            )
        ctx.kernel_state["cell"] = cell
    return cast("RefCell", cell)


@register_op(
    "VariableV2",
    "-> ref: Ref(dtype)",
    "shape: shape",
    "dtype: type",
    "container: string = ''",
    "shared_name: string = ''",
    stateful=True,
    shape=_declared_shape,
)
def variable_v2(
    ctx: OpKernelContext, *, shape: Any, dtype: Any, container: str, shared_name: str
) -> RefCell:
    """The variable of this name; empty until something is assigned."""
    return _variable(ctx, shape, dtype, container, shared_name)


@register_op(
    "Variable",
    "-> ref: Ref(dtype)",
    "shape: shape",
    "dtype: type",
    "container: string = ''",
    "shared_name: string = ''",
    stateful=True,
    shape=_variable_v1_shape,
)
def variable_op(
    ctx: OpKernelContext, *, shape: Any, dtype: Any, container: str, shared_name: str
) -> RefCell:
    """The first version of VariableV2."""
    return _variable(ctx, shape, dtype, container, shared_name)


@register_op(
    "TemporaryVariable",
    "-> ref: Ref(dtype)",
    "shape: shape",
    "dtype: type",
    "var_name: string = ''",
    stateful=True,
    shape=_declared_shape,
)
def temporary_variable(ctx: OpKernelContext, *, shape: Any, dtype: Any, var_name: str) -> RefCell:
    """A variable of this step, which DestroyTemporaryVariable ends."""
    name = var_name or ctx.node_name
    cell = RefCell(name, dtype, shape)
    cell.assign(ctx.xp.zeros(tuple(shape.as_list()), dtype.numpy_dtype))
    ctx.step_container.create("tmp_var", "TmpVar", _place(ctx, name), cell)
    return cell


def _place(ctx: OpKernelContext, name: str) -> str:
    return f"{name}/{ctx.frame_id}:{ctx.iteration}"


@register_op(
    "DestroyTemporaryVariable",
    "ref: Ref(T) -> value: T",
    "T: type",
    "var_name: string",
    shape=unchanged_shape,
)
def destroy_temporary_variable(ctx: OpKernelContext, ref: Any, *, var_name: str) -> Any:
    """The last value of a temporary variable."""
    value = ref.read()
    ctx.step_container.delete(
        ctx.step_container.make_handle(_place(ctx, var_name), "TmpVar", container="tmp_var")
    )
    return value


# -- assigning


def _assign_shape(c: InferenceContext) -> TensorShape:
    if c.attr("validate_shape"):
        return merge_shapes(c.inputs[0], c.inputs[1])
    return c.inputs[1]


@register_op(
    "Assign",
    "ref: Ref(T), value: T -> output_ref: Ref(T)",
    "T: type",
    "validate_shape: bool = true",
    "use_locking: bool = true",
    allows_uninitialized_input=True,
    shape=_assign_shape,
)
def assign(xp: Any, ref: RefCell, value: Any, *, validate_shape: bool) -> RefCell:
    """Gives the variable a value; one of another shape only where ``validate_shape`` is off."""
    if validate_shape:
        before = ref.value
        known = ref.shape
        if before is not None and before.shape != value.shape:
            _refuse_shape(list(before.shape), value)
        if (
            before is None
            and known is not None
            and not known.is_compatible_with(TensorShape(list(value.shape)))
        ):
            _refuse_shape(known, value)
    ref.assign(value)
    return ref


def _refuse_shape(expected: Any, value: Any) -> None:
    raise errors.invalid_argument(
        "Assign requires shapes of both tensors to match. lhs shape= "
        f"{_dims(expected)} rhs shape= {_dims(list(value.shape))}"
    )


def _dims(shape: Any) -> str:
    if isinstance(shape, TensorShape):
        return str(shape)
    return f"[{','.join(str(size) for size in shape)}]"


def _check_same_shape(ref: RefCell, value: Any) -> None:
    before = ref.read()
    if before.shape != value.shape:
        raise errors.invalid_argument(
            "variable and value shapes must match: lhs shape= "
            f"{_dims(before.shape)} rhs shape= {_dims(value.shape)}"
        )


def _merged_shape(c: InferenceContext) -> TensorShape:
    return merge_shapes(c.inputs[0], c.inputs[1])


@register_op(
    "AssignAdd",
    "ref: Ref(T), value: T -> output_ref: Ref(T)",
    _NUMBERS,
    "use_locking: bool = false",
    shape=_merged_shape,
)
def assign_add(xp: Any, ref: RefCell, value: Any) -> RefCell:
    """variable += value."""
    with ref.lock:
        _check_same_shape(ref, value)
        ref.assign(ref.value + value)
    return ref


@register_op(
    "AssignSub",
    "ref: Ref(T), value: T -> output_ref: Ref(T)",
    _NUMBERS,
    "use_locking: bool = false",
    shape=_merged_shape,
)
def assign_sub(xp: Any, ref: RefCell, value: Any) -> RefCell:
    """variable -= value."""
    with ref.lock:
        _check_same_shape(ref, value)
        ref.assign(ref.value - value)
    return ref


@register_op(
    "IsVariableInitialized",
    "ref: Ref(dtype) -> is_initialized: bool",
    "dtype: type",
    allows_uninitialized_input=True,
    shape=lambda c: SCALAR_SHAPE,
    host_memory=("is_initialized",),
)
def is_variable_initialized_op(xp: Any, ref: RefCell) -> Any:
    """Whether a value was assigned."""
    return np.bool_(ref.is_initialized)


@register_op(
    "CountUpTo",
    "ref: Ref(T) -> output: T",
    "limit: int",
    "T: {int32, int64}",
    shape=lambda c: c.with_rank(0, 0),
    devices=("CPU",),
)
def count_up_to_op(xp: Any, ref: RefCell, *, limit: int, T: Any) -> Any:
    """The variable's value, which then grows by one, until it has reached ``limit``."""
    return count_up_to_value(ref, limit, T)


def count_up_to_value(cell: RefCell, limit: int, dtype: Any) -> Any:
    """Reads a counter and adds one.

    Raises:
      OutOfRangeError: it has reached ``limit``.
      InvalidArgumentError: it is no scalar.
    """
    with cell.lock:
        before = cell.read()
        if getattr(before, "ndim", 0):
            raise errors.invalid_argument(f"input is not a scalar: {_dims(before.shape)}")
        if int(before) >= limit:
            raise errors.out_of_range(f"Reached limit of {limit}")
        scalar = dtype.as_numpy_dtype(before)
        cell.assign(dtype.as_numpy_dtype(int(before) + 1))
    return scalar


# -- scattering


def _scatter_shape(c: InferenceContext) -> TensorShape:
    ref, indices, updates = c.inputs
    if updates.dim_values == ():
        return ref
    a, b = ref.dim_values, indices.dim_values
    if a is not None and b is not None and a:
        merge_shapes(updates, TensorShape([*b, *a[1:]]))
    return ref


def scatter_into(xp: Any, cell: RefCell, indices: Any, updates: Any, operation: str) -> None:
    """Combines ``updates`` into the rows of a variable that ``indices`` name.

    Raises:
      InvalidArgumentError: an index is out of range, or the shapes do not fit.
    """
    with cell.lock:
        target = cell.writable()
        if target.ndim < 1:
            raise errors.invalid_argument(
                f"params must be at least 1-D, got shape {_dims(target.shape)}"
            )
        indices = xp.asarray(indices)
        updates = xp.asarray(updates)
        wanted = (*indices.shape, *target.shape[1:])
        if updates.ndim and updates.shape != wanted:
            raise errors.invalid_argument(
                "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = "
                f"[], got updates.shape {_dims(updates.shape)}, indices.shape "
                f"{_dims(indices.shape)}, params.shape {_dims(target.shape)}"
            )
        if xp is np:
            check_indices(indices, target.shape[0])
        rows = updates.reshape((-1, *target.shape[1:])) if updates.ndim else updates
        scatter_rows(xp, target, indices.reshape(-1), rows, operation)


def _scatter(name: str, operation: str, types: str, locking: str, doc: str) -> Any:
    @register_op(
        name,
        "ref: Ref(T), indices: Tindices, updates: T -> output_ref: Ref(T)",
        types,
        "Tindices: {int32, int64}",
        f"use_locking: bool = {locking}",
        shape=_scatter_shape,
    )
    def scatter(xp: Any, ref: RefCell, indices: Any, updates: Any) -> RefCell:
        scatter_into(xp, ref, indices, updates, operation)
        return ref

    scatter.__doc__ = doc
    scatter.not_differentiable()
    return scatter


_ORDERED = "T: {half, bfloat16, float, double, int32, int64}"
scatter_update_op = _scatter("ScatterUpdate", "assign", "T: type", "true", "ref[i] = u.")
scatter_add_op = _scatter("ScatterAdd", "add", _NUMBERS, "false", "ref[i] += u.")
scatter_sub_op = _scatter("ScatterSub", "sub", _NUMBERS, "false", "ref[i] -= u.")
scatter_mul_op = _scatter("ScatterMul", "mul", _NUMBERS, "false", "ref[i] *= u.")
scatter_div_op = _scatter("ScatterDiv", "div", _NUMBERS, "false", "ref[i] /= u.")
scatter_min_op = _scatter("ScatterMin", "min", _ORDERED, "false", "ref[i] = min(ref[i], u).")
scatter_max_op = _scatter("ScatterMax", "max", _ORDERED, "false", "ref[i] = max(ref[i], u).")


for _op in (assign, assign_add, assign_sub, count_up_to_op, is_variable_initialized_op):
    _op.not_differentiable()
