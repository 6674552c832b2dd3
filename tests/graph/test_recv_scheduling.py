"""Recvs wait until shortly before their tensor is needed; results do not change."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.graph.small_graphs import LOOP, node, small_graph, vocabulary_of_tests
from tests.graph.test_graph_partition import DEVICES
from tfnb.common_runtime.session import direct_session
from tfnb.core import errors
from tfnb.graph.graph_partition import partition
from tfnb.graph.recv_scheduling import PREFETCHED_EPOCHS, START_TIME, RecvSchedule
from tfnb.graph.slack_analysis import SlackAnalysis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.graph.graph import Graph


@pytest.fixture(autouse=True)
def _test_ops() -> Iterator[None]:
    with vocabulary_of_tests():
        yield


def chain(length: int) -> str:
    """A chain on device A; ``early`` and ``late`` use a tensor of B at its ends."""
    lines = ["r = TestSource @B", "c0 = TestSource", "early = TestAdd(c0, r)"]
    lines += [f"c{i} = TestRelu(c{i - 1})" for i in range(1, length)]
    return "\n".join([*lines, "q = TestSource @B", f"late = TestAdd(c{length - 1}, q)"])


def cut(text: str, **options: Any) -> dict[str, Graph]:
    """Return the partitions, with the earliest start times."""
    graph = small_graph(text)
    for each in graph.op_nodes():
        each.assigned_device = each.requested_device or "A"
    graph.fixup_source_and_sink_edges()
    schedule = RecvSchedule(SlackAnalysis(graph).asap(), **options)
    return partition(graph, DEVICES, itertools.count(), schedule=schedule)


def test_a_recv_of_a_late_consumer_waits_for_an_earlier_epoch() -> None:
    """There are six epochs of a microsecond each; a copy takes ten.

    c0 -> ... -> c<n> -^-> synch -^-> Recv(q) -> late
    """
    part = cut(chain(50))["A"]
    early = next(e.src for e in node(part, "early").in_edges if e.src.is_recv)
    late = next(e.src for e in node(part, "late").in_edges if e.src.is_recv)
    assert [each.name.partition("/")[0] for each in early.control_inputs() if each.is_op] == [
        f"synch_{11 - PREFETCHED_EPOCHS}"
    ]
    (trigger,) = [each for each in late.control_inputs() if each.is_op]
    assert trigger.op == "ControlTrigger"
    assert trigger.name.startswith(f"synch_{50 - PREFETCHED_EPOCHS}/_")
    (before,) = trigger.control_inputs()
    assert before.name == f"c{50 - PREFETCHED_EPOCHS - 1}"
    assert late.attrs[START_TIME] == 50


def test_recvs_of_one_epoch_share_a_trigger() -> None:
    """A Recv with several consumers has the time of the first."""
    text = chain(50) + "\np = TestSource @B\nlate2 = TestAdd(c49, p)\nlater = TestRelu(late)"
    part = cut(text + "\nlast = TestAdd(later, q)")["A"]
    triggers = [each for each in part.op_nodes() if each.op == "ControlTrigger"]
    assert len(triggers) == 2
    assert len([out for out in triggers[1].out_edges if out.dst.is_recv]) == 2
    recvs = {each.attrs["_src"]: each for each in part.op_nodes() if each.is_recv}
    assert recvs[b"q"].attrs[START_TIME] == recvs[b"p"].attrs[START_TIME] == 50


def test_start_times_are_recorded_on_request() -> None:
    """On request every node has one; otherwise only the nodes that partitioning made."""
    part = cut(chain(8), need_to_record_start_times=True)["A"]
    assert {
        each.name: each.attrs[START_TIME] for each in part.op_nodes() if each.name[0] == "c"
    } == {f"c{i}": i for i in range(8)}
    part = cut(chain(8))["A"]
    assert {each.op for each in part.op_nodes() if START_TIME in each.attrs} == {
        "_Recv",
        "ControlTrigger",
    }


def test_a_recv_that_is_needed_at_once_waits_for_nothing() -> None:
    """All Recvs are in the first epochs."""
    graph = small_graph(chain(50))
    for each in graph.op_nodes():
        each.assigned_device = each.requested_device or "A"
    schedule = RecvSchedule(dict.fromkeys(graph.op_nodes(), 3))
    part = partition(graph, DEVICES, itertools.count(), schedule=schedule)["A"]
    assert not any(each.op == "ControlTrigger" for each in part.op_nodes())


def test_times_without_waiting() -> None:
    """Times are recorded without waiting."""
    part = cut(chain(50), scheduling_for_recvs=False, need_to_record_start_times=True)["A"]
    assert not any(each.op == "ControlTrigger" for each in part.op_nodes())
    assert node(part, "late").attrs[START_TIME] == 50


def test_a_recv_inside_a_loop_is_left_to_its_iteration() -> None:
    """A trigger outside of the loop runs only once."""
    text = chain(50).replace("late = TestAdd(c49, q)", "late = TestAdd(c49, q) @B")
    parts = cut(LOOP + text)
    frames = [each for part in parts.values() for each in part.op_nodes() if each.is_recv]
    assert frames
    for part in parts.values():
        for each in part.op_nodes():
            if each.op == "ControlTrigger":
                assert all(out.dst.is_recv or out.dst.is_sink for out in each.out_edges)


@pytest.mark.parametrize("wrong", ["none", "early"])
def test_times_that_do_not_fit_the_graph_are_refused(wrong: str) -> None:
    """Otherwise a Recv could wait for a node that waits for it."""
    graph = small_graph("a = TestSource @A\nb = TestRelu(a) @B")
    for each in graph.op_nodes():
        each.assigned_device = each.requested_device
    times = {node(graph, "a"): 5}
    if wrong == "early":
        times[node(graph, "b")] = 4
    match = "'b' has no start time" if wrong == "none" else "'b' starts at 4 us, before its input"
    with pytest.raises(errors.InvalidArgumentError, match=match):
        partition(graph, DEVICES, itertools.count(), schedule=RecvSchedule(times))


def scheduled(graph: Graph, *args: Any, **kwargs: Any) -> dict[str, Graph]:
    """``partition`` with the earliest start times."""
    schedule = RecvSchedule(SlackAnalysis(graph).asap(), need_to_record_start_times=True)
    return partition(graph, *args, **kwargs, schedule=schedule)


def model(x: Any) -> list[Any]:
    """Conds, loops and long chains over three devices."""
    with tf.device("/cpu:1"):
        y = tf.exp(x)
    for step in range(40):
        with tf.device("/cpu:2" if step % 13 == 0 else "/cpu:0"):
            x = tf.tanh(x + 0.5)
    with tf.device("/cpu:0"):
        z = x + y

        def body(i: Any, a: Any) -> list[Any]:
            with tf.device("/cpu:1"):
                b = a * y
            return [
                i + 1,
                tf.while_loop(lambda j, c: j < 2, lambda j, c: [j + 1, c + z], [0, b])[1],
            ]

        _, looped = tf.while_loop(lambda i, a: i < 3, body, [0, x])
        chosen = tf.cond(tf.reduce_sum(z) > 1.0, lambda: looped + y, lambda: looped - y)
    with tf.device("/cpu:2"):
        for _ in range(30):
            chosen = tf.tanh(chosen)
        return [chosen + z, looped, tf.add(chosen, y)]


@pytest.mark.slow
def test_answers_are_the_same_with_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nested loops and conds across three devices are run."""
    value = np.linspace(-1, 1, 5, dtype=np.float32)
    answers = []
    for way in (partition, scheduled):
        monkeypatch.setattr(direct_session, "partition", way)
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [5])
            fetches = model(x)
            config = tf.ConfigProto(device_count={"CPU": 3}, operation_timeout_in_ms=60_000)
            with tf.Session(config=config) as session:
                answers.append([each.tobytes() for each in session.run(fetches, {x: value})])
                if way is not partition:
                    names = tuple(t.name for t in fetches)
                    items = session.runtime.prepare((x.name,), names, ()).executors.items
                    nodes = [each for item in items for each in item.graph.op_nodes()]
                    assert any(each.op == "ControlTrigger" for each in nodes)
    assert answers[0] == answers[1]
