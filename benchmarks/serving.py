"""The speed of a model's service, and its memory under load.

    python -m benchmarks.serving                 # small requests, and models of some ms
    python -m benchmarks.serving --minutes 10    # good and bad requests for ten minutes

The server is a process of its own. Small requests are counted per second of its processor time, so
that clients on the same machine do not count. Models of some milliseconds are compared with
``session.run`` in one and in two threads, by the clock and by processor time; each client is a
process. "bare gRPC" is a server of a few lines that takes the same requests, sends as many bytes
and calls the same ``session.run``: what gRPC costs in Python with such messages, beside a model.
``--batch ROWS`` lets the server join requests. ``--apart`` gives it and session.run
one processor, and the clients the others, as clients of other machines do.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

import tfnb as tf
from tfnb.common_runtime.session import process_state
from tfnb.core.process.work_sharder import available_processors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_NUM_SMALL = 20_000
_NUM_LARGE = 40
_NUM_ROUNDS = 9
_SERVICE = "tensorflow.serving.PredictionService"
_BARE = "bare gRPC"
_BARE_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.http2.max_frame_size", 2**24 - 1),
    ("grpc.http2.lookahead_bytes", 2**20),
)
_KINDS = (
    (_BARE, 1),
    (_BARE, 4),
    ("gRPC", 1),
    ("gRPC", 2),
    ("gRPC", 4),
    ("gRPC", 8),
    ("REST", 1),
    ("REST", 4),
)
_CLIENTS = 8
# The processors of clients, if they have their own.
_CLIENTS_CPUS = "TFNB_BENCHMARK_CLIENTS_CPUS"
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Server:
    """``tfnb serve-model`` in a process, or another server that says where it is."""

    def __init__(self, path: str, *options: str, is_bare: bool = False) -> None:
        command = ["-m", "tfnb", "serve-model", path, "--name", "m", "--port", "0"]
        command += ["--rest-port", "0", *options]
        if is_bare:
            command = ["-m", "benchmarks.serving", "--bare", path]
        self._process = subprocess.Popen(
            [sys.executable, *command], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.grpc, self.port = "", 0
        for line in self._process.stdout:
            if line.startswith("REST "):
                self.port = int(line.rsplit(":", 2)[1].partition("/")[0])
            if line.startswith("gRPC "):
                self.grpc = line.split()[1]
            if line == "ready\n":
                break

    def processor_s(self) -> float:
        """Return the processor time that it has used."""
        # The clock of a process in Linux, which counts nanoseconds where /proc counts ticks.
        return time.clock_gettime(~self._process.pid << 3 | 2)

    def state(self) -> str:
        """Return its memory, threads and open files."""
        folder = Path(f"/proc/{self._process.pid}")
        pages = int((folder / "statm").read_text().split()[1])
        threads, files = (len(list((folder / name).iterdir())) for name in ("task", "fd"))
        return f"{pages * _PAGE / 2**20:.1f} MiB, {threads} threads, {files} files"

    def stop(self) -> int:
        """Stop it; return its exit code."""
        self._process.terminate()
        return self._process.wait()


class Client:
    """A connection that stays open."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb")

    def send(self, data: bytes) -> int:
        """Send a request; return the status of the answer."""
        self._socket.sendall(data)
        status = int(self._file.readline().split()[1])
        length = 0
        while (line := self._file.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        self._file.read(length)
        return status

    def close(self) -> None:
        """Close the connection."""
        self._file.close()
        self._socket.close()


def request(body: bytes, verb: str = "predict") -> bytes:
    """Return a request as bytes."""
    head = f"POST /v1/models/m:{verb} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


@contextlib.contextmanager
def written(build: Callable[[], Any]) -> Iterator[str]:
    """Yield the file of a graph."""
    with tempfile.TemporaryDirectory() as folder:
        with tf.Graph().as_default() as graph:
            build()
            yield str(tf.train.write_graph(graph, folder, "m.pb", as_text=False))


def small_model() -> None:
    """Build y = x / 2 + 2."""
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    tf.add(x * 0.5, 2.0, name="y")


def products(number: int) -> np.ndarray[Any, Any]:
    """Build products, each of half a millisecond; return 131 kB, the size of the answer."""
    y = tf.placeholder(tf.float32, [None, 512], name="x")
    for _ in range(number):
        y = tf.nn.relu(tf.matmul(y, tf.constant(np.eye(512, dtype=np.float32))))
    tf.identity(y, name="y")
    return np.ones((64, 512), np.float32)


def image_classifier() -> np.ndarray[Any, Any]:
    """Build some convolutions, which take some milliseconds; return an image of 49 kB."""
    random = np.random.default_rng(1)

    def weights(*shape: int) -> tf.Tensor:
        return tf.constant(random.normal(0.0, 0.05, shape).astype(np.float32))

    y = tf.placeholder(tf.float32, [None, 64, 64, 3], name="x")
    for inputs, outputs in ((3, 32), (32, 64), (64, 64), (64, 64)):
        y = tf.nn.relu(tf.nn.conv2d(y, weights(3, 3, inputs, outputs), 1, "SAME"))
    pooled = tf.reduce_mean(y, [1, 2])
    tf.nn.softmax(tf.matmul(pooled, weights(64, 10)), name="y")
    return random.normal(size=(1, 64, 64, 3)).astype(np.float32)


def text_classifier() -> np.ndarray[Any, Any]:
    """Build layers on the vectors of 256 words, which take some milliseconds; return 1 kB of words.

    The answer has two numbers: most of what a request costs does not depend on its size.
    """
    random = np.random.default_rng(2)

    def weights(*shape: int) -> tf.Tensor:
        return tf.constant(random.normal(0.0, 0.05, shape).astype(np.float32))

    words = tf.placeholder(tf.int32, [None, 256], name="x")
    y = tf.reshape(tf.nn.embedding_lookup(weights(1000, 256), words), [-1, 256])
    for _ in range(2):
        y += tf.matmul(tf.nn.relu(tf.matmul(y, weights(256, 768))), weights(768, 256))
    pooled = tf.reduce_mean(tf.reshape(y, [-1, 256, 256]), 1)
    tf.nn.softmax(tf.matmul(pooled, weights(256, 2)), name="y")
    return random.integers(0, 1000, (1, 256)).astype(np.int32)


def in_clients(number: int, work: Callable[[int], Any]) -> float:
    """Run work in threads; return the seconds that it took."""
    began = time.perf_counter()
    with ThreadPoolExecutor(number) as threads:
        list(threads.map(work, range(number)))
    return time.perf_counter() - began


def measure_small() -> None:
    """Print how many small requests a second of the server's processor answers."""
    body = request(json.dumps({"instances": [[1.0, 2.0, 3.0, 4.0]]}).encode())
    for options in ((), ("--batch", "32")):
        with written(small_model) as path:
            server = Server(path, *options)
            client = Client(server.port)
            for _ in range(500):
                assert client.send(body) == 200
            before = server.processor_s()

            def ask(_: int, server: Server = server) -> None:
                own = Client(server.port)
                for _ in range(_NUM_SMALL // _CLIENTS):
                    own.send(body)
                own.close()

            seconds = in_clients(_CLIENTS, ask)
            used = server.processor_s() - before
            rate_by_clock = _NUM_SMALL / seconds
            print(
                f"REST {' '.join(options) or 'alone':<12} {_NUM_SMALL / used:8,.0f} requests per "
                f"processor second, {rate_by_clock:8,.0f} by the clock",
                flush=True,
            )
            measure_small_grpc(server, " ".join(options) or "alone")
            client.close()
            server.stop()


def measure_small_grpc(server: Server, title: str) -> None:
    """Print the same for gRPC."""
    import grpc

    from tfnb.proto.predict_pb2 import PredictRequest

    message = PredictRequest()
    message.model_spec.name = "m"
    message.inputs["x"].CopyFrom(tf.make_tensor_proto([[1.0, 2.0, 3.0, 4.0]], tf.float32))
    data = message.SerializeToString()

    def ask(_: int) -> None:
        with grpc.insecure_channel(server.grpc) as channel:
            call = channel.unary_unary(f"/{_SERVICE}/Predict")
            for _ in range(_NUM_SMALL // 4 // _CLIENTS):
                call(data)

    before = server.processor_s()
    in_clients(_CLIENTS, ask)
    used = server.processor_s() - before
    rate = _NUM_SMALL // 4 / used
    print(f"gRPC {title:<12} {rate:8,.0f} requests per processor second", flush=True)


def measure_large(
    title: str, build: Callable[[], np.ndarray[Any, Any]], options: Iterable[str]
) -> None:
    """Print the throughput of a model of some milliseconds, by the service and by session.run.

    Args:
      title: what is printed first.
      build: builds the model, and returns the values of a request.
      options: options of the server.
    """
    with tf.Graph().as_default():
        rows = build()
    with written(build) as path, contextlib.ExitStack() as stack:
        server, bare = Server(path, *options), Server(path, is_bare=True)
        stack.callback(server.stop)
        stack.callback(bare.stop)
        model = stack.enter_context(tf.load(path))
        bodies = {"gRPC": _grpc_body(rows), "REST": _rest_body(rows)}
        bodies[_BARE] = bodies["gRPC"]
        addresses = {"gRPC": server.grpc, "REST": str(server.port), _BARE: bare.grpc}
        clients = {
            (kind, number): [
                stack.enter_context(ClientProcess(kind, addresses[kind], bodies[kind]))
                for _ in range(number)
            ]
            for kind, number in _KINDS
        }

        def direct(number: int) -> None:
            for _ in range(number):
                model.session.run("y:0", {"x:0": rows})

        direct(20)
        found: dict[tuple[str, int], list[tuple[float, float, float]]] = {}
        for _ in range(_NUM_ROUNDS):  # one after the other, so that all meet the same machine
            for threads in (1, 2):
                before = time.process_time()
                seconds = in_clients(threads, lambda _, n=threads: direct(_NUM_LARGE // n))
                used = time.process_time() - before
                found.setdefault(("session.run", threads), []).append((seconds, used, 0.0))
            for key, processes in clients.items():
                asked = bare if key[0] == _BARE else server
                used_before = asked.processor_s()
                began = time.perf_counter()
                for one in processes:
                    one.begin(_NUM_LARGE // len(processes))
                of_clients = sum(one.end() for one in processes)
                seconds = time.perf_counter() - began
                used = asked.processor_s() - used_before
                found.setdefault(key, []).append((seconds, used, of_clients))
        _print_large(title, found)


def _print_large(
    title: str, found: dict[tuple[str, int], list[tuple[float, float, float]]]
) -> None:
    """Print the lower quartiles of the times of a request, and their ratios to session.run's."""
    quartiles = {
        key: [sorted(times)[len(times) // 4] / _NUM_LARGE * 1e3 for times in zip(*rounds)]
        for key, rounds in found.items()
    }
    alone = quartiles["session.run", 1]
    both = quartiles["session.run", 2]
    for (kind, number), (clock, used, of_clients) in quartiles.items():
        unit = "thread" if kind == "session.run" else "client"
        print(
            f"{title}: {kind} {number} {unit}{'s' if number > 1 else ''}: {1e3 / clock:5.0f}/s, "
            f"{alone[0] / clock:.2f} of one thread's session.run, {both[0] / clock:.2f} of two; "
            f"{used:.2f} ms of processor ({alone[1] / used:.2f}), {of_clients:.2f} of the client",
            flush=True,
        )


class ClientProcess:
    """A client in a process of its own, so that it shares no lock with others."""

    def __init__(self, kind: str, address: str, body: bytes) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.serving", "--client", kind, address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self._stdin.write(f"{len(body)}\n".encode() + body)
        self.begin(10)
        self.end()

    def begin(self, number: int) -> None:
        """Let it send requests, one after the other."""
        self._stdin.write(f"{number}\n".encode())
        self._stdin.flush()

    def end(self) -> float:
        """Wait for the last answer; return the processor time of the client."""
        return float(self._stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stdin.close()
        self._process.wait()


def be_client(kind: str, address: str) -> None:
    """Send the body that comes first, as often as each further line says."""
    if cpus := os.environ.get(_CLIENTS_CPUS):
        os.sched_setaffinity(0, map(int, cpus.split(",")))
    body = sys.stdin.buffer.read(int(sys.stdin.buffer.readline()))
    if kind == "REST":
        client = Client(int(address))

        def ask() -> None:
            assert client.send(body) == 200

    else:
        import grpc

        options = [("grpc.max_receive_message_length", -1)]
        channel = grpc.insecure_channel(address, options=options)
        call = channel.unary_unary(f"/{_SERVICE}/Predict")

        def ask() -> None:
            call(body)

    for line in sys.stdin.buffer:
        before = time.process_time()
        for _ in range(int(line)):
            ask()
        print(time.process_time() - before, flush=True)


def serve_bare(path: str) -> None:
    """Serve a model with no more than gRPC, until the process is ended.

    The values of a request are its last bytes; the answer is the bytes of the output.
    """
    from tfnb.distributed_runtime.grpc_channel import import_grpc

    process_state.prepare_for_messages()
    grpc = import_grpc()
    with tf.load(path) as model:
        (x,) = model.inputs.values()
        of_row = [size or 1 for size in x.shape.as_list()[1:]]
        dtype = x.dtype.as_numpy_dtype
        num_bytes = np.dtype(dtype).itemsize * math.prod(of_row)

        def answer(request: bytes, context: Any) -> bytes:
            rows = np.frombuffer(request[len(request) % num_bytes :], dtype)
            found = model.session.run("y:0", {"x:0": rows.reshape([-1, *of_row])})
            return bytes(found.tobytes())

        threads = ThreadPoolExecutor(available_processors())
        handler = grpc.unary_unary_rpc_method_handler(answer)
        service = grpc.method_handlers_generic_handler(_SERVICE, {"Predict": handler})
        server = grpc.server(threads, options=_BARE_OPTIONS)
        server.add_generic_rpc_handlers([service])
        print(f"gRPC 127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}", flush=True)
        server.start()
        print("ready", flush=True)
        server.wait_for_termination()


def _grpc_body(rows: np.ndarray[Any, Any]) -> bytes:
    from tfnb.proto.predict_pb2 import PredictRequest

    message = PredictRequest()
    message.model_spec.name = "m"
    message.inputs["x"].CopyFrom(tf.make_tensor_proto(rows))
    return message.SerializeToString()


def _rest_body(rows: np.ndarray[Any, Any]) -> bytes:
    return request(json.dumps({"instances": rows.tolist()}).encode())


def load(minutes: float) -> None:
    """Send good and bad requests, and print the state of the server each minute."""
    good = request(json.dumps({"instances": [[1.0, 2.0, 3.0, 4.0]]}).encode())
    large = request(json.dumps({"instances": [[1.0, 2.0, 3.0, 4.0]] * 2000}).encode())
    bad = [
        request(b"{"),
        request(b'{"instances": [[1]]}'),
        request(b'{"instances": [["a"]]}'),
        request(b"\xff\xfe"),
        request(b"[" * 5000),
        request(b"{}", "classify"),
        b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ]
    with written(small_model) as path:
        server = Server(path, "--batch", "16", "--max-request-mb", "1")
        stop = threading.Event()
        counts = dict.fromkeys(("good", "bad", "broken"), 0)

        def send_good() -> None:
            client = Client(server.port)
            while not stop.is_set():
                assert client.send(good) == 200
                counts["good"] += 1
                if counts["good"] % 50 == 0:
                    assert client.send(large) == 200
            client.close()

        def send_bad() -> None:
            client = Client(server.port)
            while not stop.is_set():
                for data in bad:
                    assert 400 <= client.send(data) < 500
                    counts["bad"] += 1
            client.close()

        def send_broken() -> None:
            while not stop.is_set():
                for data in (b"\0\1\2\r\n\r\n", good[:-9], request(b"x" * 2**21), b"GET / HT"):
                    with (
                        contextlib.suppress(OSError),
                        socket.create_connection(("127.0.0.1", server.port)) as one,
                    ):
                        one.sendall(data)
                        one.settimeout(0.05)
                        one.recv(100)
                    counts["broken"] += 1

        workers = [threading.Thread(target=one) for one in (send_good, send_bad, send_broken)]
        for one in workers:
            one.start()
        print(f"begin: {server.state()}", flush=True)
        for minute in range(round(minutes)):
            time.sleep(60)
            print(f"minute {minute + 1}: {server.state()}; {counts}", flush=True)
        stop.set()
        for one in workers:
            one.join()
        time.sleep(1)
        print(f"end: {server.state()}; exit code {server.stop()}", flush=True)


def main() -> None:
    """Run the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=0.0, help="load for that long instead")
    parser.add_argument("--large", action="store_true", help="only the larger models")
    parser.add_argument("--batch", metavar="ROWS", help="the server joins requests")
    parser.add_argument("--apart", action="store_true", help="clients have their own processors")
    parser.add_argument("--client", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--bare", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bare:
        serve_bare(options.bare)
        return
    if options.client:
        be_client(*options.client)
        return
    if options.apart:
        first, *others = sorted(os.sched_getaffinity(0))
        if not others:
            parser.error("--apart needs two processors")
        os.environ[_CLIENTS_CPUS] = ",".join(map(str, others))
        os.sched_setaffinity(0, [first])
    if options.minutes:
        load(options.minutes)
        return
    if not options.large:
        measure_small()
    batch = () if options.batch is None else ("--batch", options.batch)
    measure_large("text classifier", text_classifier, batch)
    measure_large("image classifier", image_classifier, batch)
    for number in (10, 16, 32, 64):
        measure_large(f"{number} products", lambda number=number: products(number), batch)


if __name__ == "__main__":
    main()
