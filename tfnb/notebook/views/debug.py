"""The debugger in a notebook: a cell's steps stop, and buttons at the graph say how to go on."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Self

from tfnb.client.debugger.breakpoints import Breakpoint
from tfnb.client.debugger.debugger import Debugger
from tfnb.client.debugger.text_debugger import TextDebugger
from tfnb.core.errors import OpError
from tfnb.core.step_events import unwatch_sessions, watch_sessions
from tfnb.notebook.attr_text import cut_middle
from tfnb.notebook.control_shell import route_to_control_shell
from tfnb.notebook.shell import current_shell, is_notebook
from tfnb.notebook.stop_view import breakpoint_views, stop_view
from tfnb.notebook.views.progress import Watch

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from tfnb.client.debugger.stop import Stop
    from tfnb.core.step_events import StepEvents

HEIGHT = 420
# A message from the front end that is longer is none of ours.
_MAX_TEXT = 20_000


class Debug:
    """A context manager whose steps, of every session, are driven by a debugger.

    In a notebook a view with buttons appears; in a terminal it asks for commands.

    Args:
      height: of the drawing of the graph, in CSS pixels.
      stop_at_start: whether every step stops before its first node.
      breakpoints: arguments of :meth:`Debugger.break_at`, for every session.
      displays: whether the view appears below the cell; otherwise somebody else shows it.

    Raises:
      ValueError: a breakpoint's condition is none.

    Attributes:
      debuggers: one for each session that ran, the latest last.
      widget: the view, None outside a notebook.
    """

    def __init__(
        self,
        *,
        height: int = HEIGHT,
        stop_at_start: bool = False,
        breakpoints: tuple[dict[str, Any], ...] = (),
        displays: bool = True,
    ) -> None:
        for options in breakpoints:
            Breakpoint(condition=options.get("condition"))  # refuses what is none, now
        self.debuggers: list[Debugger] = []
        self.widget: Any = None
        self._stop_at_start = stop_at_start
        self._breakpoints = breakpoints
        self._watch: Watch | None = None
        if is_notebook(current_shell()):
            self._watch = Watch(
                make_widget=_make_widget(height), keeps_summary=False, displays=displays
            )
        self._standing: Debugger | None = None

    def __enter__(self) -> Self:
        if self._watch is not None:
            self._watch.__enter__()
            self.widget = self._watch.widget
            self.widget.on_msg(self._hear)
            has_buttons = route_to_control_shell(self.widget)
            self.widget.show_debugger({}, [], has_buttons=has_buttons)
        watch_sessions(self._join)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        unwatch_sessions(self._join)
        for debugger in self.debuggers:
            debugger.detach()
        if self._watch is not None:
            self._watch.__exit__(kind, error, traceback)
            self.widget.show_debugger({}, [], is_over=True)

    def _join(self, events: StepEvents) -> None:
        if events.debugger is not None:
            return
        if self.widget is None:
            debugger: Debugger = TextDebugger(events=events, stop_at_start=self._stop_at_start)
        else:
            debugger = Debugger(
                events=events,
                on_stop=self._stopped,
                on_go=self._goes_on,
                stop_at_start=self._stop_at_start,
            )
        for options in self._breakpoints:
            debugger.break_at(**options)
        self.debuggers.append(debugger)
        debugger.attach()
        self._show_breakpoints()

    # -- what the debugger says --------------------------------------------------------------------

    def _stopped(self, stop: Stop) -> None:
        self._standing = next((one for one in self.debuggers if one.stop is stop), None)
        self.widget.show_debugger(stop_view(stop), self._breakpoint_views())

    def _goes_on(self) -> None:
        self._standing = None
        self.widget.show_debugger({}, self._breakpoint_views())

    def _breakpoint_views(self) -> list[dict[str, Any]]:
        latest = self._standing or (self.debuggers[-1] if self.debuggers else None)
        return [] if latest is None else breakpoint_views(latest.breakpoints)

    def _show_breakpoints(self) -> None:
        if self.widget is not None:
            self.widget.show_breakpoints(self._breakpoint_views())

    # -- what the front end says -------------------------------------------------------------------

    def _hear(self, widget: Any, content: Any, buffers: Any) -> None:
        """A message of the view; runs beside the cell, so it only hands commands on."""
        if not isinstance(content, dict) or not isinstance(content.get("command"), str):
            return
        words = {key: value for key, value in content.items() if isinstance(value, str)}
        if sum(map(len, words.values())) > _MAX_TEXT:
            return
        try:
            self.obey(words.pop("command"), words)
        except (RuntimeError, ValueError, TypeError, KeyError) as error:
            text = str(error.args[0]) if error.args else type(error).__name__
            widget.show_answer(cut_middle(text, 600), is_error=True)
        except OpError as error:
            widget.show_answer(cut_middle(error.message, 600), is_error=True)

    def obey(self, command: str, words: dict[str, str]) -> None:
        """Carries out a command of the view.

        Raises:
          ValueError: there is no such command, or one of its words is wrong.
          RuntimeError: no step stands.
          KeyError: a tensor has no value in the step.
          OpError: a value does not fit.
        """
        if not self.debuggers:
            raise RuntimeError("No step has run yet.")
        debugger = self._standing or self.debuggers[-1]
        simple: dict[str, Callable[[], None]] = {
            "continue": debugger.resume,
            "pause": debugger.pause,
            "step": debugger.step,
            "over": debugger.step_over,
            "iteration": debugger.step_iteration,
            "frame": debugger.step_frame,
            "cancel": debugger.cancel,
        }
        if command in simple:
            simple[command]()
        elif command == "break":
            iteration = words.get("iteration", "").strip()
            debugger.break_at(
                words.get("node", "").strip(),
                frame=words.get("frame", "").strip(),
                iteration=int(iteration) if iteration else None,
                condition=words.get("condition", "").strip() or None,
            )
            self._show_breakpoints()
        elif command == "clear":
            debugger.clear(int(words["number"]))
            self._show_breakpoints()
        elif command == "first":
            debugger.run_next(words["node"])
        elif command == "set":
            debugger.set_value(words["tensor"], _literal(words["value"]))
            self._show_again(debugger)
        elif command == "why":
            stop = debugger.stop
            if stop is None:
                raise RuntimeError("No step stands.")
            self.widget.show_answer(stop.why(words["node"]).render())
        else:
            raise ValueError(f"There is no command '{command[:40]}'.")

    def _show_again(self, debugger: Debugger) -> None:
        stop = debugger.stop
        if stop is not None:
            self.widget.show_debugger(stop_view(stop), self._breakpoint_views())


def _make_widget(height: int) -> Callable[[], Any]:
    def make() -> Any:
        from tfnb.notebook.views.debug_widget import DebugWidget

        return DebugWidget(None, view="debug", height=height)

    return make


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise ValueError(f"{text[:60]!r} is no number, text or nested list of them.") from None


def debug(
    node: Any = "",
    *,
    iteration: int | None = None,
    condition: Any = None,
    stop_at_start: bool = False,
    height: int = HEIGHT,
) -> Debug:
    """Debugs the steps run inside a ``with`` block.

    Args:
      node: where they stop: a node, its name, or a pattern; nothing means no breakpoint.
      iteration: in which iteration of its loop.
      condition: on what it gives; see :meth:`tfnb.debugger.Debugger.break_at`.
      stop_at_start: whether every step stops before its first node.
      height: of the drawing of the graph, in CSS pixels.
    """
    wanted = (node not in ("", None)) or condition is not None
    options = {"node": node, "iteration": iteration, "condition": condition}
    return Debug(
        height=height, stop_at_start=stop_at_start, breakpoints=(options,) if wanted else ()
    )
