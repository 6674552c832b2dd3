"""``tf.contrib.compiler.jit``: scopes that ask for compilation."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def experimental_jit_scope(
    compile_ops: Any = True, separate_compiled_gradients: bool = False
) -> Iterator[None]:
    """Change nothing: tfnb decides itself which nodes it joins, and no value depends on it."""
    yield
