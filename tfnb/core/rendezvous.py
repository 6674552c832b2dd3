"""The rendezvous, in which Send and Recv exchange tensors.

A key names one tensor of one iteration on its way between two devices.  Values sent under a key
queue up first in, first out; each Recv takes one.  A Recv never blocks a thread: it leaves a
callback.  ``start_abort`` fails all waiting and all later calls.  Corresponds to
TensorFlow's ``rendezvous.h``.

Collective ops meet here, too.  Each names its device as a member of a group before it runs; the
group is complete once as many devices as its size have joined, and its members are then ranked by
their names.  Corresponds to TensorFlow's ``collective_param_resolver_local.cc``.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tfnb.core import errors
from tfnb.core.device_spec import parse_full_name
from tfnb.core.process.notification import Notification

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.core.cancellation import CancellationManager

_MASK = 0xFFFFFFFFFFFFFFFF

#: ``callback(error, value, is_dead)``: exactly one call per Recv.
type_of_callback = Callable[[BaseException | None, Any, bool], None]


class ParsedKey(NamedTuple):
    """A rendezvous key in its five parts."""

    src_device: str
    src_incarnation: int
    dst_device: str
    edge_name: str
    frame_id: int
    iteration: int


def create_key(
    src_device: str,
    src_incarnation: int,
    dst_device: str,
    edge_name: str,
    frame_id: int,
    iteration: int,
) -> str:
    """Return the key of one tensor: source; incarnation; destination; edge; frame:iteration.

    >>> create_key("/cpu:0", 1, "/cpu:1", "edge_3_a", 0, 0)
    '/cpu:0;0000000000000001;/cpu:1;edge_3_a;0:0'
    """
    incarnation = src_incarnation & _MASK  # an attribute holds it as a signed number
    return f"{src_device};{incarnation:016x};{dst_device};{edge_name};{frame_id}:{iteration}"


def key_of_transfer(attrs: Mapping[str, Any], frame_id: int = 0, iteration: int = 0) -> str:
    """Return the key under which a Send and its Recv meet.

    Args:
      attrs: the attributes of either node.
      frame_id: the number of the frame in keys.
      iteration: the iteration of that frame.
    """
    return create_key(
        attrs["send_device"].decode(),
        attrs["send_device_incarnation"],
        attrs["recv_device"].decode(),
        attrs["tensor_name"].decode(),
        frame_id,
        iteration,
    )


def parse_key(key: str) -> ParsedKey:
    """Split a key into its parts.

    Raises:
      InvalidArgumentError: it does not have five parts, or a number is malformed.
    """
    parts = key.split(";")
    try:
        src, incarnation, dst, edge, frame_iter = parts
        frame, colon, iteration = frame_iter.partition(":")
        if not (src and dst and edge and colon and len(incarnation) == 16):
            raise ValueError
        return ParsedKey(src, int(incarnation, 16), dst, edge, int(frame), int(iteration))
    except ValueError:
        raise errors.invalid_argument(f"Invalid rendezvous key: {key}") from None


COLLECTIVE_EDGE: Final = "collective_"
"""How the edge names of what members exchange begin."""


class Member(NamedTuple):
    """A device of a group.

    Attributes:
      device: its full name.
      incarnation: tells it from the same device before its task was started again.
      description: what its task says of itself.
    """

    device: str
    incarnation: int
    description: str = ""


#: ``callback(error, members)``: exactly one call per join, members in the order of their ranks.
type_of_group_callback = Callable[[BaseException | None, tuple[Member, ...]], None]


class CollectiveGroups:
    """Groups by key; thread safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: dict[int, _Group] = {}  # guarded by self._lock

    def join(
        self, key: int, size: int, member: Member, callback: type_of_group_callback
    ) -> Callable[[], None]:
        """Name a member; ``callback`` gets all members once the group is complete.

        A device may join again: it is the same member, also after its task was started again.

        Args:
          key: of the group.
          size: the number of members.
          member: the device.
          callback: called in any thread, perhaps immediately.

        Returns:
          A function that gives up waiting; the callback is not called then.
        """
        error: errors.OpError | None = None
        waiting: list[type_of_group_callback] = []
        members: tuple[Member, ...] = ()
        with self._lock:
            group = self._groups.get(key)
            if group is None:
                group = self._groups[key] = _Group(key, size)
            try:
                group.add(size, member)
            except errors.OpError as found:
                error = found
            else:
                group.waiting.append(callback)
                if len(group.members) == size:
                    members = group.ranked()
                    waiting, group.waiting = group.waiting, []
        if error is not None:
            callback(error, ())
        for tell in waiting:
            tell(None, members)

        def give_up() -> None:
            with self._lock:
                if callback in group.waiting:
                    group.waiting.remove(callback)

        return give_up


class _Group:
    """The members of a group that have joined, and those who wait for the others."""

    def __init__(self, key: int, size: int) -> None:
        self._key, self._size = key, size
        self.members: dict[str, Member] = {}
        self.waiting: list[type_of_group_callback] = []

    def add(self, size: int, member: Member) -> None:
        """Add a member.

        Raises:
          InvalidArgumentError: the size is not positive.
          InternalError: the group has another size, or is complete without this member.
        """
        name = member.device
        if size < 1:
            raise errors.invalid_argument(
                f"{name} joins group {self._key} with group_size={size}. A group has at least one "
                "member."
            )
        if size != self._size:
            raise errors.internal(
                f"{name} joins group {self._key} with group_size={size}, but another device joined "
                f"it with group_size={self._size}. Give all collective ops of a group_key one size."
            )
        if name not in self.members and len(self.members) == size:
            others = ", ".join(sorted(self.members))
            raise errors.internal(
                f"{name} cannot join group {self._key}, which has its {size} members: {others}. "
                "Use another group_key, or a larger group_size."
            )
        self.members[name] = member

    def ranked(self) -> tuple[Member, ...]:
        """Return the members in the order of their ranks."""
        return tuple(sorted(self.members.values(), key=_rank_key))


