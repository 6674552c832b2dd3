"""A node of the user's graph.

An :class:`Operation` is made under its graph's lock and is complete when the lock is released;
later changes (``_update_input``, ``_set_attr``, ...) are for control-flow builders and go through
methods that drop the cached NodeDef.  Attributes are kept as the plain values of
:mod:`tfnb.core.attr_value`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from tfnb.core.process.log import log
from tfnb.framework import attr_conversion, traceback_of_user
from tfnb.framework import functions_above as above
from tfnb.framework.default_session import SessionLike, session_for_run
from tfnb.framework.graph_scopes import device_string
from tfnb.framework.same_graph import assert_same_graph
from tfnb.framework.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from traceback import FrameSummary

    from tfnb.core.dtypes import DType
    from tfnb.core.op_def import OpDef
    from tfnb.core.op_registry import OpDefinition
    from tfnb.framework.graph import Graph
    from tfnb.framework.traceback_of_user import CreationSite, Site
    from tfnb.proto import graph_pb2, op_def_pb2


EXPORTS = {"tf": ["Operation"]}


class Operation:
    """One node: an op applied to tensors.

    Attributes:
      graph: the graph that holds it.
      name: its name, unique in the graph.
      type: the name of the op (``MatMul``).
      op_definition: the definition of the op.
      inputs: the tensors it takes.
      outputs: the tensors it produces.

    Internal to tfnb, for its own files only: attrs: the attributes as plain values; never changed
      in place. control_ops: the operations that must run before this one. requested_device: the
      requested device, or "". site: the place where it was made, in packed form. kept_node_def: the
      NodeDef, if one was made and the operation did not change since.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_control_flow_context",
        "_gradient_function",
        "_id",
        "_original_op",
        "attrs",
        "control_ops",
        "graph",
        "inputs",
        "kept_node_def",
        "name",
        "op_definition",
        "outputs",
        "requested_device",
        "site",
        "type",
    )

    graph: Graph
    name: str
    type: str
    op_definition: OpDefinition
    inputs: tuple[Tensor, ...]
    outputs: list[Tensor]
    attrs: dict[str, Any]
    control_ops: tuple[Operation, ...]
    requested_device: str
    # Position in the graph's list of operations, -1 until it is added.
    _id: int
    site: Site
    _control_flow_context: Any
    _original_op: Operation | None
    _gradient_function: Any
    # The NodeDef, if one was made and the operation did not change since.
    kept_node_def: graph_pb2.NodeDef | None

    def __init__(
        self,
        graph: Graph,
        definition: OpDefinition,
        name: str,
        inputs: Sequence[Tensor],
        control_inputs: tuple[Operation, ...],
        attrs: dict[str, Any],
        output_types: Iterable[DType],
        context: Any,
        site: Site,
    ) -> None:
        self.graph = graph
        self.op_definition = definition
        self.type = definition.name
        self.name = name
        self.inputs = tuple(inputs)
        self.control_ops = control_inputs
        self.attrs = attrs
        self.requested_device = ""
        self._id = -1
        self.site = site
        self._control_flow_context = context
        self._original_op = None
        self._gradient_function = None
        self.kept_node_def = None
        self.outputs = [Tensor(self, index, dtype) for index, dtype in enumerate(output_types)]

    @classmethod
    def from_node_def(
        cls,
        node_def: graph_pb2.NodeDef,
        g: Graph,
        inputs: list[Tensor] | None = None,
        output_types: Iterable[DType] | None = None,
        control_inputs: Iterable[Any] | None = None,
        input_types: Sequence[DType] | None = None,
        original_op: Operation | None = None,
        op_def: Any = None,
    ) -> Operation:
        """Add an operation to a graph from a NodeDef.

        Scopes of names, devices, attributes and control dependencies around the call add nothing.
        The operation counts as loaded from a file: its effects need permission, as after
        `tf.import_graph_def`.

        Args:
          node_def: name, op, device and attributes; its ``input`` is not read.
          g: the graph, which must not be finalized.
          inputs: the input tensors, with lists flattened.
          output_types: ignored; the op's definition has the output dtypes.
          control_inputs: operations, tensors or IndexedSlices that must run first.
          input_types: the dtypes of the inputs as the op reads them; checked if given.
          original_op: the operation that this one is made from.
          op_def: ignored; the registry has the definition.

        Raises:
          TypeError: an argument is of another class, or an input has another dtype.
          ValueError: the name is taken or not valid, or inputs and attributes do not fit the op.
          NotFoundError: the op does not exist.
          RuntimeError: the graph is finalized.
        """
        made: Operation = above.operation_of_node_def(
            node_def, g, inputs, control_inputs, input_types, original_op
        )
        return made

    # -- properties ------------------------------------------------------------------------------

    @property
    def control_inputs(self) -> list[Operation]:
        """The operations that must run before this one."""
        return list(self.control_ops)

    @property
    def _outputs(self) -> list[Tensor]:
        """The outputs, under the name that programs of TensorFlow 1 use."""
        return self.outputs

    @property
    def _inputs(self) -> list[Tensor]:
        """The inputs as a list, under the name that programs of TensorFlow 1 use."""
        return list(self.inputs)

    @property
    def _control_outputs(self) -> list[Operation]:
        """The operations that must run after this one; searches the whole graph."""
        return [op for op in self.graph.get_operations() if self in op.control_ops]

    @property
    def device(self) -> str:
        """The requested device, or ``""``."""
        return self.requested_device

    @property
    def node_def(self) -> graph_pb2.NodeDef:
        """A NodeDef message that describes the operation; the caller's own copy."""
        from tfnb.framework.exporter import node_def_of
        from tfnb.proto import graph_pb2

        copy = graph_pb2.NodeDef()
        copy.CopyFrom(node_def_of(self))
        if len(self.control_ops) > 1:
            # In the message of a graph they are sorted; the operation's own lists them in order of
            # addition.
            del copy.input[-len(self.control_ops) :]
            copy.input.extend(f"^{other.name}" for other in self.control_ops)
        return copy

    @property
    def op_def(self) -> op_def_pb2.OpDef:
        """The OpDef message of the op."""
        from tfnb.core.op_def_proto import op_def_to_proto

        return op_def_to_proto(self.op_definition.op_def)

    @property
    def _op_def(self) -> OpDef:
        return self.op_definition.op_def

    @property
    def _is_stateful(self) -> bool:
        return self.op_definition.is_stateful

    @property
    def _output_types(self) -> list[int]:
        return [tensor.dtype.as_datatype_enum for tensor in self.outputs]

    @property
    def _input_types(self) -> list[DType]:
        """The dtypes in which the op reads its inputs: references only where it requires them."""
        return self.op_definition.op_def.input_types(self.attrs)

    @property
    def _id_value(self) -> int:
        return self._id

    def values(self) -> tuple[Tensor, ...]:
        """Return the outputs (the old name)."""
        return tuple(self.outputs)

    # -- place of creation -----------------------------------------------------------------------

    @property
    def creation_site(self) -> CreationSite | None:
        """The notebook cell and line, or file and line, of the user's call that made it."""
        return traceback_of_user.creation_site(self.site)

    @property
    def traceback(self) -> list[FrameSummary]:
        """The user's frames at creation, outermost first."""
        return traceback_of_user.frame_summaries(self.site)

    # -- attributes ------------------------------------------------------------------------------

    def get_attr(self, name: str) -> Any:
        """Return an attribute in TensorFlow's form: shapes, tensors and functions as messages.

        Raises:
          ValueError: the operation does not have this attribute.
        """
        return attr_conversion.public_attr(self.attr(name))

    def attr(self, name: str) -> Any:
        """Return an attribute as a plain value: TensorShape, TensorAttr, NameAttrList, DType, ...

        Raises:
          ValueError: the operation does not have this attribute.
        """
        try:
            return self.attrs[name]
        except KeyError:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.") from None

    def _get_attr_type(self, name: str) -> DType:
        dtype: DType = self.attr(name)
        return dtype

    _get_attr_bool = attr
    _get_attr_int = attr

    def _set_attr(self, name: str, value: Any) -> None:
        """Set an attribute from an AttrValue message or a plain value."""
        declared = self.op_definition.op_def.attr_by_name.get(name)
        # A new dict, because operations made in the same way share theirs.
        self.attrs = {**self.attrs, name: attr_conversion.stored_attr(value, declared)}
        self._node_changed()

    def _clear_attr(self, name: str) -> None:
        self.attrs = {key: value for key, value in self.attrs.items() if key != name}
        self._node_changed()

    def colocation_groups(self) -> list[bytes]:
        """Return the groups (``b"loc:@name"``) that must share its device; its own if none."""
        own = [b"loc:@" + self.name.encode()]
        try:
            classes = self.get_attr("_class")
        except ValueError:
            return own
        return [group for group in classes if group.startswith(b"loc:@")] or own

    # -- changes by control-flow builders --------------------------------------------------------

    def _node_changed(self) -> None:
        """Drop the cached NodeDef; warn if a session has already taken the operation."""
        self.kept_node_def = None
        self.graph.exported_nodes = None
        if 0 <= self._id < self.graph.num_ops_sent:
            log.warning(
                "Operation '%s' was changed after a session had taken it. That session goes on "
                "with the operation as it was; make a new session to run the change.",
                self.name,
            )

    def _get_control_flow_context(self) -> Any:
        return self._control_flow_context

    def _set_control_flow_context(self, context: Any) -> None:
        self._control_flow_context = context

    def _set_device(self, device: Any) -> None:
        self.requested_device = device_string(device)
        self._node_changed()

    def _set_device_from_string(self, device: str) -> None:
        self.requested_device = device
        self._node_changed()

    def _update_input(self, index: int, tensor: Tensor) -> None:
        """Replace one input.

        Raises:
          TypeError: ``tensor`` is not a tensor, or has a type that this input does not accept.
          ValueError: it belongs to another graph.
        """
        if not isinstance(tensor, Tensor):
            raise TypeError(f"tensor must be a Tensor: {tensor}")
        assert_same_graph(self, tensor)
        with self.graph._lock:
            inputs = list(self.inputs)
            old = inputs[index]
            if old.dtype.base_dtype is not tensor.dtype.base_dtype:
                raise TypeError(
                    f"Input {index} of node {self.name} was passed {tensor.dtype.name} from "
                    f"{tensor.name} incompatible with expected {old.dtype.name}."
                )
            inputs[index] = tensor
            self.inputs = tuple(inputs)
            self.graph.consumer_index.replace(self, old, tensor)
            self._node_changed()

    def _add_while_inputs(self, tensors: Iterable[Tensor]) -> None:
        """Append inputs, for while_v2, which does so when it captures further outer tensors."""
        tensors = list(tensors)
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise TypeError(f"tensor must be a Tensor: {tensor}")
            assert_same_graph(self, tensor)
        with self.graph._lock:
            self.inputs = (*self.inputs, *tensors)
            for tensor in tensors:
                self.graph.consumer_index.replace(self, None, tensor)
            self._node_changed()

    def _add_outputs(self, types: Iterable[DType], shapes: Iterable[Any]) -> None:
        """Append outputs, for while_v2, which does so together with inputs."""
        with self.graph._lock:
            for dtype, shape in zip(types, shapes, strict=True):
                tensor = Tensor(self, len(self.outputs), dtype)
                tensor.set_shape(shape)
                self.outputs.append(tensor)
            self._node_changed()

    def _add_control_input(self, op: Operation) -> None:
        self._add_control_inputs([op])

    def _add_control_inputs(self, ops: Iterable[Operation]) -> None:
        """Add operations that must run before this one.

        Raises:
          TypeError: one of them is not an operation.
        """
        ops = list(ops)
        for op in ops:
            if not isinstance(op, Operation):
                raise TypeError(f"op must be an Operation: {op}")
            assert_same_graph(self, op)
        with self.graph._lock:
            self.control_ops = tuple(dict.fromkeys((*self.control_ops, *ops)))
            self._node_changed()

    def _remove_all_control_inputs(self) -> None:
        self.control_ops = ()
        self._node_changed()

    # -- running ---------------------------------------------------------------------------------

    def run(self, feed_dict: Any = None, session: SessionLike | None = None) -> None:
        """Run the operation and all that it needs.

        Args:
          feed_dict: values to use in place of tensors.
          session: the session; without one the default session.

        Raises:
          ValueError: there is no session, or it runs another graph.
        """
        graph = self.graph
        if session is None or session.graph is not graph or graph.is_former:
            session = session_for_run(graph, session)
        session.run(self, feed_dict)

    # -- Python ----------------------------------------------------------------------------------

    def __tf_tensor__(self, dtype: DType | None = None, name: str | None = None) -> NoReturn:
        """Refuse: an operation is not one of its outputs."""
        hint = f"; did you mean its output '{self.outputs[0].name}'?" if self.outputs else ""
        raise TypeError(f"can't convert Operation '{self.name}' to Tensor{hint}")

    def __copy__(self) -> Operation:
        """Return itself: a graph has one object per operation."""
        return self

    def __str__(self) -> str:
        return str(self.node_def)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"
