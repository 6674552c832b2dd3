"""The side panel, the tabs and the toolbar item in a real JupyterLab."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from tests.notebook.browser.test_accessibility import complaints

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.notebook.browser.lab import Lab, Notebook7, Shots

pytestmark = pytest.mark.browser

SETUP = """%load_ext tfnb
import tfnb as tf
x = tf.placeholder(tf.float32, [None, 3], name="x")
weights = tf.get_variable("weights", [3, 2])
score = tf.matmul(x, weights, name="score")
jobs = tf.FIFOQueue(5, tf.float32, shapes=[[]], name="jobs")
put = jobs.enqueue(1.0)
sess = tf.get_default_session()
sess.run(tf.global_variables_initializer())
sess.run([score, put], {x: [[1.0, 2.0, 3.0]]});
"""
ENDLESS = """count = tf.while_loop(lambda k: k >= 0, lambda k: (k + 1) % 100, [0], name="forever")
try:
    sess.run(count)
except tf.errors.CancelledError as error:
    print("ended:", error.message)
"""
LIMIT_MS = 90_000
# How many times the command palette is opened for one command.
ATTEMPTS = 9


def show_panel(lab: Lab) -> Any:
    """Open the panel and return it."""
    lab.page.evaluate("() => window.jupyterapp.commands.execute('tfnb:show-panel')")
    lab.page.wait_for_selector(".tfnb-lab", state="visible", timeout=LIMIT_MS)
    return lab.page.locator(".tfnb-lab")


def wait_for_text(panel: Any, text: str) -> None:
    """Wait until the panel contains a text."""
    panel.get_by_text(text).first.wait_for(timeout=LIMIT_MS)


@pytest.mark.oldest_lab
def test_the_panel_shows_sessions_their_executors_and_what_they_hold(
    lab: Lab, notebook_of: Callable[..., str], shots: Shots
) -> None:
    """The panel is up to date as soon as the cell has loaded tfnb, without a reload or a click."""
    lab.open(notebook_of("panel.ipynb", SETUP))
    panel = show_panel(lab)
    wait_for_text(panel, "without tfnb")
    lab.run(0)
    wait_for_text(panel, "InteractiveSession")
    wait_for_text(panel, "score:0, jobs_enqueue (run)")
    wait_for_text(panel, "fed x:0")
    wait_for_text(panel, "1 element of 5")
    wait_for_text(panel, "float32 (3, 2) · 24 B")
    shots.take(lab.page, "panel.png")


def open_graph(lab: Lab) -> Any:
    """Open the graph of the first session in a tab, and wait until it is drawn."""
    lab.page.get_by_role("button", name="Graph", exact=True).first.click()
    return drawn(lab, "graph")


def drawn(lab: Lab, view: str) -> Any:
    """Return a view in a tab once its graph is drawn."""
    found = lab.page.locator(f".tfnb-lab-tab .tfnb-view-{view}")
    found.locator("xpath=self::*[@data-ready]").wait_for(timeout=LIMIT_MS)
    return found


def press(panel: Any, name: str) -> None:
    """Press a button of the panel or the toolbar."""
    panel.get_by_role("button", name=name).first.click()


def wait_until_done(lab: Lab) -> None:
    """Wait until the started cell has ended."""
    lab.page.wait_for_function("() => window.isDone", timeout=LIMIT_MS)


@pytest.mark.parametrize("theme", ["Light", pytest.param("Dark", marks=pytest.mark.oldest_lab)])
def test_a_graph_opens_beside_the_notebook_and_grows_with_it(
    lab: Lab, notebook_of: Callable[..., str], shots: Shots, theme: str
) -> None:
    """When the cell runs again, the view stays and shows the new nodes."""
    path = notebook_of(f"tab{theme}.ipynb", SETUP, 'tf.square(score, name="late");')
    lab.open(path, theme=f"JupyterLab {theme}")
    panel = show_panel(lab)
    lab.run(0)
    wait_for_text(panel, "float32 (3, 2)")
    view = open_graph(lab)
    notebook = lab.page.locator(".jp-NotebookPanel")
    assert notebook.is_visible()
    assert notebook.bounding_box()["x"] < view.bounding_box()["x"]
    lab.page.evaluate("() => window.panel.content.activate()")
    lab.run(1)
    view.locator(".tfnb-label", has_text="late").wait_for(timeout=LIMIT_MS)
    view.locator(".tfnb-node", has_text="score").first.click()
    view.locator(".tfnb-card-name", has_text="score").wait_for(timeout=LIMIT_MS)
    shots.take(lab.page, f"lab-{theme.lower()}.png")
    assert complaints(lab.page, ".tfnb-lab") == []
    assert complaints(lab.page, ".tfnb-lab-tab") == []


# A step stands if three reports in a row, with later times, name the same iteration. The first may
# be from before it stood.
_STANDS = """() => {
  const step = document.querySelector(".tfnb-lab-step");
  const [what, lines] = ["what", "lines"].map(
    (name) => step.querySelector(`[data-part=${name}]`).textContent);
  if (window.seen?.lines !== lines) window.seen = {lines, times: new Set()};
  return lines.includes("in iteration") && window.seen.times.add(what).size >= 3;
}"""


@pytest.mark.oldest_lab
def test_a_running_loop_is_paused_resumed_and_cancelled(
    lab: Lab, notebook_of: Callable[..., str], shots: Shots
) -> None:
    """The panel and the notebook's toolbar work while the cell runs; the kernel stays usable."""
    lab.page.set_viewport_size({"width": 1560, "height": 860})
    lab.open(notebook_of("steer.ipynb", SETUP, ENDLESS, "print(sess.run(tf.constant(3.0)))"))
    panel = show_panel(lab)
    lab.run(0)
    wait_for_text(panel, "float32 (3, 2)")
    press(panel, "Progress")
    lab.page.locator(".tfnb-view-progress").wait_for(timeout=LIMIT_MS)
    lab.page.evaluate("() => window.jupyterapp.shell.activateById(window.panel.id)")
    lab.start(1)
    drawn(lab, "progress")
    wait_for_text(panel, "in iteration")
    toolbar = lab.page.locator(".tfnb-lab-toolbar")
    toolbar.get_by_text("running").wait_for(timeout=LIMIT_MS)
    press(toolbar, "Pause the steps")
    toolbar.get_by_text("held").wait_for(timeout=LIMIT_MS)
    panel.get_by_text("held").wait_for(timeout=LIMIT_MS)
    lab.page.wait_for_function(_STANDS, timeout=LIMIT_MS)
    shots.take(lab.page, "lab.png")
    assert complaints(lab.page, ".tfnb-lab-toolbar") == []
    assert complaints(lab.page, ".tfnb-lab") == []
    press(panel, "Resume sess")
    toolbar.get_by_text("running").wait_for(timeout=LIMIT_MS)
    panel.get_by_role("button", name="Cancel step").click()
    wait_until_done(lab)
    assert "cancelled in JupyterLab" in str(lab.outputs(1))
    toolbar.wait_for(state="hidden", timeout=LIMIT_MS)

    lab.start(1)
    toolbar.get_by_text("running").wait_for(timeout=LIMIT_MS)
    press(toolbar, "Cancel the running step")
    wait_until_done(lab)
    lab.run(2)
    assert "3.0" in str(lab.outputs(2))


