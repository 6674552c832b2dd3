"""Hooks that need an Estimator: evaluation during a training, and a stop at a checkpoint."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tfnb.client.estimator.estimator import checked_hooks, eval_steps_hooks
from tfnb.client.estimator.training_session import saved_global_step
from tfnb.client.public.api import tf
from tfnb.client.training.hooks import SecondOrStepTimer, global_step_read
from tfnb.client.training.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.client.estimator.estimator import Estimator

EXPORTS = {"estimator.experimental": ["InMemoryEvaluatorHook", "make_stop_at_checkpoint_step_hook"]}


class InMemoryEvaluatorHook(SessionRunHook):
    """A hook that evaluates during a training, with its variables and without checkpoints.

    Args:
        estimator: The Estimator.
        input_fn: The input of the evaluation.
        steps: How many batches; all if None.
        hooks: Hooks of the evaluation.
        name: The name of the evaluation.
        every_n_iter: Steps between two evaluations.

    Raises:
        ValueError: The number of steps is not positive, or there is a cluster.
    """

    def __init__(
        self,
        estimator: Estimator,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        name: str | None = None,
        every_n_iter: int = 100,
    ) -> None:
        if every_n_iter is None or every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        config = estimator.config
        if config.num_ps_replicas > 0 or config.num_worker_replicas > 1:
            raise ValueError("InMemoryEvaluator supports only single machine (aka Local) setting.")
        self._estimator = estimator
        self._input_fn = input_fn
        self._hooks = [*checked_hooks(hooks), *eval_steps_hooks(steps)]
        self._output_dir = estimator.eval_dir(name)
        self._timer = SecondOrStepTimer(every_steps=every_n_iter)
        self._iteration = 0
        self._graph: Any = None
        self._built: Any = None
        # Name -> placeholder; name -> variable of the training.
        self._placeholders: dict[str, Any] = {}
        self._variables: dict[str, Any] = {}
        self._feed_op: Any = None

    def begin(self) -> None:
        """Build the graph of the evaluation."""
        self._timer.reset()
        self._iteration = 0
        self._graph = tf.Graph()
        with self._graph.as_default():
            self._built = self._estimator.build_evaluation(self._input_fn, self._hooks, None)
            scaffold = self._built[0]
            if scaffold.saver is not None:
                raise ValueError("InMemoryEvaluator does not support custom saver")
            if scaffold.init_fn is not None:
                raise ValueError("InMemoryEvaluator does not support custom init_fn")

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Connect the variables of both graphs, and evaluate."""
        if tf.get_collection(tf.GraphKeys.SAVEABLE_OBJECTS):
            raise ValueError(
                "InMemoryEvaluator does not support saveables other than global variables."
            )
        trained = {one.name: one for one in tf.global_variables()}
        with self._graph.as_default():
            evaluated = {one.name: one for one in tf.global_variables() if one.name in trained}
            if self._feed_op is None:
                self._placeholders = {
                    name: tf.placeholder(one.dtype.base_dtype) for name, one in evaluated.items()
                }
                self._feed_op = tf.group(
                    *(tf.assign(one, self._placeholders[name]) for name, one in evaluated.items())
                )
        self._variables = {name: trained[name] for name in evaluated}
        self._evaluate(session)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Evaluate, if it is time."""
        self._iteration += 1
        if self._timer.should_trigger_for_step(self._iteration):
            self._evaluate(run_context.session)

    def end(self, session: Any) -> None:
        """Evaluate the last step."""
        self._evaluate(session)

    def _evaluate(self, session: Any) -> None:
        values = session.run(self._variables)
        feeds = {self._placeholders[name]: value for name, value in values.items()}
        scaffold, update_op, metrics, hooks = self._built
        fed = tf.train.Scaffold(
            init_fn=lambda _, own: own.run(self._feed_op, feeds), copy_from_scaffold=scaffold
        )
        with self._graph.as_default():
            self._estimator.run_evaluation(
                None, fed, update_op, metrics, hooks, output_dir=self._output_dir
            )
        self._timer.update_last_triggered_step(self._iteration)


class _StopAtCheckpointStepHook(SessionRunHook):
    """A hook of workers that ends their training when a checkpoint has the last step."""

    def __init__(self, model_dir: str, last_step: int, wait_secs: float) -> None:
        self._model_dir = model_dir
        self._last_step = last_step
        self._wait_secs = wait_secs
        self._global_step: Any = None

    def begin(self) -> None:
        """Find the global step."""
        self._global_step = global_step_read("StopAtCheckpointStepHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the step."""
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Stop if the checkpoint is there; else wait before the next step."""
        if run_values.results + 1 < self._last_step:
            return
        if saved_global_step(self._model_dir) >= self._last_step:
            run_context.request_stop()
        else:
            time.sleep(self._wait_secs)


def make_stop_at_checkpoint_step_hook(
    estimator: Estimator, last_step: int, wait_after_file_check_secs: float = 30
) -> SessionRunHook:
    """Return a hook that ends a training at a step; on workers, when its checkpoint is saved.

    Args:
        estimator: The Estimator.
        last_step: The step.
        wait_after_file_check_secs: Seconds between two looks at the files.

    Raises:
        ValueError: There is no last step.
    """
    if last_step is None:
        raise ValueError("last_step must be specified.")
    if estimator.config.is_chief:
        return tf.train.StopAtStepHook(last_step=last_step)  # type: ignore[no-any-return]
    return _StopAtCheckpointStepHook(estimator.model_dir, last_step, wait_after_file_check_secs)
