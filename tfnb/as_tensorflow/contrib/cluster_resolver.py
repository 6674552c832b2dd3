"""``tf.contrib.cluster_resolver``: where the tasks of a cluster are."""

from __future__ import annotations

import json
import os
from typing import Any

from tfnb.as_tensorflow.missing_name import missing_name
from tfnb.client.public.api import tf


def format_master_url(master: str, rpc_layer: str | None = None) -> str:
    """Return an address, with its protocol before it if there is one."""
    return f"{rpc_layer}://{master}" if rpc_layer and master else master


class ClusterResolver:
    """The base of all resolvers.

    Attributes:
      task_type: the job of this process, or None.
      task_id: its number in the job, or None.
      rpc_layer: the protocol, or None.
      environment: where the cluster runs.
    """

    task_type: str | None = None
    task_id: int | None = None
    rpc_layer: str | None = None
    environment: str = ""

    def cluster_spec(self) -> Any:
        """Return the ``tf.train.ClusterSpec``."""
        raise NotImplementedError

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """Return the address for a session.

        Args:
          task_type: the job; this process's by default.
          task_id: the number in the job; this process's by default.
          rpc_layer: the protocol; that of the resolver by default.
        """
        raise NotImplementedError

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """Return the numbers of this process's accelerators by kind.

        Args:
          task_type: without effect.
          task_id: without effect.
          config_proto: of the session that looks for them.
        """
        found: dict[str, int] = {}
        with tf.Graph().as_default(), tf.Session(config=config_proto) as session:
            for device in session.list_devices():
                if device.device_type in ("GPU", "TPU"):
                    found[device.device_type] = found.get(device.device_type, 0) + 1
        return found


