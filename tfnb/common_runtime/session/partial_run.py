"""Steps that are fed and fetched piece by piece.

``setup`` starts the executors at once: each feed is a Recv that waits in the step's rendezvous,
each fetch a Send into it. ``run`` puts feeds there, runs the executors, and takes the fetches.  A
handle belongs to one caller at a time; several handles are independent.  Corresponds to PRunSetup
and PRun in TensorFlow's ``direct_session.cc``.
"""

from __future__ import annotations

import itertools
import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tfnb.common_runtime.executor.debugged_executor import make_executors
from tfnb.common_runtime.executor.executor import end_step, pump, wait_for_answer
from tfnb.common_runtime.executor.executors_and_keys import refuse_resource
from tfnb.common_runtime.executor.run_state import RunState, ToldOutputs
from tfnb.common_runtime.executor.waiting import explained
from tfnb.core import errors
from tfnb.core.process.log import log
from tfnb.core.process.numeric_reaction import IGNORE_ALL, NUMERIC_REACTION
from tfnb.core.process.records import field, record
from tfnb.core.process.shelter import ensure_imported
from tfnb.core.rendezvous import create_key
from tfnb.core.resource_mgr import RefCell
from tfnb.graph.graph import CONTROL_SLOT
from tfnb.graph.tensor_id import parse_tensor_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tfnb.common_runtime.device.device_mgr import DeviceMgr
    from tfnb.common_runtime.device.thread_pool import ThreadPool
    from tfnb.common_runtime.executor.executor import ExecutorState
    from tfnb.common_runtime.executor.executors_and_keys import Executors
    from tfnb.common_runtime.executor.loaded_effects import FedTexts
    from tfnb.core.op_kernel import StepContext
    from tfnb.core.step_events import StepEvents
    from tfnb.graph.graph import Graph
    from tfnb.proto import config_pb2

# Cache limit: checked combinations of feeds and fetches.
_MOST_ASKED = 1000


class PartialRunSession(Protocol):
    """A session that has partial runs.

    Attributes:
      is_closed: whether the session was told to close.
      step_events: the events of its steps.
      has_watched_nodes: whether the graph has nodes whose effects are checked.
    """

    is_closed: bool
    step_events: StepEvents
    has_watched_nodes: bool

    @property
    def config(self) -> config_pb2.ConfigProto:
        """How the session was configured."""

    @property
    def device_mgr(self) -> DeviceMgr:
        """The session's devices."""

    @property
    def graph(self) -> Graph | None:
        """The full graph of the session, or None."""

    @property
    def default_pool(self) -> ThreadPool | None:
        """The threads of steps that choose none, or None."""

    @property
    def fed_texts(self) -> FedTexts:
        """The texts that the session was fed."""

    def create_executors(
        self,
        feeds: tuple[str, ...],
        fetches: tuple[str, ...],
        targets: tuple[str, ...],
        *,
        is_partial_run: bool,
    ) -> Executors:
        """Make the executors of a signature."""

    def step_context(self, run_state: RunState) -> StepContext:
        """Return the context that the kernels of a step share."""


@record(slots=True)
class _PartialRun:
    """One handle: its step, and what was fed and fetched."""

    run_state: RunState
    executors: list[ExecutorState]
    signature: Executors
    fed: dict[str, bool]
    fetched: dict[str, bool]
    error: BaseException | None = None  # of a node that no call needs; raised by the next call
    lock: threading.Lock = field(default_factory=threading.Lock)


@record(frozen=True, slots=True)
class PartialRunState:
    """The progress of a partial run.

    Attributes:
      handle: its handle.
      feeds: name -> whether it was fed.
      fetches: name -> the feeds it still waits for; None if it was fetched.
      targets: operations that run without a fetch.
    """

    handle: str
    feeds: dict[str, bool]
    fetches: dict[str, tuple[str, ...] | None]
    targets: tuple[str, ...]

    def __str__(self) -> str:
        num_fed, num_fetched = sum(self.feeds.values()), list(self.fetches.values()).count(None)
        lines = [
            f"{num_fed} of {len(self.feeds)} feeds given, "
            f"{num_fetched} of {len(self.fetches)} fetches taken"
        ]
        lines += [
            f"  {name}: {'fed' if fed else 'not fed yet'}" for name, fed in self.feeds.items()
        ]
        lines += [f"  {name}: {state_text(missing)}" for name, missing in self.fetches.items()]
        return "\n".join(lines)


