"""A recorded step in a real browser: time, frames and timeline select the same node."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.notebook.steps.recorded_loop import HOSTILE, recorded_loop
from tfnb.notebook.scenes.scene import SceneNode, build_scene
from tfnb.notebook.steps.run_record import RecordedFrame, RunRecord
from tfnb.notebook.steps.step_tape import (
    DONE,
    FRAME_ENTERED,
    ITERATION_STARTED,
    STARTED,
)
from tfnb.notebook.views.record_html import record_html

if TYPE_CHECKING:
    from pathlib import Path

    from tests.notebook.browser.lab import Shots
    from tests.notebook.browser.widget_page import WidgetPage

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def record() -> RunRecord:
    """A step with nested loops on two devices."""
    return recorded_loop(iterations=6, parallel_iterations=3)


def mount(widget_page: WidgetPage, record: RunRecord, **options: Any) -> Any:
    """Show the record; return the page."""
    widget_page.mount(record.scene, "run", record=record.encode(), **options)
    return widget_page.page


def move_to(page: Any, share: float) -> None:
    """Move the slider of time."""
    page.locator(".tfnb-slider").evaluate(
        "(slider, share) => { slider.value = String(Math.round(slider.max * share));"
        " slider.dispatchEvent(new Event('input')); }",
        share,
    )


def test_time_goes_back_and_the_graph_with_it(widget_page: WidgetPage, record: RunRecord) -> None:
    """At the end all nodes are done, at the beginning all wait."""
    page = mount(widget_page, record)
    outer = widget_page.closed_scope("outer")
    assert outer.get_attribute("data-state") == "done"

    page.get_by_label("To the beginning").click()
    assert outer.get_attribute("data-state") == "waiting"
    assert "nothing has happened" in page.locator(".tfnb-event").inner_text()

    page.get_by_label("One event on").click()
    assert "starts" in page.locator(".tfnb-event").inner_text()
    assert widget_page.problems == []


def test_frames_show_iterations_in_flight_and_dead_nodes(
    widget_page: WidgetPage, record: RunRecord
) -> None:
    """In the middle some iterations are in flight, at most parallel_iterations of them."""
    page = mount(widget_page, record)
    page.get_by_role("tab", name="Frames").click()
    move_to(page, 0.5)

    title = page.locator(".tfnb-frame-title").inner_text()
    assert title.startswith("outer/while_context on CPU:0")
    flying = page.locator(".tfnb-cells thead .tfnb-in-flight").count()
    assert 1 <= flying <= 3
    move_to(page, 1)
    assert page.locator(".tfnb-cells thead .tfnb-in-flight").count() == 0
    assert page.locator('.tfnb-cell[data-state="dead"]').count() > 3
    assert widget_page.problems == []


def test_the_next_iteration_is_one_press_away(widget_page: WidgetPage, record: RunRecord) -> None:
    """A press goes from the beginning to iteration 0, then to 1."""
    page = mount(widget_page, record)
    page.get_by_label("To the beginning").click()
    page.get_by_label("To the next iteration").click()
    assert "iteration 0 of outer/while_context begins" in page.locator(".tfnb-event").inner_text()


def test_a_node_that_is_picked_is_picked_in_every_view(
    widget_page: WidgetPage, record: RunRecord
) -> None:
    """A node selected in the frames is selected in the graph's card and in its row."""
    page = mount(widget_page, record)
    page.get_by_role("tab", name="Frames").click()
    page.locator(".tfnb-cells-name .tfnb-link", has_text="outer/Less").first.click()
    page.wait_for_selector(".tfnb-cells .tfnb-picked")
    page.get_by_role("tab", name="Graph").click()
    assert page.locator(".tfnb-card-name").inner_text().startswith("outer/Less")


def test_the_timeline_zooms_by_keys_and_says_where_it_is(
    widget_page: WidgetPage, record: RunRecord
) -> None:
    """Lanes are drawn; + shows a shorter time span, 0 all of it."""
    page = mount(widget_page, record)
    page.get_by_role("tab", name="Timeline").click()
    canvas = page.locator(".tfnb-timeline-canvas")
    widget_page.settle()
    whole = page.locator(".tfnb-timeline-status").inner_text()
    canvas.focus()
    page.keyboard.press("+")
    widget_page.settle()
    assert page.locator(".tfnb-timeline-status").inner_text() != whole
    page.keyboard.press("0")
    widget_page.settle()
    assert page.locator(".tfnb-timeline-status").inner_text() == whole
    painted = canvas.evaluate(
        "(canvas) => new Set(new Uint32Array(canvas.getContext('2d')"
        ".getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size"
    )
    assert painted > 5
    assert "lanes" in (canvas.get_attribute("aria-label") or "")
    assert page.locator(".tfnb-slowest li").count() > 3
    assert widget_page.problems == []


