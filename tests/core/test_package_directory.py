"""Code of tfnb is told apart from code of users, in each folder of the package."""

from pathlib import Path

import tfnb
from tfnb.core.process.package_directory import PACKAGE_DIRECTORY
from tfnb.framework.traceback_of_user import is_internal


def test_files_of_all_rooms_are_internal() -> None:
    """Wherever a file stands in the package."""
    package = Path(tfnb.__file__).parent
    files = [str(path) for path in package.rglob("*.py")]
    assert len(files) > 500
    assert [file for file in files if not is_internal(file)] == []


def test_files_beside_the_package_are_of_the_user() -> None:
    """Also those whose names begin as the package's."""
    package = Path(tfnb.__file__).parent
    assert PACKAGE_DIRECTORY.endswith(f"{package.name}{PACKAGE_DIRECTORY[-1]}")
    assert not is_internal(str(package.parent / "tfnb_program.py"))
    assert not is_internal(str(package.parent / "tfnb.py"))
