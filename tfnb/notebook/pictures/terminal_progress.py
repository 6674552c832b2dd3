"""Live progress in a terminal: a few lines that are overwritten while steps run.

The program's own output is written above them: standard output passes through a writer that erases
the lines first.  If the output is not a terminal, nothing is written.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
from typing import IO, TYPE_CHECKING, Any, Self

from tfnb.notebook.pictures.summary_svg import headline
from tfnb.notebook.scenes.attr_text import cut_middle, one_line
from tfnb.notebook.steps.step_model import is_active

if TYPE_CHECKING:
    from tfnb.notebook.scenes.scene import Scene

_BAR = 24
_MOST_ROWS = 6
_UP_AND_CLEAR = "\x1b[1A\x1b[2K"
_GREEN, _DIM, _RED, _PLAIN = "\x1b[32m", "\x1b[2m", "\x1b[31m", "\x1b[0m"
_AMBER = "\x1b[33m"


def can_draw(stream: Any) -> bool:
    """Return whether the stream is a terminal that can overwrite lines."""
    is_terminal = getattr(stream, "isatty", None)
    return bool(is_terminal and is_terminal()) and os.environ.get("TERM", "") != "dumb"


class TerminalProgress:
    """A sink of a publisher (``step_publisher.py``) that draws on a terminal.

    Args:
      stream: the terminal; standard error by default.
    """

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._has_colours = not os.environ.get("NO_COLOR")
        self._lock = threading.RLock()
        self._drawn = 0  # guarded by _lock
        self._is_mid_line = False  # the program's own last line is open; guarded by _lock
        self._stdout: Any = None

    def __enter__(self) -> Self:
        self._stdout = sys.stdout
        sys.stdout = _Above(self, self._stdout)
        return self

    def __exit__(self, *error: object) -> None:
        if isinstance(sys.stdout, _Above):
            sys.stdout = self._stdout
        with self._lock:
            self._erase()
            self._stream.flush()

    def show(
        self, scene: Scene | None, states: bytes, counters: dict[str, Any] | None = None
    ) -> None:
        """Redraw the counters."""
        if counters is None:
            return
        columns = shutil.get_terminal_size().columns
        lines = progress_lines(counters, columns - 1, has_colours=self._has_colours)
        with self._lock:
            if self._is_mid_line:
                return
            self._erase()
            self._stream.write("".join(f"{line}\n" for line in lines))
            self._stream.flush()
            self._drawn = len(lines)

    def print_above(self, stream: Any, text: str) -> int:
        """Write the program's output in place of the progress lines and redraw these below."""
        with self._lock:
            self._erase()
            self._stream.flush()
            count = int(stream.write(text) or 0)
            stream.flush()
            if text:
                self._is_mid_line = not text.endswith("\n")
            return count

    def _erase(self) -> None:
        self._stream.write(_UP_AND_CLEAR * self._drawn)
        self._drawn = 0


class _Above:
    """Replaces standard output while progress is drawn."""

    def __init__(self, progress: TerminalProgress, stream: Any) -> None:
        self._progress = progress
        self._stream = stream

    def write(self, text: str) -> int:
        """Write above the progress lines."""
        return self._progress.print_above(self._stream, text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def progress_lines(counters: dict[str, Any], width: int, *, has_colours: bool) -> list[str]:
    """Return the lines to draw: phase and figures, a bar per partition, loops, queues.

    Args:
      counters: the result of ``StepModel.counters``.
      width: maximum number of characters per line.
      has_colours: whether to use colours, which carry no extra information.
    """
    phase = counters["phase"]
    colour = _RED if phase == "failed" else _GREEN if phase == "done" else ""
    rows = [(f"{phase}: {headline(counters)}", colour)]
    for partition in counters["partitions"][:_MOST_ROWS]:
        total = max(1, partition["total"])
        full = round(_BAR * partition["done"] / total)
        device = partition["device"].rpartition("device:")[2]
        bar = "█" * full + "░" * (_BAR - full)
        text = f"  {device:<6} {bar} {partition['done']:,}/{partition['total']:,} nodes"
        if is_active(phase) and partition["current"]:
            text += f"  {one_line(partition['current'])}"
        rows.append((text, ""))
    rows += [(f"  {one_line(line)}", _AMBER) for line in counters.get("waits", ())]
    for frame in counters["frames"][:_MOST_ROWS]:
        often = f", {frame['live']} in flight" if not frame["isDone"] else ", done"
        name = cut_middle(one_line(frame["name"]), 40)
        text = f"  {'  ' * frame['depth']}loop {name}: iteration {frame['iteration']:,}{often}"
        rows.append((text, _DIM))
    queues = counters.get("queues", ())[:_MOST_ROWS]
    rows += [(f"  queue {queue_text(queue)}", _DIM) for queue in queues]
    cut = [(text[:width], style) for text, style in rows]
    if not has_colours:
        return [text for text, _ in cut]
    return [f"{style}{text}{_PLAIN}" if style else text for text, style in cut]


def queue_text(queue: dict[str, Any]) -> str:
    """Describe a queue in a few words.

    >>> queue_text({"name": "q", "size": 3, "capacity": 10, "isClosed": False})
    'q: 3 of 10'
    """
    text = f"{cut_middle(one_line(queue['name']), 40)}: {queue['size']:,}"
    if queue["capacity"]:
        text += f" of {queue['capacity']:,}"
    return f"{text}, closed" if queue["isClosed"] else text
