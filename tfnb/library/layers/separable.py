"""Separable convolutions as layers: first within each channel, then across channels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core.tensor_shape import TensorShape
from tfnb.library.layers import windowed
from tfnb.library.layers.base import InputSpec, Layer
from tfnb.library.layers.convolutional import Convolution
from tfnb.library.layers.named_functions import initializer_from
from tfnb.library.nn import depthwise_convolution
from tfnb.library.variables import init_ops
from tfnb.ops.array import array_ops, pad_ops
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

EXPORTS = {
    "layers": ["SeparableConv1D", "SeparableConv2D", "separable_conv1d", "separable_conv2d"],
}

_ZEROS = init_ops.zeros_initializer()


class SeparableConvolution(Convolution):
    """The common part of both separable convolutions."""

    def __init__(
        self,
        filters: int,
        kernel_size: IntsLike,
        strides: IntsLike = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: IntsLike = 1,
        depth_multiplier: int = 1,
        activation: Activation = None,
        use_bias: bool = True,
        depthwise_initializer: Initializer | None = None,
        pointwise_initializer: Initializer | None = None,
        bias_initializer: Initializer = _ZEROS,
        depthwise_regularizer: Regularizer = None,
        pointwise_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        activity_regularizer: Regularizer = None,
        depthwise_constraint: Constraint = None,
        pointwise_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Set the arguments of the layer.

        Args:
          filters: the number of output channels.
          kernel_size: the window's sizes.
          strides: the steps of the window.
          padding: "valid" or "same".
          data_format: "channels_last" or "channels_first".
          dilation_rate: the distances between the window's points.
          depth_multiplier: how many channels each channel gives in the first step.
          activation: a function of the result, or its name.
          use_bias: whether a bias is added.
          depthwise_initializer: of the first kernel.
          pointwise_initializer: of the second kernel.
          bias_initializer: of the bias.
          depthwise_regularizer: a function of the first kernel that returns a loss.
          pointwise_regularizer: a function of the second kernel that returns a loss.
          bias_regularizer: a function of the bias that returns a loss.
          activity_regularizer: a function of the output that returns a loss.
          depthwise_constraint: a function that an optimizer applies to a new first kernel.
          pointwise_constraint: a function that an optimizer applies to a new second kernel.
          bias_constraint: a function that an optimizer applies to a new bias.
          trainable: whether optimizers may change the variables.
          name: of the layer.
          **kwargs: of :class:`Layer`.
        """
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            activation,
            use_bias,
            bias_initializer=bias_initializer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            bias_constraint=bias_constraint,
            trainable=trainable,
            name=name,
            **kwargs,
        )
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = initializer_from(depthwise_initializer)
        self.pointwise_initializer = initializer_from(pointwise_initializer)
        self.depthwise_regularizer = depthwise_regularizer
        self.pointwise_regularizer = pointwise_regularizer
        self.depthwise_constraint = depthwise_constraint
        self.pointwise_constraint = pointwise_constraint

    def build(self, input_shape: ShapeLike) -> None:
        """Make ``depthwise_kernel``, ``pointwise_kernel`` and ``bias``.

        Raises:
          ValueError: the number of channels is not known.
        """
        axis = self._channel_axis
        channels = windowed.channels_of(input_shape, axis)
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={axis: channels})
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel",
            shape=(*self.kernel_size, channels, self.depth_multiplier),
            initializer=self.depthwise_initializer,
            regularizer=self.depthwise_regularizer,
            constraint=self.depthwise_constraint,
            dtype=self.dtype,
        )
        self.pointwise_kernel = self.add_weight(
            "pointwise_kernel",
            shape=(*(1,) * self.rank, self.depth_multiplier * channels, self.filters),
            initializer=self.pointwise_initializer,
            regularizer=self.pointwise_regularizer,
            constraint=self.pointwise_constraint,
            dtype=self.dtype,
        )
        self._add_bias()
        Layer.build(self, TensorShape(input_shape))


