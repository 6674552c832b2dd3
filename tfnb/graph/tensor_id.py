"""Names of tensors: ``node``, ``node:2``, ``^node``."""

from __future__ import annotations

from tfnb.graph.node import CONTROL_SLOT


def parse_tensor_name(name: str) -> tuple[str, int]:
    """Return the node and output that a name means: 0 for a bare name, -1 (control) for ``^name``.

    >>> parse_tensor_name("a/b:2"), parse_tensor_name("a/b"), parse_tensor_name("^a/b")
    (('a/b', 2), ('a/b', 0), ('a/b', -1))
    """
    node, colon, index = name.rpartition(":")
    if colon:
        return (node, int(index)) if index.isdecimal() else (name, 0)
    if name.startswith("^"):
        return name[1:], CONTROL_SLOT
    return name, 0


def tensor_name(node: str, index: int) -> str:
    """Return an input's name as NodeDef writes it; the reverse of :func:`parse_tensor_name`.

    >>> tensor_name("a", 0), tensor_name("a", 1), tensor_name("a", -1)
    ('a', 'a:1', '^a')
    """
    if index == 0:
        return node
    return f"^{node}" if index == CONTROL_SLOT else f"{node}:{index}"
