"""Every generated module of ours, for tests that look at all of them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tfnb.proto
from tests.proto.field_table import tables_of_file

if TYPE_CHECKING:
    from types import ModuleType


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
