"""The reference executor: order, deadness, frames and iterations, errors and cancellation."""

from __future__ import annotations

import dataclasses
import threading

import numpy as np
import pytest

from tests.common_runtime.graph_builder import GraphBuilder, run_executor
from tfnb.common_runtime.executor.deadlines import DEADLINES
from tfnb.common_runtime.executor.executor import ExecutorState, drive
from tfnb.common_runtime.executor.run_state import CallFrame, RunState
from tfnb.core import dtypes, errors
from tfnb.core.op_kernel import StepContext
from tfnb.core.step_events import StepEvents, StepObserver

INT = dtypes.int32


class Recorder(StepObserver):
    """Records its events."""

    def __init__(self) -> None:
        self.live: list[tuple[int, int, int]] = []
        self.dead: list[tuple[int, int, int]] = []
        self.frames: list[tuple[int, int, int]] = []
        self.iterations: list[tuple[str, int, int]] = []
        self.alive = self.most_alive = 0

    def node_done(self, step_id, partition, node_id, frame_id, iteration, t_ns, is_dead):
        """Record a node."""
        (self.dead if is_dead else self.live).append((node_id, frame_id, iteration))

    def frame_entered(
        self, step_id, partition, frame_id, parent_frame_id, parent_iteration, name_index, t_ns
    ):
        """Record a new frame."""
        self.frames.append((frame_id, parent_frame_id, parent_iteration))

    def iteration_started(self, step_id, partition, frame_id, iteration, t_ns):
        """Count the living iterations."""
        self.iterations.append(("start", frame_id, iteration))
        self.alive += 1
        self.most_alive = max(self.most_alive, self.alive)

    def iteration_done(self, step_id, partition, frame_id, iteration, t_ns):
        """Count the living iterations."""
        self.iterations.append(("done", frame_id, iteration))
        self.alive -= 1


def counting_graph(parallel: int = 10) -> GraphBuilder:
    """start, limit, one -> while i < limit: i += one."""
    builder = GraphBuilder()
    start, limit, one = builder.arg("start"), builder.arg("limit"), builder.arg("one")
    builder.fetch(builder.counting_loop(start, limit, one, parallel=parallel))
    return builder


def test_values_flow_from_arguments_to_results():
    """x, y -> Add -> result."""
    builder = GraphBuilder()
    x, y = builder.arg("x"), builder.arg("y")
    builder.fetch(builder.node("sum", "Add", x, y, T=INT))
    assert [np.int32(5)] == builder.run(2, 3)


def test_a_graph_without_control_flow_runs_by_schedule_and_by_counts_alike():
    """x -> Add(x, x) -> Mul(sum, x): both ways of running give the same value."""
    builder = GraphBuilder()
    x = builder.arg("x")
    total = builder.node("sum", "Add", x, x, T=INT)
    builder.fetch(builder.node("product", "Mul", total, x, T=INT))
    immutable = builder.executor()
    assert immutable.schedule is not None
    by_schedule = run_executor(immutable, (7,), 1)
    immutable = dataclasses.replace(immutable, schedule=None)
    assert by_schedule == run_executor(immutable, (7,), 1) == [np.int32(98)]


@pytest.mark.parametrize(("pred", "expected"), [(True, [None, 4]), (False, [4, None])])
def test_switch_kills_the_side_not_taken(pred, expected):
    r"""x, p -> Switch; the dead side's Add does not run.

    x -> Switch -> (false) Add -> fetch0
               \-> (true)  Add -> fetch1
    """
    builder = GraphBuilder()
    x, p = builder.arg("x"), builder.arg("p", dtypes.bool)
    switch = builder.node("switch", "Switch", x, p, T=INT)
    for side in (0, 1):
        builder.fetch(builder.node(f"add{side}", "Add", (switch, side), (switch, side), T=INT))
    assert expected == builder.run(2, np.bool_(pred))


@pytest.mark.parametrize(("pred", "value", "index"), [(True, 6, 1), (False, 5, 0)])
def test_merge_takes_the_live_input_and_says_which(pred, value, index):
    """x -> Switch -> (identity | add one) -> Merge."""
    builder = GraphBuilder()
    x, one, p = builder.arg("x"), builder.arg("one"), builder.arg("p", dtypes.bool)
    switch = builder.node("switch", "Switch", x, p, T=INT)
    more = builder.node("more", "Add", (switch, 1), one, T=INT)
    merge = builder.node("merge", "Merge", (switch, 0), more, T=INT, N=2)
    builder.fetch(merge)
    builder.fetch((merge, 1))
    assert [value, index] == builder.run(5, 1, np.bool_(pred))


