"""What may be done to a function's body: by the op that calls it and by its ``config_proto``.

The switches of a session do not reach into the bodies of ``PartitionedCall``: there, as in
TensorFlow, the node's own ``config_proto`` says what Grappler does, and by default it simplifies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from google.protobuf.message import DecodeError

from tfnb.common_runtime import rewriter_config
from tfnb.core import errors
from tfnb.proto import config_pb2, rewriter_config_pb2

MULTI_DEVICE_CALLS = frozenset(["PartitionedCall", "StatefulPartitionedCall"])
"""Ops that call a function whose nodes may spread over devices."""


@dataclass(frozen=True, slots=True)
class BodyOptions:
    """What may be done to a body.

    Attributes:
      is_multi_device: whether conditionals in it are taken apart, and its nodes spread as they ask
        for.
      inlines: whether calls in it become the bodies of what they call.
      simplifies: whether nodes that only join others are taken out.
      min_graph_nodes: a body with fewer nodes, arguments and results included, is left alone.
    """

    is_multi_device: bool = False
    inlines: bool = False
    simplifies: bool = False
    min_graph_nodes: int = 0

    def for_size(self, num_nodes: int) -> BodyOptions:
        """What may be done to a body of so many nodes."""
        if num_nodes >= self.min_graph_nodes:
            return self
        return replace(self, inlines=False, simplifies=False)


PLAIN_BODY = BodyOptions()
"""A body on the device of its caller, in which the session's switches hold."""


@lru_cache(maxsize=256)
def body_options(op: str, config_proto: bytes | str = b"") -> BodyOptions:
    """What may be done to bodies that a node calls.

    Args:
      op: of the calling node.
      config_proto: its attribute of that name, a serialized ConfigProto.

    Raises:
      InvalidArgumentError: ``config_proto`` is none.

    >>> body_options("PartitionedCall").inlines, body_options("While").is_multi_device
    (True, False)
    >>> config = config_pb2.ConfigProto()
    >>> config.graph_options.rewrite_options.disable_meta_optimizer = True
    >>> body_options("PartitionedCall", config.SerializeToString()).simplifies
    False
    """
    if op not in MULTI_DEVICE_CALLS:
        return PLAIN_BODY
    if isinstance(config_proto, str):
        config_proto = config_proto.encode()
    try:
        config = config_pb2.ConfigProto.FromString(config_proto)
    except DecodeError:
        raise errors.invalid_argument(
            "Unable to parse config_proto string as tensorflow::ConfigProto proto."
        ) from None
    rewriter = config.graph_options.rewrite_options
    if rewriter.disable_meta_optimizer:
        return BodyOptions(is_multi_device=True)
    return BodyOptions(
        is_multi_device=True,
        inlines=rewriter.function_optimization != rewriter_config_pb2.RewriterConfig.OFF,
        simplifies=True,
        min_graph_nodes=rewriter_config.min_graph_nodes(config),
    )
