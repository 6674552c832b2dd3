"""The executor: takes a ready node, runs its kernel, propagates the outputs.

This is the reference: it defines the meaning of a step.  ``ExecutorState.process`` is the
tagged-token loop of TensorFlow's ``executor.cc`` (prepare inputs, compute, propagate outputs, node
done) in one body, because a method call per phase costs more than most kernels.  ``run_schedule``
is the same for a partition without control flow and asynchronous kernels: there is nothing to
count, so its nodes run in a fixed order.

The thread that called ``run`` drives the step. It runs each partition until nothing is ready, then
takes the answers of asynchronous kernels from the inbox, and sleeps only when every partition
waits. Therefore a blocked dequeue holds no thread, partitions cannot deadlock on each other, and an
interrupt arrives between two nodes. If the session declares a pool of threads, expensive kernels
run there (``kernel_stats.py``) and answer through the same inbox; only the driving thread touches
frames.
"""

from __future__ import annotations

from collections import deque
from time import monotonic, perf_counter_ns
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.executor.deadlines import DEADLINES
from tfnb.common_runtime.executor.immutable_executor_state import (
    ARG,
    ASYNC,
    CONTEXT,
    INTO_CHILD,
    INTO_PARENT,
    LARGE_BYTES,
    MERGE,
    NOTHING,
    PASS,
    POOL,
    PURE,
    PURE_ONE,
    READ_IF_CELL,
    READ_LATER,
    RETVAL,
    SAME_ITERATION,
    ImmutableExecutorState,
    NodeItem,
)
from tfnb.common_runtime.executor.kernel_errors import annotate, check_outputs, missing_output
from tfnb.common_runtime.executor.running_nodes import runs_nodes, waits_for_others
from tfnb.core import errors
from tfnb.core.op_kernel import OpKernelContext, StepContext
from tfnb.core.process import threads
from tfnb.core.process.later import later
from tfnb.core.resource_mgr import RefCell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.common_runtime.executor import kernel_stats, propagator_state, waiting
    from tfnb.common_runtime.executor.propagator_state import IterationState, type_of_tagged_node
    from tfnb.common_runtime.executor.run_state import RunState
    from tfnb.core.dtypes import DType
else:
    kernel_stats = later("tfnb.common_runtime.executor.kernel_stats", in_step=True)
    propagator_state = later("tfnb.common_runtime.executor.propagator_state", in_step=True)
    waiting = later("tfnb.common_runtime.executor.waiting", in_step=True)

_POSITIONS = [np.int32(position) for position in range(64)]
# Longest sleep of the driving thread between two checks for an interrupt, in seconds.
_NAP_S = 0.05
# Number of naps after which a step that nothing can unblock is logged as a warning.
NAPS_UNTIL_WARNING = 200
# Upper bound on loop rounds for which deferred variable writers wait; then they run, because the
# loop itself may wait for one of them.
_MOST_ROUNDS = 10_000
# Longest wait of an interrupted step for the answers of its kernels, in seconds.
_GRACE_S = 0.1


