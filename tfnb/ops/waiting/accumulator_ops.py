"""Conditional accumulators: sums of gradients that can be taken once there are enough.

Each gradient has the global step at which its variables were read; a gradient older than the
accumulator's own step is dropped. A take returns the mean or the sum, and increments the step;
until there are enough gradients, it waits without holding a thread. Corresponds to
``conditional_accumulator_base.cc`` and related kernels.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.node_text import shape_text
from tfnb.core.op_registry import OpDefinition, register_op
from tfnb.core.resource_mgr import owned
from tfnb.core.shape_inference import SCALAR_SHAPE, UNKNOWN_SHAPE, InferenceContext
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.attempts import NOT_YET, Attempt, Attempts
from tfnb.ops.base.named_resources import as_reference, find_resource, own_resource, pair_shape
from tfnb.ops.math.cwise_binary_ops import cut_quotient

if TYPE_CHECKING:
    from tfnb.core.cancellation import CancellationManager
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Handle, Outputs
    from tfnb.core.op_kernel import OpKernelContext, type_of_done
    from tfnb.core.resource_mgr import RefCell, ResourceHandle
    from tfnb.framework.tensor_types import TensorLike

_log = logging.getLogger("tfnb")


class Accumulator:
    """The base class of both kinds of accumulators; thread-safe.

    Args:
      name: the name in messages.
      dtype: the gradients' type.
      shape: the gradients' shape, as far as it is known.
      is_mean: whether to take the mean instead of the sum.
    """

    def __init__(self, name: str, dtype: DType, shape: TensorShape, is_mean: bool) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.is_mean = is_mean
        self._attempts = Attempts()
        self._count = 0  # guarded by self._attempts.lock
        self._step = 0  # guarded by self._attempts.lock
        self._total: TensorLike = None  # guarded by self._attempts.lock

    def _sum_with(self, gradient: Any) -> Any:
        """Return the total plus one more gradient; only the gradient if ``self._count`` is 0."""
        raise NotImplementedError

    def _result(self) -> Any:
        """Return the mean or sum for a take."""
        raise NotImplementedError

    def state_text(self, name: str) -> str:
        """Return the accumulator's state as text, for reports on a waiting step."""
        return f"accumulator '{name}' ({self._count} gradients inside, step {self._step})"

    def num_accumulated(self) -> int:
        """Return the number of accumulated gradients."""
        return self._count

    def apply(self, local_step: int, gradient: Any) -> None:
        """Add a gradient, unless it is older than the accumulator's step."""

        def add() -> None:
            if local_step >= self._step:
                self._total = self._sum_with(gradient)
                self._count += 1

        self._attempts.change(add)

    def take(self, num_required: int, done: type_of_done, manager: CancellationManager) -> None:
        """Call ``done`` with the mean or sum, once there are ``num_required`` gradients."""

        def serve() -> Any:
            if self._count < num_required:
                return NOT_YET
            result = self._result()
            self._total = None
            self._count = 0
            self._step += 1
            return result

        self._attempts.add(Attempt(serve, done, manager, "take", "TakeGrad"))

    def set_global_step(self, step: int) -> None:
        """Set the step; gradients of earlier steps are dropped."""
        with self._attempts.lock:
            if step < self._step:
                _log.warning(
                    "Attempt to set current_global_step_ to smaller value: current_global_step_ = "
                    "%d >= %d = new_global_step.", self._step, step,
                )  # fmt: skip
            self._step = step


class DenseAccumulator(Accumulator):
    """An accumulator of tensors."""

    def _sum_with(self, gradient: Array) -> Array:
        found = TensorShape(list(np.shape(gradient)))
        if not self.shape.is_compatible_with(found):
            raise errors.invalid_argument(
                f"Shape mismatch: expected {shape_text(self.shape)}, got {shape_text(found)}"
            )
        if not self._count:
            return owned(gradient)
        if np.shape(self._total) != np.shape(gradient):
            here = shape_text(TensorShape(list(np.shape(self._total))))
            raise errors.invalid_argument(
                f"Shape mismatch: expected {here}, got {shape_text(found)}"
            )
        return self._total + gradient

    def _result(self) -> Array:
        return _divided(self._total, self._count) if self.is_mean else self._total


