"""The settings in a session's configuration, checked before the session exists or a step runs."""

from __future__ import annotations

import os
import threading
from functools import lru_cache
from typing import TYPE_CHECKING

from tfnb.core import device_spec, errors
from tfnb.core.process.records import record
from tfnb.proto import config_pb2

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.graph.graph import Graph

EXECUTOR_TYPES = ("DEFAULT", "SINGLE_THREADED_EXECUTOR")

_lock = threading.RLock()  # an unreferenced session may be finalized inside
_live_metadata: set[tuple[str, int]] = set()  # guarded by _lock


@record(slots=True, frozen=True)
class SessionSettings:
    """The values that every new session reads from its configuration.

    Attributes:
      device_count: how many devices of each type.
      timeout_ms: ``operation_timeout_in_ms``.
      cost_model_every: ``build_cost_model``.
      cost_model_after: ``build_cost_model_after``.
      has_metadata: whether the session has a name and a version.
      has_pools: whether threads for expensive kernels are declared.
    """

    device_count: Mapping[str, int]
    timeout_ms: int
    cost_model_every: int
    cost_model_after: int
    has_metadata: bool
    has_pools: bool


def settings_of(config: config_pb2.ConfigProto) -> SessionSettings:
    """Return the settings of a configuration.

    Raises:
      InvalidArgumentError: a device filter is not a device name.
    """
    return _settings(config.SerializeToString(deterministic=True))


# Many sessions have the same configuration, and reading a message is slow.
@lru_cache(maxsize=64)
def _settings(serialized: bytes) -> SessionSettings:
    config = config_pb2.ConfigProto.FromString(serialized)
    check_device_filters(config)
    return SessionSettings(
        dict(config.device_count),
        config.operation_timeout_in_ms,
        config.graph_options.build_cost_model,
        config.graph_options.build_cost_model_after,
        config.experimental.HasField("session_metadata"),
        bool(
            config.session_inter_op_thread_pool
            or config.use_per_session_threads
            or config.inter_op_parallelism_threads > 1
        ),
    )


def sync_on_finish() -> bool:
    """Return whether steps wait for their devices, as the variable TF_SYNC_ON_FINISH says.

    Without the variable they do.
    """
    return os.environ.get("TF_SYNC_ON_FINISH", "").lower() not in ("0", "false")


def claim_metadata(config: config_pb2.ConfigProto) -> tuple[str, int] | None:
    """Reserve the session's name and version, if it has any, until :func:`release`.

    Raises:
      InvalidArgumentError: a live session has the same name and version, or the version is
        negative.
    """
    if not config.experimental.HasField("session_metadata"):
        return None
    metadata = config.experimental.session_metadata
    if metadata.version < 0:
        raise errors.invalid_argument(
            f"Session version shouldn't be negative: {metadata.name}:{metadata.version}"
        )
    key = (metadata.name, metadata.version)
    with _lock:
        if key in _live_metadata:
            raise errors.invalid_argument(
                "A session with the same name and version has already been created: "
                f"{metadata.name}:{metadata.version}"
            )
        _live_metadata.add(key)
    return key


def release(key: tuple[str, int] | None) -> None:
    """Free a session's name and version for other sessions."""
    if key is not None:
        with _lock:
            _live_metadata.discard(key)


def check_device_filters(config: config_pb2.ConfigProto) -> None:
    """Check that ``device_filters`` are valid; they select devices of other processes.

    Raises:
      InvalidArgumentError: a filter is not a device name.
    """
    for text in config.device_filters:
        if device_spec.parse_full_name(text) is None:
            raise errors.invalid_argument(f"Invalid device filter: {text}")


def check_executor_type(config: config_pb2.ConfigProto, graph: Graph) -> None:
    """Check that the requested executor exists and can run the graph.

    Raises:
      NotFoundError: no executor has this name; the message lists the known ones.
      FailedPreconditionError: the single-threaded executor would have to run control flow.
      UnimplementedError: the single-threaded executor would have to pass references.
    """
    wanted = config.experimental.executor_type
    if not wanted or wanted == "DEFAULT":
        return
    if wanted not in EXECUTOR_TYPES:
        raise errors.not_found(
            f"No executor factory registered for the given executor type: {wanted} Registered "
            f"factories are {{{', '.join(EXECUTOR_TYPES)}}}."
        )
    for node in graph.op_nodes():
        what = ""
        if node.is_switch:
            what = "switch op, but saw node"
        elif node.is_merge or node.is_enter or node.is_exit or node.is_next_iteration:
            what = "low level control flow, but saw control flow node"
        if what:
            raise errors.failed_precondition(
                f"Single-threaded executor does not support {what} {node.name}. Choose another "
                "executor_type for graphs with tf.cond and tf.while_loop."
            )
        for dtype in node.output_types:
            if dtype.is_ref_dtype:
                raise errors.unimplemented(
                    "Single-threaded executor does not support reference-typed edges. But saw "
                    f"type {dtype.name} in outputs of node {node.name}"
                )
