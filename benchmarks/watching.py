"""The cost of support for observers: steps of a session without observers, beside observed ones.

    python benchmarks/watching.py [rounds] [part of a row's name]

The bare session has never had an observer. Each row is another state without an observer now; its
steps may take 1.02 times those of the bare session. ``bare again`` is a second bare session: its
difference is noise. Rows below the line have an observer, and show its cost.

All sessions of a workload take turns, block by block, forwards and backwards; a set's ratio is that
of the medians of the faster halves, a row's the median of several sets of new sessions.

Each view of the notebook has a row here: a function with ``@row`` that takes an open session and a
run of it, does what the view does, and returns when no observer is left (or keeps watching, with
``watches=True``).
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import random
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

import tfnb as tf
from tfnb.client.debugger.debugger import Debugger
from tfnb.core.step_events import StepObserver, unwatch_sessions, watch_sessions
from tfnb.notebook.steps.run_record import RunTape
from tfnb.notebook.steps.step_model import StepModel
from tfnb.notebook.steps.step_publisher import StepPublisher
from tfnb.notebook.steps.step_recorder import EventLog, StepRecorder

if TYPE_CHECKING:
    from collections.abc import Callable

    Row = Callable[[tf.Session, Callable[[], Any]], None]

AIM = 1.02
BLOCK_S = 0.002
SETS = 9
WATCHED_SETS = 5

# Functions to call at the end of a set of sessions.
AT_END: list[Callable[[], None]] = []

ROWS: dict[str, tuple[Row, bool]] = {}


def row(watches: bool = False) -> Callable[[Row], Row]:
    """Register a row by its function's name."""

    def register(function: Row) -> Row:
        ROWS[function.__name__.replace("_", " ")] = (function, watches)
        return function

    return register


# -- rows ------------------------------------------------------------------------------------------


@row()
def bare_again(session: tf.Session, run: Callable[[], Any]) -> None:
    """Do nothing: another session without an observer shows the noise."""


@row()
def watched_before(session: tf.Session, run: Callable[[], Any]) -> None:
    """Attach an observer for a step, and detach it."""
    observer = Counter()
    session.runtime.step_events.add(observer)
    run()
    session.runtime.step_events.remove(observer)
    assert observer.num_nodes > 0


@row()
def sessions_are_watched_for(session: tf.Session, run: Callable[[], Any]) -> None:
    """Wait for new sessions, as the notebook does, and observe none of them."""
    watch_sessions(_look_away)
    run()
    unwatch_sessions(_look_away)


@row()
def in_a_notebook(session: tf.Session, run: Callable[[], Any]) -> None:
    """Load the notebook's extension, and keep it loaded."""
    from IPython.core.interactiveshell import InteractiveShell

    from tfnb.notebook.extension import load_ipython_extension

    with contextlib.redirect_stdout(io.StringIO()):
        load_ipython_extension(InteractiveShell.instance())
    run()


@row()
def traced_before(session: tf.Session, run: Callable[[], Any]) -> None:
    """Run a step with FULL_TRACE."""
    graph = session.graph
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    tensor = graph.get_tensor_by_name("traced:0")
    session.run(tensor, options=options, run_metadata=tf.RunMetadata())
    run()


@row()
def held_before(session: tf.Session, run: Callable[[], Any]) -> None:
    """Hold steps, and release them."""
    session.runtime.hold_steps()
    session.runtime.let_steps_go()
    run()


@row()
def panel_looked(session: tf.Session, run: Callable[[], Any]) -> None:
    """Open JupyterLab's panel with a view in a tab, and close both."""
    from tfnb.notebook.lab.lab_link import LabLink
    from tfnb.notebook.lab.lab_snapshot import session_key

    link = LabLink(lambda content, buffers: None)
    run()
    link.carry_out({"request": "watch"})
    link.carry_out({"request": "open", "view": "graph", "session": session_key(session)})
    link.stop()
    assert not session.runtime.step_events.observers


@row()
def recorded_before(session: tf.Session, run: Callable[[], Any]) -> None:
    """Begin and end ``%%tfnb record`` and ``%%tfnb debug``."""
    tape, debugger = RunTape(lambda: session.graph), Debugger(session)
    session.runtime.step_events.add(tape)
    run()
    session.runtime.step_events.remove(tape)
    with debugger:
        run()


@row(watches=True)
def progress_is_watched(session: tf.Session, run: Callable[[], Any]) -> None:
    """Run ``%%tfnb watch``: recorder, model and publisher; pictures are made and discarded."""
    log = EventLog()
    recorder, native = StepRecorder(log, 0), session.runtime
    publisher = StepPublisher(
        log,
        StepModel(lambda number: session.graph),
        PicturesAreMade(),
        look=lambda: recorder.look(native.step_counts()),
    )
    native.step_events.add(recorder)
    publisher.start()
    AT_END.append(publisher.stop)


