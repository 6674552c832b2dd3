"""Matrices: factors, inverses and systems, as loops over columns or rows."""

from __future__ import annotations

import numpy as np

from tfnb.onnx_export.writing.converters import NodeToConvert, converts
from tfnb.onnx_export.writing.onnx_nodes import Kind, close_body, loop_body


def _loop(
    node: NodeToConvert, length: str, first: list[str], step: object, *, is_reversed: bool = False
) -> list[str]:
    """Return values after one turn for each row; ``step`` gets the row as a mark and the values."""
    writer = node.writer
    dtype = node.dtype(0)
    body, turn, going = loop_body(writer.graph, writer.names)
    carried = [writer.names.new("so_far") for _ in first]
    for name in carried:
        writer.graph.kinds[name] = Kind(dtype)
        body.inputs.append((name, Kind(dtype)))
    with writer.inside(body):
        row = turn
        if is_reversed:
            row = node.add("Sub", node.add("Sub", length, node.value(1, np.int64)), turn)
        steps = node.add("Range", node.value(0, np.int64), length, node.value(1, np.int64))
        mark = node.cast(node.add("Equal", steps, row), dtype)
        later = node.cast(node.add("GreaterOrEqual", steps, row), dtype)
        assert callable(step)
        results = step(mark, later, *carried)
    for name in results:
        writer.graph.kinds[name] = Kind(dtype)
    close_body(writer, body, [going, *results])
    return node.add_many("Loop", len(first), length, "", *first, body=body)


@converts("Cholesky")
def cholesky(node: NodeToConvert) -> str:
    """Convert Cholesky: column by column, each is taken out of the rest."""
    dtype = node.dtype(0)
    value = node.inputs[0]
    length = node.add("Gather", node.add("Shape", value), node.value(-1, np.int64))
    lower = node.numeric("Mul", [value, node.scalar(0)], dtype)

    def step(mark: str, later: str, rest: str, so_far: str) -> list[str]:
        column = node.add("Unsqueeze", mark, node.ints(1))
        found = node.add("MatMul", rest, column)
        pivot = node.reduce("ReduceSum", node.add("Mul", found, column), [-2], dtype, True)
        scaled = node.add("Div", found, node.numeric("Sqrt", [pivot], dtype))
        scaled = node.add("Mul", scaled, node.add("Unsqueeze", later, node.ints(1)))
        rank = node.rank(0)
        order = [*range(rank - 2), rank - 1, rank - 2]
        outer = node.add("MatMul", scaled, node.transposed(scaled, order))
        placed = node.add("Mul", scaled, mark)
        return [node.add("Sub", rest, outer), node.add("Add", so_far, placed)]

    return _loop(node, length, [value, lower], step)[1]


@converts("MatrixInverse", "MatrixSolve")
def inverse(node: NodeToConvert) -> str:
    """Convert the inverse or a system by elimination, with the largest pivot of each column."""
    dtype = node.dtype(0)
    matrix = node.inputs[0]
    rank = node.rank(0)
    order = [*range(rank - 2), rank - 1, rank - 2]
    if node.attr("adjoint", False):
        matrix = node.transposed(matrix, order)
    length = node.add("Gather", node.add("Shape", matrix), node.value(-1, np.int64))
    if node.op == "MatrixInverse":
        steps = node.steps(length)
        column = node.add("Unsqueeze", steps, node.ints(1))
        eye = node.cast(node.add("Equal", column, steps), dtype)
        right = node.numeric(
            "Add", [node.numeric("Mul", [matrix, node.scalar(0)], dtype), eye], dtype
        )
    else:
        right = node.inputs[1]

    def step(mark: str, later: str, rest: str, so_far: str) -> list[str]:
        column = node.add("Unsqueeze", mark, node.ints(1))
        found = node.add("MatMul", rest, column)
        sizes = node.add("Abs", found)
        open_rows = node.add("Unsqueeze", later, node.ints(1))
        # Rows above have been pivots; their size counts below any other.
        shut = node.add("Sub", open_rows, node.value(1, dtype.numpy_dtype))
        sizes = node.add("Add", node.add("Mul", sizes, open_rows), shut)
        best = node.add("ArgMax", sizes, axis=-2, keepdims=1)
        positions = node.add("Unsqueeze", node.steps(length), node.ints(1))
        picked = node.cast(node.add("Equal", positions, best), dtype)
        # Exchanges the row of the pivot with the one of this turn.
        apart = node.add("Sub", column, picked)
        turned = node.transposed(apart, order)

        def exchanged(value: str) -> str:
            moved = node.add("MatMul", turned, value)
            return node.add("Sub", value, node.add("MatMul", apart, moved))

        rest, so_far, found = exchanged(rest), exchanged(so_far), exchanged(found)
        row = node.add("Unsqueeze", mark, node.ints(0))
        pivot = node.add("MatMul", row, found)
        factors = node.add("Sub", found, column)
        results = []
        for value in (rest, so_far):
            own = node.add("Div", node.add("MatMul", row, value), pivot)
            results.append(node.add("Sub", value, node.add("MatMul", factors, own)))
        return results

    return _loop(node, length, [matrix, right], step)[1]


@converts("LogMatrixDeterminant")
def log_determinant(node: NodeToConvert) -> list[str]:
    """Convert the sign and the logarithm of a determinant."""
    dtype = node.dtype(0)
    found = node.numeric("Det", [node.inputs[0]], dtype)
    size = node.numeric("Abs", [found], dtype)
    return [node.numeric("Sign", [found], dtype), node.numeric("Log", [size], dtype)]


@converts("MatrixTriangularSolve")
def triangular_solve(node: NodeToConvert) -> str:
    """Convert MatrixTriangularSolve: row by row, from the top or from the bottom."""
    dtype = node.dtype(0)
    matrix, right = node.inputs
    is_lower, is_turned = bool(node.attr("lower", True)), bool(node.attr("adjoint", False))
    matrix = node.add("Trilu", matrix, upper=int(not is_lower))
    if is_turned:
        rank = node.rank(0)
        matrix = node.transposed(matrix, [*range(rank - 2), rank - 1, rank - 2])
        is_lower = not is_lower
    length = node.add("Gather", node.add("Shape", matrix), node.value(-1, np.int64))
    zeros = node.numeric("Mul", [right, node.scalar(0)], dtype)

    def step(mark: str, later: str, so_far: str) -> list[str]:
        assert later
        row = node.add("Unsqueeze", mark, node.ints(0))
        own = node.add("MatMul", row, matrix)
        known = node.add("MatMul", own, so_far)
        wanted = node.add("Sub", node.add("MatMul", row, right), known)
        pivot = node.reduce("ReduceSum", node.add("Mul", own, row), [-1], dtype, True)
        found = node.add("Div", wanted, pivot)
        column = node.add("Unsqueeze", mark, node.ints(1))
        return [node.add("Add", so_far, node.add("MatMul", column, found))]

    return _loop(node, length, [zeros], step, is_reversed=not is_lower)[0]
