"""A plugin of pytest: kernels are compiled at their first use, however cheap the plain way is.

``python -m pytest -p tests.compiled_at_once tests/cases`` runs tests that know nothing of compiled
kernels with them, as on a machine with ``tfnb[fast]`` after many steps.  A request waits until its
kernel is ready: which results kernels compute does not depend on the time that compiling takes.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.compiled.helper import CompiledKernel

os.environ["TFNB_COMPILED"] = "1"


def pytest_configure() -> None:
    """Set the prices of this test process, and let requests wait."""
    from tfnb.core.compiled.helper import HELPER
    from tfnb.core.compiled.routines import Routine, compiling_at_once

    find, request = Routine.find, HELPER.request

    def find_compiled(self: Routine, seconds: float) -> Callable[..., Any] | None:
        found = find(self, seconds)
        return found if found is not None else find(self, seconds)

    def request_and_wait(
        source: str, parts: tuple[str, ...], *, pays: bool = True
    ) -> CompiledKernel:
        kernel = request(source, parts, pays=pays)
        HELPER.wait()
        return kernel

    Routine.find = find_compiled  # type: ignore[method-assign]
    HELPER.request = request_and_wait  # type: ignore[method-assign]
    compiling_at_once().__enter__()
