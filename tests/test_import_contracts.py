"""The rooms import only what their contracts in pyproject.toml allow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_rooms_keep_their_import_contracts() -> None:
    """The layers, and what may not know Jupyter, gRPC, or the other column, hold everywhere."""
    lint = "from importlinter.cli import lint_imports_command as main; main()"
    run = subprocess.run(
        [sys.executable, "-c", lint, "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stdout + run.stderr
