"""Activations and initializers that may be given to a layer by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.library.variables import init_ops

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.tensor_types import Initializer

_INITIALIZERS: dict[str, Callable[[], Any]] = {
    "zeros": init_ops.zeros_initializer,
    "ones": init_ops.ones_initializer,
    "constant": init_ops.constant_initializer,
    "random_uniform": init_ops.random_uniform_initializer,
    "random_normal": init_ops.random_normal_initializer,
    "truncated_normal": init_ops.truncated_normal_initializer,
    "variance_scaling": init_ops.variance_scaling_initializer,
    "orthogonal": init_ops.orthogonal_initializer,
    "identity": init_ops.identity_initializer,
    "glorot_uniform": init_ops.glorot_uniform_initializer,
    "glorot_normal": init_ops.glorot_normal_initializer,
    "lecun_normal": init_ops.lecun_normal,
    "lecun_uniform": init_ops.lecun_uniform,
    "he_normal": init_ops.he_normal,
    "he_uniform": init_ops.he_uniform,
}
_ACTIVATIONS = (
    "elu",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "softmax",
    "softplus",
    "softsign",
    "tanh",
)


def initializer_from(given: Any) -> Initializer:
    """Return an initializer from itself, its class or its name; None stays None.

    Raises:
      ValueError: the name is unknown, or the value cannot be called.
    """
    if given is None:
        return None
    if isinstance(given, str):
        if given not in _INITIALIZERS:
            raise ValueError(
                f"Unknown initializer: '{given}'. Known names: {', '.join(sorted(_INITIALIZERS))}."
            )
        return _INITIALIZERS[given]()
    if isinstance(given, type):
        return given()
    if not callable(given):
        raise ValueError(f"Could not interpret initializer identifier: {given}")
    return given


def activation_from(given: Any) -> Any:
    """Return an activation from itself or its name; None and "linear" mean no activation.

    Raises:
      ValueError: the name is unknown, or the value cannot be called.
    """
    if given is None or given == "linear":
        return None
    if isinstance(given, str):
        from tfnb.ops.math import math_ops
        from tfnb.ops.nn import activation_ops, softmax_ops

        if given == "exponential":
            return math_ops.exp
        for module in (activation_ops, math_ops, softmax_ops):
            if given in _ACTIVATIONS and hasattr(module, given):
                return getattr(module, given)
        raise ValueError(
            f"Unknown activation function: '{given}'. Known names: {', '.join(_ACTIVATIONS)}, "
            "exponential, linear."
        )
    if not callable(given):
        raise ValueError(f"Could not interpret activation function identifier: {given}")
    return given
