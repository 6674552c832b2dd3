"""The switches between TensorFlow 1 and 2: always set to 1 here.

Switching to what is already so does nothing; asking for TensorFlow 2 is refused, with the reason.
"""

from __future__ import annotations

from typing import Any

from tfnb.library.control_flow import control_flow_toggle
from tfnb.library.variables import resource_variables_toggle


def disable_v2_behavior() -> None:
    """Little to do: this is TensorFlow 1's behaviour.

    Variables are reference variables again, conds and loops are built of the primitives.
    """
    resource_variables_toggle.disable_resource_variables()
    control_flow_toggle.disable_control_flow_v2()


def disable_eager_execution() -> None:
    """Nothing to do: ops are added to a graph, never run at once."""


def disable_tensor_equality() -> None:
    """Nothing to do: tensors compare by identity."""


def disable_v2_tensorshape() -> None:
    """Nothing to do: ``shape[0]`` is a Dimension."""


def enable_v2_behavior() -> None:
    """Refuse: tfnb has no eager mode."""
    raise _refusal("enable_v2_behavior")


def enable_eager_execution(
    config: Any = None, device_policy: Any = None, execution_mode: Any = None
) -> None:
    """Refuse: tfnb has no eager mode."""
    raise _refusal("enable_eager_execution")


def enable_tensor_equality() -> None:
    """Refuse: tensors compare by identity, so that they can be keys of ``feed_dict``."""
    raise _refusal("enable_tensor_equality")


def enable_v2_tensorshape() -> None:
    """Refuse: ``shape[0]`` is a Dimension."""
    raise _refusal("enable_v2_tensorshape")


def executing_eagerly() -> bool:
    """Return whether ops run as they are called: never."""
    return False


def executing_eagerly_outside_functions() -> bool:
    """Return whether ops run as they are called, functions aside: never."""
    return False


def _refusal(name: str) -> ValueError:
    return ValueError(
        f"tf.{name}() asks for TensorFlow 2. tfnb runs TensorFlow 1 graphs: build the ops, then "
        "run them with tf.Session()."
    )
