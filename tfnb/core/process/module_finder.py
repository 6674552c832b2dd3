"""Finds and loads the modules of this package with less work than the standard library.

The import of a small module costs the standard library 0.1 ms: it tries the suffixes of compiled
extensions, splits and joins paths, and asks for the state of four files. That is a third of the
time that tfnb adds to a process's first answer. This package is made of plain source files in
folders, so a list of each folder decides.

What does not fit (an archive, a cache elsewhere, ``-O``, a file that is new, a cache that is
missing or out of date) is left to the standard library, whose loader writes the cache.
"""

from __future__ import annotations

import io
import marshal
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import MAGIC_NUMBER
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType

_PACKAGE = __name__.partition(".")[0]
_PREFIX = f"{_PACKAGE}."
# How a cache begins whose source is compared by time and size.
_HEADER = MAGIC_NUMBER + bytes(4)
_CACHE = f"{os.sep}__pycache__{os.sep}"
_SUFFIX = f".{sys.implementation.cache_tag}.pyc"


class _Loader(SourceFileLoader):
    """Loads a module from its cache, if that is up to date."""

    def __init__(self, fullname: str, path: str, cached: str) -> None:
        super().__init__(fullname, path)
        self._cached = cached

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of the module."""
        try:
            with io.open_code(self._cached) as file:
                data = file.read()
            if data[:8] == _HEADER:
                state = os.stat(self.path)
                found = (int(state.st_mtime) & 0xFFFFFFFF, state.st_size & 0xFFFFFFFF)
                kept = (int.from_bytes(data[8:12], "little"), int.from_bytes(data[12:16], "little"))
                if found == kept:
                    code: CodeType = marshal.loads(memoryview(data)[16:])
                    if code.co_filename == self.path:
                        return code
        except (OSError, EOFError, ValueError, TypeError, AttributeError):
            pass  # there is no such file, or it is damaged
        return super().get_code(fullname)


class _Finder:
    """A member of ``sys.meta_path``."""

    def __init__(self) -> None:
        # Folder -> the names of its files and folders, when it was first asked for.
        self._listed: dict[str, frozenset[str]] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module of this package is, or None if others are to find it."""
        if not name.startswith(_PREFIX) or path is None or len(path) != 1:
            return None
        folder = path[0]
        names = self._listed.get(folder)
        if names is None:
            try:
                names = self._listed[folder] = frozenset(os.listdir(folder))
            except OSError:
                return None
        stem = name.rpartition(".")[2]
        inner = None
        if stem in names:
            inner = f"{folder}{os.sep}{stem}"
            place, cached = f"{inner}{os.sep}__init__.py", f"{inner}{_CACHE}__init__{_SUFFIX}"
            if not os.path.isfile(place):
                return None
        elif f"{stem}.py" in names:
            place, cached = f"{folder}{os.sep}{stem}.py", f"{folder}{_CACHE}{stem}{_SUFFIX}"
        else:
            return None
        spec = ModuleSpec(name, _Loader(name, place, cached), origin=place)
        spec.has_location = True
        spec.cached = cached
        if inner is not None:
            spec.submodule_search_locations = [inner]
        return spec

    def invalidate_caches(self) -> None:
        """Forget what is in the folders."""
        self._listed.clear()


def install(package: ModuleType) -> None:
    """Let this module find the modules of the package, if the package allows it.

    Finders that others have put before the standard one are asked first, as they expect.
    """
    spec = package.__spec__
    loader: Any = None if spec is None else spec.loader
    is_plain = (
        type(loader) is SourceFileLoader
        and sys.pycache_prefix is None
        and sys.flags.optimize == 0
        and sys.implementation.cache_tag is not None
    )
    is_installed = any(isinstance(finder, _Finder) for finder in sys.meta_path)
    if is_plain and not is_installed and PathFinder in sys.meta_path:
        sys.meta_path.insert(sys.meta_path.index(PathFinder), _Finder())
