"""Parts of tensors: Slice, StridedSlice, and what ``tensor[...]`` builds.

A strided slice is written sparsely (an ellipsis stands for many dimensions, a new axis for none),
with bit masks that define the kind of each entry.  :func:`dense_slice` turns that into one (start,
stop,
step) per dimension of the input and the final shape; the shape functions and the kernels share it.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.process.later import later
from tfnb.core.process.records import record
from tfnb.core.resource_mgr import Var
from tfnb.core.shape_inference import UNKNOWN_SHAPE, InferenceContext, merge_shapes
from tfnb.core.tensor_shape import Dimension, TensorShape
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.framework.tensor import Tensor, register_operator
from tfnb.ops.base import provided_functions as provided
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.known_results import ResultsOfKept
from tfnb.ops.base.opaque_values import as_scalar

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Handle, Xp
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.resource_mgr import RefCell
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import (
        Gradients,
        IntsLike,
        Nested,
        TensorLike,
        TensorResult,
        VariableLike,
    )
    from tfnb.ops.array import concat_ops, constant_ops, shape_ops
else:
    concat_ops = later("tfnb.ops.array.concat_ops")
    constant_ops = later("tfnb.ops.array.constant_ops")
    shape_ops = later("tfnb.ops.array.shape_ops")

EXPORTS = {"tf": ["slice", "strided_slice"]}

_MASKS = (
    "begin_mask: int = 0",
    "end_mask: int = 0",
    "ellipsis_mask: int = 0",
    "new_axis_mask: int = 0",
    "shrink_axis_mask: int = 0",
)
_MASK_NAMES = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")

# -------------------------------------------------------------------------------------------- Slice


def _slice_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(1, 1)
    c.with_rank(2, 1)
    count = (merge_shapes(c.inputs[1], c.inputs[2]).dim_values or (None,))[0]
    source = c.inputs[0] if count is None else c.with_rank(0, count)
    begin = c.constant_value_as_shape(1).dim_values
    size = c.constant_value(2)
    dims = source.dim_values
    if size is None:
        known = c.constant_value_as_shape(2)
        if known.dim_values is not None:
            return known
        return UNKNOWN_SHAPE if dims is None else TensorShape([None] * len(dims))
    out: list[int | None] = []
    for index, one in enumerate(size.tolist()):
        start = begin[index] if begin is not None else None
        whole = dims[index] if dims is not None else None
        if one != -1:
            if one < 0:
                raise ValueError(f"Dimension {one} must be >= 0")
            out.append(one)
        elif start is None or whole is None:
            out.append(None)
        elif start > whole:
            raise ValueError(f"Negative dimension size caused by subtracting {start} from {whole}")
        else:
            out.append(whole - start)
    return TensorShape(out)


@register_op(
    "Slice",
    "input: T, begin: Index, size: Index -> output: T",
    "T: type",
    "Index: {int32, int64}",
    shape=_slice_shape,
    host_memory=("begin", "size"),
    traits="rearranges",
)
def slice_op(xp: Xp, input: Array, begin: Array, size: Array) -> Array:
    """Return the part that starts at ``begin`` and has ``size`` elements along each dimension."""
    shape = input.shape
    known = _INDICES_OF_KEPT.get((begin, size), shape)
    if known is not None:
        return input[known]
    rank = len(shape)
    if begin.shape != (rank,) or size.shape != (rank,):
        raise errors.invalid_argument(
            f"Expected begin and size arguments to be 1-D tensors of size {rank}, but got shapes "
            f"{shape_text(begin.shape)} and {shape_text(size.shape)} instead."
        )
    index = []
    for i, (start, count, whole) in enumerate(zip(begin.tolist(), size.tolist(), shape)):
        if count == -1:
            count = whole - start
        if 0 <= start <= start + count <= whole:
            pass  # the most frequent case
        elif whole == 0:
            if start != 0 or count != 0:
                raise errors.invalid_argument(
                    f"Expected begin[{i}] == 0 (got {start}) and size[{i}] == 0 (got {count}) when "
                    f"input.dim_size({i}) == 0"
                )
        elif not 0 <= start <= whole:
            raise errors.invalid_argument(f"Expected begin[{i}] in [0, {whole}], but got {start}")
        else:
            raise errors.invalid_argument(
                f"Expected size[{i}] in [0, {whole - start}], but got {count}"
            )
        index.append(builtins.slice(start, start + count))
    return input[_INDICES_OF_KEPT.keep((begin, size), tuple(index), shape)] if index else input


_INDICES_OF_KEPT = ResultsOfKept()


@slice_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    from tfnb.ops.array.pad_ops import pad

    source, begin = op.inputs[0], op.inputs[1]
    column = concat_ops.stack([shape_ops.rank(source), 1])
    taken = shape_ops.shape(op.outputs[0], out_type=begin.dtype)
    after = shape_ops.shape(source, out_type=begin.dtype) - taken - begin
    paddings = concat_ops.concat(
        [shape_ops.reshape(begin, column), shape_ops.reshape(after, column)], 1
    )
    return pad(grad, paddings), None, None


def slice(
    input_: TensorLike, begin: TensorLike, size: TensorLike, name: str | None = None
) -> Tensor:
    """Return the part of a tensor with ``size`` elements from ``begin`` on; -1 takes the rest."""
    found: Tensor = slice_op(input_, begin, size, name=name)
    return found


# ------------------------------------------------------------------------------------- StridedSlice


@record(slots=True)
class DenseSlice:
    """A strided slice with one entry per dimension.

    Attributes:
      index: one slice per dimension of the input; a dimension that is dropped has length 1.
      processing_shape: the shape of ``input[index]``; None is unknown.
      final_shape: that shape with new axes inserted and dropped ones removed.
    """

    index: list[builtins.slice]
    processing_shape: list[int | None]
    final_shape: list[int | None]


_NEW_AXIS = -2
_SHRINK_AXIS = -1


def dense_slice(
    dims: Array,
    begin: list[int] | None,
    end: list[int] | None,
    strides: list[int],
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> DenseSlice:
    """Expand a strided slice for an input with the sizes ``dims`` (None where unknown).

    Args:
      dims: the sizes of the input.
      begin: one start per entry; None if unknown.
      end: one stop per entry; None if unknown.
      strides: one step per entry.
      begin_mask: bit i: entry i starts at the beginning.
      end_mask: bit i: entry i goes to the end.
      ellipsis_mask: bit i: entry i stands for as many whole dimensions as are left over.
      new_axis_mask: bit i: entry i is a new dimension of size 1.
      shrink_axis_mask: bit i: entry i is an index, and its dimension is dropped.

    Raises:
      ValueError: the slice does not fit; the text is TensorFlow's.
    """
    entries, rank = len(strides), len(dims)
    if ellipsis_mask and ellipsis_mask & (ellipsis_mask - 1):
        raise ValueError("Multiple ellipses in slice spec not allowed")
    later_axes, seen = 0, False
    for i in range(entries):
        if seen and new_axis_mask >> i & 1:
            later_axes += 1
        seen = seen or bool(ellipsis_mask >> i & 1)
    if not seen:
        ellipsis_mask |= 1 << entries
        entries += 1
    # Entries without bounds of their own are (0, 0, 1) with both masks set.
    spec: list[tuple[int, int, int, bool, bool, bool]] = []
    gather: list[int] = []
    for i in range(entries):
        if ellipsis_mask >> i & 1:
            target = min(rank - (entries - i) + 1 + later_axes, rank)
            while len(spec) < target:
                gather.append(len(spec))
                spec.append((0, 0, 1, True, True, False))
        elif new_axis_mask >> i & 1:
            gather.append(_NEW_AXIS)
        else:
            if len(spec) == rank:
                if rank == 0:
                    raise ValueError("Attempting to slice scalar input.")
                raise ValueError(
                    f"Index out of range using input dim {rank}; input has only {rank} dims"
                )
            shrink = bool(shrink_axis_mask >> i & 1)
            gather.append(_SHRINK_AXIS if shrink else len(spec))
            spec.append(
                (
                    begin[i] if begin is not None else 0,
                    end[i] if end is not None else 0,
                    strides[i],
                    bool(begin_mask >> i & 1),
                    bool(end_mask >> i & 1),
                    shrink,
                )
            )
    known = begin is not None and end is not None
    index, processing = [], []
    for i, (entry, dim) in enumerate(zip(spec, dims)):
        one, size = _dense_entry(i, entry, dim, known)
        index.append(one)
        processing.append(size)
    final: list[int | None] = [
        1 if g == _NEW_AXIS else processing[g] for g in gather if g != _SHRINK_AXIS
    ]
    return DenseSlice(index, processing, final)


def _dense_entry(
    axis: int, entry: tuple[int, int, int, bool, bool, bool], dim: int | None, known: bool
) -> tuple[builtins.slice, int | None]:
    start, stop, step, from_first, to_last, shrink = entry
    if step == 0:
        raise ValueError(f"strides[{axis}] must be non-zero")
    if dim is None:
        return builtins.slice(None), 1 if shrink else None
    if shrink and step <= 0:
        raise ValueError("only stride 1 allowed on non-range indexing.")
    if not known:
        if shrink:
            return builtins.slice(None), 1
        if from_first and to_last:
            return builtins.slice(None), -(-dim // abs(step))
        return builtins.slice(None), None
    if shrink:
        position = start + dim if start < 0 else start
        if not 0 <= position < dim:
            raise ValueError(f"slice index {position} of dimension {axis} out of bounds.")
        return builtins.slice(position, position + 1), 1
    low, high = (0, dim) if step > 0 else (-1, dim - 1)
    if from_first:
        start = low if step > 0 else high
    else:
        start = min(max(start + dim if start < 0 else start, low), high)
    if to_last:
        stop = high if step > 0 else low
    else:
        stop = min(max(stop + dim if stop < 0 else stop, low), high)
    length = stop - start
    size = 0 if length == 0 or (length < 0) != (step < 0) else -(-length // step)
    if size == 0:
        return builtins.slice(0, 0), 0
    return builtins.slice(start, None if stop < 0 else stop, step), size


def _check_spec(begin: Array, end: Array, strides: Array) -> None:
    if not (
        begin.ndim == end.ndim == strides.ndim == 1 and begin.shape == end.shape == strides.shape
    ):
        raise errors.invalid_argument(
            "Expected begin, end, and strides to be 1D equal size tensors, but got shapes "
            f"{shape_text(begin.shape)}, {shape_text(end.shape)}, and {shape_text(strides.shape)} "
            "instead."
        )
    if begin.shape[0] >= 32:
        raise errors.invalid_argument("Argument list too long, must be less than 32")


def _spell_out(
    dims: Array, begin: Array, end: Array, strides: Array, masks: tuple[int, ...]
) -> DenseSlice:
    _check_spec(begin, end, strides)
    try:
        return dense_slice(dims, begin.tolist(), end.tolist(), strides.tolist(), *masks)
    except ValueError as error:
        raise errors.invalid_argument(str(error)) from None


def _strided_slice_shape_from(c: InferenceContext, source: int, first: int) -> TensorShape:
    for index in range(first, first + 3):
        c.with_rank(index, 1)
    merge_shapes(merge_shapes(c.inputs[first], c.inputs[first + 1]), c.inputs[first + 2])
    strides = c.constant_value(first + 2)
    dims = c.inputs[source].dim_values
    if strides is None or dims is None:
        return UNKNOWN_SHAPE
    steps, masks = strides.tolist(), [c.attr(name) for name in _MASK_NAMES]
    # As in TensorFlow, an error that the strides alone decide comes first and names no other value.
    found = dense_slice(dims, None, None, steps, *masks)
    begin, end = c.constant_value(first), c.constant_value(first + 1)
    if begin is not None and end is not None:
        found = dense_slice(dims, begin.tolist(), end.tolist(), steps, *masks)
    return TensorShape(found.final_shape)


def _strided_slice_shape(c: InferenceContext) -> TensorShape:
    found = _strided_slice_shape_from(c, 0, 1)
    data = c.input_handle_data(0)
    if data:
        c.set_output_handle_data(0, data)
    return found


@register_op(
    "StridedSlice",
    "input: T, begin: Index, end: Index, strides: Index -> output: T",
    "T: type",
    "Index: {int16, int32, int64}",
    *_MASKS,
    shape=_strided_slice_shape,
    host_memory=("begin", "end", "strides"),
    traits="rearranges",
)
def strided_slice_op(
    xp: Xp,
    input: Array,
    begin: Array,
    end: Array,
    strides: Array,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Array:
    """Return the part of a tensor that a Python index selects."""
    if (
        shrink_axis_mask == 1
        and not (begin_mask or end_mask or ellipsis_mask or new_axis_mask)
        and begin.ndim == end.ndim == strides.ndim == 1
        and len(begin) == len(end) == len(strides) == 1
        and input.ndim
        and input.dtype != object
    ):
        # x[i], by far the most frequent case.
        position, size = begin.item(), input.shape[0]
        if -size <= position < size and strides.item() > 0:
            return input[position]
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    found = _spell_out(input.shape, begin, end, strides, masks)
    part = input[tuple(found.index)] if found.index else input
    return as_scalar(part.reshape(found.final_shape))


# The shapes for which a slice with constant bounds keeps what it selects.
_MOST_KNOWN_SHAPES = 64


@strided_slice_op.with_constants("begin", "end", "strides")
def _(begin: Array, end: Array, strides: Array, **masks: int) -> Callable[[Array], Array]:
    by_dims: dict[tuple[int, ...], tuple[tuple[Any, ...], tuple[int | None, ...]]] = {}

    def sliced(input: Array) -> Array:
        known = by_dims.get(input.shape)
        if known is None:
            found = _spell_out(
                input.shape, begin, end, strides, tuple([masks[name] for name in _MASK_NAMES])
            )
            if len(by_dims) >= _MOST_KNOWN_SHAPES:
                by_dims.clear()
            known = by_dims[input.shape] = tuple(found.index), tuple(found.final_shape)
        index, final_shape = known
        part = input[index] if index else input
        return as_scalar(part if part.shape == final_shape else part.reshape(final_shape))

    return sliced


@strided_slice_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    source, begin, end, strides = op.inputs
    whole = shape_ops.shape(source, out_type=begin.dtype)
    known = [constant_value(one) for one in (whole, begin, end, strides)]
    given = [
        one if value is None else value for one, value in zip((whole, begin, end, strides), known)
    ]
    if all(value is not None for value in known):
        given = [np.asarray(value, begin.dtype.as_numpy_dtype) for value in known]
    masks = {name: op.get_attr(name) for name in _MASK_NAMES}
    return strided_slice_grad(*given, grad, **masks), None, None, None


def _strided_slice_grad_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(0, 1)
    return c.constant_value_as_shape(0)


@register_op(
    "StridedSliceGrad",
    "shape: Index, begin: Index, end: Index, strides: Index, dy: T -> output: T",
    "T: type",
    "Index: {int32, int64}",
    *_MASKS,
    shape=_strided_slice_grad_shape,
    host_memory=("shape", "begin", "end", "strides"),
    traits="rearranges",
)
def strided_slice_grad(
    xp: Xp,
    shape: Array,
    begin: Array,
    end: Array,
    strides: Array,
    dy: Array,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Array:
    """Return zeros of the given shape with ``dy`` at the elements that the strided slice takes."""
    if shape.ndim != 1:
        raise errors.invalid_argument(
            f"shape must be 1-D, got shape.shape = {shape_text(shape.shape)}"
        )
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    sizes = shape.tolist()
    found = _spell_out(sizes, begin, end, strides, masks)
    if list(dy.shape) != found.final_shape:
        raise errors.invalid_argument(
            f"shape of dy was {shape_text(dy.shape)} instead of {shape_text(found.final_shape)}"
        )
    check_fits(xp, sizes, dy.dtype, is_given=True)
    if dy.dtype == object:
        out = np.empty(sizes, object)
        out[...] = b""
    else:
        out = xp.zeros(sizes, dy.dtype)
    out[tuple(found.index)] = dy.reshape(found.processing_shape)
    return out


@strided_slice_grad.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    _, begin, end, strides, _ = op.inputs
    masks = {name: op.get_attr(name) for name in _MASK_NAMES}
    found = strided_slice_op(grad, begin, end, strides, **masks)
    return None, None, None, None, found


def _assign_part(
    target: Array, begin: Array, end: Array, strides: Array, value: Array, masks: tuple[int, ...]
) -> None:
    """Write ``value`` into a part of ``target``, a writable array."""
    found = _spell_out(target.shape, begin, end, strides, masks)
    final: Array = found.final_shape
    if 0 in final:
        return
    try:
        fits = list(np.broadcast_shapes(tuple(value.shape), tuple(final))) == final
    except ValueError:
        fits = False
    if not fits:
        raise errors.invalid_argument(
            f"Cannot broadcast input shape {shape_text(value.shape)} into final shape "
            f"{shape_text(final)}"
        )
    wide: Array = value if list(value.shape) == final else np.broadcast_to(value, final)
    target[tuple(found.index)] = wide.reshape(found.processing_shape)


@register_op(
    "StridedSliceAssign",
    "ref: Ref(T), begin: Index, end: Index, strides: Index, value: T -> output_ref: Ref(T)",
    "T: type",
    "Index: {int32, int64}",
    *_MASKS,
    shape=lambda c: c.inputs[0],
    host_memory=("begin", "end", "strides"),
    traits="writes_variable",
)
def strided_slice_assign(
    xp: Xp,
    ref: RefCell,
    begin: Array,
    end: Array,
    strides: Array,
    value: Array,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Array:
    """Write a value into a part of a variable."""
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    with ref.lock:
        _assign_part(ref.writable(), begin, end, strides, value, masks)
    return ref


@register_op(
    "ResourceStridedSliceAssign",
    "ref: resource, begin: Index, end: Index, strides: Index, value: T -> ",
    "T: type",
    "Index: {int32, int64}",
    *_MASKS,
    stateful=True,
    host_memory=("begin", "end", "strides"),
    traits="writes_variable",
)
def resource_strided_slice_assign(
    ctx: OpKernelContext,
    ref: Handle,
    begin: Array,
    end: Array,
    strides: Array,
    value: Array,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> None:
    """Write a value into a part of a resource variable."""
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    variable = ctx.resource_manager.lookup(ref, Var)
    with variable.lock:
        _assign_part(variable.writable(), begin, end, strides, value, masks)


@register_op(
    "TensorStridedSliceUpdate",
    "input: T, begin: Index, end: Index, strides: Index, value: T -> output: T",
    "T: type",
    "Index: {int32, int64}",
    *_MASKS,
    shape=lambda c: c.inputs[0],
    host_memory=("begin", "end", "strides"),
)
def tensor_strided_slice_update(
    xp: Xp,
    input: Array,
    begin: Array,
    end: Array,
    strides: Array,
    value: Array,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Array:
    """Return the input with a value written into a part of it."""
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    out = xp.array(input)
    _assign_part(out, begin, end, strides, value, masks)
    return out


@tensor_strided_slice_update.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    _, begin, end, strides, value = op.inputs
    masks = {name: op.get_attr(name) for name in _MASK_NAMES}
    from tfnb.ops.array.shape_ops import broadcast_gradient_args

    taken = strided_slice_op(grad, begin, end, strides, **masks)
    kept = tensor_strided_slice_update(
        grad, begin, end, strides, constant_zeros_like(taken), **masks
    )
    taken_shape = shape_ops.shape(taken, out_type=begin.dtype)
    size = shape_ops.shape(value, out_type=begin.dtype)
    _, axes = broadcast_gradient_args(taken_shape, size)
    taken = shape_ops.reshape(provided.reduce_sum(taken, axes, keepdims=True), size)
    return kept, None, None, None, taken


def constant_zeros_like(value: Tensor) -> Tensor:
    """Return zeros like a tensor, for gradients."""
    from tfnb.ops.array.constant_ops import zeros_like

    return zeros_like(value)


def strided_slice(
    input_: TensorLike,
    begin: TensorLike,
    end: TensorLike,
    strides: IntsLike | None = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: VariableLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the part of a tensor from ``begin`` to ``end`` in steps of ``strides``.

    Args:
      input_: the tensor.
      begin: one start per dimension.
      end: one stop per dimension, not included.
      strides: one step per dimension; None means 1.
      begin_mask: bit i: dimension i starts at its beginning.
      end_mask: bit i: dimension i goes to its end.
      ellipsis_mask: bit i: entry i stands for all dimensions without an entry.
      new_axis_mask: bit i: entry i is a new dimension of size 1.
      shrink_axis_mask: bit i: entry i is an index and its dimension is dropped.
      var: the variable that ``input_`` is the value of; the result can then be assigned to.
      name: the name of the op.
    """
    if strides is None:
        strides = constant_ops.ones_like(begin)
    parent_name = name
    masks = {
        "begin_mask": begin_mask,
        "end_mask": end_mask,
        "ellipsis_mask": ellipsis_mask,
        "new_axis_mask": new_axis_mask,
        "shrink_axis_mask": shrink_axis_mask,
    }
    found: Tensor = strided_slice_op(input_, begin, end, strides, name=name, **masks)
    if var is not None:
        parent = found.op.name if parent_name is None else parent_name

        def assign(value: TensorLike, name: str | None = None) -> Any:
            """Write a value into this part of the variable."""
            name = name or f"{parent}_assign"
            return var._strided_slice_assign(begin, end, strides, value, name=name, **masks)

        found.assign = assign
    return found


