"""``tf.ConditionalAccumulator`` and its sparse variant: the classes for the accumulator ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes as dtypes_
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.waiting import accumulator_ops

if TYPE_CHECKING:
    from tfnb.core.dtypes import DTypeLike
    from tfnb.core.tensor_shape import ShapeLike
    from tfnb.framework.tensor_types import TensorLike, TensorResult, VariableLike

EXPORTS = {
    "tf": [
        "ConditionalAccumulatorBase", "ConditionalAccumulator", "SparseConditionalAccumulator",
    ],
    "sparse": ["SparseConditionalAccumulator"],
}  # fmt: skip


class ConditionalAccumulatorBase:
    """The common part of both kinds.

    Args:
      dtype: of the gradients.
      shape: of the gradients, as far as it is known.
      accumulator_ref: the handle.
    """

    def __init__(self, dtype: DTypeLike, shape: ShapeLike, accumulator_ref: Any) -> None:
        self._dtype = dtypes_.as_dtype(dtype)
        self._shape = TensorShape(shape)
        self._accumulator_ref = accumulator_ref
        self._name = accumulator_ref.op.name.split("/")[-1]

    @property
    def accumulator_ref(self) -> TensorResult:
        """The handle."""
        return self._accumulator_ref

    @property
    def name(self) -> str:
        """The name of the accumulator."""
        found: str = self._name
        return found

    @property
    def dtype(self) -> Any:
        """The dtype of the gradients."""
        return self._dtype

    def _op(self, name: str) -> Any:
        is_resource = self._accumulator_ref.dtype is dtypes_.resource
        return getattr(accumulator_ops, f"{'resource_' if is_resource else ''}accumulator_{name}")

    def num_accumulated(self, name: str | None = None) -> TensorResult:
        """Return the number of accumulated gradients, a scalar int32."""
        return self._op("num_accumulated")(
            self._accumulator_ref, name=name or f"{self._name}_NumAccumulated"
        )

    def set_global_step(self, new_global_step: TensorLike, name: str | None = None) -> VariableLike:
        """Return an op that sets the step which gradients must be of."""
        return self._op("set_global_step")(
            self._accumulator_ref, _int64(convert_to_tensor(new_global_step)), name=name
        )


def _int64(value: TensorLike) -> TensorResult:
    return cast(value, dtypes_.int64)


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """An accumulator of dense gradients.

    Args:
      dtype: of the gradients.
      shape: of the gradients, as far as it is known.
      shared_name: a name under which several graphs of a session share one accumulator.
      name: of the op.
      reduction_type: "MEAN" or "SUM".
    """

    def __init__(
        self,
        dtype: DTypeLike,
        shape: ShapeLike | None = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        handle = accumulator_ops.resource_conditional_accumulator(
            dtype=dtypes_.as_dtype(dtype),
            shape=TensorShape(shape),
            shared_name=shared_name or "",
            reduction_type=reduction_type,
            name=name,
        )
        super().__init__(dtype, shape, handle)

    def apply_grad(
        self, grad: TensorLike, local_step: TensorLike = 0, name: str | None = None
    ) -> TensorResult:
        """Return an op that adds a gradient, unless ``local_step`` is older than the accumulator's.

        Raises:
          ValueError: the shape does not fit.
        """
        grad = convert_to_tensor(grad, self._dtype)
        grad.shape.assert_is_compatible_with(self._shape)
        step = _int64(convert_to_tensor(local_step))
        return self._op("apply_gradient")(self._accumulator_ref, step, grad, name=name)

    def take_grad(self, num_required: Any, name: str | None = None) -> Any:
        """Return the mean or sum; the op waits until there are ``num_required`` gradients."""
        found = self._op("take_gradient")(
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )
        found.set_shape(self._shape)
        return found


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """An accumulator of gradients that consist of some rows of a tensor.

    Args:
      dtype: of the gradients.
      shape: of the whole tensor, as far as it is known.
      shared_name: a name under which several graphs of a session share one accumulator.
      name: of the op.
      reduction_type: "MEAN", each row over the gradients that have it, or "SUM".
    """

    def __init__(
        self,
        dtype: DTypeLike,
        shape: ShapeLike | None = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        handle = accumulator_ops.sparse_conditional_accumulator(
            dtype=dtypes_.as_dtype(dtype),
            shape=TensorShape(shape),
            shared_name=shared_name or "",
            reduction_type=reduction_type,
            name=name,
        )
        super().__init__(dtype, shape, handle)

    def apply_indexed_slices_grad(
        self, grad: IndexedSlices, local_step: TensorLike = 0, name: str | None = None
    ) -> TensorResult:
        """Apply the gradient of an IndexedSlices as :meth:`apply_grad` does."""
        return self.apply_grad(
            grad_indices=grad.indices,
            grad_values=grad.values,
            grad_shape=grad.dense_shape,
            local_step=local_step,
            name=name,
        )

    def apply_grad(
        self,
        grad_indices: TensorLike,
        grad_values: TensorLike,
        grad_shape: Any = None,
        local_step: TensorLike = 0,
        name: str | None = None,
    ) -> TensorResult:
        """Return an op that adds rows, unless ``local_step`` is older than the accumulator's.

        Args:
          grad_indices: the indices of the rows, a vector.
          grad_values: the rows.
          grad_shape: of the whole tensor, if it is known.
          local_step: the step at which the variables were read.
          name: of the op.
        """
        step = _int64(convert_to_tensor(local_step))
        indices = _int64(grad_indices)
        shape = _int64([] if grad_shape is None else grad_shape)
        return accumulator_ops.sparse_accumulator_apply_gradient(
            self._accumulator_ref,
            step,
            indices,
            grad_values,
            shape,
            has_known_shape=grad_shape is not None,
            name=name,
        )

    def take_grad(self, num_required: TensorLike, name: str | None = None) -> Any:
        """Return (indices, values, shape); the op waits for ``num_required`` gradients."""
        return accumulator_ops.sparse_accumulator_take_gradient(
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )

    def take_indexed_slices_grad(
        self, num_required: TensorLike, name: str | None = None
    ) -> IndexedSlices:
        """Return what :meth:`take_grad` does, as an IndexedSlices."""
        found = self.take_grad(num_required, name)
        return IndexedSlices(indices=found.indices, values=found.values, dense_shape=found.shape)
