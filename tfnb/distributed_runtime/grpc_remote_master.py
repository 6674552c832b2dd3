"""Calls of a master in another process, and what their failures mean.

A request is sent once.  It ends by its response, by an error of the server, by its deadline, or
because the connection is lost; an interrupt of the caller cancels it on the server, too.

Corresponds to TensorFlow's ``rpc/grpc_remote_master.cc``.
"""

from __future__ import annotations

import logging
import socket
import threading
from typing import TYPE_CHECKING, Any, NoReturn

from tfnb.core import errors
from tfnb.core.process.server_waits import waiting_for_server
from tfnb.distributed_runtime.grpc_channel import (
    SCHEME,
    TLS_SCHEME,
    UNIX,
    handshake_failure,
    host_port_of,
    import_grpc,
    new_channel,
)
from tfnb.distributed_runtime.in_process_channel import channel_to
from tfnb.distributed_runtime.remote_errors import remote_error
from tfnb.distributed_runtime.rendezvous_mgr import task_of
from tfnb.proto import worker_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.process.server_waits import ServerWait
    from tfnb.distributed_runtime.grpc_tensor_coding import Message
    from tfnb.proto import config_pb2
    from tfnb.proto.step_stats_pb2 import StepStats

_log = logging.getLogger("tfnb")

SERVICE = "/tensorflow.MasterService/"
WORKER_SERVICE = "/tensorflow.WorkerService/"
# A request that waits for a server is reported after this many seconds, then at intervals.
_FIRST_REPORT_S = 2.0
_NEXT_REPORT_S = 10.0
_SETTLE_S = 5.0
_PROBE_S = 0.5
# How a connection of HTTP/2, which gRPC uses, begins: a fixed text and empty settings.
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
_TLS_ALERT = bytes([21, 3])
_WAITS = (
    "the server is there, and waits for the tasks of its cluster, or is busy",
    "If a task may be missing, name those that the session needs: "
    "tf.ConfigProto(device_filters=['/job:ps', '/job:worker/task:0'])",
)


class GrpcRemoteMaster:
    """The MasterService of a target; thread safe.

    Attributes:
      target: ``grpc://host:port``.
      is_in_process: whether requests stay in this process, and may be LocalMessages.
    """

    def __init__(self, target: str, options: config_pb2.RPCOptions) -> None:
        """Prepare the calls; nothing is sent.

        Raises:
          InvalidArgumentError, UnimplementedError: see :func:`new_channel`.
        """
        self.target = target
        self._grpc = import_grpc()
        local = channel_to(target, options)
        self.is_in_process = local is not None
        self._channel = local or new_channel(target, options)
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
            self.call_with_message(method, request.SerializeToString(), timeout_s)
        )

    def call_with_message(self, method: str, request: Message, timeout_s: float | None) -> Message:
        """Send a serialized request and return its response, serialized; see :meth:`call`."""
        try:
            response: Message = self._method(method)(request, timeout=timeout_s)
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
        with waiting_for_server(self.target, method) as wait:
            report = _WaitingReport(wait, self.tasks_waited_for, self._check_handshake)
            try:
                while True:
                    try:
                        found = future.result(timeout=report.next_pause())
                        break
                    except self._grpc.FutureTimeoutError:
                        report.say()  # raises where waiting has no use
            except self._rpc_error as error:
                failure: Any = error
                if failure.code().value[0] == errors.DEADLINE_EXCEEDED:
                    self._check_handshake()
                self._raise(failure, method)
            except BaseException:
                future.cancel()
                raise
        return response.FromString(found)

    def _check_handshake(self) -> None:
        """Check that certificates do not prevent the connection.

        Raises:
          UnauthenticatedError: they do.
        """
        reason = handshake_failure(self._channel, self.target)
        if reason:
            raise errors.unauthenticated(f"No connection to {self.target}: {reason}")

    def start(self, method: str, request: Message, timeout_s: float | None) -> PendingCall:
        """Send a serialized request; return the call in flight."""
        future = self._method(method).future(request, timeout=timeout_s)
        return PendingCall(self, method, future)

    def logging(self, step_ids: Sequence[int], timeout_s: float) -> dict[int, StepStats]:
        """Return what steps in flight have done until now, by the ids of their requests.

        Steps are left out that have ended, or whose server does not say; see ``step_logs.py``.
        """
        request = worker_pb2.LoggingRequest(fetch_step_id=step_ids)
        try:
            answer = self._method("Logging", WORKER_SERVICE)(
                request.SerializeToString(), timeout=timeout_s
            )
        except self._rpc_error:
            return {}
        found = worker_pb2.LoggingResponse.FromString(answer)
        return {log.step_id: log.step_stats for log in found.step}

    def tasks_waited_for(self) -> tuple[str, ...]:
        """Return the tasks that the master waits for, if it says so."""
        stats = self.logging([0], _PROBE_S).get(0)
        return () if stats is None else tuple(task_of(one.device) for one in stats.dev_stats)

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

    def _method(self, name: str, service: str = SERVICE) -> Any:
        with self._lock:
            found = self._methods.get(name)
            if found is None:
                # Requests and responses travel as bytes: messages with tensors are joined by hand.
                found = self._methods[name] = self._channel.unary_unary(service + name)
        return found

    def is_rpc_error(self, error: BaseException) -> bool:
        """Return whether gRPC raised an error."""
        return isinstance(error, self._rpc_error)

    def raise_error(self, error: Any, method: str) -> NoReturn:
        """Raise what an error of gRPC means."""
        self._raise(error, method)

    def _raise(self, error: Any, method: str) -> NoReturn:
        raise remote_error(
            error.code().value[0], error.details() or "", self.target, method
        ) from None


