"""Normal distributions of vectors."""

from __future__ import annotations

import math
from typing import Any

from tfnb.as_tensorflow.contrib.distributions.shaped import Shaped
from tfnb.client.public.api import tf


class _MultivariateNormal(Shaped):
    """A normal distribution of vectors, with a lower triangle or a diagonal as its scale."""

    def _with_scale(self, loc: Any, scale: Any, is_diagonal: bool) -> Any:
        """Store mean and scale; return the mean in the shape of batch and event."""
        if scale.shape.ndims is not None and scale.shape.ndims < (1 if is_diagonal else 2):
            raise ValueError("The scale must have at least 1 dimension for the event.")
        self._is_diagonal = is_diagonal
        self._scale = scale
        zeros = tf.zeros_like(scale if is_diagonal else scale[..., 0])
        self._loc = zeros if loc is None else tf.convert_to_tensor(loc, scale.dtype) + zeros
        return self._loc

    @property
    def loc(self) -> Any:
        """The mean."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The scale, a ``LinearOperator``."""
        if self._is_diagonal:
            return tf.linalg.LinearOperatorDiag(self._scale, is_non_singular=True)
        return tf.linalg.LinearOperatorLowerTriangular(self._scale, is_non_singular=True)

    def _diagonal(self) -> Any:
        return self._scale if self._is_diagonal else tf.matrix_diag_part(self._scale)

    def scale_matrix(self) -> Any:
        """Return the lower triangle whose product with its transpose is the covariance."""
        return tf.matrix_diag(self._scale) if self._is_diagonal else self._scale

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        draws = tf.random_normal(self._draw_shape(n), dtype=self.dtype, seed=seed)
        if self._is_diagonal:
            return self._loc + self._scale * draws
        return self._loc + tf.reduce_sum(self._scale * tf.expand_dims(draws, -2), -1)

    def _whitened(self, values: Any) -> Any:
        """Return values in the coordinates in which the density is the standard one."""
        centred = values - self._loc
        if self._is_diagonal:
            return centred / self._scale
        return tf.squeeze(self._solved(tf.expand_dims(centred, -1)), -1)

    def _solved(self, columns: Any) -> Any:
        """Return the inverse of the scale times columns."""
        scale = self.scale_matrix() + tf.zeros_like(columns[..., :1])
        return tf.matrix_triangular_solve(scale, columns + tf.zeros_like(scale[..., :1]))

    def log_det_scale(self) -> Any:
        """Return the logarithm of the scale's determinant."""
        return tf.reduce_sum(tf.log(tf.abs(self._diagonal())), -1)

    def _size(self) -> Any:
        return tf.cast(tf.shape(self._loc)[-1], self.dtype)

    def _log_prob(self, value: Any) -> Any:
        squares = tf.reduce_sum(tf.square(self._whitened(value)), -1)
        constant = self._size() * math.log(2 * math.pi)
        return -0.5 * (squares + constant) - self.log_det_scale()

    def _prob(self, value: Any) -> Any:
        return tf.exp(self._log_prob(value))

    def _mean(self) -> Any:
        return tf.identity(self._loc)

    _mode = _mean

    # As in TensorFlow, the mean adds no dimensions to the spread.

    def _covariance(self) -> Any:
        if self._is_diagonal:
            return tf.matrix_diag(tf.square(self._scale))
        return tf.matmul(self._scale, self._scale, transpose_b=True)

    def _variance(self) -> Any:
        if self._is_diagonal:
            return tf.square(self._scale)
        return tf.reduce_sum(tf.square(self._scale), -1)

    def _stddev(self) -> Any:
        return tf.sqrt(self._variance())

    def _entropy(self) -> Any:
        zeros = tf.zeros_like(self._loc[..., 0])
        half = 0.5 * self._size() * (1 + math.log(2 * math.pi))
        return half + self.log_det_scale() + zeros


