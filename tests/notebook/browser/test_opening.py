"""Opening a notebook changes nothing in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.notebook.browser.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.slow]
NOTEBOOKS = ("00_quickstart.ipynb", "05_training_live.ipynb")
_STATE = """async () => {
  const { context, content } = window.panel;
  const frame = () => new Promise((go) => requestAnimationFrame(() => setTimeout(go, 0)));
  // JupyterLab writes down what a kernel that has just started tells.
  while (!("version" in (context.model.toJSON().metadata.language_info ?? {}))) await frame();
  await frame();
  const opened = { isDirty: context.model.dirty };
  content.widgets[0].model.sharedModel.setSource("typed");
  await new Promise((resolve) => setTimeout(resolve, 0));
  return { ...opened, isDirtyAfterTyping: context.model.dirty };
}"""


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_that_is_opened_is_not_dirty(lab: Lab, name: str) -> None:
    """A notebook that was only opened is not marked as changed; typed text is a change."""
    lab.open(f"notebooks/{name}")
    state = lab.page.evaluate(_STATE)
    assert state == {"isDirty": False, "isDirtyAfterTyping": True}
