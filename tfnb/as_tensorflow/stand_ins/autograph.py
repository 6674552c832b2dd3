"""``tf.autograph``: Python's if and while are not rewritten; marks against it do nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable


def _do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """Return a function as it is: nothing rewrites it."""
    return func if func is not None else _do_not_convert


experimental = SimpleNamespace(do_not_convert=_do_not_convert)


_ADVICE = "use tf.cond and tf.while_loop: Python's if and while are not rewritten"


def to_graph(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse to rewrite a function."""
    raise NotImplementedError(f"'tensorflow.autograph.to_graph' is not there: {_ADVICE}")


def to_code(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse to rewrite a function."""
    raise NotImplementedError(f"'tensorflow.autograph.to_code' is not there: {_ADVICE}")


def set_verbosity(*args: Any, **kwargs: Any) -> None:
    """Accept how much is logged of what does not happen."""
