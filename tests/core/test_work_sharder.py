"""The work of a kernel on several threads is done completely and once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tfnb.core.process import work_sharder
from tfnb.core.process.work_sharder import shard

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONG_S = 60


@pytest.fixture
def three_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Three threads for the duration of the test, none of which was late before."""
    monkeypatch.setattr(work_sharder, "_late", work_sharder._Late())
    before = work_sharder.num_threads()
    work_sharder.set_num_threads(3)
    yield
    work_sharder.set_num_threads(before)


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("total", [0, 1, 2, 7, 1000])
@pytest.mark.parametrize("least", [0, 1, 3, 5000])
@pytest.mark.parametrize("unit", [1, 16])
def test_every_unit_is_worked_on_once(total: int, least: int, unit: int) -> None:
    """Numbers of units and costs vary; pieces begin at multiples."""
    times = np.zeros(total, int)

    def work(first: int, last: int) -> None:
        assert first < last
        assert first % unit == 0
        times[first:last] += 1

    shard(total, least, work, unit)
    assert times.tolist() == [1] * total


@pytest.mark.usefixtures("three_threads")
def test_several_threads_work_at_once() -> None:
    """Two pieces wait for each other, which one thread could not finish."""
    meeting = threading.Barrier(2, timeout=_LONG_S)
    names = set()

    def work(first: int, last: int) -> None:
        meeting.wait()
        names.add(threading.current_thread().name)

    shard(2, 1, work)
    assert len(names) == 2


@pytest.mark.usefixtures("three_threads")
def test_a_caller_does_not_wait_for_helpers_that_did_not_come() -> None:
    """One caller occupies all helpers; another finishes alone."""
    begun, go_on = threading.Semaphore(0), threading.Event()

    def long_work(first: int, last: int) -> None:
        begun.release()
        assert go_on.wait(_LONG_S)

    keeper = threading.Thread(target=shard, args=(3, 1, long_work))
    keeper.start()
    for _ in range(3):
        assert begun.acquire(timeout=_LONG_S)
    done = []
    shard(9, 1, lambda first, last: done.extend(range(first, last)))
    assert sorted(done) == list(range(9))
    go_on.set()
    keeper.join()


@pytest.mark.usefixtures("three_threads")
def test_an_error_reaches_the_caller() -> None:
    """Errors of any thread are raised; pieces that have not begun are dropped."""

    def work(first: int, last: int) -> None:
        raise ValueError(f"unit {first} is bad")

    with pytest.raises(ValueError, match=r"unit \d is bad"):
        shard(6, 1, work)
    done = []
    shard(6, 1, lambda first, last: done.append(last - first))
    assert sum(done) == 6


@pytest.mark.usefixtures("three_threads")
def test_after_an_interrupt_no_thread_writes() -> None:
    """An interrupted caller returns after the other threads have ended their pieces."""
    others, caller = [], threading.current_thread()
    both = threading.Barrier(2, timeout=_LONG_S)

    def work(first: int, last: int) -> None:
        both.wait()
        if threading.current_thread() is caller:
            raise KeyboardInterrupt
        others.append(first)

    with pytest.raises(KeyboardInterrupt):
        shard(2, 1, work)
    assert len(others) == 1


def test_an_interrupt_behind_the_last_helper_does_not_wait() -> None:
    """The interrupt arrives after the gate was taken, which would not be opened a second time."""
    asked: list[float] = []

    class Gate:
        """Lets the caller in, and interrupts it there."""

        def acquire(self, timeout: float = -1) -> bool:
            asked.append(timeout)
            raise KeyboardInterrupt

    job = work_sharder._Job([0, 1], lambda first, last: None)
    job._gate = Gate()
    with pytest.raises(KeyboardInterrupt):
        job._wait()
    assert asked == [-1]


def test_one_thread_gets_all_in_one_piece() -> None:
    """With intra_op_parallelism_threads of 1 there is one piece."""
    before = work_sharder.num_threads()
    work_sharder.set_num_threads(1)
    calls = []
    shard(100, 1, lambda first, last: calls.append((first, last)))
    work_sharder.set_num_threads(before)
    assert calls == [(0, 100)]


@pytest.mark.usefixtures("three_threads")
def test_calls_after_late_helpers_are_not_shared() -> None:
    """The more helpers were late, the more calls; each is complete."""
    late = work_sharder._late
    pieces: list[int] = []
    for _ in range(8):
        late.note(0.001, 0.5)
        while late.jobs:
            shard(100, 1, lambda first, last: pieces.append(last - first))
    assert late._level == late._MOST_LEVEL
    expected = sum(late._JOBS << min(i, late._MOST_LEVEL) for i in range(1, 9))
    assert pieces == [100] * expected
    for _ in range(late._MOST_LEVEL * late._TIMELY):
        late.note(0.001, 0.0005)
    assert (late._level, late.jobs) == (0, 0)
