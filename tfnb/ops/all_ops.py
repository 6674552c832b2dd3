"""Imports every family, which registers every op."""

from __future__ import annotations

import importlib
import pkgutil

import tfnb.ops

for _module in pkgutil.iter_modules(tfnb.ops.__path__):
    if _module.name.endswith("_ops") and _module.name != "all_ops":
        importlib.import_module(f"tfnb.ops.{_module.name}")
