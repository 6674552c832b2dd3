"""The graph that a user builds.

State, all of it changed under ``_lock`` (re-entrant, held while one operation is made, so that
its holder sees only complete operations):

* ``operation_list`` and ``_nodes_by_name``: the nodes, in the order in which they were added; only
  a :class:`Replacement` removes nodes;
* ``_names_in_use``: how often each name was requested, in lower case;
* collections, functions, and the marks that forbid feeding or fetching.

The current name, device, control-dependency and colocation scopes are per thread
(:class:`~tfnb.framework.graph_scopes.ScopeState`).  Corresponds to ``Graph`` in TensorFlow's
framework/ops.py; shape inference and conversion to messages are in separate files.
"""

from __future__ import annotations

import itertools
import re
import threading
from typing import TYPE_CHECKING, Any, Protocol, Self

from tfnb.core import op_registry, versions
from tfnb.core.effects import PROCESS, EffectsPolicy
from tfnb.core.process import forking
from tfnb.framework.colocation import colocation_targets
from tfnb.framework.consumer_index import ConsumerIndex
from tfnb.framework.default_graph import _default_graph_stack
from tfnb.framework.graph_scopes import (
    AttributeScope,
    ColocationScope,
    ControlDependenciesScope,
    DeviceScope,
    MapScope,
    NameScope,
    ScopeState,
    control_dependencies_for_inputs,
    control_op_of,
    merged_device,
)
from tfnb.framework.op_plan import plan_of
from tfnb.framework.operation_factory import create_operation
from tfnb.framework.operation_factory import set_input_context_check as set_input_context_check
from tfnb.framework.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType

    from tfnb.core.dtypes import DType
    from tfnb.core.op_registry import OpDefinition
    from tfnb.framework.default_stack import StackController
    from tfnb.framework.function_library import LibraryFunction
    from tfnb.framework.operation import Operation
    from tfnb.proto import graph_pb2, op_def_pb2

EXPORTS = {"tf": ["Graph"]}

_graph_ids = itertools.count()


class Replacement(Protocol):
    """Callbacks during the replacement of operations, called under the graph's lock."""

    def release(self, name: str) -> None:
        """Free the name of an operation that is about to be added."""

    def settle(self, op: Operation) -> Operation:
        """Return the operation that represents a new one."""

    def make_room(self, scope: str) -> None:
        """Free all names of a scope."""


