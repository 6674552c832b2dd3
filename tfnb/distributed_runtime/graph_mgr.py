"""The graphs that masters registered with a worker, ready to run.

A registered graph is placed already and contains the Sends and Recvs of edges between devices.  The
Recvs and Sends that end at the client become arguments and results here, so that the graph runs the
ways that a session in this process runs its graphs, emitted functions among them.

Corresponds to TensorFlow's ``graph_mgr.cc``.
"""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from tfnb.common_runtime.executor.executors_and_keys import view
from tfnb.common_runtime.session.direct_session import DirectSession
from tfnb.common_runtime.session.graph_execution_state import ClientGraph
from tfnb.common_runtime.session.session_factory import SessionOptions
from tfnb.core import errors, op_registry
from tfnb.core.effects import LOADED_ATTR
from tfnb.core.rendezvous import key_of_transfer
from tfnb.core.step_events import StepEvents
from tfnb.distributed_runtime.worker_interface import RunGraphResult
from tfnb.graph.collective_nodes import has_collectives
from tfnb.proto import config_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tfnb.common_runtime.device.device_mgr import DeviceMgr
    from tfnb.common_runtime.executor.executors_and_keys import ExecutorsAndKeys
    from tfnb.common_runtime.executor.run_state import RunState
    from tfnb.common_runtime.session.session_state import SessionState
    from tfnb.core.dtypes import DType
    from tfnb.core.effects import EffectsPolicy
    from tfnb.core.op_kernel import OpKernel
    from tfnb.core.rendezvous import Rendezvous
    from tfnb.graph.graph import Graph
    from tfnb.proto import graph_pb2


class GraphEnds(NamedTuple):
    """Where a graph meets the client: keys and types of its arguments and results."""

    feeds: tuple[str, ...]
    feed_types: list[DType]
    fetches: tuple[str, ...]
    fetch_types: list[DType]


class RegisteredGraph(DirectSession):
    """One registered graph; a session of this process whose graph is the partition.

    Attributes:
      has_transfers: whether it exchanges tensors with other graphs of a step.
    """

    def __init__(
        self,
        graph_def: graph_pb2.GraphDef,
        config: config_pb2.ConfigProto,
        device_mgr: DeviceMgr,
        kernels: dict[str, OpKernel],
        session_state: SessionState,
        policy: EffectsPolicy | None = None,
    ) -> None:
        """Take the graph; its executors are made for the first step.

        Args:
          graph_def: the nodes, each with its device.
          config: of the master's session.
          device_mgr: the worker's devices.
          kernels: the stateful kernels of the session's graphs on this worker.
          session_state: the values that the session keeps here.
          policy: the effects that the graph may have; None: all.

        Raises:
          InvalidArgumentError: a node is malformed, or its device is not this worker's.
        """
        own = config_pb2.ConfigProto()
        own.CopyFrom(config)
        # A name belongs to one session, and a session has many graphs.
        own.experimental.ClearField("session_metadata")
        super().__init__(SessionOptions("", own), device_mgr, kernels)
        self.session_state = session_state
        self._preparing = threading.Lock()
        self._prepared: dict[bool, ExecutorsAndKeys] = {}  # guarded by self._preparing
        if policy is not None:
            self.effects_policy = policy
            _mark_effects(graph_def)
        self.extend(graph_def)
        graph = self.graph
        if graph is None:
            raise errors.invalid_argument("A graph without nodes was registered.")
        self.has_transfers = has_collectives(graph)
        for node in graph.op_nodes():
            node.assigned_device = node.requested_device
            self.device_mgr.lookup(node.requested_device)
            if (node.is_recv or node.is_send) and not node.attrs["client_terminated"]:
                self.has_transfers = True

    @property
    def has_whole_graph(self) -> bool:
        """Other graphs of the session, and other sessions, use the same resources."""
        return False

    @property
    def kept_by_pipelines(self) -> object:
        """An iterator, which is a resource of the task, calls functions of the graph later, too."""
        return self

    @staticmethod
    def _new_step_events() -> StepEvents:
        """Return events that those who watch sessions do not get: they get the client's steps."""
        return StepEvents()

    def close(self) -> None:
        """End all steps, and delete what only functions of this graph can name."""
        super().close()
        self._functions.release_all()

    def _prepared_for(self, *, in_parts: bool) -> ExecutorsAndKeys:
        """Return what runs a whole step, or one fed and fetched in parts by the rendezvous."""
        with self._preparing:
            found = self._prepared.get(in_parts)
            if found is None:
                found = self._prepared[in_parts] = self._prepare(in_parts=in_parts)
            return found

    def _prepare(self, *, in_parts: bool) -> ExecutorsAndKeys:
        assert self.graph is not None
        graph = self.graph.copy()
        ends = GraphEnds((), [], (), []) if in_parts else turn_into_arguments(graph)
        graph.fixup_source_and_sink_edges()
        client_graph = ClientGraph(graph, ends.feed_types, ends.fetch_types)
        executors = self.executors_of(
            client_graph, ends.feeds, ends.fetches, (), is_partial_run=in_parts
        )
        return view(executors, (ends.feeds, ends.fetches, ()))

    def run_in_parts(self, rendezvous: Rendezvous, on_start: Callable[[RunState], None]) -> None:
        """Run the graph once; feeds and fetches meet their senders and receivers meanwhile.

        Raises:
          OpError: what a node failed with.
        """
        self.run_prepared(self._prepared_for(in_parts=True), (), None, None, rendezvous, on_start)

    def run_step(
        self,
        rendezvous: Rendezvous | None,
        send: Mapping[str, Any],
        recv_keys: Sequence[str],
        options: config_pb2.RunOptions | None,
        on_start: Callable[[RunState], None],
    ) -> RunGraphResult:
        """Run the graph once.

        Args:
          rendezvous: of the step; None: the graph has no transfers.
          send: values by the keys of the graph's arguments.
          recv_keys: the keys of the results that are wanted.
          options: what is recorded; None: nothing.
          on_start: called with the step's state before it begins.

        Raises:
          InvalidArgumentError: an argument has no value, or a key is not the graph's.
          OpError: what a node failed with.
        """
        prepared = self._prepared_for(in_parts=False)
        try:
            values = [send[key] for key in prepared.feeds]
        except KeyError as error:
            raise errors.invalid_argument(f"The step was not sent {error.args[0]!r}.") from None
        metadata = None if options is None else config_pb2.RunMetadata()
        results = self.run_prepared(prepared, values, options, metadata, rendezvous, on_start)
        found = dict(zip(prepared.fetches, results))
        try:
            result = RunGraphResult({key: found[key] for key in recv_keys})
        except KeyError as error:
            raise errors.invalid_argument(f"The graph has no result {error.args[0]!r}.") from None
        if metadata is not None:
            result.step_stats, result.cost_graph = metadata.step_stats, metadata.cost_graph
            result.partition_graphs = list(metadata.partition_graphs)
        return result


