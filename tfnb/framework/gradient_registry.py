"""Gradient functions by name, for ``tf.RegisterGradient`` and ``gradient_override_map``.

An op's own gradient is stored in its definition (``OpDefinition.gradient_function``); this registry
holds the gradients that users add: for further names, or for an op without a gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from tfnb.core import op_registry
from tfnb.framework import traceback_of_user

if TYPE_CHECKING:
    from tfnb.framework.operation import Operation

EXPORTS = {
    "tf": ["RegisterGradient", "no_gradient", "NoGradient", "NotDifferentiable"],
}

# A gradient takes the op and one gradient per output; it returns one per input.
GradientFunction = Callable[..., Any]
F = TypeVar("F", bound=GradientFunction)

# TensorFlow's core has no gradient of these: tf.contrib registered it, and programs do that bring a
# copy of that code along. Theirs then takes the place of tfnb's.
_OF_CONTRIB = frozenset(("GRUBlockCell", "LSTMBlockCell"))

_registry: dict[str, GradientFunction | None] = {}
_registered_at: dict[str, traceback_of_user.Site] = {}


class RegisterGradient:
    """A decorator that registers a gradient function under a name.

    >>> @RegisterGradient("GradientThatDoubles")
    ... def _(op, grad):
    ...     return grad * 2
    """

    __slots__ = ("_op_type",)

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, function: F) -> F:
        """Register ``function`` and return it."""
        register(function, self._op_type)
        return function


def register(function: GradientFunction | None, name: str) -> None:
    """Register a gradient function; None marks a place where gradients stop.

    Raises:
      KeyError: the name has a gradient already.
    """
    definition = op_registry.find(name)
    if name in _registry:
        at = traceback_of_user.creation_site(_registered_at[name])
        raise KeyError(
            f"Registering two gradient with name '{name}'! (Previous registration was at {at})"
        )
    if (
        definition is not None
        and name not in _OF_CONTRIB
        and (definition.gradient_function is not None or not definition.is_differentiable)
    ):
        raise KeyError(
            f"Registering two gradient with name '{name}'! (The op {name} has a gradient already; "
            "use Graph.gradient_override_map with another name to replace it)"
        )
    _registry[name] = function
    _registered_at[name] = traceback_of_user.capture()


def no_gradient(op_type: str) -> None:
    """Declare that ops of this type are not differentiable: gradients stop there.

    Raises:
      TypeError: ``op_type`` is not a string.
      KeyError: the type has a gradient already.
    """
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    register(None, op_type)


NoGradient = no_gradient
NotDifferentiable = no_gradient


def lookup(name: str) -> GradientFunction | None:
    """Return the gradient registered under a name; None where gradients stop.

    Raises:
      LookupError: the name is not registered.
    """
    if name in _registry:
        return _registry[name]
    definition = op_registry.find(name)
    if definition is not None:
        if definition.gradient_function is not None:
            return definition.gradient_function
        if not definition.is_differentiable:
            return None
    raise LookupError(f"gradient registry has no entry for: {name}")


def get_gradient_function(op: Operation) -> GradientFunction | None:
    """Return the gradient of an op: its graph's override, else its type's; None: gradients stop.

    Raises:
      LookupError: the op's type has no gradient.
    """
    if not op.inputs:
        return None
    if op._gradient_function is not None:
        override: GradientFunction = op._gradient_function
        return override
    try:
        name = op.get_attr("_gradient_op_type").decode()
    except ValueError:
        name = op.type
    return lookup(name)
