"""`tf.contrib.distributions` of counts, positive numbers and matrices, against SciPy's values."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("as_tensorflow")


@pytest.fixture
def tf() -> Any:
    """Return TensorFlow as a program gets it, with a graph of the test's own as the default."""
    tf = importlib.import_module("tensorflow")
    with tf.Graph().as_default():
        tf.set_random_seed(6)
        yield tf


def _values(tf: Any, fetches: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetches)


class _Row(NamedTuple):
    """A distribution, a value for each member of its batch, and SciPy's numbers for them."""

    make: Callable[[Any], Any]
    value: list[float]
    log_prob: list[float]
    cdf: list[float]
    mean: list[float]
    variance: list[float]
    entropy: list[float] | None = None


_ROWS = {
    "binomial": _Row(
        lambda d: d.Binomial(np.float64([5, 5, 9]), probs=np.float64([0.1, 0.2, 0.7])),
        [2, 5, 6],
        [-2.61866664, -8.04718956, -1.32115128],
        [0.99144, 1.0, 0.53716883],
        [0.5, 1.0, 6.3],
        [0.45, 0.8, 1.89],
    ),
    "negative binomial": _Row(
        lambda d: d.NegativeBinomial(np.float64([5, 2.5, 1]), probs=np.float64([0.2, 0.3, 0.75])),
        [2, 0, 6],
        [-1.62654338, -0.89168736, -3.1123868],
        [0.851968, 0.40996341, 0.86651611],
        [1.25, 1.07142857, 3.0],
        [1.5625, 1.53061224, 12.0],
    ),
    "chi2": _Row(
        lambda d: d.Chi2(np.float64([1, 3, 4.5]), validate_args=True),
        [0.3, 2, 9],
        [-0.46695213, -1.57236494, -3.43792215],
        [0.41611758, 0.4275933, 0.91701829],
        [1.0, 3.0, 4.5],
        [2.0, 6.0, 9.0],
        [0.78375711, 2.05411996, 2.35233581],
    ),
    "inverse gamma": _Row(
        lambda d: d.InverseGamma(np.float64([2.5, 3, 4]), np.float64([1, 3, 0.5])),
        [0.3, 2, 0.1],
        [0.59588861, -1.66989904, 1.94857727],
        [0.24663415, 0.80884683, 0.26502592],
        [0.66666667, 1.5, 0.16666667],
        [0.88888889, 2.25, 0.01388889],
        [0.32363463, 1.10062213, -1.18197605],
    ),
}


@pytest.mark.parametrize("name", _ROWS)
def test_densities_and_moments_are_those_of_scipy(tf: Any, name: str) -> None:
    """Samples of a fixed seed have the mean and the variance; several samples are told apart."""
    row = _ROWS[name]
    made = row.make(tf.contrib.distributions)
    assert made.batch_shape.as_list() == [3]
    assert made.event_shape.as_list() == []
    value = np.float64(row.value)
    drawn = made.sample([100, 200], seed=5)
    assert drawn.shape.as_list() == [100, 200, 3]
    log_prob, prob, cdf, mean, variance, deviation, samples = _values(
        tf,
        [
            made.log_prob(np.stack([value, value])),
            made.prob(value),
            made.cdf(value),
            made.mean(),
            made.variance(),
            made.stddev(),
            drawn,
        ],
    )
    np.testing.assert_allclose(log_prob, [row.log_prob] * 2, rtol=1e-6)
    np.testing.assert_allclose(prob, np.exp(row.log_prob), rtol=1e-6)
    np.testing.assert_allclose(cdf, row.cdf, rtol=1e-6)
    np.testing.assert_allclose(mean, row.mean, rtol=1e-6)
    np.testing.assert_allclose(variance, row.variance, rtol=1e-6)
    np.testing.assert_allclose(deviation, np.sqrt(row.variance), rtol=1e-6)
    np.testing.assert_allclose(samples.mean((0, 1)), row.mean, rtol=0.05)
    if row.entropy is not None:
        np.testing.assert_allclose(_values(tf, made.entropy()), row.entropy, rtol=1e-6)
        assert (samples > 0).all()
    else:
        np.testing.assert_array_equal(samples, np.floor(samples))
        assert (samples >= 0).all()
    if name != "inverse gamma":  # its fourth moments are infinite
        np.testing.assert_allclose(samples.var((0, 1)), row.variance, rtol=0.1)


