"""tfnb's own descriptor pool, so that TensorFlow can be loaded in the same process.

For the reason see ``protos/generate.py``.
"""

from __future__ import annotations

from google.protobuf.descriptor_pool import DescriptorPool

POOL = DescriptorPool()
