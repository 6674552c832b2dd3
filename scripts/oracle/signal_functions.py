"""Store TensorFlow's results of the rows of tests/library/signal/signal_rows.py."""

from __future__ import annotations

from stored_answers import tensorflow, write_arrays


def main() -> None:
    """Write tests/golden/signal_functions.npz."""
    from tests.library.signal import signal_rows

    write_arrays("signal_functions.npz", signal_rows.values(tensorflow()))


if __name__ == "__main__":
    main()
