"""Building blocks of graphs: Graph, Operation, Tensor, scopes, conversions, import and export.

Importing this package or a module of it makes ops callable: the first call imports
:mod:`tfnb.framework.op_builder`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import op_registry

if TYPE_CHECKING:
    from tfnb.core.op_registry import OpDefinition


def _first_build(definition: OpDefinition, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from tfnb.framework.op_builder import build  # installs itself

    return build(definition, args, kwargs)


op_registry.set_builder(_first_build)
