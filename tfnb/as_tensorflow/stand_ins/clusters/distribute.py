"""``tensorflow.distribute``: the default strategy, and the public names."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.stand_ins.clusters.strategies import (
    get_replica_context as get_replica_context,
)
from tfnb.as_tensorflow.stand_ins.clusters.strategies import get_strategy as get_strategy
from tfnb.as_tensorflow.stand_ins.clusters.strategies import has_strategy as has_strategy
from tfnb.as_tensorflow.stand_ins.clusters.strategies import (
    in_cross_replica_context as in_cross_replica_context,
)
from tfnb.client import public


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return public.resolve("distribute", name)
