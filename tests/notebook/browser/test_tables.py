"""Views that are tables: run difference, values, partial runs; alone and in JupyterLab."""

from __future__ import annotations

import base64
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.notebook.browser.test_accessibility import complaints
from tests.notebook.browser.test_lab_panel import LIMIT_MS, drawn, press, show_panel, wait_for_text
from tfnb.client.debugger.run_difference import NodeInRuns, RunDifference
from tfnb.client.debugger.watched_tensor import WatchedTensor, WatchedValue
from tfnb.common_runtime.session.partial_run import PartialRunState
from tfnb.notebook.pictures.summary_svg import duration_text
from tfnb.notebook.views.compare import comparison_table
from tfnb.notebook.views.partial import partial_table
from tfnb.notebook.views.table import cell
from tfnb.notebook.views.table import table as node_table
from tfnb.notebook.views.values_svg import values_table
from tfnb.notebook.views.widget_page import widget_page as page_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.notebook.browser.lab import Lab, Shots
    from tests.notebook.browser.widget_page import WidgetPage

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)>\u202e\n"
CPU, OTHER = (f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in (0, 1))


def difference() -> dict[str, Any]:
    """Return a difference of every kind, a hostile name, and many equal nodes."""
    nodes = (
        NodeInRuns("loss", "Mul", (CPU, CPU), (1, 1), (9_000, 8_000), "output 0 is 1.0, then 2.0"),
        NodeInRuns("extra", "Neg", (None, CPU), (0, 1), (0, 2_000), ""),
        NodeInRuns("gone", "Exp", (CPU, None), (1, 0), (3_000, 0), ""),
        NodeInRuns("moved", "Add", (CPU, OTHER), (1, 1), (4_000, 4_000), ""),
        NodeInRuns("while/next", "Add", (CPU, CPU), (3, 4), (5_000, 7_000), ""),
        NodeInRuns(HOSTILE, "NoOp", (CPU, CPU), (1, 1), (1_000, 1_000), ""),
        *(NodeInRuns(f"n{i}", "Neg", (CPU, CPU), (1, 1), (9, 9), "") for i in range(40)),
    )
    value = "'loss' (Mul): output 0 is 1.0, then 2.0"
    return comparison_table(RunDifference(("gone",), ("extra",), (), (), value, 1, nodes))


def watched() -> dict[str, Any]:
    """Return a line with a gap, a text, and a tensor that no step computed."""
    wave = WatchedTensor("while/wave:0", 500)
    for i in range(200):
        mean = math.nan if i == 90 else math.sin(i / 12) * i
        frame = "while/while_context"
        wave.values.append(WatchedValue(1, frame, 1, i, np.float32(mean)))
    text = WatchedTensor(f"{HOSTILE}:0", 5)
    text.values.append(WatchedValue(1, "", 0, 0, np.array(HOSTILE.encode(), object)))
    return values_table([wave, text, WatchedTensor("never:0", 5)])


def partly(session: Any) -> dict[str, Any]:
    """Return two runs with feeds and fetches in every state."""
    first = PartialRunState(
        "h",
        {"a:0": True, "b:0": False, f"{HOSTILE}:0": False},
        {"sum:0": None, "ready:0": (), "product:0": ("b:0", f"{HOSTILE}:0")},
        ("step",),
    )
    return partial_table(session, [first, PartialRunState("i", {"a:0": True}, {}, ())])[0]


