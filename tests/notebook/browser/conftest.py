"""One Chromium for all browser tests, and one JupyterLab, started by the first test using it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.notebook.browser.lab import VIEWPORT, Lab, Notebook7, Shots, running_server
from tests.notebook.browser.widget_page import VIEWPORT as WIDGET_VIEWPORT
from tests.notebook.browser.widget_page import WidgetPage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A headless Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that JupyterLab serves."""
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="session")
def server(server_folder: Path) -> Iterator[str]:
    """JupyterLab on a copy of the notebooks; yields its address."""
    with running_server(server_folder) as url:
        yield url


@pytest.fixture
def notebook_of(server_folder: Path) -> Callable[..., str]:
    """Write a notebook of the given cells; return its path in JupyterLab."""

    def write(name: str, *cells: str) -> str:
        content = {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {
                "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
            },
            "cells": [
                {
                    "cell_type": "code",
                    "id": f"cell-{number}",
                    "metadata": {},
                    "source": source,
                    "outputs": [],
                    "execution_count": None,
                }
                for number, source in enumerate(cells)
            ],
        }
        (server_folder / name).write_text(json.dumps(content), encoding="utf-8")
        return name

    return write


def _context(chromium: Any) -> Any:
    """Return a window of the browser, with small pixels if its screenshots are wanted."""
    scale = 1.5 if os.environ.get("TFNB_SCREENSHOTS") else 1
    context = chromium.new_context(viewport=VIEWPORT, device_scale_factor=scale)
    context.set_default_timeout(90_000)  # busy machines are slow
    return context


@pytest.fixture(scope="session")
def lab_page(chromium: Any) -> Iterator[Any]:
    """The page that all tests of JupyterLab use one after the other: it takes long to load."""
    context = _context(chromium)
    yield context.new_page()
    context.close()


@pytest.fixture
def lab(lab_page: Any, server: str) -> Iterator[Lab]:
    """A page with JupyterLab."""
    found = Lab(lab_page, server)
    yield found
    found.close()


@pytest.fixture(scope="session")
def notebook_server(server_folder: Path) -> Iterator[str]:
    """Jupyter Notebook 7 on the same folder; yields its address."""
    with running_server(server_folder, "notebook") as url:
        yield url


@pytest.fixture
def notebook7(chromium: Any, notebook_server: str) -> Iterator[Notebook7]:
    """A page with Jupyter Notebook 7."""
    context = _context(chromium)
    found = Notebook7(context.new_page(), notebook_server)
    yield found
    found.close()
    context.close()


@pytest.fixture(scope="session")
def blank_page(chromium: Any) -> Iterator[Any]:
    """The page that all tests of widgets without Jupyter use one after the other."""
    page = chromium.new_page(viewport=WIDGET_VIEWPORT)
    page.set_default_timeout(90_000)  # busy machines are slow
    yield page
    page.close()


@pytest.fixture
def widget_page(blank_page: Any) -> Iterator[WidgetPage]:
    """A page with only the widget, mounted as anywidget does."""
    found = WidgetPage(blank_page)
    yield found
    found.leave()


@pytest.fixture
def shots() -> Shots:
    """Takes screenshots if TFNB_SCREENSHOTS names their folder: docs/images, to renew those."""
    folder = os.environ.get("TFNB_SCREENSHOTS")
    return Shots(Path(folder) if folder else None)
