"""The debugger in a notebook: a cell's steps stop, and buttons beside the graph continue them."""

from __future__ import annotations

import ast
import contextlib
import threading
from typing import TYPE_CHECKING, Any, Self

from tfnb.client.debugger.breakpoints import Breakpoint
from tfnb.client.debugger.debugger import Debugger
from tfnb.client.debugger.text_debugger import TextDebugger
from tfnb.common_runtime.looking.step_inspection import NodeState
from tfnb.core.errors import OpError
from tfnb.core.step_events import unwatch_sessions, watch_sessions
from tfnb.notebook.kernel.control_shell import route_to_control_shell
from tfnb.notebook.kernel.shell import current_shell, is_notebook
from tfnb.notebook.pictures.stop_view import breakpoint_views, stop_view
from tfnb.notebook.scenes.attr_text import cut_middle
from tfnb.notebook.scenes.scene_svg import scene_svg
from tfnb.notebook.steps.step_model import BLOCKED, DEAD, DONE, STOPPED, WAITING
from tfnb.notebook.views.progress import Watch

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from tfnb.client.debugger.stop import Stop
    from tfnb.core.step_events import StepEvents

HEIGHT = 420
_STATES = {
    NodeState.UNREADY: WAITING,
    NodeState.READY: WAITING,
    NodeState.RUNNING: STOPPED,
    NodeState.WAITING: BLOCKED,
    NodeState.DONE: DONE,
    NodeState.DEAD: DEAD,
}
# Upper bound on a message's text; the front end sends no longer one.
_MAX_TEXT = 20_000


# The open debuggers, of cells and of tabs.
_open: list[Debug] = []
_SHARED = ("_debug", "_notice", "_curves", "selected")


def debug_of_a_cell() -> Debug | None:
    """Return the debugger of the running cell, if it has one."""
    return next((one for one in reversed(_open) if not one.attaches_late), None)


