"""``tf.Assert``: an operation that fails the step if a condition does not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core import dtypes, op_registry
from tfnb.framework.convert import convert_n_to_tensor, convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.library.control_flow.cond import cond
from tfnb.ops.control.control_flow_ops import no_op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import TensorLike

EXPORTS = {"tf": ["Assert:assert_"], "debugging": ["Assert:assert_"]}

_ON_HOST = (dtypes.string, dtypes.int32)


def assert_(
    condition: TensorLike,
    data: Sequence[TensorLike],
    summarize: int | None = None,
    name: str | None = None,
) -> Operation:
    """Return an operation that raises InvalidArgumentError with ``data`` if ``condition`` is false.

    Args:
      condition: a boolean scalar.
      data: values to show.
      summarize: how many elements of each to show, 3 if not given.
      name: the name of the op.
    """
    assert_op = op_registry.get("Assert")
    shown = 3 if summarize is None else summarize
    with name_scope(name, "Assert", [condition, data]):
        values = convert_n_to_tensor(data)
        if all(value.dtype in _ON_HOST for value in values):
            unguarded: Operation = assert_op(condition, data, summarize=shown, name="Assert")
            return unguarded
        # Values on a device are brought to the host only if they have to be shown.
        condition = convert_to_tensor(condition, name="Condition")
        guarded = cond(
            condition,
            no_op,
            lambda: assert_op(condition, data, summarize=shown, name="Assert"),
            name="AssertGuard",
        )
        guard: Operation = guarded.op
        return guard
