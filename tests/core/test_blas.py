"""The number of threads of NumPy's BLAS."""

from __future__ import annotations

from tfnb.core.process.blas import set_num_threads


def test_numpys_blas_can_be_told_its_threads() -> None:
    """The BLAS library in NumPy's wheels is one that tfnb can configure."""
    assert set_num_threads(1)
