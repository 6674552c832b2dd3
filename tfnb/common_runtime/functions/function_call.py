"""A running function call: either immediate, or joined to the step of its caller.

A body in which nothing can wait runs at once, inside the kernel of the calling node
(:func:`call_now`).  The call of any other body *joins* the step: its executors answer into the
caller's inbox and the thread that drives the caller's step drives them too, so that a waiting body
does not block the step.

State of a :class:`PendingCall`: ``executors`` and ``run_state`` of the call; ``done`` receives its
results.  The call is over when no executor has a node to run and none of its kernels is pending.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.executor.executors_and_keys import new_signature_id
from tfnb.common_runtime.executor.kernel_stats import PoolChoice
from tfnb.common_runtime.executor.run_state import CallFrame, RunState, ToldOutputs, new_step_id
from tfnb.common_runtime.executor.running_nodes import calls_function
from tfnb.common_runtime.lowering.run.step_way import choose_way
from tfnb.core import errors
from tfnb.core.op_kernel import StepContext
from tfnb.core.process.later import later
from tfnb.core.process.records import field, record

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from tfnb.common_runtime.device.thread_pool import ThreadPool
    from tfnb.common_runtime.executor import debugged_executor, waiting
    from tfnb.common_runtime.executor.executor import ExecutorState
    from tfnb.common_runtime.executor.immutable_executor_state import (
        ExecutorItem,
        ImmutableExecutorState,
    )
    from tfnb.common_runtime.executor.run_state import JoinedCall, Named
    from tfnb.common_runtime.optimizer.optimization_registry import PassReport
    from tfnb.core.op_kernel import FunctionCall, OpKernel, OpKernelContext, type_of_done
else:
    debugged_executor = later("tfnb.common_runtime.executor.debugged_executor", in_step=True)
    waiting = later("tfnb.common_runtime.executor.waiting", in_step=True)

MAX_DEPTH = 64
"""Limit of nested function calls; a deeper call is treated as an endless recursion."""


@record(slots=True)
class InstantiatedFunction:
    """A function ready to be called.

    Attributes:
      items: its partitions.
      is_immediate: whether it runs on one device and no node in it can block.
      shares_rendezvous: whether it uses the caller's rendezvous: a body with its own Send and Recv
        needs keys that no other call has.
      reports: the reports of the passes over it.
      stateful_kernels: its kernels that may own a resource.
      signature_id: its id for observers.
    """

    name: str
    items: list[ExecutorItem]
    num_args: int
    num_retvals: int
    is_immediate: bool
    shares_rendezvous: bool
    reports: list[PassReport] = field(default_factory=list)
    stateful_kernels: list[OpKernel] = field(default_factory=list)
    signature_id: int = field(default_factory=new_signature_id)
    _states: tuple[ImmutableExecutorState, ...] = ()
    _pool_choice: PoolChoice | None = None

    def __post_init__(self) -> None:
        self._states = tuple(item.executor for item in self.items)

    def release(self) -> None:
        """Delete the resources that only its kernels can name."""
        for kernel in self.stateful_kernels:
            kernel.release()

    def states(self, pool: ThreadPool | None) -> Sequence[ImmutableExecutorState]:
        """Return the executor state of each partition, for a thread pool or for one thread."""
        if pool is None:
            return self._states
        if self._pool_choice is None:
            self._pool_choice = PoolChoice(self._states)
        return self._pool_choice.choose()


class PendingCall:
    """A call that has joined its caller's step."""

    __slots__ = ("_done", "_is_over", "caller", "ctx", "executors", "function", "run_state")

    def __init__(
        self,
        function: InstantiatedFunction,
        ctx: OpKernelContext,
        args: Sequence[Any],
        done: type_of_done,
    ) -> None:
        """Begin the call; ``done`` receives the results, in the thread that drives the step.

        Raises:
          InvalidArgumentError: the number of arguments is wrong, or calls are nested too deeply.
        """
        caller = _caller(function, ctx, args)
        self.function = function
        self.ctx = ctx
        self.caller = caller
        self._done = done
        self._is_over = False
        # A tensor sent outside may be for the body, unless the body has its own sends and receives.
        shared = caller.rendezvous if function.shares_rendezvous else None
        frame = CallFrame(args, function.num_retvals)
        self.run_state = caller.nested(frame, self, shared)
        step = _begin(function, ctx, self.run_state, frame)
        self.executors = debugged_executor.make_executors(
            function.states(caller.pool), self.run_state, step, function.name
        )
        self.run_state.executors = self.executors
        caller.inbox.extend((executor, None, None) for executor in self.executors)

    def __repr__(self) -> str:
        return f"function '{self.function.name}' called by '{self.ctx.node_name}'"

    def finish_async(self, executor: ExecutorState, tagged: Any, outputs: Any) -> None:
        """Continue after an asynchronous kernel of the body has answered.

        Raises:
          OpError: the kernel failed.
        """
        try:
            executor.finish_async(tagged, outputs)
        except Exception as error:
            self._explain(error)
            raise

    def go_on(self, executor: ExecutorState) -> None:
        """Run the nodes of an executor that are ready; end the call if none are left.

        Raises:
          OpError: a kernel failed.
        """
        try:
            if executor.ready:
                executor.process()
        except Exception as error:
            self._explain(error)
            raise
        if self._is_over or self.run_state.num_waiting:
            return
        if any(other.ready for other in self.executors):
            return
        self._is_over = True
        frame = self.run_state.call_frame
        assert frame is not None
        _end(self.function, self.ctx, self.run_state)
        for executor in self.executors:
            executor.immutable.warm_up.is_checked |= self.run_state.record_outputs is None
        self._done(_absent_result(self.function, frame, self.executors) or frame.retvals)

    def _explain(self, error: BaseException) -> None:
        call: JoinedCall | None = self
        while call is not None:
            add_call_note(error, call.function, call.ctx)
            call = call.caller.call


