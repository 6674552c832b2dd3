"""A comparison of two runs as a picture and as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import tfnb as tf
from tfnb.client.debugger.run_difference import (
    NodeInRuns,
    RunDifference,
    compare_runs,
    record_values,
)
from tfnb.notebook.pictures.run_difference_svg import (
    rows_to_show,
    run_difference_svg,
    run_difference_text,
)

if TYPE_CHECKING:
    import pytest


def _two_runs() -> RunDifference:
    x = tf.placeholder(tf.float32, [], name="x")
    _, total = tf.while_loop(lambda i, _: i < tf.cast(x, tf.int32), lambda i, t: (i + 1, t * 2.0),
                             [0, 1.0])  # fmt: skip
    extra = tf.negative(total, name="extra")
    with tf.Session() as session:
        first = record_values(session, [total], {x: 3.0})
        second = record_values(session, [total, extra], {x: 4.0})
    return compare_runs(first, second)


def _texts(svg: str) -> list[str]:
    return [e.text for e in ElementTree.fromstring(svg).iter() if e.text and e.text.strip()]


def test_times_are_part_of_what_is_recorded(graph: Any) -> None:
    """Every execution has its time."""
    with tf.Session() as session:
        values = record_values(session, tf.constant(1.0) + 2.0)
    assert all(one.ns > 0 for one in values.executions)


def test_nodes_that_differ_come_first(graph: Any) -> None:
    """Each differing node has its kind of difference: value, count, missing."""
    found = _two_runs()
    rows = rows_to_show(found)
    num = sum(one.differs for one in rows)
    assert 0 < num < len(rows)
    assert all(one.differs for one in rows[:num])
    by_name = {one.node: one for one in rows}
    assert by_name["extra"].devices[0] is None
    assert by_name["extra"].counts == (0, 1)
    assert by_name["while/mul"].counts == (3, 4)
    assert min(by_name["while/mul"].ns) > 0


def test_the_picture_says_which_and_why(graph: Any) -> None:
    """Signs supplement colours; the first different value has its own line."""
    texts = _texts(run_difference_svg(_two_runs()))
    assert any(text.startswith("first other value: '") for text in texts)
    assert {"first run", "second run", "extra", "+", "only in the second run", "≠"} <= set(texts)
    assert any("nodes differ" in text for text in texts)


def test_the_same_runs_are_said_to_be_the_same(graph: Any) -> None:
    """Times are not a difference."""
    y = tf.constant(2.0) * 3.0
    with tf.Session() as session:
        found = compare_runs(record_values(session, y), record_values(session, y))
    assert "The runs are the same" in _texts(run_difference_svg(found))
    text = run_difference_text(found)
    assert text.startswith("The runs are the same.\ntime in nodes: ")


def test_hostile_and_many_nodes_stay_in_the_picture() -> None:
    """Hostile names are text; rows beyond the limit are counted."""
    name = "<img src=x onerror=alert(1)>\x1b\u202e" + "n" * 1_000_000
    nodes = tuple(
        NodeInRuns(f"{name}{i}", name, (name, None), (i, 0), (10**i, 0), name) for i in range(90)
    )
    found = RunDifference((name,), (), (), (), name, 1, nodes)
    svg = run_difference_svg(found)
    assert "<img" not in svg
    assert len(svg) < 100_000
    assert "… 60 more nodes" in _texts(svg)
    assert "\x1b" not in run_difference_text(RunDifference((), (), (), (), "", 0, nodes))


def test_the_magic_and_the_display(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The arguments are two variables; others are a usage error."""
    loaded.run_cell(
        "p = tf.placeholder(tf.float32, [], name='p')\nr = tf.exp(p, name='r')\n"
        "s = tf.get_default_session()\n"
        "a = tf.debugger.record_values(s, r, {p: 1.0})\n"
        "b = tf.debugger.record_values(s, r, {p: 2.0})"
    )
    capsys.readouterr()
    loaded.run_cell("%tfnb compare a b")
    text = capsys.readouterr().out
    assert text.startswith("the first other value: '")
    assert "time in nodes: " in text
    loaded.run_cell("%tfnb compare a p")
    assert "tfnb.debugger.record_values" in capsys.readouterr().err
    found = tf.debugger.compare_runs(loaded.user_ns["a"], loaded.user_ns["b"])
    data, _ = loaded.display_formatter.format(found)
    assert data["image/svg+xml"].startswith("<svg")
