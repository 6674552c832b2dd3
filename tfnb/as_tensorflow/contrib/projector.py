"""``tf.contrib.tensorboard.plugins.projector``: tensors that TensorBoard shows as points."""

from __future__ import annotations

import os
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

from tfnb.client.public.api import tf

_FILE = "projector_config.pbtxt"
_TEXT, _NUMBER, _MESSAGE = (
    descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
    descriptor_pb2.FieldDescriptorProto.TYPE_UINT32,
    descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE,
)
# Message -> its fields in the order of their numbers: name, type, name of a message, repeated.
_MESSAGES: dict[str, list[tuple[str, Any, str, bool]]] = {
    "SpriteMetadata": [
        ("image_path", _TEXT, "", False),
        ("single_image_dim", _NUMBER, "", True),
    ],
    "EmbeddingInfo": [
        ("tensor_name", _TEXT, "", False),
        ("metadata_path", _TEXT, "", False),
        ("bookmarks_path", _TEXT, "", False),
        ("tensor_shape", _NUMBER, "", True),
        ("sprite", _MESSAGE, "SpriteMetadata", False),
        ("tensor_path", _TEXT, "", False),
    ],
    "ProjectorConfig": [
        ("model_checkpoint_path", _TEXT, "", False),
        ("embeddings", _MESSAGE, "EmbeddingInfo", True),
        ("model_checkpoint_dir", _TEXT, "", False),
    ],
}


def _message_classes() -> dict[str, Any]:
    """Return the messages of TensorBoard's file, in a pool of their own beside TensorBoard's."""
    file = descriptor_pb2.FileDescriptorProto(
        name="tfnb/projector_config.proto", package="tensorflow", syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (field, kind, of, is_repeated) in enumerate(fields, 1):
            added = message.field.add(name=field, number=number, type=kind)
            added.label = added.LABEL_REPEATED if is_repeated else added.LABEL_OPTIONAL
            if of:
                added.type_name = f".tensorflow.{of}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"tensorflow.{name}"))
        for name in _MESSAGES
    }


_CLASSES = _message_classes()
ProjectorConfig = _CLASSES["ProjectorConfig"]
EmbeddingInfo = _CLASSES["EmbeddingInfo"]
SpriteMetadata = _CLASSES["SpriteMetadata"]


def visualize_embeddings(summary_writer: Any, config: Any) -> None:
    """Write a configuration into the folder of a writer, where TensorBoard finds it.

    Raises:
      ValueError: the writer has no folder.
    """
    folder = summary_writer.get_logdir()
    if folder is None:
        raise ValueError("Summary writer must have a logdir")
    with tf.gfile.GFile(os.path.join(folder, _FILE), "w") as file:
        file.write(text_format.MessageToString(config))
