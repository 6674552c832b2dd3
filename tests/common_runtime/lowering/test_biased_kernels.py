"""Convolutions that add a bias and limit the sum have the bits of the separate nodes."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import tfnb as tf
from tfnb.common_runtime.lowering.rewrite import compiled_clusters
from tfnb.core.compiled.helper import HELPER
from tfnb.core.compiled.routines import without_routines
from tfnb.ops.conv import conv_ops

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.usefixtures("kernels_at_once")


@pytest.fixture(name="folded")
def _folded_fixture(monkeypatch):
    """Count the convolutions that routines compute together with what follows."""
    seen = []
    for kernels, name in (
        (conv_ops.conv_kernels, "forward_biased"),
        (conv_ops.conv_kernels, "backprop_input_biased"),
        (conv_ops.depthwise_kernels, "forward_biased"),
    ):
        compute = getattr(kernels, name)

        def biased(*args, compute=compute):
            found = compute(*args)
            if found is not None:
                seen.append(args)
            return found

        monkeypatch.setattr(kernels, name, biased)
    return seen


def random(*shape, value=None):
    """Return normal numbers, one of which is given."""
    made = np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)
    if value is not None:
        made.reshape(-1)[made.size // 2] = value
    return made


def run(build, *arrays, steps=5):
    """Return the result of a graph over arrays once its routines are ready."""
    with tf.Graph().as_default(), tf.Session() as session:
        places = [tf.placeholder(one.dtype, [None] * one.ndim) for one in arrays]
        fetches = build(*places)
        feeds = dict(zip(places, arrays, strict=True))
        for _ in range(steps):
            session.run(fetches, feeds)
            HELPER.wait()
        return session.run(fetches, feeds)


def three_ways(monkeypatch, build, *arrays):
    """Return each result of the folded nodes, of separate compiled ones, and of the plain ones."""
    found = run(build, *arrays)
    with monkeypatch.context() as patch:
        patch.setattr(compiled_clusters, "find_biased", lambda program, uses: 0)
        apart = run(build, *arrays)
    with without_routines():
        plain = run(build, *arrays, steps=2)
    return zip(found, apart, plain, strict=True)


def check(monkeypatch, build, *arrays):
    """Compare the folded nodes with the separate ones, whose convolution is compiled, too."""
    for one, other, defined in three_ways(monkeypatch, build, *arrays):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(one, defined, 1e-3, 1e-3)


ACTIVATIONS = {
    "none": lambda y: tf.transpose(y),
    "relu": lambda y: tf.transpose(tf.nn.relu(y)),
    "relu6": lambda y: tf.transpose(tf.nn.relu6(y)),
    "leaky": lambda y: tf.transpose(tf.nn.leaky_relu(y, 0.1)),
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("value", [None, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    ("shape", "kernel", "stride"),
    [
        ((2, 9, 7, 3), (3, 3, 3, 5), 1), ((2, 9, 7, 3), (3, 2, 3, 70), 2),
        ((3, 30, 33, 20), (3, 3, 20, 37), 1), ((1, 12, 12, 33), (1, 1, 33, 17), 1),
        ((2, 9, 7, 12), (3, 3, 12, 1), 2),
    ],
)  # fmt: skip
def test_bias_and_limits_are_added_in_one_pass(
    monkeypatch, folded, shape, kernel, stride, value, activation
):
    """Direct and transformed convolutions, numbers of all kinds."""

    def build(x, w, b):
        y = tf.nn.conv2d(x, w, [1, stride, stride, 1], "SAME")
        return [ACTIVATIONS[activation](tf.nn.bias_add(y, b))]

    with np.errstate(all="ignore"):
        check(
            monkeypatch, build, random(*shape, value=value), random(*kernel),
            random(kernel[-1], value=value),
        )  # fmt: skip
    assert folded


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("value", [None, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    ("shape", "kernel", "stride", "padding"),
    [
        ((2, 5, 7, 6, 3), (3, 3, 3, 3, 5), 1, "SAME"),
        ((1, 6, 9, 8, 20), (2, 3, 2, 20, 37), 2, "VALID"),
        ((1, 7, 7, 7, 4), (1, 2, 1, 4, 9), 3, "SAME"),  # the first cells are not seen
    ],
)
def test_convolutions_of_volumes_do_the_same(
    monkeypatch, folded, shape, kernel, stride, padding, value, activation
):
    """A bias and limits, numbers of all kinds, and strides beyond the windows."""

    def build(x, w, b):
        y = tf.nn.conv3d(x, w, [1, stride, stride, stride, 1], padding)
        return [ACTIVATIONS[activation](tf.nn.bias_add(y, b))]

    with np.errstate(all="ignore"):
        check(
            monkeypatch, build, random(*shape, value=value), random(*kernel),
            random(kernel[-1], value=value),
        )  # fmt: skip
    assert folded


def test_empty_volumes_have_empty_results():
    """Their shapes are those of the nodes."""

    def build(x, w, b):
        return [tf.nn.relu(tf.nn.bias_add(tf.nn.conv3d(x, w, [1] * 5, "SAME"), b))]

    (found,) = run(build, random(0, 4, 3, 2, 2), random(1, 1, 1, 2, 3), random(3))
    assert found.shape == (0, 4, 3, 2, 3)


@pytest.mark.parametrize(
    ("kernel", "bias"), [((1, 1, 1, 3, 4), 4), ((2, 2, 2, 2, 4), 3), ((2, 2, 2, 2, 0), 0)]
)
def test_errors_of_volumes_are_those_of_the_nodes(kernel, bias):
    """Channels that do not fit, a bias of another length, and a filter without elements."""

    def build(x, w, b):
        return [tf.nn.relu(tf.nn.bias_add(tf.nn.conv3d(x, w, [1] * 5, "SAME"), b))]

    texts = []
    for kernels in (contextlib.nullcontext, without_routines):
        with kernels(), pytest.raises(tf.errors.InvalidArgumentError) as caught:
            run(build, random(1, 3, 3, 3, 2), random(*kernel), random(bias))
        texts.append(caught.value.message)
    assert texts[0] == texts[1]


def test_a_norm_of_images_behind_volumes_is_an_error():
    """It is no part of the pass, and refuses them as ever."""

    def build(x, w, *given):
        return [norm(tf.nn.conv3d(x, w, [1] * 5, "SAME"), *given)]

    with pytest.raises((tf.errors.OpError, ValueError)):
        run(build, random(1, 3, 3, 3, 2), random(1, 1, 1, 2, 4), *vectors(4))


def test_blocks_of_volumes_are_no_dilation():
    """A convolution of volumes between SpaceToBatchND and BatchToSpaceND runs as a node."""

    def build(x, w):
        y = tf.space_to_batch_nd(x, [2, 2], [[2, 2], [2, 2]])
        y = tf.nn.conv3d(y, w, [1] * 5, "VALID")
        return [tf.batch_to_space_nd(y, [2, 2], [[0, 0], [0, 0]])]

    x, w = random(1, 6, 8, 3, 2), random(2, 2, 1, 2, 4)
    with without_routines():
        (wanted,) = run(build, x, w)
    (found,) = run(build, x, w)
    np.testing.assert_allclose(found, wanted, 1e-4, 1e-4)


def norm(y, scale, offset, mean, variance, **attrs):
    """Return a batch norm with given statistics."""
    return tf.nn.fused_batch_norm(
        y, scale, offset, mean, variance, epsilon=1e-3, is_training=False, **attrs
    )[0]


def vectors(size, value=None):
    """Return scale, offset, mean and variance of some channels."""
    made = np.random.default_rng(size).uniform(0.5, 1.5, [4, size]).astype(np.float32)
    if value is not None:
        made[np.arange(4), np.arange(4) % size] = value
    return list(made)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("value", [None, np.nan, np.inf, -0.0])
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize(
    ("shape", "kernel"),
    [
        ((2, 9, 7, 3), (3, 3, 3, 5)), ((3, 30, 33, 20), (3, 3, 20, 37)),
        ((1, 12, 12, 33), (1, 1, 33, 17)), ((2, 9, 7, 300), (1, 2, 300, 70)),
    ],
)  # fmt: skip
def test_a_batch_norm_is_part_of_the_pass(
    monkeypatch, folded, shape, kernel, has_bias, value, activation
):
    """Direct and transformed convolutions, sums of several parts, numbers of all kinds."""

    def build(x, w, b, *given):
        y = tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME")
        return [ACTIVATIONS[activation](norm(tf.nn.bias_add(y, b) if has_bias else y, *given))]

    with np.errstate(all="ignore"):
        check(
            monkeypatch, build, random(*shape, value=value), random(*kernel), random(kernel[-1]),
            *vectors(kernel[-1], value),
        )  # fmt: skip
    assert folded


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("value", [None, np.nan, np.inf])
@pytest.mark.parametrize("has_norm", [False, True])
@pytest.mark.parametrize(
    ("kernel", "stride"), [((3, 3, 5, 1), 1), ((3, 2, 5, 3), 2), ((5, 5, 5, 4), 1)]
)
def test_depthwise_convolutions_do_the_same(
    monkeypatch, folded, kernel, stride, has_norm, value, activation
):
    """A bias or a batch norm, several filters for each channel, strides."""
    channels = kernel[2] * kernel[3]

    def build(x, w, b, *given):
        y = tf.nn.depthwise_conv2d(x, w, [1, stride, stride, 1], "SAME")
        return [ACTIVATIONS[activation](norm(y, *given) if has_norm else tf.nn.bias_add(y, b))]

    with np.errstate(all="ignore"):
        check(
            monkeypatch, build, random(2, 9, 8, 5, value=value), random(*kernel),
            random(channels, value=value), *vectors(channels),
        )  # fmt: skip
    assert folded


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("value", [None, np.nan, np.inf])
@pytest.mark.parametrize("has_norm", [False, True])
@pytest.mark.parametrize(
    ("shape", "kernel", "stride", "padding"),
    [
        ((2, 5, 4, 20), (5, 5, 7, 20), 2, "SAME"),
        ((2, 5, 4, 20), (4, 4, 17, 20), 2, "SAME"),
        ((1, 6, 6, 33), (3, 3, 16, 33), 1, "SAME"),
        ((1, 3, 5, 3), (2, 2, 5, 3), 2, "VALID"),
        ((1, 4, 4, 3), (2, 2, 5, 3), 3, "VALID"),  # no window covers some cells
        ((2, 20, 18, 32), (3, 3, 32, 32), 1, "SAME"),
        ((2, 5, 4, 64), (6, 6, 1, 64), 2, "SAME"),
    ],
)
def test_transposed_convolutions_do_the_same(
    monkeypatch, folded, shape, kernel, stride, padding, has_norm, value, activation
):
    """With strides each phase gets what follows; a filter that is not finite is for the nodes."""
    reach = kernel[0] if padding == "VALID" else stride
    sizes = [(size - 1) * stride + reach for size in shape[1:3]]

    def build(x, w, b, *stats):
        to = [shape[0], *sizes, kernel[2]]
        y = tf.nn.conv2d_transpose(x, w, to, [1, stride, stride, 1], padding)
        y = tf.nn.bias_add(y, b)
        return [ACTIVATIONS[activation](norm(y, *stats) if has_norm else y)]

    given = random(*kernel), random(kernel[2], value=value), *vectors(kernel[2], value)
    with np.errstate(all="ignore"):
        check(monkeypatch, build, random(*shape, value=value), *given[: 6 if has_norm else 2])
    assert bool(folded) == (stride <= kernel[0])


def test_a_filter_that_is_not_finite_is_for_the_nodes(monkeypatch, folded):
    """The cells near the border do not meet its infinity."""

    def build(x, w, b):
        y = tf.nn.conv2d_transpose(x, w, [1, 6, 6, 3], [1, 1, 1, 1], "SAME")
        return [tf.transpose(tf.nn.relu(tf.nn.bias_add(y, b)))]

    with np.errstate(all="ignore"):
        given = random(1, 6, 6, 4), random(3, 3, 3, 4, value=np.inf), random(3)
        check(monkeypatch, build, *given)
    assert not folded


@pytest.mark.parametrize("alpha", [-0.5, 0.0, 1e-40, 0.2, 1.0, 3.0, np.inf, np.nan])
def test_any_factor_of_negative_numbers(monkeypatch, folded, alpha):
    """Infinities and NaN among the numbers; nodes with unusual factors stay alone."""

    def build(x, w, b):
        y = tf.nn.bias_add(tf.nn.conv2d(x, w, 1, "SAME"), b)
        return [tf.transpose(tf.nn.leaky_relu(y, alpha))]

    bias = np.array([-np.inf, np.inf, np.nan, 0.5, -0.5, 1e-40], np.float32)
    with np.errstate(all="ignore"):
        check(monkeypatch, build, random(2, 6, 7, 5), random(3, 3, 5, 6), bias)
    activations = {args[2].limits[2] for args in folded}
    assert activations == ({np.float32(alpha)} if 0.1 < alpha <= 1 else set())


def test_sizes_that_the_step_computes(monkeypatch, folded):
    """The batch is that of the images, as programs write it."""

    def build(x, w, b):
        to = tf.stack([tf.shape(x)[0], 8, 8, 6])
        y = tf.nn.conv2d_transpose(x, w, to, [1, 2, 2, 1], "SAME")
        return [tf.transpose(tf.nn.relu(tf.nn.bias_add(y, b)))]

    check(monkeypatch, build, random(3, 4, 4, 5), random(4, 4, 6, 5), random(6))
    assert folded


def test_errors_of_transposed_convolutions_are_those_of_the_nodes():
    """The same texts before the routines are ready and after; the session goes on."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, w, b = (tf.placeholder(tf.float32, [None] * rank) for rank in (4, 4, 1))
        y = tf.nn.conv2d_transpose(x, w, [1, 8, 8, 6], [1, 2, 2, 1], "SAME")
        fetch = tf.nn.relu(tf.nn.bias_add(y, b))
        good = {x: random(1, 4, 4, 5), w: random(4, 4, 6, 5), b: random(6)}

        def errors():
            found = []
            for wrong in ({x: random(1, 5, 4, 5)}, {w: random(4, 4, 7, 5)}, {b: random(5)}):
                with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                    session.run(fetch, {**good, **wrong})
                found.append(caught.value.message.split("\n")[0])
            return found

        first = errors()
        for _ in range(4):
            wanted = session.run(fetch, good)
            HELPER.wait()
        assert errors() == first
        np.testing.assert_allclose(session.run(fetch, good), wanted, 1e-4, 1e-4)


