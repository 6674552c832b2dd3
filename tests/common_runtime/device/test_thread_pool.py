"""Pools of threads: declaration, sharing and end."""

from __future__ import annotations

import gc
import threading

import pytest

from tfnb.common_runtime.device.thread_pool import (
    InterOpThreadPools,
    ThreadPool,
    default_num_threads,
)
from tfnb.core import errors
from tfnb.proto import config_pb2

LIMIT_S = 60


def config(**fields):
    """A configuration."""
    return config_pb2.ConfigProto(**fields)


def declared(*pools, **fields):
    """Return a configuration with these (global name, number of threads)."""
    found = config(**fields)
    for name, num_threads in pools:
        found.session_inter_op_thread_pool.add(global_name=name, num_threads=num_threads)
    return found


def threads_of(pool, count):
    """Return the threads of ``count`` pieces of work that exist at the same time."""
    barrier, found = threading.Barrier(count + 1), []

    def work():
        found.append(threading.current_thread())
        barrier.wait(LIMIT_S)

    for _ in range(count):
        pool.schedule(work)
    barrier.wait(LIMIT_S)
    return found


def test_work_runs_on_as_many_threads_as_there_are():
    """Three pieces of work that wait for each other need three threads."""
    pool = ThreadPool("p", 3)
    found = threads_of(pool, 3)
    assert len(set(found)) == 3
    assert threading.current_thread() not in found
    assert {thread.name for thread in found} == {"p_0", "p_1", "p_2"}
    pool.close()
    assert pool.join(LIMIT_S)


def test_a_pool_without_work_has_no_threads():
    """Threads start with the first work."""
    before = set(threading.enumerate())
    pool = ThreadPool("p", 5)
    assert set(threading.enumerate()) <= before  # threads of other tests may end meanwhile
    pool.close()
    assert pool.join(0)


def test_a_closed_pool_finishes_what_it_has_and_takes_nothing_more():
    """Queued work is done, and then the threads end."""
    pool, gate, done = ThreadPool("p", 1), threading.Event(), []
    pool.schedule(lambda: done.append(gate.wait(LIMIT_S)))
    pool.schedule(lambda: done.append("second"))
    pool.close()
    with pytest.raises(errors.CancelledError, match="Thread pool 'p' has been closed"):
        pool.schedule(print)
    gate.set()
    assert pool.join(LIMIT_S)
    assert done == [True, "second"]


def test_threads_of_a_forgotten_pool_end():
    """The pool is not closed."""
    pool = ThreadPool("p", 2)
    threads = threads_of(pool, 2)
    del pool
    gc.collect()
    for thread in threads:
        thread.join(LIMIT_S)
        assert not thread.is_alive()


def test_by_default_there_is_no_pool():
    """One thread or a negative number mean the calling thread."""
    for number in (0, 1, -1):
        pools = InterOpThreadPools(config(inter_op_parallelism_threads=number))
        assert pools.default is None
        assert pools.choose(0) is pools.choose(-1) is None


def test_a_named_pool_is_shared_by_its_name():
    """Another number of threads is an error; unnamed pools belong to one configuration."""
    first = InterOpThreadPools(declared(("shared-here", 2), ("", 1)))
    second = InterOpThreadPools(declared(("shared-here", 2), ("", 1)))
    assert first.choose(0) is second.choose(0)
    assert first.choose(1) is not second.choose(1)
    assert first.error is second.error is None
    third = InterOpThreadPools(declared(("shared-here", 3)))
    assert third.choose(0) is first.choose(0)
    assert third.error is not None
    assert "cannot re-configure with num_threads=3" in third.error.message


def test_closing_a_session_s_pools_leaves_the_global_ones():
    """Other sessions use their threads."""
    pools = InterOpThreadPools(declared(("lives-on", 1), ("", 1)))
    own = threads_of(pools.choose(1), 1)
    kept = threads_of(pools.choose(0), 1)
    pools.close()
    assert pools.join(LIMIT_S)
    assert not own[0].is_alive()
    assert kept == threads_of(InterOpThreadPools(declared(("lives-on", 1))).choose(0), 1)


def test_a_pool_that_names_no_number_has_the_session_s():
    """The number is inter_op_parallelism_threads, else one thread per processor."""
    pools = InterOpThreadPools(declared(("", 0), inter_op_parallelism_threads=3))
    assert pools.default.num_threads == 3
    assert InterOpThreadPools(declared(("", 0))).default.num_threads == default_num_threads(
        config()
    )
    assert default_num_threads(config()) >= 1


def test_a_negative_number_of_threads_is_refused():
    """The error replaces TensorFlow's end of the process."""
    with pytest.raises(errors.InvalidArgumentError, match="num_threads=-3; it must be positive"):
        InterOpThreadPools(declared(("", -3)))


def test_each_session_may_have_threads_of_its_own():
    """use_per_session_threads gives a session its own threads."""
    asked = config(use_per_session_threads=True, inter_op_parallelism_threads=1)
    first, second = InterOpThreadPools(asked), InterOpThreadPools(asked)
    assert first.default is not second.default
    assert first.default.num_threads == 1


def test_sessions_that_ask_for_parallelism_share_the_pool_of_the_process():
    """Numbers of later sessions are ignored."""
    first = InterOpThreadPools(config(inter_op_parallelism_threads=2))
    second = InterOpThreadPools(config(inter_op_parallelism_threads=3))
    assert first.default is second.default is not None


def test_minus_one_is_the_calling_thread_for_steps_on_one_device():
    """A step over several devices uses the first pool."""
    pools = InterOpThreadPools(declared(("", 1), ("", 1)))
    assert pools.choose(-1, 1) is None
    assert pools.choose(-1, 2) is pools.choose(0) is pools.default
    for index in (2, 5, -2):
        with pytest.raises(errors.InvalidArgumentError, match=f"inter_op_thread_pool: {index}"):
            pools.choose(index)
