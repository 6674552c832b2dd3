"""Ops that exist while one test runs: kernels that misbehave, wait, or tell where they run."""

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
    """The op ``name`` with this kernel, until the block is left."""
    try:
        yield op_registry.register_op(name, signature, *specs, **options)(kernel)
    finally:
        op_registry.deregister_op(name)
