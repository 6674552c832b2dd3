"""Writes a partition without control flow as one Python function, one node a line.

Values are local variables, deleted after their last use.  The source holds nothing of the graph
but numbers; kernels reach it as globals, and node names stand in comments, escaped.  It is
registered in ``linecache``, so that a traceback shows it and the line of an error tells the node::

    def step(args, retvals, step, run_state):
        v0 = args[0]                # 'x' (_Arg)
        v2 = k2(v0, v1)             # 'y' (AddV2)
        retvals[0] = v2             # '_retval_y_0_0' (_Retval)

A function is written when a partition runs for the second time: most signatures of a notebook run
once.
"""

from __future__ import annotations

import itertools
import linecache
import weakref
from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.executor import as_outputs, dereference, run_schedule
from tfnb.common_runtime.immutable_executor_state import (
    ARG,
    CONTEXT,
    NOTHING,
    PASS,
    PURE_ONE,
    RETVAL,
    NodeItem,
)
from tfnb.common_runtime.kernel_errors import annotate
from tfnb.core.op_kernel import OpKernelContext, StepContext

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from tfnb.common_runtime.immutable_executor_state import ImmutableExecutorState
    from tfnb.common_runtime.run_state import RunState

# A longer function takes Python's compiler longer than it saves.
MAX_NODES = 20_000
# Other threads ask a step to end through a flag; it is looked at this often.
_NODES_PER_CHECK = 8

_numbers = itertools.count(1)


class LoweredStep:
    """One partition as a function.

    Attributes:
      source: its text.
      items: the node of each line, by line number; None for lines that are no node.
    """

    def __init__(self, immutable: ImmutableExecutorState) -> None:
        self._immutable = immutable
        writer = _Writer(immutable)
        writer.write()
        self.source = "\n".join(writer.lines) + "\n"
        self.items = writer.items
        self.filename = f"<tfnb step {next(_numbers)}>"
        names: dict[str, Any] = dict(writer.names)
        exec(compile(self.source, self.filename, "exec"), names)
        self._function: Callable[..., None] = names["step"]
        lines = [f"{line}\n" for line in writer.lines]
        linecache.cache[self.filename] = (len(self.source), None, lines, self.filename)
        weakref.finalize(self, linecache.cache.pop, self.filename, None)

    def run(self, run_state: RunState, step: StepContext) -> None:
        """Runs one step.

        Raises:
          OpError: a kernel failed, or the step was asked to end.
        """
        frame = run_state.call_frame
        args, retvals = (frame.args, frame.retvals) if frame is not None else ((), [])
        try:
            self._function(args, retvals, step, run_state)
        except Exception as error:
            if error is run_state.stop:
                raise
            item = self.node_of(error.__traceback__)
            if item is None:
                raise
            found = annotate(error, item.name, item.op, self._immutable.device.name, ())
            raise found from found.__cause__

    def node_of(self, traceback: TracebackType | None) -> NodeItem | None:
        """The node whose line a traceback passes through."""
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename == self.filename:
                return self.items[traceback.tb_lineno]
            traceback = traceback.tb_next
        return None


class _Writer:
    """Builds the source and the names it refers to."""

    def __init__(self, immutable: ImmutableExecutorState) -> None:
        self.immutable = immutable
        self.schedule = immutable.schedule or []
        self.lines = ["def step(args, retvals, step, run_state):"]
        self.items: list[NodeItem | None] = [None, None]
        self.names: dict[str, Any] = {
            "context": OpKernelContext,
            "device": immutable.device,
            "outputs": as_outputs,
            "read": dereference,
        }
        # Which variable an input slot is, and how many uses of a variable are left.
        self._variable_of: dict[int, str] = {}
        self._uses: dict[str, int] = {}

    def write(self) -> None:
        """Writes every node of the schedule."""
        for item in self.schedule:
            for output, _, slot in item.data_edges:
                name = _variable(item, output)
                self._variable_of[slot] = name
                self._uses[name] = self._uses.get(name, 0) + 1
        for position, item in enumerate(self.schedule):
            if position % _NODES_PER_CHECK == 0:
                self._line("if run_state.stop is not None: raise run_state.stop", None)
            self._node(item)
        if len(self.lines) == 1:
            self._line("pass", None)

    def _line(self, text: str, item: NodeItem | None) -> None:
        if item is not None:
            # ascii() leaves no character that could end the comment.
            text = f"{text:<40}  # {item.name!a} ({ascii(item.op)[1:-1]})"
        self.lines.append(f"    {text}")
        self.items.append(item)

    def _node(self, item: NodeItem) -> None:
        args = [self._variable_of[slot] for slot in range(item.input_start, item.input_stop)]
        self.names[f"i{item.id}"] = item
        if item.dereference:
            # A reference is read where it is used; the list keeps the reader's order of checks.
            target = f"a{item.id}"
            self._line(f"{target} = [{', '.join(args)}]; read(i{item.id}, {target})", item)
            given = [f"{target}[{position}]" for position in range(len(args))]
        else:
            given = args
        self._line(self._call(item, given), item)
        spent = [f"a{item.id}"] if item.dereference else []
        for name in args:
            self._uses[name] -= 1
            if self._uses[name] == 0:
                spent.append(name)
        for output in range(item.num_outputs):
            name = _variable(item, output)
            if name not in self._uses and item.action != NOTHING:
                spent.append(name)
        if spent:
            self._line(f"del {', '.join(dict.fromkeys(spent))}", None)

    def _call(self, item: NodeItem, args: list[str]) -> str:
        action, name = item.action, _variable(item, 0)
        if action == ARG:
            return f"{name} = args[{item.argument_index}]"
        if action == RETVAL:
            return f"retvals[{item.argument_index}] = {args[0]}"
        if action == PASS:
            return f"{name} = {args[0]}"
        if action == NOTHING:
            return "pass"
        self.names[f"k{item.id}"] = item.compute
        if action == PURE_ONE:
            return f"{name} = k{item.id}({', '.join(args)})"
        if action == CONTEXT:
            self.names[f"n{item.id}"] = item.kernel
            args = [f"context(step, device, n{item.id})", *args]
        call = f"k{item.id}({', '.join(args)})"
        if item.num_outputs == 0:
            return call
        targets = ", ".join(_variable(item, output) for output in range(item.num_outputs))
        comma = "," if item.num_outputs == 1 else ""
        return f"{targets}{comma} = outputs(i{item.id}, {call})"


def _variable(item: NodeItem, output: int) -> str:
    return f"v{item.id}_{output}" if output else f"v{item.id}"


def run_acyclic(
    immutable: ImmutableExecutorState, run_state: RunState, step: StepContext, partition: int
) -> None:
    """Runs a partition that has a schedule: lowered from its second run on, unless it is watched.

    Raises:
      OpError: a kernel failed, or the step was asked to end.
    """
    hooks = run_state.hooks
    if hooks.node_started is hooks.node_done is run_state.record_outputs is None:
        lowered = immutable.lowered
        if lowered is not None:
            lowered.run(run_state, step)
            return
        immutable.num_runs += 1
        if immutable.num_runs == 2:
            immutable.lowered = lower(immutable)
    run_schedule(immutable, run_state, step, partition)


def lower(immutable: ImmutableExecutorState) -> LoweredStep | None:
    """The partition as a function, or None where it has control flow, waits, or is too long."""
    if immutable.schedule is None or len(immutable.schedule) > MAX_NODES:
        return None
    return LoweredStep(immutable)
