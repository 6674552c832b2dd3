"""``tfnb serve-model FILE``: a model over TensorFlow Serving's REST and gRPC."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from tfnb.client import safety
from tfnb.client.command_line.main import Command
from tfnb.client.command_line.run import UsageError
from tfnb.core.process.collector_pause import keep_existing_objects
from tfnb.core.process.work_sharder import available_processors
from tfnb.distributed_runtime.grpc_channel import is_of_this_machine

if TYPE_CHECKING:
    import argparse

    from tfnb.client.command_line.progress import Progress
    from tfnb.serving.model_server import ModelServer

_EFFECTS = ("read", "write", "file", "python", "network")
_OFF = "off"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", help="GraphDef, MetaGraphDef, SavedModel, checkpoint, or a folder of versions"
    )
    parser.add_argument("--name", default="", help="name in requests (default: that of the file)")
    parser.add_argument(
        "--port", default="8500", help="port of gRPC; 0: a free one, off: none (default 8500)"
    )
    parser.add_argument(
        "--rest-port", default="8501", help="port of REST; 0: a free one, off: none (default 8501)"
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen at (default: this machine only)"
    )
    parser.add_argument("--tls-cert", metavar="FILE", help="certificate chain of this server, PEM")
    parser.add_argument("--tls-key", metavar="FILE", help="private key of this server, PEM")
    parser.add_argument(
        "--insecure", action="store_true", help="serve other machines without encryption"
    )
    parser.add_argument("--signature", help="the default signature")
    parser.add_argument("--checkpoint", help="checkpoint with the values of variables")
    parser.add_argument(
        "--output", action="append", default=[], metavar="NODE", help="an output, for a graph alone"
    )
    parser.add_argument(
        "--batch", type=int, default=1, metavar="ROWS", help="join requests up to that many rows"
    )
    parser.add_argument(
        "--batch-wait-ms",
        type=float,
        default=0.0,
        metavar="MS",
        help="how long a request waits for others to join (default 0)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=available_processors(),
        metavar="N",
        help="threads that run the model (default: the number of processors that it may use)",
    )
    parser.add_argument(
        "--max-request-mb", type=int, default=64, metavar="MB", help="largest request (default 64)"
    )
    parser.add_argument(
        "--max-waiting",
        type=int,
        default=1024,
        metavar="N",
        help="requests that run or wait; further ones are refused (default 1024)",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="longest time of a request (default 60)",
    )
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        choices=_EFFECTS,
        help="effect that the graph may have",
    )


def _serve_model(options: argparse.Namespace, progress: Progress) -> None:
    from tfnb.serving.model_server import ModelServer, TlsFiles, import_web
    from tfnb.serving.served_model import ServedModel
    from tfnb.serving.serving_options import ServingOptions

    if (options.tls_cert is None) != (options.tls_key is None):
        raise UsageError("--tls-cert and --tls-key belong together")
    grpc = _address(options.host, options.port, "--port")
    rest = _address(options.host, options.rest_port, "--rest-port")
    if grpc is None and rest is None:
        raise UsageError("--port and --rest-port are both off: nothing would be served")
    if not (options.tls_cert or options.insecure or is_of_this_machine(options.host)):
        raise UsageError(
            f"{options.host} can be reached from other machines: give --tls-cert and --tls-key, "
            "serve the loopback address, or say --insecure where a proxy encrypts"
        )
    try:
        settings = ServingOptions(
            num_workers=options.workers,
            batch_size=options.batch,
            batch_wait_s=options.batch_wait_ms / 1e3,
            max_waiting=options.max_waiting,
            max_request_bytes=options.max_request_mb * 2**20,
            timeout_s=options.timeout,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    if rest is not None:
        import_web()
    with progress.phase(f"reading {options.file}"):
        served = ServedModel.read(
            options.file,
            options.name,
            checkpoint=options.checkpoint,
            signature=options.signature,
            tags=None if options.tags is None else options.tags.split(","),
            outputs=options.output or None,
        )
    for effect in options.allow:
        safety.allow(effect, graph=served.model.graph)
    tls = None
    if options.tls_cert is not None:
        tls = TlsFiles(Path(options.tls_cert), Path(options.tls_key))
    server = ModelServer(served, settings, rest=rest, grpc=grpc, tls=tls, is_open=options.insecure)
    asyncio.run(_serve(server, "https" if tls else "http"))


def _address(host: str, port: str, option: str) -> str | None:
    if port == _OFF:
        return None
    if not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"{option} {port}: a port is a number from 0 to 65535, or off")
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"


async def _serve(server: ModelServer, scheme: str) -> None:
    """Serve until a signal asks to stop."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await server.start()
    served = server.served
    print(f"{served.name}, version {served.version}: {served.function('').described()}")
    if server.rest_address:
        print(f"REST {scheme}://{server.rest_address}/v1/models/{served.name}:predict")
        print(f"state {scheme}://{server.rest_address}/")
    if server.grpc_address:
        print(f"gRPC {server.grpc_address}")
    keep_existing_objects()
    print("ready", flush=True)
    await stop.wait()
    print("stopping", flush=True)
    await server.stop()


SERVE_MODEL = Command(
    "serve-model",
    "serve a model over TensorFlow Serving's REST and gRPC",
    _add_arguments,
    _serve_model,
)
