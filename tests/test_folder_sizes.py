"""A folder holds as many files as a reader can look over."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST_FILES = 40
# Folders of generated or stored files, each with its reason.
EXCEPTIONS = {
    "tests/golden": "answers that scripts stored, a file for each script or family of rows",
    "tfnb/client/public": "stubs of TensorFlow's public modules, generated, a file for each",
    "tfnb/proto": "messages, generated, a file for each of TensorFlow's",
}


def _sizes(*roots: str) -> dict[str, int]:
    """The number of files of each folder, without what Python and the system leave there."""
    sizes: dict[str, int] = {}
    for root in roots:
        for path in (ROOT / root).rglob("*"):
            if path.is_file() and path.suffix != ".pyc" and not path.name.startswith("."):
                folder = path.parent.relative_to(ROOT).as_posix()
                sizes[folder] = sizes.get(folder, 0) + 1
    return sizes


@pytest.fixture(scope="module")
def sizes() -> dict[str, int]:
    """The folders with code and their numbers of files."""
    return _sizes("tfnb", "labextension/src", "tests", "scripts", "benchmarks")


def test_no_folder_has_more_files_than_a_reader_can_look_over(sizes: dict[str, int]) -> None:
    """A folder that grew too large is divided by what its files are about."""
    large = {f: n for f, n in sizes.items() if n > MOST_FILES and f not in EXCEPTIONS}

    assert not large, f"more than {MOST_FILES} files; move them to folders by subject: {large}"


def test_every_exception_is_large(sizes: dict[str, int]) -> None:
    """A folder that is small again leaves the list."""
    assert {folder: sizes.get(folder, 0) > MOST_FILES for folder in EXCEPTIONS} == dict.fromkeys(
        EXCEPTIONS, True
    )
