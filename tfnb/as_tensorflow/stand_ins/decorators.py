"""Decorators of ``tensorflow.python.util``: wrapping without TensorFlow's bookkeeping."""

from __future__ import annotations

import contextlib
import functools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

contextmanager = contextlib.contextmanager


def make_decorator(
    target: Any,
    decorator_func: Any,
    decorator_name: str | None = None,
    decorator_doc: str = "",
    decorator_argspec: Any = None,
) -> Any:
    """Return the wrapping function with the name and the text of the target."""
    return functools.update_wrapper(decorator_func, target)


def rewrap(decorator_func: Any, previous_target: Any, new_target: Any) -> Any:
    """Return the new target under the decorator."""
    return functools.update_wrapper(decorator_func, new_target)


def unwrap(maybe_tf_decorator: Any) -> tuple[list[Any], Any]:
    """Return the decorators around a function, and the innermost function."""
    found, inner = [], maybe_tf_decorator
    while hasattr(inner, "__wrapped__"):
        found.append(inner)
        inner = inner.__wrapped__
    return found, inner


class tf_export:
    """The decorator that makes a name public; here it changes nothing."""

    def __init__(self, *names: str, **_options: Any) -> None:
        self.names = names

    def __call__(self, target: Any) -> Any:
        """Return the target."""
        return target

    def export_constant(self, module_name: str, name: str) -> None:
        """Do nothing."""


keras_export = estimator_export = tf_export


def kwarg_only(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, which then takes arguments by keyword only."""

    @functools.wraps(function)
    def by_keyword(**arguments: Any) -> Any:
        return function(**arguments)

    return by_keyword


keyword_args_only = kwarg_only


def should_use_result(target: Any = None, **_options: Any) -> Any:
    """Return the function; results that are dropped are not reported."""
    return (lambda given: given) if target is None else target


must_use_result_or_fatal = should_use_result


def make_all(module_name: str, doc_string_modules: Sequence[ModuleType] | None = None) -> list[str]:
    """Return the public names of a module."""
    return [name for name in dir(sys.modules[module_name]) if not name.startswith("_")]


def remove_undocumented(
    module_name: str,
    allowed_exception_list: Sequence[str] | None = None,
    doc_string_modules: Sequence[ModuleType] | None = None,
) -> None:
    """Do nothing: a module keeps the names that TensorFlow would take out of it."""


reveal_undocumented = remove_undocumented
