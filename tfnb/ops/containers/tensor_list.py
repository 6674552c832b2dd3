"""The immutable tensor list that list ops take and return."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.array_module import module_of, to_host
from tfnb.core.node_text import shape_text as static_shape_text
from tfnb.core.node_text import type_word
from tfnb.core.process.records import record
from tfnb.core.shape_inference import merge_shapes
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.opaque_values import is_opaque

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Xp


class Stack(Sequence[Any]):
    """The elements of a list built by pushes: a prefix of a shared list that only grows.

    A push to the longest prefix appends in place, so each iteration of a loop that pushes costs
    only its own element.
    """

    __slots__ = ("_count", "_items")

    _lock = threading.Lock()

    def __init__(self, items: list[Array], count: int) -> None:
        # Shared by all prefixes; this one has the items before `count`.  Appended to under the
        # lock.
        self._items = items
        self._count = count

    def pushed(self, item: Array) -> Stack:
        """Return the elements followed by one more."""
        with self._lock:
            if len(self._items) == self._count:
                self._items.append(item)
                return Stack(self._items, self._count + 1)
        return Stack([*self, item], self._count + 1)

    def popped(self) -> Stack:
        """Return the elements without the last."""
        return Stack(self._items, self._count - 1)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Array]:
        return iter(self._items[: self._count])

    @overload
    def __getitem__(self, index: int) -> Array: ...
    @overload
    def __getitem__(self, index: slice) -> list[Array]: ...
    def __getitem__(self, index: int | slice) -> Array:
        """Return an element, or a list of some."""
        if isinstance(index, slice):
            return self._items[: self._count][index]
        if not -self._count <= index < self._count:
            raise IndexError(index)
        return self._items[index + self._count if index < 0 else index]


_LEAST_AGE = 64


class Places(Sequence[Any]):
    """The elements of a list that are set one by one, as a chain of versions.

    The newest version owns the items.  An older one, in most cases unused, stores its value of the
    single index that differs, and makes a copy when it is read.  So each iteration of a loop that
    sets an element costs only that element.  After as many versions as there are elements, the next
    one copies the items, which bounds the memory that an old version keeps alive.  Elements that
    were never set cost nothing.
    """

    __slots__ = ("_age", "_before", "_count", "_index", "_items", "_newer")

    _lock = threading.Lock()

    def __init__(self, items: dict[int, Array], count: int) -> None:
        self._items: dict[int, Array] | None = items
        self._count = count
        self._age = 0  # number of earlier versions that shared these items
        # If this is not the newest: the next version, the index where it differs, the value here.
        self._newer: Places | None = None
        self._index = 0
        self._before: Array = None

    def replaced(self, index: int, item: Array) -> Places:
        """Return the elements with one of them replaced."""
        with self._lock:
            items = self._own()
            if self._age > max(_LEAST_AGE, self._count):
                items = items.copy()
                items[index] = item
                return Places(items, self._count)
            newer = Places(items, self._count)
            newer._age = self._age + 1
            self._newer, self._index, self._before = newer, index, items.get(index)
            self._items = None  # before the write, so that a concurrent reader checks again
            items[index] = item
            return newer

    def set_ones(self) -> dict[int, Array]:
        """Return the elements that were set, by index."""
        with self._lock:
            return self._own().copy()

    def num_set(self) -> int:
        """Return the number of set elements; an upper bound for an old version."""
        return self._count if self._items is None else len(self._items)

    def _own(self) -> dict[int, Array]:
        """Return the items; an older version copies them first. Called under the lock."""
        if self._items is None:
            changes, one = list[tuple[int, Any]](), self
            while one._items is None:
                assert one._newer is not None
                changes.append((one._index, one._before))
                one = one._newer
            items = one._items.copy()
            for index, before in reversed(changes):
                items[index] = before
            self._items, self._newer, self._before, self._age = items, None, None, 0
        return self._items

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Array]:
        return map(self.set_ones().get, range(self._count))

    @overload
    def __getitem__(self, index: int) -> Array: ...
    @overload
    def __getitem__(self, index: slice) -> list[Array]: ...
    def __getitem__(self, index: int | slice) -> Array:
        """Return an element, or a list of some."""
        if isinstance(index, slice):
            return list(self)[index]
        if not -self._count <= index < self._count:
            raise IndexError(index)
        index %= self._count
        items = self._items
        if items is not None:
            found = items.get(index)
            if self._items is items:
                return found
        with self._lock:
            return self._own().get(index)


@record(slots=True, eq=False)
class TensorList:
    """An immutable list of tensors of one dtype.

    Attributes:
      dtype: the elements' dtype.
      element_shape: the partial static shape of the elements.
      elements: the tensors; None for those that were never set.
      max_num_elements: maximum number of elements; -1 for no limit.
    """

    dtype: DType
    element_shape: TensorShape
    elements: Sequence[Array] = ()
    max_num_elements: int = -1

    # A list has the shape of a scalar.
    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the list as a tensor: a scalar."""
        return ()

    def with_elements(self, elements: Sequence[Array]) -> TensorList:
        """Return a list of the same type with other elements."""
        return TensorList(self.dtype, self.element_shape, elements, self.max_num_elements)

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Return whether a tensor of this shape can be an element."""
        known = self.element_shape.dim_values
        return (
            known is None
            or known == shape
            or self.element_shape.is_compatible_with(TensorShape(shape))
        )

    def zeros_like(self) -> TensorList:
        """Return a list of zeros of the same dtypes and shapes."""

        def zeros(element: Array) -> Array:
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
        if _is_sparse(other.elements):
            return TensorList(self.dtype, shape, _added(self.elements, other.elements))
        if _is_sparse(self.elements):
            return TensorList(self.dtype, shape, _added(other.elements, self.elements))
        pairs = zip(self.elements, other.elements)
        return TensorList(
            self.dtype,
            shape,
            tuple([b if a is None else a if b is None else a + b for a, b in pairs]),
        )


def _is_sparse(elements: Sequence[Array]) -> bool:
    return isinstance(elements, Places) and elements.num_set() * 8 < len(elements)


def _added(all_elements: Sequence[Array], few: Array) -> Places:
    """Return the sums of the elements of two lists, the second of which has few set elements."""
    sums = as_places(all_elements)
    for index, one in few.set_ones().items():
        before = sums[index]
        sums = sums.replaced(index, one if before is None else before + one)
    return sums


def as_places(elements: Sequence[Array]) -> Places:
    """Convert the elements to :class:`Places`, so that one of them can be set."""
    if isinstance(elements, Places):
        return elements
    items = {place: one for place, one in enumerate(elements) if one is not None}
    return Places(items, len(elements))


def element_here(xp: Xp, element: Array) -> Array:
    """Return an element in the kernel's memory; a list may come from another device."""
    if xp is np:
        return to_host(element)
    holds_objects = not hasattr(element, "dtype") or element.dtype.hasobject
    return element if holds_objects else xp.asarray(element)


def element_zeros(xp: Xp, shape: Array, dtype: DType) -> Array:
    """Return zeros, or empty strings, for an element that was never set."""
    if dtype is dtypes.string:
        out = np.empty(shape, object)
        out[...] = b""
        return out
    return xp.zeros(shape, dtype.numpy_dtype)


def merged_shapes(a: TensorShape, b: TensorShape) -> TensorShape:
    """Merge two partial shapes of one element.

    Raises:
      InvalidArgumentError: they are incompatible.
    """
    try:
        return merge_shapes(a, b)
    except ValueError:
        raise errors.invalid_argument(
            "PartialTensorShape: Incompatible shapes during merge: "
            f"{partial_text(a)} vs. {partial_text(b)}"
        ) from None


def partial_text(shape: TensorShape) -> str:
    """Format a shape for the error messages of list ops."""
    return "<unknown>" if shape.dim_values is None else static_shape_text(shape)
