"""Layers that several programs share, written with variables and ops.

TensorFlow 2.21 lacks ``tf.layers`` and ``tf.nn.rnn_cell`` unless Keras 2 is installed beside it, so
the programs use neither.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np


def numbers(seed: int) -> np.random.RandomState:
    """Return the generator of a program's inputs."""
    return np.random.RandomState(seed)


def weights(tf: Any, name: str, shape: list[int], scale: float | None = None) -> Any:
    """Return a variable with normal values; the full name determines its seed."""
    fan_in = int(np.prod(shape[:-1])) or 1
    scope = tf.get_variable_scope().name
    return tf.get_variable(
        name,
        shape,
        tf.float32,
        tf.random_normal_initializer(
            stddev=fan_in**-0.5 if scale is None else scale,
            seed=zlib.crc32(f"{scope}/{name}".encode()) & 0x7FFFFFFF,
        ),
    )


def zeros(tf: Any, name: str, shape: list[int]) -> Any:
    """Return a variable that begins with zeros."""
    return tf.get_variable(name, shape, tf.float32, tf.zeros_initializer())


def ones(tf: Any, name: str, shape: list[int]) -> Any:
    """Return a variable that begins with ones."""
    return tf.get_variable(name, shape, tf.float32, tf.ones_initializer())


def dense(tf: Any, x: Any, size: int, name: str, activation: Any = None) -> Any:
    """Return a fully connected layer over the last dimension of a matrix or of a sequence."""
    width = int(x.shape[-1])
    with tf.variable_scope(name):
        kernel, bias = weights(tf, "kernel", [width, size]), zeros(tf, "bias", [size])
        if x.shape.ndims == 2:
            y = tf.nn.bias_add(tf.matmul(x, kernel), bias)
        else:
            flat = tf.nn.bias_add(tf.matmul(tf.reshape(x, [-1, width]), kernel), bias)
            y = tf.reshape(flat, tf.concat([tf.shape(x)[:-1], [size]], 0))
            y.set_shape(x.shape[:-1].concatenate([size]))
        return y if activation is None else activation(y)


def conv(
    tf: Any, x: Any, filters: int, size: int, name: str, *, strides: int = 1, bias: bool = True
) -> Any:
    """Return a convolution of square filters with padding SAME."""
    with tf.variable_scope(name):
        kernel = weights(tf, "kernel", [size, size, int(x.shape[-1]), filters])
        y = tf.nn.conv2d(x, kernel, strides=[1, strides, strides, 1], padding="SAME")
        return tf.nn.bias_add(y, zeros(tf, "bias", [filters])) if bias else y


def batch_norm(tf: Any, x: Any, name: str, *, training: bool) -> Any:
    """Return a batch normalization; in training its moving averages join UPDATE_OPS."""
    channels = int(x.shape[-1])
    with tf.variable_scope(name):
        gamma, beta = ones(tf, "gamma", [channels]), zeros(tf, "beta", [channels])
        mean = tf.get_variable("mean", [channels], trainable=False, initializer=_zeros(tf))
        variance = tf.get_variable("variance", [channels], trainable=False, initializer=_ones(tf))
        if not training:
            return tf.nn.fused_batch_norm(x, gamma, beta, mean, variance, is_training=False)[0]
        y, batch_mean, batch_variance = tf.nn.fused_batch_norm(x, gamma, beta)
        for moving, value in ((mean, batch_mean), (variance, batch_variance)):
            update = tf.assign_sub(moving, (moving - value) * 0.01)
            tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, update)
        return y


def _zeros(tf: Any) -> Any:
    return tf.zeros_initializer()


def _ones(tf: Any) -> Any:
    return tf.ones_initializer()


def layer_norm(tf: Any, x: Any, name: str) -> Any:
    """Return a layer normalization over the last dimension."""
    width = int(x.shape[-1])
    with tf.variable_scope(name):
        mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
        scaled = (x - mean) * tf.rsqrt(variance + 1e-6)
        return scaled * ones(tf, "gamma", [width]) + zeros(tf, "beta", [width])


