"""Effects of live views in tabs on the steps they show: attaching, leaving, notices."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.notebook.browser.test_accessibility import complaints
from tests.notebook.browser.test_lab_panel import (
    ENDLESS,
    LIMIT_MS,
    SETUP,
    drawn,
    open_graph,
    press,
    show_panel,
    wait_for_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.notebook.browser.lab import Lab, Shots

pytestmark = pytest.mark.browser

SHORT = "sess.run(score, {x: [[1.0, 2.0, 3.0]]});"
DEBUGGER = "print(sess.runtime.step_events.debugger)"


def close_tab(page: Any, name: str) -> None:
    """Close a tab by its cross."""
    cross = page.get_by_title(f"Close {name}", exact=True)
    cross.click()
    cross.wait_for(state="detached", timeout=LIMIT_MS)


def wait_for_output(lab: Lab, index: int, text: str) -> None:
    """Run a cell until it prints the expected text."""
    until = time.monotonic() + LIMIT_MS / 1000
    lab.run(index)
    while text not in str(lab.outputs(index)) and time.monotonic() < until:
        lab.page.wait_for_timeout(50)
        lab.run(index)
    assert text in str(lab.outputs(index))


def debugger_tab(lab: Lab) -> Any:
    """Open the debugger from the panel."""
    press(lab.page.locator(".tfnb-lab"), "Debugger")
    found = lab.page.locator(".tfnb-lab-tab .tfnb-view-debug")
    found.locator(".tfnb-debug-heading", has_text="No step runs").wait_for(timeout=LIMIT_MS)
    return found


def heading(debugger: Any, text: str) -> None:
    """Wait for the text below the buttons."""
    debugger.locator(".tfnb-debug-heading", has_text=text).wait_for(timeout=LIMIT_MS)


def notice(view: Any, text: str) -> Any:
    """Wait for the notice about the view's effect on steps."""
    found = view.locator(".tfnb-notice", has_text=text)
    found.wait_for(timeout=LIMIT_MS)
    return found


def break_at(debugger: Any, node: str) -> None:
    """Set a breakpoint by the form."""
    form = debugger.locator(".tfnb-debug-form")
    form.get_by_label("Node or pattern").fill(node)
    form.get_by_role("button", name="Break").click()
    debugger.locator(".tfnb-debug-break").first.wait_for(timeout=LIMIT_MS)


def to_notebook(lab: Lab) -> None:
    """Activate the notebook, so that its cells run and commands apply to it."""
    lab.page.evaluate("() => window.jupyterapp.shell.activateById(window.panel.id)")


def test_a_closed_debugger_leaves_the_session(lab: Lab, notebook_of: Callable[..., str]) -> None:
    """Later steps run without the debugger."""
    lab.open(notebook_of("leaves.ipynb", SETUP, SHORT, DEBUGGER))
    panel = show_panel(lab)
    lab.run(0)
    wait_for_text(panel, "float32 (3, 2)")
    debugger = debugger_tab(lab)
    break_at(debugger, "score")
    wait_for_output(lab, 2, "<Debugger")
    close_tab(lab.page, "Debugger")
    wait_for_output(lab, 2, "None")


def test_a_step_that_stands_runs_to_its_end_when_the_debugger_is_closed(
    lab: Lab, notebook_of: Callable[..., str]
) -> None:
    """The breakpoint in its next iteration does not stop it again, where no view would show it."""
    lab.open(notebook_of("stands_closed.ipynb", SETUP, LOOP, "sess.run(loop, {x: 1.0})", DEBUGGER))
    panel = show_panel(lab)
    lab.run(0)
    lab.run(1)
    wait_for_text(panel, "float32 (3, 2)")
    debugger = debugger_tab(lab)
    break_at(debugger, "loop/first")
    to_notebook(lab)
    lab.start(2)
    heading(debugger, "Stands before loop/first")
    close_tab(lab.page, "Debugger")
    lab.page.wait_for_function("() => window.isDone", timeout=LIMIT_MS)
    wait_for_output(lab, 3, "None")


