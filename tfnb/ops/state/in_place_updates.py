"""Update rules of common optimizers that overwrite the variable and its slots.

Each computes the same bits as the rule of that name in ``training_ops.py``, with one or two
intermediate arrays in total. Arguments are those of the rule without ``xp``; arrays have one shape
with at least one dimension and share no memory. Hyperparameters are arrays without dimensions;
where a rule computes with several of them, it takes their numbers, because NumPy computes with
these in a tenth of the time.  Compiled routines do the same in one sweep
(``compiled_updates.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.ops.state import compiled_updates

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.tensor_types import TensorLike, VariableLike


def gradient_descent(var: VariableLike, alpha: TensorLike, delta: TensorLike) -> None:
    """Update by ``var -= alpha * delta``."""
    if compiled_updates.update(compiled_updates.GRADIENT_DESCENT, (var, delta), lambda: [alpha]):
        return
    var -= delta * alpha


def momentum(
    var: VariableLike,
    accum: VariableLike,
    lr: TensorLike,
    grad: TensorLike,
    momentum: TensorLike,
    *,
    use_nesterov: bool,
) -> None:
    """Update by ``accum = momentum accum + grad; var -= lr accum``."""
    arrays = (var, accum, grad)
    if not use_nesterov and compiled_updates.update(
        compiled_updates.MOMENTUM, arrays, lambda: [lr, momentum]
    ):
        return
    accum *= momentum
    accum += grad
    if use_nesterov:
        ahead = accum * momentum
        ahead *= lr
        step = grad * lr
        step += ahead
    else:
        step = accum * lr
    var -= step


def adagrad(
    var: VariableLike, accum: VariableLike, lr: TensorLike, grad: TensorLike, *, update_slots: bool
) -> None:
    """Update by ``accum += grad**2; var -= lr grad / sqrt(accum)``."""
    arrays = (var, accum, grad)
    if update_slots and compiled_updates.update(compiled_updates.ADAGRAD, arrays, lambda: [lr]):
        return
    root = grad * grad
    if update_slots:
        accum += root
    np.sqrt(accum, out=root)
    step = grad * lr
    step /= root
    var -= step


def adam(
    var: VariableLike,
    m: Any,
    v: TensorLike,
    beta1_power: Any,
    beta2_power: Any,
    lr: TensorLike,
    beta1: TensorLike,
    beta2: TensorLike,
    epsilon: TensorLike,
    grad: TensorLike,
    *,
    use_nesterov: bool,
) -> None:
    """Update m and v towards grad and grad**2, and var by m / (sqrt(v) + eps)."""
    # Python's 1 takes their dtype, and costs less than NumPy's.
    share1, share2 = 1 - beta1[()], 1 - beta2[()]
    rate = lr[()] * np.sqrt(1 - beta2_power[()]) / (1 - beta1_power[()])
    if not use_nesterov and compiled_updates.update(
        compiled_updates.ADAM, (var, m, v, grad), lambda: [share1, share2, rate, epsilon]
    ):
        return
    work = grad - m
    work *= share1
    m += work
    np.multiply(grad, grad, out=work)
    work -= v
    work *= share2
    v += work
    np.sqrt(v, out=work)
    work += epsilon
    if use_nesterov:
        step = grad * share1
        step += m * beta1[()]
        step *= rate
    else:
        step = m * rate
    step /= work
    var -= step


def rms_prop(
    var: VariableLike,
    ms: Any,
    mom: Any,
    lr: TensorLike,
    rho: Any,
    momentum: TensorLike,
    epsilon: TensorLike,
    grad: TensorLike,
) -> None:
    """Update ms towards grad**2; mom = momentum mom + lr grad / sqrt(ms + epsilon); var -= mom."""
    share = 1 - rho[()]
    if compiled_updates.update(
        compiled_updates.RMS_PROP, (var, ms, mom, grad), lambda: [share, epsilon, lr, momentum]
    ):
        return
    work = grad * grad
    work -= ms
    work *= share
    ms += work
    np.add(ms, epsilon, out=work)
    np.sqrt(work, out=work)
    step = grad * lr
    step /= work
    mom *= momentum
    mom += step
    var -= mom


# The functions by the part of an op's name after Apply.
IN_PLACE: dict[str, Callable[..., None]] = {
    "GradientDescent": gradient_descent,
    "Momentum": momentum,
    "Adagrad": adagrad,
    "Adam": adam,
    "RMSProp": rms_prop,
}
