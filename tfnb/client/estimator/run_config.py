"""``tf.estimator.RunConfig``: where and how an Estimator runs."""

from __future__ import annotations

import copy
import json
import logging
import os
from typing import TYPE_CHECKING, Any, Self

from tfnb.client.estimator.arguments import argument_names
from tfnb.core.cluster_spec import ClusterSpec
from tfnb.proto.config_pb2 import ConfigProto, GraphOptions
from tfnb.proto.rewriter_config_pb2 import RewriterConfig

if TYPE_CHECKING:
    from collections.abc import Callable

EXPORTS = {"estimator": ["RunConfig"]}

_log = logging.getLogger("tensorflow")

USE_DEFAULT: Any = object()
_BOTH_INTERVALS = "`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set."
_REPLACEABLE = (
    "model_dir", "tf_random_seed", "save_summary_steps", "save_checkpoints_steps",
    "save_checkpoints_secs", "session_config", "keep_checkpoint_max",
    "keep_checkpoint_every_n_hours", "log_step_count_steps", "train_distribute", "device_fn",
    "protocol", "eval_distribute", "experimental_distribute",
    "experimental_max_worker_delay_secs", "session_creation_timeout_secs",
)  # fmt: skip


class TaskType:
    """The jobs of a cluster."""

    MASTER = "master"
    PS = "ps"
    WORKER = "worker"
    CHIEF = "chief"
    EVALUATOR = "evaluator"


