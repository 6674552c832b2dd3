"""tfnb: TensorFlow 1 graphs and sessions, at home in a notebook."""

from __future__ import annotations

__version__ = "0.1.0"
