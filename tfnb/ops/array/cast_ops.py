"""Cast, and the functions that are casts: ``tf.cast``, ``tf.to_float`` and others.

Numbers that do not fit become what an x86 processor makes of them: a float outside the range of an
integer type, or NaN, gives the lowest number; integers keep their low bits; a complex number loses
its imaginary part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import register_op
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.dispatch import dispatchable
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.framework.scopes import name_scope
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.framework.tensor import Tensor

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import Gradients, TensorLike

EXPORTS = {
    "tf": [
        "cast", "to_bfloat16", "to_complex128", "to_complex64", "to_double",
        "to_float", "to_int32", "to_int64",
    ],
    "dtypes": ["cast"],
}  # fmt: skip


def _cast_shape(c: InferenceContext) -> TensorShape:
    data = c.input_handle_data(0)
    if data:
        c.set_output_handle_data(0, data)
    return c.inputs[0]


@register_op(
    "Cast",
    "x: SrcT -> y: DstT",
    "SrcT: type",
    "DstT: type",
    "Truncate: bool = false",
    shape=_cast_shape,
    traits="rearranges",
)
def cast_op(xp: Xp, x: Array, *, SrcT: DType, DstT: DType, Truncate: bool) -> Array:
    """Return the numbers of `x` converted to another type."""
    if SrcT is DstT:
        return x
    if not _is_castable(SrcT) or not _is_castable(DstT):
        raise errors.unimplemented(f"Cast {SrcT.name} to {DstT.name} is not supported")
    target = DstT.as_numpy_dtype
    if x.dtype.kind == "c" and not DstT.is_complex:
        x = x.real
    if DstT.is_bool:
        return x != 0
    if Truncate and SrcT.is_floating and DstT.is_floating:
        return _truncated(xp, x, DstT)
    if SrcT.is_floating and (DstT.is_integer or DstT.is_quantized):
        return _float_to_integer(xp, x, target)
    if SrcT in _PARTS_OF_BYTES and DstT in _PARTS_OF_BYTES:
        # These types have no direct conversion to each other; each converts to int8.
        x = x.astype(np.int8)
    return x.astype(target)


_PARTS_OF_BYTES = frozenset({dtypes.int4, dtypes.uint4, dtypes.int2, dtypes.uint2})


def _is_castable(dtype: DType) -> bool:
    return dtype.is_bool or _carries_gradient(dtype) or dtype.is_integer or dtype.is_quantized


def _float_to_integer(xp: Xp, x: Array, target: Array) -> Array:
    if x.dtype.itemsize < 4:
        x = x.astype(np.float32)
    size = np.dtype(target).itemsize
    if size >= 4 and np.dtype(target).kind == "i":
        return x.astype(target)
    if size == 8:
        # Numbers of 2**63 and above are converted 2**63 lower, and their top bit is set.
        half = x.dtype.type(2.0**63)
        high = x >= half
        low = xp.where(high, x - half, x).astype(np.int64)
        return xp.where(high, low | np.int64(-(2**63)), low).astype(target)
    # Convert to a wider integer first and keep its low bits.
    return x.astype(np.int64 if size == 4 else np.int32).astype(target)


def _truncated(xp: Xp, x: Array, target: DType) -> Array:
    """Round towards zero: drop surplus bits of the mantissa."""
    if target is dtypes.bfloat16:
        wide = xp.asarray(x, np.float32)
        bits = (wide.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
        return xp.where(xp.isnan(wide), np.uint16(0x7FC0), bits).view(target.as_numpy_dtype)
    rounded = xp.asarray(x.astype(target.as_numpy_dtype))
    if np.dtype(target.as_numpy_dtype).itemsize < x.dtype.itemsize:
        zero = rounded.dtype.type(0)
        grew = (abs(rounded).astype(x.dtype) > abs(x)) & xp.isfinite(rounded)
        return xp.where(grew, xp.nextafter(rounded, zero), rounded)
    return rounded


@cast_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    source, target = op.inputs[0].dtype.base_dtype, grad.dtype.base_dtype
    if _carries_gradient(source) and _carries_gradient(target):
        return cast(grad, source)
    return None


def _carries_gradient(dtype: DType) -> bool:
    return dtype.is_floating or dtype.is_complex


@dispatchable
def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Any:
    """Return a tensor, a sparse tensor or slices with the numbers converted to another type."""
    base_type = dtypes.as_dtype(dtype).base_dtype
    # A resource variable is read by the op that uses its value.
    if (isinstance(x, Tensor) or hasattr(x, "handle")) and x.dtype == base_type:
        return x
    with name_scope(name, "Cast", [x]) as scope:
        if isinstance(x, SparseTensor):
            return SparseTensor(x.indices, cast(x.values, base_type, name=scope), x.dense_shape)
        if isinstance(x, IndexedSlices):
            return IndexedSlices(cast(x.values, base_type, name=scope), x.indices, x.dense_shape)
        x = convert_to_tensor(x, name="x")
        if x.dtype == base_type:
            return x
        return cast_op(x, DstT=base_type, name=scope)


def to_float(x: TensorLike, name: str = "ToFloat") -> Any:
    """Cast to float32."""
    return cast(x, dtypes.float32, name=name)


def to_double(x: TensorLike, name: str = "ToDouble") -> Any:
    """Cast to float64."""
    return cast(x, dtypes.float64, name=name)


def to_int32(x: TensorLike, name: str = "ToInt32") -> Any:
    """Cast to int32."""
    return cast(x, dtypes.int32, name=name)


def to_int64(x: TensorLike, name: str = "ToInt64") -> Any:
    """Cast to int64."""
    return cast(x, dtypes.int64, name=name)


def to_bfloat16(x: TensorLike, name: str = "ToBFloat16") -> Any:
    """Cast to bfloat16."""
    return cast(x, dtypes.bfloat16, name=name)


def to_complex64(x: TensorLike, name: str = "ToComplex64") -> Any:
    """Cast to complex64."""
    return cast(x, dtypes.complex64, name=name)


def to_complex128(x: TensorLike, name: str = "ToComplex128") -> Any:
    """Cast to complex128."""
    return cast(x, dtypes.complex128, name=name)
