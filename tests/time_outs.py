"""The message of a step that times out, on machines of any speed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Callable

# In milliseconds. On a busy machine the awaited node may not have begun within the first limit.
LIMITS = (50, 500, 5_000, 50_000)


def let_time_out(run: Callable[[int], object], has_begun: Callable[[], bool]) -> None:
    """Let a run time out, with longer limits until the tested operation has begun.

    Args:
      run: takes the limit in milliseconds, and must not end before it.
      has_begun: returns whether the operation was reached.
    """
    for limit in LIMITS:
        with pytest.raises(tf.errors.DeadlineExceededError):
            run(limit)
        if has_begun():
            return
    raise AssertionError(f"not even begun in {LIMITS[-1]} ms")


def message_of_time_out(run: Callable[[int], object], words: str) -> str:
    """Return the message of a run's time-out, with longer limits until it has certain words.

    Args:
      run: takes the limit in milliseconds, and must not end before it.
      words: a part of the message once the tested operation has begun.
    """
    message = ""
    for limit in LIMITS:
        with pytest.raises(tf.errors.DeadlineExceededError) as caught:
            run(limit)
        message = caught.value.message
        if words in message:
            break
    return message
