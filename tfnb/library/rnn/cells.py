"""Cells of recurrent networks: one step of time, ``cell(inputs, state) -> (output, state)``.

A cell is a layer whose scope is found in its first call, which ``dynamic_rnn`` makes inside its
loop. Its variables are made outside of the loop nevertheless, named after the enclosing scope.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.framework.structures import nest
from tfnb.library.layers.base import InputSpec, Layer
from tfnb.library.layers.named_functions import activation_from, initializer_from
from tfnb.library.rnn.state import assert_like_rnn_cell, zero_states
from tfnb.library.variables import init_ops
from tfnb.library.variables.partitioned_variable import PartitionedVariable, fixed_size_partitioner
from tfnb.library.variables.variable_scope import get_variable_scope, variable_scope
from tfnb.library.variables.variables import trainable_variables
from tfnb.ops.array import constant_ops
from tfnb.ops.array.concat_ops import concat, split
from tfnb.ops.array.slice_ops import slice as slice_
from tfnb.ops.math import math_ops
from tfnb.ops.math.clip_value_ops import clip_by_value
from tfnb.ops.math.matmul_ops import matmul
from tfnb.ops.nn.bias_ops import bias_add

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor_types import (
        Activation,
        Initializer,
        Nested,
        Partitioner,
        ScopeLike,
        TensorLike,
        TensorResult,
    )

EXPORTS = {
    "nn.rnn_cell": [
        "BasicLSTMCell", "BasicRNNCell", "GRUCell", "LSTMCell", "LSTMStateTuple", "MultiRNNCell",
        "RNNCell",
    ],
}  # fmt: skip

_KERNEL, _BIAS = "kernel", "bias"


class RNNCell(Layer):
    """The base of all cells: ``state_size``, ``output_size`` and ``call(inputs, state)``.

    A user's cell may also get variables with ``tf.get_variable`` in ``call``; they become weights
    of the cell.
    """

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        """See :class:`tf.layers.Layer`."""
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)
        self._getter_scope: Any = None

    def __call__(
        self, inputs: TensorLike, state: Nested, scope: ScopeLike | None = None, **kwargs: Any
    ) -> TensorResult:
        """Run one step: return (output, new state).

        Args:
          inputs: ``[batch, depth]``.
          state: tensors ``[batch, size]`` in the structure of ``state_size``.
          scope: the variable scope to use.
          **kwargs: for ``call``.
        """
        if scope is not None:
            with variable_scope(scope, custom_getter=self._getter) as opened:
                return super().__call__(inputs, state, scope=opened, **kwargs)
        if self._getter_scope is None:
            self._getter_scope = variable_scope(get_variable_scope(), custom_getter=self._getter)
        with self._getter_scope:
            return super().__call__(inputs, state, **kwargs)

    def _getter(self, getter: Callable[..., Nested], *args: Any, **kwargs: Any) -> Any:
        variable = getter(*args, **kwargs)
        trained = {id(v) for v in trainable_variables()}
        parts = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
        is_trained = all(id(part) in trained for part in parts)
        weights = self._trainable_weights if is_trained else self._non_trainable_weights
        if not any(variable is known for known in weights):
            weights.append(variable)
        return variable

    @property
    def state_size(self) -> Nested:
        """The sizes of the states: a number, a shape, or a structure of them."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Nested:
        """The size of the output."""
        raise NotImplementedError("Abstract method")

    def get_initial_state(
        self,
        inputs: TensorLike | None = None,
        batch_size: TensorLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> TensorResult:
        """Return zeros; the batch size and type may come from inputs.

        Raises:
          ValueError: neither inputs nor both others are given, or they differ.
        """
        if inputs is not None:
            from tfnb.ops.array.shape_ops import shape

            inputs = convert_to_tensor(inputs, name="inputs")
            if batch_size is not None:
                given = constant_value(batch_size) if hasattr(batch_size, "op") else batch_size
                static = inputs.shape.with_rank_at_least(1).as_list()[0]
                if given is not None and static is not None and given != static:
                    raise ValueError(
                        "batch size from input tensor is different from the input param. Input "
                        f"tensor batch: {static}, batch_size: {batch_size}"
                    )
            if dtype is not None and inputs.dtype != dtype:
                raise ValueError(
                    "dtype from input tensor is different from the input param. Input tensor "
                    f"dtype: {inputs.dtype}, dtype: {dtype}"
                )
            static = inputs.shape.with_rank_at_least(1).as_list()[0]
            batch_size = shape(inputs)[0] if static is None else static
            dtype = inputs.dtype
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype must not be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike | None) -> TensorResult:
        """Return zeros for every state.

        Args:
          batch_size: a number or a scalar tensor.
          dtype: the type.
        """
        with name_scope(f"{type(self).__name__}ZeroState", values=[batch_size]):
            return zero_states(self.state_size, batch_size, dtype)


