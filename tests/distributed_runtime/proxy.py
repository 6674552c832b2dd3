"""A proxy between a client and a server at sockets in a folder: it cuts, holds and counts."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE = 1 << 16


class Proxy:
    """Forwards connections from one socket to another.

    Attributes:
      path: where it listens.
      sent: the bytes from clients, of all connections.
    """

    def __init__(self, path: str, server: str) -> None:
        self.path, self._server = path, server
        self.sent = bytearray()  # guarded by self._lock
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._goes_on = threading.Event()
        self._goes_on.set()
        self._sockets: list[socket.socket] = []  # guarded by self._lock
        self._threads: list[threading.Thread] = []  # guarded by self._lock
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        self._acceptor = threading.Thread(target=self._accept)
        self._acceptor.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self._server)
            except OSError:
                client.close()
                server.close()
                continue
            threads = [
                threading.Thread(target=self._forward, args=(source, sink, source is client))
                for source, sink in ((client, server), (server, client))
            ]
            with self._lock:
                self._sockets += client, server
                self._threads += threads
            for thread in threads:
                thread.start()

    def _forward(self, source: socket.socket, sink: socket.socket, from_client: bool) -> None:
        with suppress(OSError):
            while data := source.recv(_PIECE):
                if from_client:
                    with self._changed:
                        self.sent += data
                        self._changed.notify_all()
                self._goes_on.wait()
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def wait_for(self, data: bytes) -> None:
        """Wait until clients have sent some bytes."""
        with self._changed:
            self._changed.wait_for(lambda: data in self.sent)

    def hold(self) -> None:
        """Forward nothing from now on, and keep the connections: a partition of the network."""
        self._goes_on.clear()

    def cut(self) -> None:
        """Close all connections, as when a process is killed; new ones are made."""
        with self._lock:
            sockets = list(self._sockets)
        for one in sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End it."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._acceptor.join()
        self._listener.close()
        self.cut()
        self._goes_on.set()
        for thread in self._threads:
            thread.join()
        for one in self._sockets:
            one.close()


@contextmanager
def proxy_before(path: str) -> Iterator[Proxy]:
    """Yield a proxy that takes the place of a server's socket, which moves beside it."""
    moved = f"{path}.s"
    os.rename(path, moved)
    proxy = Proxy(path, moved)
    try:
        yield proxy
    finally:
        proxy.close()
        os.unlink(path)
        os.rename(moved, path)
