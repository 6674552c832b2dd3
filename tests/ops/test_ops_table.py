"""docs/ops.md agrees with the registry."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tfnb.core import op_registry

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_table_is_up_to_date() -> None:
    """`make tables` was run after the last change."""
    script = ROOT / "scripts" / "generate_ops_table.py"
    check = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, check=False
    )
    assert check.stdout + check.stderr == ""


def test_rows_tell_dtypes_gradients_devices_and_effects() -> None:
    """A row of each kind of op is checked."""
    rows = (ROOT / "docs" / "ops.md").read_text().splitlines()
    for row in (
        "| Relu | T: real numbers, qint8 | yes | CPU GPU | samples | |",
        "| ReadFile | | stops | CPU | | read |",
        "| Shape | T: any; out_type: int32, int64 | stops | CPU GPU | samples | |",
    ):
        assert row in rows
    missing = rows[rows.index(next(row for row in rows if row.startswith("## Ops of"))) :]
    assert not any(f"`{name}`" in line for line in missing for name in op_registry.all_ops())
