"""The context managers of a graph: names, devices, control dependencies, colocation, containers.

A :class:`ScopeState` is one thread's position in all of a graph's scopes. Its stacks are tuples,
innermost last, so that entering a scope is an assignment and leaving it assigns the old tuple back.
Threads never share scopes (TensorFlow shares all but the name scope until
``switch_to_thread_local``; programs do not rely on this intentionally).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tfnb.core import device_spec
from tfnb.core.process.later import pattern_later
from tfnb.framework.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation

VALID_OP_NAME: Final = pattern_later(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
VALID_SCOPE_NAME: Final = pattern_later(r"^[A-Za-z0-9_.\\/>-]*$")


class ScopeState:
    """One thread's position in a graph's scopes.

    Attributes:
      name_stack: the current name scope without its final slash.
      device_stack: the entered device scopes.
      device: the merged device of plain scopes, or None if a function must be called for each op.
      control_stack: the entered ``control_dependencies`` blocks.
      control_ops: operation that these blocks wait for -> number of blocks that wait for it.
      colocation_stack: the ops of ``colocate_with`` blocks.
      control_flow_context: the innermost cond or while being built.
    """

    __slots__ = (
        "colocation_stack",
        "control_flow_context",
        "control_ops",
        "control_stack",
        "device",
        "device_stack",
        "name_stack",
    )

    def __init__(self) -> None:
        self.name_stack = ""
        self.device_stack: tuple[DeviceEntry, ...] = ()
        self.device: str | None = ""
        self.control_stack: tuple[ControlDependenciesScope, ...] = ()
        self.control_ops: dict[Operation, int] = {}
        self.colocation_stack: tuple[Any, ...] = ()
        self.control_flow_context: Any = None

    def set_devices(self, stack: tuple[DeviceEntry, ...]) -> None:
        """Replace the stack of devices."""
        self.device_stack = stack
        self.device = merged_device(stack, None)


class NameScope:
    """The context manager of ``with graph.name_scope(name) as scope``."""

    __slots__ = ("_graph", "_name", "_old")

    def __init__(self, graph: Graph, name: str | None) -> None:
        self._graph = graph
        self._name = name

    def __enter__(self) -> str:
        state = self._graph.scopes()
        self._old = state.name_stack
        state.name_stack, scope = enter_name(self._graph, state, self._name)
        return scope

    def __exit__(self, *exc_info: object) -> None:
        self._graph.scopes().name_stack = self._old


def enter_name(graph: Graph, state: ScopeState, name: str | bytes | None) -> tuple[str, str]:
    """Return the name stack inside a scope, and the scope's own name with its slash.

    Raises:
      ValueError: the name has characters that are not allowed in scopes.
    """
    if not name:  # None and "" both lead back to the root
        return "", ""
    if isinstance(name, bytes):
        name = name.decode()
    if state.name_stack:
        if VALID_SCOPE_NAME.match(name) is None:
            raise ValueError(
                f"'{name}' is not a valid scope name. A scope name has to match the following "
                f"pattern: {VALID_SCOPE_NAME.pattern}"
            )
    elif VALID_OP_NAME.match(name) is None:
        raise ValueError(
            f"'{name}' is not a valid root scope name. A root scope name has to match the "
            f"following pattern: {VALID_OP_NAME.pattern}"
        )
    if name[-1] == "/":
        return name[:-1], name
    unique = graph.unique_name(name)
    return unique, unique + "/"


# ------------------------------------------------------------------------------------------ devices


class DeviceEntry:
    """One device scope: a device to merge, a function to call, or None (ignore outer scopes)."""

    __slots__ = ("function", "merge")

    def __init__(self, wanted: Any) -> None:
        self.merge: device_spec.MergeDevice | None = None
        self.function: Callable[[Any], Any] | None = None
        if wanted is None:
            return
        if isinstance(wanted, device_spec.MergeDevice) or not callable(wanted):
            self.merge = device_spec.merge_device(wanted)
        else:
            self.function = wanted


class _Named:
    """An object with only a device, as the argument of merge functions."""

    __slots__ = ("device",)

    def __init__(self, device: str) -> None:
        self.device = device


def merged_device(stack: tuple[DeviceEntry, ...], op: Operation | None) -> str | None:
    """Return the merged device of a stack for ``op``; None if a function needs an op."""
    device = "" if op is None else op.requested_device
    for entry in reversed(stack):
        if entry.merge is not None:
            if not entry.merge.is_null_merge:
                device = entry.merge.shortcut_string_merge(_Named(device))
        elif entry.function is None:
            break
        elif op is None:
            return None
        else:
            op.requested_device = device
            device = device_string(entry.function(op))
    return device


def device_string(device: Any) -> str:
    """Return the text of a device given as text (returned unchanged), DeviceSpec or None."""
    if device is None:
        return ""
    return device if isinstance(device, str) else str(device_spec.canonical_name(device))


class DeviceScope:
    """The context manager of ``with graph.device(device_name_or_function)``."""

    __slots__ = ("_entry", "_graph", "_old")

    def __init__(self, graph: Graph, device_name_or_function: Any) -> None:
        self._graph = graph
        self._entry = DeviceEntry(device_name_or_function)

    def __enter__(self) -> None:
        state = self._graph.scopes()
        self._old = state.device_stack
        state.set_devices((*state.device_stack, self._entry))

    def __exit__(self, *exc_info: object) -> None:
        state = self._graph.scopes()
        if not state.device_stack or state.device_stack[-1] is not self._entry:
            raise RuntimeError("Exiting device scope without proper scope nesting.")
        state.set_devices(self._old)


# ----------------------------------------------------------------------------- control dependencies


class ControlDependenciesScope:
    """The context manager of ``with graph.control_dependencies(control_inputs)``.

    With ``None``, neither outer blocks nor the control-flow context add control inputs inside.
    """

    __slots__ = (
        "_graph",
        "_old_context",
        "_old_ops",
        "_old_stack",
        "_seen",
        "control_inputs",
        "new_stack",
    )

    def __init__(self, graph: Graph, control_inputs: list[Operation] | None) -> None:
        self._graph = graph
        self.new_stack = control_inputs is None
        self.control_inputs: list[Operation] = control_inputs or []
        self._seen: set[Operation] = set()

    def __enter__(self) -> None:
        state = self._graph.scopes()
        self._old_stack = state.control_stack
        if self.new_stack:
            self._old_context = state.control_flow_context
            state.control_flow_context = None
            self._old_ops = state.control_ops
            state.control_ops = {}
            state.control_stack = (self,)
        else:
            state.control_stack = (*state.control_stack, self)
            for op in self.control_inputs:
                state.control_ops[op] = state.control_ops.get(op, 0) + 1

    def __exit__(self, *exc_info: object) -> None:
        state = self._graph.scopes()
        assert state.control_stack[-1] is self, "control_dependencies blocks left in another order"
        state.control_stack = self._old_stack
        if self.new_stack:
            state.control_flow_context = self._old_context
            state.control_ops = self._old_ops
            return
        for op in self.control_inputs:
            left = state.control_ops.pop(op) - 1
            if left:
                state.control_ops[op] = left

    def add_op(self, op: Operation) -> None:
        """Record that ``op`` was made inside, so that it depends on the control inputs already."""
        self._seen.add(op)

    def op_in_group(self, op: Operation) -> bool:
        """Return whether ``op`` was made inside."""
        return op in self._seen


def control_dependencies_for_inputs(
    stack: tuple[ControlDependenciesScope, ...], inputs: Iterable[Tensor]
) -> list[Operation]:
    """Return the control inputs of a new op that its data inputs do not imply already."""
    input_ops = {tensor.op for tensor in inputs}
    found: list[Operation] = []
    for scope in stack:
        if not any(scope.op_in_group(op) for op in input_ops):
            found.extend(op for op in scope.control_inputs if op not in input_ops)
    return found


def control_op_of(graph: Graph, value: Any) -> Operation:
    """Return the operation to wait for, when control inputs include ``value``.

    Raises:
      TypeError: the value is not a tensor, operation, variable or name.
      ValueError: it belongs to another graph.
    """
    # For a variable, wait for the op that made it: waiting must not read the variable.
    if not isinstance(value, Tensor) and (
        hasattr(value, "_handle") or hasattr(value, "_is_indexed_slices")
    ):
        value = getattr(value, "op", value)
    element = graph.as_graph_element(value)
    op: Operation = element.op if isinstance(element, Tensor) else element
    return op


# --------------------------------------------------------------------------------------- colocation


class ColocationScope:
    """The context manager of ``with graph.colocate_with(op)``; overrides outer device scopes."""

    __slots__ = ("_added", "_graph", "_ignore_existing", "_old_colocation", "_old_devices")

    def __init__(self, graph: Graph, added: tuple[Any, ...], ignore_existing: bool) -> None:
        self._graph = graph
        self._added = added
        self._ignore_existing = ignore_existing

    def __enter__(self) -> None:
        state = self._graph.scopes()
        self._old_devices = state.device_stack
        self._old_colocation = state.colocation_stack
        state.set_devices(())
        outer = () if self._ignore_existing else state.colocation_stack
        state.colocation_stack = (*outer, *self._added)

    def __exit__(self, *exc_info: object) -> None:
        state = self._graph.scopes()
        state.colocation_stack = self._old_colocation
        state.set_devices(self._old_devices)


# ---------------------------------------------------------------------------- attributes of new ops


class MapScope:
    """A context manager for entries of one of the graph's maps (attributes, labels, gradients).

    A value of None removes an entry inside the block.
    """

    __slots__ = ("_entries", "_map", "_old")

    def __init__(self, target: dict[str, Any], entries: Mapping[str, Any]) -> None:
        self._map = target
        self._entries = entries

    def __enter__(self) -> None:
        self._old = {key: self._map[key] for key in self._entries if key in self._map}
        for key, value in self._entries.items():
            if value is None:
                self._map.pop(key, None)
            else:
                self._map[key] = value

    def __exit__(self, *exc_info: object) -> None:
        for key in self._entries:
            if key in self._old:
                self._map[key] = self._old[key]
            else:
                self._map.pop(key, None)


class AttributeScope:
    """A context manager that sets one attribute of a graph and yields the value."""

    __slots__ = ("_attribute", "_graph", "_old", "_value")

    def __init__(self, graph: Graph, attribute: str, value: Any) -> None:
        self._graph = graph
        self._attribute = attribute
        self._value = value

    def __enter__(self) -> Any:
        self._old = getattr(self._graph, self._attribute)
        setattr(self._graph, self._attribute, self._value)
        return self._value

    def __exit__(self, *exc_info: object) -> None:
        setattr(self._graph, self._attribute, self._old)
