"""Behaviours that Python code can observe in TensorFlow: one function each, for both libraries.

``scripts/oracle/behaviours.py`` stores TensorFlow's results, test_behaviours.py compares tfnb's.
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
