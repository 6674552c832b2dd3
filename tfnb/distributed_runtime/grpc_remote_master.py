"""Calls of a master in another process, and what their failures mean.

A request is sent once.  It ends by its response, by an error of the server, by its deadline, or
because the connection is lost; an interrupt of the caller cancels it on the server, too.

Corresponds to TensorFlow's ``rpc/grpc_remote_master.cc``.
"""

from __future__ import annotations

import logging
import socket
import threading
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn

from tfnb.core import errors
from tfnb.distributed_runtime.grpc_channel import (
    SCHEME,
    TLS_SCHEME,
    UNIX,
    host_port_of,
    import_grpc,
    new_channel,
)
from tfnb.distributed_runtime.in_process_channel import channel_to
from tfnb.distributed_runtime.remote_errors import remote_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.proto import config_pb2

_log = logging.getLogger("tfnb")

SERVICE = "/tensorflow.MasterService/"
# A request that waits for a server is reported after this many seconds, then at intervals.
_FIRST_REPORT_S = 2.0
_NEXT_REPORT_S = 10.0
_SETTLE_S = 5.0
_PROBE_S = 0.5
# How a connection of HTTP/2, which gRPC uses, begins: a fixed text and empty settings.
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
_TLS_ALERT = bytes([21, 3])
_WAITS = (
    "the server is there, and waits for the tasks of its cluster, or is busy. If a task may be "
    "missing, name those that the session needs: "
    "tf.ConfigProto(device_filters=['/job:ps', '/job:worker/task:0'])"
)


class GrpcRemoteMaster:
    """The MasterService of a target; thread safe.

    Attributes:
      target: ``grpc://host:port``.
    """

    def __init__(self, target: str, options: config_pb2.RPCOptions) -> None:
        """Prepare the calls; nothing is sent.

        Raises:
          InvalidArgumentError, UnimplementedError: see :func:`new_channel`.
        """
        self.target = target
        self._grpc = import_grpc()
        self._channel = channel_to(target, options) or new_channel(target, options)
        self._lock = threading.Lock()
        self._methods: dict[str, Any] = {}  # guarded by self._lock
        self._rpc_error: type[BaseException] = self._grpc.RpcError

    def call(self, method: str, request: Any, response: Any, timeout_s: float | None = None) -> Any:
        """Send a request and return its response.

        Args:
          method: the method's name in the service.
          request: a message.
          response: the class of the response.
          timeout_s: seconds until the deadline; None: no deadline.

        Raises:
          OpError: what the server answered, or why it did not.
        """
        return response.FromString(
            self.call_with_bytes(method, request.SerializeToString(), timeout_s)
        )

    def call_with_bytes(self, method: str, request: bytes, timeout_s: float | None) -> bytes:
        """Send the bytes of a request and return those of its response; see :meth:`call`."""
        try:
            response: bytes = self._method(method)(request, timeout=timeout_s)
        except self._rpc_error as error:
            self._raise(error, method)
        return response

    def call_when_ready(
        self, method: str, request: Any, response: Any, timeout_s: float | None = None
    ) -> Any:
        """Send a request as soon as there is a server; say after 2 s what is waited for.

        Args and errors are those of :meth:`call`.  An interrupt ends the waiting.
        """
        future = self._method(method).future(
            request.SerializeToString(), timeout=timeout_s, wait_for_ready=True
        )
        report = _WaitingReport(self.target, method)
        try:
            while True:
                try:
                    found = future.result(timeout=report.next_pause())
                    break
                except self._grpc.FutureTimeoutError:
                    report.say()  # raises where waiting has no use
        except self._rpc_error as error:
            self._raise(error, method)
        except BaseException:
            future.cancel()
            raise
        return response.FromString(found)

    def call_to_its_end(
        self,
        method: str,
        request: Any,
        response: Any,
        done: Callable[[Any], None],
        timeout_s: float | None = None,
    ) -> None:
        """Send a request whose response is noted even if the caller is interrupted meanwhile.

        Args:
          method: the method's name in the service.
          request: a message.
          response: the class of the response.
          done: called with the response.
          timeout_s: seconds until the deadline; None: no deadline.

        Raises:
          OpError: what the server answered, or why it did not.
          KeyboardInterrupt: the caller was interrupted; ``done`` was called nevertheless, unless
            the server did not answer within 5 s.
        """
        future = self._method(method).future(request.SerializeToString(), timeout=timeout_s)
        interrupt: KeyboardInterrupt | None = None
        while True:
            try:
                found = future.result(timeout=None if interrupt is None else _SETTLE_S)
            except KeyboardInterrupt as error:
                interrupt = interrupt or error
                continue
            except self._grpc.FutureTimeoutError:
                future.cancel()
                raise interrupt or errors.deadline_exceeded(f"{method} has no answer") from None
            except self._rpc_error as error:
                self._raise(error, method)
            done(response.FromString(found))
            if interrupt is not None:
                raise interrupt
            return

    def close(self) -> None:
        """Close the connection; requests in flight end with CancelledError."""
        self._channel.close()

    def _method(self, name: str) -> Any:
        with self._lock:
            found = self._methods.get(name)
            if found is None:
                # Requests and responses travel as bytes: messages with tensors are joined by hand.
                found = self._methods[name] = self._channel.unary_unary(SERVICE + name)
        return found

    def _raise(self, error: Any, method: str) -> NoReturn:
        raise remote_error(
            error.code().value[0], error.details() or "", self.target, method
        ) from None


