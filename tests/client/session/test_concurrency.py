"""A hundred threads, interrupted at any moment: no hang, no mixed results, no leftovers.

Every thread makes runs of all kinds in an order of its own, drawn from a seed. The main thread
interrupts threads at arbitrary moments. Afterwards everything that a step could leave behind is
counted.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import linecache
import random
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.repeats import few
from tfnb.common_runtime.executor.deadlines import DEADLINES
from tfnb.common_runtime.executor.executor import ExecutorState
from tfnb.common_runtime.executor.run_state import RunState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIMIT_S = 60
ENDS = (KeyboardInterrupt, tf.errors.DeadlineExceededError, tf.errors.CancelledError)


class Model:
    """A graph with all kinds of nodes; ``x`` is fed four ones, so that all values are known."""

    def __init__(self) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.x = x = tf.placeholder(tf.float32, [4])
            self.y = y = tf.reduce_sum(x * 2.0)
            self.loop = tf.while_loop(
                lambda i, a: i < 20, lambda i, a: (i + 1, a + tf.reduce_sum(x)), [0, y]
            )[1]
            self.endless = tf.while_loop(lambda i: i >= 0, lambda i: i * 1, [0])
            self.branch = tf.cond(y > 0, lambda: y + 1.0, lambda: y - 1.0)
            with tf.device("/cpu:1"):
                far = tf.negative(y)
            with tf.device("/cpu:0"):
                self.near = far + 1.0
            queue = tf.FIFOQueue(3, tf.float32, shapes=[[]], shared_name="queue")
            self.enqueue, self.dequeue = queue.enqueue(y), queue.dequeue_many(2)
            self.never = tf.FIFOQueue(3, tf.float32, shared_name="never").dequeue()
            self.python = tf.py_func(lambda a: np.float32(sum(a.tolist())), [x], tf.float32)
            variable = tf.Variable(0.0)
            self.count = variable.assign_add(1.0)
            self.init = tf.global_variables_initializer()
        self.feed = {x: np.ones(4, np.float32)}


class Worker:
    """One thread's way through the kinds of runs."""

    def __init__(self, model: Model, sess: tf.Session, seed: int) -> None:
        self.model, self.sess = model, sess
        self.random = random.Random(seed)
        self.kinds: list[Callable[[], None]] = [
            self.plain, self.waits, self.partial, self.called, self.grows, self.traced,
        ]  # fmt: skip
        self.callable = sess.make_callable(model.y, [model.x])

    def one(self) -> None:
        """Make a run of a random kind; its end is a value or an expected error."""
        with contextlib.suppress(*ENDS):
            self.random.choice(self.kinds)()

    def plain(self) -> None:
        """Run nodes with known values."""
        model = self.model
        fetch, value = self.random.choice(
            [(model.y, 8), (model.loop, 88), (model.branch, 9), (model.near, -7), (model.python, 4)]
        )
        assert self.sess.run(fetch, model.feed) == value

    def waits(self) -> None:
        """Run steps that wait until another thread ends them."""
        model = self.model
        fetch = self.random.choice([model.enqueue, model.dequeue, model.never, model.endless])
        options = tf.RunOptions(timeout_in_ms=self.random.choice([1, 5, 20]))
        found = self.sess.run(fetch, model.feed, options=options)
        assert fetch is not model.dequeue or found.tolist() == [8, 8]
        self.sess.run(model.count)

    def partial(self) -> None:
        """Make a partial run, and finish it or leave it."""
        model = self.model
        handle = self.sess.partial_run_setup([model.y, model.branch], [model.x])
        if self.random.random() < 0.8:
            assert self.sess.partial_run(handle, model.y, model.feed) == 8
        if self.random.random() < 0.5:
            # Without its feed it is refused, and the handle stays.
            with contextlib.suppress(tf.errors.InvalidArgumentError):
                assert self.sess.partial_run(handle, model.branch) == 9

    def called(self) -> None:
        """Call a prepared callable."""
        assert self.callable(self.model.feed[self.model.x]) == 8

    def grows(self) -> None:
        """Add an op and run it."""
        with self.model.graph.as_default():
            y = tf.negative(self.model.y)
        assert self.sess.run(y, self.model.feed) == -8

    def traced(self) -> None:
        """Run with a trace."""
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        metadata = tf.RunMetadata()
        self.sess.run(self.model.near, self.model.feed, options=options, run_metadata=metadata)
        assert metadata.step_stats.dev_stats