@pytest.mark.oldest_lab
def test_views_of_steps_live_in_tabs(lab: Lab, notebook_of: Callable[..., str]) -> None:
    """Progress, the debugger, a recorded step, placement and partitions open in tabs."""
    short = "sess.run(score, {x: [[1.0, 2.0, 3.0]]})"
    lab.open(notebook_of("views.ipynb", SETUP, short))
    panel = show_panel(lab)
    lab.run(0)
    wait_for_text(panel, "float32 (3, 2)")
    for name, view in (("Placement of score", "placement"), ("Partitions of score", "partitions")):
        press(panel, name)
        drawn(lab, view)
    press(panel, "Progress")
    press(panel, "Record")
    lab.page.locator(".tfnb-view-run").wait_for(timeout=LIMIT_MS)
    lab.run(1)
    drawn(lab, "run")
    lab.page.get_by_role("tab", name="Progress").click()
    drawn(lab, "progress")
    press(panel, "Debugger")
    debugger = lab.page.locator(".tfnb-lab-tab .tfnb-view-debug")
    debugger.get_by_role("button", name="Pause", exact=True).click()
    # The kernel has heard of the pause when it says what follows from it.
    attached = debugger.locator(".tfnb-notice", has_text="steps run node by node")
    attached.wait_for(timeout=LIMIT_MS)
    lab.start(1)
    debugger.locator(".tfnb-debug-heading", has_text="Stands before").wait_for(timeout=LIMIT_MS)
    debugger.get_by_role("button", name="Continue", exact=True).click()
    wait_until_done(lab)


