"""Where in the user's program an op was made: notebook cell and line, or file and line.

Every op keeps a :data:`Site`, taken once while it is built: the innermost frames outside this
package as ``(code, instruction)`` pairs.  Nothing is formatted or looked up then;
:class:`CreationSite` does so when somebody asks.  Frames end at a notebook cell, since what lies
above a cell is the notebook's own machinery.

A cell run twice has the same file name, so a site also notes how many runs had been registered when
it was taken: ``register_cell`` adds one run, and a site belongs to the latest run of its file that
it could have seen. The tables only grow, by one entry per cell run; reading them needs no lock.
"""

from __future__ import annotations

import linecache
import os.path
import sys
from bisect import bisect_right
from dataclasses import dataclass
from traceback import FrameSummary
from types import CodeType

# Frames kept per op: enough to get through a layer library to the user's own lines.
MAX_FRAMES = 12

Frame = tuple[CodeType, int]
Site = tuple[int, tuple[Frame, ...]]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_is_internal: dict[str, bool] = {}


@dataclass(frozen=True, slots=True)
class CellRun:
    """One run of one notebook cell."""

    filename: str
    execution_count: int
    source: str


# file name -> (numbers of the runs in ascending order, the runs); a run's number counts all runs of
# all cells.
_cells: dict[str, tuple[list[int], list[CellRun]]] = {}
_num_runs = 0


@dataclass(frozen=True, slots=True)
class CreationSite:
    """A place in the user's program.

    Attributes:
      cell: the execution count of the notebook cell, or None outside a notebook.
      file: the file's name (for a cell, the name the kernel gave to its code).
      line: the line, counted from 1.
      function: the function, or ``<module>``.
      text: the line itself, without indentation.
    """

    cell: int | None
    file: str
    line: int
    function: str
    text: str

    def __str__(self) -> str:
        """Return the form for messages: ``cell 3, line 2`` or ``model.py:41``."""
        if self.cell is not None:
            return f"cell {self.cell}, line {self.line}"
        return f"{self.file}:{self.line}"


def register_cell(filename: str, execution_count: int, source: str = "") -> None:
    """Notes that a notebook cell is about to run.

    Args:
      filename: ``co_filename`` of the cell's code.
      execution_count: the number in the cell's ``In [n]``.
      source: the cell's text.
    """
    global _num_runs
    numbers, runs = _cells.setdefault(filename, ([], []))
    _num_runs += 1
    numbers.append(_num_runs)
    runs.append(CellRun(filename, execution_count, source))


def forget_cells() -> None:
    """Forgets every registered cell; sites taken before lose their cell numbers."""
    _cells.clear()


def capture() -> Site:
    """Takes the site of the code that called into this package."""
    frame = sys._getframe(1)
    internal = _is_internal
    # Walk out of the package.
    while True:
        code = frame.f_code
        filename = code.co_filename
        inside = internal.get(filename)
        if inside is None:
            inside = internal[filename] = filename.startswith(_PACKAGE)
        if not inside:
            break
        outer = frame.f_back
        if outer is None:
            break
        frame = outer
    # Keep the user's frames up to a cell.
    frames = []
    cells = _cells
    while True:
        frames.append((code, frame.f_lasti))
        if code.co_filename in cells or len(frames) == MAX_FRAMES:
            break
        outer = frame.f_back
        if outer is None:
            break
        frame = outer
        code = frame.f_code
    return _num_runs, tuple(frames)


def line_of(code: CodeType, instruction: int) -> int:
    """The line on which an instruction of ``code`` stands."""
    for start, end, line in code.co_lines():
        if start <= instruction < end and line is not None:
            return line
    return code.co_firstlineno


def cell_of(site: Site) -> CellRun | None:
    """The innermost notebook cell run among a site's frames."""
    num_runs, frames = site
    for code, _ in frames:
        found = _run_of(code.co_filename, num_runs)
        if found is not None:
            return found
    return None


def creation_site(site: Site) -> CreationSite | None:
    """The line a user would point at: in a cell if there is one, else outside this package."""
    num_runs, frames = site
    for code, instruction in frames:
        run = _run_of(code.co_filename, num_runs)
        if run is not None:
            return _site_at(code, instruction, run)
    return _site_at(*frames[0], None) if frames else None


def frame_summaries(site: Site) -> list[FrameSummary]:
    """The frames of a site, outermost first, as :mod:`traceback` wants them."""
    num_runs, frames = site
    summaries = []
    for code, instruction in reversed(frames):
        at = _site_at(code, instruction, _run_of(code.co_filename, num_runs))
        summaries.append(
            FrameSummary(at.file, at.line, at.function, lookup_line=False, line=at.text)
        )
    return summaries


def _run_of(filename: str, num_runs: int) -> CellRun | None:
    entry = _cells.get(filename)
    if entry is None:
        return None
    numbers, runs = entry
    index = bisect_right(numbers, num_runs) - 1
    return runs[index] if index >= 0 else None


def _site_at(code: CodeType, instruction: int, run: CellRun | None) -> CreationSite:
    line = line_of(code, instruction)
    if run is not None and run.source:
        lines = run.source.splitlines()
        text = lines[line - 1] if 0 < line <= len(lines) else ""
    else:
        text = linecache.getline(code.co_filename, line)
    count = None if run is None else run.execution_count
    return CreationSite(count, code.co_filename, line, code.co_name, text.strip())
