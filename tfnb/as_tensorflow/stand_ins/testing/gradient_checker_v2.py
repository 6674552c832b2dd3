"""``tensorflow.python.ops.gradient_checker_v2``: the gradients of a function, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.client.public.api import tf
from tfnb.client.testing.testing import jacobian_by_differences, jacobian_by_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def compute_gradient(
    f: Callable[..., Any], x: Sequence[Any], delta: float | None = None
) -> tuple[list[Any], list[Any]]:
    """Return the Jacobians of a function, from the gradient ops and from finite differences.

    Runs in the default session, or in one of its own.

    Args:
      f: takes tensors and returns one.
      x: the arguments: arrays, lists or tensors.
      delta: the step of the differences; 1/1024 by default.

    Returns:
      Two lists with an array, [size of the result, size of the argument], for each argument. A
      complex element counts as two real ones.

    Raises:
      ValueError: the arguments are no list.
    """
    if not isinstance(x, list | tuple):
        raise ValueError("`x` must be a list or tuple of values convertible to a Tensor.")
    given = [tf.convert_to_tensor(one) for one in x]
    y = tf.convert_to_tensor(f(*given))
    session = tf.get_default_session() or tf.Session(graph=y.graph)
    *values, result = session.run([*given, y])
    feeds = {one: np.asarray(value) for one, value in zip(given, values, strict=True)}
    shape, step = np.shape(result), delta or 1 / 1024
    by_ops = [jacobian_by_ops(session, one, y, shape, feeds).T for one in given]
    by_steps = [jacobian_by_differences(session, one, y, shape, feeds, step).T for one in given]
    return by_ops, by_steps


def max_error(grad1: Sequence[Any], grad2: Sequence[Any]) -> Any:
    """Return the largest difference between arrays of two lists.

    Args:
      grad1: a list of arrays.
      grad2: a list of arrays of the same shapes.
    """
    pairs = zip(grad1, grad2, strict=True)
    return max((np.max(np.abs(a - b)) for a, b in pairs if a.size), default=0.0)
