"""LSTM cells whose maps are convolutions.

Source: Shi et al., convolutional LSTM network.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.public.api import tf
from tfnb.library.rnn.cells import LSTMStateTuple, RNNCell


class ConvLSTMCell(RNNCell):
    """An LSTM over signals, images or volumes.

    Args:
      conv_ndims: 1, 2 or 3.
      input_shape: of an input, without the batch, with channels last.
      output_channels: channels of state and output.
      kernel_shape: of the kernel, without channels.
      use_bias: whether a bias is added.
      skip_connection: whether inputs are joined to the output.
      forget_bias: added to the forget gate.
      initializers: without effect.
      name: the layer's name.

    Raises:
      ValueError: ``input_shape`` does not fit ``conv_ndims``.
    """

    def __init__(
        self,
        conv_ndims: int,
        input_shape: Any,
        output_channels: int,
        kernel_shape: Any,
        use_bias: bool = True,
        skip_connection: bool = False,
        forget_bias: float = 1.0,
        initializers: Any = None,
        name: str | None = "conv_lstm_cell",
    ) -> None:
        super().__init__(name=name)
        if conv_ndims != len(input_shape) - 1:
            raise ValueError(f"Invalid input_shape {input_shape} for conv_ndims={conv_ndims}.")
        self._conv_ndims = conv_ndims
        self._input_shape = list(input_shape)
        self._output_channels = output_channels
        self._kernel_shape = list(kernel_shape)
        self._use_bias = use_bias
        self._forget_bias = forget_bias
        self._skip_connection = skip_connection

    @property
    def state_size(self) -> Any:
        """The shapes of cell and output."""
        shape = tf.TensorShape([*self._input_shape[:-1], self._output_channels])
        return LSTMStateTuple(shape, shape)

    @property
    def output_size(self) -> Any:
        """The shape of the output."""
        more = self._input_shape[-1] if self._skip_connection else 0
        return tf.TensorShape([*self._input_shape[:-1], self._output_channels + more])

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step."""
        cell, hidden = state
        given = tf.concat([inputs, hidden], -1)
        size = 4 * self._output_channels
        shape = [*self._kernel_shape, given.shape[-1].value, size]
        kernel = tf.get_variable("kernel", shape, given.dtype)
        gates = tf.nn.convolution(given, kernel, "SAME")
        if self._use_bias:
            start = tf.zeros_initializer()
            gates += tf.get_variable("biases", [size], given.dtype, initializer=start)
        i, j, f, o = tf.split(gates, 4, self._conv_ndims + 1)
        new_cell = tf.sigmoid(f + self._forget_bias) * cell + tf.sigmoid(i) * tf.tanh(j)
        new_hidden = tf.tanh(new_cell) * tf.sigmoid(o)
        output = tf.concat([new_hidden, inputs], -1) if self._skip_connection else new_hidden
        return output, LSTMStateTuple(new_cell, new_hidden)


class Conv1DLSTMCell(ConvLSTMCell):
    """An LSTM over signals; arguments as those of ``ConvLSTMCell``, without ``conv_ndims``."""

    def __init__(self, name: str = "conv_1d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=1, name=name, **kwargs)


class Conv2DLSTMCell(ConvLSTMCell):
    """An LSTM over images; arguments as those of ``ConvLSTMCell``, without ``conv_ndims``."""

    def __init__(self, name: str = "conv_2d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=2, name=name, **kwargs)


class Conv3DLSTMCell(ConvLSTMCell):
    """An LSTM over volumes; arguments as those of ``ConvLSTMCell``, without ``conv_ndims``."""

    def __init__(self, name: str = "conv_3d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=3, name=name, **kwargs)
