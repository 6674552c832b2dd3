"""The arguments of the functions that a program passes to an Estimator."""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_log = logging.getLogger("tensorflow")

_MODEL_FN_ARGUMENTS = frozenset(("features", "labels", "mode", "params", "self", "config"))
_NAMED = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)


def argument_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a callable's arguments, without ``self``, ``*args`` and ``**kwargs``.

    >>> argument_names(lambda features, mode=None: None)
    ('features', 'mode')
    """
    parameters = inspect.signature(function).parameters
    return tuple(name for name, one in parameters.items() if one.kind in _NAMED)


def accepted(function: Callable[..., Any], available: dict[str, Any]) -> dict[str, Any]:
    """Return the part of ``available`` that a callable has arguments for."""
    names = argument_names(function)
    return {name: value for name, value in available.items() if name in names}


def check_model_fn(model_fn: Callable[..., Any], params: Any) -> None:
    """Check the arguments of a ``model_fn``.

    Raises:
        ValueError: ``features`` is missing, ``params`` are given to a function without that
            argument, or the function has arguments that the Estimator does not know.
    """
    names = set(argument_names(model_fn))
    if "features" not in names:
        raise ValueError(f"model_fn ({model_fn}) must include features argument.")
    if params is not None and "params" not in names:
        raise ValueError(
            f"model_fn ({model_fn}) does not include params argument, but params ({params}) is "
            "passed to Estimator."
        )
    if params is None and "params" in names:
        _log.warning(
            "Estimator's model_fn (%s) includes params argument, but params are not passed to "
            "Estimator.",
            model_fn,
        )
    check_known(model_fn, "model_fn", names, _MODEL_FN_ARGUMENTS)


def check_known(
    function: Callable[..., Any], what: str, names: Iterable[str], known: Iterable[str]
) -> None:
    """Check that a function has only known arguments.

    Raises:
        ValueError: It has others.
    """
    others = sorted(set(names) - set(known))
    if others:
        raise ValueError(f"{what} ({function}) has following not expected args: {others}")