class Debug:
    """A context manager whose steps, of every session, are driven by a debugger.

    In a notebook a view with buttons appears; in a terminal it asks for commands.

    Args:
      height: height of the graph's drawing, in CSS pixels.
      stop_at_start: whether every step stops before its first node.
      breakpoints: arguments of :meth:`Debugger.break_at`, for every session.
      displays: whether to show the view below the cell; otherwise the caller shows it.
      attaches_late: whether the debugger attaches only while there is a breakpoint or a pause;
        until then steps run at full speed, and a step that began before can be held, but not
        inspected.

    Raises:
      ValueError: a breakpoint's condition is not valid.

    Attributes:
      debuggers: one per session that ran a step, the latest last.
      widget: the view, None outside a notebook.
    """

    def __init__(
        self,
        *,
        height: int = HEIGHT,
        stop_at_start: bool = False,
        breakpoints: tuple[dict[str, Any], ...] = (),
        displays: bool = True,
        attaches_late: bool = False,
    ) -> None:
        for options in breakpoints:
            Breakpoint(condition=options.get("condition"))  # rejects an invalid condition early
        self.debuggers: list[Debugger] = []
        self.widget: Any = None
        self._displays = displays
        self.attaches_late = attaches_late
        self._mirrors: list[Any] = []
        self._is_off = False  # whether the user has detached it
        self._is_over = False  # whether its block has ended; guarded by _fitting
        self._fitting = threading.Lock()
        self._shown: tuple[Any, ...] = ()
        self._stop_at_start = stop_at_start
        # Arguments of `break_at` by breakpoint number; also applied to sessions opened later.
        self._breakpoints = dict(enumerate(breakpoints, 1))
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
        if self.widget is not None:
            _open.append(self)
        watch_sessions(self._join)
        return self

    def mirror(self, height: int) -> Any:
        """Return another widget of the same debugger, for a page that has lost the first one."""
        first, found = self.widget, _make_widget(height)()

        def follow(change: Any) -> None:
            with found.changing:
                setattr(found, change.name, change.new)

        with first.changing:
            for name in _SHARED:
                if first.has_trait(name):
                    first.observe(follow, name)
                    setattr(found, name, getattr(first, name))
            found.show(*first.moment)
            first.mirrors.append(found)
        found.on_msg(self._hear)
        self._mirrors.append((found, follow))
        return found

    def drop(self, mirror: Any) -> None:
        """Forget a widget that :meth:`mirror` returned and that is closed."""
        for pair in [one for one in self._mirrors if one[0] is mirror]:
            self._mirrors.remove(pair)
            self.widget.mirrors.remove(mirror)
            self.widget.unobserve(pair[1], [one for one in _SHARED if self.widget.has_trait(one)])

    @property
    def is_open(self) -> bool:
        """Whether its ``with`` block is still open."""
        return self in _open

    @property
    def stands(self) -> bool:
        """Whether a step is stopped."""
        return any(one.stop is not None for one in self.debuggers)

    @property
    def breakpoints(self) -> tuple[dict[str, Any], ...]:
        """The arguments of ``break_at`` for the breakpoints that are set in every session."""
        return tuple(self._breakpoints.values())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        unwatch_sessions(self._join)
        if self in _open:
            _open.remove(self)
        self._let_go()
        with self._fitting:
            self._is_over = True
        for debugger in self.debuggers:
            debugger.detach()
        if self._watch is not None:
            self._watch.__exit__(kind, error, traceback)
            self.widget.show_debugger({}, [], is_over=True)
            self.widget.show_notice()
            if self._displays and self.widget.scene is not None:
                self.widget.show_picture(scene_svg(self.widget.scene))

    def _join(self, events: StepEvents) -> None:
        if not self.attaches_late:
            for other in _open:
                other.make_way(events)
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
        for number, options in self._breakpoints.items():
            debugger.break_at(**options).number = number
        self.debuggers.append(debugger)
        self.fit()
        self._show_breakpoints()

    def make_way(self, events: StepEvents) -> None:
        """Release a session for a cell's debugger, if this debugger belongs to a tab."""
        if self.attaches_late and events.debugger in self.debuggers:
            events.set_debugger(None)

    def fit(self) -> None:
        """Attach debuggers with a breakpoint, pause or step to finish; detach the others.

        Call it periodically: steps end, and other debuggers are closed.
        """
        with self._fitting:
            for debugger in self.debuggers:
                # A step that stood goes on when the block ends, and asks for the debugger again.
                wanted = not (self._is_off or self._is_over)
                if self.attaches_late:
                    wanted = wanted and debugger.has_a_reason
                if not wanted:
                    debugger.detach()
                elif not debugger.is_attached:
                    with contextlib.suppress(RuntimeError):  # a cell's debugger is attached
                        debugger.attach()
            self._show_attachment()

    def _show_attachment(self) -> None:
        if self.widget is None:
            return
        is_attached = any(one.is_attached for one in self.debuggers)
        is_driving = any(
            one.drives(step) for one in self.debuggers for step in one.steps_in_flight()
        )
        undriven = self._undriven()
        is_held = any(map(_is_held, undriven))
        now = (is_attached, is_driving, is_held, bool(undriven), self._is_off)
        if now != self._shown:
            self._shown = now
            self.widget.show_attachment(
                is_attached=is_attached or is_driving,
                is_held=is_held,
                is_undriven=bool(undriven),
            )
            self.widget.show_notice(*_notice(is_driving, is_attached, self._is_off))

    def _undriven(self) -> list[Debugger]:
        """Return the debuggers whose session runs a step that began without them."""
        return [
            one
            for one in self.debuggers
            if any(not one.drives(step) for step in one.steps_in_flight())
        ]

    # -- from the debugger -------------------------------------------------------------------------

    def _stopped(self, stop: Stop) -> None:
        self._standing = next((one for one in self.debuggers if one.stop is stop), None)
        for debugger in self.debuggers:
            debugger.take_back_pause()
        self._show_states(stop)
        self.widget.show_debugger(stop_view(stop), self._breakpoint_views())

    def _show_states(self, stop: Stop | None) -> None:
        """Make the graph show the iteration where the step is stopped, as the lists do."""
        if self._watch is None:
            return
        states = None
        if stop is not None:
            # Nodes of a function's body are not in the graph.
            found = {} if stop.function else stop.states_around()
            states = {name: _STATES[state] for name, state in found.items()}
            if not stop.function:
                states[stop.node] = STOPPED
        self._watch.model.stop_states = states

    def _goes_on(self) -> None:
        self._standing = None
        self._show_states(None)
        self.widget.show_debugger({}, self._breakpoint_views())
        self.fit()

    def _breakpoint_views(self) -> list[dict[str, Any]]:
        latest = self._standing or (self.debuggers[-1] if self.debuggers else None)
        return [] if latest is None else breakpoint_views(latest.breakpoints)

    def _show_breakpoints(self) -> None:
        if self.widget is not None:
            self.widget.show_breakpoints(self._breakpoint_views())

    # -- from the front end ------------------------------------------------------------------------

    def _hear(self, widget: Any, content: Any, buffers: Any) -> None:
        """Handle a message of the view; it runs beside the cell, so it only passes commands on."""
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
        """Carry out a command of the view.

        Raises:
          ValueError: the command or one of its words is not valid.
          RuntimeError: no step is stopped.
          KeyError: a tensor has no value in the step.
          OpError: a value does not fit its tensor.
        """
        if not self.debuggers:
            raise RuntimeError("No step has run yet.")
        debugger = self._standing or self.debuggers[-1]
        if command in ("attach", "break", "pause"):
            self._is_off = False
        simple: dict[str, Callable[[], None]] = {
            "attach": self.fit,
            "detach": self._take_off,
            "continue": self._resume,
            "pause": self._pause,
            "step": debugger.step,
            "over": debugger.step_over,
            "iteration": debugger.step_iteration,
            "frame": debugger.step_frame,
            "cancel": self._cancel,
        }
        if command in simple:
            simple[command]()
        elif command == "break":
            iteration = words.get("iteration", "").strip()
            self._break_at(
                {
                    "node": words.get("node", "").strip(),
                    "frame": words.get("frame", "").strip(),
                    "iteration": int(iteration) if iteration else None,
                    "condition": words.get("condition", "").strip() or None,
                }
            )
        elif command == "clear":
            self._clear(int(words["number"]))
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
        self.fit()

    def _break_at(self, options: dict[str, Any]) -> None:
        """Set a breakpoint in every session, since any of them may run the next step."""
        Breakpoint(condition=options["condition"])  # rejects an invalid condition
        known = [one.number for debugger in self.debuggers for one in debugger.breakpoints]
        number = max([*known, *self._breakpoints], default=0) + 1
        self._breakpoints[number] = options
        for debugger in self.debuggers:
            debugger.break_at(**options).number = number
        self._show_breakpoints()

    def _clear(self, number: int) -> None:
        self._breakpoints.pop(number, None)
        found = [
            (debugger, one)
            for debugger in self.debuggers
            for one in debugger.breakpoints
            if one.number == number
        ]
        if not found:
            raise ValueError(f"There is no breakpoint {number}.")
        for debugger, one in found:
            debugger.clear(one)
        self._show_breakpoints()

    def _cancel(self) -> None:
        """Cancel the stopped step; if none is stopped, all running steps."""
        for debugger in self.debuggers if self._standing is None else [self._standing]:
            if self._standing is not None or debugger.steps_in_flight():
                debugger.cancel()

    def _take_off(self) -> None:
        self._is_off = True
        self._let_go()

    def _pause(self) -> None:
        """Stop the running step; if none runs, the next one."""
        held = [one for one in self._undriven() if hasattr(_runtime(one), "hold_steps")]
        for debugger in held:
            _runtime(debugger).hold_steps()
        driving = [one for one in self.debuggers if any(map(one.drives, one.steps_in_flight()))]
        for debugger in [] if held else driving or self.debuggers:
            debugger.pause()

    def _resume(self) -> None:
        if self._standing is not None or not self._let_go():
            (self._standing or self.debuggers[-1]).resume()

    def _let_go(self) -> bool:
        """Release held steps; return whether there were any."""
        held = [one for one in self._undriven() if _is_held(one)]
        for debugger in held:
            _runtime(debugger).let_steps_go()
        return bool(held)

    def _show_again(self, debugger: Debugger) -> None:
        stop = debugger.stop
        if stop is not None:
            self.widget.show_debugger(stop_view(stop), self._breakpoint_views())


