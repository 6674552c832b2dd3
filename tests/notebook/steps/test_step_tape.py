"""The tape of a step has the events and living tensors of a plain observer."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.core import op_registry
from tfnb.core.attr_value import NameAttrList
from tfnb.core.op_traits import Trait
from tfnb.core.resource_mgr import RefCell
from tfnb.core.step_events import StepObserver
from tfnb.framework.functions.function import Defun
from tfnb.notebook.steps import step_tape
from tfnb.notebook.steps.run_record import RunTape
from tfnb.notebook.steps.step_tape import (
    DEAD,
    DONE,
    FRAME_DONE,
    FRAME_ENTERED,
    INSIDE,
    ITERATION_DONE,
    ITERATION_STARTED,
    RECEIVED,
    SENT,
    STARTED,
    TapeReader,
)
from tfnb.notebook.views.record import Recording
from tfnb.ops.control import functional_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.notebook.steps.run_record import RunRecord


class PlainListener(StepObserver):
    """Computes events and living tensors at once."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.made: list[tuple[int, int, int, int]] = []
        self.live: list[set[int]] = []
        self._ops: Sequence[Sequence[str]] = ()
        self._followed: list[tuple[weakref.ref[Any], int]] = []

    def graph_partitioned(self, partitioned: Any) -> None:
        """Read the ops."""
        self._ops = [view.node_ops for view in partitioned.partitions]

    def step_started(self, *_: Any) -> None:
        """Clear: only the last step is compared."""
        self.events, self.made, self.live, self._followed = [], [], [], []

    def node_started(self, step: int, part: int, node: int, frame: int, k: int, t: int) -> None:  # type: ignore[override]
        """Record."""
        self.events.append((STARTED, part, frame, k, node, t))

    def node_done(  # type: ignore[override]
        self, step: int, part: int, node: int, frame: int, k: int, t: int, is_dead: bool
    ) -> None:
        """Record."""
        self.events.append((DEAD if is_dead else DONE, part, frame, k, node, t))

    def frame_entered(self, step: int, part: int, frame: int, *rest: int) -> None:  # type: ignore[override]
        """Record."""
        self.events.append((FRAME_ENTERED, part, frame, 0, -1, rest[-1]))

    def iteration_started(self, step: int, part: int, frame: int, k: int, t: int) -> None:  # type: ignore[override]
        """Record."""
        self.events.append((ITERATION_STARTED, part, frame, k, -1, t))

    def iteration_done(self, step: int, part: int, frame: int, k: int, t: int) -> None:  # type: ignore[override]
        """Record."""
        self.events.append((ITERATION_DONE, part, frame, k, -1, t))

    def frame_done(self, step: int, part: int, frame: int, t: int) -> None:  # type: ignore[override]
        """Record."""
        self.events.append((FRAME_DONE, part, frame, 0, -1, t))

    def tensor_sent(self, step: int, part: int, node: int, size: int, t: int) -> None:  # type: ignore[override]
        """Record."""
        self.events.append((SENT, part, 0, size, node, t))

    def tensor_received(self, step: int, part: int, node: int, size: int, t: int) -> None:  # type: ignore[override]
        """Record."""
        self.events.append((RECEIVED, part, 0, size, node, t))

    def tensors_made(self, step: int, part: int, node: int, outputs: Any) -> None:  # type: ignore[override]
        """Check all followed tensors."""
        for slot, given in enumerate(outputs):
            value = given.value if isinstance(given, RefCell) else given
            if not isinstance(value, np.ndarray) or not value.shape:
                continue
            owner = value
            while isinstance(owner.base, np.ndarray):
                owner = owner.base
            if any(reference() is owner for reference, _ in self._followed):
                continue
            row = -1
            traits = op_registry.get(self._ops[part][node]).traits
            if value is given and traits.isdisjoint((Trait.LENDS, Trait.FROM_BEFORE)):
                row = len(self.made)
                self.live.append({old for one, old in self._followed if one() is not None} - {-1})
                self.made.append((part, node, slot, owner.nbytes))
            self._followed.append((weakref.ref(owner), row))


