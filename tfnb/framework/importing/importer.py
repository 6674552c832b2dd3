"""``tf.import_graph_def``: adds the nodes of a GraphDef to the default graph, all or none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import errors, op_registry
from tfnb.core.attr_value import decode_attr
from tfnb.core.process.collector_pause import without_collector
from tfnb.core.process.later import later
from tfnb.core.process.records import replace
from tfnb.core.versions import check_versions
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.graph_def_reader import GraphDefReader, InputMap, TensorId
from tfnb.framework.graph_scopes import DeviceEntry, merged_device
from tfnb.framework.operation_factory import apply_scopes, join_control_flow
from tfnb.framework.scopes import name_scope
from tfnb.framework.tensor import Tensor
from tfnb.proto import graph_pb2

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.framework import function_library
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation
    from tfnb.proto import op_def_pb2
else:
    function_library = later("tfnb.framework.function_library", in_step=True)

EXPORTS = {"tf": ["import_graph_def"], "graph_util": ["import_graph_def"]}


def import_graph_def(
    graph_def: graph_pb2.GraphDef,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Any = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: op_def_pb2.OpList | None = None,
) -> list[Tensor | Operation] | None:
    """Add the nodes of a GraphDef to the default graph.

    Args:
      graph_def: the nodes; not changed.
      input_map: names of tensors in ``graph_def`` (``"a"``, ``"a:1"``, ``"^a"`` for a control
        input) -> the tensor or value to use instead.
      return_elements: names of operations and tensors in ``graph_def`` to return.
      name: a name scope to put the nodes into; ``"import"`` if None, no scope if "".
      op_dict: ignored.
      producer_op_list: the op definitions of the graph's writer; attributes that are unknown here
        are dropped where they have the default of that list.

    Returns:
      The operations and tensors for ``return_elements``, or None if that is None.

    Raises:
      TypeError: an argument is of another type.
      ValueError: ``graph_def`` is not a valid graph, or an argument names a missing node or tensor;
        the graph stays unchanged.
      NotFoundError: ops are not registered; the error names all of them.
      ResourceExhaustedError: there are more nodes than ``tfnb.safety.limits`` allows.
    """
    own = _own_copy(graph_def)
    replacements = _checked_input_map(input_map)
    wanted = _checked_return_elements(return_elements)
    if producer_op_list is not None:
        _remove_default_attrs(producer_op_list, own)
    try:
        check_versions(own.versions)
    except errors.InvalidArgumentError as error:
        raise ValueError(error.message) from None
    graph = get_default_graph()
    graph._check_not_finalized()
    _check_number_of_nodes(own, graph.effects_policy.max_nodes)
    with name_scope(name, "import", replacements.values()) as scope:
        mapped = _input_map_of(replacements, name)
    with graph._lock, without_collector(len(own.node)):
        importer = _Importer(graph, own, scope[:-1], mapped)
        return importer.run(wanted)


def _check_number_of_nodes(graph_def: graph_pb2.GraphDef, limit: int | None) -> None:
    if limit is None:
        return
    in_functions = sum(len(function.node_def) for function in graph_def.library.function)
    if len(graph_def.node) + in_functions > limit:
        raise errors.resource_exhausted(
            f"The GraphDef has {len(graph_def.node):,} nodes, and {in_functions:,} in functions; "
            f"tfnb.safety.limits(max_nodes=...) allows {limit:,}."
        )


class _Importer:
    """One import into one graph, under the graph's lock."""

    def __init__(
        self, graph: Graph, graph_def: graph_pb2.GraphDef, prefix: str, input_map: InputMap
    ) -> None:
        self.graph = graph
        self.graph_def = graph_def
        self.input_map = input_map
        self.prefix = prefix
        self.state = graph.scopes()
        controls = list(
            dict.fromkeys(op for scope in self.state.control_stack for op in scope.control_inputs)
        )
        self.reader = GraphDefReader(graph, graph_def.node, prefix, input_map, controls)

    def run(self, wanted: tuple[str, ...] | None) -> list[Tensor | Operation] | None:
        """Read all nodes, then add them to the graph."""
        graph = self.graph
        old_versions, old_functions = graph.def_versions, dict(graph._functions)
        if graph.replacement is not None:
            graph.replacement.make_room(self.prefix)
        try:
            self._add_functions()
            self._merge_versions()
            self.reader.read()
            self._check_all_mapped()
            found = None if wanted is None else [self._returned(name) for name in wanted]
            self._place()
        except BaseException:
            graph.def_versions, graph._functions = old_versions, old_functions
            graph.function_definitions.clear()
            raise
        self._commit()
        first = len(graph.operation_list) - len(self.reader.operations)
        graph.loaded_ranges.append((first, len(graph.operation_list)))
        return found

    def _add_functions(self) -> None:
        library = self.graph_def.library
        if not library.function and not library.gradient:
            return
        for function in function_library.functions_from_library(library):
            function.is_loaded = True
            try:
                self.graph._add_function(function)
            except errors.InvalidArgumentError as error:
                raise ValueError(error.message) from None

    def _merge_versions(self) -> None:
        """Set the graph's versions to the older producer and the stricter constraints of both."""
        theirs, ours = self.graph_def.versions, self.graph.def_versions
        self.graph.def_versions = replace(
            ours,
            producer=min(ours.producer, theirs.producer),
            min_consumer=max(ours.min_consumer, theirs.min_consumer),
            bad_consumers=tuple(sorted({*ours.bad_consumers, *theirs.bad_consumers})),
        )

    def _check_all_mapped(self) -> None:
        """Refuse keys of the input map that are not in the GraphDef: they are probably misspelt."""
        by_name = self.reader.by_name
        missing = []
        for name, index in self.input_map.tensors:
            is_used = (name, index) in self.input_map.used
            if not is_used and (name not in by_name or index >= len(by_name[name].outputs)):
                missing.append(f"{name}:{index}")
        missing += [f"^{name}" for name in self.input_map.controls if name not in by_name]
        if missing:
            raise ValueError(
                f"Attempted to map inputs that were not found in graph_def: [{', '.join(missing)}]"
            )

    def _returned(self, text: str) -> Tensor | Operation:
        by_name = self.reader.by_name
        if ":" not in text:
            if text not in by_name:
                raise ValueError(f"Requested return node '{text}' not found in graph def")
            return by_name[text]
        name, index = _parse_tensor_name(text)
        mapped = self.input_map.tensors.get((name, index))
        if mapped is not None:
            return mapped
        if name not in by_name:
            raise ValueError(f"Requested return tensor '{name}:{index}' not found in graph def")
        outputs = by_name[name].outputs
        if not 0 <= index < len(outputs):
            raise ValueError(
                f"Invalid return output {index} of node '{name}', which has {len(outputs)} "
                "output(s)"
            )
        return outputs[index]

    def _place(self) -> None:
        """Set the devices: a node's own, within the outer scopes; colocated nodes follow."""
        colocated: list[tuple[Operation, list[str]]] = []
        canonical: dict[str, str | None] = {"": self.state.device}
        for op, node in self.reader.operations_and_nodes():
            fellows = _fellows(op)
            if fellows:
                colocated.append((op, fellows))
                device: str | None = ""
            else:
                requested = node.device
                if requested not in canonical:
                    try:
                        stack = (*self.state.device_stack, DeviceEntry(requested))
                        canonical[requested] = merged_device(stack, None)
                    except ValueError as error:
                        raise ValueError(f"{error} (node '{node.name}')") from None
                device = canonical[requested]
                if device is None:
                    stack = self.state.device_stack
                    if requested:
                        stack = (*stack, DeviceEntry(requested))
                    device = merged_device(stack, op)
            op.requested_device = device or ""
            if op.kept_node_def is not None and op.kept_node_def.device != op.requested_device:
                op.kept_node_def.device = op.requested_device
        by_name = {op.name: op for op in self.reader.operations}
        for op, fellows in colocated:
            self._follow(op, fellows, by_name)

    def _follow(
        self,
        op: Operation,
        fellows: list[str],
        by_name: dict[str, Operation],
    ) -> None:
        for name in fellows:
            fellow = by_name.get(name) or self.graph._nodes_by_name.get(name)
            if fellow is None:
                raise ValueError(
                    f"Specified colocation to an op: {name} that does not exist during import for "
                    f"op: {op.name}"
                )
            if fellow.requested_device:
                op._set_device(fellow.requested_device)
                return

    def _commit(self) -> None:
        graph, state = self.graph, self.state
        has_scopes = bool(
            graph._attr_scope_map
            or graph._op_to_kernel_label_map
            or graph._gradient_override_map
            or graph._gradient_function_map
            or graph._default_original_op
            or state.colocation_stack
            or graph._container
        )
        joins = state.control_flow_context is not None or bool(self.input_map)
        names_in_use = graph._names_in_use
        for op in self.reader.operations:
            graph._add_op(op)
            names_in_use.setdefault(op.name.lower(), 1)
        for op in self.reader.operations:
            if joins:
                join_control_flow(op)
            for scope in state.control_stack:
                scope.add_op(op)
            if has_scopes:
                apply_scopes(op, state, (), compute_device=False)


