"""Conversion of Python values to tensors: ``convert_to_tensor`` and its registry.

A value that is not a tensor is converted by the first function registered for its type, in order of
priority, that does not return ``NotImplemented``.  Numbers, arrays and, last of all, any object
become constants.  The registry is filled while modules are imported; lookups are cached per type.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tfnb.core import dtypes, op_registry
from tfnb.core.attr_value import TensorAttr
from tfnb.core.tensor_proto import check_content_size
from tfnb.core.tensor_shape import Dimension, TensorShape
from tfnb.core.tensor_util import convert_to_ndarray
from tfnb.framework import functions_above
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.operation_factory import create_operation
from tfnb.framework.tensor import Tensor

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType

EXPORTS = {
    "tf": [
        "convert_to_tensor",
        "register_tensor_conversion_function",
        "is_tensor",
        "is_symbolic_tensor",
    ],
}

# fn(value, dtype=None, name=None, as_ref=False) -> Tensor | NotImplemented
ConversionFunction: TypeAlias = Callable[..., Any]
# fn(value, dtype=None, name=None) -> Tensor
ConstantFunction: TypeAlias = Callable[..., Tensor]

_CONSTANTS = (int, float, np.generic, np.ndarray)

_registry: dict[int, list[tuple[type | tuple[type, ...], ConversionFunction]]] = {}
_cache: dict[type, list[tuple[type | tuple[type, ...], ConversionFunction]]] = {}
_registry_lock = threading.Lock()  # guards _registry and _cache


def convert_to_tensor(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
    *,
    as_ref: bool = False,
) -> Tensor:
    """Return the tensor for a value: the tensor itself, a registered conversion, or a constant.

    Args:
      value: a tensor, number, array, list, variable, or anything with a registered conversion.
      dtype: the dtype that the tensor must have; without one the value decides.
      name: the name of a new op, if one is made.
      preferred_dtype: a dtype to try before the dtype of the value itself.
      dtype_hint: the newer name of ``preferred_dtype``.
      as_ref: whether a variable becomes a reference to its buffer.

    Raises:
      TypeError: no conversion is registered for the value, or it cannot have the dtype.
      ValueError: the value is a tensor of another dtype, or a constant cannot hold it.
      RuntimeError: a registered conversion returned an object that is not a tensor of the dtype.
    """
    if isinstance(value, Tensor):
        if dtype is not None:
            value.__tf_tensor__(dtypes.as_dtype(dtype), name)
        return value
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype)
    preferred = preferred_dtype if preferred_dtype is not None else dtype_hint
    if preferred is not None:
        preferred = dtypes.as_dtype(preferred)
    overload = getattr(value, "__tf_tensor__", None)
    if overload is not None and not isinstance(value, type):
        tensor: Tensor = overload(dtype, name)
        return tensor
    for _, function in conversions_for(type(value)):
        tensor = _convert_with(function, value, dtype, name, as_ref, preferred)
        if tensor is not NotImplemented:
            return tensor
    raise TypeError(
        f"{_prefix(name)}Cannot convert {value!r} with type {type(value)} to Tensor: no conversion "
        "function registered."
    )


internal_convert_to_tensor = convert_to_tensor


def _convert_with(
    function: ConversionFunction,
    value: Any,
    dtype: DType | None,
    name: str | None,
    as_ref: bool,
    preferred: DType | None,
) -> Any:
    result = None
    if dtype is None and preferred is not None:
        try:
            result = function(value, dtype=preferred, name=name, as_ref=as_ref)
        except (TypeError, ValueError):
            pass
        else:
            if result is not NotImplemented and result.dtype.base_dtype is not preferred.base_dtype:
                raise RuntimeError(_bad_dtype_text(function, value, preferred, result, name))
    if result is None:
        result = function(value, dtype=dtype, name=name, as_ref=as_ref)
    if result is NotImplemented:
        return result
    if not isinstance(result, Tensor):
        raise RuntimeError(
            f"{_prefix(name)}Conversion function {function!r} for type {type(value)} returned "
            f"non-Tensor: {result!r}"
        )
    if dtype is not None and not dtype.is_compatible_with(result.dtype):
        raise RuntimeError(_bad_dtype_text(function, value, dtype, result, name))
    return result


def _bad_dtype_text(
    function: ConversionFunction, value: Any, wanted: DType, result: Tensor, name: str | None
) -> str:
    return (
        f"{_prefix(name)}Conversion function {function!r} for type {type(value)} returned "
        f"incompatible dtype: requested = {wanted.base_dtype.name}, actual = "
        f"{result.dtype.base_dtype.name}"
    )


def _prefix(name: str | None) -> str:
    return "" if name is None else f"{name}: "


def internal_convert_n_to_tensor(
    values: Sequence[Any],
    dtype: Any = None,
    name: str | None = None,
    as_ref: bool = False,
    preferred_dtype: Any = None,
) -> list[Tensor]:
    """Convert each element of a sequence; element i is named ``name_i``."""
    if not isinstance(values, Sequence):
        raise TypeError("values must be a sequence.")
    return [
        convert_to_tensor(
            value,
            dtype,
            None if name is None else f"{name}_{index}",
            preferred_dtype,
            as_ref=as_ref,
        )
        for index, value in enumerate(values)
    ]


def convert_n_to_tensor(
    values: Sequence[Any], dtype: Any = None, name: str | None = None, preferred_dtype: Any = None
) -> list[Tensor]:
    """Convert each element of a sequence; element i is named ``name_i``."""
    return internal_convert_n_to_tensor(values, dtype, name, preferred_dtype=preferred_dtype)


# ------------------------------------------------------------------------------------- the registry


def register_tensor_conversion_function(
    base_type: type | tuple[type, ...],
    conversion_func: ConversionFunction,
    priority: int = 100,
) -> None:
    """Register how objects of a type become tensors.

    Args:
      base_type: the type, or a tuple of types.
      conversion_func: ``fn(value, dtype=None, name=None, as_ref=False)``; it returns a tensor, or
        ``NotImplemented`` to leave the value to the next function.
      priority: functions with a smaller number are called first.

    Raises:
      TypeError: ``base_type`` is not a type, or is a number type of Python or NumPy.
    """
    types = base_type if isinstance(base_type, tuple) else (base_type,)
    if any(not isinstance(one, type) for one in types):
        raise TypeError(
            f"Argument `base_type` must be a type or a tuple of types. Obtained: {base_type}"
        )
    if any(issubclass(one, _CONSTANTS) for one in types):
        raise TypeError(
            "Cannot register conversions for Python numeric types and NumPy scalars and arrays."
        )
    if not callable(conversion_func):
        raise TypeError("conversion_func must be callable.")
    _register(base_type, conversion_func, priority)


def _register(
    base_type: type | tuple[type, ...], function: ConversionFunction, priority: int
) -> None:
    with _registry_lock:
        _registry.setdefault(priority, []).append((base_type, function))
        _cache.clear()


def conversions_for(kind: type) -> list[tuple[type | tuple[type, ...], ConversionFunction]]:
    """Return the conversion functions for objects of a type, in the order of calling."""
    found = _cache.get(kind)
    if found is None:
        functions_above.set_tensor_operators.load()  # its folder registers conversions, too
        with _registry_lock:
            found = _cache[kind] = [
                (base_type, function)
                for priority in sorted(_registry)
                for base_type, function in _registry[priority]
                if issubclass(kind, base_type)
            ]
    return found


# ---------------------------------------------------------------------------------------- constants


def graph_constant(value: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Add a ``Const`` node to the default graph.

    Raises:
      TypeError: the value cannot have the dtype.
      ValueError: a constant cannot hold the value, or it has 2 GB or more.
    """
    if type(value).__name__ == "TensorProto":
        return constant_of_proto(value, name)
    array = convert_to_ndarray(value, dtype)
    check_content_size(array.nbytes)
    if isinstance(value, np.ndarray) and np.may_share_memory(array, value):
        array = array.copy()
    return constant_node(TensorAttr.from_value(array, dtype), name)


