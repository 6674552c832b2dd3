"""Which node owns which buffer, and when it is freed."""

from __future__ import annotations

import tracemalloc

import numpy as np

from tfnb.common_runtime.looking.allocation_tracker import (
    AllocationTracker,
    TemporaryMemory,
    allocator_name,
    human_readable_bytes,
)

DEVICE = "/device:CPU:0"


def make(tracker, node, num_bytes):
    """Return an array of n bytes that a node allocated."""
    value = np.ones(num_bytes, np.int8)
    buffer, is_first = tracker.find(value)
    assert is_first
    tracker.made(buffer, DEVICE, node)
    return value


def test_views_share_the_allocation_of_their_owner():
    """A slice of a reshaped array is the same memory; a copy is not."""
    tracker, value = AllocationTracker(), np.zeros(12)
    buffer, _ = tracker.find(value)
    view = value.reshape(3, 4)[1:]
    assert tracker.find(view) == (buffer, False)
    other, is_first = tracker.find(value.copy())
    assert is_first
    assert other.allocation_id != buffer.allocation_id


def test_a_buffer_keeps_its_id_in_later_steps():
    """A buffer keeps its id while it lives.

    The next one has another id, even at the same address.
    """
    value = np.zeros(12)
    first, _ = AllocationTracker().find(value)
    second, _ = AllocationTracker().find(value)
    assert first.allocation_id == second.allocation_id
    del value
    third, _ = AllocationTracker().find(np.zeros(12))
    assert third.allocation_id > second.allocation_id


def test_watching_keeps_nothing_alive():
    """Tracking does not keep a buffer alive; the count decreases when it is freed."""
    tracker = AllocationTracker()
    first, second = make(tracker, "a", 100), make(tracker, "b", 50)
    assert tracker.bytes_in_use(DEVICE, "cpu") == 150
    del first
    assert tracker.bytes_in_use(DEVICE, "cpu") == 50
    third = make(tracker, "c", 20)
    assert tracker.bytes_in_use(DEVICE, "cpu") == second.nbytes + third.nbytes
    assert tracker.peak == {(DEVICE, "cpu"): 150}


def test_the_report_lists_the_largest_first():
    """Sizes are formatted as in TensorFlow; a node without buffers is left out."""
    tracker = AllocationTracker()
    kept = [make(tracker, "small", 512), make(tracker, "large", 4 << 20), make(tracker, "b", 2048)]
    make(tracker, "gone", 1 << 20)
    assert tracker.report() == (
        f"\nCurrent usage from device: {DEVICE}, allocator: cpu\n"
        "  4.00MiB from large\n"
        "  Remaining 2 nodes with 2.5KiB\n"
    )
    del kept


def test_a_report_lists_a_hundred_nodes_at_most():
    """Further nodes are summed up."""
    tracker = AllocationTracker()
    kept = [make(tracker, f"n{number}", 1000) for number in range(150)]
    lines = tracker.report().splitlines()
    assert len(lines) == 103
    assert lines[-1] == "  Remaining 50 nodes with 48.8KiB"
    del kept


def test_a_scalar_counts_while_it_is_referenced():
    """A scalar accepts no weak references, so it counts at most until the end of the step."""
    tracker = AllocationTracker()
    kept, gone = np.float32(1.5), np.float32(2.5)
    buffers = []
    for value in (kept, gone):
        buffer, _ = tracker.find(value)
        tracker.made(buffer, DEVICE, "n")
        buffers.append(buffer)
    del value, gone
    assert [buffer.is_live for buffer in buffers] == [True, False]
    tracker.finish()
    assert [buffer.freed_ns > 0 for buffer in buffers] == [False, True]
    assert kept == 1.5


def test_sizes_are_readable():
    """Bytes without a fraction, KiB with one digit, more with two."""
    sizes = [0, 1023, 1024, 1536, 1 << 20, 3 << 30, 5 << 40, 1 << 50, 1 << 60]
    assert [human_readable_bytes(size) for size in sizes] == [
        "0B", "1023B", "1.0KiB", "1.5KiB", "1.00MiB", "3.00GiB", "5.00TiB", "1.00PiB", "1.00EiB",
    ]  # fmt: skip


def test_host_memory_has_one_allocator():
    """NumPy's arrays and scalars have the host's allocator."""
    assert allocator_name(np.zeros(2)) == allocator_name(np.float32(1)) == "cpu"


def test_temporary_memory_is_what_was_taken_and_given_back():
    """Temporary memory counts: a kernel makes a megabyte for a small result."""
    measured = TemporaryMemory()
    try:
        measured.begin((0, 1))
        result = np.ones(1 << 20, np.int8)[:10].copy()
        taken = measured.end((0, 1), result.nbytes)
    finally:
        measured.close()
    assert 1 << 20 <= taken < (1 << 20) + 100_000
    assert not tracemalloc.is_tracing()


def test_a_measurement_that_was_forgotten_ends():
    """An interrupt may prevent the end of a measurement.

    The end of another one does not affect it.
    """
    forgotten = TemporaryMemory()
    forgotten.begin((0, 1))
    assert tracemalloc.is_tracing()
    other = TemporaryMemory()
    other.begin((0, 1))
    assert other.end((0, 1), -(1 << 20)) == 0
    del forgotten
    assert not tracemalloc.is_tracing()
    heir = TemporaryMemory()
    heir.begin((0, 1))
    del other
    assert heir.end((0, 1), -(1 << 20)) > 0
    heir.close()
    tracemalloc.start()
    del heir
    assert tracemalloc.is_tracing()
    tracemalloc.stop()


def test_a_measurement_that_others_stopped_is_over():
    """A measurement ends if other code stops the interpreter's trace."""
    stopped = TemporaryMemory()
    stopped.begin((0, 1))
    tracemalloc.stop()
    other = TemporaryMemory()
    other.begin((0, 1))
    assert tracemalloc.is_tracing()
    stopped.close()
    assert tracemalloc.is_tracing()
    other.close()
    assert not tracemalloc.is_tracing()


def test_what_other_nodes_took_is_not_told_as_a_nodes_own():
    """A node does not get the memory of nodes that ran while it waited."""
    measured = TemporaryMemory()
    try:
        measured.begin((0, 1))
        measured.begin((0, 2))
        np.ones(1 << 20, np.int8)
        assert measured.end((0, 1), 0) == 0
    finally:
        measured.close()


def test_the_users_own_trace_of_memory_is_left_alone():
    """The user's own trace of memory continues, and nothing is measured."""
    tracemalloc.start()
    try:
        measured = TemporaryMemory()
        measured.begin((0, 1))
        np.ones(1 << 20, np.int8)
        assert measured.end((0, 1), 0) == 0
        measured.close()
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()
