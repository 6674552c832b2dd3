"""Steps of a master in flight: what a client asks, the runs on the workers, how one fails.

The first task that fails ends the runs of the others.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.distributed_runtime import grpc_tensor_coding as coding
from tfnb.distributed_runtime.remote_errors import of_task
from tfnb.distributed_runtime.worker_interface import RunGraphCall
from tfnb.proto import config_pb2, worker_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tfnb.distributed_runtime.master_plans import Part, Plan
    from tfnb.distributed_runtime.worker_interface import PendingRun, RunGraphResult


@dataclass(slots=True)
class StepRequest:
    """What a client asks of a step.

    Attributes:
      feeds: values by tensor name.
      fetches, targets: names.
      options: of the step; None: none.
      request_id: by which the client asks for the step's log.
    """

    feeds: Mapping[str, Any]
    fetches: Sequence[str]
    targets: Sequence[str]
    options: config_pb2.RunOptions | None = None
    request_id: int = 0


@dataclass(slots=True, eq=False)
class Step:
    """A step in flight.

    Attributes:
      runs: those of its parts, or of a stage of them.
      error: what it failed with first.
      lock: guards both.
    """

    runs: list[PendingRun] = field(default_factory=list)
    error: BaseException | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def fail(self, error: BaseException) -> None:
        """End all runs of the step; the first error counts."""
        with self.lock:
            if self.error is not None:
                return
            self.error = error
            runs = list(self.runs)
        for run in runs:
            run.cancel(error)

    def add(self, run: PendingRun) -> None:
        """Add a run, which ends at once if the step has failed meanwhile."""
        with self.lock:
            self.runs.append(run)
            error = self.error
        if error is not None:
            run.cancel(error)

    def forget_runs(self) -> None:
        """Forget the runs of a stage that has ended."""
        with self.lock:
            self.runs.clear()


@dataclass(slots=True)
class ActiveCall:
    """A call that goes on with a partial run: it may end the step only while it is in flight."""

    step: Step
    is_over: bool = False

    def fail(self, error: BaseException) -> None:
        """End the step, unless the call is over."""
        if not self.is_over:
            self.step.fail(error)


@dataclass(slots=True, eq=False)
class PartialRun:
    """A step that the client feeds and fetches in several calls.

    Attributes:
      step_id: the step.
      plan: what runs it; it has one stage.
      fed, fetched: name -> whether it came.
      request_id: of the request that declared it; the client asks for its log by this number.
      step: its runs in flight.
      lock: held by the call that goes on with it.
    """

    step_id: int
    plan: Plan
    fed: dict[str, bool]
    fetched: dict[str, bool]
    request_id: int = 0
    step: Step = field(default_factory=Step)
    lock: threading.Lock = field(default_factory=threading.Lock)


def call_of(
    session_handle: str,
    part: Part,
    step_id: int,
    feeds: Mapping[str, Any],
    relayed: Mapping[str, Any],
    options: worker_pb2.ExecutorOpts | None,
) -> RunGraphCall:
    """Return the call that runs a part: what it takes comes from the client and from others."""
    send = {key: feeds[name] for name, key in part.feeds.items()}
    for name, key in part.takes.items():
        value = relayed[name]
        if part.worker.is_local and isinstance(value, coding.UnreadTensor):
            value = value.read()
        send[key] = value
    keys = (*part.fetches, *part.gives)
    return RunGraphCall(session_handle, part.graph_handle, step_id, send, keys, part.gives, options)


def run_all(step: Step, calls: Sequence[tuple[Part, RunGraphCall]]) -> list[RunGraphResult]:
    """Run all parts of a step; ``step.error`` says whether one failed."""
    results: list[RunGraphResult] = []
    # Remote tasks first: they run while this thread runs the local one, or waits for the last one.
    ordered = calls if len(calls) == 1 else sorted(calls, key=lambda one: one[0].worker.is_local)
    for number, (part, call) in enumerate(ordered, 1):
        fail = _fail_with_task(step, part.task)
        try:
            run = part.worker.start_graph(call, fail, is_last=number == len(ordered))
            step.add(run)
        except errors.OpError as error:
            fail(error)
    for run in reversed(step.runs):
        try:
            results.append(run.result())
        except Exception as error:
            step.fail(error)
    return results


def _fail_with_task(step: Step, task: str) -> Callable[[BaseException], None]:
    """Return what ends a step with an error of a task, which is named in it."""

    def fail(error: BaseException) -> None:
        step.fail(of_task(error, task) if isinstance(error, errors.OpError) else error)

    return fail


def executor_options(options: config_pb2.RunOptions | None) -> worker_pb2.ExecutorOpts | None:
    """Return what the workers record of a step; None: nothing."""
    if options is None:
        return None
    traces = options.trace_level > config_pb2.RunOptions.NO_TRACE
    return worker_pb2.ExecutorOpts(
        record_timeline=traces,
        record_costs=False,
        record_partition_graphs=options.output_partition_graphs,
        report_tensor_allocations_upon_oom=options.report_tensor_allocations_upon_oom,
    )
