"""Functions of upper files that savers call.

``tfnb.library.provides`` imports each when it is called for the first time.
"""

from __future__ import annotations

from tfnb.core.provided import Provided

export_meta_graph = Provided("export_meta_graph")
