"""A connection to a server of this process: requests go to its services without gRPC.

It has the methods of a channel of gRPC that sessions use, so that errors, deadlines, cancellation
and closing are those of other connections.  ``rpc_options.use_rpc_for_inprocess_master`` asks for
gRPC.  Corresponds to TensorFlow's ``local_master.cc``.
"""

from __future__ import annotations

import threading
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING, Any

from tfnb.core.process.notification import Notification
from tfnb.distributed_runtime.grpc_channel import host_port_of, import_grpc
from tfnb.distributed_runtime.server_threads import ServerThreads

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tfnb.distributed_runtime.grpc_tensor_coding import Message
    from tfnb.proto import config_pb2

    type_of_handler = Callable[[Any, Any], Message]

_lock = threading.Lock()
# The methods of the servers of this process by address, "/service/method"; guarded by _lock.
_servers: dict[str, Mapping[str, type_of_handler]] = {}
_threads = ServerThreads("tfnb-client")


def register(target: str, methods: Mapping[str, type_of_handler]) -> None:
    """Let sessions of this process reach a server without gRPC.

    Args:
      target: of the server.
      methods: what answers each "/service/method".
    """
    with _lock:
        _servers[host_port_of(target)] = methods


def deregister(target: str) -> None:
    """Forget a server that stops."""
    with _lock:
        _servers.pop(host_port_of(target), None)


def find(address: str) -> Mapping[str, type_of_handler] | None:
    """Return the methods of the server at an address; None if it is not of this process."""
    with _lock:
        return _servers.get(address)


def channel_to(target: str, options: config_pb2.RPCOptions) -> InProcessChannel | None:
    """Return a connection to a target, if its server is of this process."""
    address = host_port_of(target)
    if options.use_rpc_for_inprocess_master or find(address) is None:
        return None
    return InProcessChannel(address)


