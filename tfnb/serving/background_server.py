"""A model's service in a thread of this process, for notebooks and tests."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import TYPE_CHECKING, Self

from tfnb.client.model import Model
from tfnb.serving.model_server import LOCAL, ModelServer
from tfnb.serving.served_model import ServedModel

if TYPE_CHECKING:
    from types import TracebackType

    from tfnb.serving.serving_options import ServingOptions


class BackgroundServer:
    """A server in a thread; ``serve`` makes it.

    Attributes:
        server: The server.
    """

    def __init__(self, server: ModelServer) -> None:
        """Start the thread, and return when the server answers.

        Raises:
            OpError: The model cannot be opened, or a package is missing.
            OSError: An address is taken.
        """
        self.server = server
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="tfnb-serving", daemon=True)
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(server.start(), self._loop).result()
        except BaseException:
            self._end()
            raise

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    @property
    def url(self) -> str:
        """The address of the model in the REST interface; ``:predict`` follows."""
        return f"http://{self.server.rest_address}/v1/models/{self.server.served.name}"

    @property
    def grpc_target(self) -> str:
        """The target of a gRPC channel."""
        return self.server.grpc_address

    def stop(self, grace_s: float = 5.0) -> None:
        """Stop the server; a second call does nothing.

        Args:
            grace_s: The time that requests in flight have.
        """
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self.server.stop(grace_s), self._loop).result()
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        if not self._thread.is_alive():
            return "<BackgroundServer, stopped>"
        return f"<BackgroundServer of {self.server.served.name}: {self.url}>"


def serve(
    model: Model | ServedModel | str | os.PathLike[str],
    name: str = "",
    options: ServingOptions | None = None,
    *,
    rest: str | None = f"{LOCAL}:0",
    grpc: str | None = f"{LOCAL}:0",
) -> BackgroundServer:
    """Serve a model in a thread of this process, until it is stopped.

    Args:
        model: The model, or the path of its file.
        name: Its name in requests; by default that of its file.
        options: Limits and settings.
        rest: ``host:port`` or ``unix:PATH`` of the REST interface; port 0 is a free one. None: no
            REST.
        grpc: Likewise, of gRPC.

    Raises:
        OpError: The model cannot be opened, or a package is missing.
        OSError: An address is taken.
    """
    if isinstance(model, ServedModel):
        served = model
    elif isinstance(model, Model):
        served = ServedModel(model, name)
    else:
        served = ServedModel.read(os.fspath(model), name)
    return BackgroundServer(ModelServer(served, options, rest=rest, grpc=grpc))
