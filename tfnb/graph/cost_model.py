"""Costs of nodes: run counts, times and output sizes.

A :class:`CostModel` belongs to one graph and grows with every measured step.  Times are in
microseconds, sizes in bytes; an unrecorded figure is -1.  Estimates follow TensorFlow's
``costmodel.cc``: a node that ran less often than half the median count is left out (0 bytes, 1 us).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core.process.records import field, record

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.graph.graph import Graph, Node

UNKNOWN = -1
MIN_TIME_ESTIMATE_US = 1


@record(slots=True)
class OutputCost:
    """The largest tensor seen at one output.

    Attributes:
      total_bytes: the size of all tensors together.
      max_bytes: the size of the largest one, -1 if none was seen.
      allocation_id: the id of its buffer.
    """

    total_bytes: int = 0
    max_bytes: int = UNKNOWN
    shape: TensorShape | None = None
    dtype: DType | None = None
    allocation_id: int = UNKNOWN


@record(slots=True)
class NodeCost:
    """The costs of one node so far; times in microseconds."""

    count: int = 0
    total_time_us: int = 0
    max_execution_time_us: int = 0
    temporary_bytes: int = 0
    persistent_bytes: int = 0
    outputs: dict[int, OutputCost] = field(default_factory=dict)


class CostModel:
    """The costs of one graph's nodes; not thread-safe: callers that share it lock it."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.update_times = 0
        self._nodes: dict[str, NodeCost] = {}
        self._min_count = 0

    def cost(self, node: Node) -> NodeCost:
        """Return the record of a node; made empty if there is none."""
        return self._nodes.setdefault(node.name, NodeCost())

    # -- recording

    def record_execution(self, node: Node, time_us: int) -> None:
        """Count one run of a node that took ``time_us``."""
        cost = self.cost(node)
        cost.count += 1
        cost.total_time_us += time_us
        cost.max_execution_time_us = max(cost.max_execution_time_us, time_us)

    def record_output(
        self,
        node: Node,
        output: int,
        num_bytes: int,
        shape: TensorShape,
        dtype: DType,
        allocation_id: int = UNKNOWN,
    ) -> None:
        """Record a tensor that a node produced; keep shape and dtype of the largest."""
        found = self.cost(node).outputs.setdefault(output, OutputCost())
        found.total_bytes += num_bytes
        if num_bytes >= found.max_bytes:
            found.max_bytes = num_bytes
            found.shape = shape
            found.dtype = dtype
            found.allocation_id = allocation_id

    def record_memory(self, node: Node, temporary_bytes: int, persistent_bytes: int) -> None:
        """Record the memory that a node's last run used besides its outputs, and what it keeps."""
        cost = self.cost(node)
        cost.temporary_bytes, cost.persistent_bytes = temporary_bytes, persistent_bytes

    def suppress_infrequent(self) -> None:
        """Leave nodes that ran less than half as often as the median out of later estimates."""
        counts = sorted(cost.count for cost in self._nodes.values() if cost.count > 0)
        middle = len(counts) // 2
        # The mean of the two middle values.
        median = (counts[middle] + counts[~middle]) // 2 if counts else 2
        self._min_count = median // 2

    # -- what was recorded

    def total_count(self, node: Node) -> int:
        """Return how often a node ran."""
        found = self._nodes.get(node.name)
        return 0 if found is None else found.count

    def max_execution_time(self, node: Node) -> int:
        """Return the longest run of a node, in microseconds."""
        found = self._nodes.get(node.name)
        return 0 if found is None else found.max_execution_time_us

    def temporary_memory_size(self, node: Node) -> int:
        """Return the bytes that a node's last run allocated and freed."""
        found = self._nodes.get(node.name)
        return 0 if found is None else found.temporary_bytes

    def persistent_memory_size(self, node: Node) -> int:
        """Return the bytes that a node keeps from one step to the next."""
        found = self._nodes.get(node.name)
        return 0 if found is None else found.persistent_bytes

    def max_memory_size(self, node: Node, output: int) -> int:
        """Return the bytes of the largest tensor of an output, -1 if none was recorded."""
        return self._output(node, output).max_bytes

    def allocation_id(self, node: Node, output: int) -> int:
        """Return the id of the buffer of an output's largest tensor, -1 if none was recorded."""
        return self._output(node, output).allocation_id

    def max_memory_shape(self, node: Node, output: int) -> TensorShape | None:
        """Return the shape of an output's largest tensor."""
        return self._output(node, output).shape

    def max_memory_type(self, node: Node, output: int) -> DType | None:
        """Return the dtype of an output's largest tensor."""
        return self._output(node, output).dtype

    def _output(self, node: Node, output: int) -> OutputCost:
        found = self._nodes.get(node.name)
        return OutputCost() if found is None else found.outputs.get(output, OutputCost())

    # -- estimates

    def size_estimate(self, node: Node, output: int) -> int:
        """Return the bytes per run at an output."""
        count = self.total_count(node)
        if count < self._min_count:
            return 0
        return self._output(node, output).total_bytes // max(1, count)

    def time_estimate(self, node: Node) -> int:
        """Return the microseconds per run, at least 1."""
        found = self._nodes.get(node.name, NodeCost())
        if found.count <= self._min_count:
            return MIN_TIME_ESTIMATE_US
        return max(MIN_TIME_ESTIMATE_US, found.total_time_us // max(1, found.count))


def copy_time_estimate(num_bytes: int, latency_ms: float, gigabits_per_second: float) -> float:
    """Return the microseconds that a copy takes: bytes over rate, plus latency.

    >>> copy_time_estimate(32_000_000, 10.0, 8.0)
    42000.0
    """
    return num_bytes / (gigabits_per_second * 1000 / 8) + latency_ms * 1000


def computation_time_estimate(math_ops: int) -> int:
    """Return the microseconds for ``math_ops`` operations, at 1000 per microsecond.

    >>> computation_time_estimate(32_000_000)
    32000
    """
    return math_ops // 1000
