"""``tfnb.sweep`` on real workers: reports, cancelling, checkpoints, a dead worker."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tests import polling
from tests.interrupts import interrupted
from tfnb.client.live_runs import find_run_group

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# A warning as an error in a thread of Dask would keep it from starting a killed worker again.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


def train(run: Any, rate: float, steps: int = 10) -> float:
    """Minimise a square."""
    x = tf.get_variable("x", initializer=4.0)
    loss = x * x
    step = tf.train.get_or_create_global_step()
    descend = tf.train.GradientDescentOptimizer(rate).minimize(loss, step)
    with run.session(
        {"loss": loss, "x": x}, save_checkpoint_steps=2, save_checkpoint_secs=None
    ) as sess:
        while sess.run(step) < steps:
            sess.run(descend)
        return float(sess.run(x))


def wait_for_rows(sweep: Any, holds: Callable[[list[Any]], bool]) -> None:
    """Wait for reports until something holds for the rows."""

    def rows_hold() -> bool:
        found = holds(sweep.rows())
        assert found or not sweep.is_over, repr(sweep)
        return found

    polling.wait_until(rows_hold)


def test_a_grid_gives_a_table(client: Any, tmp_path: Path) -> None:
    """Each combination has a row with its parameters, the last report and what was returned."""
    sweep = tf.sweep(train, {"rate": [0.1, 0.01], "steps": [5]}, client=client, directory=tmp_path)
    table = sweep.result()

    rows = sweep.rows()
    assert [row.status for row in rows] == ["finished", "finished"], repr(sweep)
    assert [row.parameters for row in rows] == [
        {"rate": 0.1, "steps": 5},
        {"rate": 0.01, "steps": 5},
    ]
    assert [row.step for row in rows] == [5, 5]
    assert [row.figures["x"] for row in rows] == pytest.approx(sweep.values())
    assert list(table["status"]) == ["finished", "finished"]
    assert "0.01" in repr(sweep)
    assert "<td>finished</td>" in sweep._repr_html_()


def test_a_list_of_points_and_a_plain_session_do_as_well(client: Any, tmp_path: Path) -> None:
    """A training may report by itself, and save and restore with a Saver."""
    points = [{"steps": 3}, {"steps": 4}]
    first = tf.sweep(_plain, points, client=client, directory=tmp_path)
    first.result()
    again = tf.sweep(_plain, [{"steps": 3}, {"steps": 4}], client=client, directory=tmp_path)
    again.result()

    assert first.values() == [(0, 3.0), (0, 4.0)]
    # The second sweep went on from the checkpoints of the first.
    assert again.values() == [(3, 3.0), (4, 4.0)]


def _plain(run: Any, steps: int) -> tuple[int, float]:
    count = tf.get_variable("count", initializer=0.0)
    more = count.assign_add(1.0)
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        begin = run.restore(sess, saver)
        for step in range(begin, steps):
            run.report(step + 1, loss=sess.run(more))
        run.save(sess, saver, steps)
        return begin, float(sess.run(count))


def test_one_training_that_fails_costs_no_other(client: Any, tmp_path: Path) -> None:
    """Its row has the error."""
    sweep = tf.sweep(train, {"rate": [0.1], "steps": ["x", 2]}, client=client, directory=tmp_path)
    sweep.result()

    failed, finished = sweep.rows()
    assert (failed.status, finished.status) == ("failed", "finished")
    assert failed.error


def test_retries_start_a_training_again(client: Any, tmp_path: Path) -> None:
    """Dask starts it again as often as the sweep says."""
    sweep = tf.sweep(
        _fail_once, [{"mark": str(tmp_path / "mark")}], client=client, directory=tmp_path, retries=1
    )
    sweep.result()

    assert sweep.values() == ["done"]


def _fail_once(run: Any, mark: str) -> str:
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return "done"
    raise RuntimeError("the first time")


def test_reports_arrive_while_a_training_runs(client: Any, tmp_path: Path) -> None:
    """The sweep, and those that look at all sweeps, see the step and the loss."""
    goes_on = tmp_path / "goes_on"
    sweep = tf.sweep(
        _report_and_wait, [{"goes_on": str(goes_on)}], client=client, directory=tmp_path
    )
    wait_for_rows(sweep, lambda rows: rows[0].step == 7)
    group = find_run_group(sweep.key)
    assert group is sweep
    [row] = group.rows()
    assert (row.status, row.loss, row.figures) == ("running", 0.5, {"accuracy": 0.75})
    goes_on.touch()
    sweep.result()


def _report_and_wait(run: Any, goes_on: str) -> None:
    run.report(7, loss=0.5, accuracy=0.75)
    polling.wait_until(lambda: os.path.exists(goes_on))


def test_one_training_is_cancelled_in_an_endless_step(client: Any, tmp_path: Path) -> None:
    """The step ends, so that the worker is free for others."""
    sweep = tf.sweep(
        _endless, {"number": [0, 1]}, client=client, directory=tmp_path, title="endless"
    )
    wait_for_rows(sweep, lambda rows: all(row.status == "running" for row in rows))
    sweep.cancel(0)
    assert [row.status for row in sweep.rows()] == ["cancelled", "running"]
    sweep.cancel()
    sweep.result()

    assert [row.status for row in sweep.rows()] == ["cancelled", "cancelled"]
    both = tf.sweep(train, {"rate": [0.1, 0.2]}, client=client, directory=tmp_path / "next")
    both.result()
    assert [row.status for row in both.rows()] == ["finished", "finished"]


def _endless(run: Any, number: int) -> None:
    loop = tf.while_loop(lambda i: i >= 0, lambda i: i * 0, [tf.constant(0)])
    with tf.Session() as sess:
        sess.run(loop)


def test_a_killed_worker_costs_only_its_training(client: Any, tmp_path: Path) -> None:
    """It starts again from its checkpoint; the other training is not disturbed."""
    sweep = tf.sweep(_die_at_step, {"dies": [True, False]}, client=client, directory=tmp_path)
    sweep.result()

    dying, other = sweep.rows()
    assert (dying.status, other.status) == ("finished", "finished"), repr(sweep)
    assert (dying.restarts, other.restarts) == (1, 0)
    # The first life saved a checkpoint at step 4 and died; the second began there.
    assert sweep.values() == [4, 0]


def _die_at_step(run: Any, dies: bool) -> int:
    step = tf.train.get_or_create_global_step()
    more = step.assign_add(1)
    with run.session(save_checkpoint_steps=2, save_checkpoint_secs=None) as sess:
        began_at = int(sess.run(step))
        while (now := int(sess.run(more))) < 8:
            if dies and now == 5 and not began_at:
                os.kill(os.getpid(), signal.SIGKILL)
    return began_at


def test_an_interrupt_ends_the_waiting_only(client: Any, tmp_path: Path) -> None:
    """The trainings go on, and the sweep can be waited for again."""
    goes_on = tmp_path / "goes_on"
    sweep = tf.sweep(
        _report_and_wait, [{"goes_on": str(goes_on)}], client=client, directory=tmp_path
    )
    wait_for_rows(sweep, lambda rows: rows[0].status == "running")
    interrupted(sweep.result)
    assert sweep.rows()[0].status == "running"
    goes_on.touch()
    sweep.result()

    assert sweep.rows()[0].status == "finished"


def test_waiting_has_a_limit(client: Any, tmp_path: Path) -> None:
    """The error has the table, and nothing was ended."""
    goes_on = tmp_path / "goes_on"
    sweep = tf.sweep(
        _report_and_wait, [{"goes_on": str(goes_on)}], client=client, directory=tmp_path
    )
    with pytest.raises(tf.errors.DeadlineExceededError, match="still wait or run"):
        sweep.result(timeout=0.0)
    goes_on.touch()
    sweep.result()


@pytest.mark.parametrize(
    ("grid", "error", "text"),
    [
        ({}, None, ""),
        ({"rate": []}, ValueError, "no point"),
        ([], ValueError, "no point"),
        ({"rate": 0.1}, TypeError, "must be a list"),
        ({"speed": [1]}, TypeError, "must take a run and speed"),
        ([1], TypeError, "list of mappings"),
    ],
)
def test_a_grid_that_does_not_fit_is_refused(
    grid: Any, error: type[Exception] | None, text: str
) -> None:
    """Nothing was started, not even workers."""
    if error is None:
        text, error = "must take a run", TypeError
    with pytest.raises(error, match=text):
        tf.sweep(train, grid)


def test_a_training_that_does_not_exist_is_not_cancelled(client: Any, tmp_path: Path) -> None:
    """The error says how many there are."""
    sweep = tf.sweep(train, {"rate": [0.1]}, client=client, directory=tmp_path)
    with pytest.raises(IndexError, match="there are 1"):
        sweep.cancel(1)
    sweep.result()


def leave(run: Any, how: str) -> str:
    """Train in a function that wants to end its process."""
    if how == "exit":
        sys.exit(3)
    if how == "interrupt":
        raise KeyboardInterrupt
    return how


def test_a_training_that_exits_costs_no_worker(client: Any, tmp_path: Path) -> None:
    """It has failed; its worker goes on. A worker that an earlier test ended may come back."""
    pids = set(client.run(os.getpid).values())
    sweep = tf.sweep(
        leave, {"how": ["exit", "interrupt", "stay"]}, client=client, directory=tmp_path
    )
    sweep.result(100)

    assert [row.status for row in sweep.rows()] == ["failed", "failed", "finished"]
    assert "SystemExit(3)" in str(sweep.rows()[0].error)
    assert "KeyboardInterrupt" in str(sweep.rows()[1].error)
    assert pids <= set(client.run(os.getpid).values())
