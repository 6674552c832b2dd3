"""Graphs much deeper than Python's recursion limit are built, imported, differentiated and run."""

from __future__ import annotations

import contextlib
import resource
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

import tfnb as tf
from tests.traced_memory import traced_memory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

pytestmark = pytest.mark.slow
DEEP = 3 * sys.getrecursionlimit()


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    """A session on a graph of the test's own, as the default one."""
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def test_a_long_chain_is_built_and_run(sess: tf.Session) -> None:
    """The chain is fed, so that no node is folded."""
    y = x = tf.placeholder(tf.float32, [])
    for _ in range(DEEP):
        y = y + 1.0
    assert sess.run(y, {x: 1.0}) == DEEP + 1


def test_a_long_chain_is_imported_and_run(sess: tf.Session) -> None:
    """The message lists the nodes backwards."""
    graph_def = tf.GraphDef()
    for i in reversed(range(1, DEEP)):
        node = graph_def.node.add(name=f"n{i}", op="Neg", input=[f"n{i - 1}"])
        node.attr["T"].type = tf.float32.as_datatype_enum
    first = graph_def.node.add(name="n0", op="Placeholder")
    first.attr["dtype"].type = tf.float32.as_datatype_enum
    tf.import_graph_def(graph_def, name="")
    assert sess.run(f"n{DEEP - 1}:0", {"n0:0": 1.0}) == (1 if DEEP % 2 else -1)


def test_a_long_chain_has_a_gradient(sess: tf.Session) -> None:
    """The gradient of a long chain is computed."""
    y = x = tf.placeholder(tf.float64, [])
    for _ in range(DEEP // 2):
        y = y * 0.999
    (gradient,) = tf.gradients(y, x)
    assert sess.run(gradient, {x: 1.0}) == pytest.approx(0.999 ** (DEEP // 2))


def test_one_node_feeds_very_many_and_very_many_feed_one(sess: tf.Session) -> None:
    """One node feeds thousands of nodes, which one node sums up."""
    x = tf.placeholder(tf.float32, [])
    y = tf.add_n([tf.identity(x) for _ in range(DEEP)])
    assert sess.run(y, {x: 1.0}) == DEEP


def test_control_dependencies_make_a_long_chain(sess: tf.Session) -> None:
    """The last node of a chain of control edges waits for all."""
    variable = tf.Variable(0.0)
    sess.run(variable.initializer)
    op = tf.no_op()
    for _ in range(DEEP):
        with tf.control_dependencies([op]):
            op = tf.no_op()
    with tf.control_dependencies([op]):
        assert sess.run(variable.assign_add(1.0)) == 1


def test_scopes_lie_deep_inside_each_other(sess: tf.Session) -> None:
    """Name scopes and control dependencies are nested deeply."""
    ops = [tf.no_op() for _ in range(1500)]
    with contextlib.ExitStack() as stack:
        for op in ops:
            stack.enter_context(tf.name_scope("s"))
            stack.enter_context(tf.control_dependencies([op]))
        y = tf.constant(1.0, name="inner")
    assert y.op.name == "s/" * 1500 + "inner"
    assert len(y.op.control_inputs) == 1500
    assert sess.run(y) == 1


@pytest.fixture
def deep_python() -> Iterator[None]:
    """Raise the recursion limit for nested functions of the test."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.usefixtures("deep_python")
def test_branches_lie_deep_inside_each_other(sess: tf.Session) -> None:
    """Nested conds run with the innermost branch or with none."""
    pred, x = tf.placeholder(tf.bool, []), tf.constant(1.0)

    def nest(depth: int) -> tf.Tensor:
        return tf.cond(pred, lambda: nest(depth - 1), lambda: x) if depth else x + 1.0

    y = nest(150)
    assert sess.run(y, {pred: True}) == 2
    assert sess.run(y, {pred: False}) == 1


@pytest.mark.usefixtures("deep_python")
def test_loops_lie_deep_inside_each_other(sess: tf.Session) -> None:
    """Nested loops of one iteration each run."""

    def nest(depth: int, v: tf.Tensor) -> tf.Tensor:
        if not depth:
            return v + 1.0
        return tf.while_loop(lambda i, v: i < 1, lambda i, v: (i + 1, nest(depth - 1, v)), [0, v])[
            1
        ]

    assert sess.run(nest(60, tf.constant(0.0))) == 1


def test_a_loop_of_many_iterations_needs_no_more_memory(sess: tf.Session) -> None:
    """Twenty thousand iterations need as much memory as a hundred."""
    limit = tf.placeholder(tf.int32, [])
    end = tf.while_loop(
        lambda i, a: i < limit, lambda i, a: (i + 1, a + 1.0), [0, tf.zeros([1000])]
    )
    sess.run(end, {limit: 100})
    with traced_memory() as memory:
        assert sess.run(end, {limit: 20_000})[0] == 20_000
    assert memory.peak < 2_000_000


@pytest.mark.slow
def test_a_loop_of_a_million_iterations_ends_in_bounded_memory(sess: tf.Session) -> None:
    """The peak memory of the process grows by less than 20 MB."""
    limit = tf.placeholder(tf.int32, [])
    end = tf.while_loop(lambda i: i < limit, lambda i: i + 1, [0])
    sess.run(end, {limit: 1000})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert sess.run(end, {limit: 1_000_000}) == 1_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


@pytest.mark.slow
def test_ten_thousand_name_scopes_lie_in_each_other(sess: tf.Session) -> None:
    """An op in the innermost scope has a name of twenty thousand characters."""
    with contextlib.ExitStack() as scopes:
        for _ in range(10_000):
            scopes.enter_context(tf.name_scope("s"))
        y = tf.constant(1.0) + 1.0
    assert y.op.name.count("/") == 10_000
    assert sess.run(y) == 2.0


def test_very_many_feeds_and_fetches(sess: tf.Session) -> None:
    """Each fetch has its own value."""
    feeds = [tf.placeholder(tf.float32, []) for _ in range(2000)]
    fetches = [x + 1.0 for x in feeds]
    values = {x: float(i) for i, x in enumerate(feeds)}
    for _ in range(3):
        assert sess.run(fetches, values) == [i + 1.0 for i in range(2000)]


def test_a_large_constant_and_a_long_name(sess: tf.Session) -> None:
    """A constant of fifty megabytes and a name of a hundred thousand characters work."""
    value = np.arange(50 << 17, dtype=np.float64)
    y = tf.identity(tf.constant(value), name="n" * 100_000)
    found = sess.run(y)
    assert found[-1] == value[-1]
    assert found.shape == value.shape


def test_a_cell_costs_what_is_new(sess: tf.Session) -> None:
    """Adding and running one op makes as many function calls in a large graph as in a small one.

    Signatures that ran before keep their executors.
    """
    start = tf.constant(1.5)

    def cell(factor: float) -> None:
        assert sess.run(tf.multiply(start, factor)) == 1.5 * factor

    def num_calls() -> int:
        count = 0

        def note(frame: FrameType, event: str, arg: object) -> None:
            nonlocal count
            count += 1

        before = sys.getprofile()
        sys.setprofile(note)
        try:
            cell(3.0)
        finally:
            sys.setprofile(before)
        return count

    for factor in range(3):
        cell(float(factor))
    few = min(num_calls() for _ in range(3))
    known = dict(sess.runtime._executors)
    chain = start
    for _ in range(2000):
        chain = tf.negative(chain)
    assert sess.run(chain) == 1.5
    assert min(num_calls() for _ in range(3)) <= few * 1.05
    assert all(sess.runtime._executors[key] is found for key, found in known.items())
