"""``python -m tfnb`` and the program ``tfnb``: the command line, with the drawing of graphs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tfnb.as_tensorflow.commands import DOCTOR
from tfnb.as_tensorflow.program import is_program, run_program
from tfnb.client.command_line import serve
from tfnb.client.command_line.main import Command
from tfnb.client.command_line.main import main as run_command_line
from tfnb.notebook.graph_command import GRAPH, dot_text
from tfnb.serving.serve_command import SERVE_MODEL

if TYPE_CHECKING:
    from collections.abc import Sequence

SERVE = Command("serve", serve.HELP, serve.add_arguments, serve.serve)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["run"] and is_program(given[1:]):
        return run_program(given[1:])
    return run_command_line(arguments, [GRAPH, SERVE, SERVE_MODEL, DOCTOR], dot_text)


if __name__ == "__main__":
    sys.exit(main())