def test_other_batch_norms_stay_nodes(monkeypatch, folded):
    """One that makes statistics, one whose statistics are read, one over the second dimension."""

    def build(x, w, *given):
        convolved = [tf.nn.conv2d(x, w + shift, [1, 1, 1, 1], "SAME") for shift in range(3)]
        trained = tf.nn.fused_batch_norm(convolved[0], *given[:2])[0]
        y, mean, _ = tf.nn.fused_batch_norm(convolved[1], *given, is_training=False)
        turned = tf.transpose(convolved[2], [0, 3, 1, 2])
        return [tf.nn.relu(trained), y, mean, norm(turned, *given, data_format="NCHW")]

    check(monkeypatch, build, random(2, 8, 8, 4), random(3, 3, 4, 6), *vectors(6))
    assert not folded


def test_errors_of_batch_norms_are_those_of_the_nodes():
    """Vectors of other lengths."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = (tf.placeholder(tf.float32, [None] * 4) for _ in range(2))
        given = [tf.placeholder(tf.float32, [None]) for _ in range(4)]
        y = tf.nn.relu(norm(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"), *given))
        feeds = {x: random(2, 5, 5, 3), w: random(3, 3, 3, 6)}
        good = feeds | dict(zip(given, vectors(6), strict=True))
        for _ in range(4):
            session.run(y, good)
            HELPER.wait()
        for place in given:
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(y, good | {place: random(5)})
        session.run(y, good)


def test_a_constant_vector_is_a_bias(monkeypatch, folded):
    """As the optimizer makes of a batch norm."""

    def build(x, w):
        y = tf.nn.conv2d(x, w, [1, 1, 1, 1], "VALID") + tf.constant(random(6))
        return [tf.nn.relu(y)]

    check(monkeypatch, build, random(2, 8, 8, 4), random(3, 3, 4, 6))
    assert folded


def test_a_convolution_without_a_bias_stays_one_node(monkeypatch, folded):
    """A node of one input, or of three, may come next."""

    def build(x, w):
        y, z = (tf.nn.conv2d(x, w + shift, [1, 1, 1, 1], "SAME") for shift in (0, 1))
        return [tf.nn.relu(y), tf.slice(z, [0, 1, 1, 0], [-1, 2, 2, -1])]

    check(monkeypatch, build, random(2, 8, 8, 4), random(3, 3, 4, 6))
    assert not folded


def test_what_is_read_elsewhere_stays_a_result(monkeypatch, folded):
    """The convolution, or the sum, has two readers; another activation follows."""

    def build(x, w, b):
        y = tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME")
        first = tf.nn.relu(tf.nn.bias_add(y, b))
        total = tf.nn.bias_add(tf.nn.conv2d(x, w + 1, [1, 1, 1, 1], "SAME"), b)
        third = tf.nn.bias_add(tf.nn.conv2d(x, w + 2, [1, 1, 1, 1], "SAME"), b)
        return [first, y, tf.nn.relu(total), total, tf.tanh(third) * 2]

    check(monkeypatch, build, random(2, 8, 8, 4), random(3, 3, 4, 6), random(6))
    assert not any(args[2].limits[:2] == (0.0, np.inf) for args in folded)


def test_other_forms_run_node_by_node(monkeypatch, folded):
    """Few numbers for one output channel, groups, double precision, channels first."""

    def build(x, w):
        one = tf.nn.bias_add(tf.nn.conv2d(x, w[:2, :2, :, :1], [1, 1, 1, 1], "SAME"), [0.5])
        groups = tf.nn.bias_add(tf.nn.conv2d(x, w[:, :, :2], [1, 1, 1, 1], "SAME"), [0.5] * 6)
        exact = tf.nn.conv2d(tf.cast(x, tf.float64), tf.cast(w, tf.float64), [1, 1, 1, 1], "SAME")
        exact = tf.nn.bias_add(exact, tf.constant([0.5] * 6, tf.float64))
        return [tf.nn.relu(y) for y in (one, groups, exact)]

    check(monkeypatch, build, random(2, 8, 8, 4), random(3, 3, 4, 6))
    assert not folded


@pytest.mark.parametrize("shapes", [((2, 5, 5, 3), (3, 3, 4, 6)), ((2, 5, 5, 3), (3, 3, 3, 5))])
def test_errors_are_those_of_the_nodes(shapes):
    """Depths that differ, and a bias of another length."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, w, b = (tf.placeholder(tf.float32) for _ in range(3))
        y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"), b))
        good = {x: random(2, 5, 5, 3), w: random(3, 3, 3, 6), b: random(6)}
        for _ in range(4):
            session.run(y, good)
            HELPER.wait()
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(y, {x: random(*shapes[0]), w: random(*shapes[1]), b: random(6)})
        session.run(y, good)


