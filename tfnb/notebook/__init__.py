"""The notebook side of tfnb: pictures, magics, live views.

No package below this one imports it.  Everything is imported when it is first used, so that this
package can be imported without IPython.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "graph": "tfnb.notebook.views.graph",
    "dot": "tfnb.notebook.views.dot",
    "placement": "tfnb.notebook.views.placement",
    "partitions": "tfnb.notebook.views.partitions",
    "passes": "tfnb.notebook.views.passes",
    "compare": "tfnb.notebook.views.compare",
    "partial": "tfnb.notebook.views.partial",
    "export": "tfnb.notebook.views.export",
    "watch": "tfnb.notebook.views.progress",
    "Watch": "tfnb.notebook.views.progress",
    "debug": "tfnb.notebook.views.debug",
    "Debug": "tfnb.notebook.views.debug",
    "times": "tfnb.notebook.views.times",
    "cluster": "tfnb.notebook.views.cluster",
    "values": "tfnb.notebook.views.values",
    "Values": "tfnb.notebook.views.values",
    "record": "tfnb.notebook.views.record",
    "Recording": "tfnb.notebook.views.record",
    "load_ipython_extension": "tfnb.notebook.extension",
    "unload_ipython_extension": "tfnb.notebook.extension",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
