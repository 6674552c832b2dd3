"""The common part of all feature columns, and the features that they are computed from.

A column has a name, the raw features that it needs, and a method that computes its value
(``transform``). ``Features`` computes each value once, for any number of columns. A
``DenseColumn`` gives a dense tensor, a ``CategoricalColumn`` a sparse one of ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tfnb.core import dtypes
from tfnb.core.tensor_shape import as_shape
from tfnb.framework.scopes import control_dependencies, name_scope
from tfnb.framework.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from tfnb.library.feature_columns.configurations import ColumnFields
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops

if TYPE_CHECKING:
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.tensor_types import CollectionNames, TensorLike, TensorResult


class FeatureColumn(ColumnFields):
    """A feature column; columns with equal parameters are equal.

    Attributes:
      name: the name in variables and errors.
      parameters: the constructor's arguments, for comparison.
    """

    name: str

    def __init__(self, name: str, *parameters: Any) -> None:
        self.name = name
        self._parameters = (type(self).__name__, name, *parameters)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FeatureColumn) and self._parameters == other._parameters

    def __hash__(self) -> int:
        return hash(self._parameters)

    @property
    def original(self) -> Any:
        """The column that the program made."""
        return self

    @property
    def _is_v2_column(self) -> bool:
        return True

    @property
    def parents(self) -> list[TensorResult]:
        """The columns, or keys of raw features, that it is computed from."""
        names = ("categorical_column", "source_column", "key", "weight_feature_key")
        found = [getattr(self, name) for name in names if hasattr(self, name)]
        return found or list(getattr(self, "keys", ()))

    @property
    def var_scope_name(self) -> str:
        """The name of the scope of its variables."""
        return self.name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The raw features that it needs, for ``tf.parse_example``."""
        raise NotImplementedError

    def transform(self, features: Features) -> TensorResult:
        """Return the column's value, computed from features."""
        raise NotImplementedError


class DenseColumn(FeatureColumn):
    """A column that gives a dense tensor."""

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of the value for one example."""
        raise NotImplementedError

    def dense_tensor(
        self,
        features: Features,
        weight_collections: CollectionNames | None = None,
        trainable: bool = True,
    ) -> TensorResult:
        """Return the value, [batch, ...]."""
        raise NotImplementedError


class ProgramColumn:
    """The base of a column whose class a program defines, with the members of TensorFlow 1."""

    @property
    def name(self) -> str:
        """The name in variables and errors."""
        raise NotImplementedError

    @property
    def _var_scope_name(self) -> str:
        """The name of the scope of its variables."""
        return self.name

    @property
    def _parse_example_spec(self) -> dict[str, Any]:
        """The raw features that it needs, for ``tf.parse_example``."""
        raise NotImplementedError

    @property
    def _variable_shape(self) -> TensorShape:
        """The shape of the value for one example."""
        raise NotImplementedError

    def _transform_feature(self, inputs: Features) -> TensorResult:
        """Return the column's value; ``inputs.get`` gives raw features and other columns."""
        raise NotImplementedError

    def _get_dense_tensor(
        self,
        inputs: Features,
        weight_collections: CollectionNames | None = None,
        trainable: bool | None = None,
    ) -> TensorResult:
        """Return the value, [batch, ...]; ``inputs.get(self)`` is what it was transformed to."""
        raise NotImplementedError


class _DenseColumnOfProgram(DenseColumn):
    """A dense column that calls the methods of a program's column."""

    _fields = ("column",)

    def __init__(self, column: Any) -> None:
        super().__init__(column.name, column)
        self.column = column

    @property
    def original(self) -> Any:
        """The program's column."""
        return self.column

    @property
    def var_scope_name(self) -> str:
        """The name of the scope of its variables."""
        return str(self.column._var_scope_name)

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The raw features that it needs, for ``tf.parse_example``."""
        return dict(self.column._parse_example_spec)

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of the value for one example."""
        return as_shape(self.column._variable_shape)

    def dense_tensor(
        self,
        features: Features,
        weight_collections: CollectionNames | None = None,
        trainable: bool = True,
    ) -> TensorResult:
        """Return the value, [batch, ...]."""
        found: TensorResult = self.column._get_dense_tensor(
            features, weight_collections=weight_collections, trainable=trainable
        )
        return found


class IdsAndWeights(NamedTuple):
    """Ids of categories, and perhaps a weight for each."""

    ids: SparseTensor
    weights: SparseTensor | None


class CategoricalColumn(FeatureColumn):
    """A column that gives ids of categories."""

    @property
    def num_buckets(self) -> int:
        """The number of categories."""
        raise NotImplementedError

    def sparse_tensors(
        self,
        features: Features,
        weight_collections: CollectionNames | None = None,
        trainable: bool = True,
    ) -> IdsAndWeights:
        """Return the ids of each example."""
        return IdsAndWeights(features.get(self), None)


