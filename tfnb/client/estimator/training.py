"""``tf.estimator.train_and_evaluate``: training with evaluations, in one process or a cluster."""

from __future__ import annotations

import json
import logging
import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from tfnb.client.estimator.estimator import Estimator
from tfnb.client.estimator.exporters import Exporter
from tfnb.client.estimator.run_config import TaskType
from tfnb.client.public.api import tf
from tfnb.client.training.hooks import SecondOrStepTimer
from tfnb.client.training.saving_hooks import CheckpointSaverListener
from tfnb.client.training.session_run_hook import SessionRunHook
from tfnb.proto.config_pb2 import ConfigProto

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EXPORTS = {"estimator": ["EvalSpec", "TrainSpec", "train_and_evaluate"]}

_log = logging.getLogger("tensorflow")

# Workers start one after another, so that the chief has initialized the variables.
_DELAY_SECS_PER_WORKER = 5
_MAX_DELAY_SECS = 60
_TRAINERS = (TaskType.CHIEF, TaskType.MASTER, TaskType.WORKER)
_SECS_BETWEEN_WARNINGS = 600


class _TrainFields(NamedTuple):
    input_fn: Any
    max_steps: Any
    hooks: Any


class TrainSpec(_TrainFields):
    """The training part of :func:`train_and_evaluate`.

    Args:
        input_fn: Returns a dataset of (features, labels), or these tensors.
        max_steps: The global step at which the training ends; the end of the input if None.
        hooks: Hooks of the training.

    Raises:
        ValueError: The number of steps is not positive.
        TypeError: The input cannot be called, or a hook is none.
    """

    def __new__(
        cls,
        input_fn: Callable[..., Any],
        max_steps: int | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
    ) -> Self:
        """See the class."""
        _check_input_fn(input_fn)
        if max_steps is not None and max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")
        return super().__new__(cls, input_fn, max_steps, _checked_hooks(hooks))


class _EvalFields(NamedTuple):
    input_fn: Any
    steps: Any
    name: Any
    hooks: Any
    exporters: Any
    start_delay_secs: Any
    throttle_secs: Any


class EvalSpec(_EvalFields):
    """The evaluation part of :func:`train_and_evaluate`.

    Args:
        input_fn: Returns a dataset of (features, labels), or these tensors.
        steps: How many batches; all if None.
        name: The name of the evaluation.
        hooks: Hooks of the evaluation.
        exporters: An exporter, or several with different names.
        start_delay_secs: How long an evaluator in a cluster waits before it starts.
        throttle_secs: The shortest time between two evaluations.

    Raises:
        ValueError: A number is out of range, or the names of exporters are not different.
        TypeError: An argument has another type.
    """

    def __new__(
        cls,
        input_fn: Callable[..., Any],
        steps: int | None = 100,
        name: str | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        exporters: Any = None,
        start_delay_secs: float = 120,
        throttle_secs: float = 600,
    ) -> Self:
        """See the class."""
        _check_input_fn(input_fn)
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"`name` must be string, given: {name}")
        for what, secs in (
            ("start_delay_secs", start_delay_secs),
            ("throttle_secs", throttle_secs),
        ):
            if secs < 0:
                raise ValueError(f"Must specify {what} >= 0, given: {secs}")
        return super().__new__(
            cls,
            input_fn,
            steps,
            name,
            _checked_hooks(hooks),
            _checked_exporters(exporters),
            start_delay_secs,
            throttle_secs,
        )


def _check_input_fn(input_fn: Any) -> None:
    if not callable(input_fn):
        raise TypeError(f"`input_fn` must be callable, given: {input_fn}")


def _checked_hooks(hooks: Sequence[Any] | None) -> tuple[Any, ...]:
    for hook in hooks or ():
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"All hooks must be `SessionRunHook` instances, given: {hook}")
    return tuple(hooks or ())


def _checked_exporters(exporters: Any) -> tuple[Exporter, ...]:
    if not exporters:
        return ()
    found = [exporters] if isinstance(exporters, Exporter) else exporters
    try:
        found = tuple(found)
    except TypeError:
        found = (None,)
    names: set[str] = set()
    for exporter in found:
        if not isinstance(exporter, Exporter):
            raise TypeError(
                "`exporters` must be an Exporter, an iterable of Exporter, or `None`, found "
                f"{exporters}."
            )
        if not exporter.name:
            raise ValueError("An Exporter cannot have a name that is `None` or empty.")
        if not isinstance(exporter.name, str):
            raise ValueError(f"An Exporter must have a string name. Given: {type(exporter.name)}")
        if exporter.name in names:
            raise ValueError(
                "`exporters` must have unique names. All exporter names: "
                f"{[one.name for one in found]}"
            )
        names.add(exporter.name)
    return found