class ExecutorState:
    """One partition during one step; only the thread that drives the step accesses it.

    Attributes:
      immutable: the partition's tables.
      run_state: the step.
      step: the context that its kernels share.
      partition: its number among the partitions of the signature.
      ready: nodes whose inputs are all present, first in, first out.
      put_off: ready writers of a variable that other nodes read, deferred while others are ready.
      rounds: number of transfers between iterations or frames while ``put_off`` is not empty.
      propagator: frames and iterations; puts nodes into ``ready``.
    """

    __slots__ = (
        "immutable", "partition", "propagator", "put_off", "ready", "rounds", "run_state", "step",
    )  # fmt: skip

    def __init__(
        self,
        immutable: ImmutableExecutorState,
        run_state: RunState,
        step: StepContext,
        partition: int,
    ) -> None:
        self.immutable = immutable
        self.run_state = run_state
        self.step = step
        self.partition = partition
        self.ready: deque[type_of_tagged_node] = deque()
        self.put_off: deque[type_of_tagged_node] = deque()
        self.rounds = 0
        self.propagator = propagator_state.PropagatorState(
            immutable.frames, self.ready, run_state.hooks, run_state.step_id, partition
        )
        root = self.propagator.root.iterations[0]
        for item in immutable.roots:
            self.ready.append((item, root, False))
        root.outstanding_ops = len(immutable.roots)

    @runs_nodes(executor="self", item="item", iteration="iteration")
    def process(self) -> None:
        """Run ready nodes until there is none.

        One node per round: its inputs leave their slots, its kernel runs, and its outputs go to its
        consumers, some of which become ready.  The outputs of asynchronous kernels arrive later,
        through :meth:`finish_async`.

        Raises:
          OpError: a kernel failed, or the step was cancelled.
        """
        run_state, ready = self.run_state, self.ready
        device, propagator = self.immutable.device, self.propagator
        hooks, partition, step_id = run_state.hooks, self.partition, run_state.step_id
        node_started, node_done = hooks.node_started, hooks.node_done
        record_outputs = self._output_recorder()
        activate = propagator.activate
        outputs: Any
        while ready or self._take_put_off():
            if run_state.stop is not None:
                run_state.heed_stop()
            tagged = ready.popleft()
            item, iteration, is_dead = tagged
            if item.waits_for_others and ready and self.rounds < _MOST_ROUNDS:
                self.put_off.append(tagged)
                continue
            if node_started is not None:
                node_started(
                    step_id,
                    partition,
                    item.id,
                    iteration.frame.id,
                    iteration.number,
                    perf_counter_ns(),
                )
            # --- dead: the kernel does not run and its consumers are dead; only transfers run, to
            # send the deadness on
            if is_dead and not item.is_transfer:
                outputs = ()
            else:
                # --- prepare inputs
                slots, start = iteration.inputs, item.input_start
                if item.num_inputs == 1:
                    args = [slots[start]]
                    slots[start] = None
                else:
                    stop = item.input_stop
                    args = slots[start:stop]
                    for slot in range(start, stop):
                        slots[slot] = None
                # --- compute
                action = item.action
                try:
                    if item.dereference:
                        dereference(item, args)
                    if action == PURE_ONE:
                        outputs = (item.compute(*args),)  # type: ignore[misc]
                    elif action == PASS:
                        outputs = args
                    elif action == MERGE:
                        outputs = _first_live(args)
                    elif action == PURE:
                        outputs = as_outputs(item, item.compute(*args))  # type: ignore[misc]
                    elif action == CONTEXT:
                        context = self._context(item, iteration, is_dead)
                        outputs = as_outputs(item, item.compute(context, *args))  # type: ignore[misc]
                    elif action == ARG:
                        outputs = (run_state.call_frame.args[item.argument_index],)  # type: ignore[union-attr]
                    elif action == RETVAL:
                        retvals = run_state.call_frame.retvals  # type: ignore[union-attr]
                        if retvals[item.argument_index] is not None:
                            # A fetch inside a loop, in its second iteration.
                            raise errors.internal(
                                f"Retval[{item.argument_index}] has already been set."
                            )
                        retvals[item.argument_index] = args[0]
                        outputs = ()
                    elif action == NOTHING:
                        outputs = ()
                    elif action == ASYNC:
                        self._start_async(tagged, args)
                        continue
                    else:
                        assert action == POOL
                        outputs = self._run_or_hand_over(tagged, args)
                        if outputs is None:
                            continue
                except Exception as error:
                    found = annotate(error, item.name, item.op, device.name, args)
                    raise found from found.__cause__
            if (
                record_outputs is not None
                and not is_dead
                # PASS and MERGE pass values on that their makers have checked.
                and (record_outputs is not check_outputs or action not in (PASS, MERGE))
            ):
                record_outputs(partition, item, outputs)
            if node_done is not None:
                if item.is_transfer and not is_dead:
                    self._tell_of_transfer(hooks.tensor_sent, item, args[0])
                node_done(
                    step_id,
                    partition,
                    item.id,
                    iteration.frame.id,
                    iteration.number,
                    perf_counter_ns(),
                    is_dead,
                )
            # --- propagate outputs, node done
            if item.destination == SAME_ITERATION:
                activate(item, is_dead, iteration, outputs)
                iteration.outstanding_ops -= 1
                if not iteration.outstanding_ops:
                    propagator.cleanup(iteration.frame, iteration.number)
            else:
                self._cross_frames(item, is_dead, iteration, outputs)

    def finish_async(self, tagged: type_of_tagged_node, outputs: Any) -> None:
        """Propagate the outputs of an asynchronous kernel; only the driving thread calls this.

        Raises:
          OpError: the kernel failed.
        """
        item, iteration, is_dead = tagged
        if isinstance(outputs, BaseException):
            raise annotate(outputs, item.name, item.op, self.immutable.device.name, ())
        if item.is_transfer and item.num_outputs and (not outputs or outputs[0] is None):
            is_dead = True
        outputs = as_outputs(item, outputs)
        hooks, record_outputs = self.run_state.hooks, self._output_recorder()
        if record_outputs is not None and not is_dead:
            record_outputs(self.partition, item, outputs)
        if hooks.node_done is not None:
            if item.is_transfer and item.num_outputs and not is_dead:
                self._tell_of_transfer(hooks.tensor_received, item, outputs[0])
            hooks.node_done(
                self.run_state.step_id,
                self.partition,
                item.id,
                iteration.frame.id,
                iteration.number,
                perf_counter_ns(),
                is_dead,
            )
        self.propagator.activate(item, is_dead, iteration, outputs)
        self.propagator.node_done(iteration)

    def _output_recorder(self) -> Callable[[int, NodeItem, Any], None] | None:
        """Return the observer of outputs, or None.

        It is a trace; without one, the check of outputs, in the first step only.
        """
        return self.run_state.record_outputs or (
            None if self.immutable.warm_up.is_checked else check_outputs
        )

    def _tell_of_transfer(
        self, hook: Callable[..., None] | None, item: NodeItem, value: Any
    ) -> None:
        """Report the bytes that a Send or Recv moved to the hook; a handle counts as 0 bytes."""
        if hook is not None:
            num_bytes = getattr(value, "nbytes", 0)
            hook(self.run_state.step_id, self.partition, item.id, num_bytes, perf_counter_ns())

    # -- rare phases -------------------------------------------------------------------------------

    def _take_put_off(self) -> bool:
        """Make one deferred writer ready; return whether there was one."""
        if not self.put_off:
            return False
        self.ready.append(self.put_off.popleft())
        return True

    def _cross_frames(
        self, item: NodeItem, is_dead: bool, iteration: IterationState, outputs: Any
    ) -> None:
        propagator = self.propagator
        if item.destination == INTO_CHILD:
            propagator.enter(item, is_dead, iteration, outputs)
        elif item.destination == INTO_PARENT:
            propagator.exit(item, is_dead, iteration, outputs)
        else:
            propagator.next_iteration(item, is_dead, iteration, outputs)
        propagator.node_done(iteration)
        if self.put_off:
            self.rounds += 1
            if self.rounds >= _MOST_ROUNDS:
                # The loop may be waiting for a variable that a deferred node writes.
                self.ready.extend(self.put_off)
                self.put_off.clear()
        # A loop of cheap nodes always has ready nodes; the answers of the pool are taken here,
        # because they may make more nodes ready.
        if self.run_state.pool is not None:
            self._look_into_inbox()

    def _look_into_inbox(self) -> None:
        inbox = self.run_state.inbox
        if inbox:
            joined = take_answers(self.run_state)
            inbox.extend((executor, None, None) for executor in joined)

    def _context(self, item: NodeItem, iteration: IterationState, is_dead: bool) -> OpKernelContext:
        frame_id = iteration.frame.rendezvous_id if item.is_transfer else iteration.frame.id
        return OpKernelContext(
            self.step,
            self.immutable.device,
            item.kernel,  # type: ignore[arg-type]
            frame_id,
            iteration.number,
            is_dead,
        )

    def _start_async(self, tagged: type_of_tagged_node, args: Sequence[Any]) -> None:
        item, iteration, is_dead = tagged
        run_state = self.run_state
        run_state.waiting[id(tagged)] = (self, tagged, args, None)

        def done(outputs: Any) -> None:
            run_state.inbox.append((self, tagged, outputs))
            run_state.wake.set()

        try:
            item.compute(self._context(item, iteration, is_dead), done, *args)  # type: ignore[misc]
        except BaseException:
            run_state.waiting.pop(id(tagged), None)
            raise

    def _run_or_hand_over(self, tagged: type_of_tagged_node, args: Sequence[Any]) -> Any:
        """Return the outputs of a cheap kernel; None if a thread of the pool now runs it."""
        run_state, stats = self.run_state, self.immutable.kernel_stats
        assert run_state.pool is not None
        assert stats is not None
        self._look_into_inbox()
        if not stats.is_expensive(tagged[0]):
            return self.measured(tagged, args)
        if not stats.has_overlap and stats.estimate_ns(tagged[0]) is not None:
            stats.has_overlap = any(row[3] is not None for row in run_state.waiting.values())
        work = kernel_stats.PooledKernel(self, tagged, args, run_state.pool.name)
        run_state.waiting[id(tagged)] = (self, tagged, args, work)
        try:
            run_state.pool.schedule(work)
        except BaseException:
            if work.take():
                run_state.waiting.pop(id(tagged), None)
            raise
        return None

    @runs_nodes(executor="self", tagged="tagged")
    def measured(self, tagged: type_of_tagged_node, args: Sequence[Any]) -> Sequence[Any]:
        """Run a kernel and measure its time; safe in any thread, because it accesses no frame."""
        item, iteration, is_dead = tagged
        stats = self.immutable.kernel_stats
        assert stats is not None
        if item.kernel is not None and item.kernel.kind == "context":
            args = (self._context(item, iteration, is_dead), *args)
        outputs: Sequence[Any] = as_outputs(item, kernel_stats.measured_call(stats, item, *args))
        return outputs


