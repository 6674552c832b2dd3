"""``tensorflow.python.framework.test_ops``: ops of tests, registered when this is imported."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.internal_names import positional_ops
from tfnb.as_tensorflow.missing_name import missing_name
from tfnb.ops.testing.test_only_ops import NAMES, register_test_ops

REGISTERED = register_test_ops()
_OPS = {op.lower(): op for op in NAMES}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    op = _OPS.get(name.replace("_", "").lower())
    if op is None:
        return missing_name(__name__, name, "it is an op of a test that tfnb does not have")
    return getattr(positional_ops(), op)
