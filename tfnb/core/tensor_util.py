"""Conversion between Python values, arrays and TensorProto messages: the public functions.

They use three functions: ``convert_to_ndarray`` (a Python value becomes an array of the right
type), ``encode_tensor`` (an array becomes a message) and ``decode_tensor`` (a message becomes an
array).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.python_values import convert_to_ndarray
from tfnb.core.tensor_proto import (
    decode_tensor,
    encode_tensor,
    encode_tensor_content,
    num_listed,
    shape_from_proto,
    shape_of_tensor_proto,
    shape_to_proto,
)
from tfnb.core.tensor_shape import ShapeLike, TensorShape
from tfnb.proto import tensor_pb2

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfnb.core.dtypes import DType

__all__ = [
    "convert_to_ndarray",
    "decode_tensor",
    "encode_tensor",
    "encode_tensor_content",
    "make_ndarray",
    "make_tensor_proto",
    "shape_from_proto",
    "shape_of_tensor_proto",
    "shape_to_proto",
]


def make_tensor_proto(
    values: Any,
    dtype: Any = None,
    shape: Any = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> tensor_pb2.TensorProto:
    """Return the TensorProto of a value.

    >>> make_tensor_proto(7.0, shape=[2, 3]).float_val
    [7.0]

    Args:
        values: A number, string, bool, array, or nested lists of these. A TensorProto is returned
            unchanged.
        dtype: The type, or anything ``as_dtype`` takes. None: see ``convert_to_ndarray``.
        shape: The shape, if not that of the value. It may have more elements than the value;
            the last one is then repeated.
        verify_shape: Whether to refuse a value of another shape.
        allow_broadcast: Whether a scalar, or an array of length 1, is accepted for any shape; any
            other value must then have as many elements as the shape.

    Raises:
        TypeError: The value does not have this type or, with verify_shape, this shape.
        ValueError: None, rows of different lengths, or more elements than the shape has.
    """
    if allow_broadcast and verify_shape:
        raise ValueError("allow_broadcast and verify_shape are not both allowed.")
    if isinstance(values, tensor_pb2.TensorProto):
        return values
    dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
    if shape is None:
        array = convert_to_ndarray(values, dtype)
        return encode_tensor(array, dtype or _dtype_of(values, array))
    sizes = _sizes_of(shape)
    count = math.prod(sizes)
    if count == 0 and not isinstance(values, (np.ndarray, np.generic)):
        array = np.empty(sizes, np.float32 if dtype is None else dtype.numpy_dtype)
    else:
        array = convert_to_ndarray(values, dtype)
    if allow_broadcast and array.shape not in ((), (1,)) and array.size != count:
        raise _wrong_shape(sizes, array)
    if verify_shape and array.shape != sizes:
        raise _wrong_shape(sizes, array)
    if not allow_broadcast and array.size > count:
        raise ValueError(
            f"Too many elements provided. Takes at most {count:d}, but got {array.size:d}."
        )
    return encode_tensor(array, dtype or _dtype_of(values, array), sizes)


def _dtype_of(values: Any, array: NDArray[Any]) -> DType:
    """Return the type of a value without an explicit type, quantized types included."""
    return dtypes.as_dtype(values.dtype if isinstance(values, np.ndarray) else array.dtype)


def _sizes_of(shape: ShapeLike) -> tuple[int, ...]:
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    return tuple([int(size) for size in shape])  # type: ignore[arg-type, union-attr]


def _wrong_shape(sizes: tuple[int, ...], array: NDArray[Any]) -> TypeError:
    return TypeError(f"Expected Tensor's shape: {sizes}, but got {array.shape}.")


def make_ndarray(tensor: tensor_pb2.TensorProto) -> NDArray[Any]:
    """Return the tensor in a message as a new, writable array.

    >>> make_ndarray(make_tensor_proto([[1, 2], [3, 4]]))
    array([[1, 2],
           [3, 4]], dtype=int32)

    Raises:
        TypeError: The message has a type that no array can hold.
        ValueError: Its content does not fit its shape.
    """
    dtype = dtypes.as_dtype(tensor.dtype)
    if dtype.is_ref_dtype or not dtype.is_numpy_compatible:
        raise TypeError(f"Unsupported tensor type: {dtype.as_datatype_enum} ({dtype.name}).")
    try:
        array = decode_tensor(tensor)
    except errors.InvalidArgumentError as error:
        raise ValueError(error.message) from None
    given = 0 if tensor.tensor_content else num_listed(tensor, dtype)
    if given > array.size:
        raise ValueError(
            f"Cannot make an array of shape {array.shape} from the {given} values of the proto."
        )
    if not array.flags.writeable or array.base is not None:
        array = array.copy()
    return array