def test_values_of_more_dimensions_than_the_batch(tf: Any) -> None:
    """Values are broadcast with the numbers of trials and the probabilities."""
    d = tf.contrib.distributions
    some = np.float64([[0], [1], [2]])
    trials, probs = np.float64([2, 3]), np.float64([0.25, 0.5])
    binomial, negative = d.Binomial(trials, probs=probs), d.NegativeBinomial(trials, probs=probs)
    for made in (binomial, negative):
        cdf, prob = _values(tf, [made.cdf(some), made.prob(some)])
        np.testing.assert_allclose(cdf, np.cumsum(prob, 0), rtol=1e-8)
    assert d.Binomial(np.float64(2), probs=probs).batch_shape.as_list() == [2]
    assert d.Binomial(trials[:, None], probs=probs).batch_shape.as_list() == [2, 2]


def test_steps_draw_other_numbers_and_a_seed_repeats_them(tf: Any) -> None:
    """As samples of any other distribution."""
    drawn = tf.contrib.distributions.Binomial([100.0, 50.0], logits=[0.5, 0.0]).sample(20, seed=3)
    with tf.Session() as session:
        first, second = session.run(drawn), session.run(drawn)
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(_values(tf, drawn), first)


def test_modes(tf: Any) -> None:
    """A statistic that is not defined is NaN, or an error."""
    d = tf.contrib.distributions
    found = _values(
        tf,
        [
            d.Binomial(9.0, probs=[0.1, 0.2, 0.7]).mode(),
            d.NegativeBinomial([5.0, 0.5], probs=0.75).mode(),
            d.InverseGamma([1.0, 3.0], 2.0).mode(),
            d.InverseGamma([0.5, 3.0], 2.0).mean(),
            d.InverseGamma([2.0, 3.0], 2.0).variance(),
            d.Kumaraswamy([0.5, 2.0], 3.0).mode(),
            d.Chi2WithAbsDf([-3.7]).df,
        ],
    )
    nan = np.nan
    wanted = [[1, 2, 7], [12, 0], [1, 0.5], [nan, 1], [nan, 1], [nan, np.sqrt(0.2)], [3]]
    for one, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, want, rtol=1e-6)
    for statistic, match in (
        (d.InverseGamma(0.5, 2.0, allow_nan_stats=False).mean, "mean undefined"),
        (d.InverseGamma(1.5, 2.0, allow_nan_stats=False).variance, "variance undefined"),
        (d.Kumaraswamy(0.5, 2.0, allow_nan_stats=False).mode, "concentration1 <= 1"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=match):
            _values(tf, statistic())


def test_kumaraswamy_numbers_have_their_distribution_function(tf: Any) -> None:
    """The density is its derivative, and samples have the mean."""
    made = tf.contrib.distributions.Kumaraswamy(np.float64([1, 2.5]), np.float64([2, 0.7]))
    x = tf.constant([0.3, 0.6], tf.float64)
    cdf = made.cdf(x)
    density, derivative, mean, variance, samples = _values(
        tf,
        [made.prob(x), tf.gradients(cdf, x)[0], made.mean(), made.variance(),
         made.sample(20000, seed=2)],
    )  # fmt: skip
    np.testing.assert_allclose(density, derivative, rtol=1e-8)
    np.testing.assert_allclose(samples.mean(0), mean, rtol=0.02)
    np.testing.assert_allclose(samples.var(0), variance, rtol=0.05)


_CHECKED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "too many successes": (
        lambda d: d.Binomial(5.0, probs=0.5, validate_args=True).prob(7.0), "not less than or equal"
    ),
    "half a success": (
        lambda d: d.Binomial(5.0, probs=0.5, validate_args=True).cdf(0.5), "fractional components"
    ),
    "half a trial": (
        lambda d: d.Binomial(1.5, probs=0.5, validate_args=True).mean(), "total_count cannot"
    ),
    "a negative number of successes": (
        lambda d: d.NegativeBinomial(5.0, probs=0.5, validate_args=True).log_prob(-1.0), "x >= 0"
    ),
    "no failures": (
        lambda d: d.NegativeBinomial(0.0, probs=0.5, validate_args=True).mean(), "x > 0"
    ),
    "a negative number": (
        lambda d: d.InverseGamma(1.0, 1.0, validate_args=True).log_prob(-1.0), "x > 0"
    ),
    "more than one": (
        lambda d: d.Kumaraswamy(1.0, 1.0, validate_args=True).prob(1.5), "no larger than"
    ),
    "a matrix that is not symmetric": (
        lambda d: d.WishartFull(4.0, [[1.0, 0.5], [0.0, 1.0]], validate_args=True).mean(),
        "not symmetric",
    ),
    "a matrix that is not positive definite": (
        lambda d: d.WishartFull(4.0, [[1.0, 1.0], [1.0, 1.0]], validate_args=True).mean(), "x > 0"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _CHECKED)
def test_wrong_arguments_and_values_are_refused(tf: Any, name: str) -> None:
    """When they are constants, perhaps before the step."""
    make, match = _CHECKED[name]
    with pytest.raises(tf.errors.InvalidArgumentError, match=match):
        _values(tf, make(tf.contrib.distributions))


def test_distributions_whose_parameters_go_through_softplus(tf: Any) -> None:
    """They are those of these parameters; a copy goes through it once."""
    d = tf.contrib.distributions
    given = np.float32([0.3, 1.0])
    soft = np.log1p(np.exp(given))
    pairs = [
        (d.BetaWithSoftplusConcentration(given, given), d.Beta(soft, soft)),
        (d.GammaWithSoftplusConcentrationRate(given, given), d.Gamma(soft, soft)),
        (d.InverseGammaWithSoftplusConcentrationRate(given, given), d.InverseGamma(soft, soft)),
        (d.ExponentialWithSoftplusRate(given), d.Exponential(soft)),
        (d.LaplaceWithSoftplusScale(0.0, given), d.Laplace(0.0, soft)),
        (d.StudentTWithAbsDfSoftplusScale([-3.5, 4.0], 0.0, given),
         d.StudentT([3.0, 4.0], 0.0, soft)),
    ]  # fmt: skip
    fetches = [(a.log_prob(0.4), a.copy().log_prob(0.4), b.log_prob(0.4)) for a, b in pairs]
    for found, copied, wanted in _values(tf, fetches):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
        np.testing.assert_array_equal(found, copied)


_SCALE = np.float64([[2, 0.5], [0.5, 1]])
_X = np.float64([[3, 1], [1, 4]])


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("factored", [False, True])
def test_wishart_matrices(tf: Any, full: bool, factored: bool) -> None:
    """Density and moments against SciPy's; matrices may be given as their lower triangles."""
    d = tf.contrib.distributions
    root = np.linalg.cholesky
    made = (
        d.WishartFull(4, _SCALE, cholesky_input_output_matrices=factored)
        if full
        else d.WishartCholesky(4, root(_SCALE), cholesky_input_output_matrices=factored)
    )
    assert made.event_shape.as_list() == [2, 2]
    x = root(_X) if factored else _X
    log_prob, mean, variance, entropy, mode, drawn, normal = _values(
        tf,
        [made.log_prob(np.stack([x] * 3)), made.mean(), made.variance(), made.entropy(),
         made.mode(), made.sample([50, 100], seed=4), made.log_normalization()],
    )  # fmt: skip
    np.testing.assert_allclose(log_prob, [-6.00159822] * 3, rtol=1e-7)
    np.testing.assert_allclose(entropy, 7.14081077, rtol=1e-7)
    as_matrix = (lambda one: one @ np.swapaxes(one, -1, -2)) if factored else (lambda one: one)
    np.testing.assert_allclose(as_matrix(mean), [[8, 2], [2, 4]], rtol=1e-7)
    np.testing.assert_allclose(as_matrix(variance), [[32, 9], [9, 8]], rtol=1e-7)
    np.testing.assert_allclose(as_matrix(mode), [[2, 0.5], [0.5, 1]], rtol=1e-7)
    assert drawn.shape == (50, 100, 2, 2)
    matrices = as_matrix(drawn)
    np.testing.assert_allclose(matrices.mean((0, 1)), [[8, 2], [2, 4]], rtol=0.06)
    np.testing.assert_allclose(matrices.var((0, 1)), [[32, 9], [9, 8]], rtol=0.15)
    # The normalization is what the density of the identity lacks.
    unit = made.log_prob(np.eye(2))
    trace = np.trace(np.linalg.inv(_SCALE))
    np.testing.assert_allclose(_values(tf, unit), -0.5 * trace - normal, rtol=1e-7)


def test_wishart_batches_and_their_gradients(tf: Any) -> None:
    """Each matrix has its own scale and degrees of freedom; samples pass gradients on."""
    d = tf.contrib.distributions
    scales = tf.constant(np.stack([_SCALE, 2 * _SCALE, np.eye(2)]))
    made = d.WishartFull([4.0, 3.0, 2.0], scales)
    alone = [d.WishartFull(df, scale) for df, scale in zip([4.0, 3.0, 2.0], tf.unstack(scales))]
    several = np.stack([_X, _SCALE, _X + _SCALE])
    found, one_by_one, mean = _values(
        tf,
        [
            made.log_prob(np.stack([several, several])),
            [one.log_prob(x) for one, x in zip(alone, several)],
            made.mean(),
        ],
    )
    np.testing.assert_allclose(found, [one_by_one] * 2, rtol=1e-10)
    np.testing.assert_allclose(mean[1], 6 * _SCALE, rtol=1e-10)
    slope = _values(tf, tf.gradients(made.sample(3, seed=1), scales)[0])
    assert slope.shape == (3, 2, 2)
    assert np.isfinite(slope).all()
    assert np.abs(slope).min() > 0
    with pytest.raises(ValueError, match="cannot be less than"):
        d.WishartCholesky(1.0, np.eye(2))
    with pytest.raises(TypeError, match="floating"):
        d.WishartCholesky(3, np.eye(2, dtype=np.int32))


def test_normal_vectors_of_a_diagonal_and_few_columns(tf: Any) -> None:
    """Density, covariance and divergence are those of the same covariance matrix."""
    d = tf.contrib.distributions
    columns = np.float64([[1, 0.5], [0, 2], [0.3, -0.4]])
    diagonal, weights, loc = np.float64([1, 2, 3]), np.float64([0.5, 1.5]), np.float64([1, -1, 0])
    scale = np.diag(diagonal) + columns @ np.diag(weights) @ columns.T
    made = d.MultivariateNormalDiagPlusLowRank(
        loc, diagonal, scale_perturb_factor=columns, scale_perturb_diag=weights
    )
    same = d.MultivariateNormalFullCovariance(loc, scale @ scale.T)
    other = d.MultivariateNormalDiag(np.zeros(3), np.ones(3))
    x = np.float64([[0.1, 0.2, 0.3], [1, 2, 3]])
    pairs = [
        (made.log_prob(x), same.log_prob(x)),
        (made.covariance(), same.covariance()),
        (made.variance(), same.variance()),
        (made.entropy(), same.entropy()),
        (made.kl_divergence(other), same.kl_divergence(other)),
        (other.kl_divergence(made), other.kl_divergence(same)),
        (d.MultivariateNormalDiagPlusLowRank(scale_perturb_factor=columns).covariance(),
         np.linalg.matrix_power(np.eye(3) + columns @ columns.T, 2)),
    ]  # fmt: skip
    for found, wanted in _values(tf, [(a, tf.convert_to_tensor(b)) for a, b in pairs]):
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-10)
    drawn = _values(tf, made.sample(20000, seed=1))
    np.testing.assert_allclose(np.cov(drawn.T), scale @ scale.T, atol=1.0)
    with pytest.raises(ValueError, match="scale_perturb_factor"):
        d.MultivariateNormalDiagPlusLowRank(loc, scale_perturb_diag=weights)


