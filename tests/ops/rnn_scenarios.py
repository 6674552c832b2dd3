"""Recurrent networks, more programs of layer_scenarios.py."""

from __future__ import annotations