class EvalResult(NamedTuple):
    """The metrics of a checkpoint and the folders that exporters wrote.

    Attributes:
        metrics: Name -> value; None if there was no new checkpoint.
        exports: The folders, None for an exporter that wrote nothing.
        is_final: Whether the training has ended.
    """

    metrics: dict[str, Any] | None = None
    exports: Sequence[str | None] = ()
    is_final: bool = False


class CheckpointEvaluator:
    """Evaluates new checkpoints of an Estimator and calls the exporters.

    Args:
        estimator: The Estimator.
        eval_spec: What to evaluate.
        max_training_steps: The global step at which the training ends.
    """

    def __init__(
        self, estimator: Estimator, eval_spec: EvalSpec, max_training_steps: int | None
    ) -> None:
        self._estimator = estimator
        self._eval_spec = eval_spec
        self._max_training_steps = max_training_steps
        self._evaluated: str | None = None
        self._last_warning: float | None = None

    def evaluate_and_export(self) -> EvalResult:
        """Evaluate the latest checkpoint, unless it was evaluated before."""
        path = self._estimator.latest_checkpoint()
        if not path:
            self._warn(
                "Estimator is not trained yet. Will start an evaluation when a checkpoint is ready."
            )
            return EvalResult()
        if path == self._evaluated:
            self._warn("No new checkpoint ready for evaluation. Skip the current evaluation pass.")
            return EvalResult()
        spec = self._eval_spec
        metrics = self._estimator.evaluate(
            input_fn=spec.input_fn,
            steps=spec.steps,
            hooks=spec.hooks,
            checkpoint_path=path,
            name=spec.name,
        )
        limit = self._max_training_steps
        is_final = bool(limit) and metrics[tf.GraphKeys.GLOBAL_STEP] >= limit
        folder = os.path.join(self._estimator.model_dir, "export")
        exports = [
            exporter.export(
                estimator=self._estimator,
                export_path=os.path.join(folder, exporter.name),
                checkpoint_path=path,
                eval_result=metrics,
                is_the_final_export=is_final,
            )
            for exporter in spec.exporters
        ]
        self._last_warning = None
        self._evaluated = path
        return EvalResult(metrics, exports, is_final)

    def _warn(self, message: str) -> None:
        now = time.monotonic()
        if self._last_warning is None or now - self._last_warning > _SECS_BETWEEN_WARNINGS:
            _log.warning(message)
            self._last_warning = now


class EvaluatingListener(CheckpointSaverListener):
    """A listener that evaluates after checkpoints were saved; not after the first one.

    Args:
        evaluator: Evaluates.
        throttle_secs: The shortest time between two evaluations.
    """

    def __init__(self, evaluator: CheckpointEvaluator, throttle_secs: float) -> None:
        self._evaluator = evaluator
        self._throttle_secs = throttle_secs
        self._timer = SecondOrStepTimer(every_secs=throttle_secs)
        self._is_first = True
        self.result = EvalResult()

    def begin(self) -> None:
        """Begin to measure the time between evaluations."""
        self._timer = SecondOrStepTimer(every_secs=self._throttle_secs)
        self._is_first = True

    def after_save(self, session: Any, global_step_value: int) -> None:
        """Evaluate the checkpoint, if the time has passed."""
        if self._is_first:
            # It has the values before the first step.
            self._is_first = False
        elif self._timer.should_trigger_for_step(global_step_value):
            self._evaluate(global_step_value)
        else:
            _log.info(
                "Skip the current checkpoint eval due to throttle secs (%s secs).",
                self._throttle_secs,
            )

    def end(self, session: Any, global_step_value: int) -> None:
        """Evaluate the last checkpoint."""
        if global_step_value != self._timer.last_triggered_step():
            self._evaluate(global_step_value)

    def _evaluate(self, global_step: int) -> None:
        self._timer.update_last_triggered_step(global_step)
        self.result = self._evaluator.evaluate_and_export()
        if self.result.metrics is None:
            raise RuntimeError(
                "There was no new checkpoint after the training. Did another process remove "
                "checkpoints of this model_dir?"
            )


