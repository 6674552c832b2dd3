"""A live view whose kernel has ended, or is silent, says so and keeps its picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.notebook.browser.test_accessibility import COUNTERS, digits_scene
from tests.notebook.browser.widget_page import WidgetPage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.notebook.browser.lab import Lab, Shots

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_TELL = "(counters) => window.model.set('_counters', counters)"
_CELL = """import tfnb as tf
%load_ext tfnb
"""
_WATCH = """%%tfnb watch
import os, time

def die(x):
    while not os.path.exists("picture_is_seen"):
        time.sleep(0.1)
    os._exit(1)

tf.py_func(die, [1.0], tf.float32, name="die").eval()"""


def test_a_kernel_that_dies_leaves_a_word_in_its_view(
    lab: Lab, notebook_of: Callable[..., str], server_folder: Path, shots: Shots
) -> None:
    """The picture stays, and a notice says that the kernel has ended."""
    page = lab.page
    lab.open(notebook_of("gone.ipynb", _CELL, _WATCH))
    lab.run(0)
    lab.start(1)
    page.wait_for_selector(".tfnb-view-progress[data-ready]", timeout=90_000)
    (server_folder / "picture_is_seen").touch()
    notice = page.locator(".tfnb-news")
    notice.wait_for(state="visible", timeout=90_000)
    assert notice.inner_text().startswith("No message from the kernel for")
    assert page.locator(".tfnb-view-progress .tfnb-item").count() > 0
    page.locator(".jp-Dialog .jp-mod-accept").click()
    page.locator(".jp-Dialog").wait_for(state="detached")
    shots.take(page, "gone.png")


def test_a_running_step_that_is_silent_is_said_to_be(chromium: Any) -> None:
    """The notice disappears with the next message; finished steps have none."""
    page = chromium.new_page()
    widget_page = WidgetPage(page)
    page.clock.install()
    scene = digits_scene()
    running = {**COUNTERS, "phase": "running"}
    widget_page.mount(scene, "progress", counters=running)
    # The page's time stands still from here on, and moves only when the test says so.
    page.clock.pause_at(page.evaluate("() => Date.now()") / 1000 + 60)
    page.evaluate(_TELL, {**running, "steps": 6})
    notice = page.locator(".tfnb-news")
    assert not notice.is_visible()
    page.clock.run_for(8_000)
    assert notice.is_visible()
    assert "No message from the kernel for" in notice.inner_text()
    page.evaluate(_TELL, {**running, "steps": 7})
    assert not notice.is_visible()
    page.evaluate(_TELL, {**running, "phase": "done"})
    page.clock.run_for(20_000)
    assert not notice.is_visible()
    assert widget_page.problems == []
    page.close()


def test_a_view_says_so_when_the_front_end_has_lost_the_kernel(widget_page: WidgetPage) -> None:
    """ipywidgets marks the views of a lost kernel and informs the model."""
    page = widget_page.page
    widget_page.mount(digits_scene(), "progress", counters={**COUNTERS, "phase": "running"})
    page.evaluate(
        "() => { document.getElementById('place').classList.add('jupyter-widgets-disconnected');"
        " for (const handler of window.handlers['comm_live_update']) handler(); }"
    )
    notice = page.locator(".tfnb-news")
    notice.wait_for(state="visible")
    assert notice.inner_text() == "The kernel of this view is gone; this is its last state."
    assert notice.get_attribute("role") == "status"
