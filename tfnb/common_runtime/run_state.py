"""One step while it runs: its error, its inbox, its way out.

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
from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.running_nodes import holds_step
from tfnb.core.cancellation import CancellationManager
from tfnb.core.rendezvous import Rendezvous
from tfnb.core.resource_mgr import ResourceMgr
from tfnb.core.step_events import IDLE_HOOKS
from tfnb.core.wake_up import WakeUp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.common_runtime.executors_and_keys import ExecutorItem
    from tfnb.common_runtime.function_call import PendingCall
    from tfnb.common_runtime.kernel_stats import PooledKernel
    from tfnb.common_runtime.thread_pool import ThreadPool
    from tfnb.core.step_events import StepHooks

# Step ids are unique in the process, so that per-step resources of two sessions never meet.
step_ids = itertools.count(1)
# The wake-up call of steps in which nothing can wait.
_NEVER = WakeUp()
# What such a step has in place of an inbox: nothing can be put in.
_NO_INBOX: Any = ()
# Who is waited for in such a step.
_NOBODY_WAITS: Any = MappingProxyType({})
# The calls inside a step before there is one.
_NO_CHILDREN: Any = frozenset()
# How long the thread of a step that is held sleeps before it looks again, in seconds.
_NAP_S = 0.02
# Guards changes of any step's ``stop``, which are rare; who drives a step reads it without.
# Inside of it a forgotten session may die, and end its steps.
_stop_lock = threading.RLock()


class Held(BaseException):
    """In the place of an error: the step stands between two nodes until it is let go."""


_HELD = Held()


def new_step_id() -> int:
    """An id that no other step or call has."""
    return next(step_ids)


class CallFrame:
    """The arguments and results of one step or function call."""

    __slots__ = ("args", "retvals")

    def __init__(self, args: Any, num_retvals: int) -> None:
        self.args = args
        self.retvals: list[Any] = [None] * num_retvals


class ToldOutputs:
    """Tells observers what the nodes of one step give; ``then`` is who else records it."""

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

    def __call__(self, partition: int, item: Any, outputs: Any) -> None:
        """Called just before ``node_done``."""
        if self.then is not None:
            self.then(partition, item, outputs)
        self._hook(self._step_id, partition, item.id, outputs)


class RunState:
    """The changing state of one step.

    Attributes:
      stop: the error that the step is to end with, set by whoever wants it to end, or that it is
        held; read between nodes.
      inbox: (executor, tagged node, outputs or exception) from asynchronous kernels and from the
        threads of the pool, and (executor, None, None) for one whose nodes are to run on; a call
        that joined shares its caller's.
      is_still: the driving thread sleeps until somebody answers; nothing is ready.
      waiting: who has not answered, by id: (executor, tagged node, inputs, the work of a pool's
        thread or None); likewise.
      executors: the partitions while the step runs; for whoever asks how far it is.
      pool: the threads that expensive kernels of this step run on; None: the driving thread.
      items: the partitions that run, for those who watch calls; empty where nobody does.
      call: the function call that this is, if the caller's thread drives it along with the caller.
      children: the calls inside that have not ended.
      counts: how often its nodes ran, where an emitted function left that behind.
    """

    # Most steps never touch these, so that a step is made of four attributes.
    inbox: deque[tuple[Any, Any, Any]] = _NO_INBOX
    wake: WakeUp = _NEVER
    is_still = False
    waiting: dict[int, tuple[Any, Any, Any, PooledKernel | None]] = _NOBODY_WAITS
    pool: ThreadPool | None = None
    _cancellation_manager: CancellationManager | None = None
    _rendezvous: Rendezvous | None = None
    _step_container: ResourceMgr | None = None
    children: set[RunState] = _NO_CHILDREN
    call: PendingCall | None = None
    items: Sequence[ExecutorItem] = ()
    record_outputs: Callable[[int, Any, Any], None] | None = None
    depth = 0
    executors: Sequence[Any] = ()
    counts: Any = None

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
        """How many kernels elsewhere have not answered; the driving thread's business."""
        return len(self.waiting)

    @property
    def has_resources(self) -> bool:
        """Whether something of the step is left to free."""
        return self._step_container is not None

    @property
    def cancellation_manager(self) -> CancellationManager:
        """Where whoever waits inside the step registers; made when somebody does."""
        if self._cancellation_manager is None:
            self._cancellation_manager = CancellationManager()
        return self._cancellation_manager

    @property
    def rendezvous(self) -> Rendezvous:
        """Where this step's tensors meet."""
        if self._rendezvous is None:
            self._rendezvous = Rendezvous()
        return self._rendezvous

    @property
    def step_container(self) -> ResourceMgr:
        """Resources that end with this step."""
        if self._step_container is None:
            self._step_container = ResourceMgr()
        return self._step_container

    def end(self, error: BaseException) -> None:
        """Asks the step to end with ``error``; the first to ask wins. Any thread may call this."""
        self._set_stop(error)
        self.wake.set()
        for child in list(self.children):
            child.end(error)

    def _set_stop(self, error: BaseException) -> None:
        with _stop_lock:
            if self.stop is None or self.stop is _HELD:
                self.stop = error

    def hold(self) -> None:
        """Asks the step to stand still between two nodes until :meth:`let_go`, or until it ends."""
        with _stop_lock:
            if self.stop is None:
                self.stop = _HELD
        for child in list(self.children):
            child.hold()

    def let_go(self) -> None:
        """Has a step that is held go on; of others nothing changes."""
        with _stop_lock:
            if self.stop is _HELD:
                self.stop = None
        for child in list(self.children):
            child.let_go()

    @property
    def is_held(self) -> bool:
        """Whether the step is asked to stand still."""
        return self.stop is _HELD

    @property
    def error(self) -> BaseException | None:
        """What the step was asked to end with."""
        return None if self.stop is _HELD else self.stop

    @holds_step(run_state="self")
    def heed_stop(self) -> None:
        """For who drives the step, between two nodes: waits while it is held.

        Raises:
          BaseException: what the step is to end with.
        """
        while (stop := self.stop) is not None:
            if stop is not _HELD:
                raise stop
            time.sleep(_NAP_S)

    def abort(self, error: BaseException) -> None:
        """Lets everybody who waits inside the step know that it is over.

        Those who wait hear of it first and may say so in words of their own; what runs without
        waiting ends with ``error``.
        """
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
        call: PendingCall | None = None,
        rendezvous: Rendezvous | None = None,
    ) -> RunState:
        """A function call inside this step: its own frame and rendezvous, the step's resources.

        It ends when the step is asked to end.  Leave it with :meth:`leave`.

        Args:
          call_frame: the call's arguments.
          call: makes the call join this step: its kernels answer into the step's inbox.  Otherwise
            whoever calls drives it to its end at once.
          rendezvous: where its tensors meet, if not in one of its own.
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
        if self.is_held:
            child.hold()
        elif self.stop is not None:
            child.end(self.stop)
        return child

    def leave(self, child: RunState) -> None:
        """A nested call is over."""
        self.children.discard(child)

    def with_joined_calls(self) -> list[RunState]:
        """This one and the calls that have joined it, and those that have joined them."""
        found = [self]
        for state in found:
            found += [child for child in list(state.children) if child.call is not None]
        return found

    @property
    def stands_still(self) -> bool:
        """Whether the thread that drives this sleeps until somebody answers."""
        return self.is_still if self.call is None else self.call.caller.stands_still

    def close(self) -> None:
        """Frees what the step owned."""
        self.executors = ()
        if self._step_container is not None:
            self._step_container.clear()
