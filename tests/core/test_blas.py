"""NumPy's BLAS hears of its threads."""

from __future__ import annotations

from tfnb.core.blas import set_num_threads


def test_numpys_blas_can_be_told_its_threads() -> None:
    """The library that NumPy's wheels bring is one that is known."""
    assert set_num_threads(1)
