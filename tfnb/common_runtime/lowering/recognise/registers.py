"""The registers of a partition's tensors, and the instructions of its nodes.

Nodes that forward their input have no register of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tfnb.common_runtime.executor.immutable_executor_state import (
    ASYNC,
    NOTHING,
    PASS,
    POOL,
    NodeItem,
)
from tfnb.common_runtime.lowering.recognise.program import (
    Compute,
    Program,
    Read,
    Unrecognised,
    type_of_instruction,
)
from tfnb.core.op_kernel import kernel_attr
from tfnb.core.op_registry import ops_with
from tfnb.core.op_traits import Trait

if TYPE_CHECKING:
    from collections.abc import Collection

    from tfnb.common_runtime.executor.immutable_executor_state import ImmutableExecutorState

RECEIVES: Final = ("_Recv", "_HostRecv")
SWITCHES: Final = ("Switch", "RefSwitch", "_SwitchN")
_FIXED = ops_with(Trait.FIXED)
_KEEPING = ops_with(Trait.KEEPS_REFERENCE)
# Only the reference executor numbers frames.
_NEEDS_FRAME = ops_with(Trait.USES_FRAME)


class Registers:
    """The tensors of one partition.

    Attributes:
      immutable: the partition.
      made: the program that is made from it.
      counts: whether all its nodes are counted.
      sources: the inputs of each node, by its id: nodes and their outputs.
      controls: the control inputs of each node.
      enters: the Enters of each frame.
      parents: the parent frame of each frame.
    """

    def __init__(
        self, immutable: ImmutableExecutorState, *, counts: bool, wanted: Collection[int] = ()
    ) -> None:
        """Read all edges.

        Raises:
          Unrecognised: only the reference executor can run one of the nodes.
        """
        self.immutable = immutable
        self.counts = counts
        self.made = Program()
        items = immutable.items
        self.sources: list[list[tuple[NodeItem, int]]] = [[] for _ in items]
        self.controls: list[list[NodeItem]] = [[] for _ in items]
        self._wanted: set[tuple[int, int]] = set()  # outputs that have consumers
        self.enters: dict[str, list[NodeItem]] = {}
        self.parents: dict[str, str] = {}
        self._names: dict[tuple[int, int], str] = {}
        self._has_writers = any(map(_may_write, immutable.items))
        self._look_around()
        for number in wanted:
            self._wanted |= {(number, output) for output in range(items[number].num_outputs)}

    def instructions(self, item: NodeItem) -> list[type_of_instruction]:
        """Return the instructions of a node; empty if it only orders or forwards."""
        if item.action == NOTHING:
            return []
        if item.op in SWITCHES or item.action == PASS:
            # The predicate is read where it is tested.
            return [
                Read(item, number, self.register(*self.sources[item.id][0]), self.register(item, 0))
                for number, (position, *_) in enumerate(item.dereference)
                if position == 0
            ]
        args = self.args(item)
        results = [self.register(item, output) for output in range(item.num_outputs)]
        if len(results) == 1 and results[0] in self.made.constants:
            return []
        made: list[type_of_instruction] = []
        for number, (position, *_) in enumerate(item.dereference):
            # A reference is read where it is used.
            target = f"r{item.id}_{position}"
            made.append(Read(item, number, args[position], target))
            args[position] = target
        return [*made, Compute(item, args, results)]

    def predicate(self, item: NodeItem) -> str:
        """Return the register of the predicate of a Switch."""
        source = self.register(*self.sources[item.id][1])
        if all(position != 1 for position, *_ in item.dereference):
            return source
        # If a node writes to the variable, each Switch reads it anew.
        return f"q{item.id}" if self._has_writers else f"q{source}"

    # -- edges and values

    def _look_around(self) -> None:
        for item in self.immutable.items:
            if item.action == POOL or item.is_transfer:
                raise Unrecognised(f"'{item.name}' ({item.op})")
            if item.frame.name and (item.op in _NEEDS_FRAME or item.action == ASYNC):
                raise Unrecognised(f"'{item.name}' ({item.op}) in a loop")
            self.sources[item.id] = [(item, -1)] * item.num_inputs
            if item.is_enter:
                self.enters.setdefault(item.frame_name, []).append(item)
                self.parents[item.frame_name] = item.frame.name
        for item in self.immutable.items:
            for output, dst, slot in item.data_edges:
                self.sources[dst.id][slot - dst.input_start] = (item, output)
                self._wanted.add((item.id, output))
            for dst in item.control_edges:
                self.controls[dst.id].append(item)
        for item in self.immutable.items:
            if any(output < 0 for _, output in self.sources[item.id]):
                raise Unrecognised(f"'{item.name}' lacks an input")

    def register(self, item: NodeItem, output: int) -> str:
        """Return the register of a node's output; a forwarding node shares that of its input."""
        path = []
        while True:
            key = (item.id, output)
            name = self._names.get(key)
            if name is not None:
                break
            path.append(key)
            through = self.hands_on(item)
            if through is None:
                if item.op in SWITCHES:
                    output = 0  # the variable it reads is the same for all branches
                name = f"v{item.id}_{output}" if output else f"v{item.id}"
                if item.op in _FIXED and item.num_inputs == 0:
                    name = self._constant(item) or name
                self.made.item_of[name] = (item, output)
                break
            item, output = through
        for key in path:
            self._names[key] = name
        return name

    def hands_on(self, item: NodeItem) -> tuple[NodeItem, int] | None:
        """Return the tensor that a node's output forwards; None if the node makes a new value."""
        if item.is_merge and item.dereference:
            raise Unrecognised(f"'{item.name}' reads a variable")
        if item.is_merge or any(position == 0 for position, *_ in item.dereference):
            return None
        if item.action == PASS or item.op in SWITCHES:
            return self.sources[item.id][0]
        return None

    def _constant(self, item: NodeItem) -> str | None:
        kernel = item.kernel
        if kernel is None:
            return None
        try:
            if kernel.kind in ("pure", "node"):
                value = kernel.compute()
            elif "value" in kernel.state:
                value = kernel.state["value"]
            else:
                # Constants on a GPU are uploaded here, so that no step waits for the copy.
                device: Any = kernel.device
                value = kernel.state["value"] = device.take(kernel_attr(kernel.attrs["value"]))
        except Exception:
            return None  # the step itself reports the error
        if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype != object:
            value = value[()]  # a scalar costs a third of an array of rank 0
        name = f"c{item.id}"
        self.made.constants[name] = value
        return name

    def args(self, item: NodeItem) -> list[str]:
        """Return the registers of a node's inputs."""
        return [self.register(*source) for source in self.sources[item.id]]

    def is_wanted(self, item: NodeItem, output: int) -> bool:
        """Return whether an output has consumers."""
        return (item.id, output) in self._wanted


def _may_write(item: NodeItem) -> bool:
    """Return whether a node may write to a variable that it gets as a reference."""
    return item.op not in _KEEPING and any(dtype.is_ref_dtype for dtype in item.input_types)
