"""NumPy's error settings are switched."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tfnb.core.process.numeric_reaction import IGNORE_ALL, NUMERIC_REACTION, _PublicFunctions

ACCESSES = pytest.mark.parametrize("access", [NUMERIC_REACTION, _PublicFunctions()])


@ACCESSES
def test_nothing_is_said_while_all_is_ignored(access: object) -> None:
    """Overflow is silent until the earlier settings return; other threads have their own."""
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


@ACCESSES
def test_what_set_gives_brings_the_old_reaction_back(access: object) -> None:
    """Nested settings are restored, too."""
    for over in ("raise", "call"):
        with np.errstate(over=over):
            with np.errstate(all="ignore"):
                ignore = access.get()
            before = access.set(ignore)
            assert np.geterr()["over"] == "ignore"
            access.reset(before)
            assert np.geterr()["over"] == over


def test_the_stored_reaction_ignores_all() -> None:
    """The stored settings are those that np.errstate would set."""
    before = NUMERIC_REACTION.get()
    try:
        NUMERIC_REACTION.set(IGNORE_ALL)
        assert set(np.geterr().values()) == {"ignore"}
    finally:
        NUMERIC_REACTION.set(before)
