"""Sampling of a training loop at full speed: below its cell and in the side panel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.notebook.browser.test_accessibility import complaints
from tests.notebook.browser.test_lab_panel import LIMIT_MS, show_panel, wait_for_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.notebook.browser.lab import Lab, Shots

pytestmark = pytest.mark.browser

SETUP = """%load_ext tfnb
import numpy as np
import tfnb as tf
x = tf.placeholder(tf.float32, [None, 400], name="x")
with tf.variable_scope("layer"):
    weights = tf.get_variable("weights", [400, 400])
    hidden = tf.nn.relu(tf.matmul(x, weights), name="hidden")
_, out = tf.while_loop(lambda i, _: i < 5, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, weights))),
                       [0, hidden], name="steps")
loss = tf.reduce_mean(tf.square(out), name="loss")
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
sess = tf.get_default_session()
sess.run(tf.global_variables_initializer())
batch = np.random.rand(400, 400).astype("f")"""
LOOP = """%%tfnb watch --sample
try:
    while True:
        sess.run(train, {x: batch})
except KeyboardInterrupt:
    print("stopped")"""


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_a_loop_at_full_speed_is_seen(
    lab: Lab, notebook_of: Callable[..., str], shots: Shots, theme: str
) -> None:
    """Nodes, loop and figures are shown; the panel has steps per second until the loop ends."""
    page = lab.page
    page.set_viewport_size({"width": 1500, "height": 1100})
    path = notebook_of(f"sampled{theme}.ipynb", SETUP, LOOP)
    lab.open(path, theme=f"JupyterLab {theme}")
    panel = show_panel(lab)
    lab.run(0)
    lab.start(1)
    page.wait_for_selector(".tfnb-view-progress[data-ready]", timeout=LIMIT_MS)
    page.wait_for_function(
        "() => { const text = document.querySelector('.tfnb-progress').innerText;"
        " return text.includes('steps/s') && text.includes('iteration'); }",
        timeout=LIMIT_MS,
    )
    wait_for_text(panel, "steps/s")
    text = page.locator(".tfnb-progress").inner_text()
    assert "only sampled" in text
    assert "nodes/s" not in text
    shots.take(page, f"sample-{theme.lower()}.png")
    assert complaints(page, ".tfnb-view-progress") == []
    page.evaluate("() => window.panel.sessionContext.session.kernel.interrupt()")
    page.wait_for_function("() => window.isDone", timeout=LIMIT_MS)
    page.wait_for_selector(".tfnb-view-progress:not([data-phase=running])", timeout=LIMIT_MS)
    shots.take(page, f"sampled-{theme.lower()}.png")
    assert "stopped" in str(lab.outputs(1))
    panel.get_by_text("steps/s").wait_for(state="detached", timeout=LIMIT_MS)
