"""Finds the tensors that a step held when memory ran out, from the error's traceback.

Steps record nothing for this: the values are still in the local variables of the emitted function,
or in the slots of the reference executor, and the traceback holds these frames.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.executor.executor import ExecutorState, drive, run_schedule
from tfnb.common_runtime.executor.immutable_executor_state import ARG, RETVAL
from tfnb.common_runtime.executor.running_nodes import emitted_source
from tfnb.common_runtime.executor.step_progress import frames_below
from tfnb.common_runtime.looking.allocation_tracker import human_readable_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

MOST_LISTED = 5
"""Maximum number of tensors that an error names."""

_ASSIGNED = re.compile(r"\s*((?:v\d+,? ?)+)=")
_RESULT = re.compile(r"retvals\[(\d+)\] = (v\d+)")

# (the node that made a value, or None if no node of the step did; the value)
type_of_held = tuple[Any, Any]


def largest_live(error: BaseException) -> str:
    """Describe the largest tensors made and still held by a step; "" if there are none."""
    found: dict[int, tuple[int, str]] = {}
    given: set[int] = set()  # not made by the step's ops, or constants
    for item, value in _held(error):
        base = getattr(value, "base", None)
        while base is not None and isinstance(base, type(value)):
            value, base = base, base.base
        if item is None or item.op == "Const":
            given.add(id(value))
        elif item.action != ARG and getattr(value, "shape", None) and hasattr(value, "nbytes"):
            form = f"{value.dtype}[{','.join(map(str, value.shape))}]"
            found.setdefault(id(value), (value.nbytes, f"'{item.name}' ({form})"))
    rows = sorted((row for key, row in found.items() if key not in given), reverse=True)
    told = [f"{human_readable_bytes(size)} of {what}" for size, what in rows[:MOST_LISTED]]
    rest = sum(size for size, _ in rows[MOST_LISTED:])
    if rest:
        told.append(f"{human_readable_bytes(rest)} of {len(rows) - MOST_LISTED:,} more")
    return ", ".join(told)


def _held(error: BaseException | None) -> Iterator[type_of_held]:
    seen: set[int] = set()
    while error is not None:
        traceback = error.__traceback__
        while traceback is not None:
            yield from _in_frame(traceback.tb_frame, traceback.tb_lineno, seen)
            traceback = traceback.tb_next
        error = error.__cause__


def _in_frame(frame: FrameType, line: int, seen: set[int]) -> Iterator[type_of_held]:
    code = frame.f_code
    executors: Sequence[ExecutorState] = ()
    if code is run_schedule.__code__:
        values = frame.f_locals
        yield from _in_slots(values["immutable"], values["slots"], values["run_state"])
        yield from _in_args(values["immutable"], values)
    elif code is drive.__code__:
        executors = frame.f_locals["executors"]
    elif code is ExecutorState.process.__code__:
        values = frame.f_locals
        executors = (values["self"],)
        yield from _in_args(values["self"].immutable, values)
    else:
        emitted = emitted_source(code.co_filename)
        if emitted is not None:
            yield from _in_emitted(emitted, line, frame.f_locals)
    for executor in executors:
        if id(executor) in seen:
            continue
        seen.add(id(executor))
        for place in frames_below(executor.propagator.root):
            for iteration in place.iterations.values():
                yield from _in_slots(
                    executor.immutable, iteration.inputs, executor.run_state, place.info
                )


def _in_slots(
    immutable: Any,
    slots: Sequence[Any],
    run_state: Any,
    frame: Any = None,
) -> Iterator[type_of_held]:
    """Yield the arguments, the slot values (of ``frame``, if given) and the results so far."""
    call_frame = run_state.call_frame
    if call_frame is not None and not run_state.depth:
        for value in call_frame.args:
            yield None, value
    for item in immutable.items:
        for _, dst, slot in item.data_edges:
            if frame is None or dst.frame is frame:
                yield item, slots[slot]
                if dst.action == RETVAL and call_frame is not None:
                    yield item, call_frame.retvals[dst.argument_index]


def _in_args(immutable: Any, values: dict[str, Any]) -> Iterator[type_of_held]:
    """Yield the inputs of the node that failed, which were removed from their slots."""
    failed, args = values.get("item"), values.get("args")
    if failed is not None and args is not None:
        for item in immutable.items:
            for _, dst, slot in item.data_edges:
                place = slot - dst.input_start
                if dst is failed and place < len(args):
                    yield item, args[place]


def _in_emitted(emitted: Any, line: int, values: dict[str, Any]) -> Iterator[type_of_held]:
    state = values.get("run_state")
    for value in () if state is None or state.depth else values["args"]:
        yield None, value
    makers = {}
    for number, text in enumerate(emitted.source.splitlines()[: line - 1], 1):
        assigned, item = _ASSIGNED.match(text), emitted.node_at(number)
        result = _RESULT.search(text)
        if assigned is not None and item is not None:
            makers.update(dict.fromkeys(assigned[1].replace(",", " ").split(), item))
        elif result is not None and result[2] in makers:
            yield makers[result[2]], values["retvals"][int(result[1])]
    for name, item in makers.items():
        if name in values:
            yield item, values[name]
