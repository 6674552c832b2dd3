"""``tensorflow.python.ops.lookup_ops``: tables with ids for words that they do not have."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from tfnb.client.public.api import tf
from tfnb.library.tables.lookup import TextFileInitializer

_WHOLE_LINE = tf.lookup.TextFileIndex.WHOLE_LINE
_LINE_NUMBER = tf.lookup.TextFileIndex.LINE_NUMBER


class HasherSpec(NamedTuple):
    """How words that a table does not have share ids: the name of a hash, and its key."""

    hasher: str
    key: Any


FastHashSpec = HasherSpec("fasthash", None)
FAST_HASH_SPEC = FastHashSpec
LegacyStringHashSpec = HasherSpec("legacy", None)


class StrongHashSpec(HasherSpec):
    """A hash with a secret key.

    Args:
      key: two integers.

    Raises:
      ValueError: they are not two.
      TypeError: they are no integers.
    """

    def __new__(cls, key: Any) -> Self:
        """Return the spec."""
        if len(key) != 2:
            raise ValueError(f"`key` must have size 2, received {len(key)}")
        if not all(isinstance(one, int) and not isinstance(one, bool) for one in key):
            raise TypeError(f"Invalid key {key}. Must be unsigned integer values.")
        return super().__new__(cls, "stronghash", key)


class IdTableWithHashBuckets:
    """A table from words to ids, with further ids that other words share.

    Args:
      table: from words or integers to int64 ids; None: all words share ids.
      num_oov_buckets: the number of further ids.
      hasher_spec: how words share them.
      name: of the operations.
      key_dtype: of the keys that are looked up; by default that of the table.

    Raises:
      TypeError: the dtypes do not fit, or ``hasher_spec`` is none.
      ValueError: there is no table and no further id.
    """

    def __init__(
        self,
        table: Any,
        num_oov_buckets: int,
        hasher_spec: Any = FastHashSpec,
        name: str | None = None,
        key_dtype: Any = None,
    ) -> None:
        if table is None:
            if num_oov_buckets <= 0:
                raise ValueError("`oov_buckets` must be > 0 if no `table` is supplied.")
            key_dtype, name = key_dtype or tf.string, name or "hash_bucket"
        else:
            key_dtype, name = key_dtype or table.key_dtype, name or table.name
            if table.key_dtype not in (tf.int64, tf.string):
                raise TypeError(
                    f"Invalid `key_dtype`, expected one of {(tf.int64, tf.string)}, received "
                    f"{key_dtype}."
                )
            if table.key_dtype.is_integer != tf.as_dtype(key_dtype).is_integer:
                kind = "integer" if tf.as_dtype(key_dtype).is_integer else "non-integer"
                raise TypeError(f"Invalid `key dtype`, expected {kind} but got {table.key_dtype}.")
            if table.value_dtype != tf.int64:
                raise TypeError(
                    f"Invalid `value_dtype`: expected int64 but got {table.value_dtype}."
                )
        key_dtype = tf.as_dtype(key_dtype)
        if not key_dtype.is_integer and key_dtype != tf.string:
            raise TypeError(f"Invalid `key_dtype`, expected integer or string, got {key_dtype}.")
        if not isinstance(hasher_spec, HasherSpec):
            raise TypeError(f"`hasher_spec` must be of type HasherSpec, got {type(hasher_spec)}.")
        self._table, self._num_oov_buckets = table, num_oov_buckets
        self._hasher_spec, self._name = hasher_spec, name.rstrip("/")
        self._key_dtype = key_dtype

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def key_dtype(self) -> Any:
        """The dtype of the keys that are looked up."""
        return self._key_dtype

    @property
    def value_dtype(self) -> Any:
        """The dtype of the ids."""
        return tf.int64

    @property
    def initializer(self) -> Any:
        """The operation that fills the table."""
        return tf.no_op() if self._table is None else self._table.initializer

    init = initializer

    def size(self, name: str | None = None) -> Any:
        """Return the number of ids, those that are shared included."""
        with tf.name_scope(name, f"{self.name}_Size"):
            own = tf.constant(0, tf.int64) if self._table is None else self._table.size()
            return own + self._num_oov_buckets

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the ids of keys, sparse for sparse ones.

        Args:
          keys: a tensor, or a sparse one.
          name: of the scope.

        Raises:
          TypeError: the keys have another dtype.
          ValueError: the hash of the table is unknown.
        """
        if not isinstance(keys, tf.SparseTensor):
            keys = tf.convert_to_tensor(keys)
        if keys.dtype.base_dtype != self._key_dtype:
            raise TypeError(
                f"Dtype of argument `keys` must be {self._key_dtype}, received: {keys.dtype}"
            )
        if isinstance(keys, tf.SparseTensor):
            ids = self._ids(keys.values, name)
            return tf.SparseTensor(keys.indices, ids, keys.dense_shape)
        return self._ids(keys, name)

    __getitem__ = lookup

    def _ids(self, values: Any, name: str | None) -> Any:
        own = None
        if self._table is not None:
            if self._table.key_dtype == tf.int64:
                values = tf.cast(values, tf.int64)
            if not self._num_oov_buckets:
                return self._table.lookup(values, name)
        with tf.name_scope(name, f"{self.name}_Lookup"):
            texts = values if values.dtype.base_dtype == tf.string else tf.as_string(values)
            shared = self._bucket(texts)
            if self._table is None:
                return shared
            own = self._table.lookup(values)
            is_own = tf.not_equal(own, self._table.default_value)
            return tf.where(is_own, own, shared + self._table.size())

    def _bucket(self, texts: Any) -> Any:
        hasher, key = self._hasher_spec
        if hasher == "fasthash":
            return tf.strings.to_hash_bucket_fast(texts, self._num_oov_buckets, name="hash_bucket")
        if hasher == "legacy":
            return tf.string_to_hash_bucket(texts, self._num_oov_buckets, name="hash_bucket")
        if hasher == "stronghash":
            return tf.strings.to_hash_bucket_strong(
                texts, self._num_oov_buckets, key=list(key), name="hash_bucket"
            )
        raise ValueError(f"Found unknown hasher {hasher} in `hasher_spec`")


