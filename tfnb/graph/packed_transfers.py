"""Transfers between two tasks that travel as one.

Each pair of a Send and a Recv costs a request.  Small constants and feeds do not travel: the other
side gets a copy of the constant, or the feed from the master.  Tensors that become ready together
may share a request: the source makes an optional of them, which travels, and the other side takes
it apart::

    a -> _Send  | _Recv -> x        a -> OptionalFromValue -> _Send | _Recv -> OptionalGetValue -> x
    b -> _Send  | _Recv -> y        b ->                            |                           -> y

A tensor that travels with others waits for them, so that two rules choose which do:

* No circle.  The *level* of a node is the largest number of transfers on a path to it.  Transfers
  that share a request have the same devices and the same level: what one of them waits for has no
  higher level, and what waits for one of them has.
* No wait for something else.  Whatever such a transfer depends on runs in every step and ends by
  itself.  Control flow may make it dead; a queue, a function or a file may let it wait for another
  node, which perhaps waits for a tensor that would travel with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tfnb.core import dtypes
from tfnb.core.op_kernel import may_wait
from tfnb.core.op_registry import ops_with
from tfnb.core.op_traits import Trait
from tfnb.core.tensor_shape import UNKNOWN
from tfnb.graph.function_library import FunctionDefinition
from tfnb.graph.late_reads import PASSES_CELL, SENDS_CELL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tfnb.graph.graph import Graph, Node

EDGES = "_edges"
"""Attribute of a Send and a Recv: the names of the transfers that they stand for."""

# Stateful ops that neither wait nor have effects that another node could wait for.
_STATE = (
    *map(ops_with, (Trait.VARIABLE, Trait.READS_VARIABLE, Trait.WRITES_VARIABLE)),
    *map(ops_with, (Trait.KEEPS_REFERENCE, Trait.NEEDS_NO_VALUE, Trait.DRAWS)),
)
# The largest tensor that travels with others, and all that travel together; in bytes.
_MOST_EACH, _MOST_TOGETHER = 1 << 20, 1 << 24


class _Transfer(NamedTuple):
    send: Node
    recv: Node
    size: int


def pack_transfers(
    parts: Mapping[str, Graph],
    may_pack: Callable[[str, str], bool],
    bytes_of: Callable[[str, int], int | None],
    name_counter: Iterator[int],
) -> None:
    """Let small tensors that become ready together travel as one.

    Args:
      parts: what :func:`tfnb.graph.graph_partition.partition` made; changed.
      may_pack: whether transfers from one device to another may be packed; both are CPUs then, so
        that it does not matter which memory a tensor is in.
      bytes_of: the expected size of an output of a node, by the node's name; None: unknown.
      name_counter: numbers for the names of new nodes.
    """
    recv_of = {
        send: recv for send, recv in matched_transfers(parts).items() if may_pack(*devices_of(send))
    }
    if not recv_of:
        return
    levels = levels_of_certain_nodes(parts)
    changed = copy_sources(parts, recv_of, levels, bytes_of)
    groups: dict[tuple[str, str, int], list[_Transfer]] = {}
    for send, recv in recv_of.items():
        level = levels.get(send)
        if level is None or not is_plain(send, recv):
            continue
        size = _size_of(send, bytes_of)
        if size is not None and size <= _MOST_EACH:
            transfer = _Transfer(send, recv, size)
            groups.setdefault((*devices_of(send), level), []).append(transfer)
    for (source, target, _), group in groups.items():
        for transfers in _batches(group):
            if len(transfers) > 1:
                _pack(parts[source], parts[target], transfers, next(name_counter))
                changed |= {source, target}
    for device in changed:
        parts[device].fixup_source_and_sink_edges()


def is_signal(node: Node) -> bool:
    """Return whether a node is the empty constant that the partitioner makes of a control edge."""
    return node.is_constant and any(edge.src.is_op for edge in node.in_edges)


def devices_of(send: Node) -> tuple[str, str]:
    """Return the devices that a Send sends from and to."""
    return send.attrs["send_device"].decode(), send.attrs["recv_device"].decode()


def matched_transfers(parts: Mapping[str, Graph]) -> dict[Node, Node]:
    """Return the Recv of each Send that another part receives."""
    ends: tuple[dict[Any, Node], dict[Any, Node]] = {}, {}
    for part in parts.values():
        for node in part.op_nodes():
            if (node.is_send or node.is_recv) and not node.attrs["client_terminated"]:
                ends[node.is_recv][(*devices_of(node), node.attrs["tensor_name"])] = node
    sends, recvs = ends
    return {send: recvs[key] for key, send in sends.items() if key in recvs}


def is_plain(send: Node, recv: Node) -> bool:
    """Return whether nothing but the value of one tensor says when and what is transferred."""
    edge = send.input_edge(0)
    return (
        SENDS_CELL not in send.attrs
        and PASSES_CELL not in send.attrs
        and not edge.src.output_types[edge.src_output].is_ref_dtype
        and send.attrs["T"] not in (dtypes.resource, dtypes.variant)
        and not any(edge.src.is_op for edge in recv.in_edges)
    )


def levels_of_certain_nodes(parts: Mapping[str, Graph]) -> dict[Node, int]:
    """Return the levels of the nodes that run in every step and wait for nothing but inputs.

    A node comes after its inputs.
    """
    recv_of = matched_transfers(parts)
    send_of = {recv: send for send, recv in recv_of.items()}
    waits_for: dict[Node, int] = {}
    for part in parts.values():
        for node in part.op_nodes():
            waits_for[node] = len(_sources(node, send_of))
    ready = [node for node, count in waits_for.items() if not count]
    levels: dict[Node, int] = {}
    # Nodes of loops wait for each other: they never become ready, and are not certain anyway.
    while ready:
        node = ready.pop()
        found = [levels.get(source) for source in _sources(node, send_of)]
        if None not in found and _is_certain(node):
            levels[node] = max((one for one in found if one is not None), default=0)
            levels[node] += node in send_of
        consumers = [edge.dst for edge in node.out_edges if edge.dst.is_op]
        if node in recv_of:
            consumers.append(recv_of[node])
        for consumer in consumers:
            waits_for[consumer] -= 1
            if not waits_for[consumer]:
                ready.append(consumer)
    return levels


def _sources(node: Node, send_of: Mapping[Node, Node]) -> list[Node]:
    """Return what a node waits for; a source with several edges occurs as often."""
    sources = [edge.src for edge in node.in_edges if edge.src.is_op]
    if node in send_of:
        sources.append(send_of[node])
    return sources


def _is_certain(node: Node) -> bool:
    """Return whether a node whose inputs are alive runs, and ends by itself."""
    kind, definition = node.kind, node.op_definition
    if kind.is_control_flow or kind.is_loop_cond or kind.is_control_trigger:
        return False
    if kind.is_transfer_node:
        return True
    if definition is None or isinstance(definition, FunctionDefinition) or definition.effects:
        return False
    if definition.is_stateful and not any(node.op in ops for ops in _STATE):
        return False
    device_type = node.assigned_device.rpartition("/device:")[2].partition(":")[0]
    return not may_wait(definition, device_type, node.attrs)


def copy_sources(
    parts: Mapping[str, Graph],
    recv_of: dict[Node, Node],
    levels: Mapping[Node, int],
    bytes_of: Callable[[str, int], int | None],
) -> set[str]:
    """Replace transfers of small constants, and of feeds, by copies of their nodes.

    Args:
      parts: changed.
      recv_of: the Recv of each Send; those that are replaced are removed.
      levels: of the nodes that run in every step.
      bytes_of: see :func:`pack_transfers`.

    Returns:
      The devices whose parts changed.
    """
    changed: set[str] = set()
    for send, recv in list(recv_of.items()):
        source, devices = send.input_node(0), devices_of(send)
        if send not in levels or not is_plain(send, recv):
            continue
        if source.is_constant and not is_signal(source):
            size = _size_of(send, bytes_of)
            if size is None or size > _MOST_EACH:
                continue
        elif not _is_feed(source):
            continue
        del recv_of[send]
        _copy_source(parts[devices[0]], parts[devices[1]], send, recv)
        changed.update(devices)
    return changed


def _size_of(send: Node, bytes_of: Callable[[str, int], int | None]) -> int | None:
    edge = send.input_edge(0)
    return 0 if is_signal(edge.src) else bytes_of(edge.src.name, edge.src_output)


def _batches(transfers: Sequence[_Transfer]) -> Iterator[list[_Transfer]]:
    """Yield transfers in batches of limited size."""
    batch: list[_Transfer] = []
    total = 0
    for one in transfers:
        if batch and total + one.size > _MOST_TOGETHER:
            yield batch
            batch, total = [], 0
        batch.append(one)
        total += one.size
    if batch:
        yield batch


def _is_feed(node: Node) -> bool:
    return node.is_recv and bool(node.attrs["client_terminated"])


def _copy_source(source: Graph, target: Graph, send: Node, recv: Node) -> None:
    """Replace a pair of Send and Recv by a copy of the node that is sent, named as the Recv."""
    sent = send.input_node(0)
    edges = [(edge.src_output, edge.dst, edge.dst_input) for edge in recv.out_edges]
    device, name = recv.assigned_device, recv.name
    source.remove_node(send)
    target.remove_node(recv)
    copy = target.copy_node(sent, name)
    copy.assigned_device = device
    copy.original_names = sent.original_names or (sent.name,)
    for output, consumer, position in edges:
        if consumer.is_op:
            target.add_edge(copy, output, consumer, position)


def _pack(source: Graph, target: Graph, transfers: Sequence[_Transfer], number: int) -> None:
    """Replace pairs of Send and Recv by one pair."""
    sends = [one.send for one in transfers]
    recvs = [one.recv for one in transfers]
    first, types = sends[0].attrs, [send.attrs["T"] for send in sends]
    names = list(dict.fromkeys(name for send in sends for name in send.original_names))
    attrs: dict[str, Any] = {
        **{name: first[name] for name in ("send_device", "send_device_incarnation", "recv_device")},
        "tensor_name": first["tensor_name"] + b"_and_%d_more" % (len(sends) - 1),
        "client_terminated": False,
        "_src": first["_src"],
        "_dst": first["_dst"],
        EDGES: [send.attrs["tensor_name"] for send in sends],
    }

    def add(graph: Graph, like: Node, op: str, attrs: Mapping[str, Any]) -> Node:
        # The names of Sends and Recvs end with a number of the same counter: these are new.
        name = f"{like.name.rpartition('/')[0] or like.name}/_{number}/{op.strip('_')}"
        device = like.assigned_device
        return graph.add_node(name, op, attrs, assigned_device=device, original_names=names)

    together = add(source, sends[0], "OptionalFromValue", {"Toutput_types": types})
    send = add(source, sends[0], "_Send", {"T": dtypes.variant, **attrs})
    for index, one in enumerate(sends):
        for edge in list(one.in_edges):
            if not edge.is_control:
                source.add_edge(edge.src, edge.src_output, together, index)
            elif edge.src.is_op:
                source.add_control_edge(edge.src, together)
    source.add_edge(together, 0, send, 0)
    source.remove_nodes(sends)

    recv = add(target, recvs[0], "_Recv", {"tensor_type": dtypes.variant, **attrs})
    apart = add(
        target,
        recvs[0],
        "OptionalGetValue",
        {"output_types": types, "output_shapes": [UNKNOWN] * len(types)},
    )
    target.add_edge(recv, 0, apart, 0)
    for index, one in enumerate(recvs):
        for edge in list(one.out_edges):
            if not edge.is_control:
                target.add_edge(apart, index, edge.dst, edge.dst_input)
            elif edge.dst.is_op:
                target.add_control_edge(apart, edge.dst)
    target.remove_nodes(recvs)
