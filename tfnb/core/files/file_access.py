"""The file access of steps: every open, rename, link and listing of a step goes through here.

A thread that computes a node of the user's own graph has no guard, and may use the files that the
operating system allows. A thread that computes a node from a file has a guard
(``core/effects.py``), which decides on the file that is really opened, not on the text of the path:

1. the path is resolved, links and ``..`` followed, and the guard checks the result;
2. the folder of the result is opened, and its own path is compared with the resolved one, so that
   a link that was put in between is noticed;
3. the file is opened in that folder by its last name alone, without following a link, and must be a
   regular file: a pipe or a device could block the step forever.

Functions raise ``OSError`` as the operating system does; ``core/files/file_system.py`` translates.
"""

from __future__ import annotations

import errno
import fnmatch
import glob
import os
import re
import stat as stat_modes
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, Final, NoReturn, Self, cast

from tfnb.core import errors
from tfnb.core.effects import current_guard

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from tfnb.core.effects import Guard

_HAS_LINKS: Final = hasattr(os, "link")  # not in a browser
_HAS_FOLDER_DESCRIPTORS: Final = _HAS_LINKS and (
    {os.open, os.stat, os.mkdir, os.link, os.unlink, os.rename} <= os.supports_dir_fd
)
_NO_LINKS: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_WAITING: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_FLAGS: Final = {
    "rb": os.O_RDONLY,
    "wb": os.O_WRONLY | os.O_CREAT,
    "ab": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
    "xb": os.O_WRONLY | os.O_CREAT | os.O_EXCL,
}


def temporary_name(path: str) -> str:
    """Return a name beside ``path`` that no other file has."""
    return f"{path}.tempstate{int.from_bytes(os.urandom(8))}"


# ------------------------------------------------------------- the file that is really opened


class _Place:
    """A path of a guarded step: the resolved path, and its folder, which is held open.

    Attributes:
      path: the path as the node gave it.
      real: the resolved path; without ``follows``, the last name itself in the resolved folder.
      name: the last part of ``real``.
      folder: a descriptor of the folder that ``name`` is in; None where the system has no folder
        descriptors.
    """

    def __init__(self, path: str, *, follows: bool = True) -> None:
        if not path:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        self.path = path
        # Writing, renaming and removing act on the last name itself: a link of this name is
        # replaced.
        parts = os.path.split(path.rstrip("/") or "/")
        if follows or parts[1] in ("", ".", ".."):
            self.real = os.path.realpath(path)
        else:
            self.real = os.path.join(os.path.realpath(parts[0] or "."), parts[1])
        self._parent, self.name = os.path.split(self.real)
        self.folder: int | None = None

    def open_folder(self) -> None:
        """Open the folder of the file, if its path still leads to the same folder."""
        if not _HAS_FOLDER_DESCRIPTORS:
            return
        flags = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINKS
        self.folder = os.open(self._parent, flags)
        if _path_of(self.folder, self._parent) != self._parent:
            self.refuse_change()

    def refuse_change(self) -> NoReturn:
        """Raise the error for a link that was put in between."""
        raise errors.permission_denied(
            f"'{self.path}' led to another file while it was opened; nothing was read or written"
        )

    @property
    def at(self) -> str:
        """The name for calls that take ``dir_fd=folder``."""
        return self.real if self.folder is None else (self.name or ".")

    def close(self) -> None:
        """Close the folder."""
        if self.folder is not None:
            os.close(self.folder)
            self.folder = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _path_of(descriptor: int, expected: str) -> str:
    """Return the path of an open folder, as the operating system reports it."""
    with suppress(OSError):
        return os.readlink(f"/proc/self/fd/{descriptor}")
    try:
        import fcntl

        found = fcntl.fcntl(descriptor, getattr(fcntl, "F_GETPATH", 50), bytes(1024))
        return os.fsdecode(found.rstrip(b"\0"))
    except (ImportError, OSError):
        is_same = os.path.samestat(os.fstat(descriptor), os.stat(expected))
        return expected if is_same and os.path.realpath(expected) == expected else ""


@contextmanager
def _permitted(
    guard: Guard, kind: str, path: str, part_of: str | None, *, follows: bool = True
) -> Iterator[tuple[_Place, bool]]:
    """Yield the place of a path that the guard permits, and whether a file may be replaced."""
    place = _Place(path, follows=follows)
    may_replace = guard.permit(kind, path, place.real, part_of)
    with place:
        place.open_folder()
        yield place, may_replace


# --------------------------------------------------------------------------------------- opening


