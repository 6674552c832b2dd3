"""The state of one running step: its error, its inbox, its cancellation.

``RunState`` belongs to one step.  The thread that called ``run`` drives all partitions of the step
in turn; other threads (a queue that got an element, a pool, a timer, ``close``) never touch a
partition.
They leave a message in ``inbox`` and set ``wake``, or set ``stop``.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from tfnb.common_runtime.executor.running_nodes import holds_step
from tfnb.core.process.later import later
from tfnb.core.process.threads import ERRANDS
from tfnb.core.process.wake_up import WakeUp
from tfnb.core.resource_mgr import ResourceMgr
from tfnb.core.step_events import IDLE_HOOKS, NOT_NEAR

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.common_runtime.device.thread_pool import ThreadPool
    from tfnb.common_runtime.executor.immutable_executor_state import (
        ExecutorItem,
        ImmutableExecutorState,
    )
    from tfnb.common_runtime.executor.propagator_state import PropagatorState, type_of_tagged_node
    from tfnb.core.cancellation import CancellationManager
    from tfnb.core.op_kernel import OpKernelContext, StepContext
    from tfnb.core.rendezvous import Rendezvous
    from tfnb.core.step_events import StepHooks

# Few steps need them.
_cancellation = later("tfnb.core.cancellation", in_step=True)
_rendezvous = later("tfnb.core.rendezvous", in_step=True)

# Step ids are unique in the process, so that per-step resources of two sessions never mix.
step_ids = itertools.count(1)
# The wake-up event of steps in which nothing can wait.
_NEVER = WakeUp()
# The inbox of steps in which nothing can wait; it is immutable.
_NO_INBOX: Any = ()
# The pending kernels of steps in which nothing can wait.
_NONE_WAITING: Any = MappingProxyType({})
# The nested calls of a step that has none yet.
_NO_CHILDREN: Any = frozenset()
# How long the thread of a held step sleeps between checks, in seconds.
_NAP_S = 0.02
# Guards changes of any step's ``stop``, which are rare; the driving thread reads it unlocked.
# Reentrant: while it is held, an unreferenced session may be finalized, which ends its steps.
_stop_lock = threading.RLock()


class Leave(BaseException):
    """Leaves an emitted function; the step continues node by node."""


class Held(BaseException):
    """Stored in place of an error: the step is held between two nodes until it is released."""


class HasErrands(BaseException):
    """Stored in place of an error: the driving thread of the step does errands."""


_HELD = Held()
_HAS_ERRANDS = HasErrands()


def new_step_id() -> int:
    """Return an id that no other step or call has."""
    return next(step_ids)


class CallFrame:
    """The arguments and results of one step or function call."""

    __slots__ = ("args", "retvals")

    def __init__(self, args: Any, num_retvals: int) -> None:
        self.args = args
        self.retvals: list[Any] = [None] * num_retvals


def has_absent(results: Sequence[Any]) -> bool:
    """Return whether a step or call ended without a value for one of its results."""
    for value in results:  # noqa: SIM110 - costs half of any()
        if value is None:
            return True
    return False


class ToldOutputs:
    """Reports the outputs of one step's nodes to observers; ``then`` is a second recorder."""

    __slots__ = ("_hook", "_step_id", "then")

    def __init__(
        self,
        hook: Callable[[int, int, int, Any], None],
        step_id: int,
        then: Callable[[int, Any, Any], None] | None,
    ) -> None:
        self._hook = hook
        self._step_id = step_id
        self.then = then

    @property
    def only_hook(self) -> Any:
        """The hook, if there is no second recorder."""
        return self._hook if self.then is None else None

    def __call__(self, partition: int, item: Any, outputs: Any) -> None:
        """Report outputs; called just before ``node_done``."""
        if self.then is not None:
            self.then(partition, item, outputs)
        self._hook(self._step_id, partition, item.id, outputs)


class Named(Protocol):
    """A function with its name."""

    @property
    def name(self) -> str:
        """The name of the function."""


class JoinedCall(Protocol):
    """A function call that has joined its caller's step."""

    @property
    def function(self) -> Named:
        """The called function."""

    @property
    def caller(self) -> RunState:
        """The state of the step or call that made it."""

    @property
    def ctx(self) -> OpKernelContext:
        """The context of the calling node."""

    def go_on(self, executor: Any) -> None:
        """Run the nodes of one of its executors that are ready."""

    def finish_async(self, executor: Any, tagged: Any, outputs: Any) -> None:
        """Continue after an asynchronous kernel of the body has answered."""


class HandedOverKernel(Protocol):
    """A kernel that was handed to a thread pool."""

    @property
    def pool_name(self) -> str:
        """The name of the pool."""

    @property
    def is_taken(self) -> bool:
        """Whether a thread has begun it, or the step has taken it back."""

    def take(self) -> bool:
        """Claim it; returns True to one caller only."""


