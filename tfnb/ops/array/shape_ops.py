"""Ops about shapes: Shape, Size, Rank, Reshape, ExpandDims, Squeeze, and broadcasting."""

from __future__ import annotations

import builtins
import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.process.later import later
from tfnb.core.shape_inference import (
    UNKNOWN_SHAPE,
    InferenceContext,
    broadcast_shapes,
    merge_shapes,
    scalar_shape,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.dispatch import dispatchable
from tfnb.framework.scopes import name_scope
from tfnb.ops.array.constant_ops import constant
from tfnb.ops.base import provided_functions as provided
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.known_results import ResultsOfKept, are_short, kept, read_only

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core import node_text
    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.tensor_shape import ShapeLike
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult
else:
    node_text = later("tfnb.core.node_text", in_step=True)

EXPORTS = {
    "tf": [
        "shape",
        "shape_n",
        "size",
        "rank",
        "reshape",
        "expand_dims",
        "squeeze",
        "ensure_shape",
        "broadcast_to",
        "broadcast_static_shape",
        "broadcast_dynamic_shape",
    ],
    "manip": ["reshape"],
}

# Shapes of TensorFlow have fewer dimensions than the first, arrays of NumPy at most the second.
_MOST_DIMENSIONS, _MOST_HERE = 254, 64

# --------------------------------------------------------------------------------- what a shape is


def _shape_shape(c: InferenceContext) -> builtins.list[TensorShape]:
    found = []
    for source in c.inputs:
        dims = source.dim_values
        found.append(TensorShape([None if dims is None else len(dims)]))
    return found


@register_op(
    "Shape",
    "input: T -> output: out_type",
    "T: type",
    "out_type: {int32, int64} = DT_INT32",
    shape=_shape_shape,
    host_memory=("output",),
    traits="shape_query cannot_fail rearranges",
)
def shape_op(xp: Xp, input: Array, *, out_type: DType) -> Array:
    """Return the sizes of a tensor's dimensions."""
    return _sizes(input, out_type)


def _sizes(value: Array, out_type: DType) -> Array:
    return _short_sizes(value.shape) if out_type is dtypes.int32 else _long_sizes(value.shape)


# Shapes recur from step to step, and in all iterations of a loop.  Kept arrays are read-only.
_KEPT = 1024


@lru_cache(maxsize=_KEPT)
def _short_sizes(shape: tuple[int, ...]) -> Array:
    if shape and max(shape) > 2**31 - 1:
        raise errors.invalid_argument(f"Shape output type is 32-bit but dim size is {max(shape)}")
    return kept(np.array(shape, np.int32))


@lru_cache(maxsize=_KEPT)
def _long_sizes(shape: tuple[int, ...]) -> Array:
    return kept(np.array(shape, np.int64))


for _type, _known in ((dtypes.int32, _short_sizes), (dtypes.int64, _long_sizes)):
    shape_op.expression(
        "{sizes}({input}.shape)",
        attrs={"out_type": _type},
        is_elementwise=False,
        is_new=False,
        sizes=_known,
    )


@register_op(
    "ShapeN",
    "input: N * T -> output: N * out_type",
    "N: int >= 1",
    "T: type",
    "out_type: {int32, int64} = DT_INT32",
    shape=_shape_shape,
    host_memory=("output",),
    traits="rearranges",
)
def shape_n_op(xp: Xp, input: Array, *, out_type: DType) -> Outputs:
    """Return the sizes of the dimensions of several tensors."""
    return tuple([_sizes(value, out_type) for value in input])


@register_op(
    "Size",
    "input: T -> output: out_type",
    "T: type",
    "out_type: {int32, int64} = DT_INT32",
    shape=scalar_shape,
    host_memory=("output",),
    traits="shape_query cannot_fail rearranges",
)
def size_op(xp: Xp, input: Array, *, out_type: DType) -> Array:
    """Return the number of elements of a tensor."""
    count = math.prod(input.shape)
    if out_type is dtypes.int32 and count > 2**31 - 1:
        raise errors.invalid_argument(
            f"Number of elements was larger than representable by 32-bit output type: {count}"
        )
    return out_type.as_numpy_dtype(count)


@register_op(
    "Rank",
    "input: T -> output: int32",
    "T: type",
    shape=scalar_shape,
    host_memory=("output",),
    traits="shape_query cannot_fail rearranges",
)
def rank_op(xp: Xp, input: Array) -> Array:
    """Return the number of dimensions of a tensor."""
    return np.int32(len(input.shape))


for _op in (shape_op, shape_n_op, size_op, rank_op):
    _op.not_differentiable()


def shape(input: TensorLike, name: str | None = None, out_type: DTypeLike | None = None) -> Tensor:
    """Return the shape of a tensor as a tensor; a constant where it is known while building.

    Args:
      input: a tensor or SparseTensor.
      name: the name of the op.
      out_type: int32 (the default) or int64.
    """
    return shape_internal(input, name, out_type=out_type or dtypes.int32)


def shape_internal(
    input: TensorLike,
    name: str | None = None,
    optimize: bool = True,
    out_type: DTypeLike | None = None,
) -> Tensor:
    """Return the shape as :func:`shape` does; ``optimize=False`` always adds a Shape op."""
    from tfnb.framework.sparse_tensor import SparseTensor, SparseTensorValue

    out_type = None if out_type is None else dtypes.as_dtype(out_type)
    with name_scope(name, "Shape", [input]) as name:
        if isinstance(input, (SparseTensor, SparseTensorValue)):
            from tfnb.ops.array import cast_ops

            sparse: Tensor = cast_ops.cast_op(input.dense_shape, DstT=out_type or dtypes.int32)
            return sparse
        input = convert_to_tensor(input)
        if optimize and input.shape.is_fully_defined():
            if out_type is None:
                return convert_to_tensor(input.shape)
            return constant(input.shape.as_list(), out_type, name=name)
        found: Tensor = shape_op(input, out_type=out_type or dtypes.int32, name=name)
        return found


def shape_n(
    input: TensorLike, out_type: DTypeLike = dtypes.int32, name: str | None = None
) -> TensorResult:
    """Return the shapes of several tensors."""
    return shape_n_op(input, out_type=out_type, name=name)


@dispatchable
def size(input: TensorLike, name: str | None = None, out_type: DTypeLike | None = None) -> Tensor:
    """Return the number of elements of a tensor; a constant where it is known while building."""
    return size_internal(input, name, optimize=True, out_type=out_type or dtypes.int32)


def size_internal(
    input: TensorLike,
    name: str | None = None,
    optimize: bool = True,
    out_type: DTypeLike = dtypes.int32,
) -> Tensor:
    """Return the number of elements as :func:`size`; ``optimize=False`` always adds a Size op."""
    from tfnb.framework.sparse_tensor import SparseTensor, SparseTensorValue

    out_type = dtypes.as_dtype(out_type)
    with name_scope(name, "Size", [input]) as name:
        if isinstance(input, (SparseTensor, SparseTensorValue)):
            from tfnb.ops.array import cast_ops

            sparse: Tensor = provided.reduce_prod(
                cast_ops.cast_op(input.dense_shape, DstT=out_type), 0, name=name
            )
            return sparse
        input = convert_to_tensor(input)
        if optimize:
            if input.shape.is_fully_defined():
                return constant(input.shape.num_elements(), out_type, name=name)
            if 0 in (input.shape.dim_values or ()):
                return constant(0, out_type, name=name)
        found: Tensor = size_op(input, out_type=out_type, name=name)
        return found


@dispatchable
def rank(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the number of dimensions of a tensor; a constant where it is known while building."""
    return rank_internal(input, name, optimize=True)


def rank_internal(input: TensorLike, name: str | None = None, optimize: bool = True) -> Tensor:
    """Return the rank, as :func:`rank` does; ``optimize=False`` always adds a Rank op."""
    from tfnb.framework.sparse_tensor import SparseTensor, SparseTensorValue

    with name_scope(name, "Rank", [input]) as name:
        if isinstance(input, (SparseTensor, SparseTensorValue)):
            sparse: Tensor = size_op(input.dense_shape, out_type=dtypes.int32, name=name)
            return sparse
        input = convert_to_tensor(input)
        if optimize and input.shape.ndims is not None:
            return constant(input.shape.ndims, dtypes.int32, name=name)
        found: Tensor = rank_op(input, name=name)
        return found


# ------------------------------------------------------------------------------------------ Reshape


def reshape_shape(c: InferenceContext) -> TensorShape:
    """Return the shape that the second input holds, completed by the shape of the first.

    Raises:
      ValueError: the elements do not fit into it.
    """
    target = c.constant_value_as_shape(1)
    dims, out = c.inputs[0].dim_values, target.dim_values
    if dims is None or out is None:
        return target
    in_unknown = [i for i, n in enumerate(dims) if n is None]
    out_unknown = [i for i, n in enumerate(out) if n is None]
    in_known = math.prod([n for n in dims if n is not None])
    out_known = math.prod([n for n in out if n is not None])
    if 0 in dims:
        in_unknown, in_known = [], 0
    if 0 in out:
        out_unknown, out_known = [], 0
    if len(in_unknown) > 1 or len(out_unknown) > 1:
        return target
    if not in_unknown and not out_unknown:
        if in_known != out_known:
            raise ValueError(
                f"Cannot reshape a tensor with {in_known} elements to shape "
                f"{node_text.shape_text(target)} ({out_known} elements)"
            )
    elif not in_unknown and out_known > 0:
        return _with_dim(out, out_unknown[0], _divide(in_known, out_known))
    elif not out_unknown and in_known:
        _divide(out_known, in_known)
    elif in_unknown and out_unknown and in_known == out_known:
        return _with_dim(out, out_unknown[0], dims[in_unknown[0]])
    return target


def _divide(total: int, divisor: int) -> int:
    if total % divisor:
        raise ValueError(f"Dimension size must be evenly divisible by {divisor} but is {total}")
    return total // divisor


def _with_dim(dims: TensorLike, index: int, dim: int | None) -> TensorShape:
    return TensorShape([*dims[:index], dim, *dims[index + 1 :]])


@register_op(
    "Reshape",
    "tensor: T, shape: Tshape -> output: T",
    "T: type",
    "Tshape: {int32, int64} = DT_INT32",
    shape=reshape_shape,
    host_memory=("shape",),
    traits="launches rearranges",
)
def reshape_op(xp: Xp, tensor: Array, shape: Array) -> Array:
    """Return the same elements in another shape; one size may be -1."""
    if shape.ndim > 1:
        raise errors.invalid_argument(f"sizes input must be 1-D, not {shape_text(shape.shape)}")
    sizes = shape.tolist() if shape.ndim else [int(shape)]
    if tuple(sizes) == tensor.shape:
        return tensor.reshape(sizes)
    count = math.prod(tensor.shape)
    unknown, known, has_zero = -1, 1, False
    for index, size in enumerate(sizes):
        if size == -1:
            if unknown >= 0:
                raise errors.invalid_argument(
                    f"Only one input size may be -1, not both {unknown} and {index}"
                )
            unknown = index
        elif size < 0:
            raise errors.invalid_argument(f"Size {index} must be non-negative, not {size}")
        elif size == 0:
            has_zero = True
        else:
            known *= size
    if unknown >= 0:
        # Where both shapes have empty dimensions, the other dimensions decide.
        total = math.prod([n for n in tensor.shape if n]) if has_zero else count
        if total % known and not (has_zero and 0 in tensor.shape):
            raise errors.invalid_argument(
                f"Input to reshape is a tensor with {count} values, but the requested shape "
                f"requires a multiple of {known}"
            )
        sizes[unknown] = total // known
    wanted = math.prod(sizes)
    if wanted != count:
        raise errors.invalid_argument(
            f"Input to reshape is a tensor with {count} values, but the requested shape has "
            f"{wanted}"
        )
    check_rank(len(sizes))
    return tensor.reshape(sizes)


def _short_sizes_if_any(shape: tuple[int, ...]) -> Array | None:
    try:
        return _short_sizes(shape)
    except errors.InvalidArgumentError:  # the tensor has a shape, which is given otherwise
        return None


# The shape is often that of the tensor itself, in gradients of ops that may broadcast.
for _type, _if_known in ((dtypes.int32, _short_sizes_if_any), (dtypes.int64, _long_sizes)):
    reshape_op.expression(
        "{tensor} if {sizes}({tensor}.shape) is {shape} else {kernel}",
        attrs={"Tshape": _type},
        is_elementwise=False,
        is_new=False,
        sizes=_if_known,
    )


@reshape_op.with_constants("shape")
def _(shape: Array) -> Callable[[Array], Array] | None:
    sizes = shape.tolist() if shape.ndim == 1 else [0]
    if 0 in sizes or min(sizes, default=1) < -1 or sizes.count(-1) > 1 or len(sizes) > _MOST_HERE:
        return None
    plain = reshape_op.function
    assert plain is not None

    def reshaped(tensor: Array) -> Array:
        try:
            return tensor.reshape(sizes)
        except ValueError:
            return plain(np, tensor, shape)

    return reshaped


def check_rank(rank: int) -> None:
    """Refuse more dimensions than TensorFlow's shapes or NumPy's arrays can have.

    Raises:
      InvalidArgumentError: the rank is too large.
    """
    if rank >= _MOST_DIMENSIONS:
        raise errors.invalid_argument(
            f"too many dimensions: must be < {_MOST_DIMENSIONS}, but received {rank}"
        )
    if rank > _MOST_HERE:
        raise errors.invalid_argument(
            f"too many dimensions: tensors have at most {_MOST_HERE} here, but received {rank}"
        )


@reshape_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    source = op.inputs[0]
    grad = convert_to_tensor(grad)
    dims = source.shape.dim_values
    if dims is not None and dims.count(None) == 1 and 0 not in dims:
        return reshape_op(grad, [-1 if n is None else n for n in dims]), None
    return reshape_op(grad, shape(source)), None


def reshape(tensor: TensorLike, shape: TensorLike, name: str | None = None) -> Tensor:
    """Return the same elements in another shape.

    Args:
      tensor: the elements, taken in row-major order.
      shape: the sizes; one may be -1 and is then computed.
      name: the name of the op.
    """
    found: Tensor = reshape_op(tensor, shape, name=name)
    return found


# --------------------------------------------------------------------------- ExpandDims and Squeeze


def _expand_dims_shape(c: InferenceContext) -> TensorShape:
    position = c.constant_value(1)
    if position is not None and position.size != 1:
        raise ValueError("'dim' input must be a tensor with a single value")
    dims = c.inputs[0].dim_values
    if position is None or dims is None:
        return UNKNOWN_SHAPE
    index, size = int(position.reshape(-1)[0]), len(dims)
    if not -1 - size <= index <= size:
        raise ValueError(f"dim {index} not in the interval [{-1 - size}, {size}].")
    if index < 0:
        index += size + 1
    return TensorShape([*dims[:index], 1, *dims[index:]])


@register_op(
    "ExpandDims",
    "input: T, dim: Tdim -> output: T",
    "T: type",
    "Tdim: {int32, int64} = DT_INT32",
    shape=_expand_dims_shape,
    host_memory=("dim",),
    traits="launches rearranges",
)
def expand_dims_op(xp: Xp, input: Array, dim: Array) -> Array:
    """Return the tensor with a new dimension of size 1."""
    if dim.size != 1:
        raise errors.invalid_argument("'dim' must be a tensor with a single value")
    index, sizes = int(dim.reshape(-1)[0]), input.shape
    if not -1 - len(sizes) <= index <= len(sizes):
        raise errors.invalid_argument(
            f"Tried to expand dim index {index} for tensor with {len(sizes)} dimensions."
        )
    if index < 0:
        index += len(sizes) + 1
    check_rank(len(sizes) + 1)
    return input.reshape((*sizes[:index], 1, *sizes[index:]))


@expand_dims_op.with_constants("dim")
def _(dim: Array) -> Callable[[Array], Array] | None:
    if dim.size != 1:
        return None
    place = int(dim.reshape(-1)[0])
    plain = expand_dims_op.function
    assert plain is not None

    def expanded(input: Array) -> Array:
        sizes = input.shape
        if 0 <= place <= len(sizes) < _MOST_HERE:
            return input.reshape((*sizes[:place], 1, *sizes[place:]))
        return plain(np, input, dim)

    return expanded


@expand_dims_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return reshape_op(grad, shape(op.inputs[0])), None


@dispatchable
def expand_dims(
    input: TensorLike,
    axis: TensorLike | None = None,
    name: str | None = None,
    dim: TensorLike | None = None,
) -> Tensor:
    """Return the tensor with a new dimension of size 1 at ``axis``, whose old name is ``dim``."""
    position = _renamed("axis", axis, "dim", dim)
    if position is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    found: Tensor = expand_dims_op(input, position, name=name)
    return found


def _renamed(new_name: str, new: Any, old_name: str, old: Any) -> Any:
    if old is not None:
        if new is not None:
            raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
        return old
    return new


def _squeeze_shape(c: InferenceContext) -> TensorShape:
    dims = c.inputs[0].dim_values
    if dims is None:
        return UNKNOWN_SHAPE
    chosen: set[int] = set()
    for axis in c.attr("squeeze_dims"):
        if not -len(dims) <= axis < len(dims):
            raise ValueError(f"squeeze_dims[{axis}] not in [{-len(dims)},{len(dims)}).")
        chosen.add(axis % len(dims))
    out: list[int | None] = []
    for index, dim in enumerate(dims):
        if not chosen:
            if dim is None:
                return UNKNOWN_SHAPE
            if dim != 1:
                out.append(dim)
        elif index not in chosen:
            out.append(dim)
        elif dim not in (None, 1):
            raise ValueError(f"Can not squeeze dim[{index}], expected a dimension of 1, got {dim}")
    return TensorShape(out)


@register_op(
    "Squeeze",
    "input: T -> output: T",
    "T: type",
    "squeeze_dims: list(int) >= 0 = []",
    shape=_squeeze_shape,
    traits="launches rearranges",
)
def squeeze_op(xp: Xp, input: Array, *, squeeze_dims: list[int]) -> Array:
    """Return the tensor without dimensions of size 1: the chosen ones, or all."""
    sizes = input.shape
    if not squeeze_dims:
        return input.reshape([n for n in sizes if n != 1])
    chosen = set()
    for axis in squeeze_dims:
        if not -len(sizes) <= axis < len(sizes):
            raise errors.invalid_argument(
                f"Tried to squeeze dim index {axis} for tensor with {len(sizes)} dimensions."
            )
        chosen.add(axis % len(sizes))
    for index in sorted(chosen):
        if sizes[index] != 1:
            raise errors.invalid_argument(
                f"Can not squeeze dim[{index}], expected a dimension of 1, got {sizes[index]}"
            )
    return input.reshape([n for index, n in enumerate(sizes) if index not in chosen])


@squeeze_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return reshape_op(grad, shape(op.inputs[0]))


def squeeze(
    input: TensorLike,
    axis: TensorLike | None = None,
    name: str | None = None,
    squeeze_dims: Any = None,
) -> Tensor:
    """Return the tensor without dimensions of size 1.

    Args:
      input: the tensor.
      axis: a number or list of numbers, each the position of a dimension to drop; None drops all.
      name: the name of the op.
      squeeze_dims: the old name of ``axis``.
    """
    axis = _renamed("axis", axis, "squeeze_dims", squeeze_dims)
    if axis is None:
        axis = []
    if np.isscalar(axis):
        axis = [axis]
    found: Tensor = squeeze_op(input, squeeze_dims=axis, name=name)
    return found


# -------------------------------------------------------------------------------------- EnsureShape


def _ensure_shape_shape(c: InferenceContext) -> TensorShape:
    # TensorFlow's own shape function does not handle a shape of unknown rank.
    return merge_shapes(c.inputs[0], c.attr("shape"))


@register_op(
    "EnsureShape",
    "input: T -> output: T",
    "shape: shape",
    "T: type",
    shape=_ensure_shape_shape,
    traits="rearranges",
)
def ensure_shape_op(ctx: OpKernelContext, input: Array, *, shape: TensorShape) -> Array:
    """Return the input, whose shape must be compatible with ``shape``."""
    if not shape.is_compatible_with(TensorShape(input.shape)):
        source = ctx.kernel.input_names[0] if ctx.kernel.input_names else "input"
        raise errors.invalid_argument(
            f"Shape of tensor {source} {shape_text(input.shape)} is not compatible with expected "
            f"shape {node_text.shape_text(shape)}."
        )
    return input


@ensure_shape_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return grad


def ensure_shape(x: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Return the tensor itself; its shape is checked now as far as known, and in every run."""
    shape = shape if isinstance(shape, TensorShape) else TensorShape(shape)
    found: Tensor = ensure_shape_op(x, shape=shape, name=name)
    return found


# ------------------------------------------------------------------------------------- broadcasting


def _broadcast_args_shape(c: InferenceContext) -> TensorShape:
    first, second = c.with_rank(0, 1).dim_values, c.with_rank(1, 1).dim_values
    if first is None or second is None or first[0] is None or second[0] is None:
        return TensorShape([None])
    return TensorShape([max(first[0], second[0])])


def _as_vectors(s0: Array, s1: Array) -> tuple[tuple[int, ...], tuple[int, ...]]:
    for index, sizes in enumerate((s0, s1)):
        if sizes.ndim != 1:
            raise errors.invalid_argument(f"In[{index}] must be a vector.{shape_text(sizes.shape)}")
    return tuple(s0.tolist()), tuple(s1.tolist())


def _broadcast_sizes(x: tuple[int, ...], y: tuple[int, ...]) -> list[int]:
    size = max(len(x), len(y))
    pairs = zip((1,) * (size - len(x)) + x, (1,) * (size - len(y)) + y)
    out = []
    for a, b in pairs:
        if a != b and 1 not in (a, b):
            raise errors.invalid_argument(
                f"Incompatible shapes: {shape_text(x)} vs. {shape_text(y)}"
            )
        out.append(b if a == 1 else a)
    return out


@register_op(
    "BroadcastArgs",
    "s0: T, s1: T -> r0: T",
    "T: {int32, int64} = DT_INT32",
    shape=_broadcast_args_shape,
    host_memory=("s0", "s1", "r0"),
    traits="rearranges",
)
def broadcast_args(xp: Xp, s0: Array, s1: Array) -> Array:
    """Return the shape that two shapes broadcast to."""
    return np.array(_broadcast_sizes(*_as_vectors(s0, s1)), s0.dtype)


def _broadcast_gradient_args_shape(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(0, 1)
    c.with_rank(1, 1)
    return [TensorShape([None]), TensorShape([None])]


@register_op(
    "BroadcastGradientArgs",
    "s0: T, s1: T -> r0: T, r1: T",
    "T: {int32, int64} = DT_INT32",
    shape=_broadcast_gradient_args_shape,
    host_memory=("s0", "s1", "r0", "r1"),
    traits="rearranges",
)
def broadcast_gradient_args(xp: Xp, s0: Array, s1: Array) -> Outputs:
    """Return the axes over which the gradients of a broadcasting op are summed."""
    if s0 is s1 and s0.ndim == 1 and xp is np:
        return _gradient_axes((), (), s0.dtype.char)
    known = _AXES_OF_KEPT.get((s0, s1))
    if known is not None:
        return known
    sizes = _as_vectors(s0, s1)
    if not are_short(*sizes):
        return _gradient_axes.__wrapped__(*sizes, s0.dtype.char)
    return _AXES_OF_KEPT.keep((s0, s1), _gradient_axes(*sizes, s0.dtype.char))


_AXES_OF_KEPT = ResultsOfKept()


@lru_cache(maxsize=_KEPT)
def _gradient_axes(x: tuple[int, ...], y: tuple[int, ...], dtype: str) -> tuple[Array, Array]:
    first: list[int] = []
    second: list[int] = []
    if x != y:
        _broadcast_sizes(x, y)
        size = max(len(x), len(y))
        for axis in builtins.range(size):
            place = axis - size
            a, b = (one[place] if len(one) >= -place else 1 for one in (x, y))
            if a == 1:
                first.append(axis)
            if b == 1:
                second.append(axis)
    return read_only(np.array(first, dtype)), read_only(np.array(second, dtype))


broadcast_gradient_args.not_differentiable()


def _broadcast_to_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(1, 1)
    target = c.constant_value_as_shape(1)
    dims, out = c.inputs[0].dim_values, target.dim_values
    if dims is None or out is None:
        return target
    if len(dims) > len(out):
        raise ValueError(f"Shape must be at most rank {len(out)} but is rank {len(dims)}")
    if out.count(None) == len(out):
        # Only the rank is known; a dimension above 1 remains unchanged.
        head = [None] * (len(out) - len(dims))
        return TensorShape([*head, *[None if n in (0, 1) else n for n in dims]])
    for index in builtins.range(len(dims)):
        a, b = dims[-1 - index], out[-1 - index]
        # The kernel checks empty dimensions.
        if a is not None and b is not None and a > 1 and a != b:
            raise ValueError(f"Dimensions must be equal, but are {a} and {b}")
    return target


@register_op(
    "BroadcastTo",
    "input: T, shape: Tidx -> output: T",
    "T: type",
    "Tidx: {int32, int64} = DT_INT32",
    shape=_broadcast_to_shape,
    host_memory=("shape",),
    traits="rearranges",
)
def broadcast_to(xp: Xp, input: Array, shape: Array) -> Array:
    """Return the input repeated along dimensions of size 1 and new leading ones."""
    if shape.ndim != 1:
        raise errors.invalid_argument(
            f"shape must be a vector of {{int32,int64}}, got shape {shape_text(shape.shape)}"
        )
    sizes = shape.tolist()
    for size in sizes:
        if size < 0:
            raise errors.invalid_argument(f"Dimension {size} must be >= 0")
    if input.ndim > len(sizes):
        raise errors.invalid_argument(
            f"Rank of input ({input.ndim}) must be no greater than rank of output shape "
            f"({len(sizes)})."
        )
    if list(input.shape) == sizes:
        return input
    check_fits(xp, sizes, input.dtype, is_given=True)
    for a, b in zip(reversed(input.shape), reversed(sizes)):
        if a not in (1, b):
            raise errors.invalid_argument(
                f"Incompatible shapes: {shape_text(input.shape)} vs. {shape_text(sizes)}"
            )
    out = xp.empty(sizes, input.dtype)
    out[...] = input
    return out


@broadcast_to.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    source, target = op.inputs
    source_shape = shape(source, out_type=target.dtype)
    from tfnb.framework.static_evaluation import evaluate_constant

    known = evaluate_constant(target)
    if known is not None:
        target = constant(known.tolist(), dtype=target.dtype)
    _, axes = broadcast_gradient_args(target, source_shape)
    summed = provided.reduce_sum(grad, axes, keepdims=True)
    return reshape(summed, source_shape), None


def broadcast_static_shape(shape_x: TensorShape, shape_y: TensorShape) -> TensorShape:
    """Return the shape that two known shapes broadcast to.

    Raises:
      ValueError: they cannot be broadcast together.
    """
    try:
        return broadcast_shapes(TensorShape(shape_x), TensorShape(shape_y))
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: {shape_x} and {shape_y}") from None


def broadcast_dynamic_shape(shape_x: TensorLike, shape_y: TensorLike) -> Tensor:
    """Return the shape that two shapes broadcast to, as a tensor."""
    found: Tensor = broadcast_args(shape_x, shape_y)
    return found
