"""``tf.autograph``: Python's if and while are not rewritten; marks against it do nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.missing_name import missing_name

if TYPE_CHECKING:
    from collections.abc import Callable


def _do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """Return a function as it is: nothing rewrites it."""
    return func if func is not None else _do_not_convert


experimental = SimpleNamespace(do_not_convert=_do_not_convert)


_ADVICE = "use tf.cond and tf.while_loop: Python's if and while are not rewritten"
_MISSING = frozenset(["set_verbosity", "stack", "to_code", "to_graph", "trace"])


def __getattr__(name: str) -> Any:
    if name in _MISSING or name[:1].isupper():
        return missing_name("tensorflow.autograph", name, _ADVICE)
    raise AttributeError(f"module 'tensorflow.autograph' has no attribute {name!r}: {_ADVICE}.")
