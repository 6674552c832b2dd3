"""``tf.distributions.Distribution``: the common part of all distributions.

A subclass implements what it supports in methods with an underscore: ``_sample_n`` draws,
``_log_prob`` or ``_prob`` is its density, ``_mean``, ``_variance`` and so on. The public methods
open the name scope of the distribution, convert values, and derive one result from another where
that is possible.
"""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape, as_shape
from tfnb.framework.constant_value import constant_value, constant_value_as_shape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.framework.tensor import Tensor
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops
from tfnb.ops.math.cwise_unary_ops import log1p

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.framework.tensor_types import Config, Nested, TensorLike, TensorResult

EXPORTS = {
    "distributions": [
        "Distribution", "FULLY_REPARAMETERIZED", "NOT_REPARAMETERIZED", "ReparameterizationType",
    ]
}  # fmt: skip


class ReparameterizationType:
    """Whether gradients pass through samples to the parameters of a distribution.

    Args:
      rep_type: its name.
    """

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameterization Type: {self._rep_type}>"


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")


def new_seed(seed: int | None, salt: str) -> int | None:
    """Return another seed for a second draw of one sample; None stays None."""
    if seed is None:
        return None
    digest = hashlib.md5(f"{seed}{salt}".encode(), usedforsecurity=False).hexdigest()
    return int(digest[:8], 16) & 0x7FFFFFFF


