"""Text and bytes under TensorFlow's names, and its logging."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_text_and_bytes_are_converted_where_needed() -> None:
    """Values that have the right type already are returned unchanged."""
    assert tf.compat.as_bytes("é") == "é".encode()
    assert tf.compat.as_bytes(bytearray(b"x")) == b"x"
    assert tf.compat.as_bytes(b"x") == b"x"
    assert tf.compat.as_text(b"x") == tf.compat.as_str("x") == "x"
    assert tf.compat.as_str_any(3) == "3"
    assert tf.compat.as_str_any(b"x") == "x"
    assert tf.compat.path_to_str(Path("a")) == "a"
    assert tf.compat.path_to_str(3) == 3


def test_other_types_are_no_text() -> None:
    """A number is refused as text and as bytes."""
    for convert in (tf.compat.as_bytes, tf.compat.as_text):
        with pytest.raises(TypeError, match="Expected binary or unicode string, got 3"):
            convert(3)


def test_number_types_include_numpy_s() -> None:
    """The number types are for isinstance and include NumPy's."""
    assert isinstance(np.int8(1), tf.compat.integral_types)
    assert isinstance(np.float32(1), tf.compat.real_types)
    assert isinstance(np.complex64(1), tf.compat.complex_types)
    assert isinstance("x", tf.compat.bytes_or_text_types)


def test_forward_compatibility_is_a_date() -> None:
    """A past date is compatible, a date far in the future is not."""
    assert tf.compat.forward_compatible(2019, 1, 1)
    assert not tf.compat.forward_compatible(9999, 1, 1)


@pytest.fixture
def records() -> Iterator[list[logging.LogRecord]]:
    """The records logged during the test."""
    found: list[logging.LogRecord] = []

    class Recorder(logging.Handler):
        """Keeps records."""

        def emit(self, record: logging.LogRecord) -> None:
            """Keep one."""
            found.append(record)

    recorder, level = Recorder(), tf.logging.get_verbosity()
    tf.get_logger().addHandler(recorder)
    yield found
    tf.get_logger().removeHandler(recorder)
    tf.logging.set_verbosity(level)


def test_verbosity_decides_what_is_logged(records: list[logging.LogRecord]) -> None:
    """The default level is WARN; a new level applies from then on."""
    tf.logging.info("not this")
    tf.logging.warning("this %d", 1)
    tf.logging.set_verbosity(tf.logging.INFO)
    tf.logging.info("and this")
    tf.logging.set_verbosity(tf.logging.ERROR)
    tf.logging.warn("nor this")
    tf.logging.error("but this")
    assert [r.getMessage() for r in records] == ["this 1", "and this", "but this"]
    assert tf.logging.get_verbosity() == tf.logging.ERROR == logging.ERROR


def test_repeated_messages_can_be_thinned_out(records: list[logging.LogRecord]) -> None:
    """log_first_n and log_every_n limit repeated messages."""
    for _ in range(5):
        tf.logging.log_first_n(tf.logging.WARN, "first", 2)
        tf.logging.log_every_n(tf.logging.WARN, "every", 3)
        tf.logging.log_if(tf.logging.WARN, "never", False)
    messages = [r.getMessage() for r in records]
    assert (messages.count("first"), messages.count("every"), messages.count("never")) == (2, 2, 0)
