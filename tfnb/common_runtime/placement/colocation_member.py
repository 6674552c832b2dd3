"""The device constraints of a group of colocated nodes."""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from tfnb.core import device_spec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.graph.graph import Node


_NO_PRIORITIES: Mapping[str, int] = MappingProxyType({})


class PlacementDevice(Protocol):
    """The properties of a device that placement reads."""

    @property
    def name(self) -> str:
        """The full name."""

    @property
    def device_type(self) -> str:
        """``CPU`` or ``GPU``."""

    @property
    def priority(self) -> int:
        """The priority for nodes that request no device; higher is preferred."""


class Member:
    """A node in the union-find forest; the root of its tree holds the constraints of its group.

    Attributes:
      node: the node this was made for.
      parent: towards the root; a root is its own parent.
      rank: an upper bound of the tree's height.
      device_types: the types for which all nodes of the group have kernels, best first.
      priorities: device type -> priority of the kernel; empty if all are equal.
      assigned: the device that nodes of the group were placed on before.
      resource: the device requested by a node that makes a variable or handle: not overridden.
      requested: the device requested by any node, at least as specific as the other two; soft
        placement may drop its type and number.
      possible_devices: the devices that fit, best first; empty until first read.
    """

    __slots__ = (
        "assigned",
        "device_types",
        "node",
        "parent",
        "possible_devices",
        "priorities",
        "rank",
        "requested",
        "resource",
    )

    def __init__(
        self,
        node: Node,
        device_types: tuple[str, ...],
        priorities: Mapping[str, int] = _NO_PRIORITIES,
    ) -> None:
        self.node = node
        self.priorities = priorities
        self.parent: Member = self
        self.rank = 0
        self.device_types = device_types
        self.assigned = ""
        self.resource = ""
        self.requested = ""
        self.possible_devices: list[PlacementDevice] = []

    def merge_device_types(self, other: Member, by_device: Mapping[str, int]) -> bool:
        """Keep the device types that both groups can use; return False, without change, if none is.

        If only one of the groups prefers some kernels, its preference applies to the whole group;
        if both do and disagree, neither counts.

        Args:
          other: the group that joins this one.
          by_device: device type -> priority of its devices.
        """
        if len(self.device_types) == 1 and self.device_types == other.device_types:
            return True  # nothing to choose between
        shared = [one for one in self.device_types if one in other.device_types]
        if not shared:
            return False
        ours = {one: self.priorities.get(one, 0) for one in shared}
        theirs = {one: other.priorities.get(one, 0) for one in shared}

        def ordered(priorities: Mapping[str, int]) -> tuple[str, ...]:
            return tuple(sorted(shared, key=lambda t: (-priorities[t], -by_device[t], t)))

        has_ours, has_theirs = len(set(ours.values())) > 1, len(set(theirs.values())) > 1
        if has_theirs and not has_ours:
            ours = theirs
        elif has_ours and has_theirs and ordered(ours) != ordered(theirs):
            ours = dict.fromkeys(shared, 0)
        self.priorities, self.device_types = ours, ordered(ours)
        return True

    def merge_device_names(self, other: Member, allow_soft_placement: bool) -> None:
        """Add the constraints of another group; nothing changes if the two conflict.

        Raises:
          InvalidArgumentError: no device fits both.
        """
        if not (
            self.assigned or self.resource or other.assigned or other.resource or other.requested
        ):
            return
        assigned = merged_names(self.assigned, other.assigned)
        resource = merged_names(self.resource, other.resource)
        requested = merged_names(self.requested, other.requested, allow_soft_placement)
        self.assigned, self.resource = assigned, resource
        self.requested = specialized_name(specialized_name(requested, assigned), resource)

    def soft_device_name(self, keep_resource: bool) -> str:
        """Return the part of the request that remains when soft placement drops type and number."""
        spec = device_spec.parse_full_name(self.requested)
        assert spec is not None
        bound = [device_spec.parse_full_name(self.assigned)]
        if keep_resource:
            bound.append(device_spec.parse_full_name(self.resource))
        if all(name is None or name.device_type is None for name in bound):
            spec.device_type = None
        if all(name is None or name.device_index is None for name in bound):
            spec.device_index = None
        return device_spec.runtime_text(spec.parts)


# Cached, because graphs repeat the same few device names thousands of times.


@lru_cache(1024)
def merged_names(target: str, other: str, allow_soft_placement: bool = False) -> str:
    """Return the name of the devices that match both names.

    Raises:
      InvalidArgumentError: the names contradict each other.
    """
    if not other or target == other:
        return target
    return device_spec.merge_names(target, other, allow_soft_placement)


@lru_cache(1024)
def specialized_name(name: str, by: str) -> str:
    """Return ``name``, with every part that ``by`` specifies replaced by that of ``by``."""
    if not by or name == by:
        return name
    spec, other = device_spec.parse_full_name(name), device_spec.parse_full_name(by)
    assert spec is not None
    assert other is not None
    return device_spec.runtime_text(
        tuple(b if b is not None else a for a, b in zip(spec.parts, other.parts))  # type: ignore[arg-type]
    )
