"""Values of several tensors, for example ragged ones, and functions that classes override.

The class of these values derives from :class:`CompositeTensor`; ``Session.run``, ``tf.nest`` and
loops take its parts apart and put them together. A function marked :func:`dispatchable` that gets
one of these values, or another value whose class derives from :class:`Dispatching`, leaves the call
to the value's class.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

from tfnb.framework import functions_above as above

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.type_spec import TypeSpec

type_of_function = TypeVar("type_of_function", bound="Callable[..., Any]")


class Dispatching:
    """A value that functions accept in place of a tensor, and whose class answers these calls."""

    def dispatch(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Return the result of a function that has this value among its arguments.

        Raises:
          TypeError: the function does not accept values of this class.
        """
        raise NotImplementedError


class CompositeTensor(Dispatching):
    """A value that consists of several tensors."""

    is_tensor_like = True

    @property
    def _type_spec(self) -> TypeSpec:
        """The spec of its values, TensorFlow's name."""
        found: TypeSpec = above.type_spec_from_value(self)
        return found

    def parts(self) -> list[Tensor]:
        """Return the tensors."""
        raise NotImplementedError

    def with_parts(self, parts: Sequence[Any]) -> Any:
        """Return a value of the same structure with other tensors."""
        raise NotImplementedError

    def fetched(self, values: Sequence[Any]) -> Any:
        """Return the result of fetching this value, from the fetched values of its parts."""
        raise NotImplementedError

    def fed(self, value: Any) -> list[tuple[Tensor, Any]]:
        """Return (tensor, value) pairs to feed, so that this object has the value."""
        raise NotImplementedError

    def part_shapes(self) -> list[TensorShape]:
        """Return the shapes of the parts in every iteration of a loop."""
        raise NotImplementedError


def dispatching_among(values: Sequence[Any]) -> Dispatching | None:
    """Return the first value of these classes, also among members of lists; None without one."""
    for value in values:
        if isinstance(value, Dispatching):
            return value
        if isinstance(value, (list, tuple)):
            for member in value:
                if isinstance(member, Dispatching):
                    return member
    return None


def dispatchable(function: type_of_function) -> type_of_function:
    """Mark a function that classes derived from :class:`Dispatching` may override."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        found = dispatching_among(args)
        if found is None and kwargs:
            found = dispatching_among(tuple(kwargs.values()))
        if found is not None:
            return found.dispatch(function, args, kwargs)
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]