def state_text(missing: tuple[str, ...] | None) -> str:
    """Describe a fetch by the feeds it waits for; None means that it was fetched."""
    if missing is None:
        return "taken"
    return f"waits for {', '.join(missing)}" if missing else "ready"


class PartialRuns:
    """The partial runs of one session; thread safe."""

    def __init__(self, session: PartialRunSession) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._runs: dict[str, _PartialRun] = {}  # guarded by self._lock
        self._signatures: dict[Any, Executors] = {}  # guarded by self._lock
        # (fed before, fed now, fetched) of a signature, if computable; nodes that ran never
        # change.
        self._computable: set[Any] = set()
        self._host = session.device_mgr.host.name
        self._numbers = itertools.count(0)

    def setup(self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]) -> str:
        """Start a step; return its handle.

        Raises:
          InvalidArgumentError: nothing to fetch or run, or the signature does not fit the graph.
            Errors of running nodes are raised by the next call.
        """
        session = self._session
        key = (tuple(feeds), tuple(fetches), tuple(targets))
        executors = self._signatures.get(key)
        if executors is None:
            executors = session.create_executors(*key, is_partial_run=True)
            with self._lock:
                executors = self._signatures.setdefault(key, executors)
        hooks = session.step_events.hooks
        pool = session.default_pool or executors.python_pool
        if hooks.debugger is not None:
            # One thread runs the nodes one by one; Python functions that may wait for each other
            # get a pool.
            pool = executors.python_pool
        run_state = RunState(None, hooks, pool=pool)
        if hooks.tensors_made is not None:
            run_state.record_outputs = ToldOutputs(hooks.tensors_made, run_state.step_id, None)
        step = session.step_context(run_state)
        chosen = executors.states if pool is None else executors.pool_choice.choose()
        states = make_executors(chosen, run_state, step)
        run_state.executors = states
        handle = f"{';'.join(feeds)}->{';'.join(fetches)}/{';'.join(targets)}/{next(self._numbers)}"
        executors.last_step_id = run_state.step_id
        if hooks.step_started is not None:
            hooks.step_started(run_state.step_id, executors.signature_id, time.perf_counter_ns())
        if hooks.inside is not None:
            run_state.items = executors.items
        run = _PartialRun(
            run_state, states, executors, dict.fromkeys(feeds, False), dict.fromkeys(fetches, False)
        )

        def begin() -> None:
            with self._lock:
                self._runs[handle] = run
            if session.is_closed:  # closed before `close` could find this step
                raise errors.cancelled("Session has been closed.")
            try:
                pump(run_state, states)
            except errors.OpError as error:  # of a node without feeds: raised by the first call
                end_step(run_state, error)
                run.error = error

        with run.lock:
            self._guarded(handle, run, begin)
        return handle

    def forget_signatures(self) -> None:
        """Make later steps look up their executors again; steps in flight continue."""
        with self._lock:
            self._signatures.clear()
            self._computable.clear()

    def run(self, handle: str, feeds: Mapping[str, Any], fetches: Sequence[str]) -> list[Any]:
        """Feed and fetch a part.

        Raises:
          InvalidArgumentError: the handle is not (or no longer) known, a feed or fetch was not
            declared or was used before, a fetch needs a feed that is missing; the handle stays
            usable then.
          DeadlineExceededError: a fetch took longer than ``operation_timeout_in_ms``.
          OpError: the step failed; the handle ends. A failure that comes after everything this
            call fetches is only logged, and ends the next call.
        """
        run = self._runs.get(handle)
        if run is None:
            raise errors.invalid_argument("Must run 'setup' before performing partial runs!")
        with run.lock:
            if run.error is not None:
                self._end(handle, run, run.error)
                raise run.error
            check_unused(feeds, run.fed, "feed", "fed")
            check_unused(fetches, run.fetched, "fetch", "fetched")
            fed = tuple(run.fed.values())
            asked = run.signature.signature_id, fed, tuple(feeds), tuple(fetches)
            if asked not in self._computable:
                self._check_computable(run, set(feeds), fetches)
                if len(self._computable) < _MOST_ASKED:
                    self._computable.add(asked)
            results: list[Any] = self._guarded(
                handle, run, lambda: self._go_on(run, feeds, fetches)
            )
            if all(run.fed.values()) and all(run.fetched.values()):
                if run.error is None:
                    self._guarded(handle, run, lambda: self._finish(run))
                self._end(handle, run, run.error)
            return results

    def _go_on(
        self, run: _PartialRun, feeds: Mapping[str, Any], fetches: Sequence[str]
    ) -> list[Any]:
        run_state, rendezvous = run.run_state, run.run_state.rendezvous
        for name, value in feeds.items():
            refuse_resource(name, value)
        if self._session.has_watched_nodes:
            self._session.fed_texts.note(feeds.values(), run_state.step_id)
        for name, value in feeds.items():
            rendezvous.send(self._key(name), value)
            run.fed[name] = True
        arrived: dict[str, tuple[Any, bool]] = {}
        errors_seen: list[BaseException] = []
        for name in fetches:

            def taken(
                error: BaseException | None, value: Any, is_dead: bool, name: str = name
            ) -> None:
                if error is not None:
                    errors_seen.append(error)
                arrived[name] = (value, is_dead)

            rendezvous.recv_async(self._key(name), taken)
            run.fetched[name] = True
        timeout_ms = self._session.config.operation_timeout_in_ms
        deadline = time.monotonic() + timeout_ms / 1000 if timeout_ms > 0 else None
        try:
            pump(run_state, run.executors)
        except errors.OpError as error:
            if not fetches or len(arrived) < len(fetches) or errors_seen:
                raise
            log.warning("An error unrelated to this partial run has been detected: %s", error)
            end_step(run_state, error)
            run.error = error
        while len(arrived) < len(fetches):
            if not run_state.inbox and run_state.num_waiting <= _num_missing(run):
                raise _nothing_left(run, next(name for name in fetches if name not in arrived))
            wait_for_answer(run_state, deadline)
            pump(run_state, run.executors)
        if errors_seen:
            raise errors_seen[0]
        return [_owned(name, *arrived[name]) for name in fetches]

    def _finish(self, run: _PartialRun) -> None:
        pump(run.run_state, run.executors)
        while run.run_state.num_waiting:
            wait_for_answer(run.run_state)
            pump(run.run_state, run.executors)
        if run.run_state.record_outputs is None:
            for executor in run.executors:
                executor.immutable.warm_up.is_checked = True

    def _guarded(self, handle: str, run: _PartialRun, work: Any) -> Any:
        """Call ``work``; end the handle if it fails."""
        try:
            run.run_state.is_still = False
            reaction = NUMERIC_REACTION.get()
            try:
                NUMERIC_REACTION.set(IGNORE_ALL)
                found = work()
            finally:
                NUMERIC_REACTION.set(reaction)
            # No thread drives the step between two calls: kernels that wait now wait until the next
            # call.
            run.run_state.is_still = bool(run.run_state.num_waiting)
            return found
        except BaseException as error:
            if isinstance(error, errors.ResourceExhaustedError):
                ensure_imported("tfnb.common_runtime.looking.step_stats_collector")
                from tfnb.common_runtime.looking.step_stats_collector import add_allocations

                add_allocations(error, None)
            found = error
            try:
                found = explained(run.run_state, error)
            finally:
                end_step(run.run_state, found)
                self._end(handle, run, found)
            if found is not error:
                raise found from error.__cause__
            raise

    def _end(self, handle: str, run: _PartialRun, error: BaseException | None) -> None:
        with self._lock:
            self._runs.pop(handle, None)
        hooks = run.run_state.hooks
        if hooks.step_done is not None:
            hooks.step_done(
                run.run_state.step_id,
                time.perf_counter_ns(),
                None if error is None else f"{type(error).__name__}: {error}",
            )
        run.run_state.close()

    def states(self) -> list[PartialRunState]:
        """Return the progress of each partial run, in the order of their start."""
        with self._lock:
            runs = list(self._runs.items())
        found = []
        for handle, run in runs:
            open_fetches = [name for name, is_fetched in run.fetched.items() if not is_fetched]
            missing: dict[str, dict[str, None]] = {name: {} for name in open_fetches}
            for fetch, feed in self._missing_feeds(run, set(), open_fetches):
                missing[fetch][feed] = None
            fetches = {
                name: None if is_fetched else tuple(missing[name])
                for name, is_fetched in run.fetched.items()
            }
            found.append(PartialRunState(handle, dict(run.fed), fetches, run.signature.targets))
        return found

    def _check_computable(self, run: _PartialRun, feeds: set[str], fetches: Iterable[str]) -> None:
        """Reject a fetch that needs a declared feed which is still missing."""
        for _, feed in self._missing_feeds(run, feeds, fetches):
            # As in TensorFlow, the message names the feed.
            raise errors.invalid_argument(
                f"Fetch {feed} can't be computed from the feeds that have been fed so far."
            )

    def _missing_feeds(
        self, run: _PartialRun, feeds: set[str], fetches: Iterable[str]
    ) -> Iterator[tuple[str, str]]:
        """Yield pairs of a fetch and a declared feed that it needs and that is still missing.

        As in TensorFlow, they include a feed that only a fed tensor depends on.

        Args:
          run: the run.
          feeds: the feeds of this call.
          fetches: the fetches to check.
        """
        graph = self._session.graph
        assert graph is not None
        fed, missing = set(), {}
        for name, is_fed in run.fed.items():
            tensor = parse_tensor_name(name)
            node = graph.find_node(tensor[0])
            tensors = [tensor]
            if node is not None and node.kind.is_placeholder:
                # The feed replaces the whole placeholder, including its outgoing control edges.
                tensors.append((tensor[0], CONTROL_SLOT))
            if is_fed or name in feeds:
                fed.update(tensors)
            else:
                missing.update(dict.fromkeys(tensors, name))
        for fetch in fetches:
            stack, seen = [(parse_tensor_name(fetch), False)], set()
            while stack:
                tensor, is_behind_feed = stack.pop()
                if tensor in missing and not (is_behind_feed and tensor[1] == CONTROL_SLOT):
                    yield fetch, missing[tensor]
                    continue
                is_behind_feed = is_behind_feed or tensor in fed
                node = graph.find_node(tensor[0])
                if node is None or (node.name, is_behind_feed) in seen:
                    continue
                seen.add((node.name, is_behind_feed))
                stack += [
                    ((edge.src.name, edge.src_output), is_behind_feed)
                    for edge in node.in_edges
                    if edge.src.is_op
                ]

    def _key(self, name: str) -> str:
        return create_key(self._host, 1, self._host, name, 0, 0)

    def run_states(self) -> list[RunState]:
        """Return the steps that were begun and not ended."""
        with self._lock:
            return [run.run_state for run in self._runs.values()]

    def close(self, error: BaseException) -> None:
        """End every handle."""
        with self._lock:
            runs, self._runs = list(self._runs.values()), {}
        for run in runs:
            run.run_state.abort(error)
            run.run_state.wake.set()


