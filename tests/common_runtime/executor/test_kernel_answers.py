"""Outputs and inputs of a kernel are compared with the declaration of its op."""

from __future__ import annotations

import dataclasses
import threading

import numpy as np
import pytest

from tests.common_runtime.graph_builder import GraphBuilder, run_executor
from tests.common_runtime.native_ops import registered
from tfnb.common_runtime.device.thread_pool import ThreadPool
from tfnb.common_runtime.executor.run_state import RunState
from tfnb.core import dtypes, errors
from tfnb.core.resource_mgr import RefCell
from tfnb.core.step_events import IDLE_HOOKS

INT = dtypes.int32


def one_op(op: str, *, fetched: bool = True, dtype=INT, twice: bool = False) -> GraphBuilder:
    """x -> the op -> Identity -> result; with a loop beside it if counts are needed."""
    builder = GraphBuilder()
    made = builder.node("n", op, builder.arg("x"))
    if fetched:
        builder.fetch(builder.node("after", "Identity", made, T=dtype), dtype)
    return builder


def both_ways(builder, *args):
    """Return the errors of the schedule, of the counts, and of a pool of threads."""
    found = []
    for way in ("schedule", "counts", "pool"):
        immutable = builder.executor()
        pool = ThreadPool("test", 1) if way == "pool" else None
        if way == "counts":
            immutable = dataclasses.replace(immutable, schedule=None)
        try:
            run_executor(immutable, args, max(1, builder.num_retvals), pool=pool)
            found.append(None)
        except errors.OpError as error:
            found.append(error)
        if pool is not None:
            pool.close()
            assert pool.join(60)
    return found


@pytest.mark.parametrize("kind", ["pure", "context", "async"])
def test_a_kernel_that_gives_nothing_is_an_internal_error(kind):
    """The error is raised if the output is used."""
    kernels = {
        "pure": lambda xp, x: None,
        "context": lambda ctx, x: None,
        "async": lambda ctx, done, x: done(None),
    }
    with registered("TestDark", "x: int32 -> y: int32", kernels[kind]):
        for error in both_ways(one_op("TestDark"), 1):
            assert isinstance(error, errors.InternalError)
            assert "Missing 0-th output from {{node n}}" in error.message
            assert error.node_name == "n"


def test_an_unused_output_may_be_missing():
    """The second of two outputs, or the only one of a target, may be missing."""
    with registered("TestHalf", "x: int32 -> y: int32, z: int32", lambda xp, x: (x, None)):
        assert both_ways(one_op("TestHalf"), 1) == [None] * 3
    with registered("TestDark", "x: int32 -> y: int32", lambda xp, x: None):
        assert both_ways(one_op("TestDark", fetched=False), 1) == [None] * 3


def test_a_missing_output_among_several_is_counted():
    """The error names the first missing output that is used."""
    with registered("TestTwo", "x: int32 -> y: int32, z: int32", lambda xp, x: (x, None)):
        builder = GraphBuilder()
        made = builder.node("n", "TestTwo", builder.arg("x"))
        builder.fetch((made, 1))
        for error in both_ways(builder, 1):
            assert "Missing 1-th output from {{node n}}" in error.message


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (np.float64(1), "float64"),
        (np.zeros(3, np.float32), "float32"),
        (3, "<class 'int'>"),
        ("text", "<class 'str'>"),
    ],
)
def test_a_kernel_that_gives_another_type_is_an_internal_error(value, what):
    """The error has both types."""
    with registered("TestOther", "x: int32 -> y: int32", lambda xp, x: value):
        for error in both_ways(one_op("TestOther"), 1):
            assert isinstance(error, errors.InternalError)
            assert (
                f"Output 0 of type {what} does not match declared output type int32 for node "
                "{{node n}}"
            ) in error.message


def test_a_value_where_a_reference_was_declared_is_an_internal_error():
    """A reference where a value was declared is an error, too."""
    cell = RefCell("cell", INT)
    cell.assign(np.int32(1))
    with (
        registered("TestValue", "x: int32 -> y: Ref(int32)", lambda xp, x: x),
        registered("TestCell", "x: int32 -> y: int32", lambda xp, x: cell),
    ):
        for op, what in (("TestValue", "int32 "), ("TestCell", "int32_ref")):
            builder = GraphBuilder()
            builder.node("use", "Identity", builder.node("n", op, builder.arg("x")), T=INT)
            for error in both_ways(builder, 1):
                assert f"Output 0 of type {what}" in error.message


