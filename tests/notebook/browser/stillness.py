"""Waits for a page at rest: what was asked of its views is drawn, and nothing moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

# A view that got another size asks for a layout in the next frame. The mark of a running step moves
# for as long as the step runs.
_SETTLE = """async () => {
  const frame = () => new Promise((go) => requestAnimationFrame(go));
  const moves = (one) => one.playState === "running" && one.effect?.target?.closest(".tfnb")
    && one.effect.getComputedTiming().endTime !== Infinity;
  for (;;) {
    await frame();
    await frame();
    const moving = document.getAnimations().filter(moves);
    if (moving.length === 0 && !document.querySelector(".tfnb [aria-busy=true]")) return;
    await Promise.all(moving.map((one) => one.finished.catch(() => {})));
  }
}"""


def settle(page: Page) -> None:
    """Wait until every view is drawn and its animations have ended."""
    page.evaluate(_SETTLE)
