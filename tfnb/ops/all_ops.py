"""Imports every family, which registers every op."""

from __future__ import annotations

import importlib
import pkgutil

import tfnb.ops

for _module in pkgutil.walk_packages(tfnb.ops.__path__, "tfnb.ops."):
    if _module.name.endswith("_ops") and _module.name != __name__:
        importlib.import_module(_module.name)