def _first_live(args: Sequence[Any]) -> tuple[Any, Any]:
    for position, value in enumerate(args):
        if value is not None:
            return value, _POSITIONS[position] if position < 64 else np.int32(position)
    return None, None


def as_outputs(item: NodeItem, found: Any) -> Any:
    """Return the result of a kernel as a sequence indexed by output number."""
    count = item.num_outputs
    if found.__class__ is tuple and len(found) == count:
        return found
    if count == 0:
        return ()
    if count == 1 and not isinstance(found, tuple | list):
        return (found,)
    if found is None or len(found) != count:
        raise missing_output(item.name, 0 if found is None else len(found), count)
    return found


def drive(run_state: RunState, executors: Sequence[ExecutorState]) -> None:
    """Run all partitions of a step until no node is ready and no kernel is pending.

    Raises:
      OpError: the first error of the step, after everything inside it has ended.
      KeyboardInterrupt: the user interrupted the step, which has ended.
    """
    run_state.executors = executors
    try:
        pump(run_state, executors)
        while run_state.waiting:
            wait_for_answer(run_state)
            pump(run_state, executors)
    except BaseException as error:
        found = error
        try:
            found = waiting.explained(run_state, error)
        finally:
            end_step(run_state, found)
        if found is not error:
            raise found from error.__cause__
        raise
    finally:
        run_state.executors = ()
    if run_state.record_outputs is None:
        for executor in executors:
            executor.immutable.warm_up.is_checked = True


