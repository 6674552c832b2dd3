"""LSTM and GRU whose step, or whose whole loop, is one op."""

from __future__ import annotations

from typing import Any

from tfnb.client.public.api import tf
from tfnb.library.layers.base import Layer
from tfnb.library.rnn.cells import LayerRNNCell, LSTMStateTuple


def _known_depth(shape: Any, axis: int) -> int:
    depth = tf.TensorShape(shape)[axis].value
    if depth is None:
        raise ValueError(f"Expecting inputs_shape[{axis}] to be set: {shape}")
    return int(depth)


class _LSTMWeights:
    """The variables of an LSTM that is one op, for a layer."""

    _num_units: int
    _use_peephole: bool
    add_weight: Any
    dtype: Any

    def _make_weights(self, depth: int) -> None:
        units = self._num_units
        self._kernel = self.add_weight("kernel", [depth + units, 4 * units])
        self._bias = self.add_weight("bias", [4 * units], initializer=tf.zeros_initializer())
        self._diagonals = None
        if self._use_peephole:
            self._diagonals = {
                f"wc{gate}": self.add_weight(f"w_{gate}_diag", [units]) for gate in "ifo"
            }

    def _weight_inputs(self, dtype: Any) -> dict[str, Any]:
        kept = self._diagonals
        if kept is None:
            zeros = tf.zeros([self._num_units], dtype)
            kept = {"wci": zeros, "wcf": zeros, "wco": zeros}
        return {"w": self._kernel, "b": self._bias, **kept}


class LSTMBlockCell(_LSTMWeights, LayerRNNCell):
    """An LSTM whose step is one op.

    Args:
      num_units: units of the state.
      forget_bias: added to the forget gate.
      cell_clip: the largest absolute value of the cell.
      use_peephole: whether gates see the cell.
      dtype: the layer's type.
      reuse: whether variables exist already.
      name: the layer's name.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        dtype: Any = None,
        reuse: bool | None = None,
        name: str = "lstm_cell",
    ) -> None:
        super().__init__(_reuse=reuse, dtype=dtype, name=name)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._use_peephole = use_peephole
        self._cell_clip = -1.0 if cell_clip is None else cell_clip
        self.input_spec = tf.layers.InputSpec(ndim=2)

    @property
    def state_size(self) -> Any:
        """The sizes of cell and output."""
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> Any:
        """The number of units."""
        return self._num_units

    def build(self, inputs_shape: Any) -> None:
        """Make the weights."""
        self._make_weights(_known_depth(inputs_shape, 1))
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step.

        Raises:
          ValueError: the state is no pair.
        """
        if len(state) != 2:
            raise ValueError("Expecting state to be a tuple with length 2.")
        cell, hidden = state
        found = tf.raw_ops.LSTMBlockCell(
            x=inputs,
            cs_prev=cell,
            h_prev=hidden,
            forget_bias=self._forget_bias,
            cell_clip=self._cell_clip,
            use_peephole=self._use_peephole,
            **self._weight_inputs(inputs.dtype),
        )
        return found.h, LSTMStateTuple(found.cs, found.h)


class GRUBlockCell(LayerRNNCell):
    """A GRU whose step is one op.

    Args:
      num_units: units of the state.
      cell_size: the same, by its older name.
      reuse: whether variables exist already.
      name: the layer's name.

    Raises:
      ValueError: both sizes are given, or none.
    """

    _names = ("w_ru", "b_ru", "w_c", "b_c")

    def __init__(
        self,
        num_units: int | None = None,
        cell_size: int | None = None,
        reuse: bool | None = None,
        name: str = "gru_cell",
    ) -> None:
        super().__init__(_reuse=reuse, name=name)
        if (cell_size is None) == (num_units is None):
            raise ValueError("Exactly one of num_units or cell_size must be provided.")
        self._cell_size = num_units if cell_size is None else cell_size
        self.input_spec = tf.layers.InputSpec(ndim=2)

    @property
    def state_size(self) -> Any:
        """The number of units."""
        return self._cell_size

    @property
    def output_size(self) -> Any:
        """The number of units."""
        return self._cell_size

    def build(self, inputs_shape: Any) -> None:
        """Make the weights."""
        assert self._cell_size is not None
        units = self._cell_size
        depth = _known_depth(inputs_shape, 1) + units
        gates, gate_bias, candidate, candidate_bias = self._names
        self._weights_of_op = {
            "w_ru": self.add_weight(gates, [depth, 2 * units]),
            "b_ru": self.add_weight(gate_bias, [2 * units], initializer=tf.ones_initializer()),
            "w_c": self.add_weight(candidate, [depth, units]),
            "b_c": self.add_weight(candidate_bias, [units], initializer=tf.zeros_initializer()),
        }
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step."""
        found = tf.raw_ops.GRUBlockCell(x=inputs, h_prev=state, **self._weights_of_op)
        return found.h, found.h


class GRUBlockCellV2(GRUBlockCell):
    """A GRU whose step is one op, with the variables' names of ``GRUCell``."""

    _names = ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")


