"""The Python expressions that may replace one node's kernel, as its op registered them.

See :mod:`tfnb.core.op_expression`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tfnb.core.op_expression import Expression, HeldUse
    from tfnb.core.op_kernel import OpKernel


def held_of(kernel: OpKernel) -> HeldUse | None:
    """Return how a node uses a resource that a local variable holds; None if it cannot."""
    found = kernel.definition.held_use
    if found is None or kernel.device.device_type != "CPU":
        return None
    compute = kernel.compute
    function = compute.func if isinstance(compute, partial) else compute
    return found if function is kernel.definition.function else None


def expressions_of(kernel: OpKernel) -> tuple[Expression, ...]:
    """Return the expressions that a node's kernel may be written as.

    None where the kernel is not the op's own, is wrapped, or does not run on a CPU.
    """
    if not kernel.definition.expressions or not _is_own_kernel(kernel):
        return ()
    attrs = kernel.attrs
    dtype = attrs.get("T")
    return tuple(
        one
        for one in kernel.definition.expressions
        if (one.types is None or dtype in one.types) and (not one.attrs or one.is_for(attrs))
    )


def tile_of(kernel: OpKernel) -> Expression | None:
    """Return how a node's kernel writes a tile of its result; None if it cannot."""
    found = kernel.definition.tile_expression
    if found is None or not _is_own_kernel(kernel):
        return None
    if found.attrs and not found.is_for(kernel.attrs):
        return None
    return found if found.types is None or kernel.attrs.get("T") in found.types else None


def kernel_with_constants(
    kernel: OpKernel,
    compute: Callable[..., Any],
    constants: Mapping[str, Any],
    attrs: Mapping[str, Any],
) -> Callable[..., Any] | None:
    """Return the kernel that a node's op makes for constants; None if it makes none for these.

    Args:
      kernel: the node's kernel.
      compute: its function, without bound arguments and without what gathers lists of inputs.
      constants: the values of the inputs that are constant, by name.
      attrs: the attributes that its function takes.
    """
    found = kernel.definition.constant_kernel
    if (
        found is None
        or kernel.device.device_type != "CPU"
        or compute is not kernel.definition.function
        or not constants.keys() >= set(found.inputs)
    ):
        return None
    made: Callable[..., Any] | None = found.make(*map(constants.get, found.inputs), **attrs)
    return made


def _is_own_kernel(kernel: OpKernel) -> bool:
    compute = kernel.compute
    return (
        kernel.device.device_type == "CPU"
        and isinstance(compute, partial)
        and compute.func is kernel.definition.function
        and compute.args == (np,)
    )
