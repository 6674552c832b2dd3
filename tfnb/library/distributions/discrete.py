"""Distributions of class numbers: Bernoulli and Categorical."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape, dimension_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.library.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from tfnb.library.distributions.kullback_leibler import RegisterKL
from tfnb.library.distributions.probabilities import checked_class, logits_and_probs
from tfnb.library.nn.cross_entropy import sparse_softmax_cross_entropy_with_logits
from tfnb.ops.array import array_ops
from tfnb.ops.array.array_extras import sequence_mask
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.math import math_ops
from tfnb.ops.math.reduction_ops import argmax
from tfnb.ops.nn.activation_ops import softplus
from tfnb.ops.nn.cross_entropy_ops import (
    sigmoid_cross_entropy_with_logits,
)
from tfnb.ops.nn.softmax_ops import log_softmax, softmax
from tfnb.ops.random import random_ops

if TYPE_CHECKING:
    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {"distributions": ["Bernoulli", "Categorical"]}


class Bernoulli(Distribution):
    """The values 0 and 1.

    Args:
      logits: the log-odds of 1; or
      probs: the probability of 1.
      dtype: of samples.
      validate_args: whether probabilities and values are checked when the graph runs.
      allow_nan_stats: see ``Distribution``.
      name: of its scope.

    Raises:
      ValueError: both logits and probabilities are given, or neither.
    """

    def __init__(
        self,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        dtype: DTypeLike = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Bernoulli",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name) as name:
            self._logits, self._probs = logits_and_probs(
                logits, probs, validate_args=validate_args, name=name
            )
        super().__init__(
            dtype=dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._logits, self._probs],
            name=name,
        )

    @classmethod
    def _param_shapes(cls, sample_shape: TensorLike) -> dict[str, Any]:
        return {"logits": convert_to_tensor(sample_shape, dtype=dtypes.int32)}

    @property
    def logits(self) -> TensorResult:
        """The log-odds of 1."""
        return self._logits

    @property
    def probs(self) -> TensorResult:
        """The probability of 1."""
        return self._probs

    def _batch_shape_tensor(self) -> TensorResult:
        return array_ops.shape(self._logits)

    def _batch_shape(self) -> TensorShape:
        found: TensorShape = self._logits.get_shape()
        return found

    def _event_shape_tensor(self) -> TensorResult:
        return array_ops.constant([], dtype=dtypes.int32)

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    def _sample_n(self, n: TensorLike, seed: int | None) -> TensorResult:
        shape = array_ops.concat([[n], self.batch_shape_tensor()], 0)
        drawn = random_ops.random_uniform(shape, seed=seed, dtype=self.probs.dtype)
        return math_ops.cast(math_ops.less(drawn, self.probs), self.dtype)

    def _log_prob(self, event: TensorLike) -> TensorResult:
        if self.validate_args:
            event = checked_class(event, largest=1)
        event = math_ops.cast(event, self.logits.dtype)
        logits = self.logits
        shapes = event.get_shape(), logits.get_shape()
        if not all(shape.is_fully_defined() for shape in shapes) or shapes[0] != shapes[1]:
            logits = array_ops.ones_like(event) * logits
            event = array_ops.ones_like(logits) * event
        return -sigmoid_cross_entropy_with_logits(labels=event, logits=logits)

    def _entropy(self) -> TensorResult:
        return -self.logits * (math_ops.sigmoid(self.logits) - 1) + softplus(-self.logits)

    def _mean(self) -> TensorResult:
        return array_ops.identity(self.probs)

    def _variance(self) -> TensorResult:
        return self._mean() * (1.0 - self.probs)

    def _mode(self) -> TensorResult:
        return math_ops.cast(self.probs > 0.5, self.dtype)


class Categorical(Distribution):
    """The number of a class, counted from 0.

    Args:
      logits: logarithms of the weights of classes, in the last dimension; or
      probs: their probabilities.
      dtype: of samples.
      validate_args: whether probabilities and values are checked when the graph runs.
      allow_nan_stats: see ``Distribution``.
      name: of its scope.

    Raises:
      ValueError: both logits and probabilities are given, or neither.
    """

    def __init__(
        self,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        dtype: DTypeLike = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Categorical",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[logits, probs]) as name:
            self._logits, self._probs = logits_and_probs(
                logits, probs, multidimensional=True, validate_args=validate_args, name=name
            )
            static = self._logits.get_shape().with_rank_at_least(1)
            if static.ndims is not None:
                self._batch_rank = convert_to_tensor(
                    static.ndims - 1, dtype=dtypes.int32, name="batch_rank"
                )
            else:
                with name_scope("batch_rank"):
                    self._batch_rank = array_ops.rank(self._logits) - 1
            sizes = array_ops.shape_internal(
                self._logits, name="logits_shape", out_type=dtypes.int32
            )
            classes = dimension_value(static[-1]) if static.ndims is not None else None
            if classes is not None:
                self._event_size = convert_to_tensor(classes, dtype=dtypes.int32, name="event_size")
            else:
                with name_scope("event_size"):
                    self._event_size = sizes[self._batch_rank]
            if static[:-1].is_fully_defined():
                self._batch_sizes = array_ops.constant(
                    static[:-1].as_list(), dtype=dtypes.int32, name="batch_shape"
                )
            else:
                with name_scope("batch_shape"):
                    self._batch_sizes = sizes[:-1]
        super().__init__(
            dtype=dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._logits, self._probs],
            name=name,
        )

    @classmethod
    def _param_shapes(cls, sample_shape: TensorLike) -> dict[str, Any]:
        return {"logits": convert_to_tensor(sample_shape, dtype=dtypes.int32)}

    @property
    def event_size(self) -> Any:
        """The number of classes, a tensor."""
        return self._event_size

    @property
    def logits(self) -> TensorResult:
        """The logarithms of weights."""
        return self._logits

    @property
    def probs(self) -> TensorResult:
        """The probabilities."""
        return self._probs

    def _batch_shape_tensor(self) -> TensorResult:
        return array_ops.identity(self._batch_sizes)

    def _batch_shape(self) -> TensorShape:
        found: TensorShape = self.logits.get_shape()[:-1]
        return found

    def _event_shape_tensor(self) -> TensorResult:
        return array_ops.constant([], dtype=dtypes.int32)

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    def _sample_n(self, n: TensorLike, seed: int | None) -> TensorResult:
        rows = self.logits
        if rows.get_shape().ndims != 2:
            rows = array_ops.reshape(rows, [-1, self.event_size])
        wanted = dtypes.int64 if self.dtype.size > 4 else dtypes.int32
        drawn = random_ops.multinomial(rows, n, seed=seed, output_dtype=wanted)
        drawn = array_ops.reshape(
            array_ops.transpose(drawn), array_ops.concat([[n], self.batch_shape_tensor()], 0)
        )
        return math_ops.cast(drawn, self.dtype)

    def _broadcast(self, event: TensorLike, parameters: TensorLike) -> tuple[Nested, Nested]:
        """Return a value and the parameters, broadcast to each other; floats become integers."""
        if event.dtype.is_floating:
            event = cast(event, dtypes.int32)
        shape = parameters.get_shape()
        same = (
            shape.ndims is not None
            and shape[:-1].is_fully_defined()
            and event.get_shape().is_fully_defined()
            and event.get_shape() == shape[:-1]
        )
        if not same:
            ones = array_ops.ones_like(event[..., None], dtype=parameters.dtype)
            parameters = parameters * ones
            event = event * array_ops.ones(
                array_ops.shape(parameters)[:-1], dtype=event.dtype.base_dtype
            )
        return event, parameters

    def _cdf(self, k: TensorLike) -> TensorResult:
        k = convert_to_tensor(k, name="k")
        if self.validate_args:
            k = checked_class(k)
        k, probs = self._broadcast(k, self.probs)
        rows = array_ops.reshape(probs, [-1, self._event_size])
        flat = array_ops.reshape(k, [-1])
        # The probabilities of the classes before class k.
        before = sequence_mask(flat, self._event_size)
        kept = array_ops.where(before, rows, array_ops.zeros_like(rows))
        return array_ops.reshape(math_ops.reduce_sum(kept, axis=-1), array_ops.shape(k))

    def _log_prob(self, k: TensorLike) -> TensorResult:
        k = convert_to_tensor(k, name="k")
        if self.validate_args:
            k = checked_class(k)
        k, logits = self._broadcast(k, self.logits)
        return -sparse_softmax_cross_entropy_with_logits(labels=k, logits=logits)

    def _entropy(self) -> TensorResult:
        return -math_ops.reduce_sum(log_softmax(self.logits) * self.probs, axis=-1)

    def _mode(self) -> TensorResult:
        best = argmax(self.logits, axis=self._batch_rank)
        best = math_ops.cast(best, self.dtype)
        best.set_shape(self.batch_shape)
        return best


@RegisterKL(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(a: Bernoulli, b: Bernoulli, name: str | None = None) -> TensorResult:
    with name_scope(name, "kl_bernoulli_bernoulli", values=[a.logits, b.logits]):
        no = softplus(-b.logits) - softplus(-a.logits)
        yes = softplus(b.logits) - softplus(a.logits)
        return math_ops.sigmoid(a.logits) * no + math_ops.sigmoid(-a.logits) * yes


@RegisterKL(Categorical, Categorical)
def _kl_categorical_categorical(
    a: Categorical, b: Categorical, name: str | None = None
) -> TensorResult:
    with name_scope(name, "kl_categorical_categorical", values=[a.logits, b.logits]):
        difference = log_softmax(a.logits) - log_softmax(b.logits)
        return math_ops.reduce_sum(softmax(a.logits) * difference, axis=-1)
