"""Live progress without threads and browser: real sessions, with a list as sink."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.common_runtime.lowering.run.step_way import Lowering, lowering
from tfnb.core.step_events import StepObserver
from tfnb.notebook.pictures.summary_svg import summary_svg, summary_text
from tfnb.notebook.steps import step_model
from tfnb.notebook.steps.step_frames import FrameBook
from tfnb.notebook.steps.step_model import (
    DEAD,
    DONE,
    FAILED,
    MAX_READ,
    RAN,
    RUNNING,
    STOPPED,
    WAITING,
    StepModel,
)
from tfnb.notebook.steps.step_publisher import StepPublisher
from tfnb.notebook.steps.step_recorder import (
    NODE_DONE,
    STEP_COUNTED,
    STEP_DONE,
    STEP_STARTED,
    EventLog,
    StepRecorder,
)
from tfnb.notebook.views.progress import Watch
from tfnb.notebook.views.targets import events_of

if TYPE_CHECKING:
    from tfnb.notebook.scenes.scene import Scene

STATE = 0b111


class NodeListener(StepObserver):
    """Takes every node."""

    def node_done(self, *event: Any) -> None:
        """Ignore."""


class Pictures:
    """A sink that records its pictures."""

    def __init__(self) -> None:
        self.scenes: list[Scene] = []
        self.states: list[bytes] = []
        self.counters: list[dict[str, Any]] = []
        self.are_new: list[bool] = []  # whether a scene came with the states

    def show(
        self, scene: Scene | None, states: bytes, counters: dict[str, Any] | None = None
    ) -> None:
        """Record a picture."""
        self.are_new.append(scene is not None)
        if scene is not None:
            self.scenes.append(scene)
        self.states.append(states)
        if counters is not None:
            self.counters.append(counters)


class Watched:
    """A session with a recorder, and a publisher that publishes on demand."""

    def __init__(self, session: Any, max_events: int = 60_000) -> None:
        self.log = EventLog(max_events)
        self.model = StepModel(lambda _: session.graph)
        self.sink = Pictures()
        self.publisher = StepPublisher(self.log, self.model, self.sink)
        events = events_of(session)
        assert events is not None
        events.add(StepRecorder(self.log, 0))

    def states_by_name(self) -> dict[str, int]:
        """Return the last picture's state of every node."""
        scene = self.sink.scenes[-1]
        return {
            node.name: byte & STATE
            for node, byte in zip(scene.nodes, self.sink.states[-1], strict=True)
        }


def loop(iterations: int) -> Any:
    """A loop that doubles a number."""
    _, value = tf.while_loop(
        lambda i, x: i < iterations, lambda i, x: [i + 1, x * 2.0], [0, 1.0], name="loop"
    )
    return value


def test_a_finished_step_shows_every_node_done(graph: Any) -> None:
    """All nodes of the step are in the scene and done."""
    with tf.Session() as session:
        watched = Watched(session)
        x = tf.placeholder(tf.float32, [])
        session.run(tf.add(x, 2.0, name="sum"), {x: 1.0})
        assert watched.publisher.publish()

    assert set(watched.states_by_name().values()) == {DONE}
    assert watched.states_by_name().keys() >= {"sum", "sum/y"}
    counters = watched.sink.counters[-1]
    assert (counters["phase"], counters["steps"]) == ("done", 1)
    (partition,) = counters["partitions"]
    assert partition["done"] == partition["total"] == len(watched.sink.scenes[0].nodes)


@pytest.mark.parametrize("is_open", [False, True])
def test_at_the_end_the_rate_is_that_of_all_steps(graph: Any, is_open: bool) -> None:
    """A slow first step counts, too: nodes per second and the elapsed time stand beside it."""
    with tf.Session() as session:
        watched = Watched(session)
        y = tf.square(tf.placeholder_with_default(1.0, []))
        for _ in range(40):
            session.run(y)
        watched.publisher.publish()
        model = watched.model
        model.is_open = is_open
        counters = model.counters(model.last_ns)
    of_all = 40 * 1e9 / counters["elapsed_ns"]
    wanted = model.steps_per_second() if is_open else of_all
    assert counters["steps"] == 40
    assert counters["steps_per_second"] == wanted


