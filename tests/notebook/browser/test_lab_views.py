"""Tabs of JupyterLab: positions, narrow tabs, names of tabs and sessions."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.notebook.browser.stillness import settle
from tests.notebook.browser.test_lab_panel import (
    ENDLESS,
    LIMIT_MS,
    SETUP,
    drawn,
    open_graph,
    press,
    show_panel,
    wait_for_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import ViewportSize

    from tests.notebook.browser.lab import Lab

pytestmark = pytest.mark.browser

_OPEN_ANOTHER = """async (path) => {
  window.first = window.panel;
  const app = window.jupyterapp;
  const panel = await app.commands.execute("docmanager:open", {path, factory: "Notebook"});
  await panel.context.ready;
  await panel.revealed;
  await panel.sessionContext.ready;
  window.panel = panel;
}"""
_VISIBLE = "() => [window.first, window.panel].map((one) => one.isVisible)"


@pytest.mark.oldest_lab
def test_views_open_beside_their_notebook_wherever_that_is(
    lab: Lab, notebook_of: Callable[..., str]
) -> None:
    """A view opens beside its notebook, also among the tabs of another notebook's views."""
    other = notebook_of("beside_b.ipynb", SETUP)
    lab.open(notebook_of("beside_a.ipynb", SETUP))
    panel = show_panel(lab)
    lab.run(0)
    wait_for_text(panel, "float32 (3, 2)")
    open_graph(lab)
    lab.page.locator(".tfnb-lab-tab .tfnb-canvas").click()
    lab.page.evaluate(_OPEN_ANOTHER, other)
    lab.run(0)
    of_other = panel.get_by_role("region", name="Kernel of beside_b.ipynb")
    of_other.get_by_text("float32 (3, 2)").wait_for(timeout=LIMIT_MS)
    of_other.get_by_role("button", name="Graph", exact=True).click()
    drawn_tabs = lab.page.locator(".tfnb-lab-tab:visible .tfnb-view-graph[data-ready]")
    drawn_tabs.first.wait_for(timeout=LIMIT_MS)
    lab.page.get_by_role("tab", name="Graph of sess, beside_b.ipynb").wait_for(timeout=LIMIT_MS)
    settle(lab.page)
    assert lab.page.evaluate(_VISIBLE)[1] is True
    notebook, view = (
        lab.page.evaluate("() => window.panel.node.getBoundingClientRect().toJSON()"),
        drawn_tabs.first.bounding_box(),
    )
    assert view["x"] >= notebook["right"] or view["x"] + view["width"] <= notebook["left"]


def _inside(outer: Any, inner: Any) -> bool:
    return bool(
        inner["x"] >= outer["x"] - 1
        and inner["x"] + inner["width"] <= outer["x"] + outer["width"] + 1
    )


def test_narrow_tabs_are_filled_and_nothing_in_them_is_cut_off(
    lab: Lab, notebook_of: Callable[..., str]
) -> None:
    """The window is 1440 pixels wide, with a notebook and the panel."""
    page = lab.page
    page.set_viewport_size({"width": 1440, "height": 900})
    lab.open(notebook_of("narrow.ipynb", SETUP))
    panel = show_panel(lab)
    lab.run(0)
    wait_for_text(panel, "float32 (3, 2)")
    for name, view in (
        ("Graph", "graph"),
        ("Placement of score", "placement"),
        ("Partitions of score", "partitions"),
        ("Passes of score", "passes"),
    ):
        press(panel, name)
        root = drawn(lab, view)
        settle(page)
        tab = page.locator(".tfnb-lab-tab:visible")
        box, field = tab.bounding_box(), root.locator(".tfnb-field").bounding_box()
        for control in root.locator(".tfnb-toolbar :is(button, input, select):visible").all():
            assert _inside(box, control.bounding_box()), control.get_attribute("aria-label")
        assert field["width"] > 0.9 * box["width"], view
        assert field["height"] >= 220, view
        bottom = root.bounding_box()
        assert bottom["y"] + bottom["height"] >= box["y"] + box["height"] - 12, view
        if view in ("graph", "partitions"):
            assert field["height"] > 0.75 * box["height"], view


