"""Generators whose state is a variable: keeping, setting, sharing.

Numbers are in function_rows.py.
"""

from __future__ import annotations

import pytest

import tfnb as tf

Generator = tf.random.Generator


def test_draws_of_several_steps_go_on() -> None:
    """Two steps continue the blocks of one sequence; a reset begins anew."""
    with tf.Graph().as_default(), tf.Session() as session:
        generator = Generator.from_seed(3)
        numbers = generator.uniform([4])
        reset = generator.reset_from_seed(3)
        session.run(tf.global_variables_initializer())
        first, second = session.run(numbers).tolist(), session.run(numbers).tolist()
        session.run(reset)
        assert session.run(numbers).tolist() == first != second
        session.run(generator.reset_from_key_counter(7, [1, 2]))
        assert session.run([generator.state, generator.key])[0].tolist() == [1, 2, 7]
        assert generator.algorithm == 1


def test_a_copy_begins_where_the_other_began() -> None:
    """The copy has the same state; the graph's global generator is made once."""
    with tf.Graph().as_default(), tf.Session() as session:
        one = Generator.from_seed(5)
        other = Generator(copy_from=one)
        assert tf.random.get_global_generator() is tf.random.get_global_generator()
        tf.random.set_global_generator(one)
        assert tf.random.get_global_generator() is one
        session.run(tf.global_variables_initializer())
        assert session.run(one.normal([2])).tolist() == session.run(other.normal([2])).tolist()


def test_what_cannot_be_done_is_said() -> None:
    """A missing state, unknown algorithms, integers without a limit, and splits are refused."""
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="needs `state`"):
            Generator()
        with pytest.raises(ValueError, match="Philox only"):
            Generator.from_seed(1, "threefry").normal([2])
        with pytest.raises(ValueError, match="Must specify maxval"):
            Generator.from_seed(1).uniform([2], dtype=tf.int32)
        with pytest.raises(NotImplementedError, match="make_seeds"):
            Generator.from_seed(1).split(2)
