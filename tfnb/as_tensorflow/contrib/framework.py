"""``tf.contrib.framework``: tf-slim's scopes and variables, with ``nest`` and checkpoints."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.public_api import tf
from tfnb.framework.structures import nest as nest
from tfnb.library.control_flow.smart_cond import smart_cond as smart_cond
from tfnb.library.control_flow.smart_cond import smart_constant_value as smart_constant_value

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
    from tf_slim import ops
    from tf_slim.ops import arg_scope, framework_ops, variables

    for place in (ops, arg_scope, framework_ops, variables):
        if hasattr(place, name):
            return getattr(place, name)
    raise AttributeError(f"module 'tensorflow.contrib.framework' has no attribute {name!r}")
