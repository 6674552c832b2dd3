"""The layer of columns of sequences, side by side in each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.scopes import control_dependencies
from tfnb.library.control_flow.check_ops import assert_equal, assert_rank, assert_type
from tfnb.library.feature_columns.column import Features, check_columns
from tfnb.library.variables.variable_scope import variable_scope
from tfnb.ops.array import array_ops

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import CollectionNames, TensorLike, TensorResult


def sequence_input_layer(
    features: dict[Any, Any],
    feature_columns: Any,
    weight_collections: CollectionNames | None = None,
    trainable: bool = True,
) -> tuple[TensorResult, TensorResult]:
    """Return columns of sequences side by side, in the order of their names.

    Args:
      features: key -> raw feature.
      feature_columns: numeric columns of sequences, and columns around categorical ones.
      weight_collections: collections for variables, besides the global ones.
      trainable: whether variables are learned.

    Returns:
      [batch, steps, sum of sizes], and the number of steps of each example.

    Raises:
      ValueError: an item is no column of a sequence, or a feature is missing.
    """
    columns: list[Any] = list(check_columns(feature_columns))
    for column in columns:
        if not hasattr(column, "sequence_tensor"):
            raise ValueError(
                "All feature_columns must be of type _SequenceDenseColumn. You can wrap a "
                "sequence_categorical_column with an embedding_column or indicator_column. Given "
                f"(type {type(column)}): {column}"
            )
    found, lengths = [], []
    with variable_scope(None, default_name="sequence_input_layer", values=list(features.values())):
        values = Features(features)
        for column in sorted(columns, key=lambda one: str(one.name)):
            with variable_scope(None, default_name=column.var_scope_name):
                steps, length = column.sequence_tensor(values, weight_collections, trainable)
                shape = array_ops.shape(steps)
                size = column.variable_shape.num_elements()
                found.append(array_ops.reshape(steps, [shape[0], shape[1], size]))
                lengths.append(length)
        equal = [assert_equal(lengths[0], length) for length in lengths[1:]]
        with control_dependencies(equal):
            return array_ops.concat(found, -1), array_ops.identity(lengths[0])


def concatenate_context_input(
    context_input: TensorLike, sequence_input: TensorLike
) -> TensorResult:
    """Return each step of a sequence with the values of its example at the end.

    Args:
      context_input: [batch, size], float32.
      sequence_input: [batch, steps, size], float32.

    Raises:
      ValueError: one of them has another rank.
      TypeError: one of them has another type.
    """
    checks = [
        assert_rank(sequence_input, 3, message="sequence_input must have rank 3"),
        assert_type(sequence_input, dtypes.float32, message="sequence_input must be float32"),
        assert_rank(context_input, 2, message="context_input must have rank 2"),
        assert_type(context_input, dtypes.float32, message="context_input must be float32"),
    ]
    with control_dependencies(checks):
        steps = array_ops.shape(sequence_input)[1]
        repeated = array_ops.tile(
            array_ops.expand_dims(context_input, 1), array_ops.stack([1, steps, 1])
        )
        return array_ops.concat([sequence_input, repeated], 2)
