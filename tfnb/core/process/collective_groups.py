"""Groups of devices whose collective ops exchange tensors.

A group has a key and a size.  Each collective op names its device as a member before it runs; the
group is complete once as many devices as its size have joined, and its members are then ranked by
their names.  Corresponds to TensorFlow's ``collective_param_resolver_local.cc``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, NamedTuple

from tfnb.core import errors
from tfnb.core.device_spec import parse_full_name

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
