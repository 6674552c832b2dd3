"""TensorFlow's tables of fields; import only where TensorFlow is installed."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.proto.field_table import enum_table, message_table

if TYPE_CHECKING:
    from collections.abc import Iterable


def import_message_modules() -> None:
    """Import every module of messages in TensorFlow's wheel, so that its pool knows them all."""
    import tensorflow as tf

    site = Path(tf.__file__).parents[1]
    for path in sorted((site / "tensorflow" / "core").rglob("*_pb2.py")):
        importlib.import_module(".".join(path.relative_to(site).with_suffix("").parts))
    importlib.import_module("tensorflow.python.training.checkpoint_state_pb2")


def tensorflow_tables(names: Iterable[str]) -> dict[str, list[list[Any]]]:
    """The table of each named message or enum; a name that TensorFlow lacks is a KeyError."""
    from google.protobuf import descriptor_pool

    import_message_modules()
    pool = descriptor_pool.Default()
    tables = {}
    for name in names:
        try:
            tables[name] = message_table(pool.FindMessageTypeByName(name))
        except KeyError:
            tables[name] = enum_table(pool.FindEnumTypeByName(name))
    return tables
