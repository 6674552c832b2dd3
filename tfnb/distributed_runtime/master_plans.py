"""What runs a signature of a master: its graph, cut by task and stage, registered with the workers.

Placement and partitioning are those of sessions in this process, with the devices of all tasks.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from tfnb.common_runtime.device.cpu_device import CpuDevice
from tfnb.common_runtime.device.device import Device
from tfnb.common_runtime.device.device_mgr import DeviceMgr
from tfnb.core import array_module, errors
from tfnb.core.rendezvous import key_of_transfer
from tfnb.distributed_runtime.expected_sizes import ExpectedSizes
from tfnb.distributed_runtime.rendezvous_mgr import task_of
from tfnb.distributed_runtime.worker_interface import DESCRIPTION
from tfnb.graph.collective_nodes import collective_graph_key
from tfnb.graph.graph_constructor import node_to_node_def
from tfnb.graph.graph_partition import partition
from tfnb.graph.packed_transfers import pack_transfers
from tfnb.graph.staged_parts import RELAYED, fetch_at_sources, stages_of
from tfnb.proto import config_pb2, graph_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tfnb.common_runtime.session.graph_execution_state import (
        ClientGraph,
        GraphExecutionState,
    )
    from tfnb.distributed_runtime.worker_interface import RunGraphResult, WorkerInterface
    from tfnb.graph.graph import Graph
    from tfnb.proto import device_attributes_pb2


class RemoteDevice(Device):
    """A device of another task that is no CPU: placement sees it, nothing runs on it here."""

    is_remote = True

    def __init__(self, attributes: device_attributes_pb2.DeviceAttributes) -> None:
        super().__init__(attributes.name, 0, array_module, attributes.memory_limit)
        self.device_type = attributes.device_type
        self.priority = 210 if attributes.device_type == "GPU" else 50
        self.incarnation = attributes.incarnation


def device_of(attributes: device_attributes_pb2.DeviceAttributes) -> Device:
    """Return what placement and optimization need of a task's device."""
    if attributes.device_type != "CPU":
        return RemoteDevice(attributes)
    device = CpuDevice(attributes.name, 0)
    device.incarnation = attributes.incarnation
    device.memory_limit = attributes.memory_limit
    return device


class MasterDeviceMgr(DeviceMgr):
    """The devices of all tasks; feeds and fetches belong to a CPU of the master's task."""

    def __init__(self, devices: Sequence[Device], master_task: str) -> None:
        super().__init__(devices)
        self._master_task = master_task

    @property
    def host(self) -> Device:
        """The device where feeds arrive and fetches leave."""
        for device in self.devices:
            if device.device_type == "CPU" and task_of(device.name) == self._master_task:
                return device
        return super().host


@dataclass(slots=True)
class Part:
    """One task's share of a signature, or of a stage of it.

    Attributes:
      task: the task, by its name in the session's cluster.
      worker: the task's worker.
      graph_handle: what it calls the graph.
      feeds: tensor name -> rendezvous key, of the feeds that it takes.
      fetches: rendezvous key -> tensor name, of the fetches that it returns.
      takes: name -> rendezvous key, of what it gets from earlier stages.
      gives: rendezvous key -> name, of what it returns for later ones.
    """

    task: str
    worker: WorkerInterface
    graph_handle: str
    feeds: dict[str, str]
    fetches: dict[str, str]
    takes: dict[str, str] = field(default_factory=dict)
    gives: dict[str, str] = field(default_factory=dict)


