"""Explanations of which nodes of a step wait, and for what, if it stops or lacks a value.

This code runs after the step, or on request from another thread; a running step pays nothing for
it.  It only reads.  A step that runs meanwhile may change during the reading: then the answer is
slightly out of date, never wrong in kind.
"""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.executor.running_nodes import interrupted_node, running_nodes
from tfnb.common_runtime.executor.step_progress import NodeStatus, StepProgress, frames_below
from tfnb.core import errors
from tfnb.core.op_registry import has_trait, ops_with
from tfnb.core.op_traits import Trait
from tfnb.core.process.log import log
from tfnb.core.process.standstill import Finding, Standstill, StandstillNote
from tfnb.core.resource_mgr import RefCell, ResourceHandle
from tfnb.graph.node_kind import node_kind
from tfnb.graph.tensor_id import parse_tensor_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.common_runtime.executor.immutable_executor_state import NodeItem
    from tfnb.common_runtime.executor.propagator_state import FrameState, IterationState
    from tfnb.common_runtime.executor.run_state import (
        HandedOverKernel,
        JoinedCall,
        PartitionInStep,
        RunState,
    )
    from tfnb.common_runtime.executor.running_nodes import RunningNode
    from tfnb.graph.graph import Graph
    from tfnb.graph.node import Node


# Maximum number of unblocking nodes that a message names.
_MOST_PARTNERS = 2
_ENDS = ("send_device", "recv_device")

_PUTTING, _TAKING = Trait.PUTS_ELEMENTS, Trait.TAKES_ELEMENTS
# For a trait of an op: what it waits for, and the trait of the ops that provide it.
_PARTNERS = (
    (_PUTTING, "room", _TAKING, "takes elements out"),
    (_TAKING, "elements", _PUTTING, "puts elements in"),
    (Trait.TAKES_GRADIENTS, "gradients", Trait.APPLIES_GRADIENTS, "applies gradients"),
)


def explain_standstill(run_state: RunState) -> Standstill | None:
    """Explain why a step makes no progress; None if nothing waits: the step is busy, not stuck."""
    states = run_state.with_joined_calls()
    for state in states:
        for child in list(state.children):
            found = None if child.call is not None else explain_standstill(child)
            if found is not None:
                return found
    if not run_state.stands_still:
        return None
    rows = []
    told: list[tuple[bool, Finding]] = []  # whether a transfer waits; its finding
    can_be_helped = False
    for state in states:
        step = StepProgress(state.executors)
        for row in list(state.waiting.values()):
            executor, tagged, args, work = row
            kernel = tagged[0].kernel
            if kernel is not None and kernel.calls_functions:
                continue  # what waits inside is reported instead
            rows.append(row)
            where = _where(tagged[1], state.call)
            if work is not None:
                finding, is_final = _in_pool(tagged[0], where, work), False
            else:
                finding, is_final = _describe(step, executor, tagged[0], tagged[1], args, where)
            told.append((tagged[0].is_transfer, finding))
            can_be_helped = can_be_helped or not is_final
    if not rows:
        return None
    # A finding about a queue tells more than one about a transfer that waits for the queue.
    findings = [finding for _, finding in sorted(told, key=lambda pair: pair[0])]
    for executor in dict.fromkeys(row[0] for row in rows):
        findings += _held_back(executor.propagator.root)
    runs = any(work is not None and work.is_taken for *_, work in rows)
    heading = "Not done yet:" if runs else "Nothing can run:"
    return Standstill(heading, tuple(findings), is_final=not can_be_helped, runs=runs)


def waiting_nodes(run_state: RunState) -> list[str]:
    """Return the nodes whose kernels have not answered, except those that a pool thread runs."""
    rows = list(run_state.waiting.values())
    return [row[1][0].name for row in rows if row[3] is None or not row[3].is_taken]


def explain_progress(
    run_state: RunState, nodes: Sequence[RunningNode] | None = None
) -> Standstill | None:
    """Describe a running step: its loops, and the nodes that run.

    Args:
      run_state: the step.
      nodes: the running nodes; None: read them from the threads' stacks.

    Returns:
      None if no node runs and there is no loop to report.
    """
    findings = [
        Finding(
            f"frame '{frame.info.name}' is in iteration {frame.iteration_count:,}",
            frame.info.nodes[0].name if frame.info.nodes else "",
        )
        for executor in run_state.executors
        for frame in frames_below(executor.propagator.root)
        if frame.parent is not None
    ]
    with_loops = not findings
    for node in running_nodes([run_state]) if nodes is None else nodes:
        findings += node.findings(with_loops=with_loops or bool(node.function))
    return Standstill("Still running:", tuple(findings)) if findings else None