def chain() -> Any:
    """Vectors, views of them, and unused ones."""
    x = y = tf.random_uniform([16])
    for i in range(12):
        y = y * 2.0 if i % 3 else y + x[:16]
    top, where = tf.nn.top_k(y, 4)
    return tf.reduce_sum(tf.reshape(y, [4, 4])[1:]) + tf.reduce_sum(top), tf.split(y, 2)[1], where


def loop() -> Any:
    """Iterations in flight with a cond and a loop in each."""

    def body(i: Any, total: Any) -> Any:
        one = tf.cond(tf.equal(i % 2, 0), lambda: total + 1.0, lambda: total * 0.5)
        _, two = tf.while_loop(lambda j, _: j < 2, lambda j, v: (j + 1, v + one), [0, one])
        return i + 1, two

    return tf.while_loop(lambda i, _: i < 5, body, [0, tf.ones([8])], parallel_iterations=3)[1]


def training() -> Any:
    """Variables of both kinds, and updates."""
    old = tf.Variable(tf.ones([6, 3]), use_resource=False)
    new = tf.Variable(tf.ones([3, 6]), use_resource=True)
    loss = tf.reduce_mean(tf.square(tf.matmul(old, new) - 2.0))
    return loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss)


def queue() -> Any:
    """An asynchronous kernel."""
    line = tf.FIFOQueue(9, tf.float32, shapes=[[7]])
    with tf.control_dependencies([line.enqueue(tf.random_uniform([7]))]):
        return line.dequeue() * 2.0


def devices() -> Any:
    """Two of them."""
    with tf.device("/cpu:1"):
        y = tf.exp(tf.random_uniform([5]))
    with tf.device("/cpu:0"):
        return y + 1.0


@pytest.mark.parametrize("build", [chain, loop, training, queue, devices])
def test_a_tape_has_the_events_of_a_plain_observer(build: Callable[[], Any]) -> None:
    """Events have the same times; the same tensors live when each tensor is made."""
    with tf.Graph().as_default() as graph:
        fetches = build()
        init = tf.global_variables_initializer()
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Session(graph=graph, config=config) as session:
        session.run(init)
        listener = PlainListener()
        recorder = RunTape(lambda: graph)
        session.runtime.step_events.add(listener)
        session.runtime.step_events.add(recorder)
        session.run(fetches)
    reader = TapeReader(recorder.done[-1])
    assert [tuple(event) for event in reader.events] == listener.events
    assert reader.dropped == 0
    assert [(*row[:3], row[4]) for row in reader.made] == listener.made
    assert len(listener.made) > 1
    record = recorder.latest()
    assert record is not None
    tensors = record.tensors
    for row, before in enumerate(listener.live):
        moment = tensors.made_ns[row]
        live = {int(one) for one in tensors.live_at(moment) if one < row}
        assert live == before
        held = sum(listener.made[one][3] for one in {*before, row})
        assert tensors.peak()[1] >= held
    highest = max(
        sum(listener.made[one][3] for one in {*before, row})
        for row, before in enumerate(listener.live)
    )
    assert tensors.peak()[1] == highest


