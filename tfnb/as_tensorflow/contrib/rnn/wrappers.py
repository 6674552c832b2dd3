"""Cells around other cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.contrib.rnn.linear import depth_of, linear
from tfnb.client.public.api import tf
from tfnb.framework.structures import nest
from tfnb.library.rnn.cells import RNNCell
from tfnb.library.rnn.state import assert_like_rnn_cell

if TYPE_CHECKING:
    from collections.abc import Callable


class _Wrapper(RNNCell):
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
        projected = linear(inputs, self._num_proj)
        if self._activation is not None:
            projected = self._activation(projected)
        found: tuple[Any, Any] = self._cell(projected, state)
        return found


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
        projected = linear(output, self._output_size)
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
        found: tuple[Any, Any] = self._cell(rows, state)
        return found


class HighwayWrapper(_Wrapper):
    """A cell whose output is mixed with its input.

    Source: Srivastava, Greff and Schmidhuber, highway networks.

    Args:
      cell: the inner cell.
      couple_carry_transform_gates: whether both parts sum to 1.
      carry_bias_init: initial bias of the input's part.
    """

    def __init__(
        self, cell: Any, couple_carry_transform_gates: bool = True, carry_bias_init: float = 1.0
    ) -> None:
        super().__init__(cell)
        self._couple_gates = couple_carry_transform_gates
        self._carry_bias_init = carry_bias_init

    def __call__(self, inputs: Any, state: Any, scope: Any = None, **kwargs: Any) -> Any:
        """Return the output and the next state of one step.

        Args:
          inputs: [batch, depth], or a structure of them.
          state: the inner cell's state.
          scope: the inner cell's scope.
          **kwargs: without effect.

        Raises:
          ValueError: inputs and outputs have different shapes.
        """
        outputs, new_state = self._cell(inputs, state, scope=scope)
        nest.assert_same_structure(inputs, outputs)
        return nest.map_structure(self._mixed, inputs, outputs), new_state

    def _mixed(self, value: Any, output: Any) -> Any:
        value.shape.assert_is_compatible_with(output.shape)
        carry = self._gate("carry", value, self._carry_bias_init)
        if self._couple_gates:
            return value * carry + output * (1 - carry)
        return value * carry + output * self._gate("transform", value, -self._carry_bias_init)

    @staticmethod
    def _gate(name: str, value: Any, bias: float) -> Any:
        size = depth_of(value)
        weights = tf.get_variable(f"{name}_w", [size, size])
        start = tf.constant_initializer(bias)
        added = tf.get_variable(f"{name}_b", [size], initializer=start)
        return tf.sigmoid(tf.nn.xw_plus_b(value, weights, added))


class AttentionCellWrapper(RNNCell):
    """A cell that attends to its last outputs.

    Source: Cheng, Dong and Lapata, long short-term memory networks for machine reading.

    Args:
      cell: the inner cell.
      attn_length: how many outputs it sees.
      attn_size: size of the outputs; the inner cell's by default.
      attn_vec_size: size of the scores' layer; ``attn_size`` by default.
      input_size: size of the inner cell's input; that of the inputs by default.
      state_is_tuple: whether the state is a triple, or else joined by depth.
      reuse: whether variables exist already.

    Raises:
      ValueError: the length is not above 0, or the inner state is a tuple and the outer one not.
    """

    def __init__(
        self,
        cell: Any,
        attn_length: int,
        attn_size: int | None = None,
        attn_vec_size: int | None = None,
        input_size: int | None = None,
        state_is_tuple: bool = True,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._cell = cell
        assert_like_rnn_cell("cell", cell)
        if nest.is_nested(cell.state_size) and not state_is_tuple:
            raise ValueError(
                "Cell returns tuple of states, but the flag state_is_tuple is not set. State size "
                f"is: {cell.state_size}"
            )
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        self._attn_length = attn_length
        self._attn_size = cell.output_size if attn_size is None else attn_size
        self._attn_vec_size = self._attn_size if attn_vec_size is None else attn_vec_size
        self._input_size = input_size
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        """The sizes of the inner state, of what was read, and of the outputs that are seen."""
        sizes = (self._cell.state_size, self._attn_size, self._attn_size * self._attn_length)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> int:
        """The size of outputs."""
        return self._attn_size

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step."""
        length, size = self._attn_length, self._attn_size
        if not self._state_is_tuple:
            state = tf.split(state, [self._cell.state_size, size, size * length], 1)
        inner, read, seen = state
        seen = tf.reshape(seen, [-1, length, size])
        width = depth_of(inputs) if self._input_size is None else self._input_size
        output, new_inner = self._cell(linear([inputs, read], width), inner)
        query = tf.concat(nest.flatten(new_inner), 1)
        new_read = self._attention(query, seen)
        with tf.variable_scope("attn_output_projection"):
            output = linear([output, new_read], size)
        new_seen = tf.concat([seen[:, 1:], tf.expand_dims(output, 1)], 1)
        new_state = (new_inner, new_read, tf.reshape(new_seen, [-1, length * size]))
        return output, (new_state if self._state_is_tuple else tf.concat(list(new_state), 1))

    def _attention(self, query: Any, seen: Any) -> Any:
        """Return the mean of the outputs, weighted by how they fit the query."""
        width = self._attn_vec_size
        with tf.variable_scope("attention"):
            kernel = tf.get_variable("attn_w", [1, 1, self._attn_size, width])
            weights = tf.get_variable("attn_v", [width])
            keys = tf.nn.conv2d(tf.expand_dims(seen, 2), kernel, [1, 1, 1, 1], "SAME")
            asked = tf.expand_dims(linear(query, width), 1)
        score = tf.reduce_sum(weights * tf.tanh(tf.squeeze(keys, [2]) + asked), [2])
        return tf.reduce_sum(tf.expand_dims(tf.nn.softmax(score), 2) * seen, [1])


class CompiledWrapper(_Wrapper):
    """A cell for a compiler, which runs as it is here.

    Args:
      cell: the inner cell.
      compile_stateful: without effect.
    """

    def __init__(self, cell: Any, compile_stateful: bool = False) -> None:
        super().__init__(cell)
        self._compile_stateful = compile_stateful

    def __call__(self, inputs: Any, state: Any, scope: Any = None, **kwargs: Any) -> Any:
        """Return the inner cell's output and next state.

        Args:
          inputs: [batch, depth].
          state: the inner cell's state.
          scope: the inner cell's scope.
          **kwargs: without effect.
        """
        return self._cell(inputs, state, scope=scope)
