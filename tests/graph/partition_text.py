"""Partitions as text without generated names, so that both runtimes can be compared."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


def partition_text(graph_defs: Iterable[Any]) -> list[str]:
    """One line for each node of each GraphDef message, sorted.

    A node that the runtime made (``a/_3``, ``_cloop...``) is called by its op alone.  A line has
    the op, the device, the name, the data inputs by number, the control inputs, and for Send and
    Recv the node and the devices whose tensor they carry.
    """
    lines: Counter[str] = Counter()
    for graph_def in graph_defs:
        by_name = {node.name: node for node in graph_def.node}
        for node in graph_def.node:
            lines[_line(node, by_name)] += 1
    return sorted(f"{count} x {line}" for line, count in lines.items())


def _line(node: Any, by_name: dict[str, Any]) -> str:
    data, controls = [], []
    for text in node.input:
        if text.startswith("^"):
            controls.append("^" + _called(by_name[text[1:]]))
        else:
            name, _, index = text.partition(":")
            data.append(f"{_called(by_name[name])}:{index or 0}")
    words = [_op(node), "@", _short(node.device), _called(node), "<-", *data, *sorted(controls)]
    if _op(node) in ("_Send", "_Recv"):
        attr = node.attr
        if attr["client_terminated"].b:
            words.append("(client)")
        else:
            words.append(f"({attr['_src'].s.decode()}:")
            words += [_short(attr[f"{end}_device"].s.decode()) for end in ("send", "recv")]
            words.append(f"{attr['send_device_incarnation'].i})")
    return " ".join(words)


def _called(node: Any) -> str:
    is_made = "/_" in node.name or node.name.startswith("_cloop")
    return f"[{_op(node)}]" if is_made else str(node.name)


def _op(node: Any) -> str:
    # On a CPU all tensors count as host memory here.
    return str(node.op).replace("_Host", "_") if "CPU" in node.device else str(node.op)


def _short(device: str) -> str:
    return device.rpartition("device:")[2]


def unnumbered_text(graph_defs: Iterable[Any]) -> list[str]:
    """Return one line per node of each message, sorted: device, name, op and inputs.

    Numbers in generated names (``cond/then/_0/add``, ``a/_3``) are replaced by a mark.
    """
    lines: Counter[str] = Counter()
    for graph_def in graph_defs:
        for node in graph_def.node:
            data = [text for text in node.input if not text.startswith("^")]
            controls = sorted(text for text in node.input if text.startswith("^"))
            words = [_short(node.device), node.name, node.op, "<-", *data, *controls]
            lines[unnumbered(" ".join(words))] += 1
    return sorted(f"{count} x {line}" for line, count in lines.items())


def unnumbered(name: str) -> str:
    """Return a text of names without the numbers that a runtime has generated."""
    return re.sub(r"/_\d+", "/_", name)
