"""``tensorflow.python.ops.variable_scope``: scopes of variables that open no scope of names."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def _pure_variable_scope(name_or_scope: Any, reuse: Any = None, **options: Any) -> Iterator[Any]:
    with tf.variable_scope(
        name_or_scope, reuse=reuse, auxiliary_name_scope=False, **options
    ) as scope:
        yield scope
