"""One recorded step for the tests of its views: a loop with a loop and a choice inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tfnb as tf
from tfnb.notebook.views.record import Recording

if TYPE_CHECKING:
    from tfnb.notebook.steps.run_record import RunRecord

HOSTILE = "<img src=x onerror=alert(1)>"


def recorded_loop(iterations: int = 6, parallel_iterations: int = 3) -> RunRecord:
    """Record two runs on two devices with nested loops and dead branches; return the second."""
    with tf.Graph().as_default() as graph:

        def body(i: tf.Tensor, a: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            inner = tf.while_loop(
                lambda j, _: j < 2, lambda j, b: (j + 1, b + 1.0), [tf.constant(0), a], name="inner"
            )[1]
            return i + 1, tf.cond(i % 2 > 0, lambda: inner + 1.0, lambda: inner * 2.0)

        with tf.device("/cpu:0"):
            start = tf.constant(1.0, name="start")
            _, a = tf.while_loop(
                lambda i, _: i < iterations,
                body,
                [tf.constant(0), start],
                name="outer",
                parallel_iterations=parallel_iterations,
            )
        with tf.device("/cpu:1"):
            result = tf.negative(a, name="result")
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Session(graph=graph, config=config) as session:
        session.run(result)
        with Recording() as recording:
            session.run(result)
    return recording.record
