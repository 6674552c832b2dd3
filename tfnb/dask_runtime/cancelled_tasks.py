"""Whether the task that this thread runs in a Dask worker was cancelled meanwhile.

Dask does not stop a running task: its thread goes on and its result is dropped. Long tasks ask
here.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

from tfnb.core import errors


def current_task() -> tuple[Any, str] | None:
    """Return the worker and the key of the task that this thread runs; None outside of a worker."""
    # Without Dask in the process there is no worker, and nothing is imported to find that out.
    distributed: Any = sys.modules.get("distributed")
    if distributed is None:
        return None
    with suppress(ValueError, AttributeError):
        worker = distributed.get_worker()
        return worker, worker.get_current_task()
    return None


def is_cancelled(worker: Any, key: str) -> bool:
    """Return whether nothing waits any longer for the result of a task that runs."""
    task = worker.state.tasks.get(key)
    return task is None or task.state in ("cancelled", "forgotten", "released")


def raise_if_cancelled() -> None:
    """End a task that was cancelled.

    Raises:
      CancelledError: nothing waits for its result.
    """
    found = current_task()
    if found is not None and is_cancelled(*found):
        raise errors.cancelled("The task was cancelled.")
