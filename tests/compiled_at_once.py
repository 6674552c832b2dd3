"""A plugin of pytest: kernels are compiled at their first use, however cheap the plain way is.

``python -m pytest -p tests.compiled_at_once tests/cases`` runs tests that know nothing of compiled
kernels with them, as on a machine with ``tfnb[fast]`` after many steps.
"""

from __future__ import annotations

import os

os.environ["TFNB_COMPILED"] = "1"


def pytest_configure() -> None:
    """Set the prices of this test process."""
    from tfnb.core.compiled.routines import compiling_at_once

    compiling_at_once().__enter__()
