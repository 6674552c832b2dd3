"""From serialized ``Example`` messages to dense, sparse and ragged columns.

A dense column of fixed shape takes exactly its number of values, or its default where the feature
is missing; one whose first size is unknown is padded to the longest row.  A sparse column is a list
of (row, place) indices. Corresponds to ``example_proto_fast_parsing.cc``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.dtypes import DType
    from tfnb.core.tensor_shape import TensorShape

_KINDS = {"float32": "float_list", "int64": "int64_list", "string": "bytes_list"}
_WORDS = {"float32": "float", "int64": "int64", "string": "string"}


def read_examples(serialized: Sequence[bytes], names: Sequence[str]) -> list[dict[str, Any]]:
    """The features of each example by key.

    Raises:
      InvalidArgumentError: bytes are no Example; says which.
    """
    from google.protobuf.message import DecodeError

    from tfnb.proto import example_pb2

    found = []
    for data, name in zip(serialized, names):
        example = example_pb2.Example()
        try:
            example.ParseFromString(data)
        except DecodeError:
            shown = data[:64].decode("utf-8", "backslashreplace")
            raise errors.invalid_argument(
                f"Could not parse example input, value: '{shown}'{_called(name)}"
            ) from None
        features = {
            key: feature
            for key, feature in example.features.feature.items()
            if feature.WhichOneof("kind") is not None
        }
        found.append(features)
    return found


def _called(name: str) -> str:
    return f", name: {name}" if name else ""


def _values(features: dict[str, Any], key: str, dtype: DType, name: str) -> Any | None:
    """The values of one feature as an array, or None where it is missing.

    Raises:
      InvalidArgumentError: it holds another kind of values.
    """
    feature = features.get(key)
    if feature is None:
        return None
    kind = feature.WhichOneof("kind")
    if kind != _KINDS[dtype.name]:
        actual = {v: _WORDS[k] for k, v in _KINDS.items()}[kind]
        raise errors.invalid_argument(
            f"Name: {name or '<unknown>'}, Feature: {key}.  Data types don't match. Expected type: "
            f"{_WORDS[dtype.name]}, actual type: {actual}"
        )
    values = getattr(feature, kind).value
    if dtype.name == "string":
        found = np.empty(len(values), dtype=object)
        found[:] = list(values)
        return found
    return np.array(values, dtype.numpy_dtype)


def dense_column(
    examples: Sequence[dict[str, Any]],
    names: Sequence[str],
    key: str,
    dtype: DType,
    shape: TensorShape,
    default: Any,
) -> Any:
    """A dense column, one row an example."""
    dims = shape.dim_values
    if dims is None or any(size is None for size in dims[1:]):
        raise errors.invalid_argument(
            f"dense_shape of '{key}' must be defined but for its first size: {shape}"
        )
    if dims and dims[0] is None:
        return _padded_column(examples, names, key, dtype, tuple(s or 0 for s in dims[1:]), default)
    sizes = tuple(size or 0 for size in dims)
    count = math.prod(sizes)
    rows: list[Any] = []
    for features, name in zip(examples, names):
        values = _values(features, key, dtype, name)
        if values is None:
            if not np.size(default) and count:
                raise errors.invalid_argument(
                    f"Name: {name or '<unknown>'}, Feature: {key} (data type: "
                    f"{_WORDS[dtype.name]}) is required but could not be found."
                )
            values = np.asarray(default).reshape(-1)
            if values.size == 1 and count != 1:
                values = np.repeat(values, count)
        if values.size != count:
            raise errors.invalid_argument(
                f"Name: {name or '<unknown>'}, Key: {key}, Index: {len(rows)}.  Number of "
                f"{_WORDS[dtype.name]} values != expected.  values size: {values.size} but output "
                f"shape: {list(sizes)}"
            )
        rows.append(values.reshape(sizes))
    if not rows:
        return np.zeros((0, *sizes), dtype.numpy_dtype)
    return np.stack(rows)


def _padded_column(
    examples: Sequence[dict[str, Any]],
    names: Sequence[str],
    key: str,
    dtype: DType,
    inner: tuple[int, ...],
    default: Any,
) -> Any:
    stride = math.prod(inner)
    rows = []
    for features, name in zip(examples, names):
        values = _values(features, key, dtype, name)
        values = np.zeros(0, dtype.numpy_dtype) if values is None else values
        if stride == 0 or values.size % stride:
            raise errors.invalid_argument(
                f"Name: {name or '<unknown>'}, Key: {key}.  Number of {_WORDS[dtype.name]} values "
                f"is not a multiple of stride length. Saw {values.size} values but output shape is "
                f"{['?', *inner]}"
            )
        rows.append(values.reshape((-1, *inner)))
    longest = max((len(row) for row in rows), default=0)
    batch = np.zeros((len(rows), longest, *inner), dtype.numpy_dtype)
    pad = np.asarray(default).reshape(-1)
    if pad.size:
        batch[...] = pad[0]
    elif dtype.name == "string":
        batch[...] = b""
    for place, row in zip(batch, rows):
        place[: len(row)] = row
    return batch


def sparse_column(
    examples: Sequence[dict[str, Any]], names: Sequence[str], key: str, dtype: DType
) -> tuple[Any, Any, Any]:
    """Indices, values and dense shape of a sparse column."""
    rows = []
    for features, name in zip(examples, names):
        values = _values(features, key, dtype, name)
        rows.append(np.zeros(0, dtype.numpy_dtype) if values is None else values)
    lengths = [len(row) for row in rows]
    indices = np.zeros((sum(lengths), 2), np.int64)
    indices[:, 0] = np.repeat(np.arange(len(rows)), lengths)
    if lengths:
        indices[:, 1] = np.concatenate([np.arange(n) for n in lengths])
    values = np.concatenate(rows) if rows else np.zeros(0, dtype.numpy_dtype)
    return indices, values, np.array([len(rows), max(lengths, default=0)], np.int64)


def ragged_column(
    examples: Sequence[dict[str, Any]],
    names: Sequence[str],
    key: str,
    dtype: DType,
    split_dtype: DType,
) -> tuple[Any, Any]:
    """All values one after the other, and where each row begins and the last one ends."""
    indices, values, _ = sparse_column(examples, names, key, dtype)
    lengths = np.bincount(indices[:, 0], minlength=len(examples))
    splits = np.zeros(len(examples) + 1, split_dtype.numpy_dtype)
    splits[1:] = np.cumsum(lengths)
    return values, splits
