"""A JupyterLab or Notebook 7 for the tests: a free port, copied notebooks, a fresh profile."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

from tests.notebook.browser.stillness import settle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Locator, Page, ViewportSize

ROOT = Path(__file__).parents[3]
START_LIMIT_S = 180.0
LOAD_LIMIT_MS = 120_000
VIEWPORT: ViewportSize = {"width": 1320, "height": 940}

# JupyterLab opens a launcher where no document is open; it comes before the notebook, so that it
# does not hide the notebook.
_OPEN = """async ([path, theme]) => {
  const frame = () => new Promise((go) => requestAnimationFrame(go));
  const app = window.jupyterapp;
  await app.started;
  await app.restored;
  const themeName = () => document.body.dataset.jpThemeName;
  if (themeName() !== theme) await app.commands.execute("apputils:change-theme", {theme});
  while (themeName() !== theme || [...app.shell.widgets("main")].length === 0) await frame();
  const panel = await app.commands.execute("docmanager:open", {path, factory: "Notebook"});
  window.panel = panel;
  await panel.context.ready;
  await panel.revealed;
  await panel.sessionContext.ready;
  await panel.sessionContext.session.kernel.info;
  return panel.content.widgets.length;
}"""

_OPEN_IN_NOTEBOOK = """async (theme) => {
  const app = window.jupyterapp;
  await app.started;
  await app.commands.execute("apputils:change-theme", {theme});
  let panel = null;
  while (!(panel = app.shell.currentWidget)?.content?.widgets) {
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
  window.panel = panel;
  await panel.context.ready;
  await panel.revealed;
  await panel.sessionContext.ready;
  await panel.sessionContext.session.kernel.info;
  return panel.content.widgets.length;
}"""

# Select a cell and run it; resolve when the kernel has answered. The notebook takes the focus in
# the frame after it was activated, and again after it has run a cell.
_RUN = """async (index) => {
  const frame = () => new Promise((go) => requestAnimationFrame(go));
  const notebook = window.panel.content;
  notebook.activeCellIndex = index;
  notebook.deselectAll();
  await notebook.scrollToItem(index, "smart").catch(() => {});
  window.jupyterapp.shell.activateById(window.panel.id);
  await frame();
  await frame();
  await window.jupyterapp.commands.execute("notebook:run-cell");
  await frame();
  await frame();
}"""

# Documents go first: the end of a kernel is no news to a notebook that is closed. True if the page
# is as it was when it was opened.
_RESET = """async () => {
  const app = window.jupyterapp;
  for (const widget of [...app.shell.widgets("main")]) {
    if (!widget.node.querySelector(".jp-Launcher")) widget.dispose();
  }
  app.shell.collapseLeft();
  app.shell.collapseRight();
  for (const name of ["panel", "first", "isDone", "seen", "ran", "lowest"]) delete window[name];
  await app.serviceManager.sessions.shutdownAll();
  return document.querySelector(".jp-Dialog") === null;
}"""
_END_KERNELS = "async () => { await window.jupyterapp.serviceManager.sessions.shutdownAll(); }"

# The names of the documents and tabs on display, and of those that the server would restore.
# Playwright takes the promise of an asynchronous condition for its value, so that this one waits
# itself, in milliseconds.
_WAIT_UNTIL_SAVED = """async (limit) => {
  const isSaved = async () => {
    const ids = [...window.jupyterapp.shell.widgets("main")]
      .map((one) => one.context ? `notebook:${one.context.path}` : `tfnb-views:${one.id}`)
      .filter((name) => !name.includes("launcher")).sort();
    const answer = await fetch("/lab/api/workspaces/default");
    if (!answer.ok) return false;
    const { data } = await answer.json();
    const dock = JSON.stringify(data["layout-restorer:data"]?.main?.dock ?? null);
    const kept = Object.keys(data).filter((name) => /^(notebook|tfnb-views):/.test(name)).sort();
    return ids.join() === kept.join() && ids.every((name) => dock.includes(JSON.stringify(name)));
  };
  for (const end = Date.now() + limit; !(await isSaved()); ) {
    if (Date.now() > end) throw new Error("JupyterLab has not saved what is open");
    await new Promise((go) => setTimeout(go, 100));
  }
}"""
_FIND_NOTEBOOK = """(path) => {
  const all = [...window.jupyterapp.shell.widgets("main")];
  const isWanted = (one) => one.sessionContext && (!path || one.context.path === path);
  window.panel = all.find(isWanted) ?? null;
  if (path && window.panel) window.jupyterapp.shell.activateById(window.panel.id);
  return window.panel !== null;
}"""

_SHOW = """async (index) => {
  const frame = () => new Promise((go) => requestAnimationFrame(go));
  const notebook = window.panel.content;
  while (!notebook.widgets[index].node.isConnected) {
    await notebook.scrollToItem(index, "center").catch(() => {});
    await frame();
  }
}"""

_OUTPUTS = """(index) => {
  const cell = window.panel.content.widgets[index];
  const outputs = cell.model.outputs;
  const found = [];
  for (let i = 0; outputs && i < outputs.length; i++) found.push(outputs.get(i).toJSON());
  return found;
}"""


class Shots:
    """Takes the screenshots of the project, if they are asked for.

    Args:
      folder: where they go; None if no screenshots are wanted.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def take(self, target: Page | Locator, name: str) -> None:
        """Take a screenshot of a page, or of an element."""
        if self._folder is None:
            return
        settle(getattr(target, "page", target))
        target.screenshot(path=self._folder / name)


class Lab:
    """One notebook, open in one page of JupyterLab, which other tests used before."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url

    def open(self, path: str, theme: str = "JupyterLab Light") -> int:
        """Opens a notebook with a ready kernel; returns its number of cells."""
        self.page.bring_to_front()
        if not self.page.evaluate("() => window.isLikeNew ?? false"):
            self._load("/lab?reset")
        self.page.evaluate("() => { window.isLikeNew = false; }")
        cells: int = self.page.evaluate(_OPEN, [path, theme])
        self.page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
        return cells

    def _load(self, address: str) -> None:
        self.page.goto(self.url + address)
        self.page.wait_for_function("window.jupyterapp !== undefined", timeout=LOAD_LIMIT_MS)
        self.page.evaluate("async () => { await window.jupyterapp.restored; }")

    def reload(self, path: str = "") -> None:
        """Loads the page again once JupyterLab has saved which documents and views are open.

        With a path, this notebook comes to the front; not by its address, which JupyterLab opens
        once more at some later time, perhaps after the test.
        """
        self.page.evaluate(_WAIT_UNTIL_SAVED, LOAD_LIMIT_MS)
        self._load("/lab")
        self.page.wait_for_function(_FIND_NOTEBOOK, arg=path)

    def close(self) -> None:
        """Ends the kernels and closes all documents, so that the next test finds a new page."""
        is_like_new = self.page.evaluate(_RESET)
        self.page.evaluate("(is) => { window.isLikeNew = is; }", is_like_new)
        self.page.mouse.move(0, 0)
        self.page.set_viewport_size(VIEWPORT)

    def run(self, index: int) -> None:
        """Runs a cell and waits for its end."""
        self.page.evaluate(_RUN, index)
        errors = [o for o in self.outputs(index) if o["output_type"] == "error"]
        assert errors == []

    def start(self, index: int) -> None:
        """Begins to run a cell; `window.isDone` tells when it has ended."""
        self.page.evaluate(
            f"(index) => {{ window.isDone = false; ({_RUN})(index)"
            ".then(() => { window.isDone = true; }); }",
            index,
        )

    @property
    def is_done(self) -> bool:
        """Whether the cell that was started has ended."""
        return bool(self.page.evaluate("() => window.isDone"))

    def outputs(self, index: int) -> list[dict[str, Any]]:
        """Return the outputs of a cell as the notebook would store them."""
        found: list[dict[str, Any]] = self.page.evaluate(_OUTPUTS, index)
        return found

    def cell(self, index: int) -> Any:
        """Scroll a cell into view and return its element."""
        handle = self.page.evaluate_handle(
            "(index) => window.panel.content.widgets[index].node", index
        )
        return handle.as_element()

    def show(self, index: int) -> Any:
        """Bring a cell into the window, outside of which JupyterLab keeps none on the page."""
        self.page.evaluate(_SHOW, index)
        return self.cell(index)

    def index_of(self, text: str) -> int:
        """Return the index of the first cell whose source contains a text."""
        index = self._find(text)
        assert index >= 0, f"no cell holds {text!r}"
        return index

    def _find(self, text: str) -> int:
        index: int = self.page.evaluate(
            "(text) => window.panel.content.widgets.findIndex("
            "(cell) => cell.model.sharedModel.getSource().includes(text))",
            text,
        )
        return index


class Notebook7(Lab):
    """One notebook in a page of Jupyter Notebook 7."""

    def open(self, path: str, theme: str = "JupyterLab Light") -> int:
        """Opens a notebook with a ready kernel; returns its number of cells."""
        self.page.goto(f"{self.url}/notebooks/{path}")
        self.page.wait_for_function("window.jupyterapp !== undefined", timeout=LOAD_LIMIT_MS)
        cells: int = self.page.evaluate(_OPEN_IN_NOTEBOOK, theme)
        return cells

    def close(self) -> None:
        """Ends the kernels."""
        self.page.evaluate(_END_KERNELS)


@contextlib.contextmanager
def running_server(folder: Path, module: str = "jupyterlab") -> Iterator[str]:
    """Starts JupyterLab (or Jupyter Notebook: `module` is "notebook") on a copy of the notebooks.

    Yields its address, ends it with its kernels.
    """
    application = {"jupyterlab": "LabApp", "notebook": "JupyterNotebookApp"}[module]
    shutil.copytree(ROOT / "notebooks", folder / "notebooks", dirs_exist_ok=True)
    settings = folder / "settings"
    # Notebooks change only on disk when a test saves them.
    for name, values in (
        ("apputils-extension/notification", '{"fetchNews": "false", "checkForUpdates": false}'),
        ("docmanager-extension/plugin", '{"autosave": false}'),
    ):
        file = settings / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(values)
    runtime = folder / f"runtime-{module}"
    environment = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_RUNTIME_DIR": str(runtime),
        "IPYTHONDIR": str(folder / "ipython"),
        "OPENBLAS_NUM_THREADS": "1",
    }
    # The Python of an environment with an installed wheel; by default these sources are used.
    installed = os.environ.get("TFNB_INSTALLED")
    if not installed:
        environment["PYTHONPATH"] = str(ROOT)
    command = [
        installed or sys.executable,
        "-m",
        module,
        "--no-browser",
        "--allow-root",
        "--ServerApp.port=0",
        "--IdentityProvider.token=",
        f"--ServerApp.root_dir={folder}",
        f"--{application}.workspaces_dir={folder / 'workspaces'}",
        f"--{application}.expose_app_in_browser=True",
        f"--{application}.user_settings_dir={settings}",
    ]
    if not installed:
        built = ROOT / "labextension" / "built"
        # Notebook lists extensions, JupyterLab serves their files.
        applications = sorted({application, "LabApp"})
        command += [f"--{each}.extra_labextensions_path={built}" for each in applications]
    log = folder / f"{module}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=environment, cwd=folder, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            yield _address(runtime, process, log)
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()


def _address(runtime: Path, process: subprocess.Popen[bytes], log: Path) -> str:
    """Return the server's address once it answers; the port is in the file that it writes."""
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        for file in runtime.glob("jpserver-*.json"):
            with contextlib.suppress(OSError, ValueError):
                url = str(json.loads(file.read_text())["url"]).rstrip("/")
                with urlopen(f"{url}/api/status", timeout=2):
                    return url
        time.sleep(0.1)
    raise RuntimeError(f"the server did not start:\n{log.read_text()[-3000:]}")
