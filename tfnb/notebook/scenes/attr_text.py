"""Short texts for attr values, dtypes and shapes, as info cards and tables show them.

Large values are cut: a constant's text is its dtype and shape and the first few numbers; a tensor
whose message is large is not decoded at all.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np

MAX_TEXT = 160
MAX_ITEMS = 8
MAX_DECODED_BYTES = 4096
_DEVICE = re.compile(r"(/job:[^/]+)/replica:\d+(/task:\d+)/device:([^/]+)")


def device_label(device: str) -> str:
    """Return a short name of a device: without its task where it is one of this process.

    >>> device_label("/job:localhost/replica:0/task:0/device:CPU:0")
    'CPU:0'
    >>> device_label("/job:ps/replica:0/task:1/device:GPU:0")
    '/job:ps/task:1/GPU:0'
    """
    found = _DEVICE.fullmatch(device)
    if found is None:
        return device
    job, task, name = found.groups()
    return name if job == "/job:localhost" else f"{job}{task}/{name}"


def cut(text: str, limit: int = MAX_TEXT) -> str:
    """Shorten a text to ``limit`` characters, and add the number of those left out.

    >>> cut("abcdefghij", 4)
    'abcd… (6 more)'
    """
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit:,} more)"


def shape_text(dims: Sequence[int | None] | None) -> str:
    """Return a shape in TensorFlow's notation: ``(?, 3)``, ``()`` for a scalar, ``<unknown>``.

    >>> shape_text((None, 3)), shape_text((5,)), shape_text(None)
    ('(?, 3)', '(5,)', '<unknown>')
    """
    if dims is None:
        return "<unknown>"
    parts = ["?" if dim is None or dim < 0 else str(dim) for dim in dims]
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def list_text(parts: Iterable[str]) -> str:
    """Return a bracketed list with at most ``MAX_ITEMS`` parts shown."""
    shown = list(parts)
    tail = [f"… ({len(shown) - MAX_ITEMS:,} more)"] if len(shown) > MAX_ITEMS else []
    return f"[{', '.join([*shown[:MAX_ITEMS], *tail])}]"


def bytes_text(value: bytes) -> str:
    """Return bytes as text if they are printable, else as a literal."""
    try:
        return cut(value.decode("utf-8"))
    except UnicodeDecodeError:
        return cut(repr(value[: MAX_TEXT * 2]))


def array_text(array: np.ndarray[Any, Any]) -> str:
    """Return the first numbers of an array, in one line."""
    flat = array.reshape(-1)[:MAX_ITEMS]
    values = [bytes_text(v) if isinstance(v, bytes) else str(v) for v in flat.tolist()]
    if array.ndim == 0:
        return cut(values[0])
    return cut(f"[{', '.join(values)}{', …' if array.size > MAX_ITEMS else ''}]")


def cut_middle(text: str, limit: int) -> str:
    """Shorten a name in its middle, where names differ least.

    >>> cut_middle("gradients/layer_1/MatMul_grad", 16)
    'gradients…l_grad'
    """
    if len(text) <= limit:
        return text
    head = -(-(limit - 1) * 3 // 5)
    tail = limit - 1 - head
    return f"{text[:head]}…{text[len(text) - tail :]}"


def one_line(text: str) -> str:
    r"""Return a text for a terminal, where line breaks and control characters are shown as escapes.

    >>> one_line("a\x1b[31mb\n")
    'a\\x1b[31mb\\n'
    """
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )
