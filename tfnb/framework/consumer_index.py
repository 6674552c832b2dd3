"""Index of the consumers of tensors, built on first request.

A graph is built far more often than it is walked forwards, so operations do not store their
consumers.  Each request reads the operations that were added since the last one; later changes of
their inputs are entered as they are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor


class ConsumerIndex:
    """The consumers of a graph's tensors; guarded by the graph's lock."""

    __slots__ = ("_consumers", "_graph", "_num_read")

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._consumers: dict[Tensor, list[Operation]] = {}
        # Operations with a smaller position in the graph are in the index.
        self._num_read = 0

    @property
    def num_read(self) -> int:
        """The number of the graph's operations that are in the index."""
        return self._num_read

    def of(self, tensor: Tensor) -> list[Operation]:
        """Return the operations that take a tensor, once per input, as a new list."""
        with self._graph._lock:
            operations = self._graph.operation_list
            if self._num_read < len(operations):
                consumers = self._consumers
                for op in operations[self._num_read :]:
                    for source in op.inputs:
                        consumers.setdefault(source, []).append(op)
                self._num_read = len(operations)
            return list(self._consumers.get(tensor, ()))

    def replace(self, op: Operation, old: Tensor | None, new: Tensor) -> None:
        """Record that an operation takes ``new`` in place of ``old``; None for no tensor."""
        if 0 <= op._id < self._num_read:
            if old is not None:
                self._consumers[old].remove(op)
            self._consumers.setdefault(new, []).append(op)
