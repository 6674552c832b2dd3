"""``tfnb doctor PATH``: what a code base uses of TensorFlow, before anything runs.

Files are parsed, never imported. Names are those that follow ``import tensorflow``.
"""

from __future__ import annotations

import ast
import json
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.served_names import what_stops

if TYPE_CHECKING:
    from collections.abc import Iterator

EXPORTS = {"tf": ["doctor"]}

_MOST_BYTES = 10_000_000
# Magics of a whole cell whose lines are Python.
_CELL_MAGICS_OF_PYTHON = ("capture", "prun", "time", "timeit")
_SKIPPED = frozenset((".git", "__pycache__", ".venv", "venv", "node_modules", ".ipynb_checkpoints"))


@dataclass(slots=True)
class Missing:
    """A name that a code base uses and tfnb does not have.

    Attributes:
      name: "tensorflow.contrib.seq2seq".
      count: how often it is used.
      place: the first use, "file.py:12".
      advice: what to do.
    """

    name: str
    count: int
    place: str
    advice: str


@dataclass(slots=True)
class Diagnosis:
    """What a code base uses.

    Attributes:
      files: how many files were read.
      users: how many of them import TensorFlow.
      uses: names with the number of their uses.
      missing: names that are not there, most used first.
      unread: files that could not be parsed, with the reason.
    """

    files: int = 0
    users: int = 0
    uses: Counter[str] = field(default_factory=Counter)
    missing: list[Missing] = field(default_factory=list)
    unread: list[tuple[str, str]] = field(default_factory=list)

    @property
    def is_well(self) -> bool:
        """Whether every name is there, and every file could be read."""
        return not self.missing and not self.unread

    def __str__(self) -> str:
        there = sum(self.uses.values())
        lost = sum(one.count for one in self.missing)
        lines = [
            f"{self.files} files, {self.users} of them import TensorFlow: {len(self.uses)} names, "
            f"{there} uses"
        ]
        if self.missing:
            lines.append(f"not there: {len(self.missing)} names, {lost} uses")
            width = min(60, max(len(one.name) for one in self.missing))
            lines += [
                f"  {one.count:5}  {one.name:{width}}  {one.place}  {one.advice}"
                for one in self.missing
            ]
        elif self.uses:
            lines.append("all of them are there")
        lines += [f"not read: {place}: {reason}" for place, reason in self.unread]
        return "\n".join(lines)


def doctor(path: str | Path) -> Diagnosis:
    """Return what a program or a folder of programs uses of TensorFlow, and what tfnb lacks.

    Args:
      path: a .py file, a notebook, or a folder, which is searched.

    Raises:
      FileNotFoundError: there is nothing at that path.
    """
    top = Path(path)
    if not top.exists():
        raise FileNotFoundError(f"there is no file or folder {top}")
    found = Diagnosis()
    first: dict[str, str] = {}
    for file in _files(top):
        found.files += 1
        name = str(file.relative_to(top)) if top.is_dir() else file.name
        try:
            tree = _parsed(file)
        except (SyntaxError, ValueError, OSError, RecursionError) as error:
            found.unread.append((name, _reason(error)))
            continue
        uses = _Uses()
        uses.visit(tree)
        found.users += bool(uses.found)
        for path_of_name, line in uses.found:
            found.uses[path_of_name] += 1
            first.setdefault(path_of_name, f"{name}:{line}")
    for path_of_name, count in found.uses.most_common():
        advice = what_stops(path_of_name)
        if advice is not None:
            found.missing.append(Missing(path_of_name, count, first[path_of_name], advice))
    return found


def _files(top: Path) -> Iterator[Path]:
    if top.is_file():
        yield top
        return
    for path in sorted(top.rglob("*")):
        is_skipped = not _SKIPPED.isdisjoint(path.relative_to(top).parts)
        if path.suffix in (".py", ".ipynb") and not is_skipped and path.is_file():
            yield path


def _parsed(file: Path) -> ast.Module:
    if file.stat().st_size > _MOST_BYTES:
        raise ValueError(f"the file has more than {_MOST_BYTES:,} bytes")
    source: str | bytes = file.read_bytes()
    if file.suffix == ".ipynb":
        source = _code_of(json.loads(source))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def _code_of(notebook: Any) -> str:
    """Return the code cells of a notebook, without magics."""
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise ValueError("the file is not a notebook")
    lines: list[str] = []
    for cell in notebook["cells"]:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            text = cell.get("source", "")
            lines += _without_magics("".join(text) if isinstance(text, list) else str(text))
    return "\n".join(lines)


def _without_magics(text: str) -> list[str]:
    """Return the lines of a cell; ``pass`` stands for each line of a magic or of the shell."""
    lines = text.splitlines()
    first = text.split(None, 1)[:1]
    if first and first[0].startswith("%%") and first[0][2:] not in _CELL_MAGICS_OF_PYTHON:
        return [""] * len(lines)
    found: list[str] = []
    goes_on = False
    for line in lines:
        code = line.lstrip()
        if goes_on:
            found.append("")
        elif code.startswith(("%", "!")):
            # The block that the line belongs to may have no other line.
            found.append(f"{line[: len(line) - len(code)]}pass")
        else:
            found.append(line)
            continue
        goes_on = code.endswith("\\")
    return found


def _reason(error: Exception) -> str:
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg}: this is no Python 3"
    return str(error)


class _Uses(ast.NodeVisitor):
    """Gathers names of TensorFlow with the lines of their uses."""

    def __init__(self) -> None:
        self.found: list[tuple[str, int]] = []
        self._names: dict[str, str] = {}

    def visit_Import(self, node: ast.Import) -> None:
        """Note what ``import tensorflow.x as y`` binds."""
        for alias in node.names:
            if alias.name.partition(".")[0] == "tensorflow":
                self.found.append((alias.name, node.lineno))
                bound = alias.asname or "tensorflow"
                self._names[bound] = alias.name if alias.asname else "tensorflow"

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Note what ``from tensorflow.x import y`` binds."""
        if node.level or node.module is None or node.module.partition(".")[0] != "tensorflow":
            return
        for alias in node.names:
            path = node.module if alias.name == "*" else f"{node.module}.{alias.name}"
            self.found.append((path, node.lineno))
            self._names[alias.asname or alias.name] = path

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Note a chain of attributes that begins with a name of TensorFlow."""
        parts = [node.attr]
        inner = node.value
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id in self._names:
            self.found.append((".".join([self._names[inner.id], *reversed(parts)]), node.lineno))
        else:
            self.visit(inner)
