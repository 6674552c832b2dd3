"""``tf.lookup``: the classes of tables from keys to values.

A static table is filled by an op in the collection ``TABLE_INITIALIZERS``, from tensors or from a
text file. A mutable table is changed by ops, and saved with the variables.
"""

from __future__ import annotations

import contextlib
import uuid
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.collections import GraphKeys
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.scopes import (
    add_to_collection,
    colocate_with,
    device,
    get_collection,
    init_scope,
    name_scope,
)
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.framework.tensor import Tensor
from tfnb.library.control_flow.control_flow import group
from tfnb.library.training.saveable import SaveableObject, SaveSpec
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.array.constant_ops import constant
from tfnb.ops.array.where_ops import where_v2
from tfnb.ops.control import control_flow_ops
from tfnb.ops.lookup import lookup_ops, lookup_tables
from tfnb.ops.math import math_ops
from tfnb.ops.math.math_ops import not_equal
from tfnb.ops.strings.string_hash_ops import string_to_hash_bucket_fast
from tfnb.ops.strings.string_number_ops import as_string

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.framework.tensor_types import Initializer, Nested, PathLike, TensorLike, TensorResult

EXPORTS = {
    "tf": ["tables_initializer", "initialize_all_tables"],
    "initializers": ["tables_initializer"],
    "lookup": [
        "KeyValueTensorInitializer", "StaticHashTable", "StaticVocabularyTable", "TextFileIndex",
        "TextFileInitializer",
    ],
    "lookup.experimental": ["DenseHashTable", "MutableHashTable"],
}  # fmt: skip


def _outside() -> contextlib.AbstractContextManager[None]:
    """Lift the ops that fill a table out of the loop or branch that makes the table."""
    is_inside = get_default_graph()._get_control_flow_context() is not None
    return init_scope() if is_inside else contextlib.nullcontext()


class TextFileIndex:
    """A key or value of a line that is not a column of the line."""

    WHOLE_LINE = lookup_tables.WHOLE_LINE
    LINE_NUMBER = lookup_tables.LINE_NUMBER


# ----------------------------------------------------------------------------- initializers of
# tables


class TableInitializer:
    """The source of a static table's contents."""

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike) -> None:
        self._key_dtype = dtypes.as_dtype(key_dtype)
        self._value_dtype = dtypes.as_dtype(value_dtype)

    def _trackable_children(self) -> list[tuple[str, Nested]]:
        return []

    @property
    def key_dtype(self) -> DType:
        """The type of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The type of the values."""
        return self._value_dtype

    @property
    def shared_name(self) -> str:
        """The name of the table in a session; tables with the same name are one."""
        return f"hash_table_{uuid.uuid4()}"

    def initialize(self, table: Any) -> TensorResult:
        """Make the op that fills a table."""
        raise NotImplementedError

    def _check(self, table: Any) -> None:
        for what, own, others in (
            ("key", self.key_dtype, table.key_dtype),
            ("value", self.value_dtype, table.value_dtype),
        ):
            if own.base_dtype != others:
                raise TypeError(
                    f"Invalid {what} dtype for table, expected {others} but got {own.base_dtype}."
                )


class KeyValueTensorInitializer(TableInitializer):
    """An initializer from a tensor of keys and one of values."""

    def __init__(
        self,
        keys: TensorLike,
        values: TensorLike,
        key_dtype: DTypeLike | None = None,
        value_dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        """Convert keys and values.

        Args:
          keys: the keys.
          values: the values, one for each key.
          key_dtype: the type of the keys, if it is not that of the tensor.
          value_dtype: the type of the values, if it is not that of the tensor.
          name: the scope of the op.
        """
        with _outside():
            self._keys = convert_to_tensor(keys, dtype=key_dtype, name="keys")
            self._values = convert_to_tensor(values, dtype=value_dtype, name="values")
        self._name = name or "key_value_init"
        super().__init__(self._keys.dtype, self._values.dtype)

    def initialize(self, table: Any) -> TensorResult:
        """Make the op that fills a table.

        Raises:
          TypeError: the table has other types.
        """
        self._check(table)
        handle = table.resource_handle
        with name_scope(self._name, values=(handle, self._keys, self._values)):
            made = lookup_ops.lookup_table_import_v2(handle, self._keys, self._values)
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, made)
        return made


