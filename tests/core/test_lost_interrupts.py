"""An interrupt in a finalizer reaches the program."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import signal, sys, weakref
before = []
sys.unraisablehook = lambda args: before.append(args.exc_type.__name__)
import tfnb as tf

class Thing:
    def __del__(self):
        {in_finalizer}

with tf.Session(graph=tf.Graph()) as sess:
    pass
try:
    thing = Thing()
    del thing
    while "ValueError" not in before:
        pass
    print("went on", before)
except KeyboardInterrupt:
    print("interrupted", before)
"""


_OTHER_THREAD = """
import sys, threading
before = []
sys.unraisablehook = lambda args: before.append(args.exc_type.__name__)
import tfnb as tf

class Thing:
    def __del__(self):
        raise KeyboardInterrupt

with tf.Session(graph=tf.Graph()) as sess:
    pass
threads = [threading.Thread(target=Thing) for _ in range(20)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(before), set(before))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("in_finalizer", "printed"),
    [
        ("signal.raise_signal(signal.SIGINT)", "interrupted []"),
        ("raise ValueError", "went on ['ValueError']"),
    ],
)
def test_an_interrupt_of_a_finalizer_strikes_again(in_finalizer: str, printed: str) -> None:
    """The interrupted loop ends; errors of finalizers go to the earlier hook."""
    found = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(in_finalizer=in_finalizer)],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert (found.stdout.strip(), found.stderr) == (printed, "")


@pytest.mark.slow
def test_what_interrupts_another_thread_leaves_the_main_thread_alone() -> None:
    """The earlier hook gets it, as without tfnb."""
    found = subprocess.run(
        [sys.executable, "-c", _OTHER_THREAD],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert (found.stdout.strip(), found.stderr) == ("20 {'KeyboardInterrupt'}", "")