def test_the_debugger_attaches_only_with_a_reason_and_says_so(
    lab: Lab, notebook_of: Callable[..., str]
) -> None:
    """A breakpoint or a pause attaches it; it can be detached, also while a step stands."""
    lab.open(notebook_of("attaches.ipynb", SETUP, SHORT, DEBUGGER))
    panel = show_panel(lab)
    lab.run(0)
    wait_for_text(panel, "float32 (3, 2)")
    debugger = debugger_tab(lab)
    lab.run(2)
    assert "None" in str(lab.outputs(2))
    assert debugger.locator(".tfnb-notice").is_hidden()

    debugger.get_by_role("button", name="Pause", exact=True).click()
    notice(debugger, "steps run node by node")
    lab.start(1)
    heading(debugger, "Stands before")
    debugger.get_by_role("button", name="Continue", exact=True).click()
    lab.page.wait_for_function("() => window.isDone", timeout=LIMIT_MS)
    debugger.locator(".tfnb-notice").wait_for(state="hidden", timeout=LIMIT_MS)
    wait_for_output(lab, 2, "None")

    break_at(debugger, "score")
    lab.start(1)
    heading(debugger, "Stands before score")
    notice(debugger, "attached").get_by_role("button", name="Detach").click()
    lab.page.wait_for_function("() => window.isDone", timeout=LIMIT_MS)
    wait_for_output(lab, 2, "None")
    notice(debugger, "detached: steps run at full speed")
    debugger.get_by_role("button", name="Attach").click()
    wait_for_output(lab, 2, "<Debugger: 1 breakpoint")


def test_pause_holds_a_step_that_runs_without_the_debugger(
    lab: Lab, notebook_of: Callable[..., str]
) -> None:
    """The step is held between two nodes until Continue or a cancellation."""
    lab.open(notebook_of("held.ipynb", SETUP, ENDLESS))
    panel = show_panel(lab)
    lab.run(0)
    wait_for_text(panel, "float32 (3, 2)")
    debugger = debugger_tab(lab)
    to_notebook(lab)
    lab.start(1)
    heading(debugger, "Running at full speed")
    debugger.get_by_role("button", name="Pause", exact=True).click()
    heading(debugger, "Held between two nodes")
    panel.get_by_text("held").first.wait_for(timeout=LIMIT_MS)
    debugger.get_by_role("button", name="Continue", exact=True).click()
    heading(debugger, "Running at full speed")
    debugger.get_by_role("button", name="Pause", exact=True).click()
    heading(debugger, "Held between two nodes")
    debugger.get_by_role("button", name="Cancel", exact=True).click()
    lab.page.wait_for_function("() => window.isDone", timeout=LIMIT_MS)


def test_a_recording_says_so_and_can_be_stopped(lab: Lab, notebook_of: Callable[..., str]) -> None:
    """The notice is shown before and after a step; another recording starts on demand."""
    observers = "print('recorded by', len(sess.runtime.step_events.observers))"
    lab.open(notebook_of("recording.ipynb", SETUP, SHORT, observers))
    panel = show_panel(lab)
    lab.run(0)
    wait_for_text(panel, "float32 (3, 2)")
    press(panel, "Record")
    view = lab.page.locator(".tfnb-lab-tab .tfnb-view-run")
    said = notice(view, "The next step is recorded, which takes longer")
    lab.run(2)
    assert "recorded by 1" in str(lab.outputs(2))
    said.get_by_role("button", name="Stop recording").click()
    said = notice(view, "none is recorded")
    wait_for_output(lab, 2, "recorded by 0")
    said.get_by_role("button", name="Record the next step").click()
    notice(view, "The next step is recorded")
    wait_for_output(lab, 2, "recorded by 1")
    lab.run(1)
    drawn(lab, "run")
    notice(view, "none is recorded")
    wait_for_output(lab, 2, "recorded by 0")


def test_a_closed_tab_opens_again(lab: Lab, notebook_of: Callable[..., str]) -> None:
    """The tab opens repeatedly from the panel's button and from the command palette."""
    page = lab.page
    lab.open(notebook_of("closed_tab.ipynb", SETUP, SHORT))
    panel = show_panel(lab)
    lab.run(0)
    wait_for_text(panel, "float32 (3, 2)")
    for _ in range(2):
        open_graph(lab)
        close_tab(page, "Graph of sess")
    page.evaluate("() => window.jupyterapp.shell.activateById(window.panel.id)")
    page.evaluate("() => window.jupyterapp.commands.execute('tfnb:open-progress')")
    lab.page.locator(".tfnb-lab-tab .tfnb-view-progress").wait_for(timeout=LIMIT_MS)
    close_tab(page, "Progress")
    page.evaluate("() => window.jupyterapp.commands.execute('tfnb:open-progress')")
    lab.page.locator(".tfnb-lab-tab .tfnb-view-progress").wait_for(timeout=LIMIT_MS)
    lab.run(1)
    drawn(lab, "progress")


HANG = """%%tfnb watch
taken = tf.square(jobs.dequeue(name="take"), name="after")
try:
    sess.run([taken, jobs.dequeue()])
except tf.errors.CancelledError:
    print("ended")
"""


