"""Groups of views: views of one graph select the same node."""

from __future__ import annotations

import uuid
from typing import Any

_process = uuid.uuid4().hex[:12]


def view_group(graph: Any) -> str:
    """Return a text that all views of a graph share and no others; "" for no graph."""
    return "" if graph is None else f"{_process}-{id(graph):x}"
