"""Hooks that end a training because of its evaluations."""

from __future__ import annotations

import logging
import operator
import os
from typing import TYPE_CHECKING, Any

from tfnb.client.estimator.estimator import Estimator
from tfnb.client.estimator.exporters import scalars_of
from tfnb.client.public.api import tf
from tfnb.client.training.hooks import SecondOrStepTimer
from tfnb.client.training.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

if TYPE_CHECKING:
    from collections.abc import Callable

EXPORTS = {
    "estimator.experimental": [
        "make_early_stopping_hook", "stop_if_higher_hook", "stop_if_lower_hook",
        "stop_if_no_decrease_hook", "stop_if_no_increase_hook",
    ]
}  # fmt: skip

_log = logging.getLogger("tensorflow")


def read_eval_metrics(eval_dir: str) -> dict[int, dict[str, float]]:
    """Return step -> the metrics that evaluations wrote into a folder, in the order of steps."""
    found: dict[int, dict[str, float]] = {}
    if tf.gfile.Exists(eval_dir):
        for path in tf.gfile.Glob(os.path.join(eval_dir, "events.out.tfevents.*")):
            for event in tf.train.summary_iterator(path):
                metrics = scalars_of(event)
                if metrics:
                    found.setdefault(event.step, {}).update(metrics)
    return dict(sorted(found.items()))


