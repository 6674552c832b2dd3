"""``tf.contrib.lookup``: tables made by functions, and what became ``tf.lookup``."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.stand_ins import tables
from tfnb.client.public.api import tf

_DEPRECATED = {
    "string_to_index_table_from_file": "index_table_from_file",
    "string_to_index_table_from_tensor": "index_table_from_tensor",
}


def __getattr__(name: str) -> Any:
    name = _DEPRECATED.get(name, name)
    return getattr(tables, name) if hasattr(tables, name) else getattr(tf.lookup, name)
