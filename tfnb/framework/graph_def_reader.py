"""Construction of operations from the nodes of a GraphDef; the graph changes after all are made.

The nodes are read in the given order.  If an input comes later in the list and is not a loop's back
edge, reading starts over in the topological order nearest to the given one; nodes that cannot be
ordered form a cycle. All walks are iterative, so that a chain of any length can be read.

Corresponds to TensorFlow's graph_constructor.cc, with the same error texts; every problem is a
``ValueError``, as for TensorFlow's Python callers, except an unregistered op and a removed op.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core import errors, op_registry
from tfnb.core.process.later import pattern_later
from tfnb.core.process.records import field, record
from tfnb.core.shape_inference import SCALAR_SHAPE, merge_shapes
from tfnb.core.tensor_shape import TensorShape
from tfnb.core.text_bytes import is_plain_name, shown_text
from tfnb.core.topological_order import in_order
from tfnb.framework import traceback_of_user
from tfnb.framework.exporter import node_inputs
from tfnb.framework.node_reader import NodeReader
from tfnb.framework.node_validation import (
    check_input_types,
    check_number_of_inputs,
    fits,
)
from tfnb.framework.operation import Operation
from tfnb.framework.shape_refiner import infer_shapes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from tfnb.framework.graph import Graph
    from tfnb.framework.tensor import Tensor
    from tfnb.proto import graph_pb2

_VALID_NAME = pattern_later(r"[A-Za-z0-9.][A-Za-z0-9_.\-/]*(?:>[A-Za-z0-9.][A-Za-z0-9_.\-/]*)*")

_NEXT_ITERATION = frozenset({"NextIteration", "RefNextIteration"})
_MERGE = frozenset({"Merge", "RefMerge"})

CONTROL_INDEX = -1
# Upper bound on the missing ops that an error names.
_MANY_MISSING = 20
_MOST_ENDS = 6
TensorId = tuple[str, int]


class _OutOfOrder(Exception):
    """An input comes later in the GraphDef."""


@record(slots=True)
class InputMap:
    """Replacements for inputs of the nodes that are read.

    Attributes:
      tensors: (node, output) -> the tensor to use instead.
      controls: node -> the operation to use instead, for control inputs.
      used: the keys that nodes referred to; control keys with index -1.
    """

    tensors: dict[TensorId, Tensor] = field(default_factory=dict)
    controls: dict[str, Operation] = field(default_factory=dict)
    used: set[TensorId] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.tensors or self.controls)


def parse_tensor_id(text: str) -> TensorId:
    """Return the node and output that an input names; -1 is a control input.

    Text of another form is a node name.

    >>> parse_tensor_id("a"), parse_tensor_id("a:2"), parse_tensor_id("^a"), parse_tensor_id("a:-1")
    (('a', 0), ('a', 2), ('a', -1), ('a:-1', 0))
    """
    if text[:1] == "^":
        return text[1:], CONTROL_INDEX
    name, colon, index = text.rpartition(":")
    if colon and len(index) < 10 and index.isdecimal() and index.isascii():
        return name, int(index)
    return text, 0


class GraphDefReader:
    """A reader of one GraphDef.

    Attributes:
      operations: the operations made so far, in that order.
      by_name: the same operations by their names in the GraphDef.
    """

    def __init__(
        self,
        graph: Graph,
        node_defs: Sequence[graph_pb2.NodeDef],
        prefix: str,
        input_map: InputMap,
        control_inputs: list[Operation],
    ) -> None:
        """Prepare a reading.

        Args:
          graph: the graph that receives the operations.
          node_defs: the nodes; they become the operations' own messages and are changed.
          prefix: a name scope to put before the names, or "".
          input_map: tensors to use for some inputs.
          control_inputs: control inputs added to every operation.
        """
        self.graph = graph
        self.operations: list[Operation] = []
        self.by_name: dict[str, Operation] = {}
        self._node_defs = list(node_defs)
        self._prefix = prefix
        self._input_map = input_map
        self._control_inputs = control_inputs
        self._names: dict[str, int] = {}
        self._site = traceback_of_user.capture()
        self._context = graph._get_control_flow_context()
        # input text -> tensor, filled as operations are made
        self._tensors: dict[str, Tensor] = {}
        # GraphDef name -> name in the graph, where they differ in more than the prefix
        self._renamed: dict[str, str] = {}
        self._taken_prefixes = _TakenNames(graph)
        self._readers: dict[str, NodeReader] = {}
        self._back_edges: list[tuple[Operation, int, TensorId]] = []
        # nodes whose inputs are written or ordered differently from the normal form
        self._respelt: set[str] = set()

    def read(self, validate_colocation: bool = True, validate_names: bool = True) -> None:
        """Make all operations.

        Args:
          validate_colocation: whether colocation constraints must name existing nodes.
          validate_names: whether to allow only names that users may choose.

        Raises:
          ValueError: the nodes do not form a graph, or do not match their ops.
          NotFoundError: ops are not registered; the error names all of them.
          UnimplementedError: an op was removed before the version that produced the graph.
        """
        self._index(validate_colocation, validate_names)
        try:
            self._make_all(range(len(self._node_defs)))
        except _OutOfOrder:
            self.operations.clear()
            self.by_name.clear()
            self._tensors.clear()
            self._renamed.clear()
            self._back_edges.clear()
            try:
                self._make_all(self._topological_order())
            except _OutOfOrder as error:
                # A Merge that is ready with the end of a loop before its other input is.
                raise ValueError(
                    f"Node '{error.args[0]}' comes before its input '{error.args[1]}', which is no "
                    "NextIteration: only that may close a loop"
                ) from None
        self._connect_back_edges()
        self._keep_messages()

    # -- names and order -------------------------------------------------------------------------

    def _index(self, validate_colocation: bool, validate_names: bool) -> None:
        names = self._names
        is_valid = _VALID_NAME.fullmatch
        for position, node in enumerate(self._node_defs):
            name = node.name
            if validate_names and not is_plain_name(name) and is_valid(name) is None:
                raise ValueError(f"Node '{name}': Node name contains invalid characters")
            if name in names:
                raise ValueError(f"Node '{name}' is not unique")
            names[name] = position
        if validate_colocation:
            for node in self._node_defs:
                if "_class" in node.attr:
                    self._check_colocation(node)

    def _check_colocation(self, node: graph_pb2.NodeDef) -> None:
        message = node.attr["_class"]
        if message.WhichOneof("value") not in ("list", None):
            raise ValueError(
                f"Node '{node.name}': the attr '_class' must be a list of strings, found {message}"
            )
        if any(field.name != "s" for field, _ in message.list.ListFields()):
            raise ValueError(f"Node '{node.name}': the attr '_class' is no list of strings")
        for group in message.list.s:
            fellow = shown_text(group[5:])
            if group.startswith(b"loc:@") and fellow not in self._names:
                raise ValueError(
                    f"Node '{node.name}' expects to be colocated with unknown node '{fellow}'"
                )

    def _topological_order(self) -> list[int]:
        """Return the nodes' positions, sources first; among ready nodes, the given order."""
        node_defs, names = self._node_defs, self._names
        waiting = [0] * len(node_defs)
        consumers: list[list[int]] = [[] for _ in node_defs]
        for position, node in enumerate(node_defs):
            sources = [parse_tensor_id(text) for text in node.input]
            counted = 0
            is_loop = False
            for name, index in sources:
                found = names.get(name)
                if self._is_mapped((name, index)):
                    continue
                if found is None:
                    raise self._unknown_input(node, name, index)
                consumers[found].append(position)
                counted += 1
                is_loop |= node.op in _MERGE and node_defs[found].op in _NEXT_ITERATION
            if is_loop:
                # A loop's Merge is ready with its first data input.
                counted = 1 + sum(index == CONTROL_INDEX for _, index in sources)
            waiting[position] = counted
        order = in_order(waiting, consumers)
        if len(order) < len(node_defs):
            stuck = sorted(set(range(len(node_defs))).difference(order))
            shown = ", ".join(f"'{node_defs[position].name}'" for position in stuck[:10])
            raise ValueError(f"{len(stuck)} nodes in a cycle, including: {shown}")
        return order

    def _is_mapped(self, tensor_id: TensorId) -> bool:
        name, index = tensor_id
        if index == CONTROL_INDEX:
            return name in self._input_map.controls
        return tensor_id in self._input_map.tensors

    def _unknown_input(self, node: graph_pb2.NodeDef, name: str, index: int) -> ValueError:
        written = f"{name}:{index}" if f"{name}:{index}" in node.input else name
        text = f"^{name}" if index == CONTROL_INDEX else written
        return ValueError(f"Node '{node.name}': Unknown input node '{text}'")

    # -- making operations -----------------------------------------------------------------------

    def _make_all(self, order: Sequence[int]) -> None:
        node_defs, tensors = self._node_defs, self._tensors
        readers, by_name, operations = self._readers, self.by_name, self.operations
        mapped = bool(self._input_map)
        graph, context, site = self.graph, self._context, self._site
        for position in order:
            node = node_defs[position]
            op_type, name, texts = node.op, node.name, list(node.input)
            reader = readers.get(op_type) or self.node_reader(op_type)
            controls: list[Operation] = []
            back: list[tuple[int, TensorId]] | None = None
            if mapped:
                inputs, controls, back = self._find_inputs(node, texts)
            else:
                try:
                    inputs = [tensors[text] for text in texts]
                except KeyError:
                    inputs, controls, back = self._find_inputs(node, texts)
            attrs = reader.read_attrs(node)
            input_types, output_types = reader.types(node, attrs)
            num_inputs = len(inputs) + len(back) if back else len(inputs)
            if len(input_types) != num_inputs:
                check_number_of_inputs(reader.plan.op_def, name, input_types, num_inputs)
            full_name = self._name_of(name)
            if not back:
                for tensor, wanted in zip(inputs, input_types):
                    if tensor.dtype is not wanted and not fits(wanted, tensor.dtype):
                        check_input_types(full_name, inputs, input_types)
            if self._control_inputs:
                controls += [op for op in self._control_inputs if op not in controls]
            op = Operation(
                graph,
                reader.definition,
                full_name,
                inputs,
                tuple(controls),
                attrs,
                output_types,
                context,
                site,
            )
            if back:
                # The shape of the loop's back edge is not known yet.
                op.outputs[1]._shape = SCALAR_SHAPE
            else:
                infer_shapes(op)
            if "_output_shapes" in attrs:
                _apply_output_shapes(op)
            operations.append(op)
            by_name[name] = op
            outputs = op.outputs
            if outputs:
                tensors[name] = outputs[0]
                for index, tensor in enumerate(outputs):
                    tensors[f"{name}:{index}"] = tensor
            if ":0" in "".join(texts) or len(controls) > 1 or len(texts) > num_inputs + 1:
                self._respelt.add(name)
            if back:
                self._back_edges += [(op, slot, source) for slot, source in back]

    def _find_inputs(
        self, node: graph_pb2.NodeDef, texts: list[str]
    ) -> tuple[list[Tensor], list[Operation], list[tuple[int, TensorId]]]:
        """Return the inputs: tensors, control inputs, and (slot, source) of back edges."""
        inputs: list[Tensor] = []
        controls: list[Operation] = []
        back: list[tuple[int, TensorId]] = []
        for text in texts:
            source = parse_tensor_id(text)
            name, index = source
            if index == CONTROL_INDEX:
                op = self._control_source(node, name)
                if op not in controls:
                    controls.append(op)
                continue
            if texts[len(inputs) + len(back)][:1] == "^":
                raise ValueError(
                    f"Node '{node.name}': Control dependencies must come after regular dependencies"
                )
            tensor = self._input_map.tensors.get(source)
            if tensor is not None:
                self._input_map.used.add(source)
                inputs.append(tensor)
            elif name in self.by_name:
                outputs = self.by_name[name].outputs
                if index >= len(outputs):
                    raise ValueError(
                        f"Node '{node.name}': Connecting to invalid output {index} of source node "
                        f"{name} which has {len(outputs)} outputs."
                    )
                inputs.append(outputs[index])
            else:
                self._require_back_edge(node, name, index)
                back.append((len(inputs) + len(back), source))
        return inputs, controls, back

    def _control_source(self, node: graph_pb2.NodeDef, name: str) -> Operation:
        mapped = self._input_map.controls.get(name)
        if mapped is not None:
            self._input_map.used.add((name, CONTROL_INDEX))
            return mapped
        found = self.by_name.get(name)
        if found is None:
            if name not in self._names:
                raise self._unknown_input(node, name, CONTROL_INDEX)
            raise _OutOfOrder(node.name, name)
        return found

    def _require_back_edge(self, node: graph_pb2.NodeDef, name: str, index: int) -> None:
        """Raise unless the input closes a loop."""
        position = self._names.get(name)
        if position is None:
            raise self._unknown_input(node, name, index)
        if node.op not in _MERGE or self._node_defs[position].op not in _NEXT_ITERATION:
            raise _OutOfOrder(node.name, name)

    def _connect_back_edges(self) -> None:
        slots: dict[Operation, dict[int, Tensor]] = {}
        for op, slot, (name, index) in self._back_edges:
            outputs = self.by_name[name].outputs
            if index >= len(outputs):
                raise ValueError(
                    f"Node '{op.name}': Connecting to invalid output {index} of source node "
                    f"{name} which has {len(outputs)} outputs."
                )
            slots.setdefault(op, {})[slot] = outputs[index]
        for op, added in slots.items():
            rest = iter(op.inputs)
            total = len(op.inputs) + len(added)
            op.inputs = tuple(added[i] if i in added else next(rest) for i in range(total))
            wanted = op.op_definition.op_def.input_types(op.attrs)
            check_input_types(op.name, op.inputs, wanted)
            op.kept_node_def = None

    def operations_and_nodes(self) -> Iterator[tuple[Operation, graph_pb2.NodeDef]]:
        """Yield each operation with the node that it was made from."""
        for name, op in self.by_name.items():
            yield op, self._node_defs[self._names[name]]

    def _keep_messages(self) -> None:
        """Make the nodes the operations' own messages, with the names of this graph."""
        is_renamed = bool(self._prefix or self._renamed or self._input_map or self._control_inputs)
        for name, op in self.by_name.items():
            if is_renamed and "_class" in op.attrs:
                self._rewrite_colocation(op)
                continue
            node = self._node_defs[self._names[name]]
            if "_output_shapes" in node.attr:
                del node.attr["_output_shapes"]
            if is_renamed or name in self._respelt:
                node.name = op.name
                node.ClearField("input")
                node.input.extend(node_inputs(op))
            op.kept_node_def = node

    # -- names in the graph ----------------------------------------------------------------------

    def _name_of(self, name: str) -> str:
        """Return a new operation's name: with the prefix, and unique in the graph."""
        full_name = f"{self._prefix}/{name}" if self._prefix else name
        taken = self._taken_prefixes
        if full_name not in taken:
            return full_name
        count = 0
        unique = full_name
        while unique in taken or (count and unique in self._names):
            count += 1
            unique = f"{full_name}_{count}"
        self._renamed[name] = unique
        return unique

    def _rewrite_colocation(self, op: Operation) -> None:
        groups = [
            b"loc:@" + self._final_name(group[5:].decode()).encode()
            if group.startswith(b"loc:@")
            else group
            for group in op.attrs["_class"]
        ]
        op._set_attr("_class", groups)

    def _final_name(self, name: str) -> str:
        renamed = self._renamed.get(name)
        if renamed is not None:
            return renamed
        return f"{self._prefix}/{name}" if self._prefix else name

    # -- ops -------------------------------------------------------------------------------------

    def node_reader(self, op_type: str) -> NodeReader:
        """Return the reader for the nodes of an op.

        Raises:
          NotFoundError: the op is not registered; the error names all unregistered ops.
          UnimplementedError: the op was removed before the version that produced the graph.
        """
        found = self._readers.get(op_type)
        if found is not None:
            return found
        definition = op_registry.find(op_type)
        if definition is None and op_type in self.graph._functions:
            definition = self.graph.op_definition(op_type)
        if definition is None:
            if not op_type:
                name = next(node.name for node in self._node_defs if not node.op)
                raise ValueError(f"Node '{name}' does not specify an operation")
            raise self._not_registered(op_type)
        producer = self.graph.def_versions.producer
        deprecated = definition.op_def.deprecated
        if deprecated is not None and producer >= deprecated[0]:
            raise errors.unimplemented(
                f"Op {op_type} is not available in GraphDef version {producer}. It has been "
                f"removed in version {deprecated[0]}. {deprecated[1]}."
            )
        found = self._readers[op_type] = NodeReader(definition)
        return found

    def _not_registered(self, op_type: str) -> errors.NotFoundError:
        """Return an error that names all missing ops and the share of the graph that needs them."""
        needing: dict[str, list[str]] = {op_type: []}
        bodies = [function.definition for function in self.graph._functions.values()]
        named = [(node.name, node.op) for node in self._node_defs]
        named += [
            (f"{body.signature.name}/{node.name}", node.op)
            for body in bodies
            for node in body.node_def
        ]
        for name, kind in named:
            if kind in needing:
                needing[kind].append(name)
            elif (
                kind not in self._readers
                and op_registry.find(kind) is None
                and not self.graph._is_function(kind)
            ):
                needing[kind] = [name]
        listed = [
            f"'{kind}' (node '{nodes[0]}'{f' and {len(nodes) - 1} more' if nodes[1:] else ''})"
            for kind, nodes in needing.items()
        ]
        if len(listed) > _MANY_MISSING:
            listed[_MANY_MISSING:] = [f"{len(listed) - _MANY_MISSING} more"]
        num_needing = sum(map(len, needing.values()))
        return errors.not_found(
            f"Op type not registered '{op_type}' in this process, needed by node "
            f"'{needing[op_type][0]}'. Missing ops: {', '.join(listed)}; {num_needing} of "
            f"{len(named)} nodes need them. Nothing was imported and nothing ran. Make sure that "
            f"the ops are registered before the graph is imported.{self._without(needing)}"
        )

    def _without(self, missing: Collection[str]) -> str:
        """Describe what remains of the graph without nodes of these types and their consumers."""
        left: dict[str, None] = {}
        ends: dict[str, None] = {}
        for node in self._node_defs:
            inputs = [text.lstrip("^").partition(":")[0] for text in node.input]
            # Nodes with inputs that come later in the list belong to loops; they are left out, too.
            if node.op not in missing and all(text in left for text in inputs):
                left[node.name] = ends[node.name] = None
                for text in inputs:
                    ends.pop(text, None)
        if not left:
            return ""
        names = [*ends][-_MOST_ENDS:]
        return (
            f"\n{len(left)} nodes do without them: tf.graph_util.extract_sub_graph(graph_def, "
            f"{names})"
        )