class Features:
    """Raw features and the values of columns, each computed once.

    Args:
      raw: key -> tensor, or a value that becomes one.
    """

    def __init__(self, raw: dict[Any, Any]) -> None:
        self._raw = dict(raw)
        self._values: dict[TensorLike, TensorLike] = {}

    def get(self, key: TensorLike) -> Any:
        """Return the value of a raw feature or of a column.

        Args:
          key: the key of the feature, or the column.

        Raises:
          ValueError: the feature is missing, or it is a scalar.
          TypeError: the key is neither a text nor a column.
        """
        if key in self._values:
            return self._values[key]
        if key in self._raw:
            value = self._raw_tensor(key)
        elif isinstance(key, str):
            raise ValueError(f"Feature {key} is not in features dictionary.")
        elif isinstance(key, ProgramColumn):
            value = key._transform_feature(self)
        elif not isinstance(key, FeatureColumn):
            raise TypeError(f'"key" must be either a "str" or "_FeatureColumn". Provided: {key}')
        else:
            value = key.transform(self)
            if value is None:
                raise ValueError(f"Column {key.name} is not supported.")
        self._values[key] = value
        return value

    def _raw_tensor(self, key: TensorLike) -> TensorResult:
        """Return a raw feature with a dimension of examples and at least one more."""
        value = convert_to_tensor_or_sparse_tensor(self._raw[key])
        rank = value.get_shape().ndims
        if rank is None:
            from tfnb.library.control_flow.check_ops import assert_positive
            from tfnb.library.control_flow.cond import cond

            number = array_ops.rank(value)
            message = f"Feature (key: {key}) cannot have rank 0. Given: {value}"
            with control_dependencies([assert_positive(number, message=message)]):
                is_vector = math_ops.equal(1, number)
            return cond(is_vector, lambda: _with_column(value), lambda: value)
        if rank == 0:
            raise ValueError(f"Feature (key: {key}) cannot have rank 0. Given: {value}")
        if rank != 1:
            return value
        return _with_column(value)


def _with_column(value: TensorLike) -> TensorResult:
    """Return a vector as a matrix with one column."""
    if isinstance(value, SparseTensor):
        from tfnb.library.sparse.sparse_functions import sparse_reshape

        return sparse_reshape(value, [array_ops.shape(value)[0], 1])
    return array_ops.expand_dims(value, -1)


def to_sparse(value: TensorLike, ignored: TensorLike | None = None) -> SparseTensor:
    """Return a dense feature as a sparse tensor without the values that mean "missing".

    Args:
      value: a dense or sparse tensor.
      ignored: the value that means "missing"; by default the empty text, or -1.
    """
    value = convert_to_tensor_or_sparse_tensor(value)
    if isinstance(value, SparseTensor):
        return value
    with name_scope(None, "to_sparse_input", (value, ignored)):
        if ignored is None:
            ignored = "" if value.dtype is dtypes.string else -1
        ignored = math_ops.cast(ignored, value.dtype, name="ignore_value")
        indices = array_ops.where(math_ops.not_equal(value, ignored), name="indices")
        return SparseTensor(
            indices=indices,
            values=array_ops.gather_nd(value, indices, name="values"),
            dense_shape=array_ops.shape(value, out_type=dtypes.int64, name="dense_shape"),
        )


def _own(column: Any) -> Any:
    """Return a column of a program as one of tfnb; any other value unchanged."""
    return _DenseColumnOfProgram(column) if isinstance(column, ProgramColumn) else column


def check_columns(feature_columns: Any) -> list[FeatureColumn]:
    """Return a list of columns.

    Raises:
      ValueError: the argument is a dict or is empty, or an item is no column.
    """
    if isinstance(feature_columns, (FeatureColumn, ProgramColumn)):
        feature_columns = [feature_columns]
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    found = [_own(column) for column in feature_columns]
    for column in found:
        if not isinstance(column, FeatureColumn):
            raise ValueError(
                "Items of feature_columns must be a _FeatureColumn. "
                f"Given (type {type(column)}): {column}."
            )
    if not found:
        raise ValueError("feature_columns must not be empty.")
    names: dict[str, FeatureColumn] = {}
    for column in found:
        if column.name in names:
            raise ValueError(
                f"Duplicate feature column name found for columns: {column} and "
                f"{names[column.name]}. This usually means that these columns refer to same base "
                "feature. Either one must be discarded or a duplicated but renamed item must be "
                "inserted in features dict."
            )
        names[column.name] = column
    return found


def make_parse_example_spec(feature_columns: Any) -> dict[str, Any]:
    """Return the raw features that columns need, for ``tf.parse_example``.

    Raises:
      ValueError: an item is no column, or two columns need a feature in different forms.
    """
    found: dict[str, Any] = {}
    for column in map(_own, feature_columns):
        if not isinstance(column, FeatureColumn):
            raise ValueError(
                f"All feature_columns must be _FeatureColumn instances. Given: {column}"
            )
        for key, value in column.parse_example_spec.items():
            if key in found and value != found[key]:
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. Given {value} "
                    f"and {found[key]}"
                )
        found.update(column.parse_example_spec)
    return found


EXPORTS = {"feature_column": ["make_parse_example_spec"]}
