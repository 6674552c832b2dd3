"""Cells with few gates, or with recurrent weights of a unit to itself only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.contrib.rnn.linear import UnitCell as UnitCell
from tfnb.as_tensorflow.contrib.rnn.linear import depth_of, function, linear
from tfnb.client.public.api import tf
from tfnb.library.layers.named_functions import activation_from, initializer_from
from tfnb.library.rnn.cells import LayerRNNCell, LSTMStateTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class UGRNNCell(UnitCell):
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
        super().__init__(num_units, reuse)
        self._initializer = initializer
        self._forget_bias = forget_bias
        self._activation = activation

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step."""
        with self._in_scope(self._initializer):
            mapped = linear([inputs, state], 2 * self._num_units)
        gate, candidate = tf.split(mapped, 2, 1)
        gate = tf.sigmoid(gate + self._forget_bias)
        new = gate * state + (1.0 - gate) * self._activation(candidate)
        return new, new


class IntersectionRNNCell(UnitCell):
    """A cell with a gate for its state and one for its output, which passes inputs on.

    Source: Collins, Sohl-Dickstein and Sussillo, capacity and trainability in RNNs.

    Args:
      num_units: units of state and output.
      num_in_proj: whether inputs of another size are projected.
      initializer: of the kernels.
      forget_bias: added to both gates.
      y_activation: function of the output's candidate.
      reuse: whether variables exist already.
    """

    def __init__(
        self,
        num_units: int,
        num_in_proj: int | None = None,
        initializer: Any = None,
        forget_bias: float = 1.0,
        y_activation: Callable[[Any], Any] = tf.nn.relu,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(num_units, reuse)
        self._initializer = initializer
        self._forget_bias = forget_bias
        self._num_input_proj = num_in_proj
        self._y_activation = y_activation

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step.

        Raises:
          ValueError: inputs have another size, and are not projected.
        """
        units = self._num_units
        with self._in_scope(self._initializer):
            if depth_of(inputs) != units:
                if not self._num_input_proj:
                    raise ValueError(
                        "Must have input size == output size for Intersection RNN. To fix, "
                        "num_in_proj should be set to num_units at cell init."
                    )
                with tf.variable_scope("in_projection"):
                    inputs = linear(inputs, units)
            mapped = linear([inputs, state], 4 * units)
        state_gate, state_new, output_gate, output_new = tf.split(mapped, 4, 1)
        state_gate = tf.sigmoid(state_gate + self._forget_bias)
        output_gate = tf.sigmoid(output_gate + self._forget_bias)
        new_state = state_gate * state + (1.0 - state_gate) * tf.tanh(state_new)
        output = output_gate * inputs + (1.0 - output_gate) * self._y_activation(output_new)
        return output, new_state


class _LayerCell(LayerRNNCell):
    """A cell with ``num_units`` and weights that are made in ``build``.

    Args:
      num_units: units of the state.
      activation: a function or its name; tanh by default.
      reuse: whether variables exist already.
      name: the layer's name.
      dtype: the layer's type.
      **kwargs: for ``tf.layers.Layer``.
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self.input_spec = tf.layers.InputSpec(ndim=2)
        self._num_units = num_units
        self._activation = function(activation_from(activation))

    @property
    def state_size(self) -> Any:
        """The number of units."""
        return self._num_units

    @property
    def output_size(self) -> Any:
        """The number of units."""
        return self._num_units

    def _depth(self, inputs_shape: Any) -> int:
        depth = tf.TensorShape(inputs_shape)[-1].value
        if depth is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}")
        return int(depth)