def counted(states: bytes, scene: Scene, partition: int) -> tuple[int, int]:
    """How many nodes of a partition the states say are over, and how many of these are dead."""
    found = [
        byte & STATE
        for node, byte in zip(scene.nodes, states, strict=True)
        if node.partition == partition
    ]
    return found.count(DONE) + found.count(DEAD), found.count(DEAD)


def agrees(sink: Pictures) -> bool:
    """Whether in every message the counters count what the states beside them say."""
    scenes, scene = iter(sink.scenes), None
    for states, counters, is_new in zip(sink.states, sink.counters, sink.are_new, strict=True):
        scene = next(scenes) if is_new else scene
        for number, about in enumerate(counters["partitions"]):
            assert scene is not None
            assert (about["done"], about["dead"]) == counted(states, scene, number)
    return True


@pytest.mark.parametrize("when", list(Lowering))
def test_every_message_of_many_short_steps_counts_what_its_states_say(
    graph: Any, when: Lowering
) -> None:
    """Whenever it is made, by whichever way steps run; and none says that it is over."""
    x = tf.placeholder(tf.float32, [], name="x")
    picked = tf.cond(x > 0.0, lambda: tf.negative(x), lambda: tf.square(tf.square(x)))
    fetches = [loop(3), picked, x + 1.0, loop(40) + picked]
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.device("/cpu:1"):
        fetches.append(tf.reduce_sum(fetches[0]) * 2.0)
    with tf.Session(config=config) as session, lowering(when):
        watched = Watched(session)
        watched.model.is_open = True
        stop = threading.Event()

        def publish() -> None:
            while not stop.is_set():
                watched.publisher.publish()

        publisher = threading.Thread(target=publish)
        publisher.start()
        for number in range(60):
            session.run(fetches[number % len(fetches)], {x: number % 3 - 1.0})
        stop.set()
        publisher.join()
        watched.publisher.publish(is_final=True)
        assert {one["phase"] for one in watched.sink.counters} <= {"waiting", "running", "idle"}
        watched.model.is_open = False
        watched.publisher.publish(is_final=True)
    last = watched.sink.counters[-1]
    assert (last["phase"], last["steps"]) == ("done", 60)
    assert all(about["done"] == about["total"] for about in last["partitions"])
    assert agrees(watched.sink)


def test_the_end_of_a_step_and_the_start_of_the_next_are_absorbed_together(graph: Any) -> None:
    """The publisher comes between two events of a step that counts its nodes at its end."""
    y = tf.placeholder(tf.float32, [], name="x") + 1.0
    with tf.Session() as session:
        watched = Watched(session)
        for _ in range(40):  # until the step is an emitted function, which counts
            session.run(y, {"x:0": 1.0})
        events = list(watched.log.steps)
        assert [event[1] for event in events[-3:]] == [STEP_STARTED, STEP_COUNTED, STEP_DONE]
        watched.log.steps.clear()
        watched.log.steps.extend(events[:-4])
        watched.publisher.publish()
        watched.log.steps.extend(events[-4:-2])
        watched.publisher.publish()
        watched.log.steps.extend(events[-2:])
        watched.publisher.publish(is_final=True)

    counters = watched.sink.counters[-1]
    assert (counters["phase"], counters["steps"]) == ("done", 40)


def test_a_node_that_runs_again_or_waits_again_is_not_counted_as_done(graph: Any) -> None:
    """A dequeue in a loop ran in the first iteration; in the second it waits."""
    queue = tf.FIFOQueue(1, [tf.int32], shapes=[[]])
    one = queue.enqueue(0)
    taken = tf.while_loop(lambda i: i < 2, lambda i: i + 1 + queue.dequeue(name="take"), [0])
    with tf.Session() as session:
        session.run(one)
        watched = Watched(session)
        runner = threading.Thread(target=session.run, args=(taken,))
        runner.start()
        take = "while/take"
        # A message may tell of the graph's names before the step has begun; it has no scene.
        while not watched.sink.scenes or watched.states_by_name()[take] != RUNNING:
            watched.publisher.publish()
        (about,) = watched.sink.counters[-1]["partitions"]
        assert about["done"] < about["total"]
        assert agrees(watched.sink)
        session.run(one)
        runner.join()


