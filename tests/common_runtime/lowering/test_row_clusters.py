"""Clusters with means and sums of rows, such as layer norms, give the values of their nodes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tfnb as tf
from tfnb.core.compiled.helper import HELPER
from tfnb.core.process import work_sharder

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.usefixtures("kernels_at_once")


def results_of(build, feeds, steps=5):
    """Return the plain and the compiled results of a graph over placeholders of any shapes."""
    with tf.Graph().as_default(), tf.Session() as session:
        places = {
            name: tf.placeholder(value.dtype, [None] * value.ndim, name=name)
            for name, value in feeds.items()
        }
        fetches = build(**places)
        given = {places[name]: value for name, value in feeds.items()}
        plain = session.run(fetches, given)
        for _ in range(steps):
            session.run(fetches, given)
        HELPER.wait()
        session.run(fetches, given)
        return plain, session.run(fetches, given)


def check(build, feeds, rtol=2e-5, atol=2e-6):
    """Compare both ways; the rounding of sums differs."""
    plain, found = results_of(build, feeds)
    for one, other in zip(found, plain, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol, atol, equal_nan=True)


def num_reducing(clusters):
    """Return the number of clusters with reductions whose kernel is ready."""
    return sum(one.reduces and any(f.run for f in one.forms_of_arrays()) for one in clusters)


def layer_norm(x, gain, bias, axis=-1):
    """Return a layer norm as it is often written, with mean and scale."""
    mean, variance = tf.nn.moments(x, [axis], keep_dims=True)
    scale = tf.rsqrt(variance + 1e-5)
    return [(x - mean) * scale * gain + bias, mean, scale]


def random(*shape, value=None, dtype=np.float32):
    """Return random numbers, one of which is given."""
    made = np.random.default_rng(len(shape)).normal(1, 2, shape).astype(dtype)
    if value is not None and made.size:
        made.reshape(-1)[made.size // 2] = value
    return made


@pytest.mark.parametrize("shape", [(7,), (1, 2), (3, 33), (2, 5, 128), (2, 1, 3, 20), (4, 3000)])
@pytest.mark.parametrize("value", [None, np.nan, np.inf, -np.inf, 1e30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layer_norm(clusters, shape, value, dtype):
    """Result, mean and scale, for rows of all lengths and numbers of all kinds."""
    feeds = {
        "x": random(*shape, value=value, dtype=dtype),
        "gain": random(shape[-1], dtype=dtype),
        "bias": random(shape[-1], dtype=dtype),
    }
    check(layer_norm, feeds)
    assert num_reducing(clusters)


@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (3, 1)])
def test_empty_rows_and_those_of_one_element_run_node_by_node(clusters, shape):
    """No kernel is made for them."""
    feeds = {"x": random(*shape), "gain": random(shape[-1]), "bias": random(shape[-1])}
    with np.errstate(all="ignore"):
        check(layer_norm, feeds)
    assert not num_reducing(clusters)


def test_a_residual_before_the_norm_is_a_result_too(clusters):
    """The sum that is normalized is read elsewhere."""

    def build(x, y, gain, bias):
        whole = x + y
        return [
            whole,
            *layer_norm(whole, gain, bias)[:1],
            tf.matmul(whole, whole, transpose_b=True),
        ]

    check(build, {"x": random(9, 40), "y": random(9, 40), "gain": random(40), "bias": random(40)})
    assert num_reducing(clusters)


def test_norms_written_in_other_ways(clusters):
    """The mean square; a softmax; sums of sums; factors for each row."""

    def build(x, rows, gain):
        square = tf.reduce_mean(tf.square(x), -1, keep_dims=True)
        grown = tf.exp(x - rows)
        total = tf.reduce_sum(grown, axis=1, keepdims=True)
        twice = tf.reduce_sum(x / (1 + tf.abs(total)), axis=[1], keepdims=True)
        return [x * tf.rsqrt(square + 1e-6) * gain, grown / total, total * twice + x]

    feeds = {"x": random(6, 50), "rows": random(6, 1), "gain": random(1, 50)}
    check(build, feeds)
    assert num_reducing(clusters)


@pytest.mark.parametrize("axis", [0, 1])
def test_reductions_of_other_axes_run_node_by_node(clusters, axis):
    """The elementwise nodes between them are smaller clusters."""

    def build(x):
        mean = tf.reduce_mean(x, axis, keepdims=True)
        return [tf.square(x - mean) * 0.5 + mean]

    check(build, {"x": random(5, 6, 7)})
    assert not num_reducing(clusters)
    assert any(f.run for one in clusters for f in one.forms_of_arrays())


def test_shapes_that_fit_no_rows_run_node_by_node(clusters):
    """An input that varies with some of the dimensions before the last one."""

    def build(x, middle, flags):
        mean = tf.reduce_mean(x, -1, keepdims=True)
        return [(x - mean) * middle, tf.where(flags, x - mean, x)]

    feeds = {"x": random(4, 3, 8), "middle": random(3, 8), "flags": random(4, 3, 8) > 0}
    check(build, feeds)
    assert not num_reducing(clusters)


def test_an_axis_that_is_also_a_number_runs_node_by_node(clusters):
    """The constant of the axis is an operand of another node of the cluster."""

    def build(x):
        axis = tf.constant([1])
        mean = tf.reduce_mean(x, axis, keepdims=True)
        number = axis + tf.cast(mean > 1, tf.int32)
        return [(x - mean) * tf.cast(number, tf.float32) * 0.5]

    check(build, {"x": random(5, 6)})
    assert any(one.reduces for one in clusters)
    assert not num_reducing(clusters)


def test_other_shapes_than_the_compiled_ones():
    """Later steps with other shapes, types of memory and strides."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, None])
        made = layer_norm(x, tf.constant(2.0), tf.constant(1.0))[0]
        for shape in [(4, 8), (4, 9), (5, 8), (1, 8), (4, 8)]:
            value = random(*shape)
            mean = value.mean(-1, keepdims=True)
            scale = 1 / np.sqrt(value.var(-1, keepdims=True) + np.float32(1e-5))
            for given in (value, value.T.copy().T, np.repeat(value, 2, 1)[:, ::2]):
                for _ in range(4):
                    found = session.run(made, {x: given})
                    HELPER.wait()
                    np.testing.assert_allclose(found, (value - mean) * scale * 2 + 1, 1e-5, 1e-5)


def test_cuts_do_not_change_the_result(monkeypatch):
    """Threads share the rows."""
    feeds = {"x": random(900, 500), "gain": random(500), "bias": random(500)}
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(work_sharder, "_num_threads", threads)
        found.append(results_of(layer_norm, feeds)[1])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_gradients_of_a_layer_norm():
    """A training step reads the mean and the scale of the norm."""

    def build(x, gain, bias):
        loss = tf.reduce_sum(tf.square(layer_norm(x, gain, bias)[0]) * x)
        return tf.gradients(loss, [x, gain, bias])

    check(build, {"x": random(6, 32), "gain": random(32), "bias": random(32)}, 1e-4, 1e-4)


def test_a_loop_computes_all_iterations_alike(clusters):
    """A norm in a while loop, whose rows keep their shape."""

    def build(x):
        def body(i, value):
            mean, variance = tf.nn.moments(value, [-1], keep_dims=True)
            return i + 1, (value - mean) * tf.rsqrt(variance + math.e) + x

        return tf.while_loop(lambda i, _: i < 7, body, [0, x])[1:]

    check(build, {"x": random(3, 24)}, 1e-4, 1e-5)
    assert num_reducing(clusters)