class _WaitingReport:
    """Says for how long a request has been waiting for a server, and why."""

    def __init__(self, target: str, method: str) -> None:
        self._target, self._method = target, method
        self._begin = monotonic()
        self._num_reports = 0

    def next_pause(self) -> float:
        """Return how many seconds to wait before the next report."""
        return _NEXT_REPORT_S if self._num_reports else _FIRST_REPORT_S

    def say(self) -> None:
        """Log what is waited for.

        Raises:
          UnavailableError: a server of another protocol is there.
        """
        self._num_reports += 1
        why = _WAITS
        if self._target.startswith(SCHEME):
            why = _look_at(host_port_of(self._target), self._target)
        _log.warning(
            "%s still waiting for response from %s after %.0f s: %s. Interrupt to stop waiting.",
            self._method,
            self._target,
            monotonic() - self._begin,
            why,
        )


def _look_at(address: str, target: str) -> str:
    """Return why nothing has come from a server without TLS, by what it says to a new connection.

    Asking the channel would start a thread of gRPC, which fails once the channel is closed.

    Raises:
      UnavailableError: it speaks another protocol.
    """
    try:
        probe = _connection_to(address)
    except OSError:
        return "nothing accepts a connection there. Start the server, or check host and port"
    with probe:
        try:
            probe.sendall(_PREFACE)
            first = probe.recv(64)
        except TimeoutError:
            return (
                "a connection is accepted, but the server says nothing: it is stopped, or no "
                "TensorFlow server. Check host and port"
            )
        except OSError:
            return _WAITS
    if first.startswith(b"HTTP/1"):
        raise errors.unavailable(
            f"{target} is an HTTP server, not a TensorFlow server. Check host and port."
        )
    if first[:2] == _TLS_ALERT:
        raise errors.unavailable(
            f"The server at {target} speaks TLS: its target begins with {TLS_SCHEME}."
        )
    return _WAITS


def _connection_to(address: str) -> socket.socket:
    """Return a connection.

    Raises:
      OSError: nothing accepts one there.
    """
    if not address.startswith(UNIX):
        host, _, port = address.rpartition(":")
        return socket.create_connection((host.strip("[]"), int(port)), _PROBE_S)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(_PROBE_S)
        connection.connect(address.removeprefix(UNIX))
    except OSError:
        connection.close()
        raise
    return connection