class Graph:
    """Operations and the tensors between them.

    Attributes:
      seed: the graph-level random seed, or None.

    Internal to tfnb, for its own files only: operation_list: the operations, in the order in which
      they were added. consumer_index: the operations that take each tensor. function_definitions:
      the functions of the library, as definitions of ops. call_shapes: output shapes of function
      calls that were inferred. call_chain: the calls that contain this graph. def_versions: the
      GraphDef versions. loaded_ranges: (first, end) ids of the operations from files.
      derived_operations: operations made from loaded ones. exported_nodes: how many operations were
      exported, and their nodes as bytes. effects_policy: the effects that loaded operations may
      have. num_access_marks: how often feeding or fetching was forbidden. replacement: the
      callbacks while operations are replaced; guarded by ``_lock``. revision: grows when an
      operation is removed or loses its name. is_former: whether it only holds operations removed
      from another graph. num_ops_sent: how many operations some session has taken. num_op_seeds:
      how many ops got a seed of their own. kept: data of modules with the lifetime of this graph,
      each under its own key.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        forking.guard(self, "_lock")
        self.operation_list: list[Operation] = []
        self._nodes_by_name: dict[str, Operation] = {}
        self.consumer_index = ConsumerIndex(self)
        self._names_in_use: dict[str, int] = {}
        self._collections: dict[Any, list[Any]] = {}
        self._functions: dict[str, LibraryFunction] = {}
        self.function_definitions: dict[str, OpDefinition] = {}
        # Output shapes of function calls (function_shapes), and the calls that contain this graph.
        self.call_shapes: dict[Any, Any] = {}
        self.call_chain: tuple[str, ...] = ()
        self.def_versions = versions.VersionDef(
            producer=versions.GRAPH_DEF_VERSION,
            min_consumer=versions.GRAPH_DEF_VERSION_MIN_CONSUMER,
        )
        # (first, end) ids of operations from files, and the effects allowed to them.
        self.loaded_ranges: list[tuple[int, int]] = []
        # Loaded operations derived from others, e.g. from functions: they count as loaded, whatever
        # their inputs are.
        self.derived_operations: set[Operation] = set()
        # Number of operations exported and their nodes as bytes; None after one has changed.
        self.exported_nodes: tuple[int, bytes] | None = None  # guarded by self._lock
        self.effects_policy = EffectsPolicy(PROCESS)
        self._unfeedable_tensors: set[Tensor] = set()
        self._unfetchable_ops: set[Operation] = set()
        # Grows with each mark, so that a session checks again which tensors it may feed and fetch.
        self.num_access_marks = 0
        # Set while operations are replaced; ``revision`` grows when one is removed or loses its
        # name.
        self.replacement: Replacement | None = None  # guarded by self._lock
        self.revision = 0
        # Whether it only holds operations removed from another graph, for inspection.
        self.is_former = False
        # Number of operations that some session has imported; it ignores later changes to them.
        self.num_ops_sent = 0
        self._finalized = False
        self._building_function = False
        self._thread_local = threading.local()
        # Applied to new operations: attribute -> value or fn(node_def); op type -> label, name of a
        # gradient, gradient.
        self._attr_scope_map: dict[str, Any] = {}
        self._op_to_kernel_label_map: dict[str, str] = {}
        self._gradient_override_map: dict[str, str] = {}
        self._gradient_function_map: dict[str, Any] = {}
        self._default_original_op: Operation | None = None
        self._container = ""
        self._seed: int | None = None
        self.num_op_seeds = 0
        # For library code that stores data per graph.
        self._graph_key = f"graph-key-{next(_graph_ids)}/"
        self._last_loss_reduction: Any = None
        self._is_loss_scaled_by_optimizer = False
        # Data of modules with the lifetime of this graph, each under its own key.  A table of weak
        # references to graphs would run Python code whenever a graph is freed.
        self.kept: dict[Any, Any] = {}
        self._handle_feeders: dict[Any, Any] = {}
        self._handle_readers: dict[Any, Any] = {}
        self._handle_movers: dict[Any, Any] = {}
        self._handle_deleters: dict[Any, Any] = {}

    # -- contents ----------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The number of operations; it grows with each one that is added."""
        return len(self.operation_list)

    @property
    def _last_id(self) -> int:
        return len(self.operation_list)

    @property
    def _nodes_by_id(self) -> dict[int, Operation]:
        return {op._id: op for op in self.operation_list}

    @property
    def graph_def_versions(self) -> graph_pb2.VersionDef:
        """The GraphDef versions of this graph as a message."""
        from tfnb.framework.exporter import versions_to_proto

        return versions_to_proto(self.def_versions)

    @property
    def seed(self) -> int | None:
        """The graph-level random seed."""
        return self._seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self._seed = seed

    def next_op_seed(self) -> int:
        """Return the op seed of the next op without one, counted from 0."""
        with self._lock:
            self.num_op_seeds += 1
            return self.num_op_seeds - 1

    @property
    def building_function(self) -> bool:
        """Whether this graph is the body of a function."""
        return self._building_function

    @property
    def finalized(self) -> bool:
        """Whether operations can no longer be added."""
        return self._finalized

    def finalize(self) -> None:
        """Make the graph read-only, so that threads may share it."""
        self._finalized = True

    def _unsafe_unfinalize(self) -> None:
        self._finalized = False

    def _check_not_finalized(self) -> None:
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    def as_default(self) -> StackController[Graph]:
        """Return a context manager that makes this the default graph of the thread."""
        return _default_graph_stack.get_controller(self)

    def __enter__(self) -> Self:
        controllers = self._thread_local.__dict__.setdefault("controllers", [])
        controllers.append(self.as_default())
        controllers[-1].__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._thread_local.controllers.pop().__exit__(kind, error, traceback)

    def as_graph_def(
        self,
        from_version: int | None = None,
        add_shapes: bool = False,
        use_pybind11_proto: bool = False,
    ) -> graph_pb2.GraphDef:
        """Return the graph as a message.

        Args:
          from_version: if given, only the operations added since ``version`` had this value.
          add_shapes: whether each node gets its outputs' static shapes as ``_output_shapes``.
          use_pybind11_proto: ignored; the message is always made in Python.

        Raises:
          ValueError: the message would be larger than 2 GB.
        """
        return self._as_graph_def(from_version, add_shapes)[0]

    def _as_graph_def(
        self, from_version: int | None = None, add_shapes: bool = False
    ) -> tuple[graph_pb2.GraphDef, int]:
        """Return the message, and the version of the graph that it shows; see ``graph_def_of``."""
        from tfnb.framework.exporter import graph_def_of

        with self._lock:
            message = graph_def_of(self, from_version or 0, add_shapes)
            return message, self.version

    # -- adding operations -----------------------------------------------------------------------

    def create_op(
        self,
        op_type: str,
        inputs: Iterable[Tensor],
        dtypes: Iterable[DType] | None = None,
        input_types: Iterable[DType] | None = None,
        name: str | None = None,
        attrs: Mapping[str, Any] | None = None,
        op_def: Any = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        """Add an operation to this graph; most programs call an op's own function instead.

        Args:
          op_type: the name of the op.
          inputs: its input tensors, with lists flattened.
          dtypes: ignored; the op's definition has the output dtypes.
          input_types: the dtypes of the inputs as the op reads them; checked if given.
          name: a name for it; made unique.  One that ends with ``/`` is used as it is.
          attrs: attributes, as plain values or AttrValue messages.
          op_def: ignored; the registry has the definition.
          compute_shapes: ignored; shapes are always inferred.
          compute_device: whether device scopes apply.

        Raises:
          TypeError: an input is not a tensor, or an attribute has the wrong kind.
          ValueError: the inputs do not fit the op.
          NotFoundError: the op is unknown.
          RuntimeError: the graph is finalized.
        """
        inputs = list(inputs)
        for index, value in enumerate(inputs):
            if not isinstance(value, Tensor):
                raise TypeError(f"Input #{index} is not a tensor: {value}")
        return self._create_op_internal(
            op_type, inputs, dtypes, input_types, name, attrs, op_def, compute_device
        )

    def _create_op_internal(
        self,
        op_type: str,
        inputs: Sequence[Tensor],
        dtypes: Iterable[DType] | None = None,
        input_types: Iterable[DType] | None = None,
        name: str | None = None,
        attrs: Mapping[str, Any] | None = None,
        op_def: Any = None,
        compute_device: bool = True,
    ) -> Operation:
        """Add an operation like :meth:`create_op`, without checking that inputs are tensors."""
        self._check_not_finalized()
        plan = plan_of(self.op_definition(op_type))
        if self._building_function:
            inputs = self.capture_inputs(inputs)
        complete = plan.attrs_of_create_op(name or op_type, inputs, attrs or {})
        plan.check_inputs(name or op_type, inputs, complete)
        if input_types is not None:
            plan.check_input_types(name or op_type, inputs, list(input_types))
        output_types = plan.op_def.output_types(complete)
        return create_operation(
            self,
            plan.definition,
            inputs,
            complete,
            op_type if name is None else name,
            output_types,
            compute_device=compute_device,
        )

    def capture_inputs(self, inputs: Sequence[Tensor]) -> Sequence[Tensor]:
        """Return the inputs as tensors of this graph; graphs of functions override this."""
        return inputs

    def operation_elsewhere(
        self,
        definition: OpDefinition,
        inputs: Sequence[Tensor],
        attrs: dict[str, Any],
        name: str,
        output_types: Iterable[DType],
    ) -> Operation | None:
        """Return a replacement for a new operation; for graphs that build a function."""
        return None

    def _add_op(self, op: Operation) -> None:
        """Make a complete operation part of the graph."""
        op._id = len(self.operation_list)
        self.operation_list.append(op)
        self._nodes_by_name[op.name] = op

    # -- functions -------------------------------------------------------------------------------

    def op_definition(self, op_type: str) -> OpDefinition:
        """Return the definition of an op or of a function of this graph's library.

        Raises:
          NotFoundError: no op and no function has that name.
        """
        definition = op_registry.find(op_type)
        if definition is None and op_type in self._functions:
            definition = self.function_definitions.get(op_type)
            if definition is None:
                definition = self._functions[op_type].op_definition()
                self.function_definitions[op_type] = definition
        return definition if definition is not None else op_registry.get(op_type)

    def op_def_for_type(self, type: str) -> op_def_pb2.OpDef:
        """Return the OpDef message of an op or of a function of this graph's library."""
        from tfnb.core.op_def_proto import op_def_to_proto

        return op_def_to_proto(self.op_definition(type).op_def)

    def _is_function(self, name: str) -> bool:
        return name in self._functions

    def _get_function(self, name: str | bytes) -> LibraryFunction | None:
        return self._functions.get(name.decode() if isinstance(name, bytes) else name)

    def _add_function(self, function: LibraryFunction) -> None:
        """Add a function to the library.

        Raises:
          ValueError: it has two gradients.
          InvalidArgumentError: another function has its name.
          RuntimeError: the graph is finalized.
        """
        from tfnb.framework.function_library import add_function

        self._check_not_finalized()
        add_function(self, function)

    def _remove_function(self, name: str) -> None:
        self._check_not_finalized()
        with self._lock:
            if name not in self._functions:
                raise ValueError(f"Function {name!r} is not found in {self!r}.")
            del self._functions[name]
            self.function_definitions.pop(name, None)

    # -- finding things --------------------------------------------------------------------------

    def get_operations(self) -> list[Operation]:
        """Return the operations, in the order of addition, as a new list."""
        return list(self.operation_list)

    @property
    def operations(self) -> list[Operation]:
        """The operations, in the order in which they were added."""
        return self.get_operations()

    def num_operations(self) -> int:
        """Return the number of operations."""
        return len(self.operation_list)

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Any:
        """Return the tensor or operation of this graph that ``obj`` is or names.

        Args:
          obj: a tensor, an operation, a name, or something with ``_as_graph_element()``.
          allow_tensor: whether a tensor is accepted.
          allow_operation: whether an operation is accepted.

        Raises:
          TypeError: ``obj`` is not of an accepted kind.
          ValueError: it belongs to another graph, or names the other kind.
          KeyError: nothing in the graph has this name.
        """
        from tfnb.framework.graph_elements import find_element

        return find_element(self, obj, allow_tensor, allow_operation)

    def get_operation_by_name(self, name: str) -> Operation:
        """Return the operation with this name.

        Raises:
          TypeError: ``name`` is not a string.
          ValueError: it is the name of a tensor.
          KeyError: the graph has no operation with this name.
        """
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        found = self._nodes_by_name.get(name)
        if found is not None:
            return found
        operation: Operation = self.as_graph_element(name, allow_tensor=False)
        return operation

    def _get_operation_by_name(self, name: str) -> Operation:
        """Return the operation with this name; a bare KeyError if there is none."""
        return self._nodes_by_name[name]

    _get_operation_by_name_unsafe = _get_operation_by_name

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Return the tensor with this name (``op:0``).

        Raises:
          TypeError: ``name`` is not a string.
          ValueError: it is the name of an operation.
          KeyError: the graph has no tensor with this name.
        """
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        tensor: Tensor = self.as_graph_element(name, allow_operation=False)
        return tensor

    # -- scopes ----------------------------------------------------------------------------------

    def scopes(self) -> ScopeState:
        """Return the calling thread's current scopes of this graph."""
        try:
            state: ScopeState = self._thread_local.state
        except AttributeError:
            state = self._thread_local.state = ScopeState()
        return state

    @property
    def _name_stack(self) -> str:
        return self.scopes().name_stack

    @_name_stack.setter
    def _name_stack(self, name_stack: str) -> None:
        self.scopes().name_stack = name_stack

    def name_scope(self, name: str | None) -> NameScope:
        """Return a context manager that prefixes names with ``name/``; it yields the scope.

        Args:
          name: made unique; one that ends with ``/`` is entered again unchanged; None leads to the
            root.

        Raises:
          ValueError: on entering, if the name has characters that are not allowed in scopes.
        """
        return NameScope(self, name)

    def get_name_scope(self) -> str:
        """Return the current name scope without its final slash."""
        return self.scopes().name_stack

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Return an unused name based on ``name`` in the current scope, ignoring case.

        Args:
          name: the requested name.
          mark_as_used: whether the returned name counts as used from now on.
        """
        stack = self.scopes().name_stack
        if stack:
            name = f"{stack}/{name}"
        key = name.lower()
        with self._lock:
            in_use = self._names_in_use
            count = in_use.get(key, 0)
            if mark_as_used:
                in_use[key] = count + 1
            if not count:
                return name
            unique_key = key
            while unique_key in in_use:
                unique_key = f"{key}_{count}"
                count += 1
            if mark_as_used:
                in_use[unique_key] = 1
            return f"{name}_{count - 1}"

    def device(self, device_name_or_function: Any) -> DeviceScope:
        """Return a context manager that sets the requested device of operations made inside.

        Args:
          device_name_or_function: a device as text or DeviceSpec, merged field by field with the
            outer scopes, where the inner one takes precedence; a function from an Operation to a
            device; or None, to ignore the outer scopes.

        Raises:
          ValueError: the text is not a device.
        """
        return DeviceScope(self, device_name_or_function)

    def _apply_device_functions(self, op: Operation) -> None:
        state = self.scopes()
        op.requested_device = merged_device(state.device_stack, op) or ""
        op.kept_node_def = None
        if op._id >= 0:
            self.exported_nodes = None

    def control_dependencies(
        self, control_inputs: Iterable[Any] | None
    ) -> ControlDependenciesScope:
        """Return a context manager in which operations run only after all of ``control_inputs``.

        Args:
          control_inputs: operations, tensors, variables or names; None to ignore the outer blocks.

        Raises:
          TypeError: one of them is none of these.
          ValueError: one of them belongs to another graph.
        """
        if control_inputs is None:
            return ControlDependenciesScope(self, None)
        found: list[Operation] = []
        current = self.scopes().control_ops
        new: set[Operation] = set()
        for value in control_inputs:
            op = control_op_of(self, value)
            if op not in current and op not in new:
                new.add(op)
                found.append(op)
        return ControlDependenciesScope(self, found)

    def _current_control_dependencies(self) -> set[Operation]:
        return set(self.scopes().control_ops)

    def _control_dependencies_for_inputs(self, inputs: Iterable[Tensor]) -> list[Operation]:
        return control_dependencies_for_inputs(self.scopes().control_stack, inputs)

    def colocate_with(self, op: Any, ignore_existing: bool = False) -> ColocationScope:
        """Return a context manager inside which operations share the device of ``op``.

        Outer device scopes do not apply inside.

        Args:
          op: an operation, tensor or variable; None (with ``ignore_existing``) for no colocation at
            all.
          ignore_existing: whether to ignore the outer blocks.

        Raises:
          ValueError: ``op`` is None without ``ignore_existing``.
        """
        if op is None:
            if not ignore_existing:
                raise ValueError(
                    "Trying to reset colocation (op is None) but ignore_existing is not True"
                )
            return ColocationScope(self, (), ignore_existing)
        return ColocationScope(self, colocation_targets(op), ignore_existing)

    def _colocate_with_for_gradient(
        self, op: Any, gradient_uid: str | None, ignore_existing: bool = False
    ) -> ColocationScope:
        return self.colocate_with(op, ignore_existing)

    def container(self, container_name: str) -> AttributeScope:
        """Return a context manager that puts resources of stateful operations into a container."""
        return AttributeScope(self, "_container", container_name)

    def _attr_scope(self, attr_map: Mapping[str, Any]) -> MapScope:
        """Return a context manager that adds missing attributes to operations made inside.

        Args:
          attr_map: attribute -> AttrValue message or plain value, a function that returns one for a
            NodeDef, or None.

        Raises:
          TypeError: the map is not a dict of strings.
        """
        if not isinstance(attr_map, dict) or not all(isinstance(key, str) for key in attr_map):
            raise TypeError(
                "attr_map must be a dictionary mapping strings to AttrValue protocol buffers or "
                "callables that emit AttrValue protocol buffers"
            )
        return MapScope(self._attr_scope_map, attr_map)

    def _kernel_label_map(self, op_to_kernel_label_map: Mapping[str, str]) -> MapScope:
        """Return a context manager that chooses kernels by label for some ops."""
        _check_string_map("op_to_kernel_label_map", op_to_kernel_label_map)
        return MapScope(self._op_to_kernel_label_map, op_to_kernel_label_map)

    def gradient_override_map(self, op_type_map: Mapping[str, str]) -> MapScope:
        """Return a context manager inside which ops of some types get another gradient.

        Args:
          op_type_map: op type -> name under which a gradient is registered.

        Raises:
          TypeError: the map is not a dict of strings.
        """
        _check_string_map("op_type_map", op_type_map)
        return MapScope(self._gradient_override_map, op_type_map)

    def _override_gradient_function(
        self, gradient_function_map: Mapping[str, Any]
    ) -> AttributeScope:
        assert not self._gradient_function_map, "gradient functions are overridden already"
        return AttributeScope(self, "_gradient_function_map", dict(gradient_function_map))

    def _original_op(self, op: Operation | None) -> AttributeScope:
        return AttributeScope(self, "_default_original_op", op)

    def _get_control_flow_context(self) -> Any:
        return self.scopes().control_flow_context

    def _set_control_flow_context(self, context: Any) -> None:
        self.scopes().control_flow_context = context

    def switch_to_thread_local(self) -> None:
        """Do nothing: every thread always has its own scopes."""

    # -- collections -----------------------------------------------------------------------------

    @property
    def collections(self) -> list[Any]:
        """The names of the collections."""
        return list(self._collections)

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Append a value to a collection.

        Raises:
          RuntimeError: the graph is finalized.
        """
        self._check_not_finalized()
        with self._lock:
            self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Append a value to each of several collections, once; a string names one collection."""
        for name in (names,) if isinstance(names, str) else dict.fromkeys(names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Any) -> list[Any]:
        """Return the collection itself, made if needed; changes to the list change it."""
        with self._lock:
            return self._collections.setdefault(name, [])

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """Return a list of the values in a collection.

        Args:
          name: the collection.
          scope: a regular expression; if given, only values whose ``name`` matches its beginning.
        """
        with self._lock:
            values = list(self._collections.get(name, ()))
        if scope is None:
            return values
        regex = re.compile(scope)
        return [v for v in values if hasattr(v, "name") and regex.match(v.name)]

    def get_all_collection_keys(self) -> list[str]:
        """Return the names of the collections that are named by strings."""
        with self._lock:
            return [name for name in self._collections if isinstance(name, str)]

    def clear_collection(self, name: Any) -> None:
        """Remove a collection.

        Raises:
          RuntimeError: the graph is finalized.
        """
        self._check_not_finalized()
        with self._lock:
            self._collections.pop(name, None)

    # -- feeding and fetching --------------------------------------------------------------------

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Mark a tensor as one that may not be fed."""
        if tensor not in self._unfeedable_tensors:
            self._unfeedable_tensors.add(tensor)
            self.num_access_marks += 1

    def is_feedable(self, tensor: Tensor) -> bool:
        """Return whether a tensor may be fed."""
        return tensor not in self._unfeedable_tensors

    def prevent_fetching(self, op: Operation) -> None:
        """Mark an operation and its outputs as not fetchable."""
        if op not in self._unfetchable_ops:
            self._unfetchable_ops.add(op)
            self.num_access_marks += 1

    def is_fetchable(self, tensor_or_op: Tensor | Operation) -> bool:
        """Return whether a tensor or operation may be fetched."""
        op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return op not in self._unfetchable_ops


def _check_string_map(name: str, value: Any) -> None:
    if not isinstance(value, dict) or not all(
        isinstance(one, str) for item in value.items() for one in item
    ):
        raise TypeError(f"{name} must be a dictionary mapping strings to strings")
