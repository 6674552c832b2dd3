"""``tf.parse_example`` and related functions, and the specifications of a message's features."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape, as_shape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.framework.tensor import Tensor
from tfnb.library.control_flow.control_flow_assert import assert_
from tfnb.library.control_flow.with_dependencies import with_dependencies
from tfnb.library.tables.ragged_features import RaggedFeature, from_outputs
from tfnb.ops.array import array_ops
from tfnb.ops.io.example_ops import parse_example_v2_op
from tfnb.ops.io.sequence_example_ops import parse_sequence_example_v2_op
from tfnb.ops.math import math_ops

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {
    "tf": [
        "FixedLenFeature", "FixedLenSequenceFeature", "SparseFeature", "VarLenFeature",
        "parse_example", "parse_single_example", "parse_single_sequence_example",
    ],
    "io": [
        "FixedLenFeature", "FixedLenSequenceFeature", "SparseFeature", "VarLenFeature",
        "parse_example", "parse_sequence_example", "parse_single_example",
        "parse_single_sequence_example",
    ],
}  # fmt: skip


class VarLenFeature(NamedTuple):
    """A feature of any number of values; a SparseTensor."""

    dtype: DTypeLike


class FixedLenFeature(NamedTuple):
    """A feature with one value for each element of a shape; a tensor.

    Without a default value every example must have the feature.
    """

    shape: TensorLike
    dtype: DTypeLike
    default_value: TensorLike = None


class FixedLenSequenceFeature(NamedTuple):
    """A feature of any number of elements of one shape; a tensor, padded to the longest."""

    shape: TensorLike
    dtype: DTypeLike
    allow_missing: bool = False
    default_value: TensorLike = None


class SparseFeature(NamedTuple):
    """A feature whose values and indices are features of their own; a SparseTensor."""

    index_key: Any
    value_key: str
    dtype: DTypeLike
    size: TensorLike
    already_sorted: bool = False


class _ParseOpParams:
    """The requested features of one kind of message, divided into sparse and dense ones."""

    def __init__(self, features: Mapping[str, Any] | None, allowed: tuple[type, ...]) -> None:
        self.sparse_keys: list[str] = []
        self.sparse_types: list[DType] = []
        self.dense_keys: list[str] = []
        self.dense_types: list[DType] = []
        self.dense_shapes: list[TensorShape] = []
        self.dense_defaults: dict[str, Any] = {}
        self.ragged: dict[str, tuple[DType, DType]] = {}  # types of values and of splits
        for key in sorted(features or {}):
            feature = (features or {})[key]
            if not isinstance(feature, allowed):
                raise ValueError(f"Unsupported {type(feature).__name__} {feature} for key '{key}'")
            self._add(key, feature)
        kinds = {"dense": self.dense_keys, "sparse": self.sparse_keys, "ragged": [*self.ragged]}
        for one, other in (("dense", "sparse"), ("dense", "ragged"), ("ragged", "sparse")):
            both = {*kinds[one]} & {*kinds[other]}
            if both:
                raise ValueError(
                    f"{one.capitalize()} and {other} keys must not intersect; {one}_keys: "
                    f"{kinds[one]}, {other}_keys: {kinds[other]}, intersection: {both}"
                )

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def keys(self) -> list[str]:
        """The keys of the columns to read, in the order of the ops' outputs."""
        return [*self.sparse_keys, *self.dense_keys, *self.ragged]

    @property
    def ragged_types(self) -> tuple[list[DType], list[DType]]:
        """The types of values and of splits of ragged columns."""
        types = self.ragged.values()
        return [one for one, _ in types], [other for _, other in types]

    def _add(self, key: str, feature: TensorLike) -> None:
        if not feature.dtype:
            end = "" if isinstance(feature, VarLenFeature) else "."
            raise ValueError(f"Missing type for feature {key}. Received feature={feature}{end}")
        if isinstance(feature, VarLenFeature):
            self._add_sparse(key, feature.dtype)
            return
        if isinstance(feature, RaggedFeature):
            for column, dtype in feature.columns(key):
                self._add_ragged(column, dtype, feature.row_splits_dtype)
            return
        if isinstance(feature, SparseFeature):
            if not feature.index_key:
                raise ValueError(f"Missing index_key for SparseFeature {feature}.")
            if not feature.value_key:
                raise ValueError(f"Missing value_key for SparseFeature {feature}.")
            for index_key in sorted(_index_keys(feature)):
                self._add_sparse(index_key, dtypes.int64)
            self._add_sparse(feature.value_key, feature.dtype)
            return
        if feature.shape is None:
            raise ValueError(f"Missing shape for feature {key}. Received feature={feature}.")
        shape = as_shape(feature.shape)
        if isinstance(feature, FixedLenFeature):
            dims = shape.dim_values
            if dims and dims[0] is None:
                raise ValueError(
                    f"First dimension of shape for feature {key} unknown. Consider using "
                    f"FixedLenSequenceFeature. Received feature={feature}."
                )
            if not shape.is_fully_defined():
                raise ValueError(
                    f"All dimensions of shape for feature {key} need to be known but received "
                    f"{feature.shape!s}."
                )
        elif feature.allow_missing:
            self.dense_defaults[key] = None
        self.dense_keys.append(key)
        self.dense_shapes.append(shape)
        self.dense_types.append(dtypes.as_dtype(feature.dtype))
        if feature.default_value is not None:
            self.dense_defaults[key] = feature.default_value

    def _add_sparse(self, key: str, dtype: DTypeLike) -> None:
        dtype = dtypes.as_dtype(dtype)
        if key not in self.sparse_keys:
            self.sparse_keys.append(key)
            self.sparse_types.append(dtype)
            return
        known = self.sparse_types[self.sparse_keys.index(key)]
        if known != dtype:
            raise ValueError(f"Conflicting type {known} vs {dtype} for feature {key}.")

    def _add_ragged(self, key: str, dtype: DType, splits_dtype: DType) -> None:
        known = self.ragged.setdefault(key, (dtype, splits_dtype))
        if known[0] != dtype:
            raise ValueError(f"Conflicting type {known[0]} vs {dtype} for feature {key}.")
        if known[1] != splits_dtype:
            raise ValueError(
                f"Conflicting partition type {known[1]} vs {splits_dtype} for feature {key}."
            )

    def default_tensors(self) -> list[Nested]:
        """Return the values for missing dense features; empty for required ones."""
        return [
            self._default(key, shape, dtype)
            for key, shape, dtype in zip(
                self.dense_keys, self.dense_shapes, self.dense_types, strict=True
            )
        ]

    def _default(self, key: str, shape: TensorShape, dtype: DType) -> TensorResult:
        value = self.dense_defaults.get(key)
        safe_key = re.sub(r"[^A-Za-z0-9_.\-/]", "_", key)
        dims = shape.dim_values
        if dims and dims[0] is None:
            # A sequence of any length is padded with one element.
            if value is None:
                return convert_to_tensor("" if dtype == dtypes.string else 0, dtype=dtype)
            padding = convert_to_tensor(value, dtype=dtype, name=f"padding_{safe_key}")
            return array_ops.reshape(padding, [])
        if value is None:
            return array_ops.constant_v1([], dtype=dtype)
        if isinstance(value, Tensor):
            return value
        return array_ops.reshape(
            convert_to_tensor(value, dtype=dtype, name=f"key_{safe_key}"), shape
        )


