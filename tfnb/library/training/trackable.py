"""The objects behind a ``tf.train.Checkpoint``: their children, and the names of their values.

Objects form a graph: the children of a checkpoint are its arguments, those of an optimizer its
variables, those of a layer its weights, those of lists and dicts their members. A variable's key in
the file is the path to it from the root; the slot of an optimizer has the path of the variable that
it belongs to. A table's ``_object_saveable`` saves its keys and values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfnb.core.process.records import field, record
from tfnb.library.layers.base import Layer
from tfnb.library.training.optimizer import Optimizer
from tfnb.library.variables.variables import Variable
from tfnb.proto import saved_object_graph_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.framework.tensor_types import Nested, TensorLike, VariableLike

OBJECT_GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
VARIABLE_VALUE = "VARIABLE_VALUE"
TABLE = "table"
"""The attribute name for a table's keys and values."""


def is_trackable(value: TensorLike) -> bool:
    """Return whether a value is a variable, or an object whose children are known here."""
    return isinstance(value, (Variable, Layer, Optimizer, Mapping)) or (
        hasattr(value, "_trackable_children")
        or (isinstance(value, Sequence) and not isinstance(value, (str, bytes)))
    )


def children_of(value: TensorLike) -> Iterator[tuple[str, Any]]:
    """Return (name, object) for each child of an object."""
    if isinstance(value, Variable):
        return
    if hasattr(value, "_trackable_children"):
        found = value._trackable_children()
    elif isinstance(value, Optimizer):
        own = {name: variable for (name, _), variable in value._non_slot_dict.items()}
        found = sorted(own.items())
    elif isinstance(value, Layer):
        found = _of_layer(value)
    elif isinstance(value, Mapping):
        found = [(str(name), one) for name, one in value.items()]
    else:
        found = [(str(index), one) for index, one in enumerate(value)]
    for name, one in found:
        if is_trackable(one):
            yield name, one


def _of_layer(layer: Layer) -> list[tuple[str, Any]]:
    weights = [*layer._trainable_weights, *layer._non_trainable_weights]
    found = {
        weight.op.name.rpartition("/")[2]: weight
        for weight in weights
        if isinstance(weight, Variable)
    }
    for name, value in vars(layer).items():
        holds = isinstance(value, (Layer, Variable)) or (
            isinstance(value, (list, tuple, dict))
            and not name.endswith("_weights")
            and any(isinstance(one, Layer) for one in _members(value))
        )
        if holds:
            found.setdefault(name, value)
    return list(found.items())


def _members(value: TensorLike) -> Any:
    return value.values() if isinstance(value, dict) else value


@record(slots=True)
class ObjectGraph:
    """The objects that can be reached from a root.

    Attributes:
      objects: all objects, the root first, nearer ones before others.
      paths: the path of names to each of them.
      children: for each, the names and positions of its children.
      slots: (position of an optimizer, position of a variable, name, the slot's variable).
    """

    objects: list[Any] = field(default_factory=list)
    paths: list[tuple[str, ...]] = field(default_factory=list)
    children: list[list[tuple[str, int]]] = field(default_factory=list)
    slots: list[tuple[int, int, str, Any]] = field(default_factory=list)

    def variables(self) -> list[Any]:
        """Return all variables, slots included."""
        return [one for one in self.objects if isinstance(one, Variable)] + [
            slot for _, _, _, slot in self.slots
        ]

    def tables(self) -> list[Nested]:
        """Return all tables whose keys and values are saved."""
        return [one for one in self.objects if attribute_of(one) == TABLE]

    def keys(self) -> dict[str, Any]:
        """Return key -> variable or table."""
        found = {
            key_of(path, attribute): one
            for one, path in zip(self.objects, self.paths, strict=True)
            if (attribute := attribute_of(one))
        }
        for optimizer, original, name, slot in self.slots:
            found[slot_key(self.paths[original], self.paths[optimizer], name)] = slot
        return found

    def _with_values(self) -> set[int]:
        """Return the positions of the objects that have values, or have descendants with values."""
        holders: dict[int, list[int]] = {}
        for holder, children in enumerate(self.children):
            for _, position in children:
                holders.setdefault(position, []).append(holder)
        found: set[int] = set()
        waiting = [number for number, one in enumerate(self.objects) if attribute_of(one)]
        waiting += [0, *(optimizer for optimizer, *_ in self.slots)]
        while waiting:
            position = waiting.pop()
            if position not in found:
                found.add(position)
                waiting += holders.get(position, [])
        return found

    def to_proto(self) -> Any:
        """Return the message that is stored beside the values."""
        proto = saved_object_graph_pb2.TrackableObjectGraph()
        with_values = self._with_values()
        for one, path, children in zip(self.objects, self.paths, self.children, strict=True):
            node = proto.nodes.add()
            for name, position in children:
                node.children.add(node_id=position, local_name=name)
            if isinstance(one, Variable):
                _add_value(node, one, key_of(path))
            elif attribute_of(one):
                node.attributes.add(name=TABLE, checkpoint_key=key_of(path, TABLE))
            node.has_checkpoint_values.value = len(proto.nodes) - 1 in with_values
        for number, (optimizer, original, name, slot) in enumerate(self.slots):
            proto.nodes[optimizer].slot_variables.add(
                original_variable_node_id=original,
                slot_name=name,
                slot_variable_node_id=len(self.objects) + number,
            )
            node = proto.nodes.add()
            _add_value(node, slot, slot_key(self.paths[original], self.paths[optimizer], name))
            node.has_checkpoint_values.value = True
        return proto


