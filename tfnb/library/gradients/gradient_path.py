"""Why a loss has no gradient: the path to a variable, and the operation on it that cuts it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import TensorLike, VariableLike

_MAX_VARIABLES = 3
_MAX_PATH = 8


def why_no_gradients(loss: TensorLike, variables: Sequence[VariableLike]) -> str:
    """Return a line per variable: its path from the loss, and the operation that cuts it.

    Only the first ``_MAX_VARIABLES`` variables get a line.
    """
    lines = [_line(loss, variable) for variable in variables[:_MAX_VARIABLES]]
    if len(variables) > _MAX_VARIABLES:
        lines.append(f"  … {len(variables) - _MAX_VARIABLES} more variables")
    return "".join(f"\n{line}" for line in lines if line)


def _line(loss: TensorLike, variable: VariableLike) -> str:
    start, end = getattr(loss, "op", None), getattr(variable, "op", None)
    if start is None or end is None:
        return ""
    path = _path(start, end)
    if path is None:
        return f"  {end.name}: '{start.name}' does not depend on it."
    names, cut = [start.name], ""
    for user, tensor in path:
        why = "" if cut else _why_cut(user, tensor)
        if why:
            names[-1] = f"[{names[-1]}]"
            cut = f"{names[-1]}{why}"
        names.append(tensor.op.name)
    if len(names) > _MAX_PATH:
        middle = [f"… {len(names) - _MAX_PATH} more …"]
        names = [*names[: _MAX_PATH // 2], *middle, *names[-_MAX_PATH // 2 :]]
    return f"  {end.name}: {' ← '.join(names)}{f'; {cut}' if cut else ''}"


def _path(start: Operation, end: Operation) -> list[tuple[Operation, Tensor]] | None:
    """Return the shortest path along inputs, as (operation, its input); None if there is none."""
    came: dict[Operation, tuple[Operation, Tensor] | None] = {start: None}
    queue = deque([start])
    while queue and end not in came:
        op = queue.popleft()
        for tensor in op.inputs:
            if tensor.op not in came:
                came[tensor.op] = op, tensor
                queue.append(tensor.op)
    if end not in came:
        return None
    found = []
    step = came[end]
    while step is not None:
        found.append(step)
        step = came[step[0]]
    return found[::-1]


def _why_cut(op: Operation, tensor: Tensor) -> str:
    """Return why no gradient passes from an operation to one of its inputs; "" if one may."""
    definition = op.op_definition
    if not definition.is_differentiable:
        return f" ({op.type}) lets no gradient through"
    dtype = tensor.dtype.base_dtype
    is_handle = dtype.name in ("resource", "variant")
    if not (dtype.is_floating or dtype.is_complex or is_handle):
        return f" ({op.type}) takes {dtype.name}, which has no gradient"
    if definition.gradient_function is None and op._gradient_function is None:
        return f" ({op.type}) has no gradient"
    return ""
