"""Errors that came over the wire, as those of this process.

A server sends a code and a text.  The node's name stands in the text; here it is read once, so that
the client finds the operation without looking at texts.
"""

from __future__ import annotations

import re

from tfnb.core import errors
from tfnb.core.errors import Mistake, OpError
from tfnb.distributed_runtime.grpc_channel import tls_failure

CLOSED = "Step was cancelled by an explicit call to `Session::Close()`."
"""What a step ends with whose session is closed while it runs."""

_NODE = re.compile(r"\{\{node ([^}\s]+)\}\}|\[\[node ([^\s\]]+)")
_NOT_FED = re.compile(r"You must feed a value for placeholder tensor")
_NOT_INITIALIZED = re.compile(
    r"Attempting to use uninitialized value|Could not find variable|"
    r"Error while reading resource variable"
)


def remote_error(code: int, text: str, target: str, method: str = "") -> OpError:
    """Return the error for a code and a text.

    Args:
      code: of gRPC or of a response; both count alike.
      text: what the server, or gRPC, says.
      target: the server.
      method: what was asked of it; "" where the server answered.
    """
    node = _NODE.search(text)
    if method:
        if code == errors.UNAVAILABLE and tls_failure(text):
            code = errors.UNAUTHENTICATED
        text = _with_advice(code, text, target, method)
    error = errors.from_code(code, text)
    if node is not None:
        error.node_name = node[1] or node[2]
    if _NOT_FED.search(text):
        error.mistake = Mistake.NOT_FED
    elif _NOT_INITIALIZED.search(text):
        error.mistake = Mistake.NOT_INITIALIZED
    return error


def of_task(error: OpError, task: str) -> OpError:
    """Return an error that names the task it came from; one that names a task stays as it is."""
    if error.message.startswith("From /job:"):
        return error
    named = errors.from_code(error.error_code, f"From {task}:\n{error.message}")
    named.node_name, named.mistake = error.node_name, error.mistake
    named.__cause__ = error.__cause__
    return named


def _with_advice(code: int, text: str, target: str, method: str) -> str:
    """Add what to do about a failed connection."""
    match code:
        case errors.UNAVAILABLE | errors.UNAUTHENTICATED:
            reason = tls_failure(text)
            if reason:
                return f"{method}: no connection to {target}: {reason}"
            return (
                f"{method}: the server {target} cannot be reached: {text}\n"
                "If it was restarted, open a new session; variables on the task that ended are "
                "lost and must be initialized or restored."
            )
        case errors.UNIMPLEMENTED:
            return (
                f"{method}: what listens at {target} is no TensorFlow master: {text or 'it does '}"
                f"{'' if text else 'not know this request'}"
            )
        case errors.DEADLINE_EXCEEDED:
            return (
                f"{method}: no answer from {target} in time: {text}\nThe limit is "
                "timeout_in_ms of tf.RunOptions, or operation_timeout_in_ms of tf.ConfigProto."
            )
        case errors.RESOURCE_EXHAUSTED:
            return (
                f"{method}: {target} refuses the message, or has no memory for it: {text}\n"
                "Feed and fetch less at once, or start the server with a larger limit: "
                "tfnb serve --max-message-mb."
            )
    return text