class _TakenNames:
    """The names of a graph's operations, and the scopes these names are in."""

    __slots__ = ("_graph", "_prefixes")

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._prefixes: set[str] | None = None

    def __contains__(self, name: object) -> bool:
        if name in self._graph._nodes_by_name:
            return True
        if not self._graph.operation_list:
            return False
        if self._prefixes is None:
            self._prefixes = set()
            for taken in self._graph._nodes_by_name:
                scope = taken.rpartition("/")[0]
                while scope and scope not in self._prefixes:
                    self._prefixes.add(scope)
                    scope = scope.rpartition("/")[0]
        return name in self._prefixes


def _apply_output_shapes(op: Operation) -> None:
    """Apply the shapes in ``_output_shapes``, and remove that attribute."""
    shapes = op.attrs.pop("_output_shapes")
    if not isinstance(shapes, list) or not all(isinstance(one, TensorShape) for one in shapes):
        raise ValueError(f"Node '{op.name}' has an invalid _output_shapes attribute: {shapes}")
    if len(shapes) < len(op.outputs):
        raise ValueError(
            f"Node '{op.name}' has {len(op.outputs)} outputs but the _output_shapes attribute "
            f"specifies shapes for {len(shapes)} outputs"
        )
    for index, (tensor, shape) in enumerate(zip(op.outputs, shapes)):
        try:
            tensor._shape = merge_shapes(tensor._shape, shape)
        except ValueError as error:
            raise ValueError(
                f"Node '{op.name}' has an _output_shapes attribute inconsistent with the GraphDef "
                f"for output #{index}: {error}"
            ) from error
