"""Journals of emitted functions give the events of the reference; see also random_graphs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.common_runtime.lowering.run.replay import JournalReader, replay
from tfnb.core import errors
from tfnb.core.step_events import StepObserver

if TYPE_CHECKING:
    from collections.abc import Callable


class Listener(JournalReader):
    """Records events without their times, and the durations of nodes."""

    def __init__(self, takes_journals: bool, each: bool = False) -> None:
        self.takes_journals = takes_journals  # type: ignore[misc]
        self.times_each_line = each  # type: ignore[misc]
        self.events: Counter[Any] = Counter()
        self.times: Counter[int] = Counter()
        self.journals: list[Any] = []
        self.begun: dict[Any, int] = {}

    def journal_ended(self, step_id: int, journal: Any) -> None:
        """Read the journal."""
        self.journals.append(journal)
        replay(journal, self, step_id)

    def step_started(self, *_: Any) -> None:
        """Separate the steps."""
        self.events.clear()
        self.begun.clear()

    def node_started(self, *event: Any) -> None:  # type: ignore[override]
        """Mark the node as started."""
        self.begun[event[1:-1]] = event[-1]

    def node_done(self, *event: Any) -> None:  # type: ignore[override]
        """Record."""
        _, *place, t_ns, is_dead = event
        self.times[place[1]] += t_ns - self.begun.pop(tuple(place))
        self.events[*place, is_dead] += 1

    def iteration_started(self, *event: Any) -> None:  # type: ignore[override]
        """Record."""
        self.events["begins", *event[1:-1]] += 1

    def frame_entered(self, *event: Any) -> None:  # type: ignore[override]
        """Record."""
        self.events["entered", *event[1:-1]] += 1


def nested() -> tuple[Any, dict[Any, Any]]:
    """Build a choice and a loop in each iteration; the inner loop is not always entered."""
    x = tf.placeholder(tf.float32, [])
    rows = tf.placeholder(tf.float32, [3])

    def body(i: Any, total: Any) -> Any:
        more = tf.cond(
            tf.equal(i % 2, 0),
            lambda: tf.while_loop(lambda j, _: j < i, lambda j, v: (j + 1, v + x), [0, total])[1],
            lambda: total * tf.reduce_sum(rows),
        )
        return i + 1, more

    return tf.while_loop(lambda i, _: i < 6, body, [0, x])[1], {x: 2.0, rows: np.ones(3)}


def arrays() -> tuple[Any, dict[Any, Any]]:
    """Build variables, products, and ops that pass their input on."""
    x = tf.placeholder(tf.float32, [4, 4])
    weights = tf.Variable(tf.ones([4, 4]), use_resource=False)
    y = tf.nn.relu(tf.matmul(x, weights)) + tf.add_n([x, x, x, x])
    with tf.control_dependencies([weights.assign_add(x)]):
        return tf.identity(y), {x: np.ones((4, 4))}


def heard(build: Callable[[], Any], listener: StepObserver, runs: int = 3) -> tf.Session:
    """Return a session in which a graph ran a few times."""
    with tf.Graph().as_default() as graph:
        fetch, feeds = build()
        init = tf.global_variables_initializer()
    session = tf.Session(graph=graph)
    session.run(init)
    session.runtime.step_events.add(listener)
    for _ in range(runs):
        session.run(fetch, feeds)
    return session


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("build", [nested, arrays])
def test_a_journal_says_what_the_reference_tells(build: Callable[[], Any], each: bool) -> None:
    """The journal has every node in its frame and iteration, live or dead."""
    written, told = Listener(True, each), Listener(False)
    heard(build, written)
    heard(build, told)
    assert written.events == told.events
    assert written.journals
    assert not written.begun


def test_only_what_calculates_takes_time() -> None:
    """Constants, Switches and Merges take no time."""
    listener = Listener(True)
    session = heard(nested, listener)
    view = listener.journals[-1].emitted.nodes
    idle = ("Const", "Enter", "Exit", "Switch", "Merge", "NextIteration", "LoopCond", "_Arg")
    assert sum(listener.times[item.id] for item in view if item.op in idle) == 0
    assert all(listener.times[item.id] > 0 for item in view if item.op == "Sum")
    session.close()


def test_a_journal_of_numbers_takes_a_few_entries_an_iteration() -> None:
    """A journal has one entry per iteration and one per side of its cond."""
    with tf.Graph().as_default() as graph:
        limit = tf.placeholder(tf.int32, [])
        fetch = tf.while_loop(
            lambda i, _: i < limit,
            lambda i, v: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: v + 1.0, lambda: v * 0.5)),
            [0, 0.0],
        )[1]
    listener = Listener(True)
    with tf.Session(graph=graph) as session:
        session.runtime.step_events.add(listener)
        session.run(fetch, {limit: 100})
    assert len(listener.journals[-1].entries) <= 100 + 50 + 6


def test_a_full_journal_tells_of_the_first_iterations() -> None:
    """A full journal has the first iterations, and counts the others."""

    class Short(Listener):
        def journal_began(self, step_id: int, journal: Any) -> None:
            """Shorten the journal."""
            journal.most = 50

    listener = Short(True)
    with tf.Graph().as_default() as graph:
        fetch = tf.while_loop(lambda i: i < 5000, lambda i: i + 1, [0])
    with tf.Session(graph=graph) as session:
        session.runtime.step_events.add(listener)
        assert session.run(fetch) == 5000
    journal = listener.journals[-1]
    assert len(journal.entries) < 60
    assert 40 < sum(1 for what in listener.events if what[0] == "begins") < 60
    assert journal.counts.num_events > 50_000


@pytest.mark.parametrize("each", [False, True])
def test_a_step_that_fails_is_written_down_until_it_does(each: bool) -> None:
    """The failing node has started and has not ended."""
    with tf.Graph().as_default() as graph:
        fetch = tf.while_loop(
            lambda i, _: i < 9, lambda i, v: (i + 1, v // (3 - i)), [0, tf.constant(5)]
        )
    listener = Listener(True, each)
    with tf.Session(graph=graph) as session:
        session.runtime.step_events.add(listener)
        with pytest.raises(errors.InvalidArgumentError, match="zero"):
            session.run(fetch)
    (journal,) = listener.journals
    ((place, _),) = listener.begun.items()
    names = [journal.emitted.nodes[place[1]].op, place[3]]
    assert names == ["FloorDiv", 3]
    assert listener.events["begins", 0, 1, 3] == 1
    assert listener.events["begins", 0, 1, 4] == 0


def test_observers_of_counts_and_of_journals_share_a_function() -> None:
    """One function serves observers of counts and of journals."""

    class Counts(StepObserver):
        takes_counts = True
        total = 0

        def node_done(self, *_: Any) -> None:  # type: ignore[override]
            """Unused."""
            raise AssertionError

        def step_counted(self, step_id: int, counts: Any) -> None:
            """Record."""
            self.total = counts.total

    counts, listener = Counts(), Listener(True)
    with tf.Graph().as_default() as graph:
        fetch, feeds = nested()
    with tf.Session(graph=graph) as session:
        session.runtime.step_events.add(counts)
        session.runtime.step_events.add(listener)
        session.run(fetch, feeds)
    assert counts.total == sum(
        times for what, times in listener.events.items() if what[0] not in ("begins", "entered")
    )


def test_an_observer_of_nodes_has_the_reference_run() -> None:
    """An observer of nodes needs each event as it happens."""
    plain, listener = Listener(False), Listener(True)
    with tf.Graph().as_default() as graph:
        fetch, feeds = nested()
    with tf.Session(graph=graph) as session:
        session.runtime.step_events.add(plain)
        session.runtime.step_events.add(listener)
        session.run(fetch, feeds)
    assert listener.journals == []
    assert plain.events == listener.events
