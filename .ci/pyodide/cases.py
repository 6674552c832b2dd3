"""Runs inside of Pyodide: a first session, the stored cases, the magics; exits with 1 if one fails.

``/repository`` is the checkout, ``/cases`` a folder with further cases or nothing. ``run.mjs`` sets
``arguments``: "all" runs the cases that take long, too; other words select cases by name.
"""

from __future__ import annotations

import io
import sys
import time
import traceback
from contextlib import redirect_stdout
from pathlib import Path

sys.path.append("/repository")
WORDS = [word for word in globals().get("arguments", []) if word != "all"]
RUNS_ALL = "all" in globals().get("arguments", [])

# Cases that cannot pass here, and why.
KNOWN = {
    "queue_blocking_dequeue": "its steps run in a second thread",
    "queue_runner_csv": "its steps run in a second thread",
    "ops_math": "it casts to bfloat16, and the stand-in for ml_dtypes only holds bits",
    "model_mnist_cnn_train": "one of its answers depends on the last bit of a sum",
}
# Cases that take longer than five seconds.
LONG = frozenset(
    ["basic_pitch", "pose_mobilenet_thin_unfrozen", "tf_keras_resnet_train", "fsrcnn_train_x3"]
)
# Cells of one notebook, each with a text that its output contains.
CELLS = (
    ("%load_ext tfnb", ""),
    ("import tfnb as tf", ""),
    ("x = tf.placeholder(tf.float32, [2], name='x')\ny = tf.square(x, name='y') + 1.0", ""),
    ("session = tf.InteractiveSession()", ""),
    ("print(session.run(y, {x: [1, 2]}))", "[2. 5.]"),
    ("%tfnb graph y", "Square"),
    ("%tfnb placement y", "CPU:0"),
    ("%tfnb partitions y", "CPU:0"),
    ("%tfnb passes y", "pruning"),
    ("%tfnb devices", "CPU:0"),
    ("%tfnb running", ""),
    ("%%tfnb record\nsession.run(y, {x: [1, 2]})", "most time"),
    ("%tfnb times", "Square"),
    ("%%tfnb values y\nsession.run(y, {x: [1, 2]})", "y"),
    (
        "%%tfnb watch\nfor i in range(20):\n    session.run(y, {x: [i, 2]})\n"
        "loop = tf.while_loop(lambda i: i < 2000, lambda i: i + 1, [0])\nprint(session.run(loop))",
        "2000",
    ),
    (
        "slow = tf.while_loop(lambda i: i < 10 ** 9, lambda i: i + 1, [0])\n"
        "try:\n    session.run(slow, options=tf.RunOptions(timeout_in_ms=50))\n"
        "except tf.errors.DeadlineExceededError as error:\n    print('late:', error.message)",
        "late: Timed out",
    ),
    (
        "queue = tf.FIFOQueue(1, tf.int32)\n"
        "try:\n    session.run(queue.dequeue())\n"
        "except tf.errors.UnimplementedError as error:\n    print(error.message)",
        "cannot start a thread",
    ),
)


def first_session() -> None:
    """Import tfnb and run a first step, with times."""
    begin = time.perf_counter()
    import numpy as np

    at_numpy = time.perf_counter()
    import tfnb as tf

    at_tfnb = time.perf_counter()
    with tf.Session() as session:
        assert session.run(tf.constant(2.0) * 3.0) == 6.0
    end = time.perf_counter()
    print(
        f"Pyodide {globals().get('seconds_of_start', 0):.1f} s, numpy {np.__version__} "
        f"{at_numpy - begin:.2f} s, import tfnb {at_tfnb - at_numpy:.2f} s, "
        f"first session {end - at_tfnb:.2f} s",
        flush=True,
    )


def run_cases() -> list[str]:
    """Run the stored cases; return the names of those that failed and should not."""
    from tests.cases.replay import Replay

    own = Path("/repository/tests/cases/own").glob("*/case.json")
    folders = [path.parent for path in (*own, *Path("/cases").glob("**/case.json"))]
    passed, failed, left_out = 0, [], 0
    for folder in sorted(folders):
        name = folder.name
        if WORDS and not any(word in name for word in WORDS):
            continue
        if name in LONG and not (RUNS_ALL or WORDS):
            left_out += 1
            continue
        try:
            Replay(folder).run()
            passed += 1
        except Exception as error:
            if name in KNOWN:
                print(f"  {name}: {KNOWN[name]}", flush=True)
                continue
            failed.append(name)
            print(f"FAILED {name}: {type(error).__name__}: {str(error)[:500]}", flush=True)
            if WORDS:
                traceback.print_exc()
    print(f"{passed} cases passed, {len(failed)} failed, {left_out} long ones left out", flush=True)
    return failed


def run_magics() -> list[str]:
    """Run the cells; return those that failed."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=config)
    failed = []
    for cell, wanted in CELLS:
        output = io.StringIO()
        print(f"  {cell.splitlines()[0]}", flush=True)
        with redirect_stdout(output):
            result = shell.run_cell(cell)
        if not result.success or wanted not in output.getvalue():
            failed.append(cell)
            print(f"FAILED cell {cell!r}\n{output.getvalue()[:2000]}", flush=True)
    print(f"{len(CELLS) - len(failed)} cells passed, {len(failed)} failed", flush=True)
    return failed


first_session()
IS_SHORT = WORDS == ["magics"]
failures = [] if IS_SHORT else run_cases()
if IS_SHORT or not WORDS:
    failures += run_magics()
if failures:
    raise SystemExit(1)
