"""``tf.gfile`` and ``tf.io.gfile``: files and directories, with TensorFlow's errors.

Paths are local ones, as text, bytes or ``pathlib``; they may begin with ``file://``.
"""

from __future__ import annotations

import os
import shutil
import stat as _stat
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Self

from tfnb.core import errors
from tfnb.core.files import file_system
from tfnb.core.files.file_system import local_path, translating_errors

if TYPE_CHECKING:
    from collections.abc import Iterator

EXPORTS = {
    "gfile": ["FastGFile", "GFile", "Open:GFile"],
    "io.gfile": [
        "GFile", "copy", "exists", "get_registered_schemes", "glob", "isdir", "join", "listdir",
        "makedirs", "mkdir", "remove", "rename", "rmtree", "stat", "walk",
    ],
}  # fmt: skip

_MODES = ("r", "w", "a", "r+", "w+", "a+")


def _path(path: Any) -> str:
    return os.fsdecode(path)


class GFile:
    """A file; it is opened at the first read or write.

    Args:
        name: The path.
        mode: "r", "w", "a", "r+", "w+" or "a+", with "b" for bytes instead of UTF-8 text.

    Raises:
        InvalidArgumentError: The mode is none of these.
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        plain = mode.replace("b", "")
        if plain not in _MODES:
            raise errors.invalid_argument("mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+'")
        self._name = name
        self._mode = mode
        self._plain = plain
        self._is_binary = "b" in mode
        self._file: BinaryIO | None = None

    @property
    def name(self) -> Any:
        """The path."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode."""
        return self._mode

    def _opened(self) -> BinaryIO:
        if self._file is None:
            self._file = file_system.open_file(_path(self._name), self._plain + "b")
        return self._file

    def _readable(self) -> BinaryIO:
        if self._plain not in ("r", "r+", "w+", "a+"):
            raise errors.permission_denied("File isn't open for reading")
        return self._opened()

    def _writable(self) -> BinaryIO:
        if self._plain == "r":
            raise errors.permission_denied("File isn't open for writing")
        return self._opened()

    def _given(self, data: bytes) -> Any:
        return data if self._is_binary else data.decode("utf-8")

    def read(self, n: int = -1) -> Any:
        """Return the next ``n`` bytes, decoded in text mode; all remaining ones if ``n`` is -1."""
        with translating_errors(_path(self._name)):
            return self._given(self._readable().read(n))

    def readline(self) -> Any:
        """Return the next line, with its end; empty at the end of the file."""
        with translating_errors(_path(self._name)):
            return self._given(self._readable().readline())

    def readlines(self) -> list[Any]:
        """Return all remaining lines."""
        return list(self)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    next = __next__

    def write(self, file_content: str | bytes) -> None:
        """Write bytes, or text as UTF-8."""
        data = file_content.encode() if isinstance(file_content, str) else file_content
        with translating_errors(_path(self._name)):
            self._writable().write(data)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Move to a position.

        Args:
            offset: The distance to the position, in bytes.
            whence: The origin: 0 the beginning, 1 the present position, 2 the end.
            position: The old name of ``offset``.

        Raises:
            InvalidArgumentError: ``whence`` is another number, or the position is before the file.
            OutOfRangeError: The position is after the end.
            TypeError: No position is given.
        """
        file = self._readable()
        if offset is None and position is None:
            raise TypeError("seek(): offset argument required")
        if whence not in (0, 1, 2):
            raise errors.invalid_argument(
                f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2."
            )
        with translating_errors(_path(self._name)):
            here = file.tell()
            size = file.seek(0, os.SEEK_END)
            wanted = (offset if offset is not None else position or 0) + (0, here, size)[whence]
            if wanted < 0 or wanted > size:
                file.seek(here)
                if wanted < 0:
                    raise errors.invalid_argument(f"Seeking to a negative position: {wanted}")
                raise errors.out_of_range("reached end of file")
            file.seek(wanted)

    def tell(self) -> int:
        """Return the position, in bytes from the beginning."""
        return self._opened().tell()

    def size(self) -> int:
        """Return the file's size in bytes."""
        if self._file is not None and self._plain != "r":
            self.flush()
        return stat(self._name).length

    def seekable(self) -> bool:
        """Return True: ``seek`` may be used."""
        return True

    def flush(self) -> None:
        """Make the written data visible to readers."""
        if self._file is not None:
            with translating_errors(_path(self._name)):
                self._file.flush()

    def close(self) -> None:
        """Write the remaining data and close the file; a later use opens it again."""
        if self._file is not None:
            file, self._file = self._file, None
            with translating_errors(_path(self._name)):
                file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.close()


class FastGFile(GFile):
    """The old name of ``GFile``."""


