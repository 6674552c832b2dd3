"""The quickstart in a real JupyterLab, from top to bottom, with its live views."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.notebook.browser.stillness import settle

if TYPE_CHECKING:
    from tests.notebook.browser.lab import Lab, Shots

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NOTEBOOK = "notebooks/00_quickstart.ipynb"
# Keeps the texts of the progress while the step runs its loops.
_KEEP_PROGRESS = """() => {
  const kept = window.seen = [];
  const look = () => {
    const view = window.panel?.node.querySelector(".tfnb-view-progress[data-phase=running]");
    const text = view?.querySelector(".tfnb-progress").textContent;
    if (text?.includes("iteration") && !kept.includes(text)) kept.push(text);
  };
  const changes = {childList: true, characterData: true, subtree: true};
  new MutationObserver(look).observe(window.panel.node, changes);
}"""
_SHOW = "(element) => element.scrollIntoView({block: 'start'})"


@pytest.mark.oldest_lab
def test_the_quickstart_runs_and_its_views_live(lab: Lab, shots: Shots) -> None:
    """Graphs are drawn, progress changes during a step, scopes open, no cell fails."""
    page = lab.page
    count = lab.open(NOTEBOOK)
    watch = lab.index_of("%%tfnb watch\n")
    for index in range(watch):
        lab.run(index)
    page.wait_for_selector(".tfnb-view-graph[data-ready]")
    assert page.locator(".tfnb-view-graph .tfnb-item").count() > 3

    page.evaluate(_KEEP_PROGRESS)
    lab.start(watch)
    page.wait_for_selector(".tfnb-view-progress[data-ready]", timeout=90_000)
    page.evaluate(_SHOW, lab.cell(watch))
    # The step is as long as the processor makes it.
    page.wait_for_function("() => window.seen.length >= 6 || window.isDone", timeout=0)
    shots.take(page, "quickstart.png")
    page.wait_for_function("() => window.isDone", timeout=0)
    seen = page.evaluate("() => window.seen")
    assert len(seen) >= 5, "progress did not change while the step ran"
    page.wait_for_selector(".tfnb-view-progress[data-phase=done]")
    kinds = [sorted(output.get("data", {})) for output in lab.outputs(watch)]
    assert ["image/svg+xml", "text/plain"] in kinds

    for index in range(watch + 1, count):
        lab.run(index)

    network = lab.index_of("%tfnb graph network")
    page.evaluate(_SHOW, lab.cell(network))
    scope = page.locator(".tfnb-view-graph").nth(1).locator(".tfnb-closed", has_text="block_1")
    scope.click()
    page.wait_for_selector(".tfnb-open >> text=block_1")
    page.locator(".tfnb-view-graph").nth(1).locator(".tfnb-node", has_text="Conv2D").click()
    page.wait_for_selector(".tfnb-card-name >> text=block_1/conv")
    page.evaluate(_SHOW, lab.cell(network))
    shots.take(page, "graph.png")

    page.evaluate(_SHOW, lab.cell(lab.index_of("%tfnb partitions")))
    page.wait_for_selector(".tfnb-view-partitions[data-ready]")
    assert page.locator(".tfnb-lane").count() == 2
    shots.take(page, "partitions.png")


def test_the_dark_theme_is_dark(lab: Lab, shots: Shots) -> None:
    """Surfaces follow JupyterLab's colours."""
    page = lab.page
    lab.open(NOTEBOOK, theme="JupyterLab Dark")
    for index in range(lab.index_of("%tfnb graph") + 1):
        lab.run(index)
    page.wait_for_selector(".tfnb-view-graph[data-ready]")
    lab.run(lab.index_of("def settle"))
    lab.run(lab.index_of("%%tfnb watch\n"))
    page.evaluate(_SHOW, lab.cell(lab.index_of("%%tfnb watch\n")))
    settle(page)
    shots.take(page, "dark.png")

    colour = page.evaluate(
        "() => getComputedStyle(document.querySelector('.tfnb')).backgroundColor"
    )
    red = int(colour.split("(")[1].split(",")[0])
    assert red < 80
