"""The rendezvous of steps that several tasks run.

A Send leaves its tensor where it runs; a Recv of another task asks that task for it.  A step has
one rendezvous on each task, made by what comes first: the run of a graph, or a request of another
task.

Corresponds to TensorFlow's ``base_rendezvous_mgr.cc``.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from time import time_ns
from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.core.rendezvous import Rendezvous, parse_key
from tfnb.distributed_runtime.transfer_logs import ReceivedTensor, bytes_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.cancellation import CancellationManager
    from tfnb.core.rendezvous import Member, type_of_callback, type_of_group_callback
    from tfnb.distributed_runtime.task_groups import TaskGroups
    from tfnb.distributed_runtime.worker_interface import WorkerInterface

_MANY_STEPS = 1000


def task_of(device: str) -> str:
    """Return the task of a device.

    >>> task_of("/job:ps/replica:0/task:1/device:CPU:0")
    '/job:ps/replica:0/task:1'
    """
    return device.partition("/device:")[0]


def in_task(device: str, task: str) -> str:
    """Return the name of a device whose task has another name.

    >>> in_task("/job:local/replica:0/task:0/device:CPU:1", "/job:ps/replica:0/task:2")
    '/job:ps/replica:0/task:2/device:CPU:1'
    """
    return f"{task}/device:{device.partition('/device:')[2]}"


class RemoteRendezvous(Rendezvous):
    """One step's rendezvous on one task; thread safe."""

    def __init__(
        self,
        step_id: int,
        task: str,
        worker_of: Callable[[str], WorkerInterface],
        groups: TaskGroups,
    ) -> None:
        """Make an empty rendezvous.

        Args:
          step_id: the step.
          task: the task of this process.
          worker_of: finds the worker of another task.
          groups: the groups of collective ops.
        """
        super().__init__()
        self._step_id, self._task, self._worker_of = step_id, task, worker_of
        self._task_groups = groups
        self._pending_lock = threading.Lock()
        self._pending: dict[object, type_of_callback] = {}  # guarded by self._pending_lock
        self._give_up: dict[object, Callable[[], None]] = {}  # likewise
        self._end: BaseException | None = None  # likewise
        self._run_is_over = False
        self._log: list[ReceivedTensor] | None = None

    def log_transfers(self) -> list[ReceivedTensor]:
        """Log the tensors of other tasks that are asked for from now on; return the log."""
        if self._log is None:
            self._log = []
        return self._log

    def use_cluster(self, task: str, worker_of: Callable[[str], WorkerInterface]) -> None:
        """Use the names that tasks have in the cluster of the step's session."""
        self._task, self._worker_of = task, worker_of

    def join_group(
        self, key: int, size: int, member: Member, callback: type_of_group_callback
    ) -> Callable[[], None]:
        """Name a member of a group of collective ops, whose members may be on other tasks."""
        return self._task_groups.join(key, size, member, callback, self._worker_of)

    def recv_local_async(self, key: str, callback: type_of_callback) -> None:
        """Call ``callback`` once a Send of this task has left the value, for another task."""
        super().recv_async(key, callback)

    def recv_async(
        self,
        key: str,
        callback: type_of_callback,
        cancellation_manager: CancellationManager | None = None,
    ) -> None:
        """Call ``callback(error, value, is_dead)`` once the value is there, from whatever task."""
        source = task_of(parse_key(key).src_device)
        if source == self._task:
            super().recv_async(key, callback, cancellation_manager)
            return
        request = object()
        with self._pending_lock:
            end = self._end
            if end is None:
                self._pending[request] = callback
        if end is not None:
            callback(end, None, False)
            return

        log = self._log
        begin_ns = 0 if log is None else time_ns()
        manager = cancellation_manager
        token = 0 if manager is None else manager.get_cancellation_token()

        def arrived(error: BaseException | None, value: Any, is_dead: bool) -> None:
            with self._pending_lock:
                waiter = self._pending.pop(request, None)
                self._give_up.pop(request, None)
            if log is not None and error is None:
                log.append(ReceivedTensor(key, begin_ns, time_ns(), bytes_of(value)))
            if waiter is not None:
                if manager is not None:
                    manager.try_deregister_callback(token)
                waiter(error, value, is_dead)

        if manager is not None:

            def cancel() -> None:
                arrived(errors.cancelled("RecvAsync is cancelled."), None, False)

            if not manager.register_callback(token, cancel):
                cancel()
                return
        try:
            give_up = self._worker_of(source).recv_tensor(self._step_id, key, arrived)
        except errors.OpError as error:
            arrived(error, None, False)
            return
        with self._pending_lock:
            if request in self._pending:
                self._give_up[request] = give_up

    def note_end_of_run(self) -> None:
        """Note that this task sends nothing more."""
        self._run_is_over = True

    @property
    def is_done(self) -> bool:
        """Whether this task sends nothing more, and all that it sent was taken."""
        return self._run_is_over and not self._values

    def start_abort(self, error: BaseException) -> None:
        """Fail all waiting and all later calls, those of other tasks included."""
        super().start_abort(error)
        with self._pending_lock:
            if self._end is not None:
                return
            self._end = error
            pending, self._pending = list(self._pending.values()), {}
            give_up, self._give_up = list(self._give_up.values()), {}
        for stop in give_up:
            stop()
        for callback in pending:
            callback(error, None, False)


