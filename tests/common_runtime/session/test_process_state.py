"""Settings of the process that the first session makes."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tfnb.common_runtime.session import process_state

_FIRST_DECIDES = """
import tfnb as tf
from tfnb.core.process import work_sharder
for number in {numbers}:
    tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=number))
    print(work_sharder.num_threads())
"""


def _run(numbers: list[int], **variables: str) -> list[int]:
    kept = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    program = [sys.executable, "-c", _FIRST_DECIDES.format(numbers=numbers)]
    done = subprocess.run(
        program, env=kept | variables, capture_output=True, text=True, check=True, timeout=280
    )
    return [int(line) for line in done.stdout.split()]


@pytest.mark.slow
def test_the_first_session_says_how_many_threads_a_kernel_has() -> None:
    """The threads belong to the process, as in TensorFlow."""
    assert _run([3, 1]) == [3, 3]


@pytest.mark.slow
def test_without_a_wish_the_limit_of_blas_holds() -> None:
    """If BLAS is limited to one thread, kernels use one thread as well."""
    assert _run([0], OPENBLAS_NUM_THREADS="1") == [1]


_MEMORY_OF_A_THREAD = """
import resource, threading
from tfnb.common_runtime.session import process_state
from tfnb.proto.config_pb2 import ConfigProto
process_state.prepare_for_messages()
process_state.prepare(ConfigProto())  # a session of this process changes nothing of it
def work():
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        message = b"x" * (100 << 20)
        del message
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
faults = []
thread = threading.Thread(target=work)
thread.start()
thread.join()
print(*faults)
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is configured")
def test_a_thread_gets_the_memory_of_a_large_message_again() -> None:
    """The second message takes no new pages from the system, the first takes 25,600 of 4 KB."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_TUNABLES"))}
    program = [sys.executable, "-c", _MEMORY_OF_A_THREAD]
    done = subprocess.run(
        program, env=kept, capture_output=True, text=True, check=True, timeout=280
    )
    first, second = map(int, done.stdout.split())
    assert second < first / 4


_MEMORY_OF_A_SESSION = """
import resource
import numpy as np
import tfnb as tf
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
with tf.Session(graph=tf.Graph()) as sess:
    sess.run(tf.constant(1.0))
    for _ in range(2):
        before = faults()
        large, behind = np.ones(100 << 20, np.uint8), np.ones(1 << 16, np.uint8)
        print(faults() - before, end=" ")
        del large
    held = resident()
print(held - resident())
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is configured")
def test_freed_memory_is_used_again_until_a_session_is_closed() -> None:
    """The second large array takes no new pages; ``close`` gives a gap in the heap back.

    A session that ran no step has nothing to give back.
    """
    if not hasattr(ctypes.CDLL(None), "mallinfo2"):
        pytest.skip("glibc before 2.33 does not tell how much is free")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_TUNABLES"))}
    program = [sys.executable, "-c", _MEMORY_OF_A_SESSION]
    done = subprocess.run(
        program, env=kept, capture_output=True, text=True, check=True, timeout=280
    )
    first, second, given_back = map(int, done.stdout.split())
    assert second < first / 2  # 66 pages at least: a huge one has 2 MB
    assert given_back > 90 << 20


class _Libc:
    """A C library that counts a gigabyte as free, also after it was given back."""

    def __init__(self) -> None:
        self.num_trims = 0

    def mallinfo2(self) -> SimpleNamespace:
        """Return what is free."""
        return SimpleNamespace(free=1 << 30)

    def malloc_trim(self, pad: object) -> None:
        """Count a call."""
        self.num_trims += 1


def test_memory_is_given_back_again_only_once_the_process_has_more(monkeypatch) -> None:
    """A pass over all free memory takes longer than a short session."""
    found, resident = _Libc(), [0]
    libc = SimpleNamespace(mallinfo2=lambda: found.mallinfo2(), malloc_trim=found.malloc_trim)
    monkeypatch.setattr(process_state, "_keeps_memory", True)
    monkeypatch.setattr(process_state, "_has_messages", False)
    monkeypatch.setattr(process_state, "_least_resident", 0)
    monkeypatch.setattr(process_state, "_next_look", 0.0)
    monkeypatch.setattr(process_state.ctypes, "CDLL", lambda name: libc)
    monkeypatch.setattr(process_state.host_memory, "resident_bytes", lambda: resident[0])
    counts = []
    for megabytes in (500, 500, 520, 300, 340, 400, 400):
        resident[0] = megabytes << 20
        process_state.give_memory_back()
        counts.append(found.num_trims)
    assert counts == [1, 1, 1, 1, 1, 2, 2]


def test_a_look_that_finds_little_memory_is_not_repeated_at_once(monkeypatch) -> None:
    """Sessions that are opened and closed beside a large one do not pay for its memory."""
    looks: list[float] = []
    now = [0.0]

    def mallinfo2() -> SimpleNamespace:
        looks.append(now[0])
        now[0] += 0.001
        return SimpleNamespace(free=1 << 20)

    libc = SimpleNamespace(mallinfo2=mallinfo2, malloc_trim=None)
    monkeypatch.setattr(process_state, "_keeps_memory", True)
    monkeypatch.setattr(process_state, "_has_messages", False)
    monkeypatch.setattr(process_state, "_least_resident", 0)
    monkeypatch.setattr(process_state, "_next_look", 0.0)
    monkeypatch.setattr(process_state, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(process_state.ctypes, "CDLL", lambda name: libc)
    monkeypatch.setattr(process_state.host_memory, "resident_bytes", lambda: 1 << 30)
    for _ in range(1000):
        process_state.give_memory_back()
        now[0] += 0.0001
    assert 1 < len(looks) < 5
