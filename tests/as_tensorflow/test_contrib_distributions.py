"""`tf.contrib.distributions`: densities against formulas, and sums over samples of a fixed seed."""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any

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


_LOC = np.float32([[1, -1, 0.5], [0, 2, 1]])
_TRIANGLE = np.float32([[2, 0, 0], [0.5, 1, 0], [-0.3, 0.2, 0.7]])
_COVARIANCE = _TRIANGLE @ _TRIANGLE.T


def _normal_log_prob(x: Any, mean: Any, covariance: Any) -> Any:
    apart = x - mean
    quadratic = np.einsum("...i,ij,...j->...", apart, np.linalg.inv(covariance), apart)
    return -0.5 * (quadratic + np.log(np.linalg.det(2 * np.pi * covariance)))


_NORMALS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "triangle": (lambda d: d.MultivariateNormalTriL(_LOC, _TRIANGLE), _COVARIANCE),
    "covariance": (
        lambda d: d.MultivariateNormalFullCovariance(_LOC, _COVARIANCE, validate_args=True),
        _COVARIANCE,
    ),
    "diagonal": (
        lambda d: d.MultivariateNormalDiag(_LOC, [1.0, 2.0, 3.0], 0.5),
        np.diag([1.5, 2.5, 3.5]) ** 2,
    ),
    "multiple": (
        lambda d: d.MultivariateNormalDiag(_LOC, scale_identity_multiplier=2.0), 4 * np.eye(3)
    ),
    "softplus": (
        lambda d: d.MultivariateNormalDiagWithSoftplusScale(_LOC, [0.0, 1.0, 2.0]),
        np.diag(np.log1p(np.exp([0.0, 1.0, 2.0]))) ** 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _NORMALS)
def test_normal_vectors_have_their_density_and_moments(tf: Any, name: str) -> None:
    """For a batch; samples have the covariance, and gradients."""
    make, covariance = _NORMALS[name]
    made = make(tf.contrib.distributions)
    x = np.float32([[0.3, 0.1, -0.2], [1, 1, 1]])
    drawn = made.sample(4000, seed=1)
    assert drawn.shape.as_list() == [4000, 2, 3]
    several, got, found, variance, entropy, samples = _values(
        tf,
        [
            made.log_prob(np.stack([x, x + 1])),
            made.prob(x),
            made.covariance() + tf.zeros([2, 3, 3]),
            made.variance() + tf.zeros([2, 3]),  # the mean adds no dimensions
            made.entropy(),
            drawn,
        ],
    )
    want = _normal_log_prob(np.stack([x, x + 1]), _LOC, covariance)
    np.testing.assert_allclose(several, want, rtol=1e-4)
    np.testing.assert_allclose(got, np.exp(want[0]), rtol=1e-4)
    np.testing.assert_allclose(found, [covariance] * 2, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(variance, [np.diag(covariance)] * 2, rtol=1e-4)
    whole = 0.5 * np.log(np.linalg.det(2 * np.pi * np.e * covariance))
    np.testing.assert_allclose(entropy, [whole] * 2, rtol=1e-4)
    spread = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(samples.mean(0), _LOC, atol=0.1 * spread.max())
    np.testing.assert_allclose(np.cov(samples[:, 0].T), covariance, atol=0.12 * spread.max() ** 2)


def test_divergences_of_normal_vectors_are_expectations(tf: Any) -> None:
    """Of the difference of both logarithms; 0 from itself."""
    d = tf.contrib.distributions
    one = d.MultivariateNormalTriL([0.0, 1.0, 0.0], _TRIANGLE)
    other = d.MultivariateNormalDiag([1.0, 0.0, 0.0], [1.0, 2.0, 1.5])
    got, itself = _values(tf, [one.kl_divergence(other), one.kl_divergence(one)])
    apart, inverse = np.float64([1, -1, 0]), np.diag([1, 0.25, 1 / 2.25])
    ratio = np.log(9 / np.linalg.det(_COVARIANCE))
    want = 0.5 * (np.trace(inverse @ _COVARIANCE) + apart @ inverse @ apart - 3 + ratio)
    assert got == pytest.approx(want, rel=1e-5)
    assert itself == pytest.approx(0, abs=1e-5)


def test_independent_dimensions_are_an_event(tf: Any) -> None:
    """As a normal vector with that diagonal."""
    d = tf.contrib.distributions
    made = d.Independent(d.Normal(_LOC, 2.0))
    vector = d.MultivariateNormalDiag(_LOC, scale_identity_multiplier=2.0)
    assert made.batch_shape.as_list() == [2]
    assert made.event_shape.as_list() == [3]
    x = _LOC + 0.5
    pairs = [
        (made.log_prob(x), vector.log_prob(x)),
        (made.entropy(), vector.entropy()),
        (made.mean(), vector.mean()),
        (made.kl_divergence(made), tf.zeros([2])),
    ]
    for got, want in _values(tf, pairs):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="cannot exceed"):
        d.Independent(d.Normal(0.0, 1.0), 1)