def test_a_hang_says_what_it_waits_for(
    lab: Lab, notebook_of: Callable[..., str], shots: Shots
) -> None:
    """The picture, the progress, the toolbar and the panel show the wait."""
    page = lab.page
    lab.open(notebook_of("hang.ipynb", SETUP, HANG))
    panel = show_panel(lab)
    lab.run(0)
    wait_for_text(panel, "float32 (3, 2)")
    lab.start(1)
    view = page.locator(".jp-OutputArea .tfnb-view-progress")
    view.locator(".tfnb-phase", has_text="Waits").wait_for(timeout=LIMIT_MS)
    view.locator(".tfnb-waits", has_text="waits for elements of queue 'jobs'").wait_for()
    view.locator('.tfnb-node[data-state="blocked"]').first.wait_for(timeout=LIMIT_MS)
    toolbar = page.locator(".tfnb-lab-toolbar")
    toolbar.get_by_text("waits,").wait_for(timeout=LIMIT_MS)
    toolbar.locator(".tfnb-lab-why", has_text="elements of queue 'jobs'").wait_for()
    panel.get_by_text("waits,").first.wait_for(timeout=LIMIT_MS)
    shots.take(page, "hang.png")
    press(toolbar, "Cancel the running step")
    page.wait_for_function("() => window.isDone", timeout=LIMIT_MS)
    assert "ended" in str(lab.outputs(1))


SLOW_STEPS = """%%tfnb watch
import os, time
while not os.path.exists("enough_steps"):
    sess.run(score, {x: [[1.0, 2.0, 3.0]]})
    time.sleep(0.25)
"""
_WATCH_PHASES = """() => {
  window.seen = new Set();
  const look = () => {
    const view = document.querySelector(".tfnb-view-progress");
    const phase = view?.querySelector(".tfnb-phase")?.textContent;
    if (phase && !window.isDone) window.seen?.add(phase);
    if (window.seen) requestAnimationFrame(look);
  };
  look();
}"""


def test_nothing_is_done_before_the_cell_is(
    lab: Lab, notebook_of: Callable[..., str], server_folder: Path
) -> None:
    """Between short steps of a running cell the header does not say done; at the end all agree."""
    lab.open(notebook_of("short.ipynb", SETUP, SLOW_STEPS))
    lab.run(0)
    lab.page.evaluate(_WATCH_PHASES)
    lab.start(1)
    view = lab.page.locator(".tfnb-view-progress")
    view.locator(".tfnb-phase", has_text="No step runs").wait_for(timeout=LIMIT_MS)
    assert not lab.is_done
    assert "Done" not in lab.page.evaluate("() => [...window.seen]")
    (server_folder / "enough_steps").touch()
    view.locator(".tfnb-phase", has_text="Done").wait_for(timeout=LIMIT_MS)
    assert view.locator('.tfnb-canvas [data-state="waiting"]').count() == 0


LOOP = """import tfnb as tf
x = tf.placeholder(tf.float32, [], name="start")
loop = tf.while_loop(
    lambda i, y: i < 6,
    lambda i, y: (i + 1, tf.square(tf.negative(y, name="first"), name="twice")),
    [tf.constant(0), x],
    name="loop",
)
"""
STOPPED_LOOP = """%%tfnb debug loop/first --iteration 3
print(sess.run(loop, {x: 1.0}))"""


def test_the_graph_shows_the_iteration_where_the_step_stands(
    lab: Lab, notebook_of: Callable[..., str], shots: Shots
) -> None:
    """Graph, card, header and lists agree; nodes of an earlier iteration are not shown as done."""
    page = lab.page
    page.set_viewport_size({"width": 1440, "height": 1200})
    lab.open(notebook_of("iteration.ipynb", SETUP, LOOP, STOPPED_LOOP))
    panel = show_panel(lab)
    lab.run(0)
    lab.run(1)
    lab.start(2)
    view = page.locator(".jp-OutputArea .tfnb-view-debug")
    heading(view, "Stands before loop/first")
    view.locator(".tfnb-phase", has_text="Stopped by the debugger").wait_for(timeout=LIMIT_MS)
    view.locator('.tfnb-canvas .tfnb-node[data-state="stopped"]').wait_for(timeout=LIMIT_MS)

    def state(label: str) -> str:
        box = view.locator(f'.tfnb-canvas .tfnb-node:has(:text-is("{label}"))').first
        return str(box.get_attribute("data-state"))

    assert [state(one) for one in ("first", "twice", "LoopCond")] == ["stopped", "waiting", "done"]
    view.locator(".tfnb-card-state", has_text=re.compile("^stopped")).wait_for(timeout=LIMIT_MS)
    stands = view.locator('.tfnb-debug-node[data-state="stands"] .tfnb-link')
    assert stands.all_inner_texts() == ["loop/first"]
    panel.get_by_text("stopped in the debugger").first.wait_for(timeout=LIMIT_MS)
    shots.take(page, "iteration.png")
    bar = view.locator(".tfnb-debug-bar")
    bar.get_by_role("button", name="Step", exact=True).click()
    heading(view, "· step")
    bar.get_by_role("button", name="Continue", exact=True).click()
    page.wait_for_function("() => window.isDone", timeout=LIMIT_MS)


