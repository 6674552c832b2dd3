"""Curves of scalars beside the progress of a watched cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.notebook.browser.test_front_end import digits_scene
from tfnb.notebook.steps.scalar_curves import ScalarCurves

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.notebook.browser.lab import Lab
    from tests.notebook.browser.widget_page import WidgetPage

pytestmark = pytest.mark.browser

_TRAINING = """%load_ext tfnb
import tfnb as tf
w = tf.Variable(4.0)
loss = tf.square(w - 1.0, name="loss_of_it")
step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
seen = tf.summary.merge([tf.summary.scalar("loss", loss), tf.summary.scalar("w", w)])
session = tf.Session()
session.run(tf.global_variables_initializer())
"""
_WATCHED = """%%tfnb watch
for _ in range(200):
    session.run([step, seen])
"""


def payload(values: list[float], **more: list[float]) -> dict[str, Any]:
    """Return the curves as Python sends them."""
    curves = ScalarCurves()
    for tag, numbers in {"loss": values, **more}.items():
        for number in numbers:
            curves.scalar_made(tag, number)
    curves.absorb()
    return curves.payload()


@pytest.mark.parametrize("is_dark", [False, True])
def test_a_curve_has_axes_and_its_last_value(widget_page: WidgetPage, is_dark: bool) -> None:
    """A tag is shown as text; a growing curve keeps its place."""
    page = widget_page.page
    widget_page.mount(digits_scene(), view="progress", is_dark=is_dark)
    assert page.locator(".tfnb-curves").is_hidden()
    tag = "<img src=x onerror=alert(1)>"
    falling = [1.0 / n for n in range(1, 101)]
    send = "(curves) => window.model.set('_curves', curves)"
    page.evaluate(send, payload(falling, **{tag: [0.5, float("nan"), 0.7]}))
    cards = page.locator(".tfnb-curve")
    assert cards.count() == 2
    assert cards.nth(0).locator(".tfnb-curve-value").inner_text() == "0.01"
    assert cards.nth(1).locator(".tfnb-curve-name").inner_text() == tag
    texts = cards.nth(0).locator("text").all_text_contents()
    assert {"0.5", "1"} <= set(texts)
    assert "50" in texts
    box = cards.nth(0).locator("svg").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + 20)
    assert cards.nth(0).locator(".tfnb-curve-value").inner_text().startswith("value ")
    page.evaluate(send, payload([*falling, 0.25]))
    page.mouse.move(0, 0)
    assert cards.count() == 1
    assert cards.nth(0).locator(".tfnb-curve-value").inner_text() == "0.25"
    assert widget_page.problems == []


def test_a_watched_cell_draws_its_loss(lab: Lab, notebook_of: Callable[..., str]) -> None:
    """The curve is in the live view, in the summary that stays, and in a saved page."""
    lab.open(notebook_of("training.ipynb", _TRAINING, _WATCHED))
    lab.run(0)
    lab.run(1)
    lab.page.wait_for_selector(".tfnb-curve .tfnb-curve-line[d^=M]")
    names = lab.page.locator(".tfnb-curve-name").all_text_contents()
    assert names == ["loss", "w"]
    summary = [o for o in lab.outputs(1) if "image/svg+xml" in o.get("data", {})][-1]
    assert ">loss<" in "".join(summary["data"]["image/svg+xml"])
    assert "loss: 9 → " in "".join(summary["data"]["text/plain"])
