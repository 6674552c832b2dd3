"""Operations that a cell adds to the graph are counted, and repetitions are reported."""

from __future__ import annotations

from typing import Any

import pytest

from tfnb.notebook.extension import extension_of


@pytest.fixture
def growth(loaded: Any) -> Any:
    """The watcher of the shell's graph."""
    extension = extension_of(loaded)
    assert extension is not None
    return extension.growth


def test_a_cell_that_adds_operations_says_how_many(loaded: Any, growth: Any) -> None:
    """The total number of operations is reported, too."""
    loaded.run_cell("x = tf.constant(1.0)\ny = x * 2.0", store_history=True)
    assert growth.text == "+3 ops, 3 in the graph"
    loaded.run_cell("z = tf.negative(y)", store_history=True)
    assert growth.text == "+1 op, 4 in the graph"


def test_a_cell_that_adds_none_says_nothing(loaded: Any, growth: Any) -> None:
    """Evaluating a tensor is not reported."""
    loaded.run_cell("x = tf.constant(1.0)", store_history=True)
    loaded.run_cell("x.eval()", store_history=True)
    assert growth.text == ""


def test_a_cell_that_adds_the_same_again_is_warned_of(loaded: Any, growth: Any) -> None:
    """The warning has the number of runs, and the remedy."""
    cell = "x = tf.constant(1.0)\ny = x * 2.0"
    for _ in range(3):
        loaded.run_cell(cell, store_history=True)
    assert "has added the same 3 times" in growth.text
    assert "tf.reset_default_graph()" in growth.text


def test_an_edited_cell_is_another_one(loaded: Any, growth: Any) -> None:
    """A changed cell is not warned about."""
    loaded.run_cell("y = tf.constant(1.0) * 2.0", store_history=True)
    loaded.run_cell("y = tf.constant(1.0) * 3.0", store_history=True)
    assert "same" not in growth.text


def test_another_default_graph_is_not_compared(loaded: Any, growth: Any) -> None:
    """A new graph is not compared with the previous one."""
    loaded.run_cell("x = tf.constant(1.0)", store_history=True)
    cell = "other = tf.Graph().as_default()\nother.__enter__()\nx = tf.constant(1.0)"
    loaded.run_cell(cell, store_history=True)
    text = growth.text
    loaded.run_cell("other.__exit__(None, None, None)", store_history=True)
    assert text == ""


def test_it_can_be_switched_off(loaded: Any, growth: Any) -> None:
    """IPython's configuration has a switch."""
    loaded.run_cell("%config TfnbMagics.shows_growth = False", store_history=True)
    loaded.run_cell("x = tf.constant(1.0)", store_history=True)
    assert growth.text == ""
