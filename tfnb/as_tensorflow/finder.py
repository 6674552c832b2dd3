"""A finder of modules that serves ``tensorflow`` and everything below it from tfnb.

It is asked before the folders of ``sys.path``, so that an installed TensorFlow is not found while
the finder is there. Modules are made when they are imported; nothing is read from the disk but
files of this folder and of packages that a part of ``contrib`` needs.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING

from tfnb.as_tensorflow import children, modules, older_libraries, older_messages
from tfnb.as_tensorflow.keras import loading as keras
from tfnb.as_tensorflow.sources.mended import MENDED
from tfnb.as_tensorflow.sources.mending import mended_spec
from tfnb.core.tensor_shape import take_whole_floats

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

EXPORTS = {"tf": ["install_as_tensorflow", "uninstall_as_tensorflow"]}

ROOT = "tensorflow"


class TensorFlowFinder(MetaPathFinder):
    """Finds ``tensorflow`` and its submodules, Keras, and modules of messages."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return the spec of a module of TensorFlow, Keras or messages, and None for others.

        Raises:
          ModuleNotFoundError: tfnb does not serve that module; the message says what to do.
        """
        if keras.is_package(fullname):
            return keras.find_module(fullname, path)
        if fullname in MENDED:
            return mended_spec(fullname, path, MENDED[fullname])
        if not _is_served(fullname):
            if older_messages.is_module_of_messages(fullname):
                return older_messages.find_module(fullname, path)
            return None
        if keras.name_in_keras(fullname) is not None and not keras.is_internal(fullname):
            found = keras.find_same_module(fullname)
            if found is not None:
                return found
        reason = modules.why_not_served(fullname)
        if reason is not None:
            raise ModuleNotFoundError(f"No module named {fullname!r}{reason}", name=fullname)
        return ModuleSpec(fullname, _LOADER, origin="tfnb", is_package=True)


class _ModuleLoader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return modules.make(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: members are found when they are first used."""


_LOADER = _ModuleLoader()
_FINDER = TensorFlowFinder()


def install_as_tensorflow() -> None:
    """Serve ``import tensorflow`` from tfnb, until ``uninstall_as_tensorflow``.

    ``tensorflow``, ``tensorflow.compat.v1``, ``tensorflow.python``, ``tensorflow.core`` and
    ``tensorflow.contrib`` can be imported then, as a program of TensorFlow 1 does; in processes
    that ``multiprocessing`` starts from then on, too.
    ``tensorflow.__version__`` is "1.15.5"; ``tensorflow.__tfnb__`` is tfnb's version, and tells a
    program where it runs. A second call changes nothing.

    Raises:
      ImportError: the real TensorFlow was imported in this process.
    """
    if is_installed():
        return
    real = sys.modules.get(ROOT)
    if real is not None:
        raise ImportError(
            "TensorFlow itself is imported in this process already "
            f"({getattr(real, '__file__', None) or 'without a file'}). Start a new process (in a "
            "notebook: restart the kernel), and switch on tfnb before the first "
            "`import tensorflow`."
        )
    _insert_finder()
    importlib.invalidate_caches()
    children.prepare_children(start_child)


def _insert_finder() -> None:
    sys.meta_path.insert(0, _FINDER)
    take_whole_floats(True)


def start_child(name: str, with_older_names: bool) -> str:
    """Install the finder in a process that was spawned, and return the process' name.

    Args:
      name: of the process.
      with_older_names: whether NumPy and others have the names there that they dropped.
    """
    install_as_tensorflow()
    if with_older_names:
        older_libraries.serve_older_names()
    return name


def uninstall_as_tensorflow() -> None:
    """Take the finder away, and forget the modules that it made.

    What a program imported from them goes on working. Nothing happens if the finder is not there.
    """
    if not is_installed():
        return
    sys.meta_path.remove(_FINDER)
    take_whole_floats(False)
    children.prepare_children(None)
    for name in [*sys.modules]:
        if _is_served(name):
            del sys.modules[name]
    importlib.invalidate_caches()


@contextmanager
def served() -> Iterator[None]:
    """Serve ``import tensorflow`` inside the block; leave all as it was after it."""
    before = {name: module for name, module in sys.modules.items() if _is_served(name)}
    was_installed = is_installed()
    if not was_installed:
        for name in before:
            del sys.modules[name]
        _insert_finder()
    try:
        yield
    finally:
        if not was_installed:
            uninstall_as_tensorflow()
            sys.modules.update(before)


def _is_served(name: str) -> bool:
    return name == ROOT or name.startswith(f"{ROOT}.") or keras.is_package(name)


def is_installed() -> bool:
    """Return whether ``import tensorflow`` is served from tfnb."""
    return _FINDER in sys.meta_path
