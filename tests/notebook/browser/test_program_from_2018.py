"""The notebook of a TensorFlow 1 program in a real JupyterLab, watched live."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.notebook.browser.lab import Lab, Shots

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("tf_slim") is None or find_spec("keras") is None, reason="needs tf-slim and Keras"
    ),
]

NOTEBOOK = "notebooks/10_a_program_from_2018.ipynb"
_SHOW = "(element) => element.scrollIntoView({block: 'start'})"


def test_a_program_of_tensorflow_1_is_watched_in_the_lab(lab: Lab, shots: Shots) -> None:
    """Every cell runs; the training has a view, and the graph is drawn with slim's scopes."""
    page = lab.page
    count = lab.open(NOTEBOOK)
    watch = lab.index_of("%%tfnb watch\n")
    for index in range(watch + 1):
        lab.run(index)
    page.evaluate(_SHOW, lab.cell(watch))
    page.wait_for_selector(".tfnb-view-progress[data-phase=done]")
    shots.take(page, "program_from_2018_watched.png")

    for index in range(watch + 1, count):
        lab.run(index)
    page.evaluate(_SHOW, lab.cell(lab.index_of("%tfnb graph")))
    page.wait_for_selector(".tfnb-view-graph[data-ready]")
    assert page.locator(".tfnb-view-graph", has_text="conv1").count() >= 1
    shots.take(page, "program_from_2018_graph.png")
