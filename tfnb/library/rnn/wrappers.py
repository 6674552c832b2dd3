"""Cells around cells: dropout, a residual connection, a device."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import device as device_scope
from tfnb.framework.scopes import name_scope
from tfnb.framework.structures import nest
from tfnb.library.control_flow.tensor_array import TensorArray
from tfnb.library.nn import nn_ops
from tfnb.library.rnn.cells import LSTMStateTuple, RNNCell
from tfnb.library.rnn.state import assert_like_rnn_cell
from tfnb.ops.array.concat_ops import concat
from tfnb.ops.math import math_ops
from tfnb.ops.random import random_ops

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.tensor_shape import ShapeLike
    from tfnb.framework.tensor_types import DeviceLike, Nested, ScopeLike, TensorLike, TensorResult

EXPORTS = {"nn.rnn_cell": ["DeviceWrapper", "DropoutWrapper", "ResidualWrapper"]}


class CellWrapper(RNNCell):
    """The common part of all wrappers; they have no scope of their own."""

    def __init__(self, cell: RNNCell, **kwargs: Any) -> None:
        """Wrap a cell.

        Raises:
          TypeError: ``cell`` is no cell.
        """
        super().__init__(**kwargs)
        assert_like_rnn_cell("cell", cell)
        self.cell = cell

    @property
    def state_size(self) -> Nested:
        """The state size of the cell."""
        return self.cell.state_size

    @property
    def output_size(self) -> Nested:
        """The output size of the cell."""
        return self.cell.output_size

    def zero_state(self, batch_size: TensorLike, dtype: Any) -> TensorResult:
        """Return the zero state of the cell."""
        with name_scope(f"{type(self).__name__}ZeroState", values=[batch_size]):
            return self.cell.zero_state(batch_size, dtype)

    def __call__(
        self, inputs: TensorLike, state: Nested, scope: ScopeLike | None = None, **kwargs: Any
    ) -> TensorResult:
        """Run one step of the cell and the wrapper's own computation."""
        if scope is not None:
            kwargs["scope"] = scope
        return self._step(inputs, state, kwargs)

    def _step(self, inputs: TensorLike, state: Nested, kwargs: dict[str, Any]) -> TensorResult:
        raise NotImplementedError


