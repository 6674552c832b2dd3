"""A debugged step is an emitted function until a breakpoint is near; then it runs node by node."""

from __future__ import annotations

import random
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.random_graphs.generator import case_of_seed
from tests.random_graphs.ways import (
    _on_one_device,
    left,
    never_lowered,
    spread,
    stands_still,
    stops,
)
from tests.repeats import few
from tfnb.client.debugger.breakpoints import value_test
from tfnb.client.debugger.debugger import Debugger
from tfnb.common_runtime.executor.run_state import Leave
from tfnb.common_runtime.lowering.run.step_way import Lowering

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.random_graphs.case import Case


def nested() -> Any:
    """A choice and a loop in each iteration."""

    def body(i: Any, total: Any) -> Any:
        more = tf.cond(
            tf.equal(i % 2, 0),
            lambda: tf.while_loop(
                lambda j, _: j < i, lambda j, v: (j + 1, v + 2.0), [0, total], name="inner"
            )[1],
            lambda: total * 0.5,
        )
        return i + 1, tf.identity(more, name="more")

    start = tf.random_uniform([2], seed=1)
    return tf.while_loop(lambda i, _: i < 40, body, [0, start], name="outer")[1]


@pytest.fixture
def session() -> Any:
    """A session on that loop, whose function has been emitted."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(3)
        nested()
    with tf.Session(graph=graph) as session:
        yield session


def left_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A growing list of the places where functions were left."""
    from tfnb.common_runtime.lowering.run import lowered_step

    found: list[int] = []
    go_on = lowered_step.go_on

    def noting(executors: Any, emitted: Any, line: int, values: Any) -> None:
        go_on(executors, emitted, line, values)
        found.append(max((turn for _, turn in emitted.loops_around(line, values)), default=-1))

    monkeypatch.setattr(lowered_step, "go_on", noting)
    return found


# Where the nodes of random graphs are.
PLACED = pytest.mark.parametrize("is_spread", [False, True], ids=["one device", "three devices"])


def _cases(seeds: range, *, is_spread: bool) -> Iterator[tuple[int, Case]]:
    """The graphs of these seeds; the spread ones without those that devices refuse."""
    for seed in seeds:
        case = case_of_seed(seed)
        if not is_spread:
            yield seed, _on_one_device(case)
        elif not case.is_odd:
            yield seed, spread(case)


