"""One evaluation of a checkpoint: the loop, and what it writes for TensorBoard."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf.message import DecodeError

from tfnb.client.public.api import tf
from tfnb.client.training.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_log = logging.getLogger("tensorflow")


class StopAfterNEvalsHook(SessionRunHook):
    """A hook that ends an evaluation after a number of batches.

    Args:
        num_evals: The number; None to evaluate until the input ends.
    """

    def __init__(self, num_evals: int | None) -> None:
        self._num_evals = num_evals
        # About ten lines are logged.
        self._log_every = 1 if num_evals is None or num_evals < 20 else num_evals // 10
        self.evals_completed: Any = None

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the number of batches."""
        return SessionRunArgs({"evals_completed": self.evals_completed})

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Request a stop after the last batch."""
        done = run_values.results["evals_completed"]
        if self._num_evals is None:
            _log.info("Evaluation [%d]", done)
            return
        if done % self._log_every == 0 or done == self._num_evals:
            _log.info("Evaluation [%d/%d]", done, self._num_evals)
        if done >= self._num_evals:
            run_context.request_stop()


def get_or_create_eval_step() -> Any:
    """Return the variable that counts the batches of an evaluation; make it if there is none.

    Raises:
        ValueError: The graph has several.
    """
    graph = tf.get_default_graph()
    found = graph.get_collection(tf.GraphKeys.EVAL_STEP)
    if len(found) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if found:
        return found[0]
    return tf.get_variable(
        "eval_step",
        shape=[],
        dtype=tf.int64,
        initializer=tf.zeros_initializer(),
        trainable=False,
        collections=[tf.GraphKeys.LOCAL_VARIABLES, tf.GraphKeys.EVAL_STEP],
    )


def evaluate_once(
    checkpoint_path: str | None,
    master: str,
    scaffold: Any,
    eval_op: Any,
    final_ops: Mapping[str, Any],
    hooks: Sequence[SessionRunHook],
    config: Any,
) -> dict[str, Any]:
    """Run an evaluation of the default graph; return the values of ``final_ops`` at its end.

    Args:
        checkpoint_path: The checkpoint; None for variables that are initialized.
        master: The engine to connect to.
        scaffold: Ops for initialization.
        eval_op: Adds a batch to the metrics; None if there are none.
        final_ops: The metrics.
        hooks: Hooks around each batch.
        config: The configuration of the session.
    """
    eval_step = get_or_create_eval_step()
    run_ops: list[Any] = []
    if eval_op is not None:
        run_ops = [eval_op, tf.assign_add(eval_step, 1, use_locking=True)]
        with tf.control_dependencies(run_ops):
            completed = tf.identity(eval_step.read_value())
        for hook in hooks:
            if isinstance(hook, StopAfterNEvalsHook):
                hook.evals_completed = completed
    _log.info("Starting evaluation at %s", time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime()))
    start = time.perf_counter()
    final_hook = tf.train.FinalOpsHook(final_ops)
    creator = tf.train.ChiefSessionCreator(
        scaffold=scaffold,
        checkpoint_filename_with_path=checkpoint_path,
        master=master,
        config=config,
    )
    with tf.train.MonitoredSession(creator, hooks=[*hooks, final_hook]) as session:
        if run_ops:
            while not session.should_stop():
                session.run(run_ops)
    _log.info("Inference Time : %.5fs", time.perf_counter() - start)
    _log.info("Finished evaluation at %s", time.strftime("%Y-%m-%d-%H:%M:%S", time.localtime()))
    values: dict[str, Any] = final_hook.final_ops_values
    return values


def write_results(output_dir: str, results: Mapping[str, Any], global_step: int) -> None:
    """Write the metrics of an evaluation as a summary.

    Args:
        output_dir: The folder of the event file.
        results: Name -> number, array or serialized summary.
        global_step: The step of the checkpoint.
    """
    text = ", ".join(
        f"{name} = {value}"
        for name, value in sorted(results.items())
        if not isinstance(value, bytes)
    )
    _log.info("Saving dict for global step %d: %s", global_step, text)
    summary = tf.Summary()
    for name, value in results.items():
        if value is not None and name != tf.GraphKeys.GLOBAL_STEP:
            _add_value(summary, name, value)
    writer = tf.summary.FileWriterCache.get(output_dir)
    writer.add_summary(summary, global_step)
    writer.flush()


def _add_value(summary: Any, name: str, value: Any) -> None:
    if isinstance(value, np.floating | float | np.integer | int):
        summary.value.add(tag=name, simple_value=float(value))
    elif isinstance(value, bytes):
        try:
            parts = tf.Summary.FromString(value)
        except DecodeError:
            _log.warning("Skipping summary for %s, cannot parse string to Summary.", name)
            return
        for index, part in enumerate(parts.value):
            part.tag = f"{name}/{index}"
        summary.value.extend(parts.value)
    elif isinstance(value, np.ndarray):
        summary.value.add(tag=name, node_name=name, tensor=tf.make_tensor_proto(value))
    else:
        _log.warning(
            "Skipping summary for %s, must be a float, np.float32, np.int64, np.int32 or int or "
            "np.ndarray or a serialized string of Summary.",
            name,
        )


def write_checkpoint_path(output_dir: str, checkpoint_path: str, global_step: int) -> None:
    """Write which checkpoint was evaluated, as a summary."""
    _log.info(
        "Saving 'checkpoint_path' summary for global step %d: %s", global_step, checkpoint_path
    )
    summary = tf.Summary()
    summary.value.add(
        tag="checkpoint_path", tensor=tf.make_tensor_proto(checkpoint_path, dtype=tf.string)
    )
    writer = tf.summary.FileWriterCache.get(output_dir)
    writer.add_summary(summary, global_step)
    writer.flush()
