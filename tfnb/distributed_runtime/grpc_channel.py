"""Connections to servers.

gRPC is imported on first use: ``import tfnb`` neither needs it nor pays for it.  Corresponds to
TensorFlow's ``rpc/grpc_channel.cc``.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tfnb.core import errors

if TYPE_CHECKING:
    from tfnb.proto import config_pb2

SCHEME = "grpc://"
TLS_SCHEME = "grpcs://"
# Files of a session with TLS; see docs/distributed.md.
_CA, _CERTIFICATE, _KEY = "TFNB_TLS_CA", "TFNB_TLS_CERT", "TFNB_TLS_KEY"

# A socket of this machine: no other machine can reach it, and it takes no port.
UNIX: Final = "unix:"

_LOOPBACK = frozenset(["localhost", "127.0.0.1", "[::1]", "::1"])
_HOST_PORT = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\[\]:/\s]+):(?P<port>\d{1,5})")
_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # A step runs at most once: gRPC must not send a request again.
    ("grpc.enable_retries", 0),
    # A server that is started again is found soon, by a client or master that waits for it.
    ("grpc.max_reconnect_backoff_ms", 2000),
)
# The event engine hands what arrives to further threads: a small request takes a quarter less time
# without it.  A version of gRPC that has no such choice ignores the names.
_EXPERIMENTS = "-event_engine_client,-event_engine_listener"
# A socket has no host: the server's certificate is for this one.
_LOCAL_NAME = (("grpc.ssl_target_name_override", "localhost"),)


class TlsFiles(NamedTuple):
    """The contents of a task's PEM files.

    A task shows its certificate to other tasks, too, and expects theirs to be signed by the
    authority of its clients, unless variables of the environment name other files.

    Attributes:
      certificate: the server's certificate chain.
      key: its private key.
      client_ca: what signs the certificates of clients, which are then required; None: all clients.
    """

    certificate: bytes
    key: bytes
    client_ca: bytes | None = None


@cache
def import_grpc() -> Any:
    """Return the module ``grpc``.

    Raises:
      UnimplementedError: it is not installed.
    """
    # What gRPC says of connections that end belongs into errors, not onto the screen.
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    os.environ.setdefault("GRPC_EXPERIMENTS", _EXPERIMENTS)
    try:
        import grpc
        import grpc.experimental
    except ImportError as error:
        raise errors.unimplemented(
            "Sessions on servers need gRPC, which is not installed: pip install 'tfnb[distributed]'"
        ) from error
    return grpc


def is_of_this_machine(host: str) -> bool:
    """Return whether only this machine can reach a host, or the path of a socket.

    >>> is_of_this_machine("localhost"), is_of_this_machine("0.0.0.0")
    (True, False)
    """
    return host.startswith(UNIX) or host in _LOOPBACK


def host_port_of(target: str) -> str:
    """Return ``host:port``, or ``unix:path``, of a target.

    >>> host_port_of("grpc://localhost:2222")
    'localhost:2222'

    Raises:
      InvalidArgumentError: the target names no host and port.
    """
    address = target.removeprefix(SCHEME).removeprefix(TLS_SCHEME)
    if address.startswith(UNIX) and len(address) > len(UNIX):
        return address
    found = _HOST_PORT.fullmatch(address)
    # Nothing listens at port 0: requests wait there until their deadline, as in TensorFlow.
    if found is None or int(found["port"]) > 65535:
        raise errors.invalid_argument(
            f'Could not interpret "{address}" as a host-port pair. A target is written '
            "grpc://host:port, as in grpc://localhost:2222."
        )
    return address


def new_channel(
    target: str,
    options: config_pb2.RPCOptions,
    tls: TlsFiles | None = None,
    *,
    shares_connection: bool = True,
) -> Any:
    """Return a channel to a target, which connects when the first request is sent.

    Args:
      target: ``grpc://host:port``.
      options: the session's ``rpc_options``.
      tls: the files of the task that connects to another one; None: it is a client.
      shares_connection: whether channels of the process to one target have one connection, and wait
        together after it failed.

    Raises:
      InvalidArgumentError: the target names no host and port, or the compression is unknown.
      UnimplementedError: gRPC is not installed.
    """
    address = host_port_of(target)
    grpc = import_grpc()
    algorithm = options.compression_algorithm.lower()
    known = {
        "": None,
        "deflate": grpc.Compression.Deflate,
        "gzip": grpc.Compression.Gzip,
    }
    if algorithm not in known:
        raise errors.invalid_argument(
            f"Invalid compression algorithm: {options.compression_algorithm}. There are deflate "
            "and gzip."
        )
    compression = known[algorithm]
    # The thread that waits for the answers of a stream reads them itself; see grpc_remote_worker.
    channel_options: tuple[tuple[str, Any], ...] = (
        *_OPTIONS,
        (grpc.experimental.ChannelOptions.SingleThreadedUnaryStream, 1),
    )
    if not shares_connection:
        channel_options += (("grpc.use_local_subchannel_pool", 1),)
    if target.startswith(TLS_SCHEME):
        authority, key, certificate = map(_content_of, (_CA, _KEY, _CERTIFICATE))
        if tls is not None:
            authority = authority or tls.client_ca
            if certificate is None and key is None:
                certificate, key = tls.certificate, tls.key
        credentials = grpc.ssl_channel_credentials(authority, key, certificate)
        named = _LOCAL_NAME if address.startswith(UNIX) else ()
        return grpc.secure_channel(address, credentials, (*channel_options, *named), compression)
    return grpc.insecure_channel(address, channel_options, compression)


def _content_of(variable: str) -> bytes | None:
    """Return the content of the file that a variable of the environment names; None if it is unset.

    Raises:
      NotFoundError: the file cannot be read.
    """
    path = os.environ.get(variable)
    if not path:
        return None
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise errors.not_found(f"{variable} names a file that cannot be read: {error}") from error


_GET_STATUS = "/tensorflow.WorkerService/GetStatus"
# The error of a connection that cannot be made is there at once.
_ERROR_S = 0.5


def handshake_failure(channel: Any, target: str) -> str:
    """Return why a channel's connection with TLS cannot be made; "" if it can, or is without TLS.

    Args:
      channel: which has tried to connect.
      target: its target.
    """
    if not target.startswith(TLS_SCHEME):
        return ""
    try:
        channel.unary_unary(_GET_STATUS)(b"", timeout=_ERROR_S)
    except import_grpc().RpcError as error:
        return tls_failure(error.details() or "", may_be_refused=True)
    return ""


_TLS_FAILURES = {
    "CERTIFICATE_VERIFY_FAILED": (
        f"its certificate is signed by no authority that is trusted here. {_CA} names a file with "
        "the certificate of the authority."
    ),
    "Hostname Verification Check failed": (
        "its certificate is for another host. The target, or the cluster, must name the host as "
        "the certificate does."
    ),
    "security handshaker": (
        f"the files of {_CA}, {_CERTIFICATE} and {_KEY}, or those of this server, are no PEM "
        "files, or certificate and key do not belong together."
    ),
    "WRONG_VERSION_NUMBER": f"it speaks no TLS: its target begins with {SCHEME}.",
}


def tls_failure(details: str, *, may_be_refused: bool = False) -> str:
    """Return what gRPC's account of a connection without success means for TLS; "": nothing.

    Args:
      details: gRPC's text.
      may_be_refused: whether the connection is one with TLS, which a server closes without a reason
        if it trusts no certificate of the client.
    """
    for words, meaning in _TLS_FAILURES.items():
        if words in details:
            return f"TLS: {meaning}"
    if may_be_refused and details.startswith("failed to connect") and "closed" in details:
        return (
            "TLS: it has closed the connection: it requires a certificate of an authority that it "
            f"trusts. {_CERTIFICATE} and {_KEY} name the files of one."
        )
    return ""
