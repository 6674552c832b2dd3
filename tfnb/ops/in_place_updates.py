"""Rules of optimizers that write over the variable and its slots, for the ops used most.

Each does what the rule of the same name in ``training_ops.py`` does, but for the last bit, with one
or two intermediate arrays in all, and multiplies and adds in one pass (``blas.add_scaled``).
Arguments are those of the rule but ``xp``; arrays are of one shape with at least one dimension and
share no memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core.blas import add_scaled

if TYPE_CHECKING:
    from collections.abc import Callable


def gradient_descent(var: Any, alpha: Any, delta: Any) -> None:
    """Var -= alpha * delta."""
    add_scaled(-alpha, delta, _one(var), var)


def momentum(
    var: Any, accum: Any, lr: Any, grad: Any, momentum: Any, *, use_nesterov: bool
) -> None:
    """Accum = momentum accum + grad; var -= lr accum."""
    one = _one(var)
    add_scaled(one, grad, momentum, accum)
    if use_nesterov:
        add_scaled(-lr, grad, one, var)
        add_scaled(-lr * momentum, accum, one, var)
    else:
        add_scaled(-lr, accum, one, var)


def adagrad(var: Any, accum: Any, lr: Any, grad: Any, *, update_slots: bool) -> None:
    """Accum += grad**2; var -= lr grad / sqrt(accum)."""
    root = grad * grad
    if update_slots:
        accum += root
    np.sqrt(accum, out=root)
    np.divide(grad, root, out=root)
    add_scaled(-lr, root, _one(var), var)


def adam(
    var: Any,
    m: Any,
    v: Any,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
    *,
    use_nesterov: bool,
) -> None:
    """M and v follow grad and grad**2; var goes along m / (sqrt(v) + eps)."""
    one = _one(var)
    rate = lr * np.sqrt(one - beta2_power) / (one - beta1_power)
    work = grad - m
    add_scaled(one - beta1, work, one, m)
    np.multiply(grad, grad, out=work)
    work -= v
    add_scaled(one - beta2, work, one, v)
    np.sqrt(v, out=work)
    work += epsilon
    if use_nesterov:
        step = m * beta1
        add_scaled(one - beta1, grad, one, step)
        step /= work
    else:
        step = np.divide(m, work, out=work)
    add_scaled(-rate, step, one, var)


def rms_prop(
    var: Any, ms: Any, mom: Any, lr: Any, rho: Any, momentum: Any, epsilon: Any, grad: Any
) -> None:
    """Ms follows grad**2; mom = momentum mom + lr grad / sqrt(ms + epsilon); var -= mom."""
    one = _one(var)
    work = grad * grad
    work -= ms
    add_scaled(one - rho, work, one, ms)
    np.add(ms, epsilon, out=work)
    np.sqrt(work, out=work)
    np.divide(grad, work, out=work)
    add_scaled(lr, work, momentum, mom)
    var -= mom


def _one(var: Any) -> Any:
    return var.dtype.type(1)


# By the part of an op's name after Apply.
IN_PLACE: dict[str, Callable[..., None]] = {
    "GradientDescent": gradient_descent,
    "Momentum": momentum,
    "Adagrad": adagrad,
    "Adam": adam,
    "RMSProp": rms_prop,
}
