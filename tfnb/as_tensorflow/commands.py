"""The commands of this room for the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.client.command_line.main import Command
from tfnb.client.terminal_text import terminal_text

if TYPE_CHECKING:
    import argparse

    from tfnb.client.command_line.progress import Progress


def _add_doctor_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", help="a program, a notebook, or a folder of them")


def _doctor(options: argparse.Namespace, progress: Progress) -> None:
    from tfnb.as_tensorflow.doctor import doctor

    with progress.phase(f"reading {options.path}"):
        found = doctor(options.path)
    print(terminal_text(str(found)))
    if not found.is_well:
        raise RuntimeError("this code uses what is not there, or could not be read")


DOCTOR = Command(
    "doctor",
    "list what a code base uses of TensorFlow 1, and what tfnb lacks",
    _add_doctor_arguments,
    _doctor,
)
