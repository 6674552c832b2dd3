"""Why a step waits or ends without a value, on graphs made by hand."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np
import pytest

import tfnb.common_runtime.executor.executor as executor_module
from tests.common_runtime.graph_builder import GraphBuilder
from tfnb.common_runtime.executor import waiting
from tfnb.common_runtime.executor.executor import ExecutorState, drive
from tfnb.common_runtime.executor.run_state import CallFrame, RunState
from tfnb.core import dtypes
from tfnb.core.op_kernel import StepContext
from tfnb.core.step_events import IDLE_HOOKS

if TYPE_CHECKING:
    from collections.abc import Sequence

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


def states_of(graph: GraphBuilder, *args: object) -> tuple[RunState, list[ExecutorState]]:
    """Return the partition of a step that has not begun."""
    run_state = RunState(CallFrame(args, graph.num_retvals), IDLE_HOOKS)
    step = StepContext(run_state.step_id, run_state)
    return run_state, [ExecutorState(graph.executor(), run_state, step, 0)]


def ended(graph: GraphBuilder, *args: object) -> Sequence[ExecutorState]:
    """Return the partition after its step."""
    run_state, states = states_of(graph, *args)
    drive(run_state, states)
    return states


def test_a_value_that_never_became_ready_names_the_node_that_stopped() -> None:
    """A Merge with two back edges and no entry never runs.

    .. code-block:: none

        merge -> left  -> merge
              -> right -> merge,  merge -> negative -> fetch0
    """
    graph = GraphBuilder()
    merge = graph.node("merge", "Merge", None, None, T=dtypes.int32, N=2)
    for slot, name in enumerate(["left", "right"]):
        back = graph.node(name, "NextIteration", merge, T=dtypes.int32)
        graph.connect(back, merge, slot)
    graph.fetch(graph.node("negative", "Neg", merge, T=dtypes.int32))
    message = waiting.absent_value(ended(graph), 0, "'negative:0'").message
    assert message.startswith(
        "Retval[0] does not have value: 'negative:0' never became ready in this step:"
    )
    assert "(Merge) never got 2 of its 2 inputs: 'left', 'right'" in message


def test_a_dead_value_names_the_switch() -> None:
    """Any number of nodes may lie between."""
    graph = GraphBuilder()
    value, which = graph.arg("value"), graph.arg("which", dtypes.bool)
    switch = graph.node("switch", "Switch", value, which, T=dtypes.int32)
    node = graph.node("first", "Neg", (switch, 0), T=dtypes.int32)
    for number in range(100):
        node = graph.node(f"n{number}", "Neg", node, T=dtypes.int32)
    graph.fetch(node)
    error = waiting.absent_value(ended(graph, np.int32(1), np.bool_(True)), 0, "'n99:0'")
    assert error.message == (
        "Retval[0] does not have value: 'n99:0' is dead in this step:\n"
        "  'switch' (Switch) sent its value the other way"
    )
    assert error.standstill is not None
    assert error.standstill.findings[0].node == "switch"


def orphan() -> GraphBuilder:
    """Build a Recv without a Send."""
    graph = GraphBuilder()
    graph.fetch(
        graph.node(
            "orphan",
            "_Recv",
            tensor_type=dtypes.int32,
            tensor_name=b"t",
            send_device=CPU.encode(),
            send_device_incarnation=1,
            recv_device=CPU.encode(),
            client_terminated=False,
        )
    )
    return graph


def test_a_step_that_can_never_continue_is_logged_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The step keeps waiting; an observer that reads the line ends it."""
    monkeypatch.setattr(executor_module, "NAPS_UNTIL_WARNING", 1)
    run_state, states = states_of(orphan())
    texts: list[str] = []

    class EndsTheStep(logging.Handler):
        """Ends the step when the message is logged."""

        def emit(self, record: logging.LogRecord) -> None:
            texts.append(record.getMessage())
            run_state.end(TimeoutError("somebody had enough"))

    handler = EndsTheStep()
    logging.getLogger("tfnb").addHandler(handler)
    try:
        with pytest.raises(TimeoutError, match="had enough"):
            drive(run_state, states)
    finally:
        logging.getLogger("tfnb").removeHandler(handler)
    assert texts == [
        "A step stands still and cannot go on by itself: 'orphan' (_Recv) waits for 't' from "
        f"{CPU}; no node of this step sends it."
    ]


def test_nothing_of_a_step_is_left_in_a_circle() -> None:
    """Neither waiting nodes nor partitions are in a reference cycle."""
    run_state, states = states_of(orphan())
    run_state.end(TimeoutError("at once"))
    with pytest.raises(TimeoutError):
        drive(run_state, states)
    assert not run_state.waiting
    assert not run_state.executors
