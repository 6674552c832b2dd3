"""Files as kernels and checkpoints see them: Python's, with TensorFlow's errors.

Every ``OSError`` becomes the error class that TensorFlow gives for its number, with the path in the
message. Only local paths are known; a ``file://`` prefix is understood.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final

from tfnb.core import effects, errors

if TYPE_CHECKING:
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
    errno.ENAMETOOLONG: errors.INVALID_ARGUMENT,
    errno.EINVAL: errors.INVALID_ARGUMENT,
    errno.ENOSPC: errors.RESOURCE_EXHAUSTED,
    errno.EDQUOT: errors.RESOURCE_EXHAUSTED,
    errno.EMFILE: errors.RESOURCE_EXHAUSTED,
    errno.ENFILE: errors.RESOURCE_EXHAUSTED,
}


def error_from_os(error: OSError, path: str) -> errors.OpError:
    """The error that stands for a failed system call on ``path``."""
    code = _CODES.get(error.errno or 0, errors.UNKNOWN)
    return errors.from_code(code, f"{path}; {os.strerror(error.errno or 0)}")


@contextmanager
def translating_errors(path: str) -> Iterator[None]:
    """Turns every ``OSError`` inside into TensorFlow's error for the path."""
    try:
        yield
    except OSError as error:
        raise error_from_os(error, path) from None


def local_path(path: str) -> str:
    """A path without its ``file://``.

    Raises:
      UnimplementedError: the path names another file system.
    """
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", path)
    if scheme is None:
        return path
    if scheme[1] == "file":
        return path[len(scheme[0]) :]
    raise errors.unimplemented(f"File system scheme '{scheme[1]}' not implemented (file: '{path}')")


def open_file(path: str, mode: str = "rb") -> BinaryIO:
    """Opens a file in a binary mode."""
    effects.check("read" if mode == "rb" else "write", path)
    with translating_errors(path):
        return open(local_path(path), mode)  # type: ignore[return-value]


def read_file(path: str) -> bytes:
    """The contents of a file."""
    effects.check("read", path)
    with translating_errors(path), open(local_path(path), "rb") as file:
        return file.read()


def write_file(path: str, contents: bytes, *, makes_folder: bool = False) -> None:
    """Writes a file so that a reader sees the old contents or the new, nothing between."""
    effects.check("write", path)
    path = local_path(path)
    if makes_folder and os.path.dirname(path):
        with translating_errors(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = temporary_name(path)
    with translating_errors(path):
        try:
            with open(temporary, "wb") as file:
                file.write(contents)
            os.replace(temporary, path)
        except BaseException:
            remove_if_exists(temporary)
            raise


def temporary_name(path: str) -> str:
    """A name beside ``path`` that nobody else uses."""
    return f"{path}.tempstate{uuid.uuid4().int >> 64}"


def rename(source: str, target: str) -> None:
    """Renames a file, replacing the target."""
    with translating_errors(source):
        os.replace(source, target)


def link(source: str, target: str) -> bool:
    """Gives a file a second name; False where the file system has no such thing."""
    try:
        os.link(source, target)
    except FileExistsError:
        os.remove(target)
        os.link(source, target)
    except OSError:
        return False
    return True


def create_directory(path: str) -> None:
    """Creates one directory; it may exist."""
    if path and not os.path.isdir(path):
        with translating_errors(path):
            os.mkdir(path)


def create_directories(path: str) -> None:
    """Creates a directory and those around it; they may exist."""
    if path:
        with translating_errors(path):
            os.makedirs(local_path(path), exist_ok=True)


def remove_if_exists(path: str) -> None:
    """Removes a file, if there is one."""
    with translating_errors(path):
        if os.path.exists(path):
            os.remove(path)


def matching_files(pattern: str) -> list[str]:
    """The existing paths that match a pattern of ``*``, ``?`` and ``[...]``, sorted.

    Those of a pattern that begins with a wildcard begin with ``./``, as TensorFlow's do.
    """
    effects.check("read", pattern)
    found = glob.glob(local_path(pattern), include_hidden=True)
    here = "./" if set("*?[") & set(pattern.split("/")[0]) else ""
    return sorted(here + path for path in found if path != "")
