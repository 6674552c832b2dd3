"""``tensorflow.python.ops.rnn_cell_impl``: the base class and helpers of cells."""

from __future__ import annotations

from typing import Any

from tfnb.library.rnn.cells import LayerRNNCell as _LayerRNNCell

LayerRNNCell = _LayerRNNCell
_BIAS_VARIABLE_NAME = "bias"
_WEIGHTS_VARIABLE_NAME = "kernel"


def assert_like_rnncell(cell_name: str, cell: Any) -> None:
    """Do nothing for a cell.

    Raises:
      TypeError: the value has no output size, state size or zero state, or cannot be called.
    """
    has_zero_state = hasattr(cell, "zero_state") or hasattr(cell, "get_initial_state")
    if not (
        hasattr(cell, "output_size")
        and hasattr(cell, "state_size")
        and has_zero_state
        and callable(cell)
    ):
        raise TypeError(f"The argument {cell_name!r} ({cell}) is not an RNNCell.")
