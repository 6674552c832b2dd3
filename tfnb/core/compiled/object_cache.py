"""Compiled kernels on disk, so that a later process does not compile them again.

A file holds the object code of one kernel, behind the checksum of its name and the code.  Its name
is a hash of the source, of the compiler's version and of the processor: a file never serves another
version, nor one that was copied to another name.  Code is only read from a folder that belongs to
the user and that no other user may write to.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import stat
import tempfile

_log = logging.getLogger("tfnb")

_DIGEST = hashlib.sha256().digest_size
# Limit of files; beyond it, the files that were written first are removed.
_MOST_FILES = 4096


def default_folder() -> str:
    """Return the folder of a user's compiled kernels: ``$TFNB_CACHE``, or one in ``~/.cache``."""
    chosen = os.environ.get("TFNB_CACHE")
    if chosen:
        return os.path.join(os.path.abspath(chosen), "compiled")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "tfnb", "compiled")


class ObjectCache:
    """A folder of object code.

    Attributes:
      refusal: why the folder is not used; "" if it is.
    """

    def __init__(self, folder: str) -> None:
        """Open a folder, which is made if it is missing."""
        self._folder = folder
        self.refusal = _refusal_of(folder)

    def read(self, key: str) -> bytes | None:
        """Return the object code of a key; None if there is none, or if its file is damaged."""
        if self.refusal:
            return None
        try:
            with open(self._path(key), "rb", opener=_open_at_once) as file:
                content = file.read() or b""  # None: a pipe whose writer has written nothing
        except OSError:
            return None
        digest, code = content[:_DIGEST], content[_DIGEST:]
        return code if _digest_of(key, code) == digest else None

    def has(self, key: str) -> bool:
        """Return whether there is a file for a key."""
        return not self.refusal and os.path.exists(self._path(key))

    def write(self, key: str, code: bytes) -> None:
        """Store the object code of a key; a folder that is full or gone only makes the log say so.

        Nothing is read or written any more after that.
        """
        if self.refusal:
            return
        try:
            handle, path = tempfile.mkstemp(dir=self._folder, suffix=".new")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_digest_of(key, code) + code)
                os.replace(path, self._path(key))
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(path)
                raise
            self._remove_oldest()
        except OSError as error:
            self.refusal = f"{type(error).__name__}: {error}"
            _log.warning("Compiled kernels are not kept any more: %s", self.refusal)

    def _remove_oldest(self) -> None:
        paths = [entry.path for entry in os.scandir(self._folder)]
        if len(paths) <= _MOST_FILES:
            return
        ages = {}
        for path in paths:
            with contextlib.suppress(OSError):  # another process removes files, too
                ages[path] = os.stat(path).st_mtime
        for path in sorted(ages, key=ages.__getitem__)[: len(paths) // 2]:
            with contextlib.suppress(OSError):
                os.unlink(path)

    def _path(self, key: str) -> str:
        return os.path.join(self._folder, f"{key}.o")


def _digest_of(key: str, code: bytes) -> bytes:
    return hashlib.sha256(key.encode() + code).digest()


def _open_at_once(path: str, flags: int) -> int:
    # A pipe in place of a file is empty then; the helper thread would wait for a writer.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _refusal_of(folder: str) -> str:
    """Return why code from a folder must not run; "" if it may."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        found = os.lstat(folder)
    except OSError as error:
        return f"{type(error).__name__}: {error}"
    if not stat.S_ISDIR(found.st_mode):
        return f"{folder} is not a folder"
    if hasattr(os, "getuid"):
        if found.st_uid != os.getuid():
            return f"{folder} belongs to another user"
        if found.st_mode & 0o022:
            return f"other users may write to {folder}"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"{folder} cannot be written"
    return ""