class LayerRNNCell(RNNCell):
    """The base of cells that make their variables in ``build``."""

    def __call__(
        self, inputs: TensorLike, state: Nested, scope: ScopeLike | None = None, **kwargs: Any
    ) -> TensorResult:
        """Run one step: return (output, new state); see :class:`RNNCell`."""
        return Layer.__call__(self, inputs, state, scope=scope, **kwargs)


def _depth_of(inputs_shape: TensorLike) -> int:
    shape = TensorShape(inputs_shape)
    depth = shape.as_list()[-1]
    if depth is None:
        raise ValueError(f"Expected inputs.shape[-1] to be known, received shape: {shape}")
    return int(depth)


class BasicRNNCell(LayerRNNCell):
    """output = new state = activation(W [inputs, state] + b)."""

    def __init__(
        self,
        num_units: int,
        activation: Activation = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        """Set the arguments of the cell.

        Args:
          num_units: the size of state and output.
          activation: a function, or its name; tanh by default.
          reuse: whether the variables exist already.
          name: of the layer.
          dtype: of the variables; that of the first input by default.
          **kwargs: of :class:`Layer`.
        """
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self.input_spec = InputSpec(ndim=2)
        self._num_units = num_units
        self._activation = activation_from(activation) or math_ops.tanh

    @property
    def state_size(self) -> Nested:
        """The number of units."""
        return self._num_units

    @property
    def output_size(self) -> Nested:
        """The number of units."""
        return self._num_units

    def build(self, inputs_shape: TensorLike) -> None:
        """Make ``kernel`` and ``bias``."""
        depth = _depth_of(inputs_shape)
        self._kernel = self.add_variable(_KERNEL, shape=[depth + self._num_units, self._num_units])
        self._bias = self.add_variable(
            _BIAS, shape=[self._num_units], initializer=init_ops.zeros_initializer()
        )
        self.built = True

    def call(self, inputs: TensorLike, state: Nested) -> Nested:
        """Run one step."""
        gates = bias_add(matmul(concat([inputs, state], 1), self._kernel), self._bias)
        output = self._activation(gates)
        return output, output


class GRUCell(LayerRNNCell):
    """Gated recurrent unit (arXiv:1406.1078): a reset and an update gate."""

    def __init__(
        self,
        num_units: int,
        activation: Activation = None,
        reuse: bool | None = None,
        kernel_initializer: Initializer | None = None,
        bias_initializer: Initializer | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        """Set the arguments of the cell.

        Args:
          num_units: the size of state and output.
          activation: of the candidate, or its name; tanh by default.
          reuse: whether the variables exist already.
          kernel_initializer: of the kernels.
          bias_initializer: of the biases; ones for the gates, zeros for the candidate by default.
          name: of the layer.
          dtype: of the variables.
          **kwargs: of :class:`Layer`.
        """
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self.input_spec = InputSpec(ndim=2)
        self._num_units = num_units
        self._activation = activation_from(activation) or math_ops.tanh
        self._kernel_initializer = initializer_from(kernel_initializer)
        self._bias_initializer = initializer_from(bias_initializer)

    @property
    def state_size(self) -> Nested:
        """The number of units."""
        return self._num_units

    @property
    def output_size(self) -> Nested:
        """The number of units."""
        return self._num_units

    def build(self, inputs_shape: TensorLike) -> None:
        """Make kernel and bias of the gates and of the candidate."""
        depth = _depth_of(inputs_shape)
        units = self._num_units
        given = self._bias_initializer
        ones = init_ops.constant_initializer(1.0, dtype=self.dtype)
        zeros = init_ops.zeros_initializer(dtype=self.dtype)
        self._gate_kernel = self.add_variable(
            f"gates/{_KERNEL}",
            shape=[depth + units, 2 * units],
            initializer=self._kernel_initializer,
        )
        self._gate_bias = self.add_variable(
            f"gates/{_BIAS}", shape=[2 * units], initializer=ones if given is None else given
        )
        self._candidate_kernel = self.add_variable(
            f"candidate/{_KERNEL}",
            shape=[depth + units, units],
            initializer=self._kernel_initializer,
        )
        self._candidate_bias = self.add_variable(
            f"candidate/{_BIAS}", shape=[units], initializer=zeros if given is None else given
        )
        self.built = True

    def call(self, inputs: TensorLike, state: Nested) -> Nested:
        """Run one step."""
        gates = matmul(concat([inputs, state], 1), self._gate_kernel)
        gates = math_ops.sigmoid(bias_add(gates, self._gate_bias))
        reset, update = split(value=gates, num_or_size_splits=2, axis=1)
        kept = reset * state
        candidate = matmul(concat([inputs, kept], 1), self._candidate_kernel)
        candidate = self._activation(bias_add(candidate, self._candidate_bias))
        new_state = update * state + (1 - update) * candidate
        return new_state, new_state


class LSTMStateTuple(NamedTuple):
    """The state of an LSTM: ``c``, the memory, and ``h``, the last output."""

    c: Any
    h: Any

    @property
    def dtype(self) -> Any:
        """The type of both.

        Raises:
          TypeError: they differ.
        """
        c, h = self
        if c.dtype != h.dtype:
            raise TypeError(f"Inconsistent dtypes for internal state: {c.dtype} vs {h.dtype}")
        return c.dtype


class BasicLSTMCell(LayerRNNCell):
    """Long short-term memory (Hochreiter and Schmidhuber 1997), without peepholes."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Activation = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        """Set the arguments of the cell.

        Args:
          num_units: the size of memory and output.
          forget_bias: added to the forget gate, so that training begins by remembering.
          state_is_tuple: whether the state is an :class:`LSTMStateTuple`, or both side by side.
          activation: the function for new memory and output, or its name; tanh by default.
          reuse: whether the variables exist already.
          name: of the layer.
          dtype: of the variables.
          **kwargs: of :class:`Layer`.
        """
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self.input_spec = InputSpec(ndim=2)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = activation_from(activation) or math_ops.tanh

    @property
    def state_size(self) -> Nested:
        """The number of units, for memory and output."""
        units = self._num_units
        return LSTMStateTuple(units, units) if self._state_is_tuple else 2 * units

    @property
    def output_size(self) -> Nested:
        """The number of units."""
        return self._num_units

    def build(self, inputs_shape: TensorLike) -> None:
        """Make ``kernel`` and ``bias``."""
        depth = _depth_of(inputs_shape)
        units = self._num_units
        self._kernel = self.add_variable(_KERNEL, shape=[depth + units, 4 * units])
        zeros = init_ops.zeros_initializer(dtype=self.dtype)
        self._bias = self.add_variable(_BIAS, shape=[4 * units], initializer=zeros)
        self.built = True

    def call(self, inputs: TensorLike, state: Nested) -> Nested:
        """Run one step."""
        one = constant_ops.constant(1, dtype="int32")
        if self._state_is_tuple:
            c, h = state
        else:
            c, h = split(value=state, num_or_size_splits=2, axis=one)
        gates = bias_add(matmul(concat([inputs, h], 1), self._kernel), self._bias)
        i, j, f, o = split(value=gates, num_or_size_splits=4, axis=one)
        forget_bias = constant_ops.constant(self._forget_bias, dtype=f.dtype)
        add, multiply, sigmoid = math_ops.add, math_ops.multiply, math_ops.sigmoid
        new_c = add(
            multiply(c, sigmoid(add(f, forget_bias))), multiply(sigmoid(i), self._activation(j))
        )
        new_h = multiply(self._activation(new_c), sigmoid(o))
        if self._state_is_tuple:
            return new_h, LSTMStateTuple(new_c, new_h)
        return new_h, concat([new_c, new_h], 1)


class LSTMCell(LayerRNNCell):
    """Long short-term memory with optional peepholes, clipping and a projection."""

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Initializer | None = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Activation = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        """Set the arguments of the cell.

        Args:
          num_units: the size of the memory.
          use_peepholes: whether the gates read the memory (arXiv:1402.1128).
          cell_clip: the largest absolute value of the memory.
          initializer: of the weights.
          num_proj: the size of the projected output; None for no projection.
          proj_clip: the largest absolute value of the projected output.
          num_unit_shards: the number of parts of the kernel.
          num_proj_shards: the number of parts of the projection.
          forget_bias: added to the forget gate.
          state_is_tuple: whether the state is an :class:`LSTMStateTuple`, or both side by side.
          activation: the function for new memory and output, or its name; tanh by default.
          reuse: whether the variables exist already.
          name: of the layer.
          dtype: of the variables.
          **kwargs: of :class:`Layer`.
        """
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self.input_spec = InputSpec(ndim=2)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer_from(initializer)
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._num_unit_shards = num_unit_shards
        self._num_proj_shards = num_proj_shards
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = activation_from(activation) or math_ops.tanh
        size = num_proj or num_units
        self._output_size = size
        self._state_size: Any = (
            LSTMStateTuple(num_units, size) if state_is_tuple else num_units + size
        )

    @property
    def state_size(self) -> Nested:
        """The sizes of memory and output."""
        return self._state_size

    @property
    def output_size(self) -> Nested:
        """The size of the output."""
        return self._output_size

    def build(self, inputs_shape: TensorLike) -> None:
        """Make ``kernel`` and ``bias``, the peepholes' weights and the projection."""
        depth = _depth_of(inputs_shape)
        units = self._num_units

        def partitioner(shards: int | None) -> Partitioner:
            return None if shards is None else fixed_size_partitioner(shards)

        self._kernel = self.add_variable(
            _KERNEL,
            shape=[depth + self._output_size, 4 * units],
            initializer=self._initializer,
            partitioner=partitioner(self._num_unit_shards),
        )
        zeros = init_ops.zeros_initializer()
        if self.dtype is not None:
            zeros = init_ops.zeros_initializer(dtype=self.dtype)
        self._bias = self.add_variable(_BIAS, shape=[4 * units], initializer=zeros)
        if self._use_peepholes:
            for gate in "fio":
                weight = self.add_variable(
                    f"w_{gate}_diag", shape=[units], initializer=self._initializer
                )
                setattr(self, f"_w_{gate}_diag", weight)
        if self._num_proj is not None:
            self._proj_kernel = self.add_variable(
                f"projection/{_KERNEL}",
                shape=[units, self._num_proj],
                initializer=self._initializer,
                partitioner=partitioner(self._num_proj_shards),
            )
        self.built = True

    def call(self, inputs: TensorLike, state: Nested) -> Nested:
        """Run one step.

        Raises:
          ValueError: the size of the inputs is unknown.
        """
        sigmoid = math_ops.sigmoid
        if self._state_is_tuple:
            c, h = state
        else:
            c = slice_(state, [0, 0], [-1, self._num_units])
            h = slice_(state, [0, self._num_units], [-1, self._output_size])
        if inputs.get_shape().with_rank(2).as_list()[1] is None:
            raise ValueError(f"Could not infer input size from inputs.get_shape()[-1]: {inputs}")
        gates = bias_add(matmul(concat([inputs, h], 1), self._kernel), self._bias)
        i, j, f, o = split(value=gates, num_or_size_splits=4, axis=1)
        weights = vars(self)
        if self._use_peepholes:
            new_c = sigmoid(f + self._forget_bias + weights["_w_f_diag"] * c) * c + sigmoid(
                i + weights["_w_i_diag"] * c
            ) * self._activation(j)
        else:
            new_c = sigmoid(f + self._forget_bias) * c + sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            new_c = clip_by_value(new_c, -self._cell_clip, self._cell_clip)
        if self._use_peepholes:
            new_h = sigmoid(o + weights["_w_o_diag"] * new_c) * self._activation(new_c)
        else:
            new_h = sigmoid(o) * self._activation(new_c)
        if self._num_proj is not None:
            new_h = matmul(new_h, self._proj_kernel)
            if self._proj_clip is not None:
                new_h = clip_by_value(new_h, -self._proj_clip, self._proj_clip)
        if self._state_is_tuple:
            return new_h, LSTMStateTuple(new_c, new_h)
        return new_h, concat([new_c, new_h], 1)


class MultiRNNCell(RNNCell):
    """A stack of cells as one cell."""

    def __init__(self, cells: Any, state_is_tuple: bool = True) -> None:
        """Stack cells.

        Args:
          cells: the cells, the lowest first.
          state_is_tuple: whether the state is a tuple of the cells' states, or these side by side.

        Raises:
          ValueError: there are no cells, or states to put side by side are tuples.
          TypeError: ``cells`` is no list, or an item is no cell.
        """
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not nest.is_nested(cells):
            raise TypeError(f"cells must be a list or tuple, but received: {cells}.")
        for number, cell in enumerate(cells):
            assert_like_rnn_cell(f"cell at position {number}", cell)
        self._cells = list(cells)
        self._state_is_tuple = state_is_tuple
        if not state_is_tuple and any(nest.is_nested(cell.state_size) for cell in cells):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set.  "
                f"State sizes are: {[cell.state_size for cell in cells]}"
            )

    @property
    def state_size(self) -> Nested:
        """The cells' state sizes, or their sum."""
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Nested:
        """The output size of the last cell."""
        return self._cells[-1].output_size

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike | None) -> TensorResult:
        """Return zeros for every cell."""
        with name_scope(f"{type(self).__name__}ZeroState", values=[batch_size]):
            if self._state_is_tuple:
                return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)
            return super().zero_state(batch_size, dtype)

    def call(self, inputs: TensorLike, state: Nested) -> Nested:
        """Run one step through all cells.

        Raises:
          ValueError: there are more or fewer states than cells.
        """
        if self._state_is_tuple and (not nest.is_nested(state) or len(state) != len(self._cells)):
            raise ValueError(
                f"Expected state to be a tuple of length {len(self.state_size)}, but received: "
                f"{state}"
            )
        position = 0
        new_states = []
        for number, cell in enumerate(self._cells):
            with variable_scope(f"cell_{number}"):
                if self._state_is_tuple:
                    current = state[number]
                else:
                    current = slice_(state, [0, position], [-1, cell.state_size])
                    position += cell.state_size
                inputs, new_state = cell(inputs, current)
                new_states.append(new_state)
        joined = tuple(new_states) if self._state_is_tuple else concat(new_states, 1)
        return inputs, joined
