"""axe-core checks every view: names, roles, contrast, keyboard access."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.notebook.browser.stillness import settle
from tests.notebook.browser.test_front_end import digits_scene
from tests.notebook.browser.test_recorded_costs import passes_of_small_graph
from tests.notebook.steps.recorded_loop import recorded_loop
from tfnb.notebook.scenes.scene import build_scene
from tfnb.notebook.steps.run_costs import with_costs

if TYPE_CHECKING:
    from tests.notebook.browser.widget_page import WidgetPage
    from tfnb.notebook.steps.run_record import RunRecord

pytestmark = pytest.mark.browser

AXE = Path(__file__).parents[3] / "labextension" / "node_modules" / "axe-core" / "axe.min.js"

COUNTERS = {
    "phase": "running",
    "steps": 3,
    "running": 1,
    "elapsed_ns": 2_000_000,
    "step_ns": 500_000,
    "runs_per_second": 1234.5,
    "steps_per_second": 7.3,
    "sent_bytes": 123_456,
    "queues": [
        {"name": "images", "size": 3, "capacity": 10, "isClosed": False},
        {"name": "labels", "size": 4, "capacity": 0, "isClosed": True},
    ],
    "partitions": [
        {
            "device": "/job:localhost/replica:0/task:0/device:CPU:0",
            "done": 3,
            "dead": 1,
            "total": 9,
            "runs": 12,
            "current": "block_1/conv",
        }
    ],
    "frames": [
        {
            "name": "loop",
            "device": "/device:CPU:0",
            "depth": 0,
            "iteration": 4,
            "live": 2,
            "isDone": False,
            "runs": 1,
        }
    ],
    "moreFrames": 0,
    "dropped": 0,
    "error": "",
}
STOP = {
    "stop": {
        "step": 7,
        "function": "",
        "device": "/job:localhost/replica:0/task:0/device:CPU:0",
        "node": "block_1/conv",
        "op": "Conv2D",
        "phase": "before",
        "isDead": False,
        "reason": "step",
        "loops": [["loop", 3]],
        "values": [{"tensor": "images:0", "text": "1. (float32, scalar)", "canChange": True}],
        "moreValues": 2,
        "ready": ["block_1/conv", "block_1/relu"],
        "frames": [
            {
                "name": "loop",
                "device": "/device:CPU:0",
                "depth": 1,
                "isHere": True,
                "parallel": 10,
                "deferred": ["next"],
                "iterations": [
                    {"number": 3, "isHere": True, "outstanding": 2, "dead": 1, "values": 4}
                ],
            }
        ],
        "moreFrames": 1,
        "nodes": [
            {
                "name": "block_1/conv",
                "op": "Conv2D",
                "state": state,
                "pending": 1,
                "dead": 0,
                "entries": [["images:0", "value"]],
                "missing": ["images"],
            }
            for state in ("not ready", "ready", "stands", "waits", "done", "dead")
        ],
        "moreNodes": 3,
    },
    "breakpoints": [
        {"number": 1, "text": "node block_1/conv", "hits": 2, "enabled": True},
        {"number": 2, "text": "every node, if nan, off", "hits": 0, "enabled": False},
    ],
    "isOver": False,
    "hasButtons": True,
    "answer": "'block_1/conv' waits",
    "isError": False,
}


@pytest.fixture(scope="module")
def record() -> RunRecord:
    """A step with nested loops on two devices."""
    return recorded_loop()


def complaints(page: Any, where: str = "#place") -> list[str]:
    """Return axe-core's violations; rules about whole documents do not apply to a widget."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed: npm --prefix labextension ci")
    if page.evaluate("() => window.axe === undefined"):
        page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
    settle(page)
    found: list[str] = page.evaluate(
        """async (where) => {
          const result = await axe.run(where, {
            runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"],
          });
          return result.violations.map((one) => `${one.id}: ${one.help}: ` +
            one.nodes.slice(0, 4).map((node) => `${node.html.slice(0, 160)} ` +
              node.any.map((check) => check.message).join("; ")).join(" | "));
        }""",
        where,
    )
    return found


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("view", ["graph", "placement", "partitions"])
def test_a_graph_is_accessible(widget_page: WidgetPage, view: str, is_dark: bool) -> None:
    """A node is selected, and its card is open."""
    widget_page.mount(digits_scene(), view, is_dark=is_dark)
    widget_page.page.locator(".tfnb-node").first.click()
    widget_page.settle()
    assert complaints(widget_page.page) == []


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_progress_is_accessible(widget_page: WidgetPage, is_dark: bool) -> None:
    """Figures, bars and loops are visible."""
    scene = digits_scene()
    states = bytes([0x13] * len(scene.nodes))
    widget_page.mount(scene, "progress", states=states, counters=COUNTERS, is_dark=is_dark)
    widget_page.settle()
    assert complaints(widget_page.page) == []


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("tab", ["Graph", "Devices", "Frames", "Timeline"])
def test_a_recorded_run_is_accessible(
    widget_page: WidgetPage, record: RunRecord, tab: str, is_dark: bool
) -> None:
    """Every tab is checked."""
    assert record.lanes is not None
    lanes = record.lanes.encode()
    widget_page.mount(record.scene, "run", record=record.encode(), lanes=lanes, is_dark=is_dark)
    widget_page.page.get_by_role("tab", name=tab).click()
    widget_page.settle()
    assert complaints(widget_page.page) == []


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("by", ["time", "memory", "liveness"])
def test_colours_of_costs_are_accessible(
    widget_page: WidgetPage, record: RunRecord, by: str, is_dark: bool
) -> None:
    """The card is open and shows costs."""
    nodes = with_costs(record.scene.nodes, record)
    widget_page.mount(build_scene(nodes), colour_by=by, is_dark=is_dark)
    widget_page.page.locator(".tfnb-closed").first.click()
    widget_page.settle()
    widget_page.page.locator(".tfnb-node").first.dispatch_event("click")
    widget_page.settle()
    assert complaints(widget_page.page) == []


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_passes_are_accessible(widget_page: WidgetPage, is_dark: bool) -> None:
    """The list, the reports of a pass, and both states are checked."""
    passes = passes_of_small_graph()
    widget_page.mount(None, "passes", colour_by="change", passes=passes, is_dark=is_dark)
    widget_page.page.wait_for_selector('.tfnb-passes[data-shown="0 before"]')
    widget_page.settle()
    assert complaints(widget_page.page) == []


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_the_debugger_is_accessible(widget_page: WidgetPage, is_dark: bool) -> None:
    """Buttons, values, loops, nodes in every state and breakpoints are visible."""
    widget_page.mount(digits_scene(), "debug", counters=COUNTERS, debugger=STOP, is_dark=is_dark)
    widget_page.settle()
    assert widget_page.page.locator(".tfnb-debug-node").count() == 6
    assert complaints(widget_page.page) == []


def test_hostile_names_at_a_stop_are_text(widget_page: WidgetPage) -> None:
    """Hostile names of nodes, tensors, loops, reasons, breakpoints and answers run no code."""
    hostile = "<img src=x onerror=alert(1)>"
    text = json.dumps(STOP)
    for word in ("block_1/conv", "images:0", "loop", "step", "Conv2D", "next"):
        text = text.replace(f'"{word}"', json.dumps(hostile))
    state = {**json.loads(text), "answer": hostile}
    widget_page.mount(digits_scene(), "debug", counters=COUNTERS, debugger=state)
    widget_page.settle()
    page = widget_page.page
    assert page.locator("img").count() == 0
    assert hostile in page.locator(".tfnb-debug-heading").inner_text()
    page.locator(".tfnb-debug-node .tfnb-link").first.click()
    assert page.evaluate("() => window.sent") == [{"command": "why", "node": hostile}]
    assert widget_page.problems == []