def test_a_variable_that_changes_in_between_is_read_before():
    """The filter is assigned behind the convolution, before its bias is added."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2, 6, 6, 3])
        w = tf.get_variable("w", initializer=tf.ones([3, 3, 3, 8]))
        y = tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME")
        with tf.control_dependencies([y]):
            change = tf.assign_add(w, tf.ones([3, 3, 3, 8]))
        with tf.control_dependencies([change]):
            bias = tf.identity(tf.constant([0.25] * 8))
        z = tf.nn.relu(tf.nn.bias_add(y, bias))
        session.run(tf.global_variables_initializer())
        for step in range(1, 8):
            value = np.ones((2, 6, 6, 3), np.float32)
            found = session.run(z, {x: value})
            HELPER.wait()
            assert found[0, 3, 3, 0] == 27 * step + 0.25


def test_threads_and_loops(monkeypatch):
    """A convolution in a loop, whose registers change in each iteration."""

    def build(x, w, b):
        def body(i, y):
            return i + 1, tf.nn.relu(
                tf.nn.bias_add(tf.nn.conv2d(y, w, [1, 1, 1, 1], "SAME"), b)
            ) * 0.1

        return tf.while_loop(
            lambda i, _: i < 5, body, [0, x],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([None] * 4)],
        )[1:]  # fmt: skip

    check(monkeypatch, build, random(2, 20, 20, 24), random(3, 3, 24, 24), random(24))


FOLLOWING = {
    "nothing": lambda y, b, *given: tf.transpose(y),
    "relu": lambda y, b, *given: tf.transpose(tf.nn.relu(y)),
    "bias": lambda y, b, *given: tf.transpose(tf.nn.bias_add(y, b)),
    "bias and relu": lambda y, b, *given: tf.transpose(tf.nn.relu(tf.nn.bias_add(y, b))),
    "bias and tanh": lambda y, b, *given: tf.transpose(tf.tanh(tf.nn.bias_add(y, b))),
}
NORMED = {
    "norm": lambda y, b, *given: tf.transpose(norm(y, *given)),
    "bias, norm, relu6": lambda y, b, *given: tf.transpose(
        tf.nn.relu6(norm(tf.nn.bias_add(y, b), *given))
    ),
}


DILATED = [
    ((1, 33, 33, 20), (3, 3, 20, 37), (6, 6)), ((2, 20, 4), (2, 4, 32), (4,)),
    ((2, 19, 17, 3), (3, 3, 3, 5), (2, 3)), ((2, 9, 17, 8), (1, 2, 8, 9), (1, 4)),
    ((3, 12, 11, 8), (3, 2, 8, 9), (4, 1)), ((2, 13, 12, 3), (4, 2, 3, 16), (3, 9)),
    ((3, 21, 32), (3, 32, 32), (8,)), ((0, 20, 4), (2, 4, 32), (4,)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "padding"), [(None, "SAME"), (np.nan, "VALID"), (np.inf, "SAME")]
)
@pytest.mark.parametrize(
    ("shape", "kernel", "rate", "follows"),
    [
        *[(*DILATED[0], follows) for follows in [*FOLLOWING, *NORMED]],
        *[(*DILATED[1], follows) for follows in FOLLOWING],
        *[(*case, "bias and relu") for case in DILATED[2:]],
    ],
)
def test_a_dilated_convolution_is_one_pass(
    monkeypatch, folded, shape, kernel, rate, follows, padding, value
):
    """Images and lines, blocks that do not divide the size, numbers of all kinds."""

    def build(x, w, b, *given):
        x.set_shape([None, *shape[1:]])
        w.set_shape(kernel)
        y = tf.nn.convolution(x, w, padding, dilation_rate=rate)
        return [(FOLLOWING | NORMED)[follows](y, b, *given)]

    arrays = [
        random(*shape, value=value if shape[0] else None), random(*kernel), random(kernel[-1]),
        *vectors(kernel[-1]),
    ]  # fmt: skip
    with np.errstate(all="ignore"):
        ways = three_ways(monkeypatch, build, *arrays)
    for one, other, defined in ways:
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        # The nodes may transform images, or use products of matrices: sums are rounded otherwise.
        np.testing.assert_allclose(one, other, 1e-3, 1e-3)
        np.testing.assert_allclose(one, defined, 1e-3, 1e-3)
    assert bool(folded) == bool(shape[0])


@pytest.mark.parametrize("rate", [(2, 2), (3, 4)])
@pytest.mark.parametrize("multiplier", [1, 2])
def test_a_dilated_depthwise_convolution_is_one_pass(monkeypatch, folded, rate, multiplier):
    """Its sums have the bits of the three nodes."""

    def build(x, w, b):
        x.set_shape([None, 17, 15, 20])
        w.set_shape([3, 3, 20, multiplier])
        y = tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME", rate=rate)
        return [tf.transpose(tf.nn.relu6(tf.nn.bias_add(y, b)))]

    check(
        monkeypatch, build, random(2, 17, 15, 20), random(3, 3, 20, multiplier),
        random(20 * multiplier),
    )  # fmt: skip
    assert folded


@pytest.mark.parametrize(
    ("block", "paddings", "block_after", "crops", "is_one"),
    [
        ([2, 2], [[1, 1], [0, 2]], [2, 2], [[0, 1], [0, 2]], True),
        ([2], [[1, 1]], [2], [[1, 0]], True),
        ([2, 2], [[1, 1], [0, 0]], [2, 2], [[0, 2], [1, 1]], False),  # crops beyond the paddings
        ([2, 1], [[0, 0], [0, 0]], [1, 2], [[0, 0], [0, 0]], False),  # another block
        ([2, 2], [[0, 0], [0, 0]], [4], [[0, 0]], False),  # a block of another length
        ([2, 2], [[0, 1], [0, 0]], [2, 2], [[0, 0], [0, 0]], None),  # does not divide the size
        ([2, 2], [[0, 0], [0, 0]], [2, 2], [[5, 6], [0, 0]], None),  # nothing is left
        ([8, 8], [[0, 0], [0, 0]], [8, 8], [[0, 0], [0, 0]], False),  # empty
    ],
)
def test_blocks_that_are_no_dilation_run_as_nodes(
    folded, block, paddings, block_after, crops, is_one
):
    """Same values as without routines, or the same error."""

    def build(x, w):
        inside = tf.space_to_batch_nd(x, block, paddings)
        y = tf.nn.conv2d(inside, w, [1, 1, 1, 1], "VALID")
        return tf.transpose(
            tf.raw_ops.BatchToSpaceND(input=y, block_shape=block_after, crops=crops)
        )

    arrays = random(2, 8, 8, 5), random(2, 2, 5, 7)
    if is_one is None:
        messages = []
        for steps in (5, 1):
            with pytest.raises(tf.errors.OpError) as error:
                run(build, *arrays, steps=steps)
            messages.append(error.value.message)
        assert messages[0] == messages[1]
    else:
        found = run(build, *arrays)
        with without_routines():
            defined = run(build, *arrays, steps=2)
        np.testing.assert_allclose(found, defined, 1e-5, 1e-5)
    assert bool(folded) == bool(is_one)


def test_blocks_with_another_reader_run_as_nodes(folded):
    """The images in blocks are a result, too."""

    def build(x, w):
        inside = tf.space_to_batch_nd(x, [2, 2], [[0, 0], [0, 0]])
        y = tf.nn.conv2d(inside, w, [1, 1, 1, 1], "VALID")
        return [inside, tf.transpose(tf.batch_to_space_nd(y, [2, 2], [[0, 0], [0, 0]]))]

    arrays = random(2, 8, 8, 5), random(2, 2, 5, 7)
    found = run(build, *arrays)
    with without_routines():
        defined = run(build, *arrays, steps=2)
    for one, other in zip(found, defined, strict=True):
        np.testing.assert_allclose(one, other, 1e-5, 1e-5)
    assert not folded
