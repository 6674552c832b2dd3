"""``tf.contrib.rnn``: cells and functions that became ``tf.nn``'s, and more cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.public_api import tf
from tfnb.library.rnn.cells import LayerRNNCell as LayerRNNCell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

RNNCell = tf.nn.rnn_cell.RNNCell
BasicRNNCell = tf.nn.rnn_cell.BasicRNNCell
BasicLSTMCell = tf.nn.rnn_cell.BasicLSTMCell
LSTMCell = tf.nn.rnn_cell.LSTMCell
GRUCell = tf.nn.rnn_cell.GRUCell
LSTMStateTuple = tf.nn.rnn_cell.LSTMStateTuple
MultiRNNCell = tf.nn.rnn_cell.MultiRNNCell
DropoutWrapper = tf.nn.rnn_cell.DropoutWrapper
ResidualWrapper = tf.nn.rnn_cell.ResidualWrapper
DeviceWrapper = tf.nn.rnn_cell.DeviceWrapper
static_rnn = tf.nn.static_rnn
static_state_saving_rnn = tf.nn.static_state_saving_rnn
static_bidirectional_rnn = tf.nn.static_bidirectional_rnn


class LayerNormBasicLSTMCell(RNNCell):  # type: ignore[misc, valid-type]
    """An LSTM whose gates are normalized over their units, with recurrent dropout.

    Source: Ba, Kiros and Hinton (layer normalization), Semeniuta, Severyn and Barth (recurrent
    dropout without memory loss).

    Args:
      num_units: units of the state.
      forget_bias: added to the forget gate.
      activation: function of candidate and state.
      layer_norm: whether gates and state are normalized.
      norm_gain: initial gain of a normalization.
      norm_shift: initial shift of a normalization.
      dropout_keep_prob: part of the candidate's elements that is kept; number or scalar tensor.
      dropout_prob_seed: seed of the dropout.
      reuse: whether variables exist already.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: Any = None,
        activation: Callable[[Any], Any] = tf.tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: Any = 1.0,
        dropout_prob_seed: int | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._activation = activation
        self._layer_norm = layer_norm
        self._norm_gain = norm_gain
        self._norm_shift = norm_shift
        self._keep_prob = dropout_keep_prob
        self._seed = dropout_prob_seed

    @property
    def state_size(self) -> Any:
        """The sizes of cell and output."""
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> int:
        """The number of units."""
        return self._num_units

    def _normalized(self, value: Any, scope: str) -> Any:
        shape = [self._num_units]
        with tf.variable_scope(scope):
            gamma = tf.get_variable(
                "gamma", shape, initializer=tf.constant_initializer(self._norm_gain)
            )
            beta = tf.get_variable(
                "beta", shape, initializer=tf.constant_initializer(self._norm_shift)
            )
        mean, variance = tf.nn.moments(value, [1], keep_dims=True)
        return tf.nn.batch_normalization(value, mean, variance, beta, gamma, 1e-12)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step."""
        cell, hidden = state
        given = tf.concat([inputs, hidden], 1)
        kernel = tf.get_variable("kernel", [given.shape[1].value, 4 * self._num_units])
        gates = tf.matmul(given, kernel)
        if not self._layer_norm:
            gates = tf.nn.bias_add(gates, tf.get_variable("bias", [4 * self._num_units]))
        i, j, f, o = tf.split(gates, 4, 1)
        if self._layer_norm:
            i, j = self._normalized(i, "input"), self._normalized(j, "transform")
            f, o = self._normalized(f, "forget"), self._normalized(o, "output")
        candidate = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            candidate = tf.nn.dropout(candidate, self._keep_prob, seed=self._seed)
        new_cell = cell * tf.sigmoid(f + self._forget_bias) + tf.sigmoid(i) * candidate
        if self._layer_norm:
            new_cell = self._normalized(new_cell, "state")
        new_hidden = self._activation(new_cell) * tf.sigmoid(o)
        return new_hidden, LSTMStateTuple(new_cell, new_hidden)


class UGRNNCell(RNNCell):  # type: ignore[misc, valid-type]
    """A cell with one gate between its state and a candidate.

    Source: Collins, Sohl-Dickstein and Sussillo, update gate RNN.

    Args:
      num_units: units of the state.
      initializer: of the kernel.
      forget_bias: added to the gate.
      activation: function of the candidate.
      reuse: whether variables exist already.
    """

    def __init__(
        self,
        num_units: int,
        initializer: Any = None,
        forget_bias: float = 1.0,
        activation: Callable[[Any], Any] = tf.tanh,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._initializer = initializer
        self._forget_bias = forget_bias
        self._activation = activation

    @property
    def state_size(self) -> int:
        """The number of units."""
        return self._num_units

    @property
    def output_size(self) -> int:
        """The number of units."""
        return self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step."""
        given = tf.concat([inputs, state], 1)
        kernel = tf.get_variable(
            "kernel", [given.shape[1].value, 2 * self._num_units], initializer=self._initializer
        )
        bias = tf.get_variable(
            "bias", [2 * self._num_units], initializer=tf.zeros_initializer(inputs.dtype)
        )
        gate, candidate = tf.split(tf.matmul(given, kernel) + bias, 2, 1)
        gate = tf.sigmoid(gate + self._forget_bias)
        new = gate * state + (1.0 - gate) * self._activation(candidate)
        return new, new


