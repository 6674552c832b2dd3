"""Live progress beyond nodes: rates, bytes, queues; and in a terminal."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

import tfnb as tf
from tests.notebook.steps.recorded_loop import HOSTILE
from tfnb.notebook.pictures.terminal_progress import TerminalProgress, can_draw, progress_lines
from tfnb.notebook.steps.queue_sizes import queue_sizes
from tfnb.notebook.steps.step_model import StepModel
from tfnb.notebook.views.progress import Watch


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        """Return True."""
        return True

    def screen(self) -> list[str]:
        """Return the screen after lines were removed."""
        lines: list[str] = [""]
        for part in self.getvalue().replace("\x1b[1A\x1b[2K", "\x00").replace("\n", "\x01\n"):
            if part == "\x00":
                lines.pop()
                lines[-1] = ""
            elif part == "\x01":
                lines.append("")
            elif part != "\n":
                lines[-1] += part
        return [line for line in lines if line]


COUNTERS: dict[str, Any] = {
    "phase": "running",
    "steps": 4,
    "elapsed_ns": 2_000_000_000,
    "runs_per_second": 120.0,
    "steps_per_second": 2.0,
    "sent_bytes": 8192,
    "partitions": [
        {"device": "/job:a/device:CPU:0", "done": 5, "total": 10, "current": "layer/MatMul"}
    ],
    "frames": [{"name": "loop", "depth": 0, "iteration": 7, "live": 3, "isDone": False}],
    "queues": [{"name": "q", "size": 3, "capacity": 10, "isClosed": False}],
}


def test_lines_say_phase_rates_bars_loops_and_queues() -> None:
    """Everything is readable without colours."""
    lines = progress_lines(COUNTERS, 120, has_colours=False)
    assert lines == [
        "running: 4 steps · 2.00 s · 120 nodes/s · 2.0 steps/s · 8.2 kB moved",
        "  CPU:0  ████████████░░░░░░░░░░░░ 5/10 nodes  layer/MatMul",
        "  loop loop: iteration 7, 3 in flight",
        "  queue q: 3 of 10",
    ]
    assert all(len(line) <= 30 for line in progress_lines(COUNTERS, 30, has_colours=False))


def test_hostile_names_move_no_cursor() -> None:
    """Control characters of hostile names are shown, not executed."""
    bad = f"{HOSTILE}\x1b[2J\n\r\u202e"
    counters = {
        **COUNTERS,
        "partitions": [{**COUNTERS["partitions"][0], "current": bad}],
        "frames": [{**COUNTERS["frames"][0], "name": bad}],
        "queues": [{**COUNTERS["queues"][0], "name": bad}],
    }
    lines = progress_lines(counters, 200, has_colours=False)
    assert len(lines) == 4
    assert not any(c in line for line in lines for c in "\x1b\n\r")


def test_what_is_printed_goes_above_and_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are redrawn, make room for output, and are removed at the end."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    with TerminalProgress(terminal) as progress:
        progress.show(None, b"", COUNTERS)
        progress.show(None, b"", {**COUNTERS, "steps": 5})
        assert len(terminal.screen()) == 4
        print("from the program")
        progress.show(None, b"", COUNTERS)
        assert terminal.screen()[0] == "from the program"
        print("half a line", end="")
        progress.show(None, b"", COUNTERS)
        assert terminal.screen()[-1] == "half a line"
        print()
        progress.show(None, b"", COUNTERS)
        assert len(terminal.screen()) == 6
    assert terminal.screen() == ["from the program", "half a line"]
    assert sys.stdout is terminal


def test_only_terminals_are_drawn_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files, and terminals without cursor control, are not drawn on."""
    monkeypatch.setenv("TERM", "xterm")
    assert can_draw(Terminal())
    assert not can_draw(io.StringIO())
    monkeypatch.setenv("TERM", "dumb")
    assert not can_draw(Terminal())


def test_a_watched_training_loop_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps, rate, transfers and queues are drawn; then the summary stays."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with tf.Graph().as_default() as graph:
        queue = tf.FIFOQueue(10, [tf.float32], shapes=[[]], name="numbers")
        put = queue.enqueue([1.0])
        with tf.device("/cpu:0"):
            a = tf.random_uniform([256])
        with tf.device("/cpu:1"):
            b = tf.reduce_sum(a)
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Session(graph=graph, config=config) as session, Watch() as watch:
        for _ in range(5):
            session.run([b, put])
        assert watch._publisher is not None
        watch._publisher.publish(is_final=True)
        (told,) = queue_sizes([session])
    assert told == {"name": "numbers", "size": 5, "capacity": 10, "isClosed": False}
    drawn = terminal.getvalue()
    assert "5 steps" in drawn
    assert "steps/s" in drawn
    assert "moved" in drawn
    assert "numbers: 5 of 10" in drawn
    assert terminal.screen() == []
    assert watch.model.sent_bytes >= 5 * 4


def test_the_rate_is_that_of_the_latest_steps() -> None:
    """There is no rate before the second step."""
    model = StepModel()
    assert model.steps_per_second() == 0
    for second in range(40):
        model._ends.append(second * 500_000_000)
    assert model.steps_per_second() == pytest.approx(2.0)
