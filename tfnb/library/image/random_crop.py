"""``tf.random_crop``: a random part of a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.library.control_flow.control_flow_assert import assert_
from tfnb.library.control_flow.with_dependencies import with_dependencies
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops
from tfnb.ops.random.random_ops import random_uniform

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {"tf": ["random_crop"], "image": ["random_crop"]}


def random_crop(
    value: TensorLike, size: TensorLike, seed: int | None = None, name: str | None = None
) -> TensorResult:
    """Return a random part of this size."""
    with name_scope(name, "random_crop", [value, size]) as scope:
        value = convert_to_tensor(value, name="value")
        size = convert_to_tensor(size, dtype=dtypes.int32, name="size")
        shape = array_ops.shape(value)
        check = assert_(
            math_ops.reduce_all(shape >= size),
            ["Need value.shape >= size, got ", shape, size],
            summarize=1000,
        )
        shape = with_dependencies([check], shape)
        limit = shape - size + 1
        numbers = random_uniform(
            array_ops.shape(shape), dtype=size.dtype, maxval=size.dtype.max, seed=seed
        )
        return array_ops.slice(value, numbers % limit, size, name=scope)
