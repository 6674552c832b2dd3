"""Behaviours that TensorFlow can be asked about from Python: one function each, for both.

``scripts/oracle/behaviours.py`` asks TensorFlow, test_behaviours.py asks tfnb.
"""

from __future__ import annotations

import importlib

from tests.client.behaviours.writing import BEHAVIOURS, answer

_SUBJECTS = (
    "sessions", "running", "partial_runs", "placement", "frames", "cancelling", "handles", "stats",
)  # fmt: skip

for _subject in _SUBJECTS:
    importlib.import_module(f"tests.client.behaviours.{_subject}")

__all__ = ["BEHAVIOURS", "answer"]