class SimpleClusterResolver(ClusterResolver):
    """A resolver of a cluster that is known.

    Args:
      cluster_spec: a ``tf.train.ClusterSpec``.
      master: the address for sessions.
      task_type: the job of this process.
      task_id: its number in the job.
      environment: where the cluster runs.
      num_accelerators: the numbers of accelerators by kind; looked for by default.
      rpc_layer: the protocol.

    Raises:
      TypeError: ``cluster_spec`` is none.
    """

    def __init__(
        self,
        cluster_spec: Any,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: dict[str, int] | None = None,
        rpc_layer: str | None = None,
    ) -> None:
        if not isinstance(cluster_spec, tf.train.ClusterSpec):
            raise TypeError("cluster_spec must be a `tf.train.ClusterSpec`.")
        if not isinstance(master, str):
            raise TypeError("master must be a string.")
        self._cluster_spec = cluster_spec
        self._master = master
        self._num_accelerators = num_accelerators
        self.task_type = task_type
        self.task_id = task_id
        self.environment = environment
        self.rpc_layer = rpc_layer

    def cluster_spec(self) -> Any:
        """Return the cluster."""
        return self._cluster_spec

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """Return the address of a task if one is named, or else that of sessions."""
        chosen = self._master
        if task_type is not None and task_id is not None:
            chosen = self._cluster_spec.task_address(task_type, task_id)
        return format_master_url(chosen, rpc_layer or self.rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """Return the numbers of accelerators by kind."""
        if self._num_accelerators is not None:
            return self._num_accelerators
        return super().num_accelerators(task_type, task_id, config_proto)


class TFConfigClusterResolver(ClusterResolver):
    """A resolver that reads the variable TF_CONFIG of the environment, whenever it is asked.

    Args:
      task_type: instead of the one in TF_CONFIG.
      task_id: instead of the one in TF_CONFIG.
      rpc_layer: instead of the one in TF_CONFIG.
      environment: instead of the one in TF_CONFIG.
    """

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:
        self._given = {
            "type": task_type, "index": task_id, "rpc_layer": rpc_layer,
            "environment": environment,
        }  # fmt: skip

    @staticmethod
    def _config() -> dict[str, Any]:
        """Return what TF_CONFIG says.

        Raises:
          ValueError: it is no object of JSON.
        """
        text = os.environ.get("TF_CONFIG", "{}")
        try:
            found = json.loads(text)
        except ValueError as error:
            raise ValueError(f"TF_CONFIG is not JSON: {error}: {text[:200]}") from None
        if not isinstance(found, dict):
            raise ValueError(f"TF_CONFIG must be an object: {text[:200]}")
        return found

    def _value(self, key: str, of_task: bool) -> Any:
        given = self._given[key]
        if given is not None:
            return given
        config = self._config()
        return (config.get("task") or {}).get(key) if of_task else config.get(key)

    @property
    def task_type(self) -> str | None:
        """The job of this process."""
        found = self._value("type", of_task=True)
        return None if found is None else str(found)

    @task_type.setter
    def task_type(self, value: str | None) -> None:
        self._given["type"] = value

    @property
    def task_id(self) -> int | None:
        """The number of this process in its job."""
        found = self._value("index", of_task=True)
        return None if found is None else int(found)

    @task_id.setter
    def task_id(self, value: int | None) -> None:
        self._given["index"] = value

    @property
    def rpc_layer(self) -> str | None:
        """The protocol."""
        return self._value("rpc_layer", of_task=False)  # type: ignore[no-any-return]

    @rpc_layer.setter
    def rpc_layer(self, value: str | None) -> None:
        self._given["rpc_layer"] = value

    @property
    def environment(self) -> str:  # type: ignore[override]
        """Where the cluster runs."""
        return self._value("environment", of_task=False) or ""

    def cluster_spec(self) -> Any:
        """Return the cluster; an empty one without TF_CONFIG."""
        return tf.train.ClusterSpec(self._config().get("cluster") or {})

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """Return the address of a task; "" for a cluster of one process or none."""
        spec = self.cluster_spec()
        jobs = spec.as_dict()
        is_alone = not jobs or (len(jobs) == 1 and len(next(iter(jobs.values()))) == 1)
        named = task_type is not None and task_id is not None
        if is_alone and not named:
            return ""
        kind = self.task_type if task_type is None else task_type
        number = self.task_id if task_id is None else task_id
        if kind is None:
            return ""
        address = spec.task_address(kind, number or 0)
        return format_master_url(address, rpc_layer or self.rpc_layer)


class UnionClusterResolver(ClusterResolver):
    """A resolver of the tasks of several; the first says where this process is.

    Args:
      *args: the resolvers.
      rpc_layer: the protocol; the first resolver's by default.
      task_type: the job of this process; the first resolver's by default.
      task_id: its number; the first resolver's by default.

    Raises:
      ValueError: there are none.
      TypeError: one is none.
    """

    def __init__(
        self,
        *args: ClusterResolver,
        rpc_layer: str | None = None,
        task_type: str | None = None,
        task_id: int | None = None,
    ) -> None:
        if not args:
            raise ValueError("At least one ClusterResolver is required.")
        for one in args:
            if not isinstance(one, ClusterResolver):
                raise TypeError("All elements must be a sub-class of `ClusterResolver.`")
        self._resolvers = args
        self.rpc_layer = rpc_layer or args[0].rpc_layer
        self.task_type = task_type or args[0].task_type
        self.task_id = args[0].task_id if task_id is None else task_id
        self.environment = args[0].environment

    def cluster_spec(self) -> Any:
        """Return the tasks of all resolvers.

        Lists of one job are joined; dicts keep their numbers.

        Raises:
          KeyError: two resolvers have different tasks of one number.
        """
        joined: dict[str, list[str] | dict[int, str]] = {}
        for resolver in self._resolvers:
            spec = resolver.cluster_spec()
            for job in spec.jobs:
                addresses = spec.job_tasks(job)
                numbers = spec.task_indices(job)
                is_dense = numbers == list(range(len(numbers)))
                known = joined.setdefault(job, [] if is_dense else {})
                if isinstance(known, list) and is_dense:
                    known += [one for one in addresses if one not in known]
                    continue
                numbered = dict(enumerate(known)) if isinstance(known, list) else known
                for number in numbers:
                    address = spec.task_address(job, number)
                    if numbered.setdefault(number, address) != address:
                        raise KeyError(f"Duplicate keys detected when merging two ClusterSpecs: "
                                       f"{job} {number}")  # fmt: skip
                joined[job] = numbered
        return tf.train.ClusterSpec(joined)

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """Return the address of a task if one is named, or else that of the first resolver."""
        if task_type is not None and task_id is not None:
            address = self.cluster_spec().task_address(task_type, task_id)
            return format_master_url(address, rpc_layer or self.rpc_layer)
        return self._resolvers[0].master(rpc_layer=rpc_layer)


def __getattr__(name: str) -> Any:
    if name in ("GCEClusterResolver", "KubernetesClusterResolver", "SlurmClusterResolver"):
        advice = "set TF_CONFIG in each task, and use TFConfigClusterResolver"
        return missing_name("tf.contrib.cluster_resolver", name, advice)
    if name == "TPUClusterResolver":
        return missing_name("tf.contrib.cluster_resolver", name, "TPUs need TensorFlow itself")
    raise AttributeError(f"module 'tensorflow.contrib.cluster_resolver' has no attribute {name!r}")