def _runtime(debugger: Debugger) -> Any:
    return debugger.session().runtime


def _is_held(debugger: Debugger) -> bool:
    return bool(getattr(_runtime(debugger), "is_held", False))


def _notice(is_driving: bool, is_attached: bool, is_off: bool) -> tuple[str, str, str]:
    """Return the notice about the speed of steps: a text, a button's label and its command."""
    if is_off and is_driving:
        return ("The step that runs began with the debugger: it stays slow.", "Attach", "attach")
    if is_off:
        return ("The debugger is detached: steps run at full speed.", "Attach", "attach")
    if is_attached or is_driving:
        text = (
            "The debugger is attached: near a breakpoint steps run node by node, up to hundreds of "
            "times slower."
        )
        return (text, "Detach", "detach")
    return ("", "", "")


def _make_widget(height: int) -> Callable[[], Any]:
    def make() -> Any:
        from tfnb.notebook.views.debug_widget import DebugWidget

        return DebugWidget(None, view="debug", height=height)

    return make


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise ValueError(
            f"{text[:60]!r} is not a number, a text or a nested list of them."
        ) from None


def debug(
    node: Any = "",
    *,
    iteration: int | None = None,
    condition: Any = None,
    stop_at_start: bool = False,
    height: int = HEIGHT,
) -> Debug:
    """Debug the steps run inside a ``with`` block.

    Args:
      node: where steps stop: a node, its name, or a pattern; without it there is no breakpoint.
      iteration: the iteration of its loop to stop in.
      condition: on the node's outputs; see :meth:`tfnb.debugger.Debugger.break_at`.
      stop_at_start: whether every step stops before its first node.
      height: height of the graph's drawing, in CSS pixels.
    """
    wanted = (node not in ("", None)) or condition is not None
    options = {"node": node, "iteration": iteration, "condition": condition}
    return Debug(
        height=height, stop_at_start=stop_at_start, breakpoints=(options,) if wanted else ()
    )
