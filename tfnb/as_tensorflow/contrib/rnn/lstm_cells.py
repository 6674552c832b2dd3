"""LSTM cells with normalized gates or weights, coupled gates, groups or rhythms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.contrib.rnn.linear import (
    LSTMUnitCell,
    clipped,
    depth_of,
    diagonal,
    function,
    linear,
    normalized,
    random_exponential,
    sharded,
)
from tfnb.client.public.api import tf
from tfnb.library.rnn.cells import LSTMStateTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class LayerNormBasicLSTMCell(LSTMUnitCell):
    """An LSTM whose gates are normalized over their units, with recurrent dropout.

    Source: Ba, Kiros and Hinton (layer normalization), Semeniuta, Severyn and Barth (recurrent
    dropout without memory loss).

    Args:
      num_units: units of the state.
      forget_bias: added to the forget gate.
      input_size: without effect.
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
        super().__init__(num_units, reuse=reuse)
        self._forget_bias = forget_bias
        self._activation = activation
        self._layer_norm = layer_norm
        self._norm_gain = norm_gain
        self._norm_shift = norm_shift
        self._keep_prob = dropout_keep_prob
        self._seed = dropout_prob_seed

    def _normalized(self, value: Any, scope: str) -> Any:
        return normalized(value, scope, self._norm_gain, self._norm_shift)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step."""
        cell, hidden = state
        given = tf.concat([inputs, hidden], 1)
        kernel = tf.get_variable("kernel", [depth_of(given), 4 * self._num_units], given.dtype)
        gates = tf.matmul(given, kernel)
        if not self._layer_norm:
            gates = tf.nn.bias_add(
                gates, tf.get_variable("bias", [4 * self._num_units], given.dtype)
            )
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


class _PeepholeLSTMCell(LSTMUnitCell):
    """What LSTM cells have in common that may have peepholes, clips and a projection."""

    _use_peepholes: bool
    _cell_clip: float | None
    _forget_bias: float
    _activation: Callable[[Any], Any]

    def _next_cell(self, gates: Any, cell: Any, after: Callable[[Any], Any]) -> tuple[Any, Any]:
        """Return the next cell and the output before a projection, of the gates i, j, f and o."""
        i, j, f, o = gates
        units, dtype = self._num_units, cell.dtype
        seen_f = seen_i = seen_o = None
        if self._use_peepholes:
            seen_f = diagonal("w_f_diag", units, dtype)
            seen_i = diagonal("w_i_diag", units, dtype)
            seen_o = diagonal("w_o_diag", units, dtype)
        forget = tf.sigmoid(_seen(f + self._forget_bias, seen_f, cell))
        new_cell = forget * cell + tf.sigmoid(_seen(i, seen_i, cell)) * self._activation(j)
        new_cell = clipped(after(new_cell), self._cell_clip)
        return new_cell, tf.sigmoid(_seen(o, seen_o, new_cell)) * self._activation(new_cell)


def _seen(gate: Any, weights: Any, cell: Any) -> Any:
    return gate if weights is None else gate + weights * cell


class LayerNormLSTMCell(_PeepholeLSTMCell):
    """An LSTM with peepholes, clips, a projection, and gates that are normalized.

    Args:
      num_units: units of the state.
      use_peepholes: whether gates see the cell.
      cell_clip: the largest absolute value of the cell.
      initializer: of the weights.
      num_proj: size of the projected output.
      proj_clip: the largest absolute value of the projected output.
      forget_bias: added to the forget gate.
      activation: function of candidate and cell; tanh by default.
      layer_norm: whether gates and cell are normalized.
      norm_gain: initial gain of a normalization.
      norm_shift: initial shift of a normalization.
      reuse: whether variables exist already.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        forget_bias: float = 1.0,
        activation: Callable[[Any], Any] | None = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(num_units, num_proj or None, reuse)
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._proj_clip = proj_clip
        self._forget_bias = forget_bias
        self._activation = function(activation)
        self._layer_norm = layer_norm
        self._norm_gain = norm_gain
        self._norm_shift = norm_shift

    def _normalized(self, value: Any, scope: str) -> Any:
        if not self._layer_norm:
            return value
        return normalized(value, scope, self._norm_gain, self._norm_shift)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step."""
        cell, output = state
        with self._in_scope(self._initializer):
            size = 4 * self._num_units
            gates = linear([inputs, output], size, bias=not self._layer_norm)
            if self._layer_norm:  # beta takes its place; the variable is there nevertheless
                tf.get_variable("bias", [size], inputs.dtype, initializer=tf.zeros_initializer())
            parts = [
                self._normalized(gate, scope)
                for gate, scope in zip(
                    tf.split(gates, 4, 1), ("input", "transform", "forget", "output"), strict=True
                )
            ]
            new_cell, new_output = self._next_cell(
                parts, cell, lambda value: self._normalized(value, "state")
            )
            if self._num_proj is not None:
                with tf.variable_scope("projection"):
                    new_output = linear(new_output, self._num_proj, bias=False)
                new_output = clipped(new_output, self._proj_clip)
        return new_output, LSTMStateTuple(new_cell, new_output)


class WeightNormLSTMCell(_PeepholeLSTMCell):
    """An LSTM whose weights have a length of their own, by column.

    Source: Salimans and Kingma, weight normalization.

    Args:
      num_units: units of the state.
      norm: whether weights are normalized.
      use_peepholes: whether gates see the cell.
      cell_clip: the largest absolute value of the cell.
      initializer: of the weights.
      num_proj: size of the projected output.
      proj_clip: the largest absolute value of the projected output.
      forget_bias: added to the forget gate.
      activation: function of candidate and cell; tanh by default.
      reuse: whether variables exist already.
    """

    def __init__(
        self,
        num_units: int,
        norm: bool = True,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        forget_bias: float = 1,
        activation: Callable[[Any], Any] | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(num_units, num_proj or None, reuse)
        self._norm = norm
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._proj_clip = proj_clip
        self._forget_bias = forget_bias
        self._activation = function(activation)

    def _mapped(self, values: list[Any], size: int, bias: bool) -> Any:
        if not self._norm:
            return linear(values, size, bias)
        depths = [depth_of(one) for one in values]
        joined = tf.concat(values, 1)
        kernel = tf.get_variable("kernel", [sum(depths), size], joined.dtype)
        parts = []
        for number, part in enumerate(tf.split(kernel, depths, 0)):
            length = tf.get_variable(f"norm_{number}", [size], joined.dtype)
            parts.append(tf.nn.l2_normalize(part, 0) * length)
        product = tf.matmul(joined, tf.concat(parts, 0))
        if not bias:
            return product
        start = tf.zeros_initializer()
        return tf.nn.bias_add(
            product, tf.get_variable("bias", [size], joined.dtype, initializer=start)
        )

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step."""
        cell, output = state
        with tf.variable_scope("wn_lstm_cell", initializer=self._initializer):
            gates = self._mapped([inputs, output], 4 * self._num_units, bias=True)
            new_cell, new_output = self._next_cell(tf.split(gates, 4, 1), cell, tf.identity)
            if self._num_proj is not None:
                with tf.variable_scope("projection"):
                    new_output = self._mapped([new_output], self._num_proj, bias=False)
                new_output = clipped(new_output, self._proj_clip)
        return new_output, LSTMStateTuple(new_cell, new_output)


class CoupledInputForgetGateLSTMCell(LSTMUnitCell):
    """An LSTM that takes in what it forgets.

    Source: Greff, Srivastava, Koutník, Steunebrink and Schmidhuber, LSTM: a search space odyssey.

    Args:
      num_units: units of the state.
      use_peepholes: whether gates see the cell.
      initializer: of the weights.
      num_proj: size of the projected output.
      proj_clip: the largest absolute value of the projected output.
      num_unit_shards: how many variables hold the weights.
      num_proj_shards: how many variables hold the projection.
      forget_bias: added to the forget gate.
      state_is_tuple: whether the state is a pair, or else joined by depth.
      activation: function of candidate and cell.
      reuse: whether variables exist already.
      layer_norm: whether gates and cell are normalized.
      norm_gain: initial gain of a normalization.
      norm_shift: initial shift of a normalization.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int = 1,
        num_proj_shards: int = 1,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Callable[[Any], Any] = tf.tanh,
        reuse: bool | None = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
    ) -> None:
        super().__init__(num_units, num_proj or None, reuse)
        self._use_peepholes = use_peepholes
        self._initializer = initializer
        self._proj_clip = proj_clip
        self._num_unit_shards = num_unit_shards
        self._num_proj_shards = num_proj_shards
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = activation
        self._layer_norm = layer_norm
        self._norm_gain = norm_gain
        self._norm_shift = norm_shift

    @property
    def state_size(self) -> Any:
        """The sizes of cell and output, or their sum."""
        sizes = super().state_size
        return sizes if self._state_is_tuple else sum(sizes)

    def _normalized(self, value: Any, scope: str) -> Any:
        if not self._layer_norm:
            return value
        return normalized(value, scope, self._norm_gain, self._norm_shift)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step."""
        units, dtype = self._num_units, inputs.dtype
        if not self._state_is_tuple:
            state = tf.split(state, [units, self.output_size], 1)
        cell, output = state
        with self._in_scope(self._initializer):
            shape = [depth_of(inputs) + self.output_size, 3 * units]
            kernel = sharded("W", shape, dtype, self._num_unit_shards)
            bias = tf.get_variable("B", [3 * units], dtype, initializer=tf.zeros_initializer())
            gates = tf.matmul(tf.concat([inputs, output], 1), kernel)
            if not self._layer_norm:
                gates = tf.nn.bias_add(gates, bias)
            j, f, o = tf.split(gates, 3, 1)
            j, f = self._normalized(j, "transform"), self._normalized(f, "forget")
            o = self._normalized(o, "output")
            seen_f = seen_o = None
            if self._use_peepholes:
                seen_f = diagonal("W_F_diag", units, dtype)
                seen_o = diagonal("W_O_diag", units, dtype)
            forget = tf.sigmoid(_seen(f + self._forget_bias, seen_f, cell))
            new_cell = forget * cell + (1 - forget) * self._activation(j)
            new_cell = self._normalized(new_cell, "state")
            new_output = tf.sigmoid(_seen(o, seen_o, new_cell)) * self._activation(new_cell)
            if self._num_proj is not None:
                shape = [units, self._num_proj]
                projection = sharded("W_P", shape, dtype, self._num_proj_shards)
                new_output = clipped(tf.matmul(new_output, projection), self._proj_clip)
        if self._state_is_tuple:
            return new_output, LSTMStateTuple(new_cell, new_output)
        return new_output, tf.concat([new_cell, new_output], 1)


