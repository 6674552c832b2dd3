"""Loading and unloading `%load_ext tfnb`."""

from __future__ import annotations

from typing import Any

import pytest

import tfnb as tf
from tfnb.core.step_events import IDLE_HOOKS
from tfnb.framework.tensor import Tensor
from tfnb.notebook.extension import extension_of


def run(shell: Any, cell: str) -> Any:
    """Run a cell; an error of the cell is an error of the test."""
    result = shell.run_cell(cell, store_history=True)
    result.raise_error()
    return result.result


def test_loading_opens_a_default_session_and_says_on_what(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """After `%load_ext tfnb` a cell can evaluate `x.eval()`."""
    run(shell, "%load_ext tfnb")

    assert capsys.readouterr().out == "tfnb opened an interactive session on CPU:0.\n"
    assert isinstance(tf.get_default_session(), tf.InteractiveSession)
    assert run(shell, "import tfnb as tf\nfloat(tf.constant(2.0).eval())") == 2.0


def test_loading_uses_a_session_that_is_open(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The user's session stays the default, and stays open after unloading."""
    with tf.Session() as mine:
        run(shell, "%load_ext tfnb")
        assert tf.get_default_session() is mine
        run(shell, "%unload_ext tfnb")
        mine.run(tf.constant(1.0))

    assert "uses the session that is open" in capsys.readouterr().out


def test_unloading_takes_everything_away(loaded: Any) -> None:
    """The session is closed; magics, displays, completion and cell register are removed."""
    session = tf.get_default_session()
    formatter = loaded.display_formatter.formatters["text/html"]
    assert Tensor in formatter.type_printers

    run(loaded, "%unload_ext tfnb")

    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(tf.constant(1.0))
    assert tf.get_default_session() is None
    assert Tensor not in formatter.type_printers
    assert "tfnb" not in loaded.magics_manager.magics["line"]
    assert loaded.Completer.custom_matchers == []


def test_reloading_works(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """`%reload_ext tfnb` gives a new session."""
    before = tf.get_default_session()
    run(loaded, "%reload_ext tfnb")

    assert tf.get_default_session() not in (None, before)
    assert "opened an interactive session" in capsys.readouterr().out


def test_loading_twice_changes_nothing(loaded: Any) -> None:
    """Loading twice is refused by IPython, and has no effect in tfnb."""
    from tfnb.notebook.extension import load_ipython_extension

    before = tf.get_default_session()
    load_ipython_extension(loaded)

    assert tf.get_default_session() is before


def test_an_operation_knows_the_cell_and_line_that_made_it(loaded: Any) -> None:
    """The number of the cell is that of `In [n]`."""
    run(loaded, "y = tf.constant(1.0)\nz = (\n    y + 2.0\n)")
    number = loaded.execution_count - 1

    site = loaded.user_ns["z"].op.creation_site
    assert (site.cell, site.line, site.text) == (number, 3, "y + 2.0")


def test_a_cell_run_again_makes_operations_of_the_new_run(loaded: Any) -> None:
    """The same text in another run has another cell number."""
    run(loaded, "y = tf.constant(1.0)")
    first = loaded.user_ns["y"].op.creation_site.cell
    run(loaded, "y = tf.constant(1.0)")

    assert loaded.user_ns["y"].op.creation_site.cell == first + 1


def test_a_notebook_watches_no_session_unasked(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Steps stay quick steps, and the last run is still known."""
    run(loaded, "y = tf.constant(1.0, name='ran') + 1.0\nfor _ in range(3): y.eval()")
    extension = extension_of(loaded)
    assert extension is not None
    assert extension.session is not None
    assert extension.session.runtime.step_events.hooks is IDLE_HOOKS
    assert extension.session.emitted_sources()
    capsys.readouterr()
    run(loaded, "%tfnb placement")
    assert "\nran" in capsys.readouterr().out


def test_the_cell_that_loads_the_extension_is_known(shell: Any) -> None:
    """Operations of this cell have its number, like those of later cells."""
    shell.run_cell("1 + 1", store_history=True)
    number = shell.execution_count
    cell = "import tfnb as tf\n%load_ext tfnb\nx = tf.constant(1.0)"
    shell.run_cell(cell, store_history=True)
    site = shell.user_ns["x"].op.creation_site
    assert (site.cell, site.line, site.text) == (number, 3, "x = tf.constant(1.0)")


@pytest.mark.parametrize(
    ("number", "is_told"), [((7, 0, 9), False), ((7, 2, 0), True), ((7, 4, 0), False)]
)
def test_a_kernel_that_loses_messages_is_told_of(
    shell: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    number: tuple[int, int, int],
    is_told: bool,
) -> None:
    """The warning has the line to type; tfnb cannot require another kernel version."""
    monkeypatch.setattr("ipykernel.version_info", number)
    monkeypatch.setattr(shell, "kernel", object(), raising=False)
    run(shell, "%load_ext tfnb")
    printed = capsys.readouterr().out
    wanted = "ipykernel 7.2.0 loses messages, and buttons of views then do nothing: pip install"
    assert (wanted in printed) is is_told
    assert "tfnb opened an interactive session" in printed


@pytest.mark.parametrize("end", ["", "\n", "\n\n  \n"])
def test_the_cell_that_loads_tfnb_is_named_by_its_number(
    shell: Any, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """Operations name the cell that made them, however many lines are empty at its end."""
    # A kernel names a cell's code after the text that the front end sent.
    monkeypatch.setattr(shell.compile, "get_code_name", lambda raw, *_: f"/kernel/{hash(raw)}.py")
    run(shell, "before = 1")
    run(shell, f"%load_ext tfnb\nimport tfnb as tf\nx = tf.constant(1.0){end}")
    site = shell.user_ns["x"].op.creation_site
    assert (site.cell, site.line, site.text) == (2, 3, "x = tf.constant(1.0)")


def test_tfnb_may_be_loaded_where_no_cell_runs(shell: Any) -> None:
    """A start-up file loads it; the cells that follow have their numbers."""
    run(shell, "before = 1")
    shell.extension_manager.load_extension("tfnb")
    run(shell, "import tfnb as tf\nx = tf.constant(1.0)\n")
    assert shell.user_ns["x"].op.creation_site.cell == 2
