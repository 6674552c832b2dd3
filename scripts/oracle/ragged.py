"""Store TensorFlow's results of the rows of tests/library/ragged/ragged_rows.py."""

from __future__ import annotations

from stored_answers import tensorflow, write_compressed


def main() -> None:
    """Write tests/golden/ragged.json.xz."""
    from tests.library.ragged import ragged_rows

    tf = tensorflow()
    found = {row: ragged_rows.describe(tf, row) for row in ragged_rows.ROWS}
    write_compressed("ragged.json.xz", found)


if __name__ == "__main__":
    main()
