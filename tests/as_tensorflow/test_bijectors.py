"""Bijectors and the distributions of what they map."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from scipy import stats

pytestmark = pytest.mark.usefixtures("as_tensorflow")

POINTS = np.array([[0.2, -0.4, 0.7], [0.1, 0.3, -0.6]])
MATRIX = np.array([[2.0, 0, 0], [0.5, -1.5, 0], [0.3, 0.2, 0.8]])


@pytest.fixture
def tf() -> Any:
    """Return TensorFlow as a program gets it, with a graph of the test's own as the default."""
    tf = importlib.import_module("tensorflow")
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        yield tf


@pytest.fixture
def made(tf: Any) -> Any:
    """Return the module."""
    return importlib.import_module("tensorflow.contrib.distributions").bijectors


def _bijector(tf: Any, b: Any, name: str) -> Any:
    shift, diagonal = np.array([1.0, 2.0, 3.0]), np.array([0.5, -2.0, 3.0])
    network = {"bias_initializer": tf.constant_initializer(0.3)}
    makers = {
        "identity": b.Identity,
        "exp": b.Exp,
        "power": lambda: b.PowerTransform(0.5),
        "sigmoid": b.Sigmoid,
        "tanh": b.Tanh,
        "softplus": lambda: b.Softplus(np.float64(0.7)),
        "softsign": b.Softsign,
        "gumbel": lambda: b.Gumbel(np.float64(0.3), np.float64(2)),
        "scaled": lambda: b.AffineScalar(np.float64(3), np.float64(-2)),
        "diagonal": lambda: b.Affine(shift, scale_diag=diagonal),
        "multiple": lambda: b.Affine(shift, scale_identity_multiplier=np.float64(-2)),
        "triangle": lambda: b.Affine(shift, scale_tril=MATRIX, scale_identity_multiplier=0.5),
        "operator": lambda: b.AffineLinearOperator(
            shift, tf.linalg.LinearOperatorLowerTriangular(MATRIX)
        ),
        "permute": lambda: b.Permute([2, 0, 1]),
        "inverse": lambda: b.Invert(b.Softplus()),
        "inline": lambda: b.Inline(tf.sinh, tf.asinh, None, lambda x: tf.log(tf.cosh(x))),
        "chain": lambda: b.Chain([b.Tanh(), b.Affine(scale_tril=MATRIX), b.Softsign()]),
        "autoregressive": lambda: b.MaskedAutoregressiveFlow(
            b.masked_autoregressive_default_template([4], activation=tf.tanh, **network)
        ),
        "unrolled": lambda: b.MaskedAutoregressiveFlow(
            b.masked_autoregressive_default_template([4], True, tf.tanh), unroll_loop=True
        ),
        "real NVP": lambda: b.RealNVP(1, b.real_nvp_default_template([4], False, tf.tanh)),
    }
    return makers[name]()


NAMES = [
    "identity", "exp", "power", "sigmoid", "tanh", "softplus", "softsign", "gumbel", "scaled",
    "diagonal", "multiple", "triangle", "operator", "permute", "inverse", "inline", "chain",
    "autoregressive", "unrolled",
]  # fmt: skip


@pytest.mark.parametrize("name", [*NAMES, "real NVP"])
def test_a_bijector_is_undone_and_knows_its_jacobian(tf: Any, made: Any, name: str) -> None:
    """Both directions; the logarithm of the determinant is that of the gradients."""
    bijector = _bijector(tf, made, name)
    points = np.abs(POINTS) if name == "inverse" else POINTS
    x = tf.constant(points)
    y = bijector.forward(x)
    back = bijector.inverse(tf.identity(y))
    forward = bijector.forward_log_det_jacobian(x, 1) + tf.zeros([2], tf.float64)
    inverse = bijector.inverse_log_det_jacobian(tf.identity(y), 1) + tf.zeros([2], tf.float64)
    rows = tf.stack([tf.gradients(y[:, i], x)[0] for i in range(3)], 1)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found, there, ways, logs = session.run([back, rows, (forward, inverse), y])

    np.testing.assert_allclose(found, points, rtol=1e-9, atol=1e-9)
    assert logs.shape == (2, 3)
    _, wanted = np.linalg.slogdet(there)
    np.testing.assert_allclose(ways[0], wanted, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(ways[1], -wanted, rtol=1e-8, atol=1e-9)


def test_probabilities_have_a_class_more(tf: Any, made: Any) -> None:
    """The determinant is that of the first classes; shapes are known."""
    bijector = made.SoftmaxCentered()
    x = tf.constant(POINTS)
    y = bijector.forward(x)
    jacobian = tf.stack([tf.gradients(y[:, i], x)[0] for i in range(3)], 1)
    slope = bijector.forward_log_det_jacobian(x, 1)
    with tf.Session() as session:
        shares, found, there = session.run([y, slope, jacobian])

    np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-12)
    np.testing.assert_allclose(found, np.linalg.slogdet(there)[1], rtol=1e-9)
    assert bijector.forward_event_shape([3]).as_list() == [4]
    assert bijector.inverse_event_shape([4]).as_list() == [3]


