"""``tf.contrib.eager``: what tells programs that there is no eager mode."""

from __future__ import annotations

import sys
from typing import Any

from tfnb.as_tensorflow.missing_name import missing_name
from tfnb.as_tensorflow.stand_ins.testing import test_util
from tfnb.client.public.api import tf

run_test_in_graph_and_eager_modes = test_util.run_in_graph_and_eager_modes
run_all_tests_in_graph_and_eager_modes = test_util.run_all_in_graph_and_eager_modes
executing_eagerly = tf.executing_eagerly
py_func = tf.py_func
Iterator = tf.data.Iterator
_ADVICE = "tfnb runs graphs; there is no eager mode"


def in_eager_mode() -> bool:
    """Return False."""
    return False


def num_gpus() -> int:
    """Return the number of GPUs."""
    return len(tf.config.experimental.list_physical_devices("GPU"))


_MISSING = {
    "ASYNC", "SYNC", "Checkpoint", "Checkpointable", "CheckpointableSaver",
    "EagerVariableStore", "GradientTape", "Network", "Saver", "Sequential", "Variable",
    "add_execution_callback", "async_clear_error", "async_wait", "clear_execution_callbacks",
    "custom_gradient", "defun", "enable_eager_execution", "enable_remote_eager_execution",
    "execution_mode", "function", "get_optimizer_variables", "gradients_function",
    "implicit_gradients", "implicit_value_and_gradients", "inf_callback", "inf_nan_callback",
    "list_devices", "make_template", "metrics", "nan_callback", "restore_network_checkpoint",
    "restore_variables_on_create", "run",
    "save_network_checkpoint", "seterr", "value_and_gradients_function",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "tfe":  # the file contrib/eager/python/tfe.py has the same names
        return sys.modules[__name__]
    if name in _MISSING:
        return missing_name("tensorflow.contrib.eager", name, _ADVICE)
    raise AttributeError(f"module 'tensorflow.contrib.eager' has no attribute {name!r}: {_ADVICE}.")
