"""Pipelines of datasets are built, and give elements, as in TensorFlow.

The programs are in dataset_scenarios.py, TensorFlow's answers in golden/datasets.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tfnb as tf
from tests.library.data.dataset_scenarios import ITERATORS, PIPELINES, answer_of_pipeline
from tests.ops.waiting.pipeline_scenarios import answer_of_run
from tfnb.framework.functions.function import Defun

_GOLDEN = Path(__file__).parents[2] / "golden" / "datasets.json"
_ANSWERS: dict[str, Any] = json.loads(_GOLDEN.read_text())


@pytest.mark.parametrize("name", sorted(PIPELINES))
def test_pipeline_is_built_and_answers_as_in_tensorflow(name: str) -> None:
    """Nodes, types, shapes, cardinality and elements are equal, or the error."""
    actual = json.loads(json.dumps(answer_of_pipeline(tf, PIPELINES[name])))
    assert _ANSWERS[name] == actual


@pytest.mark.parametrize("name", sorted(ITERATORS))
def test_iterator_answers_as_in_tensorflow(name: str) -> None:
    """Values and errors equal TensorFlow's."""
    actual = json.loads(json.dumps(answer_of_run(tf, ITERATORS[name])))
    assert _ANSWERS[f"run:{name}"] == actual


@pytest.mark.parametrize("word", ["quux", "True", ""])
@pytest.mark.parametrize("is_dead", [False, True])
def test_a_policy_of_determinism_is_one_of_three_words(word: str, is_dead: bool) -> None:
    """Another word is refused when the kernel is made, even if no element is requested."""

    def batches() -> Any:
        source = tf.data.Dataset.range(3)._variant_tensor
        variant = tf.raw_ops.ParallelBatchDataset(
            input_dataset=source,
            batch_size=tf.constant(2, tf.int64),
            num_parallel_calls=tf.constant(1, tf.int64),
            drop_remainder=False,
            output_types=[tf.int64],
            output_shapes=[[None]],
            deterministic=word,
        )
        return tf.raw_ops.DatasetCardinality(input_dataset=variant)

    with tf.Graph().as_default(), tf.Session() as session:
        wanted = tf.placeholder(tf.bool, [])
        count = tf.cond(wanted, batches, lambda: tf.constant(7, tf.int64))
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"policy: {word}"):
            session.run(count, {wanted: not is_dead})


def test_a_parallel_filter_keeps_the_order():
    """Optimizers make this op; the number of calls must be positive or automatic."""
    with tf.Graph().as_default(), tf.Session() as session:

        @Defun(tf.int64)
        def is_odd(x):
            return tf.equal(x % 2, 1)

        def first_two(calls):
            variant = tf.raw_ops.ParallelFilterDataset(
                input_dataset=tf.data.Dataset.range(9)._variant_tensor,
                other_arguments=[],
                num_parallel_calls=tf.constant(calls, tf.int64),
                predicate=is_odd,
                output_types=[tf.int64],
                output_shapes=[[]],
            )
            dataset = tf.data.experimental.from_variant(variant, tf.TensorSpec([], tf.int64))
            element = tf.data.make_initializable_iterator(dataset.skip(1).batch(2))
            session.run(element.initializer)
            return session.run(element.get_next()).tolist()

        assert first_two(2) == first_two(-1) == [3, 5]
        with pytest.raises(tf.errors.InvalidArgumentError, match="greater than zero"):
            first_two(0)


def test_an_interrupt_takes_no_element_from_a_pair():
    """The element beside the interrupted one comes in the next call."""
    calls = iter([0, KeyboardInterrupt, 0, 0])

    def look(value: Any) -> Any:
        if next(calls):
            raise KeyboardInterrupt
        return value

    numbers = tf.data.Dataset.range(3)
    looked = numbers.map(lambda x: tf.py_func(look, [x], tf.int64, stateful=True))
    pair = tf.data.make_one_shot_iterator(tf.data.Dataset.zip((numbers, looked))).get_next()
    with tf.Session() as sess:
        assert sess.run(pair) == (0, 0)
        with pytest.raises(KeyboardInterrupt):
            sess.run(pair)
        assert [sess.run(pair) for _ in range(2)] == [(1, 1), (2, 2)]


def test_a_generator_may_give_ranges() -> None:
    """As lists of their numbers."""
    with tf.Graph().as_default(), tf.Session() as session:
        made = tf.data.Dataset.from_generator(lambda: iter([range(3), range(0)]), tf.int64, [None])
        element = tf.data.make_one_shot_iterator(made).get_next()
        assert session.run(element).tolist() == [0, 1, 2]
        assert session.run(element).tolist() == []


def test_rows_of_sparse_batches_have_no_negative_size() -> None:
    """The error is that of a shape."""
    with tf.Graph().as_default():
        made = tf.data.Dataset.from_tensors([[1]])
        with pytest.raises(ValueError, match="Dimension -2 must be >= 0"):
            made.apply(tf.data.experimental.dense_to_sparse_batch(4, [-2]))
