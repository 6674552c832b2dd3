"""Joins the partitions of one signature into one.

A Recv takes the input of its Send directly; a loop and its shadows on other devices become one
frame of that name; kernels stay on their devices.  Only an emitted function runs the result: the
order of its nodes, given by the edges, holds across devices, and nothing has to be sent.  If a
debugger makes the step leave it, the separate partitions continue (``leave.py``).

To a GPU, a Recv queues a copy.  From a GPU, the Send begins a copy, and the Recv, which runs when
no other node can, waits for it: meanwhile kernels are queued.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.executor.immutable_executor_state import (
    ASYNC,
    CONTEXT,
    NOTHING,
    PASS,
    PURE_ONE,
    FrameInfo,
    ImmutableExecutorState,
    NodeItem,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.common_runtime.device.device import Device

type_of_key = tuple[bytes, bytes, bytes]

_SENDS = ("_Send", "_HostSend")


def join(
    states: Sequence[ImmutableExecutorState], devices_to_sync: Sequence[Device] = ()
) -> ImmutableExecutorState | None:
    """Return one partition that replaces several; None if a Send or Recv has no counterpart.

    Args:
      states: the partitions.
      devices_to_sync: the devices to synchronize before a step ends.
    """
    copies = {id(item): copy(item) for state in states for item in state.items}
    items = list(copies.values())
    frames: dict[str, FrameInfo] = {"": FrameInfo("", 0)}
    for number, item in enumerate(items):
        item.id = number
        item.frame = frames.setdefault(item.frame.name, FrameInfo(item.frame.name, len(frames)))
        item.frame.nodes.append(item)
        item.data_edges = tuple(
            (output, copies[id(dst)], slot) for output, dst, slot in item.data_edges
        )
        item.control_edges = tuple(copies[id(dst)] for dst in item.control_edges)
    receivers = _connect(items)
    if receivers is None:
        return None
    # The writer of the function needs to know whether there is a GPU.
    devices = [state.device for state in states]
    joined = ImmutableExecutorState(
        next((device for device in devices if device.xp is not np), devices[0]),
        items,
        [copies[id(item)] for state in states for item in state.roots],
        frames,
        has_control_flow=True,
        has_async=any(item.action == ASYNC for item in items),
        devices_to_sync=tuple(devices_to_sync),
        loop_may_wait_for_write=any(state.loop_may_wait_for_write for state in states),
        parts=tuple(states),
        receivers=receivers,
    )
    joined.warm_up.is_checked = all(state.warm_up.is_checked for state in states)
    return joined


def _connect(items: Sequence[NodeItem]) -> dict[int, int] | None:
    """Replace each Send and Recv by an edge; return the ids of the Recvs by those of the Sends.

    Return None if one of them has no counterpart.
    """
    sends: dict[type_of_key, NodeItem] = {}
    receives: dict[type_of_key, NodeItem] = {}
    for item in items:
        if not item.is_transfer:
            continue
        kernel = item.kernel
        if kernel is None or kernel.attrs["client_terminated"]:
            return None
        names = ("tensor_name", "send_device", "recv_device")
        first, second, third = (kernel.attrs[name] for name in names)
        ends = sends if item.op in _SENDS else receives
        if (first, second, third) in ends:
            return None
        ends[first, second, third] = item
    if sends.keys() != receives.keys():
        return None
    passed: dict[int, NodeItem] = {}
    for key, receive in receives.items():
        send = sends[key]
        way = _way(send, receive)
        for item in (send, receive):
            item.action, item.is_transfer, item.may_give_nothing = NOTHING, False, False
        receive.num_inputs, receive.input_start, receive.input_stop = 1, 0, 1
        if way is _BOTH:
            _connect_both(send, receive)
            continue
        passed[id(send)] = receive
        receive.input_types = send.input_types
        receive.dereference = send.dereference
        send.dereference = ()
        send.kernel = send.compute = None
        if way is not None:
            receive.action, receive.compute = PURE_ONE, way
        else:
            receive.action, receive.kernel, receive.compute = PASS, None, None
    for item in items:
        more = [
            (output, passed[id(dst)], 0) for output, dst, _ in item.data_edges if id(dst) in passed
        ]
        if more:
            item.data_edges += tuple(more)
        if id(item) in passed:
            # The Recv inherits the control dependencies of the Send.
            item.control_edges += (passed[id(item)],)
    return {sends[key].id: receive.id for key, receive in receives.items()}


_BOTH = "a copy that is begun and waited for"


def _way(send: NodeItem, receive: NodeItem) -> Any:
    """Return how a tensor moves between devices: None (unchanged), a function, or ``_BOTH``."""
    assert send.kernel is not None
    assert receive.kernel is not None
    source: Any = send.kernel.device
    target: Any = receive.kernel.device
    is_on_gpu = source.device_type == "GPU" and send.op == "_Send"
    if target.device_type != "GPU" or receive.op == "_HostRecv":
        return _BOTH if is_on_gpu else None
    if not is_on_gpu:
        return target.take
    return None if target is source else lambda value: target.take(source.lend(value))


def _connect_both(send: NodeItem, receive: NodeItem) -> None:
    """Make a Send begin a copy into host memory, and its Recv wait for it."""
    assert send.kernel is not None
    device: Any = send.kernel.device
    send.action, send.compute, send.kernel = PURE_ONE, device.begin_copy_to_host, None
    send.num_outputs, send.output_types = 1, receive.output_types
    send.data_edges = ((0, receive, 0),)
    receive.action, receive.compute = CONTEXT, device.end_copy_to_host
    receive.input_types = receive.output_types
    receive.dereference = ()
    receive.waits_for_others = True
