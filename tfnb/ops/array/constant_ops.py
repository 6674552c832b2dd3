"""Constants and placeholders: Const, Placeholder, Fill, and tensors of zeros and ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.attr_value import TensorAttr
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.process.later import later
from tfnb.core.resource_mgr import ResourceHandle
from tfnb.core.shape_inference import InferenceContext, merge_shapes, unchanged_shape
from tfnb.core.tensor_proto import check_content_size, encode_tensor
from tfnb.core.tensor_shape import Dimension, TensorShape
from tfnb.core.tensor_util import convert_to_ndarray
from tfnb.framework.convert import constant_node, constant_of_proto, convert_to_tensor
from tfnb.framework.dispatch import dispatchable
from tfnb.framework.scopes import name_scope
from tfnb.framework.tensor import Tensor
from tfnb.ops.base import provided_functions as provided
from tfnb.ops.base.opaque_values import is_opaque

if TYPE_CHECKING:
    from tfnb.core import node_text
    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.kernel_types import Array, Attr, Xp
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import Gradients, Nested, TensorLike
else:
    node_text = later("tfnb.core.node_text", in_step=True)

EXPORTS = {
    "tf": [
        "constant",
        "placeholder",
        "placeholder_with_default",
        "zeros",
        "ones",
        "zeros_like",
        "ones_like",
        "fill",
        "guarantee_const",
    ],
}

# Largest number of equal elements that become a Const instead of a Fill.
_SMALL = 1000

# -------------------------------------------------------------------------------------------- Const


def _const_shape(c: InferenceContext) -> TensorShape:
    value = c.attrs["value"]
    return value.shape if isinstance(value, TensorAttr) else TensorShape(value.shape)


@register_op(
    "Const",
    "-> output: dtype",
    "value: tensor",
    "dtype: type",
    shape=_const_shape,
    traits="c_order from_before fixed",
)
def const(xp: Xp, *, value: Array, dtype: DType) -> Array:
    """Return a tensor whose value is stored in the graph."""
    return _checked(value, dtype)


def _checked(value: Array, dtype: Attr) -> Array:
    if value.dtype != dtype.numpy_dtype:
        raise errors.invalid_argument(
            f"Type mismatch between value ({value.dtype.name}) and dtype ({dtype.name})"
        )
    return value


@const.kernel("GPU")
def _(ctx: OpKernelContext, *, value: Array, dtype: DType) -> Array:
    state = ctx.kernel_state
    if "value" not in state:
        _checked(value, dtype)
        state["value"] = value if value.dtype == object else ctx.xp.asarray(value)
    return state["value"]


const.not_differentiable()


@register_op(
    "HostConst",
    "-> output: dtype",
    "value: tensor",
    "dtype: type",
    shape=_const_shape,
    host_memory=("output",),
    traits="from_before fixed",
)
def host_const(xp: Xp, *, value: Array, dtype: DType) -> Array:
    """Return a constant that stays in host memory."""
    return _checked(value, dtype)


@register_op(
    "ImmutableConst",
    "-> tensor: dtype",
    "dtype: type",
    "shape: shape",
    "memory_region_name: string",
    shape=lambda c: c.attr("shape"),
    devices=("CPU",),
    effects="read memory_region_name",
    traits="from_before unchecked_shape loads",
)
def immutable_const(xp: Xp, *, dtype: DType, shape: TensorShape, memory_region_name: str) -> Array:
    """Return a tensor mapped from a file."""
    from tfnb.core.files import file_system

    if dtype is dtypes.string:
        raise errors.unimplemented(
            f"Sorry, DT_STRING is not currently supported for ImmutableConstOp."
            f" Region: {memory_region_name}"
        )
    count = shape.num_elements() or 0
    region = file_system.map_file(memory_region_name)
    if region.size < count * dtype.size:
        raise errors.invalid_argument(
            f"Region {memory_region_name} has {region.size} bytes, {count * dtype.size} are needed."
        )
    value = np.asarray(region[: count * dtype.size]).view(dtype.numpy_dtype)
    return value.reshape([size or 0 for size in shape.as_list()])


def constant_v1(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    shape: Any = None,
    name: str | None = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """Return a tensor with a fixed value.

    Args:
      value: a number, string, array, or nested lists of these.
      dtype: the type; None derives it from the value.
      shape: the shape; if it has more elements than the value, the last element is repeated.
      name: the name of the op.
      verify_shape: whether to refuse a value of another shape.

    Raises:
      TypeError: the value cannot have the dtype, or has another shape that may not be repeated.
      ValueError: the value has more elements than the shape, or 2 GB or more.
    """
    return _make_constant(value, dtype, shape, name, verify_shape)


def constant(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    shape: Any = None,
    name: str | None = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """Return a tensor with a fixed value; see :func:`constant_v1`."""
    return _make_constant(value, dtype, shape, name, verify_shape)


def _make_constant(
    value: TensorLike, dtype: DTypeLike | None, shape: Any, name: str | None, verify: bool
) -> Tensor:
    wanted = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
    if type(value).__name__ == "TensorProto":
        return constant_of_proto(value, name)
    array = convert_to_ndarray(value, wanted)
    check_content_size(array.nbytes)
    if isinstance(value, np.ndarray) and np.may_share_memory(array, value):
        array = array.copy()
    if wanted is None:
        wanted = dtypes.as_dtype(value.dtype if isinstance(value, np.ndarray) else array.dtype)
    if shape is None:
        return constant_node(TensorAttr.from_value(array, wanted), name)
    sizes = _sizes(shape)
    count = math.prod(sizes)
    _check_fit(array, sizes, verify)
    if array.size < count:
        # The graph stores the given elements, not their repetitions.
        return constant_node(TensorAttr(encode_tensor(array, wanted, sizes)), name)
    array = array.reshape(sizes) if count else np.empty(sizes, array.dtype)
    return constant_node(TensorAttr.from_value(array, wanted), name)


def _sizes(shape: Any) -> tuple[int, ...]:
    known: Any = shape.as_list() if isinstance(shape, TensorShape) else shape
    if isinstance(known, (int, np.integer, Dimension)):
        known = [known]
    return tuple([int(size) for size in known])


def _check_fit(array: TensorLike, sizes: tuple[int, ...], verify: bool) -> None:
    count = math.prod(sizes)
    if array.shape == sizes:
        return
    if verify:
        raise TypeError(f"Expected Tensor's shape: {sizes}, but got {array.shape}.")
    if array.size > count > 0:
        raise ValueError(
            f"Too many elements provided. Takes at most {count:d}, but got {array.size:d}."
        )


# ------------------------------------------------------------------------------------- placeholders


def _refuse_unfed(ctx: OpKernelContext, dtype: DType, shape: TensorShape) -> Array:
    text = (
        f"You must feed a value for placeholder tensor '{ctx.node_name}' with dtype "
        f"{node_text.type_word(dtype)}"
    )
    if shape.dim_values:
        text += f" and shape {node_text.shape_text(shape)}"
    raise errors.invalid_argument(text, errors.Mistake.NOT_FED)


def _placeholder_shape(c: InferenceContext) -> TensorShape:
    shape: TensorShape = c.attr("shape")
    # Before GraphDef version 24 an empty shape meant an unknown one.
    if shape.dim_values == () and c.graph_def_version < 24:
        return TensorShape(None)
    return shape


@register_op(
    "Placeholder",
    "-> output: dtype",
    "dtype: type",
    "shape: shape = { unknown_rank: true }",
    shape=_placeholder_shape,
    traits="unchecked_shape not_constant placeholder must_be_fed",
)
def placeholder_op(ctx: OpKernelContext, *, dtype: DType, shape: TensorShape) -> Array:
    """Return a tensor that every run must feed."""
    return _refuse_unfed(ctx, dtype, shape)


@register_op(
    "PlaceholderV2",
    "-> output: dtype",
    "dtype: type",
    "shape: shape",
    shape=_placeholder_shape,
    deprecated=(23, "Placeholder now behaves the same as PlaceholderV2."),
    traits="unchecked_shape not_constant placeholder must_be_fed",
)
def placeholder_v2(ctx: OpKernelContext, *, dtype: DType, shape: TensorShape) -> Array:
    """Return a tensor that every run must feed; an older form."""
    return _refuse_unfed(ctx, dtype, shape)


def placeholder(dtype: DTypeLike, shape: Any = None, name: str | None = None) -> Tensor:
    """Return a tensor that every run must feed.

    Args:
      dtype: the type of the fed value.
      shape: its static shape; None allows every shape.
      name: the name of the op.
    """
    shape = shape if isinstance(shape, TensorShape) else TensorShape(shape)
    found: Tensor = placeholder_op(dtype=dtypes.as_dtype(dtype), shape=shape, name=name)
    return found


def _placeholder_with_default_shape(c: InferenceContext) -> TensorShape:
    # A feed may have another shape than the default, so only the attribute counts.
    shape: TensorShape = c.attr("shape")
    merge_shapes(c.inputs[0], shape)
    return shape


@register_op(
    "PlaceholderWithDefault",
    "input: dtype -> output: dtype",
    "dtype: type",
    "shape: shape",
    shape=_placeholder_with_default_shape,
    traits="unchecked_shape not_constant placeholder",
)
def placeholder_with_default_op(xp: Xp, input: Array) -> Array:
    """Return the input, unless a run feeds another value."""
    return input


@placeholder_with_default_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return grad


def placeholder_with_default(input: TensorLike, shape: Any, name: str | None = None) -> Tensor:
    """Return a tensor that is ``input`` unless a run feeds it.

    Args:
      input: the value without a feed.
      shape: the static shape of a feed; None allows every shape.
      name: the name of the op.
    """
    shape = shape if isinstance(shape, TensorShape) else TensorShape(shape)
    found: Tensor = placeholder_with_default_op(input, shape=shape, name=name)
    return found


# --------------------------------------------------------------------------------------------- Fill


def _fill_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(0, 1)
    c.with_rank(1, 0)
    sizes = c.constant_value(0)
    if sizes is not None and sizes.size and sizes.min() < 0:
        raise ValueError(f"Fill dimensions must be >= 0: Dimension {sizes.min()} must be >= 0")
    return c.constant_value_as_shape(0)


@register_op(
    "Fill",
    "dims: index_type, value: T -> output: T",
    "T: type",
    "index_type: {int32, int64} = DT_INT32",
    shape=_fill_shape,
    host_memory=("dims",),
    traits="c_order rearranges",
)
def fill_op(xp: Xp, dims: Array, value: Array) -> Array:
    """Return a tensor of equal elements."""
    if dims.ndim > 1 or (dims.ndim == 0 and dims.size != 1):
        raise errors.invalid_argument(
            "dims must represent a vector, got shape "
            f"{node_text.shape_text(TensorShape(dims.shape))}"
        )
    if value.size != 1 or value.ndim > 1:
        raise errors.invalid_argument(
            "value must represent a scalar, got shape "
            f"{node_text.shape_text(TensorShape(value.shape))}"
        )
    sizes = dims.reshape(-1).tolist()
    for size in sizes:
        if size < 0:
            raise errors.invalid_argument(f"Dimension {size} must be >= 0")
    check_fits(xp, sizes, value.dtype, is_given=True)
    if isinstance(value, np.generic):
        return np.full(sizes, value, value.dtype)
    one = value.reshape(())
    out = xp.empty(sizes, value.dtype)
    out[...] = one
    return out


@fill_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return None, provided.reduce_sum(grad)


def fill(
    dims: TensorLike, value: TensorLike, name: str | None = None, layout: None = None
) -> Tensor:
    """Return a tensor of the shape ``dims`` whose elements are all ``value``.

    Args:
      dims: the shape.
      value: the element.
      name: the name of the op.
      layout: must be None; tensors over several machines are not supported.

    Raises:
      ValueError: a layout is given.
    """
    _check_layout(layout)
    found: Tensor = fill_op(dims, value, name=name)
    return found


def unchanged_shape_and_handle(c: InferenceContext) -> TensorShape:
    """Return the static shape and handle data of the first input, as those of the output."""
    data = c.input_handle_data(0)
    if data:
        c.set_output_handle_data(0, data)
    return c.inputs[0]


@register_op(
    "ZerosLike", "x: T -> y: T", "T: type", shape=unchanged_shape_and_handle, traits="rearranges"
)
def zeros_like_op(xp: Xp, x: Array) -> Array:
    """Return zeros of the same shape and type."""
    if is_opaque(x):
        # A TensorList makes its own zeros.
        return x.zeros_like()
    if x.dtype == object:
        return _zero_strings(x)
    return xp.zeros(x.shape, x.dtype)


def _zero_strings(x: Array) -> Array:
    out = np.empty(x.shape, object)
    out[...] = b""
    return out


zeros_like_op.not_differentiable()


@register_op(
    "OnesLike",
    "x: T -> y: T",
    "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64, "
    "complex64, complex128, bool}",
    shape=unchanged_shape,
    traits="rearranges",
)
def ones_like_op(xp: Xp, x: Array) -> Array:
    """Return ones of the same shape and type."""
    return xp.ones(x.shape, x.dtype)


ones_like_op.not_differentiable()


def _empty_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(0, 1)
    return c.constant_value_as_shape(0)


@register_op(
    "Empty",
    "shape: int32 -> output: dtype",
    "dtype: type",
    "init: bool = false",
    shape=_empty_shape,
    stateful=True,
    host_memory=("shape",),
    traits="rearranges",
)
def empty_op(xp: Xp, shape: Any, *, dtype: DType) -> Array:
    """Return a tensor with unspecified contents; here they are zeros."""
    if shape.ndim != 1:
        raise errors.invalid_argument(
            "shape must be a vector of int32, got shape "
            f"{node_text.shape_text(TensorShape(shape.shape))}"
        )
    for size in shape.tolist():
        if size < 0:
            raise errors.invalid_argument(f"Dimension {size} must be >= 0")
    check_fits(xp, shape.tolist(), dtype.numpy_dtype, is_given=True)
    if dtype is dtypes.string:
        return _zero_strings(np.empty(shape.tolist(), object))
    return xp.zeros(shape.tolist(), dtype.numpy_dtype)


def _full(value: int, shape: Any, dtype: DTypeLike, name: str | None, scope: str) -> Tensor:
    dtype = dtypes.as_dtype(dtype).base_dtype
    with name_scope(name, scope, [shape]) as name:
        element: Nested = value
        if dtype is dtypes.bool:
            element = bool(value)
        elif dtype is dtypes.string and value == 0:
            element = ""
        elif dtype.is_quantized:
            element = np.array(value, dtype.as_numpy_dtype)
        if not isinstance(shape, Tensor):
            sizes = _known_sizes(shape)
            if sizes is not None and math.prod(sizes) < _SMALL:
                return constant(element, shape=sizes, dtype=dtype, name=name)
            if sizes is not None:
                shape = convert_to_tensor(TensorShape(sizes))
            else:
                shape = convert_to_tensor(shape, dtype=dtypes.int32)
        if not shape._shape_tuple():
            shape = provided.reshape(shape, [-1])
        return fill(shape, constant(element, dtype=dtype), name=name)


def _known_sizes(shape: Any) -> list[int] | None:
    try:
        sizes = TensorShape(shape).as_list()
    except (TypeError, ValueError):
        return None
    return None if None in sizes else sizes  # type: ignore[return-value]


def _check_layout(layout: Any) -> None:
    if layout is not None:
        raise ValueError(
            "layout must be None: tensors over several machines (DTensor) are not supported."
        )


def zeros(
    shape: Any, dtype: DTypeLike = dtypes.float32, name: str | None = None, layout: None = None
) -> Tensor:
    """Return zeros, or empty strings, or False, in a tensor of this shape.

    Args:
      shape: the shape.
      dtype: the type.
      name: the name of the op.
      layout: must be None; tensors over several machines are not supported.

    Raises:
      ValueError: a layout is given.
    """
    _check_layout(layout)
    return _full(0, shape, dtype, name, "zeros")


def ones(
    shape: Any, dtype: DTypeLike = dtypes.float32, name: str | None = None, layout: None = None
) -> Tensor:
    """Return ones, or True, in a tensor of this shape.

    Args:
      shape: the shape.
      dtype: the type.
      name: the name of the op.
      layout: must be None; tensors over several machines are not supported.

    Raises:
      ValueError: a layout is given.
    """
    _check_layout(layout)
    return _full(1, shape, dtype, name, "ones")


@dispatchable
def zeros_like(
    tensor: TensorLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    optimize: bool = True,
) -> Tensor:
    """Return zeros with the shape of a tensor.

    Args:
      tensor: the tensor whose shape and, without ``dtype``, type is used.
      dtype: another type.
      name: the name of the op.
      optimize: whether to make a constant where the shape is known.
    """
    from tfnb.framework.sparse_tensor import SparseTensor

    with name_scope(name, "zeros_like", [tensor]) as name:
        # Zeros like a sparse tensor of known shape are a dense tensor.
        if not (isinstance(tensor, SparseTensor) and tensor.shape.is_fully_defined()):
            tensor = convert_to_tensor(tensor, name="tensor")
        if dtype is False and optimize and tensor.shape.is_fully_defined():
            dtype = None  # programs give `optimize` in this place; TensorFlow takes it, too
        dtype = None if dtype is None else dtypes.as_dtype(dtype)
        wanted = tensor.dtype.base_dtype if dtype is None else dtype.base_dtype
        if optimize and tensor.shape.is_fully_defined() and wanted is not dtypes.variant:
            return zeros(tensor.shape, dtype=wanted, name=name)
        if wanted is not tensor.dtype.base_dtype and wanted is not dtypes.variant:
            return zeros(
                provided.shape_internal(tensor, optimize=optimize), dtype=wanted, name=name
            )
        found: Tensor = zeros_like_op(tensor, name=name)
        return found


@dispatchable
def ones_like(
    tensor: TensorLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    optimize: bool = True,
) -> Tensor:
    """Return ones with the shape of a tensor; arguments as in :func:`zeros_like`."""
    with name_scope(name, "ones_like", [tensor]) as name:
        tensor = convert_to_tensor(tensor, name="tensor")
        size = provided.shape_internal(tensor, optimize=optimize)
        wanted = tensor.dtype.base_dtype if dtype is None else dtypes.as_dtype(dtype).base_dtype
        out = ones(size, dtype=wanted, name=name)
        out.set_shape(tensor.shape)
        return out


@register_op(
    "GuaranteeConst", "input: T -> output: T", "T: type", shape=unchanged_shape, stateful=True
)
def guarantee_const(xp: Xp, input: Array) -> Array:
    """Return the input, with the promise that it is the same in every run."""
    if isinstance(input, ResourceHandle):
        raise errors.invalid_argument("Input tensor cannot be a resource variable handle.")
    return input
