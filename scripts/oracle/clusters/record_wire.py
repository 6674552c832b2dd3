"""Record what TensorFlow's client, master and worker send each other, for tests without TensorFlow.

``python scripts/oracle/clusters/record_wire.py TENSORFLOW`` names a Python that has TensorFlow. A
proxy of gRPC stands between TensorFlow's client and its master, and between its master and its
worker; it writes the bytes of requests and answers to ``tests/distributed_runtime/recordings``.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from two_libraries import ROOT, main_of, unused_ports

FOLDER = ROOT / "tests" / "distributed_runtime" / "recordings"
WORKER = "/job:worker/task:0"


class Recorder:
    """A gRPC server that forwards requests and notes them with their answers."""

    def __init__(self, port: int, server: str) -> None:
        import grpc

        self._grpc = grpc
        self._channel = grpc.insecure_channel(server)
        self.calls: list[dict[str, Any]] = []
        self._server = grpc.server(ThreadPoolExecutor(20))
        self._server.add_generic_rpc_handlers((self,))
        self._server.add_insecure_port(f"localhost:{port}")
        self._server.start()

    def service(self, details: Any) -> Any:
        """Return the handler of a method."""
        method = details.method

        def forward(request: bytes, context: Any) -> bytes:
            noted: dict[str, Any] = {"method": method, "request": _text(request)}
            self.calls.append(noted)
            try:
                answer: bytes = self._channel.unary_unary(method)(request)
            except self._grpc.RpcError as error:
                noted |= {"code": error.code().value[0], "details": error.details()}
                context.abort(error.code(), error.details())
            noted["answer"] = _text(answer)
            return answer

        return self._grpc.unary_unary_rpc_method_handler(forward)

    def write(self, name: str) -> None:
        """End, and write what was noted."""
        self._server.stop(0).wait()
        FOLDER.mkdir(exist_ok=True)
        text = json.dumps([one for one in self.calls if "answer" in one or "code" in one], indent=1)
        (FOLDER / f"{name}.json").write_text(text + "\n")
        print(f"{name}: {len(self.calls)} calls")


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def run_client(tf: Any, target: str, device: str) -> None:
    """Run the recorded program; ``device`` has its variable and most of its ops."""
    sys.path.insert(0, str(ROOT))
    from tests.distributed_runtime.recorded_program import run

    run(tf, target, device)


def record(python: str) -> None:
    """Record both."""
    addresses = [f"localhost:{port}" for port in unused_ports(4)]
    worker, before_worker, ps, before_ps = addresses
    # The worker's cluster has the recorder in the place of the parameter server.
    specs = {
        "worker": {"ps": [before_ps], "worker": [worker]},
        "ps": {"ps": [ps], "worker": [worker]},
    }
    processes = []
    try:
        for job, spec in specs.items():
            command = [python, __file__, "--serve", "tensorflow", repr(spec), job, "0"]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            assert process.stdout is not None
            process.stdout.readline()
            processes.append(process)
        to_master = Recorder(int(before_worker.partition(":")[2]), worker)
        to_worker = Recorder(int(before_ps.partition(":")[2]), ps)
        for device in (WORKER, "/job:ps/task:0"):
            if device == WORKER:
                to_worker.calls.clear()
            target = f"grpc://{before_worker}"
            command = [python, __file__, "--client", "tensorflow", target, device]
            subprocess.run(command, check=True)
            if device == WORKER:
                to_master.write("client_to_master")
                to_worker.calls.clear()
                to_master = Recorder(int(before_worker.partition(":")[2]), worker)
        to_worker.write("master_to_worker")
    finally:
        for process in processes:
            process.kill()
            process.wait()


if __name__ == "__main__":
    sys.exit(main_of(__doc__, record, run_client, 2))
