"""Partial runs: their results and their errors."""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

import numpy as np

from tests.client.behaviours.writing import behaviour


class Setup(NamedTuple):
    """A step of two feeds: ``after_x`` needs x, ``after_both`` needs both."""

    sess: Any
    handle: str
    x: Any
    y: Any
    after_x: Any
    after_both: Any


def _set_up(tf: Any) -> Setup:
    x, y = tf.placeholder(tf.float32, name="x"), tf.placeholder(tf.float32, name="y")
    after_x = tf.add(x, 1, name="after_x")
    after_both = tf.multiply(after_x, y, name="after_both")
    sess = tf.Session()
    handle = sess.partial_run_setup([after_x, after_both], [x, y])
    return Setup(sess, handle, x, y, after_x, after_both)


@behaviour(85)
def an_op_runs_once_over_all_calls(tf: Any) -> Any:
    calls = []

    def note(value: Any) -> Any:
        calls.append(float(value))
        return value

    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    noted = tf.py_func(note, [x], tf.float32)
    first, second = noted + 1, noted + y
    sess = tf.Session()
    handle = sess.partial_run_setup([first, second], [x, y])
    found = sess.partial_run(handle, first, {x: 1.0}), sess.partial_run(handle, second, {y: 5.0})
    return found, calls


@behaviour(86)
def feeding_alone_and_fetching_alone(tf: Any) -> Any:
    one = _set_up(tf)
    run = one.sess.partial_run
    return (
        run(one.handle, [], {one.x: 1.0}),
        run(one.handle, one.after_x),
        run(one.handle, [one.after_both], {one.y: 5.0}),
    )


@behaviour(87, "The feed other:0 was not specified in partial_run_setup.")
def feeding_what_was_not_declared(tf: Any) -> Any:
    other = tf.placeholder(tf.float32, name="other")
    one = _set_up(tf)
    return one.sess.partial_run(one.handle, one.after_x, {one.x: 1.0, other: 2.0})


@behaviour(88, "The fetch other:0 was not specified in partial_run_setup.")
def fetching_what_was_not_declared(tf: Any) -> Any:
    other = tf.constant(1.0, name="other")
    one = _set_up(tf)
    return one.sess.partial_run(one.handle, other, {one.x: 1.0})


@behaviour(89, "The feed x:0 has already been fed.")
def feeding_twice(tf: Any) -> Any:
    one = _set_up(tf)
    one.sess.partial_run(one.handle, [], {one.x: 1.0})
    return one.sess.partial_run(one.handle, [], {one.x: 1.0})


@behaviour(90, "The fetch after_x:0 has already been fetched.")
def fetching_twice(tf: Any) -> Any:
    one = _set_up(tf)
    one.sess.partial_run(one.handle, one.after_x, {one.x: 1.0})
    return one.sess.partial_run(one.handle, one.after_x)


@behaviour(91, "can't be computed from the feeds that have been fed so far")
def fetching_before_feeding(tf: Any) -> Any:
    one = _set_up(tf)
    return one.sess.partial_run(one.handle, one.after_both, {one.x: 1.0})


@behaviour(92)
def a_refusal_leaves_the_handle(tf: Any) -> Any:
    one = _set_up(tf)
    refused = []
    for fetch, feeds in [(one.after_both, {}), (one.x, {}), (one.after_x, {one.after_x: 1.0})]:
        try:
            one.sess.partial_run(one.handle, fetch, feeds)
        except tf.errors.InvalidArgumentError as error:
            refused.append(type(error))
    return refused, one.sess.partial_run(one.handle, one.after_both, {one.x: 1.0, one.y: 2.0})


