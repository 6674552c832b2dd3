"""Steps that are fed and fetched in several calls."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    """A session on a graph of the test's own, as the default one."""
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def placeholders(*names: str) -> list[tf.Tensor]:
    """Return scalar placeholders with these names."""
    return [tf.placeholder(tf.float32, [], name=name) for name in names]


def test_values_are_fed_and_fetched_piece_by_piece(sess: tf.Session) -> None:
    """Each call returns what can be computed from the feeds so far."""
    a, b, c = placeholders("a", "b", "c")
    r1 = a + b
    r2 = r1 * c
    handle = sess.partial_run_setup([r1, r2], [a, b, c])
    assert sess.partial_run(handle, r1, {a: 1.0, b: 2.0}) == 3.0
    assert sess.partial_run(handle, r2, {c: 17.0}) == 51.0


def test_each_op_runs_once(sess: tf.Session) -> None:
    """Two calls that need the same op share its value."""
    a, b = placeholders("a", "b")
    calls = []

    def note(x: float) -> float:
        calls.append(x)
        return x

    noted = tf.py_func(note, [a], tf.float32)
    noted.set_shape([])
    r1, r2 = noted + 1.0, noted + b
    handle = sess.partial_run_setup([r1, r2], [a, b])
    assert sess.partial_run(handle, r1, {a: 1.0}) == 2.0
    assert sess.partial_run(handle, r2, {b: 5.0}) == 6.0
    assert len(calls) == 1


def test_a_fed_array_may_be_refilled_before_the_next_call(sess: tf.Session) -> None:
    """The step uses a copy of the fed value."""
    a, b = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])
    first, total = a * 2.0, a + b
    handle = sess.partial_run_setup([first, total], [a, b])
    buffer = np.float32([1, 2])
    assert sess.partial_run(handle, first, {a: buffer}).tolist() == [2.0, 4.0]
    buffer[...] = 10
    assert sess.partial_run(handle, total, {b: buffer}).tolist() == [11.0, 12.0]


def test_calls_may_only_feed_or_only_fetch(sess: tf.Session) -> None:
    """Calls may only feed or only fetch, in any order that can be computed."""
    a, b = placeholders("a", "b")
    c = tf.constant(2.0)
    r = a + b
    handle = sess.partial_run_setup([r, c], [a, b])
    assert sess.partial_run(handle, [], {a: 1.0}) == []
    assert sess.partial_run(handle, c) == 2.0
    assert sess.partial_run(handle, {"r": r}, {b: 2.0}) == {"r": 3.0}


def test_setup_without_feeds_is_fine(sess: tf.Session) -> None:
    """A partial run without feeds works."""
    r = tf.constant(1.0) + 1.0
    handle = sess.partial_run_setup([r])
    assert sess.partial_run(handle, r) == 2.0


def test_setup_takes_a_single_feed_and_names(sess: tf.Session) -> None:
    """A single feed need not be in a list; names are accepted."""
    (a,) = placeholders("a")
    r = a + 1.0
    handle = sess.partial_run_setup(r, "a:0")
    assert sess.partial_run(handle, r.name, {"a:0": 1.0}) == 2.0


def test_setup_needs_something_to_compute(sess: tf.Session) -> None:
    """A setup with nothing to fetch or run is refused."""
    (a,) = placeholders("a")
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least one target"):
        sess.partial_run_setup([], [a])


def test_targets_of_setup_run(sess: tf.Session) -> None:
    """A target runs when its inputs are available."""
    v = tf.Variable(0.0, use_resource=False)
    sess.run(v.initializer)
    (a,) = placeholders("a")
    c = a + 1.0
    with tf.control_dependencies([tf.assign_add(v, a)]):
        after = tf.identity(c)
    handle = sess.partial_run_setup([after, after.op], [a])
    assert sess.partial_run(handle, after, {a: 3.0}) == 4.0
    assert sess.run(v) == 3.0


