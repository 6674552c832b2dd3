"""Limits on the resources of one step, for graphs from other authors.

The limits are enforced by a session observer that exists only while limits are set, so other
sessions pay nothing. It counts iterations and calls, sets a deadline, and checks the size of
tensors: before allocation for ops that take a size (Fill, Tile, Range), for other ops when the
tensors are made. Exceeding a limit ends the step between two nodes; the session stays usable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.executor.deadlines import DEADLINES
from tfnb.common_runtime.executor.kernel_errors import check_outputs
from tfnb.common_runtime.executor.run_state import RunState, ToldOutputs
from tfnb.core import errors, host_memory
from tfnb.core.process import work_limit
from tfnb.core.step_events import StepObserver

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.common_runtime.executor.deadlines import Deadline
    from tfnb.common_runtime.executor.immutable_executor_state import NodeItem
    from tfnb.core.effects import StepLimits


class LimitObserver(StepObserver):
    """Applies the limits of one session to its steps.

    State: ``_steps`` maps the id of a step, or of a call in it, to the step's record; only the
    thread that drives the step accesses its entries.
    """

    def __init__(self, active_steps: Callable[[], Sequence[RunState]], limits: StepLimits) -> None:
        self._active_steps = active_steps
        self._limits = limits
        self._steps: dict[int, _LimitedStep] = {}

    def step_started(self, step_id: int, signature_id: int, t_ns: int) -> None:
        """Set the deadline, the work counter and the size limit."""
        limits = self._limits
        run_state = next((one for one in self._active_steps() if one.step_id == step_id), None)
        if run_state is None:
            return
        step = self._steps[step_id] = _LimitedStep(run_state)
        if limits.max_seconds is not None:
            step.deadline = DEADLINES.set(run_state, max(1, round(limits.max_seconds * 1000)))
        if limits.max_iterations is not None:
            step.count_before = work_limit.count_in_thread(lambda: self._count(step))
        if limits.max_tensor_bytes is not None:
            step.limit_before = host_memory.limit_thread(limits.max_tensor_bytes)
            record = run_state.record_outputs
            if record is None:
                run_state.record_outputs = self._check_sizes
            elif isinstance(record, ToldOutputs) and record.then is None:
                record.then = self._check_sizes

    def step_done(self, step_id: int, t_ns: int, error: str | None) -> None:
        """Remove the step and restore the thread's limits."""
        step = self._steps.pop(step_id, None)
        if step is None:
            return
        if step.deadline is not None:
            DEADLINES.call_off(step.deadline)
        if self._limits.max_tensor_bytes is not None:
            host_memory.limit_thread(step.limit_before)
        if self._limits.max_iterations is not None:
            work_limit.count_in_thread(step.count_before)

    def call_started(
        self,
        call_id: int,
        signature_id: int,
        step_id: int,
        partition: int,
        node_id: int,
        t_ns: int,
    ) -> None:
        """Count a call as an iteration: a loop may be made of calls."""
        step = self._steps.get(step_id)
        if step is not None:
            self._steps[call_id] = step
            self._count(step)

    def call_done(self, call_id: int, t_ns: int) -> None:
        """Remove the call."""
        self._steps.pop(call_id, None)

    def iteration_started(
        self, step_id: int, partition: int, frame_id: int, iteration: int, t_ns: int
    ) -> None:
        """Count an iteration."""
        step = self._steps.get(step_id)
        if step is not None and iteration:
            self._count(step)

    def _count(self, step: _LimitedStep) -> None:
        step.num_iterations += 1
        wanted = self._limits.max_iterations
        if wanted is not None and step.num_iterations > wanted:
            step.run_state.end(
                errors.resource_exhausted(
                    f"The step took more than {wanted:,} iterations and calls of functions, "
                    "elements that datasets go through among them, the limit that "
                    "tfnb.safety.limits(max_iterations=...) set for its graph."
                )
            )

    def _check_sizes(self, partition: int, item: NodeItem, outputs: Sequence[Any]) -> None:
        check_outputs(partition, item, outputs)
        wanted = self._limits.max_tensor_bytes
        for value in outputs:
            num_bytes = _num_bytes(value)
            if wanted is not None and num_bytes > wanted:
                raise errors.out_of_memory(
                    f"OOM when allocating a tensor: it has {num_bytes:,} bytes, "
                    f"tfnb.safety.limits(max_tensor_bytes=...) allows {wanted:,}."
                )


def _num_bytes(value: Any) -> int:
    """Return the size of a tensor; a string counts as in TensorFlow, 24 bytes plus the text."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        texts = value.reshape(-1).tolist()
        return 24 * len(texts) + sum(len(one) for one in texts if isinstance(one, bytes))
    return len(value) + 24 if isinstance(value, bytes) else getattr(value, "nbytes", 0)


class _LimitedStep:
    """One step in flight."""

    __slots__ = ("count_before", "deadline", "limit_before", "num_iterations", "run_state")

    def __init__(self, run_state: RunState) -> None:
        self.run_state = run_state
        self.deadline: Deadline | None = None
        self.limit_before: int | None = None
        self.count_before: Callable[[], None] | None = None
        self.num_iterations = 0
