"""An error in JupyterLab: a few lines, with the folded traceback below."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.notebook.browser.lab import Lab, Shots

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_BUILD = """import tfnb as tf
%load_ext tfnb
x = tf.placeholder(tf.float32, [None, 3], name="x")
loss = tf.reduce_sum(x * 2.0, name="loss")"""


def test_the_traceback_is_folded_and_unfolds(
    lab: Lab, notebook_of: Callable[..., str], shots: Shots
) -> None:
    """The error is visible at once, the frames after a click."""
    page = lab.page
    lab.open(notebook_of("error.ipynb", _BUILD, "loss.eval()"))
    lab.run(0)
    lab.start(1)
    error = page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr']")
    error.wait_for()
    text = error.inner_text()
    assert text.startswith("InvalidArgumentError (code 3): You must feed a value")
    assert "run    in cell 2, line 1: loss.eval()" in text
    assert "Pass them along: feed_dict=" in text
    assert len(text.strip().splitlines()) <= 12
    folded = page.locator(".jp-RenderedHTML details")
    frames = folded.locator("pre")
    assert not frames.is_visible()
    shots.take(page, "error.png")
    folded.locator("summary").click()
    frames.wait_for(state="visible")
    assert "call_plan.py" in frames.inner_text()
