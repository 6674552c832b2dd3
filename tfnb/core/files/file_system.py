"""Files as kernels and checkpoints see them: Python's, with TensorFlow's errors.

Every ``OSError`` becomes the error class that TensorFlow gives for its number, with the path in the
message. Only local paths are supported; they may have the prefix ``file://``.
"""

from __future__ import annotations

import errno
import os
import re
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import numpy as np

from tfnb.core import errors, host_memory
from tfnb.core.files import file_access

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

_CODES: Final = {
    errno.ENOENT: errors.NOT_FOUND,
    errno.EEXIST: errors.ALREADY_EXISTS,
    errno.EACCES: errors.PERMISSION_DENIED,
    errno.EPERM: errors.PERMISSION_DENIED,
    errno.EROFS: errors.PERMISSION_DENIED,
    errno.ENOTDIR: errors.FAILED_PRECONDITION,
    errno.EISDIR: errors.FAILED_PRECONDITION,
    errno.ENOTEMPTY: errors.FAILED_PRECONDITION,
    errno.EBUSY: errors.FAILED_PRECONDITION,
    errno.ELOOP: errors.FAILED_PRECONDITION,
    errno.ENAMETOOLONG: errors.INVALID_ARGUMENT,
    errno.EINVAL: errors.INVALID_ARGUMENT,
    errno.ENOSPC: errors.RESOURCE_EXHAUSTED,
    errno.EDQUOT: errors.RESOURCE_EXHAUSTED,
    errno.EMFILE: errors.RESOURCE_EXHAUSTED,
    errno.ENFILE: errors.RESOURCE_EXHAUSTED,
    errno.EFBIG: errors.OUT_OF_RANGE,
}


def error_from_os(error: OSError, path: str) -> errors.OpError:
    """Return the error that stands for a failed system call on ``path``."""
    code = _CODES.get(error.errno or 0, errors.UNKNOWN)
    return errors.from_code(code, f"{path}; {os.strerror(error.errno or 0)}")


@contextmanager
def translating_errors(path: str) -> Iterator[None]:
    """Turn every ``OSError`` inside into TensorFlow's error for the path."""
    try:
        yield
    except OSError as error:
        raise error_from_os(error, path) from None


def local_path(path: str) -> str:
    """Return a path without its ``file://``.

    Raises:
      UnimplementedError: the path names another file system.
      InvalidArgumentError: it has a NUL.
    """
    if "\0" in path:
        raise errors.invalid_argument(f"A path must not contain NUL: {path!r}")
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", path)
    if scheme is None:
        return path
    if scheme[1] == "file":
        return path[len(scheme[0]) :]
    raise errors.unimplemented(f"File system scheme '{scheme[1]}' not implemented (file: '{path}')")


# In the functions below, ``part_of`` is the prefix of the checkpoint or log that a file is a part
# of: a node from a file that may use the prefix may use its parts (``core/files/file_access.py``).


def _local(part_of: str | None) -> str | None:
    return None if part_of is None else local_path(part_of)


def open_file(path: str, mode: str = "rb", part_of: str | None = None) -> BinaryIO:
    """Open a file in a binary mode."""
    with translating_errors(path):
        return file_access.open_binary(local_path(path), mode, _local(part_of))


def read_file(path: str, part_of: str | None = None) -> bytes:
    """Return the contents of a file.

    Raises:
      ResourceExhaustedError: the contents exceed the size limit for values of this thread.
    """
    with open_file(path, "rb", part_of) as file, translating_errors(path):
        host_memory.check_size(os.fstat(file.fileno()).st_size)
        return file.read()


def map_file(path: str) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the contents of a file as an array that is read on access."""
    with open_file(path) as file, translating_errors(path):
        if not os.fstat(file.fileno()).st_size:
            return np.zeros(0, np.uint8)
        return np.memmap(file, np.uint8, "r")


def write_file(path: str, contents: bytes, *, makes_folder: bool = False) -> None:
    """Write a file atomically: a reader sees either the old contents or the new."""
    local = local_path(path)
    with translating_errors(path):
        if makes_folder and os.path.dirname(local):
            file_access.make_folders(os.path.dirname(local), local)
        file_access.write_whole(local, contents)


def write_part(path: str, contents: bytes, part_of: str) -> None:
    """Write a file of a checkpoint atomically, with the permission for its prefix."""
    with translating_errors(path):
        file_access.write_whole(local_path(path), contents, _local(part_of))


def temporary_name(path: str) -> str:
    """Return a name beside ``path`` that no other file has."""
    return file_access.temporary_name(path)


def exists(path: str, part_of: str | None = None) -> bool:
    """Return whether there is a file or folder of this name."""
    return file_access.exists(local_path(path), _local(part_of))


def version_of(path: str) -> tuple[int, int, int]:
    """Return three numbers, which change when the file is replaced or written."""
    with translating_errors(path):
        found = file_access.stat(local_path(path))
    return found.st_ino, found.st_mtime_ns, found.st_size


def rename(source: str, target: str, part_of: tuple[str, str] | None = None) -> None:
    """Rename a file, replacing the target; ``part_of`` has the prefix of each."""
    with translating_errors(source):
        file_access.rename(local_path(source), local_path(target), part_of)


def link(source: str, target: str, part_of: tuple[str, str] | None = None) -> bool:
    """Give a file a second name; False where the file system does not support it."""
    return file_access.link(local_path(source), local_path(target), part_of)


def create_directory(path: str, for_file: str | None = None) -> None:
    """Create one directory; it may exist. Permission to write ``for_file`` in it is enough."""
    if path:
        with translating_errors(path):
            file_access.make_folders(local_path(path), _local(for_file), only_last=True)


def create_directories(path: str) -> None:
    """Create a directory and its parents; they may exist."""
    if path:
        with translating_errors(path):
            file_access.make_folders(local_path(path))


def remove_if_exists(path: str, part_of: str | None = None) -> None:
    """Remove a file, if it exists."""
    with translating_errors(path), suppress(FileNotFoundError, NotADirectoryError):
        file_access.remove(local_path(path), _local(part_of))


def remove_empty_directory(path: str, for_file: str) -> bool:
    """Remove the directory of ``for_file`` if it is empty; return whether it was removed."""
    try:
        file_access.remove_folder(local_path(path), local_path(for_file))
    except OSError:
        return False
    return True


def matching_files(pattern: str, part_of: str | None = None) -> list[str]:
    """Return the existing paths that match a pattern of ``*``, ``?`` and ``[...]``, sorted.

    If the pattern begins with a wildcard, the paths begin with ``./``, as TensorFlow's do.
    """
    found = file_access.matching(local_path(pattern), _local(part_of))
    here = "./" if set("*?[") & set(pattern.split("/")[0]) else ""
    return sorted(here + path for path in found)


def database(path: str) -> sqlite3.Connection:
    """Return a connection to a SQLite database that can only be read."""
    from tfnb.core.files.database_file import open_database

    with translating_errors(path):
        return open_database(path)