@pytest.mark.parametrize("same", [False, True])
def test_mixtures_weight_their_components(tf: Any, same: bool) -> None:
    """Density, moments, and samples of a fixed seed."""
    d = tf.contrib.distributions
    cat = d.Categorical(probs=[0.3, 0.7])
    if same:
        made = d.MixtureSameFamily(
            cat, d.MultivariateNormalDiag([[0.0, 4.0], [6.0, -2.0]], [[1.0, 1.0], [0.5, 2.0]])
        )
    else:
        made = d.Mixture(cat, [d.MultivariateNormalDiag([0.0, 4.0], [1.0, 1.0]),
                               d.MultivariateNormalDiag([6.0, -2.0], [0.5, 2.0])])  # fmt: skip
    x = np.float32([[0.5, 3], [6, 0]])
    got, mean, variance, drawn = _values(
        tf, [made.prob(x), made.mean(), made.variance(), made.sample(3000, seed=3)]
    )
    one, two = np.diag([1.0, 1.0]), np.diag([0.25, 4.0])
    want = 0.3 * np.exp(_normal_log_prob(x, np.array([0, 4]), one)) + 0.7 * np.exp(
        _normal_log_prob(x, np.array([6, -2]), two)
    )
    np.testing.assert_allclose(got, want, rtol=1e-4)
    np.testing.assert_allclose(mean, [4.2, -0.2], rtol=1e-5)
    squares = 0.3 * np.array([1, 17]) + 0.7 * np.array([36.25, 8])
    np.testing.assert_allclose(variance, squares - np.square([4.2, -0.2]), rtol=1e-4)
    np.testing.assert_allclose(drawn.mean(0), mean, atol=0.25)
    assert ((drawn[:, 0] > 3) == (drawn[:, 1] < 2)).mean() > 0.9


def test_relaxed_vectors_sum_to_one_and_have_a_density(tf: Any) -> None:
    """That integrates to 1, and agrees with the one of logarithms."""
    d = tf.contrib.distributions
    made = d.RelaxedOneHotCategorical(0.7, probs=[0.2, 0.8])
    logs = d.ExpRelaxedOneHotCategorical(0.7, probs=[0.2, 0.8])
    grid = (np.arange(20000, dtype=np.float32) + 0.5) / 20000
    points = np.stack([grid, 1 - grid], 1)
    drawn = made.sample(2000, seed=4)
    got, other, samples = _values(tf, [made.prob(points), logs.log_prob(np.log(points[:5])), drawn])
    # On the line of both numbers the density is that of one of them.
    assert got.mean() == pytest.approx(1, rel=2e-2)
    want = np.log(got[:5]) + np.log(points[:5]).sum(1)
    np.testing.assert_allclose(other, want, rtol=1e-3)
    np.testing.assert_allclose(samples.sum(1), 1, rtol=1e-5)
    assert (samples[:, 1] > 0.5).mean() == pytest.approx(0.8, abs=0.05)


def test_relaxed_numbers_have_a_density(tf: Any) -> None:
    """That integrates to 1; the share above a half is the probability."""
    made = tf.contrib.distributions.RelaxedBernoulli(0.8, probs=0.3)
    grid = (np.arange(20000, dtype=np.float32) + 0.5) / 20000
    got, drawn = _values(tf, [made.prob(grid), made.sample(2000, seed=5)])
    assert got.mean() == pytest.approx(1, rel=2e-2)
    assert (drawn > 0.5).mean() == pytest.approx(0.3, abs=0.05)


def test_one_hot_vectors_are_classes(tf: Any) -> None:
    """With the probabilities of a Categorical."""
    d = tf.contrib.distributions
    made = d.OneHotCategorical(logits=np.log(np.float32([[0.2, 0.3, 0.5]])))
    other = d.OneHotCategorical(probs=[[0.5, 0.25, 0.25]])
    got, drawn, mode, kl = _values(
        tf,
        [
            made.prob(np.eye(3, dtype=np.int32)[:, None]),
            made.sample(2000, seed=1),
            made.mode(),
            made.kl_divergence(other),
        ],
    )
    np.testing.assert_allclose(got[:, 0], [0.2, 0.3, 0.5], rtol=1e-5)
    assert (drawn.sum(-1) == 1).all()
    np.testing.assert_allclose(drawn.mean(0), [[0.2, 0.3, 0.5]], atol=0.05)
    assert mode.tolist() == [[0, 0, 1]]
    want = 0.2 * math.log(0.4) + 0.3 * math.log(1.2) + 0.5 * math.log(2)
    np.testing.assert_allclose(kl, [want], rtol=1e-4)


