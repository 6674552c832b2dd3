"""Reading the threads of a process, or its memory, neither blocks nor crashes it.

Both read data of the interpreter that other threads may be changing. Each scene is a process of its
own, because a failure is a crash or a deadlock.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import tfnb as tf
from tfnb.common_runtime.looking.allocation_tracker import TemporaryMemory

if TYPE_CHECKING:
    from collections.abc import Callable


def alongside(work: Callable[[], object]) -> threading.Thread:
    """Repeat a call in a thread for as long as the process lives."""

    def repeat() -> None:
        while True:
            work()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    return thread


def a_short_thread() -> None:
    """Run a thread that ends at once."""
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()


def collected(phase: str, info: object) -> None:
    """A callback for garbage collections, during which other threads continue."""
    for _ in range(200):
        pass


def looking() -> None:
    """Run steps, short threads, garbage, and a thread that reads the running nodes."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        loop = tf.while_loop(lambda i, _: i < 20, lambda i, t: (i + 1, tf.sin(t) + x), [0, x])[1]
    session = tf.Session(graph=graph)
    expected = session.run(loop, {x: 1.0})
    alongside(lambda: session.run(loop, {x: 1.0}))
    alongside(a_short_thread)
    was = gc.get_threshold()
    gc.callbacks.append(collected)
    gc.set_threshold(1, 1000, 1000)
    found = [len(session.running_nodes()) for _ in range(30_000)]
    assert gc.isenabled()
    gc.set_threshold(*was)
    gc.callbacks.clear()
    print(set(found) <= {0, 1}, session.run(loop, {x: 1.0}) == expected)


def looking_together() -> None:
    """Several readers at once leave the collector's setting as it was."""
    is_there, may_go = threading.Event(), threading.Event()

    def wait(value: np.ndarray) -> np.ndarray:
        is_there.set()
        may_go.wait()
        return value

    with tf.Graph().as_default() as graph:
        slow = tf.py_func(wait, [tf.constant(1.0)], tf.float32)
    session = tf.Session(graph=graph)
    step = threading.Thread(target=session.run, args=(slow,))
    step.start()
    is_there.wait()
    for is_on in (True, False):
        (gc.enable if is_on else gc.disable)()
        others = [
            threading.Thread(target=lambda: [session.running_nodes() for _ in range(500)])
            for _ in range(3)
        ]
        for other in others:
            other.start()
        for other in others:
            other.join()
        print(gc.isenabled() == is_on, end=" ")
    may_go.set()
    step.join()


def measuring() -> None:
    """Cast arrays in other threads, run short threads, and measure a kernel's memory."""
    few, many = np.ones(40_000, np.float32), np.ones(40_000)
    for _ in range(2):
        alongside(lambda: few + many)
    alongside(a_short_thread)
    is_seen = True
    for _ in range(1_500):
        measured = TemporaryMemory()
        measured.begin((0, 0, 1))
        np.empty(1 << 24, np.int8)
        # Memory of other threads may be freed meanwhile.
        is_seen &= measured.end((0, 0, 1), 0) > 1 << 23
        measured.close()
    print(is_seen)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scene", "said"),
    [(looking, "True True"), (looking_together, "True True"), (measuring, "True")],
)
def test_others_that_go_on_are_no_danger(scene: Callable[[], None], said: str) -> None:
    """The scene plays to its end."""
    program = (
        f"import os, sys; from {__name__} import {scene.__name__}; sys.setswitchinterval(1e-5); "
        f"{scene.__name__}(); sys.stdout.flush(); os._exit(0)"
    )
    root = Path(__file__).parents[3]
    found = subprocess.run(
        [sys.executable, "-c", program],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert (found.returncode, found.stdout.strip()) == (0, said), found.stderr
