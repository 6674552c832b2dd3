"""A cond that is decided while the graph is built, if its predicate is known then.

``tf.layers`` accepts ``training=True`` and tensors through it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.framework.constant_value import constant_value
from tfnb.framework.static_evaluation import evaluate_constant
from tfnb.framework.tensor import Tensor
from tfnb.library.control_flow.cond import cond

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.tensor_types import Nested, TensorLike


def smart_cond(
    pred: TensorLike,
    true_fn: Callable[[], Nested],
    false_fn: Callable[[], Nested],
    name: str | None = None,
) -> Nested:
    """Return the result of one of two functions; both are built only if the predicate is unknown.

    Args:
      pred: a boolean scalar tensor, a bool, 1 or 0.
      true_fn: builds one branch.
      false_fn: builds the other.
      name: the name scope of a cond.

    Raises:
      TypeError: a function cannot be called, or ``pred`` has another type.
    """
    if not callable(true_fn):
        raise TypeError(f"Argument `true_fn` must be callable. Received {true_fn}")
    if not callable(false_fn):
        raise TypeError(f"Argument `false_fn` must be callable. Received {false_fn}")
    value = smart_constant_value(pred)
    if value is None:
        return cond(pred, true_fn, false_fn, name=name)
    return true_fn() if value else false_fn()


def smart_constant_value(pred: TensorLike) -> bool | None:
    """Return the value of a predicate that is known while the graph is built, else None.

    Raises:
      TypeError: ``pred`` is no tensor, bool, 1 or 0.
    """
    if isinstance(pred, Tensor):
        value = constant_value(pred)
        if value is None:
            value = evaluate_constant(pred)
        return None if value is None else bool(value)
    if hasattr(pred, "dtype") and hasattr(pred, "initializer"):
        return None  # a variable
    if pred is True or pred is False or (isinstance(pred, int) and pred in (0, 1)):
        return bool(pred)
    raise TypeError(
        "Argument `pred` must be a Tensor, or a Python bool, or 1 or 0. Received: "
        f"pred={pred} of type {type(pred).__name__}"
    )
