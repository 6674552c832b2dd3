"""Store what TensorFlow builds for the rows of tests/ops/api_rows.py in tests/golden/api.json."""

from __future__ import annotations

from stored_answers import tensorflow, write_lines


def main() -> None:
    """Write the file."""
    from tests.ops import api_rows

    tf = tensorflow()
    write_lines("api.json", {row: api_rows.describe(tf, row) for row in api_rows.rows()})


if __name__ == "__main__":
    main()
