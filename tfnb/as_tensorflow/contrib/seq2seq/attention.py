"""Attention: how well a query fits each row of a memory, and the weights that follow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tfnb.client.public.api import tf
from tfnb.framework.structures import nest
from tfnb.library.layers.base import Layer
from tfnb.library.layers.core import Dense
from tfnb.library.rnn.state import zero_states

if TYPE_CHECKING:
    from collections.abc import Callable


class AttentionMechanism:
    """The base of all mechanisms: ``mechanism(query, state) -> (alignments, next state)``."""

    @property
    def alignments_size(self) -> Any:
        """The number of rows of the memory."""
        raise NotImplementedError

    @property
    def state_size(self) -> Any:
        """The size of the state."""
        raise NotImplementedError


class _BaseAttentionMechanism(AttentionMechanism):
    """A mechanism whose keys are its memory through a linear layer.

    Args:
      query_layer: a layer for queries, or None.
      memory: [batch, time, ...], or a structure of them.
      probability_fn: ``(score, state) -> alignments``.
      memory_sequence_length: [batch], how many rows of each memory count; all by default.
      memory_layer: the layer that makes keys.
      check_inner_dims_defined: whether the memory's depth has to be known.
      score_mask_value: the score of rows that do not count; minus infinity by default.
      custom_key_value_fn: ``(keys, values) -> (keys, values)``, or None.
      name: the name of the scope.

    Raises:
      TypeError: a layer is none, or ``probability_fn`` cannot be called.
      ValueError: the depth of the memory is not known.
    """

    def __init__(
        self,
        query_layer: Layer | None,
        memory: Any,
        probability_fn: Callable[..., Any],
        memory_sequence_length: Any = None,
        memory_layer: Layer | None = None,
        check_inner_dims_defined: bool = True,
        score_mask_value: Any = None,
        custom_key_value_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        for role, layer in (("query_layer", query_layer), ("memory_layer", memory_layer)):
            if layer is not None and not isinstance(layer, Layer):
                raise TypeError(f"{role} is not a Layer: {type(layer).__name__}")
        if not callable(probability_fn):
            raise TypeError(
                f"probability_fn must be callable, saw type: {type(probability_fn).__name__}"
            )
        self._query_layer = query_layer
        self._memory_layer = memory_layer
        with tf.name_scope(name, "BaseAttentionMechanismInit", nest.flatten(memory)):
            self._values = _prepare_memory(
                memory, memory_sequence_length, check_inner_dims_defined=check_inner_dims_defined
            )
            self._keys = self._values if memory_layer is None else memory_layer(self._values)
            if custom_key_value_fn is not None:
                self._keys, self._values = custom_key_value_fn(self._keys, self._values)
            self._batch_size = _dimension(self._keys, 0)
            self._alignments_size = _dimension(self._keys, 1)
        self.dtype = self._keys.dtype if memory_layer is None else memory_layer.dtype

        def masked_probability(score: Any, state: Any) -> Any:
            return probability_fn(
                _maybe_mask_score(
                    score,
                    memory_sequence_length=memory_sequence_length,
                    score_mask_value=score_mask_value,
                ),
                state,
            )

        self._probability_fn = masked_probability

    @property
    def memory_layer(self) -> Layer | None:
        """The layer that makes keys."""
        return self._memory_layer

    @property
    def query_layer(self) -> Layer | None:
        """The layer for queries, or None."""
        return self._query_layer

    @property
    def values(self) -> Any:
        """The memory, with zeros in rows that do not count."""
        return self._values

    @property
    def keys(self) -> Any:
        """What queries are compared with."""
        return self._keys

    @property
    def batch_size(self) -> Any:
        """The number of memories: an integer where it is known, else a tensor."""
        return self._batch_size

    @property
    def alignments_size(self) -> Any:
        """The number of rows of a memory: an integer where it is known, else a tensor."""
        return self._alignments_size

    @property
    def state_size(self) -> Any:
        """The size of the state: that of alignments."""
        return self._alignments_size

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Any:
        """Return the alignments before the first step: zeros."""
        return zero_states(self._alignments_size, batch_size, dtype)

    def initial_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return the state before the first step."""
        return self.initial_alignments(batch_size, dtype)


