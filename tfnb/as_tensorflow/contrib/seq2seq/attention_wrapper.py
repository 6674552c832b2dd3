"""A cell that attends to memories: what they give is part of its next input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tfnb.as_tensorflow.contrib.seq2seq.attention import AttentionMechanism as AttentionMechanism
from tfnb.as_tensorflow.contrib.seq2seq.attention import BahdanauAttention as BahdanauAttention
from tfnb.as_tensorflow.contrib.seq2seq.attention import LuongAttention as LuongAttention
from tfnb.as_tensorflow.contrib.seq2seq.attention import (
    _bahdanau_score as _bahdanau_score,
)
from tfnb.as_tensorflow.contrib.seq2seq.attention import (
    _BaseAttentionMechanism as _BaseAttentionMechanism,
)
from tfnb.as_tensorflow.contrib.seq2seq.attention import _dimension
from tfnb.as_tensorflow.contrib.seq2seq.attention import _luong_score as _luong_score
from tfnb.as_tensorflow.contrib.seq2seq.attention import _maybe_mask_score as _maybe_mask_score
from tfnb.as_tensorflow.contrib.seq2seq.attention import _prepare_memory as _prepare_memory
from tfnb.as_tensorflow.contrib.seq2seq.monotonic import (
    BahdanauMonotonicAttention as BahdanauMonotonicAttention,
)
from tfnb.as_tensorflow.contrib.seq2seq.monotonic import (
    LuongMonotonicAttention as LuongMonotonicAttention,
)
from tfnb.as_tensorflow.contrib.seq2seq.monotonic import (
    _monotonic_probability_fn as _monotonic_probability_fn,
)
from tfnb.as_tensorflow.contrib.seq2seq.monotonic import monotonic_attention as monotonic_attention
from tfnb.as_tensorflow.contrib.seq2seq.monotonic import safe_cumprod as safe_cumprod
from tfnb.client.public.api import tf
from tfnb.framework.structures import nest
from tfnb.framework.tensor import Tensor
from tfnb.library.layers.core import Dense
from tfnb.library.rnn.cells import RNNCell
from tfnb.library.rnn.state import assert_like_rnn_cell, zero_states

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_TILED = (
    "Are you using the BeamSearchDecoder?  You may need to tile your {what} via the "
    "tf.contrib.seq2seq.tile_batch function with argument multiple=beam_width."
)


class AttentionWrapperState(NamedTuple):
    """The state of an ``AttentionWrapper``.

    Attributes:
      cell_state: the inner cell's state.
      attention: what was read from the memories in the last step.
      time: the number of steps.
      alignments: the last alignments, one for each mechanism.
      alignment_history: arrays of all alignments, or ().
      attention_state: the mechanisms' states.
    """

    cell_state: Any
    attention: Any
    time: Any
    alignments: Any
    alignment_history: Any
    attention_state: Any

    def clone(self, **kwargs: Any) -> AttentionWrapperState:
        """Return a state with other members, whose tensors must have the same shapes.

        Raises:
          ValueError: a shape differs.
        """
        return nest.map_structure(  # type: ignore[no-any-return]
            _with_same_shape, self, self._replace(**kwargs)
        )


def _with_same_shape(old: Any, new: Any) -> Any:
    if not isinstance(old, Tensor) or not isinstance(new, Tensor):
        return new
    if not new.shape.is_compatible_with(old.shape):
        raise ValueError(
            "The shape of the AttentionWrapperState is expected to be same as the one to clone. "
            f"self.shape: {old.shape}, input.shape: {new.shape}"
        )
    if new.shape.is_fully_defined() and old.shape.is_fully_defined():
        return new
    return tf.ensure_shape(new, old.shape.merge_with(new.shape))


def hardmax(logits: Any, name: str | None = None) -> Any:
    """Return 1 at the first largest number of each row, and 0 elsewhere.

    Args:
      logits: [batch, classes].
      name: the name of the scope.
    """
    with tf.name_scope(name, "Hardmax", [logits]):
        logits = tf.convert_to_tensor(logits, name="logits")
        return tf.one_hot(tf.argmax(logits, -1), _dimension(logits, -1), dtype=logits.dtype)


def _compute_attention(
    attention_mechanism: Any, cell_output: Any, attention_state: Any, attention_layer: Any
) -> tuple[Any, Any, Any]:
    """Return the attention, the alignments and the mechanism's next state."""
    alignments, next_state = attention_mechanism(cell_output, state=attention_state)
    read = tf.matmul(tf.expand_dims(alignments, 1), attention_mechanism.values)
    context = tf.squeeze(read, [1])
    if attention_layer is None:
        return context, alignments, next_state
    return attention_layer(tf.concat([cell_output, context], 1)), alignments, next_state


