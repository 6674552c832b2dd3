"""``tensorflow.python.eager.monitoring``: gauges and counters, which nothing reads here."""

from __future__ import annotations

from collections import defaultdict
from typing import Any


class _Cell:
    """One value of a metric."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def set(self, value: Any) -> None:
        """Keep a value."""
        self._value = value

    def increase_by(self, value: int) -> None:
        """Add to the value."""
        self._value += value

    def value(self) -> Any:
        """Return the value."""
        return self._value


class _Metric:
    """Values by label.

    Args:
      name: of the metric.
      description: of the metric.
      labels: the names of the labels.
    """

    _START: Any = 0

    def __init__(self, name: str, description: str, *labels: str) -> None:
        self.name, self.description, self.labels = name, description, labels
        self._cells: dict[tuple[str, ...], _Cell] = defaultdict(lambda: _Cell(self._START))

    def get_cell(self, *labels: str) -> _Cell:
        """Return the value of these labels."""
        return self._cells[labels]


class Counter(_Metric):
    """A number that grows."""


class IntGauge(_Metric):
    """A number."""


class BoolGauge(_Metric):
    """A truth value."""

    _START = False


class StringGauge(_Metric):
    """A text."""

    _START = ""
