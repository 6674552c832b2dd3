"""``tf.distributions.kl_divergence``, and its registered functions for pairs of distributions."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from tfnb.framework.scopes import control_dependencies, name_scope
from tfnb.library.control_flow.control_flow_assert import assert_
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops
from tfnb.ops.math.cwise_unary_ops import is_nan, logical_not

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.tensor_types import TensorLike, TensorResult, VariableLike

EXPORTS = {"distributions": ["RegisterKL", "kl_divergence"]}

_DIVERGENCES: dict[tuple[type, type], Callable[..., Any]] = {}


def _registered(a: type, b: type) -> Callable[..., Any] | None:
    """Return the function for two classes, or for the nearest of their bases."""
    found = [
        (i + j, _DIVERGENCES[first, second])
        for i, first in enumerate(inspect.getmro(a))
        for j, second in enumerate(inspect.getmro(b))
        if (first, second) in _DIVERGENCES
    ]
    return min(found, key=lambda pair: pair[0])[1] if found else None


def kl_divergence(
    distribution_a: Any, distribution_b: Any, allow_nan_stats: bool = True, name: str | None = None
) -> TensorResult:
    """Return the Kullback-Leibler divergence from one distribution to another.

    Args:
      distribution_a: the first distribution.
      distribution_b: the second distribution.
      allow_nan_stats: whether a divergence may be NaN; otherwise NaN is an error in the step.
      name: of the scope.

    Raises:
      NotImplementedError: no function is registered for these kinds of distributions.
    """
    function = _registered(type(distribution_a), type(distribution_b))
    if function is None:
        raise NotImplementedError(
            "No KL(distribution_a || distribution_b) registered for distribution_a type "
            f"{type(distribution_a).__name__} and distribution_b type "
            f"{type(distribution_b).__name__}"
        )
    with name_scope("KullbackLeibler"):
        divergence = function(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return divergence
        divergence = array_ops.identity(divergence, name="kl")
        no_nan = assert_(
            logical_not(math_ops.reduce_any(is_nan(divergence))),
            [
                f"KL calculation between {distribution_a.name} and {distribution_b.name} returned "
                "NaN values (and was called with allow_nan_stats=False). Values:",
                divergence,
            ],
        )
        with control_dependencies([no_nan]):
            return array_ops.identity(divergence, name="checked_kl")


def cross_entropy(
    ref: VariableLike, other: TensorLike, allow_nan_stats: bool = True, name: str | None = None
) -> TensorResult:
    """Return the sum of a distribution's entropy and its divergence to another."""
    with name_scope(name, "cross_entropy"):
        return ref.entropy() + kl_divergence(ref, other, allow_nan_stats=allow_nan_stats)


class RegisterKL:
    """A decorator of ``function(a, b, name)`` that computes the divergence for two classes.

    Args:
      dist_cls_a: the class of the first distribution.
      dist_cls_b: the class of the second distribution.
    """

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._key = (dist_cls_a, dist_cls_b)

    def __call__(self, kl_fn: Callable[..., Any]) -> Callable[..., Any]:
        """Register the function.

        Raises:
          TypeError: it cannot be called.
          ValueError: there is one already.
        """
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        if self._key in _DIVERGENCES:
            first, second = self._key
            raise ValueError(
                f"KL({first.__name__} || {second.__name__}) has already been registered to: "
                f"{_DIVERGENCES[self._key]}"
            )
        _DIVERGENCES[self._key] = kl_fn
        return kl_fn