@pytest.mark.parametrize("build", [chain, loop, training])
def test_a_tape_of_an_emitted_function_says_what_one_of_the_reference_does(
    build: Callable[[], Any],
) -> None:
    """Events are equal except for their order, tensors are equal, and each end is recorded."""
    found = []
    for watches in (False, True):
        with tf.Graph().as_default() as graph:
            tf.set_random_seed(1)
            fetches = build()
            init = tf.global_variables_initializer()
        with tf.Session(graph=graph) as session:
            session.run(init)
            tape = RunTape(lambda graph=graph: graph)  # type: ignore[misc]
            session.runtime.step_events.add(tape)
            if watches:
                session.runtime.step_events.add(PlainListener())
            for _ in range(3):
                session.run(fetches)
        reader = TapeReader(tape.done[-1])
        assert reader.dropped == 0
        assert (tape.done[-1].journal is None) == watches
        assert [event[5] for event in reader.events] == sorted(event[5] for event in reader.events)
        record = tape.latest()
        assert record is not None
        found.append(
            (
                sorted(tuple(event[:5]) for event in reader.events),
                sorted((*row[:3], row[4], row[6]) for row in reader.made),
                sorted(map(tuple, (frame[:-1] for frame in reader.frames))),
            )
        )
        # Fetched tensors live on.
        held = int(np.isinf(record.tensors.freed_ns).sum())
        found[-1] = (*found[-1], held)
    assert found[0] == found[1]


def plain_calls() -> Any:
    """A configuration that keeps calls."""
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    return config


def recorded(build: Callable[[], Any], runs: int = 2) -> RunRecord:
    """Return the record of the last of some runs of a graph with calls."""
    with tf.Graph().as_default() as graph:
        fetches = build()
    with tf.Session(graph=graph, config=plain_calls()) as session, Recording() as recording:
        for _ in range(runs):
            session.run(fetches)
    return recording.record


def tensors_of(record: RunRecord) -> list[tuple[str, int, float]]:
    """Return node, output and bytes of each tensor."""
    found = record.tensors
    return [
        (record.scene.nodes[node].op, slot, size)
        for node, slot, size in zip(found.node, found.slot.tolist(), found.num_bytes.tolist())
    ]


def widening() -> Defun:
    """Build a function that makes 1 KiB, then 2 KiB, and returns the first 1 KiB of a sum."""

    @Defun(tf.float32, func_name="Widen")
    def widen(x: Any) -> Any:
        wide = tf.concat([x, x], 0)
        return tf.concat([wide, wide], 0)[:256] + 1.0

    return widen


@pytest.mark.parametrize("op", ["PartitionedCall", "StatefulPartitionedCall", "Widen"])
def test_what_a_call_makes_inside_counts_as_that_node_s(op: str) -> None:
    """Its peak is in the curve, results keep their numbers, and freed tensors end."""
    widen = widening()

    def build() -> Any:
        x = tf.random_uniform([128])
        if op == "Widen":
            return widen(x)
        widen.add_to_graph(tf.get_default_graph())
        make = functional_ops.partitioned_call
        if op.startswith("Stateful"):
            make = functional_ops.stateful_partitioned_call
        return make([x], Tout=[tf.float32], f=NameAttrList("Widen", {}))

    record = recorded(build)
    found = [row for row in tensors_of(record) if row[0] == op]
    assert found == [(op, INSIDE, 1024), (op, INSIDE, 2048), (op, 0, 1024)]
    # 0.5 KiB from outside, and the tensors made from it.
    assert record.tensors.peak()[1] >= 512 + 1024 + 2048
    of_call = np.isin(record.tensors.slot, [INSIDE])
    assert np.isfinite(record.tensors.freed_ns[of_call]).all()


def test_loops_and_choices_that_call_are_followed_calls_in_calls_too() -> None:
    """A While's iterations, the taken branch of an If, and a call in a body are followed."""
    widen = widening()

    @Defun(tf.int32, tf.float32, func_name="Goes")
    def goes(i: Any, x: Any) -> Any:
        return i < 3

    @Defun(tf.int32, tf.float32, func_name="Next")
    def following(i: Any, x: Any) -> Any:
        return i + 1, widen(x[:128]) * 2.0

    @Defun(tf.float32, func_name="Left")
    def left(x: Any) -> Any:
        return tf.exp(x)

    def build() -> Any:
        for one in (goes, following, left, widen):
            one.add_to_graph(tf.get_default_graph())
        state = [tf.constant(0), tf.random_uniform([256])]
        _, x = functional_ops.while_(
            state, cond=NameAttrList("Goes", {}), body=NameAttrList("Next", {})
        )
        return functional_ops.if_(
            x[0] > -1.0,
            [x],
            Tout=[tf.float32],
            then_branch=NameAttrList("Left", {}),
            else_branch=NameAttrList("Left", {}),
        )

    found = tensors_of(recorded(build))
    in_loop = [size for op, _, size in found if op == "While"]
    assert sorted(in_loop) == sorted([1024.0, 2048.0, 1024.0, 1024.0] * 3)
    assert [slot for op, slot, _ in found if op == "While"].count(1) == 1
    assert [row for row in found if row[0] == "If"] == [("If", 0, 1024.0)]


