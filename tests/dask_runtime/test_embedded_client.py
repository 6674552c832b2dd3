"""Workers that tfnb starts on this machine where no client is given, and interrupts there."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import tempfile
from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import distributed
import numpy as np
import pytest

import tfnb as tf
from tests.interrupts import interrupted
from tests.polling import wait_until
from tfnb.dask_runtime import clients

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# A warning as an error in a thread of Dask would keep it from starting a killed worker again.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

ROWS = np.arange(40, dtype=np.float32).reshape(20, 2)
# With it, Dask does not call a function here to find out what it returns.
META = np.empty((0, 0), np.float32)


@pytest.fixture(scope="module", autouse=True)
def _ended() -> Iterator[None]:
    """End the workers with the file."""
    assert clients.current_client() is None
    yield
    client = clients.current_client()
    if client is not None:
        client.close()


@pytest.fixture
def embedded() -> Any:
    """The client of this process; the first test starts it."""
    return tf.dask.get_client()


def test_without_a_client_there_is_a_worker_for_each_core(frozen: str, embedded: Any) -> None:
    """Its processes of one thread listen on this machine only; Dask uses the client, too."""
    model = tf.Model(frozen, outputs="y")
    y = model.map(da.from_array(ROWS, chunks=(5, 2)))

    np.testing.assert_array_equal(y.compute(), model(ROWS))
    assert distributed.default_client() is embedded
    assert tf.dask.get_client() is embedded
    assert list(embedded.nthreads().values()) == [1] * len(os.sched_getaffinity(0))
    assert all(clients.is_loopback(host) for host in clients.hosts_of(embedded).values())


def test_workers_that_start_here_are_not_profiled(embedded: Any) -> None:
    """It would take a part of each processor; Dask's configuration in this process stays."""

    def is_profiled() -> tuple[bool, str]:
        names = ("distributed.worker.profile.enabled", "distributed.admin.tick.interval")
        enabled, interval = map(dask.config.get, names)
        return enabled, interval

    assert set(embedded.run(is_profiled).values()) == {(False, "500ms")}
    assert is_profiled() == (True, "20ms")


def test_a_sweep_without_a_client_or_a_folder_runs(embedded: Any) -> None:
    """Its checkpoints are in a new folder of this machine."""
    sweep = tf.sweep(_count, {"number": [1, 2]})
    sweep.result()

    assert sweep.values() == [1, 2], repr(sweep)
    assert os.path.isdir(sweep.directory)


def _count(run: Any, number: int) -> int:
    with tf.Session() as sess:
        run.report(1, loss=0.0)
        return int(sess.run(tf.constant(number)))


def test_workers_ignore_interrupts(embedded: Any) -> None:
    """A terminal sends Ctrl-C to all processes; only the user's own is meant."""
    assert set(embedded.run(_ignores_interrupts).values()) == {True}


def _ignores_interrupts() -> bool:
    return signal.getsignal(signal.SIGINT) == signal.SIG_IGN


def test_an_interrupt_of_compute_ends_the_waiting(
    frozen: str, embedded: Any, tmp_path: Path
) -> None:
    """The worker goes on with the block that runs; then the same workers compute another."""
    before = embedded.run(os.getpid)
    goes_on = tmp_path / "goes_on"
    folder = tmp_path / "started"
    folder.mkdir()
    model = tf.Model(frozen, outputs="y")
    y = model.map(
        da.from_array(ROWS, chunks=(20, 2)).map_blocks(
            _wait_for_file, str(folder), str(goes_on), meta=META
        )
    )
    interrupted(y.compute, lambda: wait_until(lambda: any(folder.iterdir())))
    goes_on.touch()

    again = model.map(da.from_array(ROWS, chunks=(5, 2)))
    np.testing.assert_array_equal(again.compute(), model(ROWS))
    assert embedded.run(os.getpid) == before


def _wait_for_file(block: Any, folder: str, goes_on: str) -> Any:
    """Say that the block runs, and wait until it may end."""
    tempfile.mkstemp(dir=folder)
    wait_until(lambda: os.path.exists(goes_on))
    return block


class _EndlessRows:
    """A block with more rows than any computer runs through a model."""

    shape = (2**60, 2)

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._parts = itertools.count()

    def __len__(self) -> int:
        return 2**60

    def __getitem__(self, rows: slice) -> Any:
        if next(self._parts) == 1:  # the first batch went through the model
            tempfile.mkstemp(dir=self._folder)
        return np.ones((rows.stop - rows.start, 2), np.float32)


def _endless(block: Any, folder: str) -> Any:
    return _EndlessRows(folder)


def test_an_interrupt_of_compute_ends_blocks_after_a_batch(
    frozen: str, embedded: Any, tmp_path: Path
) -> None:
    """All workers are busy with blocks that do not end; afterwards they are free."""
    before = embedded.run(os.getpid)
    model = tf.Model(frozen, outputs="sums")
    given = da.ones((len(before), 2), chunks=(1, 2), dtype=np.float32)
    sums = model.map(given.map_blocks(_endless, str(tmp_path), meta=META), batch_size=1)
    interrupted(sums.compute, lambda: wait_until(lambda: len([*tmp_path.iterdir()]) >= len(before)))

    again = model.map(da.from_array(ROWS, chunks=(1, 2)))
    np.testing.assert_array_equal(again.compute(), model(ROWS))
    assert embedded.run(os.getpid) == before


def test_a_closed_client_of_this_process_is_replaced(frozen: str, embedded: Any) -> None:
    """The next call starts workers again; the closed one is refused where it is given."""
    embedded.close()
    with pytest.raises(tf.errors.FailedPreconditionError, match="is closed"):
        tf.dask.get_client(embedded)

    model = tf.Model(frozen, outputs="y")
    y = model.map(da.from_array(ROWS, chunks=(5, 2)))
    np.testing.assert_array_equal(y.compute(), model(ROWS))
    assert tf.dask.get_client() is not embedded


def test_a_script_that_a_worker_imports_starts_no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says where the call belongs; without it each worker would start others."""
    monkeypatch.setattr(clients, "current_client", lambda: None)
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    with pytest.raises(tf.errors.FailedPreconditionError, match="if __name__ == '__main__'"):
        tf.dask.get_client()


def test_a_client_must_be_one(embedded: Any) -> None:
    """Another object, or a client for `await`, is refused."""
    with pytest.raises(TypeError, match=r"must be a distributed\.Client, not str"):
        tf.dask.get_client("tcp://127.0.0.1:1")
