"""The debugger: breakpoints, stepping, inspecting and changing values, in the real executor.

While a debugger is attached to a session, its steps run as emitted functions until a breakpoint is
near (``near_breakpoints.py``) or ``pause`` is called, then node by node on the reference executor
(``debugged_executor.py``). The thread that called ``run`` stops inside of it; another thread (a
notebook's buttons, a test) or the function ``on_stop`` decides how it continues. Steps of several
threads stop one after the other.

A stopped step holds no lock that the runtime needs: other sessions keep running, and ``close``,
time-outs and Ctrl-C end the step.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from tfnb.client.debugger.breakpoints import Breakpoint
from tfnb.client.debugger.near_breakpoints import near_breakpoints
from tfnb.client.debugger.stop import Stop
from tfnb.client.debugger.watched_tensor import WatchedTensor
from tfnb.client.session.session import live_sessions
from tfnb.common_runtime.executor.immutable_executor_state import INTO_PARENT
from tfnb.core import errors
from tfnb.core.process.notification import Notification
from tfnb.core.process.wake_up import WakeUp
from tfnb.core.process.weak_registry import WeakTable
from tfnb.core.step_events import NOT_NEAR, Near, RunsThrough
from tfnb.framework.default_session import get_default_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from tfnb.client.session.session import BaseSession
    from tfnb.common_runtime.executor.debugged_executor import DebuggedExecutorState
    from tfnb.common_runtime.executor.immutable_executor_state import ImmutableExecutorState
    from tfnb.common_runtime.executor.propagator_state import (
        FrameState,
        IterationState,
        type_of_tagged_node,
    )
    from tfnb.common_runtime.executor.run_state import RunState
    from tfnb.common_runtime.lowering.support.journal import Journal
    from tfnb.core.step_events import StepEvents

EXPORTS = {"debugger": ["Debugger"]}

_log = logging.getLogger("tfnb")
# Longest sleep of the stopped thread between two checks for an interrupt, in seconds.
_NAP_S = 0.05


@dataclass(slots=True)
class _Goal:
    """The goal of a stepping command: ``kind`` is node, over, iteration or frame.

    ``has_left``: a live Exit of the frame has run, so that nodes outside may run after the loop.
    """

    kind: str
    depth: int = 0
    frame: FrameState | None = None
    iteration: int = 0
    has_left: bool = False

    def is_reached(self, executor: DebuggedExecutorState, tagged: type_of_tagged_node) -> bool:
        """Return whether the step has reached the goal, before a node runs."""
        if self.kind == "node":
            return True
        if executor.run_state.depth > self.depth:
            return False
        if self.kind == "over":
            return True
        frame = self.frame
        assert frame is not None
        here = tagged[1]
        if self.kind == "iteration" and here.frame is frame and here.number > self.iteration:
            return True
        has_ended = self.has_left or not frame.num_outstanding_iterations
        return has_ended and not _is_inside(here, frame)

    def note(self, tagged: type_of_tagged_node) -> None:
        """Record that a node has run."""
        item, iteration, is_dead = tagged
        if item.destination == INTO_PARENT and not is_dead and self.frame is not None:
            self.has_left |= _is_same(iteration.frame, self.frame)


def _is_inside(iteration: IterationState | None, frame: FrameState) -> bool:
    while iteration is not None:
        if _is_same(iteration.frame, frame):
            return True
        iteration = iteration.frame.parent_iteration
    return False


def _is_same(one: FrameState, other: FrameState) -> bool:
    """Return whether two frames are one run of a loop, perhaps on several devices."""
    return one is other or one.rendezvous_id == other.rendezvous_id


class Debugger:
    """A debugger that stops the steps of a session at breakpoints.

    Args:
      session: the session to debug; the default session if not given.
      events: in place of a session, the events of its runtime; for callers that have no session
        yet because it is being made.
      on_stop: is called with each :class:`Stop`, in the thread that runs the step; it may inspect
        and change values, and call a command to continue (:meth:`step`, :meth:`resume`, ...). If it
        calls none, the thread waits until another thread does.  If it raises, it is removed and the
        step continues.
      on_go: is called when a stopped step continues.
      stop_at_start: whether every step stops before its first node.
      only_watches: whether steps never stop, and tensors are only watched.  Steps then run as
        emitted functions if these can keep the values.

    Attributes:
      stop: the position of the stopped step; None if no step is stopped.
      breakpoints: all breakpoints, in the order they were set.
    """

    def __init__(
        self,
        session: BaseSession | None = None,
        *,
        events: StepEvents | None = None,
        on_stop: Callable[[Stop], None] | None = None,
        on_go: Callable[[], None] | None = None,
        stop_at_start: bool = False,
        only_watches: bool = False,
    ) -> None:
        self._events = _events_of(session) if events is None else events
        self._on_stop = on_stop
        self._on_go = on_go
        self._stop_at_start = stop_at_start
        self._only_watches = only_watches
        self.stop: Stop | None = None
        self.breakpoints: list[Breakpoint] = []
        self.watched: list[WatchedTensor] = []
        self._num_breakpoints = 0
        # The steps that stop, in the order in which they came; the first one is stopped.  A list is
        # no lock: no interrupt leaves it held.  An entry is notified when its step goes on.
        self._turns: list[Notification] = []
        self._has_stopped = WakeUp()  # a sleeper looks again after a nap: there may be several
        # How the stopped step continues; guarded by _lock, as ``stop`` is.
        self._command: _Goal | BaseException | str | None = None
        self._has_command = WakeUp()
        self._lock = threading.RLock()
        self._stop_soon = False
        self._goals: dict[int, _Goal] = {}  # by the thread that drives a step
        self._muted: set[int] = set()  # threads whose steps are not debugged
        # Partition -> the breakpoints it was checked for, and the places near them.
        self._known: WeakTable[ImmutableExecutorState, tuple[list[Any], Near | None]] = WeakTable()

    def __repr__(self) -> str:
        where = "no step stands" if self.stop is None else repr(self.stop)
        return f"<Debugger: {len(self.breakpoints)} breakpoints, {where}>"

    # -- life --------------------------------------------------------------------------------------

    def attach(self) -> Self:
        """Debug the session's steps from now on.

        Raises:
          RuntimeError: another debugger is attached to the session.
        """
        if self._events.debugger not in (None, self):
            raise RuntimeError("Another debugger is attached to this session; detach() it first.")
        self._events.set_debugger(self)
        return self

    def detach(self) -> None:
        """Let all steps run to their end without stopping; a second call does nothing."""
        if self._events.debugger is self:
            self._events.set_debugger(None)
        self._goals.clear()
        self._stop_soon = False
        with self._lock:
            if self.stop is not None:
                self._command = "resume"
                self._has_command.set()

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

    @property
    def has_a_reason(self) -> bool:
        """Whether a step may stop or its values are recorded; if not, it may be detached."""
        return bool(
            self.stop is not None
            or self._stop_soon
            or self._stop_at_start
            or self.watched
            or any(one.enabled for one in self.breakpoints)
            or (self._goals and any(map(self.drives, self.steps_in_flight())))
        )

    def steps_in_flight(self) -> list[RunState]:
        """Return the session's running steps, debugged or not; none if the session is gone."""
        try:
            runtime = self.session().runtime
        except RuntimeError:
            return []
        found: list[RunState] = getattr(runtime, "active_steps", list)()
        return found

    def drives(self, run_state: RunState) -> bool:
        """Return whether this debugger can stop a step: it began while the debugger was attached.

        The step runs node by node, or as an emitted function that is left at a breakpoint or a
        pause.
        """
        if self.is_attached and getattr(run_state, "may_be_left", False):
            return True
        return any(getattr(one, "debugger", None) is self for one in run_state.executors)

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
        """Set a breakpoint; a criterion that is not given matches every node.

        Args:
          node: an operation or tensor, its name, or a pattern with ``*`` and ``?``.
          op: an op type or pattern.
          frame: the name of a loop's frame, or a pattern.
          iteration: the iteration of that frame.
          condition: ``"nan"``, ``"inf"``, ``"dead"``, a comparison like ``"max > 3"``, or a
            function of the :class:`Stop`; then the step stops after the node where it holds.  A
            function may be called twice for a node where it holds.
          once: whether the breakpoint is removed after its first hit.

        Raises:
          ValueError: the condition's text is not a condition.
          TypeError: the condition is neither text nor a function.
        """
        found = Breakpoint(_node_name(node), op, frame, iteration, condition, once)
        self._num_breakpoints += 1
        found.number = self._num_breakpoints
        self.breakpoints = [*self.breakpoints, found]
        return found

    def clear(self, breakpoint_: Breakpoint | int | None = None) -> None:
        """Remove a breakpoint, given as object or number; all of them if none is given."""
        if breakpoint_ is None:
            self.breakpoints = []
            return
        kept = [one for one in self.breakpoints if breakpoint_ not in (one, one.number)]
        if len(kept) == len(self.breakpoints):
            raise ValueError(f"There is no breakpoint {breakpoint_}.")
        self.breakpoints = kept

    def watch(self, tensor: Any, *, keep: int = 10_000) -> WatchedTensor:
        """Record a tensor's values from now on: every iteration, even where it is not fetchable.

        Args:
          tensor: a tensor or its name.
          keep: how many values are kept; the oldest are dropped first.
        """
        name = getattr(tensor, "name", tensor)
        found = WatchedTensor(name if ":" in name else f"{name}:0", keep)
        self.watched = [*self.watched, found]
        return found

    # -- commands for the stopped step -------------------------------------------------------------

    def pause(self) -> None:
        """Stop a step before the next node that is about to run."""
        self._stop_soon = True
        for run_state in self.steps_in_flight():
            run_state.leave_function()

    def take_back_pause(self) -> None:
        """Cancel :meth:`pause`."""
        self._stop_soon = False

    def resume(self) -> None:
        """Continue until a breakpoint or the end of the step."""
        self._go("resume")

    def step(self) -> None:
        """Run one node."""
        self._go(_Goal("node"))

    def step_over(self) -> None:
        """Run one node; a function that it calls runs without stopping."""
        _, depth = self._position()
        self._go(_Goal("over", depth))

    def step_iteration(self) -> None:
        """Continue until the next iteration of this loop begins, or the loop has ended.

        Raises:
          RuntimeError: no step is stopped, or it is stopped outside of loops.
        """
        (_, iteration, _), depth = self._position("a loop")
        self._go(_Goal("iteration", depth, iteration.frame, iteration.number))

    def step_frame(self) -> None:
        """Continue until this loop has ended.

        Raises:
          RuntimeError: no step is stopped, or it is stopped outside of loops.
        """
        (_, iteration, _), depth = self._position("a loop")
        self._go(_Goal("frame", depth, iteration.frame))

    def run_to(self, node: Any, *, iteration: int | None = None) -> None:
        """Continue until a node, optionally in a given iteration."""
        self._position()
        self.break_at(node, iteration=iteration, once=True)
        self._go("resume")

    def cancel(self) -> None:
        """End the stopped step with a CancelledError; all running steps if none is stopped."""
        error = errors.cancelled("The step was cancelled in the debugger.")
        if self.stop is not None:
            self._go(error)
            return
        for run_state in self.session().runtime.active_steps():
            run_state.end(error)

    def run_next(self, node: str) -> None:
        """Move a ready node to the front of the queue, so that it runs next.

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
            with self._lock:
                self._command = "again"
                self._has_command.set()

    # -- inspecting and changing values ------------------------------------------------------------

    def value(self, tensor: Any) -> Any:
        """Return the value of a tensor that the step holds, or that its last node returned.

        If several iterations hold one, it is the value of the iteration where the step is stopped,
        else of the latest.

        Raises:
          KeyError: the step holds no value of the tensor now.
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
        """Replace a tensor's value in the stopped step; its consumers that have not run read it.

        Args:
          tensor: a tensor or its name.
          value: of the tensor's dtype, or a value that NumPy converts to it.
          frame: replace only in frames of that name.
          iteration: replace only in that iteration.

        Raises:
          InvalidArgumentError: the value has another type, or is a variable or a resource.
          KeyError: the step holds no value of the tensor.
        """
        name = _tensor_name(tensor)
        stop = self._standing()
        if not stop.inspector.replace(name, value, frame=frame, iteration=iteration):
            raise KeyError(f"no value of '{name}' lies in the step now")

    def evaluate(self, fetches: Any, feed_dict: Any = None) -> Any:
        """Run fetches in a separate step, which is not debugged, while another step is stopped."""
        thread = threading.get_ident()
        self._muted.add(thread)
        try:
            return self.session().run(fetches, feed_dict)
        finally:
            self._muted.discard(thread)

    def wait_for_stop(self, timeout_s: float | None = None) -> Stop | None:
        """Wait, in another thread, until a step is stopped; return None after the time-out."""
        until = None if timeout_s is None else monotonic() + timeout_s
        while (stop := self.stop) is None:
            left = _NAP_S if until is None else min(_NAP_S, until - monotonic())
            if left <= 0:
                break
            self._has_stopped.wait(left)
        return stop

    # -- calls from the runtime --------------------------------------------------------------------

    def wants(self, run_state: RunState) -> bool:
        """Return whether a step runs node by node; the runtime calls this when a step begins."""
        thread = threading.get_ident()
        if thread in self._muted:
            return False
        if run_state.depth == 0:
            self._goals.pop(thread, None)
            if self._stop_at_start:
                self._goals[thread] = _Goal("node")
        return True

    def lets_run(
        self, run_state: RunState, immutable: ImmutableExecutorState
    ) -> RunsThrough | None:
        """Return how a partition runs as an emitted function: until near a breakpoint or pause."""
        thread = threading.get_ident()
        if thread in self._muted:
            return RunsThrough()
        names = tuple(dict.fromkeys(one.name for one in self.watched))
        if self._only_watches:
            return RunsThrough(names)
        if run_state.depth == 0:
            self._goals.pop(thread, None)
        if self._stop_soon or self._stop_at_start or thread in self._goals:
            return None
        if any(immutable.find_id(name.rpartition(":")[0]) >= 0 for name in names):
            return None
        near = self._near(immutable)
        if near is None or (near and run_state.depth):
            return None
        if run_state.depth:
            return RunsThrough()
        return RunsThrough((), near)

    def near_now(self, immutable: ImmutableExecutorState) -> Near | None:
        """Return where a breakpoint may be hit first in the next step; None: check more."""
        if self._goals or self._stop_soon or self._muted or self._stop_at_start or self.watched:
            return None
        return self._near(immutable)

    def _near(self, immutable: ImmutableExecutorState) -> Near | None:
        """Return where a breakpoint may be hit first; None: right from the beginning."""
        enabled = [one for one in self.breakpoints if one.enabled]
        if not enabled:
            return NOT_NEAR
        asked = [(one.node, one.op, one.frame, one.iteration, one.condition) for one in enabled]
        known = self._known.get(immutable)
        if known is None or known[0] != asked:
            near = near_breakpoints(enabled, immutable)
            if near is not None and not near:
                near = NOT_NEAR
            known = self._known[immutable] = asked, near
        return known[1]

    @property
    def stops_soon(self) -> bool:
        """Whether :meth:`pause` has been called."""
        return self._stop_soon

    @property
    def most_kept(self) -> int:
        """The largest number of values kept for a watched tensor."""
        return max((one.keep for one in self.watched), default=1)

    def kept(self, run_state: RunState, journal: Journal) -> None:
        """Pass the values that an emitted function kept to the watched tensors."""
        for one in self.watched:
            one.note_journal(run_state.step_id, journal)

    def choose(self, executor: DebuggedExecutorState, ready: Any) -> Any:
        """Take out the node that runs next, and stop before it if there is a reason."""
        while self.is_attached:
            tagged = ready[0]
            reason = self._reason_before(executor, tagged)
            if not reason or self._hold(executor, tagged, "before", None, reason):
                break
        return ready.popleft()

    def ran(self, executor: DebuggedExecutorState, tagged: Any, outputs: Any) -> None:
        """Record watched tensors, and stop after a node if there is a reason."""
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

    def session(self) -> Any:
        """Return the session that is debugged.

        Raises:
          RuntimeError: the session is gone.
        """
        for session in live_sessions():
            if session.runtime.step_events is self._events:
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
        """Keep the step stopped until a command says how to continue.

        Returns:
          Whether the node runs; False if another node was put in front of it.
        """
        thread, run_state = threading.get_ident(), executor.run_state
        self._goals.pop(thread, None)
        stop: Stop | None = None
        turn = Notification()
        try:
            self._turns.append(turn)
            while (first := self._turns[0]) is not turn:
                first.wait(_NAP_S)
                if (error := run_state.error) is not None:
                    raise error
            stop = Stop(executor, tagged, phase, outputs)
            stop.reason = reason
            with self._lock:
                self._command = None
                self.stop = stop
            self._has_stopped.set()
            self._tell(stop)
            command = self._await_command(run_state)
            if isinstance(command, _Goal):
                self._goals[thread] = command
            elif command == "again":
                self._goals[thread] = _Goal("node")
        finally:
            try:
                with self._lock:
                    if stop is not None and self.stop is stop:
                        self.stop = self._command = None
                if stop is not None:
                    stop.forget()
            finally:  # an interrupt may come here, too
                self._turns.remove(turn)
            turn.notify()
            if stop is not None and self._on_go is not None:
                self._guarded(self._on_go)
        if isinstance(command, BaseException):
            raise command
        return bool(command != "again")

    def _tell(self, stop: Stop) -> None:
        on_stop = self._on_stop
        if on_stop is None:
            return
        try:
            on_stop(stop)
        except Exception:
            _log.exception("The function `on_stop` raised an error and was removed.")
            self._on_stop = None
            with self._lock:
                self._command = "resume"

    @staticmethod
    def _guarded(call: Callable[[], None]) -> None:
        try:
            call()
        except Exception:
            _log.exception("The function `on_go` raised an error.")

    def _await_command(self, run_state: RunState) -> Any:
        while (command := self._command) is None:
            if (error := run_state.error) is not None:
                raise error
            errors.require_threads(
                "A debugger whose stop is answered later",
                "Give `on_stop` a function that says how to go on.",
            )
            self._has_command.wait(_NAP_S)
        return command

    def _go(self, command: Any) -> None:
        with self._lock:
            if self.stop is None:
                raise RuntimeError("No step stands; set a breakpoint or pause() one that runs.")
            self._command = command
            self._has_command.set()

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
        assert stop.tagged is not None
        if wanted and not stop.loops:
            raise RuntimeError(f"The step stands outside of loops, at '{stop.node}'.")
        return stop.tagged, self._executor().run_state.depth


def _events_of(session: BaseSession | None) -> StepEvents:
    found: Any = get_default_session() if session is None else session
    if found is None:
        raise ValueError(
            "There is no default session to debug; pass one: Debugger(session), or call "
            "tf.InteractiveSession() first."
        )
    events: StepEvents = found.runtime.step_events
    return events


def _node_name(node: Any) -> str:
    """Return the name of the node of an operation, a tensor, or text."""
    name: str = getattr(node, "name", node)
    return name.rpartition(":")[0] if name.rpartition(":")[2].isdigit() else name


def _tensor_name(tensor: Any) -> str:
    name: str = getattr(tensor, "name", tensor)
    return name if ":" in name else f"{name}:0"
