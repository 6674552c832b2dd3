"""Blocks without compiled kernels, for tests that compare results bit by bit.

Kernels may round otherwise than the plain way, and become ready between two results.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest import mock

from tfnb.core.compiled.routines import without_routines

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def without_kernels() -> Iterator[None]:
    """Compute the plain way until the end of the block, in sessions that begin inside it, too."""
    with mock.patch.dict(os.environ, {"TFNB_COMPILED": "0"}), without_routines():
        yield