class Distribution:
    """The base of all distributions.

    Args:
      dtype: of samples.
      reparameterization_type: whether gradients pass through samples.
      validate_args: whether arguments are checked when the graph runs.
      allow_nan_stats: whether an undefined statistic is NaN; otherwise it is an error.
      parameters: the constructor's arguments.
      graph_parents: the tensors among the parameters.
      name: of its scope.

    Raises:
      ValueError: a graph parent is no tensor.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any] | None = None,
        graph_parents: list[Any] | None = None,
        name: str | None = None,
    ) -> None:
        graph_parents = [] if graph_parents is None else graph_parents
        for index, one in enumerate(graph_parents):
            if not isinstance(one, Tensor):
                raise ValueError(f"Graph parent item {index} is not a Tensor; {one}.")
        if not name or not name.endswith("/"):
            with name_scope(name or type(self).__name__) as scope:
                name = scope
        assert name is not None
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype)
        self._reparameterization_type = reparameterization_type
        self._allow_nan_stats = allow_nan_stats
        self._validate_args = validate_args
        self._parameters_given = dict(parameters or {})
        self._graph_parents = graph_parents
        self._name = name

    # -- properties --------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Its name scope, with a slash at the end."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The type of samples."""
        return self._dtype

    @property
    def parameters(self) -> Config:
        """The constructor's arguments."""
        return {
            name: value
            for name, value in self._parameters_given.items()
            if not name.startswith("__") and name != "self"
        }

    @property
    def reparameterization_type(self) -> ReparameterizationType:
        """Whether gradients pass through samples to the parameters."""
        return self._reparameterization_type

    @property
    def allow_nan_stats(self) -> bool:
        """Whether an undefined statistic is NaN."""
        return self._allow_nan_stats

    @property
    def validate_args(self) -> bool:
        """Whether arguments are checked when the graph runs."""
        return self._validate_args

    def copy(self, **override_parameters_kwargs: Any) -> Self:
        """Return the same distribution with some other parameters."""
        return type(self)(**{**self.parameters, **override_parameters_kwargs})

    @classmethod
    def param_shapes(
        cls, sample_shape: TensorLike, name: str = "DistributionParamShapes"
    ) -> dict[str, TensorResult]:
        """Return the shapes of parameters for samples of a shape, as tensors by name."""
        with name_scope(name, values=[sample_shape]):
            return cls._param_shapes(sample_shape)

    @classmethod
    def param_static_shapes(cls, sample_shape: TensorLike) -> dict[str, TensorShape]:
        """Return the shapes of parameters for samples of a shape, by name.

        Raises:
          ValueError: the shape is not fully known.
        """
        if isinstance(sample_shape, TensorShape):
            if not sample_shape.is_fully_defined():
                raise ValueError("TensorShape sample_shape must be fully defined")
            sample_shape = sample_shape.as_list()
        found = {}
        for name, tensor in cls.param_shapes(sample_shape).items():
            value = constant_value(tensor)
            if value is None:
                raise ValueError("sample_shape must be a fully-defined TensorShape or list/tuple")
            found[name] = as_shape(value.tolist())
        return found

    @classmethod
    def _param_shapes(cls, sample_shape: TensorLike) -> dict[str, Any]:
        raise NotImplementedError("_param_shapes not implemented")

    def __str__(self) -> str:
        return (
            f'tfp.distributions.{type(self).__name__}("{self.name}"'
            f"{self._shape_text(', batch_shape=', ', event_shape=')}, "
            f"dtype={None if self._dtype is None else self._dtype.name})"
        )

    def __repr__(self) -> str:
        return (
            f"<tfp.distributions.{type(self).__name__} '{self.name}'"
            f"{self._shape_text(' batch_shape=', ' event_shape=')} "
            f"dtype={None if self._dtype is None else self._dtype.name}>"
        )

    def _shape_text(self, batch: str, event: str) -> str:
        return f"{batch}{self.batch_shape}{event}{self.event_shape}"

    @contextmanager
    def _name_scope(self, name: str | None = None, values: TensorLike = ()) -> Iterator[str]:
        with name_scope(self.name), name_scope(name, values=[*values, *self._graph_parents]) as one:
            yield one

    def _known(self, what: str, asked: str = "") -> Callable[..., Any]:
        """Return the method behind a public one; ``asked`` is the called one, if it differs.

        Raises:
          NotImplementedError: there is none.
        """
        found = getattr(self, f"_{what}", None)
        if found is None:
            raise NotImplementedError(f"{asked or what} is not implemented: {type(self).__name__}")
        return found  # type: ignore[no-any-return]

    # -- shapes ------------------------------------------------------------------------------------

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> TensorResult:
        """Return the shape of the batch of distributions, as a tensor."""
        with self._name_scope(name):
            if self.batch_shape.is_fully_defined():
                sizes = self.batch_shape.as_list()
                return convert_to_tensor(sizes, dtype=dtypes.int32, name="batch_shape")
            return self._known("batch_shape_tensor")()

    @property
    def batch_shape(self) -> TensorShape:
        """The shape of the batch of distributions, as far as it is known."""
        found = getattr(self, "_batch_shape", None)
        return as_shape(None if found is None else found())

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> TensorResult:
        """Return the shape of one sample, a tensor of sizes."""
        with self._name_scope(name):
            if self.event_shape.is_fully_defined():
                sizes = self.event_shape.as_list()
                return convert_to_tensor(sizes, dtype=dtypes.int32, name="event_shape")
            return self._known("event_shape_tensor")()

    @property
    def event_shape(self) -> TensorShape:
        """The shape of one sample, as far as it is known."""
        found = getattr(self, "_event_shape", None)
        return as_shape(None if found is None else found())

    def is_scalar_event(self, name: str = "is_scalar_event") -> TensorResult:
        """Return whether a sample is a scalar, as a tensor."""
        with self._name_scope(name):
            answer = self._is_scalar(self.event_shape, self.event_shape_tensor)
            return convert_to_tensor(answer, name="is_scalar_event")

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> TensorResult:
        """Return whether the batch is one distribution, as a tensor."""
        with self._name_scope(name):
            answer = self._is_scalar(self.batch_shape, self.batch_shape_tensor)
            return convert_to_tensor(answer, name="is_scalar_batch")

    @staticmethod
    def _is_scalar(static: TensorShape, sizes: Callable[[], Any]) -> TensorResult:
        if static.ndims is not None:
            return static.ndims == 0
        shape = sizes()
        if shape.get_shape().ndims is not None and shape.get_shape().as_list()[0] is not None:
            return shape.get_shape().as_list() == [0]
        return math_ops.equal(array_ops.shape(shape)[0], 0)

    # -- samples -----------------------------------------------------------------------------------

    def sample(
        self, sample_shape: TensorLike = (), seed: int | None = None, name: str = "sample"
    ) -> TensorResult:
        """Draw samples.

        Args:
          sample_shape: the number of samples, as a shape.
          seed: of this op.
          name: of the scope.

        Returns:
          Samples of the shape ``sample_shape + batch_shape + event_shape``.
        """
        with self._name_scope(name, values=[sample_shape]):
            sizes = convert_to_tensor(sample_shape, dtype=dtypes.int32, name="sample_shape")
            sizes, count = self._as_vector(sizes, "sample_shape")
            drawn = self._known("sample_n")(count, seed)
            inner = array_ops.shape(drawn)[1:]
            drawn = array_ops.reshape(drawn, array_ops.concat([sizes, inner], 0))
            return self._with_static_shape(drawn, sizes)

    def _as_vector(self, sizes: TensorLike, name: str) -> tuple[Nested, Nested]:
        """Return sizes as a vector, and their product."""
        known = constant_value(sizes)
        if known is not None:
            product = np.prod(known, dtype=dtypes.int32.as_numpy_dtype)
        else:
            product = math_ops.reduce_prod(sizes)
        rank = sizes.get_shape().ndims
        if rank is None:
            return array_ops.reshape(sizes, [-1]), product
        if rank == 0:
            if known is not None:
                return convert_to_tensor([int(known)], dtype=dtypes.int32, name=name), product
            return array_ops.reshape(sizes, [1]), product
        if rank != 1:
            raise ValueError(
                f"Argument {name} must be either a scalar or a vector, but is rank {rank}."
            )
        return sizes, product

    def _with_static_shape(self, drawn: Any, sample_shape: TensorLike) -> Any:
        outer = constant_value_as_shape(sample_shape)
        drawn.set_shape(outer.concatenate(self.batch_shape).concatenate(self.event_shape))
        return drawn

    def _as_tensor(self, value: TensorLike) -> TensorResult:
        preferred = None if isinstance(value, Tensor) else self._dtype
        return convert_to_tensor(value, name="value", preferred_dtype=preferred)

    # -- densities ---------------------------------------------------------------------------------

    def log_prob(self, value: TensorLike, name: str = "log_prob") -> TensorResult:
        """Return the logarithm of the density, or of the probability of a discrete value."""
        with self._name_scope(name, values=[value]):
            value = self._as_tensor(value)
            if hasattr(self, "_log_prob"):
                return self._log_prob(value)
            return math_ops.log(self._known("prob", "log_prob")(value))

    def prob(self, value: TensorLike, name: str = "prob") -> TensorResult:
        """Return the density, or the probability of a discrete value."""
        with self._name_scope(name, values=[value]):
            value = self._as_tensor(value)
            if hasattr(self, "_prob"):
                return self._prob(value)
            return math_ops.exp(self._known("log_prob", "prob")(value))

    def log_cdf(self, value: TensorLike, name: str = "log_cdf") -> TensorResult:
        """Return the logarithm of the probability of a value that is not larger."""
        with self._name_scope(name, values=[value]):
            value = self._as_tensor(value)
            if hasattr(self, "_log_cdf"):
                return self._log_cdf(value)
            return math_ops.log(self._known("cdf", "log_cdf")(value))

    def cdf(self, value: TensorLike, name: str = "cdf") -> TensorResult:
        """Return the probability of a value that is not larger."""
        with self._name_scope(name, values=[value]):
            value = self._as_tensor(value)
            if hasattr(self, "_cdf"):
                return self._cdf(value)
            return math_ops.exp(self._known("log_cdf", "cdf")(value))

    def log_survival_function(self, value: TensorLike, name: str = "log_survival_function") -> Any:
        """Return the logarithm of the probability of a larger value."""
        with self._name_scope(name, values=[value]):
            value = self._as_tensor(value)
            if hasattr(self, "_log_survival_function"):
                return self._log_survival_function(value)
            if not (hasattr(self, "_cdf") or hasattr(self, "_log_cdf")):
                raise NotImplementedError(
                    f"log_survival_function is not implemented: {type(self).__name__}"
                )
            return log1p(-self.cdf(value))

    def survival_function(self, value: TensorLike, name: str = "survival_function") -> Any:
        """Return the probability of a larger value."""
        with self._name_scope(name, values=[value]):
            value = self._as_tensor(value)
            if hasattr(self, "_survival_function"):
                return self._survival_function(value)
            if not (hasattr(self, "_cdf") or hasattr(self, "_log_cdf")):
                raise NotImplementedError(
                    f"survival_function is not implemented: {type(self).__name__}"
                )
            return 1.0 - self.cdf(value)

    def quantile(self, value: TensorLike, name: str = "quantile") -> TensorResult:
        """Return the value that a sample does not exceed with the given probability."""
        with self._name_scope(name, values=[value]):
            return self._known("quantile")(self._as_tensor(value))

    # -- statistics --------------------------------------------------------------------------------

    def entropy(self, name: str = "entropy") -> TensorResult:
        """Return Shannon's entropy in nats."""
        with self._name_scope(name):
            return self._known("entropy")()

    def mean(self, name: str = "mean") -> TensorResult:
        """Return the mean."""
        with self._name_scope(name):
            return self._known("mean")()

    def variance(self, name: str = "variance") -> TensorResult:
        """Return the variance."""
        with self._name_scope(name):
            if hasattr(self, "_variance"):
                return self._variance()
            if hasattr(self, "_stddev"):
                return math_ops.square(self._stddev())
            raise NotImplementedError(f"variance is not implemented: {type(self).__name__}")

    def stddev(self, name: str = "stddev") -> TensorResult:
        """Return the standard deviation."""
        with self._name_scope(name):
            if hasattr(self, "_stddev"):
                return self._stddev()
            if hasattr(self, "_variance"):
                return math_ops.sqrt(self._variance())
            raise NotImplementedError(f"stddev is not implemented: {type(self).__name__}")

    def covariance(self, name: str = "covariance") -> TensorResult:
        """Return the covariance of the components of a sample."""
        with self._name_scope(name):
            return self._known("covariance")()

    def mode(self, name: str = "mode") -> TensorResult:
        """Return the most probable value."""
        with self._name_scope(name):
            return self._known("mode")()

    def cross_entropy(self, other: Distribution, name: str = "cross_entropy") -> TensorResult:
        """Return the cross entropy with another distribution, in nats."""
        from tfnb.library.distributions import kullback_leibler

        with self._name_scope(name):
            return kullback_leibler.cross_entropy(self, other, self._allow_nan_stats)

    def kl_divergence(self, other: Distribution, name: str = "kl_divergence") -> TensorResult:
        """Return the Kullback-Leibler divergence from this distribution to another."""
        from tfnb.library.distributions import kullback_leibler

        with self._name_scope(name):
            return kullback_leibler.kl_divergence(self, other, self._allow_nan_stats)
