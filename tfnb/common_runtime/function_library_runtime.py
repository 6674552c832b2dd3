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
from tfnb.common_runtime.lowering.emit import run_acyclic
from tfnb.common_runtime.placer import Placer
from tfnb.common_runtime.run_state import CallFrame
from tfnb.core import errors
from tfnb.core.op_kernel import OpKernel, OpKernelContext, StepContext, create_kernel
from tfnb.graph.function_body import instantiate
from tfnb.graph.function_library import FunctionDefinition
from tfnb.graph.graph_partition import partition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.common_runtime.device import Device
    from tfnb.common_runtime.direct_session import DirectSession
    from tfnb.common_runtime.run_state import RunState
    from tfnb.core.op_kernel import type_of_done
    from tfnb.graph.graph import Node

MAX_DEPTH = 64
"""How deep functions may call each other; a deeper call is taken for an endless recursion."""


@dataclass(slots=True)
class InstantiatedFunction:
    """A function ready to be called."""

    name: str
    executors: list[ImmutableExecutorState]
    num_args: int
    num_retvals: int


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
            _run(function, run_state, step)
        finally:
            caller.leave(run_state)
        for position, value in enumerate(frame.retvals):
            if value is None:
                raise errors.invalid_argument(
                    f"Retval[{position}] does not have value: it is dead in function '{name}'."
                )
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
        graph = self._session.graph
        library = None if graph is None else graph.library
        definition = None if library is None else library.find(name)
        if definition is None or library is None:
            raise errors.not_found(f"Function {name} is not defined.")
        body = instantiate(definition, attrs, library)
        session = self._session
        Placer(
            body.graph,
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

        partitions = partition(body.graph, session.device_mgr.devices, self._edge_names)
        executors = [
            initialize(part, session.device_mgr.lookup(device_name), make_kernel)
            for device_name, part in partitions.items()
        ]
        return InstantiatedFunction(name, executors, len(body.arg_types), len(body.ret_types))


def _run(function: InstantiatedFunction, run_state: RunState, step: StepContext) -> None:
    executors = function.executors
    if len(executors) == 1 and executors[0].schedule is not None:
        run_acyclic(executors[0], run_state, step, 0)
        return
    drive(
        run_state,
        [ExecutorState(one, run_state, step, index) for index, one in enumerate(executors)],
    )
