"""LSTM cells over time and frequency.

Source: Li, Mohamed, Zweig and Gong, LSTM time and frequency recurrence; the same, exploring
multidimensional LSTMs.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from tfnb.as_tensorflow.contrib.rnn.linear import clipped, depth_of, diagonal, sharded
from tfnb.client.public.api import tf
from tfnb.library.rnn.cells import RNNCell


def _windows(value: Any, size: int, step: int, start: int = 0, end: int | None = None) -> list[Any]:
    """Return the windows of a range of depth."""
    depth = (depth_of(value) if end is None else end - start) - size
    count = depth // step + 1
    return [value[:, start + step * n : start + step * n + size] for n in range(count)]


class TimeFreqLSTMCell(RNNCell):
    """An LSTM whose output at a window of frequencies is an input of the next window.

    Args:
      num_units: units of a window.
      use_peepholes: whether gates see the cell.
      cell_clip: the largest absolute value of the cell.
      initializer: of the weights.
      num_unit_shards: how many variables hold the weights.
      forget_bias: added to the forget gate.
      feature_size: size of a window.
      frequency_skip: distance of windows.
      reuse: whether variables exist already.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int = 1,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._num_unit_shards = num_unit_shards
        self._forget_bias = forget_bias
        self._feature_size = feature_size
        self._frequency_skip = frequency_skip

    @property
    def state_size(self) -> Any:
        """The size of cell and output, of one window."""
        return 2 * self._num_units

    @property
    def output_size(self) -> Any:
        """The number of units of one window."""
        return self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the outputs of all windows, joined by depth, and the next state."""
        units, dtype = self._num_units, inputs.dtype
        windows = _windows(inputs, self._feature_size or depth_of(inputs), self._frequency_skip)
        with tf.variable_scope(tf.get_variable_scope(), initializer=self._initializer):
            shape = [depth_of(windows[0]) + 2 * units, 4 * units]
            kernel = sharded("W", shape, dtype, self._num_unit_shards)
            bias = tf.get_variable("B", [4 * units], dtype, initializer=tf.zeros_initializer())
            seen: dict[str, Any] = dict.fromkeys("fio", 0.0)
            if self._use_peepholes:
                seen = {gate: diagonal(f"W_{gate.upper()}_diag", units, dtype) for gate in "fio"}
        below = tf.zeros([tf.shape(inputs)[0], units], dtype)
        outputs, states = [], []
        for number, window in enumerate(windows):
            cell, before = tf.split(state[:, 2 * number * units : 2 * (number + 1) * units], 2, 1)
            given = tf.concat([window, before, below], 1)
            i, j, f, o = tf.split(tf.nn.bias_add(tf.matmul(given, kernel), bias), 4, 1)
            kept = tf.sigmoid(f + self._forget_bias + seen["f"] * cell) * cell
            cell = clipped(kept + tf.sigmoid(i + seen["i"] * cell) * tf.tanh(j), self._cell_clip)
            below = tf.sigmoid(o + seen["o"] * cell) * tf.tanh(cell)
            outputs.append(below)
            states += [cell, below]
        return tf.concat(outputs, 1), tf.concat(states, 1)


class GridLSTMCell(RNNCell):
    """An LSTM with a cell along time and one along frequency, at each window of frequencies.

    Args:
      num_units: units of a window.
      use_peepholes: whether gates see the cells.
      share_time_frequency_weights: whether both directions have the same weights.
      cell_clip: the largest absolute value of a cell.
      initializer: of the weights.
      num_unit_shards: how many variables hold the weights.
      forget_bias: added to forget gates.
      feature_size: size of a window.
      frequency_skip: distance of windows.
      num_frequency_blocks: how many windows each block has.
      start_freqindex_list: where each block begins; one block of everything by default.
      end_freqindex_list: where each block ends.
      couple_input_forget_gates: whether it takes in what it forgets.
      state_is_tuple: whether the state is a tuple of all cells and outputs, or else joined.
      reuse: whether variables exist already.

    Raises:
      ValueError: ``num_frequency_blocks`` is missing.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        share_time_frequency_weights: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int | None = None,
        num_frequency_blocks: Any = None,
        start_freqindex_list: Any = None,
        end_freqindex_list: Any = None,
        couple_input_forget_gates: bool = False,
        state_is_tuple: bool = True,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        if num_frequency_blocks is None:
            raise ValueError("Must specify num_frequency_blocks")
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._share_weights = share_time_frequency_weights
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._num_unit_shards = num_unit_shards
        self._forget_bias = forget_bias
        self._feature_size = feature_size
        self._frequency_skip = frequency_skip
        self._blocks = [int(one) for one in num_frequency_blocks]
        self._starts = start_freqindex_list
        self._ends = end_freqindex_list
        self._couple_gates = couple_input_forget_gates
        self._state_is_tuple = state_is_tuple
        self._state_tuple_type: Any = self._tuple_type("GridLSTMStateTuple", ("state",))

    def _tuple_type(self, name: str, prefixes: tuple[str, ...]) -> Any:
        fields = [
            f"{prefix}_f{window:02d}_b{block:02d}_{part}"
            for prefix in prefixes
            for block, count in enumerate(self._blocks)
            for window in range(count)
            for part in "cm"
        ]
        return namedtuple(name, fields)  # noqa: PYI024

    @property
    def state_tuple_type(self) -> Any:
        """The class of the state, or None if it is joined."""
        return self._state_tuple_type if self._state_is_tuple else None

    @property
    def state_size(self) -> Any:
        """The sizes of all cells and outputs, or their sum."""
        sizes = [self._num_units] * len(self._state_tuple_type._fields)
        return self._state_tuple_type(*sizes) if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        """The size of all outputs, along time and along frequency."""
        return self._num_units * len(self._state_tuple_type._fields)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the outputs, joined by depth, and the next state."""
        if not self._state_is_tuple:
            count = len(self._state_tuple_type._fields)
            state = self._state_tuple_type(*tf.split(state, count, 1))
        outputs, states = self._run(self._windows(inputs), state, "state")
        joined = tf.concat(outputs, 1)
        if self._state_is_tuple:
            return joined, self._state_tuple_type(*states)
        return joined, tf.concat(states, 1)

    def _run(self, blocks: list[list[Any]], state: Any, prefix: str) -> tuple[list[Any], list[Any]]:
        outputs, states = [], []
        with tf.variable_scope(tf.get_variable_scope(), initializer=self._initializer):
            for number, windows in enumerate(blocks):
                more_outputs, more_states = self._block(windows, number, state, prefix)
                outputs += more_outputs
                states += more_states
        return outputs, states

    def _block(
        self, windows: list[Any], block: int, state: Any, prefix: str
    ) -> tuple[list[Any], list[Any]]:
        """Return outputs and states of a block, window by window."""
        units, dtype = self._num_units, windows[0].dtype
        weights = _GridWeights(self, depth_of(windows[0]), block, dtype)
        zeros = tf.zeros([tf.shape(windows[0])[0], units], dtype)
        cell_f = output_f = zeros
        outputs, states = [], []
        for number, window in enumerate(windows):
            name = f"{prefix}_f{number:02d}_b{block:02d}"
            cell_t, output_t = getattr(state, f"{name}_c"), getattr(state, f"{name}_m")
            given = tf.concat([window, output_t, output_f], 1)
            gates_f, gates_t = weights.gates(given)
            new_f = self._cell(gates_f, cell_f, "freq", weights, cell_f, cell_t)
            new_t = self._cell(gates_t, cell_t, "time", weights, cell_f, cell_t)
            cell_f, cell_t = new_f, new_t
            output_f = self._output(gates_f, cell_f, "freq", weights, cell_f, cell_t)
            output_t = self._output(gates_t, cell_t, "time", weights, cell_f, cell_t)
            outputs += [output_t, output_f]
            states += [cell_t, output_t]
        return outputs, states

    def _cell(
        self, gates: dict[str, Any], cell: Any, way: str, weights: _GridWeights, *cells: Any
    ) -> Any:
        taken = tf.sigmoid(gates["i"] + weights.seen("I", way, *cells))
        if self._couple_gates:
            kept = 1.0 - taken
        else:
            kept = tf.sigmoid(gates["f"] + self._forget_bias + weights.seen("F", way, *cells))
        return clipped(kept * cell + taken * tf.tanh(gates["j"]), self._cell_clip)

    @staticmethod
    def _output(
        gates: dict[str, Any], cell: Any, way: str, weights: _GridWeights, *cells: Any
    ) -> Any:
        return tf.sigmoid(gates["o"] + weights.seen("O", way, *cells)) * tf.tanh(cell)

    def _windows(self, inputs: Any, offset: int = 0) -> list[list[Any]]:
        """Return the windows of each block.

        Raises:
          ValueError: lists have different lengths, or windows are not as many as announced.
        """
        width = depth_of(inputs)
        if offset:
            sides = [0, offset] if offset > 0 else [-offset, 0]
            inputs = tf.pad(inputs, [[0, 0], sides])
        offset = max(offset, 0)
        size = self._feature_size or width
        step = self._frequency_skip or 1
        starts = self._starts or [0]
        ends = self._ends if self._starts else [width]
        if not len(starts) == len(ends) == len(self._blocks):
            raise ValueError(
                "num_frequency_blocks, start_freqindex_list and end_freqindex_list must have the "
                f"same length, and one without lists: {len(self._blocks)}, {len(starts)}, "
                f"{len(ends)}"
            )
        found = []
        for start, end, count in zip(starts, ends, self._blocks, strict=True):
            windows = _windows(inputs, size, step, start + offset, end + offset)
            if len(windows) != count:
                raise ValueError(
                    f"Invalid num_frequency_blocks, requires {count} but gets {len(windows)}, "
                    "please check the input size and filter config are correct."
                )
            found.append(windows)
        return found


class _GridWeights:
    """The variables of a block.

    Args:
      cell: the cell.
      depth: of a window.
      block: number of the block.
      dtype: of the variables.
    """

    def __init__(self, cell: GridLSTMCell, depth: int, block: int, dtype: Any) -> None:
        units = cell._num_units
        self._names = "ijo" if cell._couple_gates else "ijfo"
        self._shares = cell._share_weights
        size = len(self._names) * units
        self._maps = []
        for way in "f" if self._shares else "ft":
            shape = [depth + 2 * units, size]
            kernel = sharded(f"W_{way}_{block}", shape, dtype, cell._num_unit_shards)
            start = tf.zeros_initializer()
            self._maps.append(
                (kernel, tf.get_variable(f"B_{way}_{block}", [size], dtype, initializer=start))
            )
        self._diagonals: dict[str, Any] = {}
        if cell._use_peepholes:
            for way in ("freq",) if self._shares else ("freq", "time"):
                for gate in "IO" if cell._couple_gates else "FIO":
                    for source in "ft":
                        name = f"W_{gate}_diag_{way}{source}"
                        self._diagonals[name] = diagonal(f"{name}_{block}", units, dtype)

    def gates(self, given: Any) -> list[dict[str, Any]]:
        """Return the gates along frequency and along time, by name."""
        found = []
        for kernel, bias in self._maps:
            mapped = tf.nn.bias_add(tf.matmul(given, kernel), bias)
            parts = tf.split(mapped, len(self._names), 1)
            found.append(dict(zip(self._names, parts, strict=True)))
        return found * 2 if self._shares else found

    def seen(self, gate: str, way: str, cell_f: Any, cell_t: Any) -> Any:
        """Return what a gate sees of both cells; 0 without peepholes."""
        if not self._diagonals:
            return 0.0
        name = f"W_{gate}_diag_{'freq' if self._shares else way}"
        return self._diagonals[f"{name}f"] * cell_f + self._diagonals[f"{name}t"] * cell_t


class BidirectionalGridLSTMCell(GridLSTMCell):
    """A grid LSTM that runs along frequency in both directions.

    Args:
      num_units: units of a window.
      use_peepholes: whether gates see the cells.
      share_time_frequency_weights: whether time and frequency have the same weights.
      cell_clip: the largest absolute value of a cell.
      initializer: of the weights.
      num_unit_shards: how many variables hold the weights.
      forget_bias: added to forget gates.
      feature_size: size of a window.
      frequency_skip: distance of windows.
      num_frequency_blocks: how many windows each block has.
      start_freqindex_list: where each block begins.
      end_freqindex_list: where each block ends.
      couple_input_forget_gates: whether it takes in what it forgets.
      backward_slice_offset: how far the windows of the way back are shifted.
      reuse: whether variables exist already.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        share_time_frequency_weights: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int | None = None,
        num_frequency_blocks: Any = None,
        start_freqindex_list: Any = None,
        end_freqindex_list: Any = None,
        couple_input_forget_gates: bool = False,
        backward_slice_offset: int = 0,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(
            num_units,
            use_peepholes,
            share_time_frequency_weights,
            cell_clip,
            initializer,
            num_unit_shards,
            forget_bias,
            feature_size,
            frequency_skip,
            num_frequency_blocks,
            start_freqindex_list,
            end_freqindex_list,
            couple_input_forget_gates,
            True,
            reuse,
        )
        self._backward_slice_offset = int(backward_slice_offset)
        self._state_tuple_type = self._tuple_type(
            "BidirectionalGridLSTMStateTuple", ("fwd_state", "bwd_state")
        )

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the outputs, joined by depth, and the next state."""
        with tf.variable_scope("fwd"):
            outputs, states = self._run(self._windows(inputs), state, "fwd_state")
        back = [block[::-1] for block in self._windows(inputs, self._backward_slice_offset)]
        with tf.variable_scope("bwd"):
            more_outputs, more_states = self._run(back, state, "bwd_state")
        joined = tf.concat([*outputs, *more_outputs], 1)
        return joined, self._state_tuple_type(*states, *more_states)