class RunConfig:
    """The configuration of an Estimator; the environment variable ``TF_CONFIG`` has the cluster.

    Args:
        model_dir: The folder of checkpoints and summaries.
        tf_random_seed: The seed of every graph.
        save_summary_steps: Steps between two summaries.
        save_checkpoints_steps: Steps between two checkpoints.
        save_checkpoints_secs: Seconds between two checkpoints; 600 if no interval is given.
        session_config: The ``ConfigProto`` of sessions.
        keep_checkpoint_max: How many checkpoints are kept; all if 0 or None.
        keep_checkpoint_every_n_hours: One checkpoint per this number of hours is kept in addition.
        log_step_count_steps: Steps between two log lines; None for none.
        train_distribute: Must be None: tfnb has no distribution strategies.
        device_fn: Returns the device of an operation.
        protocol: The protocol of servers, ``grpc``.
        eval_distribute: Must be None.
        experimental_distribute: Must be None.
        experimental_max_worker_delay_secs: The longest time that a worker waits before it starts.
        session_creation_timeout_secs: How long a worker waits for the chief.

    Raises:
        ValueError: A value is out of range, or ``TF_CONFIG`` describes no valid task.
        NotImplementedError: A distribution strategy is given.
    """

    def __init__(
        self,
        model_dir: Any = None,
        tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100,
        save_checkpoints_steps: Any = USE_DEFAULT,
        save_checkpoints_secs: Any = USE_DEFAULT,
        session_config: Any = None,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int | None = 100,
        train_distribute: Any = None,
        device_fn: Callable[[Any], Any] | None = None,
        protocol: str | None = None,
        eval_distribute: Any = None,
        experimental_distribute: Any = None,
        experimental_max_worker_delay_secs: int | None = None,
        session_creation_timeout_secs: float = 7200,
    ) -> None:
        steps, secs = _chosen_intervals(save_checkpoints_steps, save_checkpoints_secs)
        tf_config = _read_tf_config()
        self._values: dict[str, Any] = dict.fromkeys(_REPLACEABLE)
        self._set(
            {
                "model_dir": _chosen_model_dir(tf_config, model_dir),
                "tf_random_seed": tf_random_seed,
                "save_summary_steps": save_summary_steps,
                "save_checkpoints_steps": steps,
                "save_checkpoints_secs": secs,
                "session_config": session_config,
                "keep_checkpoint_max": keep_checkpoint_max,
                "keep_checkpoint_every_n_hours": keep_checkpoint_every_n_hours,
                "log_step_count_steps": log_step_count_steps,
                "train_distribute": train_distribute,
                "device_fn": device_fn,
                "protocol": protocol,
                "eval_distribute": eval_distribute,
                "experimental_distribute": experimental_distribute,
                "experimental_max_worker_delay_secs": experimental_max_worker_delay_secs,
                "session_creation_timeout_secs": session_creation_timeout_secs,
            }
        )
        self._read_task(tf_config)
        if self.cluster_spec and self.session_config is None:
            self._values["session_config"] = self._distributed_session_config()

    def _read_task(self, tf_config: dict[str, Any]) -> None:
        """Set the cluster and the task of this process from ``TF_CONFIG``."""
        self._service = _checked_service(tf_config.get("service"))
        self._cluster_spec = ClusterSpec(tf_config.get("cluster", {}))
        task: dict[str, Any] = tf_config.get("task", {})
        self._global_id_in_cluster: int | None = 0
        self._num_ps_replicas = 0
        self._num_worker_replicas = 1
        if not self._cluster_spec:
            self._read_local_task(tf_config, task)
            return
        chief = TaskType.MASTER if TaskType.MASTER in self._cluster_spec.jobs else TaskType.CHIEF
        if chief == TaskType.MASTER and TaskType.CHIEF in self._cluster_spec.jobs:
            raise ValueError("If `master` node exists in `cluster`, job `chief` is not supported.")
        self._task_type, self._task_id = _checked_task(self._cluster_spec, task, chief)
        self._is_chief = self._task_type == chief
        self._evaluation_master = ""
        if self._task_type == TaskType.EVALUATOR:
            if chief == TaskType.MASTER:
                raise ValueError(
                    "If `master` node exists in `cluster`, task_type `evaluator` is not supported."
                )
            # The evaluator only shares the folder of checkpoints with the cluster.
            self._evaluation_master = tf_config.get("eval_session_master", "")
            self._cluster_spec = ClusterSpec({})
            self._master = ""
            self._num_worker_replicas = 0
            self._global_id_in_cluster = None
            return
        tasks = self._cluster_spec.as_dict()
        self._master = _master_of(self._cluster_spec, self._task_type, self._task_id, tf_config)
        self._num_ps_replicas = len(tasks.get(TaskType.PS, ()))
        self._num_worker_replicas = len(tasks.get(TaskType.WORKER, ())) + len(tasks.get(chief, ()))
        self._global_id_in_cluster = _global_id(
            self._cluster_spec, self._task_type, self._task_id, chief
        )

    def _read_local_task(self, tf_config: dict[str, Any], task: dict[str, Any]) -> None:
        self._task_type = task.get("type", TaskType.WORKER)
        self._task_id = int(task.get("index", 0))
        if self._task_type != TaskType.WORKER:
            raise ValueError('If "cluster" is not set in TF_CONFIG, task type must be WORKER.')
        if self._task_id != 0:
            raise ValueError('If "cluster" is not set in TF_CONFIG, task index must be 0.')
        self._master = tf_config.get("session_master", "")
        self._evaluation_master = tf_config.get("eval_session_master", "")
        self._is_chief = True

    def _distributed_session_config(self) -> ConfigProto | None:
        """Return a configuration in which a worker does not wait for other workers."""
        filters = {
            TaskType.MASTER: ["/job:ps", "/job:master"],
            TaskType.CHIEF: ["/job:ps", "/job:chief"],
            TaskType.WORKER: ["/job:ps", f"/job:worker/task:{self._task_id}"],
            TaskType.PS: ["/job:ps", "/job:worker", "/job:chief", "/job:master"],
        }.get(self._task_type)
        if filters is None:
            return None
        config = default_session_config()
        config.device_filters.extend(filters)
        return config

    def _set(self, values: dict[str, Any]) -> None:
        for name in ("train_distribute", "eval_distribute", "experimental_distribute"):
            if values.get(name) is not None:
                raise NotImplementedError(
                    f"RunConfig({name}=...): tfnb has no distribution strategies. Leave the "
                    "argument out to train on one device, or describe workers and parameter "
                    "servers in the environment variable TF_CONFIG."
                )
        values = dict(values)
        if isinstance(values.get("model_dir"), os.PathLike):
            values["model_dir"] = os.fspath(values["model_dir"])
        _check_values(values)
        self._values.update(values)

    def replace(self, **kwargs: Any) -> Self:
        """Return a copy with other values; an interval of checkpoints replaces the other one.

        Raises:
            ValueError: A property cannot be replaced, or its value is out of range.
        """
        for name in kwargs:
            if name not in _REPLACEABLE:
                raise ValueError(
                    f"Replacing {name} is not supported. Allowed properties are "
                    f"{list(_REPLACEABLE)}."
                )
        steps = kwargs.get("save_checkpoints_steps")
        secs = kwargs.get("save_checkpoints_secs")
        if steps is not None and secs is not None:
            raise ValueError(_BOTH_INTERVALS)
        new = copy.deepcopy(self)
        new._set(kwargs)
        if steps is not None:
            new._values["save_checkpoints_secs"] = None
        elif secs is not None:
            new._values["save_checkpoints_steps"] = None
        return new

    def describe(self) -> dict[str, Any]:
        """Return every property by name, for the log."""
        own = {name: value for name, value in vars(self).items() if name != "_values"}
        return {**{f"_{name}": value for name, value in self._values.items()}, **own}

    @property
    def model_dir(self) -> str | None:
        """The folder of checkpoints and summaries."""
        found: str | None = self._values["model_dir"]
        return found

    @property
    def tf_random_seed(self) -> int | None:
        """The seed of every graph."""
        found: int | None = self._values["tf_random_seed"]
        return found

    @property
    def save_summary_steps(self) -> int | None:
        """Steps between two summaries."""
        found: int | None = self._values["save_summary_steps"]
        return found

    @property
    def save_checkpoints_steps(self) -> int | None:
        """Steps between two checkpoints."""
        found: int | None = self._values["save_checkpoints_steps"]
        return found

    @property
    def save_checkpoints_secs(self) -> float | None:
        """Seconds between two checkpoints."""
        found: float | None = self._values["save_checkpoints_secs"]
        return found

    @property
    def session_config(self) -> ConfigProto | None:
        """The configuration of sessions."""
        found: ConfigProto | None = self._values["session_config"]
        return found

    @property
    def keep_checkpoint_max(self) -> int | None:
        """How many checkpoints are kept."""
        found: int | None = self._values["keep_checkpoint_max"]
        return found

    @property
    def keep_checkpoint_every_n_hours(self) -> float:
        """The number of hours between checkpoints that are kept in addition."""
        found: float = self._values["keep_checkpoint_every_n_hours"]
        return found

    @property
    def log_step_count_steps(self) -> int | None:
        """Steps between two log lines."""
        found: int | None = self._values["log_step_count_steps"]
        return found

    @property
    def train_distribute(self) -> None:
        """The strategy of the training: there is none."""

    @property
    def eval_distribute(self) -> None:
        """The strategy of the evaluation: there is none."""

    @property
    def device_fn(self) -> Callable[[Any], Any] | None:
        """The function that returns the device of an operation."""
        found: Callable[[Any], Any] | None = self._values["device_fn"]
        return found

    @property
    def protocol(self) -> str | None:
        """The protocol of servers."""
        found: str | None = self._values["protocol"]
        return found

    @property
    def experimental_max_worker_delay_secs(self) -> int | None:
        """The longest time that a worker waits before it starts."""
        found: int | None = self._values["experimental_max_worker_delay_secs"]
        return found

    @property
    def session_creation_timeout_secs(self) -> float:
        """How long a worker waits for the chief."""
        found: float = self._values["session_creation_timeout_secs"]
        return found

    @property
    def cluster_spec(self) -> ClusterSpec:
        """The cluster; empty if this process trains alone."""
        return self._cluster_spec

    @property
    def service(self) -> dict[str, Any] | None:
        """The entry ``service`` of ``TF_CONFIG``."""
        return self._service

    @property
    def evaluation_master(self) -> str:
        """The engine of evaluations."""
        return self._evaluation_master

    @property
    def is_chief(self) -> bool:
        """Whether this task initializes the variables and saves."""
        return self._is_chief

    @property
    def master(self) -> str:
        """The engine of trainings; empty for this process."""
        return self._master

    @property
    def num_ps_replicas(self) -> int:
        """The number of parameter servers."""
        return self._num_ps_replicas

    @property
    def num_worker_replicas(self) -> int:
        """The number of workers, with the chief."""
        return self._num_worker_replicas

    @property
    def task_id(self) -> int:
        """The index of this task in its job."""
        return self._task_id

    @property
    def task_type(self) -> str:
        """The job of this task."""
        return self._task_type

    @property
    def global_id_in_cluster(self) -> int | None:
        """The index of this task among all that train; the chief is the first."""
        return self._global_id_in_cluster


