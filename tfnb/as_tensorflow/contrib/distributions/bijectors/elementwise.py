"""Bijectors that map each number by itself."""

from __future__ import annotations

import math
from typing import Any

from tfnb.as_tensorflow.contrib.distributions.bijectors.bijector import Bijector
from tfnb.client.public.api import tf


def softplus_inverse(x: Any, name: str | None = None) -> Any:
    """Return the number whose softplus is x: log(exp(x) - 1).

    Args:
      x: positive numbers.
      name: the name of the scope.
    """
    with tf.name_scope(name, "softplus_inverse", [x]):
        x = tf.convert_to_tensor(x)
        return x + tf.log(-tf.expm1(-x))


class _Elementwise(Bijector):
    """The part that all have.

    Args:
      event_ndims: see ``Bijector``.
      validate_args: without effect.
      name: of its scope.
    """

    def __init__(
        self, event_ndims: int = 0, validate_args: bool = False, name: str | None = None
    ) -> None:
        # Sums over events of more dimensions are left to the methods.
        super().__init__(validate_args=validate_args, forward_min_event_ndims=0, name=name)


class PowerTransform(_Elementwise):
    """``(1 + power x)^(1 / power)``, and ``exp(x)`` for the power 0.

    Args:
      power: not negative.
      event_ndims: without effect.
      validate_args: without effect.
      name: of its scope.

    Raises:
      ValueError: the power is negative.
    """

    def __init__(
        self,
        power: float = 0.0,
        event_ndims: int = 0,
        validate_args: bool = False,
        name: str = "power_transform",
    ) -> None:
        if power < 0:
            raise ValueError("`power` must be a non-negative number.")
        self._power = power
        super().__init__(event_ndims, validate_args, name)

    @property
    def power(self) -> float:
        """The power."""
        return self._power

    def _forward(self, x: Any) -> Any:
        return tf.exp(x if self._power == 0 else tf.log1p(x * self._power) / self._power)

    def _inverse(self, y: Any) -> Any:
        logs = tf.log(y)
        return logs if self._power == 0 else tf.expm1(logs * self._power) / self._power

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return (self._power - 1.0) * tf.log(y)


class Exp(PowerTransform):
    """``exp(x)``.

    Args:
      event_ndims: without effect.
      validate_args: without effect.
      name: of its scope.
    """

    def __init__(
        self, event_ndims: int = 0, validate_args: bool = False, name: str = "exp"
    ) -> None:
        super().__init__(0.0, event_ndims, validate_args, name)


class Sigmoid(_Elementwise):
    """``1 / (1 + exp(-x))``."""

    def _forward(self, x: Any) -> Any:
        return tf.sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        return tf.log(y) - tf.log1p(-y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -tf.nn.softplus(-x) - tf.nn.softplus(x)


class Tanh(_Elementwise):
    """``tanh(x)``."""

    def _forward(self, x: Any) -> Any:
        return tf.tanh(x)

    def _inverse(self, y: Any) -> Any:
        return tf.atanh(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return 2.0 * (math.log(2.0) - x - tf.nn.softplus(-2.0 * x))


class Softplus(_Elementwise):
    """``log(1 + exp(x))``.

    Args:
      hinge_softness: how far it is from ``max(x, 0)``; 1 by default.
      event_ndims: without effect.
      validate_args: without effect.
      name: of its scope.
    """

    def __init__(
        self,
        hinge_softness: Any = None,
        event_ndims: int = 0,
        validate_args: bool = False,
        name: str = "softplus",
    ) -> None:
        self.hinge_softness = hinge_softness
        super().__init__(event_ndims, validate_args, name)

    def _softness(self, value: Any) -> Any:
        given = 1.0 if self.hinge_softness is None else self.hinge_softness
        return tf.convert_to_tensor(given, value.dtype)

    def _forward(self, x: Any) -> Any:
        softness = self._softness(x)
        return softness * tf.nn.softplus(x / softness)

    def _inverse(self, y: Any) -> Any:
        softness = self._softness(y)
        return softness * softplus_inverse(y / softness)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -tf.nn.softplus(-x / self._softness(x))


class Softsign(_Elementwise):
    """``x / (1 + |x|)``."""

    def _forward(self, x: Any) -> Any:
        return x / (1.0 + tf.abs(x))

    def _inverse(self, y: Any) -> Any:
        return y / (1.0 - tf.abs(y))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -2.0 * tf.log1p(tf.abs(x))


class Square(_Elementwise):
    """``x^2`` of numbers that are not negative."""

    def _forward(self, x: Any) -> Any:
        return tf.square(x)

    def _inverse(self, y: Any) -> Any:
        return tf.sqrt(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return math.log(2.0) + tf.log(x)


class Gumbel(_Elementwise):
    """``exp(-exp(-(x - loc) / scale))``: the distribution function of Gumbel's distribution.

    Args:
      loc: where it is 1 / e.
      scale: its width.
      event_ndims: without effect.
      validate_args: without effect.
      name: of its scope.
    """

    def __init__(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        event_ndims: int = 0,
        validate_args: bool = False,
        name: str = "gumbel",
    ) -> None:
        self.loc = tf.convert_to_tensor(loc)
        self.scale = tf.convert_to_tensor(scale)
        super().__init__(event_ndims, validate_args, name)

    def _forward(self, x: Any) -> Any:
        return tf.exp(-tf.exp(-(x - self.loc) / self.scale))

    def _inverse(self, y: Any) -> Any:
        return self.loc - self.scale * tf.log(-tf.log(y))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        z = (x - self.loc) / self.scale
        return -z - tf.exp(-z) - tf.log(self.scale)


class Weibull(_Elementwise):
    """``1 - exp(-(x / scale)^concentration)``: the distribution function of Weibull's distribution.

    Args:
      scale: its width.
      concentration: the power.
      event_ndims: without effect.
      validate_args: without effect.
      name: of its scope.
    """

    def __init__(
        self,
        scale: Any = 1.0,
        concentration: Any = 1.0,
        event_ndims: int = 0,
        validate_args: bool = False,
        name: str = "weibull",
    ) -> None:
        self.scale = tf.convert_to_tensor(scale)
        self.concentration = tf.convert_to_tensor(concentration)
        super().__init__(event_ndims, validate_args, name)

    def _forward(self, x: Any) -> Any:
        return -tf.expm1(-((x / self.scale) ** self.concentration))

    def _inverse(self, y: Any) -> Any:
        return self.scale * (-tf.log1p(-y)) ** (1.0 / self.concentration)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        share = x / self.scale
        rise = (self.concentration - 1.0) * tf.log(share)
        return tf.log(self.concentration / self.scale) + rise - share**self.concentration


class AffineScalar(_Elementwise):
    """``scale * x + shift``.

    Args:
      shift: added; 0 by default.
      scale: multiplied; 1 by default.
      validate_args: without effect.
      name: of its scope.
    """

    def __init__(
        self,
        shift: Any = None,
        scale: Any = None,
        validate_args: bool = False,
        name: str = "affine_scalar",
    ) -> None:
        self.shift = None if shift is None else tf.convert_to_tensor(shift)
        self.scale = None if scale is None else tf.convert_to_tensor(scale)
        super().__init__(0, validate_args, name)
        self._is_constant_jacobian = True

    def _forward(self, x: Any) -> Any:
        found = x if self.scale is None else x * self.scale
        return found if self.shift is None else found + self.shift

    def _inverse(self, y: Any) -> Any:
        found = y if self.shift is None else y - self.shift
        return found if self.scale is None else found / self.scale

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return tf.zeros([], x.dtype) if self.scale is None else tf.log(tf.abs(self.scale))
