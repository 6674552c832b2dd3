"""``tf.distributions`` against TensorFlow: nodes, values, samples, errors."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.joined import in_batches
from tests.library.distributions import distribution_rows

_GOLDEN = Path(__file__).parents[2] / "golden" / "distributions.json.xz"
_STORED: dict[str, Any] = json.loads(lzma.decompress(_GOLDEN.read_bytes()))


@in_batches("row", distribution_rows.rows())
def test_a_distribution_answers_as_in_tensorflow(row: str) -> None:
    """Nodes and values are equal, including samples."""
    wanted = dict(_STORED[row])
    found = distribution_rows.describe(tf, row)
    value, wanted_value = found.pop("value", None), wanted.pop("value", None)
    if row in distribution_rows.OTHER_NODES:
        found.pop("nodes"), wanted.pop("nodes")
    assert found == wanted
    if wanted_value is None:
        assert value is None
        return
    assert value is not None
    assert value[:2] == wanted_value[:2]
    close = 1e-9 if wanted_value[0] == "float64" else 2e-5
    np.testing.assert_allclose(value[2], wanted_value[2], rtol=close, atol=close)


def test_every_row_is_stored() -> None:
    """Each row has an answer of TensorFlow."""
    assert set(_STORED) == set(distribution_rows.rows())


def test_the_mode_of_several_dirichlet_distributions() -> None:
    """The result is NaN where a weight is not above 1."""
    with tf.Graph().as_default(), tf.Session() as sess:
        mode = sess.run(tf.distributions.Dirichlet([[0.5, 3.0], [2.0, 4.0]]).mode())
    np.testing.assert_allclose(mode, [[np.nan, np.nan], [0.25, 0.75]])


def test_a_divergence_of_ones_own_classes() -> None:
    """RegisterKL accepts a pair once; subclasses inherit."""

    class Mine(tf.distributions.Normal):
        pass

    class Other(tf.distributions.Uniform):
        pass

    @tf.distributions.RegisterKL(Mine, Other)
    def _kl(a: Mine, b: Other, name: str | None = None) -> Any:
        return a.loc + b.high

    class Sub(Mine):
        pass

    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(tf.distributions.kl_divergence(Sub(1.0, 2.0), Other(0.0, 3.0))) == 4.0
        assert sess.run(Sub(1.0, 2.0).kl_divergence(Mine(1.0, 2.0))) == 0.0
    with pytest.raises(ValueError, match=r"KL\(Mine \|\| Other\) has already been registered"):
        tf.distributions.RegisterKL(Mine, Other)(_kl)


def test_a_distribution_of_ones_own() -> None:
    """Missing methods follow from defined ones, or raise an error with their name."""

    class Always(tf.distributions.Distribution):
        def __init__(self) -> None:
            super().__init__(tf.float32, tf.distributions.NOT_REPARAMETERIZED, False, True)

        def _prob(self, x: Any) -> Any:
            return tf.cast(tf.equal(x, 2.0), tf.float32)

        def _cdf(self, x: Any) -> Any:
            return tf.cast(x >= 2.0, tf.float32)

        def _stddev(self) -> Any:
            return tf.constant(3.0)

    with tf.Graph().as_default(), tf.Session() as sess:
        always = Always()
        assert always.name == "Always/"
        found = sess.run([always.log_prob(2.0), always.survival_function(1.0), always.variance()])
        assert found == [0.0, 1.0, 9.0]
        assert always.log_prob(2.0).name.startswith("Always/log_prob_1/")
        with pytest.raises(NotImplementedError, match="sample_n is not implemented: Always"):
            always.sample()


def test_shapes_that_are_known_while_running_only() -> None:
    """Batches and numbers of samples may be fed."""
    with tf.Graph().as_default(), tf.Session() as sess:
        scale = tf.placeholder(tf.float32)
        logits = tf.placeholder(tf.float32)
        count = tf.placeholder(tf.int32)
        normal = tf.distributions.Normal(0.0, scale)
        categorical = tf.distributions.Categorical(logits)
        fetches = [normal.sample(count), categorical.sample(count), categorical.mode()]
        fed = {scale: [1.0, 2.0, 3.0], logits: [[0.0, 9.0], [9.0, 0.0]], count: [4, 5]}
        drawn, classes, mode = sess.run(fetches, fed)
        assert drawn.shape == (4, 5, 3)
        assert classes.shape == (4, 5, 2)
        assert mode.tolist() == [1, 0]


@pytest.mark.parametrize(("given", "shape"), [(3, [3, 2]), ([3], [3, 2]), ([2, 2], [2, 2, 2])])
def test_a_sample_shape_of_unknown_rank_is_a_number_or_a_vector(
    given: list[int] | int, shape: list[int]
) -> None:
    """The shape of samples is known when the step runs."""
    with tf.Graph().as_default(), tf.Session() as session:
        sizes = tf.placeholder(tf.int32)
        drawn = tf.distributions.Bernoulli(probs=[0.2, 0.6]).sample(sizes, seed=1)
        assert list(session.run(drawn, {sizes: given}).shape) == shape


def test_the_quantile_of_a_normal_distribution_has_finite_gradients() -> None:
    """At the ends, and beyond, the value is infinite and the gradient 0, as in TensorFlow."""
    with tf.Graph().as_default(), tf.Session() as session:
        p = tf.constant([0.0, 0.25, 1.0, -0.5, 1.5], tf.float64)
        normal = tf.distributions.Normal(np.float64(1.0), np.float64(2.0))
        values, gradients = session.run([normal.quantile(p), *tf.gradients(normal.quantile(p), p)])
        inner = 1.0 - 2.0 * 0.6744897501960817
        np.testing.assert_allclose(values, [-np.inf, inner, np.inf, -np.inf, np.inf])
        slope = 2.0 / 0.3177765726841069
        np.testing.assert_allclose(gradients, [0.0, slope, 0.0, 0.0, 0.0], rtol=1e-6)


def test_a_categorical_distribution_takes_classes_as_floats() -> None:
    """Classes as floats are the same classes."""
    with tf.Graph().as_default(), tf.Session() as session:
        categorical = tf.distributions.Categorical(probs=[[0.2, 0.8], [0.6, 0.4]])
        found, wanted = session.run([categorical.prob([0.0, 1.0]), categorical.prob([0, 1])])
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_allclose(found, [0.2, 0.4], rtol=1e-6)


def test_a_subclass_may_keep_a_value_of_its_own() -> None:
    """Libraries store samples in an attribute of this name."""
    with tf.Graph().as_default(), tf.Session() as session:
        made = tf.distributions.Normal(0.0, 1.0)
        made._value = made.sample()
        assert session.run(made.log_prob(0.0)) == session.run(made.log_prob(tf.zeros([])))
