"""Emitted functions record the same values of watched tensors that a debugger sees."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest

import tfnb as tf
from tests.random_graphs.case import Case, array_of
from tests.random_graphs.generator import case_of_seed
from tests.random_graphs.ways import Events, _on_one_device, plain_config
from tests.repeats import few
from tfnb.client.debugger.debugger import Debugger
from tfnb.common_runtime.lowering.run.step_way import Lowering, lowering
from tfnb.common_runtime.session.session_factory import SessionOptions, new_session
from tfnb.core import errors
from tfnb.core.step_events import StepObserver
from tfnb.proto import graph_pb2

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.client.debugger.watched_tensor import WatchedTensor


def choices() -> tuple[Any, dict[Any, Any]]:
    """A loop with a choice in each iteration, and a variable that changes behind it."""
    limit = tf.placeholder(tf.int32, [])
    total = tf.get_variable("total", initializer=tf.zeros([2]), use_resource=False)

    def body(i: Any, rows: Any) -> Any:
        more = tf.cond(tf.equal(i % 2, 0), lambda: rows + 1.0, lambda: rows * 0.5, name="choice")
        return i + 1, more

    _, rows = tf.while_loop(lambda i, _: i < limit, body, [0, tf.ones([2])], name="loop")
    return tf.identity(total.assign_add(rows), name="sum"), {limit: 5}


def nested() -> tuple[Any, dict[Any, Any]]:
    """An inner loop that is not always entered."""
    x = tf.placeholder(tf.float32, [])

    def body(i: Any, v: Any) -> Any:
        return i + 1, tf.cond(
            i % 3 > 0,
            lambda: tf.while_loop(
                lambda j, _: j < i, lambda j, w: (j + 1, w + x), [0, v], name="inner"
            )[1],
            lambda: v,
        )

    return tf.while_loop(lambda i, _: i < 5, body, [0, 1.0], name="outer")[1], {x: 2.0}


def graph_of(build: Callable[[], Any]) -> tuple[tf.Graph, Any, dict[Any, Any], Any]:
    """Return the graph, its fetches and feeds, and the initializer."""
    with tf.Graph().as_default() as graph:
        fetch, feeds = build()
        init = tf.global_variables_initializer()
    return graph, fetch, feeds, init


def rows_of(watched: WatchedTensor) -> list[tuple[Any, ...]]:
    """Frame, iteration and value of each row."""
    found = []
    for row in watched.values:
        value = None if row.value is None else np.asarray(row.value).tolist()
        found.append((row.frame, row.iteration, value))
    return found


@pytest.mark.parametrize("build", [choices, nested])
def test_an_emitted_function_keeps_what_goes_by(build: Callable[[], Any]) -> None:
    """All outputs of all nodes are compared, also dead ones and variables."""
    graph, fetch, feeds, init = graph_of(build)
    with tf.Session(graph=graph) as session:
        for op in graph.get_operations():
            for output in op.outputs:
                found = []
                for only_watches in (False, True):
                    session.run(init)
                    debugger = Debugger(session, only_watches=only_watches)
                    watched = debugger.watch(output.name)
                    with debugger:
                        for _ in range(2):
                            session.run(fetch, feeds)
                    # Iterations of an inner loop may overtake those of another one.
                    found.append(Counter(map(repr, rows_of(watched))))
                assert found[0] == found[1], output.name


def test_of_many_values_the_latest_are_kept() -> None:
    """An endless loop drops its oldest recorded values."""
    with tf.Graph().as_default() as graph:
        fetch = tf.while_loop(lambda i: i < 5000, lambda i: tf.add(i, 1, name="next"), [0])
    with tf.Session(graph=graph) as session:
        debugger = Debugger(session, only_watches=True)
        watched = debugger.watch("while/next", keep=20)
        with debugger:
            session.run(fetch)
            journals = [journal for _, journal, _ in watched._journals]
        assert [len(journal.entries) < 500 for journal in journals] == [True]
        last = [row for row in watched.values if row.value is not None]
        assert [(row.iteration, int(row.value)) for row in last] == [
            (i, i + 1) for i in range(5000 - len(last), 5000)
        ]
        assert len(watched.values) == 20


def test_of_many_steps_only_those_are_read_that_have_the_latest_values() -> None:
    """Journals of older steps are dropped, and no values are computed before they are read."""
    graph, fetch, feeds, init = graph_of(choices)
    with tf.Session(graph=graph) as session:
        session.run(init)
        for name, keep, num_journals in (("loop/add", 12, 2), ("sum", 4, 4)):
            debugger = Debugger(session, only_watches=True)
            watched = debugger.watch(name, keep=keep)
            with debugger:
                for _ in range(9):
                    session.run(fetch, feeds)
            assert len(watched._journals) == num_journals
            sizes = [len(journal.entries) for _, journal, _ in watched._journals]
            assert watched._num_entries == sum(sizes)
            assert len(watched.values) == keep
            if name == "loop/add":
                assert [row.iteration for row in watched.values] == [0, 1, 2, 3, 4, 5] * 2


def test_two_tensors_of_a_loop_have_all_their_values_and_share_a_function() -> None:
    """Both tensors are recorded by one function, over several steps."""
    graph, fetch, feeds, init = graph_of(choices)
    with tf.Session(graph=graph) as session:
        session.run(init)
        debugger = Debugger(session, only_watches=True)
        one, other = debugger.watch("loop/add"), debugger.watch("loop/choice/Merge")
        with debugger:
            session.run(fetch, feeds)
            session.run(fetch, feeds)
            assert one._journals
            assert one._journals[0][1] is other._journals[0][1]
    assert [int(row.value) for row in one.values if row.value is not None] == [1, 2, 3, 4, 5] * 2
    assert other.stacked().shape == (5, 2)
    assert len({row.step_id for row in one.values}) == 2


def test_tensors_of_a_loop_in_the_others_loop_are_seen_node_by_node() -> None:
    """The latest values of both tensors are kept, however often the inner loop runs."""
    graph, fetch, feeds, _ = graph_of(nested)
    with tf.Session(graph=graph) as session:
        debugger = Debugger(session, only_watches=True)
        outer, inner = debugger.watch("outer/add"), debugger.watch("outer/cond/inner/add_1")
        with debugger:
            session.run(fetch, feeds)
        assert not outer._journals
        assert len([row for row in outer.values if row.value is not None]) == 5
        assert len(inner.values) > 5


def test_with_an_observer_of_nodes_the_values_are_kept_too() -> None:
    """An observer of nodes makes the step run node by node, and the values are kept as well."""

    class Plain(StepObserver):
        num_nodes = 0

        def node_done(self, *_: Any) -> None:  # type: ignore[override]
            """Count."""
            self.num_nodes += 1

    graph, fetch, feeds, init = graph_of(choices)
    with tf.Session(graph=graph) as session:
        session.run(init)
        plain, debugger = Plain(), Debugger(session, only_watches=True)
        session.runtime.step_events.add(plain)
        watched = debugger.watch("loop/add")
        with debugger:
            session.run(fetch, feeds)
    assert plain.num_nodes > 50
    assert len(watched.values) == 6


def test_a_step_that_fails_leaves_its_values() -> None:
    """Values up to the failing node are kept."""
    with tf.Graph().as_default() as graph:
        fetch = tf.while_loop(
            lambda i, _: i < 9,
            lambda i, v: (i + 1, tf.floordiv(v, 3 - i, name="quotient")),
            [0, tf.constant(50)],
        )
    with tf.Session(graph=graph) as session:
        debugger = Debugger(session, only_watches=True)
        watched = debugger.watch("while/quotient")
        with debugger, pytest.raises(errors.InvalidArgumentError, match="zero"):
            session.run(fetch)
    assert [int(row.value) for row in watched.values] == [16, 8, 8]


def _kept(
    case: Case, names: list[str], only_watches: bool, events: Events | None = None
) -> dict[str, Any]:
    """Return values of tensors in a script of a random graph, or the error of its first step."""
    found: dict[str, Any] = {}
    for name in names:
        native = new_session(SessionOptions("", plain_config()))
        if events is not None:
            events.attach(native)
        native.create(case.fill(graph_pb2.GraphDef()))
        debugger = Debugger(events=native.step_events, only_watches=only_watches)
        watched = debugger.watch(name)
        with debugger, lowering(Lowering.ALWAYS):
            for step in case.steps:
                feeds = {key: array_of(value) for key, value in step.feeds.items()}
                fetches = [one for one in dict.fromkeys(step.fetches) if one not in feeds]
                try:
                    native.run(feeds, fetches, step.targets)
                except errors.OpError:
                    break
        native.close()
        found[name] = Counter(map(repr, rows_of(watched)))
        if events is not None:
            found[f"events of {name}"] = events.take()
    return found


@pytest.mark.parametrize("seed", few(range(100_200, 100_206), 2))
def test_emitted_functions_of_random_graphs_keep_what_goes_by(seed: int) -> None:
    """Some outputs of each random graph are compared."""
    case = _on_one_device(case_of_seed(seed))
    names = [f"{node.name}:0" for node in case.nodes if node.op not in ("NoOp", "Assert")][::9]
    assert _kept(case, names, True) == _kept(case, names, False)


@pytest.mark.parametrize("seed", few(range(100_200, 100_206), 2))
def test_a_step_is_recorded_while_its_values_are_kept(seed: int) -> None:
    """On random graphs, events and values are those of a step that runs node by node."""
    case = _on_one_device(case_of_seed(seed))
    names = [f"{node.name}:0" for node in case.nodes if node.op not in ("NoOp", "Assert")][::17]
    written, told = Events(True), Events(False)
    assert _kept(case, names, True, written) == _kept(case, names, False, told)
    assert written.num_journals > 0


def test_the_latest_values_are_kept_of_a_step_whose_record_is_full() -> None:
    """The step's record and the watched values have separate limits."""

    class Recorded(StepObserver):
        takes_journals = True
        journals: ClassVar[list[Any]] = []

        def node_done(self, *_: Any) -> None:  # type: ignore[override]
            """Declare that this observer takes nodes."""

        def journal_began(self, step_id: int, journal: Any) -> None:
            """Shorten the journal."""
            journal.most = 50
            self.journals.append(journal)

    with tf.Graph().as_default() as graph:
        fetch = tf.while_loop(lambda i: i < 5000, lambda i: tf.add(i, 1, name="next"), [0])
    with tf.Session(graph=graph) as session:
        session.runtime.step_events.add(Recorded())
        debugger = Debugger(session, only_watches=True)
        watched = debugger.watch("while/next", keep=20)
        with debugger:
            session.run(fetch)
    assert [len(journal.entries) < 60 for journal in Recorded.journals] == [True]
    assert [int(row.value) for row in watched.values if row.value is not None][-1] == 5000