class GLSTMCell(LSTMUnitCell):
    """An LSTM in groups that see only their own parts of inputs and outputs.

    Source: Kuchaiev and Ginsburg, factorization tricks for LSTM networks.

    Args:
      num_units: units of the state.
      initializer: of the weights.
      num_proj: size of the projected output.
      number_of_groups: the number of groups.
      forget_bias: added to the forget gate.
      activation: function of the cell.
      reuse: whether variables exist already.

    Raises:
      ValueError: a size cannot be divided into groups.
    """

    def __init__(
        self,
        num_units: int,
        initializer: Any = None,
        num_proj: int | None = None,
        number_of_groups: int = 1,
        forget_bias: float = 1.0,
        activation: Callable[[Any], Any] = tf.tanh,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(num_units, num_proj or None, reuse)
        self._initializer = initializer
        self._forget_bias = forget_bias
        self._activation = activation
        self._number_of_groups = number_of_groups
        for name, size in (("num_units", num_units), ("num_proj", num_proj or 0)):
            if size % number_of_groups:
                raise ValueError(f"{name} must be divisible by number_of_groups")

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step."""
        cell, output = state
        groups, dtype = self._number_of_groups, inputs.dtype
        if depth_of(inputs) % groups:
            raise ValueError(
                f"input size ({depth_of(inputs)}) must be divisible by number_of_groups ({groups})"
            )
        pairs = zip(tf.split(inputs, groups, 1), tf.split(output, groups, 1), strict=True)
        with self._in_scope(self._initializer):
            found = []
            for group, pair in enumerate(pairs):
                with tf.variable_scope(f"group{group}"):
                    gates = linear(list(pair), 4 * self._num_units // groups, bias=False)
                found.append(tf.split(gates, 4, 1))
            i, j, f, o = (
                tf.nn.bias_add(
                    tf.concat(list(parts), 1),
                    tf.get_variable(
                        f"bias_{gate}", [self._num_units], dtype, initializer=tf.zeros_initializer()
                    ),
                )
                for gate, parts in zip("ijfo", zip(*found, strict=True), strict=True)
            )
        new_cell = tf.sigmoid(f + self._forget_bias) * cell + tf.sigmoid(i) * tf.tanh(j)
        new_output = tf.sigmoid(o) * self._activation(new_cell)
        if self._num_proj is not None:
            with tf.variable_scope("projection"):
                new_output = linear(new_output, self._num_proj, bias=False)
        return new_output, LSTMStateTuple(new_cell, new_output)


class PhasedLSTMCell(LSTMUnitCell):
    """An LSTM whose units are open in parts of periods of their own.

    Source: Neil, Pfeiffer and Liu, phased LSTM. The inputs are pairs (time, x), [batch, 1] and
    [batch, depth].

    Args:
      num_units: units of the state.
      use_peepholes: whether gates see the cell.
      leak: how much a closed unit lets through.
      ratio_on: the initial part of a period in which a unit is open.
      trainable_ratio_on: whether that part is trained.
      period_init_min: the shortest initial period.
      period_init_max: the longest initial period.
      reuse: whether variables exist already.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        leak: float = 0.001,
        ratio_on: float = 0.1,
        trainable_ratio_on: bool = True,
        period_init_min: float = 1.0,
        period_init_max: float = 1000.0,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(num_units, reuse=reuse)
        self._use_peepholes = use_peepholes
        self._leak = leak
        self._ratio_on = ratio_on
        self._trainable_ratio_on = trainable_ratio_on
        self._period_init_min = period_init_min
        self._period_init_max = period_init_max

    def _openness(self, time: Any) -> Any:
        """Return how open each unit is at a time."""
        shape = [self._num_units]
        start = random_exponential(self._period_init_min, self._period_init_max)
        period = tf.get_variable("period", shape, initializer=start)
        start = tf.random_uniform_initializer(0.0, period.initial_value)
        phase = tf.get_variable("phase", shape, initializer=start)
        ratio = tf.get_variable(
            "ratio_on",
            shape,
            initializer=tf.constant_initializer(self._ratio_on),
            trainable=self._trainable_ratio_on,
        )
        shifted = time - tf.cast(phase, time.dtype)
        length = tf.cast(period, time.dtype)
        # The gradient of a remainder by the time is 1; where it jumps does not count.
        rest = tf.stop_gradient(tf.mod(shifted, length) - shifted) + shifted
        done = tf.cast(rest / length, tf.float32)
        rising = 2 * done / ratio
        falling = 2 - rising
        closed = self._leak * done
        openness = tf.where(done < ratio, falling, closed)
        return tf.where(done < 0.5 * ratio, rising, openness)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step."""
        cell, hidden = state
        time, x = inputs
        seen = [x, hidden]
        with tf.variable_scope("mask_gates"):
            given = [*seen, cell] if self._use_peepholes else seen
            i, f = tf.split(tf.sigmoid(linear(given, 2 * self._num_units)), 2, 1)
        with tf.variable_scope("new_input"):
            candidate = tf.tanh(linear(seen, self._num_units))
        new_cell = cell * f + i * candidate
        with tf.variable_scope("output_gate"):
            given = [*seen, new_cell] if self._use_peepholes else seen
            o = tf.sigmoid(linear(given, self._num_units))
        new_hidden = tf.tanh(new_cell) * o
        openness = self._openness(time)
        new_cell = openness * new_cell + (1 - openness) * cell
        new_hidden = openness * new_hidden + (1 - openness) * hidden
        return new_hidden, LSTMStateTuple(new_cell, new_hidden)
