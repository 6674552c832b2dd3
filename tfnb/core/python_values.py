"""Conversion of Python values, as in constants and feeds, to arrays of TensorFlow's types."""

from __future__ import annotations

import contextlib
import math
import numbers
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.core.tensor_shape import Dimension
from tfnb.core.text_bytes import text_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tfnb.core.dtypes import DType


def convert_to_ndarray(values: Any, dtype: DType | None = None) -> NDArray[Any]:
    """Return a value as an array of a TensorFlow type.

    Without ``dtype``, Python floats become float32 and Python ints int32 (int64 or uint64 if they
    do not fit); arrays keep their type. With ``dtype``, an array is cast silently, and a Python
    value only if its kind fits: no float becomes an integer, no number a bool or a string.

    >>> convert_to_ndarray([1, 2.5]).dtype, convert_to_ndarray([1, 2]).dtype
    (dtype('float32'), dtype('int32'))
    >>> convert_to_ndarray(["a", b"b"])
    array([b'a', b'b'], dtype=object)

    Raises:
        TypeError: An element is of the wrong kind, or of none.
        ValueError: Rows of different lengths, or None.
    """
    if dtype is not None:
        dtype = dtype.base_dtype
    python_type = type(values)
    if python_type is float or python_type is int:  # by far the most frequent constants
        wanted = dtype or (dtypes.float32 if python_type is float else dtypes.int32)
        if python_type is int or wanted.is_floating:
            limit = _SAFE_LIMITS.get(wanted)
            if limit is not None and -limit < values < limit:
                return np.array(values, wanted.numpy_dtype)
    if python_type is np.ndarray or isinstance(values, (np.ndarray, np.generic)):
        return _convert_array(np.asarray(values), dtype)
    if values is None:
        raise ValueError("None values not supported.")
    if python_type not in _LEAF_KINDS and python_type is not list and python_type is not tuple:
        if callable(getattr(values, "__array__", None)) or hasattr(values, "__array_interface__"):
            return _convert_array(np.asarray(values), dtype)
        if isinstance(values, (bytearray, memoryview)):
            return _convert_array(np.array(memoryview(values)), dtype)
    kinds = _kinds_of(values)
    if dtype is None:
        return _convert_inferred(values, kinds)
    return _convert_checked(values, kinds, dtype)


# A Python number whose absolute value is below this converts without overflow.
_SAFE_LIMITS = {
    dtypes.float32: 3e38,
    dtypes.float64: math.inf,
    dtypes.int32: 2**31,
    dtypes.int64: 2**63,
}

# The kind of a leaf by its type: b bool, i integer, f real, c complex, s text, d Dimension,
# x anything else. A capital letter: not the Python type itself, but a NumPy scalar, for example.
_LEAF_KINDS: dict[type, str] = {
    bool: "b",
    int: "i",
    float: "f",
    complex: "c",
    str: "s",
    bytes: "s",
    Dimension: "d",
    type(None): "x",
}


def _kind_of_type(leaf_type: type) -> str:
    kind = _LEAF_KINDS.get(leaf_type)
    if kind is None:
        kind = _LEAF_KINDS[leaf_type] = _new_kind(leaf_type)
    return kind


def _new_kind(leaf_type: type) -> str:
    for kind, base in (
        ("s", (str, bytes)),
        ("B", (np.bool_,)),
        ("I", (numbers.Integral, np.integer)),
        ("F", (numbers.Real, np.floating)),
        ("C", (numbers.Complex, np.complexfloating)),
    ):
        if issubclass(leaf_type, base):
            return kind
    if not issubclass(leaf_type, np.generic):
        return "x"
    try:
        extended = dtypes.as_dtype(leaf_type)
    except TypeError:
        return "x"
    return "I" if extended.is_integer else "F"


def _kinds_of(values: Any) -> set[str]:
    """Return the kinds of all leaves of nested lists and tuples."""
    types: set[type] = set()
    level = [values]
    while level:
        here = set(map(type, level))
        nested = {found for found in here if issubclass(found, (list, tuple))}
        types |= here - nested
        if np.ndarray in here:
            types.remove(np.ndarray)
            types |= {leaf.dtype.type for leaf in level if type(leaf) is np.ndarray}
        if not nested:
            break
        rows = level if nested == here else [row for row in level if isinstance(row, (list, tuple))]
        level = list(chain.from_iterable(rows))
    return set(map(_kind_of_type, types))


def _kind_of_leaf(value: Any) -> str:
    return _kind_of_type(value.dtype.type if isinstance(value, np.ndarray) else type(value))


def _convert_array(array: NDArray[Any], dtype: DType | None) -> NDArray[Any]:
    own = dtypes.as_dtype(array.dtype)
    if own is dtypes.string and (dtype is None or dtype is dtypes.string):
        return _bytes_array(array)
    if array.dtype.names is not None:  # a quantized type in TensorFlow's structured form
        array = array.view(own.numpy_dtype)
    if dtype is None:
        return array if array.dtype.isnative else array.astype(own.numpy_dtype)
    if dtype is dtypes.string:
        if not array.size:
            return np.empty(array.shape, dtype=object)
        raise TypeError(f"Expected binary or unicode string, got {array.ravel()[:1].tolist()[0]}")
    if not dtype.is_numpy_compatible:
        raise _not_convertible(array, dtype, own)
    if array.dtype == dtype.numpy_dtype:
        return array
    with np.errstate(all="ignore"):
        return array.astype(dtype.numpy_dtype)


def _not_convertible(values: Any, dtype: DType, own: DType) -> TypeError:
    return TypeError(f"`dtype` {dtype} is not compatible with {values} of dtype {own.name}.")


