"""The table of docs/onnx.md is that of the converters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tfnb.core import op_registry
from tfnb.onnx_export.families import all_families
from tfnb.onnx_export.writing.converters import CONVERTERS

ROOT = Path(__file__).parents[2]


def test_the_table_is_current():
    """Otherwise ``make tables`` writes it."""
    script = ROOT / "scripts" / "generate_onnx_table.py"
    subprocess.run([sys.executable, str(script), "--check"], check=True)


def test_every_converted_op_exists():
    """A converter of a misspelled op would never be used."""
    assert all_families.FAMILIES
    unknown = {op for op in CONVERTERS if op_registry.find(op) is None}

    assert len(CONVERTERS) > 250
    assert unknown == set()
