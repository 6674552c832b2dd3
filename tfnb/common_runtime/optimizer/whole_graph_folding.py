"""Folds constants before the graph is cut, also behind control edges and in loops.

The pass of :mod:`constant_folding` does not fold a node with a control input.  Here it is folded,
and the constant that replaces it, under its name, waits for all nodes that the node and its
constants waited for: it is alive in the same branches and iterations.  Static shapes become
constants that still wait for the tensor, so that an error in it is still raised.  Corresponds to
TensorFlow's ``optimizers/constant_folding.cc``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.optimizer.constant_folding import compute_constant, is_pure
from tfnb.common_runtime.optimizer.static_shapes import control_inputs_of, inputs_of
from tfnb.core.op_registry import ops_with
from tfnb.core.op_traits import Trait
from tfnb.core.shape_inference import unchanged_shape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.common_runtime.device.device import Device
    from tfnb.common_runtime.optimizer.constant_folding import type_of_kernels
    from tfnb.common_runtime.optimizer.graph_rewriter import GraphRewriter
    from tfnb.common_runtime.optimizer.optimization_registry import OptimizationPassOptions
    from tfnb.graph.graph import Node

# A larger constant, in bytes, is made only if it is smaller than the constants that it replaces.
_MAX_BYTES = 100 << 10

_OF_SHAPES = ops_with(Trait.SHAPE_QUERY)


def fold_whole_graph(rewriter: GraphRewriter, options: OptimizationPassOptions) -> list[str]:
    """Replace nodes whose inputs are all constants by constants, one for each output."""
    devices = {device.name: device for device in options.devices if device.device_type == "CPU"}
    limit = options.config.graph_options.optimizer_options.max_folded_constant_in_bytes
    actions = []
    kernels: dict[str, type_of_kernels] = {name: {} for name in devices}
    with np.errstate(all="ignore"):
        for node in rewriter.order():
            edges = node.data_in_edges
            if not edges:
                continue
            for edge in edges:
                if edge is None or not edge.src.kind.is_constant:
                    break
            else:
                found = _values(rewriter, node, devices, kernels, limit or _MAX_BYTES)
                if found is None:
                    continue
                values, controls = found
                op = node.op
                if len(values) == 1:
                    rewriter.become_constant(node, values[0], node.output_types[0], controls)
                else:
                    rewriter.become_constants(node, values, controls)
                actions.append(f"'{node.name}' ({op}) became a constant")
    return actions


def _values(
    rewriter: GraphRewriter,
    node: Node,
    devices: Mapping[str, Device],
    kernels: Mapping[str, type_of_kernels],
    limit: int,
) -> tuple[tuple[Any, ...], list[Node]] | None:
    """Return the outputs of a node with constant inputs and the nodes that these waited for."""
    num_outputs = len(node.output_types)
    if not num_outputs or node.name in rewriter.targets:
        return None
    if num_outputs > 1 and any(e.is_control and e.dst.is_op for e in node.out_edges):
        return None
    inputs = inputs_of(node)
    if inputs is None:
        return None
    device = devices.get(node.assigned_device)
    if device is None or device.is_remote:
        return None
    known = kernels[device.name]
    # A node that was built like another that was computed is as pure.
    if (node.op_definition, id(node.attrs)) not in known and not is_pure(node, device):
        return None
    args, controls, num_bytes = [], [], 0
    for src, _ in inputs:
        arg = src.attrs["value"].value()
        args.append(arg)
        num_bytes += arg.nbytes
        controls += control_inputs_of(src)
    limit = max(limit, num_bytes)
    if _known_bytes(rewriter, node, args) > limit:
        return None
    found = compute_constant(node, args, device, known)
    if found is None or len(found) != num_outputs:
        return None
    if sum([getattr(value, "nbytes", 0) for value in found]) > limit:
        return None
    return found, list(dict.fromkeys(controls)) if controls else controls


def _known_bytes(rewriter: GraphRewriter, node: Node, args: Sequence[np.ndarray[Any, Any]]) -> int:
    """Return the bytes of the outputs, as far as their shapes follow from the inputs'."""
    definition = node.op_definition
    if definition is not None and definition.shape_function is unchanged_shape:
        return args[0].size * (node.output_types[0].size or 1)
    return sum(
        math.prod(dims) * (dtype.size or 1)
        for output, dtype in enumerate(node.output_types)
        if (dims := rewriter.shapes.dims((node, output))) is not None
    )


def materialize_shapes(rewriter: GraphRewriter, options: OptimizationPassOptions) -> list[str]:
    """Replace Shape, Size and Rank of a tensor with a static shape by constants."""
    actions = []
    for node in rewriter.nodes_of(_OF_SHAPES):
        inputs = rewriter.inputs(node)
        if inputs is None or inputs[0][0].is_switch:
            continue
        value = _shape_value(rewriter, node, inputs[0])
        if value is None:
            continue
        op, source = node.op, inputs[0][0]
        rewriter.become_constant(node, value, node.output_types[0], [source])
        actions.append(f"'{node.name}' ({op}) of '{source.name}' is always {value.tolist()}")
    return actions


def _shape_value(
    rewriter: GraphRewriter, node: Node, tensor: tuple[Node, int]
) -> np.ndarray[Any, Any] | None:
    dtype = node.output_types[0].numpy_dtype
    if node.op == "Rank":
        rank = rewriter.shapes.rank(tensor)
        return None if rank is None else np.asarray(rank, dtype)
    dims = rewriter.shapes.dims(tensor)
    if dims is None:
        return None
    wanted: Any = dims if node.op == "Shape" else int(np.prod(dims, dtype=np.int64))
    if np.max(wanted, initial=0) > np.iinfo(dtype).max:
        return None
    return np.asarray(wanted, dtype)
