"""``tf.contrib.framework``: tf-slim's scopes and variables, with ``nest`` and checkpoints."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.contrib.framework import audio_ops as audio_ops
from tfnb.as_tensorflow.contrib.slim_modules import name_of_slim
from tfnb.as_tensorflow.stand_ins.structures import nest as nest
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
py_func = tf.py_func
assert_scalar = tf.debugging.assert_scalar
assert_same_float_dtype = tf.debugging.assert_same_float_dtype
is_numeric_tensor = tf.debugging.is_numeric_tensor
is_non_decreasing = tf.debugging.is_non_decreasing
is_strictly_increasing = tf.debugging.is_strictly_increasing


def assert_scalar_int(tensor: Any, name: str | None = None) -> Any:
    """Return a tensor that is a scalar of integers.

    Args:
      tensor: the tensor.
      name: the name of the scope.

    Raises:
      ValueError: it is none.
    """
    with tf.name_scope(name, "assert_scalar_int", [tensor]):
        tensor = tf.convert_to_tensor(tensor)
        if not tensor.dtype.is_integer:
            raise ValueError(f"Expected integer type for {tensor}, received type: {tensor.dtype}.")
        if tensor.shape.ndims not in (0, None):
            raise ValueError(f"Expected scalar shape for {tensor}, saw shape: {tensor.shape}.")
        return tensor


def convert_to_tensor_or_sparse_tensor(value: Any, dtype: Any = None, name: Any = None) -> Any:
    """Return a tensor, or a sparse one as it is.

    Args:
      value: what becomes a tensor.
      dtype: of the tensor.
      name: of the op.
    """
    return tf.convert_to_tensor_or_sparse_tensor(value, dtype, name)


def with_shape(expected_shape: Any, tensor: Any) -> Any:
    """Return a tensor that has a shape; a step raises InvalidArgumentError otherwise.

    Args:
      expected_shape: the shape, of known numbers.
      tensor: the tensor.

    Raises:
      ValueError: the shape is known to be another.
    """
    tensor = tf.convert_to_tensor(tensor)
    shape = tf.TensorShape(expected_shape)
    if not tensor.shape.is_compatible_with(shape):
        raise ValueError(f"Invalid shape for tensor {tensor.name}, expected {shape}.")
    return tf.ensure_shape(tensor, shape)


def with_same_shape(expected_tensor: Any, tensor: Any) -> Any:
    """Return a tensor that has the shape of another.

    Args:
      expected_tensor: the other.
      tensor: the tensor.

    Raises:
      ValueError: the shapes are known to differ.
    """
    return with_shape(tf.convert_to_tensor(expected_tensor).shape, tensor)


def get_placeholders(graph: Any) -> list[Any]:
    """Return the placeholders of a graph.

    Args:
      graph: the graph.
    """
    kinds = ("Placeholder", "PlaceholderV2")
    return [op.outputs[0] for op in graph.get_operations() if op.type in kinds]


def reduce_sum_n(tensors: Any, name: str | None = None) -> Any:
    """Return the sum of all elements of all tensors, a scalar.

    Args:
      tensors: a list of them.
      name: the name of the scope.

    Raises:
      ValueError: there are none.
    """
    if not tensors:
        raise ValueError("No tensors provided.")
    with tf.name_scope(name, "reduce_sum_n", list(tensors)):
        return tf.add_n([tf.reduce_sum(tf.convert_to_tensor(one)) for one in tensors])


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return name_of_slim("framework", name, _PLACES)