def test_the_first_nodes_of_a_step_are_read_whatever_others_write_meanwhile(graph: Any) -> None:
    """Another thread has taken its number before, and appends its event behind them."""
    with tf.Session() as session:
        watched = Watched(session)
        total = tf.add(1.0, 2.0, name="total")
        session.run(total)
        log = watched.log
        started = log.steps[0]
        place = next(at for at, event in enumerate(log.events) if event[0] > started[0])
        # Of a step that is not shown: the number before the start, written behind the first nodes.
        other = (started[0] - 0.5, NODE_DONE, 7, 99, 0, 0, 0, False)
        log.events.insert(place + 2, other)
        watched.publisher.publish()
    assert set(watched.states_by_name().values()) == {DONE}


def test_what_a_debugger_holds_is_read_once_for_a_picture(graph: Any) -> None:
    """The header does not say that a step runs beside the states of where it stands."""
    queue = tf.FIFOQueue(1, [tf.int32], shapes=[[]])
    with tf.Session() as session:
        watched = Watched(session)
        runner = threading.Thread(target=session.run, args=(queue.dequeue(name="take"),))
        runner.start()
        while not watched.model.is_running:
            watched.publisher.publish()
        watched.model.stop_states = {"take": STOPPED}
        watched.model.absorb(watched.log)
        watched.model.choose(0)
        watched.model.stop_states = None  # by the thread of the step, before the picture is made
        picture = watched.model.picture(0)
        session.run(queue.enqueue(1))
        runner.join()
    assert STOPPED in [byte & STATE for byte in picture.states]
    assert picture.counters["phase"] == "stopped"


def test_nothing_new_is_not_shown_again(graph: Any) -> None:
    """Without changes nothing is sent."""
    with tf.Session() as session:
        watched = Watched(session)
        session.run(tf.constant(1.0))

        assert watched.publisher.publish()
        assert not watched.publisher.publish()


def test_a_scene_is_sent_once_per_signature(graph: Any) -> None:
    """A thousand steps of one signature send one graph."""
    x = tf.constant(1.0) + 2.0
    with tf.Session() as session:
        watched = Watched(session)
        for _ in range(3):
            session.run(x)
            watched.publisher.publish()
        session.run(x * 2.0)
        watched.publisher.publish()

    assert len(watched.sink.scenes) == 2
    assert watched.sink.counters[-1]["steps"] == 4


def test_a_running_step_is_seen_between_its_nodes(graph: Any) -> None:
    """While a node waits, the nodes before it are done and those after it wait."""
    queue = tf.FIFOQueue(1, [tf.float32])
    before = tf.constant(2.0, name="before")
    after = tf.multiply(queue.dequeue(name="waiting"), before, name="after")
    enqueue = queue.enqueue(3.0)
    with tf.Session() as session:
        watched = Watched(session)
        runner = threading.Thread(target=session.run, args=(after,))
        runner.start()
        # The phase before the first step is also called "waiting".
        while "'current': 'waiting'" not in str(watched.sink.counters[-1:]):
            watched.publisher.publish()
        states = watched.states_by_name()
        counters = watched.sink.counters[-1]
        watched.log.events.clear()
        session.run(enqueue)
        runner.join()

    assert counters["phase"] == "running"
    assert states["after"] == WAITING
    assert counters["partitions"][0]["current"] == "waiting"


def test_a_step_that_begins_while_the_log_is_read_keeps_its_nodes(graph: Any) -> None:
    """The beginning is searched again when the first events of the step arrive."""

    class Late(deque[Any]):
        """Claims to be empty when it is read first."""

        has_been_asked = False

        def __len__(self) -> int:
            if not self.has_been_asked:
                self.has_been_asked = True
                return 0
            return super().__len__()

    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.exp(x, name="y")
    with tf.Session() as session:
        watched = Watched(session)
        events = events_of(session)
        assert events is not None
        events.add(NodeListener())
        session.run(y, {x: 1.0})
        watched.log.steps = Late(watched.log.steps)
        watched.publisher.publish()
        assert watched.states_by_name()["y"] == DONE
        watched.publisher.publish()
    assert watched.sink.counters[-1]["partitions"][0]["runs"] == 3


