"""Tables from keys to values, behind the handles of the lookup ops.

A :class:`HashTable` is filled once and then only read; a :class:`MutableHashTable` may change at
any time. Both keep a dict from a key, as a Python value, to the value (a Python scalar, or an array
if values have a shape). ``_lock`` guards every change; a reader sees a consistent dict. Corresponds
to ``lookup_table_op.cc`` and ``initializable_lookup_table.cc``.
"""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tfnb.core import errors
from tfnb.core.string_hashes import hash64

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Attr


_64_BITS: Final = 0xFFFFFFFFFFFFFFFF


class LookupTable:
    """The base class of tables: dtypes, the shape of a value, lookups.

    Args:
      name: the name in messages.
      key_dtype: dtype of the keys.
      value_dtype: dtype of the values.
      value_shape: the shape of one value.
    """

    def __init__(
        self, name: str, key_dtype: DType, value_dtype: DType, value_shape: tuple[int, ...] = ()
    ) -> None:
        self.name = name
        self.key_dtype = key_dtype
        self.value_dtype = value_dtype
        self.value_shape = value_shape
        self._lock = threading.RLock()
        self._entries: dict[Array, Array] = {}  # changed under self._lock

    def size(self) -> int:
        """Return the number of keys."""
        return len(self._entries)

    def find(self, keys: Array, default: Attr) -> Array:
        """Return the value of each key; ``default`` is one value, or one for each key."""
        rows = self._check_default(np.shape(keys), np.shape(default))
        wanted = np.asarray(keys).reshape(-1).tolist()
        with self._lock:
            entries = self._entries
            if rows:
                defaults = self._rows(default)
                found = [entries.get(key, other) for key, other in zip(wanted, defaults)]
            else:
                other = self._rows(np.reshape(np.asarray(default), (1, *self.value_shape)))[0]
                found = [entries.get(key, other) for key in wanted]
        return self._array(found, np.shape(keys))

    def export(self) -> tuple[Array, Array]:
        """Return all keys and their values."""
        with self._lock:
            keys = self._ordered()
            values = [self._entries[key] for key in keys]
        return _array_of(keys, self.key_dtype), self._array(values, (len(values),))

    def _ordered(self) -> list[Array]:
        return list(self._entries)

    def insert(self, keys: Array, values: Array) -> None:
        """Add or replace values."""
        raise NotImplementedError

    def remove(self, keys: Array) -> None:
        """Remove keys; unknown ones are no error."""
        raise NotImplementedError

    def import_values(self, keys: Array, values: Array) -> None:
        """Replace all entries."""
        raise NotImplementedError

    def check_values(self, keys: Array, values: Array) -> None:
        """Refuse values unless there is exactly one for each key.

        Raises:
          InvalidArgumentError: the shapes do not match.
        """
        wanted = (*np.shape(keys), *self.value_shape)
        if np.shape(values) != wanted:
            raise errors.invalid_argument(
                f"Expected shape {_dims(wanted)} for value, got {_dims(np.shape(values))}"
            )

    def _check_default(self, keys: tuple[int, ...], default: tuple[int, ...]) -> bool:
        """Return whether the default has one value for each key."""
        full = (*keys, *self.value_shape)
        if default not in (self.value_shape, full):
            raise errors.invalid_argument(
                f"Expected shape {_dims(self.value_shape)} or {_dims(full)} for default value, "
                f"got {_dims(default)}"
            )
        return default != self.value_shape

    def _rows(self, values: Array) -> list[Array]:
        """Return values in their stored form, one for each key."""
        array = np.asarray(values)
        if not self.value_shape:
            flat = array.reshape(-1)
            return flat.tolist() if _is_exact(self.value_dtype) else list(flat)
        return [row.copy() for row in array.reshape(-1, *self.value_shape)]

    def _array(self, rows: list[Array], shape: tuple[int, ...]) -> Array:
        if not self.value_shape:
            return _array_of(rows, self.value_dtype).reshape(shape)
        out = np.empty((len(rows), *self.value_shape), self.value_dtype.numpy_dtype)
        for position, row in enumerate(rows):
            out[position] = row
        return out.reshape((*shape, *self.value_shape))


