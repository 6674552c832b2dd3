"""The page tfnb/common_runtime/executor/while_loop.md agrees with the execution."""

from __future__ import annotations

import pytest

from tests.common_runtime.graph_builder import GraphBuilder, run_executor
from tfnb.common_runtime.executor.immutable_executor_state import (
    INTO_CHILD,
    INTO_NEXT,
    INTO_PARENT,
    SAME_ITERATION,
)
from tfnb.core.step_events import StepEvents, StepObserver


class Story(StepObserver):
    """Describes the step in words."""

    def __init__(self, names: dict[int, str]) -> None:
        self.names = names
        self.lines: list[str] = []

    def node_done(self, step_id, partition, node_id, frame_id, iteration, t_ns, is_dead):
        """Describe."""
        name = self.names[node_id].removeprefix("loop/")
        where = f" {iteration}" if frame_id else ""
        self.lines.append(f"{name}{where}{' dead' if is_dead else ''}")

    def frame_entered(self, *_):
        """Describe."""
        self.lines.append("frame")

    def iteration_started(self, step_id, partition, frame_id, iteration, t_ns):
        """Describe."""
        self.lines.append(f"begin {iteration}")

    def iteration_done(self, step_id, partition, frame_id, iteration, t_ns):
        """Describe."""
        self.lines.append(f"end {iteration}")

    def frame_done(self, *_):
        """Describe."""
        self.lines.append("frame done")


def counting(parallel: int = 10):
    """Return the executor of the loop on that page."""
    builder = GraphBuilder()
    start, limit, one = builder.arg("start"), builder.arg("limit"), builder.arg("one")
    builder.fetch(builder.counting_loop(start, limit, one, parallel=parallel))
    return builder.executor()


def story(immutable, limit: int) -> list[str]:
    """Return the events while the loop counts to ``limit``."""
    told = Story({item.id: item.name for item in immutable.items})
    events = StepEvents()
    events.add(told)
    assert run_executor(immutable, (0, limit, 1), 1, events) == [limit]
    return told.lines


def test_the_table_of_the_loop():
    """Frames, destinations and pending counts are those of the page's table."""
    immutable = counting()
    found = {
        item.name.removeprefix("loop/"): (
            item.frame.name,
            item.destination,
            item.frame.initial_pending[item.pending_id],
        )
        for item in immutable.items
    }
    assert found == {
        "start": ("", SAME_ITERATION, 0),
        "limit": ("", INTO_CHILD, 1),  # the Enter of that name hides the argument
        "one": ("", INTO_CHILD, 1),
        "enter": ("", INTO_CHILD, 1),
        "merge": ("loop", SAME_ITERATION, 1),
        "less": ("loop", SAME_ITERATION, 2),
        "cond": ("loop", SAME_ITERATION, 1),
        "switch": ("loop", SAME_ITERATION, 2),
        "add": ("loop", SAME_ITERATION, 2),
        "next": ("loop", INTO_NEXT, 1),
        "exit": ("loop", INTO_PARENT, 1),
        "fetch0": ("", SAME_ITERATION, 1),
    }
    frame = immutable.frames["loop"]
    assert (frame.input_count, frame.total_inputs) == (3, 11)
    assert frame.initial_pending == [1, 2, 1, 2, 2, 1, 1]
    assert [item.name for item in immutable.roots] == ["start", "limit", "one"]
    assert immutable.schedule is None


@pytest.mark.parametrize("parallel", [1, 10])
def test_the_story_of_the_loop(parallel):
    """One iteration and the last one; with one parallel iteration the next waits for the end."""
    beginning = ["next 0", "end 0", "begin 1"]
    lines = story(counting(parallel), 1)
    rounds = [line for line in lines if line not in ("start", "limit", "one")]
    if parallel > 1:
        # A NextIteration is done before its outputs are propagated.
        beginning = ["next 0", "begin 1", "end 0"]
    assert rounds == [
        *("enter", "frame", "begin 0"),
        *("merge 0", "less 0", "cond 0", "switch 0", "add 0", "exit 0 dead"),
        *beginning,
        *("merge 1", "less 1", "cond 1", "switch 1", "add 1 dead", "exit 1", "next 1 dead"),
        *("end 1", "frame done", "fetch0"),
    ]
