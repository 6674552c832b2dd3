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

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

ROOT = Path(__file__).parents[3]
START_LIMIT_S = 180.0

_OPEN = """async ([path, theme]) => {
  const app = window.jupyterapp;
  await app.started;
  await app.restored;
  await app.commands.execute("apputils:change-theme", {theme});
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

# Select a cell and run it; resolve when the kernel has answered.
_RUN = """async (index) => {
  const notebook = window.panel.content;
  notebook.activeCellIndex = index;
  notebook.deselectAll();
  await notebook.scrollToItem(index, "smart").catch(() => {});
  window.jupyterapp.shell.activateById(window.panel.id);
  await window.jupyterapp.commands.execute("notebook:run-cell");
}"""

_OUTPUTS = """(index) => {
  const cell = window.panel.content.widgets[index];
  const outputs = cell.model.outputs;
  const found = [];
  for (let i = 0; outputs && i < outputs.length; i++) found.push(outputs.get(i).toJSON());
  return found;
}"""


class Lab:
    """One notebook, open in one page."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url

    def open(self, path: str, theme: str = "JupyterLab Light") -> int:
        """Opens a notebook with a ready kernel; returns its number of cells."""
        self.page.goto(f"{self.url}/lab?reset")
        self.page.wait_for_function("window.jupyterapp !== undefined", timeout=120_000)
        cells: int = self.page.evaluate(_OPEN, [path, theme])
        self.page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
        return cells

    def close(self) -> None:
        """Ends the kernel, so that the next test has a fresh one."""
        self.page.evaluate("async () => { await window.panel?.sessionContext.shutdown(); }")

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
        self.page.wait_for_function("window.jupyterapp !== undefined", timeout=120_000)
        cells: int = self.page.evaluate(_OPEN_IN_NOTEBOOK, theme)
        return cells


@contextlib.contextmanager
def running_server(folder: Path, module: str = "jupyterlab") -> Iterator[str]:
    """Starts JupyterLab (or Jupyter Notebook: `module` is "notebook") on a copy of the notebooks.

    Yields its address, ends it with its kernels.
    """
    application = {"jupyterlab": "LabApp", "notebook": "JupyterNotebookApp"}[module]
    shutil.copytree(ROOT / "notebooks", folder / "notebooks", dirs_exist_ok=True)
    settings = folder / "settings"
    quiet = settings / "@jupyterlab" / "apputils-extension"
    quiet.mkdir(parents=True, exist_ok=True)
    (quiet / "notification.jupyterlab-settings").write_text(
        '{"fetchNews": "false", "checkForUpdates": false}'
    )
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
