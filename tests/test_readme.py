"""The example in the README works."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.slow
def test_readme_example_prints_what_it_says() -> None:
    """The program in the README prints the line in its last comment."""
    [program] = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    promised = program.splitlines()[-1].split("  # ")[1]
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )

    assert run.stdout.strip() == promised, run.stderr
