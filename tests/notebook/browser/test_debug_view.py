"""The debugger in a real JupyterLab: buttons work while the cell runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.notebook.browser.lab import Lab, Shots

pytestmark = pytest.mark.browser

SETUP = """%load_ext tfnb
import tfnb as tf
tf.get_default_session()
i = tf.constant(0, name="start")
loop = tf.while_loop(
    lambda i, x: i < limit_,
    lambda i, x: (tf.add(i, 1, name="next"), tf.multiply(x, 2.0, name="twice")),
    [i, tf.constant(1.0, name="one")],
    name="loop",
)
"""
ENDLESS = (
    """count = tf.while_loop(lambda k: k >= 0, lambda k: (k + 1) % 100, [0], name="forever")"""
)


def _stands(page: Any, text: str) -> None:
    page.wait_for_function(
        "(text) => document.querySelector('.tfnb-debug-heading')?.textContent.includes(text)",
        arg=text,
        timeout=90_000,
    )


def _press(page: Any, name: str) -> None:
    page.locator(".tfnb-debug-bar").get_by_role("button", name=name, exact=True).click()


def _wait_until_done(lab: Lab) -> None:
    lab.page.wait_for_function("() => window.isDone", timeout=90_000)


def test_a_loop_is_stopped_stepped_changed_and_resumed(
    lab: Lab, notebook_of: Callable[..., str], shots: Shots
) -> None:
    """The loop stops in iteration 3, makes one step, gets another value, and runs to its result."""
    page = lab.page
    cell = "%%tfnb debug loop/twice --iteration 3\nprint('result', loop[1].eval())"
    lab.open(notebook_of("debug.ipynb", SETUP.replace("limit_", "6"), cell))
    lab.run(0)
    lab.start(1)
    _stands(page, "Stands before loop/twice")
    heading = page.locator(".tfnb-debug-heading").inner_text()
    assert "iteration 3 of loop/while_context" in heading
    assert "8." in page.locator(".tfnb-debug-text").first.inner_text()
    assert page.locator('.tfnb-debug-node[data-state="stands"]').count() == 1
    page.wait_for_selector(".tfnb-selected")
    shots.take(page, "debugger.png")

    form = page.locator(".tfnb-debug-change").first
    form.get_by_role("textbox").fill("100.0")
    form.get_by_role("button", name="Set").click()
    page.wait_for_function(
        "() => document.querySelector('.tfnb-debug-text').textContent.startsWith('100.')"
    )
    _press(page, "Step")
    page.wait_for_function(
        "() => !document.querySelector('.tfnb-debug-heading').textContent"
        ".includes('before loop/twice')"
    )
    _stands(page, "Stands before")
    _press(page, "Continue")
    _wait_until_done(lab)
    # 100 doubled in iterations 3, 4 and 5.
    assert "result 800.0" in str(lab.outputs(1))
    _stands(page, "The cell has ended")


def test_an_endless_loop_is_paused_looked_into_and_cancelled(
    lab: Lab, notebook_of: Callable[..., str]
) -> None:
    """Pause works without a breakpoint while the cell runs; the kernel stays usable."""
    page = lab.page
    lab.open(
        notebook_of(
            "endless.ipynb",
            SETUP.replace("limit_", "6"),
            ENDLESS,
            "%%tfnb debug nowhere\ntry:\n    count.eval()\nexcept tf.errors.CancelledError as e:\n"
            "    print('ended', type(e).__name__)",
            "print(tf.constant(3.0).eval())",
        )
    )
    lab.run(0)
    lab.run(1)
    lab.start(2)
    _stands(page, "Running")
    _press(page, "Pause")
    _stands(page, "of forever/while_context")
    assert page.locator(".tfnb-debug-iteration").count() >= 2
    page.locator(".tfnb-debug-node .tfnb-link").first.click()
    page.wait_for_function("() => document.querySelector('.tfnb-debug-answer').textContent !== ''")
    _press(page, "Iteration")
    _stands(page, "of forever/while_context")
    _press(page, "Cancel")
    _wait_until_done(lab)
    assert "ended CancelledError" in str(lab.outputs(2))
    lab.run(3)
    assert "3.0" in str(lab.outputs(3))


def test_a_breakpoint_is_set_and_removed_by_the_form(
    lab: Lab, notebook_of: Callable[..., str]
) -> None:
    """A wrong condition shows an error; drawing the graph keeps the typed text."""
    page = lab.page
    cell = "%%tfnb debug --start\nloop[1].eval()"
    lab.open(notebook_of("breaks.ipynb", SETUP.replace("limit_", "6"), cell))
    lab.run(0)
    lab.start(1)
    _stands(page, "Stands before")
    form = page.locator(".tfnb-debug-form")
    form.get_by_label("Node or pattern").fill("loop/twice")
    form.get_by_label("Condition").fill("often")
    page.wait_for_selector(".tfnb-selected")
    assert form.get_by_label("Node or pattern").input_value() == "loop/twice"
    form.get_by_role("button", name="Break").click()
    page.wait_for_selector(".tfnb-debug-answer.tfnb-is-error")
    form.get_by_label("Condition").fill("max > 10")
    form.get_by_role("button", name="Break").click()
    page.wait_for_selector(".tfnb-debug-break")
    _press(page, "Continue")
    _stands(page, "Stands after loop/twice")
    assert "16." in page.locator(".tfnb-debug-text").first.inner_text()
    page.get_by_label("Remove breakpoint 1").click()
    page.wait_for_selector(".tfnb-debug-break", state="detached")
    _press(page, "Continue")
    _wait_until_done(lab)


def test_keys_pressed_in_a_view_are_not_the_notebooks(
    lab: Lab, notebook_of: Callable[..., str]
) -> None:
    """Enter presses a button, "b" adds no cell to the notebook."""
    page = lab.page
    cells = (SETUP.replace("limit_", "6"), "%%tfnb debug --start\nloop[1].eval()")
    lab.open(notebook_of("keys.ipynb", *cells))
    lab.run(0)
    lab.start(1)
    _stands(page, "Stands before")
    before = page.locator(".tfnb-debug-heading").inner_text()
    button = page.locator(".tfnb-debug-bar").get_by_role("button", name="Step", exact=True)
    button.press("b")
    button.press("Enter")
    page.wait_for_function(
        "(before) => { const text = document.querySelector('.tfnb-debug-heading').textContent;"
        " return text.startsWith('Stands') && text !== before; }",
        arg=before,
    )
    _press(page, "Continue")
    _wait_until_done(lab)
    page.wait_for_function("() => document.querySelector('.tfnb-debug-button').disabled")
    assert page.evaluate("() => window.panel.content.widgets.length") == len(cells)
