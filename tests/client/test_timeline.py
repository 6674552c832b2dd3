"""Chrome traces of recorded steps."""

from __future__ import annotations

import json
from typing import Any

import pytest

import tfnb as tf
from tfnb.client.profiler.timeline import Timeline
from tfnb.proto.step_stats_pb2 import StepStats


def recorded(*nodes: tuple[str, str, int, int]) -> StepStats:
    """Return statistics from (device, label, start, duration in microseconds)."""
    stats = StepStats()
    devices: dict[str, Any] = {}
    for device, label, start, duration in nodes:
        if device not in devices:
            devices[device] = stats.dev_stats.add(device=device)
        devices[device].node_stats.add(
            node_name=label.partition(" = ")[0],
            timeline_label=label,
            all_start_micros=start,
            op_end_rel_micros=duration,
            all_end_rel_micros=duration,
        )
    return stats


def events_of(stats: StepStats, **arguments: Any) -> list[dict[str, Any]]:
    """The trace's events."""
    events: list[dict[str, Any]] = json.loads(
        Timeline(stats).generate_chrome_trace_format(**arguments)
    )["traceEvents"]
    return events


def test_each_device_is_a_process() -> None:
    """A process is named after its device."""
    events = events_of(recorded(("cpu", "a = Const()", 1, 2), ("gpu", "b = Const()", 1, 2)))
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert names == {0: "cpu", 1: "gpu"}


def test_nodes_are_events_with_their_inputs() -> None:
    """Time, op and inputs are those of the record."""
    (event,) = (e for e in events_of(recorded(("d", "y = MatMul(x, w)", 10, 5))) if e["ph"] == "X")
    assert (event["name"], event["ts"], event["dur"]) == ("MatMul", 10, 5)
    assert event["args"] == {"name": "y", "op": "MatMul", "input0": "x", "input1": "w"}


def test_nodes_that_overlap_get_lanes_of_their_own() -> None:
    """Overlapping nodes have different lanes; a free lane is reused."""
    events = events_of(
        recorded(("d", "a = A()", 0, 10), ("d", "b = B()", 5, 10), ("d", "c = C()", 12, 1))
    )
    assert {e["name"]: e["tid"] for e in events if e["ph"] == "X"} == {"A": 0, "B": 1, "C": 0}


def test_arrows_lead_to_consumers_in_other_lanes() -> None:
    """Arrows lead from the end of a node to the start of its consumer, if requested."""
    stats = recorded(("d", "a = A()", 0, 3), ("e", "b = B(a)", 5, 1))
    start, end = (e for e in events_of(stats) if e.get("cat") == "DataFlow")
    assert (start["ph"], start["pid"], start["ts"]) == ("s", 0, 3)
    assert (end["ph"], end["pid"], end["ts"], end["id"]) == ("t", 1, 5, start["id"])
    assert not [e for e in events_of(stats, show_dataflow=False) if e.get("cat") == "DataFlow"]


def test_memory_is_a_counter() -> None:
    """The counter has the bytes in use after each node."""
    stats = recorded(("d", "a = A()", 0, 3))
    stats.dev_stats[0].node_stats[0].memory.add(allocator_name="cpu", allocator_bytes_in_use=64)
    (event,) = (e for e in events_of(stats, show_memory=True) if e["ph"] == "C")
    assert (event["name"], event["args"], event["ts"]) == ("cpu", {"bytes": 64}, 3)


def test_a_counter_follows_what_was_taken_and_given_back() -> None:
    """Allocations and deallocations with times change the counter; simultaneous ones cancel out."""
    stats = recorded(("d", "a = A()", 0, 3), ("d", "b = B(a)", 3, 3))
    for row, records in zip(stats.dev_stats[0].node_stats, ([(2, 64), (6, -64)], [(6, 32)])):
        memory = row.memory.add(allocator_name="cpu")
        for at, size in records:
            memory.allocation_records.add(alloc_micros=at, alloc_bytes=size)
    counters = [e for e in events_of(stats, show_memory=True) if e["ph"] == "C"]
    assert [(e["ts"], e["args"]["bytes"]) for e in counters] == [(2, 64), (6, 96), (6, 32)]


def test_an_arrow_follows_a_tensor_to_another_device() -> None:
    """The tensor is found under the name of the receiving node: the sender's with a number."""
    stats = recorded(("d", "scope/a = A()", 0, 3), ("e", "b = B(scope/a/_12)", 5, 1))
    ends = [e for e in events_of(stats) if e.get("cat") == "DataFlow"]
    assert [(e["ph"], e["pid"], e["ts"]) for e in ends] == [("s", 0, 3), ("t", 1, 5)]


def test_unknown_times_are_refused() -> None:
    """The message lists the known times."""
    with pytest.raises(ValueError, match="schedule, all, gpu"):
        Timeline(StepStats()).generate_chrome_trace_format(op_time="cpu")


def test_a_real_run_gives_a_trace() -> None:
    """The trace has every node that ran, in order."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [], name="x")
        y = tf.negative(tf.square(x, name="squared"), name="y")
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        sess.run(y, {x: 1.0}, options=options, run_metadata=metadata)
    events = events_of(metadata.step_stats)
    ran = [e["args"]["name"] for e in events if e["ph"] == "X"]
    assert ran.index("squared") < ran.index("y")


def test_the_trace_of_two_devices_is_what_viewers_accept() -> None:
    """Events have the required fields, arrows have both ends, counters are never negative."""
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        x = tf.placeholder(tf.float32, [40, 40], name="x")
        y = tf.matmul(x, x, name="y")
        with tf.device("/cpu:1"):
            z = tf.exp(y, name="z")
        total = tf.reduce_sum(z, name="total")
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        sess.run(total, {x: [[0.0] * 40] * 40}, options=options, run_metadata=metadata)
    events = events_of(metadata.step_stats, show_memory=True)
    needs = {"M": (), "X": ("ts", "dur", "tid"), "s": ("ts", "tid", "id"), "t": ("ts", "tid", "id"),
             "C": ("ts",)}  # fmt: skip
    pids = {e["pid"] for e in events if e["name"] == "process_name"}
    for event in events:
        assert event["pid"] in pids
        for key in needs[event["ph"]]:
            assert isinstance(event[key], int | float)
            assert event[key] >= 0
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "t"}
    assert starts.keys() == ends.keys()
    assert all(starts[i]["ts"] <= ends[i]["ts"] for i in starts)
    # Both transfers between the devices are drawn.
    assert {(starts[i]["pid"], ends[i]["pid"]) for i in starts} == {(0, 1), (1, 0)}
    counters = [e for e in events if e["ph"] == "C"]
    assert {e["pid"] for e in counters} == {0, 1}
    assert all(e["args"]["bytes"] >= 0 for e in counters)
    assert max(e["args"]["bytes"] for e in counters) >= 6400
