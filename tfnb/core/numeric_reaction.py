"""What NumPy does about overflow and its kin, switched without the price of ``np.errstate``.

``NUMERIC_REACTION.get()`` is the reaction that is in force in this thread, ``set`` puts one in
force.  NumPy keeps it in a context variable, and what ``np.errstate`` adds to setting it costs as
much as a small step.  ::

    reaction = NUMERIC_REACTION.get()
    try:
        NUMERIC_REACTION.set(IGNORE_ALL)
        ...
    finally:
        NUMERIC_REACTION.set(reaction)

An interrupt may come between any two of these lines: what was in force comes back.  ``set`` gives
what ``reset`` takes to do that faster, for who got as far as to keep it.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np


class _PublicFunctions:
    """The same by the functions that NumPy documents."""

    def get(self) -> Any:
        return np.geterr()

    def set(self, reaction: Any) -> Any:
        return np.seterr(**reaction)

    reset = set


# Where NumPy keeps it; one that keeps it elsewhere is asked by its functions.
_umath = importlib.import_module("numpy._core.umath")
NUMERIC_REACTION: Any = getattr(_umath, "_extobj_contextvar", None) or _PublicFunctions()

with np.errstate(all="ignore"):
    IGNORE_ALL: Any = NUMERIC_REACTION.get()
