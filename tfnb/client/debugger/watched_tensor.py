"""The values of one tensor in every iteration of its loop, which ``run`` can not fetch."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfnb.core import array_module
from tfnb.core.resource_mgr import RefCell

if TYPE_CHECKING:
    from tfnb.common_runtime.debugged_executor import DebuggedExecutorState
    from tfnb.common_runtime.propagator_state import type_of_tagged_node

EXPORTS = {"debugger": ["WatchedTensor"]}

_BARS = "▁▂▃▄▅▆▇█"


class WatchedValue(NamedTuple):
    """One value: the step, the loop's frame and iteration, and what it was; None if dead."""

    step_id: int
    frame: str
    frame_id: int
    iteration: int
    value: Any


class WatchedTensor:
    """Records the values of a tensor while a debugger watches it.

    Attributes:
      name: the tensor's, like ``while/add:0``.
      values: what was recorded, oldest first.
    """

    def __init__(self, name: str, keep: int) -> None:
        self.name = name
        self.values: deque[WatchedValue] = deque(maxlen=keep)
        node, _, output = name.rpartition(":")
        self._node, self._output = node, int(output)

    def note(
        self, executor: DebuggedExecutorState, tagged: type_of_tagged_node, outputs: Any
    ) -> None:
        """Takes a value, if this node gives the tensor."""
        item, iteration, is_dead = tagged
        if item.name != self._node:
            return
        value = None if is_dead or outputs is None else outputs[self._output]
        if isinstance(value, RefCell):
            value = None if value.value is None else value.value.copy()
        elif array_module.is_device_array(value):
            value = array_module.to_host(value)
        self.values.append(
            WatchedValue(
                executor.run_state.step_id,
                iteration.frame.info.name,
                iteration.frame.id,
                iteration.number,
                value,
            )
        )

    @property
    def last(self) -> Any:
        """The latest value that was not dead.

        Raises:
          LookupError: there is none yet.
        """
        for row in reversed(self.values):
            if row.value is not None:
                return row.value
        raise LookupError(f"'{self.name}' has had no value yet.")

    def stacked(self, step_id: int | None = None) -> Any:
        """The values of one step along a new first axis, in the order they were computed.

        Args:
          step_id: the step; the latest if not given.

        Raises:
          LookupError: there is none yet.
          ValueError: their shapes differ.
        """
        live = [row for row in self.values if row.value is not None]
        if not live:
            raise LookupError(f"'{self.name}' has had no value yet.")
        wanted = live[-1].step_id if step_id is None else step_id
        return np.stack([np.asarray(row.value) for row in live if row.step_id == wanted])

    def sparkline(self, width: int = 40) -> str:
        """The means of the latest values as a line of bars; "·" where one is no finite number."""
        means = [_mean(row.value) for row in list(self.values)[-width:] if row.value is not None]
        finite = [mean for mean in means if np.isfinite(mean)]
        if not finite:
            return "·" * len(means)
        low, high = min(finite), max(finite)
        scale = (len(_BARS) - 1) / (high - low) if high > low else 0.0
        return "".join(
            _BARS[round((mean - low) * scale)] if np.isfinite(mean) else "·" for mean in means
        )

    def __repr__(self) -> str:
        if not self.values:
            return f"<watched {self.name!r}: nothing yet>"
        last = self.values[-1]
        where = f", iteration {last.iteration} of {last.frame!r}" if last.frame else ""
        return f"<watched {self.name!r}: {len(self.values)} values {self.sparkline()}{where}>"


def _mean(value: Any) -> float:
    try:
        return float(np.mean(np.asarray(value, np.float64)))
    except (TypeError, ValueError):
        return float("nan")