_SCALARS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], bool]] = {
    "logistic": (
        lambda d: d.Logistic(1.0, 0.5),
        lambda x: np.exp(-2 * (x - 1)) / 0.5 / (1 + np.exp(-2 * (x - 1))) ** 2, True),
    "gumbel": (
        lambda d: d.Gumbel(0.5, 2.0),
        lambda x: np.exp(-(x - 0.5) / 2 - np.exp(-(x - 0.5) / 2)) / 2, True),
    "cauchy": (
        lambda d: d.Cauchy(1.0, 2.0), lambda x: 1 / (2 * np.pi * (1 + ((x - 1) / 2) ** 2)), False),
    "half normal": (
        lambda d: d.HalfNormal(2.0), lambda x: np.exp(-(x**2) / 8) / np.sqrt(2 * np.pi), True),
    "softplus": (
        lambda d: d.NormalWithSoftplusScale(1.0, 0.5),
        lambda x: np.exp(-0.5 * ((x - 1) / np.log1p(np.exp(0.5))) ** 2)
        / np.log1p(np.exp(0.5)) / np.sqrt(2 * np.pi), True),
    "poisson": (
        lambda d: d.Poisson(3.0),
        lambda x: np.exp(-3) * 3**x / np.array([math.factorial(int(n)) for n in x]), True),
    "geometric": (lambda d: d.Geometric(probs=0.25), lambda x: 0.25 * 0.75**x, True),
}  # fmt: skip


@pytest.mark.parametrize("name", _SCALARS)
def test_numbers_have_their_density_and_moments(tf: Any, name: str) -> None:
    """Of a batch of none; samples have mean and variance where there are any."""
    make, density, has_mean = _SCALARS[name]
    made = make(tf.contrib.distributions)
    x = np.float32([0, 1, 2, 5])
    got, drawn = _values(tf, [made.prob(x), made.sample(5000, seed=2)])
    np.testing.assert_allclose(got, density(x), rtol=1e-4)
    assert drawn.shape == (5000,)
    if has_mean:
        mean, variance = _values(tf, [made.mean(), made.variance()])
        assert drawn.mean() == pytest.approx(mean, abs=0.1 * math.sqrt(variance))
        assert drawn.var() == pytest.approx(variance, rel=0.15)


def test_one_number_is_certain(tf: Any) -> None:
    """Within its tolerance."""
    made = tf.contrib.distributions.Deterministic([1.0, 2.0], atol=0.1)
    got, below, drawn = _values(tf, [made.prob([1.05, 2.2]), made.cdf([0.5, 3.0]), made.sample(2)])
    assert got.tolist() == [1, 0]
    assert below.tolist() == [0, 1]
    assert drawn.tolist() == [[1, 2], [1, 2]]


@pytest.mark.parametrize(
    "make",
    [
        lambda d: d.MultivariateNormalDiag(),
        lambda d: d.MultivariateNormalTriL(),
        lambda d: d.OneHotCategorical(),
        lambda d: d.RelaxedBernoulli(1.0, logits=0.0, probs=0.5),
        lambda d: d.Poisson(),
        lambda d: d.Mixture(d.Categorical(probs=[0.5, 0.5]), [d.Normal(0.0, 1.0)]),
        lambda d: d.MixtureSameFamily(d.Categorical(probs=[1.0]), d.Normal(0.0, 1.0)),
    ],
)
def test_arguments_that_do_not_fit_are_refused(tf: Any, make: Callable[[Any], Any]) -> None:
    """When the distribution is made."""
    with pytest.raises(ValueError, match=r"[Mm]ust"):
        make(tf.contrib.distributions)


def test_names_that_became_public_are_there(tf: Any) -> None:
    """The others say what to do."""
    d = tf.contrib.distributions
    assert d.Normal is tf.distributions.Normal
    assert _values(tf, tf.nn.softplus(d.softplus_inverse(2.0))) == pytest.approx(2)
    with pytest.raises(NotImplementedError, match="log_prob and sample"):
        d.QuantizedDistribution()
