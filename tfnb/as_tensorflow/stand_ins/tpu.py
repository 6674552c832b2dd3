"""``tf.tpu``: what a program for TPUs uses on other devices, as ``tf.contrib.tpu`` has it."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.contrib import tpu as _tpu
from tfnb.as_tensorflow.contrib.tpu import CrossShardOptimizer as CrossShardOptimizer
from tfnb.as_tensorflow.contrib.tpu import bfloat16_scope as bfloat16_scope
from tfnb.as_tensorflow.contrib.tpu import cross_replica_sum as cross_replica_sum
from tfnb.as_tensorflow.contrib.tpu import outside_compilation as outside_compilation


def __getattr__(name: str) -> Any:
    return getattr(_tpu, name)
