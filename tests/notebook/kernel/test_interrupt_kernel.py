"""The stop button of a notebook: a separate kernel is interrupted as Jupyter does it."""

from __future__ import annotations

import queue
import re
from typing import TYPE_CHECKING, Any

import pytest

from tfnb.core.process.package_directory import PACKAGE_DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow
LIMIT_S = 90

PREPARE = """
import threading
import tfnb as tf
sess = tf.Session()
queue = tf.FIFOQueue(1, tf.float32, shapes=[[]], name="q")
item, fill = queue.dequeue(), queue.enqueue(7.0)
two = queue.enqueue_many([[1.0, 2.0]])
drain = queue.dequeue_many(queue.size())
loop = tf.while_loop(lambda i: i < 2, lambda i: i * 1, [tf.constant(1)])
x = tf.placeholder(tf.float32, [])
late = queue.dequeue() + x

def spin(a):
    spins.set()
    while True:
        a = a + 1

spins = threading.Event()
python = tf.py_func(spin, [tf.constant(1.0)], tf.float32)
call = sess.make_callable(item)

def is_there(names):
    if "python" in names:
        return spins.is_set()
    # The first step of a loop is written as a function before it runs.
    return sess.running_nodes() if "loop" in names else "waits for" in sess.waiting()

def tell(names):
    while not is_there(names):
        pass
    print("a step runs", flush=True)

def watched(run):
    threading.Thread(target=tell, args=(run.__code__.co_names,)).start()
    return run()
"""

BLOCKED = {
    "a dequeue": "sess.run(item)",
    "a full queue": "sess.run(two)",
    "a loop": "sess.run(loop)",
    "a Python function": "sess.run(python)",
    "a callable": "call()",
    "a partial run": "sess.partial_run(sess.partial_run_setup([late], [x]), late, {x: 1.0})",
}


SAID = {
    "a dequeue": "'q_Dequeue' (QueueDequeueV2) waits for elements of queue 'q'",
    "a full queue": "'q_EnqueueMany' (QueueEnqueueManyV2) waits for room of queue 'q'",
    "a loop": "made at cell 2, line 8",
    "a Python function": "stood  in cell 2, line ",
    "a callable": "waits for elements of queue 'q'",
    "a partial run": "waits for elements of queue 'q'",
}
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def _lines(found: dict[str, Any]) -> list[str]:
    """Return the lines that a front end shows of a cell's error."""
    return _COLOURS.sub("", "\n".join(found["error"]["traceback"])).splitlines()


class Kernel:
    """A kernel and its messages."""

    def __init__(self) -> None:
        from jupyter_client.manager import start_new_kernel

        self.manager, self.client = start_new_kernel(startup_timeout=LIMIT_S, kernel_name="python3")

    def close(self) -> None:
        """Ends it."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def run(self, code: str, *, interrupt_at: str = "") -> dict[str, Any]:
        """Run a cell; interrupt it once it has printed ``interrupt_at``."""
        sent = self.client.execute(code)
        printed, error, waits = "", None, bool(interrupt_at)
        while True:
            try:
                message = self.client.get_iopub_msg(timeout=LIMIT_S)
            except queue.Empty:
                raise AssertionError(f"the kernel stays silent after {printed!r}") from None
            if message["parent_header"].get("msg_id") != sent:
                continue
            content = message["content"]
            if message["msg_type"] == "stream":
                printed += content["text"]
            elif message["msg_type"] == "error":
                error = content
            elif message["msg_type"] == "status" and content["execution_state"] == "idle":
                return {"printed": printed, "error": error}
            if waits and interrupt_at in printed:
                waits = False
                self.manager.interrupt_kernel()


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    """One kernel for all tests, each of which leaves it usable."""
    pytest.importorskip("ipykernel")
    found = Kernel()
    try:
        assert found.run("%load_ext tfnb")["error"] is None
        assert found.run(PREPARE)["error"] is None
        yield found
    finally:
        found.close()


@pytest.mark.parametrize("what", BLOCKED)
def test_stop_ends_what_waits_or_runs_and_the_session_works_on(kernel: Kernel, what: str) -> None:
    """The session is usable after each interrupt."""
    found = kernel.run(f"watched(lambda: {BLOCKED[what]})", interrupt_at="a step runs")
    assert found["error"] is not None
    assert found["error"]["ename"] == "KeyboardInterrupt"
    lines = _lines(found)
    assert len(lines) <= 12
    assert lines[0] == "KeyboardInterrupt: the step has ended, its session goes on"
    assert f": watched(lambda: {BLOCKED[what]})" in lines[1]
    assert "site-packages" not in str(lines)
    assert PACKAGE_DIRECTORY not in str(lines)
    assert "<tfnb step" not in str(lines)
    assert any(SAID[what] in line for line in lines)
    after = kernel.run("sess.run(drain); sess.run(fill); print(sess.run(item), sess.waiting())")
    assert after["error"] is None
    assert after["printed"] == "7.0 No step is in flight.\n"


def test_stop_says_what_the_step_waited_for(kernel: Kernel) -> None:
    """The text is below the traceback, with the cell that made the node."""
    code = "threading.Thread(target=still).start(); sess.run(item)"
    assert (
        kernel.run("""
def still():
    while "stands still" not in sess.waiting():
        pass
    print("still", flush=True)
""")["error"]
        is None
    )
    found = kernel.run(code, interrupt_at="still")
    text = "\n".join(found["error"]["traceback"])
    assert "waits for elements of queue 'q'" in text


def test_a_stop_inside_a_watched_cell_is_as_short(kernel: Kernel) -> None:
    """The first lines are the same below a magic; a loop of the user's keeps its traceback."""
    found = kernel.run("%%tfnb watch\nwatched(lambda: sess.run(item))", interrupt_at="a step runs")
    lines = _lines(found)
    assert lines[0] == "KeyboardInterrupt: the step has ended, its session goes on"
    assert "line 2: watched(lambda: sess.run(item))" in lines[1]
    assert len(lines) <= 12
    own = 'print("spins", flush=True)\nwhile True:\n    pass'
    found = kernel.run("%%tfnb cell own\n" + own, interrupt_at="spins")
    assert "Traceback (most recent call last)" in "\n".join(_lines(found))


def test_stop_ends_building_and_importing(kernel: Kernel) -> None:
    """The graph keeps complete nodes and accepts new ones."""
    build = """
with tf.Graph().as_default() as large:
    y = tf.constant(1.0)
    print("building", flush=True)
    while True:
        y = tf.negative(y)
"""
    found = kernel.run(build, interrupt_at="building")
    assert found["error"]["ename"] == "KeyboardInterrupt"
    assert PACKAGE_DIRECTORY not in str(found["error"])
    after = kernel.run("""
with large.as_default(), tf.Session() as other:
    print(other.run(tf.constant(2.0) + 1.0))
""")
    assert after["printed"] == "3.0\n"
