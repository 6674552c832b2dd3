"""All messages with every field set."""

from __future__ import annotations

import copy
import pickle

from google.protobuf import text_format

from tests.joined import in_batches
from tests.proto.full_messages import fill
from tests.proto.our_modules import message_classes
from tfnb.proto import graph_pb2, meta_graph_pb2


@in_batches("name", sorted(message_classes()))
def test_full_message_survives_bytes_text_copy_and_pickle(name: str) -> None:
    """Nothing is lost by serialization, text, copying and pickling."""
    message = message_classes()[name]()
    fill(message)
    assert message.ByteSize() > 0 or not message.DESCRIPTOR.fields

    parsed = type(message).FromString(message.SerializeToString())
    pool = message.DESCRIPTOR.file.pool
    text = text_format.Parse(
        text_format.MessageToString(message), type(message)(), descriptor_pool=pool
    )

    assert parsed == message
    assert text == message
    assert copy.deepcopy(message) == message
    assert pickle.loads(pickle.dumps(message)) == message


def test_any_packs_and_unpacks_our_messages() -> None:
    """Google's Any accepts our messages under TensorFlow's names."""
    graph = graph_pb2.GraphDef(node=[{"name": "a", "op": "NoOp"}])
    meta_graph = meta_graph_pb2.MetaGraphDef()
    meta_graph.meta_info_def.any_info.Pack(graph)
    unpacked = graph_pb2.GraphDef()

    assert meta_graph.meta_info_def.any_info.type_url.endswith("/tensorflow.GraphDef")
    assert meta_graph.meta_info_def.any_info.Unpack(unpacked)
    assert unpacked == graph
