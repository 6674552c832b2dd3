"""MonitoredTrainingSession: hooks, checkpoints during training, continuing after a restart."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import tfnb as tf


class Losses(tf.train.SessionRunHook):
    """Records the loss of every step."""

    def __init__(self, loss: tf.Tensor) -> None:
        self.loss = loss
        self.seen: list[float] = []

    def before_run(self, run_context: Any) -> Any:
        """Request the loss."""
        return tf.train.SessionRunArgs(self.loss)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Record the loss."""
        self.seen.append(float(run_values.results))


def train(folder: str, last_step: int) -> list[float]:
    """Train until ``last_step``; return the losses of the steps."""
    with tf.Graph().as_default():
        global_step = tf.train.get_or_create_global_step()
        weight = tf.get_variable("weight", initializer=5.0)
        loss = tf.square(weight - 1.0)
        step = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step)
        losses = Losses(loss)
        hooks = [losses, tf.train.StopAtStepHook(last_step=last_step)]
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder,
            hooks=hooks,
            save_checkpoint_steps=5,
            save_summaries_steps=None,
            save_summaries_secs=None,
            log_step_count_steps=None,
        ) as session:
            while not session.should_stop():
                session.run(step)
        return losses.seen


def main() -> dict[str, float]:
    """Train in two runs; return the losses at their ends."""
    with tempfile.TemporaryDirectory() as folder:
        first = train(folder, 10)
        assert os.path.exists(os.path.join(folder, "model.ckpt-10.index"))
        second = train(folder, 15)
    assert len(first) == 10
    assert len(second) == 5
    assert second[0] < first[-1]
    return {"first": first[-1], "second": second[-1]}


if __name__ == "__main__":
    print(main())
