"""Attention that moves through a memory in one direction only.

Source: Raffel, Luong, Liu, Weiss and Eck, online and linear-time attention.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tfnb.as_tensorflow.contrib.seq2seq.attention import _Bahdanau, _linear, _Luong
from tfnb.client.public.api import tf


def safe_cumprod(x: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the cumulative product of numbers in [0, 1] as a sum of logarithms.

    Its gradient is defined where a number is 0.

    Args:
      x: the numbers.
      *args: for ``tf.cumsum``.
      **kwargs: for ``tf.cumsum``.
    """
    with tf.name_scope(None, "SafeCumprod", [x]):
        x = tf.convert_to_tensor(x, name="x")
        tiny = np.finfo(x.dtype.as_numpy_dtype).tiny
        return tf.exp(tf.cumsum(tf.log(tf.clip_by_value(x, tiny, 1)), *args, **kwargs))


def monotonic_attention(p_choose_i: Any, previous_attention: Any, mode: str) -> Any:
    """Return the distribution of attention over a memory that is read from left to right.

    Args:
      p_choose_i: [batch, time], the probability that the scan stops at each row.
      previous_attention: [batch, time], the distribution one step of the output before.
      mode: "recursive" (slow, exact), "parallel" (fast, loses precision where probabilities are
        near 0 or 1) or "hard" (probabilities are 0 or 1, and no gradients are needed).

    Raises:
      ValueError: another mode.
    """
    p_choose_i = tf.convert_to_tensor(p_choose_i, name="p_choose_i")
    previous_attention = tf.convert_to_tensor(previous_attention, name="previous_attention")
    if mode == "recursive":
        kept = tf.concat([tf.ones_like(p_choose_i[:, :1]), 1 - p_choose_i[:, :-1]], 1)
        carried = tf.scan(
            lambda before, given: given[0] * before + given[1],
            [tf.transpose(kept), tf.transpose(previous_attention)],
            tf.zeros_like(p_choose_i[:, 0]),
        )
        return p_choose_i * tf.transpose(carried)
    if mode == "parallel":
        passed = safe_cumprod(1 - p_choose_i, axis=1, exclusive=True)
        arrived = tf.cumsum(previous_attention / tf.clip_by_value(passed, 1e-10, 1.0), axis=1)
        return p_choose_i * passed * arrived
    if mode == "hard":
        p_choose_i *= tf.cumsum(previous_attention, axis=1)
        return p_choose_i * tf.cumprod(1 - p_choose_i, axis=1, exclusive=True)
    raise ValueError("mode must be 'recursive', 'parallel', or 'hard'.")


def _monotonic_probability_fn(
    score: Any, previous_alignments: Any, sigmoid_noise: float, mode: str, seed: Any = None
) -> Any:
    """Return alignments: stops where the sigmoid of the score, with noise, says so."""
    if sigmoid_noise > 0:
        score += sigmoid_noise * tf.random_normal(tf.shape(score), dtype=score.dtype, seed=seed)
    chosen = tf.cast(score > 0, score.dtype) if mode == "hard" else tf.sigmoid(score)
    return monotonic_attention(chosen, previous_alignments, mode)


class _Monotonic:
    """What both mechanisms add: the first row is attended at first, and a bias of scores."""

    _alignments_size: Any
    _score_bias_init: float

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Any:
        """Return the alignments before the first step: all at the first row."""
        first = tf.zeros([batch_size], tf.int32)
        return tf.one_hot(first, self._alignments_size, dtype=dtype)

    def _score(self, query: Any) -> Any:
        score = super()._score(query)  # type: ignore[misc]
        start = tf.constant_initializer(self._score_bias_init)
        return score + tf.get_variable("attention_score_bias", [], query.dtype, initializer=start)


class BahdanauMonotonicAttention(_Monotonic, _Bahdanau):
    """Monotonic attention with additive scores.

    Args:
      num_units: depth of keys and processed queries.
      memory: [batch, time, depth].
      memory_sequence_length: [batch], how many rows of each memory count.
      normalize: whether the vector of weights is normalized.
      score_mask_value: the score of rows that do not count.
      sigmoid_noise: standard deviation of noise before the sigmoid, which makes training discrete.
      sigmoid_noise_seed: seed of the noise.
      score_bias_init: initial bias of scores; a negative one for long memories.
      mode: as in ``monotonic_attention``.
      dtype: of both layers.
      name: the name of the scope.
    """

    _scope = "bahdanau_monotonic_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: Any = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: Any = None,
        name: str = "BahdanauMonotonicAttention",
    ) -> None:
        super().__init__(
            query_layer=_linear(num_units, "query_layer", dtype),
            memory_layer=_linear(num_units, "memory_layer", dtype),
            memory=memory,
            probability_fn=partial(
                _monotonic_probability_fn,
                sigmoid_noise=sigmoid_noise,
                mode=mode,
                seed=sigmoid_noise_seed,
            ),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            name=name,
        )
        self._num_units = num_units
        self._normalize = normalize
        self._score_bias_init = score_bias_init
        self._name = name


class LuongMonotonicAttention(_Monotonic, _Luong):
    """Monotonic attention with multiplicative scores.

    Args:
      num_units: depth of the keys, which is that of queries.
      memory: [batch, time, depth].
      memory_sequence_length: [batch], how many rows of each memory count.
      scale: whether a trained factor scales the scores.
      score_mask_value: the score of rows that do not count.
      sigmoid_noise: standard deviation of noise before the sigmoid, which makes training discrete.
      sigmoid_noise_seed: seed of the noise.
      score_bias_init: initial bias of scores; a negative one for long memories.
      mode: as in ``monotonic_attention``.
      dtype: of the layer that makes keys.
      name: the name of the scope.
    """

    _scope = "luong_monotonic_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: Any = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: Any = None,
        name: str = "LuongMonotonicAttention",
    ) -> None:
        super().__init__(
            query_layer=None,
            memory_layer=_linear(num_units, "memory_layer", dtype),
            memory=memory,
            probability_fn=partial(
                _monotonic_probability_fn,
                sigmoid_noise=sigmoid_noise,
                mode=mode,
                seed=sigmoid_noise_seed,
            ),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            name=name,
        )
        self._num_units = num_units
        self._scale = scale
        self._score_bias_init = score_bias_init
        self._name = name