class Plan:
    """What runs the steps of a signature.

    Attributes:
      stages: the parts that run at once, for each stage.
      parts: those of all stages.
      workers: the worker of each task that takes part.
      collective_key: names its collective ops for masters of other tasks; 0: it has none.
    """

    __slots__ = ("_keys", "collective_key", "parts", "stages", "workers")

    def __init__(self, stages: Sequence[Sequence[Part]], collective_key: int = 0) -> None:
        self.stages, self.collective_key = stages, collective_key
        self.parts = [part for stage in stages for part in stage]
        self.workers = {part.task: part.worker for part in self.parts}
        self._keys = {name: key for part in self.parts for key, name in part.fetches.items()}

    def result(
        self,
        results: Iterable[RunGraphResult],
        received: Mapping[str, Any],
        fetches: Sequence[str],
        *,
        has_metadata: bool,
    ) -> StepResult:
        """Return what a step, or a part of one, gave.

        Args:
          results: of its runs.
          received: all that they returned, by key.
          fetches: what the client asked for.
          has_metadata: whether it asked for what was recorded.
        """
        metadata: config_pb2.RunMetadata | None = None
        if has_metadata:
            metadata = config_pb2.RunMetadata()
            for one in results:
                if one.step_stats is not None:
                    metadata.step_stats.dev_stats.extend(one.step_stats.dev_stats)
                metadata.partition_graphs.extend(one.partition_graphs)
        return StepResult({name: received[self._keys[name]] for name in fetches}, metadata)


@dataclass(slots=True)
class StepResult:
    """What a step gave: values by name, and what was recorded."""

    values: dict[str, Any]
    metadata: config_pb2.RunMetadata | None = None


class Signature(NamedTuple):
    """What a client feeds, fetches and runs, without order and repetition.

    Attributes:
      feeds, fetches, targets: names.
      is_partial: whether it is fed and fetched in parts.
      is_recorded: whether its steps are recorded, which shows them without stages.
      connections: pairs (from, to): consumers of tensor ``to`` get ``from`` instead.
    """

    feeds: tuple[str, ...]
    fetches: tuple[str, ...]
    targets: tuple[str, ...]
    is_partial: bool = False
    is_recorded: bool = False
    connections: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(
        cls,
        feeds: Iterable[str],
        fetches: Iterable[str],
        targets: Iterable[str],
        *,
        is_partial: bool = False,
        is_recorded: bool = False,
        connections: Iterable[tuple[str, str]] = (),
    ) -> Self:
        """Return the signature of names in any order."""
        return cls(
            tuple(sorted(feeds)),
            tuple(sorted(set(fetches))),
            tuple(sorted(set(targets))),
            is_partial,
            is_recorded,
            tuple(connections),
        )


