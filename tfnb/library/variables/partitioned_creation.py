"""``tf.create_partitioned_variables``: the parts of a variable, by a slicing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.tensor import Tensor
from tfnb.library.variables.variable_scope import get_variable_of_scope, variable_scope

if TYPE_CHECKING:
    from collections.abc import Sequence

EXPORTS = {"tf": ["create_partitioned_variables"]}


def create_partitioned_variables(
    shape: Any,
    slicing: Sequence[int],
    initializer: Any,
    dtype: Any = dtypes.float32,
    trainable: bool = True,
    collections: Any = None,
    name: str | None = None,
    reuse: Any = None,
) -> list[Any]:
    """Return the parts of a variable, partitioned according to ``slicing``.

    Raises:
      ValueError: the slicing does not fit the shape.
    """
    if len(shape) != len(slicing):
        raise ValueError(
            "The 'shape' and 'slicing' of a new Partitioned Variable must have the length: shape: "
            f"{shape}, slicing: {slicing}"
        )
    if len(shape) < 1:
        raise ValueError(f"A new Partitioned Variable must have rank at least 1: shape: {shape}")

    def partitioner(**_: Any) -> Sequence[int]:
        return slicing

    if initializer is not None and not callable(initializer):
        # A tensor keeps its own type; other values are converted to the requested type.
        if not isinstance(initializer, Tensor):
            initializer = convert_to_tensor(initializer, dtype=dtype)
        dtype = initializer.dtype.base_dtype
    with variable_scope(name, "PartitionedVariable", reuse=reuse):
        found = get_variable_of_scope(
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            trainable=trainable,
            partitioner=partitioner,
            collections=collections,
        )
    return list(found)
