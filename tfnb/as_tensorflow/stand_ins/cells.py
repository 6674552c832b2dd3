"""``tensorflow.python.ops.rnn_cell_impl``: the base class and helpers of cells."""

from __future__ import annotations

from typing import Any

from tfnb.library.rnn.cells import LayerRNNCell as _LayerRNNCell
from tfnb.library.rnn.state import zero_states

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


def _zero_state_tensors(state_size: Any, batch_size: Any, dtype: Any) -> Any:
    return zero_states(state_size, batch_size, dtype)