def _divided(total: Array, count: Array) -> Array:
    """Return the mean; integer quotients are truncated towards zero."""
    dtype = np.asarray(total).dtype
    count = np.asarray(count).astype(dtype)
    if dtype.kind in "iu":
        return cut_quotient(np.asarray(total), count)
    return total / count


class SparseAccumulator(Accumulator):
    """An accumulator of rows; a row's mean divides by the number of gradients that contain it.

    The total holds the row numbers, their sums, and the number of gradients of each row.
    """

    def _sum_with(self, gradient: Array) -> Outputs:
        indices, values, shape = gradient
        self._check(indices, values, shape)
        if self._count:
            indices = np.concatenate([self._total[0], indices])
            values = np.concatenate([self._total[1], values])
            counts = np.concatenate([self._total[2], np.ones(len(gradient[0]), np.int64)])
        else:
            counts = np.ones(len(indices), np.int64)
        rows, places = np.unique(indices, return_inverse=True)
        sums = np.zeros((len(rows), *values.shape[1:]), values.dtype)
        numbers = np.zeros(len(rows), np.int64)
        np.add.at(sums, places, values)
        np.add.at(numbers, places, counts)
        return rows, sums, numbers

    def _check(self, indices: Array, values: Array, shape: Array) -> None:
        if np.ndim(indices) != 1:
            found = shape_text(TensorShape(list(np.shape(indices))))
            raise errors.invalid_argument(
                f"Input indices should be vector but received shape: {found}"
            )
        if not np.ndim(values):
            raise errors.invalid_argument("Values cannot be 0-dimensional.")
        if len(indices) != len(values):
            raise errors.invalid_argument(
                f"Expected {len(indices)} non-empty input values, got {len(values)}"
            )
        wanted = self.shape.dim_values
        if wanted is not None:
            if shape is not None and len(shape) < len(wanted):
                raise errors.invalid_argument(
                    f"Shape mismatch: expected shape rank at least {len(wanted)}, got {len(shape)}"
                )
            for place, size in enumerate([] if shape is None else shape.tolist()):
                if place < len(wanted) and wanted[place] not in (None, size):
                    raise errors.invalid_argument(
                        f"Shape mismatch: expected shape dim {place} to be {wanted[place]}, got "
                        f"{size}"
                    )
            if values.ndim < len(wanted):
                raise errors.invalid_argument(
                    f"Shape mismatch: expected values rank at least {len(wanted)}, got "
                    f"{values.ndim}"
                )
            for place in range(1, len(wanted)):
                if wanted[place] not in (None, values.shape[place]):
                    raise errors.invalid_argument(
                        f"Shape mismatch: expected values dim {place} to be {wanted[place]}, got "
                        f"{values.shape[place]}"
                    )
            if wanted and wanted[0] is not None:
                for place, index in enumerate(indices.tolist()):
                    if index >= wanted[0]:
                        raise errors.invalid_argument(
                            f"Shape mismatch: index of slice {place} exceeded limits of shape; "
                            f"index is {index} exceeded {wanted[0]}"
                        )
        if self._count:
            self._check_like_total(values)

    def _check_like_total(self, values: Array) -> None:
        """Refuse rows of another shape than that of the rows before."""
        before = self._total[1].shape
        if values.ndim != len(before):
            raise errors.invalid_argument(
                f"Shape mismatch: expected values rank {len(before)}, got {values.ndim}"
            )
        for place in range(1, len(before)):
            if values.shape[place] != before[place]:
                raise errors.invalid_argument(
                    f"Shape mismatch: expected values dim {place} to be {before[place]}, got "
                    f"{values.shape[place]}"
                )

    def _result(self) -> Outputs:
        rows, values, counts = self._total
        if self.is_mean:
            values = _divided(values, counts.reshape((-1,) + (1,) * (values.ndim - 1)))
        known = self.shape.dim_values
        lead = -1 if not known or known[0] is None else known[0]
        return rows, values, np.asarray([lead, *values.shape[1:]], dtype=np.int64)


# -- ops

_TYPE = "Accumulator"
_DTYPE = "dtype: numbertype"
_FORM = (
    _DTYPE, "shape: shape", "container: string = ''", "shared_name: string = ''",
    "reduction_type: { 'MEAN', 'SUM' } = 'MEAN'",
)  # fmt: skip