def open_binary(path: str, mode: str = "rb", part_of: str | None = None) -> BinaryIO:
    """Open a file.

    Args:
      path: the path of the file.
      mode: "rb", "wb", "ab" or "xb".
      part_of: the prefix of the checkpoint, or of the log, that the file is a part of: permission
        for the prefix includes its parts.

    Raises:
      PermissionDeniedError: the node that runs in this thread may not open the file.
    """
    guard = current_guard()
    if guard is None:
        return cast("BinaryIO", open(path, mode))
    kind = "read" if mode == "rb" else "write"
    with _permitted(guard, kind, path, part_of) as (place, may_replace):
        if path.endswith(("/", "/.", "/..")):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        flags = _FLAGS[mode] | _NO_LINKS | _NO_WAITING
        if kind == "write" and not may_replace:
            flags |= os.O_EXCL
        try:
            descriptor = os.open(place.at, flags, 0o666, dir_fd=place.folder)
        except FileExistsError:
            if mode == "xb":
                raise
            raise guard.refuse_replacing(path) from None
        try:
            _check_regular(descriptor, path)
            if mode == "wb":
                os.ftruncate(descriptor, 0)
            return os.fdopen(descriptor, "wb" if mode == "xb" else mode)  # type: ignore[return-value]
        except BaseException:
            os.close(descriptor)
            raise


def _check_regular(descriptor: int, path: str) -> None:
    mode = os.fstat(descriptor).st_mode
    if stat_modes.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat_modes.S_ISREG(mode):
        raise errors.permission_denied(
            f"'{path}' is not a regular file. Nodes from a file must not open pipes, sockets or "
            "devices."
        )


def exists(path: str, part_of: str | None = None) -> bool:
    """Return whether there is a file or folder of this name.

    Raises:
      PermissionDeniedError: the node that runs in this thread may not read the path.
    """
    try:
        stat(path, part_of)
    except (OSError, ValueError):
        return False
    return True


def stat(path: str, part_of: str | None = None) -> os.stat_result:
    """Return the metadata of a file: size, times, number."""
    guard = current_guard()
    if guard is None:
        return os.stat(path)
    with _permitted(guard, "read", path, part_of) as (place, _):
        return os.stat(place.at, dir_fd=place.folder, follow_symlinks=place.folder is None)


# --------------------------------------------------------------------------------------- changing