def test_loops_show_their_iterations(graph: Any) -> None:
    """The row has the iteration, and whether the loop has ended."""
    with tf.Session() as session:
        watched = Watched(session)
        session.run(loop(10))
        watched.publisher.publish()

    (frame,) = watched.sink.counters[-1]["frames"]
    assert frame["name"].startswith("loop/")
    assert (frame["iteration"], frame["live"], frame["isDone"], frame["runs"]) == (10, 0, True, 1)


def test_nested_loops_are_rows_below_each_other(graph: Any) -> None:
    """The inner loop is entered once per outer iteration whose body runs."""

    def body(i: Any, x: Any) -> list[Any]:
        _, y = tf.while_loop(lambda j, y: j < 3, lambda j, y: [j + 1, y + 1.0], [0, x], name="in")
        return [i + 1, y]

    result = tf.while_loop(lambda i, x: i < 4, body, [0, 0.0], name="out")[1]
    with tf.Session() as session:
        watched = Watched(session)
        assert session.run(result) == 12.0
        watched.publisher.publish()

    outer, inner = watched.sink.counters[-1]["frames"]
    assert (outer["name"].split("/")[0], outer["depth"], outer["iteration"]) == ("out", 0, 4)
    assert (inner["depth"], inner["iteration"]) == (1, 3)
    assert inner["runs"] == 4


@pytest.mark.parametrize("when", [Lowering.NEVER, Lowering.ALWAYS])
@pytest.mark.parametrize("devices", [1, 2])
def test_a_loop_is_entered_as_often_as_it_is(graph: Any, when: Lowering, devices: int) -> None:
    """A loop that a cond skips is not entered; one that ends at once is."""

    def body(i: Any, x: Any) -> list[Any]:
        def turn() -> Any:
            return tf.while_loop(lambda j: j < i - 3, lambda j: j + 1, [0], name="in")

        with tf.device(f"/cpu:{devices - 1}"):
            return [i + 1, x + tf.cond(i < 5, turn, lambda: 0)]

    result = tf.while_loop(lambda i, x: i < 8, body, [0, 0], name="out")[1]
    config = tf.ConfigProto(device_count={"CPU": devices})
    with tf.Session(config=config) as session, lowering(when):
        watched = Watched(session)
        assert session.run(result) == 1
        watched.publisher.publish()

    rows = watched.sink.counters[-1]["frames"]
    assert {row["runs"] for row in rows if "in" in row["name"].split("/")[-2]} == {5}
    assert {row["runs"] for row in rows if row["depth"] == 0} == {1}


def test_a_branch_not_taken_is_dead_and_a_loop_body_is_not(graph: Any) -> None:
    """A node that is dead only in the last iteration is not shown as dead."""
    branch = tf.cond(
        tf.constant(True), lambda: tf.constant(1.0, name="yes"), lambda: tf.constant(2.0, name="no")
    )
    with tf.Session() as session:
        watched = Watched(session)
        session.run(branch)
        watched.publisher.publish()
        states = watched.states_by_name()
        session.run(loop(3))
        watched.publisher.publish()
        looped = watched.states_by_name()

    assert states["cond/yes"] == DONE
    assert states["cond/no"] == DEAD
    assert looped["loop/mul"] == DONE


@pytest.mark.parametrize("when", [Lowering.NEVER, Lowering.ALWAYS])
def test_dead_nodes_are_no_runs(graph: Any, when: Lowering) -> None:
    """The runs of a partition are those of kernels; nodes of a branch not taken are dead."""
    x = tf.placeholder(tf.float32, [], name="x")
    branch = tf.cond(x > 0.0, lambda: tf.negative(x), lambda: tf.square(tf.square(x)))
    with tf.Session() as session, lowering(when):
        watched = Watched(session)
        session.run(branch, {x: 1.0})
        watched.publisher.publish()
    counters = watched.sink.counters[-1]
    (about,) = counters["partitions"]
    assert about["dead"] > 1
    assert about["runs"] == about["total"] - about["dead"]
    assert watched.model.node_runs == about["total"]
    told = f"{about['runs']} runs, {about['dead']} dead"
    assert told in summary_text(watched.model, counters)
    assert told in summary_svg(watched.model, counters)


