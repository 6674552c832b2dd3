"""The views in Jupyter Notebook 7: drawing, buttons while a cell runs, reloading."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.notebook.browser.lab import Notebook7, Shots

pytestmark = pytest.mark.browser

LOOP = """%load_ext tfnb
import tfnb as tf
i = tf.constant(0, name="start")
loop = tf.while_loop(
    lambda i, x: i < 6,
    lambda i, x: (tf.add(i, 1, name="next"), tf.multiply(x, 2.0, name="twice")),
    [i, tf.constant(1.0, name="one")],
    name="loop",
)
"""


def test_a_graph_is_drawn_and_a_scope_opens(
    notebook7: Notebook7, notebook_of: Callable[..., str], shots: Shots
) -> None:
    """A click opens a scope; Shift+Enter over the graph runs the cell again."""
    page = notebook7.page
    notebook7.open(notebook_of("graph7.ipynb", LOOP, "%tfnb graph"))
    notebook7.run(0)
    notebook7.run(1)
    page.wait_for_selector(".tfnb-view-graph[data-ready]")
    page.locator(".tfnb-closed", has_text="twice").click()
    page.locator(".tfnb-node", has_text="Mul").wait_for()
    shots.take(page, "notebook7.png")
    page.locator(".tfnb-canvas").first.press("Shift+Enter")
    page.wait_for_function("() => window.panel.content.widgets[1].model.executionCount === 3")


def test_a_running_loop_is_stopped_stepped_and_resumed(
    notebook7: Notebook7, notebook_of: Callable[..., str]
) -> None:
    """Buttons work while the cell runs, as in JupyterLab."""
    page = notebook7.page
    cell = "%%tfnb debug loop/twice --iteration 3\nprint('result', loop[1].eval())"
    notebook7.open(notebook_of("debug7.ipynb", LOOP, cell))
    notebook7.run(0)
    notebook7.start(1)
    heading = ".tfnb-debug-heading"
    page.wait_for_function(
        f"() => document.querySelector('{heading}')?.textContent.includes('before loop/twice')"
    )
    bar = page.locator(".tfnb-debug-bar")
    bar.get_by_role("button", name="Step", exact=True).click()
    page.wait_for_function(
        f"() => {{ const text = document.querySelector('{heading}').textContent;"
        " return text.startsWith('Stands') && !text.includes('before loop/twice'); }"
    )
    bar.get_by_role("button", name="Continue", exact=True).click()
    page.wait_for_function("() => window.isDone")
    assert "result 64.0" in str(notebook7.outputs(1))


def test_a_recorded_run_is_there_after_a_reload(
    notebook7: Notebook7, notebook_of: Callable[..., str]
) -> None:
    """In a saved and reopened notebook the time slider works."""
    page = notebook7.page
    path = notebook_of("record7.ipynb", LOOP, "%%tfnb record\nloop[1].eval()")
    notebook7.open(path)
    notebook7.run(0)
    notebook7.run(1)
    page.wait_for_selector(".tfnb-view-run[data-ready]")
    page.evaluate("async () => { await window.panel.context.save(); }")
    notebook7.open(path)
    page.wait_for_selector(".tfnb-view-run[data-ready]")
    slider = page.locator(".tfnb-slider")
    last = slider.input_value()
    assert int(last) > 10
    slider.press("ArrowLeft")  # which would move between cells, were it the notebook's
    page.wait_for_function(
        "(last) => Number(document.querySelector('.tfnb-slider').value) === last - 1", arg=int(last)
    )
