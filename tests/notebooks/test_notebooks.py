"""The notebooks are the documentation: they run, and are stored without output."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
by_name = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@by_name
def test_notebook_is_stored_without_output(path: Path) -> None:
    """What a run leaves behind does not belong in the repository."""
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]

    assert [cell.source for cell in cells if cell.outputs or cell.execution_count] == []


@pytest.mark.slow
@by_name
def test_notebook_runs_from_top_to_bottom(path: Path) -> None:
    """A fresh kernel runs every cell without an error."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}
    )

    client.execute()


def test_there_is_a_quickstart() -> None:
    """The notebook that `make lab` opens exists."""
    assert "00_quickstart" in [path.stem for path in NOTEBOOKS]