def _fellows(op: Operation) -> list[str]:
    """Return the names of the nodes that a node must be colocated with."""
    if "_class" not in op.attrs:
        return []
    names = [group[5:].decode() for group in op.attrs["_class"] if group.startswith(b"loc:@")]
    return [name for name in names if name != op.name]


# ------------------------------------------------------------------------------------ the arguments


def _own_copy(graph_def: Any) -> graph_pb2.GraphDef:
    """Return a copy of a GraphDef; other classes for the same message are accepted."""
    own = graph_pb2.GraphDef()
    if isinstance(graph_def, graph_pb2.GraphDef):
        own.CopyFrom(graph_def)
        return own
    descriptor = getattr(graph_def, "DESCRIPTOR", None)
    if getattr(descriptor, "full_name", None) != own.DESCRIPTOR.full_name:
        raise TypeError(
            "Argument `graph_def` must be a GraphDef proto. Obtained "
            f"{type(graph_def).__name__}; read a SavedModel, MetaGraphDef or file first."
        )
    own.ParseFromString(graph_def.SerializeToString())
    return own


def _checked_input_map(input_map: Mapping[str, Any] | None) -> dict[str, Any]:
    if input_map is None:
        return {}
    if not isinstance(input_map, dict):
        raise TypeError(
            f"Argument `input_map` must be a dictionary. Obtained {type(input_map).__name__}"
        )
    if not all(isinstance(key, (str, bytes)) for key in input_map):
        raise TypeError(
            f"All keys for argument `input_map` must be strings. Obtained keys: {list(input_map)}"
        )
    return {
        key.decode() if isinstance(key, bytes) else key: value for key, value in input_map.items()
    }


