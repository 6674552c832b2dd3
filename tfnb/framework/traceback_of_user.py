"""Locations in the user's program where ops were made: notebook cell or file, and line.

Every op keeps a :data:`Site`, recorded once while it is built: the innermost frames outside this
package, each as its code and its current instruction, in one flat tuple. No text is formatted or
looked up at that time; :class:`CreationSite` does so on request. Frames end at a notebook cell,
because the frames above a cell belong to the notebook.

A cell run twice has the same file name, so a site also holds the number of runs registered at that
time: ``register_cell`` adds one run, and a site belongs to the latest run of its file with a lower
number. The tables only grow, by one entry per cell run; reading them needs no lock.
"""

from __future__ import annotations

import linecache
import sys
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from tfnb.core.process.package_directory import EMITTED, PACKAGE_DIRECTORY
from tfnb.core.process.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from traceback import FrameSummary
    from types import CodeType
# Frames kept per op: enough to reach the user's own lines through a layer library.
MAX_FRAMES = 12

# (number of cell runs registered, code, instruction, code, instruction, ...), innermost first.
Site = tuple[Any, ...]

_is_internal: dict[str, bool] = {}


@record(frozen=True, slots=True)
class CellRun:
    """One run of one notebook cell."""

    filename: str
    execution_count: int
    source: str


# file name -> (numbers of the runs in ascending order, the runs); a run's number counts all runs of
# all cells.
_cells: dict[str, tuple[list[int], list[CellRun]]] = {}
_num_runs = 0


@record(frozen=True, slots=True)
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
        """Return the text for messages: ``cell 3, line 2`` or ``model.py:41``."""
        if self.cell is not None:
            return f"cell {self.cell}, line {self.line}"
        return f"{self.file}:{self.line}"


def register_cell(filename: str, execution_count: int, source: str = "") -> None:
    """Record that a notebook cell is about to run.

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


def num_registered() -> int:
    """Return the number of registered cell runs: the first number of a site taken now."""
    return _num_runs


def is_internal(filename: str) -> bool:
    """Return whether a file belongs to this package, or is a function written for a step."""
    return filename.startswith((PACKAGE_DIRECTORY, EMITTED))


def forget_cells() -> None:
    """Remove every registered cell; sites taken before lose their cell numbers."""
    _cells.clear()


def capture() -> Site:
    """Return the site of the code that called into this package."""
    frame = sys._getframe(1)
    internal = _is_internal
    # Skip the frames of this package.
    while True:
        code = frame.f_code
        filename = code.co_filename
        inside = internal.get(filename)
        if inside is None:
            inside = internal[filename] = filename.startswith(PACKAGE_DIRECTORY)
        if not inside:
            break
        outer = frame.f_back
        if outer is None:
            break
        frame = outer
    # Keep the user's frames up to a cell.
    site: list[Any] = [_num_runs, code, frame.f_lasti]
    cells = _cells
    while code.co_filename not in cells and len(site) < 2 * MAX_FRAMES:
        outer = frame.f_back
        if outer is None:
            break
        frame = outer
        code = frame.f_code
        site += (code, frame.f_lasti)
    return tuple(site)


def line_of(code: CodeType, instruction: int) -> int:
    """Return the line of an instruction of ``code``, or of one before it if that has no line."""
    found = code.co_firstlineno
    for start, _, line in code.co_lines():
        if start > instruction:
            break
        found = found if line is None else line
    return found


def cell_of(site: Site) -> CellRun | None:
    """Return the innermost notebook cell run among a site's frames."""
    for code, _ in _frames(site):
        found = _run_of(code.co_filename, site[0])
        if found is not None:
            return found
    return None


def creation_site(site: Site) -> CreationSite | None:
    """Return the user's line that made the op: in a cell if any, else outside this package."""
    for code, instruction in _frames(site):
        run = _run_of(code.co_filename, site[0])
        if run is not None:
            return _site_at(code, instruction, run)
    return _site_at(site[1], site[2], None) if len(site) > 2 else None


def frame_summaries(site: Site) -> list[FrameSummary]:
    """Return the frames of a site, outermost first, as :mod:`traceback` expects them."""
    from traceback import FrameSummary

    summaries = []
    for code, instruction in reversed(list(_frames(site))):
        at = _site_at(code, instruction, _run_of(code.co_filename, site[0]))
        summaries.append(
            FrameSummary(at.file, at.line, at.function, lookup_line=False, line=at.text)
        )
    return summaries


def _frames(site: Site) -> Iterator[tuple[CodeType, int]]:
    return zip(site[1::2], site[2::2], strict=True)


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
