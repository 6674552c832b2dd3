"""``tf.feature_column.input_layer`` and ``linear_model``: columns as the first layer of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.framework.collections import GraphKeys
from tfnb.framework.scopes import get_collection, name_scope
from tfnb.library.feature_columns.column import (
    CategoricalColumn,
    DenseColumn,
    Features,
    check_columns,
)
from tfnb.library.nn.embedding_ops import safe_embedding_lookup_sparse
from tfnb.library.sparse.sparse_functions import sparse_reshape
from tfnb.library.variables.init_ops import Zeros
from tfnb.library.variables.partitioned_variable import PartitionedVariable
from tfnb.library.variables.variable_scope import get_variable, get_variable_scope, variable_scope
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops
from tfnb.ops.nn.bias_ops import bias_add

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.tensor_types import CollectionNames, TensorLike, TensorResult, VariableLike

EXPORTS = {"feature_column": ["input_layer", "linear_model"]}


def _checked_features(features: TensorLike) -> Features:
    if not isinstance(features, dict):
        raise ValueError(f"We expected a dictionary here. Instead we got: {features}")
    return Features(features)


def _collections(given: Any) -> list[str]:
    found = list(given or [])
    if GraphKeys.GLOBAL_VARIABLES not in found:
        found.append(GraphKeys.GLOBAL_VARIABLES)
    return found


def input_layer(
    features: TensorLike,
    feature_columns: Any,
    weight_collections: CollectionNames | None = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
    cols_to_output_tensors: dict[Any, Any] | None = None,
) -> TensorResult:
    """Return all dense columns side by side, in the order of their names.

    Args:
      features: key -> raw feature.
      feature_columns: the columns.
      weight_collections: collections for variables, besides the global ones.
      trainable: whether variables are learned.
      cols_to_vars: a dict that is filled with the variables of each column.
      cols_to_output_tensors: a dict that is filled with the tensor of each column.

    Returns:
      [batch, sum of sizes], float32.

    Raises:
      ValueError: an item is no dense column, or a feature is missing.
    """
    columns = check_columns(feature_columns)
    for column in columns:
        if not isinstance(column, DenseColumn):
            raise ValueError(
                "Items of feature_columns must be a _DenseColumn. You can wrap a categorical "
                f"column with an embedding_column or indicator_column. Given: {column}"
            )
    collections = _collections(weight_collections)
    found: list[Any] = []
    with variable_scope(None, default_name="input_layer", values=list(features.values())):
        values = _checked_features(features)
        for column in sorted(columns, key=lambda one: one.name):
            assert isinstance(column, DenseColumn)
            with variable_scope(None, default_name=column.var_scope_name):
                tensor = column.dense_tensor(values, collections, trainable)
                size = column.variable_shape.num_elements()
                output = array_ops.reshape(tensor, shape=(array_ops.shape(tensor)[0], size))
                if cols_to_vars is not None:
                    scope = get_variable_scope().name
                    variables = get_collection(GraphKeys.GLOBAL_VARIABLES, scope)
                    cols_to_vars[column.original] = variables
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column.original] = output
            found.append(output)
        _check_batch_sizes(found, [column.name for column in columns])
        return array_ops.concat(found, 1)


def _check_batch_sizes(tensors: list[TensorLike], names: list[str]) -> None:
    sizes = {t.shape.dim_values[0] for t in tensors if t.shape.dim_values} - {None}
    if len(sizes) > 1:
        raise ValueError(
            f"Batch size (first dimension) of each feature must be same. Batch size of columns "
            f"({', '.join(names)}): {sorted(sizes)}"
        )


def linear_model(
    features: TensorLike,
    feature_columns: Any,
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: CollectionNames | None = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
) -> TensorResult:
    """Return the sum of the weighted columns and a bias.

    Args:
      features: key -> raw feature.
      feature_columns: dense columns, and columns of categories.
      units: the number of sums.
      sparse_combiner: how several categories become one: ``sum``, ``mean`` or ``sqrtn``.
      weight_collections: collections for variables, besides the global ones.
      trainable: whether variables are learned.
      cols_to_vars: a dict that is filled with the variables of each column, and of ``"bias"``.

    Returns:
      [batch, units], float32.

    Raises:
      ValueError: an item is neither kind of column, or a feature is missing.
    """
    columns = _linear_columns(feature_columns)
    with variable_scope(None, default_name="linear_model") as variables:
        pass
    own_name = variables.name.rpartition("/")[2]
    with name_scope(None, default_name=own_name), name_scope(own_name):
        return _linear_sum(
            features,
            columns,
            variables,
            units,
            sparse_combiner,
            _collections(weight_collections),
            trainable,
            cols_to_vars,
            _unused_scope_of,
        )


def linear_model_layer(
    features: TensorLike,
    feature_columns: Any,
    units: int = 1,
    sparse_combiner: str = "sum",
    cols_to_vars: dict[Any, Any] | None = None,
) -> TensorResult:
    """Return what :func:`linear_model` does, with the names of TensorFlow's layer ``LinearModel``.

    Args:
      features: key -> raw feature.
      feature_columns: dense columns, and columns of categories.
      units: the number of sums.
      sparse_combiner: how several categories become one: ``sum``, ``mean`` or ``sqrtn``.
      cols_to_vars: a dict that is filled with the variables of each column, and of ``"bias"``.
    """
    columns = _linear_columns(feature_columns)
    name = "linear_model"
    with variable_scope(name, auxiliary_name_scope=False) as variables:
        pass
    # The scopes of the layer, of its call, and of the layer inside of it.
    with name_scope(name), name_scope(name), name_scope(name):
        return _linear_sum(
            features,
            columns,
            variables,
            units,
            sparse_combiner,
            _collections(None),
            True,
            cols_to_vars,
            lambda column: column.var_scope_name,
        )


def _unused_scope_of(column: Any) -> str:
    """Return the column's name with the number that makes it new in the scope of the caller."""
    with variable_scope(
        None, default_name=column.var_scope_name, auxiliary_name_scope=False
    ) as scope:
        return scope.name.rpartition("/")[2]


