"""Google's own messages (``Any``, ``BoolValue``…), added to tfnb's pool for those that use them."""

from __future__ import annotations

from google.protobuf import any_pb2, message_factory, wrappers_pb2

from tfnb.proto._pool import POOL

for _module in (any_pb2, wrappers_pb2):
    POOL.AddSerializedFile(_module.DESCRIPTOR.serialized_pb)
    # The pure Python protobuf makes the class of a message that has no generated module only here.
    for _name in _module.DESCRIPTOR.message_types_by_name:
        message_factory.GetMessageClass(POOL.FindMessageTypeByName(f"google.protobuf.{_name}"))
