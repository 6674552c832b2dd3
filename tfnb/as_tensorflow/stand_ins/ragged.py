"""``tensorflow.python.ops.ragged.ragged_tensor``: functions that are no public names."""

from __future__ import annotations

from typing import Any

from tfnb.client.public.api import tf
from tfnb.library.ragged.ragged_tensor import RaggedTensor, RaggedTensorValue


def is_ragged(value: Any) -> bool:
    """Return whether a value is a ragged tensor, or the value of one."""
    return isinstance(value, (RaggedTensor, RaggedTensorValue))


def convert_to_tensor_or_ragged_tensor(
    value: Any, dtype: Any = None, preferred_dtype: Any = None, name: str | None = None
) -> Any:
    """Return a ragged tensor as it is or of its value, and a tensor of any other value.

    Args:
      value: a ragged tensor, its value, or what ``tf.convert_to_tensor`` takes.
      dtype: the required dtype.
      preferred_dtype: the dtype of values without one.
      name: of the tensor.

    Raises:
      ValueError: a ragged tensor has another dtype.
    """
    if isinstance(value, RaggedTensor):
        if dtype is not None and not tf.as_dtype(dtype).is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {tf.as_dtype(dtype).name} for RaggedTensor "
                f"with dtype {value.dtype.name}: {value}"
            )
        return value
    if isinstance(value, RaggedTensorValue):
        with tf.name_scope(name, "ConvertToTensorOrRaggedTensor", []):
            flat = tf.convert_to_tensor(value.flat_values, dtype, preferred_dtype=preferred_dtype)
            return RaggedTensor.from_nested_row_splits(
                flat, value.nested_row_splits, validate=False
            )
    return tf.convert_to_tensor(value, dtype, name=name, preferred_dtype=preferred_dtype)
