"""Groups of trainings that run elsewhere, for those that show them while they run.

The room of Dask adds a group when it starts; the notebook's side panel lists all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from tfnb.core.process.weak_registry import WeakRegistry


@dataclass(frozen=True, slots=True)
class RunRow:
    """One training as it is now.

    Attributes:
      index: its number in the group.
      parameters: what it was given.
      status: "waiting", "running", "finished", "failed" or "cancelled".
      step: the last step that it reported.
      loss: the last loss that it reported; None: none.
      figures: further numbers that it reported.
      seconds: for how long it has run.
      restarts: how often it was started again.
      worker: where it runs.
      error: the message of the error that ended it.
    """

    index: int
    parameters: dict[str, Any]
    status: str = "waiting"
    step: int = 0
    loss: float | None = None
    figures: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    restarts: int = 0
    worker: str = ""
    error: str = ""


class RunGroup(Protocol):
    """Trainings that were started together."""

    @property
    def key(self) -> str:
        """A name that no other group of this process has."""

    @property
    def title(self) -> str:
        """A title for people."""

    def rows(self) -> list[RunRow]:
        """Return the trainings as they are now; any thread may call this."""

    def cancel(self, index: int | None = None) -> None:
        """End one training, or all."""


_groups: WeakRegistry[RunGroup] = WeakRegistry()


def add_run_group(group: RunGroup) -> None:
    """Show a group until it ends; it is not kept alive."""
    _groups.add(group, group.key)


def run_groups() -> list[RunGroup]:
    """Return the groups that exist, in the order in which they were added."""
    return list(_groups)


def find_run_group(key: str) -> RunGroup | None:
    """Return the group with a key, or None."""
    return _groups.get(key)
