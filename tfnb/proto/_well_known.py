"""Google's own messages (``Any``, ``BoolValue``…), added to tfnb's pool for those that use them."""

from __future__ import annotations

from google.protobuf import any_pb2, wrappers_pb2

from tfnb.proto._pool import POOL

for _module in (any_pb2, wrappers_pb2):
    POOL.AddSerializedFile(_module.DESCRIPTOR.serialized_pb)