def write_whole(path: str, contents: bytes, part_of: str | None = None) -> None:
    """Write a file atomically: a reader sees either the old contents or the new."""
    guard = current_guard()
    if guard is None:
        temporary = temporary_name(path)
        try:
            with open(temporary, "wb") as file:
                file.write(contents)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.remove(temporary)
            raise
        return
    with _permitted(guard, "write", path, part_of, follows=False) as (place, may_replace):
        if path.endswith(("/", "/.", "/..")):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        temporary, folder = temporary_name(place.at), place.folder
        flags = _FLAGS["xb"] | _NO_LINKS
        descriptor = os.open(temporary, flags, 0o666, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(contents)
            _give_name(guard, temporary, place, may_replace)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise


def _give_name(guard: Guard, temporary: str, place: _Place, may_replace: bool) -> None:
    """Move a new file to the name of a place in the same folder."""
    folder = place.folder
    if not (may_replace or _HAS_LINKS) and os.path.lexists(place.at):
        raise guard.refuse_replacing(place.path)
    if may_replace or not _HAS_LINKS:
        os.replace(temporary, place.at, src_dir_fd=folder, dst_dir_fd=folder)
        return
    try:
        os.link(temporary, place.at, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        raise guard.refuse_replacing(place.path) from None
    os.unlink(temporary, dir_fd=folder)


def rename(source: str, target: str, part_of: tuple[str, str] | None = None) -> None:
    """Rename a file, replacing the target.

    Args:
      source: the file.
      target: its new name.
      part_of: the checkpoints that the two are parts of.
    """
    guard = current_guard()
    if guard is None:
        os.replace(source, target)
        return
    old, new = part_of or (None, None)
    with (
        _permitted(guard, "write", source, old, follows=False) as (here, _),
        _permitted(guard, "write", target, new, follows=False) as (there, may_replace),
    ):
        if not may_replace and os.path.lexists(there.real):
            raise guard.refuse_replacing(target)
        os.replace(here.at, there.at, src_dir_fd=here.folder, dst_dir_fd=there.folder)


def link(source: str, target: str, part_of: tuple[str, str] | None = None) -> bool:
    """Give a file a second name; False where the file system does not support it."""
    if not _HAS_LINKS:
        return False
    guard = current_guard()
    if guard is None:
        try:
            os.link(source, target)
        except FileExistsError:
            os.remove(target)
            os.link(source, target)
        except OSError:
            return False
        return True
    old, new = part_of or (None, None)
    with (
        _permitted(guard, "write", source, old, follows=False) as (here, _),
        _permitted(guard, "write", target, new, follows=False) as (there, may_replace),
    ):
        try:
            try:
                _link(here, there)
            except FileExistsError:
                if not may_replace:
                    raise guard.refuse_replacing(target) from None
                os.unlink(there.at, dir_fd=there.folder)
                _link(here, there)
        except OSError:
            return False
        return True


def _link(here: _Place, there: _Place) -> None:
    os.link(
        here.at,
        there.at,
        src_dir_fd=here.folder,
        dst_dir_fd=there.folder,
        follow_symlinks=False,
    )


def remove(path: str, part_of: str | None = None) -> None:
    """Remove a file.

    Raises:
      PermissionDeniedError: the node that runs in this thread may not replace it.
    """
    guard = current_guard()
    if guard is None:
        os.remove(path)
        return
    with _permitted(guard, "write", path, part_of, follows=False) as (place, may_replace):
        if not may_replace:
            raise guard.refuse_replacing(path)
        os.unlink(place.at, dir_fd=place.folder)


def remove_folder(path: str, for_file: str) -> None:
    """Remove an empty folder; permission to write ``for_file`` in it is enough."""
    guard = current_guard()
    if guard is None:
        os.rmdir(path)
        return
    guard.permit("write", for_file, _Place(for_file, follows=False).real, None)
    with _Place(path, follows=False) as place:
        place.open_folder()
        os.rmdir(place.at, dir_fd=place.folder)


def make_folders(path: str, for_file: str | None = None, *, only_last: bool = False) -> None:
    """Make a folder and its parents; they may exist.

    Args:
      path: the path of the folder.
      for_file: a file in it: permission to write the file includes its folders.
      only_last: whether the parents must exist.
    """
    guard = current_guard()
    if guard is None:
        if only_last:
            if not os.path.isdir(path):
                os.mkdir(path)
        else:
            os.makedirs(path, exist_ok=True)
        return
    wanted = for_file or path
    guard.permit("write", wanted, _Place(wanted, follows=for_file is None).real, None)
    real, missing = os.path.realpath(path), []
    while not os.path.isdir(real) and os.path.dirname(real) != real:
        missing.append(real)
        real = os.path.dirname(real)
    for folder in reversed(missing[:1] if only_last else missing):
        with _Place(folder) as place:
            if place.real != folder:
                place.refuse_change()
            place.open_folder()
            with suppress(FileExistsError):
                os.mkdir(place.at, dir_fd=place.folder)


# --------------------------------------------------------------------------------------- listing

_WILD: Final = re.compile(r"[*?\[]")


def matching(pattern: str, part_of: str | None = None) -> list[str]:
    """Return the existing paths that match a pattern of ``*``, ``?`` and ``[...]``, in no order.

    A guarded step gets only paths in folders that it may read: links are followed first.

    Raises:
      PermissionDeniedError: the node that runs in this thread may not read the pattern's folder.
    """
    guard = current_guard()
    if guard is None:
        return [path for path in glob.glob(pattern, include_hidden=True) if path]
    if not pattern:
        return []
    base, parts = _split_pattern(pattern)
    real_base = os.path.realpath(base or ".") if parts else os.path.realpath(pattern)
    seen = guard.listable(pattern, real_base, part_of)
    if not parts:
        return [pattern] if os.path.lexists(os.path.realpath(pattern)) else []
    found = [base]
    for position, part in enumerate(parts):
        is_last = position == len(parts) - 1
        following = []
        for folder in found:
            real = os.path.realpath(folder or ".")
            if not seen(real):
                continue
            for name in _names_in(real, part):
                path = os.path.join(folder, name)
                if is_last or os.path.isdir(os.path.join(real, name)):
                    following.append(path)
        found = following
    return found


def _split_pattern(pattern: str) -> tuple[str, list[str]]:
    """Return the folder that a pattern begins with, and the parts from the first wildcard on."""
    parts = re.split(r"/+", pattern)
    for position, part in enumerate(parts):
        if _WILD.search(part):
            base = "/".join(parts[:position])
            return base or ("/" if position else ""), parts[position:]
    return pattern, []


def _names_in(folder: str, part: str) -> list[str]:
    """Return the names in a resolved folder that match one part of a pattern."""
    try:
        if not part:
            return [""]
        if not _WILD.search(part):
            return [part] if os.path.lexists(os.path.join(folder, part)) else []
        return fnmatch.filter(os.listdir(folder), part)
    except OSError:
        return []
