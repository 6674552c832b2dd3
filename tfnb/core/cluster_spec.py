"""``tf.train.ClusterSpec``: the addresses of the tasks of a cluster's jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.proto.cluster_pb2 import ClusterDef

if TYPE_CHECKING:
    from collections.abc import Mapping


class ClusterSpec:
    """Jobs, each with tasks, each with an address "host:port".

    Args:
      cluster: job -> list of addresses, or task number -> address; a ClusterDef; another spec.

    Raises:
      TypeError: it is none of these.

    >>> ClusterSpec({"ps": ["a:1"], "worker": {2: "b:1"}}).as_dict()
    {'ps': ['a:1'], 'worker': {2: 'b:1'}}
    """

    def __init__(self, cluster: Mapping[str, Any] | ClusterDef | ClusterSpec) -> None:
        self._jobs: dict[str, dict[int, str]]
        if isinstance(cluster, ClusterSpec):
            self._jobs = {job: dict(tasks) for job, tasks in cluster._jobs.items()}
        elif isinstance(cluster, ClusterDef):
            self._jobs = {job.name: dict(job.tasks) for job in cluster.job}
        elif isinstance(cluster, dict):
            self._jobs = {job: _tasks(job, tasks) for job, tasks in cluster.items()}
        else:
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of network "
                f"addresses, or a `ClusterDef` protocol buffer. Received: {cluster}"
            )

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        jobs = ", ".join(f"{job!r}: {tasks!r}" for job, tasks in sorted(self.as_dict().items()))
        return f"ClusterSpec({{{jobs}}})"

    def as_dict(self) -> dict[str, Any]:
        """Return job -> list of addresses; task number -> address where numbers are missing."""
        return {
            job: [tasks[i] for i in range(len(tasks))]
            if set(tasks) == set(range(len(tasks)))
            else dict(tasks)
            for job, tasks in self._jobs.items()
        }

    def as_cluster_def(self) -> ClusterDef:
        """Return the cluster as a message."""
        message = ClusterDef()
        for job, tasks in sorted(self._jobs.items()):
            of_job = message.job.add(name=job)
            for index, address in sorted(tasks.items()):
                of_job.tasks[index] = address
        return message

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def _of_job(self, job_name: str) -> dict[int, str]:
        if job_name not in self._jobs:
            raise ValueError(f"No such job in cluster: {job_name!r}")
        return self._jobs[job_name]

    def num_tasks(self, job_name: str) -> int:
        """Return the number of tasks of a job.

        Raises:
          ValueError: the job does not exist.
        """
        return len(self._of_job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Return the numbers of a job's tasks, sorted.

        Raises:
          ValueError: the job does not exist.
        """
        return sorted(self._of_job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Return the address of a task.

        Raises:
          ValueError: the job or task does not exist.
        """
        tasks = self._of_job(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """Return the addresses of a job's tasks in order, None where a number is missing.

        Raises:
          ValueError: the job does not exist.
        """
        tasks = self._of_job(job_name)
        return [tasks.get(i) for i in range(max(tasks, default=-1) + 1)]


def _tasks(job: str, given: Any) -> dict[int, str]:
    """Return task number -> address, of one job in any of the accepted forms."""
    if isinstance(given, list | tuple):
        tasks: dict[Any, Any] = dict(enumerate(given))
    elif isinstance(given, dict):
        tasks = dict(given)
    else:
        raise TypeError(
            f"The tasks for job {job!r} must be a list or a dictionary from integers to strings. "
            f"Received: {given}"
        )
    tasks = {int(i) if isinstance(i, str | bytes) else i: a for i, a in tasks.items()}
    for index, address in tasks.items():
        if not isinstance(index, int) or not isinstance(address, str | bytes):
            raise TypeError(f"Task {index!r} of job {job!r} must have an address, not {address!r}")
    return {i: a.decode() if isinstance(a, bytes) else a for i, a in tasks.items()}