def _mark_effects(graph_def: graph_pb2.GraphDef) -> None:
    """Mark the nodes that have effects as those of a stranger, in functions, too."""
    bodies = (function.node_def for function in graph_def.library.function)
    for nodes in (graph_def.node, *bodies):
        for node in nodes:
            definition = op_registry.find(node.op)
            if definition is not None and definition.effects:
                node.attr[LOADED_ATTR].b = True


def turn_into_arguments(graph: Graph) -> GraphEnds:
    """Replace Recvs from the client by arguments, Sends to it by results."""
    feeds: list[str] = []
    feed_types: list[DType] = []
    fetches: list[str] = []
    fetch_types: list[DType] = []
    for node in list(graph.op_nodes()):
        if not (node.is_recv or node.is_send) or not node.attrs["client_terminated"]:
            continue
        if node.is_recv:
            dtype = node.attrs["tensor_type"]
            argument = graph.add_node(
                f"_arg_{len(feeds)}_{node.name}", "_Arg", {"T": dtype, "index": len(feeds)}
            )
            argument.assigned_device = node.assigned_device
            for edge in list(node.out_edges):
                graph.add_edge(argument, edge.src_output, edge.dst, edge.dst_input)
            feeds.append(key_of_transfer(node.attrs))
            feed_types.append(dtype)
        else:
            dtype = node.attrs["T"]
            result = graph.add_node(
                f"_retval_{len(fetches)}_{node.name}",
                "_Retval",
                {"T": dtype, "index": len(fetches)},
            )
            result.assigned_device = node.assigned_device
            for edge in node.in_edges:
                if edge.src.is_op:
                    graph.add_edge(edge.src, edge.src_output, result, edge.dst_input)
            fetches.append(key_of_transfer(node.attrs))
            fetch_types.append(dtype)
        graph.remove_node(node)
    return GraphEnds(tuple(feeds), feed_types, tuple(fetches), fetch_types)


class GraphMgr:
    """The graphs of one session on one worker; thread safe."""

    def __init__(
        self,
        device_mgr: DeviceMgr,
        session_state: SessionState,
        policy: EffectsPolicy | None = None,
    ) -> None:
        self._device_mgr, self._session_state, self._policy = device_mgr, session_state, policy
        self._lock = threading.Lock()
        self._graphs: dict[str, RegisteredGraph] = {}  # guarded by self._lock
        self._kernels: dict[str, OpKernel] = {}
        self._numbers = itertools.count(1)

    def register(self, graph_def: graph_pb2.GraphDef, config: config_pb2.ConfigProto) -> str:
        """Prepare a graph; return its handle."""
        graph = RegisteredGraph(
            graph_def,
            config,
            self._device_mgr,
            self._kernels,
            self._session_state,
            self._policy,
        )
        handle = f"{next(self._numbers):016x}"
        with self._lock:
            self._graphs[handle] = graph
        return handle

    def find(self, handle: str) -> RegisteredGraph:
        """Return a graph.

        Raises:
          AbortedError: there is none of that handle.
        """
        with self._lock:
            found = self._graphs.get(handle)
        if found is None:
            raise errors.aborted(
                f"Graph handle is not found: {handle}. Possibly, this worker just restarted."
            )
        return found

    def deregister(self, handle: str) -> None:
        """Drop a graph; its steps in flight end."""
        graph = self.find(handle)
        with self._lock:
            self._graphs.pop(handle, None)
        graph.close()

    def deregister_all(self) -> None:
        """Drop all graphs, kernels, and the resources that only these kernels can name."""
        with self._lock:
            graphs, self._graphs = list(self._graphs.values()), {}
        for graph in graphs:
            graph.close()
        kernels = list(self._kernels.values())
        self._kernels.clear()
        for kernel in kernels:
            kernel.release()