def _checked_return_elements(return_elements: Any) -> tuple[str, ...] | None:
    if return_elements is None:
        return None
    elements = tuple(return_elements)
    if not all(isinstance(one, (str, bytes)) for one in elements):
        raise TypeError(
            f"Argument `return_elements` must be a list of strings. Obtained {return_elements}."
        )
    names = tuple(one.decode() if isinstance(one, bytes) else one for one in elements)
    for name in names:
        if ":" in name:
            _parse_tensor_name(name)
    return names


def _input_map_of(replacements: dict[str, Any], name: str | None) -> InputMap:
    """Return the input map with every value as a tensor; call it in the import's name scope."""
    if not all(isinstance(value, Tensor) for value in replacements.values()):
        if name == "":
            raise ValueError(
                "tf.import_graph_def() requires a non-empty `name` if `input_map` contains "
                "non-Tensor values. Try calling tf.convert_to_tensor() on `input_map` values "
                "before calling tf.import_graph_def()."
            )
        with name_scope("_inputs"):
            replacements = {k: convert_to_tensor(value) for k, value in replacements.items()}
    input_map = InputMap()
    for key, tensor in replacements.items():
        if key[:1] == "^":
            input_map.controls[key[1:]] = tensor.op
        else:
            input_map.tensors[_parse_tensor_name(key)] = tensor
    return input_map


def _parse_tensor_name(text: str) -> TensorId:
    parts = text.split(":")
    if len(parts) == 1:
        return text, 0
    if len(parts) > 2:
        raise ValueError(
            f"Cannot convert '{text}' to a tensor name. Tensor names should not contain more than "
            f"1 `:`. Obtained {len(parts) - 1}"
        )
    try:
        return parts[0], int(parts[1])
    except ValueError:
        raise ValueError(
            f"Cannot convert {text!r} to a tensor name. Second component of the name following the "
            f"`:` should be an int. Got {parts[1]}."
        ) from None


def _remove_default_attrs(
    producer_op_list: op_def_pb2.OpList, graph_def: graph_pb2.GraphDef
) -> None:
    """Drop unknown attributes that have the default value of the writer's op."""
    producer_ops = {op.name: op for op in producer_op_list.op}
    for node in graph_def.node:
        producer_op = producer_ops.get(node.op)
        definition = op_registry.find(node.op) if producer_op is not None else None
        if producer_op is None or definition is None:
            continue
        known = definition.op_def.attr_by_name
        defaults = {
            a.name: a.default_value for a in producer_op.attr if a.HasField("default_value")
        }
        for name in [name for name in node.attr if name not in known]:
            if name in defaults and _same_attr(node.attr[name], defaults[name]):
                del node.attr[name]


def _same_attr(ours: Any, theirs: Any) -> bool:
    if type(ours) is type(theirs):
        return bool(ours == theirs)
    twin = type(ours)()  # the list may consist of another package's messages
    twin.ParseFromString(theirs.SerializeToString())
    return bool(decode_attr(ours) == decode_attr(twin))
