"""The parts that nearly every graph needs, built or loaded: imported with the package.

They take as long later, but then the first graph would wait for them.
"""

from __future__ import annotations

import tfnb.framework.graph
import tfnb.framework.importing.importer
import tfnb.ops.array.constant_ops
import tfnb.ops.array.identity_ops
import tfnb.ops.math.cwise_binary_ops  # noqa: F401
