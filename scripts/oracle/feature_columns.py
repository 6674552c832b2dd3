"""Store TensorFlow's results of the rows of feature_column_rows.py."""

from __future__ import annotations

from stored_answers import tensorflow, write_compressed


def main() -> None:
    """Write tests/golden/feature_columns.json.xz."""
    from tests.library.feature_columns import feature_column_rows

    tf = tensorflow()
    found = {row: feature_column_rows.describe(tf, row) for row in feature_column_rows.rows()}
    write_compressed("feature_columns.json.xz", found)


if __name__ == "__main__":
    main()
