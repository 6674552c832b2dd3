"""Conversion of the runtime's errors to errors that help a user.

The runtime knows the node's name and the reason. ``explain`` finds the operation in the user's
graph and adds the cell and line that made it, and, for frequent mistakes, advice with code to type.
All of this runs only after a step failed. The class, code, notes and cause of the error are kept.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from tfnb.client.session.live_sessions import runtimes_of
from tfnb.common_runtime.functions.lower_functional_ops import FUNCTIONAL_OPS
from tfnb.core import errors
from tfnb.core.errors import Mistake, OpError, ResourceExhaustedError
from tfnb.core.op_registry import ops_with
from tfnb.core.op_traits import Trait
from tfnb.core.process.package_directory import PACKAGE_DIRECTORY
from tfnb.core.process.standstill import StandstillNote
from tfnb.core.resource_mgr import RefCell
from tfnb.core.text_bytes import shown_text

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from tfnb.client.session.feeds import Feed
    from tfnb.core.process.standstill import Standstill
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor

# Maximum number of missing feeds, or parts of a path, that are listed.
_MAX_LISTED = 4
_MAX_NAMES = 8
_MAX_PATH = 5

_SOFT_PLACEMENT = (
    "To run it where it can run: tf.Session(config=tf.ConfigProto(allow_soft_placement=True))"
)


class FailedPlan(Protocol):
    """The data of a failed run.

    Attributes:
        feeds: The fed tensors.
        fetch_tensors: The fetched tensors.
        targets: The operations to run for their effect.
        graph: The user's graph.
        runtime: The runtime's session.
    """

    feeds: list[Feed]
    fetch_tensors: list[Tensor]
    targets: list[Operation]
    graph: Graph
    runtime: Any


def explain(error: OpError, graph: Graph, plan: FailedPlan | None) -> OpError:
    """Return the error with the user's operation and advice in its message.

    Args:
        error: The error of the runtime.
        graph: The graph that ran.
        plan: The run that failed; None if it was not an ordinary run.

    Returns:
        An error of the same class, to be raised from the cause of ``error``.
    """
    name, named = error.node_name or error.named_node, error.named_node
    op = _find_operation(graph, name)
    lines = [_message_of(error, graph)]
    if name is not None and (op is not None or named is None):
        lines.append(f"\t [[node {name}{_definition(op)}]]")
        named = named or name
    origin = _find_origin(graph, name) if op is None else None
    if origin is not None:
        lines.append(f"\t inside [[node {origin.name}{_definition(origin)}]]")
        named = named or origin.name
    lines += _advice(error, op, plan)
    cls: Any = type(error)
    code = (error.error_code,) if cls is OpError else ()
    node_def = error.node_def if op is None else op.node_def
    explained: OpError = cls(node_def, op, "\n".join(lines), *code)
    explained.error_code = error.error_code
    explained.experimental_payloads = error.experimental_payloads
    explained.node_name, explained.named_node = name, named
    explained.mistake, explained.nodes = error.mistake, error.nodes
    explained.names_creation = True
    explained.reports_memory = error.reports_memory
    for note in getattr(error, "__notes__", ()):
        explained.add_note(note)
    return explained


def out_of_memory(error: MemoryError) -> ResourceExhaustedError:
    """Return the error of a run that ran out of memory between kernels."""
    told = str(error) or "Python has none left"
    return errors.out_of_memory(
        f"OOM while a step was prepared, fed, or its fetches were returned: {told}. Feed and "
        "fetch less at a time, or fetch a value computed from the tensor, for example a sum.",
    )


def explain_interrupt(interrupt: KeyboardInterrupt, graph: Graph) -> None:
    """Add to the note on an interrupt, which lists the awaited nodes, where they were made."""
    notes: list[str] = getattr(interrupt, "__notes__", [])
    notes[:] = [
        describe(note.standstill, graph) if isinstance(note, StandstillNote) else note
        for note in notes
    ]


def describe(standstill: Standstill, graph: Graph) -> str:
    """Return the reasons why steps wait, with the places where the nodes were made."""
    return standstill.render(lambda name: place_of_node(name, graph))


def place_of_node(name: str, graph: Graph) -> str:
    """Return where a node was made; "" if that is not known."""
    return _place(_find_operation(graph, name))


def _message_of(error: OpError, graph: Graph) -> str:
    """Return the message, with the places of nodes if it explains why the step was blocked."""
    if error.standstill is None or error.lead is None:
        return error.message
    account = describe(error.standstill, graph)
    return f"{error.lead}\n{account}" if error.lead else account


def _place(op: Operation | None) -> str:
    if op is None or op.creation_site is None:
        return ""
    return f"{op.creation_site}{_caller(op)}"


def _find_operation(graph: Graph, name: str | None) -> Operation | None:
    if name is None:
        return None
    try:
        return graph.get_operation_by_name(name)
    except (KeyError, ValueError):
        return None  # the runtime made this node


def _find_origin(graph: Graph, name: str | None) -> Operation | None:
    """Return the functional operation whose body a node of the runtime comes from, if any."""
    while name and "/" in name:
        name = name.removeprefix("Func/").rpartition("/")[0]
        op = _find_operation(graph, name)
        if op is not None and (op.type in FUNCTIONAL_OPS or graph._is_function(op.type)):
            return op
    return None


def _definition(op: Operation | None) -> str:
    if op is None:
        return ""
    site = op.creation_site
    if site is None:
        return f" ({op.type})"
    text = f": {site.text}" if site.text else ""
    return f" ({op.type}), defined at {site}{_caller(op)}{text}"


def _caller(op: Operation) -> str:
    """Return where a library function that made the op was called; "" in a notebook cell."""
    site, frames = op.creation_site, op.traceback
    if site is None or site.cell is not None or site.function == "<module>" or len(frames) < 2:
        return ""
    for frame in reversed(frames[:-1]):
        is_ours = frame.filename.startswith(PACKAGE_DIRECTORY)
        if not is_ours and (frame.filename, frame.lineno) != (site.file, site.line):
            return f", called from {frame.filename}:{frame.lineno}"
    return ""


def _advice(error: OpError, op: Operation | None, plan: FailedPlan | None) -> list[str]:
    """Return lines of advice, for the errors that have any."""
    if plan is None:
        return []
    match error.mistake:
        case Mistake.NO_DEVICE:
            return [_SOFT_PLACEMENT]
        case Mistake.APART:
            return _colocation_advice(error.nodes, plan.graph)
        case Mistake.NO_VALUE if error.standstill is not None:
            return _dead_advice(error.standstill, plan)
        case Mistake.NOT_FED:
            return _missing_feeds_advice(plan)
        case Mistake.NOT_INITIALIZED:
            return _uninitialized_advice(plan)
    return []


def _colocation_advice(names: tuple[str, ...], graph: Graph) -> list[str]:
    lines = []
    for name in dict.fromkeys(names):
        op = _find_operation(graph, name)
        if op is not None:
            lines.append(f"  '{name}' asks for {op.device or 'any device'}{_definition(op)}")
    return [*lines, "Ask for the same device in both places, or leave one of the two out."]


# -- what a run needs ------------------------------------------------------------------------------

_IsCut: TypeAlias = "Callable[[Operation, Tensor], bool]"


class _Reached(NamedTuple):
    """An operation that a run needs, and the path to it."""

    op: Operation
    path: list[str]  # from the fetch down to the operation


def _reached(plan: FailedPlan, types: Container[str], is_cut: _IsCut) -> list[_Reached]:
    """Return the operations of some types that a plan needs, nearest to its fetches first.

    Args:
        plan: The run.
        types: The types of operations.
        is_cut: Returns, for a consumer and its input, whether the walk stops there.
    """
    parents: dict[Operation, Operation | None] = {}
    queue: deque[Operation] = deque()

    def reach(op: Operation, parent: Operation | None) -> None:
        if op not in parents:
            parents[op] = parent
            queue.append(op)

    for root in (*(tensor.op for tensor in plan.fetch_tensors), *plan.targets):
        reach(root, None)
    found = []
    while queue:
        op = queue.popleft()
        if op.type in types:
            found.append(_Reached(op, _path(op, parents)))
        for tensor in op.inputs:
            if not is_cut(op, tensor):
                reach(tensor.op, op)
        for control in op.control_inputs:
            reach(control, op)
    return found


def _path(op: Operation, parents: dict[Operation, Operation | None]) -> list[str]:
    names = [op.name]
    above = parents[op]
    while above is not None:
        names.append(above.name)
        above = parents[above]
    return names[::-1]


# -- placeholders without a value ------------------------------------------------------------------

_PLACEHOLDERS = ops_with(Trait.MUST_BE_FED)


def _missing_feeds_advice(plan: FailedPlan) -> list[str]:
    fed = {feed.tensor for feed in plan.feeds}
    missing = _reached(plan, _PLACEHOLDERS, lambda _, tensor: tensor in fed)
    if not missing:
        return []
    lines = [
        "This run reaches one placeholder without a value:"
        if len(missing) == 1
        else f"This run reaches {len(missing)} placeholders without a value:"
    ]
    lines += [
        f"  {_described(m.op.outputs[0])}, for {_path_text(m.path)}" for m in missing[:_MAX_LISTED]
    ]
    if len(missing) > _MAX_LISTED:
        lines.append(f"  and {', '.join(m.op.outputs[0].name for m in missing[_MAX_LISTED:])}")
    tensors = [m.op.outputs[0] for m in missing]
    pairs = ", ".join(f"{tensor.name!r}: {_example_value(tensor)}" for tensor in tensors)
    lines.append(f"Pass them along: feed_dict={{{pairs}}}")
    return lines


# -- fetches without a value -----------------------------------------------------------------------

_SWITCHES = frozenset({"Switch", "RefSwitch"})


def _dead_advice(standstill: Standstill, plan: FailedPlan) -> list[str]:
    """Return the path from a fetch to the Switch that made it dead, and the reason."""
    switch = _find_operation(plan.graph, standstill.findings[0].node)
    if switch is None or switch.type not in _SWITCHES:
        return []
    fed = {feed.tensor for feed in plan.feeds}
    found = _reached(plan, _SWITCHES, lambda _, tensor: tensor in fed)
    path = next((one.path for one in found if one.op is switch), None)
    if path is None:
        return []
    above = None if len(path) < 2 else _find_operation(plan.graph, path[-2])
    tensors = plan.fetch_tensors if above is None else above.inputs
    dead = {tensor.value_index for tensor in tensors if tensor.op is switch}
    lines = []
    if len(dead) == 1:
        # A value is dead on one side only if the predicate selected the other side.
        is_true = dead == {0}
        predicate = switch.inputs[1].op.name
        side = "true" if is_true else "false"
        lines.append(
            f"dead: Switch '{switch.name}' took {side} because {predicate}={is_true}: "
            f"{_path_text(path)}"
        )
    lines.append("Fetch what merges both sides, as tf.cond gives it, or feed the other value.")
    return lines


# -- variables without a value ---------------------------------------------------------------------

_VARIABLES = ops_with(Trait.VARIABLE)
_NEEDS_NO_VALUE = ops_with(Trait.NEEDS_NO_VALUE)


def _uninitialized_advice(plan: FailedPlan) -> list[str]:
    fed = {feed.tensor for feed in plan.feeds}

    def is_cut(op: Operation, tensor: Tensor) -> bool:
        return tensor in fed or (
            tensor.op.type in _VARIABLES
            and (op.type in _NEEDS_NO_VALUE or op.op_definition.op_def.allows_uninitialized_input)
        )

    needed = [r.op for r in _reached(plan, _VARIABLES, is_cut)]
    without = [op for op in needed if not _has_value(plan.runtime, op)]
    if not without:
        return []
    names = ", ".join(op.name for op in without[:_MAX_NAMES])
    if len(without) > _MAX_NAMES:
        names += f" and {len(without) - _MAX_NAMES} more"
    lines = [
        f"This run needs {len(without)} variables without a value in this session: {names}"
        if len(without) > 1
        else f"This run needs one variable without a value in this session: {names}",
        "Give them values first: sess.run(tf.global_variables_initializer()), or restore a "
        "checkpoint.",
    ]
    others = [
        other
        for other in runtimes_of(plan.graph)
        if other is not plan.runtime and all(_has_value(other, op) for op in without)
    ]
    if others:
        lines.append("Another open session of this graph has values for them.")
    return lines


def _has_value(runtime: Any, op: Operation) -> bool:
    """Return whether a session holds a value for a variable; True if that is not known."""
    device_mgr = getattr(runtime, "device_mgr", None)
    if device_mgr is None:
        return True
    name = shown_text(op.attr("shared_name")) or op.name
    for device in device_mgr.devices:
        resources = device.resource_manager
        container = shown_text(op.attr("container")) or resources.default_container
        for where, kind, found in resources.names():
            if (where, found) == (container, name):
                cell = resources.find(where, kind, found)
                if isinstance(cell, RefCell) and cell.is_initialized:
                    return True
    return False


# -- texts -----------------------------------------------------------------------------------------


def _described(tensor: Tensor) -> str:
    return f"{tensor.name} {tensor.dtype.name} {_shape_text(tensor)}"


def _path_text(path: Sequence[str]) -> str:
    if len(path) > _MAX_PATH:
        path = [*path[:2], f"… {len(path) - _MAX_PATH + 1} more …", *path[-2:]]
    return " ← ".join(path)


def _shape_text(tensor: Tensor) -> str:
    dims = tensor.shape.dim_values
    if dims is None:
        return "of any shape"
    inner = ", ".join("?" if d is None else str(d) for d in dims)
    return f"({inner},)" if len(dims) == 1 else f"({inner})"


def _example_value(tensor: Tensor) -> str:
    """Return Python code for a value that fits, to be replaced by the user's value."""
    dims = tensor.shape.dim_values
    dtype = tensor.dtype.base_dtype
    zero = "''" if dtype.name == "string" else "False" if dtype.is_bool else "0"
    if not dims:
        return "0." if dtype.is_floating else zero
    sizes = tuple(1 if d is None else d for d in dims)
    if dtype.name == "string":
        return f"np.full({sizes}, '', object)"
    kind = "bool" if dtype.is_bool else f"np.{dtype.name}"
    return f"np.zeros({sizes}, {kind})"
