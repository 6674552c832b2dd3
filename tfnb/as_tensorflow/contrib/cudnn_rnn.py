"""``tf.contrib.cudnn_rnn``: layers of recurrent cells, on any device.

The variables are those of the cells, with the names and shapes in which TensorFlow writes the
weights of cuDNN to checkpoints: they can be exchanged with TensorFlow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.contrib.rnn.block_cells import LSTMBlockCell
from tfnb.as_tensorflow.contrib.rnn.fused import stack_bidirectional_dynamic_rnn
from tfnb.as_tensorflow.missing_name import missing_name
from tfnb.client.public.api import tf
from tfnb.library.layers.base import Layer
from tfnb.library.rnn.cells import BasicRNNCell, GRUCell, LSTMStateTuple

if TYPE_CHECKING:
    from collections.abc import Callable

CUDNN_RNN_UNIDIRECTION = "unidirectional"
CUDNN_RNN_BIDIRECTION = "bidirectional"
CUDNN_INPUT_LINEAR_MODE = "linear_input"
CUDNN_INPUT_SKIP_MODE = "skip_input"
CUDNN_INPUT_AUTO_MODE = "auto_select"


class CudnnCompatibleLSTMCell(LSTMBlockCell):
    """The LSTM of ``CudnnLSTM``, one step at a time.

    Args:
      num_units: units of the state.
      reuse: whether variables exist already.
    """

    def __init__(self, num_units: int, reuse: bool | None = None) -> None:
        super().__init__(num_units, forget_bias=0.0, reuse=reuse, name="cudnn_compatible_lstm_cell")


class CudnnCompatibleGRUCell(GRUCell):
    """The GRU of ``CudnnGRU``, one step at a time: the reset gate acts behind the weights.

    Args:
      num_units: units of the state.
      reuse: whether variables exist already.
      kernel_initializer: of the weights.
    """

    def __init__(
        self, num_units: int, reuse: bool | None = None, kernel_initializer: Any = None
    ) -> None:
        super().__init__(num_units, reuse=reuse, kernel_initializer=kernel_initializer)
        self._size = num_units
        self._start = kernel_initializer

    def build(self, inputs_shape: Any) -> None:
        """Make the weights."""
        depth = tf.TensorShape(inputs_shape)[1].value
        if depth is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}")
        units = self._size
        self._made = {
            name: (
                self.add_weight(f"{name}/kernel", [rows, columns], initializer=self._start),
                self.add_weight(
                    f"{name}/bias", [columns], initializer=tf.constant_initializer(bias)
                ),
            )
            for name, rows, columns, bias in (
                ("gates", depth + units, 2 * units, 1.0),
                ("candidate/input_projection", depth, units, 0.0),
                ("candidate/hidden_projection", units, units, 0.0),
            )
        }
        self.built = True

    def _mapped(self, name: str, value: Any) -> Any:
        kernel, bias = self._made[name]
        return tf.nn.bias_add(tf.matmul(value, kernel), bias)

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the output and the next state of one step."""
        gates = tf.sigmoid(self._mapped("gates", tf.concat([inputs, state], 1)))
        reset, update = tf.split(gates, 2, 1)
        seen = reset * self._mapped("candidate/hidden_projection", state)
        candidate = tf.tanh(self._mapped("candidate/input_projection", inputs) + seen)
        new = (1 - update) * candidate + update * state
        return new, new


