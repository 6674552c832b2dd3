"""Ops that change the order of dimensions or elements: Transpose, Reverse, Roll."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import (
    MOST_DIMENSIONS,
    UNKNOWN_SHAPE,
    InferenceContext,
    merge_dims,
    merge_shapes,
    unchanged_shape,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.framework.tensor import Tensor
from tfnb.ops.base import provided_functions as provided
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import Gradients, TensorLike

EXPORTS = {
    "tf": [
        "transpose",
        "matrix_transpose",
        "invert_permutation",
        "reverse",
        "reverse_v2:reverse",
        "reverse_sequence",
        "roll",
    ],
    "linalg": ["matrix_transpose", "transpose:matrix_transpose"],
    "math": ["invert_permutation"],
    "manip": ["reverse", "roll"],
}

# ---------------------------------------------------------------------------------------- Transpose


def _transpose_shape(c: InferenceContext) -> TensorShape:
    perm, dims = c.constant_value(1), c.inputs[0].dim_values
    length = c.inputs[1].num_elements()
    if dims is not None:
        size: int | None = len(dims)
    elif perm is not None:
        size = perm.size
    else:
        size = length
    if size is None:
        return UNKNOWN_SHAPE
    c.with_rank(1, 1)
    if size > MOST_DIMENSIONS:
        return UNKNOWN_SHAPE
    if dims is None:
        dims = (None,) * size
    if length is not None and length != size:
        raise ValueError(f"Dimension must be {size} but is {length}")
    if perm is None:
        return TensorShape([None] * size)
    out = []
    for axis in perm.reshape(-1).tolist():
        if not -size <= axis < size:
            raise ValueError(f"perm dim {axis} is out of range of input rank {size}")
        out.append(dims[axis])
    return TensorShape(out)


def _permutation(x: Array, perm: Array) -> list[int]:
    if perm.ndim != 1:
        raise errors.invalid_argument(f"perm must be rank 1, got shape {shape_text(perm.shape)}")
    size = x.ndim
    if perm.shape[0] != size:
        raise errors.invalid_argument(
            f"transpose expects a vector of size {size}. But input(1) is a vector of size "
            f"{perm.shape[0]}"
        )
    # TensorFlow reads them as 32-bit numbers.
    wanted = perm if perm.itemsize == 4 else perm.astype(np.int32)
    axes = []
    for axis in wanted.tolist():
        if not -size <= axis < size:
            raise errors.invalid_argument(f"{axis} is out of range [0 .. {size})")
        axes.append(axis % size)
    if len(set(axes)) != size:
        missing = next(i for i in range(size) if i not in axes)
        listed = ",".join(map(str, perm.tolist()))
        raise errors.invalid_argument(f"{missing} is missing from {{{listed}}}.")
    return axes


_TRANSPOSE = (
    "x: T, perm: Tperm -> y: T",
    "T: type",
    "Tperm: {int32, int64} = DT_INT32",
)


@register_op(
    "Transpose", *_TRANSPOSE, shape=_transpose_shape, host_memory=("perm",), traits="rearranges"
)
def transpose_op(xp: Xp, x: Array, perm: Array) -> Array:
    """Return the tensor with its dimensions in another order."""
    return x.transpose(_permutation(x, perm))


@transpose_op.with_constants("perm")
def _(perm: Array) -> Callable[[Array], Array] | None:
    if perm.ndim != 1 or sorted(perm.tolist()) != list(range(len(perm))):
        return None
    plain, axes = transpose_op.function, tuple(perm.tolist())
    assert plain is not None

    def transposed(x: Array) -> Array:
        return x.transpose(axes) if x.ndim == len(axes) else plain(np, x, perm)

    return transposed


@register_op(
    "ConjugateTranspose",
    *_TRANSPOSE,
    shape=_transpose_shape,
    host_memory=("perm",),
    traits="rearranges",
)
def conjugate_transpose_op(xp: Xp, x: Array, perm: Array) -> Array:
    """Return the complex conjugate of the tensor, with its dimensions in another order."""
    value = x.transpose(_permutation(x, perm))
    return xp.conj(value) if value.dtype.kind == "c" else value


@transpose_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return transpose(grad, invert_permutation(op.inputs[1])), None


@conjugate_transpose_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return transpose(grad, invert_permutation(op.inputs[1]), conjugate=True), None


def transpose(
    a: TensorLike,
    perm: TensorLike | None = None,
    name: str | None = "transpose",
    conjugate: bool = False,
) -> Tensor:
    """Return the tensor with its dimensions in another order.

    Args:
      a: the tensor.
      perm: dimension i of the result is dimension ``perm[i]`` of ``a``; None reverses them.
      name: the name of the op.
      conjugate: whether complex numbers are conjugated too.
    """
    from tfnb.ops.array import shape_ops

    with name_scope(name, "transpose", [a]) as name:
        if not isinstance(a, Tensor):
            a = convert_to_tensor(a, name="a")
        op = conjugate_transpose_op if conjugate and a.dtype.is_complex else transpose_op
        found: Tensor
        if perm is not None:
            found = op(a, perm, name=name)
            return found
        rank = a.shape.ndims
        if rank is not None:
            perm = np.arange(rank - 1, -1, -1, dtype=np.int32)
        else:
            perm = provided.range_op(shape_ops.rank_op(a) - 1, -1, -1)
        found = op(a, perm, name=name)
        return found


def matrix_transpose(
    a: TensorLike, name: str = "matrix_transpose", conjugate: bool = False
) -> Tensor:
    """Return the tensor with its last two dimensions exchanged.

    Raises:
      ValueError: the tensor has fewer than two dimensions.
    """
    from tfnb.ops.array import concat_ops, shape_ops

    with name_scope(name, values=[a]) as name:
        a = convert_to_tensor(a, name="a")
        rank = a.shape.ndims
        if rank is None:
            size = shape_ops.rank(a)
            head = provided.range_op(0, size - 2, 1)
            perm: TensorLike = concat_ops.concat((head, [size - 1, size - 2]), 0)
        elif rank < 2:
            raise ValueError(
                "Argument `a` should be a (batch) matrix with rank >= 2.  "
                f"Received `a` = {a} with shape: {a.shape}"
            )
        else:
            perm = [*range(rank - 2), rank - 1, rank - 2]
        return transpose(a, perm=perm, conjugate=conjugate)


# -------------------------------------------------------------------------------- InvertPermutation


@register_op(
    "InvertPermutation",
    "x: T -> y: T",
    "T: {int32, int64} = DT_INT32",
    shape=lambda c: c.with_rank(0, 1),
    host_memory=("x", "y"),
    traits="rearranges",
)
def invert_permutation(xp: Xp, x: Array) -> Array:
    """Return the inverse permutation: ``y[x[i]] = i``."""
    if x.ndim != 1:
        raise errors.invalid_argument("invert_permutation expects a 1D vector.")
    size = x.shape[0]
    out = np.full(size, -1, x.dtype)
    for index, target in enumerate(x.tolist()):
        if not 0 <= target < size:
            raise errors.invalid_argument(f"{target} is not between 0 and {size}")
        if out[target] >= 0:
            raise errors.invalid_argument(f"{target} is duplicated in the input.")
        out[target] = index
    return out


invert_permutation.not_differentiable()

# ------------------------------------------------------------------------------------------ Reverse


def _reverse_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(1, 1)
    length = c.inputs[1].num_elements()
    source = c.inputs[0] if length is None else c.with_rank(0, length)
    if (source.ndims or 0) > 8:
        raise ValueError("reverse does not work on tensors with more than 8 dimensions")
    return source


@register_op(
    "Reverse",
    "tensor: T, dims: bool -> output: T",
    "T: {uint8, int8, uint16, int16, uint32, int32, uint64, int64, bool, bfloat16, half, float, "
    "double, complex64, complex128, string}",
    shape=_reverse_shape,
    host_memory=("dims",),
    traits="rearranges",
)
def reverse_op(xp: Xp, tensor: Array, dims: Array) -> Array:
    """Return the tensor with the order of elements reversed along the marked dimensions."""
    if tensor.ndim == 0:
        return tensor
    if tensor.shape[0] == 0:
        raise errors.invalid_argument("Invalid input first dimension. Found 0.")
    if dims.ndim != 1:
        raise errors.invalid_argument(f"'dims' must be 1-dimension, not {dims.ndim}")
    if dims.shape[0] != tensor.ndim:
        raise errors.invalid_argument(
            "'dims' must have the same number of values as 'input' has dimensions. 'input' has "
            f"{tensor.ndim}'dims' has {dims.shape[0]} values"
        )
    return tensor[tuple([slice(None, None, -1 if mark else 1) for mark in dims.tolist()])]


@reverse_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return reverse_op(grad, op.inputs[1]), None


def _reverse_v2_shape(c: InferenceContext) -> TensorShape:
    dims = c.inputs[0].dim_values
    c.with_rank(1, 1)
    if dims is not None and len(dims) > 8:
        raise ValueError("reverse does not work on tensors with more than 8 dimensions")
    axes = c.constant_value(1)
    if axes is not None and dims is not None:
        seen: set[int] = set()
        for axis in axes.tolist():
            place = axis + len(dims) if axis < 0 else axis
            if not 0 <= place < len(dims):
                raise ValueError(
                    f"'axis'[{len(seen)}] = {axis} is out of valid range [0, {len(dims) - 1}"
                )
            if place in seen:
                raise ValueError(f"axis {place} specified more than once.")
            seen.add(place)
    return c.inputs[0]


@register_op(
    "ReverseV2",
    "tensor: T, axis: Tidx -> output: T",
    "Tidx: {int32, int64} = DT_INT32",
    "T: {uint8, int8, uint16, int16, int32, uint32, int64, uint64, bool, bfloat16, half, float, "
    "double, complex64, complex128, string}",
    shape=_reverse_v2_shape,
    host_memory=("axis",),
    traits="rearranges",
)
def reverse(xp: Xp, tensor: Array, axis: Array) -> Array:
    """Return the tensor with the order of elements reversed along the given axes."""
    rank = tensor.ndim
    if tensor.size == 0 or rank == 0:
        return tensor
    if axis.ndim != 1:
        raise errors.invalid_argument(f"'dims' must be 1-dimension, not {axis.ndim}")
    index = [slice(None)] * rank
    for position, one in enumerate(axis.tolist()):
        if not -rank <= one < rank:
            raise errors.invalid_argument(
                f"'axis'[{position}] = {one} is out of valid range [0, {rank - 1}"
            )
        if index[one].step is not None:
            raise errors.invalid_argument(f"axis {one % rank} specified more than once.")
        index[one] = slice(None, None, -1)
    return tensor[tuple(index)]


@reverse.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return reverse(grad, op.inputs[1]), None


# ---------------------------------------------------------------------------------- ReverseSequence


def _reverse_sequence_shape(c: InferenceContext) -> TensorShape:
    lengths = c.with_rank(1, 1).dim_values
    batch, seq = c.attr("batch_dim"), c.attr("seq_dim")
    dims = c.inputs[0].dim_values
    if dims is None:
        return UNKNOWN_SHAPE
    if batch >= len(dims):
        raise ValueError(f"batch_dim must be < input rank: {batch} vs. {len(dims)}")
    if seq >= len(dims):
        raise ValueError(f"seq_dim must be < input rank: {seq} vs. {len(dims)}")
    out = list(dims)
    out[batch] = merge_dims(dims[batch], lengths[0] if lengths else None)
    return TensorShape(out)


@register_op(
    "ReverseSequence",
    "input: T, seq_lengths: Tlen -> output: T",
    "seq_dim: int",
    "batch_dim: int = 0",
    "T: type",
    "Tlen: {int32, int64} = DT_INT64",
    shape=_reverse_sequence_shape,
    traits="rearranges",
)
def reverse_sequence_op(
    xp: Xp, input: Array, seq_lengths: Array, *, seq_dim: int, batch_dim: int
) -> Array:
    """Return every row b with its first ``seq_lengths[b]`` elements in reverse order."""
    if seq_lengths.ndim != 1:
        raise errors.invalid_argument(f"seq_lens input must be 1-dim, not {seq_lengths.ndim}")
    if batch_dim == seq_dim:
        raise errors.invalid_argument(f"batch_dim == seq_dim == {seq_dim}")
    if seq_dim >= input.ndim:
        raise errors.invalid_argument(f"seq_dim must be < input rank ( {seq_dim} vs. {input.ndim})")
    if batch_dim >= input.ndim:
        raise errors.invalid_argument(
            f"batch_dim must be < input rank ( {batch_dim} vs. {input.ndim})"
        )
    count, length = input.shape[batch_dim], input.shape[seq_dim]
    if seq_lengths.shape[0] != count:
        raise errors.invalid_argument(
            f"Length of seq_lens != input.dims({batch_dim}), ({seq_lengths.shape[0]} vs. {count})"
        )
    for row, one in enumerate(seq_lengths.tolist()):
        if one < 0:
            raise errors.invalid_argument(f"seq_lens({row}) < 0")
        if one > length:
            raise errors.invalid_argument(f"seq_lens({row}) > input.dims({seq_dim})")
    steps = xp.arange(length)
    limits = xp.asarray(seq_lengths)[:, None]
    source = xp.where(steps < limits, limits - 1 - steps, steps)
    moved = xp.moveaxis(input, (batch_dim, seq_dim), (0, 1))
    picked = moved[xp.arange(count)[:, None], source]
    return xp.moveaxis(picked, (0, 1), (batch_dim, seq_dim))


@reverse_sequence_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    found = reverse_sequence_op(
        grad,
        op.inputs[1],
        seq_dim=op.get_attr("seq_dim"),
        batch_dim=op.get_attr("batch_dim"),
    )
    return found, None


def reverse_sequence(
    input: TensorLike,
    seq_lengths: TensorLike,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """Reverse the first ``seq_lengths[b]`` elements of every row b.

    Args:
      input: the tensor.
      seq_lengths: one length per row.
      seq_axis: the dimension that is reversed (``seq_dim`` is its old name).
      batch_axis: the dimension of rows (``batch_dim`` is its old name).
      name: the name of the op.
      seq_dim: see ``seq_axis``.
      batch_dim: see ``batch_axis``.
    """
    seq = seq_dim if seq_axis is None else seq_axis
    batch = batch_dim if batch_axis is None else batch_axis
    found: Tensor = reverse_sequence_op(
        input, seq_lengths, seq_dim=seq, batch_dim=batch or 0, name=name
    )
    return found


# --------------------------------------------------------------------------------------------- Roll


def _roll_shape(c: InferenceContext) -> TensorShape:
    c.with_rank_at_least(0, 1)
    c.with_rank_at_most(1, 1)
    c.with_rank_at_most(2, 1)
    merge_shapes(c.inputs[1], c.inputs[2])
    return unchanged_shape(c)


@register_op(
    "Roll",
    "input: T, shift: Tshift, axis: Taxis -> output: T",
    "T: type",
    "Tshift: {int32, int64}",
    "Taxis: {int32, int64}",
    shape=_roll_shape,
    host_memory=("shift", "axis"),
    traits="rearranges",
)
def roll(xp: Xp, input: Array, shift: Array, axis: Array) -> Array:
    """Return the tensor rotated along axes: elements pushed out at one end enter at the other."""
    if input.ndim < 1:
        raise errors.invalid_argument("input must be 1-D or higher")
    if shift.ndim > 1:
        raise errors.invalid_argument(
            f"shift must be a scalar or a 1-D vector. Found: {shape_text(shift.shape)}"
        )
    if axis.ndim > 1:
        raise errors.invalid_argument(
            f"axis must be a scalar or a 1-D vector. Found: {shape_text(axis.shape)}"
        )
    if shift.shape != axis.shape:
        raise errors.invalid_argument(
            f"shift and axis must have the same size. Found: {shape_text(shift.shape)} vs "
            f"{shape_text(axis.shape)}"
        )
    # TensorFlow reads both as 32-bit numbers.
    steps, axes = (part.astype(np.int32).reshape(-1).tolist() for part in (shift, axis))
    for one in axes:
        if not -input.ndim <= one < input.ndim:
            raise errors.invalid_argument(f"axis {one} is out of range")
    return xp.roll(input, tuple(steps), tuple(axes))


@roll.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return roll(grad, -op.inputs[1], op.inputs[2]), None, None