def test_a_loop_is_left_when_its_iteration_comes(
    session: tf.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The debugger stops in that iteration, reads and changes values; the result is right."""
    places, seen = left_at(monkeypatch), list[Any]()

    def look(stop: Any) -> None:
        ((name, value),) = stop.inputs
        seen.append((stop.node, stop.iteration, value.shape))
        debugger.set_value(name, np.zeros(2, np.float32))

    debugger = Debugger(session, on_stop=lambda stop: (look(stop), debugger.resume()))
    debugger.break_at("outer/NextIteration_1", iteration=37)
    with debugger:
        found = session.run("outer/Exit_1:0")
    assert places == [37]
    assert seen == [("outer/NextIteration_1", 37, (2,))]
    # Zero, then 38 iterations of the inner loop that add two, then half of that.
    assert found.tolist() == [38.0, 38.0]


def test_steps_without_a_breakpoint_s_node_are_not_left(
    session: tf.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps without the node of a breakpoint stay emitted functions with the same results."""
    places = left_at(monkeypatch)
    want = session.run("outer/Exit:0")
    debugger = Debugger(session)
    debugger.break_at("no/such/node")
    debugger.break_at(op="NoSuchOp", iteration=3)
    debugger.break_at("nowhere/*", condition="max > 1")
    with debugger:
        assert session.run("outer/Exit:0") == want
    assert places == []


@pytest.mark.parametrize("num_before", [0, 2])
def test_a_pause_leaves_a_function(
    session: tf.Session, monkeypatch: pytest.MonkeyPatch, num_before: int
) -> None:
    """A pause stops in the current iteration, also if steps of this signature ran before."""
    with session.graph.as_default():
        # Each iteration waits for the other thread, which thereby detects that the loop runs.
        runs = threading.Event()
        may_go = threading.Event()

        def wait(i: Any) -> Any:
            runs.set()
            may_go.wait()
            return np.int64(i + 1)

        turning = tf.while_loop(
            lambda i: i < 5,
            lambda i: tf.ensure_shape(tf.numpy_function(wait, [i], tf.int64), []),
            [np.int64(0)],
        )
    places = left_at(monkeypatch)
    debugger = Debugger(session).attach()
    may_go.set()
    for _ in range(num_before):
        session.run(turning)
    runs.clear()
    may_go.clear()
    given = []
    thread = threading.Thread(target=lambda: given.append(session.run(turning)))
    thread.start()
    assert runs.wait(60)
    debugger.pause()
    may_go.set()
    stop = debugger.wait_for_stop(30)
    assert stop is not None
    assert stop.reason == "paused"
    debugger.resume()
    thread.join()
    debugger.detach()
    assert given == [5]
    assert places[0] in (0, 1)


def test_a_pause_that_comes_too_late_ends_nothing(session: tf.Session) -> None:
    """A step that runs node by node, or has ended, ignores the request to leave."""
    run_states: list[Any] = []

    def remember(stop: Any) -> None:
        run_states.append(stop._executor.run_state)
        run_states[0].leave_function()
        debugger.resume()

    debugger = Debugger(session, on_stop=remember, stop_at_start=True)
    with debugger:
        session.run("outer/Exit:0")
    run_states[0].leave_function()
    assert not isinstance(run_states[0].stop, Leave)


def _differences(seeds: range, *, is_spread: bool) -> list[Any]:
    found, num_left = [], 0
    for seed, case in _cases(seeds, is_spread=is_spread):
        want = never_lowered(case)
        if stands_still(want):
            continue
        for after in (0, 1, 3, 7, 20, 60):
            got, times = left(case, after)
            num_left += times
            for number, (one, other) in enumerate(zip(want, got, strict=False)):
                if "error" in one and "error" in other:
                    continue  # of several nodes that fail another one may be first
                pair = one.get("values"), other.get("values"), one.get("dead"), other.get("dead")
                if pair[0] != pair[1] or pair[2] != pair[3]:
                    found.append((seed, after, number, pair))
            if not times and after:
                break
    assert num_left >= len(seeds)
    return found


@PLACED
def test_random_graphs_that_are_left_give_what_they_give(is_spread: bool) -> None:
    """Values, dead fetches and states are equal, wherever the function is left."""
    assert _differences(range(100_100, 100_103), is_spread=is_spread) == []


@pytest.mark.slow
@PLACED
@pytest.mark.parametrize("block", few(range(8), 0))
def test_many_random_graphs_that_are_left_give_what_they_give(block: int, is_spread: bool) -> None:
    """Eighty random graphs are compared in the same way."""
    assert _differences(range(10 * block, 10 * block + 10), is_spread=is_spread) == []


_CONDITIONS = (
    "nan", "inf or nan", "max > 2", "min < 0", "mean >= 1", "== 0", "abs max > 4", "dead", "!= 1",
)  # fmt: skip


def _breakpoint(rng: random.Random, names: list[str], ops: list[str]) -> dict[str, Any]:
    """Return a breakpoint on a node, an op, or everything; at a place, on values, or both."""
    found: dict[str, Any] = rng.choice(
        [{"node": rng.choice(names)}, {"node": rng.choice(names)}, {"op": rng.choice(ops)}, {}]
    )
    if not found or rng.random() < 0.6:
        found["condition"] = rng.choice(_CONDITIONS)
        if rng.random() < 0.1:
            bound = rng.choice([1.0, 3.0])
            found["condition"] = lambda stop: any(
                np.any(np.asarray(value) == bound)
                for value in stop.output_values
                if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "if"
            )
    if rng.random() < 0.3:
        found["iteration"] = rng.choice([0, 1, 1, 2, 3])
    return found


def _stops_that_differ(seeds: range, sets: int = 3, *, is_spread: bool) -> tuple[list[Any], int]:
    found, num_stops = [], 0
    for seed, case in _cases(seeds, is_spread=is_spread):
        rng = random.Random(seed)
        names = [node.name for node in case.nodes]
        ops = [node.op for node in case.nodes]
        for _ in range(sets):
            breakpoints = [_breakpoint(rng, names, ops) for _ in range(rng.choice([1, 1, 2]))]
            want = stops(case, Lowering.NEVER, breakpoints)
            if stands_still(want):
                break
            got = stops(case, Lowering.ALWAYS, breakpoints)
            for number, (one, other) in enumerate(zip(want, got, strict=False)):
                if "error" in one and "error" in other:
                    break  # of several nodes that fail another one may be first
                num_stops += sum(one.get("counts", {}).values())
                if one != other:
                    found.append((seed, number, breakpoints, one, other))
                    break
    return found, num_stops


@PLACED
def test_breakpoints_in_random_graphs_stop_where_the_reference_does(is_spread: bool) -> None:
    """Steps that begin as emitted functions stop at the same nodes with the same values."""
    found, num_stops = _stops_that_differ(range(100_200, 100_206), is_spread=is_spread)
    assert found == []
    assert num_stops > 20


@pytest.mark.slow
@PLACED
@pytest.mark.parametrize("block", few(range(8), 0))
def test_breakpoints_in_many_random_graphs_stop_where_the_reference_does(
    block: int, is_spread: bool
) -> None:
    """Eighty random graphs are compared in the same way."""
    seeds = range(500 + 10 * block, 510 + 10 * block)
    found, _ = _stops_that_differ(seeds, is_spread=is_spread)
    assert found == []


@pytest.mark.parametrize(
    "text",
    ["nan", "inf", "nan or inf", "max > 2", "min<= -1", "mean < 0.1", "abs max >= 3", "== 0.1"],
)
def test_quick_checks_of_values_agree_with_conditions(text: str) -> None:
    """The quick check of a value agrees with the condition, for all classes, dtypes and shapes."""
    found = value_test(text)
    assert found is not None
    test, quick = found
    numbers = [0, 1, 3, -3, 0.1, np.nan, np.inf, 2.0000001, 2**31 - 1, -(2**31)]
    asked = 0
    for kind in (np.float16, np.float32, np.float64, np.int8, np.uint8, np.int32, np.int64, bool):
        with np.errstate(all="ignore"):
            values = np.array(numbers).astype(kind)
        for value in (*values, values, values[:0], values[:4].reshape(2, 2), values.astype(str)):
            answer = quick.get(value.__class__, lambda _: None)(value)
            if answer is not None:
                asked += 1
                assert bool(answer) == test([value])
    assert asked > 40


def _asked_of(case: Any, node: str, when: Lowering) -> Counter[str] | None:
    """Return the arguments that a condition receives for a node; None if the step stands still."""
    found: Counter[str] = Counter()

    def condition(stop: Any) -> bool:
        assert stop.frames()[0].name == ""
        assert isinstance(stop.ready, list)
        values = [
            (value.dtype, value.shape, value.tobytes())
            for _, value in stop.outputs
            if isinstance(value, np.ndarray | np.generic) and value.dtype != object
        ]
        found[repr((stop.node, stop.loops, stop.phase, stop.is_dead, values))] += 1
        return False

    outcomes = stops(case, when, [{"node": node, "condition": condition}])
    if stands_still(outcomes):
        return None
    return Counter() if any("error" in one for one in outcomes) else found


def _asked_differently(seeds: range, *, is_spread: bool) -> tuple[list[Any], int]:
    found, num_asked = [], 0
    for seed, case in _cases(seeds, is_spread=is_spread):
        rng = random.Random(seed)
        for node in rng.sample([node.name for node in case.nodes], 3):
            want = _asked_of(case, node, Lowering.NEVER)
            if want is None:
                break
            got = _asked_of(case, node, Lowering.ALWAYS)
            assert got is not None, (seed, node)
            num_asked += want.total()
            if want != got:
                found.append((seed, node, want - got, got - want))
    return found, num_asked


@PLACED
def test_conditions_in_python_are_asked_what_the_reference_asks(is_spread: bool) -> None:
    """A Python condition receives the same nodes, live and dead, in each iteration."""
    found, num_asked = _asked_differently(range(100_200, 100_206), is_spread=is_spread)
    assert found == []
    assert num_asked > 10


@pytest.mark.slow
@PLACED
@pytest.mark.parametrize("block", few(range(8), 0))
def test_conditions_in_python_are_asked_the_same_of_many_graphs(
    block: int, is_spread: bool
) -> None:
    """Eighty random graphs are compared in the same way."""
    seeds = range(800 + 10 * block, 810 + 10 * block)
    found, _ = _asked_differently(seeds, is_spread=is_spread)
    assert found == []