def _without_memory(state: Nested) -> Any:
    """Return which states get dropout by default: all but an LSTM's memory."""
    if isinstance(state, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not isinstance(state, TensorArray)


def _chosen(visitor: Callable[[Any], Any], structure: Nested) -> TensorResult:
    """Return which parts of a structure a visitor chooses, as a shallow structure of bools."""
    found = visitor(structure)
    if found is False or not nest.is_nested(structure):
        return found

    def inside(choice: Any, part: TensorLike) -> TensorResult:
        return _chosen(visitor, part) if choice is True else choice

    if found is True:
        parts = [_chosen(visitor, part) for part in nest.values_of(structure)]
    else:
        pairs = zip(nest.values_of(found), nest.values_of(structure), strict=True)
        parts = [inside(choice, part) for choice, part in pairs]
    return nest.of_same_kind(structure, parts)


class DropoutWrapper(CellWrapper):
    """A cell with dropout of its inputs, state and output."""

    def __init__(
        self,
        cell: RNNCell,
        input_keep_prob: TensorLike = 1.0,
        output_keep_prob: TensorLike = 1.0,
        state_keep_prob: TensorLike = 1.0,
        variational_recurrent: bool = False,
        input_size: TensorLike | None = None,
        dtype: Any = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable[[Any], Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Wrap a cell.

        Args:
          cell: the cell.
          input_keep_prob: the probability that an element of the inputs is kept.
          output_keep_prob: the probability that an element of the output is kept.
          state_keep_prob: the probability that an element of the state is kept; an LSTM's memory
            is kept entirely.
          variational_recurrent: whether all steps drop the same elements (arXiv:1512.05287).
          input_size: the inputs' size, required if ``variational_recurrent``.
          dtype: the type of inputs, state and output, required if ``variational_recurrent``.
          seed: the seed; each place derives its own from it.
          dropout_state_filter_visitor: selects the states for dropout: a function of a state that
            returns a bool, or bools for its parts.
          **kwargs: of :class:`Layer`.

        Raises:
          TypeError: the visitor cannot be called.
          ValueError: a probability is outside of [0, 1], or an argument is missing.
        """
        super().__init__(cell, dtype=dtype, **kwargs)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError(
                "dropout_state_filter_visitor must be callable. Received: "
                f"{dropout_state_filter_visitor}"
            )
        self._visitor = dropout_state_filter_visitor or _without_memory
        with name_scope("DropoutWrapperInit"):
            self._input_keep_prob = _probability(input_keep_prob, "input_keep_prob")
            self._state_keep_prob = _probability(state_keep_prob, "state_keep_prob")
            self._output_keep_prob = _probability(output_keep_prob, "output_keep_prob")
        self._variational_recurrent = variational_recurrent
        self._seed = seed
        self._noise: dict[str, Any] = {}
        if variational_recurrent:
            if dtype is None:
                raise ValueError("When variational_recurrent=True, dtype must be provided")
            if _drops(self._input_keep_prob):
                if input_size is None:
                    raise ValueError(
                        "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, "
                        "input_size must be provided"
                    )
                self._noise["input"] = self._noise_like(input_size, "input", dtype)
            self._noise["state"] = self._noise_like(cell.state_size, "state", dtype)
            self._noise["output"] = self._noise_like(cell.output_size, "output", dtype)

    def _noise_like(self, sizes: TensorLike, place: str, dtype: Any) -> TensorResult:
        counter = iter(range(len(nest.flatten(sizes))))

        def noise(size: ShapeLike) -> TensorResult:
            shape = concat(([1], TensorShape(size).as_list()), 0)
            seed = self._seed_of(place, next(counter))
            return random_ops.random_uniform(shape, seed=seed, dtype=dtype)

        return nest.map_structure(noise, sizes)

    def _seed_of(self, place: str, number: int) -> int | None:
        if self._seed is None:
            return None
        text = f"{self._seed}{place}_{number}".encode()
        return int(hashlib.md5(text).hexdigest()[:8], 16) & 0x7FFFFFFF

    def _dropped(
        self, values: TensorLike, place: str, keep_prob: TensorLike, chosen: Any = None
    ) -> TensorResult:
        """Return the values with dropout of the chosen ones."""
        shallow = values if chosen is None else chosen
        counter = iter(range(len(nest.flatten(shallow))))

        def dropped(choice: Any, value: TensorLike, *noise: Any) -> TensorResult:
            number = next(counter)
            if isinstance(choice, bool) and not choice:
                return value
            if noise:
                kept = math_ops.floor(keep_prob + noise[0])
                result = math_ops.divide(value, keep_prob) * kept
                result.set_shape(value.get_shape())
                return result
            return nn_ops.dropout(value, rate=1.0 - keep_prob, seed=self._seed_of(place, number))

        if self._variational_recurrent:
            return nest.map_structure_up_to(shallow, dropped, shallow, values, self._noise[place])
        return nest.map_structure_up_to(shallow, dropped, shallow, values)

    def _step(self, inputs: TensorLike, state: Nested, kwargs: dict[str, Any]) -> Nested:
        if _drops(self._input_keep_prob):
            inputs = self._dropped(inputs, "input", self._input_keep_prob)
        output, new_state = self.cell(inputs, state, **kwargs)
        if _drops(self._state_keep_prob):
            chosen = _chosen(self._visitor, new_state)
            new_state = self._dropped(new_state, "state", self._state_keep_prob, chosen)
        if _drops(self._output_keep_prob):
            output = self._dropped(output, "output", self._output_keep_prob)
        return output, new_state


def _drops(keep_prob: TensorLike) -> bool:
    return not isinstance(keep_prob, float) or keep_prob < 1


def _probability(given: TensorLike, name: str) -> TensorResult:
    tensor = convert_to_tensor(given)
    value = constant_value(tensor)
    if value is None:
        return tensor
    if value < 0 or value > 1:
        raise ValueError(f"Parameter {name} must be between 0 and 1. Received {value}")
    return float(value)


class ResidualWrapper(CellWrapper):
    """A cell whose inputs are added to its output."""

    def __init__(
        self, cell: RNNCell, residual_fn: Callable[[Any, Any], Any] | None = None, **kwargs: Any
    ) -> None:
        """Wrap a cell.

        Args:
          cell: the cell.
          residual_fn: a function of (inputs, output); their sum by default.
          **kwargs: of :class:`Layer`.
        """
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn

    def _step(self, inputs: TensorLike, state: Nested, kwargs: dict[str, Any]) -> Nested:
        outputs, new_state = self.cell(inputs, state, **kwargs)
        return (self._residual_fn or _summed)(inputs, outputs), new_state


def _summed(inputs: TensorLike, outputs: TensorLike) -> TensorResult:
    def check(one: TensorLike, other: TensorLike) -> None:
        one.get_shape().assert_is_compatible_with(other.get_shape())

    nest.assert_same_structure(inputs, outputs)
    nest.map_structure(check, inputs, outputs)
    return nest.map_structure(lambda one, other: one + other, inputs, outputs)


class DeviceWrapper(CellWrapper):
    """A cell that runs on a device."""

    def __init__(self, cell: RNNCell, device: DeviceLike, **kwargs: Any) -> None:
        """Wrap a cell.

        Args:
          cell: the cell.
          device: a device, as for ``tf.device``.
          **kwargs: of :class:`Layer`.
        """
        super().__init__(cell, **kwargs)
        self._device = device

    def zero_state(self, batch_size: TensorLike, dtype: Any) -> TensorResult:
        """Return the zero state of the cell, on the device."""
        with (
            name_scope(f"{type(self).__name__}ZeroState", values=[batch_size]),
            device_scope(self._device),
        ):
            return self.cell.zero_state(batch_size, dtype)

    def _step(self, inputs: TensorLike, state: Nested, kwargs: dict[str, Any]) -> TensorResult:
        with device_scope(self._device):
            return self.cell(inputs, state, **kwargs)