def _dimension(tensor: Any, axis: int) -> Any:
    static = tensor.shape[axis].value
    return tf.shape(tensor)[axis] if static is None else static


def _prepare_memory(
    memory: Any,
    memory_sequence_length: Any = None,
    memory_mask: Any = None,
    check_inner_dims_defined: bool = True,
) -> Any:
    """Return the memory with zeros in rows that do not count."""
    _at_most_one(memory_sequence_length, memory_mask)
    memory = nest.map_structure(lambda m: tf.convert_to_tensor(m, name="memory"), memory)
    parts = nest.flatten(memory)
    if check_inner_dims_defined:
        for part in parts:
            if not part.shape[2:].is_fully_defined():
                raise ValueError(
                    f"Expected memory {part.name} to have fully defined inner dims, but saw "
                    f"shape: {part.shape}"
                )
    if memory_sequence_length is None and memory_mask is None:
        return memory
    dtype = parts[0].dtype
    if memory_mask is None:
        mask = tf.sequence_mask(memory_sequence_length, maxlen=tf.shape(parts[0])[1], dtype=dtype)
    else:
        mask = tf.cast(memory_mask, dtype)

    def masked(part: Any) -> Any:
        rank = tf.rank(part) if part.shape.ndims is None else part.shape.ndims
        ones = tf.ones(tf.reshape(rank - 2, [1]), tf.int32)
        return part * tf.reshape(mask, tf.concat([tf.shape(mask), ones], 0))

    return nest.map_structure(masked, memory)


def _maybe_mask_score(
    score: Any,
    memory_sequence_length: Any = None,
    memory_mask: Any = None,
    score_mask_value: Any = None,
) -> Any:
    """Return the score with ``score_mask_value`` in rows that do not count."""
    _at_most_one(memory_sequence_length, memory_mask)
    if memory_sequence_length is None and memory_mask is None:
        return score
    if score_mask_value is None:
        score_mask_value = score.dtype.as_numpy_dtype(-math.inf)
    if memory_mask is None:
        positive = tf.assert_positive(
            memory_sequence_length,
            message="All values in memory_sequence_length must be greater than zero.",
        )
        with tf.control_dependencies([positive]):
            memory_mask = tf.sequence_mask(memory_sequence_length, maxlen=tf.shape(score)[1])
    return tf.where(memory_mask, score, tf.fill(tf.shape(score), score_mask_value))


def _at_most_one(memory_sequence_length: Any, memory_mask: Any) -> None:
    if memory_sequence_length is not None and memory_mask is not None:
        raise ValueError("memory_sequence_length and memory_mask can't be provided at same time.")


def _luong_score(query: Any, keys: Any, scale: Any) -> Any:
    """Return the product of the query with each key, times ``scale`` unless it is None."""
    depth, key_units = query.shape[-1].value, keys.shape[-1].value
    if depth != key_units or depth is None:
        raise ValueError(
            "Incompatible or unknown inner dimensions between query and keys.  Query "
            f"({query}) has units: {depth}.  Keys ({keys}) have units: {key_units}.  Perhaps you "
            f"need to set num_units to the keys' dimension ({key_units})?"
        )
    score = tf.squeeze(tf.matmul(tf.expand_dims(query, 1), keys, transpose_b=True), [1])
    return score if scale is None else scale * score


def _bahdanau_score(
    processed_query: Any,
    keys: Any,
    attention_v: Any,
    attention_g: Any = None,
    attention_b: Any = None,
) -> Any:
    """Return ``v . tanh(keys + query)``; with gain and bias, v is brought to the gain's length."""
    summed = keys + tf.expand_dims(processed_query, 1)
    if attention_g is None or attention_b is None:
        return tf.reduce_sum(attention_v * tf.tanh(summed), [2])
    normed = attention_g * attention_v * tf.rsqrt(tf.reduce_sum(tf.square(attention_v)))
    return tf.reduce_sum(normed * tf.tanh(summed + attention_b), [2])


def _linear(num_units: int, name: str, dtype: Any) -> Dense:
    return Dense(num_units, name=name, use_bias=False, dtype=dtype or tf.float32)