def default_session_config() -> ConfigProto:
    """Return the configuration of sessions if none is given."""
    return ConfigProto(
        allow_soft_placement=True,
        graph_options=GraphOptions(
            rewrite_options=RewriterConfig(meta_optimizer_iterations=RewriterConfig.ONE)
        ),
    )


def _chosen_intervals(steps: Any, secs: Any) -> tuple[Any, Any]:
    if steps is USE_DEFAULT and secs is USE_DEFAULT:
        return None, 600
    if secs is USE_DEFAULT:
        return steps, None
    if steps is USE_DEFAULT:
        return None, secs
    if steps is not None and secs is not None:
        raise ValueError(_BOTH_INTERVALS)
    return steps, secs


def _read_tf_config() -> dict[str, Any]:
    text = os.environ.get("TF_CONFIG") or "{}"
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ValueError(
            f"The environment variable TF_CONFIG is no JSON text ({error}): {text[:200]}"
        ) from None
    if not isinstance(found, dict):
        raise ValueError(
            f"The environment variable TF_CONFIG must be a JSON object, given: {text[:200]}"
        )
    if found:
        _log.info("TF_CONFIG environment variable: %s", found)
    return found


def _chosen_model_dir(tf_config: dict[str, Any], model_dir: Any) -> str | None:
    given = os.fspath(model_dir) if isinstance(model_dir, os.PathLike) else model_dir
    if given == "":
        raise ValueError("model_dir should be non-empty.")
    configured = tf_config.get("model_dir")
    if configured == "":
        raise ValueError("model_dir in TF_CONFIG should be non-empty.")
    if configured and given and configured != given:
        raise ValueError(
            "`model_dir` provided in RunConfig construct, if set, must have the same value as the "
            f'model_dir in TF_CONFIG. model_dir: {given}\nTF_CONFIG["model_dir"]: {configured}.\n'
        )
    return given or configured