def test_the_timeline_follows_a_change_of_the_theme(
    widget_page: WidgetPage, record: RunRecord
) -> None:
    """It is drawn again in the colours of the new theme, and in the first ones afterwards."""
    page = mount(widget_page, record)
    page.get_by_role("tab", name="Timeline").click()
    canvas = page.locator(".tfnb-timeline-canvas")
    widget_page.settle()
    pictures = []
    for is_light in ("true", "false", "true"):
        page.evaluate("(is) => { document.body.dataset.jpThemeLight = is; }", is_light)
        widget_page.settle()
        pictures.append(canvas.evaluate("(canvas) => canvas.toDataURL()"))
    assert pictures[0] != pictures[1]
    assert pictures[0] == pictures[2]
    assert widget_page.problems == []


def test_tabs_are_reached_by_arrow_keys(widget_page: WidgetPage, record: RunRecord) -> None:
    """Tabs follow the ARIA pattern."""
    page = mount(widget_page, record)
    page.get_by_role("tab", name="Graph").focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("tab", name="Frames").get_attribute("aria-selected") == "true"
    assert page.locator(".tfnb-microscope").is_visible()
    assert not page.locator(".tfnb-graph").first.is_visible()


@pytest.mark.parametrize("tab", ["devices", "frames", "timeline"])
def test_a_tab_opened_before_the_step_is_there_is_filled_when_it_comes(
    widget_page: WidgetPage, record: RunRecord, tab: str
) -> None:
    """The click is kept: the tab stays open and gets its picture."""
    scene = build_scene(record.scene.nodes, partitions=record.scene.partitions, in_lanes=True)
    page = mount(
        widget_page, record, lanes=scene.encode(), early=f".tfnb-tab[aria-controls$='{tab}']"
    )
    panel = page.locator(f"[role=tabpanel][id$='{tab}']")
    inside = {"devices": ".tfnb-lane", "frames": ".tfnb-cell", "timeline": "canvas"}[tab]
    panel.locator(inside).first.wait_for()
    assert page.get_by_role("tab", selected=True).inner_text().lower() == tab
    assert widget_page.problems == []


def test_a_tab_that_the_step_does_not_have_gives_way_to_the_graph(
    widget_page: WidgetPage, record: RunRecord
) -> None:
    """A step on one device has no lanes."""
    page = mount(widget_page, record, early=".tfnb-tab[aria-controls$='devices']")
    page.locator("[role=tabpanel][id$='graph'] .tfnb-item").first.wait_for()
    assert page.get_by_role("tab", selected=True).inner_text() == "Graph"


def test_it_plays_by_itself_to_the_end(widget_page: WidgetPage, record: RunRecord) -> None:
    """Playing stops at the end."""
    page = mount(widget_page, record)
    move_to(page, 0.97)
    page.get_by_label("Play").click()
    page.wait_for_function(
        "() => { const s = document.querySelector('.tfnb-slider'); return s.value === s.max; }"
    )
    page.get_by_label("Play").wait_for()


def test_the_file_of_its_own_opens_without_a_kernel(
    chromium: Any, record: RunRecord, tmp_path: Path, shots: Shots
) -> None:
    """The file is opened from disk with the network off."""
    file = tmp_path / "run.html"
    file.write_text(record_html(record, 420), encoding="utf-8")
    context = chromium.new_context(offline=True, viewport={"width": 1200, "height": 700})
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(file.as_uri())
    page.wait_for_selector('[data-ready="true"]')
    page.get_by_role("tab", name="Frames").click()
    move_to(page, 0.5)
    assert "in flight" in page.locator(".tfnb-frame-title").inner_text()
    shots.take(page, "frames.png")
    context.close()
    assert problems == []


