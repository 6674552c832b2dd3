"""``tf.TensorArray`` as a list that is a value: the form used in functional loops.

The array's flow is the list itself, a variant; there is no handle. ``TensorArray(...)`` makes this
form where conds and loops are functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape, as_shape
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.framework.tensor import Tensor
from tfnb.library.control_flow.tensor_array import TensorArray
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.array.identity_ops import identity
from tfnb.ops.containers import list_ops, whole_list_ops
from tfnb.ops.control.control_flow_ops import no_op

if TYPE_CHECKING:
    from tfnb.core.dtypes import DTypeLike
    from tfnb.core.tensor_shape import ShapeLike
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import Nested, TensorLike


def element_shape_input(shape: TensorShape) -> Nested:
    """Return a shape as the ``element_shape`` of a list op: -1 for unknown sizes."""
    dims = shape.dim_values
    if dims is None:
        return -1
    if not dims:
        return convert_to_tensor(np.empty(0, np.int32))
    return [-1 if size is None else size for size in dims]


class TensorListArray(TensorArray):
    """An array of tensors that is one variant; arguments as of :class:`TensorArray`.

    Raises:
      ValueError: neither or both of ``size`` and ``flow`` are given.
      TypeError: ``flow`` is not a variant.
    """

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
        if flow is not None and not (isinstance(flow, Tensor) and flow.dtype is dtypes.variant):
            raise TypeError(f"Expected `flow` to be a variant tensor, but received {flow!r}.")
        if flow is None and size is None:
            raise ValueError("Argument `size` must be provided if argument `flow` is not provided.")
        if flow is not None and size is not None:
            raise ValueError("Cannot provide both `flow` and `size` arguments at the same time.")
        if flow is not None and element_shape is not None:
            raise ValueError(
                "Cannot provide both `flow` and `element_shape` arguments at the same time."
            )
        self._dtype = dtypes.as_dtype(dtype).base_dtype
        self._size = size
        self._dynamic_size = bool(dynamic_size)
        self._infer_shape = infer_shape
        self._element_shape = [as_shape(element_shape)]
        self._handle = None
        with name_scope(name, "TensorArrayV2", [size, flow]) as scope:
            if flow is None:
                flow = list_ops.tensor_list_reserve(
                    element_shape_input(self.element_shape),
                    size,
                    element_dtype=self._dtype,
                    name=scope,
                )
            self._flow = flow

    def with_flow(self, flow: TensorLike) -> TensorListArray:
        """Return the same array with another list."""
        made = TensorListArray(self._dtype, flow=flow, infer_shape=self._infer_shape)
        made._size = self._size
        made._dynamic_size = self._dynamic_size
        made._element_shape = self._element_shape
        return made

    def identity(self) -> TensorListArray:
        """Return the same array behind an Identity of its list."""
        return self.with_flow(identity(self._flow))

    def grad(
        self, source: str, flow: TensorLike | None = None, name: str | None = None
    ) -> TensorArray:
        """Raise: the gradient of a list is a list, without an array of its own."""
        raise NotImplementedError("A TensorArray that is a list has no array for gradients.")

    def _element(self) -> Any:
        return element_shape_input(self.element_shape)

    def _after(self, flow: TensorLike, *, keeps_form: bool = False) -> TensorListArray:
        if keeps_form:
            assert self._flow is not None
            flow._handle_data = self._flow._handle_data
        return self.with_flow(flow)

    def read(self, index: TensorLike, name: str | None = None) -> Tensor:
        """Return the element at ``index``."""
        with name_scope(name, "TensorArrayV2Read", [self._flow, index]):
            value: Tensor = list_ops.tensor_list_get_item(
                self._flow, index, self._element(), element_dtype=self._dtype, name=name
            )
            return value

    def write(
        self, index: TensorLike, value: TensorLike, name: str | None = None
    ) -> TensorListArray:
        """Write ``value`` at ``index``; use the returned array from then on."""
        with name_scope(name, "TensorArrayV2Write", [self._flow, index, value]):
            value = self._element_of(value)
            self._check_element_shape(value.shape)
            flow = list_ops.tensor_list_set_item(
                self._flow,
                index,
                value,
                resize_if_index_out_of_bounds=self._dynamic_size,
                name=name,
            )
            return self._after(flow, keeps_form=True)

    def _element_of(self, value: TensorLike) -> Tensor:
        # As in TensorFlow, another dtype is an error of the op at run time.
        tensor: Tensor = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
        return tensor

    def _check_rows(self, value: Tensor) -> TensorShape:
        dims = value.shape.dim_values
        rows = TensorShape(None if dims is None else dims[1:])
        self._check_element_shape(rows)
        return rows

    def stack(self, name: str | None = None) -> Tensor:
        """Return all elements along a new first dimension."""
        with name_scope(name, "TensorArrayV2Stack", [self._flow]):
            count: TensorLike = -1
            if not self._dynamic_size and self._size is not None:
                count = self._size
                if isinstance(count, Tensor):
                    count = constant_value(count)
            value: Tensor = whole_list_ops.tensor_list_stack(
                self._flow,
                self._element(),
                element_dtype=self._dtype,
                num_elements=-1 if count is None else int(count),
            )
            return value

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Return the elements at ``indices`` along a new first dimension."""
        value: Tensor = whole_list_ops.tensor_list_gather(
            self._flow, indices, self._element(), element_dtype=self._dtype, name=name
        )
        return value

    def concat(self, name: str | None = None) -> Tensor:
        """Return all elements concatenated along their first dimension."""
        dims = self.element_shape.dim_values
        shape = TensorShape(None if dims is None else (None, *dims[1:]))
        value: Tensor = whole_list_ops.tensor_list_concat_v2(
            self._flow,
            element_shape_input(shape),
            convert_to_tensor(np.empty(0, np.int64)),
            element_dtype=self._dtype,
            name=name,
        )[0]
        return value

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorListArray:
        """Write row i of ``value`` to index i, for all rows."""
        with name_scope(name, "TensorArrayUnstack", [self._flow, value]):
            value = self._element_of(value)
            rows = self._check_rows(value)
            return self._after(list_ops.tensor_list_from_tensor(value, element_shape_input(rows)))

    def scatter(
        self, indices: TensorLike, value: TensorLike, name: str | None = None
    ) -> TensorListArray:
        """Write row i of ``value`` to index ``indices[i]``."""
        with name_scope(name, "TensorArrayScatter", [self._flow, value, indices]):
            value = self._element_of(value)
            self._check_rows(value)
            flow = whole_list_ops.tensor_list_scatter_into_existing_list(self._flow, value, indices)
            return self._after(flow, keeps_form=True)

    def split(
        self, value: TensorLike, lengths: TensorLike, name: str | None = None
    ) -> TensorListArray:
        """Write slices of ``value`` with these lengths to indices 0, 1, ...."""
        with name_scope(name, "TensorArraySplit", [self._flow, value, lengths]):
            value = self._element_of(value)
            lengths = cast(lengths, dtypes.int64)
            known = constant_value(lengths)
            dims = value.shape.dim_values
            if dims is not None and known is not None and known.ndim and len(set(known)) == 1:
                self._check_element_shape(TensorShape([int(known[0]), *dims[1:]]))
            return self._after(
                whole_list_ops.tensor_list_split(value, self._element(), lengths, name=name)
            )

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of elements, an int32 scalar."""
        if not self._dynamic_size and self._size is not None:
            found: Tensor = convert_to_tensor(self._size, dtype=dtypes.int32)
            return found
        size: Tensor = list_ops.tensor_list_length(self._flow, name=name)
        return size

    def close(self, name: str | None = None) -> Operation:
        """Do nothing: the list is freed with its last reference."""
        closed: Operation = no_op(name=name)
        return closed