@pytest.mark.oldest_lab
def test_panel_and_tabs_are_there_again_after_a_reload(
    lab: Lab, notebook_of: Callable[..., str]
) -> None:
    """While a cell runs, its step can be cancelled after the reload."""
    lab.open(notebook_of("reload.ipynb", SETUP, ENDLESS))
    panel = show_panel(lab)
    lab.run(0)
    wait_for_text(panel, "float32 (3, 2)")
    open_graph(lab)
    lab.start(1)
    wait_for_text(panel, "in iteration")
    lab.reload()
    drawn(lab, "graph")
    panel = show_panel(lab)
    wait_for_text(panel, "in iteration")
    panel.get_by_role("button", name="Cancel step").click()
    panel.locator(".tfnb-lab-step").wait_for(state="detached", timeout=LIMIT_MS)


@pytest.mark.oldest_lab
def test_a_tab_says_that_its_kernel_is_gone_and_finds_the_next(
    lab: Lab, notebook_of: Callable[..., str]
) -> None:
    """The picture stays until tfnb is loaded in the restarted kernel; its buttons are off."""
    lab.open(notebook_of("restart.ipynb", SETUP))
    panel = show_panel(lab)
    lab.run(0)
    wait_for_text(panel, "float32 (3, 2)")
    press(panel, "Debugger")
    lab.page.locator(".tfnb-debug:not([inert])").wait_for(timeout=LIMIT_MS)
    lab.page.evaluate("async () => { await window.panel.sessionContext.restartKernel(); }")
    notice = lab.page.locator(".tfnb-lab-notice", has_text="tfnb is not loaded")
    notice.wait_for(timeout=LIMIT_MS)
    assert lab.page.locator(".tfnb-view-debug").is_visible()
    assert lab.page.locator(".tfnb-debug[inert]").count() == 1
    lab.page.evaluate("async () => { await window.panel.sessionContext.session.kernel.info; }")
    panel.get_by_role("button", name="Load tfnb").click()
    notice.wait_for(state="hidden", timeout=LIMIT_MS)
    lab.page.locator(".tfnb-debug:not([inert])").wait_for(timeout=LIMIT_MS)
    wait_for_text(panel, "InteractiveSession")


_DRAWN_GRAPH = "() => document.querySelector('.tfnb-lab-tab .tfnb-view-graph[data-ready]')"


def test_a_tab_opens_again_what_the_kernel_has_closed(
    lab: Lab, notebook_of: Callable[..., str]
) -> None:
    """The kernel closed the tab because the page was silent, as on a suspended computer."""
    views = "from tfnb.notebook.extension import extension_of as of\nviews = of(get_ipython())"
    views += "._lab.link.views"
    lab.open(notebook_of("slept.ipynb", SETUP, f"{views}\nviews.close_all()", "views.titles()"))
    panel = show_panel(lab)
    lab.run(0)
    wait_for_text(panel, "float32 (3, 2)")
    open_graph(lab)
    lab.page.evaluate(f"() => {{ window.seen = ({_DRAWN_GRAPH})(); }}")
    lab.run(1)
    lab.page.wait_for_function(
        f"() => ![null, window.seen].includes(({_DRAWN_GRAPH})())", timeout=LIMIT_MS
    )
    lab.run(2)
    assert "Graph of sess" in str(lab.outputs(2))


def test_several_kernels_are_shown_side_by_side(lab: Lab, notebook_of: Callable[..., str]) -> None:
    """Each kernel has its own sessions; names that are markup are shown as text."""
    hostile = (
        "%load_ext tfnb\nimport tfnb as tf\n"
        'v = tf.FIFOQueue(3, tf.float32, shared_name="<img src=x onerror=window.hit=1>")\n'
        "tf.get_default_session().run(v.size())"
    )
    other = notebook_of("other.ipynb", hostile)
    lab.open(notebook_of("first.ipynb", SETUP))
    panel = show_panel(lab)
    lab.run(0)
    lab.page.evaluate(
        """async (path) => {
          window.first = window.panel;
          const app = window.jupyterapp;
          const panel = await app.commands.execute("docmanager:open", {path, factory: "Notebook"});
          await panel.context.ready;
          await panel.revealed;
          await panel.sessionContext.ready;
          window.panel = panel;
        }""",
        other,
    )
    lab.run(0)
    wait_for_text(panel, "<img src=x onerror=window.hit=1>")
    for name in ("first", "other"):
        panel.get_by_role("region", name=f"Kernel of {name}.ipynb").wait_for(timeout=LIMIT_MS)
    assert lab.page.evaluate("() => window.hit") is None
    lab.page.evaluate("async () => { await window.first.sessionContext.shutdown(); }")
    panel.get_by_role("region", name="Kernel of first.ipynb").wait_for(
        state="detached", timeout=LIMIT_MS
    )


