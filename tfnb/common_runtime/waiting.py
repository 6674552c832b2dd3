"""Who waits in a step, and for what: the answer when a step stands still."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core.resource_mgr import RefCell, ResourceHandle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.common_runtime.executor import ExecutorState
    from tfnb.common_runtime.immutable_executor_state import NodeItem
    from tfnb.common_runtime.kernel_stats import PooledKernel
    from tfnb.common_runtime.propagator_state import FrameState, IterationState
    from tfnb.common_runtime.run_state import RunState

_MOST_LINES = 6


def explain_waiting(run_state: RunState) -> str:
    """One line for each node that waits, then for each loop that holds an iteration back.

    Empty where nothing waits: the step is busy, not stuck.
    """
    rows = list(run_state.waiting.values())
    if not rows:
        return ""
    lines = [
        _in_pool(tagged[0], tagged[1], work)
        if work is not None
        else _describe(executor, tagged[0], tagged[1], args)
        for executor, tagged, args, work in rows
    ]
    for executor in dict.fromkeys(row[0] for row in rows):
        lines += _held_back(executor.propagator.root)
    if len(lines) > _MOST_LINES:
        more = len(lines) - _MOST_LINES + 1
        lines = [*lines[: _MOST_LINES - 1], f"... and {more} more"]
    runs = any(work is not None and work.is_taken for *_, work in rows)
    header = "Not done yet:" if runs else "Nothing can run:"
    return f"{header}\n" + "\n".join(f"  {line}" for line in lines)


def _describe(
    executor: ExecutorState, item: NodeItem, iteration: IterationState, args: Sequence[Any]
) -> str:
    return f"'{item.name}' ({item.op}) waits for {_cause(executor, item, args)}{_where(iteration)}"


def _in_pool(item: NodeItem, iteration: IterationState, work: PooledKernel) -> str:
    verb = "runs on" if work.is_taken else "waits for"
    return (
        f"'{item.name}' ({item.op}) {verb} a thread of pool '{work.pool_name}'{_where(iteration)}"
    )


def _where(iteration: IterationState) -> str:
    if iteration.frame.parent is None:
        return ""
    return f", in iteration {iteration.number} of frame '{iteration.frame.info.name}'"


def _cause(executor: ExecutorState, item: NodeItem, args: Sequence[Any]) -> str:
    kernel = item.kernel
    assert kernel is not None
    if item.is_transfer:
        tensor = kernel.attrs["tensor_name"].decode()
        if kernel.attrs["client_terminated"]:
            return f"the feed '{tensor}' of this partial run"
        return f"'{tensor}' from {kernel.attrs['send_device'].decode()}"
    resource = _resource(executor, args[0]) if args else None
    size = getattr(resource, "size", None)
    if resource is None or not callable(size):
        return "an answer from outside"
    wanted = "room" if "Enqueue" in item.op else "elements"
    state = "closed, " if getattr(resource, "is_closed", False) else ""
    return f"{wanted} of queue '{getattr(resource, 'name', '')}' ({state}{size()} elements inside)"


def _resource(executor: ExecutorState, handle: Any) -> Any:
    manager = executor.immutable.device.resource_manager
    if isinstance(handle, ResourceHandle):
        return manager.find(handle.container, handle.type_name, handle.name)
    if isinstance(handle, RefCell) and handle.value is not None:
        container, name = (part.decode() for part in handle.value.tolist())
        return manager.find(container, "Queue", name)
    return None


def _held_back(frame: FrameState) -> list[str]:
    """Loops that may not begin an iteration before an older one ends."""
    lines = []
    if frame.next_iteration_roots:
        lines.append(
            f"frame '{frame.info.name}' holds back iteration {frame.iteration_count + 1}: "
            f"{frame.num_outstanding_iterations} iterations are in flight "
            f"(parallel_iterations={frame.max_parallel_iterations})"
        )
    for child in frame.children.values():
        lines += _held_back(child)
    return lines