class SeparableConv1D(SeparableConvolution):
    """A separable convolution along one dimension; see :func:`separable_conv1d`."""

    _rank = 1
    _op_name = "separable_conv2d"

    def call(self, inputs: TensorLike) -> TensorResult:
        """Return the convolution, computed as one of images of height 1."""
        padding = self.padding.upper()
        if self.padding == "causal":
            inputs = pad_ops.pad(inputs, self._causal_paddings())
            padding = "VALID"
        is_last = self.data_format == "channels_last"
        axis = 1 if is_last else 2
        steps = self.strides * 2
        ops_format = windowed.format_of_ops(self.data_format, 2)
        inputs = array_ops.expand_dims(inputs, axis)
        depthwise = array_ops.expand_dims(self.depthwise_kernel, 0)
        pointwise = array_ops.expand_dims(self.pointwise_kernel, 0)
        outputs = depthwise_convolution.separable_conv2d(
            inputs,
            depthwise,
            pointwise,
            strides=(1, *steps, 1) if is_last else (1, 1, *steps),
            padding=padding,
            rate=(1, *self.dilation_rate),
            data_format=ops_format,
        )
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias, data_format=ops_format)
        outputs = array_ops.squeeze(outputs, [axis])
        return outputs if self.activation is None else self.activation(outputs)


class SeparableConv2D(SeparableConvolution):
    """A separable convolution of images; see :func:`separable_conv2d`."""

    _rank = 2
    _op_name = "separable_conv2d"

    def call(self, inputs: TensorLike) -> TensorResult:
        """Return the convolution, with bias and activation."""
        is_last = self.data_format == "channels_last"
        outputs = depthwise_convolution.separable_conv2d(
            inputs,
            self.depthwise_kernel,
            self.pointwise_kernel,
            strides=(1, *self.strides, 1) if is_last else (1, 1, *self.strides),
            padding=self.padding.upper(),
            rate=self.dilation_rate,
            data_format=self._ops_format,
        )
        outputs = self._add_bias_to(outputs)
        return outputs if self.activation is None else self.activation(outputs)


def separable_conv1d(
    inputs: TensorLike,
    filters: int,
    kernel_size: IntsLike,
    strides: IntsLike = 1,
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: IntsLike = 1,
    depth_multiplier: int = 1,
    activation: Activation = None,
    use_bias: bool = True,
    depthwise_initializer: Initializer | None = None,
    pointwise_initializer: Initializer | None = None,
    bias_initializer: Initializer = _ZEROS,
    depthwise_regularizer: Regularizer = None,
    pointwise_regularizer: Regularizer = None,
    bias_regularizer: Regularizer = None,
    activity_regularizer: Regularizer = None,
    depthwise_constraint: Constraint = None,
    pointwise_constraint: Constraint = None,
    bias_constraint: Constraint = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> TensorResult:
    """Return a separable convolution along one dimension; the arguments are those of the class.

    ``reuse`` says whether the variables of the layer with that name are reused.
    """
    layer = SeparableConv1D(
        filters,
        kernel_size,
        strides,
        padding,
        data_format,
        dilation_rate,
        depth_multiplier,
        activation,
        use_bias,
        depthwise_initializer,
        pointwise_initializer,
        bias_initializer,
        depthwise_regularizer,
        pointwise_regularizer,
        bias_regularizer,
        activity_regularizer,
        depthwise_constraint,
        pointwise_constraint,
        bias_constraint,
        trainable,
        name,
        _scope=name,
        _reuse=reuse,
    )
    return layer(inputs)


def separable_conv2d(
    inputs: TensorLike,
    filters: int,
    kernel_size: IntsLike,
    strides: IntsLike = (1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: IntsLike = (1, 1),
    depth_multiplier: int = 1,
    activation: Activation = None,
    use_bias: bool = True,
    depthwise_initializer: Initializer | None = None,
    pointwise_initializer: Initializer | None = None,
    bias_initializer: Initializer = _ZEROS,
    depthwise_regularizer: Regularizer = None,
    pointwise_regularizer: Regularizer = None,
    bias_regularizer: Regularizer = None,
    activity_regularizer: Regularizer = None,
    depthwise_constraint: Constraint = None,
    pointwise_constraint: Constraint = None,
    bias_constraint: Constraint = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> TensorResult:
    """Return a separable convolution of images; the arguments are those of the class.

    ``reuse`` says whether the variables of the layer with that name are reused.
    """
    layer = SeparableConv2D(
        filters,
        kernel_size,
        strides,
        padding,
        data_format,
        dilation_rate,
        depth_multiplier,
        activation,
        use_bias,
        depthwise_initializer,
        pointwise_initializer,
        bias_initializer,
        depthwise_regularizer,
        pointwise_regularizer,
        bias_regularizer,
        activity_regularizer,
        depthwise_constraint,
        pointwise_constraint,
        bias_constraint,
        trainable,
        name,
        _scope=name,
        _reuse=reuse,
    )
    return layer(inputs)
