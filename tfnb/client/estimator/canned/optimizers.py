"""The optimizers that canned estimators accept by name."""

from __future__ import annotations

from typing import Any

from tfnb.client.public.api import tf

_NAMES = {
    "Adagrad": "AdagradOptimizer",
    "Adam": "AdamOptimizer",
    "Ftrl": "FtrlOptimizer",
    "RMSProp": "RMSPropOptimizer",
    "SGD": "GradientDescentOptimizer",
}


def optimizer_instance(optimizer: Any, learning_rate: float) -> Any:
    """Return an optimizer.

    Args:
        optimizer: An optimizer, a function that returns one, or a name.
        learning_rate: The learning rate of one that is given by name.

    Raises:
        ValueError: It is no optimizer, or the name is unknown.
    """
    if isinstance(optimizer, str):
        if optimizer not in _NAMES:
            raise ValueError(
                f"Unsupported optimizer name: {optimizer}. Supported names are: "
                f"{tuple(sorted(_NAMES))}"
            )
        return getattr(tf.train, _NAMES[optimizer])(learning_rate=learning_rate)
    if callable(optimizer):
        optimizer = optimizer()
    if not isinstance(optimizer, tf.train.Optimizer):
        raise ValueError(f"The given object is not an Optimizer instance. Given: {optimizer}")
    return optimizer