class SRUCell(_LayerCell):
    """A cell whose gates do not depend on its state.

    Source: Lei, Zhang and Artzi, training RNNs as fast as CNNs.
    """

    def build(self, inputs_shape: Any) -> None:
        """Make the weights."""
        units = self._num_units
        self._kernel = self.add_weight("kernel", [self._depth(inputs_shape), 4 * units])
        self._bias = self.add_weight("bias", [2 * units], initializer=tf.zeros_initializer())
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step."""
        x, f, r, passed = tf.split(tf.matmul(inputs, self._kernel), 4, 1)
        gates = tf.sigmoid(tf.nn.bias_add(tf.concat([f, r], 1), self._bias))
        f, r = tf.split(gates, 2, 1)
        new = f * state + (1.0 - f) * x
        return r * self._activation(new) + (1.0 - r) * passed, new


class _IndyCell(_LayerCell):
    """A cell whose units see of the state only themselves.

    Source: Li, Li, Cook, Zhu and Gao, independently recurrent neural network.

    Args:
      num_units: units of the state.
      activation: a function; tanh by default.
      reuse: whether variables exist already.
      kernel_initializer: of the weights of inputs.
      bias_initializer: of the biases.
      name: the layer's name.
      dtype: the layer's type.
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: bool | None = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype)
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    def _weights(
        self, depth: int, count: int, names: tuple[str, str, str], bias: float = 0.0
    ) -> tuple[Any, Any, Any]:
        """Return weights of inputs, of the state, and biases."""
        size = count * self._num_units
        start = self._bias_initializer
        return (
            self.add_weight(names[0], [depth, size], initializer=self._kernel_initializer),
            self.add_weight(
                names[1], [1, size], initializer=tf.random_uniform_initializer(-1.0, 1.0)
            ),
            self.add_weight(
                names[2],
                [size],
                initializer=tf.constant_initializer(bias) if start is None else start,
            ),
        )

    @staticmethod
    def _mapped(inputs: Any, state: Any, weights: tuple[Any, Any, Any], count: int = 1) -> Any:
        kernel, recurrent, bias = weights
        seen = tf.tile(state, [1, count]) if count > 1 else state
        return tf.nn.bias_add(tf.matmul(inputs, kernel) + seen * recurrent, bias)


class IndRNNCell(_IndyCell):
    """A basic cell whose units see of the state only themselves.

    Args:
      num_units: units of the state.
      activation: a function; tanh by default.
      reuse: whether variables exist already.
      name: the layer's name.
      dtype: the layer's type.
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_units, activation, reuse, name=name, dtype=dtype)

    def build(self, inputs_shape: Any) -> None:
        """Make the weights."""
        names = ("kernel_w", "kernel_u", "bias")
        self._parts = self._weights(self._depth(inputs_shape), 1, names)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step."""
        output = self._activation(self._mapped(inputs, state, self._parts))
        return output, output


class IndyGRUCell(_IndyCell):
    """A GRU whose units see of the state only themselves."""

    def build(self, inputs_shape: Any) -> None:
        """Make the weights."""
        depth = self._depth(inputs_shape)
        names = ("gates/kernel_w", "gates/kernel_u", "gates/bias")
        self._gates = self._weights(depth, 2, names, 1.0)
        names = ("candidate/kernel", "candidate/kernel_u", "candidate/bias")
        self._candidate = self._weights(depth, 1, names)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step."""
        gates = tf.sigmoid(self._mapped(inputs, state, self._gates, 2))
        r, u = tf.split(gates, 2, 1)
        candidate = self._activation(self._mapped(inputs, r * state, self._candidate))
        new = u * state + (1 - u) * candidate
        return new, new


class IndyLSTMCell(_IndyCell):
    """An LSTM whose units see of the output only themselves.

    Args:
      num_units: units of the state.
      forget_bias: added to the forget gate.
      activation: a function; tanh by default.
      reuse: whether variables exist already.
      kernel_initializer: of the weights of inputs.
      bias_initializer: of the biases.
      name: the layer's name.
      dtype: the layer's type.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        activation: Any = None,
        reuse: bool | None = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            num_units, activation, reuse, kernel_initializer, bias_initializer, name, dtype
        )
        self._forget_bias = forget_bias

    @property
    def state_size(self) -> Any:
        """The sizes of cell and output."""
        return LSTMStateTuple(self._num_units, self._num_units)

    def build(self, inputs_shape: Any) -> None:
        """Make the weights."""
        names = ("kernel_w", "kernel_u", "bias")
        self._parts = self._weights(self._depth(inputs_shape), 4, names)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step."""
        cell, hidden = state
        i, j, f, o = tf.split(self._mapped(inputs, hidden, self._parts, 4), 4, 1)
        kept = cell * tf.sigmoid(f + self._forget_bias)
        new_cell = kept + tf.sigmoid(i) * self._activation(j)
        new_hidden = self._activation(new_cell) * tf.sigmoid(o)
        return new_hidden, LSTMStateTuple(new_cell, new_hidden)


class _NamedCell(_LayerCell):
    """A cell whose functions may be given by their names.

    Args:
      units: units of the state.
      activation: a function or its name.
      kernel_initializer: of weights, or its name.
      bias_initializer: of biases, or its name.
      name: the layer's name.
      dtype: the layer's type.
      **kwargs: for ``tf.layers.Layer``.
    """

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "ones",
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, activation, None, name, dtype, **kwargs)
        self._kernel_initializer = initializer_from(kernel_initializer)
        self._bias_initializer = initializer_from(bias_initializer)

    def _weight(self, name: str, shape: list[int]) -> Any:
        is_bias = name == "bias"
        start = self._bias_initializer if is_bias else self._kernel_initializer
        return self.add_weight(name, shape, initializer=start)


class MinimalRNNCell(_NamedCell):
    """A cell with one gate, between its state and a map of the input.

    Source: Chen, MinimalRNN.
    """

    def build(self, inputs_shape: Any) -> None:
        """Make the weights."""
        units = self._num_units
        self._kernel = self._weight("kernel", [self._depth(inputs_shape) + 2 * units, units])
        self._bias = self._weight("bias", [units])
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step."""
        sizes = [depth_of(inputs), 2 * self._num_units]
        forward, gate = tf.split(self._kernel, sizes, 0)
        candidate = self._activation(tf.matmul(inputs, forward))
        seen = tf.matmul(tf.concat([candidate, state], 1), gate)
        u = tf.sigmoid(tf.nn.bias_add(seen, self._bias))
        new = u * state + (1 - u) * candidate
        return new, new


