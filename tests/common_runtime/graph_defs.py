"""GraphDefs written by hand, for sessions without a client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tfnb.common_runtime.session.direct_session_factory
import tfnb.ops.array.constant_ops
import tfnb.ops.array.identity_ops
import tfnb.ops.control.control_flow_ops
import tfnb.ops.control.function_ops
import tfnb.ops.control.sendrecv_ops
import tfnb.ops.math.cwise_binary_ops
import tfnb.ops.state.state_ops  # noqa: F401
from tfnb.common_runtime.session.session_factory import SessionOptions, new_session
from tfnb.core import dtypes, tensor_util
from tfnb.core.attr_value import encode_attr
from tfnb.core.op_registry import get
from tfnb.proto import config_pb2, graph_pb2

if TYPE_CHECKING:
    from tfnb.common_runtime.session.direct_session import DirectSession


def graph_def(*nodes: graph_pb2.NodeDef) -> graph_pb2.GraphDef:
    """A GraphDef of these nodes."""
    found = graph_pb2.GraphDef()
    found.versions.producer = 27
    found.node.extend(nodes)
    return found


def node(name: str, op: str, *inputs: str, device: str = "", **attrs: Any) -> graph_pb2.NodeDef:
    """A node with attributes given as Python values."""
    found = graph_pb2.NodeDef(name=name, op=op, input=inputs, device=device)
    known = get(op).op_def.attr_by_name
    for key, value in attrs.items():
        found.attr[key].CopyFrom(encode_attr(value, known[key].type if key in known else None))
    return found


def const(name: str, value: Any, dtype: Any = dtypes.float32, device: str = "") -> Any:
    """A Const."""
    found = node(name, "Const", dtype=dtype, device=device)
    found.attr["value"].tensor.CopyFrom(tensor_util.make_tensor_proto(value, dtype))
    return found


def placeholder(name: str, dtype: Any = dtypes.float32) -> graph_pb2.NodeDef:
    """A Placeholder."""
    return node(name, "Placeholder", dtype=dtype)


def binary(name: str, op: str, x: str, y: str, dtype: Any = dtypes.float32, **more: Any) -> Any:
    """A node with two inputs of one type."""
    return node(name, op, x, y, T=dtype, **more)


def session(
    *nodes: graph_pb2.NodeDef, config: config_pb2.ConfigProto | None = None, **fields: Any
) -> DirectSession:
    """A session that was given these nodes."""
    config = config or config_pb2.ConfigProto(**fields)
    made: DirectSession = new_session(SessionOptions("", config))
    made.create(graph_def(*nodes))
    return made
