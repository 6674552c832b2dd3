"""Curves of the scalars that a program summarises while it is watched, as in TensorBoard.

A value becomes a point when its summary is computed.  When the summary is written for a step, the
point moves to that step, in the curve of the writer's run.  Long curves keep every second, fourth,
... value and the last.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any

MAX_POINTS = 400
MAX_CURVES = 12
_MAX_WAITING = 100_000


@dataclass(slots=True)
class Curve:
    """The values of one tag in one run.

    Attributes:
      has_steps: whether x is the step for which a point was written; otherwise points are numbered.
      points: (x, value), thinned out.
      last: the last value.
    """

    tag: str
    run: str = ""
    has_steps: bool = False
    count: int = 0
    points: list[tuple[float, float]] = field(default_factory=list)
    last: tuple[float, float] | None = None
    _stride: int = 1

    def add(self, x: float, value: float) -> None:
        """Append a point."""
        if self.count % self._stride == 0:
            self.points.append((x, value))
            if len(self.points) > MAX_POINTS:
                del self.points[1::2]
                self._stride *= 2
        self.count += 1
        self.last = (x, value)

    def take_back(self) -> None:
        """Remove the last point, which belongs to another curve."""
        if self.points and self.points[-1] == self.last:
            self.points.pop()
        self.count -= 1
        self.last = self.points[-1] if self.points else None

    def drawn(self) -> list[tuple[float, float]]:
        """Return the points, including the last value."""
        if self.last is None or self.points[-1:] == [self.last]:
            return self.points
        return [*self.points, self.last]


class ScalarCurves:
    """Collects scalars (``core/scalar_events.py``) and makes curves of them on request."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Any, ...]] = deque(maxlen=_MAX_WAITING)
        self._curves: dict[tuple[str, str], Curve] = {}

    def scalar_made(self, tag: str, value: float) -> None:
        """Note a value; any thread may call this."""
        self._waiting.append((tag, value))

    def scalar_written(self, tag: str, value: float, step: int | None, run: str) -> None:
        """Note the step and the run of a value; any thread may call this."""
        self._waiting.append((tag, value, step, run))

    def absorb(self) -> bool:
        """Move the noted values into the curves; return whether there were any."""
        waiting = self._waiting
        count = len(waiting)
        for _ in range(count):
            tag, value, *written = waiting.popleft()
            if written:
                self._write(tag, value, *written)
            else:
                curve = self._curve(tag, "")
                curve.add(curve.count + 1, value)
        return count > 0

    def _write(self, tag: str, value: float, step: int | None, run: str) -> None:
        made = self._curves.get((tag, ""))
        if made is not None and made.last is not None and _is_same(made.last[1], value):
            made.take_back()
        curve = self._curve(tag, run)
        if step is not None:
            curve.has_steps = True
        curve.add(curve.count + 1 if step is None else step, value)

    def _curve(self, tag: str, run: str) -> Curve:
        return self._curves.setdefault((tag, run), Curve(tag, run))

    def curves(self) -> list[Curve]:
        """Return all curves with points, in the order in which they appeared."""
        return [curve for curve in self._curves.values() if curve.count]

    def payload(self) -> dict[str, Any]:
        """Return the curves for the browser (``curves.ts``), where NaN is None."""
        curves = self.curves()
        runs = {curve.run for curve in curves}
        return {
            "curves": [
                {
                    "tag": curve.tag,
                    "run": curve.run if len(runs) > 1 else "",
                    "count": curve.count,
                    "unit": "step" if curve.has_steps else "value",
                    "last": value_text(curve.last[1]) if curve.last else "",
                    "x": [x for x, _ in curve.drawn()],
                    "y": [
                        float(f"{y:.6g}") if math.isfinite(y) else None for _, y in curve.drawn()
                    ],
                }
                for curve in curves[:MAX_CURVES]
            ],
            "more": max(0, len(curves) - MAX_CURVES),
        }


def _is_same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def value_text(value: float) -> str:
    """Return a number in a short readable form.

    >>> value_text(0.123456789), value_text(1234567.0), value_text(3.0), value_text(1e-9)
    ('0.1235', '1.235e+06', '3', '1e-09')
    """
    return f"{value:.4g}"


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Return at most ``count`` round numbers between two, like ``ticks`` of curves.ts.

    >>> ticks(0.13, 0.94)
    [0.2, 0.4, 0.6, 0.8]
    """
    if not high > low:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / count))
    for factor in (1, 2, 5, 10):
        step = factor * power
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < count:
            break
    return [float(f"{number * step:.10g}") for number in range(first, last + 1)]
