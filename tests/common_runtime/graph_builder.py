"""Builds runtime graphs by hand and runs them, without client, placer or partitioner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import tfnb.ops.array.concat_ops
import tfnb.ops.control.control_flow_ops
import tfnb.ops.control.function_ops
import tfnb.ops.control.sendrecv_ops
import tfnb.ops.math.cwise_binary_ops
import tfnb.ops.math.cwise_unary_ops  # noqa: F401
from tfnb.common_runtime.device.cpu_device import CpuDevice
from tfnb.common_runtime.executor.immutable_executor_state import ImmutableExecutorState, initialize
from tfnb.common_runtime.executor.kernel_stats import with_pool
from tfnb.common_runtime.executor.run_state import CallFrame, RunState
from tfnb.common_runtime.lowering.run.step_way import choose_way
from tfnb.core import dtypes
from tfnb.core.op_kernel import StepContext, create_kernel
from tfnb.core.step_events import StepEvents, StepObserver
from tfnb.graph.graph import CONTROL_SLOT, Graph, Node

if TYPE_CHECKING:
    from tfnb.common_runtime.device.thread_pool import ThreadPool

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


class GraphBuilder:
    """A graph under construction; an input is a node, ``(node, output)`` or ``"^name"``."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.num_args = 0
        self.num_retvals = 0

    def node(self, name: str, op: str, *inputs: Any, **attrs: Any) -> Node:
        """Add a node and its in-edges; ``None`` leaves an input open for :meth:`connect`."""
        made = self.graph.add_node(name, op, attrs)
        slot = 0
        for source in inputs:
            if isinstance(source, str):
                src = self.graph.find_node(source[1:])
                self.graph.add_edge(src, CONTROL_SLOT, made, CONTROL_SLOT)
                continue
            if source is not None:
                src, output = source if isinstance(source, tuple) else (source, 0)
                self.graph.add_edge(src, output, made, slot)
            slot += 1
        return made

    def connect(self, source: Any, node: Node, slot: int) -> None:
        """Adds a data edge into an input that was left open."""
        src, output = source if isinstance(source, tuple) else (source, 0)
        self.graph.add_edge(src, output, node, slot)

    def arg(self, name: str, dtype: Any = dtypes.int32) -> Node:
        """An argument of the step."""
        self.num_args += 1
        return self.node(name, "_Arg", T=dtype, index=self.num_args - 1)

    def fetch(self, source: Any, dtype: Any = dtypes.int32) -> Node:
        """A result of the step."""
        self.num_retvals += 1
        position = self.num_retvals - 1
        return self.node(f"fetch{position}", "_Retval", source, T=dtype, index=position)

    def counting_loop(
        self, start: Node, limit: Node, one: Node, name: str = "loop", parallel: int = 10
    ) -> Node:
        """``while i < limit: i += 1``; returns the Exit."""
        frame = {"T": dtypes.int32, "frame_name": name.encode(), "parallel_iterations": parallel}
        enter = self.node(f"{name}/enter", "Enter", start, is_constant=False, **frame)
        bound = self.node(f"{name}/limit", "Enter", limit, is_constant=True, **frame)
        step = self.node(f"{name}/one", "Enter", one, is_constant=True, **frame)
        merge = self.node(f"{name}/merge", "Merge", enter, None, T=dtypes.int32, N=2)
        less = self.node(f"{name}/less", "Less", merge, bound, T=dtypes.int32)
        cond = self.node(f"{name}/cond", "LoopCond", less)
        switch = self.node(f"{name}/switch", "Switch", merge, cond, T=dtypes.int32)
        add = self.node(f"{name}/add", "Add", (switch, 1), step, T=dtypes.int32)
        following = self.node(f"{name}/next", "NextIteration", add, T=dtypes.int32)
        self.connect(following, merge, 1)
        return self.node(f"{name}/exit", "Exit", (switch, 0), T=dtypes.int32)

    def executor(self) -> ImmutableExecutorState:
        """What runs the graph on one CPU."""
        self.graph.fixup_source_and_sink_edges()
        return initialize(
            self.graph,
            CpuDevice(CPU, 0),
            lambda node, device: create_kernel(
                self.graph.op_definition(node.op), node.name, node.attrs, device
            ),
        )

    def run(self, *args: Any, observer: StepObserver | None = None) -> list[Any]:
        """Run the graph once; return the values of ``fetch`` nodes, None for dead ones."""
        immutable = self.executor()
        events = StepEvents()
        if observer is not None:
            events.add(observer)
        return run_executor(immutable, args, self.num_retvals, events)


def run_executor(
    immutable: ImmutableExecutorState,
    args: Any,
    num_retvals: int,
    events: StepEvents | None = None,
    pool: ThreadPool | None = None,
) -> list[Any]:
    """Runs one prepared partition once, expensive kernels on ``pool`` if there is one."""
    frame = CallFrame([np.int32(a) if isinstance(a, int) else a for a in args], num_retvals)
    run_state = RunState(frame, (events or StepEvents()).hooks, pool=pool)
    if pool is not None:
        immutable = with_pool(immutable) or immutable
    step = StepContext(run_state.step_id, run_state, call_frame=frame)
    with np.errstate(all="ignore"):  # as a session's steps run
        choose_way((immutable,), run_state).run(run_state, step)
    return frame.retvals
