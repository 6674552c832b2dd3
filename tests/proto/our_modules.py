"""All generated modules, for tests that read every one of them."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tfnb.proto
from tests.proto.field_table import tables_of_file

if TYPE_CHECKING:
    from types import ModuleType

    from google.protobuf.message import Message


def modules() -> list[ModuleType]:
    """Import every generated module."""
    folder = Path(tfnb.proto.__file__).parent
    return [
        importlib.import_module(f"tfnb.proto.{path.stem}")
        for path in sorted(folder.glob("*_pb2.py"))
    ]


def tables() -> dict[str, list[list[Any]]]:
    """The table of every message and enum of ours, by full name."""
    return {
        name: table for module in modules() for name, table in tables_of_file(module.DESCRIPTOR)
    }


@cache
def message_classes() -> dict[str, type[Message]]:
    """The class of every top-level message of ours, by full name."""
    return {
        descriptor.full_name: getattr(module, name)
        for module in modules()
        for name, descriptor in module.DESCRIPTOR.message_types_by_name.items()
    }
