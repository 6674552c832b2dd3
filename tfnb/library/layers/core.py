"""Dense layers, dropout, flattening."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.library.control_flow.smart_cond import smart_cond
from tfnb.library.layers.base import InputSpec, Layer
from tfnb.library.layers.named_functions import activation_from, initializer_from
from tfnb.library.nn import nn_ops
from tfnb.library.variables import init_ops
from tfnb.ops.array import array_ops, constant_ops, shape_ops
from tfnb.ops.array.identity_ops import identity
from tfnb.ops.math import math_ops
from tfnb.ops.nn.bias_ops import bias_add

if TYPE_CHECKING:
    from tfnb.core.tensor_shape import ShapeLike
    from tfnb.framework.tensor_types import (
        Activation,
        Constraint,
        Initializer,
        IntsLike,
        Regularizer,
        TensorLike,
        TensorResult,
    )

EXPORTS = {"layers": ["Dense", "Dropout", "Flatten", "dense", "dropout", "flatten"]}


class Dense(Layer):
    """activation(inputs * kernel + bias) over the last axis."""

    def __init__(
        self,
        units: int,
        activation: Activation = None,
        use_bias: bool = True,
        kernel_initializer: Initializer | None = None,
        bias_initializer: Initializer = init_ops.zeros_initializer(),  # noqa: B008  # it keeps nothing
        kernel_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        activity_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        """See :func:`dense`."""
        super().__init__(
            trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs
        )
        self.units = int(units) if not isinstance(units, int) else units
        if self.units < 0:
            raise ValueError(
                "Received an invalid value for `units`, expected a positive integer. Received: "
                f"units={units}"
            )
        self.activation = activation_from(activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializer_from(kernel_initializer)
        self.bias_initializer = initializer_from(bias_initializer)
        self.kernel_regularizer = kernel_regularizer
        self.bias_regularizer = bias_regularizer
        self.kernel_constraint = kernel_constraint
        self.bias_constraint = bias_constraint
        self.input_spec = InputSpec(min_ndim=2)

    def build(self, input_shape: ShapeLike) -> None:
        """Make ``kernel`` and ``bias``.

        Raises:
          TypeError: the type is not floating-point.
          ValueError: the size of the last dimension is unknown.
        """
        dtype = dtypes.as_dtype(self.dtype or dtypes.float32)
        if not (dtype.is_floating or dtype.is_complex):
            raise TypeError(
                "A Dense layer can only be built with a floating-point dtype. Received: "
                f"dtype={dtype}"
            )
        shape = TensorShape(input_shape)
        size = None if shape.ndims is None else shape.as_list()[-1]
        if size is None:
            raise ValueError(
                "The last dimension of the inputs to a Dense layer should be defined. Found None. "
                f"Full input shape received: {shape}"
            )
        self.input_spec = InputSpec(min_ndim=2, axes={-1: size})
        self.kernel = self.add_weight(
            "kernel",
            shape=[size, self.units],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
            dtype=self.dtype,
        )
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                shape=[self.units],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
                dtype=self.dtype,
            )
        super().build(input_shape)

    def call(self, inputs: TensorLike) -> TensorResult:
        """Return the product, with bias and activation."""
        if isinstance(inputs, SparseTensor):
            from tfnb.ops.sparse.sparse_ops import sparse_tensor_dense_matmul

            outputs = sparse_tensor_dense_matmul(inputs, self.kernel)
        else:
            rank = inputs.shape.ndims
            if rank in (2, None):
                outputs = math_ops.matmul(inputs, self.kernel)
            else:
                outputs = math_ops.tensordot(inputs, self.kernel, [[rank - 1], [0]])
                outputs.set_shape([*inputs.shape.as_list()[:-1], self.units])
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Return the inputs' shape with another last dimension."""
        sizes = TensorShape(input_shape).with_rank_at_least(2).as_list()
        return TensorShape([*sizes[:-1], self.units])