def _checked_service(service: Any) -> dict[str, Any] | None:
    if service is not None and not isinstance(service, dict):
        raise TypeError(
            f'If "service" is set in TF_CONFIG, it must be a dict. Given {type(service)}'
        )
    return service


def _checked_task(cluster: ClusterSpec, task: dict[str, Any], chief: str) -> tuple[str, int]:
    if chief not in cluster.jobs:
        raise ValueError(f'If "cluster" is set in TF_CONFIG, it must have one "{chief}" node.')
    if len(cluster.job_tasks(chief)) > 1:
        raise ValueError(f'The "cluster" in TF_CONFIG must have only one "{chief}" node.')
    task_type, index = task.get("type"), task.get("index")
    if not task_type:
        raise ValueError('If "cluster" is set in TF_CONFIG, task type must be set.')
    if index is None:
        raise ValueError('If "cluster" is set in TF_CONFIG, task index must be set.')
    task_id = int(index)
    if task_id < 0:
        raise ValueError("Task index must be non-negative number.")
    if task_type == TaskType.EVALUATOR:
        return task_type, task_id
    hint = (
        f"in the cluster_spec:\n{cluster}\n\nNote that these values may be coming from the "
        "TF_CONFIG environment variable."
    )
    if task_type not in cluster.jobs:
        raise ValueError(f"{task_type} is not a valid task_type {hint}")
    if task_id >= len(cluster.job_tasks(task_type)):
        raise ValueError(f"{task_id} is not a valid task_id for task_type {task_type} {hint}")
    return task_type, task_id


def _master_of(cluster: ClusterSpec, task_type: str, task_id: int, config: dict[str, Any]) -> str:
    if "session_master" in config:
        return str(config["session_master"])
    if len(cluster.jobs) == 1 and len(cluster.job_tasks(cluster.jobs[0])) == 1:
        return ""
    return f"grpc://{cluster.job_tasks(task_type)[task_id]}"


def _global_id(cluster: ClusterSpec, task_type: str, task_id: int, chief: str) -> int:
    """Return the index of a task: the chief is first, parameter servers are last."""
    others = sorted(job for job in cluster.jobs if job not in (chief, TaskType.PS))
    before = 0
    for job in (chief, *others, TaskType.PS):
        if job == task_type:
            break
        before += len(cluster.job_tasks(job)) if job in cluster.jobs else 0
    return before + task_id


_LOWER_BOUNDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "model_dir": (bool, "model_dir should be non-empty"),
    "save_summary_steps": (lambda n: n >= 0, "save_summary_steps should be >= 0"),
    "save_checkpoints_steps": (lambda n: n >= 0, "save_checkpoints_steps should be >= 0"),
    "save_checkpoints_secs": (lambda n: n >= 0, "save_checkpoints_secs should be >= 0"),
    "session_config": (
        lambda given: isinstance(given, ConfigProto),
        "session_config must be instance of ConfigProto",
    ),
    "keep_checkpoint_max": (lambda n: n >= 0, "keep_checkpoint_max should be >= 0"),
    "keep_checkpoint_every_n_hours": (
        lambda n: n > 0,
        "keep_checkpoint_every_n_hours should be > 0",
    ),
    "log_step_count_steps": (lambda n: n > 0, "log_step_count_steps should be > 0"),
    "tf_random_seed": (lambda n: isinstance(n, int), "tf_random_seed must be integer."),
    "experimental_max_worker_delay_secs": (
        lambda n: isinstance(n, int),
        "experimental_max_worker_delay_secs must be an integer if set.",
    ),
    "session_creation_timeout_secs": (
        lambda n: n > 0,
        "session_creation_timeout_secs should be > 0",
    ),
    "device_fn": (
        lambda function: callable(function) and argument_names(function) == ("op",),
        'device_fn must be callable with exactly one argument "op".',
    ),
    "protocol": (
        lambda name: name in ("grpc", "grpc+verbs"),
        "protocol should be grpc or grpc+verbs",
    ),
}


def _check_values(values: dict[str, Any]) -> None:
    for name, value in values.items():
        is_valid, message = _LOWER_BOUNDS.get(name, (None, ""))
        if value is not None and is_valid is not None and not is_valid(value):
            raise ValueError(message)