@pytest.mark.oldest_lab
def test_the_keyboard_is_enough(lab: Lab, notebook_of: Callable[..., str]) -> None:
    """The keyboard goes from the command palette to a node's card, and cancels."""
    sync_api = pytest.importorskip("playwright.sync_api")
    page = lab.page
    lab.open(notebook_of("keys.ipynb", SETUP, ENDLESS))
    lab.run(0)

    page.evaluate(
        """() => {
          window.ran = [];
          window.jupyterapp.commands.commandExecuted.connect((_, args) => window.ran.push(args.id));
        }"""
    )

    def command(name: str, label: str) -> None:
        """Run a command by its label; open the palette again if the notebook closed it.

        A notebook takes the focus shortly after it has run a cell, and JupyterLab closes a palette
        that loses the focus; the rest of the typed text would go to the cell.
        """
        item = page.locator(".lm-CommandPalette-itemLabel", has_text=label).first
        for _ in range(ATTEMPTS):
            page.keyboard.press("Control+Shift+C")
            with contextlib.suppress(sync_api.TimeoutError):
                page.wait_for_function(
                    "() => document.activeElement?.matches('.lm-CommandPalette input')",
                    timeout=LIMIT_MS / ATTEMPTS,
                )
                page.keyboard.type(label)
                item.wait_for(timeout=LIMIT_MS / ATTEMPTS)
                page.keyboard.press("Enter")
                page.wait_for_function(
                    "(name) => window.ran.includes(name)", arg=name, timeout=LIMIT_MS / ATTEMPTS
                )
                return
            page.keyboard.press("Escape")
        raise AssertionError(f"{label} did not run; the commands that ran: {page.evaluate('ran')}")

    command("tfnb:show-panel", "Show tfnb Sessions")
    panel = page.locator(".tfnb-lab")
    wait_for_text(panel, "float32 (3, 2)")
    panel.get_by_role("button", name="Progress", exact=True).focus()
    reached = []
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("() => document.activeElement.textContent"))
        if reached[-1] == "Graph":
            break
    assert reached[-1] == "Graph", reached
    page.keyboard.press("Enter")
    drawn(lab, "graph")
    lab.page.evaluate("() => window.panel.content.activate()")
    lab.start(1)
    wait_for_text(panel, "in iteration")
    page.evaluate("() => window.jupyterapp.shell.activateById(window.panel.id)")
    command("tfnb:cancel", "Cancel tfnb Steps")
    wait_until_done(lab)


@pytest.mark.oldest_lab
def test_the_launcher_makes_a_notebook_with_tfnb(lab: Lab, notebook_of: Callable[..., str]) -> None:
    """The first cell is written, but not run."""
    lab.open(notebook_of("launch.ipynb", "1"))
    lab.close()
    page = lab.page
    # JupyterLab has opened a launcher of its own, too.
    made = page.evaluate(
        "async () => (await window.jupyterapp.commands.execute('launcher:create')).id"
    )
    page.evaluate("(id) => window.jupyterapp.shell.activateById(id)", made)
    launcher = page.locator(f"[id='{made}']")
    launcher.locator(".jp-LauncherCard", has_text="tfnb Notebook").click()
    page.wait_for_function(
        """() => {
          const panel = window.jupyterapp.shell.currentWidget;
          const cell = panel?.content?.widgets?.[0];
          window.panel = panel;
          return cell?.model.sharedModel.getSource().startsWith("%load_ext tfnb");
        }""",
        timeout=LIMIT_MS,
    )


@pytest.mark.oldest_lab
def test_jupyter_notebook_has_panel_views_and_toolbar_item(
    notebook7: Notebook7, notebook_of: Callable[..., str], shots: Shots
) -> None:
    """Views open below the notebook, because a page has one document."""
    page = notebook7.page
    notebook7.open(notebook_of("panel7.ipynb", SETUP, ENDLESS))
    notebook7.run(0)
    panel = show_panel(notebook7)
    wait_for_text(panel, "float32 (3, 2)")
    open_graph(notebook7)
    notebook7.start(1)
    toolbar = page.locator(".tfnb-lab-toolbar")
    toolbar.get_by_text("running").wait_for(timeout=LIMIT_MS)
    shots.take(page, "panel7.png")
    press(toolbar, "Cancel the running step")
    wait_until_done(notebook7)
    assert "cancelled in JupyterLab" in str(notebook7.outputs(1))
