"""Groups of collective ops whose members are on several tasks.

A task leads the groups if the server's ``experimental.collective_group_leader`` names it: it knows
the members, and the ids of steps that masters of several tasks run together.  Without a leader, a
task leads the groups of its own devices.  Corresponds to TensorFlow's
``collective_param_resolver_distributed.cc`` and ``rpc_collective_executor_mgr.cc``.
"""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING

from tfnb.core import errors
from tfnb.core.rendezvous import CollectiveGroups
from tfnb.distributed_runtime.worker_interface import DESCRIPTION

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.rendezvous import Member, type_of_group_callback
    from tfnb.distributed_runtime.worker_interface import WorkerInterface

    type_of_worker_of = Callable[[str], WorkerInterface]


class TaskGroups:
    """The groups as one task knows them; thread safe.

    Attributes:
      led: the groups that this task leads.
    """

    def __init__(self, task: str, leader: str = "") -> None:
        """Know no group.

        Args:
          task: the task of this process.
          leader: the task that leads all groups; "": each leads its own.
        """
        self.led = CollectiveGroups()
        self._leader = "" if leader == task else leader
        self._lock = threading.Lock()
        self._complete: dict[int, tuple[Member, ...]] = {}  # guarded by self._lock

    def join(
        self,
        key: int,
        size: int,
        member: Member,
        callback: type_of_group_callback,
        worker_of: type_of_worker_of,
    ) -> Callable[[], None]:
        """Name a device of this task as a member; see :meth:`CollectiveGroups.join`.

        Args:
          key: of the group.
          size: the number of members.
          member: the device.
          callback: called in any thread, perhaps immediately.
          worker_of: finds the worker of the leader.
        """
        member = member._replace(description=DESCRIPTION)
        if not self._leader:
            return self.led.join(key, size, member, callback)
        with self._lock:
            members = self._complete.get(key, ())
        if len(members) == size and member in members:
            callback(None, members)
            return lambda: None

        def joined(error: BaseException | None, members: tuple[Member, ...]) -> None:
            if error is None:
                with self._lock:
                    self._complete[key] = members
            callback(error, members)

        try:
            return worker_of(self._leader).complete_group(key, size, member, joined)
        except errors.OpError as error:
            callback(error, ())
            return lambda: None

    def forget(self) -> None:
        """Ask the leader again: a step has failed, perhaps because a task was started again."""
        with self._lock:
            self._complete.clear()


def check_library(member: Member) -> None:
    """Check that a member is a device of tfnb.

    Raises:
      UnimplementedError: it is not.
    """
    if member.description != DESCRIPTION:
        raise errors.unimplemented(
            f"{member.device} is a device of TensorFlow, whose collective ops exchange tensors in "
            "another way (RecvBuf). All members of a group must be on tasks of tfnb, or all on "
            "tasks of TensorFlow."
        )


def new_step_id() -> int:
    """Return the id of a step of one master, which no other step has."""
    return random.getrandbits(55) | 1 << 54


class StepSequences:
    """The ids of the steps with collective ops; masters of several tasks count alike; thread safe.

    A step has the next id of its graph's sequence; the sequence goes on when the step has ended.
    Without a leader, no group has members with other masters, and steps have ids of their own.
    """

    def __init__(self, task: str, leader: str, worker_of: type_of_worker_of) -> None:
        """Know no sequence.

        Args:
          task: the task of this process.
          leader: the task that begins all sequences; "": none.
          worker_of: finds the worker of the leader.
        """
        self._has_leader = bool(leader)
        self._leader = "" if leader == task else leader
        self._worker_of = worker_of
        self._lock = threading.Lock()
        self._next: dict[int, int] = {}  # by the key of the graph; guarded by self._lock
        self._failed: dict[int, int] = {}  # the last step that has failed; likewise
        self._running: set[int] = set()  # the keys whose step is in flight; likewise

    def current_id(self, graph_key: int) -> int:
        """Return the id of the step that is in flight, or comes next.

        Raises:
          OpError: the leader does not answer.
        """
        with self._lock:
            found = self._next.get(graph_key)
        if found is None:
            if self._leader:
                found = self._worker_of(self._leader).get_step_sequence(graph_key)
            else:
                found = new_step_id()
            with self._lock:
                # The leader's part of a step that has failed here fails, too, if not yet.
                found += found == self._failed.get(graph_key)
                found = self._next.setdefault(graph_key, found)
        return found

    def begin(self, graph_key: int) -> int:
        """Return the id of a step that begins.

        Raises:
          FailedPreconditionError: a step of these collective ops is in flight.
          OpError: the leader does not answer.
        """
        if not self._has_leader:
            return new_step_id()
        with self._lock:
            if graph_key in self._running:
                raise errors.failed_precondition(
                    "Another step with these collective ops is in flight. Masters of several tasks "
                    "run such steps one after the other: run them in one thread."
                )
            self._running.add(graph_key)
        try:
            return self.current_id(graph_key)
        except BaseException:
            with self._lock:
                self._running.discard(graph_key)
            raise

    def end(self, graph_key: int, *, has_failed: bool) -> None:
        """Note that a step has ended.

        After a failure the other masters may be at another step: the leader is asked again.
        """
        if not self._has_leader:
            return
        with self._lock:
            self._running.discard(graph_key)
            if has_failed and self._leader:
                self._failed[graph_key] = self._next.pop(graph_key)
            else:
                self._next[graph_key] += 1
