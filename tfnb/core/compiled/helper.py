"""The thread that compiles kernels, and whether it may.

A kernel is requested by its source and compiled once per process; until it is ready, and wherever
it cannot be compiled, the plain way computes the same.  The plain way is also taken without the
package llvmlite (``tfnb[fast]``), with ``TFNB_COMPILED=0`` or ``false``, where no thread can be
started, and with ``TF_DETERMINISTIC_OPS=1``: the moment at which a kernel is ready differs between
runs.

LLVM is imported and called in the helper thread alone, mostly without the interpreter's lock.  A
process ends after the compilation that runs at the time.  A child of a fork has no helper thread;
it starts its own, except if the parent's was compiling, whose locks are then held for ever: such a
child compiles nothing.  A fork waits while LLVM is imported: the child could not import the modules
whose import another thread began.
"""

from __future__ import annotations

import atexit
import importlib.util
import logging
import os
import sys
import threading
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING

from tfnb.core.compiled.array_calls import is_supported
from tfnb.core.process import forking, threads
from tfnb.core.process.notification import Notification
from tfnb.core.process.shelter import call_sheltered

if TYPE_CHECKING:
    from tfnb.core.compiled.engine import Engine

_log = logging.getLogger("tfnb")

PACKAGE = "llvmlite"


class CompiledKernel:
    """A kernel that was requested.

    Attributes:
      source: its text.
      parts: the ends of the names of its functions.
      pays: whether it may be compiled; else it is only looked for on disk.
      addresses: the addresses of these functions; empty until it is ready.
      is_missing: whether it was looked for in vain.
      failure: why it cannot be compiled; "" if that is not known.
    """

    __slots__ = ("addresses", "failure", "is_missing", "parts", "pays", "source")

    def __init__(self, source: str, parts: tuple[str, ...], pays: bool) -> None:
        self.source = source
        self.parts = parts
        self.pays = pays
        self.is_missing = False
        self.addresses: tuple[int, ...] = ()
        self.failure = ""

    @property
    def is_pending(self) -> bool:
        """Whether it may become ready without a further request."""
        return not (self.addresses or self.failure) and (self.pays or not self.is_missing)


class _End:
    """The last entry of the queue."""