@row(watches=True)
def everything_is_recorded(session: tf.Session, run: Callable[[], Any]) -> None:
    """Run ``%%tfnb record``: every event of the last steps is kept."""
    session.runtime.step_events.add(RunTape(lambda: session.graph))


@row(watches=True)
def breakpoints_that_never_hit(session: tf.Session, run: Callable[[], Any]) -> None:
    """Run ``%%tfnb debug`` with three breakpoints, one of them on values."""
    debugger = Debugger(session).attach()
    debugger.break_at("no/such/node")
    debugger.break_at(op="NoSuchOp", iteration=7)
    debugger.break_at("no/such/value", condition="max > 1e30")


@row(watches=True)
def breakpoints_on_values(session: tf.Session, run: Callable[[], Any]) -> None:
    """Set a breakpoint on values of a node, in the loop if there is one, which are never met."""
    names = {op.name for op in session.graph.get_operations()}
    node = "while/add" if "while/add" in names else "*"
    Debugger(session).attach().break_at(node, condition="max > 1e30")


@row(watches=True)
def a_tensor_is_watched(session: tf.Session, run: Callable[[], Any]) -> None:
    """Run ``%%tfnb values``: every value of one tensor, in the loop if there is one."""
    names = {op.name for op in session.graph.get_operations()}
    name = "while/add:0" if "while/add" in names else "traced:0"
    Debugger(session, only_watches=True).attach().watch(name, keep=100)


@row(watches=True)
def steps_are_counted(session: tf.Session, run: Callable[[], Any]) -> None:
    """Attach an observer of steps only."""
    session.runtime.step_events.add(StepCounter())


@row(watches=True)
def nodes_are_counted(session: tf.Session, run: Callable[[], Any]) -> None:
    """Attach an observer of every node."""
    session.runtime.step_events.add(Counter())


class PicturesAreMade:
    """The sink of a distant browser: pictures are encoded as if they were sent."""

    def show(self, scene: Any, states: bytes, counters: dict[str, Any] | None = None) -> None:
        """Encode the picture."""
        if scene is not None:
            scene.encode()
        json.dumps(counters)


class StepCounter(StepObserver):
    """Counts steps."""

    never_raises = True

    def __init__(self) -> None:
        self.num_steps = 0

    def step_done(self, step_id: int, t_ns: int, error: str | None) -> None:
        """Count."""
        self.num_steps += 1


class Counter(StepObserver):
    """Counts nodes."""

    never_raises = True

    def __init__(self) -> None:
        self.num_nodes = 0

    def node_done(
        self,
        step_id: int,
        partition: int,
        node_id: int,
        frame_id: int,
        iteration: int,
        t_ns: int,
        is_dead: bool,
    ) -> None:
        """Count."""
        self.num_nodes += 1


def _look_away(events: object) -> None:
    pass


# -- workloads -------------------------------------------------------------------------------------


def constant() -> tuple[Any, dict[Any, Any], Any]:
    """Build a constant, which needs next to no work."""
    return tf.constant(1.0) * 2.0, {}, tf.no_op()


def chain() -> tuple[Any, dict[Any, Any], Any]:
    """Build a hundred vectors in a chain."""
    x = y = tf.placeholder(tf.float32, [64])
    for i in range(100):
        y = tf.maximum(y + 1.0, 0.5) if i % 2 else y * 0.75
    return y, {x: np.ones(64, np.float32)}, tf.no_op()


def loop() -> tuple[Any, dict[Any, Any], Any]:
    """Build two hundred iterations with a cond in each."""
    limit = tf.placeholder(tf.int32, [])

    def body(i: Any, total: Any) -> tuple[Any, Any]:
        more = tf.cond(tf.equal(i % 2, 0), lambda: total + 1.0, lambda: total * 0.5)
        return i + 1, more

    _, total = tf.while_loop(lambda i, _: i < limit, body, [0, 0.0])
    return total, {limit: 200}, tf.no_op()


def training() -> tuple[Any, dict[Any, Any], Any]:
    """Build a step of gradient descent on two small layers."""
    x, want = tf.placeholder(tf.float32, [32, 16]), tf.placeholder(tf.float32, [32, 4])
    first, second = tf.Variable(tf.ones([16, 24]) * 0.01), tf.Variable(tf.ones([24, 4]) * 0.01)
    found = tf.matmul(tf.nn.relu(tf.matmul(x, first)), second)
    loss = tf.reduce_mean(tf.square(found - want))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    feeds = {x: np.ones((32, 16), np.float32), want: np.ones((32, 4), np.float32)}
    return [loss, train], feeds, tf.global_variables_initializer()


