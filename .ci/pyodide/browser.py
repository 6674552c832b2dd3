"""Runs the notebooks of a JupyterLite site in a headless Chromium, without a kernel server.

    python .ci/pyodide/browser.py SITE PICTURES [NOTEBOOK...]

SITE is a folder that ``make lite`` or ``bed_site.py`` wrote, PICTURES a folder for screenshots.
Without names, the quickstart runs; "drop" drops a frozen graph into the page, shows it and runs it.
The check fails if a cell raises an error, or if the page requests a file from another server.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parents[2]
LIMIT_MS = 40 * 60 * 1000
# A picture shows this much of a notebook; the next one begins so much further down.
STEP = 820

_OPEN = """async (path) => {
  const app = window.jupyterapp;
  await app.started;
  await app.restored;
  app.shell.collapseLeft();
  const panel = await app.commands.execute("docmanager:open", {path, factory: "Notebook"});
  window.panel = panel;
  await panel.context.ready;
  await panel.revealed;
  await panel.sessionContext.ready;
  // Pictures show all cells, also those that were never in sight.
  const notebook = panel.content;
  notebook.notebookConfig = {...notebook.notebookConfig, windowingMode: "none"};
}"""
_RUN = """() => {
  window.isDone = false;
  window.jupyterapp.shell.activateById(window.panel.id);
  window.jupyterapp.commands.execute("notebook:run-all-cells").then(() => {
    window.isDone = true;
  });
}"""
_CELLS = """() => window.panel.content.widgets
  .filter((cell) => cell.model.type === "code")
  .map((cell) => ({
    source: cell.model.sharedModel.getSource(),
    count: cell.model.executionCount,
    outputs: cell.model.outputs.toJSON(),
  }))"""
_SCROLL = """(step) => {
  const outer = window.panel.node.querySelector(".jp-WindowedPanel-outer");
  const before = outer.scrollTop;
  outer.scrollTop = step === 0 ? 0 : before + step;
  return outer.scrollTop - before;
}"""
_CLOSE = """async () => {
  await window.panel.sessionContext.shutdown();
  await window.panel.context.save();
  window.panel.dispose();
}"""
_SHOW_FILES = """async () => {
  const app = window.jupyterapp;
  await app.started;
  await app.restored;
  await app.commands.execute("filebrowser:activate");
}"""
_SAVE = """(notebook) => window.jupyterapp.serviceManager.contents.save("dropped.ipynb", {
  type: "notebook", format: "json", content: notebook,
})"""
DROPPED = (
    "import piplite\n\nawait piplite.install('tfnb')",
    "%load_ext tfnb\n\nimport numpy as np\n\nimport tfnb as tf",
    "graph_def = tf.GraphDef.FromString(open('dropped.pb', 'rb').read())\n"
    "with tf.Graph().as_default() as network:\n    tf.import_graph_def(graph_def, name='')",
    "%tfnb graph network",
    "with tf.Session(graph=network) as session:\n"
    "    chances = session.run('probabilities:0', {'images:0': np.zeros([2, 8, 8, 1])})\n"
    "chances.sum(axis=1)",
)


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Gives out files, without a line for each."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@contextlib.contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve a folder on a free port; yields the address."""
    handler = functools.partial(_Handler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def open_site(page: Page, url: str) -> None:
    """Open JupyterLab, with its application within reach of this script."""

    def expose(route: Any) -> None:
        answer = route.fetch()
        settings = answer.json()
        settings["jupyter-config-data"]["exposeAppInBrowser"] = True
        route.fulfill(response=answer, json=settings)

    page.route("**/jupyter-lite.json*", expose)
    page.goto(f"{url}/lab/index.html")
    page.wait_for_function("window.jupyterapp !== undefined", timeout=LIMIT_MS)


def run_notebook(page: Page, path: str, pictures: Path) -> list[str]:
    """Run a notebook's cells and take its pictures; return the errors of cells."""
    page.evaluate(_OPEN, path)
    page.evaluate(_RUN)
    page.wait_for_function("window.isDone", timeout=LIMIT_MS)
    failed = []
    for cell in page.evaluate(_CELLS):
        begin = cell["source"].strip().partition("\n")[0]
        errors = [one for one in cell["outputs"] if one["output_type"] == "error"]
        failed += [f"{path}: {begin}: {one['ename']}: {one['evalue']}" for one in errors]
        if cell["count"] is None and cell["source"].strip():
            failed.append(f"{path}: {begin}: the cell did not run")
    _take_pictures(page, pictures, Path(path).stem)
    page.evaluate(_CLOSE)
    return failed


def _take_pictures(page: Page, folder: Path, name: str) -> None:
    page.evaluate(_SCROLL, 0)
    for number in range(30):
        page.wait_for_timeout(500)  # drawings are made in a worker
        page.screenshot(path=folder / f"{name}_{number:02}.png")
        if page.evaluate(_SCROLL, STEP) <= 0:
            break


def _drop(page: Page, file: Path, box: Any) -> None:
    """Drop a file of this machine on a place of the page, as a hand would."""
    devtools = page.context.new_cdp_session(page)
    place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] - 20}
    data = {"items": [], "files": [str(file)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        devtools.send("Input.dispatchDragEvent", {"type": kind, **place, "data": data})


def drop_a_graph(page: Page, pictures: Path) -> list[str]:
    """Drop a frozen graph into the page, show it and run it; return the errors of cells."""
    page.evaluate(_SHOW_FILES)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "dropped.pb"
        shutil.copy(ROOT / "notebooks" / "models" / "digits_conv.pb", file)
        listing = page.wait_for_selector(".jp-DirListing-content", state="visible")
        _drop(page, file, listing.bounding_box())
        page.wait_for_selector(".jp-DirListing-item >> text=dropped.pb")
    page.screenshot(path=pictures / "dropped_file.png")
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    notebook = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python", "display_name": "", "language": "python"}},
        "cells": [{**cell, "id": f"{i}", "source": source} for i, source in enumerate(DROPPED)],
    }
    page.evaluate(_SAVE, notebook)
    return run_notebook(page, "dropped.ipynb", pictures)


def main(site: str, folder: str, *names: str) -> int:
    """Run the check; return the exit status."""
    from playwright.sync_api import sync_playwright

    pictures = Path(folder)
    pictures.mkdir(parents=True, exist_ok=True)
    failed: list[str] = []
    elsewhere: set[str] = set()
    with served(Path(site)) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        context = browser.new_context(viewport={"width": 1300, "height": 1000})
        context.on("request", lambda request: elsewhere.add(request.url))
        page = context.new_page()
        page.set_default_timeout(LIMIT_MS)
        open_site(page, url)
        for name in names or ("00_quickstart.ipynb",):
            begin = time.monotonic()
            if name == "drop":
                found = drop_a_graph(page, pictures)
            else:
                found = run_notebook(page, name, pictures)
            print(f"{name}: {len(found)} errors, {time.monotonic() - begin:.0f} s", flush=True)
            for line in found:
                print(f"  {line}", flush=True)
            failed += found
        browser.close()
    others = [one for one in elsewhere if one.startswith("http") and not one.startswith(url)]
    failed += [f"The page requested {one}" for one in others]
    print("\n".join(others))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
