"""Maps from tensors to tensors, each held in one variant; ops return new maps.

Corresponds to TensorFlow's ``map_kernels.cc`` and ``tensor_map.h``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import SCALAR_SHAPE, UNKNOWN_SHAPE
from tfnb.ops.array import array_ops
from tfnb.ops.base import provided_functions as provided
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.core.kernel_types import Array, Handle, Variant, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients

_CPU: dict[str, Any] = {"devices": ("CPU",)}
_KEY = "key_dtype: type"
_VALUE = "value_dtype: type"


class TensorMap:
    """An immutable map; ``entries`` holds (key, value) under the identity of the key."""

    __slots__ = ("entries",)

    def __init__(self, entries: Mapping[Array, tuple[Array, Array]]) -> None:
        self.entries = dict(entries)

    @staticmethod
    def identity(key: Array) -> tuple[Array, ...]:
        """Return the identity of a key, which is equal for equal keys: type, shape, elements."""
        array = np.asarray(key)
        return array.dtype.str, array.shape, tuple(array.reshape(-1).tolist())

    def zeros_like(self) -> Self:
        """Return a map of the same keys whose values are zeros."""
        return type(self)(
            {
                identity: (key, np.zeros(np.shape(value), np.asarray(value).dtype))
                for identity, (key, value) in self.entries.items()
            }
        )

    def __add__(self, other: Self) -> Self:
        """Return the entries of both maps; values of keys that both have are added."""
        entries = dict(self.entries)
        for identity, (key, value) in other.entries.items():
            known = entries.get(identity)
            entries[identity] = (key, value if known is None else known[1] + value)
        return type(self)(entries)


def _map_of(handle: Handle) -> TensorMap:
    if isinstance(handle, TensorMap):
        return handle
    if hasattr(handle, "ndim"):
        raise errors.invalid_argument(f"Input map must be a scalar saw: {shape_text(handle.shape)}")
    raise errors.invalid_argument(f"Input handle is not a map. Saw: '{type(handle).__name__}'")


def _shown(key: Array) -> str:
    return str(np.asarray(key).tolist())


@register_op("EmptyTensorMap", "-> handle: variant", shape=lambda c: SCALAR_SHAPE, **_CPU)
def empty_tensor_map(xp: Xp) -> Variant:
    """Return a map without keys."""
    return TensorMap({})


empty_tensor_map.not_differentiable()


@register_op(
    "TensorMapSize", "input_handle: variant -> size: int32", shape=lambda c: SCALAR_SHAPE, **_CPU
)
def tensor_map_size(xp: Xp, input_handle: Variant) -> Array:
    """Return the number of keys."""
    return np.int32(len(_map_of(input_handle).entries))


@register_op(
    "TensorMapLookup",
    "input_handle: variant, key: key_dtype -> value: value_dtype",
    _KEY,
    _VALUE,
    shape=lambda c: UNKNOWN_SHAPE,
    **_CPU,
)
def tensor_map_lookup(
    xp: Xp, input_handle: Variant, key: Array, *, value_dtype: dtypes.DType
) -> Array:
    """Return the value of a key."""
    found = _map_of(input_handle).entries.get(TensorMap.identity(key))
    if found is None:
        raise errors.invalid_argument(
            f'Trying to lookup non-existent key. Could not find key "{_shown(key)}".'
        )
    value = found[1]
    if np.asarray(value).dtype != value_dtype.as_numpy_dtype and value_dtype is not dtypes.string:
        raise errors.invalid_argument(
            f"Expected value of dtype {value_dtype.name}, found {np.asarray(value).dtype}"
        )
    return value


@register_op(
    "TensorMapInsert",
    "input_handle: variant, key: key_dtype, value: value_dtype -> output_handle: variant",
    _KEY,
    _VALUE,
    shape=lambda c: SCALAR_SHAPE,
    **_CPU,
)
def tensor_map_insert(xp: Xp, input_handle: Variant, key: Array, value: Array) -> Variant:
    """Return the map with a key added, or with another value for it."""
    entries = dict(_map_of(input_handle).entries)
    entries[TensorMap.identity(key)] = (key, value)
    return TensorMap(entries)


@register_op(
    "TensorMapErase",
    "input_handle: variant, key: key_dtype -> output_handle: variant",
    _KEY,
    _VALUE,
    shape=lambda c: SCALAR_SHAPE,
    **_CPU,
)
def tensor_map_erase(xp: Xp, input_handle: Variant, key: Array) -> Variant:
    """Return the map without a key."""
    entries = dict(_map_of(input_handle).entries)
    if entries.pop(TensorMap.identity(key), None) is None:
        raise errors.invalid_argument(
            f'Trying to erase non-existent item. Could not find key "{_shown(key)}".'
        )
    return TensorMap(entries)


@register_op(
    "TensorMapHasKey",
    "input_handle: variant, key: key_dtype -> has_key: bool",
    _KEY,
    shape=lambda c: SCALAR_SHAPE,
    **_CPU,
)
def tensor_map_has_key(xp: Xp, input_handle: Variant, key: Array) -> Array:
    """Return whether the map has a key."""
    return np.bool_(TensorMap.identity(key) in _map_of(input_handle).entries)


@register_op(
    "TensorMapStackKeys",
    "input_handle: variant -> keys: key_dtype",
    _KEY,
    shape=lambda c: UNKNOWN_SHAPE,
    **_CPU,
)
def tensor_map_stack_keys(xp: Xp, input_handle: Variant, *, key_dtype: dtypes.DType) -> Array:
    """Return all keys along a new first dimension."""
    keys = [np.asarray(key) for key, _ in _map_of(input_handle).entries.values()]
    if not keys:
        raise errors.invalid_argument("TensorMapStackKeys cannot be called on empty map.")
    for key in keys:
        if key.shape != keys[0].shape:
            raise errors.invalid_argument(
                "Key does not match requested shape: "
                f"{shape_text(key.shape)} vs {shape_text(keys[0].shape)}"
            )
        if key.dtype != keys[0].dtype or (
            key_dtype is not dtypes.string and key.dtype != key_dtype.as_numpy_dtype
        ):
            raise errors.invalid_argument("Key does not match requested dtype.")
    return np.stack(keys)


# ---------------------------------------------------------------------------------------- gradients


@tensor_map_lookup.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return tensor_map_insert(empty_tensor_map(), op.inputs[1], grad), None


@tensor_map_insert.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    _, key, value = op.inputs
    value_grad, map_grad = provided.cond(
        tensor_map_has_key(grad, key),
        lambda: (
            tensor_map_lookup(grad, key, value_dtype=value.dtype),
            tensor_map_erase(grad, key, value_dtype=value.dtype),
        ),
        lambda: (array_ops.zeros_like(value), grad),
    )
    return map_grad, None, value_grad


@tensor_map_erase.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return grad, None
