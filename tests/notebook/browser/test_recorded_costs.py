"""Views of a recorded step: colours, memory, transfers; passes; pictures as files."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

import tfnb as tf
from tests.notebook.steps.recorded_loop import HOSTILE, recorded_loop
from tests.notebook.views.test_passes import small_graph
from tfnb.notebook.scenes.graph_scene import describe_graph
from tfnb.notebook.scenes.pass_scenes import pass_pictures
from tfnb.notebook.scenes.scene import SceneNode, build_scene
from tfnb.notebook.steps.run_costs import with_costs
from tfnb.notebook.views.passes import told_passes
from tfnb.notebook.views.record import Recording
from tfnb.notebook.views.widget_page import widget_page as page_text

if TYPE_CHECKING:
    from pathlib import Path

    from tests.notebook.browser.lab import Shots
    from tests.notebook.browser.widget_page import WidgetPage
    from tfnb.notebook.scenes.scene import Scene
    from tfnb.notebook.steps.run_record import RunRecord

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def chain() -> tuple[Any, RunRecord]:
    """Return a graph whose nodes make 8 KiB and 4 KiB on two devices, and a step of it."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [1024], name="x")
        wide = tf.concat([x, x], 0, name="wide")
        with tf.device("/cpu:1"):
            half = tf.nn.relu(wide[:1024] * 2.0, name="half")
            tf.reduce_sum(half, name="total")
        tf.negative(x, name="unasked")
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Session(graph=graph, config=config) as session, Recording() as recording:
        session.run(["total:0", "half:0"], {"x:0": [1.0] * 1024})
    return graph, recording.record


@pytest.fixture(scope="module")
def scene(chain: tuple[Any, RunRecord]) -> Scene:
    """Return the user's graph with the costs of the step."""
    graph, record = chain
    return build_scene(with_costs(describe_graph(graph), record), title="graph")


def node_named(page: Any, name: str) -> Any:
    """Return a node's box, also if its scope is closed at first."""
    page.locator(".tfnb-node").first.wait_for()
    page.get_by_role("button", name="Open one more level").click()
    return page.locator(f'.tfnb-node[aria-label^="{name},"]').first


def mount_run(widget_page: WidgetPage, record: RunRecord, **options: Any) -> Any:
    """Show a record with its lanes; return the page."""
    lanes = b"" if record.lanes is None else record.lanes.encode()
    widget_page.mount(record.scene, "run", record=record.encode(), lanes=lanes, **options)
    return widget_page.page


@pytest.mark.parametrize(
    ("by", "name", "says"),
    [
        ("time", "unasked", "did not run"),
        ("memory", "wide", "≥ 20 % of the bytes"),
        ("liveness", "wide", "held"),
    ],
)
def test_colours_of_a_recorded_step_have_texts_and_patterns(
    widget_page: WidgetPage, scene: Scene, by: str, name: str, says: str
) -> None:
    """A box states its category to screen readers; the legend has it with a pattern."""
    widget_page.mount(scene, colour_by=by)
    page = widget_page.page
    assert says in (node_named(page, name).get_attribute("aria-label") or "")
    assert says in page.locator(".tfnb-legend").inner_text()
    assert page.locator(".tfnb-legend .tfnb-hatch").count() >= 1
    assert widget_page.problems == []


def test_the_card_has_costs_kernel_and_passes(widget_page: WidgetPage, scene: Scene) -> None:
    """The card has runs, time, bytes, and the function that computes the node."""
    widget_page.mount(scene, colour_by="time")
    node_named(widget_page.page, "wide").click()
    card = widget_page.page.locator(".tfnb-card").inner_text()
    assert "Cost in the recorded step" in card
    assert "8.2 kB" in card
    assert "on CPU" in card
    assert "%" in card


def test_a_scene_without_a_record_offers_no_costs(widget_page: WidgetPage) -> None:
    """Costs without a record cannot be selected, and a request falls back to the default."""
    widget_page.mount(build_scene([SceneNode("a", "NoOp")]), colour_by="memory")
    options = widget_page.page.locator(".tfnb-select option").all_inner_texts()
    assert options == ["Op kind", "Device", "Partition"]