def pump(run_state: RunState, executors: Sequence[ExecutorState]) -> None:
    """Run everything that is ready, without waiting.

    An answer in the inbox may belong to an executor of a function call that joined the step.
    """
    inbox = run_state.inbox
    while True:
        for executor in executors:
            if executor.ready:
                executor.process()
        if not inbox:
            if any(executor.ready for executor in executors):
                continue
            return
        for executor in take_answers(run_state):
            executor.run_state.call.go_on(executor)  # type: ignore[union-attr]


def take_answers(run_state: RunState) -> dict[ExecutorState, None]:
    """Propagate the outputs of the kernels that have answered.

    An answer in the inbox may belong to an executor of a function call that joined the step; those
    executors are returned, and the caller runs their nodes.
    """
    inbox = run_state.inbox
    joined: dict[ExecutorState, None] = {}
    while inbox:
        executor, tagged, outputs = inbox.popleft()
        # A thread interrupted while it delivers an answer delivers it again: the first counts.
        state = executor.run_state
        if state.call is None:
            if state.waiting.pop(id(tagged), None) is not None:
                executor.finish_async(tagged, outputs)
            continue
        joined[executor] = None
        if tagged is not None and state.waiting.pop(id(tagged), None) is not None:
            state.call.finish_async(executor, tagged, outputs)
    return joined


