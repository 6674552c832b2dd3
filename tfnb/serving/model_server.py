"""A server with both interfaces: REST in an event loop, gRPC in its threads."""

from __future__ import annotations

import asyncio
import errno
import ssl
from typing import TYPE_CHECKING, Any, NamedTuple

from tfnb.common_runtime.session import process_state
from tfnb.core import errors
from tfnb.distributed_runtime.grpc_channel import UNIX, import_grpc, is_of_this_machine
from tfnb.serving.inference import Inference
from tfnb.serving.model_runner import ModelRunner
from tfnb.serving.request_log import RequestLog
from tfnb.serving.serving_options import ServingOptions

if TYPE_CHECKING:
    from pathlib import Path

    from tfnb.serving.served_model import ServedModel

LOCAL = "127.0.0.1"
_STOP_S = 5.0
_MAX_FRAME_BYTES = 2**24 - 1
_LOOKAHEAD_BYTES = 2**20
# Calls beyond the limit that are answered, with an error.
_MORE_RPCS = 64


class TlsFiles(NamedTuple):
    """The files of a server's certificate chain and private key, PEM."""

    certificate: Path
    key: Path


class ModelServer:
    """Serves a model; its methods are called in one event loop.

    Attributes:
        served: The model.
        log: Numbers about its requests.
        rest_address: ``host:port`` or ``unix:PATH`` of the REST interface, once it is started.
        grpc_address: Likewise, of gRPC.
    """

    def __init__(
        self,
        served: ServedModel,
        options: ServingOptions | None = None,
        *,
        rest: str | None = f"{LOCAL}:0",
        grpc: str | None = f"{LOCAL}:0",
        tls: TlsFiles | None = None,
        is_open: bool = False,
    ) -> None:
        """Prepare a server.

        Args:
            served: The model.
            options: Limits and settings.
            rest: ``host:port`` or ``unix:PATH`` of the REST interface; port 0 is a free one. None:
                no REST.
            grpc: Likewise, of gRPC.
            tls: Encrypts both.
            is_open: Whether other machines may be served without encryption.

        Raises:
            InvalidArgumentError: Other machines would be served without encryption.
        """
        for address in (rest, grpc):
            if address is not None and not (tls or is_open) and not _is_local(address):
                raise errors.invalid_argument(
                    f"{address} can be reached from other machines: give a certificate and its "
                    "key, serve localhost, or allow it without encryption where a proxy has both."
                )
        self.served = served
        self._options = options or ServingOptions()
        self._rest, self._grpc, self._tls = rest, grpc, tls
        process_state.prepare_for_messages()
        self._runner = ModelRunner(self._options, served.model.graph)
        self.log = RequestLog(served, self._runner)
        self._inference = Inference(served, self._runner)
        self._rest_runner: Any = None
        self._grpc_server: Any = None
        self.rest_address = self.grpc_address = ""

    async def start(self) -> None:
        """Open the model's session, and serve.

        Raises:
            OpError: The model cannot be opened, or a package is missing.
            OSError: An address is taken.
        """
        opening = self._runner.submit(self.served.open, self._options.timeout_s)
        await asyncio.wrap_future(opening)
        try:
            if self._grpc is not None:
                await self._start_grpc(self._grpc)
            if self._rest is not None:
                await self._start_rest(self._rest)
        except BaseException:
            await self.stop(0.0)
            raise

    async def _start_rest(self, address: str) -> None:
        web = import_web()
        from tfnb.serving.rest_server import RestServer
        from tfnb.serving.rest_service import RestService

        service = RestService(self._inference, self.log, self._options, is_local=_is_local(address))
        self._rest_runner = web.ServerRunner(
            RestServer(service, self._options), shutdown_timeout=_STOP_S
        )
        await self._rest_runner.setup()
        tls = None
        if self._tls is not None:
            tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            tls.load_cert_chain(self._tls.certificate, self._tls.key)
        if address.startswith(UNIX):
            site: Any = web.UnixSite(self._rest_runner, address.removeprefix(UNIX))
        else:
            host, _, port = address.rpartition(":")
            site = web.TCPSite(self._rest_runner, host.strip("[]"), int(port), ssl_context=tls)
        try:
            await site.start()
        except OSError as error:
            raise OSError(_not_free("REST", address, "--rest-port", error)) from None
        self.rest_address = address
        if not address.startswith(UNIX):
            port = str(self._rest_runner.addresses[0][1])
            self.rest_address = f"{address.rpartition(':')[0]}:{port}"

    async def _start_grpc(self, address: str) -> None:
        grpc = import_grpc()
        from tfnb.serving.grpc_service import GrpcService

        # gRPC's servers of asyncio take a third more processor time, for the changes of threads.
        self._grpc_server = grpc.server(
            self._runner.threads,
            options=(
                ("grpc.max_receive_message_length", self._options.max_request_bytes),
                ("grpc.max_send_message_length", -1),
                ("grpc.so_reuseport", 0),
                # Large tensors come in few frames.
                ("grpc.http2.max_frame_size", _MAX_FRAME_BYTES),
                ("grpc.http2.lookahead_bytes", _LOOKAHEAD_BYTES),
            ),
            # Each has a thread, also while its request arrives.
            maximum_concurrent_rpcs=self._options.max_waiting + _MORE_RPCS,
        )
        service = GrpcService(self._inference, self.log, self._options)
        self._grpc_server.add_generic_rpc_handlers(service.handlers())
        try:
            if self._tls is None:
                port = self._grpc_server.add_insecure_port(address)
            else:
                pair = (self._tls.key.read_bytes(), self._tls.certificate.read_bytes())
                credentials = grpc.ssl_server_credentials([pair])
                port = self._grpc_server.add_secure_port(address, credentials)
        except RuntimeError as error:
            raise OSError(_not_free("gRPC", address, "--port", error)) from None
        self._grpc_server.start()
        is_socket = address.startswith(UNIX)
        self.grpc_address = address if is_socket else f"{address.rpartition(':')[0]}:{port}"

    async def stop(self, grace_s: float = _STOP_S) -> None:
        """Refuse further requests, let those in flight end, and close the session.

        Args:
            grace_s: The time they have.
        """
        if self._grpc_server is not None:
            ended = self._grpc_server.stop(grace_s)
            await asyncio.get_running_loop().run_in_executor(None, ended.wait)
        if self._rest_runner is not None:
            await self._rest_runner.cleanup()
        self._runner.stop()
        self.served.model.close()


def import_web() -> Any:
    """Return ``aiohttp.web``.

    Raises:
        UnimplementedError: It is not installed.
    """
    try:
        from aiohttp import web
    except ImportError as error:
        raise errors.unimplemented(
            "A model's service needs aiohttp, which is not installed: pip install 'tfnb[serve]'"
        ) from error
    return web


def _not_free(interface: str, address: str, option: str, error: Exception) -> str:
    code = getattr(error, "errno", None)
    if code == errno.EADDRINUSE:
        why = "another program listens there"
    elif code is None:  # gRPC does not tell
        why = "another program listens there, or this machine or user may not"
    else:
        why = str(error)
    said = f"{interface} cannot listen at {address}: {why}"
    if address.startswith(UNIX):
        return said
    return f"{said}. Choose another port ({option} 0: a free one)"


def _is_local(address: str) -> bool:
    return is_of_this_machine(address if address.startswith(UNIX) else address.rpartition(":")[0])
