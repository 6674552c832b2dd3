"""The site of `make lite`: its notebooks, and the wheels in it."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.util
import json
import sys
import zipfile
from pathlib import Path

import pytest

from scripts import lite

ROOT = Path(__file__).parents[2]
VERSION = "{}.{}".format(*sys.version_info)


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A wheel with one module and one file that is no Python."""
    path = tmp_path / "sample-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("sample/__init__.py", "ANSWER = 42\n")
        archive.writestr("sample/broken.py", "this is no Python\n")
        archive.writestr("sample-1.0.dist-info/METADATA", "Name: sample\nVersion: 1.0\n")
        archive.writestr("sample-1.0.dist-info/RECORD", "sample/__init__.py,,\n")
    return path


def test_wheels_get_compiled_modules_that_the_import_takes_unchecked(wheel: Path) -> None:
    """The flags of the compiled module say that its source is not looked at."""
    lite._compile_wheels(wheel.parent, sys.executable, VERSION)

    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".pyc")]
        content = archive.read(name)
    assert name == f"sample/__pycache__/__init__.{sys.implementation.cache_tag}.pyc"
    assert content[:4] == importlib.util.MAGIC_NUMBER
    assert int.from_bytes(content[4:8], "little") == 0b01


def test_list_of_files_of_a_compiled_wheel_is_complete(wheel: Path) -> None:
    """Each file is in RECORD with its digest and its size."""
    lite._compile_wheels(wheel.parent, sys.executable, VERSION)

    with zipfile.ZipFile(wheel) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    record = contents.pop("sample-1.0.dist-info/RECORD").decode().splitlines()
    rows = {name: (digest, size) for name, digest, size in csv.reader(record)}
    assert rows.pop("sample-1.0.dist-info/RECORD") == ("", "")
    assert rows == {
        name: (
            "sha256="
            + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode(),
            str(len(content)),
        )
        for name, content in contents.items()
    }


def test_wheels_stay_as_they_are_without_a_python_of_pyodides_version(
    wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Compiled modules of another version would be of no use."""
    before = wheel.read_bytes()

    lite._compile_wheels(wheel.parent, sys.executable, "2.7")

    assert wheel.read_bytes() == before
    assert "Without a Python 2.7" in capsys.readouterr().out


def test_notebooks_of_the_site_install_tfnb_first(tmp_path: Path) -> None:
    """Each begins with the cell that installs, and names the kernel of the browser."""
    lite._copy_notebooks(tmp_path / "contents")

    notebooks = [json.loads(path.read_text()) for path in (tmp_path / "contents").glob("*.ipynb")]
    assert len(notebooks) >= 10
    assert {"".join(notebook["cells"][0]["source"]) for notebook in notebooks} == {lite._INSTALL}
    assert {notebook["metadata"]["kernelspec"]["name"] for notebook in notebooks} == {"python"}


def test_cells_that_need_a_thread_are_text_in_the_site(tmp_path: Path) -> None:
    """No cell that is left to run starts a thread or serves."""
    lite._copy_notebooks(tmp_path / "contents")

    cells = [
        cell
        for path in (tmp_path / "contents").glob("*.ipynb")
        for cell in json.loads(path.read_text())["cells"]
    ]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    text = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    assert [source for source in code if "Thread(" in source or "serve(" in source] == []
    assert sum("```python\nresults = []\nwaiter = threading.Thread" in one for one in text) == 1


@pytest.mark.repeats
def test_cells_that_choose_the_compiled_modules_run(tmp_path: Path) -> None:
    """The list names modules of the core, of the views and of the ops."""
    names = tmp_path / "modules"

    lite._write_usual_modules(ROOT, names)

    loaded = {Path(line).relative_to(ROOT).as_posix() for line in names.read_text().splitlines()}
    wanted = {"tfnb/__init__.py", "tfnb/ops/math/math_ops.py", "tfnb/client/session/session.py"}
    assert wanted <= loaded
    assert len(loaded) < 0.75 * len([*(ROOT / "tfnb").rglob("*.py")])
    assert any(name.startswith("tfnb/notebook/views/") for name in loaded)
