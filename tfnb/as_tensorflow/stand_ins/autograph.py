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


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    advice = "use tf.cond and tf.while_loop: Python's if and while are not rewritten"
    return missing_name("tensorflow.autograph", name, advice)
