"""The times of pictures of large graphs: making, first display, and frames.

    python -m benchmarks.pictures

Two graphs of 10,000 nodes: one with scopes, one without. A headless Chromium shows the widget's own
module; frames are measured while the picture is zoomed, dragged, and a scope opened, as the time
from one frame to the next.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.notebook.browser.widget_page import WidgetPage
from tfnb.notebook.scenes.scene import Scene, SceneNode, build_scene
from tfnb.notebook.scenes.scene_svg import scene_svg

if TYPE_CHECKING:
    from collections.abc import Callable

NODES = 10_000
FIRST_PICTURE_MS, FRAME_MS = 2000, 50

_FRAMES = """async (go) => {
  const box = document.querySelector("#place svg").getBoundingClientRect();
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  const target = document.elementFromPoint(x, y);
  const send = (type, Kind, more) => target.dispatchEvent(new Kind(type, {
    bubbles: true, cancelable: true, clientX: x, clientY: y, pointerId: 1, button: 0, buttons: 1,
    ...more}));
  const times = [];
  let before = 0;
  for (let i = 0; i < 60; i++) {
    if (go === "zoom") send("wheel", WheelEvent, {ctrlKey: true, deltaY: i < 30 ? -60 : 60});
    if (go === "drag") {
      if (i === 0) send("pointerdown", PointerEvent, {});
      send("pointermove", PointerEvent, {clientX: x + 3 * i, clientY: y + i});
      if (i === 59) send("pointerup", PointerEvent, {clientX: x + 180, clientY: y + 60});
    }
    const now = await new Promise((done) => requestAnimationFrame(done));
    if (i > 1) times.push(now - before);
    before = now;
  }
  return times;
}"""


_OPEN = """async () => {
  const count = () => document.querySelectorAll(".tfnb-item").length;
  const before = count();
  const start = performance.now();
  document.querySelector(".tfnb-closed").dispatchEvent(new MouseEvent("click", {bubbles: true}));
  while (count() === before) {
    await new Promise((done) => requestAnimationFrame(done));
    if (performance.now() - start > 10000) throw new Error("nothing opened");
  }
  return performance.now() - start;
}"""


class Figures(NamedTuple):
    """The times of one graph, in milliseconds."""

    graph: str
    make: float
    svg: float
    first: float
    zoom: float
    drag: float
    opening: float

    @property
    def is_quick(self) -> bool:
        """Whether the times are within the limits."""
        frames = max(self.zoom, self.drag)
        return self.make + self.first < FIRST_PICTURE_MS and frames < FRAME_MS


def scoped() -> list[SceneNode]:
    """Return layers of a network with twenty nodes each."""
    return [
        SceneNode(
            f"block_{i // 400}/layer_{i // 20}/op_{i}", ("MatMul", "BiasAdd", "Relu")[i % 3],
            _inputs(i),
        )
        for i in range(NODES)
    ]  # fmt: skip


def flat() -> list[SceneNode]:
    """Return the nodes of ``scoped`` without scopes, named like unnamed ops."""
    ops = ("MatMul", "BiasAdd", "Relu")
    return [SceneNode(f"{ops[i % 3]}_{i // 3}", ops[i % 3], _inputs(i)) for i in range(NODES)]


def _inputs(i: int) -> tuple[tuple[int, int], ...]:
    """Return the preceding node, and sometimes an earlier one."""
    near = ((i - 1, 0),) if i else ()
    return (*near, (i - 13, 0)) if i % 10 == 0 and i > 13 else near


def _ms(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = work()
    return (time.perf_counter() - start) * 1e3, found


def measure_one(name: str, nodes: list[SceneNode], browser: Any, repeats: int) -> Figures:
    """Return the medians over several pages; for frames the 95th percentile."""
    makes, firsts, openings = [], [], []
    frames: dict[str, list[float]] = {"zoom": [], "drag": []}
    scene: Scene | None = None
    for _ in range(repeats):
        took, scene = _ms(lambda: build_scene(nodes, title=name))
        encoding, _ = _ms(scene.encode)
        makes.append(took + encoding)
        page = WidgetPage(browser.new_page(viewport={"width": 1000, "height": 600}))
        firsts.append(page.mount(scene))
        page.settle()
        for kind, times in frames.items():
            times += page.page.evaluate(_FRAMES, kind)
        openings.append(page.page.evaluate(_OPEN))
        assert page.problems == [], page.problems
        page.page.close()
    assert scene is not None
    svg, _ = _ms(lambda: scene_svg(scene))
    slow = {kind: statistics.quantiles(times, n=20)[-1] for kind, times in frames.items()}
    middle = statistics.median
    return Figures(
        name, middle(makes), svg, middle(firsts), slow["zoom"], slow["drag"], middle(openings)
    )


def measure(repeats: int = 5) -> list[Figures]:
    """Return the figures of both graphs."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        found = [
            measure_one(name, nodes, browser, repeats)
            for name, nodes in (("scoped", scoped()), ("flat", flat()))
        ]
        browser.close()
    return found


def main() -> int:
    """Print the figures; the exit status says whether they are within the limits."""
    found = measure(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
    sys.stdout.write(f"{'':8}{'make':>9}{'svg':>9}{'first':>9}{'zoom':>9}{'drag':>9}{'open':>9}\n")
    for one in found:
        sys.stdout.write(f"{one.graph:8}{''.join(f'{ms:6.0f} ms' for ms in one[1:])}\n")
    return 0 if all(one.is_quick for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
