"""The normal distribution, and the functions of its tails."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import control_dependencies, name_scope
from tfnb.library.control_flow.check_ops import assert_positive, assert_same_float_dtype
from tfnb.library.distributions.distribution import FULLY_REPARAMETERIZED, Distribution
from tfnb.library.distributions.kullback_leibler import RegisterKL
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops
from tfnb.ops.math.special_math_ops import erf, erfc, ndtri
from tfnb.ops.random import random_ops

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {"distributions": ["Normal"]}


def ndtr(x: TensorLike) -> TensorResult:
    """Return the area under the standard normal density left of ``x``."""
    with name_scope("ndtr", values=[x]):
        return _ndtr(x)


def _ndtr(x: TensorLike) -> TensorResult:
    half_sqrt_2 = convert_to_tensor(
        np.array(0.5 * math.sqrt(2.0), x.dtype.as_numpy_dtype), name="half_sqrt_2"
    )
    w = x * half_sqrt_2
    z = math_ops.abs(w)
    small = math_ops.less(z, half_sqrt_2)
    near = 1.0 + erf(w)
    # Far from 0, 1 + erf(w) loses its digits, and erfc does not.
    is_right = math_ops.greater(w, 0.0)
    far = array_ops.where_v2(is_right, 2.0 - erfc(z), erfc(z))
    return 0.5 * array_ops.where_v2(small, near, far)


# By type: (below this bound the series is used, above this one 1 minus a small number).
_BOUNDS = {dtypes.float32: (-10.0, 5.0), dtypes.float64: (-20.0, 8.0)}


def log_ndtr(x: TensorLike, series_order: int = 3) -> TensorResult:
    """Return the logarithm of :func:`ndtr`, with full precision also far to the left.

    Args:
      x: float32 or float64.
      series_order: the number of terms of the asymptotic series.

    Raises:
      TypeError: x is of another type.
    """
    with name_scope("log_ndtr", values=[x]):
        if x.dtype not in _BOUNDS:
            raise TypeError(f"x.dtype={x.dtype} is not supported.")
        lower, upper = _BOUNDS[x.dtype]
        right = -_ndtr(-x)
        middle = math_ops.log(_ndtr(math_ops.maximum(x, lower)))
        left = _log_ndtr_series(math_ops.minimum(x, lower), series_order)
        return array_ops.where_v2(
            math_ops.greater(x, upper),
            right,
            array_ops.where_v2(math_ops.greater(x, lower), middle, left),
        )


def _log_ndtr_series(x: TensorLike, order: int) -> TensorResult:
    scale = -0.5 * math_ops.square(x) - math_ops.log(-x) - 0.5 * math.log(2.0 * math.pi)
    squared = math_ops.square(x)
    even, odd = array_ops.zeros_like(x), array_ops.zeros_like(x)
    power = squared
    for n in range(1, order + 1):
        term = float(np.prod(np.arange(2 * n - 1, 1, -2))) / power
        if n % 2:
            odd += term
        else:
            even += term
        power *= squared
    return scale + math_ops.log(1.0 + even - odd)


class Normal(Distribution):
    """The normal distribution.

    Args:
      loc: the mean, floating point.
      scale: the standard deviation, positive.
      validate_args: whether that is checked when the graph runs.
      allow_nan_stats: see ``Distribution``.
      name: of its scope.

    Raises:
      TypeError: the parameters have several types.
    """

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Normal",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[loc, scale]) as name:
            with control_dependencies([assert_positive(scale)] if validate_args else []):
                self._loc = array_ops.identity(loc, name="loc")
                self._scale = array_ops.identity(scale, name="scale")
                assert_same_float_dtype([self._loc, self._scale])
        super().__init__(
            dtype=self._scale.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._loc, self._scale],
            name=name,
        )

    @classmethod
    def _param_shapes(cls, sample_shape: TensorLike) -> dict[str, Any]:
        shape = convert_to_tensor(sample_shape, dtype=dtypes.int32)
        return {"loc": shape, "scale": shape}

    @property
    def loc(self) -> TensorResult:
        """The mean."""
        return self._loc

    @property
    def scale(self) -> TensorResult:
        """The standard deviation."""
        return self._scale

    def _batch_shape_tensor(self) -> TensorResult:
        return array_ops.broadcast_dynamic_shape(
            array_ops.shape(self.loc), array_ops.shape(self.scale)
        )

    def _batch_shape(self) -> TensorShape:
        return array_ops.broadcast_static_shape(self.loc.get_shape(), self.scale.get_shape())

    def _event_shape_tensor(self) -> TensorResult:
        return array_ops.constant([], dtype=dtypes.int32)

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    def _sample_n(self, n: TensorLike, seed: int | None) -> TensorResult:
        shape = array_ops.concat([[n], self.batch_shape_tensor()], 0)
        drawn = random_ops.random_normal(shape, mean=0.0, stddev=1.0, dtype=self.dtype, seed=seed)
        return drawn * self.scale + self.loc

    def _z(self, x: TensorLike) -> TensorResult:
        with name_scope("standardize", values=[x]):
            return (x - self.loc) / self.scale

    def _log_prob(self, x: TensorLike) -> TensorResult:
        unnormalized = -0.5 * math_ops.square(self._z(x))
        return unnormalized - (0.5 * math.log(2.0 * math.pi) + math_ops.log(self.scale))

    def _log_cdf(self, x: TensorLike) -> TensorResult:
        return log_ndtr(self._z(x))

    def _cdf(self, x: TensorLike) -> TensorResult:
        return ndtr(self._z(x))

    def _log_survival_function(self, x: TensorLike) -> TensorResult:
        return log_ndtr(-self._z(x))

    def _survival_function(self, x: TensorLike) -> TensorResult:
        return ndtr(-self._z(x))

    def _entropy(self) -> TensorResult:
        scale = self.scale * array_ops.ones_like(self.loc)
        return 0.5 + 0.5 * math.log(2.0 * math.pi) + math_ops.log(scale)

    def _mean(self) -> TensorResult:
        return self.loc * array_ops.ones_like(self.scale)

    def _quantile(self, p: TensorLike) -> TensorResult:
        # At the ends the gradient is 0, not infinite: a sum of gradients would become useless.
        at_end = math_ops.logical_or(p <= 0, p >= 1)
        inner = ndtri(array_ops.where_v2(at_end, array_ops.zeros_like(p) + 0.5, p))
        infinity = array_ops.zeros_like(p) + np.inf
        z = array_ops.where_v2(p <= 0, -infinity, array_ops.where_v2(p >= 1, infinity, inner))
        return z * self.scale + self.loc

    def _stddev(self) -> TensorResult:
        return self.scale * array_ops.ones_like(self.loc)

    def _mode(self) -> TensorResult:
        return self._mean()


@RegisterKL(Normal, Normal)
def _kl_normal_normal(a: Normal, b: Normal, name: str | None = None) -> TensorResult:
    with name_scope(name, "kl_normal_normal", [a.loc, b.loc]):
        one = array_ops.constant(1, dtype=a.dtype)
        two = array_ops.constant(2, dtype=a.dtype)
        half = array_ops.constant(0.5, dtype=a.dtype)
        variance_a, variance_b = math_ops.square(a.scale), math_ops.square(b.scale)
        ratio = variance_a / variance_b
        distance = math_ops.squared_difference(a.loc, b.loc)
        return distance / (two * variance_b) + half * (ratio - one - math_ops.log(ratio))