def attribute_of(value: TensorLike) -> str:
    """Return the attribute name of an object's own value; "" if it has none."""
    if isinstance(value, Variable):
        return VARIABLE_VALUE
    is_saved = getattr(value, "object_saveable", None) is not None and value.saveable is not None
    return TABLE if is_saved else ""


def _add_value(node: Any, variable: VariableLike, key: str) -> None:
    node.attributes.add(name=VARIABLE_VALUE, full_name=variable.op.name, checkpoint_key=key)


def object_graph(root: Any) -> ObjectGraph:
    """Return all objects that can be reached from a root."""
    graph = ObjectGraph([root], [()], [])
    positions = {id(root): 0}
    for position, one in enumerate(graph.objects):  # grows during the iteration
        own: list[tuple[str, int]] = []
        for name, child in children_of(one):
            if id(child) not in positions:
                positions[id(child)] = len(graph.objects)
                graph.objects.append(child)
                graph.paths.append((*graph.paths[position], name))
            own.append((name, positions[id(child)]))
        graph.children.append(own)
    graph.slots = list(_slots(graph))
    return graph


def _slots(graph: ObjectGraph) -> Iterator[tuple[int, int, str, Any]]:
    for position, optimizer in enumerate(graph.objects):
        if not isinstance(optimizer, Optimizer):
            continue
        for name in optimizer.get_slot_names():
            for original, variable in enumerate(graph.objects):
                slot = (
                    optimizer.get_slot(variable, name) if isinstance(variable, Variable) else None
                )
                if isinstance(slot, Variable):
                    yield position, original, name, slot


def _joined(path: tuple[str, ...]) -> str:
    return "/".join(_escaped(name) for name in path)


def _escaped(name: str) -> str:
    return name.replace(".", "..").replace("/", ".S")


def key_of(path: tuple[str, ...], attribute: str = VARIABLE_VALUE) -> str:
    """Return the key of an object's value.

    >>> key_of(("model", "a/b"))
    'model/a.Sb/.ATTRIBUTES/VARIABLE_VALUE'
    """
    return f"{_joined(path)}/.ATTRIBUTES/{attribute}".removeprefix("/")


def slot_key(variable: tuple[str, ...], optimizer: tuple[str, ...], name: str) -> str:
    """Return the key of a slot's value."""
    inner = f"{_joined(variable)}/.OPTIMIZER_SLOT/{_joined(optimizer)}/{_escaped(name)}"
    return f"{inner}/.ATTRIBUTES/{VARIABLE_VALUE}"


@record(slots=True)
class Match:
    """The match between a checkpoint and objects.

    Attributes:
      variables: key -> variable or table.
      matched: ids of objects that have a node in the checkpoint.
      unresolved: the checkpoint's keys that belong to no object.
    """

    variables: dict[str, Any]
    matched: set[int]
    unresolved: list[str]


def match(graph: ObjectGraph, proto: Any) -> Match:
    """Match the objects of a checkpoint to the existing ones, by their names."""
    node_of: dict[int, int] = {0: 0}  # position of an object -> node
    waiting = [0]
    while waiting:
        position = waiting.pop(0)
        wanted = {
            child.local_name: child.node_id for child in proto.nodes[node_of[position]].children
        }
        for name, child in graph.children[position]:
            if name in wanted and child not in node_of:
                node_of[child] = wanted[name]
                waiting.append(child)
    taken = set(node_of.values())
    found: dict[str, Any] = {}

    def bind(node: int, value: TensorLike) -> None:
        for attribute in proto.nodes[node].attributes:
            if attribute.name == attribute_of(value):
                found[attribute.checkpoint_key] = value

    for position, node in node_of.items():
        bind(node, graph.objects[position])
    slot_nodes = {
        (node, one.original_variable_node_id, one.slot_name): one.slot_variable_node_id
        for node in taken
        for one in proto.nodes[node].slot_variables
    }
    matched = {id(graph.objects[position]) for position in node_of}
    for optimizer, original, name, slot in graph.slots:
        where = slot_nodes.get((node_of.get(optimizer, -1), node_of.get(original, -1), name))
        if where is not None:
            taken.add(where)
            matched.add(id(slot))
            bind(where, slot)
    unresolved = [
        attribute.checkpoint_key
        for number, node in enumerate(proto.nodes)
        if number not in taken
        for attribute in node.attributes
    ]
    return Match(found, matched, unresolved)
