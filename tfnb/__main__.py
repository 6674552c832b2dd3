"""``python -m tfnb`` and the program ``tfnb``: the command line, with the drawing of graphs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tfnb.client.command_line.main import main as run_command_line
from tfnb.notebook.graph_command import GRAPH

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    return run_command_line(arguments, [GRAPH])


if __name__ == "__main__":
    sys.exit(main())
