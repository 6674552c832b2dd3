"""The configuration of a ``TPUEstimator``."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from tfnb.client.estimator import run_config
from tfnb.client.estimator.run_config import TaskType

EXPORTS = {"estimator.tpu": ["InputPipelineConfig", "RunConfig", "TPUConfig"]}


class InputPipelineConfig:
    """How an input is divided among TPUs; one device reads it whole."""

    PER_SHARD_V1 = 1
    PER_HOST_V1 = 2
    PER_HOST_V2 = 3
    BROADCAST = 4
    SLICED = 5


class _Fields(NamedTuple):
    iterations_per_loop: Any
    num_shards: Any
    num_cores_per_replica: Any
    per_host_input_for_training: Any
    tpu_job_name: Any
    initial_infeed_sleep_secs: Any
    input_partition_dims: Any
    eval_training_input_configuration: Any
    experimental_host_call_every_n_steps: Any


class TPUConfig(_Fields):
    """The settings of TPUs; on a CPU or a GPU none of them has an effect.

    Args:
        iterations_per_loop: Steps that a TPU performs by itself.
        num_shards: The number of replicas.
        num_cores_per_replica: The number of cores of a replica.
        per_host_input_for_training: How the input is divided.
        tpu_job_name: The job of the TPUs.
        initial_infeed_sleep_secs: How long the input waits at first.
        input_partition_dims: How tensors are divided among the cores of a replica.
        eval_training_input_configuration: How the input of an evaluation is divided.
        experimental_host_call_every_n_steps: Steps between two host calls.

    Raises:
        ValueError: A number is not positive.
    """

    def __new__(
        cls,
        iterations_per_loop: Any = 2,
        num_shards: int | None = None,
        num_cores_per_replica: int | None = None,
        per_host_input_for_training: Any = True,
        tpu_job_name: str | None = None,
        initial_infeed_sleep_secs: int | None = None,
        input_partition_dims: Any = None,
        eval_training_input_configuration: Any = InputPipelineConfig.PER_HOST_V1,
        experimental_host_call_every_n_steps: int = 1,
    ) -> Self:
        """See the class."""
        _check_iterations(iterations_per_loop)
        for name, value in (
            ("num_shards", num_shards),
            ("num_cores_per_replica", num_cores_per_replica),
            ("initial_infeed_sleep_secs", initial_infeed_sleep_secs),
        ):
            if value is not None:
                check_positive(value, f"TPUConfig {name}")
        return super().__new__(
            cls,
            iterations_per_loop,
            num_shards,
            num_cores_per_replica,
            per_host_input_for_training,
            tpu_job_name,
            initial_infeed_sleep_secs,
            input_partition_dims,
            eval_training_input_configuration,
            experimental_host_call_every_n_steps,
        )


def _check_iterations(iterations: Any) -> None:
    """Check a number of steps, or a time like ``30s``."""
    if isinstance(iterations, str) and iterations[-1:] in ("s", "m", "h"):
        number = iterations[:-1]
        if number.isdigit() and int(number) > 0:
            return
    elif isinstance(iterations, int) and iterations > 0:
        return
    raise ValueError(
        "TPUConfig iterations_per_loop must be a positive number of steps, or a time like '30s', "
        f"'2m' or '1h'. Given: {iterations!r}"
    )


def check_positive(value: Any, name: str) -> None:
    """Check that a number is a positive integer.

    Raises:
        TypeError: It is no integer.
        ValueError: It is not positive.
    """
    if not isinstance(value, int):
        raise TypeError(f"{name} must be int")
    if value <= 0:
        raise ValueError(f"{name} must be positive")


class RunConfig(run_config.RunConfig):
    """The configuration of a ``TPUEstimator``.

    Args:
        tpu_config: The settings of TPUs.
        evaluation_master: The engine of evaluations.
        master: The engine of trainings.
        cluster: A cluster resolver, instead of ``master``.
        **kwargs: Arguments of ``tf.estimator.RunConfig``.

    Raises:
        ValueError: Both ``master`` and ``cluster`` are given.
    """

    def __init__(
        self,
        tpu_config: TPUConfig | None = None,
        evaluation_master: str | None = None,
        master: str | None = None,
        cluster: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._tpu_config = tpu_config or TPUConfig()
        self._cluster = cluster
        if master is not None and cluster is not None:
            raise ValueError("Both master and cluster are set.")
        if master is not None:
            self._master = master
        elif cluster is not None:
            self._master = cluster.master()
        if evaluation_master is not None:
            self._evaluation_master = evaluation_master
        elif not self._evaluation_master and self.task_type != TaskType.EVALUATOR:
            self._evaluation_master = self._master

    @property
    def tpu_config(self) -> TPUConfig:
        """The settings of TPUs."""
        return self._tpu_config

    @property
    def cluster(self) -> Any:
        """The cluster resolver."""
        return self._cluster

    def replace(self, **kwargs: Any) -> Self:
        """Return a copy with other values, also of ``tpu_config``."""
        tpu_config = kwargs.pop("tpu_config", self._tpu_config)
        new = super().replace(**kwargs)
        new._tpu_config = tpu_config
        return new