class PlanMaker:
    """Makes the plans of one session, and registers their graphs with the workers.

    Attributes:
      device_mgr: the devices of all tasks.
      tidy_tasks: those that clean up by themselves after a step that succeeded.
    """

    def __init__(
        self,
        handle: str,
        config: config_pb2.ConfigProto,
        device_mgr: MasterDeviceMgr,
        devices: Sequence[device_attributes_pb2.DeviceAttributes],
        worker_of: Callable[[str], WorkerInterface],
    ) -> None:
        """Prepare for a session.

        Args:
          handle: names it.
          config: as the client sent it.
          device_mgr: the devices of all tasks.
          devices: the same, as the tasks describe them.
          worker_of: finds the workers.
        """
        self._handle, self._config, self._worker_of = handle, config, worker_of
        self._incarnations = {device.name: device.incarnation for device in devices}
        cpus = [device for device in devices if device.device_type == "CPU"]
        self._cpus = {device.name for device in cpus}
        self._packing = {
            device.name for device in cpus if device.physical_device_desc == DESCRIPTION
        }
        self.device_mgr = device_mgr
        self.tidy_tasks = set(map(task_of, self._packing))
        self._edge_names = itertools.count(0)

    def make(self, state: GraphExecutionState, signature: Signature) -> Plan:
        """Make the plan of a signature of a graph.

        Raises:
          OpError: the graph cannot be pruned, placed or cut, or what a worker answered.
        """
        client_graph, cut = cut_by_device(
            state,
            self.device_mgr,
            self._incarnations,
            self._edge_names,
            (signature.feeds, signature.fetches, signature.targets),
            signature.connections,
        )
        stages = [cut]
        if not signature.is_partial:  # a part that is fed later must not hold up the others
            bytes_of, names = ExpectedSizes(client_graph.graph).bytes_of, self._edge_names
            found = None
            if not signature.is_recorded:
                found = stages_of(cut, self._may_pack, bytes_of, names)
            if found is None:
                if not signature.is_recorded:
                    fetch_at_sources(cut, self._may_move)
                pack_transfers(cut, self._may_pack, bytes_of, names)
            else:
                stages = found
        registered: list[list[Part]] = []
        try:
            for graphs in stages:
                registered.append([])
                by_task: dict[str, list[Graph]] = {}
                for device, graph in graphs.items():
                    by_task.setdefault(task_of(device), []).append(graph)
                for task, its_graphs in by_task.items():
                    registered[-1].append(self._register(task, its_graphs))
        except BaseException:
            self.deregister([part for parts in registered for part in parts])
            raise
        return Plan(registered, collective_graph_key(client_graph.graph))

    def _may_pack(self, source: str, target: str) -> bool:
        """Return whether transfers between two devices may be packed: TensorFlow's get each tensor.

        Between devices of one task nothing is saved.
        """
        return task_of(source) != task_of(target) and {source, target} <= self._packing

    def _may_move(self, source: str, target: str) -> bool:
        """Return whether a fetch may leave from one device instead of another one."""
        return task_of(source) != task_of(target) and {source, target} <= self._cpus

    def _register(self, task: str, graphs: Sequence[Graph]) -> Part:
        graph_def = graph_pb2.GraphDef()
        feeds: dict[str, str] = {}
        fetches: dict[str, str] = {}
        takes: dict[str, str] = {}
        gives: dict[str, str] = {}
        for graph in graphs:
            graph_def.versions.producer = graph.versions.producer
            graph_def.versions.min_consumer = graph.versions.min_consumer
            if graph.library is not None:
                known = {function.signature.name for function in graph_def.library.function}
                message = graph.library.to_proto()
                graph_def.library.function.extend(
                    one for one in message.function if one.signature.name not in known
                )
                del graph_def.library.gradient[:]
                graph_def.library.gradient.extend(message.gradient)
            for node in graph.op_nodes():
                node_to_node_def(node, graph_def.node.add())
                if (node.is_recv or node.is_send) and node.attrs["client_terminated"]:
                    name, key = node.attrs["tensor_name"].decode(), key_of_transfer(node.attrs)
                    is_relayed = RELAYED in node.attrs
                    if node.is_recv:
                        (takes if is_relayed else feeds)[name] = key
                    else:
                        (gives if is_relayed else fetches)[key] = name
        worker = self._worker_of(task)
        handle = worker.register_graph(self._handle, graph_def, self._config)
        return Part(task, worker, handle, feeds, fetches, takes, gives)

    def deregister(self, parts: Sequence[Part]) -> None:
        """Drop the graphs of parts, of a plan that is not used any more."""
        for part in parts:
            try:
                part.worker.deregister_graph(self._handle, part.graph_handle)
            except errors.OpError:
                continue  # the task ended, and the graph with it


def cut_by_device(
    state: GraphExecutionState,
    device_mgr: MasterDeviceMgr,
    incarnations: Mapping[str, int],
    edge_names: Iterator[int],
    names: tuple[Sequence[str], Sequence[str], Sequence[str]],
    connections: Sequence[tuple[str, str]] = (),
) -> tuple[ClientGraph, dict[str, Graph]]:
    """Prune, place and cut the graph of a signature.

    Args:
      state: the session's graph.
      device_mgr: the devices of all tasks.
      incarnations: of each device.
      edge_names: numbers the edges between devices.
      names: feeds, fetches and targets.
      connections: tensors that take the place of others.

    Returns:
      The whole graph, and its part for each device.

    Raises:
      OpError: a name or a device does not fit the graph.
    """
    client_graph = state.build_graph(*names, use_function_convention=False, connections=connections)
    graph = client_graph.graph
    for node in graph.op_nodes():
        if (node.is_recv or node.is_send) and node.attrs["client_terminated"]:
            incarnation = incarnations[node.assigned_device]
            node.set_attr("send_device_incarnation", _signed(incarnation))
    signed = {name: _signed(number) for name, number in incarnations.items()}
    return client_graph, partition(graph, device_mgr.devices, edge_names, signed)


def _signed(number: int) -> int:
    """Return an unsigned number of 64 bits as the signed one that an attribute holds."""
    return number - (1 << 64) if number >= 1 << 63 else number
