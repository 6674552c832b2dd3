"""Parameters as text that is the same for equal signatures of TensorFlow and tfnb."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_STARS = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def parameters_of(parameters: Iterable[inspect.Parameter]) -> str:
    """``a, b=1, *rest``; a default that is an object of some class is ``<>``."""
    return ", ".join(_text(one) for one in parameters)


def _text(parameter: inspect.Parameter) -> str:
    text = _STARS.get(parameter.kind, "") + parameter.name
    if parameter.default is inspect.Parameter.empty:
        return text
    return f"{text}={_default(parameter.default)}"


def _default(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{' '.join(map(_default, value))}]"
    if isinstance(value, float | int) and not isinstance(value, bool):
        return f"{value:.15g}"
    if isinstance(value, str | bool) or value is None:
        return repr(value)
    if type(value).__name__ == "DType":
        return str(value.name)
    return "<>"
