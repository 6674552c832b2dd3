"""Checks of arguments that both integrators share."""

from __future__ import annotations

from typing import Any

from tfnb.client.public.api import tf


def state_and_times(y0: Any, t: Any) -> tuple[Any, Any]:
    """Return a state and its time points as tensors.

    Args:
      y0: the state at the first time.
      t: a vector of times.

    Raises:
      TypeError: the state is neither of real nor of complex numbers, or the times are not real.
      ValueError: the times are no vector.
    """
    t = tf.convert_to_tensor(t, preferred_dtype=tf.float64, name="t")
    y0 = tf.convert_to_tensor(y0, name="y0")
    if not (y0.dtype.is_floating or y0.dtype.is_complex):
        raise TypeError(
            f"`y0` must have a floating point or complex floating point dtype, not {y0.dtype.name}"
        )
    if not t.dtype.is_floating:
        raise TypeError(f"`t` must have a floating point dtype, not {t.dtype.name}")
    if t.shape.ndims not in (1, None):
        raise ValueError(f"t must be a 1D tensor, not of shape {t.shape}")
    return y0, t


def increasing(t: Any) -> Any:
    """Return the times of a vector, once a step has found that each is above the one before."""
    check = tf.Assert(tf.reduce_all(t[1:] > t[:-1]), ["`t` must be monotonic increasing"])
    with tf.control_dependencies([check]):
        return tf.identity(t)


def with_time(solution: Any, y0: Any, t: Any) -> Any:
    """Return a solution, [times, …], with the static shape that it has."""
    size = t.shape.as_list()[0] if t.shape.ndims else None
    solution.set_shape(tf.TensorShape([size]).concatenate(y0.shape))
    return solution
