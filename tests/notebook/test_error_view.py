"""Errors in a notebook: what, where and what to do in a few lines, with the folded traceback."""

from __future__ import annotations

import inspect
from types import SimpleNamespace, TracebackType
from typing import TYPE_CHECKING, Any

import pytest
from IPython.utils.capture import capture_output

import tfnb as tf
from tests.notebook.error_cases import CASES, shown, stored
from tfnb.notebook.error_view import MAX_LINES, error_html, error_lines

if TYPE_CHECKING:
    from pathlib import Path

STORED = stored()


@pytest.mark.parametrize("name", CASES)
def test_the_errors_that_users_paste(
    loaded: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each error looks as stored, in at most twelve lines."""
    monkeypatch.chdir(tmp_path)
    text = shown(name, loaded)
    assert text == STORED[name]
    assert 2 < len(text.splitlines()) <= MAX_LINES


def test_the_whole_traceback_is_a_line_away(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command prints the traceback as the shell would."""
    loaded.run_cell("%tfnb error")
    assert "No error of tfnb" in capsys.readouterr().out
    loaded.run_cell("tf.placeholder(tf.float32, name='p').eval()", store_history=True)
    assert "call_plan.py" not in capsys.readouterr().out
    loaded.run_cell("%tfnb error")
    text = capsys.readouterr().out
    assert "Traceback (most recent call last)" in text
    assert "call_plan.py" in text


def test_a_notebook_folds_the_traceback(loaded: Any) -> None:
    """The traceback is below the error, which has the text of a terminal."""
    loaded.kernel = SimpleNamespace()
    with capture_output() as captured:
        loaded.run_cell("tf.placeholder(tf.float32, name='p').eval()")
    del loaded.kernel
    (output,) = [one.data for one in captured.outputs if "text/html" in one.data]
    assert output["text/html"].startswith(
        "<details><summary>Traceback of InvalidArgumentError at node p, "
    )
    assert "call_plan.py" in output["text/html"]
    assert output["text/plain"] == "%tfnb error shows the whole traceback"
    assert captured.stdout.startswith("InvalidArgumentError (code 3): You must feed")
    assert "call_plan.py" not in captured.stdout


def test_errors_of_others_look_as_ever(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Errors of the user's code, of libraries, and interrupts are shown by the shell."""
    for cell in ("{}['missing']", "import numpy as np\nnp.zeros(3)[7]", "raise KeyboardInterrupt"):
        loaded.run_cell(cell)
        assert "Traceback (most recent call last)" in capsys.readouterr().out


def test_an_error_at_an_instruction_without_a_line_is_shown(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """An interrupt may come at the jump to the beginning of a loop, which has none."""
    frame = inspect.currentframe()
    assert frame is not None
    # Beyond the last instruction of the function.
    nowhere = TracebackType(None, frame, len(frame.f_code.co_code) + 2, -1)
    lines: list[int | None] = [nowhere.tb_lineno]
    assert lines == [None]
    loaded.user_ns["interrupt"] = KeyboardInterrupt().with_traceback(nowhere)
    loaded.run_cell("raise interrupt")
    text = capsys.readouterr().out
    assert "Traceback (most recent call last)" in text
    assert "raise interrupt" in text
    assert text.rstrip().endswith("KeyboardInterrupt:")


def test_a_user_s_function_in_a_loop_is_shown_with_its_frames(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The frames are shown because the user's code failed."""
    loaded.run_cell("tf.while_loop(lambda i: i < 3, lambda i: 1 / 0, [0])")
    text = capsys.readouterr().out
    assert "Traceback (most recent call last)" in text
    assert "ZeroDivisionError" in text


def test_it_can_be_switched_off_and_taken_away(
    loaded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Afterwards the shell is as before."""
    cell = "tf.placeholder(tf.float32, name='p').eval()"
    loaded.run_cell("%config TfnbMagics.folds_errors = False")
    loaded.run_cell(cell)
    assert "Traceback (most recent call last)" in capsys.readouterr().out
    loaded.run_cell("%config TfnbMagics.folds_errors = True")
    loaded.run_cell("%unload_ext tfnb")
    assert "structured_traceback" not in vars(loaded.InteractiveTB)
    loaded.run_cell("tf.nn.nothing")
    assert "Traceback (most recent call last)" in capsys.readouterr().out


def test_nothing_in_an_error_is_markup() -> None:
    """Tags, escapes, line breaks, direction marks and a megabyte of hostile names are text."""
    name = "<img src=x onerror=alert(1)>\x1b[31m\u202e\n" + "y" * 1_000_000
    op = SimpleNamespace(name=name, type="<b>", creation_site=None)
    error = tf.errors.InvalidArgumentError(None, None, f"cannot {name}\nsecond")
    error.op = op
    html = error_html(error, f"\x1b[0;31m{name}\x1b[0m\n</pre><script>")
    for tag in ("<img", "<script", "\x1b", "\u202e"):
        assert tag not in html
    lines = error_lines(error, None)
    assert len(lines) <= MAX_LINES
    assert sum(map(len, lines)) < 3_000
    assert not any(c in line for line in lines for c in "\x1b\u202e")


def test_a_long_message_keeps_its_beginning_and_its_end() -> None:
    """The beginning says what happened, the end what to do."""
    message = "\n".join(["what happened", *(f"detail {i}" for i in range(50)), "what to do"])
    lines = error_lines(tf.errors.InternalError(None, None, message), None)
    assert len(lines) == MAX_LINES - 1
    assert lines[0] == "InternalError (code 13): what happened"
    assert lines[-1] == "what to do"
    assert any("… 42 lines" in line for line in lines)
