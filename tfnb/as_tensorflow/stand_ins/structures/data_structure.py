"""``tensorflow.python.data.util.structure``: the specs of elements, and the tensors for them."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.stand_ins.structures import data_nest as _nest
from tfnb.library.data import structure as _structure

get_flat_tensor_types = _structure.types_of
get_flat_tensor_shapes = _structure.shapes_of


def type_spec_from_value(element: Any, use_fallback: bool = True) -> Any:
    """Return the spec of an element.

    Args:
      element: a structure of tensors, sparse and ragged tensors, datasets, and their values.
      use_fallback: whether values that are none of them are converted to tensors.

    Raises:
      TypeError: a value has no spec.
    """
    return _structure.spec_of(_structure.normalized(element) if use_fallback else element)


def are_compatible(spec1: Any, spec2: Any) -> bool:
    """Return whether two structures of specs have one form, and each spec fits the other."""
    try:
        _nest.assert_same_structure(spec1, spec2)
    except (TypeError, ValueError):
        return False
    pairs = zip(_nest.flatten(spec1), _nest.flatten(spec2), strict=True)
    return all(one.is_compatible_with(two) and two.is_compatible_with(one) for one, two in pairs)


def to_tensor_list(element_spec: Any, element: Any) -> list[Any]:
    """Return the tensors that stand for an element.

    Raises:
      ValueError: the element is not of the spec.
    """
    return _structure.to_components(element_spec, element)


def from_tensor_list(element_spec: Any, tensor_list: Any) -> Any:
    """Return the element that tensors stand for.

    Raises:
      ValueError: their number is another one.
    """
    wanted = len(_structure.flat_specs(element_spec))
    if len(tensor_list) != wanted:
        raise ValueError(f"Expected {wanted} tensors but got {len(tensor_list)}.")
    return _structure.from_components(element_spec, tensor_list)


from_compatible_tensor_list = from_tensor_list


def convert_legacy_structure(output_types: Any, output_shapes: Any, output_classes: Any) -> Any:
    """Return the spec for structures of dtypes, shapes and classes."""
    return _structure.spec_from_legacy(output_types, output_shapes, output_classes)


def __getattr__(name: str) -> Any:
    return getattr(_structure, name)
