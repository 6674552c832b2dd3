"""``tf.contrib.estimator``: an optimizer with clipped gradients."""

from __future__ import annotations

from typing import Any

from tfnb.client.public.api import tf


def clip_gradients_by_norm(optimizer: Any, clip_norm: float) -> Any:
    """Return an optimizer that clips gradients by their common norm before it applies them."""

    class ClippingOptimizer(type(optimizer)):  # type: ignore[misc]
        """The optimizer, with clipped gradients."""

        def __init__(self) -> None:
            self.__dict__ = optimizer.__dict__

        def apply_gradients(
            self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
        ) -> Any:
            """Apply clipped gradients."""
            gradients, variables = zip(*grads_and_vars, strict=True)
            clipped, _ = tf.clip_by_global_norm(gradients, clip_norm)
            pairs = list(zip(clipped, variables, strict=True))
            return super().apply_gradients(pairs, global_step, name)

    return ClippingOptimizer()
