"""One file per view: the graph, placement, partitions, progress."""

from __future__ import annotations
