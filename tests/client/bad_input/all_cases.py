"""What strangers and mistakes put into a graph: one function a case, for tfnb and for TensorFlow.

A case gets the module (``tf``) and a session on the default graph, and does one wrong thing; its
name says which.  ``scripts/oracle/bad_input.py`` asks TensorFlow for each, test_bad_input.py asks
tfnb.
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
