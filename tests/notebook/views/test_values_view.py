"""Values of tensors inside loops, and output of printing nodes, with node and iteration."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest

import tfnb as tf
from tfnb.client.debugger.watched_tensor import WatchedTensor, WatchedValue
from tfnb.notebook import values
from tfnb.notebook.completion import completions
from tfnb.notebook.extension import extension_of
from tfnb.notebook.views.values_svg import mean_of, values_svg, values_text

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def loop(graph: Any) -> Iterator[Any]:
    """A loop whose variable doubles, in a graph with a session."""
    _, total = tf.while_loop(
        lambda i, _: i < 5, lambda i, t: (i + 1, tf.multiply(t, 2.0, name="twice")), [0, 1.0]
    )
    with tf.Session():
        yield total


def test_each_iteration_s_value_is_kept(loop: Any) -> None:
    """Values are available stacked, last, and with frame and iteration."""
    with values("while/twice") as seen:
        assert loop.eval() == 32.0
        assert loop.eval() == 32.0
    found = seen["while/twice"]
    np.testing.assert_array_equal(found.stacked(), [2.0, 4.0, 8.0, 16.0, 32.0])
    assert found.last == 32.0
    assert [row.iteration for row in found.values] == [0, 1, 2, 3, 4, 5] * 2
    assert {row.frame for row in found.values} == {"while/while_context"}
    text = values_text(seen.seen())
    assert text.startswith("while/twice:0: 12 values in 2 steps, 2 dead\n  ▁")
    assert "last, iteration 4 of 'while/while_context': 32" in text


def test_tensors_are_named_in_every_way(loop: Any) -> None:
    """A tensor, an operation or a name is accepted; other arguments are refused with a list."""
    with values(loop, loop.op.name, loop.op) as seen:
        loop.eval()
    assert [one.name for one in seen.seen()] == [loop.name]
    assert seen[loop].last == 32.0
    with pytest.raises(KeyError, match=f"there are: {loop.name}"):
        seen["other"]
    with pytest.raises(TypeError, match="int is neither a tensor"):
        values(3)
    with pytest.raises(ValueError, match="Name the tensors"):
        values()
    with pytest.raises(ValueError, match="at least 1"):
        values("x", keep=0)


def test_nothing_ran(graph: Any) -> None:
    """A watch without a step says so."""
    seen = values("x")
    assert repr(seen) == "No step ran."
    with pytest.raises(KeyError, match="no session ran"):
        seen["x"]


def test_the_picture_breaks_its_line_between_loops_and_at_nan(loop: Any) -> None:
    """The line has no segment between loops and at NaN."""
    one = WatchedTensor("w:0", 100)
    for step, means in ((1, [1.0, 2.0, math.nan, 3.0, 4.0]), (2, [5.0, 6.0])):
        one.values.extend(WatchedValue(step, "f", 1, i, np.float32(m)) for i, m in enumerate(means))
    svg = values_svg([one])
    assert svg.count("<path") == 3
    texts = [e.text for e in ElementTree.fromstring(svg).iter() if e.text]
    assert {"w:0", "7 values in 2 steps", "mean 1 … 6", "6"} <= set(texts)


def test_hostile_names_and_values_stay_in_the_picture() -> None:
    """Names, frames and text values are escaped; the numbers of tensors and values are limited."""
    evil = "<img src=x onerror=alert(1)>\x1b\u202e" + "n" * 1_000_000
    value = np.array(evil.encode(), object)
    one = WatchedTensor(f"{evil}:0", 100)
    one.values.extend(WatchedValue(1, evil, 1, i, value) for i in range(100))
    other = WatchedTensor("numbers:0", 5_000)
    other.values.extend(WatchedValue(1, "", 0, i, np.float32(i % 7)) for i in range(5_000))
    svg = values_svg([one, other] * 40)
    assert "<img" not in svg
    assert len(svg) < 200_000
    text = values_text([one, other])
    assert len(text) < 3_000
    assert not any(c in text for c in "\x1b\u202e")


def test_means_of_what_has_none() -> None:
    """Dead, empty and text values have no mean."""
    assert all(map(math.isnan, map(mean_of, (None, np.zeros(0), np.array(b"x", object)))))
    assert mean_of(np.array([True, False])) == 0.5


def test_the_magic_runs_the_cell_and_shows_values(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tensors are given by name and by variable."""
    loaded.run_cell(
        "out = tf.while_loop(lambda i: i < 3, lambda i: tf.add(i, 1, name='next'), [0])"
    )
    capsys.readouterr()
    loaded.run_cell("%%tfnb values while/next out\nout.eval()")
    text = capsys.readouterr().out
    assert "while/next:0: 4 values in 1 step, 1 dead" in text
    assert "while/Exit:0: 4 values in 1 step, 3 dead" in text
    loaded.run_cell("%%tfnb values\n1")
    captured = capsys.readouterr()
    assert "UsageError" in captured.err + captured.out


def test_what_nodes_print_says_which_and_when(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only a notebook shows the node and iteration; this can be switched off."""
    loaded.run_cell(
        "x = tf.Print(tf.constant(1.0), [2.0], message='m', name='shown')\n"
        "def body(i):\n"
        "    with tf.control_dependencies([tf.print('at', i, name='inner')]):\n"
        "        return i + 1\n"
        "out = tf.while_loop(lambda i: i < 2, body, [0])"
    )
    capsys.readouterr()
    loaded.run_cell("_ = x.eval(), out.eval()")
    assert capsys.readouterr().err == (
        "[shown] m[2]\n[while/inner, iteration 0] at 0\n[while/inner, iteration 1] at 1\n"
    )
    loaded.run_cell("%config TfnbMagics.tags_prints = False")
    loaded.run_cell("_ = x.eval()")
    assert capsys.readouterr().err == "m[2]\n"
    loaded.run_cell("%config TfnbMagics.tags_prints = True\n%unload_ext tfnb")
    with tf.Session() as session:
        session.run(loaded.user_ns["x"])
    assert capsys.readouterr().err == "m[2]\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%%tfnb debug --frame wh", ["while/while_context"]),
        ("%%tfnb debug --iteration w", []),
        ("%%tfnb debug --when w", []),
        ("%%tfnb values while/next", ["while/next/", "while/next"]),
        ("%%tfnb v", ["values"]),
    ],
)
def test_frames_and_nodes_are_completed(loaded: Any, text: str, expected: list[str]) -> None:
    """Completion offers what an option accepts."""
    tf.while_loop(lambda i: i < 3, lambda i: tf.add(i, 1, name="next"), [0])
    extension = extension_of(loaded)
    assert extension is not None
    assert completions(extension.magics, text) == expected