class PartitionInStep(Protocol):
    """One partition during one step, as observers read it: an executor."""

    @property
    def immutable(self) -> ImmutableExecutorState:
        """The tables of the partition."""

    @property
    def run_state(self) -> RunState:
        """The step."""

    @property
    def step(self) -> StepContext:
        """The context that its kernels share."""

    @property
    def partition(self) -> int:
        """Its number among the partitions of the signature."""

    @property
    def ready(self) -> deque[type_of_tagged_node]:
        """The nodes whose inputs are all present."""

    @property
    def propagator(self) -> PropagatorState:
        """Its frames and iterations."""

    def measured(self, tagged: type_of_tagged_node, args: Sequence[Any]) -> Sequence[Any]:
        """Run a kernel and measure its time."""


class RunState:
    """The changing state of one step.

    Attributes:
      stop: the error that the step is to end with, set by any thread that ends it, or the mark that
        it is held or has errands to do; read between nodes.
      inbox: (executor, tagged node, outputs or exception) from asynchronous kernels and from the
        threads of the pool, and (executor, None, None) for an executor whose nodes are to run on; a
        joined call shares its caller's.
      is_still: the driving thread sleeps until a kernel answers; nothing is ready.
      waiting: the kernels that have not answered, by id: (executor, tagged node, inputs, the work
        of a pool's thread or None); a joined call shares its caller's.
      executors: the partitions while the step runs; read by progress queries.
      pool: the threads that expensive kernels of this step run on; None: the driving thread.
      items: the partitions that run, for observers of calls; empty without observers.
      call: the pending call of this function call, if it joined its caller's step.
      children: the nested calls that have not ended.
      counts: executions of its nodes, if an emitted function left them.
      left: the partitions, once the emitted function was left and they run node by node.
      near: where a debugger may want an emitted function to be left.
      may_be_left: an emitted function that can be left is running; ``emitted`` is that function.
      timeout_ms: ends the step after that time if positive; ``deadline`` is then its ``Deadline``.
      collector: has the allocations of the step, if it is traced.
      journal: where the running emitted function records what it does, if it does;
        ``kept_journal`` is the journal that also holds the values of tensors.
    """

    # Most steps never touch these defaults, so that making a step sets only four attributes.
    inbox: deque[tuple[Any, Any, Any]] = _NO_INBOX
    wake: WakeUp = _NEVER
    is_still = False
    waiting: dict[int, tuple[Any, Any, Any, HandedOverKernel | None]] = _NONE_WAITING
    pool: ThreadPool | None = None
    _cancellation_manager: CancellationManager | None = None
    _is_aborted = False
    _rendezvous: Rendezvous | None = None
    _step_container: ResourceMgr | None = None
    children: set[RunState] = _NO_CHILDREN
    call: JoinedCall | None = None
    items: Sequence[ExecutorItem] = ()
    record_outputs: Callable[[int, Any, Any], None] | None = None
    depth = 0
    executors: Sequence[Any] = ()
    counts: Any = None
    journal: Any = None
    kept_journal: Any = None
    left: Sequence[Any] = ()
    near = NOT_NEAR
    may_be_left = False
    emitted: Any = None
    timeout_ms = 0
    deadline: Any = None
    collector: Any = None
    _at_rest: BaseException | None = None  # the value of ``stop`` while the step may run on
    _leaves_when_let_go = False

    def __init__(
        self,
        call_frame: CallFrame | None,
        hooks: StepHooks,
        needs_wake: bool = True,
        *,
        rendezvous: Rendezvous | None = None,
        pool: ThreadPool | None = None,
    ) -> None:
        self.step_id = next(step_ids)
        self.call_frame = call_frame
        self.hooks = hooks
        self.stop: BaseException | None = None
        if needs_wake:
            self.inbox, self.wake, self.waiting = deque(), WakeUp(), {}
        if rendezvous is not None:
            self._rendezvous = rendezvous
        if pool is not None:
            self.pool = pool

    @property
    def num_waiting(self) -> int:
        """Number of asynchronous kernels that have not answered; for the driving thread only."""
        return len(self.waiting)

    @property
    def is_clear(self) -> bool:
        """Whether the step has no resources and no deadline to release when it ends."""
        return self._step_container is None and self.deadline is None

    @property
    def cancellation_manager(self) -> CancellationManager:
        """The manager at which waiting kernels of the step register; made on first use."""
        manager = self._cancellation_manager
        if manager is None:
            with _stop_lock:
                manager = self._cancellation_manager
                if manager is None:
                    manager = self._cancellation_manager = _cancellation.CancellationManager()
            # A kernel that began on another thread may ask for it when the step is over already.
            if self._is_aborted:
                manager.start_cancel()
        return manager

    @property
    def rendezvous(self) -> Rendezvous:
        """The rendezvous of this step's Send and Recv."""
        if self._rendezvous is None:
            self._rendezvous = _rendezvous.Rendezvous()
        return self._rendezvous

    @property
    def step_container(self) -> ResourceMgr:
        """The resources that end with this step."""
        if self._step_container is None:
            self._step_container = ResourceMgr()
        return self._step_container

    def end(self, error: BaseException) -> None:
        """Ask the step to end with ``error``; the first caller wins. Any thread may call this."""
        self._set_stop(error)
        self.wake.set()
        for child in list(self.children):
            child.end(error)

    def _set_stop(self, error: BaseException) -> None:
        with _stop_lock:
            if self._is_at_rest or self.stop is _HELD or isinstance(self.stop, Leave):
                self.stop = error

    def leave_function(self) -> None:
        """Ask an emitted function that can be left to leave, so that a debugger can stop it."""
        with _stop_lock:
            if self.may_be_left and self._is_at_rest:
                self.stop = Leave()
            elif self.may_be_left and self.stop is _HELD:
                self._leaves_when_let_go = True

    def was_left(self) -> None:
        """Withdraw the request to leave the function, because it was left or has ended."""
        with _stop_lock:
            self.may_be_left = self._leaves_when_let_go = False
            if isinstance(self.stop, Leave):
                self.stop = self._at_rest

    def do_errands(self) -> None:
        """Make the driving thread do the errands of the process between nodes."""
        with _stop_lock:
            if self._is_at_rest:
                self.stop = _HAS_ERRANDS
            self._at_rest = _HAS_ERRANDS

    @property
    def _is_at_rest(self) -> bool:
        return self.stop is self._at_rest

    def hold(self) -> None:
        """Ask the step to stand still between two nodes until :meth:`let_go`, or until it ends."""
        with _stop_lock:
            if self._is_at_rest:
                self.stop = _HELD
        for child in list(self.children):
            child.hold()

    def let_go(self) -> None:
        """Release the step if it is held; otherwise do nothing."""
        with _stop_lock:
            if self.stop is _HELD:
                self.stop = Leave() if self._leaves_when_let_go else self._at_rest
        for child in list(self.children):
            child.let_go()

    @property
    def is_held(self) -> bool:
        """Whether the step is asked to stand still."""
        return self.stop is _HELD

    @property
    def error(self) -> BaseException | None:
        """The error that the step was asked to end with."""
        stop = self.stop
        return None if stop is _HELD or stop is _HAS_ERRANDS else stop

    def must_end(self) -> bool:
        """Return whether the step is to end; for callbacks of libraries, which cannot raise."""
        if self.stop is _HAS_ERRANDS:
            ERRANDS.do()
        return self.error is not None

    @holds_step(run_state="self")
    def heed_stop(self) -> None:
        """Do errands, and wait while the step is held; called by its driving thread between nodes.

        Raises:
          BaseException: the error that the step is to end with.
        """
        if self.stop is _HAS_ERRANDS:
            ERRANDS.do()
        while (stop := self.stop) is not self._at_rest and stop is not None:
            if stop is not _HELD:
                raise stop
            time.sleep(_NAP_S)

    def abort(self, error: BaseException) -> None:
        """Notify everything that waits inside the step that it is over.

        Waiting kernels are notified first and may raise an error of their own; running ones end
        with ``error``.
        """
        self._is_aborted = True
        try:
            if self._rendezvous is not None:
                self._rendezvous.start_abort(error)
            if self._cancellation_manager is not None:
                self._cancellation_manager.start_cancel()
        finally:
            self._set_stop(error)
        for child in list(self.children):
            child.abort(error)
            child.wake.set()

    def nested(
        self,
        call_frame: CallFrame,
        call: JoinedCall | None = None,
        rendezvous: Rendezvous | None = None,
    ) -> RunState:
        """Return the state of a function call inside this step: own frame, shared resources.

        It ends when the step is asked to end.  Leave it with :meth:`leave`.

        Args:
          call_frame: the call's arguments.
          call: makes the call join this step: its kernels answer into the step's inbox.  Without it
            the caller drives the call to its end at once.
          rendezvous: the rendezvous of the call; by default one of its own.
        """
        hooks = self.hooks.inside
        child = RunState(
            call_frame,
            IDLE_HOOKS if hooks is None else hooks,
            rendezvous=rendezvous,
            needs_wake=call is None,
            pool=self.pool,
        )
        if hooks is not None:
            record = self.record_outputs
            child.record_outputs = record.then if isinstance(record, ToldOutputs) else record
        child.step_id = self.step_id
        child.depth = self.depth + 1
        child._step_container = self.step_container
        if call is not None:
            child.call = call
            child.inbox, child.wake, child.waiting = self.inbox, self.wake, {}
        if self.children is _NO_CHILDREN:
            self.children = set()
        self.children.add(child)
        if self._at_rest is not None:
            child.do_errands()
        if self.is_held:
            child.hold()
        elif (error := self.error) is not None:
            child.end(error)
        return child

    def leave(self, child: RunState) -> None:
        """Remove a nested call that is over."""
        self.children.discard(child)

    def with_joined_calls(self) -> list[RunState]:
        """Return this state and those of all joined calls, nested ones included."""
        found = [self]
        for state in found:
            found += [child for child in list(state.children) if child.call is not None]
        return found

    @property
    def stands_still(self) -> bool:
        """Whether the driving thread sleeps until a kernel answers."""
        return self.is_still if self.call is None else self.call.caller.stands_still

    def close(self) -> None:
        """Free the step's resources."""
        self.executors = ()
        if self._step_container is not None:
            self._step_container.clear()
