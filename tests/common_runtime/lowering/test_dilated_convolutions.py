"""Without compiled kernels, dilated convolutions of images are computed without blocks."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tests.without_kernels import without_kernels
from tfnb.ops.conv import conv_ops


@pytest.fixture(name="joined")
def _joined_fixture(monkeypatch):
    """Count the convolutions that are computed with gaps in their filter, without kernels."""
    seen = []
    conv_kernels = conv_ops.conv_kernels

    def biased(*args, compute=conv_kernels.forward_biased):
        found = compute(*args)
        if found is not None:
            seen.append(args)
        return found

    monkeypatch.setattr(conv_kernels, "forward_biased", biased)
    with without_kernels():
        yield seen


def random(*shape, value=None):
    """Return normal numbers, one of which is given."""
    made = np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)
    if value is not None:
        made.reshape(-1)[made.size // 2] = value
    return made


def first_and_last(build, *arrays):
    """Return the results of the first step, which runs the nodes, and of the third one."""
    with tf.Graph().as_default(), tf.Session() as session, np.errstate(all="ignore"):
        places = [tf.placeholder(one.dtype, [None] * one.ndim) for one in arrays]
        fetches = build(*places)
        feeds = dict(zip(places, arrays, strict=True))
        found = [session.run(fetches, feeds) for _ in range(3)]
        return found[0], found[-1]


def test_deterministic_steps_have_the_same_bits(joined, monkeypatch):
    """With TF_DETERMINISTIC_OPS=1 all steps compute the blocks, as the first one does."""
    monkeypatch.setenv("TF_DETERMINISTIC_OPS", "1")

    def build(x, w):
        return tf.nn.convolution(x, w, "SAME", dilation_rate=[2, 2])

    first, last = first_and_last(build, random(2, 13, 17, 5), random(3, 3, 5, 6))
    np.testing.assert_array_equal(last, first)
    assert not joined


@pytest.mark.parametrize("rate", [2, 3])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("value", [None, np.nan, np.inf])
@pytest.mark.parametrize("shape", [(2, 13, 17, 5), (0, 13, 17, 5)])
def test_a_dilated_convolution_is_computed_with_gaps(joined, shape, rate, padding, value):
    """Between other nodes, and with another reader of its images."""

    def build(x, w):
        y = tf.nn.convolution(tf.negative(x), w, padding, dilation_rate=[rate, rate])
        return [tf.nn.relu(y + np.arange(6, dtype="f4")), tf.reduce_sum(x)]

    images = random(*shape, value=value) if shape[0] else np.zeros(shape, np.float32)
    for one, other in zip(*first_and_last(build, images, random(3, 3, 5, 6)), strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, 1e-5, 1e-5)
    assert bool(joined) == bool(shape[0])


def test_transformed_convolutions_and_lines_keep_their_blocks(joined):
    """They are faster in blocks."""

    def build(x, w):
        wide = tf.nn.convolution(x, w, "SAME", dilation_rate=[2, 2])
        return [wide, tf.nn.convolution(x[:, 2], w[1], "SAME", dilation_rate=[2])]

    for one, other in zip(
        *first_and_last(build, random(1, 60, 60, 32), random(3, 3, 32, 32)), strict=True
    ):
        np.testing.assert_allclose(one, other, 1e-4, 1e-3)
    assert not joined


def test_errors_are_those_of_the_nodes():
    """A filter for other channels, images that no block divides."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = (tf.placeholder(tf.float32, [None] * 4) for _ in range(2))
        block, pads = tf.constant([2, 2]), tf.placeholder(tf.int32, [2, 2])
        blocks = tf.space_to_batch_nd(x, block, pads)
        y = tf.batch_to_space_nd(tf.nn.conv2d(blocks, w, [1] * 4, "VALID"), block, [[0, 0]] * 2)
        feeds = {x: random(1, 8, 8, 3), w: random(3, 3, 3, 4), pads: [[2, 2], [2, 2]]}
        for _ in range(3):
            assert session.run(y, feeds).shape == (1, 8, 8, 4)
        for wrong in ({w: random(3, 3, 5, 4)}, {pads: [[2, 1], [2, 2]]}, {x: random(1, 8, 7, 3)}):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(y, feeds | wrong)
        assert session.run(y, feeds).shape == (1, 8, 8, 4)