def test_what_was_not_declared_is_refused(sess: tf.Session) -> None:
    """Undeclared feeds and fetches are refused, and the handle stays usable."""
    a, b = placeholders("a", "b")
    r, other = a + 1.0, a * 2.0
    handle = sess.partial_run_setup([r], [a])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"feed b:0 was not specified in"):
        sess.partial_run(handle, r, {a: 1.0, b: 2.0})
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"fetch .* was not specified in"):
        sess.partial_run(handle, other, {a: 1.0})
    assert sess.partial_run(handle, r, {a: 1.0}) == 2.0


def test_feeding_or_fetching_twice_is_refused(sess: tf.Session) -> None:
    """Each declared tensor may be used in one call only."""
    a, b = placeholders("a", "b")
    r1, r2 = a + 1.0, a + b
    handle = sess.partial_run_setup([r1, r2], [a, b])
    sess.partial_run(handle, r1, {a: 1.0})
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"feed a:0 has already been fed"):
        sess.partial_run(handle, r2, {a: 1.0, b: 2.0})
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"has already been fetched"):
        sess.partial_run(handle, r1, {b: 2.0})


def test_fetch_that_lacks_a_feed_is_refused_at_once(sess: tf.Session) -> None:
    """The call does not block, and the feed may follow."""
    a, b = placeholders("a", "b")
    r = a + b
    handle = sess.partial_run_setup([r], [a, b])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Fetch b:0 can't be computed from"):
        sess.partial_run(handle, r, {a: 1.0})


def test_fetch_that_waits_for_an_unfed_placeholder_is_refused(sess: tf.Session) -> None:
    """A control edge from the placeholder counts; after the feed the fetch works."""
    (a,) = placeholders("a")
    with tf.control_dependencies([a.op]):
        r = tf.constant(3.0)
    s = tf.constant(4.0)
    handle = sess.partial_run_setup([r, s], [a])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"can't be computed from the feeds"):
        sess.partial_run(handle, r)
    assert sess.partial_run(handle, s) == 4.0
    assert sess.partial_run(handle, r, {a: 1.0}) == 3.0


def test_fetch_behind_a_fed_tensor_waits_for_all_feeds_before_it(sess: tf.Session) -> None:
    """The fetch waits for feeds before the fed tensor as well, as in TensorFlow."""
    (a,) = placeholders("a")
    b = a + 1.0
    r = b * 2.0
    handle = sess.partial_run_setup([r], [a, b])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"can't be computed from the feeds"):
        sess.partial_run(handle, r, {b: 5.0})
    assert sess.partial_run(handle, r, {a: 1.0, b: 5.0}) == 10.0


def test_handle_ends_when_everything_was_used(sess: tf.Session) -> None:
    """The handle is then as invalid as an invented one."""
    (a,) = placeholders("a")
    r = a + 1.0
    handle = sess.partial_run_setup([r], [a])
    sess.partial_run(handle, r, {a: 1.0})
    for unknown in (handle, "made up"):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Must run 'setup' before"):
            sess.partial_run(unknown, r, {a: 1.0})


def test_what_fails_without_any_feed_is_told_by_the_first_call(sess: tf.Session) -> None:
    """The setup returns a handle; the first call raises the error and ends the handle."""
    a, b = placeholders("a", "b")
    r = tf.stack([a, b])
    handle = sess.partial_run_setup([r], [a])
    with pytest.raises(tf.errors.InvalidArgumentError, match="placeholder tensor 'b'"):
        sess.partial_run(handle, r, {a: 1.0})
    with pytest.raises(tf.errors.InvalidArgumentError, match="Must run 'setup' before"):
        sess.partial_run(handle, r, {a: 1.0})
    assert sess.run(r, {a: 1.0, b: 2.0}).tolist() == [1.0, 2.0]


def test_partial_run_takes_no_operations(sess: tf.Session) -> None:
    """Operations may only be given to the setup."""
    (a,) = placeholders("a")
    r = a + 1.0
    handle = sess.partial_run_setup([r, r.op], [a])
    with pytest.raises(RuntimeError, match=r"partial_run\(\) requires empty `target_list`"):
        sess.partial_run(handle, r.op, {a: 1.0})


