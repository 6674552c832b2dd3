"""``tf.contrib.summary``: summaries of eager mode, which do nothing here.

The first call says so, and that ``tf.summary`` writes summaries in graphs.
"""

from __future__ import annotations

import contextlib
from functools import cache
from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.public_api import tf

if TYPE_CHECKING:
    from collections.abc import Iterator


@cache
def _say() -> None:
    tf.logging.warning(
        "tf.contrib.summary writes nothing in tfnb: it belongs to eager mode. "
        "tf.summary and tf.summary.FileWriter write summaries of graphs."
    )


def _nothing(*_given: Any, **_options: Any) -> Any:
    _say()
    return tf.no_op()


scalar = histogram = image = audio = generic = graph = import_event = eval_dir = flush = _nothing
initialize = summary_writer_initializer_op = all_summary_ops = _nothing


class _Writer:
    """A writer that writes nothing."""

    @contextlib.contextmanager
    def as_default(self) -> Iterator[None]:
        """Be the default writer, without effect."""
        yield

    set_as_default = init = flush = close = _nothing


def create_file_writer(*_given: Any, **_options: Any) -> _Writer:
    """Return a writer that writes nothing."""
    _say()
    return _Writer()


create_db_writer = create_summary_file_writer = create_file_writer


@contextlib.contextmanager
def always_record_summaries() -> Iterator[None]:
    """Run the block."""
    yield


@contextlib.contextmanager
def never_record_summaries() -> Iterator[None]:
    """Run the block."""
    yield


@contextlib.contextmanager
def record_summaries_every_n_global_steps(n: int, global_step: Any = None) -> Iterator[None]:
    """Run the block."""
    yield


def should_record_summaries() -> Any:
    """Return a constant that is False."""
    return tf.constant(False)