def explain_steps(run_states: Sequence[RunState]) -> Standstill | None:
    """Explain what each of several steps does."""
    findings = []
    for run_state in run_states:
        found = explain_standstill(run_state)
        if found is not None:
            text = f"step {run_state.step_id} stands still"
        else:
            does = "is held" if run_state.is_held else "is running"
            text, found = f"step {run_state.step_id} {does}", explain_progress(run_state)
        findings.append(Finding(text, "", () if found is None else found.findings))
    return Standstill("Steps in flight:", tuple(findings)) if findings else None


def explained(run_state: RunState, error: BaseException) -> BaseException:
    """Return the error of a step that was ended from outside, with where the step was."""
    is_end = isinstance(error, KeyboardInterrupt) and not hasattr(error, "standstill")
    is_late = (
        isinstance(error, errors.DeadlineExceededError)
        and error is run_state.stop
        and error.lead is None
    )
    return with_account(error, _explain_end(run_state, error)) if is_end or is_late else error


def nothing_answers(run_state: RunState) -> errors.OpError:
    """Return the error of a step that waits for another thread where none can be started."""
    text = (
        f"The step waits, and this Python ({sys.platform}) cannot start a thread that could make "
        "it go on. Run the step that it waits for before it."
    )
    found = None
    try:
        found = explain_standstill(run_state)
    except Exception:
        log.debug("No account of a step that waits.", exc_info=True)
    if found is None:
        return errors.unimplemented(text)
    error = errors.unimplemented(f"{text}\n{found.render()}")
    error.standstill, error.lead = found, text
    return error


def say_what_runs(run_state: RunState, error: errors.OpError) -> None:
    """Add to the error with which a step is about to end a note on what runs at that moment."""
    try:
        error.standstill = explain_progress(run_state)
    except Exception:
        log.debug("No account of a step that is to end.", exc_info=True)


def with_account(error: BaseException, found: Standstill | None) -> BaseException:
    """Return the error of a step that was ended from outside, with where the step was.

    A time-out becomes another error with a longer message; an interrupt gains a note.
    """
    if found is None:
        return error
    if isinstance(error, KeyboardInterrupt) and not hasattr(error, "standstill"):
        error.standstill = found  # type: ignore[attr-defined]
        error.add_note(StandstillNote(found))
    elif isinstance(error, errors.DeadlineExceededError):
        longer = errors.deadline_exceeded(f"{error.message}\n{found.render()}")
        longer.standstill, longer.lead = found, error.message
        return longer
    return error


def _explain_end(run_state: RunState, error: BaseException) -> Standstill | None:
    try:
        found = explain_standstill(run_state) or getattr(error, "standstill", None)
        if found is None and not run_state.depth:  # else the caller's error has more information
            node = interrupted_node(run_state, error)
            found = explain_progress(run_state, () if node is None else (node,))
        return found
    except Exception:
        # A failure of the explanation must not hide the error of the step.
        log.debug("No account of a step that was ended.", exc_info=True)
        return None


def warn_if_final(run_state: RunState) -> bool:
    """Log a line if a step stands still and cannot continue; return whether it did."""
    found = explain_standstill(run_state)
    if found is None or not found.is_final:
        return False
    first = found.findings[0]
    reasons = "".join(f"; {reason.text}" for reason in first.reasons)
    log.warning("A step stands still and cannot go on by itself: %s%s.", first.text, reasons)
    return True


def explain_node(executors: Sequence[PartitionInStep], name: str) -> Standstill:
    """Explain for each live iteration why a node has not run yet, or state that it has."""
    step = StepProgress(executors)
    found = [(executor, item) for executor in executors for item in _items_named(executor, name)]
    if not found:
        finding = Finding("it was pruned, folded, or stands in a function", name)
        return Standstill(f"'{name}' is no node of this step:", (finding,))
    findings = []
    for executor, item in found:
        places = [
            iteration
            for frame in frames_below(executor.propagator.root)
            if frame.info is item.frame
            for iteration in list(frame.iterations.values())
        ]
        findings += [_state_of(step, executor, item, place) for place in places]
        if not places:
            text = f"no frame '{item.frame.name}' lives: nothing has entered it, or it has ended"
            enters = [
                Finding(f"'{enter.name}' would enter it", enter.name)
                for enter in executor.immutable.items
                if enter.is_enter and enter.frame_name == item.frame.name
            ]
            findings.append(Finding(text, name, tuple(enters[:_MOST_PARTNERS])))
        findings += _held_back(executor.propagator.root)
    return Standstill(f"'{name}' ({found[0][1].op}):", tuple(findings))