@behaviour(93)
def feeding_one_output_of_two(tf: Any) -> Any:
    dead, live = tf.raw_ops.Switch(data=tf.constant(1.0), pred=tf.constant(True), name="switch")
    first, second = dead + 1, live + 2
    sess = tf.Session()
    handle = sess.partial_run_setup([first, second], [dead, live])
    found = sess.partial_run(handle, second, {live: 5.0})
    try:
        sess.partial_run(handle, first)
    except tf.errors.InvalidArgumentError as error:
        refused = "can't be computed" in str(error)
    return found, refused, sess.partial_run(handle, first, {dead: 7.0})


@behaviour(94, "Must run 'setup' before performing partial runs!")
def a_handle_used_up(tf: Any) -> Any:
    one = _set_up(tf)
    feeds = {one.x: 1.0, one.y: 1.0}
    one.sess.partial_run(one.handle, [one.after_x, one.after_both], feeds)
    return one.sess.partial_run(one.handle, one.after_x, {one.x: 1.0})


@behaviour(94, "Must run 'setup' before performing partial runs!")
def a_handle_made_up(tf: Any) -> Any:
    one = _set_up(tf)
    return one.sess.partial_run("made up", one.after_x, {one.x: 1.0})


@behaviour(95, "Must specify at least one target to fetch or execute.")
def a_setup_of_nothing(tf: Any) -> Any:
    return tf.Session().partial_run_setup([], [tf.placeholder(tf.float32)])


@behaviour(96)
def a_setup_without_feeds(tf: Any) -> Any:
    one = tf.constant(1.0) + 1
    sess = tf.Session()
    return sess.partial_run(sess.partial_run_setup([one]), one)


@behaviour(97, "partial_run() requires empty `target_list`")
def naming_an_operation(tf: Any) -> Any:
    one = _set_up(tf)
    return one.sess.partial_run(one.handle, one.after_x.op, {one.x: 1.0})


@behaviour(98)
def several_handles_and_plain_runs(tf: Any) -> Any:
    one = _set_up(tf)
    second = one.sess.partial_run_setup([one.after_x, one.after_both], [one.x, one.y])
    found = [
        one.sess.partial_run(one.handle, one.after_x, {one.x: 1.0}),
        one.sess.partial_run(second, one.after_x, {one.x: 10.0}),
        one.sess.run(one.after_both, {one.x: 100.0, one.y: 2.0}),
    ]
    for handle in (second, one.handle):
        found += [one.sess.partial_run(handle, one.after_both, {one.y: 3.0})]
    return found


@behaviour(99)
def closing_with_a_handle_open(tf: Any) -> Any:
    return _set_up(tf).sess.close()


@behaviour(100, "Attempted to use a closed Session.")
def a_partial_run_after_close(tf: Any) -> Any:
    one = _set_up(tf)
    one.sess.close()
    return one.sess.partial_run(one.handle, one.after_x, {one.x: 1.0})


@behaviour(101, "Must run 'setup' before performing partial runs!")
def a_failed_call_ends_the_handle(tf: Any) -> Any:
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    checked = tf.check_numerics(x, "bad")
    both = checked + y
    sess = tf.Session()
    handle = sess.partial_run_setup([checked, both], [x, y])
    with contextlib.suppress(tf.errors.InvalidArgumentError):
        sess.partial_run(handle, checked, {x: np.nan})
    return sess.partial_run(handle, both, {y: 1.0})


@behaviour(102, "Timed out waiting for notification")
def a_partial_run_that_takes_too_long(tf: Any) -> Any:
    x = tf.placeholder(tf.float32)
    waits = tf.FIFOQueue(1, tf.float32).dequeue() + x
    sess = tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=50))
    return sess.partial_run(sess.partial_run_setup([waits], [x]), waits, {x: 1.0})


@behaviour(103, "was not valid.")
def a_dead_tensor_by_partial_run(tf: Any) -> Any:
    x = tf.placeholder(tf.float32)
    dead, _ = tf.raw_ops.Switch(data=x, pred=tf.constant(True))
    sess = tf.Session()
    return sess.partial_run(sess.partial_run_setup([dead], [x]), dead, {x: 1.0})
