"""Invalid graphs from mistakes or attackers: one function a case, for tfnb and for TensorFlow.

A case gets the module (``tf``) and a session on the default graph, and makes one mistake, which its
name states. ``scripts/oracle/bad_input.py`` stores TensorFlow's answers, test_bad_input.py compares
tfnb's.
"""

from __future__ import annotations

import importlib

from tests.client.bad_input.writing import CASES

for _subject in (
    "graphs",
    "tensors",
    "sizes",
    "kernels",
    "windows",
    "control_flow",
    "state",
    "files",
):
    importlib.import_module(f"tests.client.bad_input.{_subject}")

__all__ = ["CASES"]
