"""Integration with steps that the caller gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.contrib.integrate.arguments import increasing, state_and_times, with_time
from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[[Any, Any], Any]


def odeint_fixed(
    func: Function, y0: Any, t: Any, dt: Any = None, method: str = "rk4", name: str | None = None
) -> Any:
    """Return the solution of ``dy/dt = func(y, t)`` by steps of a fixed length.

    Args:
      func: returns the derivative of a state `y` at a time `t`.
      y0: the state at the first time: real or complex numbers.
      t: an increasing vector of times.
      dt: a scalar, or a number for each interval between two times: the longest step in it. Steps
        of an interval have the same length. By default each interval is one step.
      method: "midpoint" or "rk4".
      name: of the scope.

    Returns:
      [times, …], the states; the first is `y0`.

    Raises:
      TypeError: a type does not fit.
      ValueError: a shape does not fit, or the method is another.
    """
    advance = {"midpoint": _midpoint, "rk4": _runge_kutta}.get(method)
    with tf.name_scope(name, "odeint_fixed", [y0, t, dt]):
        y0, t = state_and_times(y0, t)
        longest = None if dt is None else _longest_steps(dt, t)
        if advance is None:
            raise ValueError(f"method not supported: {method!s}")
        t = increasing(t)
        intervals = t[1:] - t[:-1]
        if longest is None:
            counts = tf.ones_like(intervals, tf.int32)
        else:
            counts = tf.cast(tf.ceil(intervals / longest), tf.int32)
        steps = intervals / tf.cast(counts, t.dtype)

        def over_interval(number: Any, y: Any, found: Any) -> tuple[Any, Any, Any]:
            begin, step = t[number], steps[number]

            def one_step(index: Any, y: Any) -> tuple[Any, Any]:
                at = begin + step * tf.cast(index, t.dtype)
                return index + 1, advance(func, y, at, step)

            _, y = tf.while_loop(
                lambda index, _: index < counts[number], one_step, [tf.constant(0), y]
            )
            return number + 1, y, found.write(number + 1, y)

        size = tf.size(t)
        found = tf.TensorArray(y0.dtype, size, element_shape=y0.shape).write(0, y0)
        *_, found = tf.while_loop(
            lambda number, *_: number < size - 1, over_interval, [tf.constant(0), y0, found]
        )
        return with_time(found.stack(), y0, t)


def _longest_steps(dt: Any, t: Any) -> Any:
    """Return the longest steps, a scalar or a vector, in the type of the times."""
    dt = tf.convert_to_tensor(dt, preferred_dtype=tf.float64, name="dt")
    if not dt.dtype.is_floating:
        raise TypeError(f"`dt` must have a floating point dtype, not {dt.dtype.name}")
    if dt.shape.ndims not in (0, 1, None):
        raise ValueError(f"dt must be a 0-D or 1-D tensor, not of shape {dt.shape}")
    if dt.shape.ndims == 1 and t.shape.ndims == 1:
        one, other = dt.shape.as_list()[0], t.shape.as_list()[0]
        if None not in (one, other) and one != other - 1:
            raise ValueError(
                "t and dt have incompatible lengths, must be N and N-1: they have "
                f"{other} and {one}"
            )
    return tf.cast(dt, t.dtype)


def _midpoint(func: Function, y: Any, t: Any, dt: Any) -> Any:
    step = tf.cast(dt, y.dtype)
    middle = y + _slope(func, y, t) * (step / 2)
    return y + _slope(func, middle, t + dt / 2) * step


def _runge_kutta(func: Function, y: Any, t: Any, dt: Any) -> Any:
    step = tf.cast(dt, y.dtype)
    first = _slope(func, y, t)
    second = _slope(func, y + first * (step / 2), t + dt / 2)
    third = _slope(func, y + second * (step / 2), t + dt / 2)
    fourth = _slope(func, y + third * step, t + dt)
    return y + (first + 2 * second + 2 * third + fourth) * (step / 6)


def _slope(func: Function, y: Any, t: Any) -> Any:
    return tf.convert_to_tensor(func(y, t), dtype=y.dtype, name="derivative")