class PendingCall:
    """A request in flight; an interrupt of the thread that waits does not end it."""

    def __init__(self, master: GrpcRemoteMaster, method: str, future: Any) -> None:
        self._master, self._method, self._future = master, method, future
        self._error: BaseException | None = None

    def result(self, timeout_s: float | None = None) -> Message | None:
        """Wait for the serialized response; None: there was none in time.

        Raises:
          OpError: what the server answered, or why it did not, or what the call was ended with.
        """
        grpc = import_grpc()
        try:
            response: Message = self._future.result(timeout=timeout_s)
        except grpc.FutureTimeoutError:
            return None
        except grpc.FutureCancelledError:
            raise self._error or errors.cancelled(f"{self._method} was cancelled.") from None
        except Exception as error:
            if self._master.is_rpc_error(error):
                self._master.raise_error(error, self._method)
            raise
        return response

    def cancel(self, error: BaseException | None = None) -> None:
        """End the call on the server, too; :meth:`result` then raises ``error``."""
        self._error = self._error or error
        self._future.cancel()


class _WaitingReport:
    """Says for how long a request has been waiting for a server, and why."""

    def __init__(
        self,
        wait: ServerWait,
        tasks: Callable[[], tuple[str, ...]],
        check_handshake: Callable[[], None],
    ) -> None:
        self._wait, self._tasks, self._check_handshake = wait, tasks, check_handshake
        self._num_reports = 0

    def next_pause(self) -> float:
        """Return how many seconds to wait before the next report."""
        return _NEXT_REPORT_S if self._num_reports else _FIRST_REPORT_S

    def say(self) -> None:
        """Log what is waited for, and note it for observers.

        Raises:
          UnavailableError: a server of another protocol is there.
          UnauthenticatedError: certificates prevent the connection.
          InvalidArgumentError: there can be no server.
        """
        self._num_reports += 1
        self._check_handshake()
        wait = self._wait
        text, advice = _WAITS
        if wait.target.startswith(SCHEME):
            text, advice = _look_at(host_port_of(wait.target), wait.target)
        if (text, advice) == _WAITS:
            wait.tasks = self._tasks()
            if wait.tasks:
                text = f"the server is there, and waits for {', '.join(wait.tasks)}"
        wait.text, wait.advice = text, advice
        _log.warning(
            "%s still waiting for response from %s after %.0f s: %s. %s. Interrupt to stop "
            "waiting.",
            wait.method,
            wait.target,
            wait.seconds,
            text,
            advice,
        )


def _look_at(address: str, target: str) -> tuple[str, str]:
    """Return why a server without TLS has not answered, and what to do about it.

    It is judged by what it says to a new connection.

    Asking the channel would start a thread of gRPC, which fails once the channel is closed.

    Raises:
      UnavailableError: it speaks another protocol.
      InvalidArgumentError: there can be no server.
    """
    if address.endswith(":0"):
        raise errors.invalid_argument(f"No server listens at port 0. Check the port of {target}.")
    try:
        probe = _connection_to(address)
    except OSError:
        return "nothing accepts a connection there", "Start the server, or check host and port"
    with probe:
        try:
            probe.sendall(_PREFACE)
            first = probe.recv(64)
        except TimeoutError:
            text = "a connection is accepted, but the server says nothing: it is stopped, or no "
            return f"{text}TensorFlow server", "Check host and port"
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
