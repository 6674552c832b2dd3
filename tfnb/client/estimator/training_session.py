"""The session of a training: its hooks, checkpoints and summaries."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from tfnb.client.estimator.run_config import TaskType
from tfnb.client.public.api import tf
from tfnb.client.training.saving_hooks import CheckpointSaverHook
from tfnb.core import errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.client.estimator.model_fn import EstimatorSpec
    from tfnb.client.estimator.run_config import RunConfig
    from tfnb.client.training.saving_hooks import CheckpointSaverListener
    from tfnb.client.training.session_run_hook import SessionRunHook

_log = logging.getLogger("tensorflow")


def run_training(
    spec: EstimatorSpec,
    hooks: Sequence[SessionRunHook],
    listeners: Sequence[CheckpointSaverListener],
    config: RunConfig,
    model_dir: str,
) -> Any:
    """Run the training of a graph; return the loss of the last step.

    Args:
        spec: The ops of the graph.
        hooks: Hooks of the training.
        listeners: Listeners to checkpoints.
        config: The configuration.
        model_dir: The folder of checkpoints and summaries.
    """
    global_step = tf.train.get_global_step()
    summaries = tf.get_collection(tf.GraphKeys.SUMMARIES)
    if not any(getattr(one, "op", one).name == "loss" for one in summaries):
        tf.summary.scalar("loss", spec.loss)
    tf.add_to_collection(tf.GraphKeys.LOSSES, spec.loss)
    worker_hooks = [*hooks, tf.train.NanTensorHook(spec.loss)]
    if config.log_step_count_steps is not None:
        logged = {"loss": spec.loss, "step": global_step}
        worker_hooks.append(
            tf.train.LoggingTensorHook(logged, every_n_iter=config.log_step_count_steps)
        )
    worker_hooks.extend(spec.training_hooks)
    if not (spec.scaffold.saver or tf.get_collection(tf.GraphKeys.SAVERS)):
        saver = tf.train.Saver(
            sharded=True,
            max_to_keep=config.keep_checkpoint_max,
            keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
            defer_build=True,
            save_relative_paths=True,
        )
        tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
    chief_hooks = _saver_hooks(spec, worker_hooks, listeners, config, model_dir)
    summary_steps, count_steps = config.save_summary_steps, config.log_step_count_steps
    if _is_cluster_with_master(config):
        # The master evaluates between steps; a worker's counts are not disturbed by that.
        summary_steps, count_steps = 0, None
        worker_hooks.extend(_first_worker_hooks(spec, config, model_dir))
    loss = None
    with tf.train.MonitoredTrainingSession(
        master=config.master,
        is_chief=config.is_chief,
        checkpoint_dir=model_dir,
        scaffold=spec.scaffold,
        hooks=worker_hooks,
        chief_only_hooks=[*chief_hooks, *spec.training_chief_hooks],
        save_checkpoint_secs=0,  # `chief_hooks` save
        save_summaries_steps=summary_steps,
        config=config.session_config,
        max_wait_secs=config.session_creation_timeout_secs,
        log_step_count_steps=count_steps,
    ) as session:
        is_stepped = False
        while not session.should_stop():
            _, loss = session.run([spec.train_op, spec.loss])
            is_stepped = True
    if not is_stepped:
        _log.warning(
            "Training with estimator made no steps. Perhaps input is empty or misspecified."
        )
    return loss


def _saver_hooks(
    spec: EstimatorSpec,
    worker_hooks: Sequence[SessionRunHook],
    listeners: Sequence[CheckpointSaverListener],
    config: RunConfig,
    model_dir: str,
) -> list[SessionRunHook]:
    """Return the hook that saves, unless the model has one; listeners are added to either."""
    given = [*worker_hooks, *spec.training_chief_hooks]
    savers = [hook for hook in given if isinstance(hook, CheckpointSaverHook)]
    made: list[SessionRunHook] = []
    if not savers and (config.save_checkpoints_secs or config.save_checkpoints_steps):
        savers = [
            CheckpointSaverHook(
                model_dir,
                save_secs=config.save_checkpoints_secs,
                save_steps=config.save_checkpoints_steps,
                scaffold=spec.scaffold,
            )
        ]
        made = [savers[0]]
    if listeners and not savers:
        raise ValueError(
            "There should be a CheckpointSaverHook to use saving_listeners. Please set one of "
            "the RunConfig.save_checkpoints_steps or RunConfig.save_checkpoints_secs."
        )
    for listener in listeners:
        savers[0].add_listener(listener)
    return made


def _is_cluster_with_master(config: RunConfig) -> bool:
    jobs = config.cluster_spec.jobs
    return TaskType.WORKER in jobs and TaskType.MASTER in jobs


def _first_worker_hooks(
    spec: EstimatorSpec, config: RunConfig, model_dir: str
) -> list[SessionRunHook]:
    if config.task_type != TaskType.WORKER or config.task_id != 0:
        return []
    hooks: list[SessionRunHook] = []
    if config.save_summary_steps:
        hooks.append(
            tf.train.SummarySaverHook(
                save_steps=config.save_summary_steps,
                output_dir=model_dir,
                scaffold=spec.scaffold,
            )
        )
    if config.log_step_count_steps:
        hooks.append(
            tf.train.StepCounterHook(
                every_n_steps=config.log_step_count_steps, output_dir=model_dir
            )
        )
    return hooks


def replica_device_setter(config: RunConfig) -> Any:
    """Return the function that places variables on parameter servers; None without them."""
    if not config.num_ps_replicas:
        return None
    return tf.train.replica_device_setter(
        ps_tasks=config.num_ps_replicas,
        worker_device=f"/job:{config.task_type}/task:{config.task_id}",
        merge_devices=True,
        cluster=config.cluster_spec,
    )


def saved_global_step(model_dir: str) -> int:
    """Return the global step of the latest checkpoint; 0 if there is none."""
    path = tf.train.latest_checkpoint(model_dir)
    if not path:
        return 0
    try:
        return int(tf.train.load_variable(path, tf.GraphKeys.GLOBAL_STEP))
    except errors.OpError:  # the step has another name, or a training elsewhere removed the file
        return 0