class Dropout(Layer):
    """A layer that sets random elements to zero and scales the others up, in training."""

    def __init__(
        self,
        rate: IntsLike = 0.5,
        noise_shape: TensorLike | None = None,
        seed: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        """See :func:`dropout`."""
        super().__init__(name=name, **kwargs)
        if isinstance(rate, (int, float)) and not 0 <= rate <= 1:
            raise ValueError(
                f"Invalid value {rate} received for `rate`, expected a value between 0 and 1."
            )
        self.rate = rate
        self.noise_shape = noise_shape
        self.seed = seed

    def _noise_shape(self, inputs: TensorLike) -> Any:
        """Return the shape of the mask; None in it means the inputs' own size."""
        if self.noise_shape is None:
            return None
        sizes = shape_ops.shape(inputs)
        return convert_to_tensor(
            [sizes[i] if size is None else size for i, size in enumerate(self.noise_shape)]
        )

    def call(self, inputs: TensorLike, training: TensorLike = False) -> TensorResult:
        """Return the inputs, in training with some elements set to zero."""
        if isinstance(self.rate, (int, float)) and self.rate == 0:
            return identity(inputs)

        def dropped() -> TensorResult:
            return nn_ops.dropout(
                inputs, noise_shape=self._noise_shape(inputs), seed=self.seed, rate=self.rate
            )

        return smart_cond(training, dropped, lambda: identity(inputs))

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Return the inputs' shape."""
        return TensorShape(input_shape)


class Flatten(Layer):
    """A layer that makes all dimensions but the first one dimension."""

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        """See :func:`flatten`."""
        from tfnb.library.layers.windowed import checked_data_format

        super().__init__(**kwargs)
        self.data_format = checked_data_format(data_format or "channels_last")
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: TensorLike) -> TensorResult:
        """Return the inputs, reshaped."""
        rank = inputs.shape.ndims
        if self.data_format == "channels_first" and rank is not None and rank > 1:
            inputs = array_ops.transpose(inputs, perm=[0, *range(2, rank), 1])
        if rank is None:
            return array_ops.reshape(inputs, [shape_ops.shape(inputs)[0], -1])
        sizes = inputs.shape.as_list()
        if rank == 1:
            return array_ops.expand_dims(inputs, axis=1)
        if None not in sizes[1:]:
            return array_ops.reshape(inputs, constant_ops.constant([-1, math.prod(sizes[1:])]))
        if sizes[0] is not None:
            return array_ops.reshape(inputs, constant_ops.constant([sizes[0], -1]))
        return array_ops.reshape(inputs, [shape_ops.shape(inputs)[0], -1])

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Return the first dimension, and the product of the others."""
        sizes = TensorShape(input_shape).as_list()
        known = [size for size in sizes[1:] if size is not None]
        rest = math.prod(known) if len(known) == len(sizes) - 1 else None
        return TensorShape([sizes[0], rest])


def dense(
    inputs: TensorLike,
    units: int,
    activation: Activation = None,
    use_bias: bool = True,
    kernel_initializer: Initializer | None = None,
    bias_initializer: Initializer = init_ops.zeros_initializer(),  # noqa: B008  # it keeps nothing
    kernel_regularizer: Regularizer = None,
    bias_regularizer: Regularizer = None,
    activity_regularizer: Regularizer = None,
    kernel_constraint: Constraint = None,
    bias_constraint: Constraint = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> TensorResult:
    """Return activation(inputs * kernel + bias) over the last axis.

    Args:
      inputs: a tensor of rank 2 or more.
      units: the size of the last axis of the output.
      activation: a function of the sum, or its name; None for none.
      use_bias: whether a bias is added.
      kernel_initializer: of the kernel; the scope's, else Glorot's uniform one by default.
      bias_initializer: of the bias.
      kernel_regularizer: a function of the kernel that returns a loss.
      bias_regularizer: a function of the bias that returns a loss.
      activity_regularizer: a function of the output that returns a loss.
      kernel_constraint: a function that an optimizer applies to a new kernel.
      bias_constraint: a function that an optimizer applies to a new bias.
      trainable: whether optimizers may change the variables.
      name: of the layer and its scope.
      reuse: whether the variables of the layer with that name are reused.
    """
    layer = Dense(
        units,
        activation=activation,
        use_bias=use_bias,
        kernel_initializer=kernel_initializer,
        bias_initializer=bias_initializer,
        kernel_regularizer=kernel_regularizer,
        bias_regularizer=bias_regularizer,
        activity_regularizer=activity_regularizer,
        kernel_constraint=kernel_constraint,
        bias_constraint=bias_constraint,
        trainable=trainable,
        name=name,
        _scope=name,
        _reuse=reuse,
    )
    return layer(inputs)


def dropout(
    inputs: TensorLike,
    rate: IntsLike = 0.5,
    noise_shape: TensorLike | None = None,
    seed: int | None = None,
    training: TensorLike = False,
    name: str | None = None,
) -> TensorResult:
    """Set elements to zero with probability ``rate`` and scale the others up, while training.

    Args:
      inputs: a tensor.
      rate: the probability.
      noise_shape: the shape of the mask; None in it means the inputs' own size.
      seed: the op's seed.
      training: a bool, or a boolean scalar tensor.
      name: of the layer.
    """
    return Dropout(rate, noise_shape=noise_shape, seed=seed, name=name)(inputs, training=training)


def flatten(
    inputs: TensorLike, name: str | None = None, data_format: str = "channels_last"
) -> TensorResult:
    """Make all dimensions but the first one dimension.

    Args:
      inputs: a tensor.
      name: of the layer.
      data_format: the position of the channels; "channels_first" ones are moved to the end before.
    """
    return Flatten(name=name, data_format=data_format)(inputs)