def test_matrices_weights_and_triangles(tf: Any) -> None:
    """The examples are those of TensorFlow's own documentation."""
    d = tf.contrib.distributions
    vectors = np.float32([[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]])
    lower, upper = d.fill_triangular(vectors), d.fill_triangular(vectors, upper=True)
    pairs = [
        (lower[0], [[4, 0, 0], [6, 5, 0], [3, 2, 1]]),
        (upper[0], [[1, 2, 3], [0, 5, 6], [0, 0, 4]]),
        (d.fill_triangular_inverse(lower), vectors),
        (d.fill_triangular_inverse(upper, upper=True), vectors),
        (d.tridiag([[1.0, 2]], [[3.0, 4, 5]], [[6.0, 7]]), [[[3, 6, 0], [1, 4, 7], [0, 2, 5]]]),
        (d.matrix_diag_transform([[1.0, 2], [3, 4]], tf.negative), [[-1, 2], [3, -4]]),
        (d.reduce_weighted_logsumexp([1000.0, 1000.0], [3.0, -1.0]), 1000 + np.log(2)),
        (d.reduce_weighted_logsumexp([0.0, 1.0], [1.0, -1.0], return_sign=True)[1], -1),
    ]
    assert lower.shape.as_list() == [2, 3, 3]
    for found, wanted in zip(_values(tf, [one for one, _ in pairs]), [two for _, two in pairs]):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    with pytest.raises(ValueError, match="triangular matrix"):
        d.fill_triangular(np.ones(4))
    with pytest.raises(ValueError, match="at least one"):
        d.tridiag()