_WATCH_TOOLBAR = """() => {
  const toolbar = window.panel.toolbar.node;
  window.lowest = 0;
  const look = () => {
    const top = toolbar.getBoundingClientRect().top;
    for (const item of toolbar.children) {
      const box = item.getBoundingClientRect();
      if (box.width) window.lowest = Math.max(window.lowest, box.top - top);
    }
    if (toolbar.isConnected) requestAnimationFrame(look);
  };
  look();
}"""


_CANCEL_UNTIL_DONE = """() => {
  if (window.isDone) return true;
  document.querySelector(".tfnb-lab-toolbar [aria-label='Cancel the running step']").click();
  return false;
}"""


@pytest.mark.oldest_lab
def test_the_step_in_the_toolbar_moves_no_item_over_the_first_cell(
    lab: Lab, notebook_of: Callable[..., str]
) -> None:
    """Every item stays on the toolbar's line, also before JupyterLab makes room for the step."""
    lab.page.set_viewport_size({"width": 800, "height": 700})
    lab.open(notebook_of("toolbar.ipynb", SETUP, ENDLESS))
    lab.run(0)
    lab.page.evaluate(_WATCH_TOOLBAR)
    lab.start(1)
    toolbar = lab.page.locator(".tfnb-lab-toolbar")
    toolbar.get_by_text("running").wait_for(timeout=LIMIT_MS)
    # JupyterLab may move the item while it is pressed, and the press is lost: it is repeated.
    lab.page.wait_for_function(_CANCEL_UNTIL_DONE, timeout=LIMIT_MS, polling=500)
    assert lab.page.evaluate("() => window.lowest") < 16


def test_sessions_and_executors_are_told_apart(lab: Lab, notebook_of: Callable[..., str]) -> None:
    """Sessions are named after their variables, executors after their fetches and a number."""
    many = ", ".join(f"a_long_name_of_a_placeholder_{i}" for i in range(3))
    more = "\n".join(
        [
            *(f'a_long_name_of_a_placeholder_{i} = tf.placeholder(tf.float32, [], '
              f'name="a_long_name_of_a_placeholder_{i}")' for i in range(3)),
            f"total = tf.add_n([{many}], name='a_long_name_of_a_total')",
            "twice = tf.multiply(total, 2.0, name='twice_as_much_as_the_total')",
            "a, b = (tf.get_variable(f'layer/{one}/Adam_1', [2]) for one in ('kernel', 'bias'))",
            "sess.run([a.initializer, b.initializer])",
            "other = tf.Session()",
            f"feed = dict.fromkeys([{many}], 1.0)",
            "other.run(total, feed); other.run(twice, feed);",
        ]
    )  # fmt: skip
    lab.open(notebook_of("names.ipynb", SETUP, more))
    panel = show_panel(lab)
    lab.run(0)
    lab.run(1)
    panel.get_by_role("heading", name="other", exact=True).wait_for(timeout=LIMIT_MS)
    panel.get_by_role("heading", name="sess", exact=True).wait_for(timeout=LIMIT_MS)
    wait_for_text(panel, "twice_as_much_as_the_total:0")
    fetches = panel.locator(".tfnb-lab-session", has_text="twice_as").locator(".tfnb-lab-fetches")
    assert fetches.all_inner_texts() == ["twice_as_much_as_the_total:0", "a_long_name_of_a_total:0"]
    for one in fetches.all():
        assert one.evaluate("(e) => e.scrollWidth <= e.clientWidth && e.clientHeight > 0")
    for name in ("layer/bias/Adam_1", "layer/kernel/Adam_1"):
        held = panel.locator("td.tfnb-lab-names").get_by_text(name, exact=True)
        assert held.evaluate("(e) => e.scrollWidth <= e.clientWidth")
    numbers = panel.get_by_text("No. ").all_inner_texts()
    assert len({text.split(" · ")[0] for text in numbers}) == len(numbers)