_GRAPH_HAS_ROOM = """() => {
  const tab = document.querySelector(".tfnb-lab-tab").getBoundingClientRect();
  const field = document.querySelector(".tfnb-lab-tab .tfnb-field").getBoundingClientRect();
  return tab.bottom - field.top > 150;
}"""


def test_a_page_that_is_reloaded_keeps_the_debugger_of_a_cell(
    lab: Lab, notebook_of: Callable[..., str]
) -> None:
    """While a step stands, a tab takes over the cell's debugger; afterwards the tab has its own."""
    page = lab.page
    lab.open(notebook_of("reloaded.ipynb", SETUP, LOOP, STOPPED_LOOP, SHORT, DEBUGGER))
    panel = show_panel(lab)
    lab.run(0)
    lab.run(1)
    wait_for_text(panel, "float32 (3, 2)")
    lab.page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    lab.start(2)
    heading(page.locator(".jp-OutputArea .tfnb-view-debug"), "Stands before loop/first")
    lab.reload("reloaded.ipynb")
    debugger = page.locator(".tfnb-lab-tab .tfnb-view-debug")
    heading(debugger, "Stands before loop/first")
    assert "iteration 3" in debugger.locator(".tfnb-debug-heading").inner_text()
    # The lists leave the graph room in the tab.
    for width in (1440, 1024):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(_GRAPH_HAS_ROOM, timeout=LIMIT_MS)
    bar = debugger.locator(".tfnb-debug-bar")
    bar.get_by_role("button", name="Step", exact=True).click()
    debugger.locator(".tfnb-debug-heading", has_text="· step").wait_for(timeout=LIMIT_MS)
    bar.get_by_role("button", name="Continue", exact=True).click()
    heading(page.locator(".tfnb-lab-tab .tfnb-view-debug"), "No step runs")
    page.evaluate("async () => { await window.panel.sessionContext.ready; }")
    wait_for_output(lab, 4, "None")


ALTERNATING = """%%tfnb watch
i = tf.while_loop(lambda i: i < 3000, lambda i: i + 1, [0], name="long")
short = tf.negative(x, name="short")
try:
    while True:
        sess.run(i)
        sess.run(short, {x: [[1.0, 2.0, 3.0]]})
except KeyboardInterrupt:
    print("stopped")"""


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_the_step_on_show_is_chosen_from_a_list(
    lab: Lab, notebook_of: Callable[..., str], shots: Shots, theme: str
) -> None:
    """The list is available while the cell runs; "the longest", the default, is an entry, too."""
    page = lab.page
    lab.open(notebook_of(f"chosen{theme}.ipynb", SETUP, ALTERNATING), theme=f"JupyterLab {theme}")
    lab.run(0)
    lab.start(1)
    view = page.locator(".tfnb-view-progress[data-ready]")
    view.wait_for(timeout=LIMIT_MS)
    choice = view.get_by_label("Step on display")
    choice.wait_for(timeout=LIMIT_MS)
    # The list grows with the kinds of steps that have run.
    choice.locator("option", has_text="short:0").wait_for(state="attached", timeout=LIMIT_MS)
    names = choice.locator("option").all_inner_texts()
    assert names[0] == "Longest step"
    assert [name.partition(" ")[0] for name in names[1:]] == ["long/Exit:0", "short:0"]
    loop = view.locator(".tfnb-frame-name", has_text="long")
    loop.wait_for(timeout=LIMIT_MS)
    for width in (1440, 1024):
        page.set_viewport_size({"width": width, "height": 900})
        shots.take(page, f"choice-{theme.lower()}-{width}.png")
    choice.select_option("1")
    loop.wait_for(state="detached", timeout=LIMIT_MS)
    view.get_by_role("treeitem", name="short, Neg, math").wait_for(timeout=LIMIT_MS)
    shots.take(page, f"chosen-{theme.lower()}.png")
    assert complaints(page, ".tfnb-view-progress") == []
    choice.select_option("")
    loop.wait_for(timeout=LIMIT_MS)
    page.evaluate("() => window.panel.sessionContext.session.kernel.interrupt()")
    page.wait_for_function("() => window.isDone", timeout=LIMIT_MS)
    choice.wait_for(state="hidden", timeout=LIMIT_MS)
