"""The trace of a step on a server, as events of its nodes.

A trace lists the runs of nodes by device, each with its times.  It lists no Send; a Recv from
another task is an entry ``RecvTensor``, with the bytes and the time from the request to the arrival
(TensorFlow's ``worker_cache_logger.cc``).  It names no iterations: the n-th run of a node counts as
iteration n of its loop.

The clocks of the tasks are aligned (``clock_alignment.py``) by the transfers, and by the client's
own times of request and response.
"""

from __future__ import annotations

import re
from time import perf_counter_ns, time_ns
from typing import TYPE_CHECKING, NamedTuple

from tfnb.distributed_runtime.clock_alignment import CLIENT, Order, offsets_of
from tfnb.distributed_runtime.rendezvous_mgr import task_of
from tfnb.distributed_runtime.transfer_logs import RECV_TENSOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tfnb.core.step_events import StepHooks
    from tfnb.distributed_runtime.partition_views import PartitionedStep, Transfer
    from tfnb.proto import step_stats_pb2

_LABEL = re.compile(r"(?:\[[^\]]*\] )*(?P<edge>.+) from (?P<source>\S+) to (?P<target>\S+)")
_EXITS = frozenset(("Exit", "RefExit"))


class _Run(NamedTuple):
    """One run of a node, in the client's ``perf_counter_ns``."""

    partition: int
    node: int
    begin_ns: int
    end_ns: int
    sent: int = -1
    received: int = -1


class _Arrival(NamedTuple):
    """A tensor that came from another task; times by the clock of the receiver."""

    begin_ns: int
    end_ns: int
    num_bytes: int