def test_the_timeline_lists_what_is_held_at_a_moment(
    widget_page: WidgetPage, chain: tuple[Any, RunRecord], shots: Shots
) -> None:
    """The list is shown with the pointer over the curve, and by a key at the peak."""
    page = mount_run(widget_page, chain[1])
    page.get_by_role("tab", name="Timeline").click()
    canvas = page.locator(".tfnb-timeline-canvas")
    widget_page.settle()
    canvas.focus()
    page.keyboard.press("m")
    page.wait_for_function(
        "() => document.querySelector('.tfnb-held')?.innerText.includes('wide:0')"
    )
    held = page.locator(".tfnb-held li").all_inner_texts()
    assert "8.2 kB · float32 2048" in held[0]
    shots.take(page.locator(".tfnb"), "timeline.png")
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 176, box["y"] + box["height"] - 12)
    page.wait_for_function(
        "() => !document.querySelector('.tfnb-held').innerText.includes('wide:0')"
    )
    assert widget_page.problems == []


def test_devices_are_lanes_with_what_was_sent(
    widget_page: WidgetPage, chain: tuple[Any, RunRecord]
) -> None:
    """The edge between lanes has bytes and waiting time; selecting a node selects it everywhere."""
    page = mount_run(widget_page, chain[1])
    page.get_by_role("tab", name="Devices").click()
    lanes = page.get_by_role("tabpanel", name="Devices")
    lanes.locator(".tfnb-lane").first.wait_for()
    labels = " ".join(lanes.locator(".tfnb-edge-labels text").all_text_contents())
    assert "waited" in labels
    lanes.locator('.tfnb-node[aria-label^="half,"]').dispatch_event("click")
    page.get_by_role("tab", name="Graph").click()
    page.wait_for_function("() => document.querySelector('.tfnb-card-name')?.innerText === 'half'")
    assert widget_page.problems == []


def test_liveness_follows_time(widget_page: WidgetPage, chain: tuple[Any, RunRecord]) -> None:
    """At the beginning no tensor exists, at the end only the fetched ones are held."""
    page = mount_run(widget_page, chain[1])
    page.get_by_label("Open one more level of scopes").first.click()
    page.locator(".tfnb-select").first.select_option("liveness")
    half = node_named(page, "half")
    assert "held" in (half.get_attribute("aria-label") or "")
    page.get_by_label("To the beginning").click()
    page.wait_for_function(
        "() => document.querySelector('.tfnb-legend').innerText.includes('not yet made')"
    )
    assert "not yet made" in (half.get_attribute("aria-label") or "")
    page.locator(".tfnb-select").first.select_option("state")
    assert page.locator(".tfnb-graph").first.get_attribute("class").endswith("tfnb-live")


def test_a_loop_that_is_picked_is_marked_everywhere(widget_page: WidgetPage) -> None:
    """All other nodes of the graph are dimmed."""
    record = recorded_loop()
    page = mount_run(widget_page, record)
    page.get_by_role("tab", name="Frames").click()
    page.locator(".tfnb-frame-button", has_text="outer/while_context").first.click()
    page.get_by_role("tab", name="Graph").click()
    assert page.get_by_role("tabpanel", name="Graph").locator(".tfnb-hit").count() >= 1
    assert page.get_by_role("tabpanel", name="Graph").locator(".tfnb-dim").count() >= 1


def passes_of_small_graph() -> dict[str, Any]:
    """Return the state of the passes widget."""
    graph = small_graph()
    with tf.Session(graph=graph) as session:
        fetches = [graph.get_tensor_by_name("sum:0"), graph.get_tensor_by_name("doubled:0")]
        return {
            "passes": told_passes(
                pass_pictures(session.optimization_stages(fetches, ["x:0"])), graph
            )
        }


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_passes_are_walked_through(widget_page: WidgetPage, shots: Shots, is_dark: bool) -> None:
    """Mouse and keys step through passes; folded nodes are marked, and the selection stays."""
    widget_page.mount(
        None, "passes", colour_by="change", passes=passes_of_small_graph(), is_dark=is_dark
    )
    page = widget_page.page
    page.wait_for_selector('.tfnb-passes[data-shown="0 before"]')
    rows = page.locator(".tfnb-pass-list button")
    number = next(i for i, text in enumerate(rows.all_inner_texts()) if "constfold" in text)
    rows.nth(number).click()
    page.wait_for_selector(f'.tfnb-passes[data-shown="{number} before"]')
    scale = node_named(page, "layer/scale")
    assert scale.get_attribute("aria-label") == "layer/scale, Mul, folded"
    scale.click()
    assert "became a constant" in page.locator(".tfnb-card").inner_text()
    if not is_dark:
        widget_page.settle()
        shots.take(page.locator(".tfnb"), "passes.png")
    page.get_by_role("button", name="After").click()
    page.wait_for_selector(f'.tfnb-passes[data-shown="{number} after"]')
    page.wait_for_function(
        "() => document.querySelector('.tfnb-card-name')?.innerText === 'layer/scale'"
    )
    assert node_named(page, "layer/scale").get_attribute("aria-label").endswith("Const, folded")
    rows.nth(number).focus()
    page.keyboard.press("ArrowUp")
    page.wait_for_selector(f'.tfnb-passes[data-shown="{number - 1} after"]')
    assert widget_page.problems == []