def test_merge_is_dead_only_when_all_its_inputs_are():
    """Both inputs of Merge come from one dead side."""
    builder = GraphBuilder()
    x, p = builder.arg("x"), builder.arg("p", dtypes.bool)
    switch = builder.node("switch", "Switch", x, p, T=INT)
    merge = builder.node("merge", "Merge", (switch, 1), (switch, 1), T=INT, N=2)
    builder.fetch(merge)
    assert builder.run(1, np.bool_(False)) == [None]
    assert run_executor(builder.executor(), (1, np.bool_(True)), 1) == [1]


def test_control_trigger_is_never_dead():
    """A dead Identity -> ControlTrigger -> Add still runs."""
    builder = GraphBuilder()
    x, p = builder.arg("x"), builder.arg("p", dtypes.bool)
    switch = builder.node("switch", "Switch", x, p, T=INT)
    builder.node("pivot", "Identity", (switch, 1), T=INT)
    builder.node("trigger", "ControlTrigger", "^pivot")
    builder.fetch(builder.node("sum", "Add", x, x, "^trigger", T=INT))
    assert builder.run(3, np.bool_(False)) == [6]


def test_a_dead_control_input_makes_a_node_dead():
    """A dead Identity -> (control) Add: the Add does not run."""
    builder = GraphBuilder()
    x, p = builder.arg("x"), builder.arg("p", dtypes.bool)
    switch = builder.node("switch", "Switch", x, p, T=INT)
    builder.node("pivot", "Identity", (switch, 1), T=INT)
    builder.fetch(builder.node("sum", "Add", x, x, "^pivot", T=INT))
    assert builder.run(3, np.bool_(False)) == [None]


def test_a_control_edge_out_of_a_switch_is_live():
    """The Switch itself ran, so nodes that only follow it run too."""
    builder = GraphBuilder()
    x, p = builder.arg("x"), builder.arg("p", dtypes.bool)
    builder.node("switch", "Switch", x, p, T=INT)
    builder.fetch(builder.node("sum", "Add", x, x, "^switch", T=INT))
    assert builder.run(3, np.bool_(False)) == [6]


@pytest.mark.parametrize("parallel", [1, 2, 10])
def test_a_loop_counts_to_its_limit(parallel):
    """while i < 10: i += 1, with any number of parallel iterations."""
    assert counting_graph(parallel).run(0, 10, 1) == [10]


def test_a_loop_whose_condition_is_false_at_once_gives_its_start():
    """while i < 3 from 7."""
    assert counting_graph().run(7, 3, 1) == [7]


def test_the_condition_runs_once_more_than_the_body():
    """Ten iterations have eleven Merges, ten Adds and one live Exit."""
    builder = counting_graph()
    immutable = builder.executor()
    ids = {item.name: item.id for item in immutable.items}
    recorder = Recorder()
    builder.run(0, 10, 1, observer=recorder)
    count = [node for node, _, _ in recorder.live].count
    assert (
        count(ids["loop/merge"]),
        count(ids["loop/add"]),
        count(ids["loop/exit"]),
    ) == (11, 10, 1)


@pytest.mark.parametrize("parallel", [1, 3])
def test_no_more_iterations_live_than_parallel_iterations(parallel):
    """The limit holds, and iterations end in order."""
    recorder = Recorder()
    counting_graph(parallel).run(0, 20, 1, observer=recorder)
    assert recorder.most_alive <= parallel
    done = [number for what, _, number in recorder.iterations if what == "done"]
    assert done == list(range(21))


