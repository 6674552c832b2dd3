"""Flags of an op that follow from its name alone.

A :class:`NodeKind` is made once per op name and shared by its nodes: reading a flag costs one
attribute access.
"""

from __future__ import annotations

from functools import cache

from tfnb.core.process.records import field, record


@record(frozen=True, slots=True)
class NodeKind:
    """Flags of one op, fixed for the life of the process."""

    is_switch: bool = False
    is_merge: bool = False
    is_enter: bool = False
    is_exit: bool = False
    is_next_iteration: bool = False
    is_loop_cond: bool = False
    is_control_trigger: bool = False
    is_send: bool = False
    is_recv: bool = False
    is_host_send: bool = False
    is_host_recv: bool = False
    is_constant: bool = False
    is_variable: bool = False
    is_identity: bool = False
    is_metadata: bool = False
    is_placeholder: bool = False
    is_arg: bool = False
    is_retval: bool = False
    crosses_frames: bool = field(init=False)
    """Whether the op passes its input on into another frame or iteration."""
    is_control_flow: bool = field(init=False)
    """Whether the op steers which nodes run: Switch, Merge, Enter, Exit or NextIteration."""
    is_passing: bool = field(init=False)
    """Whether the op only passes its input on, perhaps into another frame or iteration."""
    is_transfer_node: bool = field(init=False)
    """Whether the op moves a tensor through the rendezvous."""

    def __post_init__(self) -> None:
        """Compute the flags that follow from others: they are read for each node of a graph."""
        crosses_frames = self.is_enter or self.is_exit or self.is_next_iteration
        for name, value in {
            "crosses_frames": crosses_frames,
            "is_control_flow": self.is_switch or self.is_merge or crosses_frames,
            "is_passing": crosses_frames or self.is_loop_cond or self.is_identity,
            "is_transfer_node": self.is_send or self.is_recv,
        }.items():
            object.__setattr__(self, name, value)


PARTITIONED_CALLS = frozenset(["PartitionedCall", "StatefulPartitionedCall"])
"""Ops that call a function whose nodes may spread over devices."""

_OPS_OF_FLAG = {
    "is_switch": "Switch RefSwitch _SwitchN",
    "is_merge": "Merge RefMerge",
    "is_enter": "Enter RefEnter",
    "is_exit": "Exit RefExit",
    "is_next_iteration": "NextIteration RefNextIteration",
    "is_loop_cond": "LoopCond",
    "is_control_trigger": "ControlTrigger",
    "is_send": "_Send _HostSend",
    "is_recv": "_Recv _HostRecv",
    "is_host_send": "_HostSend",
    "is_host_recv": "_HostRecv",
    "is_constant": "Const HostConst",
    "is_variable": "Variable VariableV2",
    "is_identity": "Identity RefIdentity",
    "is_metadata": "Size Shape Rank",
    "is_placeholder": "Placeholder PlaceholderV2",
    "is_arg": "_Arg _DeviceArg",
    "is_retval": "_Retval _DeviceRetval",
}


@cache
def node_kind(op: str) -> NodeKind:
    """Return the flags of an op.

    >>> node_kind("RefSwitch").is_switch, node_kind("Add").is_control_flow
    (True, False)
    """
    flags = {flag: True for flag, ops in _OPS_OF_FLAG.items() if op in ops.split()}
    return NodeKind(**flags) if flags else _ORDINARY


_ORDINARY = NodeKind()
