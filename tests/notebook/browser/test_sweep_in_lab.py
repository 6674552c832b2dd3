"""Trainings of a sweep in the side panel of a real JupyterLab, and the end of one of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.notebook.browser.test_accessibility import complaints
from tests.notebook.browser.test_lab_panel import LIMIT_MS, press, show_panel

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.notebook.browser.lab import Lab, Shots

pytestmark = pytest.mark.browser

# The trainings leave the processor to the browser.
SETUP = """%load_ext tfnb
import os
import pathlib
import tempfile
import distributed
import tfnb as tf
folder = tempfile.mkdtemp(prefix="tfnb")
client = distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address="localhost:0")

def train(run, rate):
    os.nice(19)
    x = tf.get_variable("x", initializer=4.0)
    loss = tf.square(x, name="loss")
    step = tf.train.get_or_create_global_step()
    descend = tf.train.GradientDescentOptimizer(rate).minimize(loss, step)
    with run.session({"loss": loss, "x": x}) as session:
        while not os.path.exists(f"{folder}/enough"):
            session.run(descend)

sweep = tf.sweep(train, {"rate": [0.001, 0.1]}, client=client, directory=folder)
"""
FINISH = """pathlib.Path(folder, "enough").touch()
sweep.result()
"""
CLOSE = "client.close()"
STEP = re.compile(r"step\s[\d,]+")


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_one_of_two_trainings_is_cancelled_in_the_panel(
    lab: Lab, notebook_of: Callable[..., str], shots: Shots, theme: str
) -> None:
    """Both count their steps in the panel; the other one goes on, and finishes."""
    name = f"sweep{theme}.ipynb"
    lab.open(notebook_of(name, SETUP, FINISH, CLOSE), theme=f"JupyterLab {theme}")
    panel = show_panel(lab)
    lab.run(0)
    section = panel.get_by_role("region", name="Trainings of train")
    first = section.get_by_role("listitem").filter(has_text="rate=0.001")
    second = section.get_by_role("listitem").filter(has_text="rate=0.1")
    for row in (first, second):
        # With the first report of its figures.
        row.get_by_text(re.compile(r"running.* · step\s[\d,]+ · loss\s.* · x\s")).wait_for(
            timeout=LIMIT_MS
        )
    section.get_by_text("2 running").wait_for(timeout=LIMIT_MS)

    press(second, "Cancel the training rate=0.1")
    second.get_by_text("cancelled").wait_for(timeout=LIMIT_MS)
    section.get_by_text("1 running · 1 cancelled").wait_for(timeout=LIMIT_MS)
    assert second.get_by_role("button").count() == 0
    line = first.locator("[data-part=status]")
    lab.page.wait_for_function(
        "([line, before]) => /step\\s[\\d,]+/.exec(line.textContent)[0] !== before",
        arg=[line.element_handle(), STEP.findall(line.text_content())[0]],
        timeout=LIMIT_MS,
    )
    shots.take(lab.page, f"sweep-{theme.lower()}.png")
    assert complaints(lab.page, ".tfnb-lab") == []

    lab.run(1)
    first.get_by_text("finished").wait_for(timeout=LIMIT_MS)
    section.get_by_text("1 finished · 1 cancelled").wait_for(timeout=LIMIT_MS)
    assert section.get_by_role("button").count() == 0
    table = lab.outputs(1)[0]["data"]["text/plain"]
    assert "finished" in table
    assert "cancelled" in table
    lab.run(2)
