"""The functions of ``tf.gfile`` with the old names of their arguments; see ``tf.io.gfile``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.files import gfile

if TYPE_CHECKING:
    from collections.abc import Iterator

EXPORTS = {
    "gfile": [
        "Copy", "DeleteRecursively", "Exists", "Glob", "IsDirectory", "ListDirectory", "MakeDirs",
        "MkDir", "Remove", "Rename", "Stat", "Walk",
    ],
}  # fmt: skip


def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copy a file; :func:`tfnb.client.files.gfile.copy`."""
    gfile.copy(oldpath, newpath, overwrite)


def DeleteRecursively(dirname: Any) -> None:
    """Remove a directory and everything in it; :func:`tfnb.client.files.gfile.rmtree`."""
    gfile.rmtree(dirname)


def Exists(filename: Any) -> bool:
    """Return whether there is a file or directory."""
    return gfile.exists(filename)


def Glob(filename: Any) -> list[str]:
    """Return the paths that match a pattern, or one of several."""
    return gfile.glob(filename)


def IsDirectory(dirname: Any) -> bool:
    """Return whether there is a directory."""
    return gfile.isdir(dirname)


def ListDirectory(dirname: Any) -> list[str]:
    """Return the names in a directory; :func:`tfnb.client.files.gfile.listdir`."""
    return gfile.listdir(dirname)


def MakeDirs(dirname: Any) -> None:
    """Make a directory and its parents; :func:`tfnb.client.files.gfile.makedirs`."""
    gfile.makedirs(dirname)


def MkDir(dirname: Any) -> None:
    """Make a directory; :func:`tfnb.client.files.gfile.mkdir`."""
    gfile.mkdir(dirname)


def Remove(filename: Any) -> None:
    """Remove a file; :func:`tfnb.client.files.gfile.remove`."""
    gfile.remove(filename)


def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Rename a file or a directory; :func:`tfnb.client.files.gfile.rename`."""
    gfile.rename(oldname, newname, overwrite)


def Stat(filename: Any) -> gfile.FileStatistics:
    """Return size, time and kind of a file; :func:`tfnb.client.files.gfile.stat`."""
    return gfile.stat(filename)


def Walk(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield every directory below one; ``in_order``: a directory comes before its contents."""
    return gfile.walk(top, in_order)
