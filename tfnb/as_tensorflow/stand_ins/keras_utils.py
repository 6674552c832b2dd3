"""``tensorflow.python.keras.utils.tf_utils``: what libraries ask of TensorFlow's own Keras."""

from __future__ import annotations

from typing import Any

from tfnb.framework.tensor import Tensor
from tfnb.library.control_flow.smart_cond import smart_cond, smart_constant_value

smart_cond = smart_cond
constant_value = smart_constant_value

_SYMBOLIC: list[type] = []


def register_symbolic_tensor_type(cls_type: type) -> None:
    """Remember that instances of a class stand for tensors."""
    if cls_type not in _SYMBOLIC:
        _SYMBOLIC.append(cls_type)


def is_symbolic_tensor(tensor: Any) -> bool:
    """Return whether a value is a tensor of a graph, or an instance of a registered class."""
    return isinstance(tensor, (Tensor, *_SYMBOLIC))
