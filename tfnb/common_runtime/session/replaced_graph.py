"""What happens to the state of a session's nodes when its graph is replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfnb.common_runtime.device.device import Device
    from tfnb.graph.graph import Graph, Node


def unchanged_nodes(old: Graph, new: Graph) -> set[str]:
    """Return the names of nodes that are the same op with the same attributes in both graphs."""
    return {
        node.name
        for node in new.op_nodes()
        if (before := old.find_node(node.name)) is not None
        and before.op == node.op
        and before.requested_device == node.requested_device
        and _own_attrs(before) == _own_attrs(node)
    }


def forget_changed(old: Graph, new: Graph, devices: Iterable[Device]) -> None:
    """Drop the variables, queues and tables whose nodes the new graph lacks or changes."""
    kept = set(_resources(new))
    gone = {name for name, identity in _resources(old) if (name, identity) not in kept}
    gone -= {name for name, identity in set(_resources(old)) & kept}
    if not gone:
        return
    for device in devices:
        resources = device.resource_manager
        for container, kind, name in resources.names():
            own = "" if container == resources.default_container else container
            if (own, name) in gone:
                resources.delete(resources.make_handle(name, kind, container=container))


def _resources(graph: Graph) -> Iterable[tuple[tuple[str, str], str]]:
    """Yield the resources of a graph's nodes, by (container, name), and the kind of each.

    The container "" is the default one.
    """
    for node in graph.op_nodes():
        if node.is_stateful and "shared_name" in node.attrs:
            container = node.attrs.get("container", b"").decode()
            name = node.attrs["shared_name"].decode() or node.name
            named = ("container", "shared_name")
            identity = {key: v for key, v in _own_attrs(node).items() if key not in named}
            yield (container, name), f"{node.op} {sorted(identity.items(), key=str)}"


def _own_attrs(node: Node) -> dict[str, Any]:
    return {key: value for key, value in node.attrs.items() if not key.startswith("_")}