def test_counts_travel_as_powers_of_two(graph: Any) -> None:
    """The high four bits are the bit length of the number of runs."""
    with tf.Session() as session:
        watched = Watched(session)
        session.run(loop(9))
        watched.publisher.publish()

    scene, states = watched.sink.scenes[0], watched.sink.states[0]
    levels = {node.name: byte >> 4 for node, byte in zip(scene.nodes, states, strict=True)}
    assert levels["loop/mul"] == (9).bit_length()  # the tenth time it is dead
    assert levels["loop/Exit_1"] == (10).bit_length()


@pytest.mark.parametrize("how", ["interrupt", "close"])
def test_a_cancelled_step_is_neither_done_nor_failed(graph: Any, how: str) -> None:
    """It is counted separately and is not an error."""
    session = tf.Session()

    def end(value: Any) -> Any:
        if how == "interrupt":
            raise KeyboardInterrupt
        session.close()
        return value

    step = tf.identity(tf.py_func(end, [tf.constant(1.0)], tf.float32), name="after")
    watched = Watched(session)
    with pytest.raises((KeyboardInterrupt, tf.errors.CancelledError)):
        session.run(step)
    session.close()
    watched.publisher.publish()
    counters = watched.sink.counters[-1]
    assert (counters["phase"], counters["steps"], counters["cancelled"]) == ("cancelled", 0, 1)
    assert counters["failed"] == 0
    text = summary_text(watched.model, counters)
    assert text.startswith("cancelled: 0 steps, 1 cancelled · ")
    assert "error" not in text
    assert "Cancelled" in summary_svg(watched.model, counters)


def test_a_failed_step_shows_where(graph: Any) -> None:
    """The failed node is marked, and the message is shown."""
    bad = tf.reshape(tf.placeholder(tf.float32, name="p"), [2, 2], name="bad")
    with tf.Session() as session:
        watched = Watched(session)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(bad, {"p:0": np.zeros(3, np.float32)})
        watched.publisher.publish(is_final=True)

    assert watched.states_by_name()["bad"] == FAILED
    counters = watched.sink.counters[-1]
    assert (counters["phase"], counters["steps"], counters["failed"]) == ("failed", 0, 1)
    assert "reshape" in watched.sink.counters[-1]["error"].lower()


@pytest.mark.slow
def test_a_flood_of_events_is_skipped_and_counted(graph: Any) -> None:
    """Only the newest events are read; the end and the loops are known nevertheless."""
    with tf.Session() as session, lowering(Lowering.NEVER):
        watched = Watched(session, max_events=2 * MAX_READ)
        session.run(loop(3000))
        watched.publisher.publish(is_final=True)

    counters = watched.sink.counters[-1]
    assert counters["dropped"] > 0
    assert counters["phase"] == "done"
    assert counters["partitions"][0]["done"] == counters["partitions"][0]["total"]
    assert counters["frames"][0]["iteration"] == 3000
    assert set(watched.states_by_name().values()) == {DONE}


@pytest.mark.slow
def test_what_was_skipped_is_inferred_from_what_ran_after_it(graph: Any) -> None:
    """A loop that iterates has been entered, although the event was skipped."""
    with tf.Session() as session, lowering(Lowering.NEVER):
        watched = Watched(session, max_events=2 * MAX_READ)
        session.run(loop(3000))
        watched.log.steps.pop()  # as if the step were still running
        watched.publisher.publish()

    states = watched.states_by_name()
    assert states["loop/Enter"] == states["loop/Enter_1"] == DONE
    assert watched.sink.counters[-1]["phase"] == "running"
    (partition,) = watched.sink.counters[-1]["partitions"]
    assert partition["done"] <= partition["total"]


def test_what_ran_is_marked_until_the_step_ends(graph: Any) -> None:
    """In the last picture no node runs."""
    with tf.Session() as session:
        watched = Watched(session)
        session.run(tf.constant(1.0) + 2.0)
        watched.publisher.publish()

    assert all(byte & RAN == 0 for byte in watched.sink.states[-1])


def test_two_devices_are_two_partitions(graph: Any) -> None:
    """Each partition has a bar, and Recv is connected to Send."""
    with tf.device("/CPU:0"):
        a = tf.constant(1.0, name="a")
    with tf.device("/CPU:1"):
        b = tf.add(a, a, name="b")
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        watched = Watched(session)
        assert session.run(b) == 2.0
        watched.publisher.publish()

    partitions = watched.sink.counters[-1]["partitions"]
    assert [p["device"].rpartition("/")[2] for p in partitions] == ["device:CPU:0", "device:CPU:1"]
    assert all(p["done"] == p["total"] for p in partitions)
    scene = watched.sink.scenes[0]
    ops = {(scene.nodes[source].op, scene.nodes[to].op) for source, _, to, _ in scene.edges}
    assert ("_Send", "_Recv") in ops