def test_answers_are_compared_in_the_first_step_only():
    """Later steps are not checked: a kernel gives the same type every time."""

    def turns(xp, x):
        return np.int32(1) if x == 1 else np.float32(2)

    with registered("TestTurns", "x: int32 -> y: int32", turns):
        immutable = one_op("TestTurns").executor()
        immutable = dataclasses.replace(immutable, schedule=None)
        assert not immutable.warm_up.is_checked
        assert run_executor(immutable, (1,), 1) == [1]
        assert immutable.warm_up.is_checked
        (found,) = run_executor(immutable, (2,), 1)
        assert (found, found.dtype) == (2, np.float32)


def test_a_step_that_failed_leaves_the_rest_to_be_compared():
    """The next step checks the outputs that the failed one did not reach."""
    values = [errors.aborted("not now"), np.float32(2)]

    def turns(xp, x):
        value = values.pop(0)
        if isinstance(value, Exception):
            raise value
        return value

    with registered("TestTurns", "x: int32 -> y: int32", turns):
        immutable = one_op("TestTurns").executor()
        with pytest.raises(errors.AbortedError, match="not now"):
            run_executor(immutable, (1,), 1)
        with pytest.raises(errors.InternalError, match="does not match declared output type"):
            run_executor(immutable, (1,), 1)


# -- references ------------------------------------------------------------------------------------


def test_a_reference_whose_type_changed_is_refused_where_it_is_read():
    """The reading op names the expected type."""
    cell = RefCell("cell", dtypes.float32)
    cell.assign(np.float32(1))
    immutable = _reading(cell)
    assert run_executor(immutable, (cell,), 1) == [-1.0]
    cell.dtype = INT
    cell.assign(np.int32(1))
    with pytest.raises(
        errors.InvalidArgumentError,
        match="0-th input expects type float32 but automatically dereferenced input tensor has "
        "type int32",
    ) as caught:
        run_executor(immutable, (cell,), 1)
    assert caught.value.node_name == "neg"


def _reading(cell):
    """A reference -> Neg -> result."""
    builder = GraphBuilder()
    source = builder.arg("cell", dtypes.float32_ref)
    builder.fetch(builder.node("neg", "Neg", source, T=dtypes.float32), dtypes.float32)
    return builder.executor()


def test_a_value_is_no_reference():
    """An op that writes to its input gets a plain tensor."""
    with registered(
        "TestWrite", "r: Ref(int32) -> y: int32", lambda xp, r: r.value, devices=("CPU",)
    ):
        error, *others = both_ways(one_op("TestWrite"), 1)
        for found in (error, *others):
            assert isinstance(found, errors.InvalidArgumentError)
            assert "0-th input expects a ref type" in found.message
            assert found.node_name == "n"


def test_an_empty_reference_is_named():
    """The error names the node that reads it."""
    with pytest.raises(
        errors.FailedPreconditionError, match="Attempting to use uninitialized value cell"
    ):
        run_executor(_reading(None), (RefCell("cell", dtypes.float32),), 1)


def test_a_received_value_of_another_type_is_an_internal_error():
    """The received value is compared like the output of a kernel."""
    builder = GraphBuilder()
    cpu = b"/job:localhost/replica:0/task:0/device:CPU:0"
    received = builder.node(
        "recv", "_Recv", tensor_type=INT, tensor_name=b"t", send_device=cpu, recv_device=cpu,
        send_device_incarnation=1, client_terminated=True,
    )  # fmt: skip
    builder.fetch(received)
    immutable = builder.executor()
    from tfnb.common_runtime.executor.executor import ExecutorState, drive
    from tfnb.common_runtime.executor.run_state import CallFrame, RunState
    from tfnb.core.op_kernel import StepContext
    from tfnb.core.step_events import StepEvents

    frame = CallFrame([], 1)
    run_state = RunState(frame, StepEvents().hooks)
    step = StepContext(run_state.step_id, run_state, call_frame=frame)
    threading.Timer(0, _send_to, (run_state.rendezvous,)).start()
    with pytest.raises(errors.InternalError, match="Output 0 of type float32 does not match"):
        drive(run_state, [ExecutorState(immutable, run_state, step, 0)])


def _send_to(rendezvous):
    """Send a float under the key that a Recv waits for."""
    pause = threading.Event()
    while not rendezvous.waiting_keys():
        pause.wait(0.001)
    rendezvous.send(rendezvous.waiting_keys()[0], np.float32(1))


def test_a_manager_that_is_requested_after_the_step_was_aborted_is_cancelled() -> None:
    """A kernel that began on another thread cannot register where the cancellation is over."""
    run_state = RunState(None, IDLE_HOOKS)
    run_state.abort(errors.cancelled("over"))
    manager = run_state.cancellation_manager
    assert manager.is_cancelled
    assert not manager.register_callback(manager.get_cancellation_token(), lambda: None)
    assert run_state.cancellation_manager is manager
