"""Two rewritings that preserve results: constant folding and common subexpression elimination.

Both run on a partition, under the switches of ``OptimizerOptions`` as in TensorFlow: level L1 (the
default) turns them on, L0 off, ``do_constant_folding`` and ``do_common_subexpression_elimination``
turn them on at any level. They do not change nodes with state, effects, control inputs or
references, or nodes inside loops. Corresponds to ``constant_folding.cc`` and ``optimizer_cse.cc``.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.optimizer.optimization_registry import (
    REGISTRY,
    Grouping,
    OptimizationPassOptions,
)
from tfnb.common_runtime.optimizer.static_shapes import control_inputs_of, inputs_of
from tfnb.core import host_memory
from tfnb.core.attr_value import TensorAttr
from tfnb.core.dtypes import DType
from tfnb.core.op_kernel import create_kernel
from tfnb.graph.algorithm import reverse_post_order
from tfnb.graph.function_library import FunctionDefinition
from tfnb.graph.node_kind import node_kind
from tfnb.proto import config_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tfnb.common_runtime.device.device import Device
    from tfnb.core.op_kernel import OpKernel
    from tfnb.core.op_registry import OpDefinition
    from tfnb.graph.graph import Edge, Graph, Node

    type_of_kernels = dict[tuple[OpDefinition, int], tuple[Mapping[str, Any], OpKernel]]

# Larger results, in bytes, are not folded, because they would take too much memory.
DEFAULT_MAX_FOLDED_BYTES = 10 << 20
# Larger values, in bytes, are not computed even where a smaller result follows from them: they
# would be made before the step, without its limits, and many may be held at once.
_MAX_COMPUTED_BYTES = 64 << 20


def _level_is_on(options: config_pb2.OptimizerOptions) -> bool:
    return options.opt_level >= config_pb2.OptimizerOptions.L1


class ConstantFolding:
    """Replaces nodes whose inputs are constants by their value."""

    name = "constant_folding"

    def run(self, options: OptimizationPassOptions) -> list[str]:
        """Fold constants in the graph or partition."""
        switches = options.config.graph_options.optimizer_options
        if options.graph is None or options.device is None:
            return []
        if not (_level_is_on(switches) or switches.do_constant_folding):
            return []
        limit = switches.max_folded_constant_in_bytes or DEFAULT_MAX_FOLDED_BYTES
        return fold_constants(options.graph, options.device, limit)


# Replaces values that are no longer needed.
_USED: tuple[Any, ...] = ()


def fold_constants(graph: Graph, device: Device, max_bytes: int) -> list[str]:
    """Compute constant parts of a graph; only values with non-constant consumers become nodes."""
    if device.device_type != "CPU":
        return []
    values: dict[int, tuple[Any, ...]] = {}
    folded = []
    # Start at the constants, so that most nodes of most graphs are skipped: a node is considered
    # when the last of its inputs is found to be constant.
    missing: dict[int, int] = {}
    num_readers: dict[int, int] = {}
    waiting = [node for node in graph.op_nodes() if node.kind.is_constant and _is_free(node)]
    with np.errstate(all="ignore"):
        while waiting:
            for edge in waiting.pop().out_edges:
                node = edge.dst
                if edge.dst_input < 0:
                    continue
                left = missing[node.id] = missing.get(node.id, len(node.input_types)) - 1
                if left or not _is_free(node):
                    continue
                found = _value(node, values, device)
                if found is not None:
                    values[node.id] = found
                    folded.append(node)
                    waiting.append(node)
                    _forget_used(node, values, num_readers)
    if not folded:
        return []
    actions = []
    for node in sorted(folded, key=lambda node: node.id):
        actions += _replace(graph, node, values, max_bytes)
    _remove_unused(graph, values)
    return actions


def _forget_used(
    node: Node, values: dict[int, tuple[Any, ...]], num_readers: dict[int, int]
) -> None:
    """Drop the values whose last reader is a newly folded constant."""
    for edge in node.in_edges:
        src = edge.src
        if edge.is_control or src.id not in values:
            continue
        left = num_readers.get(src.id)
        if left is None:
            left = sum(not reader.is_control for reader in src.out_edges)
        num_readers[src.id] = left - 1
        if left == 1:
            values[src.id] = _USED


def _is_free(node: Node) -> bool:
    """Return whether the node has no control inputs."""
    return not control_inputs_of(node)


def _value(
    node: Node, values: dict[int, tuple[Any, ...]], device: Device
) -> tuple[Any, ...] | None:
    """Return the outputs of a node whose inputs are all constant, or None if it is not folded."""
    inputs = inputs_of(node)
    if inputs is None or not is_pure(node, device):
        return None
    args = []
    for src, output in inputs:
        known = values.get(src.id)
        if known is None:
            known = compute_constant(src, [], device) if is_pure(src, device) else None
            if known is None:
                return None
            values[src.id] = known
        args.append(known[output])
    return compute_constant(node, args, device)


def compute_constant(
    node: Node, args: list[Any], device: Device, kernels: type_of_kernels | None = None
) -> tuple[Any, ...] | None:
    """Return the outputs of a pure node for these inputs, or None if it cannot be folded.

    The caller ignores floating point errors. ``kernels`` caches the kernels of one device for nodes
    that were built alike.
    """
    try:
        definition = node.op_definition
        assert definition is not None
        key = (definition, id(node.attrs))
        known = None if kernels is None else kernels.get(key)
        if known is not None:
            kernel = known[1]
        else:
            kernel = create_kernel(definition, node.name, node.attrs, device)
            if kernels is not None:
                kernels[key] = node.attrs, kernel  # the mapping lives on: its id stays unique
        if kernel.kind != "pure":
            return None
        with host_memory.at_most(_MAX_COMPUTED_BYTES):
            found = kernel.compute(*args)
    except Exception:
        # Not folded: the step itself must fail here, with the node's own error.
        return None
    outputs = tuple(found) if isinstance(found, tuple | list) else (found,)
    if sum([getattr(value, "nbytes", 0) for value in outputs]) > _MAX_COMPUTED_BYTES:
        return None
    return outputs


def is_pure(node: Node, device: Device) -> bool:
    """Return whether a node on a device has no effects and equal outputs for equal inputs."""
    definition = node.op_definition
    return (
        definition is not None
        and _is_pure_anywhere(node)
        and definition.has_kernel(device.device_type)
    )


def _is_pure_anywhere(node: Node) -> bool:
    definition = node.op_definition
    if definition is None or isinstance(definition, FunctionDefinition):
        return False
    return _is_pure_op(definition, node.input_types, node.output_types)


@cache
def _is_pure_op(
    definition: OpDefinition, input_types: tuple[DType, ...], output_types: tuple[DType, ...]
) -> bool:
    if definition.effects:  # a file may change before the step runs
        return False
    kind = node_kind(definition.name)
    if definition.is_stateful or kind.is_control_flow or kind.is_placeholder:
        return False
    if kind.is_transfer_node or not output_types:
        return False
    types = (*input_types, *output_types)
    return not any(t.is_ref_dtype or t.name in ("resource", "variant") for t in types)


def _replace(
    graph: Graph, node: Node, values: dict[int, tuple[Any, ...]], max_bytes: int
) -> list[str]:
    """Give the non-constant consumers of a constant node a Const."""
    outputs: dict[int, Node] = {}
    actions = []
    for edge in list(node.out_edges):
        if edge.is_control or not edge.dst.is_op or edge.dst.id in values:
            continue
        value = values[node.id][edge.src_output]
        if getattr(value, "nbytes", 0) > max_bytes:
            continue
        const = outputs.get(edge.src_output)
        if const is None:
            dtype = node.output_types[edge.src_output]
            const = outputs[edge.src_output] = graph.add_node(
                graph.new_name(f"{node.name}/_cf__"),
                "Const",
                {"dtype": dtype, "value": TensorAttr.from_value(np.asarray(value), dtype)},
                original_names=[node.name],
            )
            const.assigned_device = node.assigned_device
            values[const.id] = (value,)
            actions.append(f"'{node.name}:{edge.src_output}' ({node.op}) became a constant")
        graph.update_edge(const, 0, edge.dst, edge.dst_input)
    return actions


def _remove_unused(graph: Graph, values: dict[int, tuple[Any, ...]]) -> None:
    """Remove constant nodes that have no consumers any more."""
    waiting = [node for node in graph.op_nodes() if node.id in values]
    while waiting:
        node = waiting.pop()
        if any(edge.dst.is_op for edge in node.out_edges) or graph.find_node(node.name) is not node:
            continue
        sources = [edge.src for edge in node.in_edges if edge.src.is_op]
        graph.remove_node(node)
        waiting += [source for source in sources if source.id in values]


class CommonSubexpressionElimination:
    """Joins nodes that compute the same value from the same inputs."""

    name = "common_subexpression_elimination"

    def run(self, options: OptimizationPassOptions) -> list[str]:
        """Join equal nodes."""
        switches = options.config.graph_options.optimizer_options
        if options.graph is None or options.device is None:
            return []
        if not (_level_is_on(switches) or switches.do_common_subexpression_elimination):
            return []
        return join_equal_nodes(options.graph, keep=options.targets)


def join_equal_nodes(
    graph: Graph, *, keep: frozenset[str] = frozenset(), order: Sequence[Node] | None = None
) -> list[str]:
    """Replace every repetition of a pure node by its first occurrence on the same device.

    Args:
      graph: the graph to change.
      keep: names of nodes that stay, because they are fetched or run as targets.
      order: the nodes in topological order, back edges of loops left out, if it is known already.
    """
    if graph.distinct == (keep, graph.num_edge_ids):
        return []
    # In a topological order the inputs of a node are joined before it is compared, so that another
    # search finds no more; the control edges of a joined node stay until the end, however.
    is_complete = order is not None and len(order) == graph.num_op_nodes
    first: dict[Any, Node] = {}
    # Few nodes share op and operands with another; only those are compared in full.
    alike: dict[Any, Node | None] = {}
    repeated: list[Node] = []
    actions = []
    for node in _pure_nodes(reverse_post_order(graph) if order is None else order):
        edges: list[Any] = node.data_in_edges
        if len(edges) != len(node.input_types) or None in edges:
            continue
        if len(edges) == 1:
            (edge,) = edges
            rough_key: tuple[Any, ...] = (node.op, edge.src, edge.src_output)
        elif len(edges) == 2:
            edge, other = edges
            rough_key = (node.op, edge.src, edge.src_output, other.src, other.src_output)
        else:
            rough_key = (node.op, *[part for edge in edges for part in _source(edge)])
        if len(edges) != len(node.in_edges):
            controls = [edge.src for edge in node.in_edges if edge.dst_input < 0]
            rough_key += (controls[0] if len(controls) == 1 else frozenset(controls),)
        twin = alike.setdefault(rough_key, node)
        if twin is node:
            continue
        if twin is not None:
            alike[rough_key] = None
            key = node_key(twin)
            if key is not None:
                first[key] = twin
        key = node_key(node)
        if key is None:
            continue
        before = first.setdefault(key, node)
        if before is node or node.name in keep:
            continue
        for edge in list(node.out_edges):
            if edge.is_control:
                graph.add_control_edge(before, edge.dst)
                is_complete = is_complete and edge.dst.is_sink
            else:
                graph.update_edge(before, edge.src_output, edge.dst, edge.dst_input)
        repeated.append(node)
        actions.append(f"'{node.name}' ({node.op}) is the same as '{before.name}'")
    graph.remove_nodes(repeated)
    if is_complete:
        graph.distinct = (keep, graph.num_edge_ids)
    return actions


def _source(edge: Edge) -> tuple[Node, int]:
    return edge.src, edge.src_output


def _pure_nodes(nodes: Sequence[Node]) -> Iterator[Node]:
    """Yield the nodes that compute a value from their inputs alone."""
    # The nodes of a graph share the tuples of their types, which stay alive during the loop.
    known: dict[tuple[OpDefinition | None, int, int], bool] = {}
    for node in nodes:
        key = (node.op_definition, id(node.input_types), id(node.output_types))
        is_pure = known.get(key)
        if is_pure is None:
            is_pure = known[key] = _is_pure_anywhere(node)
        if is_pure:
            yield node


def node_key(node: Node) -> Any:
    """Return a key that is equal for equal computations; None if it would be too large."""
    inputs: list[Any] = [None] * len(node.input_types)
    controls = []
    for edge in node.in_edges:
        if edge.is_control:
            controls.append(edge.src.id)
        else:
            inputs[edge.dst_input] = (edge.src.id, edge.src_output)
    attrs = []
    for name, value in sorted(node.attrs.items()):
        if name.startswith("_") and name != "_kernel":
            continue
        text = _attr_key(value)
        if text is None:
            return None
        attrs.append((name, text))
    return node.op, node.assigned_device, tuple(inputs), tuple(sorted(controls)), tuple(attrs)


_MAX_COMPARED_BYTES = 1024


def _attr_key(value: Any) -> Any:
    """Return a key that is equal for equal values, or None if comparing would cost too much."""
    if isinstance(value, TensorAttr):
        array = value.value()
        if array.nbytes > _MAX_COMPARED_BYTES:
            return None
        content = tuple(array.ravel().tolist()) if array.dtype.hasobject else array.tobytes()
        return array.dtype.str, array.shape, content
    return value if type(value) is DType else repr(value)


REGISTRY.register(Grouping.POST_PARTITIONING, 10, ConstantFolding())
REGISTRY.register(Grouping.POST_PARTITIONING, 20, CommonSubexpressionElimination())