def train_and_evaluate(
    estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec
) -> tuple[dict[str, Any] | None, Sequence[str | None] | None] | None:
    """Train and evaluate; in a cluster, do what the task of this process does there.

    Args:
        estimator: The Estimator.
        train_spec: What to train.
        eval_spec: What to evaluate.

    Returns:
        The last metrics and the folders of the last export, without a cluster; else None.

    Raises:
        TypeError: An argument has another type.
        ValueError: ``TF_CONFIG`` describes no task that can do its part.
    """
    for value, kind, name in (
        (estimator, Estimator, "estimator"),
        (train_spec, TrainSpec, "train_spec"),
        (eval_spec, EvalSpec, "eval_spec"),
    ):
        if not isinstance(value, kind):
            raise TypeError(
                f"`{name}` must have type `tf.estimator.{kind.__name__}`. Got: {type(value)}"
            )
    config = estimator.config
    if config.task_type == TaskType.EVALUATOR:
        if config.task_id > 0:
            raise ValueError(
                "For distributed training, there can only be one `evaluator` task (with task id "
                f"0).  Given task id {config.task_id}"
            )
        evaluate_until_trained(estimator, train_spec, eval_spec)
        return None
    if not config.cluster_spec:
        _log.info("Running training and evaluation locally (non-distributed).")
        return _run_local(estimator, train_spec, eval_spec)
    if config.task_type == TaskType.PS:
        server = start_server(config)
        assert server is not None
        server.join()
    elif config.task_type in _TRAINERS:
        _train_in_cluster(estimator, train_spec, eval_spec)
    else:
        raise ValueError(
            f"Task type {config.task_type} is not supported. Supported task types are "
            f"{[*_TRAINERS, TaskType.PS, TaskType.EVALUATOR]}"
        )
    return None


def _listener(
    estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec
) -> EvaluatingListener:
    evaluator = CheckpointEvaluator(estimator, eval_spec, train_spec.max_steps)
    return EvaluatingListener(evaluator, eval_spec.throttle_secs)


def _run_local(
    estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec
) -> tuple[dict[str, Any] | None, Sequence[str | None] | None]:
    config = estimator.config
    _log.info(
        "Start train and evaluate loop. The evaluate will happen after every checkpoint. "
        "Checkpoint frequency is determined based on RunConfig arguments: "
        "save_checkpoints_steps %s or save_checkpoints_secs %s.",
        config.save_checkpoints_steps,
        config.save_checkpoints_secs,
    )
    listener = _listener(estimator, train_spec, eval_spec)
    estimator.train(
        train_spec.input_fn,
        max_steps=train_spec.max_steps,
        hooks=train_spec.hooks,
        saving_listeners=[listener],
    )
    result = listener.result
    return result.metrics, None if result.metrics is None else result.exports


def start_server(config: Any) -> Any:
    """Start the server of this task; return None if the cluster has no other task."""
    if not config.master:
        jobs = config.cluster_spec.jobs
        is_alone = len(jobs) == 1 and len(config.cluster_spec.job_tasks(jobs[0])) == 1
        if is_alone and config.task_type in _TRAINERS:
            _log.info("Skip starting Tensorflow server as there is only one node in the cluster.")
            return None
        raise RuntimeError(
            "Could not start server; be sure to specify master in RunConfig or set the TF_CONFIG "
            "environment variable."
        )
    _log.info("Start Tensorflow server.")
    session_config = ConfigProto(log_device_placement=False)
    if config.session_config is not None:
        session_config.gpu_options.CopyFrom(config.session_config.gpu_options)
    return tf.train.Server(
        config.cluster_spec,
        job_name=config.task_type,
        task_index=config.task_id,
        config=session_config,
        protocol=config.protocol,
    )


def _train_in_cluster(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> None:
    config = estimator.config
    # In that environment, servers run already.
    described = json.loads(os.environ.get("TF_CONFIG") or "{}")
    server = None if described.get("environment") == "google" else start_server(config)
    if config.task_type == TaskType.WORKER:
        limit = config.experimental_max_worker_delay_secs
        limit = _MAX_DELAY_SECS if limit is None else limit
        delay = min(limit, (config.task_id + 1) * _DELAY_SECS_PER_WORKER)
        if delay > 0:
            _log.info("Waiting %d secs before starting training.", delay)
            time.sleep(delay)
    listeners = []
    if config.task_type == TaskType.MASTER:
        listeners.append(_listener(estimator, train_spec, eval_spec))
    estimator.train(
        train_spec.input_fn,
        max_steps=train_spec.max_steps,
        hooks=train_spec.hooks,
        saving_listeners=listeners,
    )
    del server  # it serves others until this process ends


def evaluate_until_trained(
    estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec
) -> None:
    """Evaluate new checkpoints until one has the last step."""
    if eval_spec.start_delay_secs:
        _log.info("Waiting %f secs before starting eval.", eval_spec.start_delay_secs)
        time.sleep(eval_spec.start_delay_secs)
    evaluator = CheckpointEvaluator(estimator, eval_spec, train_spec.max_steps)
    while True:
        start = time.monotonic()
        if evaluator.evaluate_and_export().is_final:
            _log.info("Exiting evaluation: the training has reached its last step.")
            return
        left = eval_spec.throttle_secs - (time.monotonic() - start)
        if left > 0:
            _log.info("Waiting %f secs before starting next eval run.", left)
            time.sleep(left)