# -------------------------------------------------------------------------------------- tensor[...]

_INDEX_TYPES = (dtypes.int16, dtypes.int32, dtypes.int64)
_INDEX_ERROR = (
    "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
    "tf.int32/tf.int64 tensors are valid indices"
)


def _check_index(index: TensorLike) -> None:
    if isinstance(index, (int, np.integer, Dimension)) and not isinstance(index, bool):
        return
    dtype = getattr(index, "dtype", None)
    shape = getattr(index, "shape", None)
    rank = shape.ndims if isinstance(shape, TensorShape) else len(shape or ())
    if dtype is None or dtypes.as_dtype(dtype).base_dtype not in _INDEX_TYPES or rank == 1:
        raise TypeError(f"{_INDEX_ERROR}, got {index!r}")


def _is_mask(spec: Nested) -> bool:
    if isinstance(spec, (bool, np.bool_)):
        return True
    if isinstance(spec, (Tensor, np.ndarray)):
        return dtypes.as_dtype(spec.dtype).base_dtype is dtypes.bool
    return False


def _is_open(bound: Any) -> bool:
    return bound is None or (isinstance(bound, Dimension) and bound.value is None)


def _number_like(bounds: tuple[Any, ...], number: int) -> TensorResult:
    """Return a number, as a constant where one of the other bounds is a tensor."""
    for bound in bounds:
        if isinstance(bound, Tensor):
            return constant_ops.constant(number, dtype=bound.dtype)
    return number


