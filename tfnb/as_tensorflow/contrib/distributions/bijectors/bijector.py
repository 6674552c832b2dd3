"""``tf.contrib.distributions.bijectors.Bijector``: a map that can be undone.

A subclass implements ``_forward``, ``_inverse`` and the logarithm of the determinant of the
Jacobian of one direction; the other direction follows from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Bijector:
    """The base of all bijectors.

    Args:
      graph_parents: without effect.
      is_constant_jacobian: whether the determinant is the same everywhere.
      validate_args: without effect.
      dtype: of values.
      forward_min_event_ndims: how many of the last dimensions are mapped as one.
      inverse_min_event_ndims: the same for the inverse; as many by default.
      event_ndims: how many dimensions are an event, where no method says so.
      name: of its scope.
    """

    def __init__(
        self,
        graph_parents: Any = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        dtype: Any = None,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        event_ndims: int | None = None,
        name: str | None = None,
    ) -> None:
        if forward_min_event_ndims is None:
            given = inverse_min_event_ndims if event_ndims is None else event_ndims
            forward_min_event_ndims = 0 if given is None else given
        if inverse_min_event_ndims is None:
            inverse_min_event_ndims = forward_min_event_ndims
        self._forward_ndims = forward_min_event_ndims
        self._inverse_ndims = inverse_min_event_ndims
        self._is_constant_jacobian = is_constant_jacobian
        self._validate_args = validate_args
        self._dtype = dtype
        self._name = name or type(self).__name__.lower()

    @property
    def name(self) -> str:
        """The name of its scope."""
        return self._name

    @property
    def dtype(self) -> Any:
        """The type of values; None for any."""
        return self._dtype

    @property
    def validate_args(self) -> bool:
        """What the constructor was given."""
        return self._validate_args

    @property
    def is_constant_jacobian(self) -> bool:
        """Whether the determinant is the same everywhere."""
        return self._is_constant_jacobian

    @property
    def forward_min_event_ndims(self) -> int:
        """How many of the last dimensions are mapped as one."""
        return self._forward_ndims

    @property
    def inverse_min_event_ndims(self) -> int:
        """How many of the last dimensions the inverse maps as one."""
        return self._inverse_ndims

    def forward(self, x: Any, name: str = "forward", **condition: Any) -> Any:
        """Return the image of x; further arguments go to the subclass."""
        with tf.name_scope(f"{self._name}/{name}"):
            return self._forward(tf.convert_to_tensor(x, dtype_hint=self._dtype), **condition)

    def inverse(self, y: Any, name: str = "inverse", **condition: Any) -> Any:
        """Return what is mapped to y; further arguments go to the subclass."""
        with tf.name_scope(f"{self._name}/{name}"):
            return self._inverse(tf.convert_to_tensor(y, dtype_hint=self._dtype), **condition)

    def forward_log_det_jacobian(
        self,
        x: Any,
        event_ndims: int | None = None,
        name: str = "forward_log_det_jacobian",
        **condition: Any,
    ) -> Any:
        """Return the logarithm of the determinant of the Jacobian at x.

        Args:
          x: the value.
          event_ndims: how many of the last dimensions are an event, over which logarithms are
            added.
          name: of the scope.
          **condition: for the subclass.
        """
        with tf.name_scope(f"{self._name}/{name}"):
            x = tf.convert_to_tensor(x, dtype_hint=self._dtype)
            if _is_defined(self, "_forward_log_det_jacobian"):
                found = self._forward_log_det_jacobian(x, **condition)
            else:
                y = self._forward(x, **condition)
                found = -self._inverse_log_det_jacobian(y, **condition)
            return _summed(found, x, self._forward_ndims, event_ndims)

    def inverse_log_det_jacobian(
        self,
        y: Any,
        event_ndims: int | None = None,
        name: str = "inverse_log_det_jacobian",
        **condition: Any,
    ) -> Any:
        """Return the logarithm of the determinant of the inverse's Jacobian at y.

        Args:
          y: the value.
          event_ndims: how many of the last dimensions are an event, over which logarithms are
            added.
          name: of the scope.
          **condition: for the subclass.
        """
        with tf.name_scope(f"{self._name}/{name}"):
            y = tf.convert_to_tensor(y, dtype_hint=self._dtype)
            if _is_defined(self, "_inverse_log_det_jacobian"):
                found = self._inverse_log_det_jacobian(y, **condition)
            else:
                x = self._inverse(y, **condition)
                found = -self._forward_log_det_jacobian(x, **condition)
            return _summed(found, y, self._inverse_ndims, event_ndims)

    def forward_event_shape(self, input_shape: Any) -> Any:
        """Return the shape of the image of an event, as far as it is known."""
        return self._forward_event_shape(tf.TensorShape(input_shape))

    def inverse_event_shape(self, output_shape: Any) -> Any:
        """Return the shape of what is mapped to an event, as far as it is known."""
        return self._inverse_event_shape(tf.TensorShape(output_shape))

    def forward_event_shape_tensor(
        self, input_shape: Any, name: str = "forward_event_shape_tensor"
    ) -> Any:
        """Return the shape of the image of an event, as a tensor."""
        with tf.name_scope(f"{self._name}/{name}"):
            return self._forward_event_shape_tensor(tf.convert_to_tensor(input_shape, tf.int32))

    def inverse_event_shape_tensor(
        self, output_shape: Any, name: str = "inverse_event_shape_tensor"
    ) -> Any:
        """Return the shape of what is mapped to an event, as a tensor."""
        with tf.name_scope(f"{self._name}/{name}"):
            return self._inverse_event_shape_tensor(tf.convert_to_tensor(output_shape, tf.int32))

    # -- what subclasses implement -------------------------------------------------------------

    def _forward(self, x: Any) -> Any:
        raise NotImplementedError("forward not implemented.")

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError("inverse not implemented.")

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        raise NotImplementedError("forward_log_det_jacobian not implemented.")

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        raise NotImplementedError("inverse_log_det_jacobian not implemented.")

    def _forward_event_shape(self, input_shape: Any) -> Any:
        return input_shape

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        return output_shape

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        return input_shape

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        return output_shape


class ConditionalBijector(Bijector):
    """A bijector whose methods have further arguments, which the subclass gets."""


def _is_defined(bijector: Bijector, method: str) -> bool:
    return getattr(type(bijector), method) is not getattr(Bijector, method)


def _summed(found: Any, value: Any, least: int, event_ndims: int | None) -> Any:
    """Return logarithms, added over the dimensions of an event that are mapped one by one."""
    extra = 0 if event_ndims is None else int(event_ndims) - least
    if extra < 0:
        raise ValueError(f"event_ndims must be at least {least}, given: {event_ndims}")
    if extra == 0:
        return found
    # A constant has one logarithm for all.
    shape = tf.shape(value)[: tf.rank(value) - least]
    whole = found + tf.zeros(shape, value.dtype)
    return tf.reduce_sum(whole, list(range(-extra, 0)))


class Identity(Bijector):
    """Values as they are.

    Args:
      validate_args: without effect.
      event_ndims: see ``Bijector``.
      name: of its scope.
    """

    def __init__(
        self, validate_args: bool = False, event_ndims: int = 0, name: str = "identity"
    ) -> None:
        super().__init__(
            is_constant_jacobian=True, validate_args=validate_args, event_ndims=event_ndims,
            name=name,
        )  # fmt: skip

    def _forward(self, x: Any) -> Any:
        return x

    def _inverse(self, y: Any) -> Any:
        return y

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return tf.zeros([], x.dtype)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return tf.zeros([], y.dtype)


class Inline(Bijector):
    """A bijector of functions.

    Args:
      forward_fn: of x.
      inverse_fn: of y.
      inverse_log_det_jacobian_fn: of y.
      forward_log_det_jacobian_fn: of x; the other one gives it if it is missing.
      forward_event_shape_fn: of a shape.
      forward_event_shape_tensor_fn: of a shape.
      inverse_event_shape_fn: of a shape.
      inverse_event_shape_tensor_fn: of a shape.
      is_constant_jacobian: whether the determinant is the same everywhere.
      validate_args: without effect.
      forward_min_event_ndims: how many of the last dimensions are mapped as one.
      inverse_min_event_ndims: the same for the inverse.
      name: of its scope.
    """

    def __init__(
        self,
        forward_fn: Callable[..., Any] | None = None,
        inverse_fn: Callable[..., Any] | None = None,
        inverse_log_det_jacobian_fn: Callable[..., Any] | None = None,
        forward_log_det_jacobian_fn: Callable[..., Any] | None = None,
        forward_event_shape_fn: Callable[..., Any] | None = None,
        forward_event_shape_tensor_fn: Callable[..., Any] | None = None,
        inverse_event_shape_fn: Callable[..., Any] | None = None,
        inverse_event_shape_tensor_fn: Callable[..., Any] | None = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str = "inline",
    ) -> None:
        super().__init__(
            None, is_constant_jacobian, validate_args, None, forward_min_event_ndims,
            inverse_min_event_ndims, name=name,
        )  # fmt: skip
        self._functions = {
            "_forward": forward_fn,
            "_inverse": inverse_fn,
            "_forward_event_shape": forward_event_shape_fn,
            "_forward_event_shape_tensor": forward_event_shape_tensor_fn,
            "_inverse_event_shape": inverse_event_shape_fn,
            "_inverse_event_shape_tensor": inverse_event_shape_tensor_fn,
        }
        for method, function in self._functions.items():
            if function is not None:
                setattr(self, method, function)
        self._forward_jacobian = forward_log_det_jacobian_fn
        self._inverse_jacobian = inverse_log_det_jacobian_fn

    def _forward_log_det_jacobian(self, x: Any, **condition: Any) -> Any:
        if self._forward_jacobian is not None:
            return self._forward_jacobian(x, **condition)
        if self._inverse_jacobian is None:
            raise NotImplementedError("Cannot use the Jacobian: no function was given.")
        return -self._inverse_jacobian(self._forward(x, **condition), **condition)

    def _inverse_log_det_jacobian(self, y: Any, **condition: Any) -> Any:
        if self._inverse_jacobian is not None:
            return self._inverse_jacobian(y, **condition)
        return -self._forward_log_det_jacobian(self._inverse(y, **condition), **condition)


class Invert(Bijector):
    """A bijector whose directions are those of another, exchanged.

    Args:
      bijector: the other.
      validate_args: without effect.
      name: of its scope.
    """

    def __init__(
        self, bijector: Bijector, validate_args: bool = False, name: str | None = None
    ) -> None:
        super().__init__(
            None,
            bijector.is_constant_jacobian,
            validate_args,
            bijector.dtype,
            bijector.inverse_min_event_ndims,
            bijector.forward_min_event_ndims,
            name=name or f"invert_{bijector.name}",
        )
        self.bijector = bijector

    def _forward(self, x: Any, **condition: Any) -> Any:
        return self.bijector.inverse(x, **condition)

    def _inverse(self, y: Any, **condition: Any) -> Any:
        return self.bijector.forward(y, **condition)

    def _forward_log_det_jacobian(self, x: Any, **condition: Any) -> Any:
        return self.bijector.inverse_log_det_jacobian(x, self._forward_ndims, **condition)

    def _inverse_log_det_jacobian(self, y: Any, **condition: Any) -> Any:
        return self.bijector.forward_log_det_jacobian(y, self._inverse_ndims, **condition)

    def _forward_event_shape(self, input_shape: Any) -> Any:
        return self.bijector.inverse_event_shape(input_shape)

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        return self.bijector.forward_event_shape(output_shape)

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        return self.bijector.inverse_event_shape_tensor(input_shape)

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        return self.bijector.forward_event_shape_tensor(output_shape)


class Chain(Bijector):
    """Bijectors one after the other: the last one is applied first.

    Args:
      bijectors: the bijectors; none for the identity.
      validate_args: without effect.
      name: of its scope.
    """

    def __init__(
        self,
        bijectors: Sequence[Bijector] | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        self.bijectors = list(bijectors or ())
        forward, inverse = _least_ndims(self.bijectors)
        super().__init__(
            None,
            all(one.is_constant_jacobian for one in self.bijectors),
            validate_args,
            None,
            forward,
            inverse,
            name=name or "_of_".join(["chain", *(one.name for one in self.bijectors)]),
        )

    def _forward(self, x: Any, **conditions: Any) -> Any:
        for one in reversed(self.bijectors):
            x = one.forward(x, **conditions.get(one.name, {}))
        return x

    def _inverse(self, y: Any, **conditions: Any) -> Any:
        for one in self.bijectors:
            y = one.inverse(y, **conditions.get(one.name, {}))
        return y

    def _forward_log_det_jacobian(self, x: Any, **conditions: Any) -> Any:
        total, ndims = tf.zeros([], x.dtype), self._forward_ndims
        for one in reversed(self.bijectors):
            condition = conditions.get(one.name, {})
            total += one.forward_log_det_jacobian(x, ndims, **condition)
            ndims += one.inverse_min_event_ndims - one.forward_min_event_ndims
            x = one.forward(x, **condition)
        return total

    def _inverse_log_det_jacobian(self, y: Any, **conditions: Any) -> Any:
        total, ndims = tf.zeros([], y.dtype), self._inverse_ndims
        for one in self.bijectors:
            condition = conditions.get(one.name, {})
            total += one.inverse_log_det_jacobian(y, ndims, **condition)
            ndims += one.forward_min_event_ndims - one.inverse_min_event_ndims
            y = one.inverse(y, **condition)
        return total

    def _forward_event_shape(self, input_shape: Any) -> Any:
        for one in reversed(self.bijectors):
            input_shape = one.forward_event_shape(input_shape)
        return input_shape

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        for one in self.bijectors:
            output_shape = one.inverse_event_shape(output_shape)
        return output_shape

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        for one in reversed(self.bijectors):
            input_shape = one.forward_event_shape_tensor(input_shape)
        return input_shape

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        for one in self.bijectors:
            output_shape = one.inverse_event_shape_tensor(output_shape)
        return output_shape


def _least_ndims(bijectors: Sequence[Bijector]) -> tuple[int, int]:
    """Return how many dimensions a chain maps as one, in both directions."""
    least, change = 0, 0
    for one in reversed(bijectors):
        least = max(least, one.forward_min_event_ndims - change)
        change += one.inverse_min_event_ndims - one.forward_min_event_ndims
    return least, least + change
