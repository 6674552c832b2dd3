"""``tf.TensorArray``: the public class for the TensorArray ops."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Self

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.scopes import colocate_with, control_dependencies, device, name_scope
from tfnb.library.control_flow.control_flow_toggle import builds_functions
from tfnb.ops.array import array_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.containers import tensor_array_ops as ops
from tfnb.ops.math import sequence_ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.tensor_shape import ShapeLike
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {"tf": ["TensorArray"]}


class TensorArray:
    """An array of tensors that is written and read element by element inside one step.

    Each write returns a new ``TensorArray`` with a new ``flow``; use that one from then on.  An
    element may be written once, and read once where ``clear_after_read`` holds.

    Args:
      dtype: of the elements.
      size: number of elements, a Python or tensor int32; needed unless ``handle`` is given.
      dynamic_size: whether writes beyond the end make the array grow.
      clear_after_read: whether reading an element frees it. Default: True.
      tensor_array_name: name of the array in the runtime.
      handle: an existing array's handle, with ``flow``.
      flow: an existing array's flow.
      infer_shape: whether all elements have one shape, learned from the first write.
      element_shape: the shape of the elements as far as it is known.
      colocate_with_first_write_call: whether the array is on the device of the first value written.
      name: of the op.

    Raises:
      ValueError: arguments contradict each other.
    """

    def __new__(
        cls,
        dtype: DTypeLike,
        size: TensorLike | None = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: TensorLike | None = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> Self:
        """Make a list instead where loops are functions: those carry values, not handles."""
        if handle is None and (
            builds_functions(get_default_graph())
            if flow is None
            else getattr(flow, "dtype", None) is dtypes.variant
        ):
            from tfnb.library.control_flow.tensor_list_array import TensorListArray

            made: TensorLike = object.__new__(TensorListArray)
            return made  # type: ignore[no-any-return]
        return object.__new__(cls)

    def __init__(
        self,
        dtype: DTypeLike,
        size: TensorLike | None = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: ShapeLike | None = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        _check_arguments(size, dynamic_size, clear_after_read, tensor_array_name, handle)
        self._dtype: DType = dtypes.as_dtype(dtype).base_dtype
        self._size = size
        self._dynamic_size = bool(dynamic_size)
        self._infer_shape = infer_shape
        # Shared with all arrays that writes make from this one, like the list of written values.
        self._element_shape = [TensorShape(element_shape)]
        self._colocate_with: list[Operation] | None = [] if colocate_with_first_write_call else None
        self._handle: TensorLike = handle
        if handle is not None:
            with name_scope(name, "TensorArray", [handle, flow]):  # reserves the name
                self._flow = flow
            return
        with (
            name_scope(name, "TensorArray", [size, flow]) as scope,
            contextlib.ExitStack() as stack,
        ):
            if colocate_with_first_write_call:
                # The first write decides the device, not the device scope that is open now.
                stack.enter_context(device(None))
            self._handle, self._flow = ops.tensor_array_v3(
                size=size,
                dtype=self._dtype,
                element_shape=self.element_shape,
                identical_element_shapes=infer_shape,
                dynamic_size=self._dynamic_size,
                clear_after_read=True if clear_after_read is None else clear_after_read,
                tensor_array_name=tensor_array_name or "",
                name=scope,
            )

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def handle(self) -> TensorResult:
        """The resource that stands for the array; None for an array that is a list."""
        return self._handle

    @property
    def flow(self) -> TensorResult:
        """The scalar float32 that orders reads after writes."""
        return self._flow

    @property
    def dynamic_size(self) -> bool:
        """Whether the array grows."""
        return self._dynamic_size

    @property
    def element_shape(self) -> TensorShape:
        """The shape of the elements as far as it is known."""
        return self._element_shape[0]

    def _check_element_shape(self, shape: TensorShape) -> None:
        if not shape.is_compatible_with(self.element_shape):
            raise ValueError(f"Inconsistent shapes: saw {shape} but expected {self.element_shape}")
        if self._infer_shape:
            self._element_shape[0] = self.element_shape.merge_with(shape)

    def _check_dtype(self, value: Tensor) -> None:
        if value.dtype.base_dtype is not self._dtype:
            raise ValueError(
                f"Tensor conversion requested dtype {self._dtype.name} for Tensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )

    def _beside_first_write(self, value: Tensor) -> Any:
        """Place all ops of the array where the first value written is."""
        if self._colocate_with is None:
            return contextlib.nullcontext()
        if not self._colocate_with:
            self._colocate_with.append(value.op)
        return colocate_with(self._colocate_with[0])

    def with_flow(self, flow: TensorLike) -> TensorArray:
        """Return the same array with another flow."""
        made = TensorArray(
            self._dtype, handle=self._handle, flow=flow, infer_shape=self._infer_shape
        )
        made._size = self._size
        made._dynamic_size = self._dynamic_size
        made._element_shape = self._element_shape
        made._colocate_with = self._colocate_with
        return made

    def identity(self) -> TensorArray:
        """Return the same array behind an Identity of its flow."""
        return self.with_flow(array_ops.identity(self._flow))

    def grad(
        self, source: str, flow: TensorLike | None = None, name: str | None = None
    ) -> TensorArray:
        """Return the array for gradients of this one's elements.

        Args:
          source: keeps the gradients of several ``tf.gradients`` calls apart.
          flow: the flow of the operations that must have run before; default: this array's flow.
          name: of the op.
        """
        flow = self._flow if flow is None else flow
        with name_scope(name, "TensorArrayGrad", [self._handle]), colocate_with(self._handle.op):
            handle, _ = ops.tensor_array_grad_v3(
                handle=self._handle, flow_in=flow, source=source, name=name
            )
            with control_dependencies([handle]):
                flow = array_ops.identity(flow, name="gradient_flow")
            made = TensorArray(
                self._dtype,
                handle=handle,
                flow=flow,
                infer_shape=self._infer_shape,
                colocate_with_first_write_call=False,
            )
            made._element_shape = self._element_shape
            return made

    def read(self, index: TensorLike, name: str | None = None) -> Tensor:
        """Return the element at ``index``."""
        value: Tensor = ops.tensor_array_read_v3(
            handle=self._handle, index=index, flow_in=self._flow, dtype=self._dtype, name=name
        )
        if self.element_shape.dim_values is not None:
            value.set_shape(self.element_shape)
        return value

    def write(self, index: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """Write ``value`` at ``index``; use the returned array from then on.

        Raises:
          ValueError: the value has another dtype or shape than the elements.
        """
        with name_scope(name, "TensorArrayWrite", [self._handle, index, value]):
            value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            self._check_dtype(value)
            self._check_element_shape(value.shape)
            with self._beside_first_write(value):
                flow = ops.tensor_array_write_v3(
                    handle=self._handle, index=index, value=value, flow_in=self._flow, name=name
                )
            return self.with_flow(flow)

    def mark_used(self) -> None:
        """Do nothing: tfnb does not warn about writes that are never read."""

    def stack(self, name: str | None = None) -> Tensor:
        """Return all elements along a new first dimension."""
        with colocate_with(self._handle.op), name_scope(name, "TensorArrayStack", [self._handle]):
            value = self.gather(sequence_ops.range_(0, self.size()), name=name)
            if value.shape.ndims is not None and not self._dynamic_size and self._size is not None:
                value.set_shape([constant_value(self._size), *value.shape[1:]])
            return value

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Return the elements at ``indices`` along a new first dimension."""
        value: Tensor = ops.tensor_array_gather_v3(
            handle=self._handle,
            indices=indices,
            flow_in=self._flow,
            dtype=self._dtype,
            element_shape=self.element_shape,
            name=name,
        )
        if self.element_shape.dim_values is not None:
            value.set_shape(TensorShape([None]).concatenate(self.element_shape))
        return value

    def concat(self, name: str | None = None) -> Tensor:
        """Return all elements concatenated along their first dimension."""
        shape = self.element_shape
        rest = TensorShape(None) if shape.dim_values is None else TensorShape(shape.dim_values[1:])
        value, _ = ops.tensor_array_concat_v3(
            handle=self._handle,
            flow_in=self._flow,
            dtype=self._dtype,
            element_shape_except0=rest,
            name=name,
        )
        found: Tensor = value
        if shape.dim_values is not None:
            length = None
            if self._infer_shape:
                count = constant_value(self.size())
                if count is not None and shape.dim_values[0] is not None:
                    length = int(count) * shape.dim_values[0]
            found.set_shape(TensorShape([length]).concatenate(rest))
        return found

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """Write row i of ``value`` to place i, for all rows."""
        with name_scope(name, "TensorArrayUnstack", [self._handle, value]):
            value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            count = array_ops.shape(value)[0]
            return self.scatter(sequence_ops.range_(0, count), value, name=name)

    def scatter(
        self, indices: TensorLike, value: TensorLike, name: str | None = None
    ) -> TensorArray:
        """Write row i of ``value`` to place ``indices[i]``."""
        with name_scope(name, "TensorArrayScatter", [self._handle, value, indices]):
            value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            self._check_dtype(value)
            dims = value.shape.dim_values
            self._check_element_shape(TensorShape(None if dims is None else dims[1:]))
            with self._beside_first_write(value):
                flow = ops.tensor_array_scatter_v3(
                    handle=self._handle, indices=indices, value=value, flow_in=self._flow, name=name
                )
            return self.with_flow(flow)

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        """Write slices of ``value`` with these lengths to places 0, 1, ...."""
        with name_scope(name, "TensorArraySplit", [self._handle, value, lengths]):
            value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            self._check_dtype(value)
            with self._beside_first_write(value):
                lengths = cast(lengths, dtypes.int64)
                known, dims = constant_value(lengths), value.shape.dim_values
                is_known = dims is not None and known is not None and known.shape
                if is_known and known.max() == known.min():
                    self._check_element_shape(TensorShape([known[0], *dims[1:]]))
                flow = ops.tensor_array_split_v3(
                    handle=self._handle, value=value, lengths=lengths, flow_in=self._flow, name=name
                )
            return self.with_flow(flow)

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of places, a scalar int32."""
        if not self._dynamic_size and self._size is not None:
            found: Tensor = convert_to_tensor(self._size, dtype=dtypes.int32)
            return found
        size: Tensor = ops.tensor_array_size_v3(handle=self._handle, flow_in=self._flow, name=name)
        return size

    def close(self, name: str | None = None) -> Operation:
        """Free the elements before the step ends."""
        closed: Operation = ops.tensor_array_close_v3(handle=self._handle, name=name)
        return closed

    def __repr__(self) -> str:
        return f"<tf.TensorArray of {self._dtype.name}, elements {self.element_shape}>"


def _check_arguments(
    size: TensorLike,
    dynamic_size: bool | None,
    clear_after_read: bool | None,
    tensor_array_name: str | None,
    handle: TensorLike,
) -> None:
    given: Sequence[tuple[str, Any]] = (
        ("tensor_array_name", tensor_array_name),
        ("size", size),
        ("dynamic_size", dynamic_size),
        ("clear_after_read", clear_after_read),
    )
    if handle is None:
        if size is None:
            raise ValueError("Size must be provided if handle is not provided")
        return
    for name, value in given:
        if value is not None:
            raise ValueError(f"Cannot provide both a handle and {name} at the same time")
