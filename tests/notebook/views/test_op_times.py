"""The time of a recorded step by type of op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

import tfnb as tf
from tests.notebook.steps.recorded_loop import recorded_loop
from tfnb.notebook import times
from tfnb.notebook.views import record
from tfnb.notebook.views.op_times import (
    COLUMNS,
    op_times,
    op_times_svg,
    op_times_table,
    op_times_text,
)
from tfnb.notebook.views.targets import TargetError
from tfnb.notebook.views.times import latest_times

if TYPE_CHECKING:
    from pathlib import Path


def test_rows_add_up_to_what_the_nodes_cost() -> None:
    """Each run in a loop counts, dead runs do not; the slowest op comes first."""
    recorded = recorded_loop(iterations=4)
    rows = op_times(recorded)
    by_op = {row.op: row for row in rows}
    assert sum(row.ns for row in rows) == pytest.approx(recorded.node_times_ns().sum(), rel=0.2)
    assert [row.ns for row in rows] == sorted((row.ns for row in rows), reverse=True)
    assert by_op["LoopCond"].nodes >= 2
    # Five runs in the outer loop and three in each of four frames of the inner one, some per
    # device.
    assert by_op["LoopCond"].runs % (5 + 4 * 3) == 0
    assert all(row.longest for row in rows)


def test_the_table_sorts_by_numbers() -> None:
    """Numeric columns sort by value; a row selects the slowest node."""
    recorded = recorded_loop(iterations=4)
    rows = op_times(recorded)
    state = op_times_table(recorded, rows)
    assert state["isSortable"]
    assert state["columns"] == list(COLUMNS)
    first = state["rows"][0]
    assert first[0]["node"] == rows[0].longest
    assert all("order" in cell or cell["text"].startswith("0") for cell in first[1:])
    text = op_times_text(recorded, rows)
    assert len({len(line) for line in text.splitlines()[1:-1]}) == 1
    assert rows[0].op in text
    assert ElementTree.fromstring(op_times_svg(recorded, rows)).tag.endswith("svg")


def test_the_magic_shows_the_step_recorded_last(
    loaded: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Without a recorded step the message says what to do."""
    loaded.run_cell("%tfnb times")
    assert "begin a cell with %%tfnb record" in capsys.readouterr().err
    loaded.run_cell("x = tf.placeholder(tf.float32, [2, 2])\ny = tf.matmul(x, x)")
    loaded.run_cell("%%tfnb record\ny.eval({x: [[1, 2], [3, 4]]});")
    capsys.readouterr()
    loaded.run_cell("%tfnb times")
    text = capsys.readouterr().out
    assert "MatMul" in text
    assert text.startswith("Step ")
    loaded.run_cell(f"%tfnb export {tmp_path / 'times.txt'} --view times")
    assert (tmp_path / "times.txt").read_text() == text
    assert latest_times()[0]["isSortable"]


def test_it_is_there_from_python(graph: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The function takes a graph, a session, or the default graph."""
    x = tf.placeholder(tf.float32, [])
    y = x * 2.0
    with tf.Session() as session:
        with pytest.raises(TargetError, match="No step of this graph"):
            times(graph)
        with record():
            session.run(y, {x: 1.0})
        times(session)
    assert "Mul" in capsys.readouterr().out
