"""Optimizations of a function's body: by the op that calls it and by its ``config_proto``.

The options of a session do not apply to the bodies of ``PartitionedCall``: there, as in TensorFlow,
the node's own ``config_proto`` configures Grappler, which by default simplifies the body.
"""

from __future__ import annotations

from functools import lru_cache

from google.protobuf.message import DecodeError

from tfnb.common_runtime.optimizer import rewriter_config
from tfnb.core import errors
from tfnb.core.process.records import record, replace
from tfnb.graph.node_kind import PARTITIONED_CALLS
from tfnb.proto import config_pb2, rewriter_config_pb2


@record(frozen=True, slots=True)
class BodyOptions:
    """The optimizations that may be applied to a body.

    Attributes:
      is_multi_device: whether conditionals in it are lowered to Switch and Merge, and its nodes are
        placed on the devices that they request.
      inlines: whether calls in it are replaced by the bodies of the called functions.
      simplifies: whether redundant nodes, which only connect others, are removed.
      min_graph_nodes: a body with fewer nodes, arguments and results included, is not optimized.
    """

    is_multi_device: bool = False
    inlines: bool = False
    simplifies: bool = False
    min_graph_nodes: int = 0

    def for_size(self, num_nodes: int) -> BodyOptions:
        """Return the optimizations for a body with this number of nodes."""
        if num_nodes >= self.min_graph_nodes:
            return self
        return replace(self, inlines=False, simplifies=False)


PLAIN_BODY = BodyOptions()
"""A body on the device of its caller; the session's switches apply to it."""


@lru_cache(maxsize=256)
def body_options(op: str, config_proto: bytes | str = b"") -> BodyOptions:
    """Return the optimizations for bodies that a node calls.

    Args:
      op: the calling node's op.
      config_proto: the node's attribute ``config_proto``, a serialized ConfigProto.

    Raises:
      InvalidArgumentError: ``config_proto`` cannot be parsed.

    >>> body_options("PartitionedCall").inlines, body_options("While").is_multi_device
    (True, False)
    >>> config = config_pb2.ConfigProto()
    >>> config.graph_options.rewrite_options.disable_meta_optimizer = True
    >>> body_options("PartitionedCall", config.SerializeToString()).simplifies
    False
    """
    if op not in PARTITIONED_CALLS:
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
