"""Each folder has a README of one page, and the pages name existing files."""

from __future__ import annotations

import re
from pathlib import Path

from tests.joined import in_one_test

ROOT = Path(__file__).parents[1]
ARCHITECTURE = ROOT / "docs" / "architecture.md"
MAX_README_LINES = 90
MAX_ARCHITECTURE_LINES = 150
FEWEST_FILES = 5

# A path is the end of the code, or precedes a colon: `executor.py`, `kernel_stats.py:with_pool`.
PATH_IN_CODE = re.compile(r"`([\w./-]+\.(?:py|md))(?=[`:])")
PATH_IN_LINK = re.compile(r"\]\(([\w./-]+\.(?:py|md))(?:#[\w-]*)?\)")


def _folders() -> list[Path]:
    """Return each folder of the package with enough Python files to need a README."""
    folders = {path.parent for path in (ROOT / "tfnb").rglob("*.py")}
    return sorted(folder for folder in folders if len(list(folder.glob("*.py"))) >= FEWEST_FILES)


def _pages() -> list[Path]:
    """Return the architecture, the READMEs of folders, and the pages beside them."""
    return [
        ARCHITECTURE,
        ROOT / "labextension" / "README.md",
        *sorted((ROOT / "tfnb").rglob("*.md")),
    ]


def _missing_paths(page: Path, text: str) -> list[str]:
    """Return the paths in a page's text that name no file.

    A path in a link starts at the page's folder. A path in code may also start at ``tfnb`` or at
    the root of the repository.
    """
    starts = (page.parent, ROOT / "tfnb", ROOT)
    linked = PATH_IN_LINK.findall(text)
    coded = PATH_IN_CODE.findall(text)
    return [path for path in linked if not (page.parent / path).is_file()] + [
        path for path in coded if not any((start / path).is_file() for start in starts)
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
