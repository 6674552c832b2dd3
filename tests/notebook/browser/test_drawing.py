"""Drawing, saving and reopening graphs: scale, open scopes, directions, themes."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tests.notebook.browser.test_accessibility import COUNTERS, STOP
from tests.notebook.browser.test_front_end import digits_scene, scoped_chain
from tfnb.framework.functions.function import Defun
from tfnb.notebook.scenes.scene import SceneNode, build_scene
from tfnb.notebook.steps.step_model import DONE, STOPPED, WAITING
from tfnb.notebook.views.targets import find_target

if TYPE_CHECKING:
    from pathlib import Path

    from tests.notebook.browser.widget_page import WidgetPage
    from tfnb.notebook.scenes.scene import Scene

pytestmark = pytest.mark.browser

_SEEN_WHOLE = """() => {
  const field = document.querySelector(".tfnb-canvas").getBoundingClientRect();
  return [...document.querySelectorAll(".tfnb-item .tfnb-shape")].every((shape) => {
    const box = shape.getBoundingClientRect();
    return box.left >= field.left - 1 && box.right <= field.right + 1
      && box.top >= field.top - 1 && box.bottom <= field.bottom + 1;
  });
}"""
_SCALE = """() => Number(/scale\\(([\\d.e-]+)\\)/.exec(
  document.querySelector(".tfnb-content").style.transform)[1])"""


def long_scene(layers: int = 60) -> Scene:
    """A chain that fits only at a small scale."""
    ops = ("MatMul", "BiasAdd", "Relu", "Square", "Tanh", "Exp", "Sqrt")
    nodes = [
        SceneNode(f"part_{i}/{ops[i % 7].lower()}", ops[i % 7], ((i - 1, 0),) if i else ())
        for i in range(layers)
    ]
    return build_scene(nodes)


def saved(page: Any, label: str) -> Path:
    """Return the file of a toolbar button."""
    with page.expect_download() as download:
        page.get_by_role("button", name=label).click()
    path: Path = download.value.path()
    return path


def test_a_saved_picture_is_the_same_at_every_scale(widget_page: WidgetPage) -> None:
    """The file has texts that are hidden at a small scale, and boxes at their final places."""
    page = widget_page.page
    widget_page.mount(digits_scene())
    widget_page.closed_scope("block_1").click()
    page.wait_for_selector(".tfnb-open")
    near = saved(page, "Save as SVG").read_text(encoding="utf-8")  # while boxes still glide
    for _ in range(6):
        page.get_by_role("button", name="Zoom out").click()
    widget_page.settle()
    far = saved(page, "Save as SVG").read_text(encoding="utf-8")

    assert page.locator(".tfnb-canvas").get_attribute("data-zoom") == "far"
    assert "Conv2D" in far
    assert far == near


def test_a_saved_page_opens_as_it_was_left(widget_page: WidgetPage) -> None:
    """The page has the same open scopes, colours and direction."""
    page = widget_page.page
    widget_page.mount(digits_scene())
    widget_page.closed_scope("block_1").click()
    page.wait_for_selector(".tfnb-open")
    page.locator(".tfnb-select").select_option("device")
    page.get_by_role("button", name="Let data flow to the right").click()
    path = saved(page, "Save as HTML")
    labels = sorted(widget_page.labels())

    page.goto("about:blank")
    page.set_content(path.read_text(encoding="utf-8"))
    page.wait_for_selector("[data-ready]")
    assert sorted(widget_page.labels()) == labels
    assert "conv" in labels
    assert page.locator(".tfnb-select").input_value() == "device"
    assert page.get_by_role("button", pressed=True).count() == 1
    assert widget_page.problems == []


def test_the_whole_graph_is_shown_however_large_it_is(widget_page: WidgetPage) -> None:
    """The whole graph is visible, and the buttons zoom in from there."""
    page = widget_page.page
    widget_page.mount(long_scene())
    assert not page.evaluate(_SEEN_WHOLE)
    page.get_by_role("button", name="Show the whole graph").click()
    widget_page.settle()
    assert page.evaluate(_SEEN_WHOLE)
    page.set_viewport_size({"width": 700, "height": 700})
    widget_page.settle()
    assert page.evaluate(_SEEN_WHOLE)
    before = page.evaluate(_SCALE)
    assert before < 0.3
    page.get_by_role("button", name="Zoom in").click()
    assert page.evaluate(_SCALE) == pytest.approx(1.3 * before, rel=0.01)


def test_a_graph_that_flows_to_the_right_begins_at_its_left(widget_page: WidgetPage) -> None:
    """Where the whole cannot be read, its first nodes are seen, not its middle."""
    page = widget_page.page
    names = [f"{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(40)]
    ops = [SceneNode(n, f"Op{n}", ((i - 1, 0),) if i else ()) for i, n in enumerate(names)]
    widget_page.mount(build_scene(ops))
    page.get_by_role("button", name="Let data flow to the right").click()
    page.locator(".tfnb-button[aria-pressed=true]").wait_for()
    widget_page.settle()
    left = page.locator(".tfnb-field").bounding_box()["x"]
    assert page.locator(".tfnb-node", has_text="Opaa").bounding_box()["x"] > left


def test_the_minimap_of_a_narrow_view_covers_little_of_it(widget_page: WidgetPage) -> None:
    """Of a wide graph, where it would be as wide as elsewhere."""
    page = widget_page.page
    page.set_viewport_size({"width": 360, "height": 700})
    names = [f"{chr(97 + i)}{chr(97 + i)}" for i in range(24)]
    pairs = [
        SceneNode(f"{name}{end}", f"Op{name}{end}", ((2 * i, 0),) if end else ())
        for i, name in enumerate(names)
        for end in ("", "z")
    ]
    widget_page.mount(build_scene(pairs))
    minimap = page.locator(".tfnb-minimap").bounding_box()
    assert minimap["width"] < 0.3 * page.locator(".tfnb-field").bounding_box()["width"]


@pytest.mark.parametrize(("count", "size"), [(4, 3), (1, 11)])
def test_a_first_view_can_be_read_and_is_whole_where_it_can(
    widget_page: WidgetPage, count: int, size: int
) -> None:
    """Scopes whose texts would be too small stay closed; nothing is cut off at an edge."""
    page = widget_page.page
    widget_page.mount(_blocks(count, size))
    assert page.evaluate(_SCALE) >= 0.6
    assert page.evaluate(_SEEN_WHOLE)


def _blocks(count: int, size: int) -> Scene:
    """Make blocks in sequence, each a scope with a chain."""
    ops = ("MatMul", "BiasAdd", "Relu")
    nodes = [
        SceneNode(f"block_{i // size}/{ops[i % 3]}", ops[i % 3], ((i - 1, 0),) if i else ())
        for i in range(count * size)
    ]
    return build_scene(nodes)


_SCOPES = "() => document.querySelectorAll('.tfnb-open').length"


def test_a_view_made_narrower_opens_only_what_can_be_read_there(widget_page: WidgetPage) -> None:
    """Its picture is whole at both widths, until the user chooses the scopes."""
    page = widget_page.page
    ops = ("MatMul", "BiasAdd", "Relu")
    nodes = [SceneNode(f"s{i // 3}/{ops[i % 3]}", ops[i % 3]) for i in range(12)]
    widget_page.mount(build_scene(nodes))
    wide = page.evaluate(_SCOPES)
    assert wide > 0
    page.set_viewport_size({"width": 420, "height": 700})
    page.wait_for_function(f"{_SCOPES[6:]} === 0")
    widget_page.settle()
    assert page.evaluate(_SEEN_WHOLE)
    assert page.evaluate(_SCALE) >= 0.6
    page.set_viewport_size({"width": 1000, "height": 700})
    page.wait_for_function(f"{_SCOPES[6:]} === {wide}")
    widget_page.settle()
    assert page.evaluate(_SEEN_WHOLE)


def test_the_scopes_that_the_user_opened_stay_open_and_whole_in_a_narrower_view(
    widget_page: WidgetPage,
) -> None:
    """The picture that was whole is fitted again, smaller."""
    page = widget_page.page
    widget_page.mount(_blocks(4, 3))
    widget_page.closed_scope("block_1").click()
    page.wait_for_selector(".tfnb-open")
    page.get_by_role("button", name="Show the whole graph").click()
    page.locator(".tfnb-node").first.click()
    page.keyboard.press("ArrowDown")
    widget_page.settle()
    assert page.evaluate(_SEEN_WHOLE)
    open_scopes, before = page.evaluate(_SCOPES), page.evaluate(_SCALE)
    page.set_viewport_size({"width": 220, "height": 700})
    page.wait_for_function(f"{_SCALE[6:]} !== {before}")
    widget_page.settle()
    assert page.evaluate(_SCOPES) == open_scopes
    assert page.evaluate(_SEEN_WHOLE)


def test_lanes_that_do_not_fit_begin_where_data_begins_to_flow(widget_page: WidgetPage) -> None:
    """The first node of a wide lane is seen, not the empty corner above its others."""
    page = widget_page.page
    page.set_viewport_size({"width": 360, "height": 700})
    count = 24
    nodes = [SceneNode("first", "Placeholder", partition=0)]
    nodes += [SceneNode(f"n{i}", f"Op{i}", ((0, 0),), partition=0) for i in range(count)]
    nodes += [SceneNode("there", "Neg", ((1, 0),), partition=1)]
    devices = ["/device:CPU:0", "/device:CPU:1"]
    scene = build_scene(nodes, partitions=devices, in_lanes=True)
    widget_page.mount(scene, view="partitions")
    widget_page.settle()
    field = page.locator(".tfnb-field").bounding_box()
    first = page.locator(".tfnb-node", has_text="Placeholder").bounding_box()
    assert field["x"] < first["x"]
    assert first["x"] + first["width"] < field["x"] + field["width"]


def test_the_card_of_a_narrow_view_leaves_its_node_in_sight(widget_page: WidgetPage) -> None:
    """It stands at the bottom, and the picture moves out from under it."""
    page = widget_page.page
    page.set_viewport_size({"width": 360, "height": 700})
    widget_page.mount(digits_scene())
    page.get_by_role("tree").focus()
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    widget_page.settle()
    card = page.locator(".tfnb-card").bounding_box()
    field = page.locator(".tfnb-field").bounding_box()
    chosen = page.locator(".tfnb-selected > .tfnb-shape, .tfnb-selected > g > .tfnb-shape")
    box = chosen.first.bounding_box()
    assert card["height"] < 0.5 * field["height"]
    assert field["y"] <= box["y"]
    assert box["y"] + box["height"] <= card["y"]


def test_zooming_holds_the_selected_box(widget_page: WidgetPage) -> None:
    """The selected box keeps its place on the screen."""
    page = widget_page.page
    widget_page.mount(digits_scene())
    box = widget_page.page.locator(".tfnb-node", has_text="Placeholder")
    box.click()
    page.locator(".tfnb-canvas").focus()
    widget_page.settle()

    def middle() -> tuple[float, float]:
        found = box.locator(".tfnb-shape").bounding_box()
        assert found is not None
        return found["x"] + found["width"] / 2, found["y"] + found["height"] / 2

    before = middle()
    page.keyboard.press("+")
    widget_page.settle()
    assert middle() == pytest.approx(before, abs=1.5)


def test_data_flows_to_the_right_where_one_likes(widget_page: WidgetPage) -> None:
    """The arrow keys follow the direction; a graph in lanes keeps its own."""
    page = widget_page.page
    widget_page.mount(scoped_chain(4, 3))
    page.get_by_role("button", name="Let data flow to the right").click()
    widget_page.settle()
    boxes = [one.bounding_box() for one in page.locator(".tfnb-item.tfnb-closed").all()]
    assert len(boxes) >= 4
    lefts = [box["x"] for box in boxes if box]
    assert sorted(lefts) == lefts
    assert lefts[-1] - lefts[0] > 300
    page.locator(".tfnb-canvas").focus()
    name = page.locator(".tfnb-card-name")
    page.keyboard.press("ArrowRight")
    assert name.inner_text() == "layer_0"
    page.keyboard.press("ArrowRight")
    assert name.inner_text() == "layer_1"

    devices = ["/device:CPU:0"]
    lanes = build_scene([SceneNode("x", "Neg", partition=0)], partitions=devices, in_lanes=True)
    widget_page.mount(lanes, view="partitions")
    assert page.get_by_role("button", name="Let data flow to the right").count() == 0


_CONTRAST = """([over, overWhat, under, underWhat]) => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const light = (selector, what) => {
    canvas.fillStyle = getComputedStyle(document.querySelector(".tfnb")).backgroundColor;
    canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = getComputedStyle(document.querySelector(selector))[what];
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((c) => {
      const x = c / 255;
      return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const [a, b] = [light(over, overWhat), light(under, underWhat)];
  return Math.max(a, b) / Math.min(a, b);
}"""


@pytest.mark.parametrize("is_dark", [False, True])
def test_scopes_and_edges_in_a_lane_are_seen(widget_page: WidgetPage, is_dark: bool) -> None:
    """A scope's frame and the edges contrast with the lane, in both themes."""
    nodes = [
        SceneNode("x", "Const", partition=0),
        SceneNode("s/a", "Neg", ((0, 0),), partition=0),
        SceneNode("s/b", "Neg", ((1, 0),), partition=0),
    ]
    devices = ["/job:localhost/replica:0/task:0/device:CPU:0"]
    scene = build_scene(nodes, partitions=devices, in_lanes=True)
    widget_page.mount(scene, view="partitions", is_dark=is_dark)
    page = widget_page.page
    if page.locator(".tfnb-open").count() == 0:
        widget_page.closed_scope("s").click()
        page.wait_for_selector(".tfnb-open")

    frame = [".tfnb-open > .tfnb-shape", "stroke", ".tfnb-lane", "fill"]
    edge = [".tfnb-edge", "stroke", ".tfnb-lane", "fill"]
    inside = [".tfnb-open > .tfnb-shape", "fill", ".tfnb-lane", "fill"]
    assert page.evaluate(_CONTRAST, frame) >= 1.8
    assert page.evaluate(_CONTRAST, edge) >= 2.8
    assert page.evaluate(_CONTRAST, inside) > 1.01


@pytest.mark.parametrize("is_dark", [False, True])
def test_labels_of_edges_have_the_paper_of_their_scope_around_them(
    widget_page: WidgetPage, graph: Any, is_dark: bool
) -> None:
    """A label covers the edge behind it, without a spot of another colour."""
    page = widget_page.page
    with tf.name_scope("block"):
        inner = tf.tanh(tf.placeholder(tf.float32, [3, 2], name="x"), name="inner")
    tf.negative(inner, name="outer")
    widget_page.mount(find_target(graph).scene(), is_dark=is_dark)
    page.wait_for_selector(".tfnb-open")
    widget_page.settle()
    papers, spots = page.evaluate(
        """() => {
          const look = (one, what) => getComputedStyle(one)[what];
          const scope = document.querySelector(".tfnb-open > .tfnb-shape");
          const box = scope.getBoundingClientRect();
          const spots = {inside: new Set(), outside: new Set()};
          for (const label of document.querySelectorAll(".tfnb-edge-labels text")) {
            const {x, y} = label.getBoundingClientRect();
            const isInside = x > box.left && x < box.right && y > box.top && y < box.bottom;
            spots[isInside ? "inside" : "outside"].add(look(label, "stroke"));
          }
          const paper = look(document.querySelector(".tfnb"), "backgroundColor");
          return [[look(scope, "fill"), paper], [[...spots.inside], [...spots.outside]]];
        }"""
    )
    assert spots == [[papers[0]], [papers[1]]]


def test_a_running_scope_that_is_opened_shows_its_paper(widget_page: WidgetPage) -> None:
    """Only running nodes are filled with the colour of running nodes."""
    page = widget_page.page
    count = len(digits_scene().nodes)
    widget_page.mount(digits_scene(), view="progress", states=bytes([0x12] * count))
    scope = widget_page.closed_scope("block_1")
    assert scope.get_attribute("data-state") == "running"
    scope.click()
    page.wait_for_selector(".tfnb-open")
    assert page.locator(".tfnb-open").get_attribute("data-state") is None
    assert page.locator(".tfnb-node[data-state=running]").count() > 3


def test_the_rim_of_a_variable_does_not_cross_its_name(widget_page: WidgetPage) -> None:
    """The name is below the rim, and inside of the box."""
    nodes = [SceneNode("weights", "VariableV2"), SceneNode("w", "Neg", ((0, 0),))]
    widget_page.mount(build_scene(nodes))
    top, bottom, label_top, label_bottom = widget_page.page.evaluate(
        """() => {
          const node = document.querySelector(".tfnb-kind-state");
          const shape = node.querySelector(".tfnb-shape").getBBox();
          const texts = [...node.querySelectorAll("text")].map((one) => one.getBBox());
          return [shape.y, shape.y + shape.height, texts[0].y, texts[1].y + texts[1].height];
        }"""
    )
    assert label_top >= top + 7
    assert label_bottom <= bottom + 1


def test_long_names_keep_their_ends(widget_page: WidgetPage) -> None:
    """Names with equal beginnings are shortened in the middle."""
    page = widget_page.page
    page.set_viewport_size({"width": 420, "height": 700})
    scope = "gradients/block_0/a_scope_with_a_long_name"
    nodes = [SceneNode(f"{scope}/{end}", "Neg") for end in ("MatMul_grad", "BiasAdd_grad")]
    widget_page.mount(build_scene(nodes), view="placement")
    for end in ("MatMul_grad", "BiasAdd_grad"):
        cell = page.locator("td", has=page.get_by_role("button", name=f"{scope}/{end}"))
        box, tail = cell.bounding_box(), cell.locator(".tfnb-cut-end").bounding_box()
        assert cell.locator(".tfnb-cut-end").inner_text() == f"/{end}"
        assert box is not None
        assert tail is not None
        assert tail["x"] + tail["width"] <= box["x"] + box["width"]


def test_names_are_cut_where_they_are_the_same(widget_page: WidgetPage) -> None:
    """Names that differ only in the middle are distinguishable in boxes and tables."""
    page = widget_page.page
    page.set_viewport_size({"width": 620, "height": 700})
    names = [f"the_scope_of_the_generator_{what}_of_a_network" for what in ("kernel", "bias")]
    nodes = [SceneNode("x", "Placeholder")]
    nodes += [SceneNode(name, "Neg", ((0, 0),)) for name in names]
    widget_page.mount(build_scene(nodes), view="placement")
    labels = [label for label in widget_page.labels() if label.startswith("the_scop")]
    assert [("kernel" in label, "bias" in label) for label in sorted(labels)] == [
        (False, True),
        (True, False),
    ]
    for name, what in zip(names, ("kernel", "bias"), strict=True):
        cell = page.locator("td", has=page.get_by_role("button", name=name, exact=True))
        box, core = cell.bounding_box(), cell.locator(".tfnb-cut-end").bounding_box()
        assert what in cell.locator(".tfnb-cut-end").inner_text()
        assert box is not None
        assert core is not None
        assert core["x"] + core["width"] <= box["x"] + box["width"]


def test_summaries_and_savers_stand_beside_the_flow(widget_page: WidgetPage, graph: Any) -> None:
    """They have no edges and are closed at first; the note of a view is below them."""
    x = tf.placeholder(tf.float32, [], name="x")
    v = tf.Variable(1.0, name="v")
    loss = tf.multiply(x, v, name="loss")
    tf.summary.scalar("a", loss)
    tf.summary.scalar("b", v)
    tf.train.Saver()
    scene = replace(find_target(graph).scene(), note="2 of 9 nodes were folded <b>")
    widget_page.mount(scene)
    labels = widget_page.labels()
    assert {"x", "loss", "summaries", "save"} <= set(labels)
    assert "SaveV2" not in labels
    page = widget_page.page
    assert page.locator(".tfnb-auxiliary", has_text="summaries").count() == 1
    assert page.locator(".tfnb-auxiliary", has_text="save").count() == 1
    assert page.locator(".tfnb-legend").inner_text().endswith("2 of 9 nodes were folded <b>")
    widget_page.mount(find_target(graph).scene())
    assert page.locator(".tfnb-legend > .tfnb-legend-count").is_hidden()


def test_a_call_opens_like_a_scope(widget_page: WidgetPage, graph: Any) -> None:
    """The scope has the function's nodes, arguments and results."""

    @Defun(tf.float32, func_name="swish")
    def swish(a: Any) -> Any:
        return tf.multiply(a, tf.sigmoid(a), name="product")

    x = tf.placeholder(tf.float32, [None, 3], name="x")
    for number in range(30):
        x = swish(x, name=f"call_{number}")
    widget_page.mount(find_target(graph).scene())
    assert "Sigmoid" not in widget_page.labels()
    widget_page.closed_scope("call_0").click()
    widget_page.page.wait_for_selector(".tfnb-open")
    assert {"a", "Sigmoid", "product_RetVal", "(call_0)"} <= set(widget_page.labels())


_INSIDE = """(selector) => {
  const root = document.querySelector(".tfnb").getBoundingClientRect();
  return [...document.querySelectorAll(selector)].filter((one) => one.offsetParent !== null)
    .filter((one) => {
      const box = one.getBoundingClientRect();
      return box.left < root.left - 1 || box.right > root.right + 1;
    }).map((one) => one.title || one.textContent);
}"""
_OVERLAPS = """(selector) => {
  const boxes = [...document.querySelectorAll(selector)]
    .filter((one) => one.offsetParent !== null && one.textContent)
    .map((one) => [one.textContent, one.getBoundingClientRect()]);
  const found = [];
  boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {
    if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 1
      && q.top < p.bottom - 1) found.push(`${a} | ${b}`);
  }));
  return found;
}"""
_CUT = """(selector) => [...document.querySelectorAll(selector)]
  .filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent)"""


@pytest.mark.parametrize("width", [300, 380, 620])
def test_a_narrow_view_keeps_its_controls_and_texts_apart(
    widget_page: WidgetPage, width: int
) -> None:
    """Toolbars wrap, device names are complete, and texts do not overlap."""
    page = widget_page.page
    page.set_viewport_size({"width": width, "height": 900})
    nodes = [SceneNode(f"n{i}", "Neg", assigned_device="/device:CPU:0") for i in range(4)]
    widget_page.mount(build_scene(nodes), view="placement")
    assert page.evaluate(_INSIDE, ".tfnb-toolbar :is(button, select, input)") == []
    devices = ".tfnb-table :is(td, th):nth-child(2)"
    assert set(page.locator(devices).all_inner_texts()) == {"Device", "CPU:0"}
    assert page.evaluate(_CUT, devices) == []
    assert page.evaluate(_INSIDE, devices) == []

    row = {"device": "/device:CPU:0", "done": 2_134, "dead": 24, "total": 4_021, "runs": 123_456,
           "current": "settle/while/a_long_name/of_a_node (MatMul)"}  # fmt: skip
    loop = {"name": "settle/while/while_context", "device": "/device:CPU:0", "depth": 1,
            "iteration": 4_001, "live": 12, "isDone": False, "runs": 12_345}  # fmt: skip
    counters = {
        "phase": "running", "steps": 12_345, "running": 1, "elapsed_ns": 123_456_789_000,
        "step_ns": 1_234_567_890, "runs_per_second": 6_329_339, "partitions": [row, row],
        "frames": [loop], "moreFrames": 0, "dropped": 0, "error": "",
    }  # fmt: skip
    widget_page.mount(build_scene(nodes), view="progress", counters=counters)
    parts = ".tfnb-phase, .tfnb-figure, .tfnb-row > :not(.tfnb-track), .tfnb-frame > *"
    assert page.evaluate(_OVERLAPS, parts) == []
    assert page.evaluate(_CUT, ".tfnb-phase, .tfnb-figure, .tfnb-row-count") == []
    assert page.evaluate(_INSIDE, parts) == []


_UNREADABLE = """() => [...document.querySelectorAll(".tfnb-debug-form input")].filter((field) => {
  const {font, paddingLeft, paddingRight} = getComputedStyle(field);
  const canvas = document.createElement("canvas").getContext("2d");
  canvas.font = font;
  const room = field.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
  return canvas.measureText(field.placeholder).width > room + 0.5;
}).map((field) => field.placeholder)"""


@pytest.mark.parametrize("width", [340, 540, 1000])
def test_empty_fields_of_the_debugger_say_what_to_type(widget_page: WidgetPage, width: int) -> None:
    """Their texts are whole in a narrow tab, too."""
    page = widget_page.page
    page.set_viewport_size({"width": width, "height": 900})
    widget_page.mount(digits_scene(), "debug", counters=COUNTERS, debugger=STOP)
    form = page.locator(".tfnb-debug-form")
    assert form.locator("input").count() == 3
    assert page.evaluate(_UNREADABLE) == []


def _stop_at(widget_page: WidgetPage, name: str) -> None:
    """Select a node as the kernel does when a step stops there; wait until the graph shows it."""
    page = widget_page.page
    page.evaluate("(name) => window.model.set('selected', name)", name)
    page.wait_for_selector(".tfnb-canvas .tfnb-selected")
    widget_page.settle()


@pytest.mark.parametrize(("width", "has_card"), [(500, False), (1000, True)])
def test_no_card_covers_the_graph_of_a_stop_in_a_narrow_view(
    widget_page: WidgetPage, width: int, has_card: bool
) -> None:
    """The panel tells of the node where the step stands; a click on the node shows its card."""
    page = widget_page.page
    page.set_viewport_size({"width": width, "height": 900})
    widget_page.mount(digits_scene(), "debug", counters=COUNTERS, debugger=STOP)
    _stop_at(widget_page, "block_1/conv")
    card = page.locator(".tfnb-card")
    assert card.is_visible() is has_card
    page.locator(".tfnb-canvas .tfnb-selected").first.click()
    assert card.is_visible()
    assert card.locator(".tfnb-card-name").inner_text() == "block_1/conv"


def test_a_constant_where_the_step_stands_is_marked(widget_page: WidgetPage) -> None:
    """It is a dot beside its only consumer; the mark goes when the step goes on."""
    page = widget_page.page
    nodes = [
        SceneNode("x", "Placeholder"),
        SceneNode("two", "Const"),
        SceneNode("y", "Mul", ((0, 0), (1, 0))),
    ]
    scene = build_scene(nodes)
    states = {"x": DONE, "two": STOPPED, "y": WAITING}
    sent = bytes(states[node.name] for node in scene.nodes)
    widget_page.mount(scene, "debug", states=sent, counters=COUNTERS, debugger=STOP)
    dot = page.locator('.tfnb-dot[data-state="stopped"]')
    dot.wait_for()
    assert dot.locator("title").text_content() == "two"
    gone = base64.b64encode(bytes(DONE for _ in nodes)).decode()
    page.evaluate("(sent) => window.model.set('_states', window.bytes(sent))", gone)
    dot.wait_for(state="detached")


def test_only_a_step_can_be_cancelled(widget_page: WidgetPage) -> None:
    """Cancel is disabled while no step runs and none stands."""
    nothing = {**STOP, "stop": {}}
    cancel = widget_page.page.get_by_role("button", name="Cancel", exact=True)
    for counters, state, is_possible in (
        ({**COUNTERS, "phase": "waiting"}, nothing, False),
        (COUNTERS, nothing, True),
        ({**COUNTERS, "phase": "stopped"}, STOP, True),
    ):
        widget_page.mount(digits_scene(), "debug", counters=counters, debugger=state)
        assert cancel.is_enabled() is is_possible


@pytest.mark.parametrize(("is_held", "text"), [(False, "Running at full speed"), (True, "Held")])
def test_a_step_that_began_before_the_debugger_is_told_once(
    widget_page: WidgetPage, is_held: bool, text: str
) -> None:
    """It can be cancelled, and no figures of no step contradict the heading."""
    page = widget_page.page
    state = {**STOP, "stop": {}, "isAttached": False, "isHeld": is_held, "isUndriven": True}
    counters = {**COUNTERS, "phase": "waiting"}
    heading = ".tfnb-debug-heading"
    widget_page.mount(None, "debug", counters=counters, debugger=state, ready=heading)
    page.locator(heading, has_text=text).wait_for()
    assert page.get_by_role("button", name="Cancel", exact=True).is_enabled()
    assert not page.locator(".tfnb-progress").is_visible()