def test_distributions_of_numbers_beyond_their_usual_values(tf: Any) -> None:
    """Probabilities of 0 and 1, values between whole numbers, means that do not exist."""
    d = tf.contrib.distributions
    cauchy = d.Cauchy([1.0, 2.0], 3.0)
    found = _values(
        tf,
        [
            d.Geometric(probs=[1.0, 0.25]).log_prob([0.0, 2.5]),
            d.Geometric(probs=0.25).cdf([-1.0, 0.5, 2.0]),
            d.Poisson(2.0).cdf([0.0, 0.5]),
            cauchy.mean(),
            cauchy.quantile(0.75),
            d.HalfNormal(2.0).quantile(0.5),
            d.VectorDeterministic([1.0, 2.0]).prob([[1.0, 2.0], [1.0, 3.0]]),
            d.OneHotCategorical(probs=[0.25, 0.75]).covariance(),
            d.MultivariateNormalDiag(np.zeros([2, 3])).variance(),
        ],
    )
    wanted = [
        [0, np.log(0.25 * 0.75**2)], [0, 0.25, 1 - 0.75**3], [np.exp(-2), 0.26146413],
        [np.nan] * 2, [4, 5], 1.3489795, [1, 0], [[0.1875, -0.1875], [-0.1875, 0.1875]], [1] * 3,
    ]  # fmt: skip
    for one, two in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-7)
    with pytest.raises(ValueError, match="undefined for Cauchy"):
        d.Cauchy(0.0, 1.0, allow_nan_stats=False).stddev()
    for make, match in (
        (lambda: d.Geometric(probs=1.5, validate_args=True).mean(), "greater than 1"),
        (lambda: d.Poisson(1.0, validate_args=True).prob(0.5), "fractional"),
        (lambda: d.Deterministic(1.0, atol=-1.0, validate_args=True).prob(1.0), "non-negative"),
        (lambda: d.MultivariateNormalDiag([0.0], [0.0], validate_args=True).sample(), "Singular"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=match):
            _values(tf, make())
    assert _values(tf, d.MultivariateNormalDiag([0.0], [-2.0], validate_args=True).mean()) == [0]


def test_the_determinant_of_a_low_rank_update_needs_no_positive_diagonal(tf: Any) -> None:
    """Distributions say that their scale is positive definite, and take any diagonal."""
    columns = np.float64([[0.3, 0.1], [0.2, -0.5], [0.7, 0.4]])
    for diagonal, weights in (([-0.5, -1.2, -2.0], [0.5, 0.8]), ([0.5, -1.2, 2.0], [0.5, -0.8])):
        operator = tf.linalg.LinearOperatorLowRankUpdate(
            tf.linalg.LinearOperatorDiag(np.float64(diagonal), is_non_singular=True),
            columns,
            np.float64(weights),
            is_self_adjoint=True,
            is_positive_definite=True,
        )
        matrix = np.diag(diagonal) + columns @ np.diag(weights) @ columns.T
        found = _values(tf, operator.log_abs_determinant())
        np.testing.assert_allclose(found, np.linalg.slogdet(matrix)[1], rtol=1e-10)
