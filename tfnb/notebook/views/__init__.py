"""One file per view: the graph, placement, progress, records, tables, the debugger."""

from __future__ import annotations

from tfnb.notebook.views.cluster import cluster
from tfnb.notebook.views.compare import compare
from tfnb.notebook.views.debug import Debug, debug
from tfnb.notebook.views.dot import GROUPS as DOT_GROUPS
from tfnb.notebook.views.dot import VIEWS as DOT_VIEWS
from tfnb.notebook.views.dot import dot
from tfnb.notebook.views.export import VIEWS, export
from tfnb.notebook.views.graph import COLOURS, HEIGHT, graph
from tfnb.notebook.views.partial import partial
from tfnb.notebook.views.partitions import partitions
from tfnb.notebook.views.passes import passes, passes_text_of
from tfnb.notebook.views.placement import placement
from tfnb.notebook.views.progress import HEIGHT as WATCH_HEIGHT
from tfnb.notebook.views.progress import Watch, watch
from tfnb.notebook.views.record import Recording, record
from tfnb.notebook.views.times import times
from tfnb.notebook.views.values import Values, values

__all__ = [
    "COLOURS",
    "DOT_GROUPS",
    "DOT_VIEWS",
    "HEIGHT",
    "VIEWS",
    "WATCH_HEIGHT",
    "Debug",
    "Recording",
    "Values",
    "Watch",
    "cluster",
    "compare",
    "debug",
    "dot",
    "export",
    "graph",
    "partial",
    "partitions",
    "passes",
    "passes_text_of",
    "placement",
    "record",
    "times",
    "values",
    "watch",
]
