"""Counts what docs/behaviours.md holds: ``python -m tests.client.behaviours``."""

from __future__ import annotations

import sys

from tests.client.behaviours.all_behaviours import BEHAVIOURS
from tests.client.behaviours.table import reasons, rows


def main() -> None:
    """Print how many rows have a test, how many TensorFlow answered, and the other rows."""
    table, without = rows(), reasons()
    asked = {one.row for one in BEHAVIOURS.values()}
    sys.stdout.write(
        f"{len(table)} behaviours: {len(table) - len(without)} have a test, "
        f"{len(without)} have none\n"
        f"{len(asked)} of them are compared with TensorFlow's own answer, in "
        f"{len(BEHAVIOURS)} cases\n"
    )
    for row, text in without.items():
        sys.stdout.write(f"{row:4}  {text}\n")


if __name__ == "__main__":
    main()
