"""``tf.contrib.feature_column``: columns of sequences, and their layer."""

from __future__ import annotations

from tfnb.library.feature_columns.sequence_columns import (
    sequence_categorical_column_with_hash_bucket as sequence_categorical_column_with_hash_bucket,
)
from tfnb.library.feature_columns.sequence_columns import (
    sequence_categorical_column_with_identity as sequence_categorical_column_with_identity,
)
from tfnb.library.feature_columns.sequence_columns import (
    sequence_categorical_column_with_vocabulary_file as sequence_categorical_column_with_vocabulary_file,  # noqa: E501
)
from tfnb.library.feature_columns.sequence_columns import (
    sequence_categorical_column_with_vocabulary_list as sequence_categorical_column_with_vocabulary_list,  # noqa: E501
)
from tfnb.library.feature_columns.sequence_columns import (
    sequence_numeric_column as sequence_numeric_column,
)
from tfnb.library.feature_columns.sequence_layers import (
    concatenate_context_input as concatenate_context_input,
)
from tfnb.library.feature_columns.sequence_layers import (
    sequence_input_layer as sequence_input_layer,
)
