"""Stretches of a program that a GPU may run as one CUDA graph.

A *segment* is a row of instructions that only launch kernels of one GPU: clusters, elementwise
nodes, and the ops listed here, whose kernels in CuPy neither look at values nor copy from the host.
Whatever else there is ends a segment: products (cuBLAS), random numbers, variables, transfers,
questions.  Whether a segment becomes a graph is found out when it runs (``gpu_graph.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.common_runtime.immutable_executor_state import PURE_ONE
from tfnb.common_runtime.lowering.clusters import count_uses, is_on_gpu, kind_of
from tfnb.common_runtime.lowering.program import (
    Cluster,
    Compute,
    Segment,
    insides_of,
    reads_of,
    writes_of,
)

if TYPE_CHECKING:
    from tfnb.common_runtime.lowering.program import Block, Program, type_of_instruction

# Their kernels launch, or make views; what they read on the host is an input.
_LAUNCHING = frozenset(
    ("Sum", "Mean", "Max", "Min", "Prod", "Reshape", "ExpandDims", "Squeeze", "BiasAddGrad")
)
# Fewer kernels are launched as fast one by one.
_FEWEST = 3


def find_segments(program: Program) -> None:
    """Puts the segments of a program around their instructions."""
    _Finder(program).find(program.root)


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


class _Finder:
    """Finds the segments of one program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._uses: dict[str, int] = {}  # counted when the first row is found
        self._number = 0

    def find(self, block: Block) -> None:
        """Changes a block and the blocks inside it."""
        made: Block = []
        row: Block = []
        device: object = None
        for instruction in block:
            here = _device_of(instruction)
            if here is None or here is not device:
                self._close(row, made)
                row, device = [], here
            if here is not None:
                row.append(instruction)
                continue
            for inside in insides_of(instruction):
                self.find(inside)
            made.append(instruction)
        self._close(row, made)
        block[:] = made

    def _close(self, row: Block, made: Block) -> None:
        if len(row) < _FEWEST:
            made += row
            return
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
            made += row
            return
        self._number += 1
        made.append(Segment(self._number, list(args), results, list(row)))
