"""Convolutions as layers: plain and transposed ones in one to three dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from tfnb.core.tensor_shape import TensorShape
from tfnb.library.layers import windowed
from tfnb.library.layers.base import InputSpec, Layer
from tfnb.library.layers.named_functions import activation_from, initializer_from
from tfnb.library.nn import convolution
from tfnb.library.variables import init_ops
from tfnb.ops.array import array_ops, concat_ops, pad_ops, shape_ops
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
    "layers": [
        "Conv1D", "Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose", "conv1d", "conv2d",
        "conv2d_transpose", "conv3d", "conv3d_transpose",
    ],
}  # fmt: skip

_ZEROS = init_ops.zeros_initializer()


class Convolution(Layer):
    """The common part of all convolutions; ``_rank`` is the number of spatial dimensions."""

    _rank: ClassVar[int]
    _op_name: ClassVar[str]

    def __init__(
        self,
        filters: int,
        kernel_size: IntsLike,
        strides: IntsLike = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: IntsLike = 1,
        activation: Activation = None,
        use_bias: bool = True,
        kernel_initializer: Initializer | None = None,
        bias_initializer: Initializer = _ZEROS,
        kernel_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        activity_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
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
          activation: a function of the result, or its name.
          use_bias: whether a bias is added.
          kernel_initializer: of the kernel.
          bias_initializer: of the bias.
          kernel_regularizer: a function of the kernel that returns a loss.
          bias_regularizer: a function of the bias that returns a loss.
          activity_regularizer: a function of the output that returns a loss.
          kernel_constraint: a function that an optimizer applies to a new kernel.
          bias_constraint: a function that an optimizer applies to a new bias.
          trainable: whether optimizers may change the variables.
          name: of the layer.
          **kwargs: of :class:`Layer`.

        Raises:
          ValueError: an argument has an invalid value, or strides and dilations are both above 1.
        """
        super().__init__(
            trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs
        )
        rank = self._rank
        if filters is not None and filters <= 0:
            raise ValueError(
                "Invalid value for argument `filters`. Expected a strictly positive value. "
                f"Received filters={filters}."
            )
        self.rank = rank
        self.filters = int(filters)
        self.kernel_size = windowed.sizes_of(kernel_size, rank, "kernel_size")
        self.strides = windowed.sizes_of(strides, rank, "strides")
        causal = ("causal",) if rank == 1 else ()
        self.padding = windowed.checked_padding(padding, *causal)
        self.data_format = windowed.checked_data_format(data_format)
        self.dilation_rate = windowed.sizes_of(dilation_rate, rank, "dilation_rate")
        if max(self.strides) > 1 and max(self.dilation_rate) > 1:
            raise ValueError(
                "`strides > 1` not supported in conjunction with `dilation_rate > 1`. Received: "
                f"strides={self.strides} and dilation_rate={self.dilation_rate}"
            )
        self.activation = activation_from(activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializer_from(kernel_initializer)
        self.bias_initializer = initializer_from(bias_initializer)
        self.kernel_regularizer = kernel_regularizer
        self.bias_regularizer = bias_regularizer
        self.kernel_constraint = kernel_constraint
        self.bias_constraint = bias_constraint
        self.input_spec = InputSpec(min_ndim=rank + 2)

    @property
    def _channel_axis(self) -> int:
        return -1 if self.data_format == "channels_last" else -1 - self.rank

    @property
    def _ops_format(self) -> str:
        return windowed.format_of_ops(self.data_format, self.rank)

    def build(self, input_shape: TensorLike) -> None:
        """Make ``kernel`` and ``bias``.

        Raises:
          ValueError: the number of channels is unknown, or an output would be empty.
        """
        axis = self._channel_axis
        channels = windowed.channels_of(input_shape, axis)
        self.compute_output_shape(input_shape)
        self._add_kernel((*self.kernel_size, channels, self.filters))
        self._add_bias()
        self.input_spec = InputSpec(min_ndim=self.rank + 2, axes={axis: channels})
        super().build(input_shape)

    def _add_kernel(self, shape: tuple[int, ...]) -> None:
        self.kernel = self.add_weight(
            "kernel",
            shape=shape,
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
            dtype=self.dtype,
        )

    def _add_bias(self) -> None:
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                shape=(self.filters,),
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
                dtype=self.dtype,
            )

    def call(self, inputs: TensorLike) -> TensorResult:
        """Return the convolution, with bias and activation."""
        shape = inputs.shape
        padding = self.padding.upper()
        if self.padding == "causal":
            inputs = pad_ops.pad(inputs, self._causal_paddings())
            padding = "VALID"
        outputs = convolution.convolution(
            inputs,
            self.kernel,
            strides=list(self.strides),
            padding=padding,
            dilations=list(self.dilation_rate),
            data_format=self._ops_format,
            name=self._op_name,
        )
        outputs = self._add_bias_to(outputs)
        if shape.ndims:
            outputs.set_shape(self.compute_output_shape(shape))
        return outputs if self.activation is None else self.activation(outputs)

    def _causal_paddings(self) -> list[list[int]]:
        left = [self.dilation_rate[0] * (self.kernel_size[0] - 1), 0]
        last = self.data_format == "channels_last"
        return [[0, 0], left, [0, 0]] if last else [[0, 0], [0, 0], left]

    def _add_bias_to(self, outputs: TensorLike) -> TensorResult:
        if self.bias is None:
            return outputs
        if self.rank == 1 and self.data_format == "channels_first":
            return outputs + array_ops.reshape(self.bias, (1, self.filters, 1))
        return bias_add(outputs, self.bias, data_format=self._ops_format)

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Return the outputs' shape.

        Raises:
          ValueError: a dimension would be negative.
        """
        lengths = windowed.spatial_of(input_shape, self.data_format)
        spatial = [
            windowed.output_length(length, window, self.padding, stride, dilation)
            for length, window, stride, dilation in zip(
                lengths, self.kernel_size, self.strides, self.dilation_rate, strict=False
            )
        ]
        if any(length is not None and length < 0 for length in spatial):
            raise ValueError(
                f"One of the dimensions in the output is <= 0 due to downsampling in {self.name}. "
                f"Consider increasing the input size. Received input shape "
                f"{TensorShape(input_shape).as_list()} which would produce output shape with a "
                "zero or negative value in a dimension."
            )
        return windowed.with_spatial(input_shape, self.data_format, spatial, self.filters)


class Conv1D(Convolution):
    """A convolution along one dimension; see :func:`conv1d`."""

    _rank = 1
    _op_name = "Conv1D"


class Conv2D(Convolution):
    """A convolution of images; see :func:`conv2d`."""

    _rank = 2
    _op_name = "Conv2D"


class Conv3D(Convolution):
    """A convolution of volumes; see :func:`conv3d`."""

    _rank = 3
    _op_name = "Conv3D"


class TransposedConvolution(Convolution):
    """The common part of both transposed convolutions."""

    def build(self, input_shape: ShapeLike) -> None:
        """Make ``kernel`` and ``bias``.

        Raises:
          ValueError: the rank is wrong, or the number of channels is unknown.
        """
        shape = TensorShape(input_shape)
        if shape.ndims != self.rank + 2:
            raise ValueError(
                f"Inputs should have rank {self.rank + 2}. Received input_shape={shape}."
            )
        axis = self._channel_axis
        kind = type(self).__name__
        text = f"The channel dimension of the inputs to `{kind}` should be defined."
        channels = windowed.channels_of(shape, axis, text)
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={axis: channels})
        self._add_kernel((*self.kernel_size, self.filters, channels))
        self._add_bias()
        Layer.build(self, shape)

    def compute_output_shape(self, input_shape: TensorLike) -> TensorShape:
        """Return the outputs' shape."""
        spatial = [
            windowed.transposed_length(length, window, self.padding, stride)
            for length, window, stride in zip(
                windowed.spatial_of(input_shape, self.data_format),
                self.kernel_size,
                self.strides,
                strict=False,
            )
        ]
        return windowed.with_spatial(input_shape, self.data_format, spatial, self.filters)

    def _dynamic_shape(self, inputs: TensorLike, static_where_known: bool) -> TensorResult:
        """Return the outputs' shape as a tensor."""
        shape = shape_ops.shape(inputs)
        batch = shape[0]
        first = 1 if self.data_format == "channels_last" else 2
        known = inputs.shape.as_list()
        lengths = [
            known[axis] if static_where_known and known[axis] is not None else shape[axis]
            for axis in range(first, first + self.rank)
        ]
        spatial = [
            windowed.transposed_length(length, window, self.padding, stride)
            for length, window, stride in zip(lengths, self.kernel_size, self.strides, strict=True)
        ]
        if self.data_format == "channels_last":
            return concat_ops.stack([batch, *spatial, self.filters])
        return concat_ops.stack([batch, self.filters, *spatial])

    def _with_ones(self, values: tuple[int, ...]) -> list[int]:
        return [1, *values, 1] if self.data_format == "channels_last" else [1, 1, *values]

    def _finished(self, inputs: TensorLike, outputs: TensorLike) -> TensorResult:
        if inputs.shape.ndims:
            outputs.set_shape(self.compute_output_shape(inputs.shape))
        outputs = self._add_bias_to(outputs)
        return outputs if self.activation is None else self.activation(outputs)


