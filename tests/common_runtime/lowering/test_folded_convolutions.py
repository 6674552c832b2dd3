"""Without kernels, a norm's factor is part of the filter, and limits are set in place."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.common_runtime.lowering.write import step_writer
from tfnb.ops.conv import folded_conv

ACTIVATIONS = {
    "none": tf.identity,
    "relu": tf.nn.relu,
    "relu6": tf.nn.relu6,
    "leaky": lambda y: tf.nn.leaky_relu(y, 0.2),
    "rising": lambda y: tf.nn.leaky_relu(y, 2.0),
}


def random(*shape, value=None):
    """Return normal numbers, one of which is given."""
    made = np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)
    if value is not None:
        made.reshape(-1)[made.size // 2] = value
    return made


@pytest.fixture(name="folded", autouse=True)
def _folded_fixture(monkeypatch):
    """Note whether each convolution and what follows became one, without kernels."""
    monkeypatch.setenv("TFNB_COMPILED", "0")
    seen = []
    fold = folded_conv._folded

    def noted(*args):
        found = fold(*args)
        seen.append(found is not None)
        return found

    monkeypatch.setattr(folded_conv, "_folded", noted)
    return seen


def run(build, arrays, *, is_constant):
    """Return what a graph gives in its first, second and third step."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None] * arrays[0].ndim)
        others = [
            tf.constant(one) if is_constant else tf.placeholder(tf.float32, one.shape)
            for one in arrays[1:]
        ]
        fetch = tf.transpose(build(x, *others))
        feeds = {x: arrays[0]}
        if not is_constant:
            feeds.update(zip(others, arrays[1:], strict=True))
        return [session.run(fetch, feeds) for _ in range(3)]


def check(monkeypatch, build, *arrays, is_constant=True, exact=False):
    """Compare the folded nodes with separate ones."""
    with np.errstate(all="ignore"):
        found = run(build, arrays, is_constant=is_constant)
        with monkeypatch.context() as patch:
            patch.setattr(step_writer, "find_biased", lambda *args, **keywords: 0)
            apart = run(build, arrays, is_constant=is_constant)
    for one, other in zip(found, apart, strict=True):
        assert one.dtype == other.dtype
        if exact:
            np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(one, other, 1e-4, 1e-4)


def convolution(kind, x, w):
    """Return a convolution of a kind."""
    if kind == "depthwise":
        return tf.nn.depthwise_conv2d(x, w, [1, 2, 2, 1], "SAME")
    if kind == "transposed":
        return tf.nn.conv2d_transpose(x, w, [2, 18, 16, int(w.shape[2])], 2, "SAME")
    return tf.nn.conv2d(x, w, 1, "VALID")


FILTERS = {"depthwise": (3, 3, 6, 2), "transposed": (4, 4, 12, 6), "direct": (3, 2, 6, 12)}


def vectors(size, value=None):
    """Return a bias, and scale, offset, mean and variance of a norm."""
    made = np.random.default_rng(size).uniform(0.5, 1.5, [5, size]).astype(np.float32)
    if value is not None:
        made[1:, 2] = value
    return list(made)


@pytest.mark.parametrize("is_constant", [False, True])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("kind", FILTERS)
@pytest.mark.parametrize("steps", ["bias", "norm", "both"])
def test_results_are_those_of_the_nodes(monkeypatch, folded, kind, steps, activation, is_constant):
    """Biases and limits alone have their bits."""

    def build(x, w, bias, *stats):
        y = convolution(kind, x, w)
        if steps != "norm":
            y = tf.nn.bias_add(y, bias)
        if steps != "bias":
            y = tf.nn.fused_batch_norm(y, *stats, is_training=False)[0]
        return ACTIVATIONS[activation](y)

    given = random(2, 9, 8, 6), random(*FILTERS[kind]), *vectors(12)
    check(monkeypatch, build, *given, is_constant=is_constant, exact=steps == "bias")
    assert any(folded) == (activation != "rising" or steps != "bias")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", ["image", "filter", "norm"])
def test_numbers_that_are_not_finite(monkeypatch, folded, place, value):
    """Filters and norms with such numbers are computed node by node."""

    def build(x, w, bias, *stats):
        y = tf.nn.bias_add(tf.nn.conv2d(x, w, 1, "SAME"), bias)
        return tf.nn.relu(tf.nn.fused_batch_norm(y, *stats, is_training=False)[0])

    x = random(2, 9, 8, 6, value=value if place == "image" else None)
    w = random(3, 3, 6, 12, value=value if place == "filter" else None)
    given = vectors(12, value if place == "norm" else None)
    check(monkeypatch, build, x, w, *given)
    assert any(folded) == (place == "image")


