"""``tfnb.onnx.export``: a graph, a session or a model as an ONNX model."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

from tfnb.client.model import Model
from tfnb.client.session.session import BaseSession
from tfnb.core import errors
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.graph import Graph
from tfnb.framework.tensor import Tensor
from tfnb.onnx_export.families import all_families
from tfnb.onnx_export.frozen_graph import freeze
from tfnb.onnx_export.layout import remove_transposes
from tfnb.onnx_export.model_proto import check_writable, model_proto, write_model
from tfnb.onnx_export.onnx_import import import_onnx
from tfnb.onnx_export.program_writer import ProgramWriter
from tfnb.onnx_export.static_values import StaticValues
from tfnb.onnx_export.writing.onnx_nodes import Kind, Names, OnnxGraph, OnnxNode, Writer
from tfnb.onnx_export.writing.problems import ConversionError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    type_of_tensors = str | Tensor | Sequence[str | Tensor] | Mapping[str, str | Tensor]

EXPORTS = {"onnx": ["export"]}

OPSETS: Final = range(17, 22)
"""The versions of the operators that can be written."""
DEFAULT_OPSET: Final = 18

assert all_families


def export(
    source: Graph | BaseSession | Model,
    inputs: type_of_tensors | None = None,
    outputs: type_of_tensors | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    opset: int = DEFAULT_OPSET,
    phase: Callable[[str], AbstractContextManager[Any]] | None = None,
) -> Any:
    """Return a graph as an ``onnx.ModelProto``, and write it to a file.

    Variables become constants, functions are inlined, constants are folded; loops and conditions
    become Loop and If. Needs ``tfnb[onnx]``.

    Args:
        source: A session, whose variables have values; a graph without variables; or a model.
        inputs: Tensors to feed, or their names; or a mapping of names in the file to them. Those of
            the model if None; else the placeholders that the outputs need.
        outputs: Tensors to compute, likewise. Those of the model if None.
        path: The file to write; None for none. It is written aside and then renamed.
        opset: The version of ONNX's operators, 17 to 21.
        phase: Returns a context for each phase of the work, given its description.

    Returns:
        The model.

    Raises:
        ConversionError: Nodes have no form in ONNX; each is listed with its op and the reason, and
            nothing is written.
        InvalidArgumentError: The arguments do not fit the graph.
        UnimplementedError: ``onnx`` is not installed.
        OpError: The file cannot be written.
    """
    import_onnx()
    if opset not in OPSETS:
        raise errors.invalid_argument(
            f"opset={opset}: the opset must be from {OPSETS[0]} to {OPSETS[-1]}."
        )
    enter = phase or (lambda _: nullcontext())
    if path is not None:
        check_writable(os.fspath(path))
    if isinstance(source, Model):
        model = source
        given = _named(model.graph, inputs, {k: v.name for k, v in model.inputs.items()})
        wanted = _named(model.graph, outputs, {k: v.name for k, v in model.outputs.items()})
        with enter("restoring variables"):
            sess = model.loaded.open()
        try:
            made = _converted(model.graph, sess, given, wanted, opset, enter)
        finally:
            sess.close()
    elif isinstance(source, BaseSession):
        made = _from_graph(source.graph, source, inputs, outputs, opset, enter)
    elif isinstance(source, Graph):
        made = _from_graph(source, None, inputs, outputs, opset, enter)
    else:
        raise errors.invalid_argument(
            f"A Graph, a Session or a Model can be exported, not {type(source).__name__}."
        )
    if path is not None:
        with enter(f"writing {os.fspath(path)}"):
            write_model(made, os.fspath(path))
    return made


def _from_graph(
    graph: Graph,
    sess: Any,
    inputs: type_of_tensors | None,
    outputs: type_of_tensors | None,
    opset: int,
    enter: Any,
) -> Any:
    if outputs is None:
        raise errors.invalid_argument("Name the outputs: outputs=['node:0'].")
    wanted = _named(graph, outputs, {})
    given = _named(graph, inputs, {}) if inputs is not None else _placeholders(wanted)
    return _converted(graph, sess, given, wanted, opset, enter)


def _named(
    graph: Graph, given: type_of_tensors | None, usual: Mapping[str, str]
) -> dict[str, Tensor]:
    """Return tensors by their names in the file."""
    from collections.abc import Mapping as AnyMapping

    if given is None:
        given = usual
    elif isinstance(given, str | Tensor):
        given = [given]
    if isinstance(given, AnyMapping):
        pairs = [(str(key), one) for key, one in given.items()]
    else:
        pairs = [("", one) for one in given]
    found = {}
    for key, one in pairs:
        tensor = _tensor(graph, usual.get(one, one) if isinstance(one, str) else one)
        name = key or (tensor.op.name if tensor.name.endswith(":0") else tensor.name)
        if isinstance(one, str) and not key and one in usual:
            name = one
        if name in found:
            raise errors.invalid_argument(f"{name!r} is named twice.")
        found[name] = tensor
    return found


def _tensor(graph: Graph, one: Any) -> Tensor:
    if isinstance(one, Tensor):
        if one.graph is not graph:
            raise errors.invalid_argument(f"{one.name!r} is a tensor of another graph.")
        return one
    name = str(one)
    try:
        return graph.get_tensor_by_name(name if ":" in name else f"{name}:0")
    except (KeyError, ValueError) as error:
        raise errors.invalid_argument(f"The graph has no tensor {name!r}: {error}") from None


def _placeholders(wanted: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the placeholders that outputs need, in the order of the graph."""
    waiting = [tensor.op for tensor in wanted.values()]
    seen = set(waiting)
    while waiting:
        op = waiting.pop()
        for before in (*(one.op for one in op.inputs), *op.control_inputs):
            if before not in seen:
                seen.add(before)
                waiting.append(before)
    if not seen:
        return {}
    graph = next(iter(seen)).graph
    order = {op: number for number, op in enumerate(graph.get_operations())}
    ops = sorted((op for op in seen if op.type.startswith("Placeholder")), key=order.__getitem__)
    return {op.name: op.outputs[0] for op in ops if op.type != "PlaceholderWithDefault"}


