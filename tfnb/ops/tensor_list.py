"""A list of tensors as a value: what the ops of list_ops.py take and give."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.array_module import module_of, to_host
from tfnb.core.node_text import shape_text as static_shape_text
from tfnb.core.node_text import type_word
from tfnb.core.shape_inference import merge_shapes
from tfnb.ops.opaque_values import is_opaque

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.tensor_shape import TensorShape


class Stack(Sequence[Any]):
    """The elements of a list that others were pushed to: a stretch of a list that only grows.

    Who pushes to the longest stretch appends in place, so that a loop that pushes in each
    iteration costs what it pushes.
    """

    __slots__ = ("_count", "_items")

    _lock = threading.Lock()

    def __init__(self, items: list[Any], count: int) -> None:
        # Of all stretches of a list only the items before `count` are this one's.  Appended to
        # under the lock.
        self._items = items
        self._count = count

    def pushed(self, item: Any) -> Stack:
        """The elements and one more."""
        with self._lock:
            if len(self._items) == self._count:
                self._items.append(item)
                return Stack(self._items, self._count + 1)
        return Stack([*self, item], self._count + 1)

    def popped(self) -> Stack:
        """The elements without the last."""
        return Stack(self._items, self._count - 1)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items[: self._count])

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        """An element, or a list of some."""
        if isinstance(index, slice):
            return self._items[: self._count][index]
        if not -self._count <= index < self._count:
            raise IndexError(index)
        return self._items[index + self._count if index < 0 else index]


@dataclass(slots=True, frozen=True)
class TensorList:
    """A list of tensors of one dtype.

    Attributes:
      dtype: the elements' dtype.
      element_shape: what is known of the elements' shapes.
      elements: the tensors; None for one that was never set.
      max_num_elements: how many there may be; -1 is no limit.
    """

    dtype: DType
    element_shape: TensorShape
    elements: Sequence[Any] = ()
    max_num_elements: int = -1

    # A list is a scalar to whoever asks for its form.
    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the list as a tensor: a scalar."""
        return ()

    def with_elements(self, elements: Sequence[Any]) -> TensorList:
        """The same list with other elements."""
        return TensorList(self.dtype, self.element_shape, elements, self.max_num_elements)

    def zeros_like(self) -> TensorList:
        """A list of zeros of the same form."""

        def zeros(element: Any) -> Any:
            if element is None:
                return None
            if is_opaque(element):
                return element.zeros_like()
            return element_zeros(module_of(element), element.shape, self.dtype)

        return self.with_elements(tuple([zeros(element) for element in self.elements]))

    def __add__(self, other: TensorList) -> TensorList:
        if self.dtype is not other.dtype:
            raise errors.invalid_argument(
                "Trying to add two lists of tensors of different dtypes. One is "
                f"{type_word(self.dtype)} and the other is {type_word(other.dtype)}"
            )
        if len(self.elements) != len(other.elements):
            raise errors.invalid_argument(
                "Trying to add two lists of tensors with different lengths. One is "
                f"{len(self.elements)} and the other is {len(other.elements)}"
            )
        shape = merged_shapes(self.element_shape, other.element_shape)
        pairs = zip(self.elements, other.elements)
        return TensorList(
            self.dtype,
            shape,
            tuple([b if a is None else a if b is None else a + b for a, b in pairs]),
        )


def element_here(xp: Any, element: Any) -> Any:
    """An element in the memory where a kernel computes; a list may have come from elsewhere."""
    if xp is np:
        return to_host(element)
    holds_objects = not hasattr(element, "dtype") or element.dtype.hasobject
    return element if holds_objects else xp.asarray(element)


def element_zeros(xp: Any, shape: Any, dtype: DType) -> Any:
    """Zeros, or empty strings, in the place of an element that was never set."""
    if dtype is dtypes.string:
        out = np.empty(shape, object)
        out[...] = b""
        return out
    return xp.zeros(shape, dtype.numpy_dtype)


def merged_shapes(a: TensorShape, b: TensorShape) -> TensorShape:
    """What is known by two shapes of one element.

    Raises:
      InvalidArgumentError: they contradict each other.
    """
    try:
        return merge_shapes(a, b)
    except ValueError:
        raise errors.invalid_argument(
            "PartialTensorShape: Incompatible shapes during merge: "
            f"{partial_text(a)} vs. {partial_text(b)}"
        ) from None


def partial_text(shape: TensorShape) -> str:
    """A shape as the messages of lists show it."""
    return "<unknown>" if shape.dim_values is None else static_shape_text(shape)
