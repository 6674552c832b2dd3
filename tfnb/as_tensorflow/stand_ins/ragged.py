"""``tensorflow.python.ops.ragged.ragged_tensor``: a test that is no public name."""

from __future__ import annotations

from typing import Any

from tfnb.library.ragged.ragged_tensor import RaggedTensor, RaggedTensorValue


def is_ragged(value: Any) -> bool:
    """Return whether a value is a ragged tensor, or the value of one."""
    return isinstance(value, (RaggedTensor, RaggedTensorValue))
