"""Registers the cell that is about to run, so that ops record the cell that made them."""

from __future__ import annotations

import sys
from typing import Any

from tfnb.framework.traceback_of_user import register_cell


class CellRegistrar:
    """Registers every cell of one shell before it runs.

    Attributes:
      current: the number in the running cell's ``In [n]``.
      cell_id: the front end's id of the cell, "" if it sends none.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self.current = int(shell.execution_count)
        self.cell_id = ""

    def install(self) -> None:
        """Start registering cells, with the cell that runs now."""
        self._shell.events.register("pre_run_cell", self.register)
        inputs = getattr(self._shell.history_manager, "input_hist_raw", [])
        filename = _running_cell(self._shell.user_ns)
        if inputs and inputs[-1] and filename is not None:
            # The last stored input is the cell that loads the extension; its index is its number.
            self.current = len(inputs) - 1
            register_cell(filename, self.current, inputs[-1])

    def remove(self) -> None:
        """Stop registering cells."""
        self._shell.events.unregister("pre_run_cell", self.register)

    def register(self, info: Any) -> None:
        """Register the cell that an event announces."""
        if not info.raw_cell or info.silent:
            return
        shell, source = self._shell, info.raw_cell
        self.current = _number_of(shell)
        self.cell_id = getattr(info, "cell_id", None) or ""
        transformed = getattr(info, "transformed_cell", None) or shell.transform_cell(source)
        filename = str(shell.compile.get_code_name(source, transformed, self.current))
        register_cell(filename, self.current, source)


def _running_cell(namespace: dict[str, Any]) -> str | None:
    """Return the name under which the cell that runs now was compiled; None if none runs.

    The name is a hash of the text with the empty lines at its end, which the history omits.
    """
    found = None
    frame = sys._getframe()
    while frame is not None:
        if frame.f_globals is namespace:
            found = frame.f_code.co_filename
        frame = frame.f_back  # type: ignore[assignment]
    return found


def _number_of(shell: Any) -> int:
    """Return the announced cell's number; some versions of IPython have already increased it."""
    count = int(shell.execution_count)
    history = getattr(shell, "history_manager", None)
    # Inputs are stored under their numbers, from 1; the input of this cell is stored next.
    return count - 1 if history is not None and len(history.input_hist_raw) < count else count