def test_an_inner_loop_gets_a_new_frame_for_every_outer_iteration():
    """for i in range(n): for j in range(i, n) -- n frames under one outer frame."""
    builder = GraphBuilder()
    one, n, zero = builder.arg("one"), builder.arg("n"), builder.arg("zero")
    frame = {"T": INT, "frame_name": b"outer", "parallel_iterations": 10}
    enter = builder.node("enter", "Enter", zero, is_constant=False, **frame)
    limit = builder.node("limit", "Enter", n, is_constant=True, **frame)
    step = builder.node("step", "Enter", one, is_constant=True, **frame)
    merge = builder.node("merge", "Merge", enter, None, T=INT, N=2)
    less = builder.node("less", "Less", merge, limit, T=INT)
    switch = builder.node("switch", "Switch", merge, builder.node("cond", "LoopCond", less), T=INT)
    inner = builder.counting_loop((switch, 1), limit, step, name="inner")
    # i + 1, computed from the inner loop's result so that it must have run: n - (n - (i + 1))
    more = builder.node("more", "Add", (switch, 1), step, T=INT)
    after = builder.node(
        "after", "Sub", inner, builder.node("left", "Sub", inner, more, T=INT), T=INT
    )
    builder.connect(builder.node("next", "NextIteration", after, T=INT), merge, 1)
    builder.fetch(builder.node("exit", "Exit", (switch, 0), T=INT))
    recorder = Recorder()
    assert builder.run(1, 4, 0, observer=recorder) == [4]
    assert [(parent, iteration) for _, parent, iteration in recorder.frames[1:]] == [
        (1, 0),
        (1, 1),
        (1, 2),
        (1, 3),
        (1, 4),
    ]
    assert recorder.alive == 0


def test_a_loop_on_the_untaken_side_is_dead_without_waiting_for_its_back_edge():
    """cond(p, loop, x): with p false the Merge behind takes x."""
    builder = GraphBuilder()
    x, limit, one = builder.arg("x"), builder.arg("limit"), builder.arg("one")
    p = builder.arg("p", dtypes.bool)
    switch = builder.node("switch", "Switch", x, p, T=INT)
    loop = builder.counting_loop((switch, 1), limit, one)
    builder.fetch(builder.node("merge", "Merge", (switch, 0), loop, T=INT, N=2))
    immutable = builder.executor()
    assert run_executor(immutable, (2, 9, 1, np.bool_(True)), 1) == [9]
    assert run_executor(immutable, (2, 9, 1, np.bool_(False)), 1) == [2]


def test_ten_thousand_iterations_keep_no_iteration_alive():
    """A long loop ends without the state of any iteration."""
    recorder = Recorder()
    assert counting_graph().run(0, 2000, 1, observer=recorder) == [2000]
    assert recorder.alive == 0


def test_a_failing_kernel_names_its_node_and_ends_the_step():
    """x // 0 in the second iteration fails the whole step with TensorFlow's class."""
    builder = GraphBuilder()
    x, y = builder.arg("x"), builder.arg("y")
    builder.fetch(builder.node("quotient", "FloorDiv", x, y, T=INT))
    with pytest.raises(errors.InvalidArgumentError, match="Integer division by zero") as caught:
        builder.run(1, 0)
    assert caught.value.node_name == "quotient"


def test_a_step_that_is_asked_to_end_ends_between_two_nodes():
    """An endless loop stops at the request of another thread."""
    builder = counting_graph()
    immutable = builder.executor()
    frame = CallFrame([np.int32(0), np.int32(2**31 - 1), np.int32(0)], 1)
    hooks_seen = threading.Event()

    class Seen(Recorder):
        """Reports that the loop runs."""

        def iteration_started(self, step_id, partition, frame_id, iteration, t_ns):
            """Report the third iteration."""
            if iteration == 3:
                hooks_seen.set()

    events = StepEvents()
    events.add(Seen())
    run_state = RunState(frame, events.hooks)
    step = StepContext(run_state.step_id, run_state, call_frame=frame)

    def stop() -> None:
        assert hooks_seen.wait(60)
        run_state.end(errors.cancelled("enough"))

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(errors.CancelledError, match="enough"):
        drive(run_state, [ExecutorState(immutable, run_state, step, 0)])
    thread.join()


def test_enters_that_ask_for_no_parallel_iterations_are_refused():
    """parallel_iterations below 1 is an error when the executor is made, and never a hang."""
    with pytest.raises(errors.InvalidArgumentError, match="must be positive"):
        counting_graph(parallel=-3).executor()


