"""Whether ``tf.cond`` and ``tf.while_loop`` build functions or the primitives."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfnb.framework.graph import Graph

EXPORTS = {
    "tf": ["enable_control_flow_v2", "disable_control_flow_v2", "control_flow_v2_enabled"],
}

_is_enabled = False


def enable_control_flow_v2() -> None:
    """Make ``tf.cond``, ``tf.while_loop`` and ``tf.switch_case`` build functions from now on."""
    global _is_enabled
    _is_enabled = True


def disable_control_flow_v2() -> None:
    """Make them build Switch, Merge, Enter, Exit and NextIteration from now on."""
    global _is_enabled
    _is_enabled = False


def control_flow_v2_enabled() -> bool:
    """Return whether conds and loops are built of functions."""
    return _is_enabled


def builds_functions(graph: Graph) -> bool:
    """Return whether a cond or loop in this graph is built of functions."""
    if _is_enabled or not graph.building_function:
        return _is_enabled
    from tfnb.framework.functions.defun_graph import DefunGraph

    return not isinstance(graph, DefunGraph)
