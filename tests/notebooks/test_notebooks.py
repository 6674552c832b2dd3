"""The notebooks are the documentation: they run, and are stored without output."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
by_name = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@by_name
def test_notebook_is_stored_without_output(path: Path) -> None:
    """Outputs are not committed."""
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]

    assert [cell["source"] for cell in cells if cell["outputs"] or cell["execution_count"]] == []


# `.ci/run` runs all with an installed wheel, too.
_QUICK = frozenset(["01_loops_under_the_microscope", "04_why_does_it_hang", "06_an_old_model"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        path if path.stem in _QUICK else pytest.param(path, marks=pytest.mark.repeats)
        for path in NOTEBOOKS
    ],
    ids=lambda path: path.stem,
)
def test_notebook_runs_from_top_to_bottom(path: Path) -> None:
    """A fresh kernel runs every cell without an error."""
    with pytest.MonkeyPatch.context() as patch:
        # Grammars for addresses take seconds to build, and no notebook needs them.
        patch.setitem(sys.modules, "rfc3987_syntax", None)
        import nbformat
        from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}
    )

    client.execute()
    silent = [
        cell.source
        for cell in notebook.cells
        if cell.cell_type == "code" and "print(" in cell.source and not cell.outputs
    ]
    assert silent == []


def test_the_training_notebook_shows_the_loss_that_it_promises() -> None:
    """The watched cell runs a scalar summary of the loss."""
    cells = json.loads((FOLDER / "05_training_live.ipynb").read_text())["cells"]
    watched = [text for cell in cells if "%%tfnb watch" in (text := "".join(cell["source"]))]
    assert any("curve" in text for text in watched)
    assert any('curve = tf.summary.scalar("loss", loss)' in "".join(c["source"]) for c in cells)


def test_there_is_a_quickstart() -> None:
    """The notebook that `make lab` opens exists."""
    assert "00_quickstart" in [path.stem for path in NOTEBOOKS]
