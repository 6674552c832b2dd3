"""What cells share: linear maps, normalization, weights in shards, sizes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tfnb.client.public.api import tf
from tfnb.library.rnn.cells import LSTMStateTuple, RNNCell

if TYPE_CHECKING:
    from collections.abc import Callable


def linear(
    values: Any,
    size: int,
    bias: bool = True,
    initializer: Any = None,
    bias_initializer: Any = None,
) -> Any:
    """Return a linear map of tensors, joined by depth, with variables "kernel" and "bias".

    Args:
      values: [batch, depth], or a list of them.
      size: depth of the result.
      bias: whether a bias is added.
      initializer: of the kernel; the scope's by default.
      bias_initializer: zeros by default.

    Raises:
      ValueError: there is nothing to map, or a depth is not known.
    """
    given = list(values) if isinstance(values, list | tuple) else [values]
    if not given:
        raise ValueError("`args` must be specified")
    depth = sum(depth_of(one) for one in given)
    joined = given[0] if len(given) == 1 else tf.concat(given, 1)
    kernel = tf.get_variable("kernel", [depth, size], joined.dtype, initializer=initializer)
    product = tf.matmul(joined, kernel)
    if not bias:
        return product
    start = tf.zeros_initializer() if bias_initializer is None else bias_initializer
    with tf.variable_scope(tf.get_variable_scope()) as scope:
        scope.set_partitioner(None)
        added = tf.get_variable("bias", [size], joined.dtype, initializer=start)
    return tf.nn.bias_add(product, added)


def depth_of(value: Any) -> int:
    """Return the depth of a tensor [batch, depth].

    Raises:
      ValueError: it has another rank, or its depth is not known.
    """
    shape = value.shape
    if shape.ndims != 2:
        raise ValueError(f"linear is expecting 2D arguments: {shape}")
    depth = shape[1].value
    if depth is None:
        raise ValueError(f"Could not infer input size from the shape {shape}")
    return int(depth)


def normalized(value: Any, scope: str, gain: float, shift: float) -> Any:
    """Return a value with mean 0 and variance 1 by row, times "gamma" plus "beta" of a scope.

    Args:
      value: [batch, units].
      scope: name of the variables' scope.
      gain: initial gamma.
      shift: initial beta.
    """
    shape = [value.shape[1].value]
    with tf.variable_scope(scope):
        gamma = tf.get_variable(
            "gamma", shape, value.dtype, initializer=tf.constant_initializer(gain)
        )
        beta = tf.get_variable(
            "beta", shape, value.dtype, initializer=tf.constant_initializer(shift)
        )
    mean, variance = tf.nn.moments(value, [1], keep_dims=True)
    return tf.nn.batch_normalization(value, mean, variance, beta, gamma, 1e-12)


def sharded(name: str, shape: list[int], dtype: Any, num_shards: int) -> Any:
    """Return weights of variables "name_0", "name_1", …, joined by rows.

    Raises:
      ValueError: there are more shards than rows.
    """
    rows = shape[0]
    if num_shards > rows:
        raise ValueError(f"Too many shards: shape={shape}, num_shards={num_shards}")
    each, rest = divmod(rows, num_shards)
    parts = [
        tf.get_variable(f"{name}_{part}", [each + (part < rest), *shape[1:]], dtype)
        for part in range(num_shards)
    ]
    return parts[0] if num_shards == 1 else tf.concat(parts, 0)


def diagonal(name: str, units: int, dtype: Any) -> Any:
    """Return the weights of a peephole."""
    return tf.get_variable(name, [units], dtype)


def clipped(value: Any, limit: float | None) -> Any:
    """Return a value between minus a limit and the limit, if there is one."""
    return value if limit is None else tf.clip_by_value(value, -limit, limit)


def function(given: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    """Return an activation; tanh by default."""
    return tf.tanh if given is None else given


class UnitCell(RNNCell):
    """A cell whose state and output have one number of units.

    Args:
      num_units: the number.
      reuse: whether variables exist already.
      **kwargs: for ``tf.layers.Layer``.
    """

    def __init__(self, num_units: int, reuse: bool | None = None, **kwargs: Any) -> None:
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units = num_units

    @property
    def state_size(self) -> Any:
        """The number of units."""
        return self._num_units

    @property
    def output_size(self) -> Any:
        """The number of units."""
        return self._num_units

    def _in_scope(self, initializer: Any) -> Any:
        """Return the current scope with an initializer."""
        return tf.variable_scope(tf.get_variable_scope(), initializer=initializer)


class LSTMUnitCell(UnitCell):
    """A cell whose state is that of an LSTM, with a projected output or without.

    Args:
      num_units: units of the state.
      num_proj: size of the projected output, or None.
      reuse: whether variables exist already.
      **kwargs: for ``tf.layers.Layer``.
    """

    def __init__(
        self,
        num_units: int,
        num_proj: int | None = None,
        reuse: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, reuse, **kwargs)
        self._num_proj = num_proj

    @property
    def state_size(self) -> Any:
        """The sizes of cell and output."""
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> Any:
        """The number of units, or the size of the projected output."""
        return self._num_units if self._num_proj is None else self._num_proj


def random_exponential(low: float, high: float) -> Callable[..., Any]:
    """Return an initializer of numbers whose logarithms are uniform."""

    def initializer(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return tf.exp(tf.random_uniform(shape, math.log(low), math.log(high), dtype or tf.float32))

    return initializer
