"""Ops that apply the gradients of optimizers, such as ApplyAdam and SparseApplyFtrl.

Each algorithm is one rule: a function from the variable, its slots, the hyperparameters and the
gradient to the new variable and slots. Each rule defines up to four ops:

* ``ApplyX``: reference variables, dense gradient; returns the variable.
* ``ResourceApplyX``: the same for resource variables; returns nothing.
* ``SparseApplyX`` and ``ResourceSparseApplyX``: only the rows named by ``indices`` have a gradient.
  A repeated index is applied repeatedly, in order.

Variables are updated in place if there is no other reference to their arrays. The locks of all
variables of one op are held during its update, taken in one fixed order. Large variables are
updated in tiles that stay in cache. Corresponds to TensorFlow's ``training_ops.cc``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import OpDefinition, register_op
from tfnb.core.process.records import record
from tfnb.core.process.work_sharder import shard
from tfnb.core.resource_mgr import RefCell, ResourceHandle
from tfnb.core.shape_inference import (
    InferenceContext,
    merge_dims,
    merge_shapes,
    require_rank,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.large_arrays import is_large
from tfnb.ops.state.in_place_updates import IN_PLACE
from tfnb.ops.state.update_rows import apply_rows, check_rows

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Attr, Outputs, Xp
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.framework.tensor_types import TensorLike

# Elements of a tile: a few arrays of this size fit into a core's L2 cache.
_TILE = 1 << 15
# Minimum number of tiles per thread.
_LEAST_TILES = 4

type_of_rule = Callable[..., tuple[Any, ...]]


@record(slots=True, frozen=True)
class ApplyOps:
    """The ops made from one rule; None where TensorFlow has no such op."""

    dense: Any = None
    resource: Any = None
    sparse: TensorLike = None
    resource_sparse: Any = None


@record(frozen=True)
class _Form:
    """The order of one op's inputs: slots first, then hyperparameters.

    Gradient and indices are in the op's order.
    """

    op_type: str
    rule: type_of_rule
    num_slots: int
    names: tuple[str, ...]
    is_sparse: bool

    @cached_property
    def rule_name(self) -> str:
        """The part of the op's name after Apply."""
        return self.op_type.split("Apply")[1]

    @cached_property
    def grad(self) -> int:
        """The position of the gradient among the inputs."""
        return next(i for i, name in enumerate(self.names) if name in ("grad", "delta"))

    @property
    def indices(self) -> int:
        """The position of the indices among the inputs."""
        return self.names.index("indices")


def optimizer(
    name: str,
    slots: str,
    inputs: str,
    *attrs: str,
    forms: str = "Apply ResourceApply",
) -> Callable[[type_of_rule], ApplyOps]:
    """Register the ops of one rule.

    Args:
      name: the part of the ops' names after ``Apply``.
      slots: the names of the variables, ``var`` first.
      inputs: the names of the other inputs in order; sparse forms get ``indices`` after the
        gradient.
      *attrs: attributes beside T and use_locking.
      forms: the ops to register, by the part of their names before `name`.
    """

    def register(rule: type_of_rule) -> ApplyOps:
        made: dict[str, OpDefinition] = {
            form: _register_form(form, name, slots.split(), inputs.split(), attrs, rule)
            for form in forms.split()
        }
        return ApplyOps(
            made.get("Apply"),
            made.get("ResourceApply"),
            made.get("SparseApply"),
            made.get("ResourceSparseApply"),
        )

    return register


def _register_form(
    form: str,
    name: str,
    slots: list[str],
    inputs: list[str],
    attrs: tuple[str, ...],
    rule: type_of_rule,
) -> OpDefinition:
    is_resource, is_sparse = form.startswith("Resource"), "Sparse" in form
    names = []
    for word in inputs:
        names.append(word)
        if is_sparse and word in ("grad", "delta"):
            names.append("indices")
    if is_sparse:
        # The dense op calls the input delta, the sparse one grad.
        names = ["grad" if word == "delta" else word for word in names]
    fixed = {"global_step": "int64", "indices": "Tindices"}
    parts = [f"{slot}: {'resource' if is_resource else 'Ref(T)'}" for slot in slots]
    parts += [f"{word}: {fixed.get(word, 'T')}" for word in names]
    specs = ["T: numbertype"]
    if is_sparse:
        specs.append("Tindices: {int32, int64}")
    specs += ["use_locking: bool = false", *attrs]
    op_type = form + name
    layout = _Form(op_type, rule, len(slots), (*slots, *names), is_sparse)
    declare = register_op(
        op_type,
        f"{', '.join(parts)} ->{'' if is_resource else ' out: Ref(T)'}",
        *specs,
        shape=_shape_function(layout, is_resource),
        stateful=is_resource,
        traits="writes_variable",
    )
    return declare(_kernel(layout, is_resource))