def test_a_watch_lets_go_of_its_sessions(graph: Any) -> None:
    """After the block no observer is left, and the thread has ended."""
    x = tf.constant(1.0)
    with tf.Session() as session:
        events = events_of(session)
        assert events is not None
        with Watch(keeps_summary=False) as watch:
            assert len(events.observers) == 1
            session.run(x)
        assert events.observers == ()

    assert not [t for t in threading.enumerate() if t.name == "tfnb-publisher"]
    assert watch.model.steps_done == 1
    assert watch.summary().startswith("done: 1 step")


def test_a_sink_that_fails_does_not_stop_the_steps(
    graph: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """An error of the sink does not affect the steps."""
    with tf.Session() as session:
        watched = Watched(session)
        watched.sink.show = None  # type: ignore[assignment, method-assign]
        session.run(tf.constant(1.0))
        watched.publisher.stop()

    assert "go on unseen" in caplog.text


def test_frames_are_known_whatever_is_read_first() -> None:
    """A row appears with the first iteration that is read; earlier ones count as ended."""
    book = FrameBook()
    book.enter(0, frame_id=7, parent=0, name_index=0)
    book.iteration_started(0, 7, 41, "CPU:0", ("loop",))
    book.iteration_started(0, 7, 42, "CPU:0", ("loop",))
    (row,) = book.rows()
    assert (row.name, row.iteration, row.live) == ("loop", 42, 2)

    book.iteration_done(0, 7, 42)
    assert book.rows()[0].live == 0
    book.frame_done(0, 7)
    assert book.rows()[0].is_done
    book.iteration_started(0, 99, 0, "CPU:0", ("loop",))  # a frame nobody told of
    assert len(book.rows()) == 1


def test_the_user_chooses_which_of_alternating_steps_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Steps of the chosen signature are shown; without a choice, those that take longest."""
    note_time = StepModel._note_time

    def note_known_time(model: StepModel, key: tuple[int, int], _: int) -> None:
        is_long = model._signatures[key].partitioned.fetches[0] == "long/Exit:0"
        note_time(model, key, 1000 if is_long else 10)

    # On a busy machine a short step may take longer than a long one.
    monkeypatch.setattr(StepModel, "_note_time", note_known_time)
    monkeypatch.setattr(step_model, "STAYS_NS", 10**15)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [], name="x")
        short = tf.negative(x, name="short")
        long = tf.while_loop(lambda i: i < 200, lambda i: i + 1, [0], name="long")
        watched = Watched(session)
        watched.model.offers_choice = watched.model.is_open = True

        def step_shown(*fetches: Any) -> str:
            for fetch in fetches:
                session.run(fetch, {x: 1.0})
            watched.publisher.publish()
            step = watched.model.step
            assert step is not None
            return step.signature.partitioned.fetches[0]

        assert step_shown(short, long, short, long, short) == "long/Exit:0"
        choices = watched.sink.counters[-1]["choices"]
        assert [(one["number"], one["what"], one["steps"]) for one in choices] == [
            (0, "short:0", 3),
            (1, "long/Exit:0", 2),
        ]
        assert watched.sink.counters[-1]["chosen"] is None

        watched.model.wanted = 0
        assert watched.publisher.publish()  # at once, though no step runs
        assert "short" in {node.name for node in watched.sink.scenes[-1].nodes}
        assert watched.sink.counters[-1]["chosen"] == 0
        assert step_shown(long) == "short:0"
        assert step_shown(short, long) == "short:0"
        assert watched.model.step is not None
        first = watched.model.step.step_id
        assert step_shown(long, short, long) == "short:0"
        assert watched.model.step.step_id > first

        watched.model.wanted = None
        assert step_shown(short, long, short) == "long/Exit:0"
        watched.model.wanted = 17  # there is none: what is shown stays
        assert step_shown(short, long) == "long/Exit:0"