def _make(ctx: OpKernelContext, kind: type[Accumulator]) -> ResourceHandle:
    attrs = ctx.attrs
    is_mean = attrs["reduction_type"] == b"MEAN"
    return own_resource(
        ctx,
        _TYPE,
        attrs["container"].decode(),
        attrs["shared_name"].decode(),
        lambda name: kind(name, attrs["dtype"], attrs["shape"], is_mean),
    )


def _find(ctx: OpKernelContext, handle: Handle, kind: type[Accumulator] = Accumulator) -> Array:
    found = find_resource(ctx, handle, _TYPE, Accumulator)
    if not isinstance(found, kind):
        raise errors.invalid_argument(
            f"Accumulator '{found.name}' is a {type(found).__name__}, not a {kind.__name__}"
        )
    dtype = ctx.attrs.get("dtype")
    if dtype is not None and found.dtype is not dtype:
        raise errors.invalid_argument(
            f"Accumulator '{found.name}' is of type {found.dtype.name}, not {dtype.name}"
        )
    return found


def _scalar_of(value: Array, what: str) -> int:
    if np.ndim(value):
        bad = shape_text(TensorShape(list(np.shape(value))))
        raise errors.invalid_argument(f"Argument {what} must be scalar, but had bad shape {bad}")
    return int(value)


def _num_required(value: Array) -> int:
    required = _scalar_of(value, "num_required")
    if required <= 0:
        raise errors.invalid_argument(f"Argument num_required must be positive, but was {required}")
    return required


def _scalar(c: InferenceContext) -> TensorShape:
    return SCALAR_SHAPE


def _nothing(c: InferenceContext) -> list[TensorShape]:
    return []


def _unknown(c: InferenceContext) -> list[TensorShape]:
    return [UNKNOWN_SHAPE] * c.num_outputs


@register_op(
    "ConditionalAccumulator", "-> handle: Ref(string)", *_FORM, stateful=True, shape=pair_shape,
    devices=("CPU",),
)  # fmt: skip
def conditional_accumulator(ctx: OpKernelContext) -> Array:
    """Return an accumulator of dense gradients, as a reference."""
    return as_reference(ctx, _make(ctx, DenseAccumulator))


@register_op(
    "ResourceConditionalAccumulator", "-> handle: resource", *_FORM, stateful=True,
    shape=pair_shape, devices=("CPU",),
)  # fmt: skip
def resource_conditional_accumulator(ctx: OpKernelContext) -> Handle:
    """Return an accumulator of dense gradients."""
    return _make(ctx, DenseAccumulator)


@register_op(
    "SparseConditionalAccumulator", "-> handle: Ref(string)", *_FORM, stateful=True,
    shape=pair_shape, devices=("CPU",),
)  # fmt: skip
def sparse_conditional_accumulator(ctx: OpKernelContext) -> Array:
    """Return an accumulator of sparse gradients."""
    return as_reference(ctx, _make(ctx, SparseAccumulator))


@register_op(
    "ResourceAccumulatorApplyGradient", "handle: resource, local_step: int64, gradient: dtype ->",
    _DTYPE, stateful=True, shape=_nothing, devices=("CPU",),
    traits="applies_gradients",
)  # fmt: skip
def resource_accumulator_apply_gradient(
    ctx: OpKernelContext, handle: Array, local_step: Array, gradient: Array
) -> None:
    """Add a gradient, unless it is older than the accumulator's step."""
    found: DenseAccumulator = _find(ctx, handle, DenseAccumulator)
    found.apply(_scalar_of(local_step, "local_step"), gradient)


@register_op(
    "ResourceAccumulatorTakeGradient", "handle: resource, num_required: int32 -> average: dtype",
    _DTYPE, stateful=True, shape=_unknown, devices=("CPU",),
    traits="takes_gradients",
)  # fmt: skip
def resource_accumulator_take_gradient(
    ctx: OpKernelContext, done: type_of_done, handle: Array, num_required: Array
) -> None:
    """Return the mean or sum of the gradients; wait until there are enough."""
    found: DenseAccumulator = _find(ctx, handle, DenseAccumulator)
    found.take(_num_required(num_required), done, ctx.cancellation_manager)


