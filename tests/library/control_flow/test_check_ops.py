"""Checks of values that are known only at run time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tfnb as tf

Check = Callable[[Any], Any]


def _outcome(check: Check, value: Any, dtype: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(dtype, name="fed")
        return session.run(check(fed), {fed: value})


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (lambda x: tf.assert_equal(x, 1), [1, 1]),
        (lambda x: tf.assert_none_equal(x, 1), [2, 3]),
        (lambda x: tf.assert_less(x, 2), [1, 0]),
        (lambda x: tf.assert_positive(x), []),
        (lambda x: tf.assert_rank(x, 1), [1]),
        (lambda x: tf.assert_rank_at_least(x, 1), [[1]]),
        (lambda x: tf.debugging.assert_shapes([(x, ("N", "N"))]), [[1]]),
    ],
)
def test_checks_that_hold_do_nothing(check: Check, value: Any) -> None:
    """A check that holds has no effect."""
    assert _outcome(check, value, tf.int32) is None


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        (
            lambda x: tf.assert_equal(x, 1, message="why"),
            [1, 2, 3, 4],
            r"assertion failed: \[why\] \[Condition x == y did not hold element-wise:\] "
            r"\[x \(fed:0\) = \] \[1 2 3...\] \[y \(assert_equal_1/y:0\) = \] \[1\]",
        ),
        (
            lambda x: tf.assert_positive(x),
            [1, -1],
            r"assertion failed: \[\] \[Condition x > 0 did not hold element-wise:\] "
            r"\[x \(fed:0\) = \] \[1 -1\]",
        ),
        (
            lambda x: tf.assert_rank_in(x, (1, 2)),
            3,
            r"\[Tensor fed:0 must have rank in\] \[1\] \[2\] \[Received shape: \] \[\]",
        ),
        (
            lambda x: tf.debugging.assert_shapes([(x, ("N", "N"))]),
            [[1, 2]],
            r"\[Specified by tensor fed:0 dimension 0\] \[Tensor fed:0 dimension\] \[1\] "
            r"\[must have size\] \[1\] \[Received shape: \] \[1 2\]",
        ),
    ],
)
def test_checks_that_fail_show_the_values(check: Check, value: Any, message: str) -> None:
    """The error shows the checked values."""
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        _outcome(check, value, tf.int32)


def test_near_values_pass_within_the_tolerance() -> None:
    """assert_near accepts differences below the tolerance."""
    assert _outcome(lambda x: tf.assert_near(x, [1.0], atol=0.1), [1.05], tf.float32) is None
    with pytest.raises(tf.errors.InvalidArgumentError, match="not equal to tolerance"):
        _outcome(lambda x: tf.assert_near(x, [1.0]), [1.05], tf.float32)


@pytest.mark.parametrize(
    ("values", "non_decreasing", "increasing"),
    [([], True, True), ([1], True, True), ([1, 1], True, False), ([2, 1], False, False)],
)
def test_orders_of_elements(values: list[int], non_decreasing: bool, increasing: bool) -> None:
    """Equal neighbours are non-decreasing, and not strictly increasing."""
    assert _outcome(tf.is_non_decreasing, values, tf.int32) == non_decreasing
    assert _outcome(tf.is_strictly_increasing, values, tf.int32) == increasing
