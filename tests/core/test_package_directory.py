"""Code of tfnb and code of users are distinguished by the package's directory."""

from pathlib import Path

import tfnb
from tfnb.core.process.package_directory import PACKAGE_DIRECTORY
from tfnb.framework.traceback_of_user import is_internal


def test_files_of_all_rooms_are_internal() -> None:
    """Files in every folder of the package are internal."""
    package = Path(tfnb.__file__).parent
    files = [str(path) for path in package.rglob("*.py")]
    assert len(files) > 500
    assert [file for file in files if not is_internal(file)] == []


def test_files_beside_the_package_are_of_the_user() -> None:
    """Files beside the package are the user's, even if their names begin like the package's."""
    package = Path(tfnb.__file__).parent
    assert PACKAGE_DIRECTORY.endswith(f"{package.name}{PACKAGE_DIRECTORY[-1]}")
    assert not is_internal(str(package.parent / "tfnb_program.py"))
    assert not is_internal(str(package.parent / "tfnb.py"))
