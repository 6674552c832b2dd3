"""Learning rates that depend on the step: ``tf.train.exponential_decay`` and others.

Each function returns a tensor, computed in the learning rate's type.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.framework.structures import nest
from tfnb.library.control_flow.case import case
from tfnb.library.control_flow.cond import cond
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops
from tfnb.ops.math.cwise_unary_ops import cos, neg
from tfnb.ops.random import random_ops

if TYPE_CHECKING:
    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult, VariableLike

EXPORTS = {
    "train": [
        "cosine_decay", "cosine_decay_restarts", "exponential_decay", "inverse_time_decay",
        "linear_cosine_decay", "natural_exp_decay", "noisy_linear_cosine_decay",
        "piecewise_constant", "piecewise_constant_decay:piecewise_constant", "polynomial_decay",
    ]
}  # fmt: skip


def exponential_decay(
    learning_rate: TensorLike,
    global_step: VariableLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return learning_rate * decay_rate ** (global_step / decay_steps).

    ``staircase`` floors the exponent.
    """
    with name_scope(name or "ExponentialDecay") as scope:
        rate, dtype = _initial(learning_rate)
        base, p = _base_and_power(global_step, decay_steps, decay_rate, dtype, staircase)
        found: Tensor = math_ops.multiply(rate, math_ops.pow(base, p), name=scope)
        return found


