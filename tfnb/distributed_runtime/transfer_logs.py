"""The transfers of a traced step, as TensorFlow's workers log them.

Each tensor that came from another task is an entry ``RecvTensor`` of the device that received it,
with its bytes and the time from the request to the arrival.  Corresponds to TensorFlow's
``worker_cache_logger.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tfnb.core.rendezvous import parse_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfnb.proto import step_stats_pb2

RECV_TENSOR = "RecvTensor"


class ReceivedTensor(NamedTuple):
    """A tensor that another task sent; times in nanoseconds since the epoch."""

    key: str
    begin_ns: int
    end_ns: int
    num_bytes: int


def bytes_of(value: Any) -> int:
    """Return the size of a tensor; of an optional, in which several travel, that of all of them."""
    values = getattr(value, "values", None)
    if isinstance(values, tuple):
        return sum(map(bytes_of, values))
    return int(getattr(value, "nbytes", 0))


def add_transfers(stats: step_stats_pb2.StepStats, log: Iterable[ReceivedTensor]) -> None:
    """Add the tensors that a task received to the trace of its step."""
    devices = {device.device: device for device in stats.dev_stats}
    for received in list(log):
        key = parse_key(received.key)
        device = devices.get(key.dst_device)
        if device is None:
            device = devices[key.dst_device] = stats.dev_stats.add(device=key.dst_device)
        took_us = max(0, received.end_ns - received.begin_ns) // 1000
        entry = device.node_stats.add(
            node_name=RECV_TENSOR,
            all_start_micros=received.begin_ns // 1000,
            all_start_nanos=received.begin_ns,
            op_end_rel_micros=took_us,
            all_end_rel_micros=took_us,
            timeline_label=receive_label(
                received.num_bytes, took_us, key.edge_name, key.src_device, key.dst_device
            ),
        )
        description = entry.output.add(slot=0).tensor_description.allocation_description
        description.requested_bytes = received.num_bytes


def receive_label(num_bytes: int, took_us: int, edge: str, source: str, target: str) -> str:
    """Return the text of an entry, in TensorFlow's form.

    >>> receive_label(4, 2, "edge_1_a", "/cpu:0", "/cpu:1")
    '[4B] [16.000000Mb/s] edge_1_a from /cpu:0 to /cpu:1'
    """
    size = f"[{num_bytes / 2**20:.1f}MB]" if num_bytes >= 0.1 * 2**20 else f"[{num_bytes}B]"
    rate = 8.0 * num_bytes / max(1, took_us)
    speed = f"[{rate / 1000:.1f}Gb/s]" if rate >= 1000 else f"[{rate:f}Mb/s]"
    return f"{size} {speed} {edge} from {source} to {target}"
