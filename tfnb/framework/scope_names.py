"""Names in messages: put into a scope while importing, taken out of it while exporting."""

from __future__ import annotations

import re

_MARK = r"([\^]|loc:@|^)"


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """Return the name inside a scope; a mark in front (``^``, ``loc:@``) stays in front.

    >>> prepend_name_scope("loc:@v", "a"), prepend_name_scope("v:0", None)
    ('loc:@a/v', 'v:0')
    """
    if not import_scope:
        return name
    scope = import_scope if import_scope.endswith("/") else f"{import_scope}/"
    return re.sub(_MARK + "(.*)", lambda m: f"{m[1]}{scope}{m[2]}", name, count=1)


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """Return the name without the scope it begins with; other names stay as they are.

    >>> strip_name_scope("^a/v", "a"), strip_name_scope("b/v", "a")
    ('^v', 'b/v')
    """
    if not export_scope:
        return name
    scope = re.escape(export_scope.rstrip("/"))
    return re.sub(_MARK + scope + r"[/]+(.*)", r"\1\2", name, count=1)