class CFNCell(_NamedCell):
    """A cell without chaotic behaviour.

    Source: Laurent and von Brecht, a recurrent neural network without chaos.
    """

    def build(self, inputs_shape: Any) -> None:
        """Make the weights."""
        units = self._num_units
        self._kernel = self._weight("kernel", [self._depth(inputs_shape), 3 * units])
        self._recurrent = self._weight("recurrent_kernel", [units, 2 * units])
        self._bias = self._weight("bias", [2 * units])
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step."""
        units = self._num_units
        gates, passed = tf.split(tf.matmul(inputs, self._kernel), [2 * units, units], 1)
        gates = tf.sigmoid(tf.nn.bias_add(gates + tf.matmul(state, self._recurrent), self._bias))
        kept, taken = tf.split(gates, 2, 1)
        new = kept * self._activation(state) + (1 - taken) * self._activation(passed)
        return new, new


class NASCell(_LayerCell):
    """The cell that a search of architectures found.

    Source: Zoph and Le, neural architecture search with reinforcement learning.

    Args:
      num_units: units of the state.
      num_proj: size of the projected output.
      use_bias: whether a bias is added.
      reuse: whether variables exist already.
      **kwargs: for ``tf.layers.Layer``.
    """

    def __init__(
        self,
        num_units: int,
        num_proj: int | None = None,
        use_bias: bool = False,
        reuse: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, None, reuse, **kwargs)
        self._num_proj = num_proj
        self._use_bias = use_bias

    @property
    def state_size(self) -> Any:
        """The sizes of cell and output."""
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> Any:
        """The number of units, or the size of the projected output."""
        return self._num_units if self._num_proj is None else self._num_proj

    def build(self, inputs_shape: Any) -> None:
        """Make the weights."""
        units = self._num_units
        self._recurrent = self.add_weight("recurrent_kernel", [self.output_size, 8 * units])
        self._kernel = self.add_weight("kernel", [self._depth(inputs_shape), 8 * units])
        self._bias = self._projection = None
        if self._use_bias:
            self._bias = self.add_weight("bias", [8 * units], initializer=tf.zeros_initializer())
        if self._num_proj is not None:
            self._projection = self.add_weight("projection_weights", [units, self._num_proj])
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step."""
        cell, output = state
        seen = tf.matmul(output, self._recurrent)
        if self._bias is not None:
            seen = tf.nn.bias_add(seen, self._bias)
        m = tf.split(seen, 8, 1)
        x = tf.split(tf.matmul(inputs, self._kernel), 8, 1)
        sigmoid, relu, tanh = tf.sigmoid, tf.nn.relu, tf.tanh
        first = tanh(sigmoid(x[0] + m[0]) * relu(x[1] + m[1]))
        second = tanh(sigmoid(x[2] + m[2]) + relu(x[3] * m[3]))
        third = tanh(tanh(x[4] + m[4]) * sigmoid(x[5] + m[5]))
        fourth = sigmoid(tanh(x[6] + m[6]) + sigmoid(x[7] + m[7]))
        new_cell = tanh(first + cell) * second
        new_output = tanh(new_cell * tanh(third + fourth))
        if self._projection is not None:
            new_output = tf.matmul(new_output, self._projection)
        return new_output, LSTMStateTuple(new_cell, new_output)