@pytest.mark.parametrize("shape", [(0, 9, 8, 6), (1, 9, 8, 6), (3, 40, 60, 6)])
def test_images_of_all_sizes(monkeypatch, folded, shape):
    """Empty ones, and those that threads share."""

    def build(x, w, bias, *stats):
        y = tf.nn.fused_batch_norm(tf.nn.conv2d(x, w, 1, "SAME"), *stats, is_training=False)[0]
        return tf.nn.relu6(y)

    check(monkeypatch, build, random(*shape), random(3, 3, 6, 12), *vectors(12))
    assert any(folded) == (shape[0] > 0)


def test_deterministic_steps_have_the_same_bits(monkeypatch, folded):
    """The steps that run as a function compute what the first ones do, node by node."""
    monkeypatch.setenv("TF_DETERMINISTIC_OPS", "1")

    def build(x, w, *stats):
        return tf.nn.fused_batch_norm(tf.nn.conv2d(x, w, 1, "SAME"), *stats, is_training=False)[0]

    given = random(2, 9, 8, 6), random(3, 3, 6, 12), *vectors(12)[1:]
    first, *others = run(build, given, is_constant=True)
    for one in others:
        np.testing.assert_array_equal(one, first)
    assert not folded


WRONG = {
    "bias": (("b", random(5)),),
    "channels": (("w", random(3, 3, 4, 6)),),
    "image": (("x", random(1, 4, 4, 3)),),
    "empty filter": (("w", np.zeros((0, 2, 5, 6), np.float32)),),
    "groups": (("x", random(1, 4, 4, 10)), ("w", random(3, 3, 5, 7)), ("b", random(7))),
}


# Volumes have no groups.
_CASES = [(2, wrong) for wrong in WRONG] + [(3, wrong) for wrong in WRONG if wrong != "groups"]


@pytest.mark.parametrize(("rank", "wrong"), _CASES)
def test_errors_are_those_of_the_nodes(folded, rank, wrong):
    """In all steps: of the first ones, which run node by node, and of the folded ones."""
    with tf.Graph().as_default(), tf.Session() as session:
        places = dict(zip("xwb", (tf.placeholder(tf.float32) for _ in range(3)), strict=True))
        conv = tf.nn.conv2d if rank == 2 else tf.nn.conv3d
        y = conv(places["x"], places["w"], [1] * (rank + 2), "SAME")
        fetch = tf.nn.relu(tf.nn.bias_add(y, places["b"]))

        def wide(array):
            is_vector = array.ndim == 1 or rank == 2
            return array if is_vector else array[(slice(None), None)]

        good = {"x": random(1, 4, 4, 5), "w": random(3, 3, 5, 6), "b": random(6)}
        good_feeds = {places[name]: wide(array) for name, array in good.items()}
        bad_feeds = {**good_feeds, **{places[name]: wide(array) for name, array in WRONG[wrong]}}
        texts = set()
        for feeds in (bad_feeds, *[good_feeds] * 4, bad_feeds, bad_feeds):
            if feeds is good_feeds:
                wanted = session.run(fetch, feeds)
                continue
            with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                session.run(fetch, feeds)
            texts.add(caught.value.message.split("\n")[0])
        assert len(texts) == 1
        assert any(folded)
        np.testing.assert_array_equal(session.run(fetch, good_feeds), wanted)


def test_variables_are_read_in_each_step(folded):
    """A norm of variables is not kept."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 8, 8, 3])
        mean = tf.Variable(tf.zeros([4]))
        y = tf.nn.conv2d(x, tf.ones([1, 1, 3, 4]), 1, "SAME")
        one, nothing = tf.ones([4]), tf.zeros([4])
        y = tf.nn.fused_batch_norm(y, one, nothing, mean, one, epsilon=0.0, is_training=False)[0]
        fetch = tf.reduce_max(tf.nn.relu(y))
        session.run(tf.global_variables_initializer())
        images = np.ones([1, 8, 8, 3], np.float32)
        for value in (0.0, 2.0, 1.0):
            session.run(mean.assign(np.full(4, value)))
            for _ in range(4):
                assert session.run(fetch, {x: images}) == pytest.approx(3.0 - value)
    assert any(folded)
