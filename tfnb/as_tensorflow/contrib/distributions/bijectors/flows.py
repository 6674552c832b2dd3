"""Flows: bijectors of vectors whose shifts and scales are computed by networks.

Source: the papers on masked autoregressive flows (arXiv:1705.07057) and on real NVP
(arXiv:1605.08803).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.as_tensorflow.contrib.distributions.bijectors.bijector import Bijector
from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class MaskedAutoregressiveFlow(Bijector):
    """``y[i] = x[i] exp(log_scale(y[:i])) + shift(y[:i])``.

    The inverse is one call of the network, the forward direction one for each coordinate.

    Args:
      shift_and_log_scale_fn: a function of y, whose coordinate i depends on y[:i] alone.
      is_constant_jacobian: whether there is no scale.
      validate_args: without effect.
      unroll_loop: whether the calls are written one after the other, without a loop.
      name: of its scope.
    """

    def __init__(
        self,
        shift_and_log_scale_fn: Callable[..., Any],
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        unroll_loop: bool = False,
        name: str | None = None,
    ) -> None:
        self._network = shift_and_log_scale_fn
        self._unroll_loop = unroll_loop
        super().__init__(
            None, is_constant_jacobian, validate_args, None, 1,
            name=name or "masked_autoregressive_flow",
        )  # fmt: skip

    def _forward(self, x: Any, **condition: Any) -> Any:
        size = x.shape[-1].value
        if self._unroll_loop:
            if size is None:
                raise ValueError("unroll_loop needs a known number of coordinates.")
            y = tf.zeros_like(x)
            for _ in range(size):
                y = self._step(x, y, condition)
            return y
        # A first call makes the variables outside of the loop.
        first = self._step(x, tf.zeros_like(x), condition)
        number = tf.shape(x)[-1]
        _, y = tf.while_loop(
            lambda index, _: index < number,
            lambda index, y: (index + 1, self._step(x, y, condition)),
            [tf.constant(1), first],
        )
        return y

    def _step(self, x: Any, y: Any, condition: Any) -> Any:
        shift, log_scale = self._network(y, **condition)
        found = x if log_scale is None else x * tf.exp(log_scale)
        found = found if shift is None else found + shift
        found.set_shape(x.shape)
        return found

    def _inverse(self, y: Any, **condition: Any) -> Any:
        shift, log_scale = self._network(y, **condition)
        found = y if shift is None else y - shift
        return found if log_scale is None else found * tf.exp(-log_scale)

    def _inverse_log_det_jacobian(self, y: Any, **condition: Any) -> Any:
        _, log_scale = self._network(y, **condition)
        return tf.zeros([], y.dtype) if log_scale is None else -tf.reduce_sum(log_scale, -1)


def _masks(num_blocks: int, inputs: int, outputs: int, exclusive: bool) -> Any:
    """Return 1 where an output depends on an input, [inputs, outputs]."""
    if num_blocks < 1 or inputs < num_blocks or outputs < num_blocks:
        raise ValueError(
            f"num_blocks must be between 1 and the sizes {inputs} and {outputs}, given {num_blocks}"
        )
    mask = np.zeros([outputs, inputs])
    width, height = inputs // num_blocks, outputs // num_blocks
    for block in range(num_blocks):
        first = height * (block + 1 if exclusive else block)
        mask[first:, width * block : width * (block + 1)] = 1
    return mask.T


def masked_dense(
    inputs: Any,
    units: int,
    num_blocks: int | None = None,
    exclusive: bool = False,
    kernel_initializer: Any = None,
    reuse: Any = None,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Return a dense layer where an output depends on the inputs of earlier blocks alone.

    Args:
      inputs: [..., size].
      units: the number of outputs.
      num_blocks: the number of blocks; as many as inputs by default.
      exclusive: whether an output does not depend on its own block.
      kernel_initializer: of the weights.
      reuse: whether the variables are there already.
      name: of the layer.
      *args: as of ``tf.layers.dense``.
      **kwargs: as of ``tf.layers.dense``.

    Raises:
      ValueError: the number of inputs is not known, or does not fit the blocks.
    """
    size = inputs.shape[-1].value
    if size is None:
        raise ValueError("Rightmost dimension of the inputs must be known.")
    mask = _masks(num_blocks or size, size, units, exclusive)
    start = tf.glorot_normal_initializer() if kernel_initializer is None else kernel_initializer

    def masked_start(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return mask * start(shape, dtype, partition_info)

    with tf.name_scope(name, "masked_dense", [inputs, units, num_blocks]):
        return tf.layers.dense(
            inputs,
            units,
            *args,
            kernel_initializer=masked_start,
            kernel_constraint=lambda weights: mask * weights,
            name=name,
            reuse=reuse,
            **kwargs,
        )


def masked_autoregressive_default_template(
    hidden_layers: Sequence[int],
    shift_only: bool = False,
    activation: Any = tf.nn.relu,
    log_scale_min_clip: float = -5.0,
    log_scale_max_clip: float = 3.0,
    log_scale_clip_gradient: bool = False,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Callable[..., Any]:
    """Return a network of shift and log scale for ``MaskedAutoregressiveFlow``.

    Args:
      hidden_layers: the sizes of the hidden layers.
      shift_only: whether there is no scale.
      activation: of the hidden layers.
      log_scale_min_clip: the smallest log scale.
      log_scale_max_clip: the largest log scale.
      log_scale_clip_gradient: whether gradients pass only inside of these.
      name: of the scope.
      *args: as of ``tf.layers.dense``.
      **kwargs: as of ``tf.layers.dense``.
    """

    def network(x: Any) -> Any:
        size = x.shape[-1].value
        if size is None:
            raise ValueError("Rightmost dimension of the inputs must be known.")
        shape = tf.shape(x)
        y = tf.reshape(x, [-1, size])
        for index, units in enumerate(hidden_layers):
            y = masked_dense(y, units, size, index == 0, None, None, None, *args,
                             activation=activation, **kwargs)  # fmt: skip
        units = (1 if shift_only else 2) * size
        y = masked_dense(y, units, size, not hidden_layers, None, None, None, *args, **kwargs)
        if shift_only:
            return tf.reshape(y, shape), None
        pairs = tf.reshape(y, tf.concat([shape, [2]], 0))
        shift, log_scale = tf.unstack(pairs, 2, -1)
        clip = tf.clip_by_value if log_scale_clip_gradient else _clipped_value
        return shift, clip(log_scale, log_scale_min_clip, log_scale_max_clip)

    made: Callable[..., Any] = tf.make_template(
        name or "masked_autoregressive_default_template", network
    )
    return made


def _clipped_value(x: Any, low: float, high: float) -> Any:
    """Return a clipped value whose gradient passes everywhere."""
    return x + tf.stop_gradient(tf.clip_by_value(x, low, high) - x)


class RealNVP(Bijector):
    """The first coordinates as they are; the others scaled and shifted by a network of the first.

    Args:
      num_masked: how many are left as they are.
      shift_and_log_scale_fn: a function of (first coordinates, number of others).
      is_constant_jacobian: whether there is no scale.
      validate_args: without effect.
      name: of its scope.
    """

    def __init__(
        self,
        num_masked: int,
        shift_and_log_scale_fn: Callable[..., Any],
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        self._number = num_masked
        self._network = shift_and_log_scale_fn
        super().__init__(
            None, is_constant_jacobian, validate_args, None, 1, name=name or "real_nvp"
        )

    def _parts(self, value: Any, condition: Any) -> tuple[Any, Any, Any, Any]:
        size = value.shape[-1].value
        if size is None or not 0 < self._number < size:
            raise ValueError(
                f"Number of masked units {self._number} must be smaller than the event size {size}."
            )
        kept, others = value[..., : self._number], value[..., self._number :]
        return kept, others, *self._network(kept, size - self._number, **condition)

    def _forward(self, x: Any, **condition: Any) -> Any:
        kept, others, shift, log_scale = self._parts(x, condition)
        others = others if log_scale is None else others * tf.exp(log_scale)
        others = others if shift is None else others + shift
        return tf.concat([kept, others], -1)

    def _inverse(self, y: Any, **condition: Any) -> Any:
        kept, others, shift, log_scale = self._parts(y, condition)
        others = others if shift is None else others - shift
        others = others if log_scale is None else others * tf.exp(-log_scale)
        return tf.concat([kept, others], -1)

    def _forward_log_det_jacobian(self, x: Any, **condition: Any) -> Any:
        log_scale = self._parts(x, condition)[3]
        return tf.zeros([], x.dtype) if log_scale is None else tf.reduce_sum(log_scale, -1)

    def _inverse_log_det_jacobian(self, y: Any, **condition: Any) -> Any:
        # The first coordinates are the same in both directions.
        return -self._forward_log_det_jacobian(y, **condition)


def real_nvp_default_template(
    hidden_layers: Sequence[int],
    shift_only: bool = False,
    activation: Any = tf.nn.relu,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Callable[..., Any]:
    """Return a network of shift and log scale for ``RealNVP``.

    Args:
      hidden_layers: the sizes of the hidden layers.
      shift_only: whether there is no scale.
      activation: of the hidden layers.
      name: of the scope.
      *args: as of ``tf.layers.dense``.
      **kwargs: as of ``tf.layers.dense``.
    """

    def network(x: Any, output_units: int) -> Any:
        for units in hidden_layers:
            x = tf.layers.dense(x, units, activation, *args, **kwargs)
        x = tf.layers.dense(x, (1 if shift_only else 2) * output_units, None, *args, **kwargs)
        return (x, None) if shift_only else tuple(tf.split(x, 2, -1))

    made: Callable[..., Any] = tf.make_template(name or "real_nvp_default_template", network)
    return made