@waits_for_others(run_state="run_state")
def wait_for_answer(run_state: RunState, deadline: float | None = None) -> None:
    """Sleep until an asynchronous kernel has answered.

    Raises:
      DeadlineExceededError: ``time.monotonic()`` has passed ``deadline``.
      UnimplementedError: only another thread could make the kernel answer, and there can be none.
      OpError: the step was cancelled meanwhile.
    """
    num_naps = 0
    while not run_state.inbox:
        run_state.is_still = True
        is_timed = deadline is not None or DEADLINES.num_set()
        # A step whose time is up has no deadline any more.
        if not is_timed and run_state.error is None and not threads.can_start():
            raise waiting.nothing_answers(run_state)
        if deadline is not None and monotonic() > deadline:
            run_state.end(errors.deadline_exceeded("Timed out waiting for notification"))
        if run_state.stop is not None:
            run_state.heed_stop()
        run_state.wake.wait(_NAP_S)
        num_naps += 1
        if num_naps == NAPS_UNTIL_WARNING:
            waiting.warn_if_final(run_state)
    run_state.is_still = False


def end_step(run_state: RunState, error: BaseException) -> None:
    """Cancel everything pending in the step and return when all of it has answered.

    A kernel that no thread of the pool has begun is taken back, so that the step does not wait for
    a pool that is busy with other steps.  An interrupt may arrive inside a kernel: then its answer
    is lost, or comes unexpectedly.  Therefore an interrupted step waits for a short time only.
    """
    deadline = float("inf")
    if not isinstance(error, Exception):
        error = errors.cancelled("Step was interrupted.")
        deadline = monotonic() + _GRACE_S
    states = run_state.with_joined_calls()
    try:
        run_state.abort(error)
        for state in states:
            for key, (_, tagged, _, work) in state.waiting.copy().items():
                # The inbox no longer takes answers of kernels to a joined call: the call answers
                # when its kernels have answered.
                kernel = tagged[0].kernel
                is_call = kernel is not None and kernel.calls_functions
                if is_call or (work is not None and work.take()):
                    state.waiting.pop(key, None)
        while any(state.waiting for state in states) and monotonic() < deadline:
            while run_state.inbox:
                executor, tagged, _ = run_state.inbox.popleft()
                if tagged is not None:
                    executor.run_state.waiting.pop(id(tagged), None)
            if any(state.waiting for state in states):
                run_state.wake.wait(_NAP_S)
    except KeyboardInterrupt:
        # A second Ctrl-C: do not wait any longer, but cancel all pending kernels.
        run_state.abort(error)
        raise
    finally:
        # The entries form a reference cycle (node, step, node); break it.
        for state in states:
            if state.waiting:
                state.waiting.clear()


