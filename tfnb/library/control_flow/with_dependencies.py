"""A value that is available only after some operations have run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.framework.scopes import name_scope
from tfnb.library.control_flow.control_flow_values import as_value, identity_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfnb.framework.tensor_types import TensorLike


def with_dependencies(
    dependencies: Iterable[Any], output_tensor: TensorLike, name: str | None = None
) -> Any:
    """Return the value of ``output_tensor``, available only after ``dependencies`` have run.

    ``output_tensor`` itself may be computed before or after them.

    Args:
      dependencies: operations or tensors.
      output_tensor: a tensor or IndexedSlices.
      name: the name of the op.

    Raises:
      TypeError: ``output_tensor`` cannot be converted to a tensor.
    """
    dependencies = list(dependencies)
    graph = get_default_graph()
    with name_scope(name, "control_dependency", [*dependencies, output_tensor]) as name:
        with graph.colocate_with(output_tensor):
            with graph.control_dependencies(dependencies):
                value = as_value(output_tensor, as_ref=False)
                if isinstance(value, IndexedSlices):
                    values = identity_of(value.values, name=name)
                    return IndexedSlices(values, value.indices, value.dense_shape)
                return identity_of(value, name=name)
