"""NumPy's reaction to overflow, switched."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tfnb.core.numeric_reaction import IGNORE_ALL, NUMERIC_REACTION, _PublicFunctions

ACCESSES = pytest.mark.parametrize("access", [NUMERIC_REACTION, _PublicFunctions()])


@ACCESSES
def test_nothing_is_said_while_all_is_ignored(access: object) -> None:
    """An overflow is silent until the old reaction is back, which is another thread's own."""
    huge = np.float32(3e38)
    before = access.get()
    with np.errstate(all="ignore"):
        ignore = access.get()
    try:
        access.set(ignore)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.isinf(huge * huge)
    finally:
        access.set(before)
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert np.isinf(huge * huge)


def test_the_stored_reaction_ignores_all() -> None:
    """What is stored for all steps is what np.errstate would put in force."""
    before = NUMERIC_REACTION.get()
    try:
        NUMERIC_REACTION.set(IGNORE_ALL)
        assert set(np.geterr().values()) == {"ignore"}
    finally:
        NUMERIC_REACTION.set(before)