class FileStatistics(NamedTuple):
    """The result of ``stat``: size in bytes, time of the last change in ns since 1970."""

    length: int
    mtime_nsec: int
    is_directory: bool


def exists(path: Any) -> bool:
    """Return whether there is a file or directory."""
    return os.path.exists(local_path(_path(path)))


def isdir(path: Any) -> bool:
    """Return whether there is a directory."""
    return os.path.isdir(local_path(_path(path)))


def glob(pattern: Any) -> list[str]:
    """Return the paths that match a pattern, or one of several.

    Args:
        pattern: A pattern of ``*``, ``?`` and ``[...]``; or a list of patterns.
    """
    if isinstance(pattern, list | tuple | set | frozenset):
        return [path for one in pattern for path in glob(one)]
    return file_system.matching_files(_path(pattern))


def listdir(path: Any) -> list[str]:
    """Return the names in a directory.

    Raises:
        NotFoundError: The directory does not exist.
    """
    if not isdir(path):
        raise errors.not_found(f"Could not find directory {_path(path)}")
    with translating_errors(_path(path)):
        return os.listdir(local_path(_path(path)))


def walk(
    top: Any, topdown: bool = True, onerror: Any = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield every directory below one: its path, and the names of its directories and files.

    Args:
        top: The directory to begin with.
        topdown: Whether a directory comes before its contents.
        onerror: Called with the error if a directory cannot be read.
    """
    top = _path(top)
    try:
        names = sorted(listdir(top))
    except errors.OpError as error:
        if onerror is not None:
            onerror(error)
        return
    directories = [name for name in names if isdir(os.path.join(top, name))]
    here = (top, directories, [name for name in names if name not in set(directories)])
    if topdown:
        yield here
    for name in directories:
        yield from walk(os.path.join(top, name), topdown, onerror)
    if not topdown:
        yield here


def mkdir(path: Any) -> None:
    """Make a directory; it may exist. Nothing is made for an empty name, that of the folder here.

    Raises:
        NotFoundError: The parent directory does not exist.
    """
    name = _path(path)
    with translating_errors(name):
        if name and not os.path.exists(local_path(name)):
            os.mkdir(local_path(name))


def makedirs(path: Any) -> None:
    """Make a directory and its parents; they may exist. Nothing is made for an empty name.

    Raises:
        FailedPreconditionError: A part of the path is not a directory.
    """
    name = local_path(_path(path))
    if not name:
        return
    try:
        with translating_errors(name):
            os.makedirs(name, exist_ok=True)
    except (errors.AlreadyExistsError, errors.FailedPreconditionError):
        while name and not os.path.exists(name):
            name = os.path.dirname(name)
        raise errors.failed_precondition(f"{name} is not a directory") from None


def remove(path: Any) -> None:
    """Remove a file.

    Raises:
        NotFoundError: The file does not exist.
    """
    with translating_errors(_path(path)):
        os.remove(local_path(_path(path)))


def rmtree(path: Any) -> None:
    """Remove a directory and everything in it, or a file.

    Raises:
        NotFoundError: The file or directory does not exist.
    """
    name = _path(path)
    if not os.path.lexists(local_path(name)):
        raise errors.not_found(f"{name} not found")
    with translating_errors(name):
        if os.path.islink(local_path(name)) or not isdir(name):
            os.remove(local_path(name))
        else:
            shutil.rmtree(local_path(name))


def _refuse_overwriting(target: str, overwrite: bool) -> None:
    if not overwrite and os.path.exists(local_path(target)):
        raise errors.already_exists(f"file already exists: {target}")


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file.

    Raises:
        NotFoundError: The file does not exist.
        AlreadyExistsError: There is a target, and ``overwrite`` is not set.
    """
    source, target = _path(src), _path(dst)
    _refuse_overwriting(target, overwrite)
    with translating_errors(source):
        shutil.copyfile(local_path(source), local_path(target))


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Rename a file or a directory.

    Raises:
        NotFoundError: The file or directory does not exist.
        AlreadyExistsError: There is a target, and ``overwrite`` is not set.
    """
    source, target = _path(src), _path(dst)
    _refuse_overwriting(target, overwrite)
    with translating_errors(source):
        os.replace(local_path(source), local_path(target))


def stat(path: Any) -> FileStatistics:
    """Return size, time and kind of a file or directory.

    Raises:
        NotFoundError: The file or directory does not exist.
    """
    with translating_errors(_path(path)):
        found = os.stat(local_path(_path(path)))
    return FileStatistics(found.st_size, found.st_mtime_ns, _stat.S_ISDIR(found.st_mode))


def join(path: Any, *paths: Any) -> str:
    """Return joined paths."""
    return os.path.join(_path(path), *(_path(part) for part in paths))


def get_registered_schemes() -> list[str]:
    """Return the supported kinds of paths."""
    return ["", "file"]
