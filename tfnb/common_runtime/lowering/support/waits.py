"""Asynchronous kernels in an emitted function: queues, and calls of functions in which one waits.

The function calls such a kernel when nothing else can run, and continues when the kernel has
answered.  Most answer at once.  A step that has to wait does so in ``wait_for_answer``, as in the
reference executor: there it reacts to time-outs, interrupts and ``close``, and can report what it
waits for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.executor.executor import (
    ExecutorState,
    as_outputs,
    end_step,
    pump,
    wait_for_answer,
)
from tfnb.common_runtime.executor.kernel_errors import annotate, check_outputs
from tfnb.common_runtime.executor.waiting import explained
from tfnb.core.op_kernel import OpKernelContext

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.common_runtime.executor.immutable_executor_state import (
        ImmutableExecutorState,
        NodeItem,
    )
    from tfnb.common_runtime.executor.run_state import RunState
    from tfnb.core.op_kernel import StepContext


class _Answer:
    """Takes the answer of a kernel in place of an executor."""

    __slots__ = ("is_there", "outputs", "run_state")

    def __init__(self, run_state: RunState) -> None:
        self.run_state = run_state
        self.is_there = False
        self.outputs: Any = None

    def finish_async(self, tagged: Any, outputs: Any) -> None:
        """Store the outputs of the kernel, which has answered."""
        self.outputs, self.is_there = outputs, True


def waiter(immutable: ImmutableExecutorState, item: NodeItem) -> Callable[..., Sequence[Any]]:
    """Return a function ``wait(step, run_state, *args)`` that returns the outputs of a node."""
    kernel, compute = item.kernel, item.compute
    assert kernel is not None
    assert compute is not None
    device: Any = kernel.device

    def wait(step: StepContext, run_state: RunState, *args: Any) -> Sequence[Any]:
        answer, tagged = _Answer(run_state), (item, None, False)

        def done(outputs: Any) -> None:
            run_state.inbox.append((answer, tagged, outputs))
            run_state.wake.set()

        try:
            run_state.waiting[id(tagged)] = (answer, tagged, args, None)
            try:
                compute(OpKernelContext(step, device, kernel), done, *args)
            except BaseException as error:
                run_state.waiting.pop(id(tagged), None)  # it will not answer
                found = annotate(error, item.name, item.op, device.name, args)
                if found is error:
                    raise
                raise found from found.__cause__
            pump(run_state, ())
            if not answer.is_there:
                # Observers that explain what the step waits for need an executor.
                state = ExecutorState(immutable, run_state, step, 0)
                place = item, state.propagator.root.iterations[0], False
                run_state.waiting[id(tagged)] = (state, place, args, None)
                run_state.executors = (state,)
            while not answer.is_there:
                wait_for_answer(run_state)
                pump(run_state, ())
            outputs = answer.outputs
            if isinstance(outputs, BaseException):
                raise annotate(outputs, item.name, item.op, device.name, ())
            outputs = as_outputs(item, outputs)
            if not immutable.warm_up.is_checked:
                check_outputs(0, item, outputs)
            return outputs  # type: ignore[no-any-return]
        except BaseException as error:
            found = error
            try:
                found = explained(run_state, error)
            finally:
                if error is run_state.stop:
                    run_state.stop = found
                end_step(run_state, found)
            if found is not error:
                raise found from error.__cause__
            raise
        finally:
            run_state.executors = ()

    return wait