def _bytes_array(array: NDArray[Any]) -> NDArray[Any]:
    """Return any array of text as an object array of bytes."""
    if array.dtype == object:
        flat = array.ravel().tolist()
        if all(type(item) is bytes for item in flat):
            return array
    else:
        flat = array.ravel().tolist()
    return object_array([_as_bytes(item) for item in flat], array.shape)


def _as_bytes(item: Any) -> bytes:
    if isinstance(item, str):
        return text_bytes(item)
    if isinstance(item, bytes):
        return bytes(item)
    raise TypeError(f"Expected binary or unicode string, got {item!r}")


def object_array(items: Iterable[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return items of any kind as an object array; NumPy does not look into them."""
    array = np.empty(math.prod(shape), dtype=object)
    array[:] = list(items)
    return array.reshape(shape)


def _convert_inferred(values: Any, kinds: set[str]) -> NDArray[Any]:
    if kinds == {"s"}:
        return _convert_text(values)
    if not kinds.issubset("bifcBIFC"):
        raise _no_type_for(values)
    array = None
    with np.errstate(all="ignore"):
        if "f" in kinds and kinds.issubset("bif"):
            array = np.array(values, np.float32)
        elif "i" in kinds and kinds.issubset("bi"):
            with contextlib.suppress(OverflowError):
                array = np.array(values, np.int32)
        if array is None:
            array = np.array(values)
            if array.dtype == np.float64:
                array = array.astype(np.float32)
    if array.dtype == object:
        raise _no_type_for(values)
    _check_dense(values, array)
    if array.dtype == np.int64 and (
        not array.size or (array.max() <= _INT32_MAX and array.min() >= _INT32_MIN)
    ):
        return array.astype(np.int32)
    return array


_INT32_MIN, _INT32_MAX = -(2**31), 2**31 - 1


def _no_type_for(values: Any) -> TypeError:
    return TypeError(
        f"Failed to convert elements of {values} to Tensor. Consider casting elements to a "
        "supported type. These are numbers, booleans, strings, and lists of one of these."
    )


def _allowed_kinds(dtype: DType) -> str:
    if dtype.is_floating:
        return "bifBIF"
    if dtype.is_integer:
        return "biBId"
    if dtype.is_complex:
        return "bifcBIFC"
    return "bB" if dtype.is_bool else "s"


def _convert_checked(values: Any, kinds: set[str], dtype: DType) -> NDArray[Any]:
    if dtype.is_quantized:
        values = _strip_quantized(values, dtype)
    elif not dtype.is_numpy_compatible:
        own = dtypes.as_dtype(np.array(values).dtype)
        raise _not_convertible(values, dtype, own)
    else:
        allowed = _allowed_kinds(dtype)
        if not kinds.issubset(allowed):
            raise _unexpected(_first_of_other_kind(values, allowed), dtype)
    if dtype is dtypes.string:
        return _convert_text(values)
    with np.errstate(all="ignore"):
        try:
            array = np.array(values, dtype=dtype.numpy_dtype)
        except OverflowError:  # an integer out of range wraps, as a cast of an array would
            array = np.array(values)
            if array.dtype == object:
                raise
            array = array.astype(dtype.numpy_dtype)
    _check_dense(values, array)
    return array


def _unexpected(value: Any, dtype: DType) -> TypeError:
    return TypeError(f"Expected {dtype.name}, but got {value} of type '{type(value).__name__}'.")


def _first_of_other_kind(values: Any, allowed: str) -> Any:
    """Return the first leaf whose kind is not allowed."""
    if not isinstance(values, (list, tuple)):
        return values
    for value in values:
        if not _kinds_of(value).issubset(allowed):
            return _first_of_other_kind(value, allowed)
    raise AssertionError("every leaf is of an allowed kind")


def _strip_quantized(values: Any, dtype: DType) -> Any:
    """Return quantized values without the tuple around each of them."""
    if isinstance(values, tuple) and len(values) == 1 and not isinstance(values[0], (list, tuple)):
        if _kind_of_leaf(values[0]) not in "biBI":
            raise _unexpected(values[0], dtype)
        return values[0]
    if isinstance(values, (list, tuple)):
        return [_strip_quantized(value, dtype) for value in values]
    raise _unexpected(values, dtype)


def _dense_dims(values: Any) -> list[int]:
    """Return the shape of nested lists, judged by the first element of each level."""
    dims = []
    while isinstance(values, (list, tuple)):
        dims.append(len(values))
        if not values:
            break
        values = values[0]
    return dims


def _check_dense(values: Any, array: NDArray[Any]) -> None:
    dims = _dense_dims(values)
    if len(dims) != array.ndim or list(array.shape) != dims:
        raise ValueError(
            f"Expected values {values} to be a dense tensor with shape {dims}, "
            f"but got shape {list(array.shape)}."
        )


def _convert_text(values: Any) -> NDArray[Any]:
    """Return nested lists of text as an object array of bytes."""
    if type(values) is str:
        values = text_bytes(values)
    if type(values) is bytes:
        scalar = np.empty((), dtype=object)
        scalar[()] = values
        return scalar
    dims = _dense_dims(values)
    flat: list[Any] = [values]
    for size in dims:
        for row in flat:
            if not isinstance(row, (list, tuple)) or len(row) != size:
                raise ValueError(
                    f"Expected values {values} to be a dense tensor with shape {dims}, but its "
                    "rows have different lengths: the array has an inhomogeneous shape."
                )
        flat = list(chain.from_iterable(flat))
    items = [
        item if type(item) is bytes else _as_bytes(item.item() if _is_array(item) else item)
        for item in flat
    ]
    return object_array(items, tuple(dims))


def _is_array(item: Any) -> bool:
    return isinstance(item, np.ndarray) and item.ndim == 0
