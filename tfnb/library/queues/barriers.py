"""``Barrier``: the public class for the barrier ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.constant_value import constant_value
from tfnb.ops.waiting import barrier_ops

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult


class Barrier:
    """A barrier for elements whose components arrive separately, each under a key.

    Args:
      types: dtype of each component.
      shapes: shape of each component, fully defined; None where it is unknown.
      shared_name: a name under which several graphs of a session share one barrier.
      name: of the op.

    Raises:
      ValueError: a shape is not fully defined, or has no elements.
    """

    def __init__(
        self,
        types: Nested,
        shapes: Nested | None = None,
        shared_name: str | None = None,
        name: str = "barrier",
    ) -> None:
        listed = list(types) if isinstance(types, list | tuple) else [types]
        self._types = [dtypes.as_dtype(dtype) for dtype in listed]
        if shapes is None:
            self._shapes = [TensorShape(None) for _ in self._types]
        else:
            if isinstance(shapes, TensorShape) or all(isinstance(size, int) for size in shapes):
                shapes = [shapes]
            self._shapes = [TensorShape(shape) for shape in shapes]
            for i, shape in enumerate(self._shapes):
                if not shape.is_fully_defined():
                    raise ValueError(f"All shapes must be fully defined: {self._shapes}")
                if shape.num_elements() == 0:
                    raise ValueError(
                        "Empty tensors are not supported, but received shape "
                        f"'{shape}' at index {i}"
                    )
        self._barrier_ref = barrier_ops.barrier(
            component_types=self._types,
            shapes=self._shapes,
            shared_name=shared_name or "",
            name=name,
        )
        self._name = self._barrier_ref.op.name.split("/")[-1]

    @property
    def barrier_ref(self) -> TensorResult:
        """The handle."""
        return self._barrier_ref

    @property
    def name(self) -> str:
        """The name of the barrier's op."""
        found: str = self._barrier_ref.op.name
        return found

    def insert_many(
        self, component_index: int, keys: TensorLike, values: TensorLike, name: str | None = None
    ) -> TensorResult:
        """Return an op that sets a component of each key.

        Args:
          component_index: the index of the component.
          keys: a vector of strings.
          values: a row for each key.
          name: of the op.
        """
        return barrier_ops.barrier_insert_many(
            self._barrier_ref,
            keys,
            values,
            component_index=component_index,
            name=name or f"{self._name}_BarrierInsertMany",
        )

    def take_many(
        self,
        num_elements: TensorLike,
        allow_small_batch: bool = False,
        timeout: Any = None,
        name: str | None = None,
    ) -> TensorResult:
        """Return (indices, keys, list of values) of complete elements; the op waits for them.

        Args:
          num_elements: the number of elements.
          allow_small_batch: whether fewer are enough once the barrier is closed.
          timeout: accepted and ignored; this op has no timeout of its own.
          name: of the op.
        """
        found = barrier_ops.barrier_take_many(
            self._barrier_ref,
            num_elements,
            component_types=self._types,
            allow_small_batch=allow_small_batch,
            wait_for_incomplete=bool(timeout),
            name=name or f"{self._name}_BarrierTakeMany",
        )
        op = found[0].op
        size = None if allow_small_batch else constant_value(op.inputs[1])
        lead = TensorShape([None if size is None else int(size)])
        indices, keys, *values = op.outputs
        indices.set_shape(lead)
        keys.set_shape(lead)
        for value, shape in zip(values, self._shapes):
            value.set_shape(lead.concatenate(shape))
        return found

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> TensorResult:
        """Return an op that makes the barrier reject new keys, and perhaps drop incomplete ones."""
        return barrier_ops.barrier_close(
            self._barrier_ref,
            cancel_pending_enqueues=cancel_pending_enqueues,
            name=name or f"{self._name}_BarrierClose",
        )

    def ready_size(self, name: str | None = None) -> TensorResult:
        """Return the number of complete elements, a scalar int32."""
        return barrier_ops.barrier_ready_size(
            self._barrier_ref, name=name or f"{self._name}_BarrierReadySize"
        )

    def incomplete_size(self, name: str | None = None) -> TensorResult:
        """Return the number of keys that lack a component, a scalar int32."""
        return barrier_ops.barrier_incomplete_size(
            self._barrier_ref, name=name or f"{self._name}_BarrierIncompleteSize"
        )