class _FileName:
    """The file of a table, as an object of ``tf.train.Checkpoint``; it has no saved value."""

    def __init__(self, path: PathLike) -> None:
        self.path = path

    def _trackable_children(self) -> list[tuple[str, Nested]]:
        return []


class TextFileInitializer(TableInitializer):
    """An initializer from the lines of a file."""

    def __init__(
        self,
        filename: TensorLike,
        key_dtype: DTypeLike,
        key_index: int,
        value_dtype: DTypeLike,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        """Set the columns of keys and values.

        Args:
          filename: the file, a string or a tensor.
          key_dtype: the type of the keys.
          key_index: the column of the keys, or one of :class:`TextFileIndex`.
          value_dtype: the type of the values.
          value_index: the column of the values, or one of :class:`TextFileIndex`.
          vocab_size: the number of lines to read; all of them by default.
          delimiter: the text between columns.
          name: the scope of the op.
          value_index_offset: added to line numbers.

        Raises:
          ValueError: there is no file name, or an index does not fit a type.
        """
        if not isinstance(filename, Tensor) and not filename:
            raise ValueError("`filename` argument required for tf.lookup.TextFileInitializer")
        super().__init__(key_dtype, value_dtype)
        _check_index("key", key_index, self.key_dtype)
        _check_index("value", value_index, self.value_dtype)
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"`vocab_size` should be > 0, received: {vocab_size}")
        self._given_filename = filename
        with init_scope(), device("CPU"):
            self._filename = convert_to_tensor(filename, dtypes.string, name="asset_path")
        self._key_index = key_index
        self._value_index = value_index
        self._vocab_size = vocab_size
        self._delimiter = delimiter
        self._name = name or "text_file_init"
        self._offset = value_index_offset

    def _trackable_children(self) -> list[tuple[str, Nested]]:
        return [("_filename", _FileName(self._filename))]

    @property
    def shared_name(self) -> str:
        """A name made from file and columns, so that equal tables are one."""
        if self._vocab_size:
            name = (
                f"hash_table_{self._given_filename}_{self._vocab_size}_{self._key_index}_"
                f"{self._value_index}"
            )
        else:
            name = f"hash_table_{self._given_filename}_{self._key_index}_{self._value_index}"
        return f"{name}_{self._offset}" if self._offset else name

    def initialize(self, table: Any) -> TensorResult:
        """Make the op that fills a table.

        Raises:
          TypeError: the table has other types.
        """
        self._check(table)
        handle = table.resource_handle
        with name_scope(self._name, values=(handle,)):
            made = lookup_ops.initialize_table_from_text_file_v2(
                handle,
                self._filename,
                key_index=self._key_index,
                value_index=self._value_index,
                vocab_size=-1 if self._vocab_size is None else self._vocab_size,
                delimiter=self._delimiter,
                offset=self._offset,
            )
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, made)
        if self._filename.op.type == "Const":
            add_to_collection(GraphKeys.ASSET_FILEPATHS, self._filename)
        return made


def _check_index(what: str, index: int, dtype: DType) -> None:
    if index < -2:
        end = "." if what == "key" else ""
        raise ValueError(f"`{what}_index` should be >= -2, received: {index}{end}")
    if index == TextFileIndex.LINE_NUMBER and dtype != dtypes.int64:
        word = "if `key_index` is" if what == "key" else "for `value_index`"
        raise ValueError(f"`{what}_dtype` must be int64 {word} {index}, received: {dtype}")
    if index == TextFileIndex.WHOLE_LINE and not (dtype.is_integer or dtype == dtypes.string):
        raise ValueError(
            f"`{what}_dtype` should be either integer or string for `{what}_index` {index}, "
            f"received: {dtype}"
        )


# ------------------------------------------------------------------------------------ static tables


