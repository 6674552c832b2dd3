"""The Wishart distribution of positive definite matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfnb.as_tensorflow.contrib.distributions.shaped import Shaped
from tfnb.client.public.api import tf
from tfnb.library.distributions.distribution import new_seed


class _Wishart(Shaped):
    """The distribution of sums of squares of normal vectors.

    Args:
      df: how many vectors.
      triangle: [..., k, k], lower; its product with its transpose is their covariance.
      is_factored: whether matrices are given and returned as such triangles.
      parameters: the constructor's arguments.
      validate_args: whether ``df`` is checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.

    Raises:
      TypeError: the triangle is not of floating point.
      ValueError: ``df`` is known to be less than the size of the matrices.
    """

    def __init__(
        self,
        df: Any,
        triangle: Any,
        is_factored: bool,
        parameters: dict[str, Any],
        validate_args: bool,
        allow_nan_stats: bool,
        name: str,
    ) -> None:
        if not triangle.dtype.is_floating:
            raise TypeError(f"scale_operator.dtype={triangle.dtype} is not a floating-point type")
        self._is_factored = is_factored
        self._triangle = tf.matrix_band_part(triangle, -1, 0)
        size = tf.shape(triangle)[-1]
        known = triangle.shape[-1].value if triangle.shape.ndims is not None else None
        self._dimension = (
            tf.cast(size, triangle.dtype) if known is None else tf.constant(known, triangle.dtype)
        )
        self._df = self._checked_df(df, known, validate_args)
        super().__init__(self._triangle, 2, parameters, validate_args, allow_nan_stats, name)

    def _checked_df(self, df: Any, known: int | None, is_checked: bool) -> Any:
        df = tf.convert_to_tensor(df, dtype=self._triangle.dtype, name="df")
        value = tf.get_static_value(df)
        text = "Degrees of freedom (df = {}) cannot be less than dimension of scale matrix "
        text += "(scale.dimension = {})"
        if value is not None and known is not None:
            if np.any(value < known):
                raise ValueError(text.format(np.atleast_1d(value), known))
        elif is_checked:
            message = text.format(df, self._dimension)
            check = tf.assert_less_equal(self._dimension, df, message=message)
            with tf.control_dependencies([check]):
                return tf.identity(df)
        return df

    @property
    def df(self) -> Any:
        """The degrees of freedom."""
        return self._df

    @property
    def dimension(self) -> Any:
        """The size of the matrices, as a floating-point tensor."""
        return self._dimension

    @property
    def cholesky_input_output_matrices(self) -> bool:
        """Whether matrices are given and returned as lower triangles."""
        return self._is_factored

    @property
    def scale_operator(self) -> Any:
        """The triangle of the scale, a ``LinearOperator``."""
        return tf.linalg.LinearOperatorLowerTriangular(
            self._triangle, is_non_singular=True, is_positive_definite=True, is_square=True
        )

    def scale(self) -> Any:
        """Return the scale matrix."""
        return self._triangle if self._is_factored else self._square()

    def _square(self) -> Any:
        return tf.matmul(self._triangle, self._triangle, adjoint_b=True)

    def _of_matrices(self, value: Any) -> Any:
        """Return a number of each distribution with two dimensions more."""
        return tf.expand_dims(tf.expand_dims(value, -1), -1)

    def _log_det(self) -> Any:
        """Return the logarithm of the determinant of the triangle."""
        return tf.reduce_sum(tf.log(tf.abs(tf.matrix_diag_part(self._triangle))), -1)

    def _steps(self, value: Any) -> Any:
        """Return the value, and less by each half up to the size, in a last dimension."""
        half = tf.constant(0.5, self.dtype)
        first = tf.constant(0, self.dtype)
        steps = tf.linspace(first, half - half * self._dimension, tf.to_int32(self._dimension))
        return steps + tf.expand_dims(value, -1)

    def _multi_lgamma(self, value: Any) -> Any:
        size = self._dimension
        constant = 0.25 * math.log(math.pi) * size * (size - 1)
        return constant + tf.reduce_sum(tf.lgamma(self._steps(value)), -1)

    def _multi_digamma(self, value: Any) -> Any:
        return tf.reduce_sum(tf.digamma(self._steps(value)), -1)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        # Bartlett's decomposition: normal numbers below the diagonal, and roots of chi-squares.
        draws = tf.random_normal(self._draw_shape(n), dtype=self.dtype, seed=seed)
        halves = 0.5 * self._df + tf.zeros(self._batch_shape_tensor(), self.dtype)
        squares = tf.random_gamma(
            [n], self._steps(halves), 0.5, self.dtype, seed=new_seed(seed, "wishart")
        )
        lower = tf.matrix_set_diag(tf.matrix_band_part(draws, -1, 0), tf.sqrt(squares))
        drawn = tf.matmul(self._triangle, lower)
        return drawn if self._is_factored else tf.matmul(drawn, drawn, adjoint_b=True)

    def _log_prob(self, value: Any) -> Any:
        root = value if self._is_factored else tf.cholesky(value)
        turned = tf.matrix_triangular_solve(self._triangle, root)
        trace = tf.reduce_sum(tf.square(turned), [-2, -1])
        log_det = tf.reduce_sum(tf.log(tf.matrix_diag_part(root)), -1)
        return (self._df - self._dimension - 1) * log_det - 0.5 * trace - self._log_weight()

    def _prob(self, value: Any) -> Any:
        return tf.exp(self._log_prob(value))

    def _log_weight(self) -> Any:
        constant = 0.5 * math.log(2) * self._df * self._dimension
        return self._df * self._log_det() + constant + self._multi_lgamma(0.5 * self._df)

    def log_normalization(self, name: str = "log_normalization") -> Any:
        """Return the logarithm of what the density is divided by."""
        with self._name_scope(name):
            return self._log_weight()

    def mean_log_det(self, name: str = "mean_log_det") -> Any:
        """Return the mean of the logarithm of the determinant."""
        with self._name_scope(name):
            constant = math.log(2) * self._dimension + 2 * self._log_det()
            return self._multi_digamma(0.5 * self._df) + constant

    def _entropy(self) -> Any:
        half, size = 0.5 * self._df, 0.5 * self._dimension + 0.5
        constant = self._dimension * (half + size * math.log(2)) + 2 * size * self._log_det()
        return constant + self._multi_lgamma(half) + (size - half) * self._multi_digamma(half)

    def _mean(self) -> Any:
        df = self._of_matrices(self._df)
        return tf.sqrt(df) * self._triangle if self._is_factored else df * self._square()

    def _variance(self) -> Any:
        spread = tf.sqrt(self._of_matrices(self._df)) * self._square()
        diagonal = tf.expand_dims(tf.matrix_diag_part(spread), -1)
        found = tf.square(spread) + tf.matmul(diagonal, diagonal, adjoint_b=True)
        return tf.cholesky(found) if self._is_factored else found

    def _stddev(self) -> Any:
        if self._is_factored:
            raise ValueError(
                "Computing std. dev. when is cholesky_input_output_matrices=True "
                "does not make sense."
            )
        return tf.cholesky(self._variance())

    def _mode(self) -> Any:
        weight = self._df - self._dimension - 1
        weight = tf.where_v2(weight < 0, tf.constant(math.nan, self.dtype), weight)
        weight = self._of_matrices(weight)
        if self._is_factored:
            return tf.sqrt(weight) * self._triangle
        return weight * self._square()


class WishartCholesky(_Wishart):
    """The Wishart distribution of a lower triangle.

    Args:
      df: degrees of freedom, not less than k.
      scale: [..., k, k], the lower triangle whose product with its transpose is the scale matrix.
      cholesky_input_output_matrices: whether values and samples are such triangles.
      validate_args: whether arguments are checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.

    Raises:
      TypeError: the scale is not of floating point.
      ValueError: ``df`` is known to be less than k.
    """

    def __init__(
        self,
        df: Any,
        scale: Any,
        cholesky_input_output_matrices: bool = False,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "WishartCholesky",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name, values=[scale]) as scope:
            scale = tf.convert_to_tensor(scale)
            if validate_args:
                checks = [
                    tf.assert_positive(
                        tf.matrix_diag_part(scale), message="scale must be positive definite"
                    ),
                    tf.assert_equal(
                        tf.shape(scale)[-1], tf.shape(scale)[-2], message="scale must be square"
                    ),
                ]
                with tf.control_dependencies(checks):
                    scale = tf.identity(scale)
            super().__init__(
                df, scale, cholesky_input_output_matrices, parameters, validate_args,
                allow_nan_stats, scope,
            )  # fmt: skip


class WishartFull(_Wishart):
    """The Wishart distribution of a scale matrix.

    Args:
      df: degrees of freedom, not less than k.
      scale: [..., k, k], the scale matrix, symmetric and positive definite.
      cholesky_input_output_matrices: whether values and samples are lower triangles.
      validate_args: whether arguments are checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.

    Raises:
      TypeError: the scale is not of floating point.
      ValueError: ``df`` is known to be less than k.
    """

    def __init__(
        self,
        df: Any,
        scale: Any,
        cholesky_input_output_matrices: bool = False,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "WishartFull",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name, values=[scale]) as scope:
            scale = tf.convert_to_tensor(scale)
            if validate_args:
                turned = tf.matrix_transpose(scale)
                check = tf.assert_equal(scale, turned, message="Matrix was not symmetric")
                with tf.control_dependencies([check]):
                    scale = tf.identity(scale)
            root = tf.cholesky(scale)  # NaN unless the scale is positive definite
            if validate_args:
                with tf.control_dependencies([tf.assert_positive(tf.matrix_diag_part(root))]):
                    root = tf.identity(root)
            super().__init__(
                df, root, cholesky_input_output_matrices, parameters, validate_args,
                allow_nan_stats, scope,
            )  # fmt: skip
