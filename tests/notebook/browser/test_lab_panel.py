"""The side panel, the tabs and the toolbar item in a real JupyterLab."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.notebook.browser.lab import Lab

pytestmark = pytest.mark.browser

SETUP = """%load_ext tfnb
import tfnb as tf
x = tf.placeholder(tf.float32, [None, 3], name="x")
weights = tf.get_variable("weights", [3, 2])
score = tf.matmul(x, weights, name="score")
jobs = tf.FIFOQueue(5, tf.float32, shapes=[[]], name="jobs")
put = jobs.enqueue(1.0)
sess = tf.get_default_session()
sess.run(tf.global_variables_initializer())
sess.run([score, put], {x: [[1.0, 2.0, 3.0]]});
"""
ENDLESS = """count = tf.while_loop(lambda k: k >= 0, lambda k: (k + 1) % 100, [0], name="forever")
try:
    sess.run(count)
except tf.errors.CancelledError as error:
    print("ended:", error.message)
"""
LIMIT_MS = 30_000


def show_panel(lab: Lab) -> Any:
    """The panel, opened."""
    lab.page.evaluate("() => window.jupyterapp.commands.execute('tfnb:show-panel')")
    lab.page.wait_for_selector(".tfnb-lab", state="visible", timeout=LIMIT_MS)
    return lab.page.locator(".tfnb-lab")


def wait_for_text(panel: Any, text: str) -> None:
    """Waits until the panel says something."""
    panel.get_by_text(text).first.wait_for(timeout=LIMIT_MS)


def test_the_panel_shows_sessions_their_executors_and_what_they_hold(
    lab: Lab, notebook_of: Callable[..., str], shots: Path
) -> None:
    """Without a reload or a click, as soon as the cell has loaded tfnb."""
    lab.open(notebook_of("panel.ipynb", SETUP))
    panel = show_panel(lab)
    wait_for_text(panel, "without tfnb")
    lab.run(0)
    wait_for_text(panel, "InteractiveSession")
    wait_for_text(panel, "x:0 → score:0, jobs_enqueue (run)")
    wait_for_text(panel, "1 element of 5")
    wait_for_text(panel, "float32 (3, 2) · 24 B")
    lab.page.screenshot(path=str(shots / "panel.png"))
