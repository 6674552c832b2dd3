"""The graph between chosen inputs and outputs, without variables, as a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.session.session import Session
from tfnb.common_runtime.executor.immutable_executor_state import (
    ARG,
    MERGE,
    NOTHING,
    PASS,
    RETVAL,
)
from tfnb.common_runtime.lowering.recognise.program import Program, Unrecognised
from tfnb.common_runtime.lowering.recognise.recognise import recognise
from tfnb.core import dtypes, op_registry
from tfnb.core.process.records import record
from tfnb.framework.graph import Graph
from tfnb.framework.graph_def_reader import parse_tensor_id
from tfnb.framework.importing.importer import import_graph_def
from tfnb.library.variables.freezing import convert_variables_to_constants
from tfnb.onnx_export.called_functions import write_calls_out
from tfnb.onnx_export.program_writer import LEFT_OUT, reason_of, why_not
from tfnb.onnx_export.writing.problems import ConversionError, Problem
from tfnb.proto import config_pb2, graph_pb2

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.common_runtime.executor.immutable_executor_state import NodeItem
    from tfnb.framework.tensor import Tensor

_VARIABLES = frozenset(["Variable", "VariableV2", "VarHandleOp"])
# Ops that read a variable or pass it on; freezing knows them.
_READERS = frozenset(
    (
        *("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "IsVariableInitialized"),
        *("VarIsInitializedOp", "Identity", "Switch", "Merge", "Enter", "Exit"),
        *("NextIteration", "RefIdentity", "RefSwitch", "RefMerge", "RefEnter", "RefExit"),
        *("RefNextIteration", "If", "StatelessIf", "Case", "StatelessCase", "While"),
        *("StatelessWhile", "PartitionedCall", "StatefulPartitionedCall", "VariableShape"),
    )
)
_STRUCTURE = frozenset(["Switch", "_SwitchN", "Const", "_Arg", "_Retval", *LEFT_OUT])
_BRANCHING = frozenset(["If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile"])
_LARGEST_FOLDED = 64 << 20


@record(slots=True, eq=False)
class FrozenProgram:
    """A graph that is ready to be written.

    Attributes:
      program: its program; arguments and results are numbered as inputs and outputs are.
      producer: the version of the oldest writer of the graph.
      argument_of: for each input, the number of its argument.
      result_of: for each output, the number of its result.
    """

    program: Program
    producer: int
    argument_of: list[int]
    result_of: list[int]


def freeze(
    graph: Graph, sess: Session | None, inputs: Sequence[Tensor], outputs: Sequence[Tensor]
) -> FrozenProgram:
    """Return the part of a graph between inputs and outputs, as a program without variables.

    Args:
      graph: the graph.
      sess: the session that has the values of the variables; None if there are none.
      inputs: the tensors that are fed.
      outputs: the tensors that are computed.

    Raises:
      ConversionError: it has state, unknown ops, or loops of a form that ONNX lacks.
      OpError: the graph is not valid.
    """
    cut, fed = _cut(graph.as_graph_def(), inputs, outputs)
    names = [fed.get(one.name, one.name) for one in outputs]
    _check_ops(cut)
    if any(node.op in _VARIABLES for node in cut.node):
        _check_state(cut, sess)
        assert sess is not None
        nodes = sorted({name.partition(":")[0] for name in names})
        try:
            cut = convert_variables_to_constants(sess, cut, nodes)
        except ValueError as error:
            raise ConversionError([Problem("", "variable", str(error).rstrip("."))]) from error
        _add_placeholders(cut, inputs, fed)
    write_calls_out(cut)
    config = config_pb2.ConfigProto()
    config.device_count["GPU"] = 0
    config.allow_soft_placement = True
    options = config.graph_options
    options.optimizer_options.max_folded_constant_in_bytes = _LARGEST_FOLDED
    for node in _all_nodes(cut):
        node.device = ""
        node.attr.pop("_noinline", None)
        if node.op in _BRANCHING:
            node.attr["_lower_using_switch_merge"].b = True
    for function in cut.library.function:
        function.attr.pop("_noinline", None)
    frozen = Graph()
    with frozen.as_default():
        import_graph_def(cut, name="")
        with Session(graph=frozen, config=config) as inner:
            return _prepared(inner, [fed[one.name] for one in inputs], names)


def _prepared(sess: Session, feeds: Sequence[str], fetches: Sequence[str]) -> FrozenProgram:
    sess.extend_graph()
    unique = list(dict.fromkeys(fetches))
    # A fed tensor that is fetched has no node; its result is the argument itself.
    asked = tuple(name for name in unique if name not in feeds)
    if not asked:
        places = {name: number for number, name in enumerate(feeds)}
        found_results = [-1 - places[name] for name in fetches]
        return FrozenProgram(Program(), 0, list(range(len(feeds))), found_results)
    executors = sess.runtime.prepare(tuple(feeds), asked, ()).executors
    [item] = executors.items
    found = [
        Problem(one.name, one.op, reason)
        for one in item.executor.items
        if one.kernel is not None and not _is_structure(one) and (reason := why_not(one))
    ]
    if found:
        raise ConversionError(found)
    try:
        program = recognise(item.executor)
    except Unrecognised as error:
        raise ConversionError([Problem("", "control flow", str(error))]) from error
    arguments = {name: number for number, name in enumerate(executors.feeds)}
    results = {name: number for number, name in enumerate(executors.fetches)}
    return FrozenProgram(
        program,
        item.graph.versions.producer,
        [arguments[name] for name in feeds],
        [results.get(name, -1 - arguments.get(name, 0)) for name in fetches],
    )


def _is_structure(item: NodeItem) -> bool:
    """Return whether a node has no converter because the program itself says what it does."""
    kept = (PASS, MERGE, ARG, RETVAL, NOTHING)
    return item.action in kept or item.op in _STRUCTURE


def _cut(
    graph_def: Any, inputs: Sequence[Tensor], outputs: Sequence[Tensor]
) -> tuple[Any, dict[str, str]]:
    """Return the nodes between inputs and outputs; and by fed tensor, its placeholder's output."""
    by_name = {node.name: node for node in graph_def.node}
    found = graph_pb2.GraphDef()
    found.versions.CopyFrom(graph_def.versions)
    fed: dict[str, str] = {}
    for number, tensor in enumerate(inputs):
        name = f"onnx_input_{number}"
        while name in by_name:
            name += "_"
        fed[tensor.name] = f"{name}:0"
    _add_placeholders(found, inputs, fed)
    waiting = list(dict.fromkeys(one.op.name for one in outputs if one.name not in fed))
    seen = set(waiting)
    kept = []
    while waiting:
        node = by_name[waiting.pop()]
        copy = graph_pb2.NodeDef()
        copy.CopyFrom(node)
        del copy.input[:]
        for text in node.input:
            name, index = parse_tensor_id(text)
            given = fed.get(f"{name}:{index}") if index >= 0 else None
            copy.input.append(text if given is None else given.partition(":")[0])
            if given is None and name not in seen:
                seen.add(name)
                waiting.append(name)
        copy.attr.pop("_class", None)  # colocation, perhaps with a node that is cut off
        kept.append(copy)
    order = {node.name: number for number, node in enumerate(graph_def.node)}
    found.node.extend(sorted(kept, key=lambda node: order[node.name]))
    if graph_def.library.function:
        names = _functions_of(found.node, graph_def.library)
        functions = [one for one in graph_def.library.function if one.signature.name in names]
        found.library.function.extend(functions)
        found.library.gradient.extend(
            one for one in graph_def.library.gradient if one.function_name in names
        )
    return found, fed


