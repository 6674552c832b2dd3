"""The primitives of control flow applied to tensors, references and composite values.

A reference goes through the op's reference variant; a composite value goes through part by part. A
``TensorArray`` goes through as its ``flow`` tensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.framework.scopes import name_scope
from tfnb.framework.structures import nest
from tfnb.framework.structures.composite_tensor import components, is_composite, with_components
from tfnb.framework.tensor import Tensor
from tfnb.library.control_flow.indexed_slices_ops import as_indexed_slices_list
from tfnb.ops.array.identity_ops import identity_op
from tfnb.ops.control import control_flow_ops as primitives

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.dtypes import DTypeLike
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult


def as_value(
    value: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, as_ref: bool = True
) -> TensorResult:
    """Return a tensor for a value; composite values are returned unchanged."""
    if is_composite(value):
        return value
    return convert_to_tensor(value, dtype, name, as_ref=as_ref)


def _each_part(function: Callable[[Nested], Nested], value: TensorLike) -> Any:
    return with_components(value, [function(part) for part in components(value)])


def identity_of(value: TensorLike, name: str | None = None) -> Nested:
    """Return the value behind a new Identity op."""
    value = as_value(value)
    if is_composite(value):
        return _each_part(identity_of, value)
    if value.dtype.is_ref_dtype:
        return primitives.ref_identity(value, name=name)
    return identity_op(value, name=name)


def next_iteration_of(value: TensorLike, name: str | None = None) -> Nested:
    """Return the value in the next iteration."""
    value = as_value(value)
    if is_composite(value):
        return _each_part(next_iteration_of, value)
    if value.dtype.is_ref_dtype:
        return primitives.ref_next_iteration(value, name=name)
    return primitives.next_iteration(value, name=name)


def enter_of(
    value: TensorLike,
    frame_name: str,
    is_constant: bool = False,
    parallel_iterations: int = 10,
    use_ref: bool = True,
    use_input_shape: bool = True,
    name: str | None = None,
) -> Nested:
    """Return the value inside a loop.

    Args:
      value: a tensor or composite value outside.
      frame_name: the name by which the executor identifies the loop.
      is_constant: whether every iteration gets it, not only the first.
      parallel_iterations: how many iterations may run at the same time.
      use_ref: whether a reference stays one.
      use_input_shape: whether its static shape holds inside.
      name: the name of the op.
    """
    value = as_value(value)
    if is_composite(value):
        return _each_part(
            lambda part: enter_of(
                part, frame_name, is_constant, parallel_iterations, use_ref, use_input_shape
            ),
            value,
        )
    op = primitives.ref_enter if value.dtype.is_ref_dtype and use_ref else primitives.enter
    result = op(
        value,
        frame_name=frame_name,
        is_constant=is_constant,
        parallel_iterations=parallel_iterations,
        name=name,
    )
    if use_input_shape:
        result.set_shape(value.get_shape())
    return result


def exit_of(value: TensorLike, name: str | None = None) -> Nested:
    """Return the value outside of the loop that it belongs to."""
    value = as_value(value)
    if is_composite(value):
        return _each_part(exit_of, value)
    if value.dtype.is_ref_dtype:
        return primitives.ref_exit(value, name=name)
    return primitives.exit(value, name=name)


def switch(
    data: TensorLike, pred: TensorLike, dtype: DTypeLike | None = None, name: str | None = None
) -> tuple[Nested, Nested]:
    """Return ``data`` on the output that ``pred`` selects; the other output is dead.

    Args:
      data: a tensor or composite value.
      pred: a boolean scalar.
      dtype: the type of ``data`` if it is no tensor.
      name: the name of the op.

    Returns:
      The output for a false ``pred``, and the output for a true one.
    """
    with name_scope(name, "Switch", [data, pred]) as name:
        data = as_value(data, dtype, "data")
        pred = convert_to_tensor(pred, name="pred")
        if isinstance(data, Tensor):
            sides = primitives.switch(data, pred, name=name)
            return sides[0], sides[1]
        parts = [primitives.switch(part, pred) for part in components(data)]
        return (
            with_components(data, [part[0] for part in parts]),
            with_components(data, [part[1] for part in parts]),
        )


def switch_ref_or_tensor(
    data: TensorLike, pred: Tensor, name: str = "Switch"
) -> tuple[Nested, Nested]:
    """Return :func:`switch` on the device of ``data``, which may be a reference."""
    data = as_value(data, name="data", as_ref=False)
    # The source of the value decides the place, not the colocation scope around.
    with get_default_graph().colocate_with(data, ignore_existing=True):
        if isinstance(data, Tensor) and data.dtype.is_ref_dtype:
            sides = primitives.ref_switch(data, pred, name=name)
            return sides[0], sides[1]
        return switch(data, pred, name=name)


def merge(inputs: Sequence[TensorLike], name: str | None = None) -> tuple[Nested, Tensor]:
    """Return the first of ``inputs`` that has a value, and its position.

    Tensors beside IndexedSlices become IndexedSlices.

    Raises:
      ValueError: one of them is None.
    """
    if any(one is None for one in inputs):
        raise ValueError(f"At least one of the merge inputs is None: {inputs}")
    with name_scope(name, "Merge", inputs) as name:
        values = [as_value(one) for one in inputs]
        if all(isinstance(one, Tensor) for one in values):
            is_ref = all(one.dtype.is_ref_dtype for one in values)
            result = (primitives.ref_merge if is_ref else primitives.merge)(values, name=name)
            return result[0], result[1]
        return _merge_composites(values)


def _merge_composites(values: Sequence[TensorLike]) -> tuple[Nested, Tensor]:
    if all(isinstance(one, (IndexedSlices, Tensor)) for one in values):
        values = as_indexed_slices_list(values, optimize=False)
    for one in values:
        if not is_composite(one):
            raise TypeError(f"Type {type(one)} not supported")
        nest.assert_same_structure(values[0], one, expand_composites=True)
    merged = [primitives.merge(list(parts)) for parts in zip(*map(components, values))]
    return with_components(values[0], [one[0] for one in merged]), merged[0][1]


# ----------------------------------------------------------------------- variables and TensorArrays


def is_tensor_array(value: TensorLike) -> bool:
    """Return whether a value is a ``TensorArray``."""
    return hasattr(value, "flow") and hasattr(value, "handle") and not isinstance(value, Tensor)


def flow_of(value: TensorLike) -> Nested:
    """Return the flow tensor of a ``TensorArray``; other values unchanged."""
    return value.flow if is_tensor_array(value) else value


def with_flow(like: TensorLike, flow: TensorLike) -> Any:
    """Return a TensorArray like ``like`` with another flow; ``flow`` if ``like`` is none."""
    return like.with_flow(flow) if is_tensor_array(like) else flow


def is_resource_variable(value: TensorLike) -> bool:
    """Return whether a value is a variable behind a resource handle."""
    if isinstance(value, Tensor) or is_tensor_array(value):
        return False
    handle = getattr(value, "handle", None)
    return isinstance(handle, Tensor) and handle.dtype is dtypes.resource


def read_variables(structure: Nested) -> Any:
    """Return the structure with resource variables replaced by their values."""
    return nest.map_structure(
        lambda value: convert_to_tensor(value) if is_resource_variable(value) else value, structure
    )


def is_at_least_as_specific(shape: TensorShape, other: TensorShape) -> bool:
    """Return whether ``shape`` has the rank and all the sizes that are known in ``other``."""
    dims, wanted = shape.dim_values, other.dim_values
    if wanted is None:
        return True
    if dims is None or len(dims) != len(wanted):
        return False
    return all(size is None or size == ours for ours, size in zip(dims, wanted))