def _without_state(probability_fn: Callable[..., Any] | None) -> Callable[..., Any]:
    chosen = tf.nn.softmax if probability_fn is None else probability_fn
    return lambda score, _: chosen(score)


class _Luong(_BaseAttentionMechanism):
    """What mechanisms have in common that score by a product."""

    _scale: bool
    _scope: str

    def _score(self, query: Any) -> Any:
        gain = (
            tf.get_variable("attention_g", [], query.dtype, initializer=tf.ones_initializer())
            if self._scale
            else None
        )
        return _luong_score(query, self._keys, gain)

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        """Return the alignments of a query, and the next state, which they are.

        Args:
          query: [batch, depth].
          state: the previous alignments.
        """
        with tf.variable_scope(None, self._scope, [query]):
            score = self._score(query)
        alignments = self._probability_fn(score, state)
        return alignments, alignments


class _Bahdanau(_BaseAttentionMechanism):
    """What mechanisms have in common that score by a layer of tanh."""

    _num_units: int
    _normalize: bool
    _scope: str

    def _score(self, query: Any) -> Any:
        processed = query if self.query_layer is None else self.query_layer(query)
        units, dtype = self._num_units, query.dtype
        weights = tf.get_variable("attention_v", [units], dtype)
        if not self._normalize:
            return _bahdanau_score(processed, self._keys, weights)
        start = tf.constant_initializer(math.sqrt(1.0 / units))
        gain = tf.get_variable("attention_g", [], dtype, initializer=start)
        bias = tf.get_variable("attention_b", [units], dtype, initializer=tf.zeros_initializer())
        return _bahdanau_score(processed, self._keys, weights, gain, bias)

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        """Return the alignments of a query, and the next state, which they are.

        Args:
          query: [batch, depth].
          state: the previous alignments.
        """
        with tf.variable_scope(None, self._scope, [query]):
            score = self._score(query)
        alignments = self._probability_fn(score, state)
        return alignments, alignments


class LuongAttention(_Luong):
    """Multiplicative attention.

    Source: Luong, Pham and Manning, effective approaches to attention.

    Args:
      num_units: depth of the keys, which is that of queries.
      memory: [batch, time, depth].
      memory_sequence_length: [batch], how many rows of each memory count.
      scale: whether a trained factor scales the scores.
      probability_fn: from scores to alignments; softmax by default.
      score_mask_value: the score of rows that do not count.
      dtype: of the layer that makes keys.
      custom_key_value_fn: ``(keys, values) -> (keys, values)``.
      name: the name of the scope.
    """

    _scope = "luong_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        probability_fn: Callable[..., Any] | None = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        custom_key_value_fn: Callable[..., Any] | None = None,
        name: str = "LuongAttention",
    ) -> None:
        super().__init__(
            query_layer=None,
            memory_layer=_linear(num_units, "memory_layer", dtype),
            memory=memory,
            probability_fn=_without_state(probability_fn),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn,
            name=name,
        )
        self._num_units = num_units
        self._scale = scale
        self._name = name


class BahdanauAttention(_Bahdanau):
    """Additive attention.

    Source: Bahdanau, Cho and Bengio, translation by jointly learning to align; Salimans and Kingma,
    weight normalization.

    Args:
      num_units: depth of keys and processed queries.
      memory: [batch, time, depth].
      memory_sequence_length: [batch], how many rows of each memory count.
      normalize: whether the vector of weights is normalized.
      probability_fn: from scores to alignments; softmax by default.
      score_mask_value: the score of rows that do not count.
      dtype: of both layers.
      custom_key_value_fn: ``(keys, values) -> (keys, values)``.
      name: the name of the scope.
    """

    _scope = "bahdanau_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        probability_fn: Callable[..., Any] | None = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        custom_key_value_fn: Callable[..., Any] | None = None,
        name: str = "BahdanauAttention",
    ) -> None:
        super().__init__(
            query_layer=_linear(num_units, "query_layer", dtype),
            memory_layer=_linear(num_units, "memory_layer", dtype),
            memory=memory,
            probability_fn=_without_state(probability_fn),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn,
            name=name,
        )
        self._num_units = num_units
        self._normalize = normalize
        self._name = name
