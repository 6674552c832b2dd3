"""Ops that initialize a loaded model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.framework.scopes import control_dependencies
from tfnb.library.control_flow.control_flow import group
from tfnb.library.tables.lookup import tables_initializer
from tfnb.library.variables.variables import (
    global_variables_initializer,
    local_variables_initializer,
)

if TYPE_CHECKING:
    from tfnb.framework.operation import Operation

EXPORTS = {
    "saved_model": ["main_op_with_restore"],
    "saved_model.main_op": ["main_op", "main_op_with_restore"],
}


def main_op() -> Operation:
    """Return an op that initializes all variables and fills all tables."""
    return group(
        global_variables_initializer(),
        local_variables_initializer(),
        tables_initializer(),
    )


def main_op_with_restore(restore_op_name: Any) -> Operation:
    """Return :func:`main_op` followed by an op that restores."""
    with control_dependencies([main_op()]):
        return group(restore_op_name)
