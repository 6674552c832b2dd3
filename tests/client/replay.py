"""Programs in Markdown with TensorFlow's answers: how they are read, run and compared.

A program stands under its name, TensorFlow's answer under it::

    ### floor of a half
    show(lambda: tf.Session().run(tf.floor(1.5)))
      [TF]    np.float32(1.0)

It has ``tf``, ``np`` and ``show``, which prints the result of a function, or its error. An answer
of tfnb may stand under ``[tfnb]``, before TensorFlow's answer. Addresses, paths, names of modules
and numbers of Python functions are not compared; tfnb's error may add text after TensorFlow's.

``scripts/oracle/reproductions.py`` replays such files, and stores new answers of TensorFlow, whose
Python reads this file too.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from typing import Any, NamedTuple

OWN, TENSORFLOW = "  [tfnb] ", "  [TF] "
INDENT = " " * 7
# How the answers of a file are written: an error's text, and a program's, are cut there.
ERROR_TEXT, PROGRAM_TEXT = 400, (500, 700)
NOT_COMPARED = (
    (re.compile(r"0x[0-9a-f]{6,}"), "0x"),
    (re.compile(r"(?:/[\w.+-]+){2,}"), "FILE"),
    (re.compile(r"\bpyfunc_\d+"), "pyfunc_"),
    (re.compile(r"\b(?:tfnb|tensorflow)(?:\.\w+)*\.(\w+)"), r"\1"),
)


class Program(NamedTuple):
    """A program and the stored answer."""

    name: str
    code: str
    answer: list[str]


def programs(text: str) -> list[Program]:
    """Yield the programs of a Markdown file, in its order."""
    found = []
    for part in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        name, _, rest = part.partition("\n")
        rest = re.split(r"^```", rest, flags=re.MULTILINE)[0]
        rest, _, answer = rest.partition(TENSORFLOW)
        code = rest.partition(OWN)[0]
        lines = [line.removeprefix(INDENT) for line in answer.rstrip("\n").split("\n")]
        name = name.removesuffix("(same)").strip()
        found.append(Program(name, code, lines))
    return found


def is_whole(program: Program) -> bool:
    """Return whether the file has the complete program: long lines of some are cut."""
    try:
        compile(program.code, program.name, "exec")
    except SyntaxError:
        if any(len(line) in PROGRAM_TEXT for line in program.code.split("\n")):
            return False
        raise
    return True


def comparable(line: str) -> str:
    """Return a line without the parts that differ between runs and libraries."""
    for pattern, replacement in NOT_COMPARED:
        line = pattern.sub(replacement, line)
    return line.strip()


def equal(found: str, expected: str) -> bool:
    """Compare two comparable lines; of an error's text, only as much as is stored."""
    if found == expected:
        return True
    stored = expected[: ERROR_TEXT - 40] if len(expected) > ERROR_TEXT - 40 else expected
    return "!!" in expected and found.startswith(stored)


def difference(found: list[str], expected: list[str]) -> str:
    """Return "" for equal answers, "words" where only the texts of errors differ."""
    one, other = ([comparable(x) for x in lines if x.strip()] for lines in (found, expected))
    if len(one) == len(other) and all(equal(a, b) for a, b in zip(one, other)):
        return ""
    mark = re.compile(r"!! (\w+)")
    for a, b in zip(one, other):
        kinds = [found.group(1) if (found := mark.search(x)) else None for x in (a, b)]
        if not equal(a, b) and (kinds[0] is None or kinds[0] != kinds[1]):
            return "answers"
    return "words" if len(one) == len(other) else "answers"


def error_text(error: BaseException) -> str:
    """Return an error's class and sentence, without the lists of nodes and lines around it."""
    text = str(error)
    if isinstance(getattr(error, "message", None), str):
        text = re.split(r"\s*\[\[(?:\{\{)?node ", text)[0]
        # TensorFlow's session begins with the place where the node was made.
        _, found, after = text.partition("\nNode: ")
        if found and text.startswith("Graph execution error:"):
            text = after.partition("\n")[2]
    text = text.rstrip().replace("\n", " | ")
    return f"!! {type(error).__name__} {text}"[:ERROR_TEXT]


def run_here(program: Program, tf: Any) -> str:
    """Run a program in this process and return its output."""
    import numpy as np

    printed = io.StringIO()

    def show(function: Any) -> None:
        """Prints what a function gives."""
        try:
            text = repr(function())
        except Exception as error:
            text = error_text(error)
        print("  ", text)

    with contextlib.redirect_stdout(printed), tempfile.TemporaryDirectory() as directory:
        before = os.getcwd()
        os.chdir(directory)
        namespace = {"__name__": "__main__", "tf": tf, "np": np, "show": show}
        try:
            exec(compile(program.code, program.name, "exec"), namespace)
        except Exception as error:
            print(error_text(error))
        os.chdir(before)
    return printed.getvalue().rstrip("\n") or "NOTHING"
