"""Picture and header of a live view: both show one moment, whatever takes how long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.notebook.browser.test_accessibility import COUNTERS
from tests.notebook.browser.test_front_end import _base64
from tfnb.notebook.scenes.scene import Scene, SceneNode, build_scene
from tfnb.notebook.steps.step_model import DONE, WAITING

if TYPE_CHECKING:
    from tests.notebook.browser.widget_page import WidgetPage

pytestmark = pytest.mark.browser

_ORIGIN = "http://widget.test/"
_MESSAGE = """([scene, states, counters]) => {
  if (scene) window.model.set("_scene", window.bytes(scene));
  window.model.set("_states", window.bytes(states));
  window.model.set("_counters", counters);
}"""
# Layouts of many boxes are kept back until they are let go.
_SLOW_LAYOUTS = """() => {
  window.kept = [];
  const large = new Set();
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (asked) {
    if (asked.request.boxes.length > 20) large.add(asked.ticket);
    const hear = this.onmessage;
    if (!this.isKept) {
      this.isKept = true;
      this.onmessage = (event) => {
        if (large.has(event.data.ticket)) window.kept.push(() => hear(event));
        else hear(event);
      };
    }
    post.call(this, asked);
  };
}"""
_STATES = """() => [...document.querySelectorAll(".tfnb-canvas .tfnb-node")].map(
  (node) => node.dataset.state)"""


def chain(count: int) -> Scene:
    """Nodes one after the other, none like another, so that none are drawn as a series."""
    names = [f"{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(count)]
    return build_scene(
        [SceneNode(name, f"Op{name}", ((i - 1, 0),) if i else ()) for i, name in enumerate(names)]
    )


def message(scene: Scene | None, count: int, state: int) -> list[Any]:
    """What the kernel sends of a step whose nodes are all in one state."""
    done = count if state == DONE else 0
    about = {"device": "CPU:0", "done": done, "dead": 0, "total": count, "runs": done}
    phase = "idle" if done else "running"
    counters = {**COUNTERS, "phase": phase, "partitions": [{**about, "current": ""}]}
    encoded = _base64(scene.encode()) if scene else ""
    return [encoded, _base64(bytes([0x10 | state] * count)), counters]


def mounted(widget_page: WidgetPage) -> Any:
    """A live view of three nodes, in a page that has an origin: others have no workers."""
    page = widget_page.page
    page.route(_ORIGIN, lambda route: route.fulfill(body="", content_type="text/html"))
    page.goto(_ORIGIN)
    widget_page.mount(chain(3), view="progress", counters=COUNTERS)
    page.evaluate(_SLOW_LAYOUTS)
    return page


def test_the_picture_follows_the_header_whichever_graph_took_longer(
    widget_page: WidgetPage,
) -> None:
    """A large graph that is still being drawn does not hold the states of a small one behind it."""
    page = mounted(widget_page)
    page.evaluate(_MESSAGE, message(chain(60), 60, WAITING))
    page.evaluate(_MESSAGE, message(chain(14), 14, WAITING))
    page.wait_for_function("() => window.kept.length > 0")
    page.evaluate("() => { for (const go of window.kept) go(); }")
    page.wait_for_function(f"() => ({_STATES})().join() === Array(14).fill('waiting').join()")
    page.evaluate(_MESSAGE, message(None, 14, DONE))
    assert page.locator(".tfnb-row-count").inner_text() == "14 / 14"
    assert page.evaluate(_STATES) == ["done"] * 14


def test_header_and_picture_keep_the_moment_before_while_a_graph_is_drawn(
    widget_page: WidgetPage,
) -> None:
    """Counters of nodes that are not on show yet are not shown either."""
    page = mounted(widget_page)
    page.evaluate(_MESSAGE, message(None, 3, DONE))
    count = page.locator(".tfnb-row-count")
    assert count.inner_text() == "3 / 3"
    page.evaluate(_MESSAGE, message(chain(60), 60, WAITING))
    page.wait_for_function("() => window.kept.length > 0")
    page.evaluate(_MESSAGE, message(None, 60, DONE))
    assert count.inner_text() == "3 / 3"
    page.evaluate("() => { for (const go of window.kept) go(); }")
    page.wait_for_function("() => document.querySelectorAll('.tfnb-canvas .tfnb-node').length > 20")
    assert count.inner_text() == "60 / 60"
    assert set(page.evaluate(_STATES)) == {"done"}
