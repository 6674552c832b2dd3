"""Recurrent cells as single ops: LSTM and GRU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.onnx_export.writing.converters import NodeToConvert, converts
from tfnb.onnx_export.writing.onnx_nodes import Kind, close_body, loop_body

if TYPE_CHECKING:
    from collections.abc import Sequence

# The columns of the gates input, cell, forget and output.
_ICFO, _IFCO = (0, 1, 2, 3), (0, 2, 1, 3)


def _gates(node: NodeToConvert, product: str, number: int) -> list[str]:
    """Return the equal parts of the columns of a product."""
    if node.opset >= 18:
        attrs = {"axis": 1, "num_outputs": number}
        return node.writer.add("Split", [product], attrs, number)
    return node.add_many("Split", number, product, axis=1)


def _lstm_step(
    node: NodeToConvert,
    x: str,
    before: Sequence[str],
    weights: Sequence[str],
    layout: Sequence[int],
) -> list[str]:
    """Return the outputs of one step: i, cs, f, o, ci, co, h.

    Args:
      node: the node.
      x: the input of the step.
      before: cell and output of the step before.
      weights: w, the peepholes wci, wcf, wco, and b.
      layout: the places of the gates input, cell, forget and output.
    """
    dtype = node.dtype(1)

    def binary(op: str, one: str, other: str) -> str:
        return node.numeric(op, [one, other], dtype)

    cell, output = before
    w, wci, wcf, wco, b = weights
    joined = node.add("Concat", x, output, axis=1)
    columns = _gates(node, binary("Add", binary("MatMul", joined, w), b), 4)
    i, ci, f, o = (columns[place] for place in layout)
    if "forget_bias" in node.attrs:
        f = binary("Add", f, node.scalar(float(node.attr("forget_bias")), 1))
    peeps = bool(node.attr("use_peephole", False))
    if peeps:
        i, f = (binary("Add", gate, binary("Mul", cell, one)) for gate, one in ((i, wci), (f, wcf)))
    i, f = (node.numeric("Sigmoid", [gate], dtype) for gate in (i, f))
    ci = node.numeric("Tanh", [ci], dtype)
    found = binary("Add", binary("Mul", i, ci), binary("Mul", f, cell))
    clip = float(node.attr("cell_clip", -1.0))
    if clip > 0:
        found = binary("Min", binary("Max", found, node.scalar(-clip, 1)), node.scalar(clip, 1))
    if peeps:
        o = binary("Add", o, binary("Mul", found, wco))
    o = node.numeric("Sigmoid", [o], dtype)
    co = node.numeric("Tanh", [found], dtype)
    return [i, found, f, o, ci, co, binary("Mul", o, co)]


@converts("LSTMBlockCell")
def lstm_step(node: NodeToConvert) -> list[str]:
    """Convert one step of an LSTM."""
    return _lstm_step(node, node.inputs[0], node.inputs[1:3], node.inputs[3:], _ICFO)


@converts("BlockLSTM", "BlockLSTMV2")
def lstm(node: NodeToConvert) -> list[str]:
    """Convert an LSTM over time: a loop, and zeros behind its last step."""
    writer, dtype = node.writer, node.dtype(1)
    limit = node.add("Reshape", node.int64(0), node.value(np.zeros(0), np.int64))
    values = node.inputs[1]
    time = node.add("Gather", node.add("Shape", values), node.value(0, np.int64))
    number = node.add("Min", limit, time)
    body, turn, going = loop_body(writer.graph, writer.names)
    carried = [writer.names.new("so_far") for _ in range(2)]
    kind = Kind(dtype)
    for name in carried:
        writer.graph.kinds[name] = kind
        body.inputs.append((name, kind))
    layout = _ICFO if node.op == "BlockLSTM" else _IFCO
    with writer.inside(body):
        x = node.add("Gather", values, turn)
        outputs = _lstm_step(node, x, carried, node.inputs[4:], layout)
    for name in outputs:
        writer.graph.kinds[name] = kind
    close_body(writer, body, [going, outputs[1], outputs[6], *outputs])
    found = node.add_many("Loop", 9, number, "", *node.inputs[2:4], body=body)[2:]
    missing = node.add("Reshape", node.add("Sub", time, number), node.ints(1))
    pads = node.add("Concat", node.ints(0, 0, 0), missing, node.ints(0, 0), axis=0)
    return [node.add("Pad", one, pads, node.scalar(0, 1)) for one in found]


@converts("GRUBlockCell")
def gru_step(node: NodeToConvert) -> list[str]:
    """Convert one step of a GRU."""
    dtype = node.dtype(0)
    x, before, w_ru, w_c, b_ru, b_c = node.inputs

    def binary(op: str, one: str, other: str) -> str:
        return node.numeric(op, [one, other], dtype)

    def of(value: str, weights: str, bias: str) -> str:
        joined = node.add("Concat", x, value, axis=1)
        return binary("Add", binary("MatMul", joined, weights), bias)

    r, u = _gates(node, node.numeric("Sigmoid", [of(before, w_ru, b_ru)], dtype), 2)
    c = node.numeric("Tanh", [of(binary("Mul", before, r), w_c, b_c)], dtype)
    rest = binary("Sub", node.scalar(1), u)
    return [r, u, c, binary("Add", binary("Mul", u, before), binary("Mul", rest, c))]
