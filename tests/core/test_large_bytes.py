"""Buffers are joined as by ``bytes.join``, whatever their size."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.core.process.large_bytes import LARGE_BYTES, join


@pytest.mark.parametrize("size", [0, 1, 1000, LARGE_BYTES, LARGE_BYTES + 4097])
def test_parts_follow_each_other(size: int) -> None:
    """From one page to the next, too."""
    content = np.random.default_rng(0).integers(0, 256, size, np.uint8)
    parts = (b"head", content.data, b"", b"tail")

    joined = join(parts, size + 8)

    assert type(joined) is bytes
    assert joined == b"".join(parts)
    assert hash(joined) == hash(bytes(joined))