def make_early_stopping_hook(
    estimator: Estimator,
    should_stop_fn: Callable[[], bool],
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Return a hook that ends the training on all workers when a function returns True.

    Args:
        estimator: The Estimator.
        should_stop_fn: Called on the chief.
        run_every_secs: Seconds between two calls.
        run_every_steps: Steps between two calls.

    Raises:
        TypeError: The first argument is no Estimator, or the second no function.
        ValueError: Both intervals are given.
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(
            f"`estimator` must have type `tf.estimator.Estimator`. Got: {type(estimator)}"
        )
    if run_every_secs is not None and run_every_steps is not None:
        raise ValueError("Only one of `run_every_secs` and `run_every_steps` must be set.")
    if not callable(should_stop_fn):
        raise TypeError("`should_stop_fn` must be callable.")
    if estimator.config.is_chief:
        return _StopOnPredicateHook(should_stop_fn, run_every_secs, run_every_steps)
    return _CheckForStoppingHook()


def stop_if_higher_hook(
    estimator: Estimator,
    metric_name: str,
    threshold: float,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Return a hook that ends the training when a metric is above a threshold.

    Args:
        estimator: The Estimator.
        metric_name: The metric.
        threshold: The threshold.
        eval_dir: The folder of evaluations; ``estimator.eval_dir()`` if None.
        min_steps: Evaluations before this step do not count.
        run_every_secs: Seconds between two looks.
        run_every_steps: Steps between two looks.
    """
    stops = _crossed(estimator, metric_name, threshold, operator.gt, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, stops, run_every_secs, run_every_steps)


def stop_if_lower_hook(
    estimator: Estimator,
    metric_name: str,
    threshold: float,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Return a hook that ends the training when a metric is below a threshold.

    Arguments as of :func:`stop_if_higher_hook`.
    """
    stops = _crossed(estimator, metric_name, threshold, operator.lt, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, stops, run_every_secs, run_every_steps)


def stop_if_no_increase_hook(
    estimator: Estimator,
    metric_name: str,
    max_steps_without_increase: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Return a hook that ends the training when a metric has not increased for some steps.

    Args:
        estimator: The Estimator.
        metric_name: The metric.
        max_steps_without_increase: The number of steps.
        eval_dir: The folder of evaluations; ``estimator.eval_dir()`` if None.
        min_steps: Evaluations before this step do not count.
        run_every_secs: Seconds between two looks.
        run_every_steps: Steps between two looks.
    """
    most = max_steps_without_increase
    stops = _not_improved(estimator, metric_name, most, operator.gt, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, stops, run_every_secs, run_every_steps)


def stop_if_no_decrease_hook(
    estimator: Estimator,
    metric_name: str,
    max_steps_without_decrease: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Return a hook that ends the training when a metric has not decreased for some steps.

    Arguments as of :func:`stop_if_no_increase_hook`.
    """
    most = max_steps_without_decrease
    stops = _not_improved(estimator, metric_name, most, operator.lt, eval_dir, min_steps)
    return make_early_stopping_hook(estimator, stops, run_every_secs, run_every_steps)


def _values(
    estimator: Estimator, name: str, eval_dir: str | None, min_steps: int
) -> list[tuple[int, float]]:
    """Return (step, metric) of the evaluations that count."""
    metrics = read_eval_metrics(eval_dir or estimator.eval_dir())
    found = []
    for step, values in metrics.items():
        if step < min_steps:
            continue
        if name not in values:
            raise KeyError(
                f"The evaluation at step {step} has no metric {name!r}; it has {sorted(values)}."
            )
        found.append((step, values[name]))
    return found


def _crossed(
    estimator: Estimator,
    name: str,
    threshold: float,
    is_better: Callable[[float, float], bool],
    eval_dir: str | None,
    min_steps: int,
) -> Callable[[], bool]:
    def is_crossed() -> bool:
        for step, value in _values(estimator, name, eval_dir, min_steps):
            if is_better(value, threshold):
                _log.info(
                    'At step %s, metric "%s" has value %s, which crosses the configured threshold '
                    "(%s) for early stopping.",
                    step, name, value, threshold,
                )  # fmt: skip
                return True
        return False

    return is_crossed


def _not_improved(
    estimator: Estimator,
    name: str,
    most_steps: int,
    is_better: Callable[[float, float], bool],
    eval_dir: str | None,
    min_steps: int,
) -> Callable[[], bool]:
    def is_not_improved() -> bool:
        best: tuple[int, float] | None = None
        for step, value in _values(estimator, name, eval_dir, min_steps):
            if best is None or is_better(value, best[1]):
                best = (step, value)
            if step - best[0] >= most_steps:
                _log.info(
                    'No improvement of metric "%s" for %s steps, which is greater than or equal to '
                    "max steps (%s) configured for early stopping.",
                    name, step - best[0], most_steps,
                )  # fmt: skip
                return True
        return False

    return is_not_improved


def _stop_variable() -> Any:
    """Return the variable that the chief sets to stop other workers."""
    with tf.variable_scope("signal_early_stopping", values=[], reuse=tf.AUTO_REUSE):
        return tf.get_variable(
            "STOP",
            shape=[],
            dtype=tf.bool,
            initializer=tf.constant_initializer(False),
            collections=[tf.GraphKeys.GLOBAL_VARIABLES],
            trainable=False,
        )


class _StopOnPredicateHook(SessionRunHook):
    """A hook of the chief that calls a function and ends the training when it returns True."""

    def __init__(
        self, should_stop_fn: Callable[[], bool], secs: float | None, steps: int | None
    ) -> None:
        self._should_stop_fn = should_stop_fn
        self._timer = SecondOrStepTimer(every_secs=secs, every_steps=steps)
        self._stop_op: Any = None
        self._global_step: Any = None

    def begin(self) -> None:
        """Make the op that sets the variable of all workers."""
        self._global_step = tf.train.get_global_step()
        self._stop_op = tf.assign(_stop_variable(), True)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the step."""
        return SessionRunArgs(self._global_step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Call the function, if it is time."""
        step = run_values.results
        if not self._timer.should_trigger_for_step(step):
            return
        self._timer.update_last_triggered_step(step)
        if self._should_stop_fn():
            _log.info("Requesting early stopping at global step %d", step)
            run_context.session.run(self._stop_op)
            run_context.request_stop()


class _CheckForStoppingHook(SessionRunHook):
    """A hook of other workers that ends their training when the chief has set the variable."""

    def __init__(self) -> None:
        self._stop: Any = None

    def begin(self) -> None:
        """Find the variable of the chief."""
        self._stop = _stop_variable()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetch the variable."""
        return SessionRunArgs(self._stop)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Request a stop if the variable is set."""
        if run_values.results:
            _log.info("Early stopping requested, suspending run.")
            run_context.request_stop()
