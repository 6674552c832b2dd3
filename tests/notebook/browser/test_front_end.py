"""The graph view in a real browser, without Jupyter: speed, keyboard, hostile names."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tfnb.notebook.scenes.graph_def_scene import describe_graph_def
from tfnb.notebook.scenes.scene import Scene, SceneNode, Site, build_scene
from tfnb.notebook.steps.step_model import BLOCKED, DEAD, DONE, WAITING
from tfnb.proto import graph_pb2

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.notebook.browser.widget_page import WidgetPage

pytestmark = pytest.mark.browser

MODEL = Path(__file__).parents[3] / "notebooks" / "models" / "digits_conv.pb"
HOSTILE = "<img src=x onerror=alert(1)>"


def digits_scene() -> Scene:
    """The frozen model of the quickstart."""
    graph_def = graph_pb2.GraphDef()
    graph_def.ParseFromString(MODEL.read_bytes())
    return build_scene(describe_graph_def(graph_def))


def scoped_chain(layers: int, per_layer: int) -> Scene:
    """Layers of a network, each a scope with a chain of nodes."""
    nodes = [
        SceneNode(f"layer_{i // per_layer}/op_{i}", "MatMul", ((i - 1, 0),) if i else ())
        for i in range(layers * per_layer)
    ]
    return build_scene(nodes)


def flat_chain(count: int) -> Scene:
    """A graph without any scope, named by op types."""
    ops = ["Conv2D", "BiasAdd", "Relu"]
    nodes = [
        SceneNode(f"{ops[i % 3]}_{i}", ops[i % 3], ((i - 1, 0),) if i else ()) for i in range(count)
    ]
    return build_scene(nodes)


def test_scopes_open_and_close_by_click(widget_page: WidgetPage) -> None:
    """A click on a closed scope opens it; a click on its title closes it."""
    widget_page.mount(digits_scene())
    assert "conv" not in widget_page.labels()

    widget_page.closed_scope("block_1").click()
    widget_page.page.wait_for_selector(".tfnb-open")
    widget_page.settle()
    assert {"conv", "add_bias", "relu", "pool"} <= set(widget_page.labels())

    widget_page.page.locator(".tfnb-open .tfnb-handle").first.click()
    widget_page.page.wait_for_selector(".tfnb-open", state="detached")
    assert "conv" not in widget_page.labels()
    assert widget_page.problems == []


def test_the_card_tells_all_that_is_known(widget_page: WidgetPage) -> None:
    """The card has type, device, inputs with dtype and shape, attrs, cell and line."""
    nodes = [
        SceneNode("x", "Placeholder", outputs=(("float32", "(?, 3)"),)),
        SceneNode(
            "y",
            "MatMul",
            ((0, 0),),
            requested_device="/device:GPU:1",
            assigned_device="/job:localhost/replica:0/task:0/device:CPU:0",
            reason="no kernel for GPU",
            attrs=(("transpose_a", "False"),),
            outputs=(("float32", "(?, 4)"),),
            site=Site(3, "cell", 2, "layer", "y = tf.matmul(x, w)"),
        ),
    ]
    widget_page.mount(build_scene(nodes))
    widget_page.page.locator(".tfnb-node", has_text="MatMul").click()
    card = widget_page.page.locator(".tfnb-card").inner_text()

    for text in (
        "MatMul",
        "cell [3], line 2, in layer",
        "y = tf.matmul(x, w)",
        "/device:GPU:1",
        "device:CPU:0",
        "no kernel for GPU",
        "x:0",
        "float32 (?, 3)",
        "float32 (?, 4)",
        "transpose_a",
    ):
        assert text in card


def test_search_finds_names_and_ops_and_opens_the_way(widget_page: WidgetPage) -> None:
    """Enter goes to the first match and opens the scopes around it."""
    widget_page.mount(digits_scene())
    box = widget_page.page.locator(".tfnb-search-input")
    box.fill("op:maxpool")
    assert widget_page.page.locator(".tfnb-search-count").inner_text() == "2"

    box.press("Enter")
    widget_page.page.wait_for_selector(".tfnb-selected")
    assert widget_page.page.locator(".tfnb-card-name").inner_text() == "block_1/pool"


_SCALE = """() => document.querySelector(".tfnb-content").getCTM().a"""


def test_what_is_searched_is_shown_large_enough_to_be_read(widget_page: WidgetPage) -> None:
    """In a graph of which only a small picture fits; a step to a neighbour keeps the scale."""
    page = widget_page.page
    widget_page.mount(scoped_chain(30, 10))
    page.get_by_role("button", name="Open one more level of scopes").click()
    page.wait_for_selector(".tfnb-open")
    widget_page.settle()
    page.locator(".tfnb-canvas").focus()
    for _ in range(6):
        page.keyboard.press("-")
    widget_page.settle()
    small = page.evaluate(_SCALE)
    page.keyboard.press("ArrowDown")
    page.wait_for_selector(".tfnb-canvas .tfnb-selected")
    widget_page.settle()
    assert page.evaluate(_SCALE) == pytest.approx(small)
    box = page.locator(".tfnb-search-input")
    box.fill("layer_20/op_205")
    box.press("Enter")
    page.locator(".tfnb-card-name", has_text="layer_20/op_205").wait_for()
    widget_page.settle()
    assert small < 0.5 < page.evaluate(_SCALE)
    node, canvas = (
        page.locator(one).first.bounding_box()
        for one in (".tfnb-canvas .tfnb-selected", ".tfnb-canvas")
    )
    assert node is not None
    assert canvas is not None
    assert canvas["y"] < node["y"] < canvas["y"] + canvas["height"]


def test_the_keyboard_goes_everywhere(widget_page: WidgetPage) -> None:
    """Down follows the data, Enter opens, Backspace leaves a scope, / searches."""
    page = widget_page.page
    widget_page.mount(digits_scene())
    page.locator(".tfnb-canvas").focus()
    name = page.locator(".tfnb-card-name")

    page.keyboard.press("ArrowDown")
    assert name.inner_text() == "images"
    page.keyboard.press("ArrowDown")
    assert name.inner_text() == "block_1"
    page.keyboard.press("Enter")
    page.wait_for_selector(".tfnb-open")
    page.keyboard.press("ArrowDown")
    page.wait_for_function(
        "() => document.querySelector('.tfnb-card-name').textContent.startsWith('block_1/')"
    )
    page.keyboard.press("Backspace")
    page.wait_for_function(
        "() => document.querySelector('.tfnb-card-name').textContent === 'block_1'"
    )
    page.keyboard.press("/")
    assert page.evaluate("() => document.activeElement.className") == "tfnb-search-input"


def test_invisible_characters_of_names_are_written_out(widget_page: WidgetPage) -> None:
    """A name that turns its direction, or contains a NUL, looks like what it is."""
    names = ["safe\u202etxe", "n\x00l", "\ufeffa\u2066b", "two\nlines"]
    widget_page.mount(build_scene([SceneNode(name, "NoOp") for name in names]), "placement")
    wanted = {"safe\\u202etxe", "n\\u0000l", "\\ufeffa\\u2066b"}
    assert wanted < set(widget_page.labels())
    rows = widget_page.page.locator(".tfnb-table td:first-child").all_inner_texts()
    assert wanted < set(rows)


def test_hostile_names_are_text(widget_page: WidgetPage) -> None:
    """Hostile names, scopes, attrs, devices, reasons and source lines run no code."""
    nodes = [
        SceneNode(
            f"{HOSTILE}/{HOSTILE}_{i}",
            HOSTILE,
            ((i - 1, 0),) if i else (),
            requested_device=HOSTILE,
            attrs=((HOSTILE, HOSTILE),),
            outputs=((HOSTILE, HOSTILE),),
            site=Site(None, HOSTILE, 1, HOSTILE, HOSTILE),
            reason=HOSTILE,
        )
        for i in range(3)
    ]
    widget_page.mount(build_scene(nodes, title=HOSTILE), view="placement", colour_by="device")
    widget_page.page.locator(".tfnb-search-input").fill("img")
    widget_page.page.locator(".tfnb-search-hit").first.click()
    widget_page.settle()

    assert widget_page.page.locator("img").count() == 0
    assert HOSTILE in widget_page.page.locator(".tfnb-card").inner_text()
    assert widget_page.problems == []


@pytest.mark.parametrize(
    "make", [partial(scoped_chain, 150, 20), partial(flat_chain, 10_000)], ids=["3k", "10k"]
)
def test_large_graphs_open_with_few_boxes(
    widget_page: WidgetPage, make: Callable[[], Scene]
) -> None:
    """The work for the first picture of scoped and flat graphs does not grow with their size.

    `benchmarks/pictures.py` measures how long it takes.
    """
    widget_page.mount(make())

    assert 2 <= widget_page.page.locator(".tfnb-item").count() <= 160
    assert widget_page.problems == []


def test_without_workers_the_layout_is_made_on_the_main_thread(widget_page: WidgetPage) -> None:
    """A page whose policy forbids workers shows the same graph."""
    policy = "worker-src 'none'; script-src 'unsafe-inline' blob:"
    widget_page.mount(digits_scene(), policy=policy)

    assert "block_1" in widget_page.labels()


def test_states_are_painted_while_they_change(widget_page: WidgetPage) -> None:
    """A node's state and a scope's share of finished nodes follow the received bytes."""
    scene = digits_scene()
    count = len(scene.nodes)
    page = widget_page.page
    widget_page.mount(scene, view="progress", states=bytes([1] * count))
    images = page.locator(".tfnb-node", has_text="Placeholder")
    assert images.get_attribute("data-state") == "waiting"

    done = bytes([0x13] * count)
    page.evaluate("(text) => window.model.set('_states', window.bytes(text))", _base64(done))
    assert images.get_attribute("data-state") == "done"
    assert widget_page.closed_scope("block_1").get_attribute("data-state") == "done"


def test_colours_have_patterns_beside_them(widget_page: WidgetPage) -> None:
    """Patterns distinguish devices, and a legend entry dims the others."""
    nodes = [SceneNode(f"n{i}", "Neg", assigned_device=f"/device:CPU:{i % 2}") for i in range(6)]
    widget_page.mount(build_scene(nodes), colour_by="device")
    page = widget_page.page

    assert page.locator(".tfnb-nodes .tfnb-hatch").count() == 3
    page.locator(".tfnb-legend-entry", has_text="CPU:1").click()
    assert page.locator(".tfnb-item.tfnb-dim").count() == 3


def test_a_plain_wheel_is_left_to_the_notebook(widget_page: WidgetPage) -> None:
    """Only Ctrl + wheel zooms."""
    widget_page.mount(digits_scene())
    page = widget_page.page
    content = page.locator(".tfnb-content")
    box = page.locator(".tfnb-canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 200, box["y"] + 100)
    before = content.get_attribute("style")
    page.mouse.wheel(0, 200)
    assert content.get_attribute("style") == before

    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    page.wait_for_function(
        "(before) => document.querySelector('.tfnb-content').getAttribute('style') !== before",
        arg=before,
    )


def test_nothing_is_left_when_a_view_goes_away(widget_page: WidgetPage) -> None:
    """Listeners on the model and elements are removed."""
    widget_page.mount(digits_scene())
    widget_page.page.evaluate("() => window.dispose()")

    assert widget_page.page.locator(".tfnb").count() == 0
    assert widget_page.page.evaluate("() => Object.values(window.handlers).flat().length") == 0


def test_lanes_stand_beside_each_other(widget_page: WidgetPage) -> None:
    """There is one lane per device, and transfers cross between lanes."""
    nodes = [
        SceneNode("x", "Const", partition=0),
        SceneNode("x/_1", "_Send", ((0, 0),), partition=0),
        SceneNode("x/_2", "_Recv", ((1, 0),), partition=1),
        SceneNode("y", "Neg", ((2, 0),), partition=1),
    ]
    devices = [f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(2)]
    widget_page.mount(build_scene(nodes, partitions=devices, in_lanes=True), view="partitions")
    names = widget_page.page.locator(".tfnb-lane-name").all_text_contents()

    assert [name[:5] for name in names] == ["CPU:0", "CPU:1"]
    assert widget_page.page.locator(".tfnb-edge").count() >= 2


def _base64(data: bytes) -> str:
    import base64

    return base64.b64encode(data).decode()


_SHARES = """(scope) => [".tfnb-bar", ".tfnb-bar-dead"].map((name) =>
  Number(scope.querySelector(name).style.getPropertyValue("--tf-share")))"""


def test_dead_nodes_of_a_closed_scope_are_not_done(widget_page: WidgetPage) -> None:
    """A branch that was not taken has no green bar; a scope with dead nodes has a shorter one."""
    names = [f"{scope}/n{i}" for scope in ("taken", "not_taken", "both") for i in range(4)]
    states = [DONE] * 4 + [DEAD] * 4 + [DONE] * 3 + [DEAD]
    scene = build_scene([SceneNode(name, "Neg") for name in names])
    place = scene.position()
    sent = bytearray(len(names))
    for old, state in enumerate(states):
        sent[place[old]] = state
    widget_page.mount(scene, view="progress", states=bytes(sent))
    widget_page.page.get_by_label("Close all scopes").click()
    found = {
        name: (box.get_attribute("data-state"), *box.evaluate(_SHARES))
        for name in ("taken", "not_taken", "both")
        for box in [widget_page.page.locator(f'.tfnb-closed:has(:text-is("{name}"))')]
    }
    assert found == {
        "taken": ("done", 1, 1),
        "not_taken": ("dead", 0, 1),
        "both": ("done", 0.75, 1),
    }


def test_a_node_that_waits_for_another_step_is_seen_in_its_closed_scope(
    widget_page: WidgetPage,
) -> None:
    """The header shows the wait, too."""
    scene = build_scene([SceneNode(f"input/{name}", "Neg") for name in ("queue", "take", "after")])
    counters = {
        "phase": "blocked", "steps": 0, "running": 1, "elapsed_ns": 2_000, "step_ns": 500,
        "runs_per_second": 0.0, "partitions": [], "frames": [], "moreFrames": 0, "dropped": 0,
        "error": "", "waits": [f"'take' waits for {HOSTILE}"],
    }  # fmt: skip
    states = bytes([DONE, BLOCKED, WAITING])
    widget_page.mount(scene, view="progress", states=states, counters=counters)
    page = widget_page.page
    page.get_by_label("Close all scopes").click()
    assert widget_page.closed_scope("input").get_attribute("data-state") == "blocked"
    assert page.locator(".tfnb-phase").inner_text() == "Waits"
    assert page.locator(".tfnb-waits").inner_text() == f"'take' waits for {HOSTILE}"
    assert widget_page.problems == []