@contextlib.contextmanager
def often_switching() -> Iterator[None]:
    """Let threads switch after a few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def interrupt(thread: threading.Thread) -> None:
    """Raise KeyboardInterrupt in a thread, at whatever instruction it is."""
    assert thread.ident is not None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt)
    )


def run_all(
    workers: list[Worker], num_runs: int, in_between: Callable[[list[threading.Thread]], None]
) -> list[BaseException]:
    """Run the workers; call ``in_between`` as often as they begin a run.

    Threads stay until all are done, so that an interrupt never reaches another thread of the same
    number.
    """
    # An interrupt could leave locks of Python code held; these queues have none.
    begun: SimpleQueue[None] = SimpleQueue()
    ready: set[Worker] = set()  # those that catch interrupts by now
    over: SimpleQueue[None] = SimpleQueue()
    failures: list[BaseException] = []
    done: set[Worker] = set()
    go: SimpleQueue[None] = SimpleQueue()

    def work(worker: Worker, left: list[int]) -> None:
        if worker not in ready:
            ready.add(worker)
            go.get()
        while left:
            try:
                left.pop()
                begun.put(None)
                worker.one()
            except Exception as error:
                failures.append(error)
        done.add(worker)
        over.get()

    def stay(worker: Worker) -> None:
        left = list(range(num_runs))

        def shielded(depth: int) -> None:
            """Continue after an interrupt, also after one that arrives while another is handled."""
            try:
                if depth == 0:
                    work(worker, left)
                while depth and worker not in done:
                    shielded(depth - 1)
            except KeyboardInterrupt:
                pass

        shielded(20)

    threads = [threading.Thread(target=stay, args=(worker,), daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    for _ in range(LIMIT_S * 100):
        if len(ready) == len(workers):
            break
        with contextlib.suppress(Empty):
            begun.get(timeout=0.01)
    for _ in workers:
        go.put(None)
    for _ in range(num_runs * len(workers)):
        # An interrupt may have swallowed the message.
        with contextlib.suppress(Empty):
            begun.get(timeout=0.01)
        if len(done) == len(workers):
            break
        in_between(threads)
    for _ in range(LIMIT_S * 100):
        if len(done) == len(workers):
            break
        with contextlib.suppress(Empty):
            begun.get(timeout=0.01)
    assert len(done) == len(workers), workers[0].sess.waiting()
    # Several attempts, because an interrupt may arrive just after one was handled.
    for _ in range(10 * len(threads)):
        over.put(None)
    for thread in threads:
        thread.join(LIMIT_S)
        assert not thread.is_alive()
    return failures


def leftovers(runtime: Any) -> dict[str, int]:
    """Return everything that steps could leave behind in a session and in the process."""
    waiting = 0
    for device in runtime.device_mgr.devices:
        resources = device.resource_manager
        for container, kind, name in resources.names():
            queue = resources.find(container, kind, name)
            waiting += len(getattr(queue, "_takes", ())) + len(getattr(queue, "_puts", ()))
    return {
        "active steps": len(runtime.active_steps()),
        "deadlines": DEADLINES.num_set(),
        "attempts at queues": waiting,
    }


def live_states() -> dict[str, int]:
    """Return the step states that the process holds; other tests may have left some."""
    gc.collect()
    live = [type(found) for found in gc.get_objects() if type(found) in (RunState, ExecutorState)]
    return {"steps": live.count(RunState), "partitions": live.count(ExecutorState)}


@pytest.fixture
def interrupts_may_strike_in_finalizers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept interrupts that Python loses in finalizers and reports with the frames they hold."""
    report = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        if unraisable.exc_type is not KeyboardInterrupt:
            report(unraisable)

    monkeypatch.setattr(sys, "unraisablehook", hook)


def read_sources(worker: Worker) -> None:
    """Import what runs of all kinds import, and read the sources that errors quote.

    An interrupt while linecache opens a file leaves the file to the collector, whose warning holds
    the frames above.
    """
    for kind in worker.kinds * 10:
        with contextlib.suppress(*ENDS):
            kind()
    filenames = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    filenames += [str(path) for path in Path(tf.__file__).parent.rglob("*.py")]
    for filename in filenames:
        linecache.getlines(filename or "")


def interrupting(seed: int) -> Callable[[list[threading.Thread]], None]:
    """Interrupt a thread now and then."""
    chance = random.Random(seed)

    def in_between(threads: list[threading.Thread]) -> None:
        if chance.random() < 0.7:
            interrupt(chance.choice(threads))

    return in_between


