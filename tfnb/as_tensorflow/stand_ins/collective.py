"""``tensorflow.python.ops.collective_ops``: collective ops by functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Sequence


def all_reduce(
    t: Any,
    group_size: int,
    group_key: int,
    instance_key: int,
    merge_op: str = "Add",
    final_op: str = "Id",
    subdiv_offsets: Sequence[int] = (0,),
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Any:
    """Return the tensors of all members of a group, combined element by element.

    Args:
      t: the tensor of this member, whose device is given.
      group_size: the number of members.
      group_key: names the group.
      instance_key: names the reduction in the group.
      merge_op: ``Add``, ``Mul``, ``Min`` or ``Max``.
      final_op: ``Id``, or ``Div`` by the number of members.
      subdiv_offsets: where the members of a ring begin; there is no ring.
      communication_hint: a wish of how tensors travel, without effect.
      timeout: seconds until the op fails; 0: none.

    Raises:
      ValueError: there is no device, or one member only.
    """
    _check(group_size, t)
    return tf.raw_ops.CollectiveReduce(
        input=t,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        merge_op=merge_op,
        final_op=final_op,
        subdiv_offsets=list(subdiv_offsets),
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
    )


def all_gather(
    t: Any,
    group_size: int,
    group_key: int,
    instance_key: int,
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Any:
    """Return the tensors of all members, joined along the first axis; see :func:`all_reduce`.

    Raises:
      ValueError: there is no device, or one member only.
    """
    _check(group_size, t)
    dims = t.shape.as_list()
    dims[0] = None if dims[0] is None else dims[0] * group_size
    return tf.raw_ops.CollectiveGather(
        input=t,
        shape=dims,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
    )


def broadcast_send(
    t: Any,
    shape: Any,
    dtype: Any,
    group_size: int,
    group_key: int,
    instance_key: int,
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Any:
    """Send a tensor to all other members; return it. See :func:`all_reduce`.

    Args:
      t: the tensor.
      shape: its shape.
      dtype: its type.
      group_size: the number of members, this one included.
      group_key: names the group.
      instance_key: names the broadcast in the group.
      communication_hint: without effect.
      timeout: seconds until the op fails; 0: none.

    Raises:
      ValueError: there is no device, or one member only, or shape or type is another one.
    """
    _check(group_size, t)
    if t.dtype != dtype:
        raise ValueError(f"Type {dtype} is not that of the tensor, {t.dtype}.")
    if t.shape.as_list() != tf.TensorShape(shape).as_list():
        raise ValueError(f"Shape {shape} is not that of the tensor, {t.shape}.")
    return tf.raw_ops.CollectiveBcastSend(
        input=t,
        shape=shape,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
    )


def broadcast_recv(
    shape: Any,
    dtype: Any,
    group_size: int,
    group_key: int,
    instance_key: int,
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Any:
    """Return the tensor that another member sends; see :func:`broadcast_send`.

    Raises:
      ValueError: there is one member only.
    """
    _check(group_size)
    return tf.raw_ops.CollectiveBcastRecv(
        T=dtype,
        shape=shape,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
    )


def _check(group_size: int, t: Any = None) -> None:
    """Check what all functions need.

    Raises:
      ValueError: the tensor has no device, or there is one member only.
    """
    if t is not None and not t.device:
        raise ValueError("Device assignment is required for collective ops: use tf.device.")
    if group_size <= 1:
        raise ValueError(f"group_size must be at least 2, not {group_size}.")