def test_an_observer_that_raises_is_dropped_and_the_step_goes_on():
    """An exception of an observer does not fail the step."""

    class Broken(StepObserver):
        """Raises at once."""

        def node_done(self, *args):
            """Raises."""
            raise RuntimeError("viewer")

    assert counting_graph().run(0, 3, 1, observer=Broken()) == [3]


# -- what is easiest to get wrong ------------------------------------------------------------------


def loop_frame(name=b"loop", parallel=10, *, is_constant=False):
    """The attributes of an Enter."""
    return {
        "T": INT,
        "frame_name": name,
        "parallel_iterations": parallel,
        "is_constant": is_constant,
    }


def test_a_constant_enter_is_delivered_to_every_iteration():
    """The constant reaches also iterations that began before it arrived.

    limit comes late: behind a chain, when the loop already waits for it.
    """
    builder = GraphBuilder()
    start, limit, one = builder.arg("start"), builder.arg("limit"), builder.arg("one")
    late = limit
    for position in range(20):
        late = builder.node(f"late{position}", "Identity", late, T=INT)
    builder.fetch(builder.counting_loop(start, late, one, parallel=3))
    recorder = Recorder()
    assert builder.run(0, 6, 1, observer=recorder) == [6]
    immutable = builder.executor()
    ids = {item.name: item.id for item in immutable.items}
    entered = [number for node, _, number in recorder.live if node == ids["loop/less"]]
    assert entered == list(range(7))


def test_a_constant_enter_that_is_dead_makes_every_iteration_of_it_dead():
    """A node in the loop that needs the constant never runs; the loop itself continues."""
    builder = GraphBuilder()
    start, limit, one = builder.arg("start"), builder.arg("limit"), builder.arg("one")
    p = builder.arg("p", dtypes.bool)
    dead = builder.node("switch", "Switch", one, p, T=INT)
    exit_ = builder.counting_loop(start, limit, one)
    enter = builder.node("dead", "Enter", (dead, 1), **loop_frame(is_constant=True))
    merge = builder.graph.find_node("loop/merge")
    builder.node("never", "Add", merge, enter, T=INT)
    builder.fetch(exit_)
    recorder = Recorder()
    assert builder.run(0, 5, 1, np.bool_(False), observer=recorder) == [5]
    ids = {item.name: item.id for item in builder.executor().items}
    assert [n for i, _, n in recorder.dead if i == ids["never"]] == list(range(6))


def test_iterations_that_were_held_back_begin_in_order():
    """Two loop variables with one iteration at a time.

    Each iteration begins when the last one ended.
    """
    builder = GraphBuilder()
    start, limit, one = builder.arg("start"), builder.arg("limit"), builder.arg("one")
    exit_ = builder.counting_loop(start, limit, one, parallel=1)
    enter = builder.node("enter2", "Enter", one, **loop_frame(parallel=1))
    merge = builder.node("merge2", "Merge", enter, None, T=INT, N=2)
    cond = builder.graph.find_node("loop/cond")
    switch = builder.node("switch2", "Switch", merge, cond, T=INT)
    last = (switch, 1)
    for position in range(5):
        last = (builder.node(f"slow{position}", "Add", last, last, T=INT), 0)
    builder.connect(builder.node("next2", "NextIteration", last, T=INT), merge, 1)
    builder.fetch(exit_)
    builder.fetch(builder.node("exit2", "Exit", (switch, 0), T=INT))
    recorder = Recorder()
    assert builder.run(0, 4, 1, observer=recorder) == [4, np.int32(2**20)]
    expected = [(what, number) for number in range(5) for what in ("start", "done")]
    assert [(what, number) for what, _, number in recorder.iterations] == expected


def test_a_dead_exit_waits_for_the_end_of_its_frame():
    """The Exit of the untaken side is dead in every iteration, and reaches the parent once.

    loop: i < limit; beside it Switch(i, never) -> (true) -> Exit.
    """
    builder = GraphBuilder()
    start, limit, one = builder.arg("start"), builder.arg("limit"), builder.arg("one")
    never = builder.arg("never", dtypes.bool)
    exit_ = builder.counting_loop(start, limit, one)
    merge = builder.graph.find_node("loop/merge")
    flag = builder.node(
        "flag", "Enter", never, **{**loop_frame(is_constant=True), "T": dtypes.bool}
    )
    aside = builder.node("aside", "Switch", merge, flag, T=INT)
    dead = builder.node("dead", "Exit", (aside, 1), T=INT)
    builder.node("after", "Identity", dead, T=INT)
    builder.fetch(builder.node("either", "Merge", dead, exit_, T=INT, N=2))
    told: list[str] = []
    names = {item.id: item.name for item in builder.executor().items}

    class Order(StepObserver):
        """Records when the frame ended and when the node behind the Exit was handled."""

        def node_done(self, step_id, partition, node_id, frame_id, iteration, t_ns, is_dead):
            if names[node_id] == "after":
                told.append(f"after {is_dead}")

        def frame_done(self, step_id, partition, frame_id, t_ns):
            told.append("frame done")

    assert builder.run(0, 3, 1, np.bool_(False), observer=Order()) == [3]
    assert told == ["frame done", "after True"]


