"""Errors of tfnb in a notebook: error, place and remedy in a few lines; the traceback is folded.

The shell renders the traceback first; its text can be unfolded below the error or printed with
``%tfnb error``. Errors from outside tfnb are shown as usual, and so are all errors after
:meth:`ErrorView.remove`.
"""

from __future__ import annotations

import os
import re
from html import escape
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tfnb.core.errors import OpError
from tfnb.framework.traceback_of_user import (
    CreationSite,
    creation_site,
    is_internal,
    line_of,
    num_registered,
)
from tfnb.notebook.kernel.shell import is_notebook, show
from tfnb.notebook.scenes.attr_text import cut_middle, one_line

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_LINES = 12
_MAX_LINE = 600
# Upper limit of lines that are meant to be copied, which are therefore not shortened.
_MAX_PASTE = 4000
_MAX_NAME = 80
_PASTE = ("Pass them along:", "Give them values first:")
_OURS = (ValueError, TypeError, LookupError, AttributeError, RuntimeError)
_NODE_LINE = re.compile(r"\s*(inside )?\[\[(\{\{)?node ")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_TRACEBACK = "Traceback (most recent call last):"
# The function of magics.py that runs the user's cell.
_RUNS_CELLS = "run_cell_body"
_EXECUTING = "while executing node"
_STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep
_FULL = "%tfnb error shows the whole traceback"


class ErrorView:
    """The display of errors in one shell.

    Attributes:
      traceback: the shell's text of the last error that was shown in short form.
    """

    def __init__(self, shell: Any, is_on: Callable[[], bool]) -> None:
        self._shell = shell
        self._is_on = is_on
        self._original: Any = None
        self.traceback = ""

    def install(self) -> None:
        """Replace the shell's rendering of tracebacks."""
        renderer = self._shell.InteractiveTB
        self._original = renderer.structured_traceback
        renderer.structured_traceback = self._render

    def remove(self) -> None:
        """Restore the shell's rendering of tracebacks."""
        # Without the instance attribute, the method of the class is used again.
        self._shell.InteractiveTB.__dict__.pop("structured_traceback", None)

    def _render(self, kind: Any, error: Any, traceback: Any, *args: Any, **options: Any) -> Any:
        traceback = _with_lines(traceback)
        full = self._original(kind, error, traceback, *args, **options)
        if not self._is_on() or not is_ours(error, traceback):
            return full
        before, self.traceback = self.traceback, "\n".join(full)
        lines = error_lines(error, traceback)
        if is_notebook(self._shell):
            # Kernels render twice; only the first text has the number of the cell.
            if self.traceback == before:
                return self._coloured(lines)
            html = error_html(error, self.traceback)
            show({"text/html": html, "text/plain": _FULL}, raw=True)
        else:
            lines = [*lines[: MAX_LINES - 1], _FULL]
        return self._coloured(lines)

    def _coloured(self, lines: list[str]) -> list[str]:
        if getattr(self._shell, "colors", "nocolor").lower() == "nocolor":
            return lines
        head, colon, rest = lines[0].partition(":")
        return [f"\x1b[31;1m{head}\x1b[0m{colon}{rest}", *lines[1:]]