class _Wrapper(RNNCell):  # type: ignore[misc, valid-type]
    """A cell around another."""

    def __init__(self, cell: Any, reuse: bool | None = None) -> None:
        super().__init__(_reuse=reuse)
        self._cell = cell

    @property
    def state_size(self) -> Any:
        """The size of the inner cell's state."""
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        """The size of the inner cell's output."""
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return the inner cell's state of zeros."""
        with tf.name_scope(f"{type(self).__name__}ZeroState"):
            return self._cell.zero_state(batch_size, dtype)


class InputProjectionWrapper(_Wrapper):
    """A cell that gets its inputs through a linear layer.

    Args:
      cell: the inner cell.
      num_proj: size of the projected input.
      activation: function of it; none by default.
      reuse: whether variables exist already.
    """

    def __init__(
        self,
        cell: Any,
        num_proj: int,
        activation: Callable[[Any], Any] | None = None,
        input_size: Any = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        self._num_proj = num_proj
        self._activation = activation

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step."""
        projected = _linear(inputs, self._num_proj)
        if self._activation is not None:
            projected = self._activation(projected)
        return self._cell(projected, state)  # type: ignore[no-any-return]


class OutputProjectionWrapper(_Wrapper):
    """A cell whose output goes through a linear layer.

    Args:
      cell: the inner cell.
      output_size: size of the projected output.
      activation: function of it; none by default.
      reuse: whether variables exist already.
    """

    def __init__(
        self,
        cell: Any,
        output_size: int,
        activation: Callable[[Any], Any] | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        self._output_size = output_size
        self._activation = activation

    @property
    def output_size(self) -> int:
        """The size of the projected output."""
        return self._output_size

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step."""
        output, new_state = self._cell(inputs, state)
        projected = _linear(output, self._output_size)
        if self._activation is not None:
            projected = self._activation(projected)
        return projected, new_state


class EmbeddingWrapper(_Wrapper):
    """A cell that gets ids, whose rows of a table are the inner cell's inputs.

    Args:
      cell: the inner cell.
      embedding_classes: number of ids.
      embedding_size: size of a row.
      initializer: of the table; by default uniform, with a variance of 1.
      reuse: whether variables exist already.
    """

    def __init__(
        self,
        cell: Any,
        embedding_classes: int,
        embedding_size: int,
        initializer: Any = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                "Both embedding_classes and embedding_size must be > 0: "
                f"{embedding_classes}, {embedding_size}."
            )
        self._classes = embedding_classes
        self._size = embedding_size
        self._initializer = initializer

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step."""
        initializer = self._initializer
        if initializer is None:
            initializer = tf.get_variable_scope().initializer
        if initializer is None:
            initializer = tf.random_uniform_initializer(-(3**0.5), 3**0.5)
        first = state[0] if isinstance(state, tuple) else state
        table = tf.get_variable(
            "embedding", [self._classes, self._size], initializer=initializer, dtype=first.dtype
        )
        rows = tf.nn.embedding_lookup(table, tf.reshape(inputs, [-1]))
        return self._cell(rows, state)  # type: ignore[no-any-return]


def _linear(value: Any, size: int) -> Any:
    kernel = tf.get_variable("kernel", [value.shape[1].value, size], dtype=value.dtype)
    bias = tf.get_variable(
        "bias", [size], dtype=value.dtype, initializer=tf.zeros_initializer(value.dtype)
    )
    return tf.nn.bias_add(tf.matmul(value, kernel), bias)


def stack_bidirectional_dynamic_rnn(
    cells_fw: Sequence[Any],
    cells_bw: Sequence[Any],
    inputs: Any,
    initial_states_fw: Sequence[Any] | None = None,
    initial_states_bw: Sequence[Any] | None = None,
    dtype: Any = None,
    sequence_length: Any = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Return outputs and last states of layers that run in both directions.

    Each layer gets the outputs of both directions of the layer below, joined by depth.

    Args:
      cells_fw: a cell for each layer, forwards.
      cells_bw: as many cells, backwards.
      inputs: [batch, time, depth], or [time, batch, depth] if ``time_major``.
      initial_states_fw: a state for each cell, or None for zeros.
      initial_states_bw: the same, backwards.
      dtype: of states that are not given.
      sequence_length: [batch], the length of each sequence.
      parallel_iterations: of the loops.
      time_major: the order of the inputs' dimensions.
      scope: of the variables.

    Raises:
      ValueError: the cells are not as many in both directions, or there are none.
    """
    if not cells_fw or len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth, one at least.")
    before_fw = initial_states_fw or [None] * len(cells_fw)
    before_bw = initial_states_bw or [None] * len(cells_bw)
    states_fw, states_bw = [], []
    value = inputs
    with tf.variable_scope(scope or "stack_bidirectional_rnn"):
        for layer, (forward, backward) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with tf.variable_scope(f"cell_{layer}"):
                outputs, (state_fw, state_bw) = tf.nn.bidirectional_dynamic_rnn(
                    forward,
                    backward,
                    value,
                    initial_state_fw=before_fw[layer],
                    initial_state_bw=before_bw[layer],
                    sequence_length=sequence_length,
                    parallel_iterations=parallel_iterations,
                    dtype=dtype,
                    time_major=time_major,
                )
                value = tf.concat(outputs, 2)
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return value, tuple(states_fw), tuple(states_bw)


def transpose_batch_time(x: Any) -> Any:
    """Return a tensor with its first two dimensions exchanged; less than two are refused.

    Raises:
      ValueError: the tensor has fewer than two dimensions.
    """
    if x.shape.ndims is not None and x.shape.ndims < 2:
        raise ValueError(f"Expected input tensor {x} to have rank at least 2")
    return tf.transpose(x, [1, 0, *range(2, x.shape.ndims)]) if x.shape.ndims else x