class Conv2DTranspose(TransposedConvolution):
    """The gradient of a 2D convolution as a layer; see :func:`conv2d_transpose`."""

    _rank = 2
    _op_name = "conv2d_transpose"

    def call(self, inputs: TensorLike) -> TensorResult:
        """Return the transposed convolution, with bias and activation."""
        shape = self._dynamic_shape(inputs, static_where_known=True)
        shape[0]  # as in TensorFlow, where this adds a node
        outputs = convolution.conv2d_transpose(
            inputs,
            self.kernel,
            shape,
            strides=self._with_ones(self.strides),
            padding=self.padding.upper(),
            data_format=self._ops_format,
        )
        return self._finished(inputs, outputs)


class Conv3DTranspose(TransposedConvolution):
    """The gradient of a 3D convolution as a layer; see :func:`conv3d_transpose`."""

    _rank = 3
    _op_name = "conv3d_transpose"

    def call(self, inputs: TensorLike) -> TensorResult:
        """Return the transposed convolution, with bias and activation."""
        outputs = convolution.conv3d_transpose(
            inputs,
            self.kernel,
            self._dynamic_shape(inputs, static_where_known=False),
            self._with_ones(self.strides),
            data_format=self._ops_format,
            padding=self.padding.upper(),
        )
        return self._finished(inputs, outputs)


