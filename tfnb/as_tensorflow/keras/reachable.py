"""What ``tensorflow.python.keras.utils.tf_utils`` has for Keras 2.3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Iterable


def get_reachable_from_inputs(inputs: Iterable[Any], targets: Iterable[Any] = ()) -> set[Any]:
    """Return the tensors that depend on inputs, and the inputs.

    Args:
      inputs: tensors; other values, as a learning phase that is a number, have no consumers.
      targets: tensors at which the search may end: it ends when all are found.
    """
    left = [one for one in inputs if isinstance(one, tf.Tensor)]
    reachable = set(left)
    wanted = set(targets) - reachable
    while left and (wanted or not targets):
        for operation in left.pop().consumers():
            for output in operation.outputs:
                if output not in reachable:
                    reachable.add(output)
                    wanted.discard(output)
                    left.append(output)
    return reachable