def _rank_key(member: Member) -> tuple[str, int, int, str, int]:
    spec = parse_full_name(member.device)
    if spec is None:
        return member.device, 0, 0, "", 0
    return (
        spec.job or "",
        spec.replica or 0,
        spec.task or 0,
        spec.device_type or "",
        spec.device_index or 0,
    )


class Rendezvous:
    """The rendezvous of one step; thread safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, deque[tuple[Any, bool]]] = {}  # guarded by self._lock
        self._waiters: dict[str, deque[type_of_callback]] = {}  # guarded by self._lock
        self._error: BaseException | None = None  # guarded by self._lock
        self._groups: CollectiveGroups | None = None  # guarded by self._lock

    def join_group(
        self, key: int, size: int, member: Member, callback: type_of_group_callback
    ) -> Callable[[], None]:
        """Name a member of a group of collective ops; see :meth:`CollectiveGroups.join`.

        All members of a step in this process are in this step.
        """
        with self._lock:
            if self._groups is None:
                self._groups = CollectiveGroups()
            groups = self._groups
        return groups.join(key, size, member, callback)

    def send(self, key: str, value: Any, is_dead: bool = False) -> None:
        """Store a value, or pass it to the oldest waiting Recv.

        Raises:
          OpError: the rendezvous was aborted.
        """
        with self._lock:
            if self._error is not None:
                raise self._error
            waiters = self._waiters.get(key)
            if not waiters:
                self._values.setdefault(key, deque()).append((value, is_dead))
                return
            callback = waiters.popleft()
            if not waiters:
                del self._waiters[key]
        callback(None, value, is_dead)

    def recv_async(
        self,
        key: str,
        callback: type_of_callback,
        cancellation_manager: CancellationManager | None = None,
    ) -> None:
        """Call ``callback(error, value, is_dead)`` once a value is there, perhaps immediately."""
        value: Any = None
        is_dead = False
        with self._lock:
            error = self._error
            if error is None:
                queue = self._values.get(key)
                if not queue:
                    if cancellation_manager is not None:
                        waiter = self._cancellable(key, callback, cancellation_manager)
                        if waiter is None:
                            error = errors.cancelled("RecvAsync is cancelled.")
                        else:
                            callback = waiter
                    if error is None:
                        self._waiters.setdefault(key, deque()).append(callback)
                        return
                else:
                    value, is_dead = queue.popleft()
                    if not queue:
                        del self._values[key]
        callback(error, value, is_dead)

    def _cancellable(
        self, key: str, callback: type_of_callback, manager: CancellationManager
    ) -> type_of_callback | None:
        """Return ``callback``, ended early by a cancellation; None if cancelled before."""
        token = manager.get_cancellation_token()

        def finish(error: BaseException | None, value: Any, is_dead: bool) -> None:
            manager.try_deregister_callback(token)
            callback(error, value, is_dead)

        def cancel() -> None:
            with self._lock:
                waiters = self._waiters.get(key)
                if waiters is None or finish not in waiters:
                    return
                waiters.remove(finish)
                if not waiters:
                    del self._waiters[key]
            callback(errors.cancelled("RecvAsync is cancelled."), None, False)

        return finish if manager.register_callback(token, cancel) else None

    def recv(self, key: str, timeout_s: float | None = None) -> tuple[Any, bool]:
        """Wait for a value; for callers outside the executor.

        Raises:
          DeadlineExceededError: nothing came in time.
          OpError: the rendezvous was aborted.
        """
        arrived = Notification()
        box: list[tuple[BaseException | None, Any, bool]] = []

        def callback(error: BaseException | None, value: Any, is_dead: bool) -> None:
            box.append((error, value, is_dead))
            arrived.notify()

        self.recv_async(key, callback)
        if not arrived.wait(timeout_s):
            raise errors.deadline_exceeded("Timed out waiting for notification")
        error, value, is_dead = box[0]
        if error is not None:
            raise error
        return value, is_dead

    def start_abort(self, error: BaseException) -> None:
        """Fail all waiting and all later calls with ``error``; only the first abort counts."""
        with self._lock:
            if self._error is not None:
                return
            self._error = error
            waiting, self._waiters = self._waiters, {}
            self._values.clear()
        for waiters in waiting.values():
            for callback in waiters:
                callback(error, None, False)

    def stored(self, key: str) -> Any:
        """Return the value that the next Recv of a key takes; None if there is none."""
        with self._lock:
            queue = self._values.get(key)
            return None if not queue or queue[0][1] else queue[0][0]

    def replace(self, key: str, value: Any) -> None:
        """Put another value in place of the one that the next Recv of a key takes."""
        with self._lock:
            queue = self._values.get(key)
            if queue:
                queue[0] = value, queue[0][1]

    def waiting_keys(self) -> list[str]:
        """Return the keys that have waiters, sorted."""
        with self._lock:
            return sorted(self._waiters)

    def ready_keys(self) -> list[str]:
        """Return the keys that hold a value not yet received, sorted."""
        with self._lock:
            return sorted(self._values)
