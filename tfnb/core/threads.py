"""The error of features whose point is a thread, where none can be started.

Queue runners, servers, samples of a running step: ``core/process/threads.py`` has what other code
does without threads.
"""

from __future__ import annotations

import sys

from tfnb.core import errors
from tfnb.core.process.threads import can_start


def require(feature: str, instead: str) -> None:
    """Refuse a feature that needs a thread where none can be started.

    Args:
      feature: the subject of the message.
      instead: what to do without it, a sentence.

    Raises:
      UnimplementedError: threads cannot be started.
    """
    if not can_start():
        raise errors.unimplemented(
            f"{feature} needs a thread, and this Python cannot start any ({sys.platform}). "
            f"{instead}"
        )
