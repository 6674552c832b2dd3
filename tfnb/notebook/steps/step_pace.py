"""The rate of steps, from samples of the last step's id; the steps themselves are not observed.

Ids are one sequence for all sessions; if several sessions run, the rate is an upper bound.
"""

from __future__ import annotations

from collections import deque

_LOOKS = 16
_LEAST_STEPS = 3  # fewer steps are not a loop
_STILL_NS = 1_500_000_000


class StepPace:
    """The latest samples with a new step."""

    def __init__(self) -> None:
        self._seen: deque[tuple[int, int]] = deque(maxlen=_LOOKS)

    def look(self, last_step: int, now_ns: int) -> float:
        """Return the recent number of steps per second; 0 while no loop runs."""
        seen = self._seen
        if not seen or seen[-1][1] != last_step:
            seen.append((now_ns, last_step))
        (first_ns, first), (last_ns, last) = seen[0], seen[-1]
        count, took_ns = last - first, last_ns - first_ns
        if not count or now_ns - last_ns > max(_STILL_NS, 4 * took_ns / count):
            seen.clear()
            seen.append((now_ns, last_step))
            return 0.0
        rate = count * 1e9 / max(took_ns, 1)
        return 0.0 if count < _LEAST_STEPS else round(rate, 1) if rate < 10 else round(rate)