class RendezvousMgr:
    """The rendezvous of the steps in flight on one task; thread safe."""

    def __init__(
        self, task: str, worker_of: Callable[[str], WorkerInterface], groups: TaskGroups
    ) -> None:
        self._task, self._worker_of, self._groups = task, worker_of, groups
        self._lock = threading.Lock()
        self._steps: dict[int, RemoteRendezvous] = {}  # guarded by self._lock
        # The steps that were cleaned up last, with oldest first; guarded by self._lock.
        self._cleaned: OrderedDict[int, None] = OrderedDict()

    def find(self, step_id: int) -> RemoteRendezvous:
        """Return the rendezvous of a step; make it if there is none."""
        with self._lock:
            return self._found(step_id)

    def _found(self, step_id: int) -> RemoteRendezvous:
        """Return the rendezvous of a step, made if there is none; the lock is held."""
        found = self._steps.get(step_id)
        if found is None:
            found = RemoteRendezvous(step_id, self._task, self._worker_of, self._groups)
            self._steps[step_id] = found
        return found

    @property
    def num_steps(self) -> int:
        """The number of steps of which something is kept."""
        return len(self._steps)

    def recv(self, step_id: int, key: str, callback: type_of_callback) -> None:
        """Call ``callback`` once a step of this task has left a value, for another task."""
        with self._lock:
            # One look at both: a rendezvous made after the cleanup would wait for ever.
            rendezvous = None if step_id in self._cleaned else self._found(step_id)
        if rendezvous is None:  # the master of another task may not know that the step has failed
            callback(errors.aborted(f"Cleanup {step_id}"), None, False)
            return
        rendezvous.recv_local_async(key, callback)
        self._drop_if_done(step_id, rendezvous)

    def run_ended(self, step_id: int) -> None:
        """Drop a step's rendezvous as soon as other tasks have taken what this one sent.

        A master of tfnb therefore does not ask for it, unless the step failed.
        """
        rendezvous = self.find(step_id)
        rendezvous.note_end_of_run()
        self._drop_if_done(step_id, rendezvous)

    def _drop_if_done(self, step_id: int, rendezvous: RemoteRendezvous) -> None:
        if rendezvous.is_done:
            with self._lock:
                self._steps.pop(step_id, None)

    def cleanup(self, step_id: int) -> None:
        """Drop a step's rendezvous; those who still wait there are told."""
        with self._lock:
            found = self._steps.pop(step_id, None)
            self._cleaned[step_id] = None
            if len(self._cleaned) > _MANY_STEPS:
                self._cleaned.popitem(last=False)
        if found is not None:
            found.start_abort(errors.aborted(f"Cleanup {step_id}"))

    def abort(self, step_id: int, error: BaseException) -> None:
        """Fail what waits in a step's rendezvous."""
        with self._lock:
            found = self._steps.get(step_id)
        if found is not None:
            found.start_abort(error)

    def cleanup_all(self) -> None:
        """Drop the rendezvous of all steps."""
        with self._lock:
            steps = list(self._steps)
        for step_id in steps:
            self.cleanup(step_id)
