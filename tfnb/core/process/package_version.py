"""The version of this package, in a file that every room may import."""

from __future__ import annotations

__version__ = "0.1.0"
