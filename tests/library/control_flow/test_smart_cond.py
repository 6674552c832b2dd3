"""A predicate that is known while building makes no cond."""

from __future__ import annotations

from typing import Any

import pytest

import tfnb as tf
from tfnb.library.control_flow.smart_cond import smart_cond, smart_constant_value


def _fail() -> Any:
    raise AssertionError("the other branch was built")


@pytest.mark.parametrize("pred", [True, 1])
def test_known_predicate_builds_one_branch(pred: Any) -> None:
    """Python's booleans and numbers choose at once."""
    assert smart_cond(pred, lambda: "yes", _fail) == "yes"
    assert smart_cond(not pred, _fail, lambda: "no") == "no"


def test_constant_tensor_builds_one_branch() -> None:
    """Tensors with a static value choose at once, too."""
    with tf.Graph().as_default():
        pred = tf.logical_and(tf.constant(True), tf.constant(False))
        assert smart_constant_value(pred) is False
        assert smart_cond(pred, _fail, lambda: "no") == "no"


def test_unknown_predicate_makes_a_cond() -> None:
    """A fed predicate chooses at run time."""
    with tf.Graph().as_default():
        pred = tf.placeholder(tf.bool, [])
        result = smart_cond(pred, lambda: tf.constant(1), lambda: tf.constant(2), name="mine")
        assert result.name == "mine/Merge:0"
        with tf.Session() as session:
            assert session.run(result, {pred: False}) == 2


def test_other_predicates_are_refused() -> None:
    """A list as predicate and a number as function are refused."""
    with pytest.raises(TypeError, match="must be a Tensor, or a Python bool, or 1 or 0"):
        smart_cond([], lambda: 1, lambda: 2)
    with pytest.raises(TypeError, match="`true_fn` must be callable"):
        smart_cond(True, 1, lambda: 2)  # type: ignore[arg-type]
