"""``tensorflow.python.framework.dtypes``: types of reference variables."""

from __future__ import annotations

from typing import Any

from tfnb.core import dtypes


def __getattr__(name: str) -> Any:
    base = getattr(dtypes, name.removesuffix("_ref"), None)
    if name.endswith("_ref") and isinstance(base, dtypes.DType):
        return base._as_ref
    raise AttributeError(name)