class TextFileIdTableInitializer(TextFileInitializer):
    """An initializer from the lines of a file to int64 ids, by default their numbers.

    Args:
      filename: of the file.
      key_column_index: the column of a line that is the key.
      value_column_index: the column that is the id.
      vocab_size: number of lines; None: of all.
      delimiter: what separates columns.
      name: of the operation.
      key_dtype: of the keys.
    """

    def __init__(
        self,
        filename: Any,
        key_column_index: int = _WHOLE_LINE,
        value_column_index: int = _LINE_NUMBER,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str = "text_file_id_table_init",
        key_dtype: Any = tf.string,
    ) -> None:
        super().__init__(
            filename, key_dtype, key_column_index, tf.int64, value_column_index,
            vocab_size=vocab_size, delimiter=delimiter, name=name,
        )  # fmt: skip


class TextFileStringTableInitializer(TextFileInitializer):
    """An initializer from int64 ids, by default the numbers of lines, to texts of a file.

    Args:
      filename: of the file.
      key_column_index: the column of a line that is the id.
      value_column_index: the column that is the text.
      vocab_size: number of lines; None: of all.
      delimiter: what separates columns.
      name: of the operation.
    """

    def __init__(
        self,
        filename: Any,
        key_column_index: int = _LINE_NUMBER,
        value_column_index: int = _WHOLE_LINE,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str = "text_file_string_table_init",
    ) -> None:
        super().__init__(
            filename, tf.int64, key_column_index, tf.string, value_column_index,
            vocab_size=vocab_size, delimiter=delimiter, name=name,
        )  # fmt: skip
