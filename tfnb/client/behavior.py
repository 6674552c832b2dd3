"""The switches between TensorFlow 1 and 2: always set to 1 here.

A switch to the present setting does nothing; a switch to TensorFlow 2 is refused, with the reason.
"""

from __future__ import annotations

from typing import Any

from tfnb.library.control_flow import control_flow_toggle
from tfnb.library.variables import resource_variables_toggle


def disable_v2_behavior() -> None:
    """Restore TensorFlow 1's reference variables and control flow; all else is set already.

    Variables become reference variables again, conds and loops are built from the primitives.
    """
    resource_variables_toggle.disable_resource_variables()
    control_flow_toggle.disable_control_flow_v2()


def disable_eager_execution() -> None:
    """Do nothing: ops are always added to a graph, never run at once."""


def disable_tensor_equality() -> None:
    """Do nothing: tensors always compare by identity."""


def disable_v2_tensorshape() -> None:
    """Do nothing: ``shape[0]`` is always a Dimension."""


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
    """Return False: ops never run when they are called."""
    return False


def executing_eagerly_outside_functions() -> bool:
    """Return False: ops never run when they are called, inside functions or outside."""
    return False


def _refusal(name: str) -> ValueError:
    return ValueError(
        f"tf.{name}() needs TensorFlow 2. tfnb runs TensorFlow 1 graphs: build the ops, then "
        "run them with tf.Session()."
    )
