"""tf.random.experimental.index_shuffle; its numbers are in tests/golden/single_calls."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf


@pytest.mark.parametrize("largest", [1, 5, 2047, 2048, 5000])
def test_all_places_are_taken_once(largest: int) -> None:
    """Tables and ciphers are permutations; scalars and vectors of indices agree."""
    with tf.Graph().as_default():
        whole = tf.random.experimental.index_shuffle(tf.range(largest + 1), [3, 4], largest)
        one = tf.random.experimental.index_shuffle(1, [3, 4], largest)
        found, single = tf.Session().run([whole, one])
    assert sorted(found) == list(range(largest + 1))
    assert single == found[1]


@pytest.mark.parametrize("rounds", [-4, 0, 2, 5])
def test_rounds_without_keys_are_refused(rounds: int) -> None:
    """TensorFlow reads keys outside of its memory there."""
    with tf.Graph().as_default():
        place = tf.raw_ops.RandomIndexShuffle(index=1, seed=[1, 2, 3], max_index=9, rounds=rounds)
        with pytest.raises(tf.errors.InvalidArgumentError, match="rounds must be even, and 4 at"):
            tf.Session().run(place)


def test_one_element_of_a_dataset_at_a_time() -> None:
    """A pipeline shuffles indices that it never holds in memory."""
    with tf.Graph().as_default():
        numbers = tf.data.Dataset.range(10).map(
            lambda index: tf.random.experimental.index_shuffle(index, [5, 8], 9)
        )
        following = tf.data.make_one_shot_iterator(numbers).get_next()
        with tf.Session() as session:
            found = [session.run(following) for _ in range(10)]
    # The numbers are those of TensorFlow's documentation.
    assert np.array(found).tolist() == [3, 8, 0, 1, 2, 7, 6, 9, 4, 5]