class RemoteTrace:
    """The events of one step.

    Args:
      step: the graphs of its signature.
      stats: what the server recorded.
      sent_ns: when the request was sent, by ``perf_counter_ns``.
      answered_ns: when the response came.
    """

    def __init__(
        self,
        step: PartitionedStep,
        stats: step_stats_pb2.StepStats,
        sent_ns: int,
        answered_ns: int,
    ) -> None:
        self._step = step
        self._epoch_ns = time_ns() - perf_counter_ns()
        self._bytes: dict[tuple[int, int], list[dict[int, int]]] = {}
        self._arrivals: dict[tuple[str, str], list[_Arrival]] = {}
        self._raw: list[tuple[int, int, int, int]] = []  # partition, node, begin, end
        self._read(stats)
        self.offsets = offsets_of(self._orders(sent_ns, answered_ns))
        runs = [
            _Run(partition, node, self._moved(partition, begin), self._moved(partition, end))
            for partition, node, begin, end in self._raw
        ]
        self._runs = sorted([*runs, *self._transfers(runs)], key=lambda run: run.begin_ns)

    def _read(self, stats: step_stats_pb2.StepStats) -> None:
        partition_of = self._step.partition_of
        for device in stats.dev_stats:
            partition = partition_of.get(device.device)
            for node in device.node_stats:
                begin = node.all_start_nanos or node.all_start_micros * 1000
                took = node.op_end_rel_nanos or node.op_end_rel_micros * 1000
                if node.node_name == RECV_TENSOR:
                    found = _LABEL.fullmatch(node.timeline_label)
                    if found is not None:
                        key = found["edge"], found["target"]
                        arrival = _Arrival(begin, begin + took, _output_bytes(node).get(0, 0))
                        self._arrivals.setdefault(key, []).append(arrival)
                    continue
                if partition is None:
                    continue
                number = self._step.ids[partition].get(node.node_name)
                if number is not None:
                    self._raw.append((partition, number, begin, begin + took))
                    self._bytes.setdefault((partition, number), []).append(_output_bytes(node))
        for arrivals in self._arrivals.values():
            arrivals.sort()
        self._raw.sort(key=lambda run: run[2])

    def _task(self, partition: int) -> str:
        return task_of(self._step.views.partitions[partition].device)

    def _moved(self, partition: int, t_ns: int) -> int:
        return t_ns - self._epoch_ns + self.offsets.get(self._task(partition), 0)

    def _orders(self, sent_ns: int, answered_ns: int) -> Iterator[Order]:
        ends: dict[tuple[int, int], list[int]] = {}
        for partition, node, begin, end in self._raw:
            task = self._task(partition)
            begin, end = begin - self._epoch_ns, end - self._epoch_ns
            yield Order(CLIENT, sent_ns, task, begin)
            yield Order(task, end, CLIENT, answered_ns)
            ends.setdefault((partition, node), []).append(end)
        for key, arrivals in self._arrivals.items():
            transfer = self._step.transfers.get(key)
            if transfer is None:
                continue
            receiver = task_of(transfer.dst_device)
            for number, arrival in enumerate(arrivals):
                arrived = arrival.end_ns - self._epoch_ns
                yield Order(CLIENT, sent_ns, receiver, arrival.begin_ns - self._epoch_ns)
                yield Order(receiver, arrived, CLIENT, answered_ns)
                made = [] if transfer.source is None else ends.get(transfer.source[:2], [])
                if len(made) == len(arrivals):
                    yield Order(task_of(transfer.src_device), made[number], receiver, arrived)

    def _transfers(self, runs: Iterable[_Run]) -> Iterator[_Run]:
        """Yield the runs of Sends and Recvs, which a trace does not list as nodes.

        A Send runs when the node before it ends.
        """
        ends: dict[tuple[int, int], list[int]] = {}
        begins: dict[tuple[int, int], list[int]] = {}
        for run in runs:
            ends.setdefault((run.partition, run.node), []).append(run.end_ns)
            begins.setdefault((run.partition, run.node), []).append(run.begin_ns)
        consumers = self._consumers()
        for key, transfer in self._step.transfers.items():
            arrivals = self._arrivals.get(key, [])
            made: list[int] = []
            sizes: list[dict[int, int]] = []
            slot = 0
            if transfer.source is not None:
                source, slot = transfer.source[:2], transfer.source[2]
                made, sizes = ends.get(source, []), self._bytes.get(source, [])
            for number in range(max(len(arrivals), len(made))):
                sent = sizes[number].get(slot, 0) if number < len(sizes) else 0
                if number < len(arrivals):
                    sent = arrivals[number].num_bytes
                left = made[number] if number < len(made) else None
                if transfer.send is not None and left is not None:
                    yield _Run(*transfer.send, left, left, sent=sent)
                if transfer.recv is None:
                    continue
                if number < len(arrivals):
                    place = transfer.recv[0]
                    begin = self._moved(place, arrivals[number].begin_ns)
                    end = self._moved(place, arrivals[number].end_ns)
                    yield _Run(*transfer.recv, begin, end, received=sent)
                elif left is not None and not arrivals and not self._crosses(transfer):
                    used = [
                        begins[one] for one in consumers.get(transfer.recv, ()) if one in begins
                    ]
                    last = [times[number] for times in used if number < len(times)]
                    yield _Run(*transfer.recv, left, max(left, min(last, default=left)), -1, sent)

    def _crosses(self, transfer: Transfer) -> bool:
        return task_of(transfer.src_device) != task_of(transfer.dst_device)

    def _consumers(self) -> dict[tuple[int, int], list[tuple[int, int]]]:
        recvs = {one.recv for one in self._step.transfers.values()}
        found: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for view in self._step.views.partitions:
            for source, destination, _ in view.edges:
                if (view.index, source) in recvs:
                    found.setdefault((view.index, source), []).append((view.index, destination))
        return found

    def tell(self, hooks: StepHooks, step_id: int) -> None:
        """Send the events to observers, in the order of their times."""
        for _, _, name, arguments in sorted(self._events(), key=lambda event: event[:2]):
            hook = getattr(hooks, name)
            if hook is not None:
                hook(step_id, *arguments)

    def _events(self) -> Iterator[tuple[int, int, str, tuple[int | bool, ...]]]:
        """Yield events: time, rank among those of that time, name of the hook, arguments."""
        counts: dict[tuple[int, int], int] = {}
        spans: dict[tuple[int, int], list[int]] = {}  # begin and end of each loop
        turns: dict[tuple[int, int, int], list[int]] = {}  # begin and end of each iteration
        last: dict[tuple[int, int], int] = {}  # the last iteration of each loop
        placed: list[tuple[_Run, int, int]] = []
        exits: list[tuple[_Run, int]] = []
        for run in self._runs:
            view = self._step.views.partitions[run.partition]
            frame = self._step.frames[run.partition][run.node]
            number = counts.get(run[:2], 0)
            counts[run[:2]] = number + 1
            if frame < 0:
                placed.append((run, 0, 0))
                continue
            around = frame
            while around >= 0:
                span = spans.setdefault((run.partition, around), [run.begin_ns, run.end_ns])
                span[:] = min(span[0], run.begin_ns), max(span[1], run.end_ns)
                around = self._step.parents[run.partition][around]
            if view.node_ops[run.node] in _EXITS:
                exits.append((run, frame))
                continue
            turn = turns.setdefault((run.partition, frame, number), [run.begin_ns, run.end_ns])
            turn[:] = min(turn[0], run.begin_ns), max(turn[1], run.end_ns)
            last[run.partition, frame] = max(last.get((run.partition, frame), 0), number)
            placed.append((run, frame + 1, number))
        for run, frame in exits:
            placed.append((run, frame + 1, last.get((run.partition, frame), 0)))
        for (partition, frame), (begin, end) in spans.items():
            parent = self._step.parents[partition][frame] + 1
            depth = self._depth(partition, frame)
            entered = (partition, frame + 1, parent, 0, frame, begin)
            yield begin, depth - 100, "frame_entered", entered
            yield end, 100 - depth, "frame_done", (partition, frame + 1, end)
        for (partition, frame, number), (begin, end) in turns.items():
            yield begin, 0, "iteration_started", (partition, frame + 1, number, begin)
            yield end, 5, "iteration_done", (partition, frame + 1, number, end)
        for run, frame_id, number in placed:
            partition, node, begin, end, sent, received = run
            where = partition, node, frame_id, number
            yield begin, 1, "node_started", (*where, begin)
            if sent >= 0:
                yield end, 2, "tensor_sent", (partition, node, sent, end)
            if received >= 0:
                yield end, 3, "tensor_received", (partition, node, received, end)
            yield end, 4, "node_done", (*where, end, False)

    def _depth(self, partition: int, frame: int) -> int:
        depth, parents = 0, self._step.parents[partition]
        while frame >= 0:
            depth, frame = depth + 1, parents[frame]
        return depth


def _output_bytes(node: step_stats_pb2.NodeExecStats) -> dict[int, int]:
    """Return the bytes of each output that a run recorded, by its number."""
    return {
        output.slot: output.tensor_description.allocation_description.requested_bytes
        for output in node.output
    }