def _items_named(executor: PartitionInStep, name: str) -> list[NodeItem]:
    position = executor.immutable.find_id(name)
    return [] if position < 0 else [executor.immutable.items[position]]


def _state_of(
    step: StepProgress, executor: PartitionInStep, item: NodeItem, iteration: IterationState
) -> Finding:
    """Return the state of one node in one iteration."""
    where = _where(iteration)
    for other, place, _ in list(executor.propagator.ready):
        if other is item and place is iteration:
            return Finding(f"is ready and comes soon{where}", item.name)
    for other, (waiting, place, _), args, _ in list(executor.run_state.waiting.values()):
        if waiting is item and place is iteration:
            return _describe(step, other, item, iteration, args, where)[0]
    status = step.status(item, iteration)
    if status == NodeStatus.DONE:
        return Finding(f"has run, or runs now{where}", item.name)
    if status == NodeStatus.DEAD:
        origin = step.origin_of_deadness(item, iteration)
        reasons: tuple[Finding, ...] = () if origin is None else (_origin_finding(origin),)
        return Finding(f"is dead{where}", item.name, reasons)
    waiting_nodes, stopped = step.blockers(item, iteration)
    reasons = tuple(
        Finding(f"'{one.name}' ({one.op}) before it has not answered", one.name)
        for one in waiting_nodes[:_MOST_PARTNERS]
    )
    if stopped is not None and stopped[0] is not item and not reasons:
        reasons = (_missing_inputs(step, *stopped),)
    missing = _missing_inputs(step, item, iteration)
    return Finding(f"waits{where}: {missing.text}", item.name, reasons)


def _origin_finding(origin: NodeItem) -> Finding:
    is_switch = node_kind(origin.op).is_switch
    did = "sent its value the other way" if is_switch else "gave no value"
    return Finding(f"'{origin.name}' ({origin.op}) {did}", origin.name)


# -- one node that waits ---------------------------------------------------------------------------


def _describe(
    step: StepProgress,
    executor: PartitionInStep,
    item: NodeItem,
    iteration: IterationState,
    args: Sequence[Any],
    where: str,
) -> tuple[Finding, bool]:
    """Return the node's finding, and whether nothing can unblock the node."""
    kernel = item.kernel
    assert kernel is not None
    node, is_final = item.name, False
    reasons: list[Finding] = []
    if item.is_transfer:
        tensor = kernel.attrs["tensor_name"].decode()
        if kernel.attrs["client_terminated"]:
            wanted = f"the feed '{tensor}' of this partial run"
            node, _ = parse_tensor_name(tensor)
        else:
            wanted = f"'{tensor}' from {kernel.attrs['send_device'].decode()}"
            source = kernel.attrs.get("_src", b"").decode()
            node = source or item.name
            if _is_from_another_task(kernel.attrs):
                reasons = [Finding("another task sends it")]
            else:
                reasons, is_final = _sender(step, item, iteration, tensor)
    else:
        wanted, reasons, is_final = _resource_text(step, executor, item, args)
    text = f"'{item.name}' ({item.op}) waits for {wanted}{where}"
    return Finding(text, node, tuple(reasons), waiter=item.name), is_final


def _in_pool(item: NodeItem, where: str, work: HandedOverKernel) -> Finding:
    verb = "runs on" if work.is_taken else "waits for"
    pool = f"a thread of pool '{work.pool_name}'"
    text = f"'{item.name}' ({item.op}) {verb} {pool}{where}"
    return Finding(text, item.name, waiter=item.name)


def _where(iteration: IterationState, call: JoinedCall | None = None) -> str:
    """Name the iteration of a node inside a loop, and the call that it belongs to."""
    places: list[object] = [] if call is None else [call]
    if iteration.frame.parent is not None:
        places.insert(0, f"iteration {iteration.number} of frame '{iteration.frame.info.name}'")
    return "".join(f", in {place}" for place in places)


