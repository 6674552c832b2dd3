"""The shapes and values to which ``padded_batch`` fills elements up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape, as_shape
from tfnb.framework.constant_value import constant_value_as_shape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.tensor import Tensor
from tfnb.library.data.structure import SparseTensorSpec, flat_specs
from tfnb.library.data.tensor_spec import TensorSpec

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.framework.tensor_types import Nested, TensorLike


def padding_of(
    element_spec: Nested, padded_shapes: TensorLike, padding_values: TensorLike
) -> tuple[list[TensorShape], list[Tensor], list[Tensor]]:
    """Return the padded shapes of the components, static and as tensors, and the padding values.

    Raises:
      TypeError: a component is sparse or a dataset.
      ValueError: a shape does not fit its component, or is unknown.
    """
    specs = flat_specs(element_spec)
    for spec in specs:
        if not isinstance(spec, TensorSpec):
            kind = "sparse" if isinstance(spec, SparseTensorSpec) else "non-dense"
            raise TypeError(f"`padded_batch` is not supported for datasets with {kind} tensors.")
    given = _parts(element_spec, padded_shapes, _is_shape) if padded_shapes is not None else None
    shapes, tensors = [], []
    for index, spec in enumerate(specs):
        wanted = spec.shape if given is None else given[index]
        if given is None and spec.shape.rank is None:
            raise ValueError(
                "You must provide `padded_shapes` argument because component "
                f"{index} has unknown rank."
            )
        static, tensor = _padded_shape(wanted, spec.shape)
        shapes.append(static)
        tensors.append(tensor)
    if padding_values is None:
        values = [None] * len(specs)
    else:
        values = _parts(element_spec, padding_values, lambda value: not isinstance(value, tuple))
    return shapes, tensors, [_value(value, spec.dtype) for value, spec in zip(values, specs)]


def _is_shape(value: TensorLike) -> bool:
    if isinstance(value, dict):
        return False
    if isinstance(value, tuple):
        return all(size is None or isinstance(size, (int, np.integer)) for size in value)
    return True


def _parts(like: TensorLike, structure: Nested, is_leaf: Any) -> list[Nested]:
    """Return the parts of a structure at the positions of another structure's specs."""
    if isinstance(like, dict):
        if not isinstance(structure, dict) or set(structure) != set(like):
            raise ValueError(f"The structures of {structure!r} and the elements {like!r} differ.")
        return [part for key in sorted(like) for part in _parts(like[key], structure[key], is_leaf)]
    if isinstance(like, tuple):
        if not isinstance(structure, (tuple, list)):
            return [structure] * len(flat_specs(like))
        if len(structure) != len(like):
            raise ValueError(f"The structures of {structure!r} and the elements {like!r} differ.")
        return [part for one, inner in zip(like, structure) for part in _parts(one, inner, is_leaf)]
    if not is_leaf(structure):
        raise TypeError(f"{structure!r} does not fit the component {like!r}.")
    return [structure]


def _padded_shape(wanted: TensorLike, shape: TensorShape) -> tuple[TensorShape, Tensor]:
    if isinstance(wanted, Tensor):
        if wanted.dtype is not dtypes.int64 or wanted.shape.rank not in (None, 1):
            raise TypeError(
                f"Padded shape {wanted} must be a 1-D tensor of tf.int64 values, but its element "
                f"type is {wanted.dtype.name}."
            )
        static, tensor = constant_value_as_shape(wanted), wanted
    else:
        static = as_shape(wanted)
        if static.rank is None:
            raise ValueError(
                f"Padding shape {wanted!r} is not known: give a size or None for every dimension."
            )
        sizes = [-1 if size is None else size for size in static.as_list()]
        tensor = convert_to_tensor(np.array(sizes, np.int64))
    static = TensorShape([None if size in (None, -1) else size for size in static.as_list()])
    if shape.rank is not None and (
        static.rank != shape.rank
        or any(
            size is not None and most is not None and most < size
            for size, most in zip(shape.as_list(), static.as_list())
        )
    ):
        raise ValueError(
            f"The padded shape {_text(static)} is not compatible with the shape {_text(shape)} of "
            "the corresponding input component."
        )
    return static, tensor


def _text(shape: TensorShape) -> str:
    return str(tuple(shape.as_list())) if shape.rank is not None else "<unknown>"


def _value(value: TensorLike, dtype: DType) -> Tensor:
    if value is None:
        value = b"" if dtype is dtypes.string else np.zeros((), dtype.as_numpy_dtype)
    tensor: Tensor = convert_to_tensor(value, name="padding_value")
    if tensor.shape.rank not in (None, 0):
        raise ValueError(f"Padding value should be a scalar, but is {value!r}.")
    if tensor.dtype is not dtype:
        raise TypeError(
            f"Invalid `padding_values`. `padding_values` values type {tensor.dtype} does not match "
            f"type {dtype} of the corresponding input component."
        )
    return tensor
