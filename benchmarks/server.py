"""Workloads of the project, timed block by block on commands of the runner.

Run by the interpreter under test, tfnb's or TensorFlow's, so it imports neither at the top::

    PYTHON benchmarks/server.py --serve --module tensorflow.compat.v1

It reads one JSON command per line and writes one answer per line, in the protocol of the suite that
the runner is given (``--suite``): ``list``, ``meta``, ``open``, ``block``, ``close``, ``quit``.

A workload builds graphs with TensorFlow's public API only, checks its results, and returns calls
without arguments by variant. Workloads of the group ``curve`` have one variant per size.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.metadata
import itertools
import json
import os
import platform
import re
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Calls = dict[str, Callable[[], Any]]

# Environment variables that hide a processor's wide instructions from OpenBLAS.
HIDING = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
# The intended duration of a timed block, in seconds.
BLOCK_S = 0.006

WORKLOADS: dict[str, Workload] = {}
np: Any = None


class Workload:
    """One workload.

    Attributes:
        spec: ``group``; ``per``, by which figures are divided; ``unit``, "s" or "B"; ``kind``:
            "call" if the call is timed, "sample" if it returns its own figure; ``blocks``:
            the maximal number.
        sizes: the names of a curve's variants on the axis.
    """

    def __init__(self, build: Callable[[Bench], Calls], spec: dict[str, Any]) -> None:
        self.build, self.spec = build, spec


def workload(
    group: str, *, per: int = 1, unit: str = "s", kind: str = "call", blocks: int = 31
) -> Callable[[Callable[[Bench], Calls]], Callable[[Bench], Calls]]:
    """Register a function that makes a workload's calls; its docstring is the title in the docs."""

    def register(build: Callable[[Bench], Calls]) -> Callable[[Bench], Calls]:
        what = (build.__doc__ or "").strip().splitlines()[0]
        spec = {"group": group, "per": per, "unit": unit, "kind": kind, "blocks": blocks}
        WORKLOADS[build.__name__] = Workload(build, {**spec, "what": what})
        return build

    return register


class Bench:
    """The argument of a workload: the module under test, and sessions that are closed for it."""

    def __init__(self, tf: Any, threads: int) -> None:
        self.tf, self._threads = tf, threads
        self._sessions: list[Any] = []

    def session(self, graph: Any, **fields: Any) -> Any:
        """Return a session on a graph, closed with the workload."""
        config = self.tf.ConfigProto(**fields)
        if self._threads:
            config.intra_op_parallelism_threads = self._threads
            config.inter_op_parallelism_threads = self._threads
        session = self.tf.Session(graph=graph, config=config)
        self._sessions.append(session)
        return session

    def close(self) -> None:
        """Close the sessions."""
        for session in self._sessions:
            session.close()
        self._sessions.clear()


def check(got: Any, want: Any) -> None:
    """Raise if a workload's result is wrong."""
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


# -- graphs ----------------------------------------------------------------------------------------

STEPS = (1.0, 0.5, 0.75, 40.0)


def scalars(tf: Any, n: int) -> tuple[Any, Any]:
    """Return a fed scalar and the last of ``n`` ops after it, which no optimizer can merge."""
    x, values = tf.placeholder(tf.float32, []), [tf.constant(value) for value in STEPS]
    ops = (tf.add, tf.maximum, tf.multiply, tf.minimum)
    y = x
    for i in range(n):
        y = ops[i % 4](y, values[i % 4])
    return x, y


def scalars_by_hand(n: int) -> Any:
    """Return the result of ``scalars`` for 1.0."""
    ops = (np.add, np.maximum, np.multiply, np.minimum)
    y = np.float32(1.0)
    for i in range(n):
        y = ops[i % 4](y, np.float32(STEPS[i % 4]))
    return y


# -- curves: one variant per size ------------------------------------------------------------------