class LSTMBlockWrapper(Layer):
    """The base of LSTMs that compute all steps at once.

    ``layer(inputs, initial_state, dtype, sequence_length)`` with inputs [time, batch, depth], or a
    list of them, returns outputs in that form and the last state.
    """

    @property
    def num_units(self) -> int:
        """The number of units."""
        raise NotImplementedError

    def _call_cell(
        self,
        inputs: Any,
        initial_cell_state: Any,
        initial_output: Any,
        dtype: Any,
        sequence_length: Any,
    ) -> tuple[Any, Any]:
        """Return cells and outputs of all steps, [time, batch, units]."""
        raise NotImplementedError

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Run all steps; a list of inputs is stacked, and its outputs unstacked."""
        is_list = isinstance(inputs, list | tuple)
        given = tf.stack(inputs) if is_list else inputs
        outputs, state = super().__call__(given, *args, **kwargs)
        return (tf.unstack(outputs) if is_list else outputs), state

    def call(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
    ) -> tuple[Any, Any]:
        """Return outputs and the last state.

        Args:
          inputs: [time, batch, depth].
          initial_state: a pair; zeros by default.
          dtype: of zeros; needed without a state.
          sequence_length: [batch].

        Raises:
          ValueError: neither state nor type is given, or the state is no pair.
        """
        shape = tf.shape(inputs)
        if initial_state is None:
            if dtype is None:
                raise ValueError("Either initial_state or dtype needs to be specified")
            zeros = tf.zeros([shape[1], self.num_units], dtype)
            initial_state = (zeros, zeros)
        elif len(initial_state) != 2:
            raise ValueError("Expecting initial_state to be a tuple with length 2 or None")
        cell, output = initial_state
        dtype = cell.dtype if dtype is None else dtype
        if sequence_length is not None:
            sequence_length = tf.convert_to_tensor(sequence_length)
        cells, outputs = self._call_cell(inputs, cell, output, dtype, sequence_length)
        if sequence_length is None:
            return outputs, LSTMStateTuple(cells[-1], outputs[-1])
        mask = tf.transpose(tf.sequence_mask(sequence_length, shape[0], dtype=outputs.dtype))
        outputs *= tf.expand_dims(mask, -1)
        rows = tf.range(shape[1], dtype=sequence_length.dtype)
        places = tf.stack([sequence_length, rows], axis=1)
        last = [
            tf.gather_nd(tf.concat([tf.expand_dims(first, 0), later], 0), places)
            for first, later in ((cell, cells), (output, outputs))
        ]
        return outputs, LSTMStateTuple(*last)


class LSTMBlockFusedCell(_LSTMWeights, LSTMBlockWrapper):
    """An LSTM that computes all steps in one op.

    Args:
      num_units: units of the state.
      forget_bias: added to the forget gate.
      cell_clip: the largest absolute value of the cell.
      use_peephole: whether gates see the cell.
      reuse: whether variables exist already.
      dtype: the layer's type.
      name: the layer's name.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        reuse: bool | None = None,
        dtype: Any = None,
        name: str = "lstm_fused_cell",
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._cell_clip = -1.0 if cell_clip is None else cell_clip
        self._use_peephole = use_peephole
        self.input_spec = tf.layers.InputSpec(ndim=3)

    @property
    def num_units(self) -> int:
        """The number of units."""
        return self._num_units

    def build(self, input_shape: Any) -> None:
        """Make the weights."""
        self._make_weights(_known_depth(input_shape, 2))
        self.built = True

    def _call_cell(
        self,
        inputs: Any,
        initial_cell_state: Any,
        initial_output: Any,
        dtype: Any,
        sequence_length: Any,
    ) -> tuple[Any, Any]:
        longest = tf.shape(inputs)[0] if sequence_length is None else tf.reduce_max(sequence_length)
        found = tf.raw_ops.BlockLSTM(
            seq_len_max=tf.cast(longest, tf.int64),
            x=inputs,
            cs_prev=initial_cell_state,
            h_prev=initial_output,
            forget_bias=self._forget_bias,
            cell_clip=self._cell_clip,
            use_peephole=self._use_peephole,
            **self._weight_inputs(dtype),
        )
        return found.cs, found.h
