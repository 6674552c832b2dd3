"""The HTTP server, which closes connections on which no request arrives."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from aiohttp import web

if TYPE_CHECKING:
    from tfnb.serving.rest_service import RestService
    from tfnb.serving.serving_options import ServingOptions

_KEEP_ALIVE_S = 75.0
# A large body comes in few pieces.
_READ_BYTES = 2**20


class RestServer(web.Server):
    """A server with limits of connections, and of the time in which a first request arrives.

    aiohttp limits the time between two requests of a connection, and the size of a request.
    """

    def __init__(self, service: RestService, options: ServingOptions) -> None:
        super().__init__(
            service.answer,
            request_factory=self._new_request,
            keepalive_timeout=_KEEP_ALIVE_S,
            access_log=None,
            read_bufsize=_READ_BYTES,
        )
        self._options = options
        self._silent: dict[Any, asyncio.TimerHandle] = {}

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
