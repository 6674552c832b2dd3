"""``tensorflow.python.framework.test_ops``: ops of tests, registered when this is imported."""

from __future__ import annotations

from typing import Any

from tfnb.core import op_registry
from tfnb.ops.testing.test_only_ops import NAMES, register_test_ops

REGISTERED = register_test_ops()
_OPS = {op.lower(): op for op in NAMES}


def __getattr__(name: str) -> Any:
    op = _OPS.get(name.replace("_", "").lower())
    if op is None:
        raise AttributeError(name)
    return op_registry.get(op)
