"""TensorFlow's tables of fields; import only where TensorFlow is installed."""

from __future__ import annotations

import importlib
from mmap import ACCESS_READ, mmap
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
    _add_files_of_the_library(site / "tensorflow")
    _import_messages_of_serving()


def _import_messages_of_serving() -> None:
    """Import the messages of TensorFlow Serving, if its package of messages is installed."""
    try:
        apis = importlib.import_module("tensorflow_serving.apis")
    except ImportError:
        return
    for path in sorted(Path(apis.__path__[0]).glob("*_pb2.py")):
        importlib.import_module(f"tensorflow_serving.apis.{path.stem}")


def _add_files_of_the_library(folder: Path) -> None:
    """Add the messages of its services, which are in TensorFlow's library and in no module."""
    from google.protobuf import descriptor_pb2, descriptor_pool

    (library,) = folder.glob("libtensorflow_cc.so*")
    with library.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        for name in ("master", "worker"):
            path = f"tensorflow/core/protobuf/{name}.proto".encode()
            begin = content.find(b"\n" + bytes([len(path)]) + path)
            found = descriptor_pb2.FileDescriptorProto.FromString(
                content[begin : _end_of_message(content, begin)]
            )
            descriptor_pool.Default().Add(found)


def _end_of_message(content: mmap, at: int) -> int:
    """Return where a FileDescriptorProto ends: before a byte that begins none of its fields."""
    while True:
        tag, after = _varint(content, at)
        size, after = _varint(content, after)
        if tag & 7 != 2 or not 0 < tag >> 3 < 15:
            return at
        at = after + size


def _varint(content: mmap, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


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
