"""Settings of all tests: one BLAS thread, and a reason for each test that a machine cannot run."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import signal
import tempfile
import threading
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from tests.selection import has_no_selected_test

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

# Before NumPy is imported: with several test processes on few cores, BLAS threads slow each other
# down, and one thread makes sums reproducible.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# Tests of compiled kernels switch them on; the code is kept between test processes.
os.environ.setdefault("TFNB_COMPILED", "0")
os.environ.setdefault(
    "TFNB_CACHE", os.path.join(tempfile.gettempdir(), f"tfnb-test-kernels-{os.getuid()}")
)


def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


# Shells start background jobs with interrupts ignored, which some tests send to themselves.
if (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):
    signal.signal(signal.SIGINT, signal.default_int_handler)


if _is_installed("hypothesis"):
    import hypothesis

    # Slow examples on a busy machine are no failure; in CI the examples are the same every time.
    hypothesis.settings.register_profile(
        "tfnb",
        deadline=None,
        derandomize="CI" in os.environ,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
    hypothesis.settings.load_profile("tfnb")
    # Constants of the imported modules would choose the examples, which would then differ between
    # processes.
    from hypothesis.internal.conjecture import providers

    if hasattr(providers, "_get_local_constants"):
        providers._get_local_constants = lambda: providers._local_constants


@cache
def _missing_gpu() -> str:
    if not _is_installed("cupy"):
        return "CuPy is not installed"
    import cupy

    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"CuPy finds no CUDA device: {error}"
    return "" if count else "CuPy finds no CUDA device"


@cache
def _missing_oracle() -> str:
    return "" if _is_installed("tensorflow") else "TensorFlow is not installed"


@cache
def _missing_browser() -> str:
    if not _is_installed("playwright"):
        return "Playwright is not installed"
    return "" if shutil.which("chromium") else "there is no chromium on PATH"


_WHAT_IS_MISSING = {"gpu": _missing_gpu, "oracle": _missing_oracle, "browser": _missing_browser}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Freeze the collected objects, so that the garbage collector need not traverse them.

    There are some millions of objects. Without this, each `gc.collect()` of a test takes half a
    second, and the tests together twice as long. The few remaining objects would make the collector
    traverse the oldest generation every time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*gc.get_threshold()[:2], 100)
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files without a selected test, which takes seconds less in each process."""
    if not (collection_path.name.startswith("test_") and collection_path.suffix == ".py"):
        return None
    markers = config.option.markexpr
    return has_no_selected_test(collection_path.read_text("utf-8"), markers) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests whose requirements this machine lacks, with the reason."""
    for item in items:
        for name, what_is_missing in _WHAT_IS_MISSING.items():
            if item.get_closest_marker(name) and (reason := what_is_missing()):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many whole graphs were replayed, if any were."""
    ended = {
        kind: [r for r in terminalreporter.stats.get(kind, ()) if "_case_gives_" in r.nodeid]
        for kind in ("passed", "failed", "skipped", "xfailed")
    }
    ran = sum(len(ended[kind]) for kind in ("passed", "failed", "xfailed"))
    if ran:
        terminalreporter.line(
            f"cases: {ran} ran, {len(ended['passed'])} passed, "
            f"{len(ended['xfailed'])} differ for a known reason, "
            f"{len(ended['skipped'])} need ops that are not known"
        )


@pytest.fixture
def kernels_at_once(monkeypatch: pytest.MonkeyPatch) -> Generator[None, None, None]:
    """Compile kernels at their first use, however cheap the plain way is."""
    from tfnb.core.compiled.routines import compiling_at_once

    monkeypatch.setenv("TFNB_COMPILED", "1")
    with compiling_at_once():
        yield


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Collect the clusters of the functions that run."""
    from tfnb.common_runtime.lowering.rewrite.compiled_clusters import WarmUp

    seen: list[Any] = []
    begin = WarmUp.__init__

    def made(self: WarmUp, names: Any, clusters: Any) -> None:
        begin(self, names, clusters)
        seen[:] = clusters.values()

    monkeypatch.setattr(WarmUp, "__init__", made)
    return seen
