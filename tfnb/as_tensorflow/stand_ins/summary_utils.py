"""``tensorflow.python.ops.summary_op_util``: what functions of summaries have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.public.api import tf
from tfnb.ops.io.summary_ops import clean_tag as clean_tag
from tfnb.ops.io.summary_ops import summary_scope as summary_scope

if TYPE_CHECKING:
    from collections.abc import Sequence


def skip_summary() -> bool:
    """Return whether summaries are left out: never, since there is one replica."""
    return False


def collect(val: Any, collections: Sequence[str] | None, default_collections: Any) -> None:
    """Add a summary to collections."""
    for key in default_collections if collections is None else collections:
        tf.add_to_collection(key, val)
