"""The HTTP server, which closes connections on which no request arrives."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from tfnb.serving.rest_service import malformed

if TYPE_CHECKING:
    from tfnb.serving.rest_service import RestService
    from tfnb.serving.serving_options import ServingOptions

_KEEP_ALIVE_S = 75.0
# A large body comes in few pieces.
_READ_BYTES = 2**20


class _Connection(web.RequestHandler):
    """A connection whose client may send anything: that is answered in JSON, not logged."""

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Return the answer to what is no request, or to a request that failed in the server."""
        if request.writer.output_size > 0:
            raise ConnectionError("A part of the answer was sent already.")
        if status >= 500:
            self.log_exception("A request from %s failed", request.remote, exc_info=exc)
            return malformed(None, status)
        return malformed(message, status)

    def log_exception(self, *args: Any, **kw: Any) -> None:
        """Log an error of the server, but none of a client."""
        if not isinstance(kw.get("exc_info"), HttpProcessingError | web.RequestPayloadError):
            super().log_exception(*args, **kw)


class RestServer(web.Server):
    """A server with limits of connections, and of the time in which a first request arrives.

    aiohttp limits the time between two requests of a connection, and the size of a request.
    """

    def __init__(self, service: RestService, options: ServingOptions) -> None:
        super().__init__(service.answer, request_factory=self._new_request)
        self._options = options
        self._silent: dict[Any, asyncio.TimerHandle] = {}

    def __call__(self) -> web.RequestHandler:
        """Return the protocol of a new connection."""
        return _Connection(
            self,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=_KEEP_ALIVE_S,
            access_log=None,  # type: ignore[arg-type]  # as aiohttp documents it
            read_bufsize=_READ_BYTES,
        )

    def connection_made(self, handler: Any, transport: asyncio.Transport) -> None:
        """Begin a connection, or refuse it."""
        super().connection_made(handler, transport)
        if len(self.connections) > self._options.max_connections:
            transport.abort()
            return
        loop = asyncio.get_running_loop()
        self._silent[handler] = loop.call_later(
            self._options.client_timeout_s, self._close_silent, handler, transport
        )

    def connection_lost(self, handler: Any, exc: BaseException | None = None) -> None:
        """Forget a connection."""
        self._heard(handler)
        super().connection_lost(handler, exc)

    def _close_silent(self, handler: Any, transport: asyncio.Transport) -> None:
        self._silent.pop(handler, None)
        transport.abort()

    def _heard(self, handler: Any) -> None:
        timer = self._silent.pop(handler, None)
        if timer is not None:
            timer.cancel()

    def _new_request(
        self, message: Any, payload: Any, protocol: Any, writer: Any, task: Any
    ) -> web.BaseRequest:
        self._heard(protocol)
        return web.BaseRequest(
            message,
            payload,
            protocol,
            writer,
            task,
            asyncio.get_running_loop(),
            client_max_size=self._options.max_request_bytes,
        )
