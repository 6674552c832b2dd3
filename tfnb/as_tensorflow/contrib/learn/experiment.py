"""``tf.contrib.learn.Experiment``: a model with the data of its training and evaluation."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.contrib.learn.estimator import Estimator
from tfnb.as_tensorflow.contrib.learn.monitors import as_hooks
from tfnb.as_tensorflow.contrib.learn.utils.export_strategy import ExportStrategy
from tfnb.client.estimator.training import evaluate_until_trained, start_server
from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class _StrategyExporter(tf.estimator.Exporter):  # type: ignore[misc]
    """An export strategy as an exporter of ``tf.estimator``."""

    def __init__(self, strategy: Any) -> None:
        self._strategy = strategy

    @property
    def name(self) -> str:
        """The name of the strategy."""
        return str(self._strategy.name)

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: Any,
        is_the_final_export: bool,
    ) -> Any:
        """Export."""
        return self._strategy.export(estimator, export_path, checkpoint_path, eval_result)


class Experiment:
    """A model, and what it is trained and evaluated on.

    Args:
      estimator: the model, of this module or of ``tf.estimator``.
      train_input_fn: returns features and labels of the training.
      eval_input_fn: returns features and labels of the evaluation.
      eval_metrics: name -> ``MetricSpec`` or function, for a model of this module.
      train_steps: the global step at which the training ends; None for the end of its data.
      eval_steps: how many batches are evaluated; all if None.
      train_monitors: monitors or hooks of the training.
      eval_hooks: hooks of the evaluation.
      local_eval_frequency: without effect.
      eval_delay_secs: how long an evaluator waits before it starts.
      continuous_eval_throttle_secs: the shortest time between two evaluations of an evaluator.
      min_eval_frequency: without effect: checkpoints are evaluated, and the last step.
      delay_workers_by_global_step: without effect.
      export_strategies: what is exported after an evaluation.
      train_steps_per_iteration: without effect.
      checkpoint_and_export: without effect.
      saving_listeners: listeners of checkpoints.
      check_interval_secs: without effect.

    Raises:
      TypeError: the estimator is none.
      ValueError: metrics are given for a model of ``tf.estimator``.
    """

    def __init__(
        self,
        estimator: Any,
        train_input_fn: Callable[..., Any],
        eval_input_fn: Callable[..., Any],
        eval_metrics: Any = None,
        train_steps: int | None = None,
        eval_steps: int | None = 100,
        train_monitors: Any = None,
        eval_hooks: Sequence[Any] | None = None,
        local_eval_frequency: int | None = None,
        eval_delay_secs: float = 120,
        continuous_eval_throttle_secs: float = 60,
        min_eval_frequency: int | None = None,
        delay_workers_by_global_step: bool = False,
        export_strategies: Any = None,
        train_steps_per_iteration: int | None = None,
        checkpoint_and_export: bool = False,
        saving_listeners: Sequence[Any] | None = None,
        check_interval_secs: float = 5,
    ) -> None:
        if not isinstance(estimator, tf.estimator.Estimator):
            raise TypeError("`estimator` must be tf.estimator.Estimator or of tf.contrib.learn.")
        if eval_metrics is not None and not isinstance(estimator, Estimator):
            raise ValueError(
                "`eval_metrics` must be None for tf.estimator.Estimator. Use eval_metric_ops of "
                "the EstimatorSpec."
            )
        self._estimator = estimator
        self._train_input_fn = train_input_fn
        self._eval_input_fn = eval_input_fn
        self._eval_metrics = eval_metrics
        self._train_steps = train_steps
        self._eval_steps = eval_steps
        self._train_monitors = [*_listed(train_monitors)]
        self._eval_hooks = [*_listed(eval_hooks)]
        self._eval_delay_secs = eval_delay_secs
        self._throttle_secs = continuous_eval_throttle_secs
        self._saving_listeners = [*_listed(saving_listeners)]
        self._strategies = tuple(_listed(export_strategies))

    @property
    def estimator(self) -> Any:
        """The model."""
        return self._estimator

    @property
    def eval_metrics(self) -> Any:
        """The metrics."""
        return self._eval_metrics

    @property
    def train_steps(self) -> int | None:
        """The global step at which the training ends."""
        return self._train_steps

    @property
    def eval_steps(self) -> int | None:
        """How many batches are evaluated."""
        return self._eval_steps

    def reset_export_strategies(self, new_export_strategies: Any = None) -> Any:
        """Replace the export strategies; return those that were there.

        Args:
          new_export_strategies: one, several, or None.
        """
        before, self._strategies = self._strategies, tuple(_listed(new_export_strategies))
        return before

    def extend_train_hooks(self, additional_hooks: Sequence[Any]) -> None:
        """Add hooks of the training."""
        self._train_monitors.extend(additional_hooks)

    def train(self, delay_secs: float | None = None) -> Any:
        """Train; in a cluster, start the server of this task before.

        Args:
          delay_secs: without effect.
        """
        server = start_server(self._estimator.config) if self._in_cluster() else None
        found = self._estimator.train(
            self._train_input_fn,
            as_hooks(self._train_monitors, self._estimator),
            max_steps=self._train_steps,
            saving_listeners=self._saving_listeners,
        )
        del server  # it serves others until this process ends
        return found

    def evaluate(self, delay_secs: float | None = None, name: str | None = None) -> Any:
        """Return the metrics of the latest checkpoint.

        Args:
          delay_secs: without effect.
          name: of the evaluation.
        """
        return self._evaluated(self._eval_steps, name)

    def test(self) -> Any:
        """Train one step and evaluate one batch; return the metrics."""
        self._estimator.train(
            self._train_input_fn, as_hooks(self._train_monitors, self._estimator), steps=1
        )
        return self._evaluated(1, "one_pass")

    def _evaluated(self, steps: int | None, name: str | None) -> Any:
        rest: dict[str, Any] = {}
        if isinstance(self._estimator, Estimator):
            rest["metrics"] = self._eval_metrics
        return self._estimator.evaluate(
            input_fn=self._eval_input_fn, steps=steps, hooks=self._eval_hooks, name=name, **rest
        )

    def train_and_evaluate(self) -> Any:
        """Train, and evaluate each checkpoint and the last step.

        In a cluster, the task of this process does its part.

        Returns:
          The last metrics, and the folders of exports.
        """
        with self._with_metrics():
            return tf.estimator.train_and_evaluate(self._estimator, *self._specs(0))

    def local_run(self) -> Any:
        """Train and evaluate; see ``train_and_evaluate``."""
        return self.train_and_evaluate()

    def continuous_eval(self, *unused: Any, **also_unused: Any) -> None:
        """Evaluate new checkpoints until one has the last step of the training.

        Args:
          *unused: delays, which the constructor has.
          **also_unused: further arguments of TensorFlow.
        """
        with self._with_metrics():
            evaluate_until_trained(self._estimator, *self._specs(self._throttle_secs))

    def run_std_server(self) -> None:
        """Serve variables to the workers of a cluster, without end.

        Raises:
          ValueError: ``TF_CONFIG`` describes no cluster.
        """
        server = start_server(self._estimator.config) if self._in_cluster() else None
        if server is None:
            raise ValueError("TF_CONFIG describes no cluster: there is nothing to serve.")
        server.join()

    def _in_cluster(self) -> bool:
        return bool(self._estimator.config.cluster_spec)

    def _specs(self, throttle_secs: float) -> tuple[Any, Any]:
        train = tf.estimator.TrainSpec(
            self._train_input_fn, self._train_steps, as_hooks(self._train_monitors, self._estimator)
        )
        evaluation = tf.estimator.EvalSpec(
            self._eval_input_fn,
            self._eval_steps,
            hooks=self._eval_hooks,
            exporters=[_StrategyExporter(one) for one in self._strategies],
            start_delay_secs=self._eval_delay_secs,
            throttle_secs=throttle_secs,
        )
        return train, evaluation

    def _with_metrics(self) -> Any:
        if isinstance(self._estimator, Estimator):
            return self._estimator.with_metrics(self._eval_metrics)
        return nullcontext()


def _listed(given: Any) -> Sequence[Any]:
    if given is None:
        return []
    is_one = isinstance(given, ExportStrategy)  # a tuple itself
    return [given] if is_one or not isinstance(given, list | tuple) else given
