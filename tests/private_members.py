"""Uses of another file's private members, found in the text of files."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


_OF_ONESELF = re.compile(r"(?<![\w.])(?:self|cls)\._\w+")
_PRIVATE = re.compile(r"\.[\s\\]*(_(?!_)\w*)")
_DEFINITION = re.compile(
    r"^[ \t]*(?:(?:async def|def|class)[ \t]+(_\w+)"
    r"|(?:self\.|cls\.)?(_\w+)(?::[^=\n]*)?[ \t]=[ \t])",
    re.MULTILINE,
)


class PrivateUse(NamedTuple):
    """One ``value._member`` whose member another file defines."""

    line: int
    owner: str
    member: str


def foreign_private_uses(text: str) -> Iterator[PrivateUse]:
    """Yield the uses of private members that the file itself does not define.

    A member counts as the file's own if a class of the file, or the file, defines or sets it.
    """
    used = set(_PRIVATE.findall(_OF_ONESELF.sub("", text)))
    if used <= {name for names in _DEFINITION.findall(text) for name in names}:
        return  # parsing all files takes seconds
    tree = ast.parse(text)
    own = set(_defined_names(tree))
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and _is_private(node.attr)
            and node.attr not in own
            and not _is_own_object(node.value)
        ):
            yield PrivateUse(node.lineno, ast.unparse(node.value), node.attr)


def _defined_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value  # a name in __slots__
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and _is_own_object(node.value)
        ):
            yield node.attr


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _is_own_object(value: ast.expr) -> bool:
    """Return whether a value is ``self``, ``cls``, or the result of ``super()``."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in ("super", "type")
    return isinstance(value, ast.Name) and value.id in ("self", "cls")