def _is_from_another_task(attrs: Mapping[str, Any]) -> bool:
    source, target = (attrs[name].partition(b"/device:")[0] for name in _ENDS)
    return bool(source != target)


def _sender(
    step: StepProgress, receiver: NodeItem, iteration: IterationState, tensor: str
) -> tuple[list[Finding], bool]:
    """Explain which node would send a tensor, and why it has not sent it."""
    sender = step.sender_of(receiver)
    if sender is None:
        return [Finding("no node of this step sends it")], True
    position = step.position_of(sender, iteration)
    if position is None:
        return [
            Finding(
                f"'{sender.name}' would send it, from frame '{sender.frame.name}', which no value "
                "has entered"
            )
        ], False
    blocked_by, stopped = step.blockers(sender, position)
    if blocked_by:
        names = " and ".join(f"'{blocker.name}'" for blocker in blocked_by[:_MOST_PARTNERS])
        # The findings of the ready nodes before it tell whether they can be unblocked.
        return [Finding(f"that comes after {names}")], True
    if stopped is None or not step.missing_inputs(*stopped):
        return [Finding(f"'{sender.name}' sent it under another key")], False
    return [_missing_inputs(step, *stopped)], False


def _missing_inputs(step: StepProgress, item: NodeItem, iteration: IterationState) -> Finding:
    missing = step.missing_inputs(item, iteration)
    names = ", ".join(f"'{source.name}'" for source in missing[: _MOST_PARTNERS + 1])
    if len(missing) > _MOST_PARTNERS + 1:
        names += f" and {len(missing) - _MOST_PARTNERS - 1} more"
    count = f"{len(missing)} of its {step.num_inputs(item)} inputs"
    return Finding(f"'{item.name}' ({item.op}) never got {count}: {names}", item.name)


def _resource_text(
    step: StepProgress, executor: PartitionInStep, item: NodeItem, args: Sequence[Any]
) -> tuple[str, list[Finding], bool]:
    """Return (what the op is blocked on, nodes that could unblock it, whether none can)."""
    row = next((row for row in _PARTNERS if item.op in ops_with(row[0])), None)
    resource = _find_resource(executor, item, args)
    state_text = getattr(resource, "state_text", None)
    if row is None and callable(state_text):
        return str(state_text(resource.name)), [], False
    size = getattr(resource, "size", None)
    if row is None or resource is None or not (callable(size) or callable(state_text)):
        return "an answer from outside", [], False
    _, wanted, provides, does = row
    state = "closed, " if getattr(resource, "is_closed", False) else ""
    kept = getattr(resource, "min_after_dequeue", 0) if wanted == "elements" else 0
    keeps = f", of which {kept} stay" if kept else ""
    graph = getattr(executor.step.function_library, "session_graph", None)
    node = None if graph is None else graph.find_node(item.name)
    handles = {} if node is None else _handles(node)
    # Name a queue by the node that made it, which is the name that the user knows.
    name = next(iter(handles.values()), getattr(resource, "name", ""))
    text = f"{wanted} of "
    if callable(state_text):
        text += state_text(name)
    elif callable(size):
        text += f"queue '{name}' ({state}{size()} elements inside{keeps})"
    partners = _partners(graph, node, handles, provides) if graph and node and handles else None
    if partners is None:
        return text, [], False
    if not partners and graph is not None and node is not None:
        closing = _partners(graph, node, handles, Trait.CLOSES)
        return text, [Finding(f"no op of this session's graph {does}")], closing == []
    reasons = []
    for partner in partners[:_MOST_PARTNERS]:
        why = ""
        for other, position in step.find(partner.name):
            if step.status(other, position) == NodeStatus.UNREADY:
                blocked_by, _ = step.blockers(other, position)
                if item in blocked_by:
                    why = " after this one"
        reasons.append(Finding(f"'{partner.name}' ({partner.op}) {does}{why}", partner.name))
    if len(partners) > _MOST_PARTNERS:
        reasons.append(Finding(f"so do {len(partners) - _MOST_PARTNERS} more"))
    return text, reasons, False


