"""Each folder has a README of one page, and the pages name existing files."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from pathlib import Path

from tests.joined import in_one_test

ROOT = Path(__file__).parents[1]
ARCHITECTURE = ROOT / "docs" / "architecture.md"
MAX_README_LINES = 90
MAX_ARCHITECTURE_LINES = 150
FEWEST_FILES = 5

# A path is the end of the code, or precedes a colon: `executor.py`, `kernel_stats.py:with_pool`.
OTHER_PROJECTS = re.compile(r"^\| [\w.-]+/[\w.-]+.*$", re.MULTILINE)
PATH_IN_CODE = re.compile(r"`([\w./-]+\.(?:py|md))(?=[`:])")
PATH_IN_LINK = re.compile(r"\]\(([\w./-]+\.(?:py|md))(?:#[\w-]*)?\)")


def _folders() -> list[Path]:
    """Return each folder of the package with enough Python files to need a README."""
    folders = {path.parent for path in (ROOT / "tfnb").rglob("*.py")}
    return sorted(folder for folder in folders if len(list(folder.glob("*.py"))) >= FEWEST_FILES)


@functools.cache
def _tracked() -> tuple[Path, ...]:
    """Return the files that git tracks; without git, those of the folders that have pages."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        found = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:
        folders = ("tfnb", "docs", "tests", "scripts", "benchmarks", "protos")
        found = [*ROOT.glob("*.md"), *(p for name in folders for p in (ROOT / name).rglob("*.*"))]
    return tuple(sorted(path for path in found if path.is_file()))


def _pages() -> list[Path]:
    """Return every page, without the programs that are stored in the form of a page."""
    golden = ROOT / "tests" / "golden"
    return [one for one in _tracked() if one.suffix == ".md" and golden not in one.parents]


@functools.cache
def _ends() -> frozenset[str]:
    """Return the ends of the paths of all files, from each of their folders on."""
    parts = [path.relative_to(ROOT).parts for path in _tracked()]
    return frozenset("/".join(one[first:]) for one in parts for first in range(len(one)))


def _missing_paths(page: Path, text: str) -> list[str]:
    """Return the paths in a page's text that name no file.

    A path in a link starts at the page's folder. A path in code may also start at ``tfnb`` or at
    the root of the repository. Pages that are not about one folder shorten paths: there, the path
    of some file has to end with it. Rows of a table about another project, which begin with its
    owner and name, are left out.
    """
    text = OTHER_PROJECTS.sub("", text)
    starts = (page.parent, ROOT / "tfnb", ROOT)
    linked = PATH_IN_LINK.findall(text)
    coded = PATH_IN_CODE.findall(text)
    is_of_folder = page == ARCHITECTURE or page.parent not in (ROOT, ROOT / "docs")
    return [path for path in linked if not (page.parent / path).is_file()] + [
        path
        for path in coded
        if not any((start / path).is_file() for start in starts)
        and (is_of_folder or path not in _ends())
    ]


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@in_one_test("folder", _folders())
def test_folder_has_a_readme_of_one_page(folder: Path) -> None:
    """A folder of five Python files or more has a README.md, which fits on a page."""
    readme = folder / "README.md"

    assert readme.is_file(), f"{_name(folder)} needs a README.md"
    lines = readme.read_text(encoding="utf-8").count("\n")
    assert lines <= MAX_README_LINES, f"{_name(readme)} has {lines} lines"


def test_architecture_is_one_page() -> None:
    """Details belong to the READMEs of the folders, not to docs/architecture.md."""
    lines = ARCHITECTURE.read_text(encoding="utf-8").count("\n")

    assert lines <= MAX_ARCHITECTURE_LINES


@in_one_test("page", _pages())
def test_paths_in_a_page_exist(page: Path) -> None:
    """Each path to a Python file or a page, in code or in a link, names a file."""
    assert _missing_paths(page, page.read_text(encoding="utf-8")) == []


def test_a_path_that_names_no_file_is_found() -> None:
    """The check above tells missing files, and only these."""
    text = "`core/dtypes.py`, `core/gone.py:f`, [safety](safety.md), [gone](gone.md#part)"

    assert _missing_paths(ARCHITECTURE, text) == ["gone.md", "core/gone.py"]


def test_a_page_about_more_than_a_folder_shortens_paths() -> None:
    """The path of a file has to end with the shortened path, from a folder on."""
    text = "`views/op_times.py`, `magics.py`, `iews/op_times.py`, `views/gone.py`"

    missing = _missing_paths(ROOT / "CONTRIBUTING.md", text)
    assert missing == ["iews/op_times.py", "views/gone.py"]
    assert "views/op_times.py" in _missing_paths(ARCHITECTURE, text)


def test_pages_outside_the_package_are_checked() -> None:
    """The pages that a newcomer reads first are among those that are checked."""
    names = {_name(page) for page in _pages()}

    assert {"README.md", "CONTRIBUTING.md", "docs/compatibility.md", "tfnb/core/README.md"} <= names
