"""Store TensorFlow's results of the rows of tests/library/image/image_rows.py."""

from __future__ import annotations

from stored_answers import tensorflow, write_arrays


def main() -> None:
    """Write tests/golden/image_functions.npz."""
    from tests.library.image import image_rows

    write_arrays("image_functions.npz", image_rows.values(tensorflow()))


if __name__ == "__main__":
    main()