# -- pictures as files -----------------------------------------------------------------------------

STRANGE = [HOSTILE, "a\"b'c]]>", "new\nline\x07", "\u202eltr", "y" * 100_000]


def strange_scene() -> Scene:
    """Make a scene with a sequence of hostile names."""
    return build_scene(
        [SceneNode(name, "NoOp", ((i - 1, 0),) if i else ()) for i, name in enumerate(STRANGE)],
        title=HOSTILE,
    )


def saved(page: Any, label: str, to: Path) -> bytes:
    """Return the file of a button."""
    with page.expect_download() as download:
        page.get_by_label(label).first.click()
    path = to / "file"
    download.value.save_as(path)
    return path.read_bytes()


def test_the_picture_is_saved_as_svg(widget_page: WidgetPage, tmp_path: Path) -> None:
    """The SVG is well-formed and styled with any names; it loads as an image and runs no code."""
    widget_page.mount(strange_scene())
    text = saved(widget_page.page, "Save as SVG", tmp_path).decode()
    root = ElementTree.fromstring(text)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "title", "rect", "g", "path", "text", "tspan", "circle", "defs",
                    "pattern", "marker"}  # fmt: skip
    assert root.findtext("{http://www.w3.org/2000/svg}title") == HOSTILE
    assert any(element.get("fill", "").startswith(("rgb", "color")) for element in root.iter())
    assert all(not name.startswith("on") for element in root.iter() for name in element.attrib)
    size = widget_page.page.evaluate(
        "async (text) => { const image = new Image(); image.src = "
        "'data:image/svg+xml,' + encodeURIComponent(text); await image.decode();"
        " return [image.width, image.height]; }",
        text,
    )
    assert min(size) > 40
    assert widget_page.problems == []


def test_the_picture_is_saved_as_png(widget_page: WidgetPage, tmp_path: Path) -> None:
    """Drawn by the browser from the SVG."""
    widget_page.mount(strange_scene())
    data = saved(widget_page.page, "Save as PNG", tmp_path)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    assert width > 100
    assert height > 200
    assert widget_page.problems == []


def test_python_gets_the_picture_when_it_asks(widget_page: WidgetPage, scene: Scene) -> None:
    """Python receives a PNG in base64, in one message."""
    widget_page.mount(scene)
    page = widget_page.page
    page.evaluate("() => { for (const hear of handlers['msg:custom']) hear({draw: 'png'}); }")
    page.wait_for_function("() => window.sent?.length")
    (answer,) = page.evaluate("() => window.sent")
    assert base64.b64decode(answer["picture"]).startswith(b"\x89PNG")
    assert widget_page.problems == []


def test_the_view_is_saved_as_a_page(widget_page: WidgetPage, tmp_path: Path) -> None:
    """The page works without a kernel, runs no foreign code, and can be saved again."""
    widget_page.mount(strange_scene())
    page = widget_page.page
    file = tmp_path / "graph.html"
    file.write_bytes(saved(page, "Save as HTML", tmp_path))
    page.goto(file.as_uri())
    page.wait_for_selector("[data-ready]")
    page.locator(".tfnb-node").first.click()
    assert page.locator(".tfnb-card").is_visible()
    assert page.locator("img").count() == 0
    assert b"<!DOCTYPE html>" in saved(page, "Save as HTML", tmp_path)
    assert widget_page.problems == []