def test_a_frame_is_found_by_its_parent_iteration_and_name():
    """Two loops in one loop, and inner frames of different outer iterations, are separate."""
    builder = GraphBuilder()
    zero, n, one = builder.arg("zero"), builder.arg("n"), builder.arg("one")
    enter = builder.node("enter", "Enter", zero, **loop_frame(b"outer"))
    limit = builder.node("limit", "Enter", n, **loop_frame(b"outer", is_constant=True))
    step = builder.node("step", "Enter", one, **loop_frame(b"outer", is_constant=True))
    merge = builder.node("merge", "Merge", enter, None, T=INT, N=2)
    less = builder.node("less", "Less", merge, limit, T=INT)
    switch = builder.node("switch", "Switch", merge, builder.node("cond", "LoopCond", less), T=INT)
    first = builder.counting_loop((switch, 1), limit, step, name="left")
    second = builder.counting_loop((switch, 1), limit, step, name="right")
    # i + 1 + (left - right), where both loops end at n
    difference = builder.node("difference", "Sub", first, second, T=INT)
    more = builder.node("more", "Add", (switch, 1), step, T=INT)
    total = builder.node("total", "Add", more, difference, T=INT)
    builder.connect(builder.node("next", "NextIteration", total, T=INT), merge, 1)
    builder.fetch(builder.node("exit", "Exit", (switch, 0), T=INT))
    recorder = Recorder()
    assert builder.run(0, 3, 1, observer=recorder) == [3]
    parents = sorted((parent, iteration) for _, parent, iteration in recorder.frames[1:])
    # In the last iteration the Enters are dead: their frames are made and end at once.
    assert parents == [(1, number) for number in range(4) for _ in ("left", "right")]
    assert len({frame for frame, _, _ in recorder.frames}) == len(recorder.frames)
    assert recorder.alive == 0


def test_a_dead_next_iteration_begins_no_iteration():
    """A loop whose condition is false at once has one iteration."""
    recorder = Recorder()
    assert counting_graph().run(9, 3, 1, observer=recorder) == [9]
    assert [number for what, _, number in recorder.iterations if what == "start"] == [0]


def test_a_merge_with_control_edges_waits_for_them():
    """The Merge's value arrives first, its control edge last."""
    builder = GraphBuilder()
    x = builder.arg("x")
    last = x
    for position in range(5):
        last = builder.node(f"late{position}", "Identity", last, T=INT)
    merge = builder.node("merge", "Merge", x, x, "^late4", T=INT, N=2)
    builder.fetch(merge)
    recorder = Recorder()
    assert builder.run(3, observer=recorder) == [3]
    ids = {item.name: item.id for item in builder.executor().items}
    order = [node for node, _, _ in recorder.live]
    assert order.index(ids["merge"]) > order.index(ids["late4"])
    assert order.count(ids["merge"]) == 1


def test_the_first_error_of_two_devices_is_the_step_s():
    """The other partition ends because the step is over, which is not a separate error."""
    cpu = b"/job:localhost/replica:0/task:0/device:CPU:0"
    failing, waiting = GraphBuilder(), GraphBuilder()
    one, zero = failing.arg("one"), failing.arg("zero")
    failing.node("bad", "FloorDiv", one, zero, T=INT)
    waiting.node(
        "recv", "_Recv", tensor_type=INT, tensor_name=b"never sent", send_device=cpu,
        recv_device=cpu, send_device_incarnation=1, client_terminated=False,
    )  # fmt: skip
    frame = CallFrame([np.int32(1), np.int32(0)], 0)
    run_state = RunState(frame, StepEvents().hooks)
    step = StepContext(run_state.step_id, run_state, call_frame=frame)
    executors = [
        ExecutorState(builder.executor(), run_state, step, index)
        for index, builder in enumerate((waiting, failing))
    ]
    with pytest.raises(errors.InvalidArgumentError, match="division by zero") as caught:
        drive(run_state, executors)
    assert caught.value.node_name == "bad"
    assert run_state.num_waiting == 0