def slice_helper(
    tensor: TensorLike, slice_spec: TensorLike, var: VariableLike | None = None
) -> Tensor:
    """Return what ``tensor[slice_spec]`` builds.

    Args:
      tensor: the tensor that is indexed.
      slice_spec: integers, slices, ``...``, None, scalar integer tensors, or a boolean mask.
      var: the variable that ``tensor`` is the value of, if it is one.

    Raises:
      TypeError: an index is of another kind.
    """
    if _is_mask(slice_spec):
        from tfnb.ops.array.where_ops import boolean_mask

        return boolean_mask(tensor=tensor, mask=slice_spec)
    if not isinstance(slice_spec, (list, tuple)):
        slice_spec = [slice_spec]
    begin: list[TensorLike] = []
    end: list[TensorLike] = []
    strides: list[IntsLike] = []
    begin_mask = end_mask = ellipsis_mask = new_axis_mask = shrink_axis_mask = 0
    for index, one in enumerate(slice_spec):
        bit = 1 << index
        if isinstance(one, builtins.slice):
            if _is_open(one.start):
                begin.append(_number_like((one.stop,), 0))
                begin_mask |= bit
            else:
                _check_index(one.start)
                begin.append(one.start)
            if _is_open(one.stop):
                end.append(_number_like((one.start,), 0))
                end_mask |= bit
            else:
                _check_index(one.stop)
                end.append(one.stop)
            if _is_open(one.step):
                strides.append(_number_like((one.start, one.stop), 1))
            else:
                _check_index(one.step)
                strides.append(one.step)
        elif one is Ellipsis or one is None:
            begin.append(0)
            end.append(0)
            strides.append(1)
            if one is None:
                new_axis_mask |= bit
            else:
                ellipsis_mask |= bit
        else:
            _check_index(one)
            begin.append(one)
            end.append(one + 1)
            is_other = isinstance(one, Tensor) and one.dtype is not dtypes.int32
            strides.append(constant_ops.constant(1, dtype=one.dtype) if is_other else 1)
            shrink_axis_mask |= bit
    with name_scope(None, "strided_slice", [tensor, *begin, *end, *strides]) as name:
        if begin:
            first, last, step = _of_one_type(
                [concat_ops.stack(begin), concat_ops.stack(end), concat_ops.stack(strides)]
            )
        else:
            first = last = step = constant_ops.constant([], dtype=dtypes.int32)
        return strided_slice(
            tensor,
            first,
            last,
            step,
            begin_mask=begin_mask,
            end_mask=end_mask,
            ellipsis_mask=ellipsis_mask,
            new_axis_mask=new_axis_mask,
            shrink_axis_mask=shrink_axis_mask,
            var=var,
            name=name,
        )


def _of_one_type(packed: list[Tensor]) -> list[Tensor]:
    from tfnb.ops.array import cast_ops

    for wanted in (dtypes.int64, dtypes.int16):
        if any(one.dtype is wanted for one in packed):
            return [one if one.dtype is wanted else cast_ops.cast(one, wanted) for one in packed]
    return packed


def _getitem(tensor: Tensor, slice_spec: TensorLike) -> Tensor:
    return slice_helper(convert_to_tensor(tensor), slice_spec)


register_operator(Tensor, "__getitem__", _getitem)
