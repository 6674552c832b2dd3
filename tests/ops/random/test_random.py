"""Random numbers: seeds, sequences, and public functions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import tfnb as tf
from tfnb.ops.random import random_distributions as distributions
from tfnb.ops.random.philox import GuardedPhilox, Philox


def test_philox_is_the_published_generator():
    """The known answers for zeros and for all bits set are right."""
    assert Philox(0, 0).block() == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    full = Philox(2**64 - 1, 2**128 - 1).block()
    assert full == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)


def test_blocks_do_not_depend_on_how_many_are_asked_for():
    """Single numbers, few and many give the same sequence."""
    start = Philox(12345, 2**64 - 2)  # the counter's low half overflows on the way
    many = start.blocks(np, 20_000)
    assert start.blocks(np, 3).tolist() == many[:3].tolist()
    assert [list(start.skip(i).block()) for i in range(5)] == many[:5].tolist()
    assert start.skip(19_990).blocks(np, 10).tolist() == many[19_990:].tolist()


def test_a_generator_gives_every_stretch_once():
    """The second caller begins where the first one's numbers end."""
    generator = GuardedPhilox(1, 2)
    first, second = generator.reserve_blocks(10), generator.reserve_outputs(3)
    assert second == first.skip(10)
    assert generator.reserve_blocks(1) == second.skip(3 * 256)


def test_numbers_drawn_ahead_are_those_of_single_calls():
    """Equal calls draw ahead; another size or distribution continues the sequence."""

    def uniform(source, count):
        return distributions.uniform(np, source, count, tf.float32)

    def normal(source, count):
        return distributions.normal(np, source, count, tf.float64)

    ahead, single = GuardedPhilox(1, 2), GuardedPhilox(1, 2)
    drawn = []
    for count, per_block, draw, calls in (
        (5, 4, uniform, 30),
        (5, 2, normal, 7),
        (0, 4, uniform, 6),
        (1000, 4, uniform, 21),
        (1, 2, normal, 25),
    ):
        for _ in range(calls):
            numbers = ahead.draw(count, per_block, draw, draw)
            np.testing.assert_array_equal(numbers, draw(single.reserve_outputs(count), count))
            drawn.append(bool(ahead._ahead))
        assert ahead.reserve_blocks(3) == single.reserve_blocks(3)
    assert any(drawn), "no call drew ahead"


def test_no_seed_is_another_one_each_time():
    """Two generators without seeds differ."""
    assert GuardedPhilox(0, 0).reserve_blocks(1) != GuardedPhilox(0, 0).reserve_blocks(1)


def test_two_sessions_have_the_same_sequence_and_a_session_goes_on():
    """Seeds determine the sequence; a second run continues it."""
    with tf.Graph().as_default():
        x = tf.random_uniform([3], seed=7)
        with tf.Session() as one, tf.Session() as two:
            first, second = one.run(x), one.run(x)
            assert first.tolist() == two.run(x).tolist()
            assert first.tolist() != second.tolist()
            assert second.tolist() == two.run(x).tolist()


def test_numbers_without_any_seed_differ_between_sessions():
    """Neither the graph nor the op has a seed."""
    with tf.Graph().as_default():
        x = tf.random_normal([4])
        with tf.Session() as one, tf.Session() as two:
            assert one.run(x).tolist() != two.run(x).tolist()


def test_a_graphs_seed_gives_each_op_its_own():
    """The same program gives the same numbers; two ops of it differ."""

    def run():
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(42)
            return [v.tolist() for v in session.run([tf.random_uniform([2])] * 1)], [
                v.tolist() for v in session.run([tf.random_uniform([2]), tf.random_uniform([2])])
            ]

    first, second = run(), run()
    assert first == second
    assert first[1][0] != first[1][1]


def test_seeds_are_combined_as_tensorflow_combines_them():
    """The pairs of seeds of a graph's ops are compared."""
    with tf.Graph().as_default():
        assert tf.get_seed(None) == (None, None)
        assert tf.get_seed(5) == (87654321, 5)
        tf.set_random_seed(3)
        assert [tf.get_seed(None), tf.get_seed(None), tf.get_seed(9)] == [(3, 0), (3, 1), (3, 9)]
        tf.set_random_seed(0)
        assert tf.get_seed(0) == (0, 2**31 - 1)


