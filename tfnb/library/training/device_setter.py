"""``tf.train.replica_device_setter``: variables on parameter servers, other ops on a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core.cluster_spec import ClusterSpec
from tfnb.core.device_spec import DeviceSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EXPORTS = {"train": ["replica_device_setter"]}

STANDARD_PS_OPS = (
    "Variable", "VariableV2", "AutoReloadVariable", "MutableHashTable", "MutableHashTableV2",
    "MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "MutableDenseHashTable",
    "MutableDenseHashTableV2", "VarHandleOp", "BoostedTreesEnsembleResourceHandleOp",
    "BoostedTreesQuantileStreamResourceHandleOp", "ResourceConditionalAccumulator",
    "DecisionTreeResource",
)  # fmt: skip


class _RoundRobin:
    """A strategy that returns the tasks in turn."""

    def __init__(self, num_tasks: int) -> None:
        self._num_tasks = num_tasks
        self._next = 0

    def __call__(self, op: Any) -> int:
        task, self._next = self._next, (self._next + 1) % self._num_tasks
        return task


def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Sequence[str] | None = None,
    ps_strategy: Callable[[Any], int] | None = None,
) -> Callable[[Any], str] | None:
    """Return a function for ``tf.device`` that places variables on parameter servers.

    Args:
      ps_tasks: the number of parameter servers.
      ps_device: their device; the task is added.
      worker_device: the device of all other ops.
      merge_devices: whether devices of ops are merged with these, or not changed.
      cluster: a ClusterSpec, or a value to make one from, to count the parameter servers.
      ps_ops: the types of ops for parameter servers; variables and tables if None.
      ps_strategy: returns the task for an op; in turn if None.

    Returns:
      The function; None if there are no parameter servers.

    Raises:
      TypeError: ``ps_strategy`` cannot be called, or ``cluster`` is no cluster.
    """
    if cluster is not None:
        jobs = cluster if isinstance(cluster, ClusterSpec) else ClusterSpec(cluster)
        job = DeviceSpec.from_string(ps_device).job
        if job is None or job not in jobs.jobs:
            return None
        ps_tasks = jobs.num_tasks(job)
    if ps_tasks == 0:
        return None
    kinds = frozenset(STANDARD_PS_OPS if ps_ops is None else ps_ops)
    strategy = _RoundRobin(ps_tasks) if ps_strategy is None else ps_strategy
    if not callable(strategy):
        raise TypeError(f"ps_strategy must be callable, not {strategy!r}")

    def device_of(op: Any) -> str:
        if not merge_devices and op.device:
            return str(op.device)
        current = DeviceSpec.from_string(op.device or "")
        kind = op.type if hasattr(op, "type") else op.op
        if ps_tasks and ps_device and kind in kinds:
            chosen = DeviceSpec.from_string(ps_device)
            if chosen.job and (not current.job or current.job == chosen.job):
                chosen = chosen.replace(task=strategy(op))
            return str(chosen.make_merged_spec(current).to_string())
        chosen = DeviceSpec.from_string(worker_device or "")
        return str(chosen.make_merged_spec(current).to_string())

    return device_of