# ------------------------------------------------------------------------------------------- shapes


def _shape_function(form: _Form, is_resource: bool) -> Callable[[InferenceContext], Any]:
    def infer(c: InferenceContext) -> TensorShape | list[TensorShape]:
        shape = _variable_shape(c, 0, is_resource)
        for index in range(1, form.num_slots):
            shape = merge_shapes(shape, _variable_shape(c, index, is_resource))
        for index in range(form.num_slots, len(form.names)):
            if index != form.grad and form.names[index] != "indices":
                require_rank(c.inputs[index], 0)
        grad = c.inputs[form.grad]
        if is_resource and form.rule_name != "GradientDescent":
            # TensorFlow reads the gradient's handle shape, which only variables have, so nothing is
            # checked.
            if form.is_sparse:
                c.with_rank(form.indices, 1)
            return []
        shape = _merge_rows(c, form, shape, grad) if form.is_sparse else merge_shapes(shape, grad)
        return [] if is_resource else shape

    return infer


def _variable_shape(c: InferenceContext, index: int, is_resource: bool) -> TensorShape:
    if not is_resource:
        return c.inputs[index]
    data = c.input_handle_data(index)
    return data[0][1] if data else TensorShape(None)


def _merge_rows(
    c: InferenceContext, form: _Form, shape: TensorShape, grad: TensorShape
) -> TensorShape:
    indices = require_rank(c.inputs[form.indices], 1).dim_values
    assert indices is not None
    rows = grad.dim_values
    if rows is None:
        return shape
    if not rows:
        raise ValueError("Shape must be at least rank 1 but is rank 0")
    merge_dims(indices[0], rows[0])
    return merge_shapes(shape, TensorShape([None, *rows[1:]]))


# ------------------------------------------------------------------------------------------ kernels


# TensorFlow's checks of the hyperparameters of some ops: the bounds and their names.
_BOUNDS: dict[str, Callable[[Any, bool | None], Any]] = {
    "lr": lambda x, or_zero: x > 0 or (or_zero and x == 0),
    "lr_power": lambda x, _: x <= 0,
    "l1": lambda x, _: x >= 0,
    "l2": lambda x, _: x >= 0,
    "l2_shrinkage": lambda x, _: x >= 0,
}
_SIGNS = {"lr": "positive", "lr_power": "non-positive"}


