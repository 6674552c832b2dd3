"""`tf.contrib.training`: batches by length and samples by class."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("as_tensorflow")


@pytest.fixture
def tf() -> Any:
    """Return TensorFlow as a program gets it, with a graph of the test's own as the default."""
    tf = importlib.import_module("tensorflow")
    with tf.Graph().as_default():
        tf.set_random_seed(5)
        yield tf


def _all(tf: Any, fetches: Any, most: int = 1000) -> list[Any]:
    """Return what a session gets until the queues are at their end."""
    found: list[Any] = []
    with tf.train.MonitoredSession() as session:
        while not session.should_stop() and len(found) < most:
            found.append(session.run(fetches))
    return found


def test_sequences_are_batched_with_those_of_their_length(tf: Any) -> None:
    """Padded to the longest of the batch; the remaining ones form smaller batches."""
    (number,) = tf.train.slice_input_producer([tf.range(1, 13)], num_epochs=1, shuffle=False)
    lengths, found = tf.contrib.training.bucket_by_sequence_length(
        number, {"row": tf.fill([number], number)}, 3, [4, 8], dynamic_pad=True,
        allow_smaller_final_batch=True, bucket_capacities=[8, 8, 8],
    )  # fmt: skip
    batches = _all(tf, (lengths, found["row"]))

    seen = sorted(int(one) for sizes, _ in batches for one in sizes)
    assert seen == list(range(1, 13))
    for sizes, rows in batches:
        assert len({int(np.digitize(one, [4, 8])) for one in sizes}) == 1
        assert rows.shape == (len(sizes), sizes.max())
        for size, row in zip(sizes, rows, strict=True):
            assert row.tolist() == [size] * size + [0] * (len(row) - size)


def test_buckets_have_batch_sizes_of_their_own_and_elements_are_filtered(tf: Any) -> None:
    """Even numbers in pairs, odd ones alone, and large ones not at all."""
    (number,) = tf.train.slice_input_producer([tf.range(10)], num_epochs=1, shuffle=False)
    which, values = tf.contrib.training.bucket(number, number % 2, [2, 1], 2, keep_input=number < 8)
    batches = _all(tf, (which, values))

    assert sorted(tuple(values.tolist()) for which, values in batches if which == 0) == [
        (0, 2), (4, 6),
    ]  # fmt: skip
    assert sorted(tuple(values.tolist()) for which, values in batches if which == 1) == [
        (1,), (3,), (5,), (7,),
    ]  # fmt: skip


def test_sparse_elements_are_batched(tf: Any) -> None:
    """With one more dimension."""
    (number,) = tf.train.slice_input_producer([tf.range(4)], num_epochs=1, shuffle=False)
    index = tf.cast(tf.reshape(number, [1, 1]), tf.int64)
    sparse = tf.SparseTensor(index, tf.reshape(number, [1]), [4])
    _, found = tf.contrib.training.bucket([sparse, number], 0, 4, 1)
    (batch,) = _all(tf, found)

    assert batch[0].indices.tolist() == [[row, row] for row in range(4)]
    assert batch[1].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"bucket_boundaries": []}, ValueError, "empty"),
        ({"bucket_boundaries": [3, 3]}, ValueError, "increasing"),
        ({"bucket_boundaries": [1.5]}, TypeError, "integers"),
        ({"bucket_boundaries": 3}, TypeError, "list or tuple"),
        ({"batch_size": [1, 2, 3]}, ValueError, "num_buckets elements"),
        ({"bucket_capacities": [1]}, ValueError, "bucket_capacities"),
        ({"tensors": []}, ValueError, "at least one"),
    ],
)
def test_buckets_that_do_not_fit_are_refused(
    tf: Any, change: dict[str, Any], error: type[Exception], says: str
) -> None:
    """Before a queue is made."""
    given = {"input_length": 1, "tensors": [1], "batch_size": 2, "bucket_boundaries": [3]}
    with pytest.raises(error, match=says):
        tf.contrib.training.bucket_by_sequence_length(**{**given, **change})


@pytest.mark.parametrize("known", [True, False])
def test_classes_without_a_share_are_rejected(tf: Any, known: bool) -> None:
    """Whether the shares in the data are known or estimated; labels go with their elements."""
    labels = tf.constant([0, 1, 2, 1] * 4)
    (value,), label = tf.contrib.training.stratified_sample(
        [labels * 10], labels, [0.5, 0.0, 0.5], 8,
        init_probs=[0.25, 0.5, 0.25] if known else None, enqueue_many=True,
    )  # fmt: skip
    batches = _all(tf, (value, label), most=6)

    seen = np.concatenate([label for _, label in batches])
    assert set(seen.tolist()) <= {0, 2}
    for values, found in batches:
        np.testing.assert_array_equal(values, found * 10)


def test_shares_that_do_not_sum_to_one_are_refused_when_run(tf: Any) -> None:
    """And a class that is wanted but not there."""
    sample = tf.contrib.training.stratified_sample
    _, label = sample([[1]], 1, [0.5, 0.7], 2, init_probs=[0.5, 0.5])
    with pytest.raises(tf.errors.InvalidArgumentError):
        _all(tf, label, most=1)
    with pytest.raises(ValueError, match="same length"):
        sample([[1]], 1, [0.5, 0.5], 2, init_probs=[1.0])


def test_rejection_keeps_what_its_function_accepts(tf: Any) -> None:
    """With probabilities of 0 and 1."""
    (number,) = tf.train.slice_input_producer([tf.range(12)], num_epochs=1, shuffle=False)
    (found,) = tf.contrib.training.rejection_sample(
        [number], lambda one: tf.cast(one[0] % 3 < 2, tf.float32), 4, runtime_checks=True
    )
    assert [one.tolist() for one in _all(tf, found)] == [[0, 1, 3, 4], [6, 7, 9, 10]]


def test_rows_are_resampled_by_their_rates(tf: Any) -> None:
    """A rate of 0 drops a row; a large one repeats it; rates come along."""
    training = tf.contrib.training
    (rows,) = training.resample_at_rate([tf.constant([5, 6, 7])], [0.0, 50.0, 0.0], seed=1)
    (kept,), rates = training.weighted_resample(
        [tf.constant([1, 2])], tf.constant([0.0, 2.0]), 30.0, seed=2
    )
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        assert set(session.run(rows).tolist()) == {6}
        values, used = session.run([kept, rates])
    assert set(values.tolist()) == {2}
    np.testing.assert_allclose(used, 60.0, rtol=1e-4)
