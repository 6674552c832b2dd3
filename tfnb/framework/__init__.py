"""Building blocks of graphs: Graph, Operation, Tensor, scopes, conversions, import and export.

Importing this package or a module of it makes ops callable (:mod:`tfnb.framework.op_builder`).
"""

from tfnb.framework import op_builder as op_builder