def test_hostile_names_are_text(widget_page: WidgetPage) -> None:
    """Hostile names of nodes, loops, fetches and errors run no code in any tab."""
    nodes = [SceneNode(f"{HOSTILE}/{HOSTILE}_{i}", HOSTILE) for i in range(3)]
    scene = build_scene(nodes, partitions=[HOSTILE])
    kinds = [FRAME_ENTERED, ITERATION_STARTED, STARTED, DONE, STARTED, DONE]
    hostile = RunRecord(
        step_id=1,
        scene=scene,
        feeds=(HOSTILE,),
        fetches=(HOSTILE,),
        targets=(),
        duration_ns=1000,
        error=HOSTILE,
        dropped=3,
        frames=(RecordedFrame(0, "", -1, 0), RecordedFrame(0, HOSTILE, 0, 0)),
        kind=np.array(kinds, np.uint8),
        node=np.array([-1, -1, 0, 0, 1, 1], np.int32),
        frame=np.ones(6, np.int32),
        iteration=np.zeros(6, np.int32),
        time_ns=np.arange(6, dtype=np.float64) * 100,
    )
    page = mount(widget_page, hostile)
    for tab in ("Graph", "Frames", "Timeline"):
        page.get_by_role("tab", name=tab).click()
        move_to(page, 0.6)
        widget_page.settle()
    assert page.locator("img").count() == 0
    assert HOSTILE in page.locator(".tfnb-run-note").inner_text()
    assert widget_page.problems == []


def test_nothing_is_marked_at_the_end(widget_page: WidgetPage, record: RunRecord) -> None:
    """The node that ran last, and the closed scope around it, look as all others that are done."""
    last = int(np.flatnonzero(record.node >= 0)[-1]) + 1
    cut = {
        name: getattr(record, name)[:last]
        for name in ("kind", "node", "frame", "iteration", "time_ns")
    }
    page = mount(widget_page, replace(record, **cut))
    marked = page.locator(".tfnb-canvas .tfnb-ran")
    assert marked.count() == 0
    page.get_by_label("One event back").click()
    assert marked.count() == 1
    page.get_by_label("One event on").click()
    assert marked.count() == 0


def test_a_node_that_waits_for_a_value_from_elsewhere_does_not_run(
    widget_page: WidgetPage,
) -> None:
    """A Recv is in flight while another node runs: only that one is shown as running."""
    nodes = [SceneNode("arrives", "_Recv"), SceneNode("works", "Exp"), SceneNode("next", "Neg")]
    kinds = [STARTED, STARTED, DONE, DONE, STARTED, DONE]
    step = RunRecord(
        step_id=1,
        scene=build_scene(nodes, partitions=["/device:CPU:0"]),
        feeds=(),
        fetches=(),
        targets=(),
        duration_ns=1000,
        error="",
        dropped=0,
        frames=(RecordedFrame(0, "", -1, 0),),
        kind=np.array(kinds, np.uint8),
        node=np.array([0, 1, 1, 0, 2, 2], np.int32),
        frame=np.zeros(6, np.int32),
        iteration=np.zeros(6, np.int32),
        time_ns=np.arange(6, dtype=np.float64) * 100,
    )
    page = mount(widget_page, step)

    def states() -> list[str | None]:
        boxes = (page.locator(".tfnb-node", has_text=node.name) for node in nodes)
        return [box.get_attribute("data-state") for box in boxes]

    move_to(page, 2 / 6)
    assert states() == ["waiting", "running", "waiting"]
    move_to(page, 3 / 6)
    assert states() == ["waiting", "done", "waiting"]
    move_to(page, 1)
    assert states() == ["done", "done", "done"]


def test_what_was_not_kept_is_done_at_the_end(widget_page: WidgetPage, record: RunRecord) -> None:
    """A step with more events than are kept has no running node at its end."""
    last = int(np.flatnonzero(record.kind == STARTED)[len(record.kind) // 4]) + 1
    cut = {
        name: getattr(record, name)[:last]
        for name in ("kind", "node", "frame", "iteration", "time_ns")
    }
    running = '.tfnb-canvas [data-state="running"]'
    page = mount(widget_page, replace(record, dropped=len(record.kind) - last, **cut))
    assert page.locator(running).count() == 0
    page.get_by_label("One event back").click()
    assert page.locator(running).count() > 0
    assert widget_page.problems == []