@pytest.fixture(params=["compare", "values", "partial"])
def state(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """Return the name of a view, and its state."""
    if request.param == "partial":
        with tf.Session(graph=tf.Graph()) as session:
            return request.param, partly(session)
    return request.param, {"compare": difference, "values": watched}[request.param]()


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_a_table_is_driven_by_keys_and_accessible(
    widget_page: WidgetPage, state: tuple[str, dict[str, Any]], is_dark: bool, shots: Shots
) -> None:
    """Tab reaches one row, arrows the others; Enter selects; names are shown as text."""
    view, table = state
    widget_page.mount(None, view, table=table, is_dark=is_dark)
    page = widget_page.page
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    names = [row[0]["node"] for row in table["rows"] if not isinstance(row, str)]
    focused = "() => document.activeElement.textContent"
    assert page.evaluate(focused) == page.locator("td .tfnb-link").first.inner_text()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.evaluate("() => model.get('selected')") == names[1]
    assert page.locator('tr[aria-current="true"]').count() == 1
    shots.take(page.locator(".tfnb"), f"{view}-{'dark' if is_dark else 'light'}.png")
    assert complaints(page) == []
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    assert page.evaluate("() => model.get('selected')") == names[-1]
    assert page.locator("img").count() == 0
    surface, paper = page.evaluate(
        """() => [document.querySelector(".tfnb"), document.querySelector("thead th")].map(
          (one) => getComputedStyle(one).backgroundColor)"""
    )
    assert surface == paper == ("rgb(33, 33, 33)" if is_dark else "rgb(255, 255, 255)")
    assert widget_page.problems == []


def test_a_table_sorts_by_each_column(widget_page: WidgetPage) -> None:
    """Figures are sorted as numbers, largest first; a second press reverses the order."""
    names = [("MatMul", 9_000_000, 2), ("Add", 1_500, 300), (HOSTILE, 80_000, 10), ("Neg", 0, 1)]
    rows = [
        [
            cell(op, node=f"n/{op}"),
            cell(duration_text(ns), order=ns, bar=ns / 9_000_000),
            cell(str(runs), order=runs),
        ]
        for op, ns, runs in names
    ]
    shown = node_table("Times", ("Op", "Time", "Runs"), [*rows, "… 3 more"], is_sortable=True)
    widget_page.mount(None, "times", table=shown)
    page = widget_page.page

    def seen() -> list[str]:
        assert page.locator("tbody tr").last.inner_text() == "… 3 more"
        return [text.split("\t")[0][:3] for text in page.locator("tbody tr").all_inner_texts()][:4]

    def press_head(name: str) -> str:
        page.locator("thead").get_by_role("button", name=name).click()
        sort: str = page.locator("th", has_text=name).get_attribute("aria-sort") or ""
        return sort

    assert press_head("Runs") == "descending"
    assert [one for one in seen() if one in ("Mat", "Add", "Neg")] == ["Add", "Mat", "Neg"]
    assert seen()[0] == "Add"
    assert press_head("Runs") == "ascending"
    assert seen()[0] == "Neg"
    page.keyboard.press("Enter")  # the head keeps the focus
    assert seen()[0] == "Add"
    assert press_head("Time") == "descending"
    assert seen() == ["Mat", "<im", "Add", "Neg"]
    assert press_head("Op") == "ascending"
    assert [one for one in seen() if one in ("Mat", "Add", "Neg")] == ["Add", "Mat", "Neg"]
    page.get_by_role("button", name="Add").click()
    assert page.evaluate("() => model.get('selected')") == "n/Add"
    assert complaints(page) == []
    assert widget_page.problems == []


def test_a_table_marks_what_the_selected_row_waits_for(widget_page: WidgetPage) -> None:
    """Waiting rows in both directions are marked; a selection from elsewhere scrolls into view."""
    with tf.Session(graph=tf.Graph()) as session:
        widget_page.mount(None, "partial", table=partly(session))
    page = widget_page.page
    page.evaluate("() => model.set('selected', 'b')")
    assert page.locator(".tfnb-near").all_inner_texts()[0].startswith("product:0")
    widget_page.mount(None, "compare", table=difference())
    page.evaluate("() => model.set('selected', 'n39')")
    row = page.locator('tr[aria-current="true"]')
    assert row.inner_text().startswith("n39")
    box, around = row.bounding_box(), page.locator(".tfnb-table-scroll").bounding_box()
    assert around["y"] <= box["y"] <= around["y"] + around["height"] - box["height"] + 1


def test_a_table_that_changes_keeps_focus_and_selection(widget_page: WidgetPage) -> None:
    """Focus and selection stay when the rows of partial runs change in a tab."""
    table = difference()
    widget_page.mount(None, "compare", table=table)
    page = widget_page.page
    page.get_by_role("button", name="extra").click()
    page.evaluate("(table) => model.set('_table', table)", {**table, "rows": table["rows"][1:]})
    assert page.evaluate("() => document.activeElement.textContent") == "extra"
    assert page.locator('tr[aria-current="true"]').inner_text().startswith("extra")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_saved_page_follows_the_scheme_that_is_preferred(
    widget_page: WidgetPage, tmp_path: Path, scheme: Any, shots: Shots
) -> None:
    """The page follows the system's colour scheme and its changes, and can be saved again."""
    file = tmp_path / "values.html"
    traits = {"_table": watched(), "_options": {"view": "values", "colourBy": "", "height": 1}}
    file.write_text(page_text(traits, "values"), encoding="utf-8")
    page = widget_page.page
    page.emulate_media(color_scheme=scheme)
    page.goto(file.as_uri())
    page.wait_for_selector(".tfnb-view-values[data-ready]")
    dark, light = "rgb(33, 33, 33)", "rgb(255, 255, 255)"
    paper = "() => getComputedStyle(document.querySelector('.tfnb')).backgroundColor"
    assert page.evaluate(paper) == (dark if scheme == "dark" else light)
    shots.take(page, f"saved-{scheme}.png")
    page.emulate_media(color_scheme="light" if scheme == "dark" else "dark")
    page.wait_for_function(f"(wanted) => ({paper})() === wanted",
                           arg=light if scheme == "dark" else dark)  # fmt: skip
    with page.expect_download() as download:
        page.get_by_label("Save as HTML").click()
    assert download.value.suggested_filename == "values.html"
    assert widget_page.problems == []


SETUP = """%load_ext tfnb
import tfnb as tf
a, b = (tf.placeholder(tf.float32, [], name=name) for name in "ab")
total = tf.add(a, b, name="total")
loop = tf.while_loop(
    lambda i, x: i < 6,
    lambda i, x: (i + 1, tf.multiply(x, 2.0, name="twice")), [0, total], name="loop")
sess = tf.get_default_session()
first = tf.debugger.record_values(sess, total, {a: 1.0, b: 2.0})
second = tf.debugger.record_values(sess, total, {a: 1.0, b: 3.0})"""
CELLS = {
    "compare": "%tfnb compare first second",
    "values": "%%tfnb values loop/twice total\nsess.run(loop, {a: 1.0, b: 2.0});",
    "partial": "h = sess.partial_run_setup([total], [a, b])\n"
    "sess.partial_run(h, [], {a: 1.0})\n%tfnb partial",
}
_SHOW = "(element) => element.scrollIntoView({block: 'start'})"


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_cells_and_tabs_select_together(
    lab: Lab, notebook_of: Callable[..., str], shots: Shots, theme: str
) -> None:
    """A selection in one cell's table selects in another cell's graph, in tabs, and back."""
    path = notebook_of(f"tables{theme}.ipynb", SETUP, "%tfnb graph", *CELLS.values())
    lab.page.set_viewport_size({"width": 1700, "height": 1000})
    lab.open(path, theme=f"JupyterLab {theme}")
    panel = show_panel(lab)
    for index in range(5):
        lab.run(index)
    page = lab.page
    views = {name: page.locator(f".jp-Cell .tfnb-view-{name}[data-ready]") for name in CELLS}
    for index, (name, view) in enumerate(views.items(), 2):
        view.wait_for(timeout=LIMIT_MS)
        page.evaluate(_SHOW, lab.cell(index))
        # The picture stays in the notebook, hidden while the table is shown.
        assert any("image/svg+xml" in one.get("data", {}) for one in lab.outputs(index))
        still = lab.show(index).query_selector(".jp-RenderedSVG")
        assert still is not None
        assert not still.is_visible()
        shots.take(page, f"cell-{name}-{theme.lower()}.png")
    page.evaluate("() => window.panel.content.activate()")

    wait_for_text(panel, "Partial runs")
    for name, button in (("values", "Values"), ("compare", "Compare"), ("partial", "Partial runs")):
        press(panel, button)
        drawn(lab, name)
        assert complaints(page, ".tfnb-lab-tab:not(.lm-mod-hidden)") == []
    shots.take(page, f"tabs-{theme.lower()}.png")

    graph = page.locator(".jp-Cell .tfnb-view-graph")
    views["values"].get_by_role("button", name="total:0").click()
    graph.locator(".tfnb-card-name", has_text="total").wait_for(timeout=LIMIT_MS)
    tab = page.locator(".tfnb-lab-tab .tfnb-view-partial")
    for view in (*views.values(), tab):
        view.locator('tr[aria-current="true"]', has_text="total").wait_for(timeout=LIMIT_MS)
    graph.locator('.tfnb-node[aria-label^="a,"]').first.dispatch_event("click")
    for view in (views["partial"], tab):
        view.locator('tr[aria-current="true"]', has_text="a").wait_for(timeout=LIMIT_MS)
    tab.get_by_role("button", name="b:0").first.click()
    graph.locator(".tfnb-card-name", has_text="b").wait_for(timeout=LIMIT_MS)


def test_tabs_follow_what_runs_and_are_there_after_a_reload(
    lab: Lab, notebook_of: Callable[..., str]
) -> None:
    """The commands of the palette open tabs before there is anything to show."""
    path = notebook_of("late.ipynb", SETUP.rpartition("\nsecond")[0], *CELLS.values())
    lab.open(path)
    panel = show_panel(lab)
    lab.run(0)
    wait_for_text(panel, "Partial runs")
    page = lab.page
    tabs = {}
    for name, nothing in (
        ("values", "No values yet"),
        ("compare", "Nothing was compared yet"),
        ("partial", "No partial run is in flight"),
    ):
        page.evaluate(f"() => window.jupyterapp.commands.execute('tfnb:open-{name}')")
        tabs[name] = page.locator(f".tfnb-lab-tab .tfnb-view-{name}")
        tabs[name].get_by_text(nothing).wait_for(timeout=LIMIT_MS)
        page.evaluate("() => window.jupyterapp.shell.activateById(window.panel.id)")
    lab.run(2)
    twice = tabs["values"].locator(".tfnb-link", has_text="loop/twice:0")
    twice.wait_for(state="attached", timeout=LIMIT_MS)  # behind the other tabs
    lab.run(3)
    tabs["partial"].get_by_text("lacks 1").wait_for(timeout=LIMIT_MS)
    lab.reload(path)
    tab = page.locator(".tfnb-lab-tab .tfnb-view-partial")
    tab.get_by_text("lacks 1").wait_for(timeout=LIMIT_MS)


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_pictures_follow_the_theme(lab: Lab, notebook_of: Callable[..., str], theme: str) -> None:
    """Pictures that are not widgets follow the theme, also after a semicolon."""
    compare = "tf.debugger.compare_runs(first, second)"
    path = notebook_of(f"pictures{theme}.ipynb", SETUP, compare, "tf.get_default_graph()",
                       "%%tfnb values total\nsess.run(total, {a: 1.0, b: 2.0});")  # fmt: skip
    lab.open(path, theme=f"JupyterLab {theme}")
    for index in range(4):
        lab.run(index)
    assert not any("execute_result" in one["output_type"] for one in lab.outputs(3))
    for index in (1, 2):
        picture = lab.show(index).wait_for_selector(".jp-RenderedSVG img")
        shot = base64.b64encode(picture.screenshot()).decode()
        level = lab.page.evaluate(
            """async (shot) => {
              const image = new Image();
              image.src = `data:image/png;base64,${shot}`;
              await image.decode();
              const canvas = document.createElement("canvas");
              const context = canvas.getContext("2d");
              context.drawImage(image, 0, 0);
              return context.getImageData(12, 12, 1, 1).data[0];
            }""",
            shot,
        )
        assert level < 60 if theme == "Dark" else level > 240
