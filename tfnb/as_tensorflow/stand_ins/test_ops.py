"""``tensorflow.python.framework.test_ops``: TensorFlow's test-only ops, registered when imported."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.internal_names import internal_name
from tfnb.ops.testing.test_only_ops import register_test_ops

_OPS = register_test_ops()


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return internal_name("tensorflow.python.framework.gen_test_ops", name)
