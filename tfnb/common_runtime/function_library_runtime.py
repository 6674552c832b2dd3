"""Calls functions of the graph's library.

A function is instantiated once per (name, attributes, device): its body becomes a graph, is placed,
partitioned and prepared like a signature.  A call is a step inside the caller's step: its own call
frame and rendezvous, the same resources, the same end.  The calling thread runs it.
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.executor import ExecutorState, drive
from tfnb.common_runtime.immutable_executor_state import ImmutableExecutorState, initialize
from tfnb.common_runtime.kernel_stats import PoolChoice
from tfnb.common_runtime.lowering.emit import run_acyclic
from tfnb.common_runtime.placer import Placer
from tfnb.common_runtime.run_state import CallFrame
from tfnb.common_runtime.waiting import absent_value
from tfnb.core import errors
from tfnb.core.op_kernel import OpKernel, OpKernelContext, StepContext, create_kernel
from tfnb.graph.function_body import instantiate
from tfnb.graph.function_library import FunctionDefinition
from tfnb.graph.graph_constructor import graph_from_graph_def, graph_to_graph_def
from tfnb.graph.graph_partition import partition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tfnb.common_runtime.device import Device
    from tfnb.common_runtime.direct_session import DirectSession
    from tfnb.common_runtime.run_state import RunState
    from tfnb.common_runtime.thread_pool import ThreadPool
    from tfnb.core.op_kernel import type_of_done
    from tfnb.graph.function_library import FunctionLibraryDefinition
    from tfnb.graph.graph import Graph, Node
    from tfnb.proto import graph_pb2

MAX_DEPTH = 64
"""How deep functions may call each other; a deeper call is taken for an endless recursion."""


@dataclass(slots=True)
class InstantiatedFunction:
    """A function ready to be called."""

    name: str
    executors: list[ImmutableExecutorState]
    num_args: int
    num_retvals: int
    _pool_choice: PoolChoice | None = None

    def states(self, pool: ThreadPool | None) -> Sequence[ImmutableExecutorState]:
        """What runs each partition, with a pool of threads or without."""
        if pool is None:
            return self.executors
        if self._pool_choice is None:
            self._pool_choice = PoolChoice(self.executors)
        return self._pool_choice.choose()


class FunctionLibraryRuntime:
    """The functions of one session; thread safe."""

    def __init__(self, session: DirectSession) -> None:
        self._session = session
        self._lock = threading.RLock()
        self._instances: dict[tuple[Any, ...], InstantiatedFunction] = {}  # guarded by self._lock
        self._edge_names = itertools.count(0)

    def call(
        self, ctx: OpKernelContext, name: str, attrs: Mapping[str, Any], args: Sequence[Any]
    ) -> list[Any]:
        """Calls a function and returns its results.

        Raises:
          NotFoundError: there is no such function.
          InvalidArgumentError: the number of arguments is wrong, or a result is dead.
          OpError: what the body failed with.
        """
        function = self.instantiate(name, attrs, ctx.device)  # type: ignore[arg-type]
        return self._call(ctx, function, args)

    def call_graph(
        self,
        ctx: OpKernelContext,
        name: str,
        make_graph_def: Callable[[], graph_pb2.GraphDef],
        args: Sequence[Any],
    ) -> list[Any]:
        """Runs a graph with an ``_Arg`` for each argument and a ``_Retval`` for each result.

        Args:
          ctx: the kernel that asks.
          name: what the graph is called; made once for each name and device.
          make_graph_def: makes it.
          args: the arguments.

        Raises:
          OpError: what the graph failed with.
        """
        device: Device = ctx.device  # type: ignore[assignment]
        key = (name, device.name)
        with self._lock:
            found = self._instances.get(key)
            if found is None:
                library = self._library()
                graph = graph_from_graph_def(make_graph_def(), library=library)
                num_args = sum(node.op == "_Arg" for node in graph.op_nodes())
                num_retvals = sum(node.op == "_Retval" for node in graph.op_nodes())
                found = self._prepare(name, graph, device, num_args, num_retvals)
                self._instances[key] = found
        return self._call(ctx, found, args)

    def body_graph_def(self, name: str, attrs: Mapping[str, Any]) -> graph_pb2.GraphDef:
        """A function's body with an ``_Arg`` for each argument and a ``_Retval`` for each result.

        Raises:
          NotFoundError: there is no such function.
        """
        return graph_to_graph_def(instantiate(self._find(name), attrs, self._library()).graph)

    @property
    def session_graph(self) -> Graph | None:
        """The whole graph of the session, for whoever explains what one of its steps does."""
        return self._session.graph

    def gradient_function(self, name: str) -> str:
        """The name of the function that a function was given as its gradient, or ""."""
        library = self._library()
        return "" if library is None else library.find_gradient(name)

    def _call(
        self, ctx: OpKernelContext, function: InstantiatedFunction, args: Sequence[Any]
    ) -> list[Any]:
        name = function.name
        if len(args) != function.num_args:
            raise errors.invalid_argument(
                f"Function '{name}' takes {function.num_args} arguments, not {len(args)}."
            )
        caller: RunState = ctx.step.run_state  # type: ignore[assignment]
        if caller.depth >= MAX_DEPTH:
            raise errors.invalid_argument(
                f"Function '{name}' was called {MAX_DEPTH} calls deep; recursive functions are not "
                "supported."
            )
        frame = CallFrame(args, function.num_retvals)
        run_state = caller.nested(frame)
        step = StepContext(
            ctx.step.step_id,
            run_state,
            self,
            ctx.step.session_state,
            ctx.step.session_handle,
            frame,
        )
        try:
            states = _run(function, run_state, step)
        finally:
            caller.leave(run_state)
        for position, value in enumerate(frame.retvals):
            if value is None:
                raise absent_value(states, position, f"result {position} of function '{name}'")
        return frame.retvals

    def run(
        self,
        ctx: OpKernelContext,
        name: str,
        attrs: Mapping[str, Any],
        args: Sequence[Any],
        done: type_of_done,
    ) -> None:
        """Calls a function; ``done`` gets its results or the exception."""
        try:
            results = self.call(ctx, name, attrs, args)
        except Exception as error:
            done(error)
        else:
            done(results)

    def call_kernel(self, node: Node, device: Device) -> OpKernel:
        """The kernel of a node whose op is a function of the library."""
        definition = node.op_definition
        assert isinstance(definition, FunctionDefinition)
        name, attrs = node.op, node.attrs

        def compute(ctx: OpKernelContext, *args: Any) -> Any:
            return tuple(self.call(ctx, name, attrs, args))

        return OpKernel(
            node_name=node.name,
            definition=definition,
            device=device,
            kind="context",
            compute=compute,
            attrs=attrs,
            num_outputs=node.num_outputs,
        )

    def instantiate(
        self, name: str, attrs: Mapping[str, Any], device: Device
    ) -> InstantiatedFunction:
        """The function's body, ready to run from ``device``.

        Raises:
          NotFoundError: there is no such function.
        """
        key = (name, device.name, tuple(sorted((k, repr(v)) for k, v in attrs.items())))
        with self._lock:
            found = self._instances.get(key)
            if found is None:
                found = self._instances[key] = self._instantiate(name, attrs, device)
            return found

    def _instantiate(
        self, name: str, attrs: Mapping[str, Any], device: Device
    ) -> InstantiatedFunction:
        body = instantiate(self._find(name), attrs, self._library())
        return self._prepare(name, body.graph, device, len(body.arg_types), len(body.ret_types))

    def _library(self) -> FunctionLibraryDefinition | None:
        graph = self._session.graph
        return None if graph is None else graph.library

    def _find(self, name: str) -> FunctionDefinition:
        library = self._library()
        definition = None if library is None else library.find(name)
        if definition is None:
            raise errors.not_found(f"Function {name} is not defined.")
        return definition

    def _prepare(
        self, name: str, graph: Graph, device: Device, num_args: int, num_retvals: int
    ) -> InstantiatedFunction:
        """Places and partitions a graph and makes its kernels."""
        session = self._session
        Placer(
            graph,
            session.device_mgr.devices,
            device,
            allow_soft_placement=True,
            log_device_placement=False,
        ).run()
        kernels: dict[str, OpKernel] = {}

        def make_kernel(node: Node, device: Device) -> OpKernel:
            definition = node.op_definition
            assert definition is not None
            if isinstance(definition, FunctionDefinition):
                return self.call_kernel(node, device)
            kernel = kernels.get(node.name)
            if kernel is None:
                kernel = create_kernel(definition, node.name, node.attrs, device)
                kernels[node.name] = kernel
            return kernel

        partitions = partition(graph, session.device_mgr.devices, self._edge_names)
        executors = [
            initialize(part, session.device_mgr.lookup(device_name), make_kernel)
            for device_name, part in partitions.items()
        ]
        return InstantiatedFunction(name, executors, num_args, num_retvals)


def _run(
    function: InstantiatedFunction, run_state: RunState, step: StepContext
) -> list[ExecutorState]:
    """Runs the body; gives its partitions as they are now, where they kept counts."""
    executors = function.states(run_state.pool)
    if len(executors) == 1 and executors[0].schedule is not None:
        run_acyclic(executors[0], run_state, step, 0)
        return []
    states = [ExecutorState(one, run_state, step, index) for index, one in enumerate(executors)]
    drive(run_state, states)
    return states
