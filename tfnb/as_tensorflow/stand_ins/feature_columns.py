"""``tensorflow.python.feature_column.feature_column``: bases of columns that programs define.

A column of a program has the methods of TensorFlow 1 (``_get_dense_tensor``); those of its second
form may be there, too.
"""

from __future__ import annotations

from tfnb.library.feature_columns.column import FeatureColumn, ProgramColumn


class _DenseColumn(ProgramColumn):
    """The base of dense columns."""


class DenseColumn(ProgramColumn):
    """The base of dense columns in their second form."""


def is_feature_column_v2(feature_columns: list[object]) -> bool:
    """Return whether all columns have the second form."""
    kinds = (FeatureColumn, DenseColumn)
    return all(isinstance(one, kinds) for one in feature_columns)