def add_call_note(error: BaseException, function: Named, ctx: OpKernelContext) -> None:
    """Add to an error the function in which it happened and the calling node."""
    error.add_note(f"in function '{function.name}', called by node '{ctx.node_name}'")


@calls_function(run_state="run_state", function="function")
def call_now(
    function: InstantiatedFunction, ctx: OpKernelContext, args: Sequence[Any]
) -> list[Any]:
    """Run a function to its end and return its results.

    If something in it waits, the calling thread waits too, and the rest of the step stands still.

    Raises:
      InvalidArgumentError: the number of arguments is wrong, a result is dead, or calls are nested
        too deeply.
      OpError: the body failed.
    """
    caller = _caller(function, ctx, args)
    frame = CallFrame(args, function.num_retvals)
    run_state = caller.nested(frame)
    step = _begin(function, ctx, run_state, frame)
    try:
        way = choose_way(function.states(run_state.pool), run_state, function_name=function.name)
        absence = way.run(run_state, step)
    except Exception as error:
        add_call_note(error, function, ctx)
        raise
    finally:
        _end(function, ctx, run_state)
    if absence is not None:
        position = next(i for i, value in enumerate(frame.retvals) if value is None)
        raise absence(position, _result_name(function, position))
    return frame.retvals


def _caller(function: InstantiatedFunction, ctx: OpKernelContext, args: Sequence[Any]) -> RunState:
    if len(args) != function.num_args:
        raise errors.invalid_argument(
            f"Function '{function.name}' takes {function.num_args} arguments, not {len(args)}."
        )
    caller: RunState = ctx.step.run_state  # type: ignore[assignment]
    if caller.depth >= MAX_DEPTH:
        raise errors.invalid_argument(
            f"Function '{function.name}' was called {MAX_DEPTH} calls deep; recursive functions "
            "are not supported beyond that."
        )
    return caller


