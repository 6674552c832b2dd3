"""Ops for one test: kernels that misbehave, wait, or report where they run."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tfnb.core import op_registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def registered(
    name: str, signature: str, kernel: Callable[..., Any], *specs: str, **options: Any
) -> Iterator[op_registry.OpDefinition]:
    """Register the op ``name`` with this kernel until the block ends."""
    try:
        yield op_registry.register_op(name, signature, *specs, **options)(kernel)
    finally:
        op_registry.deregister_op(name)
