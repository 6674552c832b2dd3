"""The descriptor pool of our own, so that TensorFlow can live in the same process.

The reason stands in ``protos/generate.py``.
"""

from __future__ import annotations

from google.protobuf.descriptor_pool import DescriptorPool

POOL = DescriptorPool()