def _begin(
    function: InstantiatedFunction, ctx: OpKernelContext, run_state: RunState, frame: CallFrame
) -> StepContext:
    step = ctx.step
    hooks = run_state.hooks
    if hooks.call_started is not None:
        caller: RunState = step.run_state  # type: ignore[assignment]
        run_state.step_id, run_state.items = new_step_id(), function.items
        recorder = run_state.record_outputs
        if recorder is not None:
            from tfnb.common_runtime.looking.step_stats_collector import OutputRecorder

            if isinstance(recorder, OutputRecorder):
                devices = [item.executor.device.name for item in function.items]
                run_state.record_outputs = recorder.inside(run_state.step_id, devices)
        if hooks.tensors_made is not None:
            run_state.record_outputs = ToldOutputs(
                hooks.tensors_made, run_state.step_id, run_state.record_outputs
            )
        hooks.call_started(
            run_state.step_id,
            function.signature_id,
            caller.step_id,
            *_position(caller, ctx),
            perf_counter_ns(),
        )
    return StepContext(
        step.step_id,
        run_state,
        step.function_library,
        step.session_state,
        step.session_handle,
        frame,
        step.run_options,
        step.session_metadata,
        step.emit,
    )


def _position(caller: RunState, ctx: OpKernelContext) -> tuple[int, int]:
    """Return the partition and the number of the calling node; -1 if unknown."""
    for partition, item in enumerate(caller.items):
        if item.executor.device is ctx.device:
            return partition, item.executor.find_id(ctx.node_name)
    return -1, -1


def _end(function: InstantiatedFunction, ctx: OpKernelContext, run_state: RunState) -> None:
    caller: RunState = ctx.step.run_state  # type: ignore[assignment]
    caller.leave(run_state)
    if run_state.hooks.call_done is not None:
        run_state.hooks.call_done(run_state.step_id, perf_counter_ns())


def _absent_result(
    function: InstantiatedFunction, frame: CallFrame, executors: Sequence[ExecutorState]
) -> errors.OpError | None:
    for position, value in enumerate(frame.retvals):
        if value is None:
            return waiting.absent_value(executors, position, _result_name(function, position))
    return None


def _result_name(function: InstantiatedFunction, position: int) -> str:
    return f"result {position} of function '{function.name}'"


def converse_now(
    ctx: OpKernelContext,
    calls: Generator[FunctionCall, list[Any], Any],
    find: Callable[[OpKernelContext, FunctionCall], InstantiatedFunction],
) -> Any:
    """Make the calls that a kernel yields, one after the other, at once; return its outputs.

    The error of a failed call is raised inside the kernel.
    """
    try:
        call = next(calls)
        while True:
            try:
                results = call_now(find(ctx, call), ctx, call.args)
            except Exception as error:
                call = calls.throw(error)
            else:
                call = calls.send(results)
    except StopIteration as end:
        return end.value
    finally:
        calls.close()  # after an interrupt, free the generator's objects


class Conversation:
    """The calls of a kernel that yields them, if one may wait; ``done`` receives the outputs."""

    __slots__ = ("_calls", "_ctx", "_done", "_find")

    def __init__(
        self,
        ctx: OpKernelContext,
        calls: Generator[FunctionCall, list[Any], Any],
        find: Callable[[OpKernelContext, FunctionCall], InstantiatedFunction],
        done: type_of_done,
    ) -> None:
        self._ctx = ctx
        self._calls = calls
        self._find = find
        self._done = done

    def go_on(self, results: Any = None) -> None:
        """Send the kernel the results of the last call, if there was one; make the next call."""
        ctx, calls = self._ctx, self._calls
        try:
            while True:
                if isinstance(results, Exception):
                    call = calls.throw(results)
                elif isinstance(results, BaseException):
                    raise results
                else:
                    call = calls.send(results)
                function = self._find(ctx, call)
                if not function.is_immediate:
                    PendingCall(function, ctx, call.args, self.go_on)
                    return
                try:
                    results = call_now(function, ctx, call.args)
                except Exception as error:
                    results = error
        except StopIteration as end:
            self._done(end.value)
        except Exception as error:
            self._done(error)
