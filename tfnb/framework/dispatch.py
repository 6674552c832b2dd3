"""Functions that take tensors of several parts, such as ragged ones, where they know what to do.

A class of such values derives from :class:`CompositeTensor`; ``Session.run``, ``tf.nest`` and loops
take its parts apart and put them together. A function marked :func:`dispatchable` that is given
such a value leaves the call to the value's class.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.tensor import Tensor

type_of_function = TypeVar("type_of_function", bound="Callable[..., Any]")


class CompositeTensor:
    """A value that stands for several tensors and knows how."""

    is_tensor_like = True

    def parts(self) -> list[Tensor]:
        """Return the tensors."""
        raise NotImplementedError

    def with_parts(self, parts: Sequence[Any]) -> Any:
        """Return a value of the same structure with other tensors."""
        raise NotImplementedError

    def fetched(self, values: Sequence[Any]) -> Any:
        """Return what fetching it gives, from the values of the parts."""
        raise NotImplementedError

    def fed(self, value: Any) -> list[tuple[Tensor, Any]]:
        """Return what to feed so that it has a value."""
        raise NotImplementedError

    def part_shapes(self) -> list[TensorShape]:
        """Return the shapes of the parts in every iteration of a loop."""
        raise NotImplementedError

    def dispatch(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Return the result of a function of which it is an argument.

        Raises:
          TypeError: the function takes no such value.
        """
        raise NotImplementedError


def composite_among(values: Sequence[Any]) -> CompositeTensor | None:
    """Return the first such value among some, or among the members of lists among them."""
    for value in values:
        if isinstance(value, CompositeTensor):
            return value
        if isinstance(value, (list, tuple)):
            for member in value:
                if isinstance(member, CompositeTensor):
                    return member
    return None


def dispatchable(function: type_of_function) -> type_of_function:
    """Mark a function that values of several parts may have their own way of."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        found = composite_among(args)
        if found is None and kwargs:
            found = composite_among(tuple(kwargs.values()))
        if found is not None:
            return found.dispatch(function, args, kwargs)
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]
