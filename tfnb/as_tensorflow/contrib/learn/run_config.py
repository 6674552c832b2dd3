"""``tf.contrib.learn.RunConfig``: the configuration of an Estimator, with the older arguments."""

from __future__ import annotations

from typing import Any

from tfnb.client.estimator import run_config
from tfnb.client.estimator.run_config import TaskType as TaskType
from tfnb.client.public.api import tf


class Environment:
    """Where a program runs."""

    CLOUD = "cloud"
    GOOGLE = "google"
    LOCAL = "local"


class RunConfig(run_config.RunConfig):
    """A configuration of ``tf.estimator`` that takes settings of sessions by name.

    Args:
      master: without effect; ``TF_CONFIG`` describes a cluster.
      num_cores: the number of threads; chosen by the machine if 0.
      log_device_placement: whether devices of operations are logged.
      gpu_memory_fraction: how much of a GPU's memory is used.
      tf_random_seed: the seed of every graph.
      save_summary_steps: steps between two summaries.
      save_checkpoints_secs: seconds between two checkpoints; 600 by default.
      save_checkpoints_steps: steps between two checkpoints.
      keep_checkpoint_max: how many checkpoints are kept.
      keep_checkpoint_every_n_hours: one checkpoint per this number of hours is kept in addition.
      log_step_count_steps: steps between two log lines.
      protocol: of servers.
      evaluation_master: without effect.
      model_dir: the folder of checkpoints and summaries.
      session_config: the ``ConfigProto`` of sessions, instead of the settings by name.
    """

    def __init__(
        self,
        master: str | None = None,
        num_cores: int = 0,
        log_device_placement: bool = False,
        gpu_memory_fraction: float = 1,
        tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100,
        save_checkpoints_secs: Any = run_config.USE_DEFAULT,
        save_checkpoints_steps: Any = run_config.USE_DEFAULT,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int | None = 100,
        protocol: str | None = None,
        evaluation_master: str = "",
        model_dir: Any = None,
        session_config: Any = None,
    ) -> None:
        self._tf_config = session_config or tf.ConfigProto(
            log_device_placement=log_device_placement,
            inter_op_parallelism_threads=num_cores,
            intra_op_parallelism_threads=num_cores,
            gpu_options=tf.GPUOptions(per_process_gpu_memory_fraction=gpu_memory_fraction),
            allow_soft_placement=True,
        )
        super().__init__(
            model_dir,
            tf_random_seed,
            save_summary_steps,
            save_checkpoints_steps,
            save_checkpoints_secs,
            self._tf_config,
            keep_checkpoint_max,
            keep_checkpoint_every_n_hours,
            log_step_count_steps,
            protocol=protocol,
        )

    @property
    def tf_config(self) -> Any:
        """The ``ConfigProto`` of sessions, which a program may change."""
        return self.session_config

    @property
    def environment(self) -> str:
        """Where the program runs."""
        return Environment.LOCAL if not self.cluster_spec else Environment.CLOUD
