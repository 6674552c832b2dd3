"""The debugger: breakpoints, stepping, looking at values and changing them, in the real executor.

While a debugger is attached to a session, its steps run node by node on the reference executor
(``debugged_executor.py``).  The thread that called ``run`` stops inside of it; another thread (a
notebook's buttons, a test) or the function ``on_stop`` says how it goes on.  Steps of several
threads stop one after the other.

A stop holds no lock that the runtime needs: other sessions run on, ``close`` and time-outs end the
step, and Ctrl-C does.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from tfnb.client.debugger.breakpoints import Breakpoint
from tfnb.client.debugger.stop import Stop
from tfnb.client.debugger.watched_tensor import WatchedTensor
from tfnb.client.session import live_sessions
from tfnb.common_runtime.immutable_executor_state import INTO_PARENT
from tfnb.core import errors
from tfnb.framework.default_session import get_default_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from tfnb.client.session import BaseSession
    from tfnb.common_runtime.debugged_executor import DebuggedExecutorState
    from tfnb.common_runtime.propagator_state import FrameState, IterationState, type_of_tagged_node
    from tfnb.common_runtime.run_state import RunState
    from tfnb.core.step_events import StepEvents

EXPORTS = {"debugger": ["Debugger"]}

_log = logging.getLogger("tfnb")
# How long the stopped thread sleeps at most before it looks for an interrupt, in seconds.
_NAP_S = 0.05


@dataclass(slots=True)
class _Goal:
    """How far a step runs without a breakpoint: ``kind`` is node, over, iteration or frame.

    ``has_left``: a live Exit of the frame has run, so that what runs outside may be behind it.
    """

    kind: str
    depth: int = 0
    frame: FrameState | None = None
    iteration: int = 0
    has_left: bool = False

    def is_reached(self, executor: DebuggedExecutorState, tagged: type_of_tagged_node) -> bool:
        """Whether the step has come there, before a node runs."""
        if self.kind == "node":
            return True
        if executor.run_state.depth > self.depth:
            return False
        if self.kind == "over":
            return True
        frame = self.frame
        assert frame is not None
        if not frame.num_outstanding_iterations:
            return True
        here = tagged[1]
        if self.kind == "iteration" and here.frame is frame and here.number > self.iteration:
            return True
        return self.has_left and not _is_inside(here, frame)

    def note(self, tagged: type_of_tagged_node) -> None:
        """A node has run."""
        item, iteration, is_dead = tagged
        if item.destination == INTO_PARENT and iteration.frame is self.frame and not is_dead:
            self.has_left = True


def _is_inside(iteration: IterationState | None, frame: FrameState) -> bool:
    while iteration is not None:
        if iteration.frame is frame:
            return True
        iteration = iteration.frame.parent_iteration
    return False


class Debugger:
    """Stops the steps of a session where its breakpoints say.

    Args:
      session: whose steps; the default session if not given.
      events: in place of a session, the events of its runtime: for who hears of a session while it
        is being made.
      on_stop: is called with each :class:`Stop`, in the thread that runs the step; it may look,
        change values, and say how to go on (:meth:`step`, :meth:`resume`, ...). If it does not, the
        thread waits until somebody does.  One that raises is dropped, and the step goes on.
      on_go: is called when a stopped step goes on.
      stop_at_start: whether every step stops before its first node.

    Attributes:
      stop: where a step stands; None while none does.
      breakpoints: all of them, in the order they were set.
    """

    def __init__(
        self,
        session: BaseSession | None = None,
        *,
        events: StepEvents | None = None,
        on_stop: Callable[[Stop], None] | None = None,
        on_go: Callable[[], None] | None = None,
        stop_at_start: bool = False,
    ) -> None:
        self._events = _events_of(session) if events is None else events
        self._on_stop = on_stop
        self._on_go = on_go
        self._stop_at_start = stop_at_start
        self.stop: Stop | None = None
        self.breakpoints: list[Breakpoint] = []
        self.watched: list[WatchedTensor] = []
        self._num_breakpoints = 0
        self._turn = threading.Lock()  # held by the step that stands
        self._changed = threading.Condition()
        # How the step that stands goes on; guarded by _changed.
        self._command: _Goal | BaseException | str | None = None
        self._stop_soon = False
        self._goals: dict[int, _Goal] = {}  # by the thread that drives a step
        self._muted: set[int] = set()  # threads whose steps nobody debugs

    def __repr__(self) -> str:
        where = "no step stands" if self.stop is None else repr(self.stop)
        return f"<Debugger: {len(self.breakpoints)} breakpoints, {where}>"

    # -- life --------------------------------------------------------------------------------------

    def attach(self) -> Self:
        """From now on the session's steps are debugged.

        Raises:
          RuntimeError: another debugger is attached to the session.
        """
        if self._events.debugger not in (None, self):
            raise RuntimeError("Another debugger is attached to this session; detach() it first.")
        self._events.set_debugger(self)
        return self

    def detach(self) -> None:
        """Lets all steps run through; later ones run as before.  A second call does nothing."""
        if self._events.debugger is self:
            self._events.set_debugger(None)
        self._goals.clear()
        self._stop_soon = False
        with self._changed:
            if self.stop is not None:
                self._command = "resume"
                self._changed.notify_all()

    def __enter__(self) -> Self:
        return self.attach()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.detach()

    @property
    def is_attached(self) -> bool:
        """Whether the session's steps are debugged."""
        return self._events.debugger is self

    # -- breakpoints and watched tensors -----------------------------------------------------------

    def break_at(
        self,
        node: Any = "",
        *,
        op: str = "",
        frame: str = "",
        iteration: int | None = None,
        condition: Any = None,
        once: bool = False,
    ) -> Breakpoint:
        """Sets a breakpoint; what is left out fits every node.

        Args:
          node: an operation or tensor, its name, or a pattern with ``*`` and ``?``.
          op: an op type, likewise.
          frame: the name of a loop's frame, likewise.
          iteration: the iteration of that frame.
          condition: ``"nan"``, ``"inf"``, ``"dead"``, a comparison like ``"max > 3"``, or a
            function of the :class:`Stop`; then the step stops after the node where it holds.
          once: whether the breakpoint goes when it was hit.

        Raises:
          ValueError: the condition's text is none.
          TypeError: the condition is neither text nor a function.
        """
        found = Breakpoint(_node_name(node), op, frame, iteration, condition, once)
        self._num_breakpoints += 1
        found.number = self._num_breakpoints
        self.breakpoints = [*self.breakpoints, found]
        return found

    def clear(self, breakpoint_: Breakpoint | int | None = None) -> None:
        """Takes a breakpoint off, by itself or by its number; all of them if none is named."""
        if breakpoint_ is None:
            self.breakpoints = []
            return
        kept = [one for one in self.breakpoints if breakpoint_ not in (one, one.number)]
        if len(kept) == len(self.breakpoints):
            raise ValueError(f"There is no breakpoint {breakpoint_}.")
        self.breakpoints = kept

    def watch(self, tensor: Any, *, keep: int = 10_000) -> WatchedTensor:
        """Records a tensor's values from now on: every iteration, also where it cannot be fetched.

        Args:
          tensor: a tensor or its name.
          keep: how many values are kept; the oldest go first.
        """
        name = getattr(tensor, "name", tensor)
        found = WatchedTensor(name if ":" in name else f"{name}:0", keep)
        self.watched = [*self.watched, found]
        return found

    # -- how a stopped step goes on ----------------------------------------------------------------

    def pause(self) -> None:
        """Has the next node that is about to run stop its step."""
        self._stop_soon = True

    def resume(self) -> None:
        """Goes on until a breakpoint, or the end."""
        self._go("resume")

    def step(self) -> None:
        """Runs one node."""
        self._go(_Goal("node"))

    def step_over(self) -> None:
        """Runs one node; a function that it calls runs through."""
        _, depth = self._position()
        self._go(_Goal("over", depth))

    def step_iteration(self) -> None:
        """Goes on until the next iteration of this loop begins, or the loop has ended.

        Raises:
          RuntimeError: no step stands, or it stands outside of loops.
        """
        (_, iteration, _), depth = self._position("a loop")
        self._go(_Goal("iteration", depth, iteration.frame, iteration.number))

    def step_frame(self) -> None:
        """Goes on until this loop has ended.

        Raises:
          RuntimeError: no step stands, or it stands outside of loops.
        """
        (_, iteration, _), depth = self._position("a loop")
        self._go(_Goal("frame", depth, iteration.frame))

    def run_to(self, node: Any, *, iteration: int | None = None) -> None:
        """Goes on until a node, in an iteration."""
        self._position()
        self.break_at(node, iteration=iteration, once=True)
        self._go("resume")

    def cancel(self) -> None:
        """Ends the step that stands with a CancelledError; if none does, all that run."""
        error = errors.cancelled("The step was cancelled in the debugger.")
        if self.stop is not None:
            self._go(error)
            return
        for run_state in self._session()._session.active_steps():
            run_state.end(error)

    def run_next(self, node: str) -> None:
        """Puts a ready node in front, so that it runs next.

        Raises:
          ValueError: the node is not ready.
        """
        (tagged, _), executor = self._position(), self._executor()
        queue = executor.propagator.ready
        found = next((one for one in queue if one[0].name == node), None)
        if found is None:
            raise ValueError(f"'{node}' is not ready; ready are: {', '.join(self._ready())}")
        if found is not tagged:
            queue.remove(found)
            queue.appendleft(found)
            with self._changed:
                self._command = "again"
                self._changed.notify_all()

    # -- looking and changing ----------------------------------------------------------------------

    def value(self, tensor: Any) -> Any:
        """The value of a tensor that lies in the step, or that its last node gave.

        Where several iterations hold one, it is that of the iteration where the step stands, else
        the youngest.

        Raises:
          KeyError: none lies there now.
        """
        stop = self._standing()
        name = _tensor_name(tensor)
        for given, value in (*stop.outputs, *stop.inputs):
            if given == name and value is not None:
                return value
        found = stop.inspector.values(name)
        if not found:
            raise KeyError(
                f"no value of '{name}' lies in the step now: it was not computed yet, or was used "
                "up"
            )
        here = [row for row in found if row[:2] == (stop.frame, stop.iteration)]
        return (here or sorted(found, key=lambda row: row[1]))[-1][2]

    def set_value(
        self, tensor: Any, value: Any, *, frame: str | None = None, iteration: int | None = None
    ) -> None:
        """Puts another value where a tensor's value lies; whoever takes it next gets the new one.

        Args:
          tensor: a tensor or its name.
          value: of the tensor's dtype, or what NumPy makes it of.
          frame: only in frames of that name.
          iteration: only in that iteration.

        Raises:
          InvalidArgumentError: it has another type, or is a variable or a resource.
          KeyError: no value of the tensor lies in the step.
        """
        name = _tensor_name(tensor)
        stop = self._standing()
        if not stop.inspector.replace(name, value, frame=frame, iteration=iteration):
            raise KeyError(f"no value of '{name}' lies in the step now")

    def evaluate(self, fetches: Any, feed_dict: Any = None) -> Any:
        """Runs fetches in a step of their own, which nobody debugs, while another one stands."""
        thread = threading.get_ident()
        self._muted.add(thread)
        try:
            return self._session().run(fetches, feed_dict)
        finally:
            self._muted.discard(thread)

    def wait_for_stop(self, timeout_s: float | None = None) -> Stop | None:
        """For another thread: waits until a step stands; None if that takes too long."""
        with self._changed:
            self._changed.wait_for(lambda: self.stop is not None, timeout_s)
            return self.stop

    # -- what the runtime calls --------------------------------------------------------------------

    def wants(self, run_state: RunState) -> bool:
        """Whether a step is to run node by node; the runtime asks when one begins."""
        thread = threading.get_ident()
        if thread in self._muted:
            return False
        if run_state.depth == 0:
            self._goals.pop(thread, None)
            if self._stop_at_start:
                self._goals[thread] = _Goal("node")
        return True

    def choose(self, executor: DebuggedExecutorState, ready: Any) -> Any:
        """Takes out the node that runs next, and stops before it if there is a reason."""
        while self.is_attached:
            tagged = ready[0]
            reason = self._reason_before(executor, tagged)
            if not reason or self._hold(executor, tagged, "before", None, reason):
                break
        return ready.popleft()

    def ran(self, executor: DebuggedExecutorState, tagged: Any, outputs: Any) -> None:
        """Notes watched tensors, and stops behind a node if there is a reason."""
        if self.watched:
            for watched in self.watched:
                watched.note(executor, tagged, outputs)
        goal = self._goals.get(threading.get_ident())
        if goal is not None and goal.frame is not None:
            goal.note(tagged)
        conditional = [one for one in self._fitting(tagged) if one.looks_at_values]
        if not conditional or not self.is_attached:
            return
        stop = Stop(executor, tagged, "after", outputs)
        for one in conditional:
            if one.is_met(stop):
                self._hit(one)
                self._hold(executor, tagged, "after", outputs, f"breakpoint {one.number}: {one}")
                return
            if one.problem:
                _log.warning("Breakpoint %d was switched off: %s", one.number, one)
        stop.forget()

    def _session(self) -> Any:
        """The session whose steps these are.

        Raises:
          RuntimeError: it is gone.
        """
        for session in live_sessions():
            if session._session.step_events is self._events:
                return session
        raise RuntimeError("The session is closed.")

    # -- inside ------------------------------------------------------------------------------------

    def _reason_before(self, executor: DebuggedExecutorState, tagged: type_of_tagged_node) -> str:
        if self._stop_soon:
            self._stop_soon = False
            return "paused"
        goal = self._goals.get(threading.get_ident())
        if goal is not None and goal.is_reached(executor, tagged):
            return "step"
        for one in self._fitting(tagged):
            if not one.looks_at_values:
                self._hit(one)
                return f"breakpoint {one.number}: {one}"
        return ""

    def _fitting(self, tagged: type_of_tagged_node) -> Iterator[Breakpoint]:
        item, iteration, _ = tagged
        for one in self.breakpoints:
            if one.enabled and one.fits(
                item.name, item.op, iteration.frame.info.name, iteration.number
            ):
                yield one

    def _hit(self, one: Breakpoint) -> None:
        one.hits += 1
        if one.once:
            self.breakpoints = [other for other in self.breakpoints if other is not one]

    def _hold(
        self,
        executor: DebuggedExecutorState,
        tagged: type_of_tagged_node,
        phase: str,
        outputs: Any,
        reason: str,
    ) -> bool:
        """Keeps the step here until somebody says how to go on.

        Returns:
          Whether the node runs; else another one was put in front of it.
        """
        thread, run_state = threading.get_ident(), executor.run_state
        self._goals.pop(thread, None)
        while not self._turn.acquire(timeout=_NAP_S):
            if run_state.stop is not None:
                raise run_state.stop
        stop = Stop(executor, tagged, phase, outputs)
        stop.reason = reason
        try:
            with self._changed:
                self._command = None
                self.stop = stop
                self._changed.notify_all()
            self._tell(stop)
            command = self._await_command(run_state)
        finally:
            with self._changed:
                self.stop = None
                self._command = None
            stop.forget()
            self._turn.release()
            if self._on_go is not None:
                self._guarded(self._on_go)
        if isinstance(command, BaseException):
            raise command
        if isinstance(command, _Goal):
            self._goals[thread] = command
        if command == "again":
            self._goals[thread] = _Goal("node")
            return False
        return True

    def _tell(self, stop: Stop) -> None:
        on_stop = self._on_stop
        if on_stop is None:
            return
        try:
            on_stop(stop)
        except Exception:
            _log.exception("The function that hears of stops failed and was dropped.")
            self._on_stop = None
            with self._changed:
                self._command = "resume"

    @staticmethod
    def _guarded(call: Callable[[], None]) -> None:
        try:
            call()
        except Exception:
            _log.exception("The function that hears of steps going on failed.")

    def _await_command(self, run_state: RunState) -> Any:
        with self._changed:
            while self._command is None:
                if run_state.stop is not None:
                    raise run_state.stop
                self._changed.wait(_NAP_S)
            return self._command

    def _go(self, command: Any) -> None:
        with self._changed:
            if self.stop is None:
                raise RuntimeError("No step stands; set a breakpoint or pause() one that runs.")
            self._command = command
            self._changed.notify_all()

    def _standing(self) -> Stop:
        stop = self.stop
        if stop is None:
            raise RuntimeError("No step stands; set a breakpoint or pause() one that runs.")
        return stop

    def _executor(self) -> DebuggedExecutorState:
        executor = self._standing()._executor
        assert executor is not None
        return executor

    def _ready(self) -> list[str]:
        return self._standing().ready

    def _position(self, wanted: str = "") -> tuple[type_of_tagged_node, int]:
        stop = self._standing()
        assert stop._tagged is not None
        if wanted and not stop.loops:
            raise RuntimeError(f"The step stands outside of loops, at '{stop.node}'.")
        return stop._tagged, self._executor().run_state.depth


def _events_of(session: BaseSession | None) -> StepEvents:
    found: Any = get_default_session() if session is None else session
    if found is None:
        raise ValueError(
            "There is no default session to debug; pass one: Debugger(session), or call "
            "tf.InteractiveSession() first."
        )
    events: StepEvents = found._session.step_events
    return events


def _node_name(node: Any) -> str:
    """The name of a node, of an operation, a tensor, or text."""
    name: str = getattr(node, "name", node)
    return name.rpartition(":")[0] if name.rpartition(":")[2].isdigit() else name


def _tensor_name(tensor: Any) -> str:
    name: str = getattr(tensor, "name", tensor)
    return name if ":" in name else f"{name}:0"