def _with_attention(inputs: Any, attention: Any) -> Any:
    return tf.concat([inputs, attention], -1)


class AttentionWrapper(RNNCell):
    """A cell around another, whose outputs query memories.

    Args:
      cell: the inner cell.
      attention_mechanism: a mechanism, or a list of them.
      attention_layer_size: size of a linear layer over output and context, or one for each
        mechanism; None: the attention is the context.
      alignment_history: whether all alignments are kept in arrays.
      cell_input_fn: ``(inputs, attention) -> input``; joins them by default.
      output_attention: whether the output is the attention, or else the inner cell's output.
      initial_cell_state: the inner cell's state that ``zero_state`` returns.
      name: the layer's name.
      attention_layer: a layer, or one for each mechanism, instead of ``attention_layer_size``.
      attention_fn: instead of ``_compute_attention``.
      dtype: the layer's type.

    Raises:
      TypeError: a mechanism is none, or a function cannot be called.
      ValueError: the layers are not as many as the mechanisms, or given twice.
    """

    def __init__(
        self,
        cell: Any,
        attention_mechanism: Any,
        attention_layer_size: Any = None,
        alignment_history: bool = False,
        cell_input_fn: Callable[..., Any] | None = None,
        output_attention: bool = True,
        initial_cell_state: Any = None,
        name: str | None = None,
        attention_layer: Any = None,
        attention_fn: Callable[..., Any] | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        assert_like_rnn_cell("cell", cell)
        self._is_multi = isinstance(attention_mechanism, list | tuple)
        self._attention_mechanisms = _as_tuple(attention_mechanism)
        for mechanism in self._attention_mechanisms:
            if not isinstance(mechanism, AttentionMechanism):
                raise TypeError(
                    "attention_mechanism must be an AttentionMechanism or list of multiple "
                    f"AttentionMechanism instances, saw type: {type(mechanism).__name__}"
                )
        if cell_input_fn is not None and not callable(cell_input_fn):
            raise TypeError(
                f"cell_input_fn must be callable, saw type: {type(cell_input_fn).__name__}"
            )
        self._cell = cell
        self._cell_input_fn = cell_input_fn or _with_attention
        self._attention_fn = attention_fn or _compute_attention
        self._output_attention = output_attention
        self._alignment_history = alignment_history
        self._attention_layers, self._attention_layer_size = self._layers_and_size(
            attention_layer_size, attention_layer
        )
        with tf.name_scope(name, "AttentionWrapperInit"):
            self._initial_cell_state = (
                None if initial_cell_state is None else self._checked_initial(initial_cell_state)
            )

    def _layers_and_size(self, sizes: Any, layers: Any) -> tuple[tuple[Any, ...] | None, int]:
        mechanisms = self._attention_mechanisms
        if sizes is not None and layers is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        if sizes is not None:
            sizes = _as_tuple(sizes)
            _check_number("attention_layer_size", "integer", sizes, mechanisms)
            made = tuple(
                Dense(size, name="attention_layer", use_bias=False, dtype=mechanism.dtype)
                for size, mechanism in zip(sizes, mechanisms, strict=True)
            )
            return made, sum(sizes)
        depths = [mechanism.values.shape[-1].value for mechanism in mechanisms]
        if layers is None:
            return None, sum(depths)
        given = _as_tuple(layers)
        _check_number("attention_layer", "layer", given, mechanisms)
        widths = [
            layer.compute_output_shape([None, self._cell.output_size + depth])[-1].value
            for layer, depth in zip(given, depths, strict=True)
        ]
        return given, sum(widths)

    def _checked_initial(self, state: Any) -> Any:
        says = (
            f"When constructing AttentionWrapper {self.name}: Non-matching batch sizes between the "
            "memory (encoder output) and initial_cell_state.  "
            + _TILED.format(what="initial state")
        )
        checks = self._batch_size_checks(_dimension(nest.flatten(state)[-1], 0), says)
        with tf.control_dependencies(checks):
            return nest.map_structure(
                lambda part: tf.identity(part, name="check_initial_cell_state"), state
            )

    def _batch_size_checks(self, batch_size: Any, message: str) -> list[Any]:
        return [
            tf.assert_equal(batch_size, mechanism.batch_size, message=message)
            for mechanism in self._attention_mechanisms
        ]

    def _item_or_tuple(self, parts: Iterable[Any]) -> Any:
        found = tuple(parts)
        return found if self._is_multi else found[0]

    @property
    def output_size(self) -> Any:
        """The size of the attention, or that of the inner cell's output."""
        return self._attention_layer_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> Any:
        """The sizes of the members of ``AttentionWrapperState``."""
        mechanisms = self._attention_mechanisms
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            time=tf.TensorShape([]),
            attention=self._attention_layer_size,
            alignments=self._item_or_tuple(one.alignments_size for one in mechanisms),
            attention_state=self._item_or_tuple(one.state_size for one in mechanisms),
            alignment_history=self._item_or_tuple(
                one.alignments_size if self._alignment_history else () for one in mechanisms
            ),
        )

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return the state before the first step.

        The inner cell's state is ``initial_cell_state`` if that was given. A step raises
        InvalidArgumentError if the memories have another batch size.

        Args:
          batch_size: a number or a scalar.
          dtype: the type of the states.
        """
        mechanisms = self._attention_mechanisms
        with tf.name_scope(f"{type(self).__name__}ZeroState", values=[batch_size]):
            says = (
                f"When calling zero_state of AttentionWrapper {self.name}: Non-matching batch "
                "sizes between the memory (encoder output) and the requested batch size.  Are you "
                "using the BeamSearchDecoder?  If so, make sure your encoder output has been tiled "
                "to beam_width via tf.contrib.seq2seq.tile_batch, and the batch_size= argument "
                "passed to zero_state is batch_size * beam_width."
            )
            cell_state = self._initial_cell_state
            if cell_state is None:
                cell_state = self._cell.zero_state(batch_size, dtype)
            with tf.control_dependencies(self._batch_size_checks(batch_size, says)):
                cell_state = nest.map_structure(
                    lambda part: tf.identity(part, name="checked_cell_state"), cell_state
                )
            first = [one.initial_alignments(batch_size, dtype) for one in mechanisms]
            return AttentionWrapperState(
                cell_state=cell_state,
                time=tf.zeros([], tf.int32),
                attention=zero_states(self._attention_layer_size, batch_size, dtype),
                alignments=self._item_or_tuple(first),
                attention_state=self._item_or_tuple(
                    one.initial_state(batch_size, dtype) for one in mechanisms
                ),
                alignment_history=self._item_or_tuple(
                    tf.TensorArray(dtype, size=0, dynamic_size=True, element_shape=one.shape)
                    if self._alignment_history
                    else ()
                    for one in first
                ),
            )

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Return the output and the next state of one step.

        Raises:
          TypeError: the state is no ``AttentionWrapperState``.
        """
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(
                "Expected state to be instance of AttentionWrapperState. Received type "
                f"{type(state)} instead."
            )
        cell_inputs = self._cell_input_fn(inputs, state.attention)
        cell_output, next_cell_state = self._cell(cell_inputs, state.cell_state)
        says = (
            f"When applying AttentionWrapper {self.name}: Non-matching batch sizes between the "
            "memory (encoder output) and the query (decoder output).  "
            + _TILED.format(what="memory input")
        )
        checks = self._batch_size_checks(_dimension(cell_output, 0), says)
        with tf.control_dependencies(checks):
            cell_output = tf.identity(cell_output, name="checked_cell_output")
        states, histories = state.attention_state, state.alignment_history
        if not self._is_multi:
            states, histories = [states], [histories]
        layers = self._attention_layers or [None] * len(self._attention_mechanisms)
        found = [
            self._attention_fn(mechanism, cell_output, before, layer)
            for mechanism, before, layer in zip(
                self._attention_mechanisms, states, layers, strict=True
            )
        ]
        attention = tf.concat([one[0] for one in found], 1)
        alignments = [one[1] for one in found]
        next_state = AttentionWrapperState(
            time=state.time + 1,
            cell_state=next_cell_state,
            attention=attention,
            attention_state=self._item_or_tuple(one[2] for one in found),
            alignments=self._item_or_tuple(alignments),
            alignment_history=self._item_or_tuple(
                history.write(state.time, one) if self._alignment_history else ()
                for history, one in zip(histories, alignments, strict=True)
            ),
        )
        return (attention if self._output_attention else cell_output), next_state


def _as_tuple(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, list | tuple) else (given,)


def _check_number(name: str, kind: str, given: tuple[Any, ...], mechanisms: Any) -> None:
    if len(given) != len(mechanisms):
        raise ValueError(
            f"If provided, {name} must contain exactly one {kind} per attention_mechanism, saw: "
            f"{len(given)} vs {len(mechanisms)}"
        )
