"""Tells the graph which cell is about to run, so that ops know the cell that made them."""

from __future__ import annotations

from typing import Any

from tfnb.framework.traceback_of_user import register_cell


class CellRegistrar:
    """Registers every cell of one shell before it runs."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def install(self) -> None:
        """Begins, with the cell that is running now."""
        self._shell.events.register("pre_run_cell", self.register)

    def remove(self) -> None:
        """Ends."""
        self._shell.events.unregister("pre_run_cell", self.register)

    def register(self, info: Any) -> None:
        """Registers the cell that an event announces."""
        if not info.raw_cell or info.silent:
            return
        shell = self._shell
        source = info.raw_cell
        filename = cell_filename(shell, source)
        register_cell(filename, shell.execution_count, source)


def cell_filename(shell: Any, source: str) -> str:
    """The file name that the shell's compiler gives to a cell's code."""
    return str(
        shell.compile.get_code_name(source, shell.transform_cell(source), shell.execution_count)
    )