def test_handles_and_plain_runs_are_independent(sess: tf.Session) -> None:
    """Several partial runs and plain runs may be open at once."""
    a, b = placeholders("a", "b")
    r1, r2 = a + 1.0, a + b
    handles = [sess.partial_run_setup([r1, r2], [a, b]) for _ in range(5)]
    for k, handle in enumerate(handles):
        assert k + 1.0 == sess.partial_run(handle, r1, {a: float(k)})
        assert sess.run(r2, {a: 10.0, b: 20.0}) == 30.0
    for k, handle in reversed(list(enumerate(handles))):
        assert k + 3.0 == sess.partial_run(handle, r2, {b: 3.0})


def test_handles_may_be_used_by_several_threads(sess: tf.Session) -> None:
    """Threads use one handle each, all in one session."""
    a, b = placeholders("a", "b")
    r1, r2 = a + 1.0, a * b
    wrong: list[object] = []

    def work(k: float) -> None:
        for _ in range(5):
            handle = sess.partial_run_setup([r1, r2], [a, b])
            first = sess.partial_run(handle, r1, {a: k})
            second = sess.partial_run(handle, r2, {b: k})
            if (first, second) != (k + 1.0, k * k):
                wrong.append((k, first, second))

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []


def test_closed_session_takes_no_partial_run(sess: tf.Session) -> None:
    """The check is in Python, before the runtime; an open handle does not prevent closing."""
    (a,) = placeholders("a")
    r = a + 1.0
    handle = sess.partial_run_setup([r], [a])
    sess.close()
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
        sess.partial_run(handle, r, {a: 1.0})
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
        sess.partial_run_setup([r], [a])


def test_setup_on_an_empty_graph_is_refused() -> None:
    """The error is that of run."""
    with tf.Session(graph=tf.Graph()) as sess:
        with pytest.raises(RuntimeError, match="The Session graph is empty"):
            sess.partial_run_setup([], [])


def test_fed_tensor_can_be_fetched(sess: tf.Session) -> None:
    """The result is the feed of the same call."""
    (a,) = placeholders("a")
    r = a + 1.0
    handle = sess.partial_run_setup([r], [a])
    value, plus = sess.partial_run(handle, [a, r], {a: 1.0})
    assert (value.shape, value, plus) == ((), 1.0, 2.0)


def test_a_loop_that_lacks_the_feed_of_another_variable_says_so(sess: tf.Session) -> None:
    """Iterations in flight run, then an error names the feed; TensorFlow waits forever."""
    x, z = tf.placeholder(tf.int32, [], name="x"), tf.placeholder(tf.int32, [], name="z")
    found = {}
    for limit in (3, 50):
        found[limit], other = tf.while_loop(
            lambda i, _, limit=limit: i < limit, lambda i, j: (i + 1, j + 1), [x, z]
        )
        handle = sess.partial_run_setup([found[limit], other], [x, z])
        if limit == 3:
            assert sess.partial_run(handle, found[limit], {x: 0}) == 3
        else:
            with pytest.raises(tf.errors.InvalidArgumentError, match="Not fed yet: z:0"):
                sess.partial_run(handle, found[limit], {x: 0})


def test_what_was_computed_before_is_refused_where_a_feed_is_missing(sess: tf.Session) -> None:
    """A later partial run of the same signature checks its own feeds."""
    a, b = placeholders("a", "b")
    first = a + 1.0
    second = first * b
    for _ in range(3):
        handle = sess.partial_run_setup([first, second], [a, b])
        with pytest.raises(tf.errors.InvalidArgumentError, match="can't be computed"):
            sess.partial_run(handle, second, {b: 3.0})
        with pytest.raises(tf.errors.InvalidArgumentError, match="can't be computed"):
            sess.partial_run(handle, first)
        assert sess.partial_run(handle, first, {a: 1.0}) == 2.0
        assert sess.partial_run(handle, second, {b: 3.0}) == 6.0
