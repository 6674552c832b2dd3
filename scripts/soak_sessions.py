"""Open and close many sessions on a server, then let clients run for long; report what is left.

``python scripts/soak_sessions.py --sessions 1000 --clients 8 --seconds 600`` prints a line for the
server and for the clients before, between and after: memory, threads, file descriptors, sessions,
graphs and steps. After both parts, they must be as after the first sessions. The exit status is 1
if something is left, or a client did not end.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# The first sessions fill caches and start threads, which later sessions use: they are not counted.
_WARM_UP = 30
# Growth that is no leak: allocators keep pages, pools keep a few threads for the next requests.
_MORE_MIB, _MORE_THREADS, _MORE_FILES = 25.0, 24, 12


def _resident_mib() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


def _state(server: Any = None) -> dict[str, float]:
    gc.collect()
    found: dict[str, float] = {
        "MiB": round(_resident_mib(), 1),
        "threads": threading.active_count(),
        "files": len(os.listdir("/proc/self/fd")),
    }
    if server is not None:
        from tfnb.distributed_runtime.graph_mgr import RegisteredGraph

        worker = server.worker
        found |= {
            "sessions": server.num_sessions,
            "worker sessions": len([one for one in worker._sessions if one]),
            "graphs": sum(isinstance(one, RegisteredGraph) for one in gc.get_objects()),
            "steps": len(worker.rendezvous_mgr._steps) + server.num_steps,
        }
    return found


def _load_compiler() -> None:
    """Load the compiler of kernels where it is installed: some session would, and it stays."""
    with contextlib.suppress(ImportError):
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()


def serve() -> None:
    """Be the server: answer each line of the input with the state."""
    import tfnb as tf

    _load_compiler()
    server = tf.train.Server.create_local_server()
    print(server.target, flush=True)
    for _ in sys.stdin:
        print(json.dumps(_state(server._server)), flush=True)


def _graph(tf: Any, number: int) -> tuple[Any, Any, Any]:
    x = tf.placeholder(tf.float32, [None], name="x")
    v = tf.get_variable(f"v{number % 8}", initializer=1.0)
    loop = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a * 2.0), [0, x])[1]
    return x, v.initializer, tf.reduce_sum(loop) * v


def open_and_close(target: str, count: int) -> None:
    """Open sessions one after another: some run, some fail, one in ten is never closed."""
    import tfnb as tf

    for number in range(count):
        with tf.Graph().as_default():
            x, init, out = _graph(tf, number)
            sess = tf.Session(target)
            sess.run(init)
            sess.run(out, {x: [1.0, 2.0]})
            with contextlib.suppress(tf.errors.InvalidArgumentError):
                sess.run(out)
            if number % 10:
                sess.close()


def use(target: str, number: int, until: float, counts: list[int]) -> None:
    """Be one client: steps, errors, time-outs, partial runs, new sessions."""
    import tfnb as tf

    rounds = 0
    while time.monotonic() < until:
        with tf.Graph().as_default():
            x, init, out = _graph(tf, number)
            never = tf.FIFOQueue(1, tf.float32, shapes=[[]]).dequeue()
            with tf.Session(target) as sess:
                sess.run(init)
                call = sess.make_callable(out, [x])
                for length in range(1, 50):
                    call([1.0] * length)
                    if time.monotonic() >= until:
                        break
                with contextlib.suppress(tf.errors.DeadlineExceededError):
                    sess.run(never, options=tf.RunOptions(timeout_in_ms=20))
                handle = sess.partial_run_setup([out], [x])
                if rounds % 2:  # the other half is left open, and ends with the session
                    sess.partial_run(handle, out, {x: [1.0]})
        rounds += 1
        counts[number] = rounds


class _Server:
    """The server's process."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert self._process.stdout is not None
        self.target = self._process.stdout.readline().strip()

    def state(self) -> dict[str, float]:
        """Return the state of the server."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        found: dict[str, float] = json.loads(self._process.stdout.readline())
        return found

    def settled(self) -> dict[str, float]:
        """Return the state once the last requests, which nothing waits for, are done."""
        found = self.state()
        for _ in range(100):
            if not found["steps"] and not found["sessions"]:
                break
            time.sleep(0.1)
            found = self.state()
        return found

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()


def _left(before: dict[str, float], after: dict[str, float]) -> list[str]:
    more = {"MiB": _MORE_MIB, "threads": _MORE_THREADS, "files": _MORE_FILES}
    return [
        f"{name}: {before[name]:g} -> {after[name]:g}"
        for name in after
        if after[name] > before[name] + more.get(name, 0)
    ]


def soak(num_sessions: int, num_clients: int, seconds: float) -> list[str]:
    """Run both parts; return what is left."""
    server = _Server()
    left: list[str] = []
    try:
        open_and_close(server.target, _WARM_UP)
        before = server.settled(), _state()
        print("warm:    server", before[0], "client", before[1], flush=True)

        begin = time.monotonic()
        open_and_close(server.target, num_sessions)
        after = server.settled(), _state()
        took = time.monotonic() - begin
        print(f"{num_sessions} sessions, {took:.0f} s: server", after[0], "client", after[1])
        left += [f"server, {one}" for one in _left(before[0], after[0])]
        left += [f"client, {one}" for one in _left(before[1], after[1])]

        counts = [0] * num_clients
        until = time.monotonic() + seconds
        threads = [
            threading.Thread(target=use, args=(server.target, one, until, counts), daemon=True)
            for one in range(num_clients)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(seconds + 120)
        hang = sum(thread.is_alive() for thread in threads)
        after = server.settled(), _state()
        print(
            f"{num_clients} clients, {seconds:.0f} s, {sum(counts)} sessions: server",
            *(after[0], "client", after[1]),
        )
        left += [f"server, {one}" for one in _left(before[0], after[0])]
        left += [f"client, {one}" for one in _left(before[1], after[1])]
        if hang:
            left.append(f"{hang} clients did not end")
    finally:
        server.close()
    return left


def main() -> int:
    """Run, or be the server."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    if args.serve:
        serve()
        return 0
    left = soak(args.sessions, args.clients, args.seconds)
    for one in left:
        print("LEFT:", one)
    print("something is left" if left else "nothing is left")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
