"""The memory that the interpreter allocates inside a block."""

from __future__ import annotations

import gc
import tracemalloc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class TracedMemory:
    """The memory of a block.

    Attributes:
      peak: the maximum of the bytes of arrays and objects, without those from before the block.
    """

    peak = 0


@contextmanager
def traced_memory() -> Iterator[TracedMemory]:
    """Measure the block; only one measurement may run at a time."""
    found = TracedMemory()
    gc.collect()
    assert not tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        yield found
        _, found.peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
