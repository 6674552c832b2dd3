"""What a step says that ran out of time, on machines of any speed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Callable

# In milliseconds.  A busy machine may not have begun what a step is to wait for in the first one.
LIMITS = (50, 500, 5_000, 50_000)


def let_time_out(run: Callable[[int], object], has_begun: Callable[[], bool]) -> None:
    """Has a run end by its time-out, which is given longer until what the test is about has begun.

    Args:
      run: takes the limit in milliseconds, and must not end before it.
      has_begun: whether it was reached.
    """
    for limit in LIMITS:
        with pytest.raises(tf.errors.DeadlineExceededError):
            run(limit)
        if has_begun():
            return
    raise AssertionError(f"not even begun in {LIMITS[-1]} ms")


def message_of_time_out(run: Callable[[int], object], words: str) -> str:
    """What the time-out of a run says, which is given longer until that has some words.

    Args:
      run: takes the limit in milliseconds, and must not end before it.
      words: what is said when what the test is about had begun.
    """
    message = ""
    for limit in LIMITS:
        with pytest.raises(tf.errors.DeadlineExceededError) as caught:
            run(limit)
        message = caught.value.message
        if words in message:
            break
    return message
