"""The array behind TensorArray ops: a list of tensors, each written once, that lives for one step.

Corresponds to TensorFlow's ``tensor_array.h``.  An element is empty, written, or cleared (read once
from an array with ``clear_after_read``).  Only written places take memory.  A gradient array sums
the writes to one place, and knows the shapes of the forward array's elements, so that a place
without a write reads as zeros.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.node_text import shape_text, type_word
from tfnb.core.tensor_shape import TensorShape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Attr, Xp


MAX_SIZE = 1 << 26
"""The size limit of an array: reading more places one by one would take too long."""


_ndarray = np.ndarray


class Cleared(tuple[int, ...]):
    """The mark of an element that was read once and cleared; it holds the element's shape."""

    __slots__ = ()


class TensorArrayResource:
    """One TensorArray of one step.

    Kernels of a step that share a resource run in one thread; the locks here protect against
    readers outside the step.
    """

    shape = ()  # a handle's shape: a register may hold the array instead

    def __init__(
        self,
        name: str,
        dtype: DType,
        size: int,
        element_shape: TensorShape,
        *,
        dynamic_size: bool = False,
        clear_after_read: bool = True,
        identical_element_shapes: bool = False,
        adds_up: bool = False,
    ) -> None:
        self.name = name
        self.dtype = dtype
        self.element_shape = element_shape
        self.dynamic_size = dynamic_size
        self.clear_after_read = clear_after_read
        self.identical_element_shapes = identical_element_shapes
        self.adds_up = adds_up
        # Number of elements of the last split; a gradient array has that of its forward array.
        self.split_size: int | None = None
        self.lock = threading.RLock()
        self._size = _checked_size(size)  # guarded by self.lock
        # The element, or Cleared, of each place.
        self.values: dict[int, Array] = {}  # guarded by self.lock
        self.read_places: set[int] = set()  # guarded by self.lock; places read and not cleared
        self.shapes: dict[int, tuple[int, ...]] = {}  # shapes of a forward array's elements
        self._gradients: dict[str, TensorArrayResource] = {}  # guarded by self.lock
        # Class, shape and element type, if all elements share them. A value that has them needs no
        # other check; the class is None if elements differ, or none is written yet.
        self._class: Attr = None
        self._shape: Attr = None
        self._element_dtype: Attr = None
        self._cleared = Cleared()
        self._is_mixed = False
        self.is_closed = False

    @property
    def is_uniform(self) -> bool:
        """Whether all elements that were written are known to have one shape."""
        return self._class is not None

    def close(self) -> None:
        """Drop the elements."""
        with self.lock:
            self.is_closed = True
            self._forget_form()
            self.values.clear()

    def _forget_form(self) -> None:
        self._class, self._is_mixed = None, True

    def check_open(self) -> None:
        """Refuse a closed array."""
        if self.is_closed:
            raise errors.invalid_argument(f"TensorArray {self.name} has already been closed.")

    def size(self) -> int:
        """Return the number of places of the array."""
        self.check_open()
        return self._size

    def write(self, index: int, value: Array) -> None:
        """Put ``value`` at a place; a dynamic array grows up to it.

        Raises:
          InvalidArgumentError: the place is out of range or written already, or the value has
            another dtype or shape than the array's elements.
        """
        index = int(index)
        if (
            value.__class__ is self._class
            and value.shape == self._shape
            and value.dtype is self._element_dtype
            and index not in self.values
            and -1 < index < self._size
        ):
            # The fast path of nearly every write.
            self.values[index] = value
        else:
            self._write_checked(index, value)

    def write_rows(self, places: Sequence[int], rows: Array) -> None:
        """Write the rows of a tensor; rows before a refused one remain written."""
        values, is_known = self.values, False
        is_plain = rows.__class__ is _ndarray and (rows.ndim > 1 or rows.dtype != object)
        for index, value in zip(places, rows, strict=True):
            if is_known and index not in values and -1 < index < self._size:
                values[index] = value
            else:
                self.write(index, value)
                # The other rows have the type and shape of the first.
                is_known = is_plain and self._class is not None

    def _write_checked(self, index: int, value: Array) -> None:
        with self.lock:
            self._check_and_write(index, value)

    def _check_and_write(self, index: int, value: Array) -> None:
        self.check_open()
        if index < 0 or (index >= self._size and not self.dynamic_size):
            raise errors.invalid_argument(
                f"TensorArray {self.name}: Tried to write to index {index} but array is not "
                f"resizeable and size is: {self._size}"
            )
        _checked_size(index + 1)
        self._check_form(index, value)
        self._size = max(self._size, index + 1)
        before = self.values.get(index)
        if before.__class__ is Cleared or (index in self.read_places and not self.adds_up):
            raise errors.invalid_argument(
                f"TensorArray {self.name}: Could not write to TensorArray index {index} "
                "because it has already been read."
            )
        if before is not None:
            if not self.adds_up:
                raise errors.invalid_argument(
                    f"TensorArray {self.name}: Could not write to TensorArray index {index} "
                    "because it has already been written to."
                )
            if np.shape(before) != np.shape(value):
                raise errors.invalid_argument(
                    f"TensorArray {self.name}: Could not aggregate to TensorArray index "
                    f"{index} because the existing shape is {list(np.shape(before))} but the "
                    f"new input shape is {list(np.shape(value))}."
                )
            value = before + value
        self.values[index] = value
        self._note_form(value)

    def _note_form(self, value: Array) -> None:
        if self._is_mixed or not hasattr(value, "dtype"):
            self._forget_form()
        elif self._class is None:
            self._class, self._shape = value.__class__, value.shape
            self._element_dtype = value.dtype
            self._cleared = Cleared(value.shape)
        elif (
            value.__class__ is not self._class
            or value.shape != self._shape
            or value.dtype is not self._element_dtype
        ):
            self._forget_form()

    def _check_form(self, index: int, value: Array) -> None:
        shape = TensorShape(list(np.shape(value)))
        dtype = getattr(value, "dtype", None)
        if isinstance(dtype, np.dtype) and dtype != self.dtype.numpy_dtype:
            raise errors.invalid_argument(
                f"TensorArray {self.name}: Could not write to TensorArray index {index} because "
                f"the value dtype is {type_word(dtypes.as_dtype(dtype))} but TensorArray dtype is "
                f"{type_word(self.dtype)}."
            )
        if not self.element_shape.is_compatible_with(shape):
            raise errors.invalid_argument(
                f"TensorArray {self.name}: Could not write to TensorArray index {index} because "
                f"the value shape is {shape_text(shape)} which is incompatible with the "
                f"TensorArray's inferred element shape: {shape_text(self.element_shape)} "
                "(consider setting infer_shape=False)."
            )
        if self.identical_element_shapes and not self.element_shape.is_fully_defined():
            self.element_shape = shape

    def read(self, xp: Xp, index: int) -> Array:
        """Return the element at a place; clear it if the array has ``clear_after_read``.

        Raises:
          InvalidArgumentError: the place is out of range, was cleared, or is empty and of unknown
            shape.
        """
        index = int(index)
        value = self.values.get(index)
        if value.__class__ is not self._class:
            return self._read_checked(xp, index)
        # The fast path of nearly every read.
        if self.clear_after_read:
            self.values[index] = self._cleared
        elif not self.adds_up:
            self.read_places.add(index)
        return value

    def _read_checked(self, xp: Xp, index: int) -> Array:
        with self.lock:
            self.check_open()
            if not 0 <= index < self._size:
                raise errors.invalid_argument(
                    f"TensorArray {self.name}: Tried to read from index {index} but array size "
                    f"is: {self._size}"
                )
            value = self.values.get(index)
            if value.__class__ is Cleared:
                raise errors.invalid_argument(
                    f"TensorArray {self.name}: Could not read index {index} twice because it was "
                    "cleared after a previous read (perhaps try setting clear_after_read = false?)."
                )
            if value is None:
                value = self._zeros(xp, index)
            if self.clear_after_read:
                shape = value.shape if hasattr(value, "dtype") else np.shape(value)
                self.values[index] = self._cleared if shape == self._cleared else Cleared(shape)
            elif not self.adds_up:
                if index not in self.values:
                    self._forget_form()  # so that writing to the place is refused
                self.read_places.add(index)
            return value

    def read_all(self, xp: Xp, places: Sequence[int]) -> list[Array]:
        """Return the elements at several places."""
        found = [self.values.get(index) for index in places]
        if self._class is None or {value.__class__ for value in found} != {self._class}:
            return [self.read(xp, index) for index in places]
        if self.clear_after_read:
            cleared = dict.fromkeys(places, self._cleared)
            if len(cleared) < len(found):  # a place is requested twice
                return [self.read(xp, index) for index in places]
            self.values.update(cleared)
        elif not self.adds_up:
            self.read_places.update(places)
        return found

    def _zeros(self, xp: Xp, index: int) -> Array:
        shape = self.shapes.get(index)
        if shape is None:
            if not self.element_shape.is_fully_defined():
                raise errors.invalid_argument(
                    f"TensorArray {self.name}: Could not read from TensorArray index {index}. "
                    f"Furthermore, the element shape is not fully defined: {self.element_shape}. "
                    "It is possible you are working with a resizeable TensorArray and "
                    "stop_gradients is not allowing the gradients to be written. If you set the "
                    "full element_shape property on the forward TensorArray, the proper all-zeros "
                    "tensor will be returned instead of incurring this error."
                )
            shape = tuple(size or 0 for size in self.element_shape.as_list())
        if self.dtype.name == "string":
            raise errors.invalid_argument(
                f"TensorArray {self.name}: Could not read from TensorArray index {index}: no "
                "string was written there, and strings have no zero value."
            )
        return xp.zeros(shape, self.dtype.numpy_dtype)

    def gradient_for(self, source: str, prepended: tuple[int, ...] = ()) -> TensorArrayResource:
        """Return the gradient array of this one; the same one for the same ``source``.

        Raises:
          InvalidArgumentError: this array is closed, or is a gradient array itself.
        """
        found = self._gradients.get(source)
        if found is None:
            found = self._gradients[source] = self.gradient(f"{self.name}@{source}", prepended)
        return found

    def gradient(self, name: str, prepended: tuple[int, ...] = ()) -> TensorArrayResource:
        """Return a new array that receives the gradients of this one's elements.

        Raises:
          InvalidArgumentError: this array is a gradient array itself; TensorFlow has no second
            gradients of it either.
        """
        if self.adds_up:
            raise errors.invalid_argument(
                f"Wrong input container. {self.name} holds gradients, and a TensorArray can be "
                "differentiated only once. Call tf.enable_control_flow_v2() first: tensor "
                "lists can be differentiated repeatedly."
            )
        with self.lock:
            self.check_open()
            shape = TensorShape(list(prepended)).concatenate(self.element_shape)
            made = TensorArrayResource(
                name,
                self.dtype,
                self._size,
                shape,
                clear_after_read=False,
                identical_element_shapes=self.identical_element_shapes,
                adds_up=True,
            )
            made.split_size = self.split_size
            made.shapes = {
                index: (*prepended, *(value if value.__class__ is Cleared else np.shape(value)))
                for index, value in self.values.items()
            }
            return made


def _checked_size(count: int) -> int:
    if count > MAX_SIZE:
        raise errors.resource_exhausted(
            f"A TensorArray of {count} places is larger than the {MAX_SIZE} that are allowed."
        )
    return count