def _converted(
    graph: Graph,
    sess: Any,
    inputs: Mapping[str, Tensor],
    outputs: Mapping[str, Tensor],
    opset: int,
    enter: Any,
) -> Any:
    if not outputs:
        raise errors.invalid_argument("Name an output: outputs=['node:0'].")
    fed = list(dict.fromkeys(inputs.values()))
    if len(fed) < len(inputs):
        raise errors.invalid_argument("A tensor is named twice among the inputs.")
    found = [
        Problem(one.op.name, one.op.type, f"an {side} of complex numbers; take their parts")
        for side, tensors in (("input", inputs), ("output", outputs))
        for one in tensors.values()
        if one.dtype.is_complex
    ]
    if found:
        raise ConversionError(found)
    with enter("freezing"):
        frozen = freeze(graph, sess, fed, list(outputs.values()))
    with enter("converting"):
        return _written(frozen, inputs, outputs, opset)


def _written(
    frozen: Any, inputs: Mapping[str, Tensor], outputs: Mapping[str, Tensor], opset: int
) -> Any:
    made, names = OnnxGraph(opset), Names()
    files = [names.new(name or "input") for name in inputs]
    arguments, shapes = [""] * len(files), [TensorShape(None)] * len(files)
    for name, tensor, number in zip(files, inputs.values(), frozen.argument_of):
        kind = Kind(tensor.dtype.base_dtype)
        made.kinds[name] = kind
        made.body.inputs.append((name, kind))
        arguments[number], shapes[number] = name, tensor.get_shape()
        made.shapes[name] = tensor.get_shape()
    # Reserved, so that no inner value takes the name of an output.
    ends = [names.new(name or "output") for name in outputs]
    writer = Writer(made, names)
    values = StaticValues(frozen.program, shapes, frozen.producer)
    results = ProgramWriter(frozen.program, values, writer, arguments).write()
    for number in frozen.result_of:
        made.body.outputs.append(arguments[-1 - number] if number < 0 else results[number])
    remove_transposes(made, names)
    retval_shapes = _shapes_of_results(frozen.program, values)
    for end, number, name, tensor in zip(
        ends, frozen.result_of, made.body.outputs, outputs.values()
    ):
        made.body.nodes.append(OnnxNode("Identity", [name], [end]))
        made.kinds[end] = Kind(tensor.dtype.base_dtype)
        made.shapes[end] = _both(retval_shapes.get(number), tensor.get_shape())
    made.body.outputs = ends
    return model_proto(made)


def _both(found: TensorShape | None, known: TensorShape) -> TensorShape:
    """Return what is known of a shape; what the frozen program says counts more than the graph."""
    if found is None:
        return known
    # A tensor array forgets the shape that the graph's Python object has.
    return found.merge_with(known) if found.is_compatible_with(known) else found


def _shapes_of_results(program: Any, values: StaticValues) -> dict[int, TensorShape]:
    found = {}
    for instruction in program.root:
        item = getattr(instruction, "item", None)
        if item is not None and item.op == "_Retval":
            found[item.argument_index] = values.shape(instruction.args[0])
    return found
