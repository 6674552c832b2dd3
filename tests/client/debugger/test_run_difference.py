"""Comparing two runs: what the difference reports, and that equal runs have none."""

from __future__ import annotations

import pytest

import tfnb as tf
from tfnb.client.debugger.run_difference import assert_same_run, compare_runs, record_values


def _model(factor=2.0, extra=False, device="/cpu:0", limit=4):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], name="x")
        with tf.device(device):
            y = tf.multiply(x, factor, name="y")
        if extra:
            y = tf.negative(y, name="extra")
        total = tf.while_loop(
            lambda i, _: i < limit,
            lambda i, t: (i + 1, tf.add(t, y, name="sum")),
            [tf.constant(0), tf.zeros_like(y, name="zeros")],
            name="loop",
        )[1]
        tf.identity(total, name="result")
    return graph


def _run(graph, value=(1.0, 2.0), fetch="result:0"):
    config = tf.ConfigProto(device_count={"CPU": 2})
    config.graph_options.optimizer_options.opt_level = -1
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.Session(graph=graph, config=config) as session:
        return record_values(session, fetch, {"x:0": list(value)})


def test_the_same_run_twice_is_the_same():
    """Two equal runs are reported as equal to the bit."""
    graph = _model()
    first, second = _run(graph), _run(graph)
    assert_same_run(first, second)
    assert str(compare_runs(first, second)) == "The runs are the same."
    assert first.results.tolist() == [8.0, 16.0]


def test_the_first_other_value_is_named_with_its_place():
    """The first different value is reported, not those that follow from it."""
    found = compare_runs(_run(_model()), _run(_model(factor=3.0)))
    assert found.value.startswith("'y/y' (Const): output 0 is 2.0, then 3.0")
    assert found.num_values > 4
    with pytest.raises(AssertionError, match="the first other value: 'y/y'"):
        assert_same_run(_run(_model()), _run(_model(factor=3.0)))


def test_a_tolerance_lets_small_differences_pass():
    """Differences within a given tolerance are not reported."""
    first, second = _run(_model()), _run(_model(factor=2.0 + 1e-6))
    assert compare_runs(first, second)
    assert_same_run(first, second, rtol=1e-5)


def test_nodes_devices_and_iterations_are_compared():
    """The report has nodes that ran on one side only, on another device, or more often."""
    found = compare_runs(_run(_model()), _run(_model(extra=True)))
    assert found.only_in_second == ("extra",)
    moved = compare_runs(_run(_model()), _run(_model(device="/cpu:1"))).moved
    assert ("y", "CPU:0", "CPU:1") in [(n, a[-5:], b[-5:]) for n, a, b in moved]
    counts = compare_runs(_run(_model()), _run(_model(limit=6))).counts
    assert ("loop/sum", 4, 6) in counts


def test_another_branch_is_told():
    """A node that is dead on one side and live on the other is reported."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], name="x")
        tf.cond(
            tf.reduce_sum(x) > 0, lambda: tf.negative(x, name="n"), lambda: x * 2.0, name="choice"
        )
    found = compare_runs(
        _run(graph, [1.0], "choice/Merge:0"), _run(graph, [-1.0], "choice/Merge:0")
    )
    assert ("choice/n", 1, 0) in found.counts
    assert "'choice/n' ran 1 times, then 0 times" in str(found)


def test_nan_is_equal_to_nan_and_strings_are_compared():
    """NaN equals NaN, and strings are compared by content."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], name="x")
        tf.log(x, name="log")
        tf.as_string(x, name="text")
    first, second = _run(graph, [-1.0], "log:0"), _run(graph, [-1.0], "log:0")
    assert_same_run(first, second)
    found = compare_runs(_run(graph, [1.0], "text:0"), _run(graph, [2.0], "text:0"))
    assert found.num_values >= 1


def test_a_session_with_a_debugger_is_refused():
    """A session accepts one debugger at a time."""
    with tf.Graph().as_default(), tf.Session() as session:
        y = tf.constant(1.0)
        with tf.debugger.Debugger(session), pytest.raises(RuntimeError, match="attached"):
            record_values(session, y)
        record_values(session, y)
        assert session.runtime.step_events.debugger is None