def _with_lines(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback whose entries all have a line, without which IPython displays no error.

    Python's jump to the beginning of a loop may have no line, and may be where an interrupt comes.
    """
    entries = []
    while traceback is not None:
        entries.append(traceback)
        traceback = traceback.tb_next
    for one in reversed(entries):
        line: int | None = one.tb_lineno  # typeshed does not know of None
        if line is None:
            line = line_of(one.tb_frame.f_code, one.tb_lasti)
        traceback = TracebackType(traceback, one.tb_frame, one.tb_lasti, line)
    return traceback


def is_ours(error: Any, traceback: TracebackType | None) -> bool:
    """Return whether an error is for the caller of tfnb to see.

    It is raised by tfnb, or is an interrupt inside tfnb.
    """
    if isinstance(error, KeyboardInterrupt):
        return _call_interrupted(traceback) is not None
    if isinstance(error, OpError) or type(error).__module__.startswith("tfnb."):
        return isinstance(error, Exception)
    if not isinstance(error, _OURS):
        return False
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback is not None and is_internal(traceback.tb_frame.f_code.co_filename)


def error_lines(error: BaseException, traceback: TracebackType | None) -> list[str]:
    """Return an error in at most ``MAX_LINES - 1`` lines.

    They contain class and code, node, place, cause and fix.
    """
    if isinstance(error, KeyboardInterrupt):
        return _within_room(_interrupt_lines(error, traceback))
    message = error.message if isinstance(error, OpError) else _message(error)
    cause, *rest = [line for line in message.split("\n") if line.strip()] or [""]
    code = f" (code {error.error_code})" if isinstance(error, OpError) else ""
    lines = [f"{type(error).__name__}{code}: {cause}"]
    asked = _asked(traceback)
    op = getattr(error, "op", None)
    if op is not None:
        site = op.creation_site
        made = "" if site is None else f", made {_at(site)}{_text(site)}"
        lines.append(f"  node   {cut_middle(op.name, _MAX_NAME)} ({op.type}){made}")
        rest = [line for line in rest if not _NODE_LINE.match(line) or "inside" in line]
    if error.__cause__ is not None and _TRACEBACK in rest:
        rest = rest[: rest.index(_TRACEBACK)]
    if asked is not None:
        lines.append(f"  run    {_at(asked)}{_text(asked)}")
    lines += rest
    notes = getattr(error, "__notes__", ())
    lines += [f"  note   {one}" for one in notes if op is None or not one.startswith(_EXECUTING)]
    if error.__cause__ is not None:
        lines += _cause(error.__cause__, cause)
    lines += _notebook_advice(message, asked)
    return _within_room(lines)


def _within_room(lines: list[str]) -> list[str]:
    room = MAX_LINES - 1
    if len(lines) > room:
        # Keep the beginning, which names the error, and the end, which tells how to fix it.
        lines = [*lines[: room - 4], f"  … {len(lines) - room + 1} lines", *lines[-3:]]
    return [_cut(one_line(line)) for line in lines]


def error_html(error: BaseException, traceback: str) -> str:
    """Return the folded traceback as HTML; its text is escaped."""
    op = getattr(error, "op", None)
    node = "" if op is None else f" at node {one_line(cut_middle(op.name, _MAX_NAME))}"
    plain = "".join(
        c if c.isprintable() or c == "\n" else one_line(c) for c in _ANSI.sub("", traceback)
    )
    count = plain.count("\n") + 1
    head = f"Traceback of {type(error).__name__}{node}, {count} lines"
    return (
        f"<details><summary>{escape(head)}</summary>"
        f'<pre style="overflow-x:auto">{escape(plain)}</pre></details>'
    )


def _interrupt_lines(error: KeyboardInterrupt, traceback: TracebackType | None) -> list[str]:
    """Return the lines of an interrupt: the user's call, its place, what it waited for or ran."""
    called = _call_interrupted(traceback)
    is_step = hasattr(error, "standstill")
    what = "the step has ended, its session goes on" if is_step else "interrupted"
    if called is None:
        return [f"KeyboardInterrupt: {what}"]
    asked, inside, name = called
    lines = [f"KeyboardInterrupt: {what if is_step else f'{what} in {name}'}"]
    if asked is not None:
        lines.append(f"  run    {_at(asked)}{_text(asked)}")
    if inside is not None:
        lines.append(f"  stood  {_at(inside)}{_text(inside)}")
    for note in getattr(error, "__notes__", ()):
        lines += note.split("\n")
    return lines


def _call_interrupted(
    traceback: TracebackType | None,
) -> tuple[CreationSite | None, CreationSite | None, str] | None:
    """Return the interrupted call of tfnb: its place, the place of the user's code in it, its name.

    Return None if tfnb did not run. The magic that runs the cell itself does not count.
    """
    asked: list[Any] = []
    inside: list[Any] = []
    name = ""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_name == _RUNS_CELLS and is_internal(code.co_filename):
            asked, inside, name = [], [], ""
        elif is_internal(code.co_filename):
            name = name or code.co_qualname
            inside = []
        elif name and _is_of_standard_library(code.co_filename):
            pass  # how tfnb waits tells nothing of the user's code
        else:
            frames = inside if name else asked
            frames[:0] = (code, traceback.tb_lasti)
        traceback = traceback.tb_next
    if not name:
        return None
    number = num_registered()
    return creation_site((number, *asked)), creation_site((number, *inside)), name


def _is_of_standard_library(filename: str) -> bool:
    inside = filename.removeprefix(_STANDARD_LIBRARY)
    return inside != filename and not inside.startswith("site-packages")


def _cause(error: BaseException, known: str) -> list[str]:
    """Return the underlying error, unless it is already in the message, and where it was raised."""
    text = f"{type(error).__name__}: {error}"
    place = _asked(error.__traceback__)
    if place is None and text in known:
        return []
    return [f"  cause  {text}{'' if place is None else f', raised {_at(place)}{_text(place)}'}"]


def _message(error: BaseException) -> str:
    # str() of a KeyError is its repr.
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)


def _asked(traceback: TracebackType | None) -> CreationSite | None:
    """Return the user's line that led to the error: the innermost one outside tfnb."""
    found = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_internal(code.co_filename):
            found = code, traceback.tb_lasti
        traceback = traceback.tb_next
    return None if found is None else creation_site((num_registered(), *found))


def _notebook_advice(message: str, asked: CreationSite | None) -> list[str]:
    """Return advice that applies only in a notebook."""
    if "already exists, disallowed" not in message or asked is None or asked.cell is None:
        return []
    lines = []
    if f": {asked.text}" in message and f"cell {asked.cell}, " not in message:
        lines.append("  It was made by this same cell, when it ran before.")
    return [*lines, "  %%tfnb cell on the first line lets the cell replace what it made before."]


def _at(site: CreationSite) -> str:
    return f"{'at' if site.cell is None else 'in'} {site}"


def _text(site: CreationSite) -> str:
    return f": {cut_middle(site.text, 160)}" if site.text else ""


def _cut(line: str) -> str:
    return cut_middle(line, _MAX_PASTE if line.startswith(_PASTE) else _MAX_LINE)
