"""``tensorflow.python.framework.test_ops``: ops of tests, registered when one is used."""

from __future__ import annotations

from functools import cache
from typing import Any

from tfnb.core import op_registry
from tfnb.ops.testing.test_only_ops import NAMES, TestOps, register_test_ops

_OPS = {op.lower(): op for op in NAMES}


@cache
def registered() -> TestOps:
    """Register the ops, and return them."""
    return register_test_ops()


def __getattr__(name: str) -> Any:
    op = _OPS.get(name.replace("_", "").lower())
    if op is None:
        raise AttributeError(name)
    registered()
    return op_registry.get(op)