def test_python_writes_the_same_page(widget_page: WidgetPage, tmp_path: Path) -> None:
    """A page of passes with a hostile title."""
    traits = {
        "_options": {"view": "passes", "colourBy": "change", "height": 400},
        "_passes": passes_of_small_graph(),
        "selected": "</script><img src=x onerror=alert(1)>",
    }
    file = tmp_path / "passes.html"
    file.write_text(page_text(traits, HOSTILE), encoding="utf-8")
    page = widget_page.page
    page.goto(file.as_uri())
    page.wait_for_selector('.tfnb-passes[data-shown="0 before"]')
    assert page.title() == HOSTILE
    assert page.locator("img").count() == 0
    assert widget_page.problems == []


def test_the_minimap_shows_where_one_is(widget_page: WidgetPage) -> None:
    """The minimap is hidden while everything is visible; a press in it moves the view."""
    widget_page.mount(build_scene([SceneNode("a", "NoOp")]))
    page = widget_page.page
    widget_page.settle()
    assert not page.locator(".tfnb-minimap").is_visible()
    widget_page.mount(
        build_scene([SceneNode(f"n{i}", "Neg", ((i - 1, 0),) if i else ()) for i in range(40)])
    )
    widget_page.settle()
    minimap = page.locator(".tfnb-minimap")
    assert minimap.is_visible()
    before = page.locator(".tfnb-minimap-seen").get_attribute("y")
    box = minimap.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.9)
    assert page.locator(".tfnb-minimap-seen").get_attribute("y") != before
    assert widget_page.problems == []


def test_views_of_one_graph_select_together(widget_page: WidgetPage, scene: Scene) -> None:
    """Two views of one group on a page select together; a third of another group does not."""
    widget_page.mount(scene)
    page = widget_page.page
    page.evaluate(
        """async ([scene, groups]) => {
          const bytes = Uint8Array.from(atob(scene), (c) => c.charCodeAt(0)).buffer;
          const css = model.get("_css"), esm = model.get("_esm");
          const url = URL.createObjectURL(new Blob([esm], {type: "text/javascript"}));
          const widget = (await import(url)).default;
          for (const [i, group] of groups.entries()) {
            const el = document.createElement("div");
            el.id = `view${i}`;
            document.body.append(el);
            const traits = {_scene: new DataView(bytes), _states: null, _record: null,
              _counters: {}, _debug: {}, _lanes: null, _passes: {}, selected: "",
              _options: {view: "graph", colourBy: "kind", height: 300, group}};
            widget.render({el, model: {get: (n) => traits[n], set: (n, v) => { traits[n] = v; },
              save_changes() {}, send() {}, on() {}, off() {}}});
          }
        }""",
        [base64.b64encode(scene.encode()).decode(), ["g", "g", "other"]],
    )
    for i in range(3):
        page.locator(f"#view{i} [data-ready]").wait_for(state="attached")
    node_named(page.locator("#view0"), "wide").click()
    page.locator("#view1 .tfnb-card-name", has_text="wide").wait_for()
    assert not page.locator("#view2 .tfnb-card").is_visible()
    assert widget_page.problems == []


def test_views_of_one_step_are_at_the_same_moment(
    widget_page: WidgetPage, chain: tuple[Any, RunRecord]
) -> None:
    """The slider of one view moves that of the other."""
    record = chain[1]
    widget_page.mount(record.scene, "run", record=record.encode())
    page = widget_page.page
    page.evaluate(
        """async () => {
          const get = (name) => model.get(name);
          const url = URL.createObjectURL(new Blob([get("_esm")], {type: "text/javascript"}));
          const widget = (await import(url)).default;
          for (const i of [0, 1]) {
            const el = document.createElement("div");
            el.id = `view${i}`;
            document.body.append(el);
            const traits = {_options: {view: "run", colourBy: "kind", height: 200, group: "g"}};
            widget.render({el, model: {get: (n) => traits[n] ?? get(n), send() {},
              set: (n, v) => { traits[n] = v; }, save_changes() {}, on() {}, off() {}}});
          }
        }"""
    )
    for i in range(2):
        page.locator(f"#view{i} [data-ready]").wait_for(state="attached")
    page.locator("#view0").get_by_label("To the beginning").click()
    page.wait_for_function("() => document.querySelector('#view1 .tfnb-slider').value === '0'")
    page.locator("#view1").get_by_label("One event on").click()
    page.wait_for_function("() => document.querySelector('#view0 .tfnb-slider').value !== '0'")
    assert widget_page.problems == []