# -- measuring -------------------------------------------------------------------------------------


def prepared(build: Callable[[], Any], name: str) -> tuple[tf.Session, Callable[[], Any]]:
    """Return a separate session to which a row was applied, and its run."""
    with tf.Graph().as_default() as graph:
        fetches, feeds, init = build()
        tf.constant(3.0, name="traced")
    session = tf.Session(graph=graph)
    session.run(init)

    def run() -> Any:
        return session.run(fetches, feeds)

    if name in ROWS:
        ROWS[name][0](session, run)
    for _ in range(5):
        run()
    return session, run


def block(run: Callable[[], Any], repeats: int) -> float:
    """Return the processor seconds of one run, as the mean of a block."""
    start = time.process_time()
    for _ in range(repeats):
        run()
    return (time.process_time() - start) / repeats


def middle(times: list[float]) -> float:
    """Return the median of the lower half, because other processes only add time."""
    return statistics.median(sorted(times)[: max(1, len(times) // 2)])


def measure(build: Callable[[], Any], names: list[str], rounds: int) -> dict[str, float]:
    """Return the seconds of a step of the bare session, under ``bare``, and each row's ratio.

    The addresses of arrays change the time of a small step by a tenth. Therefore several sets of
    new sessions are measured, and the median of their ratios counts.
    """
    bare, shares = [], {name: [] for name in names}
    idle = [name for name in names if not ROWS[name][1]]
    for _ in range(SETS):
        times = _measure_set(build, idle, rounds)
        bare.append(times["bare"])
        for name in idle:
            shares[name].append(times[name] / times["bare"])
    # An observer may still work in a thread, which must not affect the others.
    for name in names:
        if ROWS[name][1]:
            for _ in range(WATCHED_SETS):
                times = _measure_set(build, [name], max(2, rounds // 4))
                shares[name].append(times[name] / times["bare"])
    medians = {name: statistics.median(found) for name, found in shares.items()}
    return {"bare": statistics.median(bare), **medians}


def _measure_set(build: Callable[[], Any], names: list[str], rounds: int) -> dict[str, float]:
    order = ["bare", *names]
    random.shuffle(order)
    sessions = {name: prepared(build, name) for name in order}
    repeats = dict.fromkeys(order, max(1, round(BLOCK_S / block(sessions["bare"][1], 3))))
    for name in names:
        if ROWS[name][1]:
            # Watched steps may take hundreds of times as long; their blocks take as many seconds.
            repeats[name] = max(1, round(BLOCK_S / block(sessions[name][1], 3)))
    times: dict[str, list[float]] = {name: [] for name in sessions}
    gc.disable()
    try:
        for _ in range(rounds):
            for name in order:
                times[name].append(block(sessions[name][1], repeats[name]))
            order.reverse()
        gc.collect()
    finally:
        gc.enable()
    while AT_END:
        AT_END.pop()()
    for session, _ in sessions.values():
        session.close()
    return {name: middle(taken) for name, taken in times.items()}


def measure_all(rounds: int, part: str = "") -> dict[str, dict[str, float]]:
    """Return every workload's figures, as from :func:`measure`, of the rows with ``part``."""
    names = [name for name in ROWS if part in name]
    builds = [constant, chain, loop, training]
    return {build.__name__: measure(build, names, rounds) for build in builds}


def main() -> int:
    """Print a table; the exit status says whether a row without an observer costs too much.

    The limit is the aim plus the noise.
    """
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 16
    part = sys.argv[2] if len(sys.argv) > 2 else ""
    found = measure_all(rounds, part)
    names = [name for name in ROWS if part in name]
    width = max(map(len, names))
    head = "".join(f"{name:>12}" for name in found)
    bare = "".join(f"{times['bare'] * 1e6:9.1f} us" for times in found.values())
    lines = [f"{'':{width}}{head}", f"{'bare':{width}}{bare}"]
    noise = [abs(times["bare again"] - 1) for times in found.values() if "bare again" in times]
    allowed = AIM + max(noise, default=0.0)
    too_much = []
    for watches in (False, True):
        for name in names:
            if ROWS[name][1] is not watches:
                continue
            shares = [times[name] for times in found.values()]
            lines.append(f"{name:{width}}{''.join(f'{share:11.3f}x' for share in shares)}")
            if not watches and max(shares) > allowed:
                too_much.append(name)
        if not watches:
            lines.append("-" * (width + len(head)))
    sys.stdout.write("\n".join(lines) + "\n")
    if too_much:
        sys.stdout.write(f"above {allowed:.3f}: {', '.join(too_much)}\n")
    return 1 if too_much else 0


if __name__ == "__main__":
    sys.exit(main())
