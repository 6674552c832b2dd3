"""A recorded step in the trace event format that Perfetto and chrome://tracing open.

A process is a device; a thread is a loop of it or a thread of a pool.  A node that waited while
others ran is an asynchronous slice, since slices of a thread may not cross.  The bytes that a
device's tensors take, and those it sent and received, are counters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.notebook.steps.step_tape import DEAD, RECEIVED, SENT

if TYPE_CHECKING:
    from tfnb.notebook.steps.run_record import RunRecord

_POOL_LANES = 100_000  # after those of loops


def chrome_trace(record: RunRecord) -> dict[str, Any]:
    """Return the trace as plain data, to be written as JSON; times in microseconds."""
    events = [
        _named("process", number, 0, device)
        for number, device in enumerate(record.scene.partitions or ("",))
    ]
    lanes: dict[tuple[int, int], int] = {}
    for kind, node, frame, iteration, begin, end in record.executions():
        about = record.frames[frame]
        event = _event(record, node, frame, iteration)
        event["tid"] = lanes.setdefault((about.partition, frame), len(lanes))
        if kind == DEAD:
            event["cat"] = "dead"
        events.append(_slice(event, begin, end))
    for (partition, frame), lane in lanes.items():
        events.append(_named("thread", partition, lane, record.frames[frame].name or "graph"))
    pooled = set()
    for row, (begin, end) in zip(record.elsewhere.tolist(), record.elsewhere_ns.tolist()):
        event = {**_event(record, *row[:3]), "tid": _POOL_LANES + row[3]}
        events.append(_slice(event, begin, end))
        pooled.add((event["pid"], row[3]))
    for partition, thread in sorted(pooled):
        events.append(_named("thread", partition, _POOL_LANES + thread, record.threads[thread]))
    elsewhere = set(map(tuple, record.elsewhere[:, :3].tolist()))
    for number, wait in enumerate(record.executions(waits=True)):
        _, node, frame, iteration, begin, end = wait
        if (node, frame, iteration) not in elsewhere:
            event = {**_event(record, node, frame, iteration), "cat": "waits", "id": number}
            events.append({**event, "tid": 0, "ph": "b", "ts": begin / 1000})
            events.append({**event, "tid": 0, "ph": "e", "ts": end / 1000})
    return {"traceEvents": [*events, *_memory(record)], "displayTimeUnit": "ns"}


def _event(record: RunRecord, node: int, frame: int, iteration: int) -> dict[str, Any]:
    about, shown = record.frames[frame], record.scene.nodes[node]
    return {
        "pid": about.partition,
        "name": shown.name,
        "cat": shown.op,
        "args": {"op": shown.op, "frame": about.name, "iteration": iteration},
    }


def _slice(event: dict[str, Any], begin: float, end: float) -> dict[str, Any]:
    return {**event, "ph": "X", "ts": begin / 1000, "dur": (end - begin) / 1000}


def _named(kind: str, process: int, thread: int, name: str) -> dict[str, Any]:
    event: dict[str, Any] = {"ph": "M", "pid": process, "name": f"{kind}_name"}
    if kind == "thread":
        event["tid"] = thread
    return {**event, "args": {"name": name}}


def _memory(record: RunRecord) -> list[dict[str, Any]]:
    """Return counters of bytes: held by each device's tensors, and sent between devices so far."""
    events: list[dict[str, Any]] = []

    def count(partition: int, name: str, t_ns: float, num_bytes: float) -> None:
        events.append(
            {
                "ph": "C",
                "pid": partition,
                "tid": 0,
                "ts": t_ns / 1000,
                "name": name,
                "args": {"bytes": int(num_bytes)},
            }
        )

    for partition in range(len(record.scene.partitions)):
        for t_ns, held in zip(*(column.tolist() for column in record.tensors.curve(partition))):
            count(partition, "tensors", t_ns, held)
    for kind, name in ((SENT, "sent"), (RECEIVED, "received")):
        total: dict[int, int] = {}
        found = record.kind == kind
        for frame, num_bytes, t_ns in zip(
            record.frame[found].tolist(),
            record.iteration[found].tolist(),
            record.time_ns[found].tolist(),
        ):
            partition = record.frames[frame].partition
            total[partition] = total.get(partition, 0) + num_bytes
            count(partition, name, t_ns, total[partition])
    return events