def test_a_body_that_waits_is_followed_in_its_iteration() -> None:
    """The call joins the step; its tensors belong to the calling iteration."""
    line = None

    @Defun(tf.float32, func_name="Take")
    def take(x: Any) -> Any:
        return (line.dequeue() + x) * tf.exp(x)  # type: ignore[attr-defined]

    def build() -> Any:
        nonlocal line
        line = tf.FIFOQueue(9, tf.float32, shapes=[[32]])
        put = line.enqueue_many([tf.ones([3, 32])])
        result = tf.while_loop(
            lambda i, _: i < 3,
            lambda i, x: (i + 1, tf.ensure_shape(take(x), [32])),
            [0, tf.ones([32])],
        )
        return result[1], put

    record = recorded(build)
    calls = [
        (int(k), slot)
        for (op, slot, _), k in zip(tensors_of(record), record.tensors.iteration)
        if op == "Take"
    ]
    assert sorted({k for k, _ in calls}) == [0, 1, 2]
    assert [slot for _, slot in calls].count(0) == 3
    assert len(calls) == 3 * 4


def test_a_full_tape_counts_and_lets_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors held when the tape was full end when they are freed; a looping body is bounded."""
    monkeypatch.setattr(step_tape, "MAX_EVENTS", 50)

    def build() -> Any:
        return tf.while_loop(
            lambda i, _: i < 500, lambda i, x: (i + 1, x + 1.0), [0, tf.ones([64])]
        )[1]

    with tf.Graph().as_default() as graph:
        fetch = build()
    with tf.Session(graph=graph) as session:
        recorder = RunTape(lambda: graph)
        session.runtime.step_events.add(recorder)
        session.run(fetch)
    record = recorder.latest()
    assert record is not None
    assert record.num_events == 50
    assert record.dropped > 500
    assert len(recorder.done[-1].raw) < 1000
    assert np.isfinite(record.tensors.freed_ns).all()


def test_steps_of_several_threads_have_a_tape_each() -> None:
    """The tapes have no event in common."""
    from concurrent.futures import ThreadPoolExecutor

    with tf.Graph().as_default() as graph:
        fetch = chain()
    with tf.Session(graph=graph) as session, Recording() as recording:
        session.run(fetch)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: session.run(fetch), range(7)))
    first, *others = recording.records
    assert len(others) == 7
    for one in others:
        assert sorted(zip(one.node.tolist(), one.kind.tolist())) == sorted(
            zip(first.node.tolist(), first.kind.tolist())
        )
        assert tensors_of(one) == tensors_of(first)


def test_a_trace_of_the_same_step_hides_no_call() -> None:
    """Both observers see the tensors of calls."""
    widen = widening()
    with tf.Graph().as_default() as graph:
        fetch = widen(tf.random_uniform([128]))
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    metadata = tf.RunMetadata()
    with tf.Session(graph=graph, config=plain_calls()) as session, Recording() as recording:
        session.run(fetch, options=options, run_metadata=metadata)
    assert ("Widen", INSIDE, 2048) in tensors_of(recording.record)
    sizes = [
        memory.peak_bytes
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
        for memory in node.memory
    ]
    assert 2048 in sizes