class LSTMCell:
    """An LSTM cell as TensorFlow 1 writes it: one product, split into four gates."""

    def __init__(self, tf: Any, size: int, name: str, forget_bias: float = 1.0) -> None:
        self._tf, self._size, self._name, self._forget_bias = tf, size, name, forget_bias

    @property
    def state_size(self) -> tuple[int, int]:
        """The sizes of cell and output."""
        return self._size, self._size

    @property
    def output_size(self) -> int:
        """The size of the output."""
        return self._size

    def zero_state(self, batch_size: Any, dtype: Any) -> tuple[Any, Any]:
        """Return a state of zeros."""
        shape = self._tf.stack([batch_size, self._size])
        zero = self._tf.zeros(shape, dtype)
        zero.set_shape([None, self._size])
        return zero, zero

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        """Return output and next state of one time step."""
        tf, size = self._tf, self._size
        cell, output = state
        with tf.variable_scope(self._name, reuse=tf.AUTO_REUSE):
            kernel = weights(tf, "kernel", [int(inputs.shape[-1]) + size, 4 * size])
            bias = zeros(tf, "bias", [4 * size])
        gates = tf.nn.bias_add(tf.matmul(tf.concat([inputs, output], 1), kernel), bias)
        i, j, f, o = tf.split(gates, 4, axis=1)
        kept = cell * tf.sigmoid(f + self._forget_bias)
        cell = kept + tf.sigmoid(i) * tf.tanh(j)
        output = tf.tanh(cell) * tf.sigmoid(o)
        return output, (cell, output)


class GRUCell:
    """A GRU cell as TensorFlow 1 writes it: two gates of one product, then the candidate."""

    def __init__(self, tf: Any, size: int, name: str) -> None:
        self._tf, self._size, self._name = tf, size, name

    @property
    def state_size(self) -> int:
        """The size of the state."""
        return self._size

    @property
    def output_size(self) -> int:
        """The size of the output."""
        return self._size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return a state of zeros."""
        zero = self._tf.zeros(self._tf.stack([batch_size, self._size]), dtype)
        zero.set_shape([None, self._size])
        return zero

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        """Return output and next state of one time step."""
        tf, size = self._tf, self._size
        width = int(inputs.shape[-1]) + size
        with tf.variable_scope(self._name, reuse=tf.AUTO_REUSE):
            kernel, bias = weights(tf, "gates", [width, 2 * size]), ones(tf, "gates_b", [2 * size])
            candidate = weights(tf, "candidate", [width, size])
            candidate_bias = zeros(tf, "candidate_b", [size])
        gates = tf.sigmoid(tf.nn.bias_add(tf.matmul(tf.concat([inputs, state], 1), kernel), bias))
        r, u = tf.split(gates, 2, axis=1)
        product = tf.matmul(tf.concat([inputs, r * state], 1), candidate)
        c = tf.tanh(tf.nn.bias_add(product, candidate_bias))
        state = u * state + (1 - u) * c
        return state, state


class DropoutCell:
    """A cell whose output passes through dropout at each time step."""

    def __init__(self, tf: Any, cell: LSTMCell, keep: Any, seed: int) -> None:
        self._tf, self._cell, self._keep, self._seed = tf, cell, keep, seed
        self.state_size, self.output_size = cell.state_size, cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> tuple[Any, Any]:
        """Return a state of zeros."""
        return self._cell.zero_state(batch_size, dtype)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        """Return output and next state of one time step."""
        output, state = self._cell(inputs, state)
        return self._tf.nn.dropout(output, keep_prob=self._keep, seed=self._seed), state


def clipped(tf: Any, optimizer: Any, loss: Any, norm: float = 5.0) -> Any:
    """Return a training op whose gradients are clipped by their global norm."""
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), norm)
    return optimizer.apply_gradients(zip(gradients, variables, strict=True))


def with_updates(tf: Any, make: Any) -> Any:
    """Return the op that `make` builds, which runs after the updates of batch normalizations."""
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        return make()
