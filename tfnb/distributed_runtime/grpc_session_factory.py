"""Makes sessions for targets ``grpc://host:port``; importing it registers the factory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.common_runtime.session import process_state, session_factory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.common_runtime.session.session_factory import SessionOptions
    from tfnb.distributed_runtime.grpc_session import GrpcSession


class GrpcSessionFactory:
    """Makes sessions on servers; gRPC is imported with the first one."""

    def accepts_options(self, options: SessionOptions) -> bool:
        """Return whether the target is a server."""
        if not options.target:
            return False
        from tfnb.distributed_runtime.grpc_channel import SCHEME, TLS_SCHEME

        return options.target.startswith((SCHEME, TLS_SCHEME))

    def new_session(self, options: SessionOptions) -> GrpcSession:
        """Return a session; nothing is sent before its first nodes.

        Raises:
          InvalidArgumentError: the target names no host and port.
          UnimplementedError: gRPC is not installed.
        """
        from tfnb.distributed_runtime.grpc_remote_master import GrpcRemoteMaster
        from tfnb.distributed_runtime.grpc_session import GrpcSession

        process_state.prepare_for_messages()
        return GrpcSession(options, GrpcRemoteMaster(options.target, options.config.rpc_options))

    def reset(self, options: SessionOptions, containers: Sequence[str]) -> None:
        """Clear containers on the tasks of a target and close its sessions.

        Raises:
          OpError: what the server answered, or why it did not.
        """
        from tfnb.distributed_runtime.grpc_remote_master import GrpcRemoteMaster
        from tfnb.proto import master_pb2

        master = GrpcRemoteMaster(options.target, options.config.rpc_options)
        try:
            request = master_pb2.ResetRequest(
                container=containers, device_filters=options.config.device_filters
            )
            timeout_ms = options.config.operation_timeout_in_ms
            timeout_s = timeout_ms / 1000 if timeout_ms > 0 else None
            master.call_when_ready("Reset", request, master_pb2.ResetResponse, timeout_s)
        finally:
            master.close()


GRPC_SESSION_FACTORY = GrpcSessionFactory()
session_factory.register("GRPC_SESSION", GRPC_SESSION_FACTORY)
