"""``tf.contrib.nccl``: sums over devices, by copies to each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.public_api import tf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _reduced(tensors: Sequence[Any], reduce: Callable[[Sequence[Any]], Any]) -> list[Any]:
    found = []
    for tensor in tensors:
        with tf.device(tensor.device):
            found.append(reduce(tensors))
    return found


def all_sum(tensors: Sequence[Any]) -> list[Any]:
    """Return the sum of all tensors, on the device of each."""
    return _reduced(tensors, tf.add_n)


def all_prod(tensors: Sequence[Any]) -> list[Any]:
    """Return the product of all tensors, on the device of each."""
    return _reduced(tensors, lambda values: tf.reduce_prod(tf.stack(values), 0))


def all_min(tensors: Sequence[Any]) -> list[Any]:
    """Return the minimum of all tensors, on the device of each."""
    return _reduced(tensors, lambda values: tf.reduce_min(tf.stack(values), 0))


def all_max(tensors: Sequence[Any]) -> list[Any]:
    """Return the maximum of all tensors, on the device of each."""
    return _reduced(tensors, lambda values: tf.reduce_max(tf.stack(values), 0))


def reduce_sum(tensors: Sequence[Any]) -> Any:
    """Return the sum of all tensors, on the default device."""
    return tf.add_n(tensors)


def broadcast(tensor: Any) -> Any:
    """Return the tensor: a device that uses it gets a copy."""
    return tf.identity(tensor)