class StaticHashTable:
    """A table that is filled once, when ``tf.tables_initializer()`` runs."""

    # The name by which tables share their contents; None: that of the initializer.
    _given_shared_name: str | None = None

    def __init__(
        self,
        initializer: Initializer,
        default_value: TensorLike,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        """Make a table.

        Args:
          initializer: the source of its contents.
          default_value: the value of keys that it does not have, a scalar.
          name: the name of its op.
          experimental_is_anonymous: whether each step makes a table of its own, to which only the
            handle leads; the step must fill it before it looks keys up.
        """
        self._key_dtype = initializer.key_dtype.base_dtype
        self._value_dtype = initializer.value_dtype.base_dtype
        self._default_value = convert_to_tensor(default_value, dtype=self._value_dtype)
        self._default_value.get_shape().merge_with(TensorShape([]))
        common = {
            "key_dtype": self._key_dtype,
            "value_dtype": self._value_dtype,
            "name": name or "hash_table",
        }
        with init_scope():
            if experimental_is_anonymous:
                self._handle = lookup_ops.anonymous_hash_table(**common)
            else:
                shared_name = self._given_shared_name or initializer.shared_name
                self._handle = lookup_ops.hash_table_v2(shared_name=shared_name, **common)
        self._name = str(self._handle.op.name.split("/")[-1])
        self._fills = initializer
        with _outside():
            self._initializer = initializer.initialize(self)

    def _trackable_children(self) -> list[tuple[str, Nested]]:
        return [("_initializer", self._fills)]

    @property
    def name(self) -> str:
        """The name of its op."""
        return self._name

    @property
    def resource_handle(self) -> TensorResult:
        """Its handle."""
        return self._handle

    @property
    def initializer(self) -> Initializer:
        """The op that fills it."""
        return self._initializer

    @property
    def init(self) -> Nested:
        """The op that fills it."""
        return self._initializer

    @property
    def default_value(self) -> TensorResult:
        """The value of keys that it does not have."""
        return self._default_value

    @property
    def key_dtype(self) -> Any:
        """The type of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> Any:
        """The type of the values."""
        return self._value_dtype

    def __getitem__(self, keys: TensorLike) -> TensorResult:
        """Return the values of keys."""
        return self.lookup(keys)

    def lookup(self, keys: TensorLike, name: str | None = None) -> TensorResult:
        """Return the values of keys, sparse if the keys are.

        Args:
          keys: a tensor or a SparseTensor.
          name: the scope of the op.

        Raises:
          TypeError: the keys have another type.
        """
        flat = _values_of(keys, self._key_dtype)
        with name_scope(name, f"{self.name}_Lookup", (self._handle, flat, self._default_value)):
            values = lookup_ops.lookup_table_find_v2(self._handle, flat, self._default_value)
        values.set_shape(flat.get_shape())
        return _like(keys, values)

    def size(self, name: str | None = None) -> TensorResult:
        """Return the number of keys."""
        with name_scope(name, f"{self.name}_Size", [self._handle]):
            return lookup_ops.lookup_table_size_v2(self._handle)

    def export(self, name: str | None = None) -> tuple[Nested, Nested]:
        """Return (all keys, all values)."""
        with name_scope(name, f"{self.name}_Export", [self._handle]):
            keys, values = lookup_ops.lookup_table_export_v2(
                self._handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype
            )
        return keys, values


def _values_of(keys: TensorLike, dtype: DTypeLike) -> TensorResult:
    """Return keys as a tensor; for sparse keys, their values.

    Raises:
      TypeError: they have another type.
    """
    found = keys.values if isinstance(keys, SparseTensor) else convert_to_tensor(keys)
    if found.dtype.base_dtype != dtype:
        raise TypeError(f"Dtype of argument `keys` must be {dtype}, received: {found.dtype}")
    return found


def _like(keys: TensorLike, values: TensorLike) -> Any:
    if isinstance(keys, SparseTensor):
        return SparseTensor(keys.indices, values, keys.dense_shape)
    return values


class StaticVocabularyTable:
    """A table from words to ids; unknown words share a few ids after the others."""

    def __init__(
        self,
        initializer: Initializer,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        """Make a table.

        Args:
          initializer: the source of its contents, with int64 values; None if no word is known.
          num_oov_buckets: how many ids unknown words share.
          lookup_key_dtype: the type of the keys to look up.
          name: the name of its op.
          experimental_is_anonymous: as in :class:`StaticHashTable`.

        Raises:
          ValueError: ``num_oov_buckets`` is not positive.
          TypeError: a type does not fit.
        """
        if num_oov_buckets <= 0:
            raise ValueError("`num_oov_buckets` must be > 0; use StaticHashTable.")
        self._num_oov_buckets = num_oov_buckets
        self._table: StaticHashTable | None = None
        if initializer is None:
            self._key_dtype = dtypes.as_dtype(lookup_key_dtype or dtypes.string)
            self._name = name or "hash_bucket"
            return
        own = initializer.key_dtype
        asked = dtypes.as_dtype(lookup_key_dtype or own)
        if not (asked.is_integer or asked == dtypes.string):
            raise TypeError(f"Invalid `key_dtype`, expected integer or string, got {asked}")
        if asked.is_integer != own.is_integer:
            wanted = "integer" if asked.is_integer else dtypes.string
            raise TypeError(f"Invalid `key_dtype`, expected {wanted} but got {own}.")
        if initializer.value_dtype != dtypes.int64:
            raise TypeError(
                f"Invalid `value_dtype`, expected {dtypes.int64} but got {initializer.value_dtype}."
            )
        self._key_dtype = asked
        self._table = StaticHashTable(initializer, -1, name, experimental_is_anonymous)
        self._name = self._table.name

    def _trackable_children(self) -> list[tuple[str, TensorResult]]:
        return [] if self._table is None else self._table._trackable_children()

    @property
    def name(self) -> str:
        """The name of its op."""
        return self._name

    @property
    def resource_handle(self) -> TensorResult:
        """The handle of the known words' table; None if there are none."""
        return None if self._table is None else self._table.resource_handle

    @property
    def initializer(self) -> Initializer:
        """The op that fills it; None if no word is known."""
        return None if self._table is None else self._table.initializer

    @property
    def key_dtype(self) -> Any:
        """The type of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> Any:
        """int64."""
        return dtypes.int64

    def __getitem__(self, keys: TensorLike) -> TensorResult:
        """Return the ids of words."""
        return self.lookup(keys)

    def size(self, name: str | None = None) -> Any:
        """Return the number of ids."""
        with name_scope(name, f"{self.name}_Size"):
            known = constant(0, dtypes.int64) if self._table is None else self._table.size()
            return known + self._num_oov_buckets

    def lookup(self, keys: TensorLike, name: str | None = None) -> TensorResult:
        """Return the ids of words, sparse if the words are.

        Args:
          keys: a tensor or a SparseTensor.
          name: the scope of the ops.

        Raises:
          TypeError: the keys have another type.
        """
        words = _values_of(keys, self._key_dtype)
        if self._table is not None and self._table.key_dtype == dtypes.int64:
            words = cast(words, dtypes.int64)
        with name_scope(name, f"{self.name}_Lookup"):
            text = words if words.dtype == dtypes.string else as_string(words)
            numbers = string_to_hash_bucket_fast(
                text, num_buckets=self._num_oov_buckets, name="hash_bucket"
            )
            if self._table is not None:
                found = self._table.lookup(words)
                numbers = math_ops.add(numbers, self._table.size())
                is_known = not_equal(found, self._table.default_value)
                numbers = where_v2(is_known, found, numbers)
        return _like(keys, numbers)


# ----------------------------------------------------------------------------------- mutable tables


class _ChangingTable:
    """The common part of both mutable tables."""

    _key_shape = TensorShape([])
    _exports_buckets = False  # whether export() includes buckets, whose shape differs
    saveable: Any = None  # the object that a Saver saves, or None

    def __init__(
        self,
        handle: TensorLike,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
    ) -> None:
        self._handle = handle
        self._key_dtype = dtypes.as_dtype(key_dtype)
        self._value_dtype = dtypes.as_dtype(value_dtype)
        self._default_value = default_value
        self._value_shape = default_value.get_shape()
        self._name = str(handle.op.name.split("/")[-1])

    def _trackable_children(self) -> list[tuple[str, Nested]]:
        return []

    def object_saveable(self, key: str) -> SaveableObject:
        """Return the object with which ``tf.train.Checkpoint`` saves it under a key."""
        return _TableSaveable(self, key)

    def _save(self, name: str) -> None:
        self.saveable = _TableSaveable(self, name)
        add_to_collection(GraphKeys.SAVEABLE_OBJECTS, self.saveable)

    @property
    def name(self) -> str:
        """The name of its op."""
        return self._name

    @property
    def resource_handle(self) -> TensorResult:
        """Its handle."""
        return self._handle

    @property
    def key_dtype(self) -> Any:
        """The type of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> Any:
        """The type of the values."""
        return self._value_dtype

    def __getitem__(self, keys: TensorLike) -> TensorResult:
        """Return the values of keys."""
        return self._lookup(keys, None, None)

    def _lookup(
        self, keys: TensorLike, dynamic_default_values: TensorLike, name: str | None
    ) -> TensorResult:
        keys = convert_to_tensor(keys, dtype=self._key_dtype, name="keys")
        default = self._default_value
        if dynamic_default_values is not None:
            default = convert_to_tensor(dynamic_default_values, dtype=self._value_dtype)
        with (
            name_scope(name, f"{self.name}_lookup_table_find", (self._handle, keys, default)),
            colocate_with(self._handle),
        ):
            values = lookup_ops.lookup_table_find_v2(self._handle, keys, default)
        outer = keys.get_shape()
        if self._key_shape.ndims and outer.ndims is not None:
            outer = outer[: outer.ndims - self._key_shape.ndims]
        values.set_shape(outer.concatenate(self._value_shape))
        return values

    def insert(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> TensorResult:
        """Return the op that adds entries, or replaces them."""
        keys = convert_to_tensor(keys, dtype=self._key_dtype, name="keys")
        with name_scope(name, f"{self.name}_lookup_table_insert", [self._handle, keys]):
            values = convert_to_tensor(values, dtype=self._value_dtype, name="values")
            with colocate_with(self._handle):
                return lookup_ops.lookup_table_insert_v2(self._handle, keys, values)

    def remove(self, keys: TensorLike, name: str | None = None) -> TensorResult:
        """Return the op that removes keys."""
        keys = convert_to_tensor(keys, dtype=self._key_dtype, name="keys")
        with name_scope(
            name, f"{self.name}_lookup_table_remove", (self._handle, keys, self._default_value)
        ):
            return lookup_ops.lookup_table_remove_v2(self._handle, keys)

    def size(self, name: str | None = None) -> TensorResult:
        """Return the number of keys."""
        with name_scope(name, f"{self.name}_Size", [self._handle]), colocate_with(self._handle):
            return lookup_ops.lookup_table_size_v2(self._handle)

    def export(self, name: str | None = None) -> tuple[Nested, Nested]:
        """Return (all keys, all values)."""
        with (
            name_scope(name, f"{self.name}_lookup_table_export_values", [self._handle]),
            colocate_with(self._handle),
        ):
            keys, values = lookup_ops.lookup_table_export_v2(
                self._handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype
            )
        if self._exports_buckets:
            return keys, values
        keys.set_shape([None])
        values.set_shape(TensorShape([None]).concatenate(self._value_shape))
        return keys, values


class _TableSaveable(SaveableObject):
    """The object that saves and restores a table's keys and values."""

    def __init__(self, table: Any, name: str) -> None:
        keys, values = table.export()
        specs = [SaveSpec(keys, "", f"{name}-keys"), SaveSpec(values, "", f"{name}-values")]
        super().__init__(table, specs, name)

    def restore(
        self, restored_tensors: list[TensorLike], restored_shapes: list[TensorLike] | None
    ) -> TensorResult:
        """Make the op that replaces the contents of the table."""
        handle = self.op.resource_handle
        with name_scope(f"{self.name}_table_restore"), colocate_with(handle):
            return lookup_ops.lookup_table_import_v2(handle, *restored_tensors[:2])


class MutableHashTable(_ChangingTable):
    """A table that ops change while a session runs."""

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        """Make a table.

        Args:
          key_dtype: the type of the keys.
          value_dtype: the type of the values.
          default_value: the value of missing keys; a vector if values are vectors.
          name: the name of its op.
          checkpoint: whether savers save it; then all tables of that name are one.
          experimental_is_anonymous: whether each step makes a table of its own, to which only the
            handle leads.
        """
        default = convert_to_tensor(default_value, dtype=value_dtype)
        common = {
            "key_dtype": dtypes.as_dtype(key_dtype),
            "value_dtype": dtypes.as_dtype(value_dtype),
            "name": name,
        }
        of_scalars: Any = lookup_ops.anonymous_mutable_hash_table
        of_tensors: Any = lookup_ops.anonymous_mutable_hash_table_of_tensors
        if not experimental_is_anonymous:
            common["use_node_name_sharing"] = checkpoint
            of_scalars = lookup_ops.mutable_hash_table_v2
            of_tensors = lookup_ops.mutable_hash_table_of_tensors_v2
        if default.get_shape().ndims == 0:
            handle = of_scalars(**common)
        else:
            handle = of_tensors(value_shape=default.get_shape(), **common)
        super().__init__(handle, key_dtype, value_dtype, default)
        if checkpoint:
            self._save(name)

    def lookup(
        self,
        keys: TensorLike,
        dynamic_default_values: TensorLike | None = None,
        name: str | None = None,
    ) -> TensorResult:
        """Return the values of keys.

        Args:
          keys: a tensor.
          dynamic_default_values: the values of missing keys, one for all or for each.
          name: the scope of the op.
        """
        return self._lookup(keys, dynamic_default_values, name)


class DenseHashTable(_ChangingTable):
    """A mutable table with two reserved keys."""

    _exports_buckets = True

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
        empty_key: TensorLike,
        deleted_key: TensorLike,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        """Make a table.

        Args:
          key_dtype: the type of the keys.
          value_dtype: the type of the values.
          default_value: the value of missing keys; a vector if values are vectors.
          empty_key: a key that is never used.
          deleted_key: another key that is never used.
          initial_num_buckets: the initial capacity, a power of two.
          name: the name of its op.
          checkpoint: whether savers save it.
          experimental_is_anonymous: whether each step makes a table of its own, to which only the
            handle leads.
        """
        default = convert_to_tensor(default_value, dtype=value_dtype, name="default_value")
        empty_key = convert_to_tensor(empty_key, dtype=key_dtype, name="empty_key")
        deleted_key = convert_to_tensor(deleted_key, dtype=key_dtype, name="deleted_key")
        self._key_shape = empty_key.get_shape()
        common = {
            "value_dtype": dtypes.as_dtype(value_dtype),
            "value_shape": default.get_shape(),
            "initial_num_buckets": initial_num_buckets or 131072,
            "name": name,
        }
        if experimental_is_anonymous:
            handle = lookup_ops.anonymous_mutable_dense_hash_table(empty_key, deleted_key, **common)
        else:
            handle = lookup_ops.mutable_dense_hash_table_v2(
                empty_key, deleted_key, use_node_name_sharing=checkpoint, **common
            )
        super().__init__(handle, key_dtype, value_dtype, default)
        if checkpoint:
            self._save(name)

    def lookup(self, keys: TensorLike, name: str | None = None) -> TensorResult:
        """Return the values of keys."""
        return self._lookup(keys, None, name)

    def insert_or_assign(
        self, keys: TensorLike, values: TensorLike, name: str | None = None
    ) -> TensorResult:
        """Return the op that adds entries, or replaces them."""
        return self.insert(keys, values, name)

    def erase(self, keys: TensorLike, name: str | None = None) -> TensorResult:
        """Return the op that removes keys."""
        return self.remove(keys, name)


def tables_initializer(name: str = "init_all_tables") -> TensorResult:
    """Return one operation that fills every table of the default graph."""
    initializers = get_collection(GraphKeys.TABLE_INITIALIZERS)
    if initializers:
        return group(*initializers, name=name)
    return control_flow_ops.no_op(name=name)


def initialize_all_tables(name: str = "init_all_tables") -> TensorResult:
    """Call :func:`tables_initializer`; the old name of that function."""
    return tables_initializer(name)