class _CudnnRNN(Layer):
    """Layers of cells, each above the last.

    Args:
      num_layers: the number of layers.
      num_units: units of each.
      input_mode: "linear_input" or "auto_select".
      direction: "unidirectional" or "bidirectional".
      dropout: the part of the elements that are dropped between layers, in training.
      seed: of dropout and initial weights.
      dtype: the layer's type.
      kernel_initializer: of the weights of each gate; Glorot's uniform by default.
      bias_initializer: of the biases; zeros by default.
      name: the layer's name.

    Raises:
      ValueError: another direction, mode or type.
      NotImplementedError: the inputs are not mapped ("skip_input").
    """

    _rnn_mode = ""

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_mode: str = CUDNN_INPUT_LINEAR_MODE,
        direction: str = CUDNN_RNN_UNIDIRECTION,
        dropout: float = 0.0,
        seed: int | None = None,
        dtype: Any = tf.float32,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=dtype, name=name)
        if direction not in (CUDNN_RNN_UNIDIRECTION, CUDNN_RNN_BIDIRECTION):
            raise ValueError(f"Invalid direction: {direction}, expecting unidirectional or "
                             "bidirectional")  # fmt: skip
        if input_mode == CUDNN_INPUT_SKIP_MODE:
            raise NotImplementedError("input_mode 'skip_input' is not there: use 'linear_input'")
        if input_mode not in (CUDNN_INPUT_LINEAR_MODE, CUDNN_INPUT_AUTO_MODE):
            raise ValueError(f"Invalid input_mode: {input_mode}")
        if dtype not in (tf.float16, tf.float32, tf.float64):
            raise ValueError(f"Only support float16, float32, float64, provided {dtype}")
        self._num_layers = num_layers
        self._num_units = num_units
        self._input_mode = input_mode
        self._direction = direction
        self._dropout = dropout
        self._seed = seed
        self._kernel_initializer = kernel_initializer or tf.glorot_uniform_initializer(seed=seed)
        self._bias_initializer = bias_initializer or tf.zeros_initializer()
        self._input_size: int | None = None

    @property
    def num_layers(self) -> int:
        """The number of layers."""
        return self._num_layers

    @property
    def num_units(self) -> int:
        """The number of units of each layer."""
        return self._num_units

    @property
    def input_mode(self) -> str:
        """How inputs are mapped."""
        return self._input_mode

    @property
    def rnn_mode(self) -> str:
        """The kind of the cells."""
        return self._rnn_mode

    @property
    def direction(self) -> str:
        """The direction."""
        return self._direction

    @property
    def num_dirs(self) -> int:
        """The number of directions."""
        return 1 if self._direction == CUDNN_RNN_UNIDIRECTION else 2

    @property
    def input_size(self) -> int:
        """The depth of the inputs.

        Raises:
          ValueError: the layer was not called.
        """
        if self._input_size is None:
            raise ValueError("'input_size' is unknown since layer has not been built.")
        return self._input_size

    @property
    def saveable(self) -> None:
        """None: the variables are saved as all others."""

    def state_shape(self, batch_size: Any) -> tuple[list[Any], ...]:
        """Return the shapes of the states.

        Args:
          batch_size: a number or a scalar.
        """
        return ([self._num_layers * self.num_dirs, batch_size, self._num_units],)

    def build(self, input_shape: Any) -> None:
        """Check the inputs; the cells make the weights.

        Raises:
          ValueError: the inputs have another rank, or their depth is not known.
        """
        shape = tf.TensorShape(input_shape)
        if shape.ndims != 3:
            raise ValueError(f"Expecting input_shape with 3 dims, got {shape.ndims}")
        if shape[-1].value is None:
            raise ValueError(
                "The last dimension of the inputs to `CudnnRNN` should be defined. Found `None`."
            )
        self._input_size = shape[-1].value
        self.built = True

    def _initialized(self, getter: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        """Make a variable, whose matrix for each gate has the layer's initializer."""
        shape = list(kwargs["shape"])
        if len(shape) == 1:
            kwargs["initializer"] = self._bias_initializer
        else:
            # The GRU's candidate has matrices of its own for inputs and state.
            is_single = name.endswith("_projection/kernel")
            kwargs["initializer"] = self._of_gates(shape, is_single)
        variable = getter(name, *args, **kwargs)
        if not any(variable is known for known in self._trainable_weights):
            self._trainable_weights.append(variable)
        return variable

    def _of_gates(self, shape: list[int], is_single: bool) -> Callable[..., Any]:
        units = self._num_units
        rows = [shape[0]] if is_single else [shape[0] - units, units]

        def initializer(_shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
            columns = []
            for _ in range(shape[1] // units):
                parts = [self._kernel_initializer([units, size], dtype=dtype) for size in rows]
                columns.append(tf.transpose(tf.concat(parts, 1)))
            return tf.concat(columns, 1)

        return initializer

    def _cell(self) -> Any:
        """Return the cell of one layer and direction."""
        raise NotImplementedError

    def _cells(self, keep: Any) -> list[Any]:
        """Return a cell for each layer, which drops a part of what comes from the layer below."""
        cells = [self._cell() for _ in range(self._num_layers)]
        if keep is None:
            return cells
        return [
            cells[0],
            *(
                tf.nn.rnn_cell.DropoutWrapper(cell, input_keep_prob=keep, seed=self._seed)
                for cell in cells[1:]
            ),
        ]

    @staticmethod
    def _to_cell(states: list[Any]) -> Any:
        """Return the state of a cell."""
        return states[0]

    @staticmethod
    def _from_cell(state: Any) -> tuple[Any, ...]:
        """Return the parts of the state of a cell."""
        return (state,)

    def call(
        self,
        inputs: Any,
        initial_state: Any = None,
        sequence_lengths: Any = None,
        time_major: bool = True,
        training: Any = True,
    ) -> tuple[Any, tuple[Any, ...]]:
        """Return the outputs of the last layer, and the last states.

        Args:
          inputs: [time, batch, depth], or [batch, time, depth] if not ``time_major``.
          initial_state: a tuple of [layers * directions, batch, units]; zeros by default.
          sequence_lengths: [batch].
          time_major: the order of the inputs' dimensions.
          training: whether elements are dropped; bool or scalar.

        Raises:
          TypeError: the state is no tuple.
        """
        if initial_state is not None and not isinstance(initial_state, tuple):
            raise TypeError(f"Invalid initial_state type: {initial_state}, expecting tuple.")
        inputs = tf.convert_to_tensor(inputs, dtype=self.dtype)
        if initial_state is None:
            batch = tf.shape(inputs)[1 if time_major else 0]
            initial_state = tuple(tf.zeros(shape, self.dtype) for shape in self.state_shape(batch))
        parts = [tf.unstack(one, self._num_layers * self.num_dirs) for one in initial_state]
        states = [self._to_cell(list(one)) for one in zip(*parts, strict=True)]
        options = {
            "sequence_length": sequence_lengths, "dtype": self.dtype, "time_major": time_major,
        }  # fmt: skip
        keep = self._kept(training)
        with tf.variable_scope(tf.get_variable_scope(), custom_getter=self._initialized):
            if self.num_dirs == 1:
                cell = tf.nn.rnn_cell.MultiRNNCell(self._cells(keep))
                outputs, last = tf.nn.dynamic_rnn(
                    cell, inputs, initial_state=tuple(states), **options
                )
            else:
                outputs, forward, backward = stack_bidirectional_dynamic_rnn(
                    self._cells(keep), self._cells(keep), inputs, states[::2], states[1::2],
                    **options,
                )  # fmt: skip
                pairs = zip(forward, backward, strict=True)
                last = [state for pair in pairs for state in pair]
        found = zip(*(self._from_cell(state) for state in last), strict=True)
        return outputs, tuple(tf.stack(list(one)) for one in found)

    def _kept(self, training: Any) -> Any:
        """Return the part that is kept between layers; None for all."""
        if self._dropout == 0 or training is False:
            return None
        if training is True:
            return 1.0 - self._dropout
        return tf.where(training, 1.0 - self._dropout, 1.0)


class CudnnLSTM(_CudnnRNN):
    """Layers of LSTMs; the states are (h, c)."""

    _rnn_mode = "lstm"

    def state_shape(self, batch_size: Any) -> tuple[list[Any], ...]:
        """Return the shapes of h and c.

        Args:
          batch_size: a number or a scalar.
        """
        return super().state_shape(batch_size) * 2

    def _cell(self) -> Any:
        return CudnnCompatibleLSTMCell(self._num_units)

    @staticmethod
    def _to_cell(states: list[Any]) -> Any:
        hidden, cell = states
        return LSTMStateTuple(cell, hidden)

    @staticmethod
    def _from_cell(state: Any) -> tuple[Any, ...]:
        return state.h, state.c


class CudnnGRU(_CudnnRNN):
    """Layers of GRUs; the states are (h,)."""

    _rnn_mode = "gru"

    def _cell(self) -> Any:
        return CudnnCompatibleGRUCell(self._num_units)


class CudnnRNNTanh(_CudnnRNN):
    """Layers of basic cells with tanh; the states are (h,)."""

    _rnn_mode = "rnn_tanh"

    def _cell(self) -> Any:
        return BasicRNNCell(self._num_units, activation=tf.tanh)


class CudnnRNNRelu(_CudnnRNN):
    """Layers of basic cells with relu; the states are (h,)."""

    _rnn_mode = "rnn_relu"

    def _cell(self) -> Any:
        return BasicRNNCell(self._num_units, activation=tf.nn.relu)


def __getattr__(name: str) -> Any:
    if name.endswith(("Saveable", "OpaqueParams")) or name.startswith("CudnnParamsFormat"):
        advice = "variables of the layers are in the canonical format: tf.train.Saver saves them"
        return missing_name("tf.contrib.cudnn_rnn", name, advice)
    raise AttributeError(f"module 'tensorflow.contrib.cudnn_rnn' has no attribute {name!r}")