def _functions_of(nodes: Sequence[Any], library: Any) -> set[str]:
    """Return the functions that nodes call, directly or indirectly, and their gradients."""
    known = {one.signature.name: one for one in library.function}
    gradients = {one.function_name: one.gradient_func for one in library.gradient}
    found: set[str] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        names = [node.op]
        for attr in node.attr.values():
            names += [attr.func.name, *(one.name for one in attr.list.func)]
        names += [gradients[name] for name in names if name in gradients]
        for name in names:
            if name in known and name not in found:
                found.add(name)
                waiting += known[name].node_def
    return found


def _all_nodes(graph_def: Any) -> list[Any]:
    """Return the nodes of a graph and of its functions."""
    nodes = [*graph_def.node]
    for function in graph_def.library.function:
        nodes += function.node_def
    return nodes


def _add_placeholders(graph_def: Any, inputs: Sequence[Tensor], fed: Mapping[str, str]) -> None:
    """Add the placeholders that a graph lacks; freezing drops those that no output needs."""
    there = {node.name for node in graph_def.node}
    for tensor in inputs:
        name = fed[tensor.name].removesuffix(":0")
        if name not in there:
            node = graph_def.node.add(name=name, op="Placeholder")
            node.attr["dtype"].type = tensor.dtype.base_dtype.as_datatype_enum
            node.attr["shape"].shape.CopyFrom(tensor.get_shape().as_proto())


def _check_ops(graph_def: Any) -> None:
    """Raise ConversionError if there are unknown ops."""
    functions = {one.signature.name for one in graph_def.library.function}
    found = [
        Problem(node.name, node.op, reason_of(node.op))
        for node in _all_nodes(graph_def)
        if node.op not in functions and op_registry.find(node.op) is None
    ]
    if found:
        raise ConversionError(found)


def _check_state(graph_def: Any, sess: Session | None) -> None:
    """Raise ConversionError if a node changes a variable, or if the variables have no values."""
    holders = {node.name for node in graph_def.node if node.op in _VARIABLES}
    if sess is None:
        raise ConversionError(
            [
                Problem(
                    node.name,
                    node.op,
                    "the variable has no value: give a session, a SavedModel or a checkpoint",
                )
                for node in graph_def.node
                if node.op in _VARIABLES
            ]
        )
    spread = True
    passing = ("Identity", "Switch", "Merge", "Enter", "RefIdentity", "RefSwitch", "RefMerge")
    while spread:
        spread = False
        for node in graph_def.node:
            if node.name not in holders and node.op in passing and _takes(node, holders):
                resource = node.op.startswith("Ref") or node.attr["T"].type == _RESOURCE
                if resource:
                    holders.add(node.name)
                    spread = True
    found = [
        Problem(node.name, node.op, "it changes a variable, which a file cannot do")
        for node in graph_def.node
        if node.op not in _READERS and _takes(node, holders) and _changes(node, holders)
    ]
    if found:
        raise ConversionError(found)


_RESOURCE = dtypes.resource.as_datatype_enum


def _takes(node: Any, holders: set[str]) -> bool:
    return any(parse_tensor_id(text)[0] in holders for text in node.input if text[:1] != "^")


def _changes(node: Any, holders: set[str]) -> bool:
    definition = op_registry.find(node.op)
    if definition is None:
        return False
    arguments: Mapping[int, Any] = dict(enumerate(definition.op_def.inputs))
    for number, text in enumerate(node.input):
        if text[:1] == "^" or parse_tensor_id(text)[0] not in holders:
            continue
        argument = arguments.get(number)
        if argument is None:
            continue
        if argument.is_ref or getattr(argument, "type", None) == dtypes.resource:
            return True
    return False
