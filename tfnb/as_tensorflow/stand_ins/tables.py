"""``tensorflow.python.ops.lookup_ops``: tables made by functions."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.stand_ins.hashed_tables import FAST_HASH_SPEC as FAST_HASH_SPEC
from tfnb.as_tensorflow.stand_ins.hashed_tables import FastHashSpec as FastHashSpec
from tfnb.as_tensorflow.stand_ins.hashed_tables import HasherSpec as HasherSpec
from tfnb.as_tensorflow.stand_ins.hashed_tables import (
    IdTableWithHashBuckets as IdTableWithHashBuckets,
)
from tfnb.as_tensorflow.stand_ins.hashed_tables import LegacyStringHashSpec as LegacyStringHashSpec
from tfnb.as_tensorflow.stand_ins.hashed_tables import StrongHashSpec as StrongHashSpec
from tfnb.as_tensorflow.stand_ins.hashed_tables import (
    TextFileIdTableInitializer as TextFileIdTableInitializer,
)
from tfnb.as_tensorflow.stand_ins.hashed_tables import (
    TextFileStringTableInitializer as TextFileStringTableInitializer,
)
from tfnb.client.public.api import tf
from tfnb.library.tables import lookup as _lookup

StaticHashTable = tf.lookup.StaticHashTable
StaticVocabularyTable = tf.lookup.StaticVocabularyTable
KeyValueTensorInitializer = tf.lookup.KeyValueTensorInitializer
TextFileInitializer = tf.lookup.TextFileInitializer
TextFileIndex = tf.lookup.TextFileIndex
MutableHashTable = _lookup.MutableHashTable
DenseHashTable = MutableDenseHashTable = _lookup.DenseHashTable


class HashTable(StaticHashTable):  # type: ignore[misc, valid-type]
    """A table that is filled once, which may share its contents by a name.

    Args:
      initializer: the source of its contents.
      default_value: the value of keys that it does not have, a scalar.
      shared_name: tables of one name have the same contents; by default the initializer says it.
      name: of its operation.
    """

    def __init__(
        self,
        initializer: Any,
        default_value: Any,
        shared_name: str | None = None,
        name: str | None = None,
    ) -> None:
        self._given_shared_name = shared_name
        super().__init__(initializer, default_value, name=name)


def index_table_from_tensor(
    vocabulary_list: Any = None,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: Any = FAST_HASH_SPEC,
    dtype: Any = tf.string,
    name: str | None = None,
    *,
    mapping: Any = None,
) -> Any:
    """Return a table from the elements of a list to their places.

    Args:
      vocabulary_list: [n], words or integers.
      num_oov_buckets: ids after the others, which elements share that are not in the list.
      default_value: the id of these elements if there are no such ids.
      hasher_spec: how they share them.
      dtype: of the keys that are looked up.
      name: of the operations.
      mapping: another name of ``vocabulary_list``.

    Raises:
      ValueError: there is no list.
    """
    words = mapping if vocabulary_list is None else vocabulary_list
    if words is None:
        raise ValueError("`vocabulary_list` must be specified.")
    with tf.name_scope(name, "string_to_index"):
        keys = tf.convert_to_tensor(words)
        key_type = keys.dtype
        if dtype.is_integer:
            keys = tf.cast(keys, tf.int64)
            key_type = tf.int64
        count = tf.size(keys, out_type=tf.int64)
        values = tf.range(count)
        start = KeyValueTensorInitializer(keys, values, key_type, tf.int64)
        return _index_table(start, num_oov_buckets, default_value, hasher_spec, dtype)


def index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: Any = FAST_HASH_SPEC,
    key_dtype: Any = tf.string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> Any:
    """Return a table from the lines of a file to their numbers.

    Args:
      vocabulary_file: path of the file.
      num_oov_buckets: ids after the others, which words share that are not in the file.
      vocab_size: number of lines; None: of all.
      default_value: the id of these words if there are no such ids.
      hasher_spec: how they share them.
      key_dtype: of the keys that are looked up.
      name: of the operations.
      key_column_index: the column of a line that is the key.
      value_column_index: the column that is the id.
      delimiter: what separates columns.

    Raises:
      ValueError: there is no path.
    """
    if vocabulary_file is None or vocabulary_file == "":
        raise ValueError("`vocabulary_file` must be specified and must not be empty.")
    with tf.name_scope(name, "string_to_index"):
        start = TextFileInitializer(
            vocabulary_file,
            tf.int64 if key_dtype.is_integer else key_dtype,
            key_column_index,
            tf.int64,
            value_column_index,
            vocab_size=vocab_size,
            delimiter=delimiter,
        )
        return _index_table(start, num_oov_buckets, default_value, hasher_spec, key_dtype)


def _index_table(
    start: Any, num_oov_buckets: int, default_value: int, hasher_spec: Any, dtype: Any
) -> Any:
    table = StaticHashTable(start, default_value)
    if not num_oov_buckets:
        return table
    return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, key_dtype=dtype)


def string_to_index(
    tensor: Any, mapping: Any, default_value: int = -1, name: str | None = None
) -> Any:
    """Return the places of words in a list.

    Args:
      tensor: the words.
      mapping: [n], the list.
      default_value: the place of other words.
      name: of the operations.
    """
    return index_table_from_tensor(mapping, default_value=default_value, name=name).lookup(tensor)


def index_to_string(
    tensor: Any, mapping: Any, default_value: str = "UNK", name: str | None = None
) -> Any:
    """Return the words at places of a list.

    Args:
      tensor: int64, the places.
      mapping: [n], the list.
      default_value: the word of other places.
      name: of the operations.
    """
    return index_to_string_table_from_tensor(mapping, default_value, name).lookup(tensor)


def index_to_string_table_from_tensor(
    vocabulary_list: Any = None,
    default_value: str = "UNK",
    name: str | None = None,
    *,
    mapping: Any = None,
) -> Any:
    """Return a table from places in a list of words to the words.

    Args:
      vocabulary_list: [n], words.
      default_value: the word of other places.
      name: of the operations.
      mapping: another name of ``vocabulary_list``.

    Raises:
      ValueError: there is no list.
    """
    words = mapping if vocabulary_list is None else vocabulary_list
    if words is None:
        raise ValueError("`vocabulary_list` must be specified.")
    with tf.name_scope(name, "index_to_string"):
        values = tf.convert_to_tensor(words, tf.string)
        keys = tf.range(tf.size(values, out_type=tf.int64))
        start = KeyValueTensorInitializer(keys, values, tf.int64, tf.string)
        return StaticHashTable(start, default_value)


def index_to_string_table_from_file(
    vocabulary_file: Any,
    vocab_size: int | None = None,
    default_value: str = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> Any:
    """Return a table from line numbers of a file to the lines.

    Args:
      vocabulary_file: path of the file.
      vocab_size: number of lines; None: of all.
      default_value: the word of other numbers.
      name: of the operations.
      key_column_index: the column of a line that is the number.
      value_column_index: the column that is the word.
      delimiter: what separates columns.

    Raises:
      ValueError: there is no path.
    """
    if not vocabulary_file:
        raise ValueError("`vocabulary_file` must be specified.")
    with tf.name_scope(name, "index_to_string"):
        start = TextFileInitializer(
            vocabulary_file,
            tf.int64,
            key_column_index,
            tf.string,
            value_column_index,
            vocab_size=vocab_size,
            delimiter=delimiter,
        )
        return StaticHashTable(start, default_value)