def _linear_columns(feature_columns: Any) -> Any:
    columns = check_columns(feature_columns)
    for column in columns:
        if not isinstance(column, (DenseColumn, CategoricalColumn)):
            raise ValueError(
                "Items of feature_columns must be either a _DenseColumn or _CategoricalColumn. "
                f"Given: {column}"
            )
    return columns


def _linear_sum(
    features: TensorLike,
    columns: Any,
    variables: Any,
    units: int,
    sparse_combiner: str,
    collections: CollectionNames,
    trainable: bool,
    cols_to_vars: dict[Any, Any] | None,
    scope_of: Callable[[Any], str],
) -> TensorResult:
    """Return the sum of the weighted columns and a bias, in the current name scope.

    ``scope_of`` gives the name of the scope of a column's variables, in that of ``variables``.
    """
    sums: list[TensorLike] = []
    values = _checked_features(features)
    for column in sorted(columns, key=lambda one: one.name):
        scope = scope_of(column)
        with (
            variable_scope(variables, auxiliary_name_scope=False),
            variable_scope(scope, auxiliary_name_scope=False),
        ):
            weights = get_variable(
                "weights",
                shape=[_size_of(column), units],
                initializer=Zeros(),
                trainable=trainable,
                collections=collections,
            )
            with name_scope(scope):
                sums.append(
                    _weighted_sum(column, values, weights, sparse_combiner, collections, trainable)
                )
        if cols_to_vars is not None:
            cols_to_vars[column.original] = _parts(weights)
    _check_batch_sizes(sums, [column.name for column in columns])
    no_bias = math_ops.add_n(sums, name="weighted_sum_no_bias")
    with variable_scope(variables, auxiliary_name_scope=False):
        bias = get_variable(
            "bias_weights",
            shape=[units],
            initializer=Zeros(),
            trainable=trainable,
            collections=collections,
        )
    if cols_to_vars is not None:
        cols_to_vars["bias"] = _parts(bias)
    return bias_add(no_bias, bias, name="weighted_sum")


def _parts(variable: VariableLike) -> list[TensorResult]:
    return list(variable) if isinstance(variable, PartitionedVariable) else [variable]


def _size_of(column: Any) -> int:
    if isinstance(column, CategoricalColumn):
        return column.num_buckets
    size = column.variable_shape.num_elements()
    assert size is not None
    return int(size)


def _weighted_sum(
    column: Any,
    values: Features,
    weights: TensorLike,
    combiner: str,
    collections: CollectionNames,
    trainable: bool,
) -> TensorResult:
    if isinstance(column, CategoricalColumn):
        ids, id_weights = column.sparse_tensors(values, collections, trainable)
        ids = sparse_reshape(ids, [array_ops.shape(ids)[0], -1])
        if id_weights is not None:
            id_weights = sparse_reshape(id_weights, [array_ops.shape(id_weights)[0], -1])
        return safe_embedding_lookup_sparse(
            weights, ids, id_weights, combiner=combiner, name="weighted_sum"
        )
    tensor = column.dense_tensor(values, collections, trainable)
    flat = array_ops.reshape(tensor, shape=(array_ops.shape(tensor)[0], _size_of(column)))
    return math_ops.matmul(flat, weights, name="weighted_sum")
