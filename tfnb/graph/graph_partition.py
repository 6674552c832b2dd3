"""One graph per device, joined by Send and Recv.

Corresponds to TensorFlow's graph_partition.cc.  An edge between devices becomes ``_Send`` on one
side and ``_Recv`` on the other; consumers of one tensor on one device share the pair.  A control
edge sends an empty constant::

    a ---> b            a -> _Send   | _Recv -> b
    a -^-> b            a -^-> Const -> _Send | _Recv -> Identity -^-> b

On a device other than CPU, ``_HostSend`` and ``_HostRecv`` carry tensors in host memory, and an
edge between the two memories of one device is cut, too (a constant is copied instead). Loops that
span devices need the nodes that :mod:`tfnb.graph.control_loops` adds before the cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from tfnb.core import dtypes, errors
from tfnb.core.process.later import later
from tfnb.graph.graph import CONTROL_SLOT, Edge, Graph, Node
from tfnb.graph.late_reads import (
    PASSES_CELL,
    SENDS_CELL,
    ReadsAfterWrites,
    gives_cell,
    is_only_fetched,
)
from tfnb.graph.memory_types import input_on_host, output_on_host

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tfnb.core.dtypes import DType
    from tfnb.graph import control_loops, recv_scheduling
else:
    control_loops = later("tfnb.graph.control_loops", in_step=True)
    recv_scheduling = later("tfnb.graph.recv_scheduling", in_step=True)


class PartitionDevice(Protocol):
    """The properties of a device that partitioning needs."""

    name: str
    device_type: str


def partition(
    graph: Graph,
    devices: Iterable[PartitionDevice],
    name_counter: Iterator[int],
    incarnations: Mapping[str, int] | None = None,
    *,
    schedule: recv_scheduling.RecvSchedule | None = None,
) -> dict[str, Graph]:
    """Cut a placed graph into one graph per device in use.

    Args:
      graph: every node has an assigned device; it is changed (loops across devices get their
        shadows).
      devices: the session's devices.
      name_counter: numbers for the names of new nodes, ``src/_<number>``.
      incarnations: device name -> incarnation for the rendezvous keys; 1 within one process.
      schedule: when nodes start; Recvs then wait for their start time.

    Returns:
      Device name -> graph, in the order in which devices first occur.  The only partition of a
      graph on one CPU device is the graph itself.

    Raises:
      InvalidArgumentError: a node is on a device that is not among ``devices``, an input is
        missing, frames do not fit together, a loop across devices has no LoopCond, or the schedule
        does not fit the graph.
    """
    by_name = {device.name: device for device in devices}
    used = dict.fromkeys(node.assigned_device for node in graph.op_nodes())
    for name in used:
        if name not in by_name:
            raise errors.invalid_argument(
                f"Creating a partition for {name or 'no device'} which doesn't exist in the list "
                f"of available devices. Available devices: {','.join(by_name)}"
            )
    if schedule is not None:
        schedule.check(graph)
    if len(used) > 1:
        control_loops.add_control_flow(graph, name_counter)
    elif schedule is None and all(by_name[name].device_type == "CPU" for name in used):
        _check_inputs(graph)
        if graph.library is not None:
            graph.library = graph.library.reachable_from(graph.op_nodes())
        return dict.fromkeys(used, graph)
    partitioner = _Partitioner(graph, by_name, name_counter, incarnations or {})
    partitions = partitioner.run()
    if schedule is not None:
        partitioner.apply(schedule)
    for part in partitions.values():
        part.fixup_source_and_sink_edges()
        if part.library is not None:
            part.library = part.library.reachable_from(part.op_nodes())
    return partitions


def _check_inputs(graph: Graph) -> None:
    for node in graph.op_nodes():
        edges = node.data_in_edges
        if len(edges) != len(node.input_types) or None in edges:
            raise _incomplete(node, len(edges) - edges.count(None))


def _incomplete(node: Node, found: int) -> errors.InvalidArgumentError:
    return errors.invalid_argument(
        f"Incomplete graph, missing {node.num_inputs - found} inputs for {node.name}"
    )


class _Partitioner:
    """One run of the partitioning.

    State: ``late`` says which readers of variables come after a writer; ``parts`` by device name;
    ``twin`` maps a node to its copy; ``received`` maps (source node, output, destination device,
    on host, as a variable's cell) to the node that has the tensor there; ``made`` has the nodes
    that the cut added, each with the node whose start time it shares.
    """

    __slots__ = (
        "by_name",
        "graph",
        "incarnations",
        "late",
        "made",
        "name_counter",
        "parts",
        "received",
        "twin",
    )

    def __init__(
        self,
        graph: Graph,
        by_name: dict[str, PartitionDevice],
        name_counter: Iterator[int],
        incarnations: Mapping[str, int],
    ) -> None:
        self.graph = graph
        self.late = ReadsAfterWrites(graph)
        self.incarnations = incarnations
        self.by_name = by_name
        self.name_counter = name_counter
        self.parts: dict[str, Graph] = {}
        self.twin: dict[Node, Node] = {}
        self.received: dict[tuple[Node, int, str, bool, bool], Node] = {}
        self.made: list[tuple[Node, Node]] = []

    def run(self) -> dict[str, Graph]:
        """Copy the nodes, then cut or copy the edges of each."""
        for node in self.graph.op_nodes():
            part = self.parts.get(node.assigned_device)
            if part is None:
                part = self.parts[node.assigned_device] = self.graph.empty_like()
            self.twin[node] = part.copy_node(node)
        for node in list(self.graph.op_nodes()):
            self._connect(node)
        return self.parts

    def apply(self, schedule: recv_scheduling.RecvSchedule) -> None:
        """Set the start times of nodes, and let Recvs wait for theirs."""
        # The nodes added for loops across devices have no start time; Recvs do not wait for them.
        given = schedule.start_times
        times = {twin: given.get(node, 0) for node, twin in self.twin.items()}
        for made, like in self.made:
            times[made] = min(times.get(made, times[like]), times[like])
        cut = [node for node, _ in self.made]
        after_loops = recv_scheduling.nodes_after_loops(self.graph)
        may_precede = {
            twin for node, twin in self.twin.items() if node in given and node not in after_loops
        }
        if schedule.need_to_record_start_times:
            cut += self.twin.values()
        for node in dict.fromkeys(cut):
            node.set_attr(recv_scheduling.START_TIME, times[node])
        if schedule.scheduling_for_recvs:
            for part in self.parts.values():
                part.fixup_source_and_sink_edges()
                recv_scheduling.add_recv_triggers(part, times, may_precede, self.name_counter)

    def _new_name(self, prefix: str) -> str:
        return f"{prefix}/_{next(self.name_counter)}"

    def _connect(self, dst: Node) -> None:
        part, copy = self.parts[dst.assigned_device], self.twin[dst]
        # Merges of shadow loops, whose control edges to dst move to the Recvs of this frame.
        data: list[Edge] = []
        controls: list[Edge] = []
        loop_merges: list[Node] = []
        for edge in dst.in_edges:
            if edge.dst_input != CONTROL_SLOT:
                data.append(edge)
            elif edge.src.is_merge and control_loops.is_control_loop(edge.src):
                loop_merges.append(self.twin[edge.src])
            elif edge.src.is_op:
                controls.append(edge)
        if len(data) != dst.num_inputs:
            raise _incomplete(dst, len(data))
        data.sort(key=lambda edge: edge.dst_input)
        # dst may read through a cut reference edge only after all its other inputs have arrived.
        ref_recvs: list[Node] = []
        ready_before: list[Node] = []
        for edge in (*data, *controls):
            is_control = edge.is_control
            is_ref = not is_control and edge.src.output_types[edge.src_output].is_ref_dtype
            if not self._must_cut(edge):
                src = self.twin[edge.src]
                part.add_edge(src, edge.src_output, copy, edge.dst_input)
                if not is_ref:
                    ready_before.append(src)
                continue
            is_late = self._reads_assigned_value(edge)
            key = (edge.src, edge.src_output, dst.assigned_device, self._on_host(edge), is_late)
            arrived = self.received.get(key)
            if arrived is None and self._is_constant_beside_its_host_consumer(edge):
                arrived = self.received[key] = self._add_host_const(edge.src)
            if arrived is None:
                arrived, recv, send = self._add_pair(edge)
                if edge.src.assigned_device == dst.assigned_device:
                    # Without this edge, the asynchronous Recv would start before the tensor is
                    # sent.
                    part.add_control_edge(send, recv)
                elif loop_merges:
                    part.add_control_edge(loop_merges.pop(), recv)
                if self._fetches_variable(edge) or (is_ref and self._reads_after_others(edge)):
                    send.set_attr(SENDS_CELL, True)
                elif is_late:
                    send.set_attr(PASSES_CELL, True)
                    recv.set_attr(PASSES_CELL, True)
                if not is_ref and SENDS_CELL not in send.attrs:
                    self.received[key] = arrived
                if is_ref:
                    ref_recvs.append(recv)
            # A Recv is needed when the first of its consumers starts.
            self.made.append((arrived, copy))
            if is_control and arrived.is_identity:
                self.made.append((arrived.input_node(0), copy))
            if not is_ref:
                ready_before.append(arrived)
            if is_control:
                part.add_control_edge(arrived, copy)
            else:
                part.add_edge(arrived, 0, copy, edge.dst_input)
        for recv in ref_recvs:
            for node in ready_before:
                part.add_control_edge(node, recv)
        for merge in loop_merges:
            part.add_control_edge(merge, copy)

    def _must_cut(self, edge: Edge) -> bool:
        src, dst = edge.src, edge.dst
        if src.assigned_device != dst.assigned_device:
            return True
        if edge.is_control or self.by_name[src.assigned_device].device_type == "CPU":
            return False
        return output_on_host(src, edge.src_output) != input_on_host(dst, edge.dst_input)

    def _fetches_variable(self, edge: Edge) -> bool:
        """Return whether the edge only fetches a variable, which is read when the step ends."""
        devices = (edge.src.assigned_device, edge.dst.assigned_device)
        return (
            not edge.is_control
            and all(self.by_name[device].device_type == "CPU" for device in devices)
            and gives_cell(edge.src, edge.src_output)
            and is_only_fetched(edge.dst)
        )

    def _reads_after_others(self, edge: Edge) -> bool:
        """Return whether a reader in another task waits for more, perhaps for an assignment.

        Its Recv asks for the variable once all else is there, and gets the value of that moment.
        """
        src, dst = edge.src.assigned_device, edge.dst.assigned_device
        return (
            len(edge.dst.in_edges) > 1
            and src.partition("/device:")[0] != dst.partition("/device:")[0]
            and all(self.by_name[device].device_type == "CPU" for device in (src, dst))
        )

    def _reads_assigned_value(self, edge: Edge) -> bool:
        """Return whether a reader on another CPU device of this task comes after an assignment.

        In TensorFlow both devices have the variable's own buffer.
        """
        src, dst = edge.src.assigned_device, edge.dst.assigned_device
        return (
            src.partition("/device:")[0] == dst.partition("/device:")[0]
            and all(self.by_name[device].device_type == "CPU" for device in (src, dst))
            and self.late.has(edge)
        )

    def _on_host(self, edge: Edge) -> bool:
        if self.by_name[edge.dst.assigned_device].device_type == "CPU":
            return True
        return not edge.is_control and input_on_host(edge.dst, edge.dst_input)

    def _is_constant_beside_its_host_consumer(self, edge: Edge) -> bool:
        return edge.src.is_constant and edge.src.assigned_device == edge.dst.assigned_device

    def _add_host_const(self, const: Node) -> Node:
        """Return a copy of a constant in host memory: copying it back would stop the device."""
        part = self.parts[const.assigned_device]
        twin = part.add_node(
            self._new_name(const.name),
            "HostConst",
            {name: const.attrs[name] for name in ("dtype", "value")},
            assigned_device=const.assigned_device,
            original_names=(const.name,),
        )
        # The copy is dead where the constant is dead, and waits where it waits.
        part.add_control_edge(self.twin[const], twin)
        return twin

    def _add_pair(self, edge: Edge) -> tuple[Node, Node, Node]:
        """Make Send and Recv for an edge; return the node that has the tensor there, Recv, Send."""
        src, dst = edge.src, edge.dst
        src_part, dst_part = self.parts[src.assigned_device], self.parts[dst.assigned_device]
        if edge.is_control:
            dtype: DType = dtypes.float32
            send_from, output = self._add_dummy(src), 0
            from_host = to_host = False
        else:
            from_host = output_on_host(src, edge.src_output)
            to_host = input_on_host(dst, edge.dst_input)
            dtype = dst.input_types[edge.dst_input].base_dtype
            send_from, output = self.twin[src], edge.src_output
        attrs: dict[str, Any] = {
            "tensor_name": f"edge_{edge.id}_{src.name}".encode(),
            "send_device": src.assigned_device.encode(),
            "send_device_incarnation": self.incarnations.get(src.assigned_device, 1),
            "recv_device": dst.assigned_device.encode(),
            "client_terminated": False,
            "_src": src.name.encode(),
            "_dst": dst.name.encode(),
        }
        send = src_part.add_node(
            self._new_name(src.name),
            "_HostSend" if from_host else "_Send",
            {"T": dtype, **attrs},
            assigned_device=src.assigned_device,
            original_names=(src.name,),
        )
        src_part.add_edge(send_from, output, send, 0)
        self.made.append((send, self.twin[src]))
        recv = dst_part.add_node(
            self._new_name(src.name),
            "_HostRecv" if to_host else "_Recv",
            {"tensor_type": dtype, **attrs},
            assigned_device=dst.assigned_device,
            original_names=(src.name,),
        )
        if not edge.is_control:
            return recv, recv, send
        arrived = dst_part.add_node(
            self._new_name(src.name),
            "Identity",
            {"T": dtype},
            assigned_device=dst.assigned_device,
            original_names=(src.name,),
        )
        dst_part.add_edge(recv, 0, arrived, 0)
        return arrived, recv, send

    def _add_dummy(self, src: Node) -> Node:
        part = self.parts[src.assigned_device]
        dummy = part.add_node(
            self._new_name(f"{src.name}/ctrl"),
            "Const",
            control_loops.empty_const_attrs(),
            assigned_device=src.assigned_device,
        )
        part.add_control_edge(self.twin[src], dummy)
        self.made.append((dummy, self.twin[src]))
        return dummy
