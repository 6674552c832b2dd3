"""NumPy's reaction to overflow and other float errors, switched at less cost than ``np.errstate``.

``NUMERIC_REACTION.get()`` returns the reaction of this thread, ``set`` replaces it.  NumPy keeps it
in a context variable; the rest of ``np.errstate`` costs as much as a small step.  ::

    reaction = NUMERIC_REACTION.get()
    try:
        NUMERIC_REACTION.set(IGNORE_ALL)
        ...
    finally:
        NUMERIC_REACTION.set(reaction)

An interrupt may come between any two of these lines: the previous reaction is restored.  ``set``
returns a token, with which ``reset`` restores the previous value faster, for callers that kept it.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np


class _PublicFunctions:
    """The interface of NumPy's context variable, built on the functions that NumPy documents."""

    def get(self) -> Any:
        return np.geterr()

    def set(self, reaction: Any) -> Any:
        return np.seterr(**reaction)

    reset = set


# NumPy's private context variable; a NumPy without it is controlled by its public functions.
_umath = importlib.import_module("numpy._core.umath")
NUMERIC_REACTION: Any = getattr(_umath, "_extobj_contextvar", None) or _PublicFunctions()

with np.errstate(all="ignore"):
    IGNORE_ALL: Any = NUMERIC_REACTION.get()