def _find_resource(executor: PartitionInStep, item: NodeItem, args: Sequence[Any]) -> Any:
    manager = executor.immutable.device.resource_manager
    for handle in args:
        if isinstance(handle, ResourceHandle):
            found = manager.find(handle.container, handle.type_name, handle.name)
        elif isinstance(handle, RefCell) and getattr(handle.value, "shape", None) == (2,):
            container, name = (part.decode() for part in handle.value.tolist())
            kinds = ("Queue", "Accumulator", "Barrier")
            each = (manager.find(container, kind, name) for kind in kinds)
            found = next((one for one in each if one is not None), None)
        else:
            continue
        if any(callable(getattr(found, name, None)) for name in ("size", "state_text")):
            return found
    return None


def _partners(
    graph: Graph, waiting: Node, handles: dict[Any, str], trait: Trait
) -> list[Node] | None:
    """Return the ops of a session's graph on the same resource; None if that is not known."""
    found = [
        node
        for node in graph.op_nodes()
        if node.op in ops_with(trait)
        and node is not waiting
        and not handles.keys().isdisjoint(_handles(node))
    ]
    return None if not found and _is_in_function(graph, trait) else found


def _is_in_function(graph: Graph, trait: Trait) -> bool:
    """Return whether a function of the library has such an op, on a resource of its caller."""
    definitions = [] if graph.library is None else map(graph.library.find, graph.library.names())
    return any(
        has_trait(node_def.op, trait)
        for definition in definitions
        if definition is not None
        for node_def in definition.function_def.node_def
    )


def _handles(node: Node) -> dict[tuple[str, str, str], str]:
    """Return the resources of a node's inputs, (op, container, name), with their nodes."""
    found = {}
    for edge in itertools.islice(node.in_edges, 8):
        source: Node = edge.src
        for _ in range(64):
            passes_on = source.is_identity or source.is_enter or source.is_switch
            if edge.is_control or not passes_on:
                break
            source = source.input_node(0)
        attrs = source.attrs
        if edge.is_control or "shared_name" not in attrs or "container" not in attrs:
            continue
        name = attrs["shared_name"].decode() or source.name
        found[(source.op, attrs["container"].decode(), name)] = source.name
    return found


# -- loops -----------------------------------------------------------------------------------------


def _held_back(root: FrameState) -> list[Finding]:
    """Report loops that may not begin an iteration before an older one ends."""
    return [
        Finding(
            f"frame '{frame.info.name}' holds back iteration {frame.iteration_count + 1}: "
            f"{frame.num_outstanding_iterations} iterations are in flight "
            f"(parallel_iterations={frame.max_parallel_iterations})"
        )
        for frame in frames_below(root)
        if frame.next_iteration_roots
    ]


# -- results that are missing ----------------------------------------------------------------------


def absent_value(executors: Sequence[PartitionInStep], position: int, name: str) -> errors.OpError:
    """Return the error of a step that ended without a value for one of its results.

    Args:
      executors: the partitions, as the step left them.
      position: the position of the result in the call frame.
      name: the name of the result.
    """
    is_dead, finding = True, None
    try:
        is_dead, finding = _reason_of_absence(StepProgress(executors), position)
    except Exception:
        log.debug("No account of a value that is missing.", exc_info=True)
    return _absent(position, name, is_dead, finding)


def dead_value(position: int, name: str, finding: Finding | None) -> errors.OpError:
    """Return the error of a step that has a dead result, and why it is dead."""
    return _absent(position, name, True, finding)


def _absent(position: int, name: str, is_dead: bool, finding: Finding | None) -> errors.OpError:
    what = "is dead in this step" if is_dead else "never became ready in this step"
    heading = f"Retval[{position}] does not have value: {name} {what}"
    if finding is None:
        return errors.invalid_argument(f"{heading}.")
    found = Standstill(f"{heading}:", (finding,))
    error = errors.invalid_argument(found.render(), errors.Mistake.NO_VALUE)
    error.standstill, error.lead = found, ""
    return error


def _reason_of_absence(step: StepProgress, position: int) -> tuple[bool, Finding | None]:
    """Return whether a result is dead (else it was never computed), and the node responsible."""
    place = step.result(position)
    if place is None:
        return True, None
    if step.status(*place) == NodeStatus.UNREADY:
        _, stopped = step.blockers(*place)
        return False, None if stopped is None else _missing_inputs(step, *stopped)
    origin = step.origin_of_deadness(*place)
    if origin is None:
        return True, None
    return True, _origin_finding(origin)
