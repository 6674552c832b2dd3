"""The widget of the debugger: the live graph, and the stopped step as a dictionary beside it."""

from __future__ import annotations

from typing import Any

import traitlets

from tfnb.notebook.views.widget import SceneWidget


class DebugWidget(SceneWidget):
    """Shows a step that a debugger drives; its buttons send messages."""

    _debug = traitlets.Dict().tag(sync=True)

    def show_debugger(
        self,
        stop: dict[str, Any],
        breakpoints: list[dict[str, Any]],
        *,
        is_over: bool = False,
        has_buttons: bool | None = None,
    ) -> None:
        """Show where a step is stopped; an empty ``stop`` means that none is."""
        with self.changing:
            if has_buttons is None:
                has_buttons = self._debug.get("hasButtons", True)
            self._debug = {
                **self._debug,
                "stop": stop,
                "breakpoints": breakpoints,
                "isOver": is_over,
                "hasButtons": has_buttons,
                "answer": "",
                "isError": False,
            }
            if stop:
                self.selected = stop["node"]

    def show_attachment(self, *, is_attached: bool, is_held: bool, is_undriven: bool) -> None:
        """Show whether steps are debugged, and whether one runs, or is held, that began without."""
        with self.changing:
            self._debug = {
                **self._debug,
                "isAttached": is_attached,
                "isHeld": is_held,
                "isUndriven": is_undriven,
            }

    def show_breakpoints(self, breakpoints: list[dict[str, Any]]) -> None:
        """Show the current breakpoints."""
        with self.changing:
            self._debug = {**self._debug, "breakpoints": breakpoints, "answer": ""}

    def show_answer(self, text: str, *, is_error: bool = False) -> None:
        """Show a text below the buttons."""
        with self.changing:
            self._debug = {**self._debug, "answer": text, "isError": is_error}
