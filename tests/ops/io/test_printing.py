"""The output of Print, and its destination."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import tfnb as tf

if TYPE_CHECKING:
    import pytest


def test_bytes_that_are_no_text_go_to_streams_that_take_text_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Print replaces invalid UTF-8, on which a notebook's streams would fail."""
    with tf.Graph().as_default(), tf.Session() as sess:
        printed = tf.Print(1, [tf.constant(b"\xff\n")], "bytes: ")
        written = io.BytesIO()
        monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(written, "utf-8", write_through=True))
        assert sess.run(printed) == 1
    assert written.getvalue().decode() == "bytes: [\ufffd\\n]\n"
