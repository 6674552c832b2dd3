"""Where public names and ops come from; written by scripts/generate_public_names.py."""

from __future__ import annotations

TABLE: dict[str, dict[str, str]] = {}

OPS: dict[str, str] = {}