@workload("curve")
def nodes(bench: Bench) -> Calls:
    """Run a chain of N scalar ops."""
    calls: Calls = {}
    for n in (10, 100, 1_000, 5_000):
        with bench.tf.Graph().as_default() as graph:
            x, y = scalars(bench.tf, n)
        session = bench.session(graph)
        check(session.run(y, {x: 1.0}), scalars_by_hand(n))
        calls[str(n)] = lambda session=session, x=x, y=y: session.run(y, {x: 1.0})
    return calls


@workload("curve", kind="sample", blocks=4)
def first_run(bench: Bench) -> Calls:
    """Run a chain of N scalar ops for the first time in a new session."""
    return {str(n): lambda n=n: _open_and_run(bench, n, 1) for n in (10, 100, 1_000)}


@workload("curve", kind="sample", blocks=4)
def sessions(bench: Bench) -> Calls:
    """Open N sessions on one graph of 500 ops, and run each once."""
    return {str(n): lambda n=n: _open_and_run(bench, 500, n) for n in (1, 2, 4)}


def _open_and_run(bench: Bench, num_nodes: int, num_sessions: int) -> Any:
    tf = bench.tf
    with tf.Graph().as_default() as graph:
        x, y = scalars(tf, num_nodes)
    watch = Watch()
    opened = [bench.session(graph) for _ in range(num_sessions)]
    got = [session.run(y, {x: 1.0}) for session in opened]
    spent = watch.read()
    check(got, [scalars_by_hand(num_nodes)] * num_sessions)
    bench.close()
    return spent


@workload("curve")
def iterations(bench: Bench) -> Calls:
    """Run a while_loop of N iterations with two scalar ops in its body."""
    tf, calls = bench.tf, {}
    with tf.Graph().as_default() as graph:
        limit = tf.placeholder(tf.int32, [])
        _, total = tf.while_loop(
            lambda i, _: tf.less(i, limit),
            lambda i, total: (tf.add(i, 1), tf.add(total, 0.5)),
            [tf.constant(0), tf.constant(0.0)],
        )
    session = bench.session(graph)
    for n in (10, 100, 1_000, 10_000):
        check(session.run(total, {limit: n}), n * 0.5)
        calls[str(n)] = lambda n=n: session.run(total, {limit: n})
    return calls


@workload("curve")
def tensor_size(bench: Bench) -> Calls:
    """Run ten elementwise ops on N float32 values."""
    tf, calls = bench.tf, {}
    for n in (1, 100, 10_000, 1_000_000):
        with tf.Graph().as_default() as graph:
            v = tf.Variable(tf.ones([n]))
            y = v
            for i in range(10):
                y = tf.add(y, v) if i % 2 else tf.multiply(y, 0.5)
            done, init = y.op, tf.global_variables_initializer()
        session = bench.session(graph)
        session.run(init)
        check(session.run(y)[:3], 1.96875)
        calls[str(n)] = lambda session=session, done=done: session.run(done)
    return calls


@workload("curve")
def feeds(bench: Bench) -> Calls:
    """Feed N arrays of 4 elements, run an op on each, fetch all."""
    tf, calls = bench.tf, {}
    for n in (1, 10, 100):
        with tf.Graph().as_default() as graph:
            xs = [tf.placeholder(tf.float32, [4]) for _ in range(n)]
            ys = [tf.add(x, float(i)) for i, x in enumerate(xs)]
        session = bench.session(graph)
        feed = {x: np.full(4, i, np.float32) for i, x in enumerate(xs)}
        check(session.run(ys, feed), [[2.0 * i] * 4 for i in range(n)])
        calls[str(n)] = lambda session=session, ys=ys, feed=feed: session.run(ys, feed)
    return calls


@workload("curve")
def partitions(bench: Bench) -> Calls:
    """Run a chain of 64 ops on arrays of 64 elements, distributed over N CPU devices."""
    tf, calls = bench.tf, {}
    for n in (1, 2, 4, 8):
        with tf.Graph().as_default() as graph:
            x = y = tf.placeholder(tf.float32, [64])
            for i in range(64):
                with tf.device(f"/cpu:{i % n}"):
                    y = (tf.add, tf.maximum)[i % 2](y, float(i % 5))
        session = bench.session(graph, device_count={"CPU": n})
        value, want = np.zeros(64, np.float32), 0.0
        for i in range(64):
            want = max(want, i % 5) if i % 2 else want + i % 5
        check(session.run(y, {x: value}), want)
        calls[str(n)] = lambda session=session, x=x, y=y, value=value: session.run(y, {x: value})
    return calls


