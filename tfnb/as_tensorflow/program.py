"""``tfnb run script.py``: a program of TensorFlow 1, on tfnb."""

from __future__ import annotations

import builtins
import os
import runpy
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from tfnb.as_tensorflow.finder import install_as_tensorflow
from tfnb.as_tensorflow.older_libraries import serve_older_names
from tfnb.as_tensorflow.sources.older_calls import code_of_program

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE = (
    "tfnb run script.py [ARGUMENT …]   or   tfnb run -m MODULE [ARGUMENT …]\n"
    "runs a program in whose `import tensorflow` tfnb answers"
)


def is_program(arguments: Sequence[str]) -> bool:
    """Return whether the arguments of ``tfnb run`` name a Python program, not a model."""
    if not arguments:
        return False
    first = arguments[0]
    return first == "-m" or first.endswith(".py") or _names_python(first)


def _names_python(path: str) -> bool:
    """Return whether the first line of a file names Python, as that of an installed command."""
    try:
        with open(path, "rb") as file:
            line = file.readline(200)
    except OSError:
        return False
    return line.startswith(b"#!") and b"python" in line


def run_program(arguments: Sequence[str]) -> int:
    """Run a program as ``python`` does; return its exit code.

    Args:
      arguments: a file or ``-m`` and a module, then the program's own arguments.
    """
    is_module = arguments[0] == "-m"
    own = [*arguments[1 if is_module else 0 :]]
    if not own:
        print(f"tfnb: error: a module has to follow -m\n{USAGE}", file=sys.stderr)
        return 2
    if not is_module and not os.path.isfile(own[0]):
        print(f"tfnb: error: there is no file {own[0]}", file=sys.stderr)
        return 3
    install_as_tensorflow()
    serve_older_names()
    sys.argv = own
    if is_module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(own[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(own[0])))
        _run_file(own[0])
    return 0


def _run_file(path: str) -> None:
    """Run a file as the main module, with the calls that NumPy 2 refuses changed."""
    with open(path, "rb") as file:
        code = code_of_program(file.read(), path)
    main = ModuleType("__main__")
    main.__dict__.update(__file__=path, __builtins__=builtins)
    before = sys.modules["__main__"]
    sys.modules["__main__"] = main
    try:
        exec(code, main.__dict__)
    finally:
        sys.modules["__main__"] = before
