# The names of tf.feature_column; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.library.feature_columns.categorical import (
    categorical_column_with_hash_bucket as categorical_column_with_hash_bucket,
)
from tfnb.library.feature_columns.categorical import (
    categorical_column_with_identity as categorical_column_with_identity,
)
from tfnb.library.feature_columns.categorical import (
    categorical_column_with_vocabulary_file as categorical_column_with_vocabulary_file,
)
from tfnb.library.feature_columns.categorical import (
    categorical_column_with_vocabulary_list as categorical_column_with_vocabulary_list,
)
from tfnb.library.feature_columns.categorical import (
    weighted_categorical_column as weighted_categorical_column,
)
from tfnb.library.feature_columns.categorical import crossed_column as crossed_column
from tfnb.library.feature_columns.column import make_parse_example_spec as make_parse_example_spec
from tfnb.library.feature_columns.dense import bucketized_column as bucketized_column
from tfnb.library.feature_columns.dense import embedding_column as embedding_column
from tfnb.library.feature_columns.dense import indicator_column as indicator_column
from tfnb.library.feature_columns.dense import numeric_column as numeric_column
from tfnb.library.feature_columns.dense import shared_embedding_columns as shared_embedding_columns
from tfnb.library.feature_columns.layers import input_layer as input_layer
from tfnb.library.feature_columns.layers import linear_model as linear_model
from tfnb.library.feature_columns.sequence_columns import (
    sequence_categorical_column_with_hash_bucket as sequence_categorical_column_with_hash_bucket,
)
from tfnb.library.feature_columns.sequence_columns import (
    sequence_categorical_column_with_identity as sequence_categorical_column_with_identity,
)
from tfnb.library.feature_columns.sequence_columns import (
    sequence_categorical_column_with_vocabulary_file as sequence_categorical_column_with_vocabulary_file,
)
from tfnb.library.feature_columns.sequence_columns import (
    sequence_categorical_column_with_vocabulary_list as sequence_categorical_column_with_vocabulary_list,
)
from tfnb.library.feature_columns.sequence_columns import (
    sequence_numeric_column as sequence_numeric_column,
)
