"""A node that waits until the test lets it continue."""

from __future__ import annotations

import threading
from typing import Any

_LIMIT_S = 60


class Stops:
    """A node that waits in some calls until it may continue."""

    def __init__(self, *turns: int) -> None:
        self._turns = turns
        self._number = 0
        self.here = [threading.Event() for _ in turns]
        self.go = [threading.Event() for _ in turns]

    def wait(self, value: Any) -> Any:
        """Wait; this is the Python function of the node."""
        if self._number in self._turns:
            position = self._turns.index(self._number)
            self.here[position].set()
            assert self.go[position].wait(_LIMIT_S)
        self._number += 1
        return value