SAVED_VIEWS = ("%tfnb graph", "%tfnb placement", "%tfnb partitions", "%tfnb passes")
_PICTURES = """() => [...document.querySelectorAll(".jp-CodeCell")].slice(1).map((cell) => [
  [...cell.querySelectorAll(".jp-RenderedSVG")].filter((one) => one.offsetParent !== null).length,
  cell.querySelector(".jp-OutputArea").innerText.includes("model not found"),
])"""


@pytest.mark.oldest_lab
def test_a_picture_stands_for_its_view_while_the_kernel_is_busy(
    lab: Lab, notebook_of: Callable[..., str]
) -> None:
    """After a reload the widget waits for the kernel; its word is not shown above the picture."""
    path = notebook_of("busy.ipynb", SETUP, "%tfnb graph", ENDLESS)
    page = lab.page
    lab.open(path)
    lab.run(0)
    lab.run(1)
    page.wait_for_selector(".tfnb-view-graph[data-ready]", timeout=LIMIT_MS)
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    lab.start(2)
    page.locator(".tfnb-lab-toolbar").get_by_text("running").wait_for(timeout=LIMIT_MS)
    lab.reload(path)
    word = page.locator(".jp-OutputArea-output", has_text="Loading widget")
    word.wait_for(state="attached", timeout=LIMIT_MS)
    page.locator(".jp-RenderedSVG img").wait_for(timeout=LIMIT_MS)
    assert not word.is_visible()
    press(page.locator(".tfnb-lab-toolbar"), "Cancel the running step")
    page.locator(".tfnb-lab-toolbar").wait_for(state="hidden", timeout=LIMIT_MS)


# JupyterLab draws only the cells that the window has room for.
_ALL_CELLS: ViewportSize = {"width": 1320, "height": 3200}
# How many pictures their cells cut off.
_TOO_WIDE = """() => [...document.querySelectorAll(".jp-RenderedSVG img")].filter(
  (one) => one.getBoundingClientRect().right > one.parentElement.getBoundingClientRect().right + 1
).length"""


@pytest.mark.oldest_lab
def test_a_notebook_that_is_opened_again_has_a_picture_of_every_view(
    lab: Lab, notebook_of: Callable[..., str], server_folder: Path
) -> None:
    """The picture is in an exported page, too; it is hidden while the widget is shown."""
    run = "sess.run(score, {x: [[1.0, 2.0, 3.0]]})"
    live = (f"%%tfnb record\n{run}", f"%%tfnb watch\n{run}")
    path = notebook_of("saved_views.ipynb", SETUP, *SAVED_VIEWS, *live)
    lab.page.set_viewport_size(_ALL_CELLS)
    lab.open(path)
    for index in range(len(SAVED_VIEWS) + 3):
        lab.run(index)
    for view in ("graph", "placement", "partitions", "passes", "run", "progress"):
        lab.page.wait_for_selector(f".tfnb-view-{view}[data-ready]", timeout=LIMIT_MS)
    settle(lab.page)
    assert lab.page.evaluate(_PICTURES) == [[0, False]] * 4 + [[1, False]] * 2
    lab.page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    lab.close()

    lab.page.set_viewport_size(_ALL_CELLS)
    lab.open(path)
    # JupyterLab adds the cells of a notebook one after the other.
    are_there = f"""() => {{
      const found = ({_PICTURES})();
      return found.length === 6 && found.every(([shown]) => shown === 1);
    }}"""
    lab.page.wait_for_function(are_there, timeout=LIMIT_MS)
    assert lab.page.evaluate(_PICTURES) == [[1, False]] * 6
    lab.page.set_viewport_size({"width": 700, "height": 1200})
    assert lab.page.evaluate(_TOO_WIDE) == 0

    from nbconvert import HTMLExporter

    page, _ = HTMLExporter().from_filename(str(server_folder / path))
    found = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    pictures = [base64.b64decode(text).decode() for text in found]
    assert len(pictures) == 6
    assert "Placement: CPU:0" in pictures[1]