@workload("curve", kind="sample", per=10, blocks=5)
def graph_growth(bench: Bench) -> Calls:
    """Run a cell of a notebook: add an op to a graph of N ops, and run it."""
    tf, calls = bench.tf, {}
    for n in (100, 1_000, 10_000):
        with tf.Graph().as_default() as graph:
            scalars(tf, n)
            start = tf.constant(2.0)
        session = bench.session(graph)
        check(session.run(start), 2.0)
        factors = itertools.count(1)

        def cells(graph: Any = graph, session: Any = session, start: Any = start, f=factors) -> Any:
            watch = Watch()
            for _ in range(10):
                factor = float(next(f))
                with graph.as_default():
                    y = tf.multiply(start, factor)
                got = session.run(y)
            spent = watch.read()
            check(got, 2.0 * factor)
            return spent

        calls[str(n)] = cells
    return calls


@workload("curve", per=400, blocks=9)
def threads(bench: Bench) -> Calls:
    """Run one session in N threads; the time is that of one run in all of them."""
    with bench.tf.Graph().as_default() as graph:
        x, y = scalars(bench.tf, 10)
    session, want = bench.session(graph), scalars_by_hand(10)

    def together(num_threads: int) -> None:
        wrong: list[Any] = []

        def work() -> None:
            for _ in range(400 // num_threads):
                got = session.run(y, {x: 1.0})
                if abs(got - want) > 1e-4:
                    wrong.append(got)

        running = [threading.Thread(target=work) for _ in range(num_threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        assert not wrong, wrong[:3]

    return {str(n): lambda n=n: together(n) for n in (1, 2, 4, 8)}


# -- single figures --------------------------------------------------------------------------------


@workload("notebook", kind="sample", per=300, blocks=3)
def cells_300(bench: Bench) -> Calls:
    """Run a notebook of 300 cells, each adding an op and running it: per cell."""
    return {"default": lambda: sum(_notebook(bench, 300))}


def _notebook(bench: Bench, num_cells: int) -> list[float]:
    """Return the seconds of each cell."""
    tf, spent = bench.tf, []
    with tf.Graph().as_default() as graph:
        v = tf.Variable(1.5)
        init = tf.global_variables_initializer()
    session = bench.session(graph)
    session.run(init)
    for i in range(num_cells):
        start = time.perf_counter()
        with graph.as_default():
            y = tf.multiply(v, float(i))
        got = session.run(y)
        spent.append(time.perf_counter() - start)
        assert got == 1.5 * i
    bench.close()
    return spent


@workload("start", kind="sample", unit="B", blocks=1)
def installed_size(bench: Bench) -> Calls:
    """Count bytes on disk of the package and its requirements, without bytecode."""
    names = {"tfnb": "tfnb"}.get(bench.tf.__name__.split(".", 1)[0], "tensorflow-cpu")
    return {"default": lambda: float(_size_of(names))}


def _size_of(root: str) -> int:
    """Return the sizes of the files of a distribution and its requirements, without extras."""
    todo, seen, total = [root], set(), 0
    while todo:
        name = re.sub(r"[-_.]+", "-", todo.pop()).lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        files = [Path(str(file.locate())) for file in found.files or ()]
        if name == "tfnb":  # installed as a link to its source
            files += Path(importlib.import_module("tfnb").__file__ or "").parent.rglob("*")
        sizes = {f: f.stat().st_size for f in files if f.suffix != ".pyc" and f.is_file()}
        total += sum(sizes.values())
        for requirement in found.requires or ():
            if "extra ==" not in requirement:
                todo += re.findall(r"^[A-Za-z0-9._-]+", requirement)
    return total


# -- the protocol ----------------------------------------------------------------------------------


class Watch:
    """Measures wall and processor seconds since its creation."""

    def __init__(self) -> None:
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def read(self) -> tuple[float, float]:
        """Return wall and processor seconds."""
        return time.perf_counter() - self._wall, time.process_time() - self._cpu


class Runner:
    """Runs one workload at a time."""

    def __init__(self, tf: Any, options: argparse.Namespace) -> None:
        self._bench = Bench(tf, options.threads)
        self._options = options
        self._calls: Calls = {}
        self._reps: dict[str, int] = {}
        self._spec: dict[str, Any] = {}

    def list(self) -> dict[str, Any]:
        """Return the names of the requested workloads."""
        words = [word for word in self._options.only.split(",") if word]
        return {
            "names": [
                name
                for name, found in WORKLOADS.items()
                if not words or any(w in name or w == found.spec["group"] for w in words)
            ]
        }

    def meta(self) -> dict[str, Any]:
        """Return what is measured, and on which machine."""
        tf = self._bench.tf
        tf.Session(graph=tf.Graph()).close()  # it may change the thread pools
        return {
            "module": tf.__name__,
            "version": tf.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "pools": _pools(),
        }

    def open(self, name: str) -> dict[str, Any]:
        """Build a workload, check it, and determine how often to repeat its calls."""
        self.close()
        found = WORKLOADS[name]
        self._spec = found.spec
        self._calls = found.build(self._bench)
        self._reps = {variant: self._calibrate(call) for variant, call in self._calls.items()}
        return {"variants": [*self._calls], "spec": self._spec, "blocks": self._spec["blocks"]}

    def _calibrate(self, call: Callable[[], Any]) -> int:
        if self._spec["kind"] == "sample":
            return 1
        call()
        reps = 1
        while True:
            watch = Watch()
            for _ in range(reps):
                call()
            spent, _ = watch.read()
            if spent >= BLOCK_S / 3 or reps >= 1 << 20:
                return max(1, round(reps * BLOCK_S / max(spent, 1e-9)))
            reps *= 4

    def block(self, variant: str) -> dict[str, float]:
        """Time one block: wall and processor time per unit, or another figure."""
        call, reps, per = self._calls[variant], self._reps[variant], self._spec["per"]
        if self._spec["kind"] == "sample":
            gc.collect()
            got = call()
            if not isinstance(got, tuple):
                return {"value": got / per}
            wall, cpu = got
        else:
            # After a pause the process gets a fresh time slice.
            time.sleep(0.002)
            for _ in range(reps // 4 or 1):
                call()
            watch = Watch()
            for _ in range(reps):
                call()
            wall, cpu = watch.read()
            per *= reps
        return {"value": wall / per, "cpu": cpu / per}

    def close(self) -> dict[str, Any]:
        """Drop the workload."""
        self._bench.close()
        self._calls = {}
        gc.collect()
        return {}


def _pools() -> list[dict[str, Any]]:
    """Return the thread pools of the loaded libraries, if threadpoolctl is installed."""
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return []
    wanted = ("user_api", "internal_api", "num_threads", "version", "architecture")
    return [{key: pool.get(key) for key in wanted} for pool in threadpool_info()]


def main() -> None:
    """Serve commands from standard input until it ends."""
    global np
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", default="tfnb")
    parser.add_argument("--serve", action="store_true", help="serve commands (the default)")
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    for name in HIDING:
        os.environ.pop(name, None)
    for name in THREADS if options.threads else ():
        os.environ[name] = str(options.threads)
    # Libraries may write to standard output, so answers use a separate descriptor.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import numpy as np

    tf = importlib.import_module(options.module)
    if hasattr(tf, "disable_v2_behavior"):
        tf.disable_v2_behavior()
    runner = Runner(tf, options)
    for line in sys.stdin:
        command = json.loads(line)
        verb = command.pop("do")
        if verb == "quit":
            break
        try:
            answer = getattr(runner, verb)(**command)
        except Exception as error:
            runner.close()
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
