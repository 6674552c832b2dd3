"""How much memory the interpreter takes inside a block."""

from __future__ import annotations

import gc
import tracemalloc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class TracedMemory:
    """What a block took.

    Attributes:
      peak: the bytes that arrays and objects took at most, besides those from before the block.
    """

    peak = 0


@contextmanager
def traced_memory() -> Iterator[TracedMemory]:
    """Measures the block; nothing else may measure meanwhile."""
    found = TracedMemory()
    gc.collect()
    assert not tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        yield found
        _, found.peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