def natural_exp_decay(
    learning_rate: TensorLike,
    global_step: VariableLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return learning_rate * exp(-decay_rate * global_step / decay_steps)."""
    base = math_ops.exp(neg(decay_rate))
    return exponential_decay(learning_rate, global_step, decay_steps, base, staircase, name)


def inverse_time_decay(
    learning_rate: TensorLike,
    global_step: VariableLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return learning_rate / (1 + decay_rate * global_step / decay_steps)."""
    with name_scope(name or "InverseTimeDecay") as scope:
        rate, dtype = _initial(learning_rate)
        decay_rate, p = _base_and_power(global_step, decay_steps, decay_rate, dtype, staircase)
        one = math_ops.cast(convert_to_tensor(1), dtype)
        denominator = math_ops.add(one, math_ops.multiply(decay_rate, p))
        found: Tensor = math_ops.divide(rate, denominator, name=scope)
        return found


def polynomial_decay(
    learning_rate: TensorLike,
    global_step: VariableLike,
    decay_steps: TensorLike,
    end_learning_rate: TensorLike = 0.0001,
    power: TensorLike = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Tensor:
    """Decay from learning_rate to end_learning_rate by a power law; with cycle, repeatedly."""
    with name_scope(name or "PolynomialDecay") as scope:
        rate, dtype = _initial(learning_rate)
        end = math_ops.cast(end_learning_rate, dtype)
        power = math_ops.cast(power, dtype)
        step = math_ops.cast(global_step, dtype)
        steps = math_ops.cast(decay_steps, dtype)
        if cycle:
            rounds = array_ops.where_v2(
                math_ops.equal(step, 0), 1.0, math_ops.ceil(step / decay_steps)
            )
            steps = math_ops.multiply(steps, rounds)
        else:
            step = math_ops.minimum(step, steps)
        p = math_ops.divide(step, steps)
        part = math_ops.multiply(rate - end, math_ops.pow(1 - p, power))
        found: Tensor = math_ops.add(part, end, name=scope)
        return found


def piecewise_constant(
    x: TensorLike, boundaries: TensorLike, values: TensorLike, name: str | None = None
) -> Tensor:
    """Return the first value up to the first boundary, the next up to the next, and so on.

    Raises:
      ValueError: the numbers of boundaries and values, or their types, do not fit.
    """
    limits = [convert_to_tensor(limit) for limit in nest.flatten(boundaries)]
    constants = [convert_to_tensor(value) for value in nest.flatten(values)]
    wanted = convert_to_tensor(x).dtype.base_dtype
    for index, limit in enumerate(limits):
        found = limit.dtype.base_dtype
        if found == dtypes.int32 and wanted == dtypes.int64:
            limits[index] = math_ops.cast(limit, wanted)
        elif found != wanted:
            raise ValueError(f"Boundaries ({found}) must have the same dtype as x ({wanted}).")
    for value in constants[1:]:
        if value.dtype.base_dtype != constants[0].dtype.base_dtype:
            raise ValueError(
                "Values must have elements all with the same dtype "
                f"({constants[0].dtype.base_dtype} vs {value.dtype.base_dtype})."
            )
    if len(limits) != len(constants) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    with name_scope(name or "PiecewiseConstant"):
        x = convert_to_tensor(x)
        pairs: list[tuple[Any, Any]] = [
            (x <= limits[0], lambda: constants[0]),
            (x > limits[-1], lambda: constants[-1]),
        ]
        for low, high, value in zip(limits[:-1], limits[1:], constants[1:-1], strict=True):
            pairs.append(((x > low) & (x <= high), lambda value=value: value))
        chosen: Tensor = case(pairs, lambda: constants[0], exclusive=True)
        return chosen


def cosine_decay(
    learning_rate: TensorLike,
    global_step: VariableLike,
    decay_steps: TensorLike,
    alpha: TensorLike = 0.0,
    name: str | None = None,
) -> Tensor:
    """Decay from learning_rate to alpha times it along half a cosine."""
    with name_scope(name or "CosineDecay"):
        rate, dtype = _initial(learning_rate)
        steps = math_ops.cast(decay_steps, dtype)
        step = math_ops.minimum(math_ops.cast(global_step, dtype), steps)
        decayed = (1 - alpha) * (0.5 * (1.0 + _cosine(step / steps))) + alpha
        found: Tensor = math_ops.multiply(rate, decayed)
        return found


def cosine_decay_restarts(
    learning_rate: TensorLike,
    global_step: VariableLike,
    first_decay_steps: TensorLike,
    t_mul: TensorLike = 2.0,
    m_mul: Any = 1.0,
    alpha: TensorLike = 0.0,
    name: str | None = None,
) -> Tensor:
    """Return consecutive cosine decays; ``t_mul`` scales their lengths, ``m_mul`` their heights."""
    with name_scope(name or "SGDRDecay") as scope:
        rate, dtype = _initial(learning_rate)
        first = math_ops.cast(first_decay_steps, dtype)
        alpha, t_mul, m_mul = (math_ops.cast(value, dtype) for value in (alpha, t_mul, m_mul))
        passed = math_ops.cast(global_step, dtype) / first

        def of_equal_length() -> tuple[Nested, Nested]:
            restart = math_ops.floor(passed)
            return restart, passed - restart

        def of_growing_length() -> tuple[Nested, Nested]:
            restart = math_ops.floor(
                math_ops.log(1.0 - passed * (1.0 - t_mul)) / math_ops.log(t_mul)
            )
            before = (1.0 - t_mul**restart) / (1.0 - t_mul)
            return restart, (passed - before) / t_mul**restart

        restart, fraction = cond(math_ops.equal(t_mul, 1.0), of_equal_length, of_growing_length)
        height = 0.5 * m_mul**restart * (1.0 + _cosine(fraction))
        found: Tensor = math_ops.multiply(rate, (1 - alpha) * height + alpha, name=scope)
        return found


def linear_cosine_decay(
    learning_rate: TensorLike,
    global_step: VariableLike,
    decay_steps: TensorLike,
    num_periods: TensorLike = 0.5,
    alpha: TensorLike = 0.0,
    beta: TensorLike = 0.001,
    name: str | None = None,
) -> Tensor:
    """Return learning_rate * ((alpha + linear decay) * cosine decay + beta)."""
    with name_scope(name or "LinearCosineDecay") as scope:
        rate, dtype = _initial(learning_rate)
        steps = math_ops.cast(decay_steps, dtype)
        periods, alpha, beta = (math_ops.cast(value, dtype) for value in (num_periods, alpha, beta))
        step = math_ops.minimum(math_ops.cast(global_step, dtype), steps)
        linear = (steps - step) / steps
        done = step / steps
        cosine = 0.5 * (1.0 + _cosine(2.0 * periods * done))
        found: Tensor = math_ops.multiply(rate, (alpha + linear) * cosine + beta, name=scope)
        return found


def noisy_linear_cosine_decay(
    learning_rate: TensorLike,
    global_step: VariableLike,
    decay_steps: TensorLike,
    initial_variance: Any = 1.0,
    variance_decay: TensorLike = 0.55,
    num_periods: TensorLike = 0.5,
    alpha: TensorLike = 0.0,
    beta: TensorLike = 0.001,
    name: str | None = None,
) -> Tensor:
    """Return linear cosine decay with noise whose variance falls with the step."""
    with name_scope(name or "NoisyLinearCosineDecay") as scope:
        rate, dtype = _initial(learning_rate)
        steps = math_ops.cast(decay_steps, dtype)
        variance, variance_decay, periods, alpha, beta = (
            math_ops.cast(value, dtype)
            for value in (initial_variance, variance_decay, num_periods, alpha, beta)
        )
        step = math_ops.minimum(math_ops.cast(global_step, dtype), steps)
        linear = (steps - step) / steps
        variance = variance / math_ops.pow(1.0 + step, variance_decay)
        noisy = linear + random_ops.random_normal(linear.shape, stddev=math_ops.sqrt(variance))
        done = step / steps
        cosine = 0.5 * (1.0 + _cosine(2.0 * periods * done))
        found: Tensor = math_ops.multiply(rate, (alpha + noisy) * cosine + beta, name=scope)
        return found


def _initial(learning_rate: TensorLike) -> tuple[Nested, Nested]:
    rate = convert_to_tensor(learning_rate, name="initial_learning_rate")
    return rate, rate.dtype


def _base_and_power(
    global_step: VariableLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    dtype: DTypeLike,
    staircase: bool,
) -> tuple[Nested, Nested]:
    """Return the decay rate, and the number of decay periods that have passed."""
    steps = math_ops.cast(decay_steps, dtype)
    base = math_ops.cast(decay_rate, dtype)
    p = math_ops.cast(global_step, dtype) / steps
    return base, math_ops.floor(p) if staircase else p


def _cosine(fraction: Any) -> TensorResult:
    """Return the cosine of a fraction of pi."""
    return cos(convert_to_tensor(math.pi) * fraction)