def constant_of_proto(value: Any, name: str | None = None) -> Tensor:
    """Add a ``Const`` node that holds a copy of a TensorProto, which may be of any type."""
    copy = type(value)()
    copy.CopyFrom(value)
    return constant_node(TensorAttr(copy), name)


def constant_node(value: TensorAttr, name: str | None = None) -> Tensor:
    """Add a ``Const`` node that holds a tensor attribute to the default graph."""
    definition = op_registry.get("Const")
    attrs = {"value": value, "dtype": value.dtype}
    op = create_operation(
        get_default_graph(), definition, (), attrs, name or "Const", (value.dtype,)
    )
    return op.outputs[0]


_constant: ConstantFunction = graph_constant


def set_constant_function(function: ConstantFunction) -> None:
    """Replace the function that makes constants: ``function(value, dtype=None, name=None)``."""
    global _constant
    _constant = function


def _constant_conversion(
    value: Any, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    return _constant(value, dtype=dtype, name=name)


def _shape_conversion(
    shape: TensorShape, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if not shape.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape {shape} to a Tensor.")
    sizes = shape.as_list()
    has_large = any(size is not None and size >= 2**31 for size in sizes)
    if dtype is None:
        dtype = dtypes.int64 if has_large else dtypes.int32
    elif dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(
            f"Cannot convert TensorShape {shape} to dtype {dtype}. Allowed dtypes are tf.int32 and "
            "tf.int64."
        )
    elif has_large and dtype is dtypes.int32:
        raise ValueError(
            f"Cannot convert TensorShape {shape} to dtype int32; a dimension is too large. "
            "Consider using tf.int64."
        )
    return _constant(sizes, dtype=dtype, name=name or "shape_as_tensor")


def _dimension_conversion(
    dim: Dimension, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if dim.value is None:
        raise ValueError(f"Cannot convert unknown Dimension {dim} to a Tensor.")
    if dtype is None:
        dtype = dtypes.int32
    elif dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(
            f"Cannot convert Dimension {dim} to dtype {dtype}. Allowed dtypes are tf.int32 and "
            "tf.int64."
        )
    return _constant(dim.value, dtype=dtype, name=name or "shape_as_tensor")


_register(_CONSTANTS, _constant_conversion, 0)
_register((list, tuple), _constant_conversion, 100)
_register(TensorShape, _shape_conversion, 100)
_register(Dimension, _dimension_conversion, 100)
_register(object, _constant_conversion, 200)


# ---------------------------------------------------------------------------------------- questions


def is_tensor(x: Any) -> bool:
    """Return whether a value is a tensor, variable, SparseTensor, IndexedSlices or the like."""
    return isinstance(x, Tensor) or bool(getattr(x, "is_tensor_like", False))


def is_symbolic_tensor(tensor: Any) -> bool:
    """Return whether a value is a tensor of a graph, or consists of them."""
    return is_tensor(tensor) and hasattr(tensor, "graph")