@pytest.mark.parametrize(
    ("make", "mean", "deviation"),
    [
        (lambda: tf.random_uniform([20_000], 2.0, 4.0, seed=1), 3.0, 2 / 12**0.5),
        (lambda: tf.random_normal([20_000], 1.0, 2.0, seed=1), 1.0, 2.0),
        (lambda: tf.truncated_normal([20_000], 1.0, 2.0, seed=1), 1.0, 2 * 0.8796),
        (lambda: tf.random_gamma([20_000], 2.0, 4.0, seed=1), 0.5, 0.5 / 2**0.5),
        (lambda: tf.random_poisson(6.0, [20_000], seed=1), 6.0, 6**0.5),
        (lambda: tf.random_poisson(60.0, [20_000], seed=1), 60.0, 60**0.5),
        (lambda: tf.random.stateless_normal([20_000], [1, 2]), 0.0, 1.0),
        (lambda: tf.random.stateless_uniform([20_000], [1, 2], 1.0, 3.0), 2.0, 2 / 12**0.5),
        (lambda: tf.random.stateless_binomial([20_000], [1, 2], 40.0, 0.5), 20.0, 10**0.5),
    ],
)
def test_distributions_have_their_moments(make, mean, deviation):
    """Mean and standard deviation of twenty thousand numbers are checked."""
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(make())
    assert abs(found.mean() - mean) < 5 * deviation / 20_000**0.5
    assert abs(found.std() / deviation - 1) < 0.03


def test_truncated_numbers_stay_within_two_deviations():
    """No number is further away."""
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(tf.truncated_normal([10_000], 5.0, 0.5, seed=3))
    assert found.min() >= 4.0
    assert found.max() <= 6.0


def test_uniform_integers_need_an_upper_limit():
    """The message is TensorFlow's."""
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(ValueError, match="Must specify maxval for integer dtype"):
            tf.random_uniform([2], dtype=tf.int32)
        with pytest.raises(ValueError, match="got invalid value"):
            tf.random_uniform([2], dtype=tf.string)
        found = session.run(tf.random_uniform([1000], -2, 3, tf.int64, seed=1))
        assert set(found.tolist()) == {-2, -1, 0, 1, 2}


def test_classes_come_with_their_chances():
    """Multinomial takes logits; impossible classes never occur."""
    with tf.Graph().as_default(), tf.Session() as session:
        logits = tf.log([[0.2, 0.0, 0.8]])
        found = session.run(tf.multinomial(logits, 5000, seed=1))
        assert found.dtype == np.int64
        counts = np.bincount(found[0], minlength=3) / 5000
        np.testing.assert_allclose(counts, [0.2, 0.0, 0.8], atol=0.03)
        assert session.run(tf.random.categorical(logits, 2, dtype=tf.int32)).dtype == np.int32
        with pytest.raises(ValueError, match="Accepted dtypes are"):
            tf.random.categorical(logits, 2, dtype=tf.float32)


def test_shuffling_keeps_every_row():
    """Rows are permuted as a whole."""
    with tf.Graph().as_default(), tf.Session() as session:
        rows = np.arange(20).reshape(10, 2)
        found = session.run(tf.random_shuffle(rows, seed=1))
        assert sorted(map(tuple, found.tolist())) == list(map(tuple, rows.tolist()))
        assert found.tolist() != rows.tolist()


def test_nodes_are_named_as_tensorflow_names_them():
    """The names in the graph of each function are compared."""
    with tf.Graph().as_default() as graph:
        tf.random_normal([2])
        tf.random_uniform([2], 1.0, 3.0)
        tf.random_uniform([2])
        names = [op.name for op in graph.get_operations()]
    assert names == [
        *(f"random_normal/{n}" for n in ("shape", "mean", "stddev", "RandomStandardNormal", "mul")),
        "random_normal",
        *(f"random_uniform/{n}" for n in ("shape", "min", "max", "RandomUniform", "sub", "mul")),
        "random_uniform",
        "random_uniform_1/shape",
        "random_uniform_1/RandomUniform",
    ]


def test_seeds_split_and_fold():
    """New seeds are derived from old ones."""
    with tf.Graph().as_default(), tf.Session() as session:
        seeds = session.run(tf.random.split([1, 2], 3))
        assert seeds.shape == (3, 2)
        assert session.run(tf.random.fold_in([1, 2], 7))[1] == 7
        with pytest.raises(ValueError, match="unsupported value"):
            tf.random.stateless_uniform([2], [1, 2], alg="threefry")


@pytest.mark.slow
def test_the_gradient_of_a_gamma_sample_by_alpha():
    """The derivative is that of the inverse distribution function at a fixed quantile."""
    with tf.Graph().as_default(), tf.Session() as session:
        alpha = tf.constant([0.7, 3.0], tf.float64)
        sample = tf.random_gamma([4], alpha, dtype=tf.float64, seed=5)
        (grad,) = tf.gradients(sample, alpha)
        values, found = session.run([sample, grad])
    step = 1e-5
    for column, a in enumerate((0.7, 3.0)):
        quantiles = stats.gamma.cdf(values[:, column], a)
        above, below = (stats.gamma.ppf(quantiles, a + d) for d in (step, -step))
        np.testing.assert_allclose(found[column], ((above - below) / 2 / step).sum(), 1e-4)