@pytest.mark.parametrize("is_dead", [True, False])
def test_send_and_recv_pass_on_deadness(is_dead):
    """Send runs with a dead input, and the nodes behind Recv are dead."""
    transfer = {
        "tensor_name": b"edge",
        "send_device": b"/job:localhost/replica:0/task:0/device:CPU:0",
        "recv_device": b"/job:localhost/replica:0/task:0/device:CPU:0",
        "send_device_incarnation": 1,
        "client_terminated": False,
    }
    sender, receiver = GraphBuilder(), GraphBuilder()
    x, p = sender.arg("x"), sender.arg("p", dtypes.bool)
    switch = sender.node("switch", "Switch", x, p, T=INT)
    sender.node("send", "_Send", (switch, 1), T=INT, **transfer)
    receiver.fetch(receiver.node("recv", "_Recv", tensor_type=INT, **transfer))
    frame = CallFrame([np.int32(7), np.bool_(not is_dead)], 1)
    run_state = RunState(frame, StepEvents().hooks)
    step = StepContext(run_state.step_id, run_state, call_frame=frame)
    executors = [
        ExecutorState(builder.executor(), run_state, step, index)
        for index, builder in enumerate((receiver, sender))
    ]
    drive(run_state, executors)
    assert frame.retvals == [None if is_dead else 7]


@pytest.mark.parametrize("waits_for", ["recv", "loop"])
def test_any_step_ends_when_its_time_is_up(waits_for):
    """A missing Send and an endless loop end at the deadline."""
    builder = GraphBuilder()
    if waits_for == "recv":
        cpu = b"/job:localhost/replica:0/task:0/device:CPU:0"
        builder.fetch(builder.node(
            "recv", "_Recv", tensor_type=INT, tensor_name=b"never sent", send_device=cpu,
            recv_device=cpu, send_device_incarnation=1, client_terminated=False,
        ))  # fmt: skip
        args = []
    else:
        start, limit, zero = builder.arg("start"), builder.arg("limit"), builder.arg("zero")
        builder.fetch(builder.counting_loop(start, limit, zero))
        args = [np.int32(0), np.int32(1), np.int32(0)]
    frame = CallFrame(args, 1)
    run_state = RunState(frame, StepEvents().hooks)
    step = StepContext(run_state.step_id, run_state, call_frame=frame)
    DEADLINES.set(run_state, 20)
    with pytest.raises(errors.DeadlineExceededError, match="Timed out waiting for notification"):
        drive(run_state, [ExecutorState(builder.executor(), run_state, step, 0)])
    assert run_state.num_waiting == 0


def test_a_fetch_inside_a_loop_is_set_once() -> None:
    """One iteration sets the fetch; a second one is an error."""
    for limit, expected in ((1, [1]), (2, None)):
        builder = GraphBuilder()
        start, bound, one = builder.arg("start"), builder.arg("limit"), builder.arg("one")
        builder.counting_loop(start, bound, one)
        builder.fetch(builder.graph.find_node("loop/add"))
        if expected is None:
            with pytest.raises(errors.InternalError, match=r"Retval\[0\] has already been set"):
                builder.run(0, limit, 1)
        else:
            assert builder.run(0, limit, 1) == expected


def test_the_tables_of_a_partition_never_change():
    """Attributes cannot be assigned after construction; steps change a separate record."""
    builder = GraphBuilder()
    builder.fetch(builder.arg("x"))
    immutable = builder.executor()
    before = {one.name: getattr(immutable, one.name) for one in dataclasses.fields(immutable)}
    for one in dataclasses.fields(immutable):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(immutable, one.name, None)
    assert not immutable.warm_up.is_checked
    run_executor(immutable, [1], 1)
    assert immutable.warm_up.is_checked
    assert all(getattr(immutable, name) is value for name, value in before.items())
