"""``tensorflow.python.framework.test_ops``: ops of tests, registered when one is used."""

from __future__ import annotations

from functools import cache
from typing import Any

from tfnb.as_tensorflow.internal_names import positional_ops
from tfnb.as_tensorflow.missing_name import missing_name
from tfnb.ops.testing.test_only_ops import NAMES, TestOps, register_test_ops

_OPS = {op.lower(): op for op in NAMES}


@cache
def registered() -> TestOps:
    """Register the ops once, and return what removes them."""
    return register_test_ops()


def __getattr__(name: str) -> Any:
    if name.startswith("_") or name == "EXPORTS":
        raise AttributeError(name)
    registered()
    op = _OPS.get(name.replace("_", "").lower())
    if op is None:
        return missing_name(__name__, name, "it is an op of a test that tfnb does not have")
    return getattr(positional_ops(), op)
