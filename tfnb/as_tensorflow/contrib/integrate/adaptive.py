"""Integration whose steps follow from the estimated error.

The formulas are those of Dormand and Prince (1980), with the fourth-order formula and the value in
the middle of a step of Shampine (1986), "Some practical Runge-Kutta formulas".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.contrib.integrate.arguments import increasing, state_and_times, with_time
from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Function = Callable[[Any, Any], Any]

# The times of the stages after the first, as shares of a step, and their weights of earlier ones.
_TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
# The last stage is the solution of fifth order; this is its difference from that of fourth order.
_ERROR = (
    35 / 384 - 1951 / 21600,
    0.0,
    500 / 1113 - 22642 / 50085,
    125 / 192 - 451 / 720,
    -2187 / 6784 + 12231 / 42400,
    11 / 84 - 649 / 6300,
    -1 / 60,
)
_MIDDLE = (
    6025192743 / 30085553152 / 2,
    0.0,
    51252292925 / 65400821598 / 2,
    -2691868925 / 45128329728 / 2,
    187940372067 / 1594534317056 / 2,
    -1776094331 / 19743644256 / 2,
    11237099 / 235043384 / 2,
)
_EVALUATIONS = len(_TIMES)
_ORDER = 5


def odeint(
    func: Function,
    y0: Any,
    t: Any,
    rtol: Any = 1e-6,
    atol: Any = 1e-12,
    method: str | None = None,
    options: dict[str, Any] | None = None,
    full_output: bool = False,
    name: str | None = None,
) -> Any:
    """Return the solution of ``dy/dt = func(y, t)`` by steps that follow from its error.

    The steps do not depend on the times: the values at these are interpolated.

    Args:
      func: returns the derivative of a state `y` at a time `t`.
      y0: the state at the first time: real or complex numbers.
      t: an increasing vector of times.
      rtol: the tolerated error of an element of a step, as a share of it.
      atol: the tolerated error beside it.
      method: "dopri5", or None for it.
      options: of the method: `first_step` (1), `safety` (0.9), `ifactor` (10) and `dfactor` (0.2),
        the largest and least factor from one step to the next, `max_num_steps` (1000) between two
        times.
      full_output: return also what the integrator did.
      name: of the scope.

    Returns:
      [times, …], the states; the first is `y0`. With `full_output` a pair with a dict of tensors:
      `num_func_evals`, and for each step `integrate_points`, its end, and `error_ratio`.

    Raises:
      TypeError: a type does not fit.
      ValueError: a shape does not fit, the method is another, or it has options but no name.
      tf.errors.InvalidArgumentError: in a step: the times do not increase, the steps are too many
        or too short, or the state is not finite.
    """
    if method not in (None, "dopri5"):
        raise ValueError(f"invalid method: {method!r}")
    if options is not None and method is None:
        raise ValueError("cannot supply `options` without specifying `method`")
    with tf.name_scope(name, "odeint", [y0, t, rtol, atol]):
        y0, t = state_and_times(y0, t)
        real = y0.dtype.real_dtype
        control = _Control(
            rtol=tf.cast(rtol, real), atol=tf.cast(atol, real), **_options(options or {}, t.dtype)
        )
        t = increasing(t)
        solution, info = _solve(func, y0, t, control)
        solution = with_time(solution, y0, t)
        # The name of the result begins with the scope's.
        solution = tf.identity(solution, name="solution")
        return (solution, info) if full_output else solution


@dataclass(frozen=True)
class _Control:
    """The options of `odeint` that determine the length of steps: tensors and numbers."""

    rtol: Any
    atol: Any
    first_step: Any
    safety: Any
    ifactor: Any
    dfactor: Any
    max_num_steps: Any


def _options(given: dict[str, Any], dtype: Any) -> dict[str, Any]:
    """Return all options as tensors."""
    known = {"first_step": 1.0, "safety": 0.9, "ifactor": 10.0, "dfactor": 0.2}
    unknown = given.keys() - known.keys() - {"max_num_steps"}
    if unknown:
        raise TypeError(f"unknown options {sorted(unknown)}; there are {[*known, 'max_num_steps']}")
    found = {key: tf.cast(given.get(key, value), dtype) for key, value in known.items()}
    return {**found, "max_num_steps": tf.cast(given.get("max_num_steps", 1000), tf.int32)}


def _solve(func: Function, y0: Any, t: Any, control: _Control) -> tuple[Any, dict[str, Any]]:
    """Return the states at all times, and what the integrator did."""

    def behind(at: Any) -> Callable[..., Any]:
        return lambda _, __, end, *___: end < at

    def one_step(
        y: Any, slope: Any, t1: Any, dt: Any, curve: Any, t0: Any, count: Any, ends: Any,
        ratios: Any, since: Any,
    ) -> list[Any]:  # fmt: skip
        checks = [
            tf.Assert(t1 + dt > t1, ["underflow in dt", dt]),
            tf.Assert(since < control.max_num_steps, ["max_num_steps exceeded"]),
            tf.Assert(tf.reduce_all(tf.is_finite(tf.abs(y))), ["non-finite values in state `y`"]),
        ]
        with tf.control_dependencies(checks):
            new_y, new_slope, ratio, new_curve = _step(func, y, slope, t1, dt, control)
        taken = ratio <= 1
        ends, ratios = ends.write(count, t1 + dt), ratios.write(count, ratio)
        return [
            tf.where(taken, new_y, y),
            tf.where(taken, new_slope, slope),
            tf.where(taken, t1 + dt, t1),
            _next_step(dt, ratio, control),
            tf.where(taken, new_curve, curve),
            tf.where(taken, t1, t0),
            count + 1,
            ends,
            ratios,
            since + 1,
        ]

    def to_time(number: Any, found: Any, *state: Any) -> list[Any]:
        at = t[number]
        state = tf.while_loop(behind(at), one_step, [*state, tf.constant(0)])[:-1]
        _, _, t1, _, curve, t0, *_ = state
        return [number + 1, found.write(number, _value(curve, t0, t1, at)), *state]

    size = tf.size(t)
    found = tf.TensorArray(y0.dtype, size, element_shape=y0.shape).write(0, y0)
    ends = tf.TensorArray(t.dtype, 0, dynamic_size=True, element_shape=[])
    ratios = tf.TensorArray(y0.dtype.real_dtype, 0, dynamic_size=True, element_shape=[])
    first = tf.convert_to_tensor(func(y0, t[0]), dtype=y0.dtype)
    still = tf.stack([y0] + [tf.zeros_like(y0)] * 4)
    state = [y0, first, t[0], control.first_step, still, t[0], tf.constant(0), ends, ratios]
    _, found, *state = tf.while_loop(
        lambda number, *_: number < size, to_time, [tf.constant(1), found, *state]
    )
    *_, count, ends, ratios = state
    info = {
        "num_func_evals": count * _EVALUATIONS + 1,
        "integrate_points": ends.stack(),
        "error_ratio": ratios.stack(),
    }
    return found.stack(), info


def _step(
    func: Function, y: Any, slope: Any, t: Any, dt: Any, control: _Control
) -> tuple[Any, Any, Any, Any]:
    """Return the next state, its slope, the error as a share of the tolerated, and the curve."""
    step = tf.cast(dt, y.dtype)
    slopes = [slope]
    for share, weights in zip(_TIMES, _STAGES, strict=True):
        end = y + step * _combined(weights, slopes)
        slopes.append(tf.convert_to_tensor(func(end, t + share * dt), dtype=y.dtype))
    error = tf.abs(step * _combined(_ERROR, slopes))
    tolerated = control.atol + control.rtol * tf.maximum(tf.abs(y), tf.abs(end))
    ratio = tf.sqrt(tf.reduce_mean(tf.square(error / tolerated)))
    middle = y + step * _combined(_MIDDLE, slopes)
    return end, slopes[-1], ratio, _curve(y, end, middle, step * slope, step * slopes[-1])


def _combined(weights: Sequence[float], slopes: list[Any]) -> Any:
    """Return the sum of slopes by weight."""
    return tf.add_n([weight * one for weight, one in zip(weights, slopes, strict=True) if weight])


def _curve(y0: Any, y1: Any, middle: Any, rise0: Any, rise1: Any) -> Any:
    """Return [5, …], the coefficients of a polynomial of fourth degree over [0, 1], lowest first.

    It has the values at both ends and in the middle, and the rises at both ends.
    """
    return tf.stack(
        [
            y0,
            rise0,
            rise1 - 4 * rise0 - 11 * y0 - 5 * y1 + 16 * middle,
            5 * rise0 - 3 * rise1 + 18 * y0 + 14 * y1 - 32 * middle,
            2 * (rise1 - rise0) - 8 * (y0 + y1) + 16 * middle,
        ]
    )


def _value(curve: Any, t0: Any, t1: Any, at: Any) -> Any:
    """Return the value of the latest step's curve at a time within the step."""
    x = tf.cast((at - t0) / (t1 - t0), curve.dtype)
    found = curve[4]
    for degree in (3, 2, 1, 0):
        found = found * x + curve[degree]
    return found


def _next_step(dt: Any, ratio: Any, control: _Control) -> Any:
    """Return the length of the next step; after one that was taken, it is no shorter."""
    ratio = tf.cast(ratio, dt.dtype)
    least = tf.where(ratio < 1, tf.ones_like(control.dfactor), control.dfactor)
    factor = control.safety / tf.pow(tf.maximum(ratio, 1e-30), 1 / _ORDER)
    return dt * tf.minimum(tf.maximum(factor, least), control.ifactor)