@runs_nodes(run_state="run_state", item="item")
def run_schedule(
    immutable: ImmutableExecutorState,
    run_state: RunState,
    step: StepContext,
    partition: int,
    over_large_input: Callable[[NodeItem, list[Any]], Any],
) -> None:
    """Run a partition without control flow: every node once, in a fixed order.

    Args:
      immutable: the partition.
      run_state: the step.
      step: what its kernels see of the step.
      partition: the number of the partition.
      over_large_input: writes the result of a node over a large input that nothing else holds;
        returns None if the node is to be computed plainly.

    Raises:
      OpError: a kernel failed, or the step was cancelled.
    """
    slots: list[Any] = [None] * immutable.num_values
    device = immutable.device
    call_frame = run_state.call_frame
    hooks, step_id = run_state.hooks, run_state.step_id
    node_started, node_done = hooks.node_started, hooks.node_done
    record_outputs = run_state.record_outputs or (
        None if immutable.warm_up.is_checked else check_outputs
    )
    # A recorder of outputs may keep them.
    may_write_over = run_state.record_outputs is None
    outputs: Any
    value: Any = None
    for item in immutable.schedule or ():
        if run_state.stop is not None:
            run_state.heed_stop()
        if node_started is not None:
            node_started(step_id, partition, item.id, 0, 0, perf_counter_ns())
        start, stop = item.input_start, item.input_stop
        args = slots[start:stop]
        for slot in range(start, stop):
            slots[slot] = None
        try:
            if item.dereference:
                dereference(item, args)
            action = item.action
            if action == PURE_ONE:
                if (
                    may_write_over
                    and args
                    and args[0].__class__ is np.ndarray
                    and args[0].nbytes >= LARGE_BYTES
                ):
                    value = over_large_input(item, args)
                if value is None:
                    value = item.compute(*args)  # type: ignore[misc]
                for _, _, slot in item.data_edges:
                    slots[slot] = value
                if record_outputs is not None:
                    record_outputs(partition, item, (value,))
                if node_done is not None:
                    node_done(step_id, partition, item.id, 0, 0, perf_counter_ns(), False)
                outputs = value = None  # do not keep values that later nodes do not need
                continue
            if action == PASS:
                outputs = args
            elif action == PURE:
                outputs = as_outputs(item, item.compute(*args))  # type: ignore[misc]
            elif action == CONTEXT:
                context = OpKernelContext(step, device, item.kernel)  # type: ignore[arg-type]
                outputs = as_outputs(item, item.compute(context, *args))  # type: ignore[misc]
            elif action == ARG:
                outputs = (call_frame.args[item.argument_index],)  # type: ignore[union-attr]
            elif action == RETVAL:
                call_frame.retvals[item.argument_index] = args[0]  # type: ignore[union-attr]
                outputs = ()
            else:
                outputs = ()
        except Exception as error:
            found = annotate(error, item.name, item.op, device.name, args)
            raise found from found.__cause__
        for output, _, slot in item.data_edges:
            slots[slot] = outputs[output]
        if record_outputs is not None:
            record_outputs(partition, item, outputs)
        if node_done is not None:
            node_done(step_id, partition, item.id, 0, 0, perf_counter_ns(), False)
    if run_state.record_outputs is None:
        immutable.warm_up.is_checked = True


def dereference(item: NodeItem, args: list[Any]) -> None:
    """Read reference inputs where the op takes a value; check that they are initialized."""
    dereference_by(item.dereference, args)


def dereference_by(entries: Sequence[tuple[int, bool, int, DType]], args: list[Any]) -> None:
    """Read the reference inputs that entries of ``NodeItem.dereference`` list."""
    for position, may_be_empty, how, dtype in entries:
        cell = args[position]
        if cell is None:
            continue
        if not isinstance(cell, RefCell):
            if how == READ_IF_CELL:
                continue
            raise errors.invalid_argument(f"{position}-th input expects a ref type")
        value = cell.value
        if value is None and not may_be_empty:
            raise errors.failed_precondition(
                f"Attempting to use uninitialized value {cell.name}", errors.Mistake.NOT_INITIALIZED
            )
        if how:
            if cell.dtype is not dtype:
                raise errors.invalid_argument(
                    f"{position}-th input expects type {dtype.name} but automatically dereferenced "
                    f"input tensor has type {cell.dtype.name}"
                )
            if how != READ_LATER:
                args[position] = value
