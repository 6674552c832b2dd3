"""Waits for a page at rest: what was asked of its views is drawn, and nothing moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

# A view that got another size asks for a layout in the next frame: a page rests if three frames
# find it at rest. The mark of a running step moves for as long as the step runs.
_RESTS = """() => {
  const moves = (one) => one.playState === "running" && one.effect?.target?.closest(".tfnb")
    && one.effect.getComputedTiming().endTime !== Infinity;
  const isBusy = document.querySelector(".tfnb [aria-busy=true]") !== null
    || document.getAnimations().some(moves);
  window.framesAtRest = isBusy ? 0 : window.framesAtRest + 1;
  return window.framesAtRest === 3;
}"""


def settle(page: Page) -> None:
    """Wait until every view is drawn and its animations have ended."""
    page.evaluate("() => { window.framesAtRest = 0; }")
    page.wait_for_function(_RESTS, polling="raf")