def conv1d(
    inputs: TensorLike,
    filters: int,
    kernel_size: IntsLike,
    strides: IntsLike = 1,
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: IntsLike = 1,
    activation: Activation = None,
    use_bias: bool = True,
    kernel_initializer: Initializer | None = None,
    bias_initializer: Initializer = _ZEROS,
    kernel_regularizer: Regularizer = None,
    bias_regularizer: Regularizer = None,
    activity_regularizer: Regularizer = None,
    kernel_constraint: Constraint = None,
    bias_constraint: Constraint = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> TensorResult:
    """Return a convolution along one dimension; the arguments are those of :class:`Conv1D`.

    ``reuse`` says whether the variables of the layer with that name are reused.
    """
    layer = Conv1D(
        filters,
        kernel_size,
        strides,
        padding,
        data_format,
        dilation_rate,
        activation,
        use_bias,
        kernel_initializer,
        bias_initializer,
        kernel_regularizer,
        bias_regularizer,
        activity_regularizer,
        kernel_constraint,
        bias_constraint,
        trainable,
        name,
        _scope=name,
        _reuse=reuse,
    )
    return layer(inputs)


def conv2d(
    inputs: TensorLike,
    filters: int,
    kernel_size: IntsLike,
    strides: IntsLike = (1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: IntsLike = (1, 1),
    activation: Activation = None,
    use_bias: bool = True,
    kernel_initializer: Initializer | None = None,
    bias_initializer: Initializer = _ZEROS,
    kernel_regularizer: Regularizer = None,
    bias_regularizer: Regularizer = None,
    activity_regularizer: Regularizer = None,
    kernel_constraint: Constraint = None,
    bias_constraint: Constraint = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> TensorResult:
    """Return a convolution of images; the arguments are those of :class:`Conv2D`.

    ``reuse`` says whether the variables of the layer with that name are reused.
    """
    layer = Conv2D(
        filters,
        kernel_size,
        strides,
        padding,
        data_format,
        dilation_rate,
        activation,
        use_bias,
        kernel_initializer,
        bias_initializer,
        kernel_regularizer,
        bias_regularizer,
        activity_regularizer,
        kernel_constraint,
        bias_constraint,
        trainable,
        name,
        _scope=name,
        _reuse=reuse,
    )
    return layer(inputs)


def conv3d(
    inputs: TensorLike,
    filters: int,
    kernel_size: IntsLike,
    strides: IntsLike = (1, 1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: IntsLike = (1, 1, 1),
    activation: Activation = None,
    use_bias: bool = True,
    kernel_initializer: Initializer | None = None,
    bias_initializer: Initializer = _ZEROS,
    kernel_regularizer: Regularizer = None,
    bias_regularizer: Regularizer = None,
    activity_regularizer: Regularizer = None,
    kernel_constraint: Constraint = None,
    bias_constraint: Constraint = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> TensorResult:
    """Return a convolution of volumes; the arguments are those of :class:`Conv3D`.

    ``reuse`` says whether the variables of the layer with that name are reused.
    """
    layer = Conv3D(
        filters,
        kernel_size,
        strides,
        padding,
        data_format,
        dilation_rate,
        activation,
        use_bias,
        kernel_initializer,
        bias_initializer,
        kernel_regularizer,
        bias_regularizer,
        activity_regularizer,
        kernel_constraint,
        bias_constraint,
        trainable,
        name,
        _scope=name,
        _reuse=reuse,
    )
    return layer(inputs)


def conv2d_transpose(
    inputs: TensorLike,
    filters: int,
    kernel_size: IntsLike,
    strides: IntsLike = (1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    activation: Activation = None,
    use_bias: bool = True,
    kernel_initializer: Initializer | None = None,
    bias_initializer: Initializer = _ZEROS,
    kernel_regularizer: Regularizer = None,
    bias_regularizer: Regularizer = None,
    activity_regularizer: Regularizer = None,
    kernel_constraint: Constraint = None,
    bias_constraint: Constraint = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> TensorResult:
    """Return a 2D convolution backwards; the arguments are those of :class:`Conv2DTranspose`.

    ``reuse`` says whether the variables of the layer with that name are reused.
    """
    layer = Conv2DTranspose(
        filters,
        kernel_size,
        strides,
        padding,
        data_format,
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


def conv3d_transpose(
    inputs: TensorLike,
    filters: int,
    kernel_size: IntsLike,
    strides: IntsLike = (1, 1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    activation: Activation = None,
    use_bias: bool = True,
    kernel_initializer: Initializer | None = None,
    bias_initializer: Initializer = _ZEROS,
    kernel_regularizer: Regularizer = None,
    bias_regularizer: Regularizer = None,
    activity_regularizer: Regularizer = None,
    kernel_constraint: Constraint = None,
    bias_constraint: Constraint = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> TensorResult:
    """Return a 3D convolution backwards; the arguments are those of :class:`Conv3DTranspose`.

    ``reuse`` says whether the variables of the layer with that name are reused.
    """
    layer = Conv3DTranspose(
        filters,
        kernel_size,
        strides,
        padding,
        data_format,
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