class MultivariateNormalTriL(_MultivariateNormal):
    """A normal distribution whose covariance is the product of a lower triangle with its transpose.

    Args:
      loc: [..., k], the mean; zeros by default.
      scale_tril: [..., k, k]; the identity by default.
      validate_args: whether arguments are checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.

    Raises:
      ValueError: neither is given.
    """

    def __init__(
        self,
        loc: Any = None,
        scale_tril: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalTriL",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name) as name:
            if scale_tril is None:
                if loc is None:
                    raise ValueError("Must specify one or both of `loc`, `scale_tril`.")
                like = self._with_scale(loc, tf.ones_like(tf.convert_to_tensor(loc)), True)
            else:
                triangle = tf.matrix_band_part(tf.convert_to_tensor(scale_tril), -1, 0)
                if validate_args:
                    triangle = _not_singular(triangle, tf.matrix_diag_part(triangle))
                like = self._with_scale(loc, triangle, False)
        super().__init__(like, 1, parameters, validate_args, allow_nan_stats, name)


class MultivariateNormalFullCovariance(_MultivariateNormal):
    """A normal distribution of a mean and a covariance.

    Args:
      loc: [..., k], the mean; zeros by default.
      covariance_matrix: [..., k, k], symmetric and positive definite; the identity by default.
      validate_args: whether arguments are checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.

    Raises:
      ValueError: neither is given.
    """

    def __init__(
        self,
        loc: Any = None,
        covariance_matrix: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalFullCovariance",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name) as name:
            if covariance_matrix is None:
                if loc is None:
                    raise ValueError("Must specify one or both of `loc`, `covariance_matrix`.")
                like = self._with_scale(loc, tf.ones_like(tf.convert_to_tensor(loc)), True)
            else:
                matrix = tf.convert_to_tensor(covariance_matrix)
                if validate_args:
                    same = tf.assert_equal(
                        matrix, tf.matrix_transpose(matrix), message="Matrix was not symmetric"
                    )
                    with tf.control_dependencies([same]):
                        matrix = tf.identity(matrix)
                like = self._with_scale(loc, tf.cholesky(matrix), False)
        super().__init__(like, 1, parameters, validate_args, allow_nan_stats, name)


def _not_singular(scale: Any, diagonal: Any) -> Any:
    """Return a scale that is checked when the graph runs: its diagonal has no zeros."""
    zero = tf.zeros([], diagonal.dtype)
    message = "Singular operator:  Diagonal contained zero values."
    check = tf.assert_less(zero, tf.abs(diagonal), message=message)
    with tf.control_dependencies([check]):
        return tf.identity(scale)


def _ones_of_event(loc: Any) -> Any:
    """Return ones in the shape of the event of a mean."""
    loc = tf.convert_to_tensor(loc)
    if loc.shape.ndims == 0:
        raise ValueError("The mean must have at least 1 dimension for the event.")
    size = loc.shape[-1].value if loc.shape.ndims is not None else None
    return tf.ones(tf.shape(loc)[-1:] if size is None else [size], loc.dtype)


def _diagonal_scale(loc: Any, diagonal: Any, multiplier: Any) -> Any:
    """Return the diagonal of a scale, plus a multiple of the identity."""
    if diagonal is None and multiplier is None:
        if loc is None:
            raise ValueError("Must specify loc, scale_diag or scale_identity_multiplier.")
        return _ones_of_event(loc)
    if diagonal is None:
        if loc is None:
            raise ValueError("scale_identity_multiplier needs loc or scale_diag for the size.")
        like = _ones_of_event(loc)
        return like * tf.expand_dims(tf.convert_to_tensor(multiplier, like.dtype), -1)
    found = tf.convert_to_tensor(diagonal)
    if multiplier is None:
        return found
    return found + tf.expand_dims(tf.convert_to_tensor(multiplier, found.dtype), -1)


class MultivariateNormalDiag(_MultivariateNormal):
    """A normal distribution of independent numbers.

    Args:
      loc: [..., k], the mean; zeros by default.
      scale_diag: [..., k], standard deviations.
      scale_identity_multiplier: [...], added to all of them, or instead of them.
      validate_args: whether arguments are checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.

    Raises:
      ValueError: the size does not follow from the arguments.
    """

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiag",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name) as name:
            scale = _diagonal_scale(loc, scale_diag, scale_identity_multiplier)
            if validate_args:
                scale = _not_singular(scale, scale)
            like = self._with_scale(loc, scale, True)
        super().__init__(like, 1, parameters, validate_args, allow_nan_stats, name)


class MultivariateNormalDiagWithSoftplusScale(_MultivariateNormal):
    """A normal distribution of independent numbers, whose deviations go through softplus.

    Args:
      loc: [..., k], the mean.
      scale_diag: [..., k], before softplus.
      validate_args: whether arguments are checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.
    """

    def __init__(
        self,
        loc: Any,
        scale_diag: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiagWithSoftplusScale",
    ) -> None:
        parameters = dict(locals())
        with tf.name_scope(name) as name:
            like = self._with_scale(loc, tf.nn.softplus(tf.convert_to_tensor(scale_diag)), True)
        super().__init__(like, 1, parameters, validate_args, allow_nan_stats, name)


class MultivariateNormalDiagPlusLowRank(_MultivariateNormal):
    """A normal distribution whose scale is a diagonal plus a product of few columns.

    The scale is ``diag + factor @ diag(perturb_diag) @ transpose(factor)``, and the covariance the
    product of it with its transpose.

    Args:
      loc: [..., k], the mean; zeros by default.
      scale_diag: [..., k], the diagonal; ones by default.
      scale_identity_multiplier: [...], added to the diagonal, or instead of it.
      scale_perturb_factor: [..., k, r], the columns.
      scale_perturb_diag: [..., r], their weights; ones by default.
      validate_args: whether the diagonal is checked when the graph runs.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.

    Raises:
      ValueError: the size does not follow from the arguments, or weights come without columns.
    """

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        scale_perturb_factor: Any = None,
        scale_perturb_diag: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiagPlusLowRank",
    ) -> None:
        parameters = dict(locals())
        if scale_perturb_factor is None and scale_perturb_diag is not None:
            raise ValueError("scale_perturb_diag needs scale_perturb_factor.")
        with tf.name_scope(name) as name:
            if loc is None and scale_diag is None and scale_perturb_factor is not None:
                # The columns have the size of the event.
                columns = tf.convert_to_tensor(scale_perturb_factor)
                scale_diag = tf.ones_like(columns[..., 0])
                if scale_identity_multiplier is not None:
                    scale_diag *= tf.expand_dims(scale_identity_multiplier, -1)
                scale_identity_multiplier = None
            diagonal = _diagonal_scale(loc, scale_diag, scale_identity_multiplier)
            if validate_args:
                with tf.control_dependencies([tf.assert_positive(diagonal)]):
                    diagonal = tf.identity(diagonal)
            if scale_perturb_factor is None:
                like = self._with_scale(loc, diagonal, True)
            else:
                factor = tf.convert_to_tensor(scale_perturb_factor, diagonal.dtype)
                weighted = factor
                if scale_perturb_diag is not None:
                    weighted = factor * tf.expand_dims(scale_perturb_diag, -2)
                product = tf.matmul(weighted, factor, transpose_b=True)
                like = self._with_scale(loc, product + tf.matrix_diag(diagonal), False)
        super().__init__(like, 1, parameters, validate_args, allow_nan_stats, name)

    @property
    def scale(self) -> Any:
        """The scale, a ``LinearOperator``."""
        if self._is_diagonal:
            return super().scale
        return tf.linalg.LinearOperatorFullMatrix(
            self._scale, is_non_singular=True, is_self_adjoint=True
        )

    def _solved(self, columns: Any) -> Any:
        scale = self.scale_matrix() + tf.zeros_like(columns[..., :1])
        return tf.matrix_solve(scale, columns + tf.zeros_like(scale[..., :1]))

    def log_det_scale(self) -> Any:
        """Return the logarithm of the scale's determinant, without its sign."""
        if self._is_diagonal:
            return super().log_det_scale()
        return tf.linalg.slogdet(self._scale)[1]


@tf.distributions.RegisterKL(_MultivariateNormal, _MultivariateNormal)  # type: ignore[untyped-decorator]
def _kl_of_normals(a: Any, b: Any, name: str | None = None) -> Any:
    with tf.name_scope(name, "kl_multivariate_normals"):
        trace = tf.reduce_sum(tf.square(b._solved(a.scale_matrix())), [-2, -1])
        apart = tf.reduce_sum(tf.square(b._whitened(a.loc)), -1)
        dets = b.log_det_scale() - a.log_det_scale()
        return dets + 0.5 * (trace + apart - a._size())
