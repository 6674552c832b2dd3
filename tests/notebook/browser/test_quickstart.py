"""The quickstart in a real JupyterLab, from top to bottom, with its live views."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.notebook.browser.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NOTEBOOK = "notebooks/00_quickstart.ipynb"
_PROGRESS = "() => document.querySelector('.tfnb-progress')?.innerText ?? ''"
_SHOW = "(element) => element.scrollIntoView({block: 'start'})"


def test_the_quickstart_runs_and_its_views_live(lab: Lab, shots: Path) -> None:
    """Graphs are drawn, progress changes during a step, scopes open, no cell fails."""
    page = lab.page
    count = lab.open(NOTEBOOK)
    watch = lab.index_of("%%tfnb watch\n")
    for index in range(watch):
        lab.run(index)
    page.wait_for_selector(".tfnb-view-graph[data-ready]")
    assert page.locator(".tfnb-view-graph .tfnb-item").count() > 3

    lab.start(watch)
    page.wait_for_selector(".tfnb-view-progress[data-ready]", timeout=90_000)
    page.evaluate(_SHOW, lab.cell(watch))
    seen: list[str] = []
    shot = None
    while not lab.is_done:
        text = page.evaluate(_PROGRESS)
        if text and text not in seen and not lab.is_done:
            seen.append(text)
        if len(seen) == 6 and shot is None:
            shot = page.screenshot(path=shots / "quickstart.png")
        page.wait_for_timeout(60)
    assert len(seen) >= 5, "progress did not change while the step ran"
    assert all("iteration" in text for text in seen[1:])
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
    page.wait_for_timeout(400)
    page.screenshot(path=shots / "graph.png")

    page.evaluate(_SHOW, lab.cell(lab.index_of("%tfnb partitions")))
    page.wait_for_selector(".tfnb-view-partitions[data-ready]")
    assert page.locator(".tfnb-lane").count() == 2
    page.wait_for_timeout(400)
    page.screenshot(path=shots / "partitions.png")


def test_the_dark_theme_is_dark(lab: Lab, shots: Path) -> None:
    """Surfaces follow JupyterLab's colours."""
    page = lab.page
    lab.open(NOTEBOOK, theme="JupyterLab Dark")
    for index in range(lab.index_of("%tfnb graph") + 1):
        lab.run(index)
    page.wait_for_selector(".tfnb-view-graph[data-ready]")
    lab.run(lab.index_of("def settle"))
    lab.run(lab.index_of("%%tfnb watch\n"))
    page.evaluate(_SHOW, lab.cell(lab.index_of("%%tfnb watch\n")))
    page.wait_for_timeout(500)
    page.screenshot(path=shots / "dark.png")

    colour = page.evaluate(
        "() => getComputedStyle(document.querySelector('.tfnb')).backgroundColor"
    )
    red = int(colour.split("(")[1].split(",")[0])
    assert red < 80