class InProcessChannel:
    """A connection to the server at an address, or to one that is started there later."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._calls: set[_Call] = set()  # guarded by self._lock
        self._is_closed = False  # guarded by self._lock

    def unary_unary(self, path: str) -> _Method:
        """Return what calls a method, "/service/method"."""
        return _Method(self, path)

    def start(self, path: str, request: Message, timeout_s: float | None) -> _Call:
        """Start a call.

        Raises:
          ValueError: the channel is closed.
        """
        call = _Call(self, timeout_s)
        with self._lock:
            if self._is_closed:
                raise ValueError("Cannot invoke RPC on closed channel!")
            self._calls.add(call)
        methods = find(self._address)
        status = import_grpc().StatusCode
        if methods is None:
            call.fail(status.UNAVAILABLE, f"The server at {self._address} has stopped.")
        elif path not in methods:
            call.fail(status.UNIMPLEMENTED, f"Method not found: {path}")
        else:
            _threads.submit(call.run, methods[path], request)
        return call

    def forget(self, call: _Call) -> None:
        """Note that a call has ended."""
        with self._lock:
            self._calls.discard(call)

    def close(self) -> None:
        """End the calls in flight."""
        with self._lock:
            self._is_closed = True
            calls = list(self._calls)
        status = import_grpc().StatusCode
        for call in calls:
            call.fail(status.CANCELLED, "Channel closed!")


class _Method:
    """A method of a service."""

    def __init__(self, channel: InProcessChannel, path: str) -> None:
        self._channel, self._path = channel, path

    def __call__(
        self, request: Message, timeout: float | None = None, wait_for_ready: bool | None = None
    ) -> Message:
        call = self.future(request, timeout, wait_for_ready)
        try:
            return call.result()
        except BaseException:
            call.cancel()
            raise

    def future(
        self, request: Message, timeout: float | None = None, wait_for_ready: bool | None = None
    ) -> _Call:
        """Start a call; a server that has stopped is not waited for."""
        return self._channel.start(self._path, request, timeout)


class _Call:
    """A call in flight: a future for the client, the context of the request for the server."""

    def __init__(self, channel: InProcessChannel, timeout_s: float | None) -> None:
        self._grpc = import_grpc()
        self._channel = channel
        self._deadline = None if timeout_s is None else monotonic() + timeout_s
        self._lock = threading.Lock()
        self._over = Notification()
        self._code = self._grpc.StatusCode.OK
        self._details = ""
        self._response: Message = b""
        self._is_active = True  # guarded by self._lock
        self._is_cancelled = False  # guarded by self._lock
        self._ended: list[Callable[[], object]] = []  # guarded by self._lock
        self._done: list[Callable[[_Call], object]] = []  # guarded by self._lock

    # -- for the server ----------------------------------------------------------------------------

    def run(self, handler: type_of_handler, request: Message) -> None:
        """Answer the request; an answer that comes too late is dropped."""
        self._end(handler(request, self), self._code, self._details)

    def is_active(self) -> bool:
        """Return whether the client still waits."""
        return self._is_active

    def add_callback(self, callback: Callable[[], object]) -> bool:
        """Call ``callback`` when the call ends; False if it has ended."""
        with self._lock:
            if not self._is_active:
                return False
            self._ended.append(callback)
        return True

    def set_code(self, code: Any) -> None:
        """Set the code of the answer."""
        self._code = code

    def set_details(self, details: str) -> None:
        """Set the text of an error."""
        self._details = details

    # -- for the client ----------------------------------------------------------------------------

    def result(self, timeout: float | None = None) -> Message:
        """Wait for the response.

        Raises:
          grpc.FutureTimeoutError: there was none in time.
          grpc.FutureCancelledError: the call was cancelled.
          grpc.RpcError: it failed, or its deadline came.
        """
        grpc = self._grpc
        now = monotonic()
        limits = [one for one in (timeout, self._left(now)) if one is not None]
        if not self._over.wait(min(limits) if limits else None):
            left = self._left(monotonic())
            if left is None or left > 0:
                raise grpc.FutureTimeoutError
            self.fail(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded")
        if self.cancelled():
            raise grpc.FutureCancelledError
        error = self.exception()
        if error is not None:
            raise error
        return self._response

    def _left(self, now: float) -> float | None:
        return None if self._deadline is None else max(0.0, self._deadline - now)

    def exception(self) -> BaseException | None:
        """Return what an ended call failed with."""
        if self._code is self._grpc.StatusCode.OK:
            return None
        error: BaseException = _error_type()(self._code, self._details)
        return error

    def cancelled(self) -> bool:
        """Return whether the client has cancelled the call."""
        return self._is_cancelled

    def cancel(self) -> bool:
        """End the call, on the server, too."""
        self._end(b"", self._grpc.StatusCode.CANCELLED, "Cancelled", is_cancelled=True)
        return self._is_cancelled

    def fail(self, code: Any, details: str) -> None:
        """End the call with an error."""
        self._end(b"", code, details)

    def add_done_callback(self, callback: Callable[[_Call], object]) -> None:
        """Call ``callback`` with the call when it has ended, perhaps immediately."""
        with self._lock:
            if self._is_active:
                self._done.append(callback)
                return
        callback(self)

    def _end(self, response: Message, code: Any, details: str, is_cancelled: bool = False) -> None:
        with self._lock:
            if not self._is_active:
                return
            self._is_active = False
            self._response, self._code, self._details = response, code, details
            self._is_cancelled = is_cancelled
            ended, done = self._ended, self._done
            self._ended, self._done = [], []
        self._channel.forget(self)
        for callback in ended:
            callback()
        self._over.notify()
        for tell in done:
            tell(self)


@cache
def _error_type() -> Any:
    """Return the class of errors, which needs gRPC."""

    class InProcessError(import_grpc().RpcError):  # type: ignore[misc]
        """An error of a call, as gRPC's: code and text are methods."""

        def __init__(self, code: Any, details: str) -> None:
            super().__init__(details)
            self._code, self._details = code, details

        def code(self) -> Any:
            """Return gRPC's status code."""
            return self._code

        def details(self) -> str:
            """Return the text."""
            return self._details

    return InProcessError