def _index_keys(feature: SparseFeature) -> list[str]:
    keys = feature.index_key
    return [keys] if isinstance(keys, str) else list(keys)


def _sparse_tensors(indices: TensorLike, values: TensorLike, shapes: Nested) -> list[SparseTensor]:
    return [SparseTensor(*parts) for parts in zip(indices, values, shapes, strict=True)]


def _strings(values: Sequence[TensorLike]) -> TensorResult:
    """Return keys as the value of a string input, also if there are none."""
    return np.array([str(value).encode() for value in values], object)


# ---------------------------------------------------------------------------------------- Examples


def parse_example(
    serialized: TensorLike,
    features: Mapping[str, Any],
    name: str | None = None,
    example_names: TensorLike | None = None,
) -> dict[str, Any]:
    """Return the features of serialized Example messages, each as a tensor or SparseTensor.

    Args:
      serialized: a vector of messages, or a single one.
      features: key -> specification: a ``FixedLenFeature``, ``VarLenFeature``, ...
      name: a name scope.
      example_names: names of the examples, for error messages.

    Raises:
      ValueError: there are no features, or one is not allowed.
    """
    if not features:
        raise ValueError(f"Argument `features` cannot be None or falsy. Got {features}")
    columns = columns_of_example(features)
    value_types, split_types = columns.ragged_types
    with name_scope(name, "ParseExample", [serialized, example_names]):
        serialized = convert_to_tensor(serialized, name="serialized")
        outputs = parse_example_v2_op(
            serialized,
            _strings([]) if example_names is None else example_names,
            _strings(columns.sparse_keys),
            _strings(columns.dense_keys),
            _strings([*columns.ragged]),
            columns.default_tensors(),
            num_sparse=len(columns.sparse_keys),
            sparse_types=columns.sparse_types,
            ragged_value_types=value_types,
            ragged_split_types=split_types,
            dense_shapes=columns.dense_shapes,
            name=name,
        )
        sparse = _sparse_tensors(*outputs[:3])
        ragged = from_outputs(serialized, outputs[4], outputs[5])
        found = dict(zip(columns.keys, [*sparse, *outputs[3], *ragged], strict=True))
    return put_together(features, found)


