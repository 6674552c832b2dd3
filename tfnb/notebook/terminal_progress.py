"""Live progress in a terminal: a few lines that are written over while steps run.

What the program itself prints goes above them: standard output is passed through a writer that
takes the lines away first.  Where the output is no terminal, nothing is written.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
from typing import IO, TYPE_CHECKING, Any, Self

from tfnb.notebook.attr_text import cut_middle, one_line
from tfnb.notebook.summary_svg import headline

if TYPE_CHECKING:
    from tfnb.notebook.scene import Scene

_BAR = 24
_MOST_ROWS = 6
_UP_AND_CLEAR = "\x1b[1A\x1b[2K"
_GREEN, _DIM, _RED, _PLAIN = "\x1b[32m", "\x1b[2m", "\x1b[31m", "\x1b[0m"


def can_draw(stream: Any) -> bool:
    """Whether lines can be written over: on a terminal that knows how."""
    is_terminal = getattr(stream, "isatty", None)
    return bool(is_terminal and is_terminal()) and os.environ.get("TERM", "") != "dumb"


class TerminalProgress:
    """A sink of a publisher (``step_publisher.py``) that draws on a terminal.

    Args:
      stream: the terminal; standard error where none is given.
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
        """Draws the counters anew."""
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
        """Writes what the program prints where the lines were; they come back below it."""
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
    """Standard output while progress is drawn."""

    def __init__(self, progress: TerminalProgress, stream: Any) -> None:
        self._progress = progress
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes above the lines of progress."""
        return self._progress.print_above(self._stream, text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def progress_lines(counters: dict[str, Any], width: int, *, has_colours: bool) -> list[str]:
    """What to draw: phase and figures, a bar per partition, loops, queues.

    Args:
      counters: as ``StepModel.counters`` gives them.
      width: no line is longer than so many characters.
      has_colours: whether to use them; what they say is there without them, too.
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
        if phase == "running" and partition["current"]:
            text += f"  {one_line(partition['current'])}"
        rows.append((text, ""))
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
    """A queue in a few words.

    >>> queue_text({"name": "q", "size": 3, "capacity": 10, "isClosed": False})
    'q: 3 of 10'
    """
    text = f"{cut_middle(one_line(queue['name']), 40)}: {queue['size']:,}"
    if queue["capacity"]:
        text += f" of {queue['capacity']:,}"
    return f"{text}, closed" if queue["isClosed"] else text