def _nothing_left(run: _PartialRun, fetch: str) -> errors.OpError:
    """Return the error for a fetch that cannot be computed.

    TensorFlow waits until the time is up.  Here no other call can feed while this one waits.
    """
    text = f"Nothing is left that could compute the fetch {fetch} of this partial run."
    missing = [name for name, is_fed in run.fed.items() if not is_fed]
    if not missing:
        return errors.internal(text)
    return errors.invalid_argument(
        f"{text} Not fed yet: {', '.join(missing)}. Feed these in the same call or before: a "
        "while_loop that lacks the value of one variable goes on with the others only for "
        "parallel_iterations."
    )


def _num_missing(run: _PartialRun) -> int:
    return sum(not is_fed for is_fed in run.fed.values())


def check_unused(names: Iterable[str], used: Mapping[str, bool], what: str, done: str) -> None:
    """Refuse names that were not declared, or that were used before.

    Raises:
      InvalidArgumentError: there is such a name.
    """
    for name in names:
        if name not in used:
            raise errors.invalid_argument(
                f"The {what} {name} was not specified in partial_run_setup."
            )
        if used[name]:
            raise errors.invalid_argument(f"The {what} {name} has already been {done}.")


def _owned(name: str, value: Any, is_dead: bool) -> Any:
    if is_dead:
        raise errors.invalid_argument(f"The tensor returned for {name} was not valid.")
    if isinstance(value, RefCell):
        value = value.read()
    return value.copy() if isinstance(value, np.ndarray) else value
