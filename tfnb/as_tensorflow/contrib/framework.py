"""``tf.contrib.framework``: tf-slim's scopes and variables, with ``nest`` and checkpoints."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.contrib.slim_modules import name_of_slim
from tfnb.as_tensorflow.stand_ins import nest as nest
from tfnb.client.public.api import tf
from tfnb.library.control_flow.smart_cond import smart_cond as smart_cond
from tfnb.library.control_flow.smart_cond import smart_constant_value as smart_constant_value

_PLACES = (
    "tf_slim.ops",
    "tf_slim.ops.arg_scope",
    "tf_slim.ops.framework_ops",
    "tf_slim.ops.variables",
)
sort = tf.sort
argsort = tf.argsort
list_variables = tf.train.list_variables
load_variable = tf.train.load_variable
load_checkpoint = tf.train.load_checkpoint
init_from_checkpoint = tf.train.init_from_checkpoint
is_tensor = tf.is_tensor
get_global_step = tf.train.get_global_step
get_or_create_global_step = tf.train.get_or_create_global_step
create_global_step = tf.train.create_global_step
assert_global_step = tf.train.assert_global_step
CriticalSection = tf.CriticalSection
TensorSpec = tf.TensorSpec


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return name_of_slim("framework", name, _PLACES)
