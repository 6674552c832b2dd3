"""Distributions of other distributions: independent ones, and mixtures."""

from __future__ import annotations

from typing import Any

from tfnb.client.public.api import tf
from tfnb.library.distributions.distribution import NOT_REPARAMETERIZED, Distribution


def _parameters(given: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key not in ("self", "__class__")}


class Independent(Distribution):
    """A distribution whose last batch dimensions are a part of the event.

    Args:
      distribution: the distribution.
      reinterpreted_batch_ndims: how many dimensions; all but the first by default.
      validate_args: without effect.
      name: of its scope.

    Raises:
      ValueError: there are fewer dimensions, or their number is not known.
    """

    def __init__(
        self,
        distribution: Any,
        reinterpreted_batch_ndims: int | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        parameters = _parameters(dict(locals()))
        rank = distribution.batch_shape.ndims
        if rank is None:
            raise ValueError("The rank of the distribution's batch must be known.")
        if reinterpreted_batch_ndims is None:
            reinterpreted_batch_ndims = max(rank - 1, 0)
        if reinterpreted_batch_ndims > rank:
            raise ValueError(
                f"reinterpreted_batch_ndims({reinterpreted_batch_ndims}) cannot exceed "
                f"distribution.batch_ndims({rank})"
            )
        self._distribution = distribution
        self._moved = reinterpreted_batch_ndims
        super().__init__(
            dtype=distribution.dtype,
            reparameterization_type=distribution.reparameterization_type,
            validate_args=validate_args,
            allow_nan_stats=distribution.allow_nan_stats,
            parameters=parameters,
            name=name or f"Independent{type(distribution).__name__}",
        )

    @property
    def distribution(self) -> Any:
        """The distribution."""
        return self._distribution

    @property
    def reinterpreted_batch_ndims(self) -> int:
        """How many of its batch dimensions are a part of the event."""
        return self._moved

    def _kept(self) -> int:
        return int(self._distribution.batch_shape.ndims) - self._moved

    def _batch_shape_tensor(self) -> Any:
        return self._distribution.batch_shape_tensor()[: self._kept()]

    def _batch_shape(self) -> Any:
        return self._distribution.batch_shape[: self._kept()]

    def _event_shape_tensor(self) -> Any:
        inner = self._distribution
        return tf.concat(
            [inner.batch_shape_tensor()[self._kept() :], inner.event_shape_tensor()], 0
        )

    def _event_shape(self) -> Any:
        inner = self._distribution
        return inner.batch_shape[self._kept() :].concatenate(inner.event_shape)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        return self._distribution.sample(n, seed=seed)

    def _summed(self, value: Any) -> Any:
        return tf.reduce_sum(value, list(range(-self._moved, 0))) if self._moved else value

    def _log_prob(self, value: Any) -> Any:
        return self._summed(self._distribution.log_prob(value))

    def _prob(self, value: Any) -> Any:
        return tf.exp(self._log_prob(value))

    def _entropy(self) -> Any:
        return self._summed(self._distribution.entropy())

    def _mean(self) -> Any:
        return self._distribution.mean()

    def _variance(self) -> Any:
        return self._distribution.variance()

    def _stddev(self) -> Any:
        return self._distribution.stddev()

    def _mode(self) -> Any:
        return self._distribution.mode()


@tf.distributions.RegisterKL(Independent, Independent)  # type: ignore[untyped-decorator]
def _kl_of_independent(a: Any, b: Any, name: str | None = None) -> Any:
    if a.reinterpreted_batch_ndims != b.reinterpreted_batch_ndims:
        raise ValueError("Event shapes do not match.")
    with tf.name_scope(name, "kl_independent"):
        return a._summed(tf.distributions.kl_divergence(a.distribution, b.distribution))


class _Mixed(Distribution):
    """What mixtures have in common; subclasses say what their components give."""

    _cat: Any

    @property
    def cat(self) -> Any:
        """The distribution of the components' numbers."""
        return self._cat

    def _of_each(self, what: str, *given: Any) -> Any:
        """Return what all components give, with the components in the last dimension."""
        raise NotImplementedError

    def _draws_of_each(self, n: Any, seed: Any) -> Any:
        """Return samples of all components, with the components in the last dimension."""
        raise NotImplementedError

    def _event_rank(self) -> int:
        rank = self.event_shape.ndims
        assert rank is not None
        return rank

    def _shares(self) -> Any:
        """Return the probabilities of the components, for values with an event."""
        shares = tf.nn.softmax(self._log_shares())
        for _ in range(self._event_rank()):
            shares = tf.expand_dims(shares, -2)
        return shares

    def _log_shares(self) -> Any:
        return tf.nn.log_softmax(self._cat.logits)

    def _log_prob(self, value: Any) -> Any:
        return tf.reduce_logsumexp(self._of_each("log_prob", value) + self._log_shares(), -1)

    def _prob(self, value: Any) -> Any:
        return tf.exp(self._log_prob(value))

    def _mean(self) -> Any:
        return tf.reduce_sum(self._shares() * self._of_each("mean"), -1)

    def _variance(self) -> Any:
        means, shares = self._of_each("mean"), self._shares()
        squares = self._of_each("variance") + tf.square(means)
        mean = tf.reduce_sum(shares * means, -1)
        return tf.reduce_sum(shares * squares, -1) - tf.square(mean)

    def _stddev(self) -> Any:
        return tf.sqrt(self._variance())

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        drawn = self._draws_of_each(n, seed)
        chosen = self._cat.sample(n, seed=None if seed is None else seed + 1)
        mask = tf.one_hot(chosen, self._cat.event_size, dtype=drawn.dtype)
        for _ in range(self._event_rank()):
            mask = tf.expand_dims(mask, -2)
        return tf.reduce_sum(mask * drawn, -1)


class Mixture(_Mixed):
    """A mixture of different distributions.

    Args:
      cat: a ``Categorical`` of the components' numbers.
      components: distributions with its batch shape.
      validate_args: without effect.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      use_static_graph: without effect.
      name: of its scope.

    Raises:
      TypeError: ``cat`` is no ``Categorical``, or a component no distribution.
      ValueError: there are no components, their number is another, or their shapes differ.
    """

    def __init__(
        self,
        cat: Any,
        components: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        use_static_graph: bool = False,
        name: str = "Mixture",
    ) -> None:
        parameters = _parameters(dict(locals()))
        if not isinstance(cat, tf.distributions.Categorical):
            raise TypeError(f"cat must be a Categorical distribution, but saw: {cat}")
        if not components:
            raise ValueError("components must be a non-empty list or tuple")
        for one in components:
            if not isinstance(one, Distribution):
                raise TypeError(f"all components must be Distribution instances, but saw: {one}")
            if one.dtype != components[0].dtype:
                raise TypeError("All components must have the same dtype")
            if not one.event_shape.is_compatible_with(components[0].event_shape):
                raise ValueError("All components must have the same event shape")
        number = cat.logits.shape[-1].value
        if number is not None and number != len(components):
            raise ValueError(f"cat.num_classes must be {len(components)}, but is {number}")
        self._cat = cat
        self._components = list(components)
        super().__init__(
            dtype=components[0].dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            name=name,
        )

    @property
    def components(self) -> list[Any]:
        """The components."""
        return self._components

    @property
    def num_components(self) -> int:
        """The number of components."""
        return len(self._components)

    def _batch_shape_tensor(self) -> Any:
        return self._cat.batch_shape_tensor()

    def _batch_shape(self) -> Any:
        return self._cat.batch_shape

    def _event_shape_tensor(self) -> Any:
        return self._components[0].event_shape_tensor()

    def _event_shape(self) -> Any:
        return self._components[0].event_shape

    def _of_each(self, what: str, *given: Any) -> Any:
        return tf.stack([getattr(one, what)(*given) for one in self._components], -1)

    def _draws_of_each(self, n: Any, seed: Any) -> Any:
        seeds = [None if seed is None else seed + 2 + k for k in range(len(self._components))]
        pairs = zip(self._components, seeds, strict=True)
        return tf.stack([one.sample(n, seed=own) for one, own in pairs], -1)

    def entropy_lower_bound(self, name: str = "entropy_lower_bound") -> Any:
        """Return the mean of the components' entropies, which the entropy is not below.

        Args:
          name: of the scope.
        """
        with self._name_scope(name):
            return tf.reduce_sum(tf.nn.softmax(self._log_shares()) * self._of_each("entropy"), -1)


class MixtureSameFamily(_Mixed):
    """A mixture of distributions that are one distribution with one more batch dimension.

    Args:
      mixture_distribution: a ``Categorical`` of the components' numbers.
      components_distribution: a distribution, whose last batch dimension is the components'.
      validate_args: without effect.
      allow_nan_stats: see ``tf.distributions.Distribution``.
      name: of its scope.

    Raises:
      ValueError: the components have no batch, or another number.
    """

    def __init__(
        self,
        mixture_distribution: Any,
        components_distribution: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MixtureSameFamily",
    ) -> None:
        parameters = _parameters(dict(locals()))
        batch = components_distribution.batch_shape
        if batch.ndims is not None and batch.ndims < 1:
            raise ValueError("components_distribution must have a batch dimension.")
        number = mixture_distribution.logits.shape[-1].value
        if batch.ndims and None not in (number, batch[-1].value) and number != batch[-1].value:
            raise ValueError(
                f"`mixture_distribution components` ({number}) does not equal "
                f"`components_distribution.batch_shape[-1]` ({batch[-1].value})"
            )
        self._cat = mixture_distribution
        self._inner = components_distribution
        super().__init__(
            dtype=components_distribution.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            name=name,
        )

    @property
    def mixture_distribution(self) -> Any:
        """The distribution of the components' numbers."""
        return self._cat

    @property
    def components_distribution(self) -> Any:
        """The components."""
        return self._inner

    def _batch_shape_tensor(self) -> Any:
        return self._inner.batch_shape_tensor()[:-1]

    def _batch_shape(self) -> Any:
        return self._inner.batch_shape[:-1]

    def _event_shape_tensor(self) -> Any:
        return self._inner.event_shape_tensor()

    def _event_shape(self) -> Any:
        return self._inner.event_shape

    def _with_components_last(self, value: Any) -> Any:
        """Return a value [..., components, event] with the components behind the event."""
        event = self._event_rank()
        if not event:
            return value
        rank = value.shape.ndims
        place = rank - event - 1
        return tf.transpose(value, [*range(place), *range(place + 1, rank), place])

    def _of_each(self, what: str, *given: Any) -> Any:
        event = self._event_rank()
        if what == "log_prob":
            return self._inner.log_prob(tf.expand_dims(given[0], -1 - event))
        return self._with_components_last(getattr(self._inner, what)())

    def _draws_of_each(self, n: Any, seed: Any) -> Any:
        return self._with_components_last(self._inner.sample(n, seed=seed))