def test_events_change_their_shape(tf: Any, made: Any) -> None:
    """A size of -1 is what remains."""
    bijector = made.Reshape([2, -1], [6])
    y = bijector.forward(tf.zeros([5, 6]))
    assert y.shape.as_list() == [5, 2, 3]
    assert bijector.inverse(y).shape.as_list() == [5, 6]
    assert bijector.forward_event_shape([6]).as_list() == [2, 3]
    with tf.Session() as session:
        assert session.run(bijector.forward_event_shape_tensor([6])).tolist() == [2, 3]


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda b: b.PowerTransform(-1.0), ValueError, "non-negative"),
        (lambda b: b.Permute([0], axis=1), ValueError, "must be negative"),
        (lambda b: b.AffineLinearOperator(scale=3), TypeError, "LinearOperator"),
        (lambda b: b.Affine(scale_perturb_factor=1), NotImplementedError, "perturbations"),
        (lambda b: b.Exp().forward_log_det_jacobian([1.0], -1), ValueError, "at least 0"),
        (lambda b: b.CholeskyOuterProduct(), NotImplementedError, "Inline"),
        (lambda b: b.RealNVP(3, None).forward(POINTS), ValueError, "smaller than the event"),
        (lambda b: b.Bijector().forward(1.0), NotImplementedError, "forward"),
    ],
)
def test_what_does_not_fit_is_refused(
    tf: Any, made: Any, make: Any, error: type[Exception], says: str
) -> None:
    """With what to give instead."""
    with pytest.raises(error, match=says):
        make(made)


def test_a_logarithm_of_normal_numbers_is_normal(tf: Any, made: Any) -> None:
    """Density, distribution function and quantiles are those of the log-normal distribution."""
    contrib = importlib.import_module("tensorflow.contrib.distributions")
    base = contrib.Normal(np.float64(0.5), np.float64(0.8))
    found = contrib.TransformedDistribution(base, made.Exp(), name="lognormal")
    values = np.array([0.3, 1.0, 4.0])
    draws = found.sample(2000, seed=5)
    asked = [found.log_prob(values), found.cdf(values), found.quantile([0.1, 0.6]), draws]
    with tf.Session() as session:
        logs, below, quantiles, drawn = session.run(asked)

    wanted = stats.lognorm(0.8, scale=np.exp(0.5))
    np.testing.assert_allclose(logs, wanted.logpdf(values), rtol=1e-9)
    np.testing.assert_allclose(below, wanted.cdf(values), rtol=1e-9)
    np.testing.assert_allclose(quantiles, wanted.ppf([0.1, 0.6]), rtol=1e-6)
    assert np.log(drawn).mean() == pytest.approx(0.5, abs=0.1)
    with pytest.raises(NotImplementedError, match="not affine"):
        found.mean()


def test_an_affine_map_of_independent_numbers_is_a_normal_vector(tf: Any, made: Any) -> None:
    """Density, mean and entropy are those of the normal distribution of vectors."""
    contrib = importlib.import_module("tensorflow.contrib.distributions")
    shift = np.array([1.0, 2.0, 3.0])
    base = contrib.Normal(np.float64(0), np.float64(1))
    found = contrib.TransformedDistribution(
        base, made.Affine(shift, scale_tril=MATRIX), event_shape=[3]
    )
    draws = found.sample([4, 2])
    with tf.Session() as session:
        logs, mean, entropy = session.run([found.log_prob(POINTS), found.mean(), found.entropy()])

    wanted = stats.multivariate_normal(shift, MATRIX @ MATRIX.T)
    np.testing.assert_allclose(logs, wanted.logpdf(POINTS), rtol=1e-9)
    np.testing.assert_allclose(mean, shift, rtol=1e-12)
    np.testing.assert_allclose(entropy, wanted.entropy(), rtol=1e-9)
    assert draws.shape.as_list() == [4, 2, 3]
    assert found.event_shape.as_list() == [3]
    with pytest.raises(ValueError, match="has a event shape already"):
        contrib.TransformedDistribution(found, event_shape=[3])
