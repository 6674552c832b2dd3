"""Texts of numbers that are much longer than any number."""

from __future__ import annotations

import pytest

import tfnb as tf
from tfnb.ops.strings.string_number_ops import parse_float, parse_integer


def test_many_digits_before_a_wrong_character_take_linear_time() -> None:
    """The number of ways to divide digits into two runs is not tried."""
    digits = b"9" * 1_000_000
    assert parse_float(digits + b"x") is None
    assert parse_float(b"0x" + digits + b"x") is None
    assert parse_float(digits) == float("inf")
    assert parse_integer(b"0" * 1_000_000 + b"x", tf.int64) is None
    assert parse_float(b"0." + b"0" * 400 + b"1e401") == 1.0


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (b"0" * 5000 + b"7", 7),
        (b"-" + b"0" * 5000 + b"7", -7),
        (b"+" + b"0" * 5000, 0),
        (b"9" * 5000, None),
        (b"-" + b"9" * 5000, None),
        (b"9223372036854775807", 2**63 - 1),
        (b"-9223372036854775808", -(2**63)),
        (b"9223372036854775808", None),
    ],
)
def test_integers_may_have_many_digits(text: bytes, number: int | None) -> None:
    """Zeros in front do not count; Python's own limit of digits does not apply."""
    assert parse_integer(text, tf.int64) == number


def test_wide_texts_are_refused_before_they_are_made() -> None:
    """A few bytes of a graph may ask for each number with gigabytes of spaces."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.safety.limits(graph, max_tensor_bytes=10_000)
        value = tf.placeholder(tf.int32)
        wide = tf.strings.as_string(value, width=1000)
        assert session.run(wide, {value: [1] * 9}).tolist() == [b" " * 999 + b"1"] * 9
        with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM when allocating 11,000"):
            session.run(wide, {value: [1] * 11})
