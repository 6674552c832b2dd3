"""The files that a killed save leaves, told apart from files that another save is writing.

A writer holds a lock on its unfinished file. The operating system releases the lock when the
process ends, however it ends.  The next save under the same name removes files without a lock.  On
a file system without these locks, nothing is locked and nothing is removed.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    CAN_HOLD = False
else:
    CAN_HOLD = True

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Small files are written without a lock: a file older than this, in seconds, has no writer any
# more.
_OLD_S = 60.0


def open_held(open_file: Callable[[], BinaryIO]) -> BinaryIO:
    """Open a new file and hold its lock until it is closed."""
    while True:
        file = open_file()
        if not CAN_HOLD:
            return file
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        # Another save may have removed it as a leftover before it was locked.
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()


@contextmanager
def held_folder(path: str) -> Iterator[None]:
    """Make and lock a folder during a sharded save into it; then remove it if it is empty."""
    descriptor = None
    if CAN_HOLD and os.path.isdir(os.path.dirname(path) or "."):
        with suppress(OSError):
            os.makedirs(path, exist_ok=True)
            descriptor = os.open(path, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        yield
    except BaseException:
        if descriptor is not None:
            _empty(path)
        raise
    finally:
        if descriptor is not None:
            with suppress(OSError):
                os.rmdir(path)
            os.close(descriptor)


def remove_leftovers(save_path: str) -> None:
    """Remove unfinished files that killed saves with this prefix left, from any of their stages."""
    if not CAN_HOLD:
        return
    folder, base = os.path.split(save_path)
    step = rf"{re.escape(base)}(-\d+)?"
    data = re.compile(rf"{step}\.data-\d{{5}}-of-\d{{5}}\.tempstate\d+")
    small = re.compile(rf"({step}(\.index|\.meta)?|checkpoint)\.tempstate\d+")
    parts = re.compile(rf"{step}_temp(_[0-9a-f]{{32}})?")
    with suppress(OSError):
        for entry in list(os.scandir(folder or ".")):
            if data.fullmatch(entry.name):
                _remove_if_free(entry.path)
            elif small.fullmatch(entry.name):
                if time.time() - entry.stat(follow_symlinks=False).st_mtime > _OLD_S:
                    _remove_if_free(entry.path)
            elif parts.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                _remove_if_free(entry.path)


def _remove_if_free(path: str) -> None:
    """Remove a file, or a folder with parts of checkpoints, that no process has locked."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.isdir(path):
                _empty(path)
                os.rmdir(path)
            else:
                os.remove(path)
        finally:
            os.close(descriptor)


def _empty(folder: str) -> None:
    for entry in list(os.scandir(folder)):
        if entry.name.startswith("part") and entry.is_file(follow_symlinks=False):
            with suppress(OSError):
                os.remove(entry.path)
