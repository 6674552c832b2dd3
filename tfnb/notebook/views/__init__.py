"""One file per view: the graph, placement, partitions, progress."""

from __future__ import annotations

from tfnb.notebook.views.graph import COLOURS, graph
from tfnb.notebook.views.partitions import partitions
from tfnb.notebook.views.placement import placement
from tfnb.notebook.views.progress import HEIGHT as WATCH_HEIGHT
from tfnb.notebook.views.progress import Watch, watch

__all__ = ["COLOURS", "WATCH_HEIGHT", "Watch", "graph", "partitions", "placement", "watch"]
