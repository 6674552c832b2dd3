"""Strings cut into parts: ``tf.string_split`` and ``tf.strings.split``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.dispatch import CompositeTensor
from tfnb.framework.scopes import name_scope
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.library.ragged.dispatch import with_tensors_for_values
from tfnb.library.ragged.ragged_tensor import RaggedTensor
from tfnb.library.ragged.strings import split_of_many
from tfnb.ops.array import array_ops
from tfnb.ops.strings.string_ops import string_split_op, string_split_v2_op

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {"tf": ["string_split"], "strings": ["split:string_split_v2"]}


def _rows(parts: TensorLike, result_type: str) -> Any:
    """Return pieces of strings as rows, sparse or ragged."""
    indices, values, shape = parts
    indices.set_shape([None, 2])
    values.set_shape([None])
    shape.set_shape([2])
    if result_type == "RaggedTensor":
        return RaggedTensor.from_value_rowids(values, indices[:, 0], shape[0], validate=False)
    return SparseTensor(indices, values, shape)


def _check_result_type(result_type: str) -> None:
    if result_type not in ("SparseTensor", "RaggedTensor"):
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")


def string_split(
    source: TensorLike,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: TensorLike | None = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> TensorResult:
    """Split strings at any byte of the delimiter; return a sparse or ragged row per string.

    Raises:
      ValueError: the delimiter was given under both names, or the result type is unknown.
    """
    if sep is not None and delimiter is not None:
        raise ValueError("Cannot specify both 'sep' and 'delimiter'")
    _check_result_type(result_type)
    delimiter = sep if delimiter is None else delimiter
    with name_scope(name, "StringSplit", [source]):
        delimiter = " " if delimiter is None else delimiter
        delimiter = convert_to_tensor(delimiter, dtype=dtypes.string)
        source = convert_to_tensor(source, dtype=dtypes.string)
        return _rows(string_split_op(source, delimiter, skip_empty=skip_empty), result_type)


def string_split_v2(
    input: TensorLike | None = None,
    sep: TensorLike | None = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: TensorLike | None = None,
    name: str | None = None,
) -> TensorResult:
    """Split strings at a separator or white space; add one dimension, sparse or ragged.

    Raises:
      ValueError: the strings were given under both names, or the result type is unknown.
    """
    if input is not None and source is not None:
        raise ValueError("Cannot specify both 'input' and 'source'")
    source = input if source is None else source
    _check_result_type(result_type)
    with name_scope(name, "StringSplit", [source]):
        source = with_tensors_for_values(source)
        if not isinstance(source, CompositeTensor):
            source = convert_to_tensor(source, dtype=dtypes.string, name="input")
            if source.shape.ndims == 0:
                source = array_ops.expand_dims(source, 0)
        sep = convert_to_tensor("" if sep is None else sep, dtype=dtypes.string)
        if isinstance(source, CompositeTensor) or (source.shape.ndims or 1) > 1:
            ragged = split_of_many(source, sep, maxsplit)
            return ragged if result_type == "RaggedTensor" else ragged.to_sparse()
        return _rows(string_split_v2_op(source, sep, maxsplit=maxsplit), result_type)
