"""Sizes of candidate samplers that memory does not hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfnb as tf

R = tf.raw_ops
CLASSES = np.int64([[1]])


@pytest.mark.parametrize(
    "sampler",
    [
        R.UniformCandidateSampler,
        R.LogUniformCandidateSampler,
        R.LearnedUnigramCandidateSampler,
        R.AllCandidateSampler,
    ],
)
def test_a_number_of_samples_beyond_memory_is_refused_at_once(sampler: Any) -> None:
    """Nothing is drawn."""
    ranges = {} if sampler is R.AllCandidateSampler else {"range_max": 5}
    with tf.Graph().as_default(), tf.Session() as session:
        found = sampler(true_classes=CLASSES, num_true=1, num_sampled=2**50, unique=False, **ranges)
        with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM"):
            session.run(found)


def test_classes_that_are_counted_are_limited() -> None:
    """TensorFlow's process ends beyond 2**31 - 2; below it, the limit of the step applies."""
    for limit, error, says in (
        (2**31 - 1, tf.errors.InvalidArgumentError, r"below 2\*\*31 - 1"),
        (2**31 - 2, tf.errors.ResourceExhaustedError, "OOM"),
    ):
        with tf.Graph().as_default() as graph, tf.Session() as session:
            tf.safety.limits(graph, max_tensor_bytes=2**20)
            found = R.LearnedUnigramCandidateSampler(
                true_classes=CLASSES, num_true=1, num_sampled=2, unique=False, range_max=limit
            )
            with pytest.raises(error, match=says):
                session.run(found)