class HashTable(LookupTable):
    """A table that is filled once; filling it again with as many entries changes nothing."""

    is_initialized = False

    def initialize(self, keys: Array, values: Array) -> None:
        """Fill the table from tensors.

        Raises:
          InvalidArgumentError: there are more or fewer values than keys, or no values.
          FailedPreconditionError: the table has other entries, or a key has two values.
        """
        if np.size(keys) != np.size(values):
            raise errors.invalid_argument(
                f"Keys and values must have the same size {np.size(keys)} vs {np.size(values)}"
            )
        if not np.size(keys):
            raise errors.invalid_argument("keys and values cannot be empty tensors.")
        self.fill(zip(np.asarray(keys).reshape(-1).tolist(), self._rows(values)), np.size(keys))

    def fill(self, entries: Iterable[tuple[Array, Array]], count: int) -> None:
        """Fill the table from ``count`` pairs; after an error it is empty again."""
        with self._lock:
            if self.is_initialized:
                if count != len(self._entries):
                    raise errors.failed_precondition(
                        "Table was already initialized with different data."
                    )
                return
            found: dict[Array, Array] = {}
            for key, value in entries:
                known = found.setdefault(key, value)
                if known != value:
                    raise errors.failed_precondition(
                        "HashTable has different value for same key. Key "
                        f"{_shown(key)} has {_shown(known)} and trying to add value "
                        f"{_shown(value)}"
                    )
            self._entries = found
            self.is_initialized = True

    def find(self, keys: Array, default: Attr) -> Array:
        """Return the value of each key, or the (first) default.

        Raises:
          FailedPreconditionError: the table was not filled.
        """
        if not self.is_initialized:
            raise errors.failed_precondition("Table not initialized.")
        self._check_default(np.shape(keys), np.shape(default))
        flat = np.asarray(default).reshape(-1)
        # Without keys, a default for each of them is empty.
        first = flat[0] if flat.size else np.zeros((), self.value_dtype.numpy_dtype)[()]
        if not isinstance(first, bytes):
            return super().find(keys, first)
        return super().find(keys, np.array(first, dtype=object))

    def export(self) -> tuple[Array, Array]:
        """Return all keys and their values.

        Raises:
          AbortedError: the table was not filled.
        """
        if not self.is_initialized:
            raise errors.aborted("HashTable is not initialized.")
        return super().export()

    def insert(self, keys: Array, values: Array) -> None:
        """Refuse the insertion: this kind of table is filled once."""
        raise errors.unimplemented(
            "Insert not supported by InitializableLookupTable implementations"
        )

    def remove(self, keys: Array) -> None:
        """Refuse the removal: this kind of table is filled once."""
        raise errors.unimplemented(
            "Remove not supported by InitializableLookupTable implementations"
        )

    def import_values(self, keys: Array, values: Array) -> None:
        """Fill the table."""
        self.initialize(keys, values)


class _Order:
    """The order in which TensorFlow's tables export their keys: that of ``std::unordered_map``.

    Keys of one bucket are neighbours, the newest first; the newest buckets come first, too. When
    there are as many
    keys as buckets, one more key roughly doubles the buckets, and the keys move in order.
    """

    _PRIMES: Final = (
        13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753, 42043, 85229, 172933, 351061,
        712697, 1447153, 2938679,
    )  # fmt: skip

    def __init__(self) -> None:
        self.count = 0
        self._number = 1
        self._buckets: dict[int, list[Array]] = {}

    def clear(self) -> None:
        """Remove the keys; the number of buckets stays the same."""
        self.count, self._buckets = 0, {}

    def change(self, key: Array) -> None:
        """Add a key, or remove it if it exists."""
        bucket = self._bucket(key)
        there = self._buckets.get(bucket, [])
        if key in there:
            there.remove(key)
            self.count -= 1
            if not there:
                del self._buckets[bucket]
            return
        if self.count + 1 > self._number or self._number == 1:
            more = 2 * self._number
            self._number = next((prime for prime in self._PRIMES if prime >= more), more + 1)
            moved = self.keys()
            self._buckets = {}
            for known in moved:
                self._buckets.setdefault(self._bucket(known), []).append(known)
        self._buckets.setdefault(self._bucket(key), []).append(key)
        self.count += 1

    def keys(self) -> list[Array]:
        """Return the keys in order."""
        return [key for bucket in reversed(self._buckets.values()) for key in reversed(bucket)]

    def _bucket(self, key: Array) -> int:
        number = hash64(key) if isinstance(key, bytes) else key
        number = number if isinstance(number, int) else hash(number)
        return (number & 0xFFFFFFFFFFFFFFFF) % self._number