def columns_of_example(features: Mapping[str, Any]) -> _ParseOpParams:
    """Return the columns to read of Example messages.

    Raises:
      ValueError: a feature is not allowed, or two of them contradict each other.
    """
    wanted = dict(features)
    for key, feature in features.items():
        if isinstance(feature, FixedLenSequenceFeature):
            if not feature.allow_missing:
                raise ValueError(
                    "Unsupported: FixedLenSequenceFeature requires allow_missing to be True."
                )
            wanted[key] = feature._replace(shape=[None, *feature.shape])
    one = (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature, RaggedFeature)
    return _ParseOpParams(wanted, one)


def put_together(features: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Join features that consist of several columns; drop columns that are no features."""
    merged = dict(found)
    for key in sorted(features):
        feature = features[key]
        if isinstance(feature, SparseFeature):
            from tfnb.library.sparse.sparse_functions import sparse_merge

            ids: TensorLike = [found[index_key] for index_key in _index_keys(feature)]
            if isinstance(feature.index_key, str):
                ids = ids[0]
            merged[key] = sparse_merge(
                ids,
                found[feature.value_key],
                vocab_size=feature.size,
                already_sorted=feature.already_sorted,
            )
        elif isinstance(feature, RaggedFeature):
            merged[key] = feature.tensor(key, found)
    return {key: value for key, value in merged.items() if key in features}


def _scalar(value: Tensor, name: str) -> Tensor:
    """Return a tensor that is checked to be a scalar.

    Raises:
      ValueError: it has dimensions.
    """
    rank = value.shape.ndims
    if rank == 0:
        return value
    if rank is not None:
        raise ValueError(f"Input {name} must be a scalar")
    check = assert_(
        math_ops.equal(array_ops.rank(value), 0),
        [f"Input {name} must be a scalar"],
        name=f"{name.capitalize()}IsScalar",
    )
    checked: Tensor = with_dependencies([check], value, name=f"{name}Dependencies")
    checked.set_shape([])
    return checked


def parse_single_example(
    serialized: TensorLike,
    features: Mapping[str, Any],
    name: str | None = None,
    example_names: TensorLike | None = None,
) -> dict[str, Any]:
    """Return the features of one serialized Example message.

    Raises:
      ValueError: there are no features, one is not allowed, or the input is not a scalar.
    """
    if features is None:
        raise ValueError("Invalid argument: features cannot be None.")
    if not features:
        raise ValueError("Invalid argument: features cannot be empty.")
    with name_scope(name, "ParseSingleExample", [serialized, example_names]):
        serialized = _scalar(convert_to_tensor(serialized, name="serialized"), "serialized")
        return parse_example(serialized, features, name, example_names)


# ------------------------------------------------------------------------------- SequenceExamples


def _sequence_columns(
    context_features: Mapping[str, Any] | None, sequence_features: Mapping[str, Any] | None
) -> tuple[_ParseOpParams, _ParseOpParams]:
    context = _ParseOpParams(context_features, (VarLenFeature, FixedLenFeature, RaggedFeature))
    lists = _ParseOpParams(
        sequence_features, (VarLenFeature, FixedLenSequenceFeature, RaggedFeature)
    )
    for key, value in lists.dense_defaults.items():
        if value is not None:
            raise ValueError(f"Value feature_list.dense_defaults[{key}] must be None")
    return context, lists


def _parse_sequences(
    serialized: TensorLike,
    debug_name: Any,
    context_features: Mapping[str, Any] | None,
    sequence_features: Mapping[str, Any] | None,
    name: str | None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    context, lists = _sequence_columns(context_features, sequence_features)
    context_types, list_types = context.ragged_types, lists.ragged_types
    with name_scope(name, "ParseSequenceExample", [serialized]):
        serialized = convert_to_tensor(serialized, name="serialized")
        outputs = parse_sequence_example_v2_op(
            serialized,
            _strings([]) if debug_name is None else debug_name,
            _strings(context.sparse_keys),
            _strings(context.dense_keys),
            _strings([*context.ragged]),
            _strings(lists.sparse_keys),
            _strings(lists.dense_keys),
            _strings([*lists.ragged]),
            np.array([key in lists.dense_defaults for key in lists.dense_keys], np.bool_),
            context.default_tensors(),
            Ncontext_sparse=len(context.sparse_keys),
            context_sparse_types=context.sparse_types,
            context_ragged_value_types=context_types[0],
            context_ragged_split_types=context_types[1],
            context_dense_shapes=context.dense_shapes,
            Nfeature_list_sparse=len(lists.sparse_keys),
            Nfeature_list_dense=len(lists.dense_keys),
            feature_list_dense_types=lists.dense_types,
            feature_list_sparse_types=lists.sparse_types,
            feature_list_ragged_value_types=list_types[0],
            feature_list_ragged_split_types=list_types[1],
            feature_list_dense_shapes=lists.dense_shapes,
            name=name,
        )
        context_sparse = _sparse_tensors(*outputs[:3])
        context_ragged = from_outputs(serialized, outputs[4], outputs[5])
        list_sparse = _sparse_tensors(*outputs[6:9])
        list_ragged = from_outputs(serialized, *outputs[11:14])
    of_context = [*context_sparse, *outputs[3], *context_ragged]
    of_lists = [*list_sparse, *outputs[9], *list_ragged]
    return (
        put_together(context_features or {}, dict(zip(context.keys, of_context, strict=True))),
        put_together(sequence_features or {}, dict(zip(lists.keys, of_lists, strict=True))),
        dict(zip(lists.dense_keys, outputs[10], strict=True)),
    )


def parse_sequence_example(
    serialized: TensorLike,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_names: TensorLike | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the features of serialized SequenceExample messages.

    Returns:
      The context's features, the feature lists, and the length of each dense feature list.

    Raises:
      ValueError: there are no features, or one is not allowed.
    """
    if not (context_features or sequence_features):
        raise ValueError(
            "Both `context_features` and `sequence_features` argument are None, but at least one "
            "should have values."
        )
    with name_scope(name, "ParseSequenceExample", [serialized, example_names]):
        return _parse_sequences(
            serialized, example_names, context_features, sequence_features, name
        )


def parse_single_sequence_example(
    serialized: TensorLike,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the features of one serialized SequenceExample message: its context and feature lists.

    Raises:
      ValueError: there are no features, one is not allowed, or the input is not a scalar.
    """
    if not (context_features or sequence_features):
        raise ValueError(
            "Both context_features and sequence_features are None, but at least one should have "
            "values."
        )
    with name_scope(name, "ParseSingleSequenceExample", [serialized, example_name]):
        with name_scope(name, "ParseSingleExample", [serialized, example_name]):
            serialized = _scalar(convert_to_tensor(serialized, name="serialized"), "serialized")
        found = _parse_sequences(
            serialized, example_name, context_features, sequence_features, name
        )
        return found[0], found[1]
