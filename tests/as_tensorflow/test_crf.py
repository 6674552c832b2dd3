"""`tf.contrib.crf` against an enumeration of all sequences of tags."""

from __future__ import annotations

import importlib
import itertools
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("as_tensorflow")

_TAGS = 3
_TRANSITIONS = np.float32([[0.5, -1, 0.3], [0.2, 0.1, -0.7], [-0.4, 0.9, 0.6]])


@pytest.fixture
def tf() -> Any:
    """Return TensorFlow as a program gets it, with a graph of the test's own as the default."""
    tf = importlib.import_module("tensorflow")
    with tf.Graph().as_default():
        yield tf


def _inputs(steps: int) -> Any:
    return np.sin(np.arange(3 * steps * _TAGS, dtype=np.float32)).reshape(3, steps, _TAGS)


def _score(inputs: Any, tags: Any) -> float:
    alone = sum(inputs[step, tag] for step, tag in enumerate(tags))
    return float(alone + sum(_TRANSITIONS[a, b] for a, b in itertools.pairwise(tags)))


def _all(inputs: Any, length: int) -> dict[tuple[int, ...], float]:
    every = itertools.product(range(_TAGS), repeat=length)
    return {tags: _score(inputs, tags) for tags in every}


def _given(tf: Any, values: Any, known: bool) -> Any:
    shape = values.shape if known else [None, None, _TAGS]
    return tf.placeholder_with_default(values, shape)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("steps", [1, 4])
def test_likelihoods_are_shares_of_all_sequences(tf: Any, steps: int, known: bool) -> None:
    """Of a sequence's own length, and 0 where that is 0; with one step and with unknown shapes."""
    inputs, lengths = _inputs(steps), [steps, max(steps - 1, 1), 0]
    tags = np.int32([[2, 0, 1, 1], [1, 1, 2, 0], [0, 0, 0, 0]])[:, :steps]
    found, _ = tf.contrib.crf.crf_log_likelihood(
        _given(tf, inputs, known), tags, lengths, tf.constant(_TRANSITIONS)
    )
    with tf.Session() as session:
        got = session.run(found)

    for row, length in enumerate(lengths[:2]):
        scores = _all(inputs[row], length)
        total = np.log(np.sum(np.exp(list(scores.values()))))
        want = scores[tuple(tags[row, :length].tolist())] - total
        assert got[row] == pytest.approx(want, abs=1e-5)
    assert got[2] == 0


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("steps", [1, 4])
def test_decoding_finds_the_best_sequence(tf: Any, steps: int, known: bool) -> None:
    """In the graph, and in arrays."""
    inputs, lengths = _inputs(steps), [steps, max(steps - 1, 1), steps]
    crf = tf.contrib.crf
    found = crf.crf_decode(_given(tf, inputs, known), tf.constant(_TRANSITIONS), lengths)
    with tf.Session() as session:
        tags, best = session.run(found)

    for row, length in enumerate(lengths):
        scores = _all(inputs[row], length)
        want = max(scores, key=lambda one: scores[one])
        assert tuple(tags[row, :length].tolist()) == want
        assert best[row] == pytest.approx(scores[want], abs=1e-5)
        own, score = crf.viterbi_decode(inputs[row, :length], _TRANSITIONS)
        assert tuple(own) == want
        assert score == pytest.approx(scores[want], abs=1e-5)


def test_scores_of_several_tags_sum_the_allowed_sequences(tf: Any) -> None:
    """In logarithms."""
    inputs = _inputs(3)
    allowed = np.array([[1, 0, 1], [1, 1, 1], [0, 1, 1]], bool)
    bitmap = np.broadcast_to(allowed, (3, 3, 3))
    found = tf.contrib.crf.crf_multitag_sequence_score(
        tf.constant(inputs), tf.constant(bitmap), [3, 3, 3], tf.constant(_TRANSITIONS)
    )
    with tf.Session() as session:
        got = session.run(found)

    for row in range(3):
        kept = [
            score
            for tags, score in _all(inputs[row], 3).items()
            if all(allowed[step, tag] for step, tag in enumerate(tags))
        ]
        assert got[row] == pytest.approx(np.log(np.sum(np.exp(kept))), abs=1e-5)


def test_transitions_are_learned(tf: Any) -> None:
    """The variable is called "transitions", and the likelihood of the data grows."""
    inputs, tags = _inputs(4), np.int64([[0, 1, 2, 0], [1, 2, 0, 1], [2, 0, 1, 2]])
    likelihood, made = tf.contrib.crf.crf_log_likelihood(tf.constant(inputs), tags, [4, 4, 4])
    assert made.op.name == "transitions"
    loss = -tf.reduce_mean(likelihood)
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(loss)
        for _ in range(10):
            session.run(train)
        assert session.run(loss) < before / 2