def first_steps(seed: int) -> None:
    """Make the first steps of a process in many threads with interrupts; then one without."""
    sys.unraisablehook = lambda unraisable: None
    model = Model()
    sess = tf.Session(graph=model.graph, config=tf.ConfigProto(device_count={"CPU": 2}))
    sess.run(model.init)
    workers = [Worker(model, sess, seed * 1000 + number) for number in range(20)]
    with often_switching():
        failures = run_all(workers, 3, interrupting(seed))
    assert failures == []
    assert "tfnb.common_runtime.lowering.run.lowered_step" in sys.modules
    print(sess.run(model.loop, model.feed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", few(range(2), 1))
def test_interrupts_of_first_steps_leave_nothing_locked(seed: int) -> None:
    """The modules that first steps import are usable afterwards in every thread."""
    program = f"from {__name__} import first_steps; first_steps({seed})"
    root = Path(__file__).parents[3]
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=False
    )
    assert found.stdout == "88.0\n", found.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("interrupts_may_strike_in_finalizers")
@pytest.mark.parametrize("seed", few((2, 1), 1))
def test_a_hundred_threads_with_interrupts_leave_nothing(seed: int) -> None:
    """All values are right, all threads end, and everything that steps own is freed."""
    before, threads_before = live_states(), set(threading.enumerate())
    model = Model()
    config = tf.ConfigProto(device_count={"CPU": 2})
    sess = tf.Session(graph=model.graph, config=config)
    sess.run(model.init)
    read_sources(Worker(model, sess, seed))
    workers = [Worker(model, sess, seed * 1000 + number) for number in range(100)]
    with often_switching():
        failures = run_all(workers, 5, interrupting(seed))
    assert failures == []
    # The session works as before.
    for fetch, value in ((model.y, 8), (model.loop, 88), (model.branch, 9), (model.near, -7)):
        assert sess.run(fetch, model.feed) == value
    sess.runtime._partial_runs.close(tf.errors.CancelledError(None, None, "given up"))
    assert leftovers(sess.runtime) == dict.fromkeys(leftovers(sess.runtime), 0)
    after = live_states()
    # Threads of other tests may end meanwhile.
    assert all(after[kind] <= before[kind] for kind in after)
    runtime = weakref.ref(sess.runtime)
    sess.close()
    del sess, workers
    gc.collect()
    assert runtime() is None
    assert set(threading.enumerate()) <= threads_before


@pytest.mark.slow
@pytest.mark.parametrize("end", ["close", "reset"])
def test_the_end_of_a_session_ends_every_run_of_it(end: str) -> None:
    """Each run gives its value or an error that says why it ended; new runs are refused."""
    model = Model()
    sess = tf.Session(graph=model.graph, config=tf.ConfigProto(device_count={"CPU": 2}))
    sess.run(model.init)
    workers = [Worker(model, sess, number) for number in range(50)]
    calls = iter(range(10_000))

    def in_between(threads: list[threading.Thread]) -> None:
        if next(calls) == 60:
            if end == "close":
                sess.close()
            else:
                tf.Session.reset("")

    with often_switching():
        failures = run_all(workers, 5, in_between)
    known = (
        "closed Session",
        "is closed and has insufficient",
        "Session has been closed",
        "not found",
        "does not exist",  # a queue whose container was cleared since the step has its handle
        "uninitialized",
    )
    assert [error for error in failures if not any(text in str(error) for text in known)] == []
    assert leftovers(sess.runtime)["active steps"] == 0
    with pytest.raises((RuntimeError, tf.errors.CancelledError)):
        sess.run(model.y, model.feed)
    sess.close()


@pytest.mark.slow
def test_sessions_of_one_graph_do_not_know_of_each_other() -> None:
    """Closing one session does not affect the others."""
    model = Model()
    config = tf.ConfigProto(device_count={"CPU": 2})
    sessions = [tf.Session(graph=model.graph, config=config) for _ in range(5)]
    for sess in sessions:
        sess.run(model.init)
    workers = [Worker(model, sessions[1 + n % 4], n) for n in range(24)]
    calls = iter(range(10_000))

    def in_between(threads: list[threading.Thread]) -> None:
        if next(calls) == 10:
            sessions[0].close()

    with often_switching():
        assert run_all(workers, 4, in_between) == []
    for sess in sessions[1:]:
        assert sess.run(model.y, model.feed) == 8
        sess.close()
