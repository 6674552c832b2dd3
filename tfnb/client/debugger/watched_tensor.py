"""The values of one tensor in every iteration of its loop, which ``run`` cannot fetch."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfnb.common_runtime.lowering.run.replay import JournalReader, replay
from tfnb.core import array_module
from tfnb.core.resource_mgr import RefCell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.common_runtime.executor.debugged_executor import DebuggedExecutorState
    from tfnb.common_runtime.executor.propagator_state import type_of_tagged_node
    from tfnb.common_runtime.lowering.support.journal import Journal

EXPORTS = {"debugger": ["WatchedTensor"]}

# Upper bound on unread journal entries, plus _MOST_ENTRIES_OF_VALUE for each kept value (entries
# of its iteration and of the sides of conds); above it the journals are replayed.
_MOST_ENTRIES = 10_000
_MOST_ENTRIES_OF_VALUE = 64
_BARS = "▁▂▃▄▅▆▇█"


class WatchedValue(NamedTuple):
    """One value: step, loop frame and iteration, array; ``value`` is None for a dead output."""

    step_id: int
    frame: str
    frame_id: int
    iteration: int
    value: Any


class WatchedTensor:
    """A tensor whose values are recorded while a debugger watches it.

    Attributes:
      name: the tensor's name, like ``while/add:0``.
      keep: upper bound on kept values; older ones are dropped.
    """

    def __init__(self, name: str, keep: int) -> None:
        self.name = name
        self.keep = keep
        self._values: deque[WatchedValue] = deque(maxlen=keep)
        # Journals that are not replayed yet: (step id, journal, number of values in it).
        self._journals: deque[tuple[int, Journal, int]] = deque()
        self._num_entries = 0
        self._num_values = 0  # in the journals
        self._lock = threading.Lock()
        node, _, output = name.rpartition(":")
        self._node, self._output = node, int(output)

    def note(
        self, executor: DebuggedExecutorState, tagged: type_of_tagged_node, outputs: Any
    ) -> None:
        """Record a value, if this node computes the tensor."""
        item, iteration, is_dead = tagged
        if item.name != self._node:
            return
        self._settle()
        value = None if is_dead or outputs is None else outputs[self._output]
        if isinstance(value, RefCell):
            value = None if value.value is None else value.value.copy()
        elif array_module.is_device_array(value):
            value = array_module.to_host(value)
        self._values.append(
            WatchedValue(
                executor.run_state.step_id,
                iteration.frame.info.name,
                iteration.frame.id,
                iteration.number,
                value,
            )
        )

    def note_journal(self, step_id: int, journal: Journal) -> None:
        """Store the journal of an emitted function; it is replayed when values are read."""
        item = next((one for one in journal.emitted.nodes if one.name == self._node), None)
        if item is None:
            return
        counts = journal.counts
        num_values = 0 if counts is None else counts.iterations_of(item.frame.name)
        with self._lock:
            self._journals.append((step_id, journal, num_values))
            self._num_entries += len(journal.entries)
            self._num_values += num_values
            # Drop journals whose values would all be pushed out by later ones.
            while self._num_values - self._journals[0][2] >= self.keep:
                _, old, num_old = self._journals.popleft()
                self._num_entries -= len(old.entries)
                self._num_values -= num_old
        if self._num_entries > _MOST_ENTRIES + _MOST_ENTRIES_OF_VALUE * self.keep:
            self._settle()

    def _settle(self) -> None:
        """Replay the stored journals into values."""
        if not self._journals:
            return
        with self._lock:
            while self._journals:
                step_id, journal, _ = self._journals.popleft()
                reader = _Values(self._values, journal, self._node, self._output)
                replay(journal, reader, step_id)
            self._num_entries = self._num_values = 0

    @property
    def values(self) -> deque[WatchedValue]:
        """The recorded values, oldest first."""
        self._settle()
        return self._values

    @property
    def last(self) -> Any:
        """The latest value that was not dead.

        Raises:
          LookupError: there is no value yet.
        """
        for row in reversed(self.values):
            if row.value is not None:
                return row.value
        raise LookupError(f"'{self.name}' has had no value yet.")

    def stacked(self, step_id: int | None = None) -> Any:
        """Return the values of one step along a new first axis, in the order they were computed.

        Args:
          step_id: the step; the latest if not given.

        Raises:
          LookupError: there is no value yet.
          ValueError: the shapes of the values differ.
        """
        live = [row for row in self.values if row.value is not None]
        if not live:
            raise LookupError(f"'{self.name}' has had no value yet.")
        wanted = live[-1].step_id if step_id is None else step_id
        return np.stack([np.asarray(row.value) for row in live if row.step_id == wanted])

    def sparkline(self, width: int = 40) -> str:
        """Return the means of the latest values as a line of bars; "·" for NaN and infinity."""
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


class _Values(JournalReader):
    """A search for the values of one tensor in a journal."""

    def __init__(
        self, values: deque[WatchedValue], journal: Journal, node: str, output: int
    ) -> None:
        self._append = values.append
        self._names = {0: ""}  # of frames
        items = journal.emitted.nodes
        self._node = next(item.id for item in items if item.name == node)
        self._output = output
        self._frame_names = journal.emitted.frame_names
        self._value: Any = None

    def frame_entered(
        self,
        step_id: int,
        partition: int,
        frame_id: int,
        parent_frame_id: int,
        parent_iteration: int,
        name_index: int,
        t_ns: int,
    ) -> None:
        """Record the frame's name."""
        self._names[frame_id] = self._frame_names[name_index]

    def gave(self, node_id: int, contents: Sequence[Any]) -> None:
        """Record the node's output as the pending value."""
        if node_id == self._node:
            found = contents[self._output]
            self._value = found[0] if found.__class__ is list else None

    def node_done(
        self,
        step_id: int,
        partition: int,
        node_id: int,
        frame_id: int,
        iteration: int,
        t_ns: int,
        is_dead: bool,
    ) -> None:
        """Append the value, or None for a dead output."""
        if node_id == self._node:
            value = None if is_dead else self._value
            self._append(WatchedValue(step_id, self._names[frame_id], frame_id, iteration, value))


def _mean(value: Any) -> float:
    try:
        return float(np.mean(np.asarray(value, np.float64)))
    except (TypeError, ValueError):
        return float("nan")
