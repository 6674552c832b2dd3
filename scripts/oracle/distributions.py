"""Store TensorFlow's results of the rows of tests/library/distributions/distribution_rows.py."""

from __future__ import annotations

from stored_answers import tensorflow, write_compressed


def main() -> None:
    """Write tests/golden/distributions.json.xz."""
    from tests.library.distributions import distribution_rows

    tf = tensorflow()
    found = {row: distribution_rows.describe(tf, row) for row in distribution_rows.rows()}
    write_compressed("distributions.json.xz", found)


if __name__ == "__main__":
    main()