@register_op(
    "ResourceAccumulatorNumAccumulated", "handle: resource -> num_accumulated: int32",
    stateful=True, shape=_scalar, devices=("CPU",),
)  # fmt: skip
def resource_accumulator_num_accumulated(ctx: OpKernelContext, handle: Array) -> Array:
    """Return the number of accumulated gradients."""
    return np.int32(_find(ctx, handle).num_accumulated())


@register_op(
    "ResourceAccumulatorSetGlobalStep", "handle: resource, new_global_step: int64 ->",
    stateful=True, shape=_nothing, devices=("CPU",),
)  # fmt: skip
def resource_accumulator_set_global_step(
    ctx: OpKernelContext, handle: Array, new_global_step: Array
) -> None:
    """Set the step; gradients of earlier steps are dropped."""
    _find(ctx, handle).set_global_step(_scalar_of(new_global_step, "new_global_step"))


# The same kernels accept both kinds of handles.
accumulator_apply_gradient = register_op(
    "AccumulatorApplyGradient", "handle: Ref(string), local_step: int64, gradient: dtype ->",
    _DTYPE, shape=_nothing, devices=("CPU",),
    traits="applies_gradients",
)(resource_accumulator_apply_gradient.kernels["CPU"])  # fmt: skip
accumulator_take_gradient = register_op(
    "AccumulatorTakeGradient", "handle: Ref(string), num_required: int32 -> average: dtype",
    _DTYPE, shape=_unknown, devices=("CPU",),
    traits="takes_gradients",
)(resource_accumulator_take_gradient.kernels["CPU"])  # fmt: skip
accumulator_num_accumulated = register_op(
    "AccumulatorNumAccumulated", "handle: Ref(string) -> num_accumulated: int32", shape=_scalar,
    devices=("CPU",),
)(resource_accumulator_num_accumulated.kernels["CPU"])  # fmt: skip
accumulator_set_global_step = register_op(
    "AccumulatorSetGlobalStep", "handle: Ref(string), new_global_step: int64 ->", shape=_nothing,
    devices=("CPU",),
)(resource_accumulator_set_global_step.kernels["CPU"])  # fmt: skip


@register_op(
    "SparseAccumulatorApplyGradient",
    "handle: Ref(string), local_step: int64, gradient_indices: int64, gradient_values: dtype, "
    "gradient_shape: int64 ->",
    _DTYPE, "has_known_shape: bool", shape=_nothing, devices=("CPU",),
    traits="applies_gradients",
)  # fmt: skip
def sparse_accumulator_apply_gradient(
    ctx: OpKernelContext,
    handle: RefCell,
    local_step: Array,
    gradient_indices: Array,
    gradient_values: Array,
    gradient_shape: Array,
    *,
    has_known_shape: bool,
) -> None:
    """Add rows, unless they are older than the accumulator's step."""
    found: SparseAccumulator = _find(ctx, handle, SparseAccumulator)
    shape = gradient_shape if has_known_shape else None
    found.apply(_scalar_of(local_step, "local_step"), (gradient_indices, gradient_values, shape))


@register_op(
    "SparseAccumulatorTakeGradient",
    "handle: Ref(string), num_required: int32 -> indices: int64, values: dtype, shape: int64",
    _DTYPE, shape=_unknown, devices=("CPU",),
    traits="takes_gradients",
)  # fmt: skip
def sparse_accumulator_take_gradient(
    ctx: OpKernelContext, done: type_of_done, handle: RefCell, num_required: Array
) -> None:
    """Return the mean or sum of each row; wait until there are enough gradients."""
    found: SparseAccumulator = _find(ctx, handle, SparseAccumulator)
    found.take(_num_required(num_required), done, ctx.cancellation_manager)


_op: OpDefinition
for _op in (
    conditional_accumulator, resource_conditional_accumulator, sparse_conditional_accumulator,
    resource_accumulator_apply_gradient, resource_accumulator_take_gradient,
    resource_accumulator_num_accumulated, resource_accumulator_set_global_step,
    accumulator_apply_gradient, accumulator_take_gradient, accumulator_num_accumulated,
    accumulator_set_global_step, sparse_accumulator_apply_gradient,
    sparse_accumulator_take_gradient,
):  # fmt: skip
    _op.not_differentiable()
