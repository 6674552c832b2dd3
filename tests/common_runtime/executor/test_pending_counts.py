"""The meaning of pending and dead counts, and that the executor counts accordingly."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.common_runtime.graph_builder import GraphBuilder
from tests.common_runtime.native_ops import registered
from tfnb.common_runtime.executor.executor import ExecutorState
from tfnb.common_runtime.executor.pending_counts import initial_count, is_ready
from tfnb.common_runtime.executor.run_state import CallFrame, RunState
from tfnb.core import dtypes
from tfnb.core.op_kernel import StepContext
from tfnb.core.step_events import StepEvents, StepObserver

INT = dtypes.int32


def merge_of(num_data: int, num_control: int) -> tuple[ExecutorState, object, list[object]]:
    """Return a new executor, its Merge, and a source for each in-edge of the Merge.

    The sources are Identity nodes behind an argument, whose part a test plays.
    """
    builder = GraphBuilder()
    x = builder.arg("x")
    data = [builder.node(f"data{i}", "Identity", x, T=INT) for i in range(num_data)]
    for i in range(num_control):
        builder.node(f"control{i}", "Identity", x, T=INT)
    controls = [f"^control{i}" for i in range(num_control)]
    builder.fetch(builder.node("merge", "Merge", *data, *controls, T=INT, N=num_data))
    state = builder.executor()
    frame = CallFrame([np.int32(1)], 1)
    run_state = RunState(frame, StepEvents().hooks)
    step = StepContext(run_state.step_id, run_state, call_frame=frame)
    executor = ExecutorState(state, run_state, step, 0)
    executor.ready.clear()
    by_name = {item.name: item for item in state.items}
    sources = [by_name[f"data{i}"] for i in range(num_data)]
    sources += [by_name[f"control{i}"] for i in range(num_control)]
    return executor, by_name["merge"], sources


def counts_of(executor, item):
    """(pending, dead) of a node of the root frame."""
    root = executor.propagator.root.iterations[0]
    return root.pending[item.pending_id], root.dead_counts.get(item.pending_id, 0)


def arrive(executor, source, is_dead):
    """Deliver one in-edge; return the nodes that became ready, and whether they are dead."""
    root = executor.propagator.root.iterations[0]
    executor.propagator.activate(source, is_dead, root, (np.int32(1),))
    found = [(item.name, dead) for item, _, dead in executor.ready]
    executor.ready.clear()
    return found


def test_an_ordinary_node_waits_for_each_of_its_edges():
    """Data and control edges count equally."""
    assert initial_count(3, 2, is_merge=False) == 5
    assert not is_ready(1, 0, 3, is_merge=False)
    assert is_ready(0, 2, 3, is_merge=False)


def test_a_merge_waits_for_its_controls_and_one_live_value():
    """Two for a control edge, one for the value."""
    assert initial_count(3, 2, is_merge=True) == 5
    executor, merge, _ = merge_of(3, 2)
    assert counts_of(executor, merge) == (5, 0)


def test_the_second_live_value_changes_nothing():
    """The first value clears the bit; a second one has no effect."""
    executor, merge, (first, second, control) = merge_of(2, 1)
    assert arrive(executor, first, is_dead=False) == []
    assert counts_of(executor, merge) == (2, 0)
    assert arrive(executor, second, is_dead=False) == []
    assert counts_of(executor, merge) == (2, 0)
    assert arrive(executor, control, is_dead=False) == [("merge", False)]
    assert counts_of(executor, merge) == (0, 0)


def test_a_merge_that_was_started_is_not_started_again():
    """Later inputs do not start it again, because its counts say that it has started."""
    executor, merge, (first, second, third) = merge_of(3, 0)
    assert arrive(executor, first, is_dead=False) == [("merge", False)]
    assert arrive(executor, second, is_dead=True) == []
    assert arrive(executor, third, is_dead=False) == []
    assert counts_of(executor, merge)[0] == 0


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
@pytest.mark.parametrize("deaths", list(itertools.product([False, True], repeat=2)))
def test_a_merge_starts_once_in_every_order_of_arrival(order, deaths):
    """With two data and two control edges, it is ready with the last necessary one.

    Dead if both are.
    """
    executor, merge, sources = merge_of(2, 2)
    dead = [*deaths, False, False]
    seen: set[int] = set()
    starts = []
    for position in order:
        seen.add(position)
        starts += arrive(executor, sources[position], dead[position])
        pending, num_dead = counts_of(executor, merge)
        controls_in = {2, 3} <= seen
        live_in = any(p in seen and not dead[p] for p in (0, 1))
        all_dead = all(p in seen and dead[p] for p in (0, 1))
        expected = controls_in and (live_in or all_dead)
        assert is_ready(pending, num_dead, 2, is_merge=True) == expected == bool(starts)
    assert starts == [("merge", all(deaths))]


def test_a_node_is_ready_then_started_then_completed_once():
    """A node starts after all its inputs are completed, and starts and ends once."""
    story: list[tuple[str, int]] = []

    class Story(StepObserver):
        """Records the order of events."""

        def node_started(self, step_id, partition, node_id, frame_id, iteration, t_ns):
            story.append(("started", node_id))

        def node_done(self, step_id, partition, node_id, frame_id, iteration, t_ns, is_dead):
            story.append(("completed", node_id))

    def later(ctx, done, x):
        done(x)

    with registered("TestLater", "x: int32 -> y: int32", later):
        builder = GraphBuilder()
        x = builder.arg("x")
        waits = builder.node("later", "TestLater", x)
        builder.fetch(builder.node("sum", "Add", waits, x, T=INT))
        immutable = builder.executor()
        assert builder.run(2, observer=Story()) == [4]
    for item in immutable.items:
        started, completed = story.index(("started", item.id)), story.index(("completed", item.id))
        assert started < completed
        assert story.count(("started", item.id)) == story.count(("completed", item.id)) == 1
        for _, dst, _ in item.data_edges:
            assert completed < story.index(("started", dst.id))
