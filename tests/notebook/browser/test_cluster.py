"""A cluster seen in a real JupyterLab: its servers in the panel, its tasks as lanes, its waits."""

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
import tempfile
import tfnb as tf
folder = tempfile.mkdtemp(prefix="tfnb")
cluster = tf.train.ClusterSpec({"ps": [f"unix:{folder}/ps"], "worker": [f"unix:{folder}/worker"]})
servers = [tf.train.Server(cluster, job, 0) for job in ("ps", "worker")]
with tf.device("/job:ps/task:0"):
    table = tf.random_uniform([100, 100], name="table")
    jobs = tf.FIFOQueue(2, tf.float32, [[]], name="jobs", shared_name="jobs")
with tf.device("/job:worker/task:0"):
    product = tf.matmul(table, table, name="product")
    job = tf.negative(jobs.dequeue(name="next"), name="job")
session = tf.Session(servers[1].target)
session.run(product.op)
"""
# The parameter server sends its table when the worker's receive is seen to wait for it.
HELD = """import time
from tfnb.notebook.steps.step_waits import waits_of

def when_awaited(value):
    while True:
        session.runtime.look_at_steps()
        lines = [line for wait in waits_of(session).values() for line in wait.lines]
        if any("(_Recv) waits for" in line for line in lines):
            return value
        time.sleep(0.01)

with tf.device("/job:ps/task:0"):
    held = tf.py_func(when_awaited, [table], tf.float32, name="held")
with tf.device("/job:worker/task:0"):
    received = tf.negative(held, name="received")
"""
RECORD = """%%tfnb record
session.run(received.op)
"""
WAITS = """%%tfnb watch
try:
    session.run(job)
except tf.errors.CancelledError as error:
    print("ended:", error.message)
"""
STOPPED = """servers[0].stop()
"""


def test_the_panel_lists_servers_and_says_which_does_not_answer(
    lab: Lab, notebook_of: Callable[..., str], shots: Shots
) -> None:
    """With memory and devices; a table below a cell says the same."""
    lab.open(notebook_of("servers.ipynb", SETUP, "%tfnb cluster", STOPPED))
    panel = show_panel(lab)
    lab.run(0)
    wait_for_text(panel, "Servers (2)")
    answering = panel.locator('.tfnb-lab-server[data-answers="true"]')
    answering.nth(1).wait_for(timeout=LIMIT_MS)
    wait_for_text(answering.first, "MB resident")
    wait_for_text(panel, "on /job:ps/task:0/CPU:0, /job:worker/task:0/CPU:0")
    assert complaints(lab.page, ".tfnb-lab") == []
    lab.run(1)
    assert "/job:worker/task:0" in lab.outputs(1)[0]["data"]["text/plain"]
    shots.take(lab.page, "cluster.png")
    lab.run(2)
    silent = panel.locator('.tfnb-lab-server[data-answers="false"]')
    silent.wait_for(timeout=LIMIT_MS)
    wait_for_text(silent, "/job:ps/task:0")
    wait_for_text(silent, "does not answer")


def test_a_recorded_step_has_a_lane_for_each_task(
    lab: Lab, notebook_of: Callable[..., str], shots: Shots
) -> None:
    """With the bytes that crossed and the time that the receiver waited."""
    lab.open(notebook_of("lanes.ipynb", SETUP, HELD, RECORD))
    for index in range(3):
        lab.run(index)
    # Before the view is ready, a click on a tab may come to nothing.
    view = lab.page.locator(".tfnb-view-run[data-ready]")
    view.wait_for(timeout=LIMIT_MS)
    view.get_by_role("tab", name="Devices").click()
    lanes = view.get_by_role("tabpanel", name="Devices")
    lanes.locator(".tfnb-lane").first.wait_for(timeout=LIMIT_MS)
    heads = " ".join(lanes.locator("text").all_text_contents())
    for task in ("ps", "worker"):
        assert f"/job:{task}/task:0/CPU:0" in heads
    labels = " ".join(lanes.locator(".tfnb-edge-labels text").all_text_contents())
    assert "40.0 kB, waited" in labels
    shots.take(lab.page, "cluster_lanes.png")


def test_a_waiting_step_names_its_task_and_ends_from_the_panel(
    lab: Lab, notebook_of: Callable[..., str], shots: Shots
) -> None:
    """In the live view below the cell and in the panel."""
    lab.open(notebook_of("waits.ipynb", SETUP, WAITS))
    panel = show_panel(lab)
    lab.run(0)
    lab.start(1)
    wait_for_text(panel, "/job:ps/replica:0/task:0: 'next' (QueueDequeueV2) waits for elements")
    live = lab.page.locator(".tfnb-waits")
    wait_for_text(live, "/job:ps/replica:0/task:0: 'next' (QueueDequeueV2) waits for elements")
    shots.take(lab.page, "cluster_waits.png")
    panel.get_by_role("button", name="Cancel").first.click()
    lab.page.wait_for_function("() => window.isDone", timeout=LIMIT_MS)
    texts = [one.get("text", "") for one in lab.outputs(1)]
    assert any("ended: The step was cancelled in JupyterLab." in text for text in texts)