class Helper:
    """Compiles requested kernels one after the other, in one thread.

    Attributes:
      refusal: why nothing is compiled any more; "" if kernels are.
    """

    def __init__(self) -> None:
        self.refusal = ""
        self._lock = threading.Lock()
        self._kernels: dict[tuple[str, tuple[str, ...]], CompiledKernel] = {}
        self._queue: SimpleQueue[CompiledKernel | Notification | _End] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._told: set[str] = set()  # used by the helper thread alone
        self._is_busy = False
        self._imports = threading.Lock()  # held while the engine is made
        forking.renew_in_child(self)
        forking.guard(self, "_imports")

    def renew_after_fork(self) -> None:
        """Begin anew in a child; refuse all requests if the parent was compiling."""
        self._lock = threading.Lock()
        self._queue, self._thread = SimpleQueue(), None
        if self._is_busy:
            self.refusal = "the parent process was compiling when this one was forked"
        self._kernels = {key: one for key, one in self._kernels.items() if one.addresses}

    def request(self, source: str, parts: tuple[str, ...], *, pays: bool = True) -> CompiledKernel:
        """Return a kernel, which becomes ready later; one source is compiled only once.

        Args:
          source: its text, see ``Engine.addresses``.
          parts: the ends of the names of its functions.
          pays: whether it is compiled if an earlier process has not left it on disk.
        """
        with self._lock:
            kernel = self._kernels.get((source, parts))
            if kernel is not None:
                if kernel.pays or not pays:
                    return kernel
                kernel.pays = True
            else:
                kernel = self._kernels[source, parts] = CompiledKernel(source, parts, pays)
            if self.refusal:
                kernel.failure = self.refusal
                return kernel
            self._queue.put(kernel)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._serve, args=(self._queue,), name="compiler", daemon=True
                )
                try:
                    call_sheltered(self._thread.start)
                except RuntimeError as error:
                    self._thread = None
                    self._refuse(error)
                    kernel.failure = self.refusal
                else:
                    atexit.register(self.end)
            return kernel

    def wait(self) -> None:
        """Wait until all kernels requested so far are ready, or have failed."""
        if self._thread is not None:
            done = Notification()
            self._queue.put(done)
            done.wait()

    def end(self) -> None:
        """End the thread after the kernel that it compiles."""
        thread, self._thread = self._thread, None
        self.refusal = self.refusal or "the process ends"
        if thread is not None:
            self._queue.put(_End())
            thread.join()

    def _serve(self, queue: SimpleQueue[CompiledKernel | Notification | _End]) -> None:
        engine = None
        while True:
            entry = queue.get()
            if isinstance(entry, _End):
                if engine is not None:
                    engine.keep()
                return
            if isinstance(entry, Notification):
                entry.notify()
                continue
            if entry.addresses or entry.failure:
                continue  # requested twice
            if self.refusal:
                entry.failure = self.refusal
                continue
            self._is_busy = True
            try:
                if engine is None:
                    with self._imports:
                        engine = _make_engine()
            except Exception as error:
                self._refuse(error)
                entry.failure = self.refusal
                self._is_busy = False
                continue
            try:
                entry.addresses = engine.addresses(entry.source, entry.parts, entry.pays)
                entry.is_missing = not entry.addresses
            except Exception as error:
                entry.failure = f"{type(error).__name__}: {error}"
                self._tell(entry.failure)
            finally:
                self._is_busy = False

    def _tell(self, failure: str) -> None:
        """Write one line to the log, the first time that a kernel fails so."""
        if failure not in self._told:
            self._told.add(failure)
            _log.warning("A kernel is not compiled, and runs as without tfnb[fast]: %s", failure)

    def _refuse(self, error: Exception) -> None:
        self.refusal = f"{type(error).__name__}: {error}"
        _log.warning("No kernel is compiled; all run as without tfnb[fast]: %s", self.refusal)


def _make_engine() -> Engine:
    # Imported in the helper thread, by the first kernel.
    from tfnb.core.compiled.engine import Engine
    from tfnb.core.compiled.object_cache import ObjectCache, default_folder

    cache = ObjectCache(default_folder())
    if cache.refusal:
        _log.warning("Compiled kernels are not kept: %s", cache.refusal)
    return Engine(cache)


HELPER = Helper()
"""The helper of this process."""

_is_installed: bool | None = None


def is_available() -> bool:
    """Return whether kernels may be compiled in this process; imports nothing."""
    global _is_installed
    if os.environ.get("TFNB_COMPILED", "").lower() in ("0", "false") or HELPER.refusal:
        return False
    if is_deterministic():
        return False
    if _is_installed is None:
        if not (is_supported() and threads.can_start()):
            _is_installed = False
        elif PACKAGE in sys.modules:
            _is_installed = True
        else:
            # A step may be the first to ask. The search holds the lock of all imports, which an
            # interrupt would leave held.
            with suppress(RuntimeError):  # Python cannot start a thread now
                call_sheltered(_look_for_package)
    return bool(_is_installed)


def is_deterministic() -> bool:
    """Return whether ``TF_DETERMINISTIC_OPS=1`` asks for the same bits in each run.

    Emitted functions compute exactly what single nodes do then: the step from which on a function
    is used differs between runs.
    """
    return os.environ.get("TF_DETERMINISTIC_OPS", "").lower() in ("1", "true")


def _look_for_package() -> None:
    global _is_installed
    try:
        _is_installed = importlib.util.find_spec(PACKAGE) is not None
    except (ImportError, ValueError):
        _is_installed = False
