"""The declared dependencies are those that the package and its notebooks import."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import sys
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# Each import of these has an error that says what to install, except those that only make it
# faster: without llvmlite nothing is compiled, without orjson Python's module has to do its work.
OPTIONAL = frozenset(
    [
        "aiohttp", "cupy", "dask", "distributed", "grpc", "ipykernel", "llvmlite", "orjson",
        "pandas", "scipy", "tf_slim",
    ]
)  # fmt: skip


@cache
def _project() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _name(requirement: str) -> str:
    """Return the name of a requirement in its normalized form."""
    found = re.match(r"[\w.-]+", requirement)
    assert found
    return re.sub(r"[-_.]+", "-", found[0]).lower()


@cache
def _homes() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()


@cache
def _with_what_they_need(requirements: tuple[str, ...]) -> set[str]:
    """Return the names of all packages that are installed with requirements."""
    found: set[str] = set()
    left = [_name(one) for one in requirements]
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        try:
            further = metadata.requires(name) or []
        except metadata.PackageNotFoundError:  # JupyterLab, where only the tests are installed
            continue
        left += [_name(one) for one in further if "extra ==" not in one]
    return found


_IMPORT = re.compile(r"(?:^|[;:])\s*(?:from\s+(\w+)|import\s([^#;\n]+))", re.MULTILINE)
_OURS = frozenset([*sys.stdlib_module_names, "tfnb"])


def _named(source: str) -> set[str]:
    """Return the packages that a source imports, and some words of its texts."""
    names = [name for home, more in _IMPORT.findall(source) for name in (home or more).split(",")]
    found = {re.match(r"\w*", name.strip())[0] for name in names}  # type: ignore[index]
    return found - _OURS - {""}


def _imported(source: str) -> set[str]:
    """Return the packages that a source imports, without Python's own and tfnb."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    return found - _OURS


def _not_installed(source: str, requirements: list[str]) -> list[str]:
    """Return which imported packages these requirements do not bring."""
    installed = _with_what_they_need(tuple(requirements))
    missing = {
        package
        for package in _named(source)
        if installed.isdisjoint(_name(one) for one in _homes().get(package, [package]))
    }
    # Parsing all files takes seconds.
    return sorted(missing & _imported(source)) if missing else []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_imports_what_make_lab_installs(path: Path) -> None:
    """`pip install 'tfnb[lab]'` installs everything that a notebook imports."""
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    lines = "".join("".join(cell["source"]) + "\n" for cell in cells).splitlines()
    source = "\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in lines)
    missing = _not_installed(
        source, _project()["dependencies"] + _project()["optional-dependencies"]["lab"]
    )
    # After this magic, `import tensorflow` gives tfnb.
    assert missing == (["tensorflow"] if "%tfnb tensorflow" in lines else [])


@pytest.mark.slow
def test_the_package_imports_what_pip_install_brings() -> None:
    """Views, magics and image files need no extra; an error names optional packages."""
    missing = {
        package
        for path in (ROOT / "tfnb").rglob("*.py")
        if not path.name.endswith("_pb2.py")
        for package in _not_installed(path.read_text(), _project()["dependencies"])
    }
    assert missing <= OPTIONAL


def test_what_is_not_installed_is_found() -> None:
    """The check finds every form of import."""
    source = (
        "import json\nimport numpy.linalg\nfrom pytest import mark\n"
        "try:\n import hypothesis\nfinally:\n pass\n"
        "'''\nfrom nowhere\n'''\nx = 1; import sys, attr as a, scipy.stats\n"
        "if x: import sklearn # , nothing\n"
    )
    missing = ["attr", "hypothesis", "pytest", "scipy", "sklearn"]
    assert _not_installed(source, ["numpy>=2"]) == missing


def test_every_dependency_is_explained() -> None:
    """Each has a row in a table of docs/dependencies.md, and each row a dependency."""
    told = re.findall(r"^\| ([\w-]+) \|", (ROOT / "docs/dependencies.md").read_text(), re.MULTILINE)
    groups = [_project()["dependencies"], *_project()["optional-dependencies"].values()]
    needed = {_name(one) for group in groups for one in group} - {"tfnb"}
    assert needed <= {_name(one) for one in told}


def test_no_requirement_is_tensorflow() -> None:
    """The check of the wheel refuses TensorFlow under each of its names, and none of ours."""
    spec = importlib.util.spec_from_file_location("check_wheel", ROOT / ".ci/check_wheel.py")
    assert spec
    assert spec.loader
    check_wheel = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(check_wheel)
    refused = [
        "tensorflow",
        "tensorflow-cpu>=2",
        "TensorFlow_GPU==1.15",
        "tf-nightly; extra == 'x'",
    ]
    assert all(map(check_wheel.is_tensorflow, refused))
    groups = [_project()["dependencies"], *_project()["optional-dependencies"].values()]
    assert not [one for group in groups for one in group if check_wheel.is_tensorflow(one)]
