"""Servers on sockets of a folder, which take no port."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import socket
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tests.serving.half_plus_two import write_half_plus_two
from tfnb.serving import serve
from tfnb.serving.serving_options import ServingOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tfnb.serving.background_server import BackgroundServer


class _Connection(http.client.HTTPConnection):
    """A connection to a socket in a folder."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        """Connect."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self._path)


@dataclass
class Service:
    """A running server, and requests to it."""

    server: BackgroundServer
    path: str

    @property
    def name(self) -> str:
        """The name of its model."""
        return self.server.server.served.name

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        """Return the status and the content of an answer; content that is no JSON as text."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        with contextlib.closing(_Connection(self.path)) as connection:
            connection.request(method, path, data, headers or {})
            response = connection.getresponse()
            content = response.read()
        is_json = response.headers.get("Content-Type", "").startswith("application/json")
        return response.status, json.loads(content) if is_json else content.decode()

    def post(self, verb: str, body: Any) -> tuple[int, Any]:
        """Return the status and the content of the answer of a model."""
        return self.ask("POST", f"/v1/models/{self.name}:{verb}", body)

    def raw(self, data: bytes, *, is_all: bool = True) -> bytes:
        """Send bytes, and return what comes until the server closes the connection.

        Args:
            data: The bytes.
            is_all: Whether the client says that it sends no more.
        """
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(self.path)
            one.sendall(data)
            if is_all:
                one.shutdown(socket.SHUT_WR)
            parts = []
            with contextlib.suppress(ConnectionError):
                while part := one.recv(4096):
                    parts.append(part)
            return b"".join(parts)


@contextlib.contextmanager
def serving(model: Any, name: str = "", **options: Any) -> Iterator[Service]:
    """Serve a model on sockets."""
    folder = tempfile.mkdtemp(prefix="tfnb")  # paths of sockets are short
    try:
        path = f"{folder}/rest"
        with serve(
            *(model, name, ServingOptions(**options)),
            rest=f"unix:{path}",
            grpc=f"unix:{folder}/grpc",
        ) as server:
            yield Service(server, path)
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def half_plus_two_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a SavedModel."""
    return write_half_plus_two(tmp_path_factory.mktemp("models") / "half_plus_two")


@pytest.fixture(scope="module")
def half_plus_two(half_plus_two_path: str) -> Iterator[Service]:
    """A server of y = x / 2 + 2."""
    with serving(half_plus_two_path, max_request_bytes=100_000) as service:
        yield service


@pytest.fixture
def graph_file(tmp_path: Path) -> Callable[[Callable[[], Any]], str]:
    """Return a function that writes what another one builds, and returns the path."""

    def write(build: Callable[[], Any]) -> str:
        with tf.Graph().as_default() as graph:
            build()
            return str(tf.train.write_graph(graph, str(tmp_path), "m.pb", as_text=False))

    return write
