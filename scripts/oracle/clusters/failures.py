"""Let tasks fail, and report what clients of tfnb and of TensorFlow get, and after how long.

``python scripts/oracle/clusters/failures.py TENSORFLOW`` names a Python that has TensorFlow. A
cluster of a parameter server and a worker, whose master the client uses, is started of either
library, in processes of their own, and a client of either library goes through the same failures. A
table beside the code tells the class of the error, whether it names the task, and the seconds from
the event to the error.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Any

from two_libraries import ROOT, library, main_of, unused_ports

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"
# The table says that a client waits if it has no answer by then; in seconds.
_PATIENCE_S = 40.0
_IS_WAITING_S = 1.0
PAIRS = [
    (client, servers) for servers in ("tensorflow", "tfnb") for client in ("tensorflow", "tfnb")
]


class Servers:
    """The two servers, and what is done to them."""

    def __init__(self, python: str, kind: str) -> None:
        self._command = [python, __file__, "--serve", kind]
        ps, worker = (f"localhost:{port}" for port in unused_ports(2))
        self.addresses = {"ps": [ps], "worker": [worker]}
        self.target = f"grpc://{worker}"
        self._processes: dict[str, subprocess.Popen[str]] = {}
        for job in ("ps", "worker"):
            self.start(job)

    def start(self, job: str) -> None:
        """Start a task and wait until it is up."""
        process = subprocess.Popen(
            [*self._command, repr(self.addresses), job, "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdout is not None
        process.stdout.readline()
        self._processes[job] = process

    def send(self, job: str, number: signal.Signals) -> None:
        """Send a signal to a task."""
        process = self._processes[job]
        process.send_signal(number)
        if number == signal.SIGKILL:
            process.wait()

    def close(self) -> None:
        """End both."""
        for process in self._processes.values():
            process.kill()
            process.wait()


class Answer:
    """What a call came to, in a thread of its own."""

    def __init__(self, run: Any) -> None:
        self._run = run
        self._text = f"no answer in {_PATIENCE_S:.0f} s"
        self._end = 0.0
        self._thread = threading.Thread(target=self._answer, daemon=True)
        self._thread.start()

    def _answer(self) -> None:
        try:
            self._run()
            text = "works"
        except Exception as error:
            text = type(error).__name__
            if "/job:ps/replica:0/task:0" in str(error):
                text += ", names the task"
        self._end = time.monotonic()
        self._text = text

    def since(self, begin: float) -> str:
        """Wait; return the answer and its time."""
        self._thread.join(_PATIENCE_S)
        if not self._end:
            return self._text
        return f"{self._text}, {max(0.0, self._end - begin):.2f} s"


def _say(case: str, answer: str) -> None:
    print(f"{case}|{answer}", flush=True)


def _now(case: str, run: Any) -> None:
    begin = time.monotonic()
    _say(case, Answer(run).since(begin))


def _in_step(case: str, run: Any, event: Any) -> None:
    """Let something happen while a step waits."""
    answer = Answer(run)
    time.sleep(_IS_WAITING_S)
    event()
    begin = time.monotonic()
    _say(case, answer.since(begin))


def failures(tf: Any, servers: Servers) -> None:
    """Go through the table with a client."""
    with tf.device(PS):
        queue = tf.FIFOQueue(10, tf.float32, shapes=[[]], shared_name="between")
        taken, put, size = queue.dequeue(), queue.enqueue(1.0), queue.size()
        there = tf.constant(1.0) + tf.placeholder_with_default(1.0, [])
    with tf.device(WORKER):
        out = taken + 1.0
        here = tf.constant(2.0) + tf.placeholder_with_default(1.0, [])
    target = servers.target

    def new_session(**options: Any) -> Any:
        # The default graph of TensorFlow is that of a thread.
        return tf.Session(target, here.graph, tf.ConfigProto(**options))

    def opened(fetch: Any, **options: Any) -> None:
        with new_session(**options) as sess:
            sess.run(fetch)

    limit = tf.RunOptions(timeout_in_ms=1000)
    sess = new_session()
    _now("a step over both tasks", lambda: sess.run([there, here]))

    _in_step("worker killed in a step", lambda: sess.run(out), _killer(servers, "ps"))
    _now("next step, worker down", lambda: sess.run(there, options=limit))
    _now("new session, worker down, 1 s", lambda: opened(here, operation_timeout_in_ms=1000))
    _now("the same with device_filters", lambda: _opened_here(tf, target))
    servers.start("ps")
    _now("worker restarted, old session", lambda: _until_connected(tf, sess, there))
    _now("worker restarted, new session", lambda: opened(there))

    sess = new_session()
    sess.run(there)
    servers.send("ps", signal.SIGSTOP)
    _now("worker stopped, limit of 1 s", lambda: sess.run(there, options=limit))
    servers.send("ps", signal.SIGCONT)
    _now("worker goes on", lambda: sess.run(there))

    _say("client killed in a step", _after_killed_client(tf, sess, target, put, taken, size))
    _in_step("session closed in a step", lambda: sess.run(taken), sess.close)

    sess = new_session()
    sess.run(there)
    servers.send("worker", signal.SIGSTOP)
    _now("master stopped, limit of 1 s", lambda: sess.run(here, options=limit))
    servers.send("worker", signal.SIGCONT)
    _in_step("master killed in a step", lambda: sess.run(out), _killer(servers, "worker"))

    _now("no server there, 1 s", lambda: opened(here, operation_timeout_in_ms=1000))
    for name, reply in (("HTTP server", b"HTTP/1.1 400 Bad\r\n\r\n"), ("silent server", b"")):
        with socket.socket() as listener:
            target = f"grpc://localhost:{_listen(listener, reply)}"
            _now(f"{name}, 4 s", lambda: opened(here, operation_timeout_in_ms=4000))
    target = "grpc://localhost"
    _now("target without a port", lambda: opened(here, operation_timeout_in_ms=1000))


def _killer(servers: Servers, job: str) -> Any:
    return lambda: servers.send(job, signal.SIGKILL)


def _opened_here(tf: Any, target: str) -> None:
    with tf.Graph().as_default():
        with tf.device(WORKER):
            one = tf.constant(1.0) + 0.0
        config = tf.ConfigProto(device_filters=[WORKER])
        with tf.Session(target, config=config) as sess:
            sess.run(one)


def _until_connected(tf: Any, sess: Any, fetch: Any) -> None:
    """Run until the connection to the task that was started again is there."""
    while True:
        try:
            sess.run(fetch)
            return
        except tf.errors.UnavailableError:
            time.sleep(0.05)


def _after_killed_client(tf: Any, sess: Any, target: str, put: Any, taken: Any, size: Any) -> str:
    """Kill a client whose step takes from a queue; return whether the step still takes."""
    kind = "tfnb" if tf.__name__ == "tfnb" else "tensorflow"
    client = subprocess.Popen(
        [sys.executable, __file__, "--take", kind, target],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert client.stdout is not None
    client.stdout.readline()
    time.sleep(_IS_WAITING_S)
    client.kill()
    client.wait()
    time.sleep(_IS_WAITING_S)
    sess.run(put)
    time.sleep(0.1)
    is_left = sess.run(size) == 1
    if is_left:
        sess.run(taken)
    return "its step has ended" if is_left else "its step goes on"


def take(tf: Any, target: str) -> None:
    """Wait for an element of the queue."""
    with tf.device(PS):
        queue = tf.FIFOQueue(10, tf.float32, shapes=[[]], shared_name="between")
        taken, size = queue.dequeue(), queue.size()
    with tf.Session(target) as sess:
        sess.run(size)
        print("takes", flush=True)
        sess.run(taken)


def _listen(listener: socket.socket, reply: bytes) -> int:
    """Answer every connection with some bytes; return the port."""
    listener.bind(("localhost", 0))
    listener.listen()
    kept = []

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            kept.append(connection)
            if reply:
                connection.recv(4096)
                connection.sendall(reply)

    threading.Thread(target=accept, daemon=True).start()
    return int(listener.getsockname()[1])


# -- the comparison --------------------------------------------------------------------------------


def compare(tensorflow: str) -> None:
    """Print the table in Markdown."""
    pythons = {"tensorflow": tensorflow, "tfnb": sys.executable}
    runs = {}
    for client, servers in PAIRS:
        command = [pythons[client], __file__, "--client", client, pythons[servers], servers]
        runs[client, servers] = subprocess.run(command, capture_output=True, text=True, check=False)
        if runs[client, servers].returncode:
            print(f"{client} on {servers} failed: {runs[client, servers].stderr[-800:]}")
    answers = {
        pair: dict(line.split("|", 1) for line in run.stdout.splitlines() if "|" in line)
        for pair, run in runs.items()
    }
    heads = [f"client {client}, servers {servers}" for client, servers in PAIRS]
    print(f"| failure | {' | '.join(heads)} |\n|{'---|' * (len(PAIRS) + 1)}")
    for case in answers["tfnb", "tfnb"]:
        print(f"| {case} | {' | '.join(answers[pair].get(case, '') for pair in PAIRS)} |")


def be_client(tf: Any, python: str, of_servers: str) -> None:
    """Start servers with a Python, and go through the table with a client."""
    os.chdir(ROOT)
    servers = Servers(python, of_servers)
    try:
        failures(tf, servers)
    finally:
        servers.close()
    sys.stdout.flush()
    os._exit(0)  # a client that still waits does not keep the process from ending


if __name__ == "__main__":
    if sys.argv[1:2] == ["--take"]:
        take(library(sys.argv[2]), sys.argv[3])
    else:
        sys.exit(main_of(__doc__, compare, be_client, 2))
