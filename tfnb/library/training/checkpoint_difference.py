"""The differences between a graph and a checkpoint, found before anything is restored.

The restoring nodes describe what the graph needs: RestoreV2 nodes name tensors and types, and the
assignments behind them variables and shapes. :func:`wanted_tensors` reads that from the graph
itself, so that it works for savers of loaded graphs, too. :func:`differences` compares it with the
contents of a checkpoint, and gives the errors that the step would raise. As a result, a restore
changes all variables or none, and :func:`table` shows all differences at once.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.core.files.tensor_slice import TensorSlice, parse_shape_and_slice
from tfnb.core.node_text import type_word
from tfnb.core.process.records import record
from tfnb.core.tensor_proto import decode_tensor
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tfnb.core.dtypes import DType
    from tfnb.core.files.checkpoint_reader import CheckpointReader
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor

# Keeps an error below about a dozen lines.
_MAX_ROWS = 5
_MAX_NAMES = 5

_READING_OPS = frozenset(("RestoreV2", "Restore", "RestoreSlice"))


@record(slots=True)
class WantedTensor:
    """One tensor that a graph needs from a checkpoint.

    Attributes:
      name: its name in the checkpoint.
      dtype: the type it must have.
      spec: the part of it that is needed, as ``"4 10 0,2:0,10"``, or "".
      reader: the node that reads it.
      assign: the node that assigns it, or None.
      variable: the name of the variable or node that gets it.
      shape: the shape that it must have; None for any shape.
      reshaped: whether only the number of elements must be equal.
    """

    name: str
    dtype: DType
    spec: str
    reader: Operation
    assign: Operation | None = None
    variable: str = ""
    shape: TensorShape | None = None
    reshaped: bool = False

    def parsed_spec(self) -> tuple[tuple[int, ...] | None, TensorSlice | None]:
        """Return (shape of the whole, part), or (None, None) for a whole tensor."""
        if not self.spec:
            return None, None
        whole, where, _ = parse_shape_and_slice(self.spec)
        return whole, where


@record(slots=True)
class Difference:
    """A row of the table.

    Attributes:
      wanted: the tensor that the graph needs.
      found: the tensor in the checkpoint.
      error: the error that the step would raise.
    """

    wanted: WantedTensor
    found: str
    error: errors.OpError


# ----------------------------------------------------------------------- the tensors a graph needs


def wanted_tensors(graph: Graph, restore_op: Operation) -> list[WantedTensor]:
    """Return the tensors that the nodes before ``restore_op`` read from a checkpoint.

    Nodes whose names of tensors are not constants are left out.
    """
    found: list[WantedTensor] = []
    waiting, seen = [restore_op], {restore_op}
    readers: dict[Operation, list[WantedTensor]] = {}

    def read_by(op: Operation) -> list[WantedTensor]:
        if op not in readers:
            readers[op] = _read_by(op)
        return readers[op]

    while waiting:
        op = waiting.pop()
        if op.type in _READING_OPS:
            read_by(op)
            continue
        for position, tensor in enumerate(op.inputs):
            reshaped, source = _source_of(tensor)
            if source.op.type in _READING_OPS:
                tensors = read_by(source.op)
                if source.value_index < len(tensors):
                    _note_taker(tensors[source.value_index], op, position, reshaped)
        for before in (*op.control_inputs, *(tensor.op for tensor in op.inputs)):
            if before not in seen:
                seen.add(before)
                waiting.append(before)
    for tensors in readers.values():
        found += tensors
    return found


def _source_of(tensor: Tensor) -> tuple[bool, Tensor]:
    reshaped = False
    while tensor.op.type in ("Identity", "Reshape"):
        reshaped = reshaped or tensor.op.type == "Reshape"
        tensor = tensor.op.inputs[0]
    return reshaped, tensor


def _read_by(op: Operation) -> list[WantedTensor]:
    names, specs = _texts(op.inputs[1]), None
    if op.type != "Restore":
        specs = _texts(op.inputs[2])
    if names is None:
        return []
    if specs is None:
        specs = [""] * len(names)
    types = [tensor.dtype.base_dtype for tensor in op.outputs]
    return [
        WantedTensor(name, dtype, spec, op, variable=name)
        for name, spec, dtype in zip(names, specs, types)
    ]


def _texts(tensor: Tensor) -> list[str] | None:
    # Not constant_value(): it makes a tensor impossible to feed.
    if tensor.op.type != "Const":
        return None
    value = decode_tensor(tensor.op.get_attr("value"))
    return [text.decode() for text in value.reshape(-1).tolist()]


def _note_taker(wanted: WantedTensor, op: Operation, position: int, reshaped: bool) -> None:
    if op.type not in ("Assign", "AssignVariableOp") or position != 1:
        return
    wanted.assign = op
    wanted.variable = op.inputs[0].op.name
    wanted.reshaped = reshaped
    if op.type == "AssignVariableOp":
        handle = op.inputs[0].op
        if handle.type == "VarHandleOp":
            wanted.shape = TensorShape(handle.get_attr("shape"))
    elif op.get_attr("validate_shape") or reshaped:
        wanted.shape = op.inputs[0].shape


# --------------------------------------------------------------------------------------- comparison


def differences(
    wanted: Iterable[WantedTensor], reader: CheckpointReader, read_all: bool = False
) -> Iterator[Difference]:
    """Yield the tensors that a checkpoint lacks or has in another form.

    Args:
      wanted: the tensors that the graph needs.
      reader: the checkpoint.
      read_all: whether to read the values, too, to check that they are intact.
    """
    for one in wanted:
        if not reader.has_tensor(one.name):
            yield Difference(one, "-", _missing(one))
            continue
        shape, dtype = reader.shape_and_dtype(one.name)
        found = f"{dtype.name} {_shown(shape)}"
        error = _type_or_shape_error(one, shape, dtype)
        if error is None and read_all:
            whole, where = one.parsed_spec()
            try:
                reader.restore(one.name, whole, where, one.dtype)
            except errors.OpError as damage:
                found += f", {_DAMAGES.get(type(damage), 'unreadable')}"
                error = same_class(damage, one.reader, damage.message)
        if error is not None:
            yield Difference(one, found, error)


_DAMAGES: dict[type[errors.OpError], str] = {
    errors.DataLossError: "damaged",
    errors.OutOfRangeError: "cut off",
    errors.NotFoundError: "file missing",
}


def same_class(error: errors.OpError, op: Operation | None, text: str) -> errors.OpError:
    """Return an error of the class of another, for an operation and with a text."""
    cls: Any = type(error)
    code = (error.error_code,) if cls is errors.OpError else ()
    found: errors.OpError = cls(None if op is None else op.node_def, op, text, *code)
    return found.naming(error.named_node)


def _missing(one: WantedTensor) -> errors.OpError:
    return errors.NotFoundError(None, one.reader, f"Key {one.name} not found in checkpoint")


def _type_or_shape_error(
    one: WantedTensor, shape: tuple[int, ...], dtype: DType
) -> errors.OpError | None:
    def invalid(op: Operation, text: str) -> errors.OpError:
        return errors.InvalidArgumentError(None, op, text)

    if dtype is not one.dtype:
        return invalid(
            one.reader,
            f"tensor_name = {one.name}; expected dtype {type_word(one.dtype)} does not equal "
            f"original dtype {type_word(dtype)}",
        )
    if one.spec:
        whole, _, _ = parse_shape_and_slice(one.spec)
        if whole == shape:
            return None
        return invalid(
            one.reader,
            f"tensor_name = {one.name}; shape in shape_and_slice spec {shape_text(whole)} does not "
            f"match the shape stored in checkpoint: {shape_text(shape)}",
        )
    if one.shape is None or one.assign is None:
        return None
    if one.reshaped:
        count, have = one.shape.num_elements(), TensorShape(shape).num_elements()
        if count is None or count == have:
            return None
        return invalid(
            one.assign,
            f"Input to reshape is a tensor with {have} values, but the requested shape has {count}",
        )
    if one.shape.is_compatible_with(TensorShape(shape)):
        return None
    return invalid(
        one.assign,
        "Assign requires shapes of both tensors to match. lhs shape= "
        f"{_plain(one.shape)} rhs shape= {_plain(TensorShape(shape))}",
    )


def _plain(shape: TensorShape) -> str:
    dims = shape.dim_values
    if dims is None:
        return "<unknown>"
    return f"[{','.join('?' if size is None else str(size) for size in dims)}]"


def _shown(shape: tuple[int, ...] | TensorShape) -> str:
    dims = shape.dim_values if isinstance(shape, TensorShape) else shape
    if dims is None:
        return "(any)"
    inner = ", ".join("?" if size is None else str(size) for size in dims)
    return f"({inner},)" if len(dims) == 1 else f"({inner})"


# ------------------------------------------------------------------------------------- the table


def table(found: list[Difference], wanted: list[WantedTensor], reader: CheckpointReader) -> str:
    """Return the differences as a readable table of a few lines."""
    stored = list(reader.names())
    used = {one.name for one in wanted}
    unused = [name for name in stored if name not in used and not name.startswith("_CHECKPOINT")]
    rows = [("in the graph", "type and shape", f"in {_short(reader.prefix)}")]
    for row in found[:_MAX_ROWS]:
        one = row.wanted
        shape = parse_shape_and_slice(one.spec)[0] if one.spec else one.shape
        kind = one.dtype.name if shape is None else f"{one.dtype.name} {_shown(shape)}"
        there = row.found if row.found != "-" else f"missing{_nearest(one.name, unused)}"
        rows.append((one.name, kind, there))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [
        f"The graph and the checkpoint differ in {len(found)} of {len(wanted)} tensors; nothing "
        "was restored."
    ]
    lines += [f"  {a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in rows]
    if len(found) > _MAX_ROWS:
        lines.append(f"  ... and {len(found) - _MAX_ROWS} more")
    advice = _advice(found, unused)
    return "\n".join([*lines, advice] if advice else lines)


def _short(prefix: str) -> str:
    return prefix if len(prefix) <= 40 else f"...{prefix[-37:]}"


def _without_suffixes(name: str) -> str:
    """Return names without numbers: ``dense_1/kernel_2`` -> ``dense/kernel``."""
    return re.sub(r"_\d+(?=/|$)", "", name)


def _nearest(name: str, names: list[str]) -> str:
    plain = _without_suffixes(name)
    same = [other for other in names if _without_suffixes(other) == plain]
    close = same or difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if not close:  # scopes may have been added or removed
        last = name.rpartition("/")[2]
        close = [other for other in names if other.rpartition("/")[2] == last]
    return f"; nearest is {close[0]!r}" if close else ""


def _advice(found: list[Difference], unused: list[str]) -> str:
    missing = [row.wanted.name for row in found if row.found == "-"]
    plain = {_without_suffixes(other): other for other in unused}
    doubled = [n for n in missing if plain.get(_without_suffixes(n), n) != n]
    if doubled:
        return (
            f"{doubled[0]!r} is {plain[_without_suffixes(doubled[0])]!r} there: was the graph "
            "built twice? Build it into a new tf.Graph() (or tf.reset_default_graph()), or "
            "give tf.train.Saver a dict from names in the checkpoint to variables."
        )
    if missing and unused:
        names = ", ".join(repr(name) for name in unused[:_MAX_NAMES])
        more = f" and {len(unused) - _MAX_NAMES} more" if len(unused) > _MAX_NAMES else ""
        return (
            f"Only the checkpoint has {names}{more}. tf.train.Saver takes a dict from names in the "
            "checkpoint to variables, or a list of what to restore."
        )
    if missing:
        return "tf.train.Saver takes a list of what to restore; initialize the others."
    return ""
