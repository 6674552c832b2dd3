"""The inputs and outputs of a node that are in host memory although the node runs elsewhere.

An op declares them by name (``host_memory=``); strings, resource handles and variants are always in
host memory.  A CPU device has host memory only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core import dtypes

if TYPE_CHECKING:
    from tfnb.graph.graph import Node

_ALWAYS_ON_HOST = frozenset([dtypes.string, dtypes.resource, dtypes.variant])


def input_on_host(node: Node, index: int) -> bool:
    """Return whether a data input is read from host memory."""
    if node.input_types[index].base_dtype in _ALWAYS_ON_HOST:
        return True
    definition = node.op_definition
    if definition is None or not definition.host_memory:
        return False
    return any(
        index in span and name in definition.host_memory
        for name, span in definition.op_def.input_ranges(node.attrs).items()
    )


def output_on_host(node: Node, index: int) -> bool:
    """Return whether an output stays in host memory."""
    if node.output_types[index].base_dtype in _ALWAYS_ON_HOST:
        return True
    definition = node.op_definition
    if definition is None or not definition.host_memory:
        return False
    return any(
        index in span and name in definition.host_memory
        for name, span in definition.op_def.output_ranges(node.attrs).items()
    )
