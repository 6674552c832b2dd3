"""Objects without references may be collected at any moment, also while a lock is held.

Garbage is collected in any thread that makes objects. A collected session, callable or handle then
releases its resources, and must not wait for the thread that it interrupts. Each scene drops one
object at every line of the package that runs under a lock; scenes are processes of their own,
because a failure is a deadlock.
"""

from __future__ import annotations

import ast
import copy
import gc
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tests.repeats import few
from tfnb.core.step_events import StepObserver
from tfnb.proto import config_pb2

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

PACKAGE = str(Path(tf.__file__).parent)
NUM_FORGOTTEN = 400


def lines_under_locks(path: str) -> set[int]:
    """Return the lines of a file inside a ``with`` of a lock or a similar object."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(Path(path).read_text("utf-8"))):
        if isinstance(node, ast.With) and any(
            "lock" in ast.unparse(item.context_expr) for item in node.items
        ):
            for inside in node.body:
                found.update(range(inside.lineno, (inside.end_lineno or 0) + 1))
    return found


class Shared:
    """A session that stays open, with a callable and a handle to drop."""

    def __init__(self) -> None:
        with tf.Graph().as_default() as graph:
            self.y = tf.constant(2.0) + 1.0
            self.handle = tf.get_session_handle(self.y)
        self.session = tf.Session(graph=graph)

    def forgotten_handle(self) -> Any:
        """Return the handle of a value in the session."""
        return self.session.run(self.handle)

    def forgotten_callable(self) -> Any:
        """Return a callable of the runtime."""
        options = config_pb2.CallableOptions(fetch=[self.y.name])
        found = self.session._make_callable_from_options(options)
        found()
        return found


def forgotten_session() -> Any:
    """Return an open session that ran, with a waiting partial run, deadlines and limits."""
    with tf.Graph().as_default() as graph:
        tf.safety.limits(graph, max_tensor_bytes=1_000_000)
        x = tf.placeholder(tf.float32, [])
        y = x + 1.0
        z = y * 2.0
        numbers = tf.data.make_initializable_iterator(tf.data.Dataset.range(3))
    session = tf.Session(graph=graph, config=tf.ConfigProto(operation_timeout_in_ms=1_000_000))
    session.runtime.step_events.add(StepObserver())
    session.run(numbers.initializer)
    session.run(y, {x: 1.0}, options=tf.RunOptions(timeout_in_ms=1_000_000))
    session.partial_run(session.partial_run_setup([y, z], [x]), y, {x: 1.0})
    return session


class Forgetting:
    """Drops one object after the other, each at another line."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.stock = [make() for _ in range(NUM_FORGOTTEN)]
        self.seen: set[tuple[CodeType, int]] = set()
        self._lines: dict[str, set[int]] = {}

    def trace(self, frame: FrameType, event: str, arg: object) -> Any:
        """For ``sys.settrace``."""
        path = frame.f_code.co_filename
        if not path.startswith(PACKAGE):
            return None
        if path not in self._lines:
            self._lines[path] = lines_under_locks(path)
        lines = self._lines[path]
        key = frame.f_code, frame.f_lineno
        if event == "line" and frame.f_lineno in lines and key not in self.seen and self.stock:
            self.seen.add(key)
            self.stock.pop()
        return self.trace if lines else None


def use(shared: Shared) -> None:
    """Use most features of a session."""
    session = shared.session
    with session.graph.as_default():
        x = tf.placeholder(tf.float32, [])
        y = tf.while_loop(lambda i, _: i < 3, lambda i, t: (i + 1, t + x), [0, x])[1]
        handle = tf.get_session_handle(y)
        z = y * 2.0
        queue = tf.FIFOQueue(2, tf.float32, shapes=[[]])
        enqueue, dequeue = queue.enqueue(1.0), queue.dequeue()
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), -1)
        found = table.lookup(tf.constant(["a"]))
        numbers = tf.data.make_initializable_iterator(tf.data.Dataset.range(9).shuffle(3))
        drawn = tf.random.uniform([2])
    session.run(table.initializer)
    session.run(numbers.initializer)
    session.run([numbers.get_next(), found, drawn])
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, timeout_in_ms=1_000_000)
    session.run(z, {x: 1.0}, options=options, run_metadata=tf.RunMetadata())
    setup = session.partial_run_setup([y, z], [x])
    session.partial_run(setup, y, {x: 1.0})
    session.partial_run(setup, z)
    session.make_callable(z, [x])(1.0)
    call = session._make_callable_from_options(
        config_pb2.CallableOptions(feed=[x.name], fetch=[z.name])
    )
    call(1.0)
    del call
    kept = session.run(handle, {x: 1.0})
    kept.delete()
    waiting = threading.Thread(target=session.run, args=(dequeue,))
    waiting.start()
    session.run(enqueue)
    waiting.join()
    try:
        session.run(dequeue, options=tf.RunOptions(timeout_in_ms=20))
    except tf.errors.DeadlineExceededError:
        print(session.run(y, {x: 1.0}), end=" ")


def forgetting(kind: str) -> None:
    """Play a scene and print how many objects were dropped."""
    shared = Shared()
    makers: dict[str, Callable[[], Any]] = {
        "session": forgotten_session,
        "callable": shared.forgotten_callable,
        "handle": shared.forgotten_handle,
    }
    found = Forgetting(makers[kind])
    threading.settrace(found.trace)
    sys.settrace(found.trace)
    try:
        use(shared)
    finally:
        sys.settrace(None)
        threading.settrace(None)
    print(len(found.seen) > 100, bool(found.stock))


@pytest.mark.slow
@pytest.mark.parametrize("kind", few(["session", "callable", "handle"], 1))
def test_dropped_objects_block_no_thread(kind: str) -> None:
    """The scene ends, with an object left to drop, and prints no error."""
    found = subprocess.run(
        [sys.executable, "-c", f"from {__name__} import forgetting; forgetting({kind!r})"],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert (found.stdout, found.stderr) == ("4.0 True True\n", "")


def test_a_copy_that_is_forgotten_leaves_the_session_open() -> None:
    """`copy.copy` gives another object for the same session; either may be collected first."""
    for forgets_copy in (True, False):
        with tf.Graph().as_default():
            one = tf.constant(1.0)
            session = tf.Session()
            runtime = session.runtime
            copied = copy.copy(session)
            assert copied.run(one) == 1.0
            left = session if forgets_copy else copied
            del session, copied
            gc.collect()
            assert left.run(one) == 1.0
            assert left.run(one + 1.0) == 2.0
            assert not runtime.is_closed
            del left
            gc.collect()
            assert runtime.is_closed


def test_a_copy_that_is_closed_closes_the_session() -> None:
    """Closing a copy closes the session."""
    with tf.Graph().as_default():
        one = tf.constant(1.0)
        session = tf.Session()
        copy.copy(session).close()
        with pytest.raises(RuntimeError, match="closed Session"):
            session.run(one)


@pytest.mark.parametrize("is_exiting", [True, False])
def test_a_session_that_cannot_be_closed_warns_unless_python_exits(
    monkeypatch: pytest.MonkeyPatch, is_exiting: bool
) -> None:
    """Modules lose their names while the interpreter exits, which is no news for the user."""
    session = tf.Session(graph=tf.Graph())

    def fail() -> None:
        raise NameError("name 'open' is not defined")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with monkeypatch.context() as patches:
            patches.setattr(session, "close", fail)
            session.__del__(lambda: is_exiting)
    session.close()
    text = "Closing a forgotten session failed: name 'open' is not defined"
    assert [str(one.message) for one in caught] == ([] if is_exiting else [text])
