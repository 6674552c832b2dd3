"""Tables from words to ids, for columns of categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.library.tables.lookup import (
    KeyValueTensorInitializer,
    StaticHashTable,
    StaticVocabularyTable,
    TextFileIndex,
    TextFileInitializer,
)
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.framework.tensor_types import Initializer, TensorLike


def table_of_words(
    words: TensorLike, num_oov_buckets: int, default_value: int, dtype: DTypeLike, name: str
) -> Any:
    """Return a table from the words of a list to their positions.

    Args:
      words: the words, or integers.
      num_oov_buckets: the number of ids that other words share.
      default_value: the id of other words, if they share none.
      dtype: of the values to look up.
      name: of the scope.
    """
    with name_scope(name):
        keys = convert_to_tensor(words)
        places = math_ops.cast(math_ops.range_(array_ops.size(keys)), dtypes.int64)
        with name_scope("hash_table"):
            if keys.dtype.is_integer:
                keys = math_ops.cast(keys, dtypes.int64)
            initializer = KeyValueTensorInitializer(
                keys, places, keys.dtype, dtypes.int64, name="table_init"
            )
            return _table(initializer, num_oov_buckets, default_value, dtype)


def table_of_lines(
    path: str, count: int, num_oov_buckets: int, default_value: int, dtype: DType, name: str
) -> Any:
    """Return a table from the lines of a file to their numbers.

    Args:
      path: the file.
      count: the number of lines to use.
      num_oov_buckets: the number of ids that other words share.
      default_value: the id of other words, if they share none.
      dtype: of the values to look up.
      name: of the scope.
    """
    with name_scope(name), name_scope("hash_table"):
        initializer = TextFileInitializer(
            *(path, dtypes.int64 if dtype.is_integer else dtype, TextFileIndex.WHOLE_LINE),
            *(dtypes.int64, TextFileIndex.LINE_NUMBER),
            vocab_size=count,
            name="table_init",
        )
        return _table(initializer, num_oov_buckets, default_value, dtype)


def _table(
    initializer: Initializer, num_oov_buckets: int, default_value: int, dtype: DTypeLike
) -> Any:
    if num_oov_buckets:
        return StaticVocabularyTable(initializer, num_oov_buckets, lookup_key_dtype=dtype)
    return StaticHashTable(initializer, default_value)
