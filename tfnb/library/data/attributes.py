"""Attributes and inputs of dataset nodes: types and shapes, seeds, sizes, policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework import random_seed
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.library.data.structure import shapes_of, types_of

if TYPE_CHECKING:
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Nested, TensorLike


def flat_attrs(spec: Nested) -> dict[str, Any]:
    """Return the two attributes with the types and shapes of a dataset op's elements."""
    return {"output_types": types_of(spec), "output_shapes": shapes_of(spec)}


def seed_tensors(seed: TensorLike) -> tuple[Tensor, Tensor]:
    """Return the two seeds of a dataset op; both 0 if neither the graph nor the op has a seed."""
    from tfnb.ops.array.where_ops import where_v2
    from tfnb.ops.math.comparison_ops import equal, logical_and

    first, second = random_seed.get_seed(seed)
    one = convert_to_tensor(0 if first is None else first, dtypes.int64, name="seed")
    if second is None:
        return one, convert_to_tensor(0, dtypes.int64, name="seed2")
    with name_scope("seed2") as scope:
        other = convert_to_tensor(second, dtypes.int64)
        are_zero = logical_and(equal(one, 0), equal(other, 0))
        largest = convert_to_tensor(2**31 - 1, dtypes.int64)
        return one, where_v2(are_zero, largest, other, name=scope)


def deterministic_word(deterministic: bool | None) -> str:
    """Return the value of the attr ``deterministic``."""
    if deterministic is None:
        return "default"
    return "true" if deterministic else "false"


def static_size(size: Tensor, drops: Tensor) -> int | None:
    """Return the size of all batches; None if it is unknown or the last batch may be smaller."""
    if constant_value(drops) is None or not bool(constant_value(drops)):
        return None
    value = constant_value(size)
    return None if value is None else int(value)


def shapes_equal(one: TensorLike, other: TensorLike) -> bool:
    """Return whether two structures of specs have the same static shapes."""
    return [shape.dim_values for shape in shapes_of(one)] == [
        shape.dim_values for shape in shapes_of(other)
    ]
