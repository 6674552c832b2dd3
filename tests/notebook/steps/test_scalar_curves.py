"""Curves of the scalars in summaries of a watched program."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tfnb.core import scalar_events
from tfnb.notebook.pictures.curves_svg import curves_height, curves_text, draw_curves
from tfnb.notebook.scenes.svg_writer import SvgWriter
from tfnb.notebook.steps.scalar_curves import MAX_CURVES, MAX_POINTS, ScalarCurves, ticks
from tfnb.notebook.views import Watch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def curves() -> Iterator[ScalarCurves]:
    """Curves that receive scalars."""
    found = ScalarCurves()
    scalar_events.add_scalar_listener(found)
    yield found
    scalar_events.remove_scalar_listener(found)


def test_a_watched_loop_gives_a_curve_for_each_scalar(graph: Any) -> None:
    """The summary is computed in the steps and need not be written."""
    x = tf.placeholder(tf.float32, [])
    loss = tf.summary.scalar("loss", x * 2.0)
    tf.summary.histogram("all", x)
    with Watch(keeps_summary=False) as watched, tf.Session() as session:
        for value in range(5):
            session.run([tf.summary.merge_all(), loss], {x: value})
    (curve,) = watched.curves.curves()
    assert curve.tag == "loss"
    assert curve.drawn() == [(n + 1, 2.0 * n) for n in range(5)]
    assert "loss: 0 → 8 (5 values)" in watched.summary()
    assert not scalar_events.are_scalars_heard()


@pytest.mark.slow
def test_a_written_scalar_stands_at_its_step(
    curves: ScalarCurves, graph: Any, tmp_path: Path
) -> None:
    """A written scalar belongs to the curve of its run.

    Training and test of a tag are two curves.
    """
    x = tf.placeholder(tf.float32, [])
    loss = tf.summary.scalar("loss", x)
    writers = [tf.summary.FileWriter(str(tmp_path / run)) for run in ("train", "test")]
    with tf.Session() as session:
        for step in range(0, 30, 10):
            for number, writer in enumerate(writers):
                writer.add_summary(session.run(loss, {x: step + number}), step)
    for writer in writers:
        writer.close()
    curves.absorb()
    assert [(one.run, one.drawn()) for one in curves.curves()] == [
        ("train", [(0, 0.0), (10, 10.0), (20, 20.0)]),
        ("test", [(0, 1.0), (10, 11.0), (20, 21.0)]),
    ]
    payload = curves.payload()
    assert [(one["run"], one["unit"]) for one in payload["curves"]] == [
        ("train", "step"),
        ("test", "step"),
    ]


def test_a_summary_made_in_python_is_received(curves: ScalarCurves, tmp_path: Path) -> None:
    """Summaries made in Python are received when they are written."""
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        summary = tf.Summary(value=[tf.Summary.Value(tag="accuracy", simple_value=0.5)])
        writer.add_summary(summary, 7)
    curves.absorb()
    (curve,) = curves.curves()
    assert (curve.tag, curve.last) == ("accuracy", (7, 0.5))


def test_long_curves_are_thinned_and_keep_their_last_value() -> None:
    """The sent data stay small for any length."""
    curves = ScalarCurves()
    for number in range(10_000):
        curves.scalar_made("loss", float(number))
    curves.absorb()
    (curve,) = curves.curves()
    points = curve.drawn()
    assert len(points) <= MAX_POINTS + 1
    assert (points[0], points[-1]) == ((1, 0.0), (10_000, 9999.0))
    gaps = {b[0] - a[0] for a, b in itertools.pairwise(points[:-1])}
    assert len(gaps) == 1


def test_values_that_are_no_numbers_leave_a_gap() -> None:
    """NaN is sent as null; the last value is shown as it is."""
    curves = ScalarCurves()
    for value in (1.0, math.nan, 2.0, math.inf):
        curves.scalar_made("loss", value)
    curves.absorb()
    (sent,) = curves.payload()["curves"]
    assert sent["y"] == [1.0, None, 2.0, None]
    assert sent["last"] == "inf"
    out = SvgWriter()
    draw_curves(out, curves.curves(), 0, 0, 600)
    assert "nan" not in out.document(600, 100, "x")


def test_a_picture_has_axes_and_last_values() -> None:
    """Scalars beyond the available room are counted."""
    curves = ScalarCurves()
    for tag in range(MAX_CURVES + 2):
        for number in range(3):
            curves.scalar_made(f"tag_{tag:02}<b>", number / 10)
    curves.absorb()
    shown = curves.curves()
    out = SvgWriter()
    draw_curves(out, shown, 16, 0, 688)
    picture = out.document(720, curves_height(shown), "curves")
    assert picture.count("stroke-linejoin") == MAX_CURVES
    assert "tag_00&lt;b&gt;" in picture
    assert ">0.1<" in picture
    assert curves_text(shown)[-1] == "  … 2 more scalars"
    assert curves.payload()["more"] == 2


def test_ticks_are_round_numbers_within_an_axis() -> None:
    """Ticks are round numbers at any scale."""
    assert ticks(0.0, 1.0, 4) == [0.0, 0.5, 1.0]
    assert ticks(0.13, 0.94) == [0.2, 0.4, 0.6, 0.8]
    assert ticks(-3.2e-7, 8e-7, 4) == [0.0, 5e-7]
    assert ticks(1.0, 1.0) == [1.0]


def test_a_listener_that_fails_is_removed(graph: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The step is not affected."""

    class Broken:
        def scalar_made(self, tag: str, value: float) -> None:
            raise RuntimeError(tag)

        def scalar_written(self, tag: str, value: float, step: int | None, run: str) -> None:
            raise RuntimeError(tag)

    scalar_events.add_scalar_listener(Broken())
    with tf.Session() as session:
        assert session.run(tf.summary.scalar("a", tf.placeholder_with_default(1.0, [])))
    assert not scalar_events.are_scalars_heard()
    assert "hears no more" in caplog.text
