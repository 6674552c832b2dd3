"""Kernels open files only through ``core/files/file_access.py``."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "tfnb"

# Files that use the file system directly, and why a loaded node gains nothing by it.
_MAY = {
    "core/files/file_access.py": "the door",
    "core/files/database_file.py": "the part of the door for SQLite",
    "core/compiled/object_cache.py": "the user's own folder; names are hashes of sources",
    "core/effects.py": "resolves paths to compare them",
    "core/host_memory.py": "asks the system how much memory there is",
    "core/process/module_finder.py": "reads the modules of this package",
    "core/process/large_bytes.py": "asks for huge pages of memory; it maps no file",
    "core/tensor_proto.py": "the same",
    "core/files/events_writer.py": "has a forked child's log written to nowhere",
    "core/files/file_system.py": "sizes of files that are open",
    "core/files/tensor_bundle.py": "sizes of files that are open; escapes patterns",
    "core/files/unfinished_files.py": "removes what killed saves left, where the step may write",
    "common_runtime/executor/loaded_effects.py": "decides what the door lets through",
    "ops/random/sobol_ops.py": "a table that lies in the package",
}
# Calls of the user, which no kernel makes.
_OF_THE_USER = ("library/training/", "library/saved_model/")

_MODULES = frozenset(("shutil", "glob", "tempfile", "mmap", "zipfile", "tarfile", "gzip", "bz2"))
_OF_OS = frozenset(
    (
        "open", "stat", "lstat", "fstat", "listdir", "scandir", "walk", "remove", "unlink",
        "rename", "replace", "link", "symlink", "readlink", "mkdir", "makedirs", "rmdir",
        "removedirs",
        "access", "truncate", "chmod", "utime", "mkfifo", "system", "popen", "exists", "lexists",
        "isfile", "isdir", "islink", "getsize", "getmtime", "realpath", "samefile",
    )
)  # fmt: skip
_OF_NUMPY = frozenset(("load", "save", "savez", "fromfile", "memmap", "loadtxt", "genfromtxt"))
_OF_PATH = frozenset(("read_text", "read_bytes", "write_text", "write_bytes"))
# Without these words a file accesses no files; parsing all files takes seconds.
_WORDS = re.compile(rf"\b(?:open|os|sqlite3|{'|'.join([*_MODULES, *_OF_NUMPY, *_OF_PATH])})\b")


def doors_in(source: str) -> list[str]:
    """Return the calls and imports in a module that access files.

    >>> doors_in("with open('x') as f: pass"), doors_in("import os; os.path.isfile('x')")
    (['open'], ['os.path.isfile'])
    """
    found: list[str] = []
    if not _WORDS.search(source):
        return found
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else names
            found += [name for name in names if name.split(".")[0] in _MODULES]
        if isinstance(node, ast.Call):
            text = ast.unparse(node.func)
            owner, _, name = text.rpartition(".")
            if (
                text == "open"
                or (owner in ("os", "os.path") and name in _OF_OS)
                or (owner == "np" and name in _OF_NUMPY)
                or (owner == "sqlite3" and name == "connect")
                or (owner != "self" and name in _OF_PATH)
                or (owner in ("io", "pathlib", "Path") and name == "open")
            ):
                found.append(text)
    return found


def _modules() -> list[str]:
    rooms = ("core", "ops", "library", "graph", "common_runtime")
    paths = [path for room in rooms for path in (ROOT / room).rglob("*.py")]
    return sorted(path.relative_to(ROOT).as_posix() for path in paths)


@pytest.mark.slow
def test_files_are_opened_only_in_file_access() -> None:
    """A kernel that opened a file directly would bypass the permissions."""
    found = {
        name: doors
        for name in _modules()
        if name not in _MAY
        and not name.startswith(_OF_THE_USER)
        and (doors := doors_in((ROOT / name).read_text()))
    }
    assert found == {}


@pytest.mark.parametrize("name", sorted(_MAY))
def test_what_may_touch_files_does(name: str) -> None:
    """Each entry of the list above is necessary."""
    assert doors_in((ROOT / name).read_text())
