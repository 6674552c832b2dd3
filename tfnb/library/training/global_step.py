"""The global step: the number of training steps of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core import dtypes
from tfnb.framework.collections import GraphKeys
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.tensor import Tensor
from tfnb.library.control_flow.cond import cond
from tfnb.library.variables.init_ops import zeros_initializer
from tfnb.library.variables.variable_scope import get_variable
from tfnb.library.variables.variables import Variable, VariableAggregation
from tfnb.ops.state.state_ops import is_variable_initialized

if TYPE_CHECKING:
    from tfnb.framework.default_session import SessionLike
    from tfnb.framework.graph import Graph
    from tfnb.framework.tensor_types import TensorLike, VariableLike

EXPORTS = {
    "train": [
        "assert_global_step", "create_global_step", "get_global_step",
        "get_or_create_global_step", "global_step",
    ]
}  # fmt: skip


def global_step(sess: SessionLike, global_step_tensor: TensorLike) -> int:
    """Return the number of steps that a session has run; it may have a shape of one element."""
    return int(sess.run(global_step_tensor).item())


def get_global_step(graph: Graph | None = None) -> VariableLike:
    """Return the global step of a graph, or None if it has none.

    Raises:
      TypeError: the tensor of this name is no integer scalar.
    """
    graph = graph or get_default_graph()
    steps = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(steps) > 1:
        return None
    if steps:
        step = steps[0]
    else:
        try:
            step = graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
    assert_global_step(step)
    return step


def create_global_step(graph: Graph | None = None) -> VariableLike:
    """Make the global step, an int64 variable that is not trainable.

    Raises:
      ValueError: the graph has one.
    """
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        return get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=dtypes.int64,
            initializer=zeros_initializer(),
            trainable=False,
            aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


def get_or_create_global_step(graph: Graph | None = None) -> VariableLike:
    """Return the global step, which is made if there is none."""
    graph = graph or get_default_graph()
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


def assert_global_step(global_step_tensor: TensorLike) -> None:
    """Check that a tensor can count steps.

    Raises:
      TypeError: it is no variable or tensor, not an integer, or not a scalar.
    """
    if not isinstance(global_step_tensor, (Variable, Tensor)):
        raise TypeError(
            f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor}.'
        )
    if not global_step_tensor.dtype.base_dtype.is_integer:
        raise TypeError(
            f'Existing "global_step" does not have integer type: {global_step_tensor.dtype}'
        )
    shape = global_step_tensor.get_shape()
    if shape.ndims != 0 and shape.is_fully_defined():
        raise TypeError(f'Existing "global_step" is not scalar: {shape}')


_READ_KEY = "global_step_read_op_cache"


def get_or_create_global_step_read(graph: Graph | None = None) -> VariableLike:
    """Return the global step at the beginning of a run as a tensor, or None if there is none.

    It is a copy, which later assignments of the same run do not change.
    """
    graph = graph or get_default_graph()
    found = graph.get_collection(_READ_KEY)
    if found:
        return found[0]
    step = get_global_step(graph)
    if step is None:
        return None
    with graph.as_default(), graph.name_scope(None), graph.name_scope(f"{step.op.name}/"):
        value = step
        if isinstance(step, Variable):
            value = cond(is_variable_initialized(step), step.read_value, lambda: step.initial_value)
        copy = value + 0
        graph.add_to_collection(_READ_KEY, copy)
    return copy
