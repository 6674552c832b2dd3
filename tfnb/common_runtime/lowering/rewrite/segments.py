"""Stretches of a program that a GPU may run as one CUDA graph.

A *segment* is a row of instructions that only launch kernels of one GPU: clusters, elementwise
nodes, and the ops listed here, whose kernels in CuPy neither look at values nor copy from the host.
What else stands among them goes in front of the segment, or behind it if it uses a result: products
(cuBLAS), random numbers, variables, transfers.  That changes nothing, because launching a kernel
touches nothing but its result; those others keep their order, unless they are pure.  A segment ends
where a kernel needs what goes behind, at a question, and where the step waits for something.
Whether a segment becomes a graph is found out when it runs (``gpu_graph.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.device.gpu_graph import GraphSegment
from tfnb.common_runtime.executor.immutable_executor_state import PURE, PURE_ONE
from tfnb.common_runtime.lowering.recognise.program import (
    Cluster,
    Compute,
    Segment,
    insides_of,
    reads_of,
    writes_of,
)
from tfnb.common_runtime.lowering.rewrite.clusters import count_uses, is_on_gpu, kind_of, number_in
from tfnb.common_runtime.lowering.support.fused import FusedCluster
from tfnb.core.op_registry import ops_with
from tfnb.core.op_traits import Trait

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.common_runtime.executor.immutable_executor_state import NodeItem
    from tfnb.common_runtime.lowering.recognise.program import Block, Program, type_of_instruction

_LAUNCHING = ops_with(Trait.LAUNCHES)
# Fewer kernels are launched as fast one by one.
_FEWEST = 3


def find_segments(program: Program) -> None:
    """Puts the segments of a program around their instructions."""
    _SegmentFinder(program).find(program.root)


def _device_of(instruction: type_of_instruction) -> object:
    """The GPU that an instruction launches a kernel of; None for any other instruction."""
    if isinstance(instruction, Cluster) and instruction.is_on_gpu:
        instruction = instruction.plain[-1]
    if not isinstance(instruction, Compute) or not is_on_gpu(instruction.item):
        return None
    item = instruction.item
    assert item.kernel is not None
    if item.action == PURE_ONE and (item.op in _LAUNCHING or kind_of(item) is not None):
        return item.kernel.device
    return None


def fused_of(cluster: Cluster, item_of: Mapping[str, tuple[NodeItem, int]]) -> FusedCluster:
    """What a cluster on a GPU runs as; ``item_of`` tells the node of a register."""
    numbers: dict[str, Any] = {arg: number for number, arg in enumerate(cluster.args)}
    kernels = []
    members = [one for one in cluster.plain if isinstance(one, Compute)]
    for position, one in enumerate(members):
        assert one.item.kernel is not None
        args = [numbers[x] if x in numbers else number_in(item_of.get(x)) for x in one.args]
        kernels.append((one.item.kernel, args))
        numbers[one.results[0]] = (position,)
    return FusedCluster(kernels)


def reports_of(names: Mapping[str, Any]) -> list[str]:
    """What became of the clusters and segments among an emitted function's names, as comments."""
    lines = []
    for name, value in names.items():
        if isinstance(value, GraphSegment):
            lines += [f"# {name}: {text!a}" for text in value.report()]
        elif isinstance(value, FusedCluster):
            refusals = dict.fromkeys(value.refusals.values())
            lines += [f"# {name}: node by node: {text!a}" for text in refusals]
    return lines


class _Row:
    """A segment in the making.

    Attributes:
      launching: its instructions.
      behind: what stood among them and goes behind.
    """

    def __init__(self, device: object) -> None:
        self._device = device
        self.launching: Block = []
        self.behind: Block = []
        self._launched: set[str] = set()  # registers that `launching` sets
        self._later: set[str] = set()  # and those that `behind` does
        self._is_behind_impure = False

    def takes(self, instruction: type_of_instruction, device: object) -> bool:
        """Adds an instruction that launches, if it may come in front of what goes behind."""
        if device is not self._device or not self._later.isdisjoint(reads_of(instruction)):
            return False
        self.launching.append(instruction)
        self._launched.update(writes_of(instruction))
        return True

    def passes(self, instruction: type_of_instruction, front: Block) -> bool:
        """Puts an instruction that does not launch in front of the row, or behind it."""
        if not self.launching:
            return False
        if not isinstance(instruction, Compute) or instruction.item.waits_for_others:
            return False
        item = instruction.item
        is_pure = item.action in (PURE_ONE, PURE)
        is_pure = is_pure and (item.kernel is None or item.kernel.kind != "node")
        reads = reads_of(instruction)
        if (
            self._launched.isdisjoint(reads)
            and self._later.isdisjoint(reads)
            and (is_pure or not self._is_behind_impure)
        ):
            front.append(instruction)
            return True
        self.behind.append(instruction)
        self._later.update(writes_of(instruction))
        self._is_behind_impure |= not is_pure
        return True


class _SegmentFinder:
    """Finds the segments of one program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._uses: dict[str, int] = {}  # counted when the first row is found
        self._number = 0

    def find(self, block: Block) -> None:
        """Changes a block and the blocks inside it."""
        made: Block = []
        row = _Row(None)
        for instruction in block:
            device = _device_of(instruction)
            if device is not None and row.takes(instruction, device):
                continue
            if device is None and row.passes(instruction, made):
                continue
            if row.launching or device is not None:
                self._close(row, made)
                row = _Row(device)
            if device is not None:
                row.takes(instruction, device)
                continue
            for inside in insides_of(instruction):
                self.find(inside)
            made.append(instruction)
        self._close(row, made)
        block[:] = made

    def _close(self, finished: _Row, made: Block) -> None:
        row = finished.launching
        if len(row) >= _FEWEST:
            row = self._as_segment(row)
        made += [*row, *finished.behind]

    def _as_segment(self, row: Block) -> Block:
        if not self._uses:
            self._uses = dict.fromkeys(self._program.predicates, 1)
            count_uses(self._program.root, self._uses)
        inside: dict[str, int] = {}
        count_uses(row, inside)
        written = dict.fromkeys(name for one in row for name in writes_of(one))
        args = dict.fromkeys(
            name
            for one in row
            for name in reads_of(one)
            if name not in written and name not in self._program.constants
        )
        results = [name for name in written if self._uses.get(name, 0) > inside.get(name, 0)]
        if not args or not results:
            return row
        self._number += 1
        return [Segment(self._number, list(args), results, list(row))]