class MutableHashTable(LookupTable):
    """A table that may change at any time."""

    def __init__(self, *args: Array, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._order = _Order()
        self._changed: list[Array] = []  # keys added or removed since the order was last read

    def _ordered(self) -> list[Array]:
        for key in self._changed:
            self._order.change(key)
        self._changed.clear()
        return self._order.keys()

    def _update(self, keys: list[Array], values: list[Array]) -> None:
        for key, value in zip(keys, values):
            if key not in self._entries:
                self._changed.append(key)
            self._entries[key] = value
        if len(self._changed) > 1000 + 4 * len(self._entries):
            self._ordered()

    def insert(self, keys: Array, values: Array) -> None:
        """Add or replace values; if keys are equal, the last one counts."""
        self.check_values(keys, values)
        with self._lock:
            self._update(np.asarray(keys).reshape(-1).tolist(), self._rows(values))

    def remove(self, keys: Array) -> None:
        """Remove keys; unknown ones are no error."""
        with self._lock:
            for key in np.asarray(keys).reshape(-1).tolist():
                if key in self._entries:
                    del self._entries[key]
                    self._changed.append(key)

    def import_values(self, keys: Array, values: Array) -> None:
        """Replace all entries."""
        self.check_values(keys, values)
        with self._lock:
            self._ordered()
            self._order.clear()
            self._entries = {}
            self._update(np.asarray(keys).reshape(-1).tolist(), self._rows(values))


_DELETED: Final = object()


class MutableDenseHashTable(LookupTable):
    """A mutable table in buckets that reserves two keys; keys may be tensors.

    The bucket of each key is the same as in TensorFlow, because all buckets are exported. A bucket
    without an entry in ``_places`` is free; one with ``_DELETED`` was freed.
    """

    empty_key: Array = None
    deleted_key: Array = None

    def __init__(self, *args: Array, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._key_shape: tuple[int, ...] = ()
        self._reserved: list[tuple[str, Array]] = []
        self._places: dict[int, Array] = {}
        self._where: dict[Array, int] = {}
        self._buckets = 4
        self._load = 0.8

    def reserve(self, empty_key: Array, deleted_key: Array, buckets: int, load: float) -> None:
        """Set the two reserved keys, the number of buckets and the maximum load; once per table."""
        with self._lock:
            if self._reserved:
                return
            self._key_shape = np.shape(empty_key)
            self.empty_key = self._keys(np.asarray(empty_key)[None])[0]
            self._reserved = [("empty_key", self.empty_key)]
            if deleted_key is not None:
                self.deleted_key = self._keys(np.asarray(deleted_key)[None])[0]
                self._reserved.append(("deleted_key", self.deleted_key))
            self._buckets, self._load = buckets, load

    def _keys(self, keys: Array) -> list[Array]:
        """Return keys in their stored form: scalars, or tuples of a tensor's elements.

        Raises:
          InvalidArgumentError: the keys have another shape.
        """
        array = np.asarray(keys)
        count = array.shape[0] if array.ndim else 1
        size = int(np.prod(self._key_shape))
        if array.size != count * size:
            raise errors.invalid_argument(
                f"Expected key shape {_dims((count, *self._key_shape))} got {_dims(array.shape)}"
            )
        if not self._key_shape:
            return array.reshape(-1).tolist()
        return [tuple(row) for row in array.reshape(count, size).tolist()]

    def _checked(self, keys: Array) -> list[Array]:
        found = self._keys(keys)
        for word, reserved in self._reserved:
            if reserved in found:
                raise errors.invalid_argument(f"Using the {word} as a table key is not allowed")
        return found

    def _probes(self, key: Array) -> Iterator[int]:
        parts = key if isinstance(key, tuple) else (key,)
        numbers = [hash64(one) if isinstance(one, bytes) else int(one) & _64_BITS for one in parts]
        place = numbers[0]
        if len(numbers) > 1:
            place = 0
            for number in numbers:
                more = number + 0x9E3779B97F4A7800 + (place << 10) + (place >> 4)
                place ^= more & _64_BITS
        for step in itertools.count(1):
            place &= self._buckets - 1
            yield place
            place += step

    def find(self, keys: Array, default: Attr) -> Array:
        """Return the value of each key; a reserved key is an error."""
        wanted = self._checked(keys)
        shape = np.shape(keys)[: np.ndim(keys) - len(self._key_shape)]
        other = self._rows(np.reshape(np.asarray(default), (-1, *self.value_shape)))
        self._check_default(shape, np.shape(default))
        with self._lock:
            if len(other) == 1:
                found = [self._entries.get(key, other[0]) for key in wanted]
            else:
                found = [self._entries.get(key, one) for key, one in zip(wanted, other)]
        return self._array(found, shape)

    def check_values(self, keys: Array, values: Array) -> None:
        """Refuse values unless there is exactly one for each key."""
        super().check_values(
            np.empty(np.shape(keys)[: np.ndim(keys) - len(self._key_shape)], bool), values
        )

    def insert(self, keys: Array, values: Array) -> None:
        """Add or replace values; a reserved key is an error."""
        new = self._checked(keys)
        self.check_values(keys, values)
        with self._lock:
            buckets = self._buckets
            while len(self._entries) + len(new) > buckets * self._load:
                buckets *= 2
            if buckets != self._buckets:
                self._buckets = buckets
                self._place_all()
            for key, value in zip(new, self._rows(values)):
                if key not in self._entries:
                    self._place(key)
                self._entries[key] = value

    def _place_all(self) -> None:
        before, self._places, self._where = self._places, {}, {}
        for _, key in sorted(before.items(), key=lambda item: item[0]):
            if key is not _DELETED:
                self._place(key)

    def _place(self, key: Array) -> None:
        """Give a key the first bucket in its sequence that is free or was freed."""
        place = next(
            place for place in self._probes(key) if self._places.get(place, _DELETED) is _DELETED
        )
        self._places[place], self._where[key] = key, place

    def remove(self, keys: Array) -> None:
        """Remove keys; a reserved key is an error."""
        gone = self._checked(keys)
        with self._lock:
            for key in gone:
                if key in self._entries:
                    del self._entries[key]
                    self._places[self._where.pop(key)] = _DELETED

    def export(self) -> tuple[Array, Array]:
        """Return the keys and values of all buckets; a reserved key means a free bucket."""
        with self._lock:
            keys = [self.empty_key] * self._buckets
            values: Array = np.zeros(
                (self._buckets, *self.value_shape), self.value_dtype.numpy_dtype
            )
            if values.dtype == object:
                values[...] = b""
            for place, key in self._places.items():
                keys[place] = self.deleted_key if key is _DELETED else key
                if key is not _DELETED:
                    values[place] = self._entries[key]
        flat = [one for key in keys for one in key] if self._key_shape else keys
        # TensorFlow's buckets are matrices, even those of scalars.
        rows = _array_of(flat, self.key_dtype).reshape(self._buckets, -1)
        return rows, values.reshape(self._buckets, -1)

    def import_values(self, keys: Array, values: Array) -> None:
        """Replace all entries; the reserved keys are free buckets of TensorFlow's."""
        given = self._keys(keys)
        if np.size(values) != len(given) * int(np.prod(self.value_shape)):
            raise errors.invalid_argument(
                f"Expected shape {_dims((len(given), *self.value_shape))} for value, got "
                f"{_dims(np.shape(values))}"
            )
        with self._lock:
            self._entries, self._places, self._where = {}, {}, {}
            is_whole = len(given) >= 4 and not len(given) & (len(given) - 1)
            if is_whole:
                self._buckets = len(given)
            reserved = [key for _, key in self._reserved]
            rows = self._rows(values)
            new = [pair for pair in zip(given, rows) if pair[0] not in reserved]
            while len(new) > self._buckets * self._load and not is_whole:
                self._buckets *= 2
            for key, value in new:
                if key not in self._entries:
                    self._place(key)
                self._entries[key] = value


# -- text files

WHOLE_LINE: Final = -2
LINE_NUMBER: Final = -1


def entries_of_text(
    table: LookupTable,
    filename: str,
    contents: bytes,
    *,
    key_index: int,
    value_index: int,
    vocab_size: int,
    delimiter: str,
    offset: int,
) -> list[tuple[Array, Array]]:
    """Return the entries in the lines of a file: columns, whole lines or line numbers.

    Raises:
      InvalidArgumentError: a line, or the number of lines, is not as declared.
      OutOfRangeError: the file is empty.
    """
    for what, index, dtype in (
        ("Key", key_index, table.key_dtype),
        ("Value", value_index, table.value_dtype),
    ):
        if index == LINE_NUMBER and dtype.name != "int64":
            raise errors.invalid_argument(
                f"{what} index for line number requires table {what.lower()} dtype of int64, got "
                f"{dtype.name}"
            )
        if index == WHOLE_LINE and not (dtype.is_integer or dtype.name == "string"):
            raise errors.invalid_argument(
                f"{what} index for whole line requires table {what.lower()} dtype of integer or "
                f"string, got {dtype.name}"
            )
    if not contents:
        raise errors.out_of_range("Read less bytes than requested")
    columns = max(key_index, value_index) + 1
    entries: list[tuple[Array, Array]] = []
    position = 0
    lines = contents.split(b"\n")
    if not lines[-1]:
        lines.pop()
    for number, raw in enumerate(lines):
        if number == vocab_size:
            break
        position += len(raw) + 1
        line = raw.removesuffix(b"\r")
        if not line:
            raise errors.invalid_argument(
                f"Invalid content in {filename}: empty line found at position {position}."
            )
        tokens = line.split(delimiter.encode()) if columns > 0 else []
        if len(tokens) < columns:
            raise errors.invalid_argument(
                f"Invalid number of columns in {filename} line {number} ({_shown(line)}) : "
                f"expected at least {columns} got {len(tokens)}"
            )
        key, value = (
            number + offset
            if index == LINE_NUMBER
            else _parsed(line if index == WHOLE_LINE else tokens[index], dtype, number)
            for index, dtype in ((key_index, table.key_dtype), (value_index, table.value_dtype))
        )
        entries.append((key, value))
    if vocab_size != -1 and len(entries) != vocab_size:
        raise errors.invalid_argument(
            f"Invalid vocab_size in {filename}: expected {vocab_size} but got {len(entries)}"
        )
    return entries


def _parsed(field: bytes, dtype: DType, line: int) -> Array:
    """Return a field as a value of the dtype.

    Raises:
      InvalidArgumentError: it is not such a number, or the dtype cannot be read from text.
    """
    if dtype.name == "string":
        return field
    try:
        if dtype.name in ("int32", "int64"):
            number = int(field.decode("ascii").replace("_", "?"))
            if dtype.min <= number <= dtype.max:
                return number
        elif dtype.name in ("float32", "float64"):
            return dtype.as_numpy_dtype(float(field.decode("ascii").replace("_", "?"))).item()
        else:
            raise errors.invalid_argument(f"Data type {dtype.name} not supported.")
    except ValueError:
        pass
    kind = {"float32": "float", "float64": "double"}.get(dtype.name, dtype.name)
    raise errors.invalid_argument(f"Field {_shown(field)} in line {line} is not a valid {kind}.")


def _is_exact(dtype: DType) -> bool:
    """Return whether Python scalars hold values of this dtype exactly; other values stay arrays."""
    return dtype.name != "variant"


def _array_of(rows: Sequence[Array], dtype: DType) -> Array:
    out = np.empty(len(rows), dtype.numpy_dtype)
    if out.dtype == object:
        for position, row in enumerate(rows):
            out[position] = row
    else:
        out[:] = rows
    return out


def _shown(value: Array) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _dims(shape: Sequence[int]) -> str:
    return f"[{','.join(map(str, shape))}]"
