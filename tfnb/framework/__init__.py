"""What a user builds graphs with: Graph, Operation, Tensor, scopes, conversions, import and export.

Importing anything from here makes ops callable (:mod:`tfnb.framework.op_builder`).
"""

from tfnb.framework import op_builder as op_builder
