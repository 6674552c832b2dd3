"""What leaves a step: values that are there, and that the caller may keep and write to."""

from __future__ import annotations

from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.executor.waiting import absent_value
from tfnb.core.resource_mgr import RefCell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.common_runtime.executor.executor import ExecutorState
    from tfnb.common_runtime.executor.executors_and_keys import Executors
    from tfnb.common_runtime.executor.run_state import RunState

_generic, _ndarray = np.generic, np.ndarray


def check_retvals(
    executors: Executors, run_state: RunState, states: Sequence[ExecutorState]
) -> None:
    """Refuses a step that ended without a value for one of its fetches.

    Raises:
      InvalidArgumentError: a fetched tensor is dead, or never became ready.
    """
    frame = run_state.call_frame
    assert frame is not None
    for position, value in enumerate(frame.retvals):
        if value is None:
            raise absent_value(states, position, f"'{executors.fetches[position]}'")


def own_all(results: list[Any]) -> list[Any]:
    """Values that the caller may keep and write to.

    Raises:
      FailedPreconditionError: a fetched variable has no value.
    """
    # Not enumerate(), whose tuple would hold each value as well.
    for position in range(len(results)):
        value = results[position]
        if value.__class__ is not _ndarray and isinstance(value, _generic):
            continue
        if isinstance(value, _ndarray):
            # Held here by: the list, the local name, getrefcount's argument.
            if getrefcount(value) > 3 or value.base is not None or not value.flags.writeable:
                is_number = value.ndim == 0 and value.dtype.kind != "O"
                results[position] = value[()] if is_number else value.copy()
        elif isinstance(value, RefCell):
            found = value.read()
            results[position] = found.copy() if isinstance(found, _ndarray) else found
    return results


def as_numbers(results: list[Any]) -> list[Any]:
    """The values, arrays of rank 0 as NumPy scalars, text as bytes."""
    return [
        value[()] if value.__class__ is _ndarray and value.ndim == 0 else value for value in results
    ]
