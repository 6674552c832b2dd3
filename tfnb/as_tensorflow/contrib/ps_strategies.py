"""``tf.contrib.training``: which parameter server gets a variable, by name or by size.

They are values of ``ps_strategy`` of ``tf.train.replica_device_setter``.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable


class RandomStrategy:
    """Distributes ops by a hash of their names, the same in each process.

    >>> from types import SimpleNamespace
    >>> [RandomStrategy(3)(SimpleNamespace(name=name)) for name in ("a", "b", "c")]
    [1, 0, 1]
    """

    def __init__(self, num_ps_tasks: int, seed: int = 0) -> None:
        """Prepare for a number of parameter servers; another seed gives another distribution."""
        self._num_ps_tasks, self._seed = num_ps_tasks, seed

    def __call__(self, op: Any) -> int:
        """Return the task for an op."""
        name = f"{op.name}_{self._seed}".encode()
        digest = hashlib.md5(name, usedforsecurity=False).hexdigest()
        return int(digest, 16) % self._num_ps_tasks


class GreedyLoadBalancingStrategy:
    """Gives each op to the parameter server with the least load until then, the first of them.

    >>> strategy = GreedyLoadBalancingStrategy(2, len)
    >>> [strategy(op) for op in ("large", "abc", "x", "y")]
    [0, 1, 1, 1]
    """

    def __init__(self, num_tasks: int, load_fn: Callable[[Any], float]) -> None:
        """Prepare for a number of parameter servers; ``load_fn`` returns the load of an op."""
        self._loads = [0.0] * num_tasks
        self._load_fn = load_fn

    def __call__(self, op: Any) -> int:
        """Return the task for an op."""
        task = self._loads.index(min(self._loads))
        self._loads[task] += self._load_fn(op)
        return task


def byte_size_load_fn(op: Any) -> int:
    """Return the size of an op's only output in bytes, for a shape that is known.

    Raises:
      ValueError: it has several outputs, or its shape is not known.
    """
    if len(op.outputs) != 1:
        raise ValueError(f"The op {op.name} must have a single output, not {len(op.outputs)}.")
    output = op.outputs[0]
    declared = op.node_def.attr  # a variable's output is a handle, or has no shape yet
    shape = tf.TensorShape(op.get_attr("shape")) if "shape" in declared else output.shape
    dtype = tf.as_dtype(op.get_attr("dtype")) if "dtype" in declared else output.dtype
    size = shape.num_elements()
    if size is None:
        raise ValueError(f"The shape of {op.name} is not known: {shape}.")
    return int(dtype.size) * int(size)
