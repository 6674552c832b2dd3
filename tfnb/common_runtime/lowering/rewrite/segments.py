"""Stretches of a program that a GPU may run as one CUDA graph.

A *segment* is a row of instructions that only launch kernels of one GPU: clusters, elementwise
nodes, and the ops listed here, whose kernels in CuPy neither read values on the host nor copy from
it.  Other instructions among them (products by cuBLAS, random numbers, variables, transfers) are
moved in front of the segment, or behind it if they use its results.  The move changes no result,
because launching a kernel changes only that kernel's output; the moved instructions keep their
order, unless they are pure.  A segment ends where a kernel needs a result of an instruction that is
moved behind it, at a branch, and where the step waits.  Whether a segment is captured as a graph is
decided when it runs (``gpu_graph.py``).
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
# A row of fewer kernels is launched as fast one by one.
_FEWEST = 3


def find_segments(program: Program) -> None:
    """Replace rows of instructions in a program by segments."""
    _SegmentFinder(program).find(program.root)


def _device_of(instruction: type_of_instruction) -> object:
    """Return the GPU that an instruction launches a kernel of; None for any other instruction."""
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
    """Return the fused form of a cluster on a GPU; ``item_of`` maps registers to nodes."""
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
    """Return how the clusters and segments among an emitted function's names ran, as comments."""
    lines = []
    for name, value in names.items():
        if isinstance(value, GraphSegment):
            lines += [f"# {name}: {text!a}" for text in value.report()]
        elif isinstance(value, FusedCluster):
            refusals = dict.fromkeys(value.refusals.values())
            lines += [f"# {name}: node by node: {text!a}" for text in refusals]
    return lines


class _Row:
    """A segment under construction.

    Attributes:
      launching: its instructions.
      behind: the instructions among them that are moved behind it.
    """

    def __init__(self, device: object) -> None:
        self._device = device
        self.launching: Block = []
        self.behind: Block = []
        self._launched: set[str] = set()  # registers that `launching` sets
        self._later: set[str] = set()  # registers that `behind` sets
        self._is_behind_impure = False

    def takes(self, instruction: type_of_instruction, device: object) -> bool:
        """Add a launching instruction, unless it needs a result of those behind the segment."""
        if device is not self._device or not self._later.isdisjoint(reads_of(instruction)):
            return False
        self.launching.append(instruction)
        self._launched.update(writes_of(instruction))
        return True

    def passes(self, instruction: type_of_instruction, front: Block) -> bool:
        """Move an instruction that does not launch to ``front``, or behind the segment."""
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
        """Find the segments of a block and of the blocks inside it, which are changed."""
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
