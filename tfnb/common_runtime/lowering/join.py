"""The partitions of one signature as one, where all of them are on CPU devices.

A Recv becomes what its Send was given, a loop and its shadows on other devices become one frame of
that name; kernels stay on their devices.  What comes out is run by an emitted function only: the
order in which edges put the nodes holds across devices, and nothing has to be sent.
"""

from __future__ import annotations

import itertools
from copy import copy
from typing import TYPE_CHECKING

from tfnb.common_runtime.immutable_executor_state import (
    NOTHING,
    PASS,
    FrameInfo,
    ImmutableExecutorState,
    NodeItem,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

type_of_key = tuple[bytes, bytes, bytes]

_SENDS = ("_Send", "_HostSend")


def join(states: Sequence[ImmutableExecutorState]) -> ImmutableExecutorState | None:
    """One partition that does what several do; None where they are not only on CPU devices."""
    if any(state.device.device_type != "CPU" for state in states):
        return None
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
    if not _connect(items):
        return None
    joined = ImmutableExecutorState(
        states[0].device,
        items,
        [copies[id(item)] for state in states for item in state.roots],
        frames,
        has_control_flow=True,
        has_async=False,
    )
    joined.is_checked = all(state.is_checked for state in states)
    return joined


def _connect(items: Sequence[NodeItem]) -> bool:
    """Puts an edge in place of each Send and Recv; False where one stands alone."""
    sends: dict[type_of_key, NodeItem] = {}
    receives: dict[type_of_key, NodeItem] = {}
    for item in items:
        if not item.is_transfer:
            continue
        kernel = item.kernel
        if kernel is None or kernel.attrs["client_terminated"]:
            return False
        names = ("tensor_name", "send_device", "recv_device")
        first, second, third = (kernel.attrs[name] for name in names)
        ends = sends if item.op in _SENDS else receives
        if (first, second, third) in ends:
            return False
        ends[first, second, third] = item
    if sends.keys() != receives.keys():
        return False
    for item in itertools.chain(sends.values(), receives.values()):
        item.action, item.kernel, item.compute = NOTHING, None, None
        item.is_transfer = item.may_give_nothing = False
    for key, receive in receives.items():
        receive.action = PASS
        receive.num_inputs, receive.input_start, receive.input_stop = 1, 0, 1
        send = sends[key]
        receive.input_types = send.input_types
        receive.dereference = send.dereference
        send.dereference = ()
    receive_of = {id(send): receives[key] for key, send in sends.items()}
    for item in items:
        more = [
            (output, receive_of[id(dst)], 0)
            for output, dst, _ in item.data_edges
            if id(dst) in receive_of
        ]
        if more:
            item.data_edges += tuple(more)
        if id(item) in receive_of:
            # What the Send waits for, the Recv waits for.
            item.control_edges += (receive_of[id(item)],)
    return True
