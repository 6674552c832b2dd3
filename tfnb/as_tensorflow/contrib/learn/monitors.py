"""Monitors of ``tf.contrib.learn``: hooks that evaluate a model during its training, and others."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.missing_name import missing_name
from tfnb.client.estimator.training_session import saved_global_step
from tfnb.client.public.api import tf
from tfnb.client.training.session_run_hook import SessionRunArgs, SessionRunHook

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.client.training.session_run_hook import SessionRunContext, SessionRunValues

_log = logging.getLogger("tensorflow")

CheckpointSaver = tf.train.CheckpointSaverHook
NanLoss = tf.train.NanTensorHook
NanLossDuringTrainingError = tf.train.NanLossDuringTrainingError
StepCounter = tf.train.StepCounterHook
StopAtStep = tf.train.StopAtStepHook
SummarySaver = tf.train.SummarySaverHook


class ValidationMonitor(SessionRunHook):
    """Evaluates new checkpoints during a training, and may end it.

    Args:
      x: the features of the evaluation as arrays.
      y: the labels.
      input_fn: returns features and labels, instead of arrays.
      batch_size: of arrays; all examples by default.
      eval_steps: how many batches; all if None.
      every_n_steps: steps between two looks for a new checkpoint.
      metrics: name -> ``MetricSpec`` or function.
      hooks: of the evaluation.
      early_stopping_rounds: after how many steps without a better value the training ends.
      early_stopping_metric: the metric of which the value is.
      early_stopping_metric_minimize: whether a smaller value is better.
      name: of the evaluation.
      check_interval_secs: without effect.

    Attributes:
      best_step: the step of the best value.
      best_value: the best value.
      best_metrics: all metrics of that step.
      early_stopped: whether the training was ended.

    Raises:
      ValueError: neither arrays nor a function are given.
    """

    def __init__(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        eval_steps: int | None = None,
        every_n_steps: int = 100,
        metrics: Any = None,
        hooks: Sequence[Any] | None = None,
        early_stopping_rounds: int | None = None,
        early_stopping_metric: str = "loss",
        early_stopping_metric_minimize: bool = True,
        name: str | None = None,
        check_interval_secs: float = 5,
    ) -> None:
        if x is None and input_fn is None:
            raise ValueError("Either x or input_fn should be provided.")
        self._evaluation = {
            "x": x, "y": y, "input_fn": input_fn, "batch_size": batch_size, "steps": eval_steps,
            "metrics": metrics, "hooks": hooks, "name": name,
        }  # fmt: skip
        self._every_n_steps = every_n_steps
        self._rounds = early_stopping_rounds
        self._metric = early_stopping_metric
        self._sign = 1 if early_stopping_metric_minimize else -1
        self._estimator: Any = None
        self._step_read: Any = None
        self._looked_at: int | None = None
        self._evaluated: int | None = None
        self.best_step: int | None = None
        self.best_value: float | None = None
        self.best_metrics: dict[str, Any] | None = None
        self.early_stopped = False

    def set_estimator(self, estimator: Any) -> None:
        """Tell the monitor which model is trained."""
        self._estimator = estimator

    def begin(self) -> None:
        """Find the global step."""
        self._step_read = tf.train.get_or_create_global_step()
        self._looked_at = None

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Read the global step."""
        return SessionRunArgs(self._step_read)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Evaluate, if there is a new checkpoint and it is time to look."""
        step = int(run_values.results)
        if self._looked_at is not None and step < self._looked_at + self._every_n_steps:
            return
        self._looked_at = step
        if self._estimator.latest_checkpoint() is None:
            return
        saved = saved_global_step(self._estimator.model_dir)
        if saved == self._evaluated:
            return
        self._evaluated = saved
        if self._is_settled(saved):
            run_context.request_stop()

    def _is_settled(self, step: int) -> bool:
        found = self._estimator.evaluate(**self._evaluation)
        _log.info("Validation (step %d): %s", step, found)
        if self._rounds is None:
            return False
        value = found.get(self._metric)
        if value is None:
            raise ValueError(
                f"No metric {self._metric!r} to end the training by; there are {sorted(found)}."
            )
        if self.best_value is None or self._sign * value < self._sign * self.best_value:
            self.best_value, self.best_metrics, self.best_step = value, found, step
            return False
        self.early_stopped = step - (self.best_step or 0) >= self._rounds
        return self.early_stopped


def PrintTensor(tensor_names: Any, every_n: int = 100, first_n: int = 1) -> Any:
    """Return a hook that logs tensors.

    Args:
      tensor_names: names, or label -> name.
      every_n: steps between two lines.
      first_n: without effect.
    """
    return tf.train.LoggingTensorHook(tensor_names, every_n)


def as_hooks(monitors: Any, estimator: Any) -> list[Any]:
    """Return monitors as hooks of the training of a model.

    Args:
      monitors: one, several or none.
      estimator: the model.
    """
    several = monitors if isinstance(monitors, list | tuple) else [monitors]
    found = [one for one in several if one is not None]
    for one in found:
        if hasattr(one, "set_estimator"):
            one.set_estimator(estimator)
    return found


def replace_monitors_with_hooks(monitors_or_hooks: Any, estimator: Any) -> list[Any]:
    """Return monitors as hooks; see ``as_hooks``."""
    return as_hooks(monitors_or_hooks, estimator)


_HOOKS = "derive from tf.train.SessionRunHook"
_MISSING = {
    "BaseMonitor": _HOOKS,
    "EveryN": _HOOKS,
    "ExportMonitor": "call export_savedmodel after the training",
    "GraphDump": "use tf.train.ProfilerHook",
    "LoggingTrainable": "use tf.train.LoggingTensorHook",
    "RunHookAdapterForMonitors": _HOOKS,
}


def __getattr__(name: str) -> Any:
    if name in _MISSING:
        return missing_name("tensorflow.contrib.learn.monitors", name, _MISSING[name])
    raise AttributeError(f"module 'tensorflow.contrib.learn.monitors' has no attribute {name!r}")