def _kernel(form: _Form, is_resource: bool) -> Callable[..., Any]:
    num_slots, grad_at, grad_name = form.num_slots, form.grad, form.names[form.grad]
    scalars = [
        (index, name)
        for index, name in enumerate(form.names)
        if index >= num_slots and name not in ("grad", "delta", "indices")
    ]

    bounded = form.rule_name == "ProximalAdagrad" or (
        form.is_sparse and form.rule_name in ("Ftrl", "FtrlV2")
    )

    def apply(
        xp: Xp, cells: list[RefCell], inputs: tuple[Array, ...], options: dict[str, Attr]
    ) -> None:
        """Update the variables, whose locks are held."""
        arrays = []
        for index, cell in enumerate(cells):
            if cell.value is None:
                raise errors.failed_precondition(
                    f"Attempting to use uninitialized variables: {cell.name} ({form.names[index]} "
                    f"of {form.op_type})"
                )
            arrays.append(cell.writable())
        others = list(inputs[num_slots:])
        if form.is_sparse:
            _apply_sparse(xp, form, arrays, others, options)
        else:
            _check_shapes(arrays, inputs[grad_at], grad_name)
            _apply_dense(xp, form, arrays, others, options)

    def kernel(
        node: OpKernelContext,
        *inputs: Array,
        use_nesterov: bool | None = None,
        update_slots: bool | None = None,
        multiply_linear_by_lr: bool | None = None,
    ) -> Outputs:
        options = {}
        if use_nesterov is not None:
            options["use_nesterov"] = use_nesterov
        if update_slots is not None:
            options["update_slots"] = update_slots
        if multiply_linear_by_lr is not None:
            options["multiply_linear_by_lr"] = multiply_linear_by_lr
        cells = [
            _cell(node, entry) if isinstance(entry, ResourceHandle) else entry
            for entry in inputs[:num_slots]
        ]
        for index, name in scalars:
            if inputs[index].ndim:
                if name == "sign_decay" and inputs[index].size == 1:
                    continue  # TensorFlow does not check it
                shape = shape_text(inputs[index].shape)
                raise errors.invalid_argument(f"{name} is not a scalar: {shape}")
            if bounded and not _BOUNDS[name](inputs[index], multiply_linear_by_lr):
                raise errors.invalid_argument(
                    f"{name} is not a {_SIGNS.get(name, 'non-negative')} scalar: {inputs[index]}"
                )
        locked = cells if num_slots == 1 else sorted(dict.fromkeys(cells), key=id)
        if len(locked) > 3:
            with ExitStack() as locks:
                for cell in locked:
                    locks.enter_context(cell.lock)
                apply(node.xp, cells, inputs, options)
        else:
            # A lock may be taken repeatedly, so the last one stands for those that are missing.
            with locked[0].lock, locked[len(locked) // 2].lock, locked[-1].lock:
                apply(node.xp, cells, inputs, options)
        return None if is_resource else inputs[0]

    kernel.__doc__ = form.rule.__doc__
    return kernel


def _cell(node: OpKernelContext, entry: ResourceHandle) -> RefCell:
    try:
        found: RefCell = node.resource_manager.lookup(entry, RefCell)
    except errors.NotFoundError:
        raise _uninitialized(entry.name) from None
    return found


def _uninitialized(name: str) -> errors.FailedPreconditionError:
    return errors.failed_precondition(
        f"Error while reading resource variable {name} from Container: localhost. This could mean "
        "that the variable was uninitialized. Attempting to use uninitialized variables."
    )


def _check_shapes(arrays: list[Array], grad: Array, grad_name: str) -> None:
    shape = arrays[0].shape
    for index, slot in enumerate(arrays):
        if slot.shape != shape:
            raise errors.invalid_argument(
                f"var and slot {index} do not have the same shape{shape_text(shape)} "
                f"{shape_text(slot.shape)}"
            )
    if grad.shape != shape:
        raise errors.invalid_argument(
            f"var and {grad_name} do not have the same shape{shape_text(shape)} "
            f"{shape_text(grad.shape)}"
        )


def _apply_dense(
    xp: Xp, form: _Form, arrays: list[Array], others: list[Array], options: dict[str, Attr]
) -> None:
    at = form.grad - form.num_slots
    update = _in_place(xp, form, arrays, others[at]) or _replacing(xp, form)
    size = arrays[0].size
    if size <= _TILE or xp is not np or not _are_flat(arrays):
        update(*arrays, *others, **options)
        return
    flat = [array.reshape(-1) for array in arrays]
    grad = np.ascontiguousarray(others[at]).reshape(-1)

    def work(first: int, last: int) -> None:
        for start in range(first * _TILE, min(last * _TILE, size), _TILE):
            piece = slice(start, start + _TILE)
            given = [*others[:at], grad[piece], *others[at + 1 :]]
            update(*(array[piece] for array in flat), *given, **options)

    shard(-(-size // _TILE), _LEAST_TILES, work)


def _in_place(xp: Xp, form: _Form, arrays: list[Array], grad: Array) -> Callable[..., None] | None:
    """Return the variant of a rule that overwrites its arrays, if there is one for them."""
    var = arrays[0]
    if not is_large(xp, var, 1) or var.ndim == 0 or var.dtype != grad.dtype:
        return None
    # The cells own their arrays, of which nothing else has a view (``RefCell.writable``), so that
    # two of them share memory only if they are one; nor is the gradient a view of one.
    if len(arrays) > 1 and len({id(array) for array in arrays}) < len(arrays):
        return None
    return IN_PLACE.get(form.rule_name)


def _replacing(xp: Xp, form: _Form) -> Callable[..., None]:
    """Return the rule as a function that writes its results into its arrays."""
    rule, num_slots = form.rule, form.num_slots

    def update(*inputs: Array, **options: Any) -> None:
        for array, new in zip(inputs[:num_slots], rule(xp, *inputs, **options), strict=True):
            if new is not array:
                array[...] = new

    return update


def _are_flat(arrays: list[Array]) -> bool:
    return all(array.flags.c_contiguous for array in arrays)


# TensorFlow refuses empty rows in these ops, and ignores them in the others.
_NO_EMPTY_ROWS = {
    "ApplyAdagrad", "ApplyAdagradDA", "ApplyAdagradV2", "ApplyFtrl", "ApplyFtrlV2",
    "ApplyProximalAdagrad", "ApplyProximalGradientDescent",
}  # fmt: skip


# Rules with another order of computation for sparse gradients in TensorFlow.
_OTHER_IN_ROWS = {"AdagradDA", "Ftrl", "FtrlV2", "RMSProp", "CenteredRMSProp"}

# Rules that check each index just before its update: rows before an invalid index are changed.
_ROW_BY_ROW = {
    "AdagradDA", "Ftrl", "FtrlV2", "KerasMomentum", "Momentum", "ProximalAdagrad",
    "ProximalGradientDescent",
}  # fmt: skip


def _apply_sparse(
    xp: Xp, form: _Form, arrays: list[Array], others: list[Array], options: dict[str, Attr]
) -> None:
    indices = others.pop(form.indices - form.num_slots)
    at = form.grad - form.num_slots
    grad = others[at]
    var = arrays[0]
    check_rows(arrays, grad, indices)
    if var.size == 0 and form.op_type.split("Sparse")[1] in _NO_EMPTY_ROWS and 0 in var.shape[1:]:
        raise errors.invalid_argument("Inner dimension should be greater than zero.")
    if form.rule_name in _OTHER_IN_ROWS:
        options = options | {"is_sparse": True}
    name, rule = form.rule_name, form.rule
    if indices.size and (int(indices.min()) < 0 or int(indices.max()) >= var.shape[0]):
        wrong = int(xp.argmax((indices < 0) | (indices >= var.shape[0])))
        if name in _ROW_BY_ROW:
            before = indices[:wrong]
            apply_rows(xp, rule, name, arrays, grad[:wrong], before, others, at, options)
        raise errors.invalid_argument(
            f"Index {int(indices[wrong])} at offset {wrong} in indices is out of range"
        )
    apply_rows(xp, rule, name, arrays, grad, indices, others, at, options)


# -------------------------------------------------------------------------------------- the rules
#
# A rule returns the new variable and slots in order; an array that is returned itself is
# unchanged.

_ALL = "Apply ResourceApply SparseApply ResourceSparseApply"
_NESTEROV = "use_nesterov: bool = false"
_SLOTS = "update_slots: bool = true"
_BY_LR = "multiply_linear_by_lr: bool = false"


@optimizer("GradientDescent", "var", "alpha delta")
def gradient_descent(xp: Xp, var: Array, alpha: Array, delta: Array) -> tuple[Array, ...]:
    """Update by ``var -= alpha * delta``."""
    return (var - delta * alpha,)


apply_gradient_descent = gradient_descent.dense
resource_apply_gradient_descent = gradient_descent.resource


@optimizer(
    "ProximalGradientDescent",
    "var",
    "alpha l1 l2 delta",
    forms=_ALL,
)
def proximal_gradient_descent(
    xp: Xp, var: Array, alpha: Array, l1: Array, l2: Array, delta: Array
) -> tuple[Array, ...]:
    """Apply gradient descent, then shrink by l1 and l2 (FOBOS)."""
    return (_shrunk(xp, var - delta * alpha, alpha, l1, l2),)


apply_proximal_gradient_descent = proximal_gradient_descent.dense
resource_apply_proximal_gradient_descent = proximal_gradient_descent.resource
sparse_apply_proximal_gradient_descent = proximal_gradient_descent.sparse
resource_sparse_apply_proximal_gradient_descent = proximal_gradient_descent.resource_sparse


def _shrunk(xp: Xp, value: Array, rate: Array, l1: Array, l2: Array) -> Array:
    one = value.dtype.type(1)
    if l1 > 0:
        zero = value.dtype.type(0)
        value = xp.sign(value) * xp.maximum(abs(value) - rate * l1, zero)
    return value / (one + rate * l2)


@optimizer("Adadelta", "var accum accum_update", "lr rho epsilon grad", forms=_ALL)
def adadelta(
    xp: Xp,
    var: Array,
    accum: Array,
    accum_update: Array,
    lr: Array,
    rho: Array,
    epsilon: Array,
    grad: Array,
) -> tuple[Array, ...]:
    """Update by ``accum = rho accum + (1 - rho) grad**2``.

    The step is ``update = sqrt(accum_update + eps) / sqrt(accum + eps) grad``.
    """
    rest = var.dtype.type(1) - rho
    accum = accum * rho + grad * grad * rest
    update = xp.sqrt(accum_update + epsilon) / xp.sqrt(accum + epsilon) * grad
    return var - update * lr, accum, accum_update * rho + update * update * rest


apply_adadelta = adadelta.dense
resource_apply_adadelta = adadelta.resource
sparse_apply_adadelta = adadelta.sparse
resource_sparse_apply_adadelta = adadelta.resource_sparse


@optimizer("Adagrad", "var accum", "lr grad", _SLOTS, forms=_ALL)
def adagrad(
    xp: Xp, var: Array, accum: Array, lr: Array, grad: Array, *, update_slots: bool
) -> tuple[Array, ...]:
    """Update by ``accum += grad**2; var -= lr grad / sqrt(accum)``."""
    if update_slots:
        accum = accum + grad * grad
    return var - grad * lr / xp.sqrt(accum), accum


apply_adagrad = adagrad.dense
resource_apply_adagrad = adagrad.resource
sparse_apply_adagrad = adagrad.sparse
resource_sparse_apply_adagrad = adagrad.resource_sparse


@optimizer("AdagradV2", "var accum", "lr epsilon grad", _SLOTS, forms=_ALL)
def adagrad_v2(
    xp: Xp, var: Array, accum: Array, lr: Array, epsilon: Array, grad: Array, *, update_slots: bool
) -> tuple[Array, ...]:
    """Update by ``accum += grad**2; var -= lr grad / (sqrt(accum) + epsilon)``."""
    if update_slots:
        accum = accum + grad * grad
    return var - grad * lr / (xp.sqrt(accum) + epsilon), accum


apply_adagrad_v2 = adagrad_v2.dense
resource_apply_adagrad_v2 = adagrad_v2.resource
sparse_apply_adagrad_v2 = adagrad_v2.sparse
resource_sparse_apply_adagrad_v2 = adagrad_v2.resource_sparse


@optimizer("ProximalAdagrad", "var accum", "lr l1 l2 grad", forms=_ALL)
def proximal_adagrad(
    xp: Xp, var: Array, accum: Array, lr: Array, l1: Array, l2: Array, grad: Array
) -> tuple[Array, ...]:
    """Apply Adagrad, then shrink by l1 and l2 with the learning rate of each element."""
    accum = accum + grad * grad
    rate = lr / xp.sqrt(accum)
    return _shrunk(xp, var - grad * rate, rate, l1, l2), accum


apply_proximal_adagrad = proximal_adagrad.dense
resource_apply_proximal_adagrad = proximal_adagrad.resource
sparse_apply_proximal_adagrad = proximal_adagrad.sparse
resource_sparse_apply_proximal_adagrad = proximal_adagrad.resource_sparse


@optimizer(
    "AdagradDA",
    "var gradient_accumulator gradient_squared_accumulator",
    "grad lr l1 l2 global_step",
    forms=_ALL,
)
def adagrad_da(
    xp: Xp,
    var: Array,
    gradient_accumulator: Array,
    gradient_squared_accumulator: Array,
    grad: Array,
    lr: Array,
    l1: Array,
    l2: Array,
    global_step: Array,
    *,
    is_sparse: bool = False,
) -> tuple[Array, ...]:
    """Compute the variable from the sums of gradients and of their squares (dual averaging)."""
    scalar = var.dtype.type
    total = gradient_accumulator + grad
    squares = gradient_squared_accumulator + grad * grad
    step = scalar(global_step)
    if is_sparse and var.size > len(var):
        # Rows of several elements, in TensorFlow's order of operations: step 0 gives NaN.
        mean = total / step
        if l1 > 0:
            mean = xp.sign(total) * xp.maximum(abs(total) / step - l1, scalar(0))
        return -mean / (l2 + xp.sqrt(squares) / (step * lr)), total, squares
    denominator = l2 * step * lr + xp.sqrt(squares)
    numerator = total
    if l1 > 0:
        numerator = xp.sign(total) * xp.maximum(abs(total) - l1 * step, scalar(0))
    return -lr * numerator / denominator, total, squares


apply_adagrad_da = adagrad_da.dense
resource_apply_adagrad_da = adagrad_da.resource
sparse_apply_adagrad_da = adagrad_da.sparse
resource_sparse_apply_adagrad_da = adagrad_da.resource_sparse


def _power(xp: Xp, accum: Array, lr_power: Array) -> Array:
    """Return accum**-lr_power."""
    return xp.sqrt(accum) if lr_power == -0.5 else accum**-lr_power


def _ftrl(
    xp: Xp,
    var: Array,
    accum: Array,
    linear: Array,
    grad: Array,
    full_grad: Array,
    lr: Array,
    l1: Array,
    l2: Array,
    lr_power: Array,
    by_lr: bool,
    is_sparse: bool,
) -> tuple[Array, ...]:
    scalar = var.dtype.type
    new_accum = accum + grad * grad
    grown = _power(xp, new_accum, lr_power)
    change = grown - _power(xp, accum, lr_power)
    two = scalar(2)
    if by_lr:
        linear = linear + full_grad * lr - change * var
        limit, denominator = l1 * lr, grown + two * l2 * lr
    else:
        linear = linear + full_grad - change / lr * var
        limit, denominator = l1, grown / lr + two * l2
    if is_sparse:
        # Not xp.clip: NaN inputs must pass through, and a NaN limit must not clip.
        held = xp.where(limit < linear, limit, linear)
        held = xp.where(held < -limit, -limit, held)
        return (held - linear) / denominator, new_accum, linear
    numerator = limit * xp.sign(linear) - linear
    var = xp.where(abs(linear) > limit, numerator / denominator, scalar(0))
    return var, new_accum, linear


@optimizer("Ftrl", "var accum linear", "grad lr l1 l2 lr_power", _BY_LR, forms=_ALL)
def ftrl(
    xp: Xp,
    var: Array,
    accum: Array,
    linear: Array,
    grad: Array,
    lr: Array,
    l1: Array,
    l2: Array,
    lr_power: Array,
    *,
    multiply_linear_by_lr: bool,
    is_sparse: bool = False,
) -> tuple[Array, ...]:
    """Follow the regularized leader, proximal (FTRL)."""
    by_lr = multiply_linear_by_lr
    return _ftrl(xp, var, accum, linear, grad, grad, lr, l1, l2, lr_power, by_lr, is_sparse)


apply_ftrl = ftrl.dense
resource_apply_ftrl = ftrl.resource
sparse_apply_ftrl = ftrl.sparse
resource_sparse_apply_ftrl = ftrl.resource_sparse


@optimizer("FtrlV2", "var accum linear", "grad lr l1 l2 l2_shrinkage lr_power", _BY_LR, forms=_ALL)
def ftrl_v2(
    xp: Xp,
    var: Array,
    accum: Array,
    linear: Array,
    grad: Array,
    lr: Array,
    l1: Array,
    l2: Array,
    l2_shrinkage: Array,
    lr_power: Array,
    *,
    multiply_linear_by_lr: bool,
    is_sparse: bool = False,
) -> tuple[Array, ...]:
    """Apply Ftrl; 2 l2_shrinkage var is added to the gradient, but not for the accumulator."""
    full_grad = grad + var.dtype.type(2) * l2_shrinkage * var
    by_lr = multiply_linear_by_lr
    return _ftrl(xp, var, accum, linear, grad, full_grad, lr, l1, l2, lr_power, by_lr, is_sparse)


apply_ftrl_v2 = ftrl_v2.dense
resource_apply_ftrl_v2 = ftrl_v2.resource
sparse_apply_ftrl_v2 = ftrl_v2.sparse
resource_sparse_apply_ftrl_v2 = ftrl_v2.resource_sparse


@optimizer("Momentum", "var accum", "lr grad momentum", _NESTEROV, forms=_ALL)
def momentum_rule(
    xp: Xp, var: Array, accum: Array, lr: Array, grad: Array, momentum: Array, *, use_nesterov: bool
) -> tuple[Array, ...]:
    """Update by ``accum = momentum accum + grad; var -= lr accum``."""
    accum = accum * momentum + grad
    if use_nesterov:
        return var - (grad * lr + accum * momentum * lr), accum
    return var - accum * lr, accum


apply_momentum = momentum_rule.dense
resource_apply_momentum = momentum_rule.resource
sparse_apply_momentum = momentum_rule.sparse
resource_sparse_apply_momentum = momentum_rule.resource_sparse


@optimizer(
    "KerasMomentum",
    "var accum",
    "lr grad momentum",
    _NESTEROV,
    forms="ResourceApply ResourceSparseApply",
)
def keras_momentum(
    xp: Xp, var: Array, accum: Array, lr: Array, grad: Array, momentum: Array, *, use_nesterov: bool
) -> tuple[Array, ...]:
    """Update by ``accum = momentum accum - lr grad; var += accum``."""
    accum = accum * momentum - grad * lr
    if use_nesterov:
        return var + (accum * momentum - grad * lr), accum
    return var + accum, accum


resource_apply_keras_momentum = keras_momentum.resource
resource_sparse_apply_keras_momentum = keras_momentum.resource_sparse


@optimizer("Adam", "var m v", "beta1_power beta2_power lr beta1 beta2 epsilon grad", _NESTEROV)
def adam(
    xp: Xp,
    var: Array,
    m: Array,
    v: Array,
    beta1_power: Array,
    beta2_power: Array,
    lr: Array,
    beta1: Array,
    beta2: Array,
    epsilon: Array,
    grad: Array,
    *,
    use_nesterov: bool,
) -> tuple[Array, ...]:
    """Apply Adam: m and v are moving averages of grad and grad**2.

    ``var -= lr sqrt(1 - beta2_power) / (1 - beta1_power) m / (sqrt(v) + eps)``.
    """
    one = var.dtype.type(1)
    rate = lr * xp.sqrt(one - beta2_power) / (one - beta1_power)
    m = m + (grad - m) * (one - beta1)
    v = v + (grad * grad - v) * (one - beta2)
    direction = grad * (one - beta1) + beta1 * m if use_nesterov else m
    return var - direction * rate / (xp.sqrt(v) + epsilon), m, v


apply_adam = adam.dense
resource_apply_adam = adam.resource


@optimizer(
    "AdamWithAmsgrad",
    "var m v vhat",
    "beta1_power beta2_power lr beta1 beta2 epsilon grad",
    forms="ResourceApply",
)
def adam_with_amsgrad(
    xp: Xp,
    var: Array,
    m: Array,
    v: Array,
    vhat: Array,
    beta1_power: Array,
    beta2_power: Array,
    lr: Array,
    beta1: Array,
    beta2: Array,
    epsilon: Array,
    grad: Array,
) -> tuple[Array, ...]:
    """Apply Adam with the largest v so far as divisor."""
    one = var.dtype.type(1)
    rate = lr * xp.sqrt(one - beta2_power) / (one - beta1_power)
    m = m + (grad - m) * (one - beta1)
    v = v + (grad * grad - v) * (one - beta2)
    vhat = xp.maximum(vhat, v)
    return var - m * rate / (xp.sqrt(vhat) + epsilon), m, v, vhat


resource_apply_adam_with_amsgrad = adam_with_amsgrad.resource


@optimizer("AdaMax", "var m v", "beta1_power lr beta1 beta2 epsilon grad")
def ada_max(
    xp: Xp,
    var: Array,
    m: Array,
    v: Array,
    beta1_power: Array,
    lr: Array,
    beta1: Array,
    beta2: Array,
    epsilon: Array,
    grad: Array,
) -> tuple[Array, ...]:
    """Apply Adam with the largest decayed absolute value instead of the root mean square."""
    one = var.dtype.type(1)
    m = m + (grad - m) * (one - beta1)
    v = xp.maximum(beta2 * v, abs(grad))
    return var - lr / (one - beta1_power) * (m / (v + epsilon)), m, v


apply_ada_max = ada_max.dense
resource_apply_ada_max = ada_max.resource


def _followed(mean: Array, value: Array, rho: Array, is_sparse: bool) -> Array:
    """Return the moving average; the two formulas differ for infinite values."""
    rest = mean.dtype.type(1) - rho
    return mean * rho + value * rest if is_sparse else mean + (value - mean) * rest


@optimizer("RMSProp", "var ms mom", "lr rho momentum epsilon grad", forms=_ALL)
def rms_prop(
    xp: Xp,
    var: Array,
    ms: Array,
    mom: Array,
    lr: Array,
    rho: Array,
    momentum: Array,
    epsilon: Array,
    grad: Array,
    *,
    is_sparse: bool = False,
) -> tuple[Array, ...]:
    """Apply RMSProp: ms averages grad**2; mom = momentum mom + lr grad / sqrt(ms + epsilon)."""
    ms = _followed(ms, grad * grad, rho, is_sparse)
    mom = mom * momentum + grad * lr / xp.sqrt(ms + epsilon)
    return var - mom, ms, mom


apply_rms_prop = rms_prop.dense
resource_apply_rms_prop = rms_prop.resource
sparse_apply_rms_prop = rms_prop.sparse
resource_sparse_apply_rms_prop = rms_prop.resource_sparse


@optimizer("CenteredRMSProp", "var mg ms mom", "lr rho momentum epsilon grad", forms=_ALL)
def centered_rms_prop(
    xp: Xp,
    var: Array,
    mg: Array,
    ms: Array,
    mom: Array,
    lr: Array,
    rho: Array,
    momentum: Array,
    epsilon: Array,
    grad: Array,
    *,
    is_sparse: bool = False,
) -> tuple[Array, ...]:
    """Apply RMSProp with the variance as divisor; mg is the mean gradient."""
    ms = _followed(ms, grad * grad, rho, is_sparse)
    mg = _followed(mg, grad, rho, is_sparse)
    mom = mom * momentum + grad * lr / xp.sqrt(ms - mg * mg + epsilon)
    return var - mom, mg, ms, mom


apply_centered_rms_prop = centered_rms_prop.dense
resource_apply_centered_rms_prop = centered_rms_prop.resource
sparse_apply_centered_rms_prop = centered_rms_prop.sparse
resource_sparse_apply_centered_rms_prop = centered_rms_prop.resource_sparse


@optimizer("AddSign", "var m", "lr alpha sign_decay beta grad")
def add_sign(
    xp: Xp,
    var: Array,
    m: Array,
    lr: Array,
    alpha: Array,
    sign_decay: Array,
    beta: Array,
    grad: Array,
) -> tuple[Array, ...]:
    """Apply AddSign: the step is larger where gradient and momentum have the same sign."""
    m = m * beta + grad * (var.dtype.type(1) - beta)
    agreement = xp.sign(grad) * xp.sign(m)
    return var - lr * (alpha + sign_decay * agreement) * grad, m


apply_add_sign = add_sign.dense
resource_apply_add_sign = add_sign.resource


@optimizer("PowerSign", "var m", "lr logbase sign_decay beta grad")
def power_sign(
    xp: Xp,
    var: Array,
    m: Array,
    lr: Array,
    logbase: Array,
    sign_decay: Array,
    beta: Array,
    grad: Array,
) -> tuple[Array, ...]:
    """Apply PowerSign: the step grows by a power where gradient and momentum have the same sign."""
    m = m * beta + grad * (var.dtype.type(1) - beta)
    agreement = xp.sign(grad) * xp.sign(m)
    return var - lr * xp.exp(logbase * sign_decay * agreement) * grad, m


apply_power_sign = power_sign.dense
resource_apply_power_sign = power_sign.resource
